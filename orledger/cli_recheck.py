"""``orledger recheck``: the printed numbers of a paper, recomputed from one another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orledger.cli_options import echo_json, json_option
from orledger.cli_output import write_file
from orledger.errors import UsageError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from orledger.audit.recheck.findings import Finding, Group
    from orledger.audit.recheck.model import Publication


def _shipped() -> Publication:
    """The publication of the study that ships."""
    from orledger import studies
    from orledger.errors import UsageError
    from orledger.reports.report.differences import printed_by

    printed = printed_by(studies.installed())
    if printed is None:
        raise UsageError("no installed study brings printed numbers", hint="give a file: orledger recheck paper.tex")
    return printed.publication


@click.command()
@click.option("--verdict", "verdicts", multiple=True, help="Show only this verdict; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Show every check, also those that match.")
@click.option("--place", default="", help="Show only numbers whose place contains this text.")
@click.option("--into", type=click.Path(path_type=Path), help="Also store the printed numbers in this database.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write the findings to this CSV file.")
@json_option
def recheck(
    verdicts: tuple[str, ...],
    everything: bool,
    place: str,
    into: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Recompute the printed numbers of a paper that follow from other printed numbers.

    Findings with one cause stand together, what matters most first. Without options the checks that do not simply match
    are shown. Ends with 6 when something was found.
    """
    from orledger.audit.recheck import checking
    from orledger.audit.recheck.findings import summary
    from orledger.audit.recheck.frames import findings_frame, load_published
    from orledger.audit.recheck.model import Verdict

    names = [verdict.value for verdict in Verdict]
    for verdict in verdicts:
        if verdict not in names:
            raise UsageError(f"--verdict {verdict!r} is unknown", hint=f"use one of {', '.join(names)}")
    publication = _shipped()
    findings = checking.recheck(publication)
    shown = [
        f
        for f in findings
        if (f.verdict in verdicts if verdicts else everything or not f.verdict.good)
        and place.lower() in f.place.lower()
    ]
    if into is not None:
        _store_published(into, load_published(publication))
    if csv_file is not None:
        frame = findings_frame(shown)
        write_file(csv_file, frame.with_columns(frame["operands"].list.join("; ")).write_csv())
    if as_json:
        echo_json({"summary": summary(findings), "findings": findings_frame(shown).to_dicts()})
    else:
        _print(shown)
        counts = ", ".join(f"{n} {verdict}" for verdict, n in summary(findings).items() if n)
        click.echo(f"{len(findings)} checks: {counts}")
    _end(shown)


def _print(shown: Sequence[Finding]) -> None:
    from orledger.audit.recheck.findings import grouped

    for position, group in enumerate(grouped(shown), start=1):
        click.echo(f"{position}. {group.verdict.value}{_size(group)}")
        for f in group.findings:
            click.echo(f"   {f.where}: {f.id}: printed {f.printed}, recomputed {f.recomputed}")
            click.echo(f"      {f.why}")
    for f in shown:
        if f.verdict.good:
            click.echo(f"{f.verdict.value}: {f.where}: {f.id}: printed {f.printed}, recomputed {f.recomputed}")


def _size(group: Group) -> str:
    return f" ({len(group.findings)} checks)" if len(group.findings) > 1 else ""


def _end(shown: Sequence[Finding]) -> None:
    """Ends with exit code 6 when something was found."""
    from orledger.audit.recheck.findings import grouped

    groups = grouped(shown)
    if groups:
        lines = sum(len(group.findings) for group in groups)
        raise VerificationError(f"{lines} checks with {len(groups)} causes do not simply match")


def _store_published(path: Path, numbers: pl.DataFrame) -> None:
    from orledger.schema import chain
    from orledger.schema.opening import writing
    from orledger.schema.transactions import transaction

    names = list(numbers.columns)
    with writing(path) as con, transaction(con):
        con.execute("DELETE FROM published")
        con.executemany(
            f"INSERT INTO published ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", numbers.rows()
        )
        ids = con.execute("SELECT DISTINCT key FROM ledger_item WHERE part = 'published'").fetchall()
        known = {row[0] for row in ids} | set(numbers["id"])
        chain.append(con, "published", {"numbers": numbers.height}, {"published": sorted(known)})
