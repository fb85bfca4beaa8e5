"""``orledger status``: what is planned, done, refused and failed, how long remains, and what would go on from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orledger.cli_look import toned
from orledger.cli_options import db_option, echo_json, echo_table, json_option, reading
from orledger.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

CELLS = """
SELECT case_name AS "case", block, count(*) AS cells,
       count(*) FILTER (state = 'done') AS done, count(*) FILTER (state = 'refused') AS refused,
       count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'planned') AS planned,
       avg(seconds) FILTER (state = 'done') AS seconds_each
FROM cell GROUP BY ALL ORDER BY ALL
"""
RUN = """
SELECT run_id, preset, engine, jobs, device, state, started, ended FROM run ORDER BY started DESC LIMIT 1
"""
# Cells of a loop have no plan: that one is missing shows only where its neighbours have more arms.
SHORT = """
WITH logged AS (SELECT cell_id, case_name, block FROM cell WHERE hash_version = $version),
     arms AS (SELECT cell_id, arm FROM record SEMI JOIN logged USING (cell_id)
              UNION SELECT cell_id, arm FROM refusal SEMI JOIN logged USING (cell_id)),
     each AS (SELECT case_name, block, cell_id, count(arm) AS n FROM logged LEFT JOIN arms USING (cell_id) GROUP BY ALL),
     whole AS (SELECT case_name, block, count(DISTINCT arm) AS n FROM logged JOIN arms USING (cell_id) GROUP BY ALL)
SELECT count(*) FROM each JOIN whole USING (case_name, block) WHERE each.n < whole.n
"""
FAILED = """
SELECT coalesce(preset LIKE '% (grid)', false) AS grid, count(*) AS cells
FROM cell LEFT JOIN run USING (run_id) WHERE cell.state = 'failed' GROUP BY ALL ORDER BY ALL
"""


@click.command()
@db_option
@json_option
def status(db: Path, as_json: bool) -> None:
    """Show what is planned, done, refused and failed in the database, and how long the rest would take.

    The remaining time is an estimate: the mean time of the cells done in each block, divided by the workers of the latest run.
    A run that was killed is shown as interrupted, and the same call or command goes on with it. A loop has no plan.
    """
    from orledger.log import HASH_VERSION

    with reading(db) as results:
        blocks = results.sql(CELLS).to_dicts()
        latest = results.sql(RUN).to_dicts()
        records = results.sql("SELECT count(*) AS n FROM record")["n"][0]
        of_loops = {"version": HASH_VERSION}
        logged = results.sql("SELECT count(*) FROM cell WHERE hash_version = $version", of_loops).item()
        short = results.sql(SHORT, of_loops).item() if logged else 0
        failed = results.sql(FAILED).to_dicts()
        # A run holds its file to its end, so nobody runs where the file itself answers, and not the snapshot that a run publishes.
        held = results.note is not None or db.stem.endswith(".snapshot")
    killed = bool(latest) and latest[0]["state"] == "running" and not held
    if killed:
        latest[0]["state"] = "interrupted"
    left = _remaining(blocks, latest[0]["jobs"] if latest else 1)
    if as_json:
        echo_json(
            {
                "db": str(db),
                "records": records,
                "run": latest[0] if latest else None,
                "blocks": blocks,
                "seconds_left": left,
            }
        )
        return
    if latest:
        run = latest[0]
        click.echo(
            f"run {run['run_id']}: preset {run['preset']}, {run['engine']} with {run['jobs']} on {run['device']}, {toned(run['state'])}"
            + (f": its process is gone, and the same {_call(run['preset'])} goes on with it" if killed else "")
        )
    echo_table(
        [{k: v for k, v in b.items() if k != "seconds_each"} for b in blocks],
        right=("cells", "done", "refused", "failed", "planned"),
    )
    click.echo(f"{records:,} records in {db}{_sentence(blocks, left, logged, short)}")
    for kind in failed:
        again = 'run_grid(..., retry=["failed"])' if kind["grid"] else "orledger run --retry-failed"
        click.echo(f"{toned('failed', counted(kind['cells'], 'cell') + ' failed')}; {again} computes them again")


def _call(preset: str) -> str:
    """What computes cells of a run again: a call of `run_grid`, or a command."""
    return "call of run_grid" if preset.endswith(" (grid)") else "command"


def _remaining(blocks: list[dict[str, Any]], jobs: int) -> float | None:
    """Seconds for the planned cells; None when some block has nothing done to judge from."""
    total = 0.0
    for block in blocks:
        if block["planned"] and block["seconds_each"] is None:
            return None
        total += block["planned"] * (block["seconds_each"] or 0.0)
    return total / jobs


def _sentence(blocks: list[dict[str, Any]], left: float | None, logged: int, short: int) -> str:
    planned = sum(b["planned"] for b in blocks)
    loop = "; a loop has no plan, so only the loop knows whether more is to come" if logged else ""
    if short:
        loop += f"; {counted(short, 'cell')} of it {'lacks' if short == 1 else 'lack'} arms that others have"
    if not planned:
        return loop or "; nothing is left to compute"
    if left is None:
        return f"; {planned} cells remain, in blocks nothing is known of yet{loop}"
    from orledger.runners.progress import duration

    return f"; {planned} cells remain, about {duration(left)}{loop}"
