"""``orledger tables``: the tables of the ledger as LaTeX, CSV, Markdown and HTML, the numbers as macros, and the check of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orledger.cli_complete import tables as complete
from orledger.cli_look import steps
from orledger.cli_notices import fail_if, noticed
from orledger.cli_options import (
    chosen_studies,
    db_option,
    echo_json,
    echo_table,
    json_option,
    reading,
    study_option,
    warn,
)
from orledger.cli_output import check_folder, check_folder_name, filling, out_option
from orledger.errors import UsageError, VerificationError
from orledger.wording import counted

if TYPE_CHECKING:
    from orledger.reports.tables.table import Table

FORMATS = ("tex", "csv", "md", "html", "typ", "txt")


def _formats(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:  # noqa: ARG001
    chosen = tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))
    unknown = [word for word in chosen if word not in FORMATS]
    if unknown or not chosen:
        raise UsageError(f"--format: {value!r} is not usable", hint=f"a comma-separated choice of {', '.join(FORMATS)}")
    return chosen


@click.command()
@click.argument("names", nargs=-1, shell_complete=complete)
@db_option
@out_option(default=Path("out/tables"), show_default=True, help="Folder to write to.")
@click.option(
    "--format",
    "formats",
    default="tex",
    show_default=True,
    callback=_formats,
    help="Comma-separated: tex, csv, md, html, typ (Typst), txt.",
)
@click.option(
    "--check",
    "paper",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write nothing; say which macros and tables of this .tex file are stale.",
)
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the tables that the database has, or those of the installed studies without one, and stop.",
)
@study_option
@json_option
def tables(
    names: tuple[str, ...],
    db: Path,
    out: Path,
    formats: tuple[str, ...],
    paper: Path | None,
    listing: bool,
    references: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the tables called NAMES (all of them without NAMES) from the database.

    With csv also NAME.csv-metadata.json: caption, notes, queries and the hash of the database. With tex also numbers.tex, every number as a macro, and, for all tables, tables.tex: one document that pdflatex and booktabs compile.
    With --check the macros of numbers.tex that the manuscript uses, and the tables that it inputs, are compared with the database; the exit code is 6 when one is not the database's. Digits that are typed are not looked at: `orledger recheck` compares them with one another.
    """
    from orledger.expected import expected_cells
    from orledger.reports.audit_rows import AuditRows
    from orledger.reports.notices import outdated
    from orledger.reports.source import database_hash
    from orledger.reports.tables.building import build_tables, declared, offered

    if listing:
        if names:
            raise UsageError("names were given beside --list", hint="leave one of them out")
        if db.exists():
            with reading(db) as results:
                known = offered(results, chosen_studies(results, references))
        else:
            from orledger import studies

            known = declared([*(studies.find(r) for r in references), *studies.installed()])
        rows = [{"name": spec.name, "case": spec.case, "title": spec.title} for spec in known.values()]
        echo_json(rows) if as_json else echo_table(rows)
        return
    if paper is None:
        check_folder_name(out)
        check_folder(out)
    with reading(db) as results, steps("tables"):
        changed, older = noticed(results), outdated(results)
        built = build_tables(
            results,
            expected_cells(results, warn),
            names or None,
            chosen=chosen_studies(results, references),
            changed=changed,
        )
        database = database_hash(results)
        audited = AuditRows(results).audit_id is not None
    if paper is not None:
        _check(paper, built, database, as_json)
        fail_if(changed, db)
        return
    from orledger.reports.tables.writing import write_tables

    notices = [text for text in (changed, older) if text]

    with filling(out) as folder:
        written = [
            out / p.name for p in write_tables(built, folder, formats, database, document=not names, notices=notices)
        ]
    if as_json:
        echo_json({"database": database, "files": [str(p) for p in written]})
    for path in () if as_json else written:
        click.echo(str(path))
    fail_if(changed, db)
    if not audited and not as_json:
        warn("this database has no audit: p-values, intervals and verdicts are absent; orledger audit stores them")


def _check(paper: Path, built: list[Table], database: str, as_json: bool) -> None:
    """Prints what the check of ``paper`` found, and fails when something it prints is not the database's."""
    from dataclasses import asdict

    from orledger.reports.tables import latex
    from orledger.reports.tables.numbers import macros
    from orledger.reports.tables.stale import check

    found = check(paper, macros(built), {t.name: latex.table(t) for t in built}, database)
    if as_json:
        echo_json({**asdict(found), "clean": found.clean})
    else:
        click.echo(f"{paper}: {counted(len(found.used), 'macro')} used, {len(found.unused)} defined and not used")
        if found.empty:
            warn(
                f"{paper} uses no macro of numbers.tex and inputs no table, so none of its numbers was compared with the database;"
                f" orledger recheck {paper} compares digits that are typed with one another"
            )
        printed = set(found.used)
        shown = [item for item in found.stale if item.name in printed or item.name.startswith("table ")]
        for item in shown:
            click.echo(f"stale      {item.name}: {item.file} has {item.written}, the database gives {item.current}")
        if len(found.stale) > len(shown):
            click.echo(
                f"stale      {len(found.stale) - len(shown)} further definitions that the manuscript does not print"
            )
        for item in found.moved:
            click.echo(
                f"moved      {item.name}: {item.file} has it for {item.written}, the database for {item.current}"
            )
        for kind, names in (
            ("undefined", found.undefined),
            ("not input", found.unwritten),
            ("no file", found.missing_files),
        ):
            for name in names:
                click.echo(f"{kind:10} {name}")
    if not found.clean:
        raise VerificationError(
            f"{paper}: {len(found.stale)} stale, {len(found.moved)} moved, {len(found.undefined)} undefined, {len(found.unwritten)} not input",
            hint="write the tables again beside the manuscript, input numbers.tex, and correct the names that do not exist",
        )
