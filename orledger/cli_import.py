"""``orledger import``: results made elsewhere become a study of the database."""

from __future__ import annotations

from pathlib import Path

import click

from orledger.cli_look import steps
from orledger.cli_options import db_option, echo_json, json_option, warn


@click.command("import")
@click.argument("tables", nargs=-1, required=True)
@click.option(
    "--mapping",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="TOML file that says what the columns mean; orledger init writes one.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Replace stored values that changed, and remove arms that a file no longer names; a trace is kept.",
)
@db_option
@json_option
def import_study(tables: tuple[str, ...], mapping: Path, replace: bool, db: Path, as_json: bool) -> None:
    """Bring in TABLES, CSV, Parquet or JSON files, folders or globs, as a study of its own.

    Rows, arms and metrics are added to what the study has; the same table again changes nothing. A value that differs from
    the stored one is refused by name and nothing is stored, unless --replace. Register a hypothesis file first to have it on
    record before the data; then orledger audit evaluates it.
    """
    from orledger.audit.importing.loading import import_files
    from orledger.audit.importing.mapping import read_mapping
    from orledger.audit.importing.tables import expand
    from orledger.schema.opening import writing
    from orledger.schema.writing import Writer

    paths = expand(tables)
    described = read_mapping(mapping)
    # A database that was not there appears only when the import went well; the writer completes the catalogue as it closes.
    with writing(db) as con, Writer(db, con=con) as writer, steps("import"):
        found = import_files(writer, paths, described, replace=replace)
    if as_json:
        echo_json(vars(found))
        return
    click.echo(found.told())
    for note in found.notes:
        warn(note)
