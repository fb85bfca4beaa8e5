"""``orledger verify``: is everything as it was recorded, and does a head noted elsewhere still belong to this history?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from orledger.cli_look import hanging, steps
from orledger.cli_options import db_option, echo_json, json_option, reading, warn
from orledger.cli_output import check_file, write_file
from orledger.errors import UsageError, VerificationError
from orledger.wording import counted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from orledger.schema.contents import CheckFinding
    from orledger.schema.receipts import Checked

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
SHOWN = 100
ALONE = (
    "every row is as this chain recorded it; a chain that was rewritten whole would agree with itself too, and only a head or a"
    " receipt that was kept elsewhere tells it apart (--against, --receipt)"
)


@click.command()
@db_option
@click.option(
    "--against", "heads", multiple=True, metavar="HASH", help="A hash that you noted earlier; it must be in the chain."
)
@click.option("--receipt", "files", multiple=True, type=FILE, help="A receipt to check; may be repeated.")
@click.option("--key", type=FILE, help="The public key that must have signed the receipts, such as id_ed25519.pub.")
@click.option("--write-receipt", "out", type=click.Path(path_type=Path), help="Write a receipt to this file.")
@click.option("--sign", type=FILE, help="Sign it with this Ed25519 private key, as ssh-keygen writes it.")
@click.option("--no-contents", is_flag=True, help="Do not recompute the content hash of every cell.")
@json_option
def verify(
    db: Path,
    heads: tuple[str, ...],
    files: tuple[Path, ...],
    key: Path | None,
    out: Path | None,
    sign: Path | None,
    no_contents: bool,
    as_json: bool,
) -> None:
    """Recompute the chain of registrations, plans, cells and audits, and compare it with what the database holds.

    A receipt is one small file with the head of the chain and the hashes of the registrations. Write one before the run and
    keep it elsewhere: a history that was rewritten afterwards does not contain its head. Ends with 0 when everything agrees
    and with 6 when something does not; each finding is named.
    """
    if sign is not None and out is None:
        raise UsageError("--sign concerns --write-receipt, which is absent", hint="name the file with --write-receipt")
    if key is not None and not files:
        raise UsageError("--key concerns --receipt, which is absent", hint="name the receipt with --receipt")
    for noted in heads:
        if len(noted) < 12 or not set(noted) <= set("0123456789abcdef"):
            raise UsageError(f"--against {noted!r}: expected at least 12 hexadecimal digits of a hash")
    from orledger.schema import receipts
    from orledger.schema.objects import code_findings

    if out is not None:
        check_file(out)
    loaded = {file: receipts.read(file) for file in files}
    with reading(db, checked=False) as results, steps("verify"):
        if code := code_findings(results.con):  # every further answer would be the file's own
            _refuse(db, code, as_json=as_json)
        facts, findings = _verified(results.con, heads, contents=not no_contents)
        checked = {file: receipts.check(results.con, receipt, key) for file, receipt in loaded.items()}
        facts["noted"] += len(checked)
    findings += [f for c in checked.values() for f in c.findings]
    if not findings and out is not None:
        _write_receipt(db, out, sign)
    if as_json:
        listed = {
            str(f): {**vars(c), "findings": len(c.findings), "before_data": c.before_data} for f, c in checked.items()
        }
        echo_json({"db": str(db), **facts, "receipts": listed, "findings": [vars(f) for f in findings]})
    else:
        _show(db, facts, checked, findings, out)
    if findings:
        raise VerificationError(f"{counted(len(findings), 'finding')} in {db}")


def _refuse(db: Path, findings: list[CheckFinding], *, as_json: bool) -> NoReturn:
    """Names what a file would run, and asks it nothing else."""
    if as_json:
        echo_json({"db": str(db), "findings": [vars(f) for f in findings]})
    else:
        _listed(findings)
    raise VerificationError(f"{counted(len(findings), 'finding')} in {db}")


def _listed(findings: list[CheckFinding]) -> None:
    for finding in findings[:SHOWN]:
        click.echo(f"{finding.rule}: {finding.where}: {finding.detail}")
    if len(findings) > SHOWN:
        click.echo(f"and {len(findings) - SHOWN} more")


def _verified(
    con: DuckDBPyConnection, heads: tuple[str, ...], *, contents: bool
) -> tuple[dict[str, Any], list[CheckFinding]]:
    """Facts about the chain, and everything that does not agree."""
    from orledger.schema import chain, ledger
    from orledger.schema.contents import CheckFinding

    findings = chain.verify(con, contents=contents)
    entries = ledger.entries(con)
    hashes = [e.hash for e in entries]
    for noted in heads:
        if not any(h.startswith(noted) for h in hashes):
            findings.append(CheckFinding("a noted head is not in the chain", noted, "the history is another"))
    last = chain.head(con)
    began = [e for e in entries if e.sequence == 1 and e.summary.get("note") == chain.BEFORE]
    facts: dict[str, Any] = {
        "entries": len(entries),
        "histories": len({e.branch for e in entries}),
        "head": last.hash if last else None,
        "written": last.written.isoformat(sep=" ", timespec="seconds") if last else None,
        "before_the_chain": [f"{e.written:%Y-%m-%d %H:%M:%S}" for e in began],
        "registrations": con.execute("SELECT count(*) FROM registration").fetchall()[0][0],
        "cells": con.execute("SELECT count(*) FROM cell WHERE state <> 'planned'").fetchall()[0][0],
        "contents_computed_again": contents,
        "noted": len(heads),
    }
    return facts, findings


def _write_receipt(db: Path, out: Path, sign: Path | None) -> None:
    """Writes the file, and an entry that says so."""
    from hashlib import sha256

    from orledger.schema import chain, receipts
    from orledger.schema.opening import writing
    from orledger.schema.transactions import transaction

    with writing(db) as con:
        receipt = receipts.make(con, sign)
        text = receipts.text_of(receipt)
        write_file(out, text)
        summary = {"head": receipt["head"], "cells": receipt["cells"], "sha256": sha256(text.encode()).hexdigest()}
        signed_by = {} if sign is None else {"signed_by": receipts.signer(receipt)}
        with transaction(con):
            chain.append(con, "receipt", {**summary, **signed_by})


def _show(
    db: Path, facts: dict[str, Any], checked: dict[Path, Checked], findings: list[CheckFinding], out: Path | None
) -> None:
    _listed(findings)
    for at in facts["before_the_chain"]:
        warn(f"the chain begins {at} UTC; history before that is not in it")
    for file, c in checked.items():
        when = "before any cell was computed" if c.cells == 0 else f"when {counted(c.cells, 'cell')} had an outcome"
        signed = f", signed by {c.signed_by}" if c.signed_by else ", not signed"
        if not c.findings:
            click.echo(
                f"{file}: in the chain at entry {c.sequence}, {when}; {counted(c.registrations, 'registration')}{signed}"
            )
    joined = f" in {facts['histories']} histories" if facts["histories"] > 1 else ""
    click.echo(
        f"{db}: {counted(facts['entries'], 'entry', 'entries')}{joined}, {counted(facts['registrations'], 'registration')}, {counted(facts['cells'], 'cell')} with an outcome"
    )
    click.echo(f"head {facts['head']}, written {facts['written']} UTC")
    if not findings and not facts["noted"]:
        click.echo(hanging(ALONE, ""))
    if out is not None and not findings:
        click.echo(f"receipt written to {out}")
