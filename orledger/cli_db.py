"""``orledger db``: describe, migrate, copy, export, import, merge and check a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orledger.cli_look import steps
from orledger.cli_options import LocalPath, PlacePath, db_option, echo_json, echo_table, json_option, reading
from orledger.cli_output import check_file, check_folder, out_option
from orledger.errors import VerificationError
from orledger.wording import counted

if TYPE_CHECKING:
    from orledger.schema.addresses import Place


@click.group()
def db() -> None:
    """Describe, migrate, copy, export, import, merge and check a database."""


@db.command()
@db_option
@json_option
def info(db: Path, as_json: bool) -> None:
    """Describe the file: its schema version, and how many rows each table holds."""
    with reading(db) as results:
        found = [t for t in results.tables() if t.kind == "table"]
        views = [t.name for t in results.tables() if t.kind == "view"]
        files = results.sql(
            "SELECT kind, number, name, version, applied FROM migration ORDER BY kind, number, name"
        ).to_dicts()
        storage = results.sql(
            "SELECT tags['storage_version'] AS v FROM duckdb_databases() WHERE database_name = current_database()"
        )["v"][0]
        size = results.path.stat().st_size
    version = max((f["number"] for f in files if f["number"] is not None), default=0)
    facts: dict[str, Any] = {"file": str(db), "bytes": size, "schema_version": version, "storage_version": storage}
    if as_json:
        echo_json({**facts, "rows": {t.name: t.rows for t in found}, "views": views, "files": files})
        return
    click.echo(f"{db}: {size:,} bytes, schema version {version}, DuckDB storage {storage}, {len(views)} views")
    echo_table([{"table": t.name, "rows": t.rows, "holds": t.comment} for t in found], right=("rows",))


@db.command()
@db_option
@json_option
def migrate(db: Path, as_json: bool) -> None:
    """Bring the schema of an existing database up to date (orledger run does so by itself), and recreate its views."""
    from orledger.schema import opening, viewing
    from orledger.schema.migrate import shipped_migrations

    before = opening.stored_version(db)
    with opening.writing(db) as con:
        viewing.refresh(con, anew=True)
    now = len(shipped_migrations())
    if as_json:
        echo_json({"db": str(db), "schema_version": now, "before": before})
        return
    click.echo(f"{db}: schema version {now}" + (f", from {before}" if before != now else ", up to date"))


@db.command()
@db_option
@out_option(help="A new file; by default beside the database, named by date and time (UTC).")
@json_option
def snapshot(db: Path, out: Path | None, as_json: bool) -> None:
    """Copy the database into a new file that others may read and keep; no run touches it."""
    from orledger.schema.snapshot import copy_database

    if out is not None and not out.exists():
        check_file(out)
    with steps("copy"):
        made = copy_database(db, out)
    echo_json({"db": str(db), "copy": str(made)}) if as_json else click.echo(made)


@db.command()
@click.argument("folder", type=PlacePath())
@db_option
@click.option("--compact", is_flag=True, help="Smaller files that take several times as long to write; for archives.")
@json_option
def export(folder: Place, db: Path, compact: bool, as_json: bool) -> None:
    """Write every table to FOLDER as Parquet, with a manifest of hashes; equal databases give equal bytes.

    FOLDER may be an address: s3://, gs:// or az://.
    """
    from orledger.schema import addresses, exchange

    if isinstance(folder, Path):
        check_folder(folder)
    with steps("export"), addresses.writing_folder(folder, new=True) as local:
        manifest = exchange.export(db, local, compact=compact)
    _show_manifest(manifest, as_json, f"{folder}: {{tables}} tables, {{rows:,}} rows")


@db.command("import")
@click.argument("folder", type=PlacePath(file_okay=False, exists=True))
@db_option
@click.option(
    "--keep-both",
    is_flag=True,
    help="Keep both versions of cells with different results, with their origin among their keys.",
)
@json_option
def import_(folder: Place, db: Path, keep_both: bool, as_json: bool) -> None:
    """Import an exported FOLDER, after verifying every hash, into a new database or by merging into an existing one.

    FOLDER may be an address: s3://, gs://, az:// or https://.
    """
    from orledger.schema import addresses, exchange

    if db.exists():
        _show_joined(db, [folder], keep_both, as_json)
        return
    with steps("import"), addresses.reading_export(folder) as local:
        manifest = exchange.import_folder(local, db)
    _show_manifest(manifest, as_json, f"{db}: {{tables}} tables, {{rows:,}} rows, hashes verified")


@db.command()
@click.argument("out", type=LocalPath(dir_okay=False))
@click.argument("sources", nargs=-1, required=True, type=PlacePath(exists=True))
@click.option(
    "--keep-both",
    is_flag=True,
    help="Keep both versions of cells with different results, with their origin among their keys.",
)
@json_option
def merge(out: Path, sources: tuple[Place, ...], keep_both: bool, as_json: bool) -> None:
    """Merge SOURCES, databases and exported folders, into the database OUT, which is created if it does not exist.

    Sources are verified first. Cells are matched by id; equal ones are stored once, and cells with different
    results are named and refused. Registrations, runs and catalogues are merged, and the history of each source is kept
    beside that of OUT. Audits are not merged: audit the merged data. It is done as a whole or not at all. SOURCES may be addresses
    (s3://, gs://, az://, https://); one that ends in .duckdb is a database.
    """
    _show_joined(out, list(sources), keep_both, as_json)


@db.command()
@db_option
@json_option
def check(db: Path, as_json: bool) -> None:
    """Verify row counts, content hashes of cells, finite values, and that every row belongs somewhere."""
    from dataclasses import asdict

    from orledger.schema import checking

    with steps("check"):
        report = checking.check(db)
    if as_json:
        echo_json(asdict(report))
    else:
        for finding in report.findings[:100]:
            click.echo(f"{finding.rule}: {finding.where}: {finding.detail}")
        click.echo(
            f"{db}: {report.cells:,} cells, {report.records:,} records, {report.hashes:,} content hashes verified"
        )
    if report.findings:
        raise VerificationError(f"{counted(len(report.findings), 'finding')} in {db}")


def _show_joined(out: Path, sources: list[Place], keep_both: bool, as_json: bool) -> None:
    from contextlib import ExitStack
    from dataclasses import asdict, replace

    from orledger.schema import addresses
    from orledger.schema.merging import merge as join

    with steps("merge"), ExitStack() as stack:
        local = [stack.enter_context(addresses.reading(place)) for place in sources]
        found = join(out, local, keep_both=keep_both)
    joined = [replace(one, source=str(place)) for one, place in zip(found, sources, strict=True)]
    if as_json:
        echo_json({"db": str(out), "sources": [asdict(j) for j in joined]})
        return
    for j in joined:
        apart = f", {j.kept_apart} kept apart" if j.kept_apart else ""
        planned = f", {j.planned:,} planned" if j.planned else ""
        click.echo(
            f"{j.source}: {counted(j.cells, 'cell')} taken{planned}, {j.equal:,} were there already{apart}; hashes verified"
        )


def _show_manifest(manifest: dict[str, Any], as_json: bool, sentence: str) -> None:
    if as_json:
        echo_json(manifest)
    else:
        entries = manifest["tables"].values()
        click.echo(sentence.format(tables=len(entries), rows=sum(e["rows"] for e in entries)))
