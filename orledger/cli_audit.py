"""``orledger register``, ``orledger audit``: hypotheses in, verdicts out."""

from __future__ import annotations

from pathlib import Path

import click

from orledger.cli_look import columns, hanging, heading, steps
from orledger.cli_options import NumberRange, db_option, echo_json, echo_table, json_option, reading
from orledger.errors import UsageError
from orledger.schema.explaining import missing

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("files", nargs=-1, type=FILE)
@db_option
@click.option("--amend", is_flag=True, help="Store a changed text after data exist; it is marked as an amendment.")
@click.option("--list", "show", is_flag=True, help="Show what is registered and store nothing.")
@json_option
def register(files: tuple[Path, ...], db: Path, amend: bool, show: bool, as_json: bool) -> None:
    """Store hypothesis FILES before the data; without FILES, those that come with the package.

    The text, its hash and the time are kept for ever. A text that changes after data exist needs --amend and is shown as
    an amendment in every report.
    """
    from orledger.audit.evaluation.auditing import require_queries
    from orledger.audit.registry.reading import read_hypothesis, shipped_hypotheses
    from orledger.audit.registry.registration import current_registrations
    from orledger.audit.registry.registration import register as store
    from orledger.schema.opening import writing
    from orledger.schema.transactions import transaction

    if show:
        if files or amend:
            raise UsageError("--list stores nothing, and was given files or --amend", hint="leave one of them out")
        with reading(db) as results:
            rows = current_registrations(results.con)
    else:
        hypotheses = [read_hypothesis(f) for f in files] or shipped_hypotheses()
        with writing(db) as con, transaction(con):  # a file that is refused leaves none of the others behind
            require_queries(con, hypotheses)
            rows = [store(con, h, amend=amend) for h in hypotheses]
    table = [
        {
            "hypothesis": r.hypothesis,
            "mode": r.mode,
            "hash": r.hash[:12],
            "registered": r.registered.isoformat(sep=" ", timespec="seconds"),
            "cells": r.cells_done,
            "note": "amendment" if r.amendment else "" if r.new or show else "already registered",
        }
        for r in rows
    ]
    if as_json:
        echo_json(table)
    else:
        echo_table(table, right=("cells",))


@click.command()
@db_option
@click.option(
    "--registry", "files", multiple=True, type=FILE, help="A hypothesis file to register first; may be repeated."
)
@click.option("--amend", is_flag=True, help="Allow a changed --registry file after data exist.")
@click.option(
    "--power", "only_power", is_flag=True, help="Only say what each comparison could decide; no result is read."
)
@click.option(
    "--effect",
    type=NumberRange(0.5, 1, min_open=True, max_open=True),
    help="With --power: the probability of superiority to find, for comparisons that declare none (expect).",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="Give verdicts even if the chain does not verify; they say what was found.",
)
@click.option("--tests", "every_test", is_flag=True, help="List every test and claim.")
@json_option
def audit(
    db: Path,
    files: tuple[Path, ...],
    amend: bool,
    only_power: bool,
    effect: float | None,
    unverified: bool,
    every_test: bool,
    as_json: bool,
) -> None:
    """Evaluate every registered hypothesis on the records and store tests, claims and dispositions.

    A database without registrations gets those of the studies that have cells in it. With one version of
    orledger the same data and registrations give the same rows.
    """
    from orledger.audit.evaluation import summary
    from orledger.audit.evaluation.auditing import audit as evaluate
    from orledger.audit.evaluation.power import power
    from orledger.audit.registry.reading import read_hypothesis, shipped_hypotheses
    from orledger.audit.registry.registration import current_registrations

    if amend and not files:
        raise UsageError("--amend concerns --registry files, and none was given", hint="name one, or leave --amend out")
    hypotheses = [read_hypothesis(f) for f in files]
    if only_power:
        if amend or every_test or unverified:
            raise UsageError("--power stores and tests nothing", hint="leave --amend, --tests and --unverified out")
        named = {h.id for h in hypotheses}
        with reading(db) as results:
            known = [r.parsed() for r in current_registrations(results.con) if r.hypothesis not in named]
            rows = summary.power_rows(power(results, [*known, *hypotheses] or shipped_hypotheses(), effect))
        if as_json:
            echo_json(rows)
        else:
            numbers = ("alpha", "family", "planned", "done", "floor", "needed", "effect", "power", "n_for_power")
            echo_table(rows, right=numbers)
        return
    if not db.exists():
        raise missing(db)
    if effect is not None:
        raise UsageError("--effect concerns --power", hint="add --power, or leave --effect out")
    with steps("audit"):
        found = evaluate(db, hypotheses, amend=amend, unverified=unverified)
    if as_json:
        echo_json(summary.audit_data(found))
        return
    for line in summary.audit_lines(
        found, every_test=every_test, heading=heading, width=columns(), line=lambda text: hanging(text, "    ")
    ):
        click.echo(line)
    if not found.findings:
        click.echo(
            "note: no hypothesis is registered, so nothing was tested; write one (docs/registry.md; orledger init drafts one for a"
            f" table), then: orledger audit --db {db} --registry FILE.toml",
            err=True,
        )
