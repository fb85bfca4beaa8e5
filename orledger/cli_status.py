"""``orledger status``: what is planned, done, refused and failed, and how long remains."""

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


@click.command()
@db_option
@json_option
def status(db: Path, as_json: bool) -> None:
    """Show what is planned, done, refused and failed in the database, and how long the rest would take.

    The remaining time is an estimate: the mean time of the cells done in each block, divided by the workers of the latest run.
    """
    with reading(db) as results:
        blocks = results.sql(CELLS).to_dicts()
        latest = results.sql(RUN).to_dicts()
        records = results.sql("SELECT count(*) AS n FROM record")["n"][0]
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
        )
    bad = sum(b["failed"] for b in blocks)
    echo_table(
        [{k: v for k, v in b.items() if k != "seconds_each"} for b in blocks],
        right=("cells", "done", "refused", "failed", "planned"),
    )
    click.echo(f"{records:,} records in {db}{_sentence(blocks, left)}")
    if bad:
        click.echo(
            toned("failed", f"{counted(bad, 'cell')} failed") + "; orledger run --retry-failed computes them again"
        )


def _remaining(blocks: list[dict[str, Any]], jobs: int) -> float | None:
    """Seconds for the planned cells; None when some block has nothing done to judge from."""
    total = 0.0
    for block in blocks:
        if block["planned"] and block["seconds_each"] is None:
            return None
        total += block["planned"] * (block["seconds_each"] or 0.0)
    return total / jobs


def _sentence(blocks: list[dict[str, Any]], left: float | None) -> str:
    planned = sum(b["planned"] for b in blocks)
    if not planned:
        return "; nothing is left to compute"
    if left is None:
        return f"; {planned} cells remain, in blocks nothing is known of yet"
    from orledger.runners.progress import duration

    return f"; {planned} cells remain, about {duration(left)}"
