"""``orledger import``: results made elsewhere become a study of the database."""

from __future__ import annotations

from pathlib import Path

import click

from orledger.cli_options import db_option, echo_json, json_option


@click.command("import")
@click.argument("table", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--mapping",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="TOML file that says what the columns mean.",
)
@db_option
@json_option
def import_study(table: Path, mapping: Path, db: Path, as_json: bool) -> None:
    """Bring in TABLE, a CSV or Parquet file in long or wide form, as a study of its own.

    Register a hypothesis file first to have it on record before the data; then orledger audit evaluates it.
    """
    from orledger.audit.importing.loading import import_table
    from orledger.audit.importing.mapping import read_mapping
    from orledger.schema.opening import writing

    described = read_mapping(mapping)
    with writing(db) as con:
        found = import_table(con, table, described)
    if as_json:
        echo_json(vars(found))
        return
    known = f", {found.known} cells were there already" if found.known else ""
    gaps = f", {found.missing} entries missing in the file and kept as refusals" if found.missing else ""
    click.echo(f"{found.study}: {found.cells} cells and {found.records} records stored{known}{gaps}")
