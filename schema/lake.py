"""A lake: many exported corpora in one folder, answered by DuckDB from their Parquet files, without importing them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb

from orledger.errors import UsageError, VerificationError
from orledger.files import require_file
from orledger.schema import catalogue, exchange, explaining, migrate, parquet, viewing
from orledger.schema.reading import Results
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAMED = 10  # conflicts named one by one in a message
OF_CELLS = ("record", "refusal", "fact", "dataset")


def open_lake(folder: Path, **config: Any) -> Results:
    """The corpora below ``folder`` as one database that can be read: the same tables, with a column ``corpus``, and views.

    A cell that stands in several corpora with equal content counts once; with another content it is a conflict, and refused
    by name. Only the manifests are read here, and the tables of cells: hashes are verified by ``db import``, not by a lake.
    """
    corpora = sorted(m.parent for m in folder.rglob(exchange.MANIFEST)) if folder.is_dir() else []
    if not corpora:
        raise UsageError(f"{folder} holds no exported corpus", hint="orledger db export FOLDER writes one")
    con = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    with explaining.translated(folder, read_only=True):
        try:
            migrate.migrate(con)
            for corpus in corpora:
                _require_readable(con, corpus)
            for table in _tables(con):
                _attach(con, table, folder, corpora)
            _require_agreement(con, folder)
            viewing.refresh(con)
            for name, value in {**config, "python_enable_replacements": False}.items():
                if name != "lock_configuration":
                    con.execute(f"SET {name} = {_text(value) if isinstance(value, str) else value}")
            # From here on: these files, nothing else, and no way back.
            here = folder.absolute()  # DuckDB compares the text of a pattern, too
            con.execute(f"SET allowed_directories = [{_text(str(here))}, {_text(parquet.exactly(here))}]")
            con.execute("SET enable_external_access = false")
            con.execute("SET lock_configuration = true")
        except BaseException:
            con.close()
            raise
    return Results(folder, con)


def _require_readable(con: duckdb.DuckDBPyConnection, corpus: Path) -> None:
    """Refuses a corpus of a newer orledger, and an older one whose tables lack a column; a table that it lacks counts as empty."""
    file = corpus / exchange.MANIFEST
    require_file(file)
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        version = int(manifest["schema_version"])
        known = {name: set(table["columns"]) for name, table in manifest["tables"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise VerificationError(f"{file} is damaged: {error}", hint=exchange.ANOTHER) from error
    ours = len(migrate.shipped_migrations())
    if version > ours:
        raise UsageError(
            f"{corpus} has schema version {version}, and this orledger reads up to {ours}",
            hint="pip install --upgrade orledger",
        )
    for name, columns in known.items():
        if not (corpus / f"{name}.parquet").is_file():
            raise VerificationError(f"{corpus / f'{name}.parquet'} is missing", hint=exchange.ANOTHER)
        query = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND database_name = current_database()"
        lacking = [c for (c,) in con.execute(query, [name]).fetchall() if c not in columns]
        if lacking:
            raise UsageError(
                f"{corpus} has schema version {version}, whose table {name} has no {', '.join(lacking)}",
                hint="import it, and export it again",
            )


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    query = (
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal ORDER BY 1"
    )
    return [row[0] for row in con.execute(query).fetchall() if row[0] not in exchange.LEFT_OUT]


def _attach(con: duckdb.DuckDBPyConnection, table: str, folder: Path, corpora: Sequence[Path]) -> None:
    """Puts the files of all corpora in the place of an empty table."""
    parts = []
    for corpus in corpora:
        if not (corpus / f"{table}.parquet").is_file():  # of an older schema, which had no such table
            continue
        name = corpus.relative_to(folder).as_posix() if corpus != folder else corpus.name
        rows = parquet.rows_of((corpus / f"{table}.parquet").absolute())
        parts.append(f"SELECT *, {_text(name)} AS corpus FROM {rows}")
    if not parts:
        con.execute(f"ALTER TABLE {table} ADD COLUMN corpus VARCHAR")
        return
    every = " UNION ALL BY NAME ".join(parts)
    if table in catalogue.TABLES:  # small, and the same in every corpus of a study
        con.execute(f"INSERT INTO {table} BY NAME SELECT DISTINCT * EXCLUDE (corpus) FROM ({every})")
        return
    con.execute(f"DROP TABLE {table}")
    # Cells and their rows are seen through a second view, which leaves out what stands twice.
    con.execute(f"CREATE VIEW {f'all_{table}' if table in ('cell', *OF_CELLS) else table} AS {every}")
    if table == "cell":
        best = "CASE state WHEN 'planned' THEN 0 WHEN 'failed' THEN 1 ELSE 2 END DESC, corpus"
        con.execute(
            "CREATE TABLE lake_dropped AS SELECT cell_id, corpus FROM all_cell"
            f" QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {best}) > 1"
        )
        con.execute("CREATE VIEW cell AS SELECT * FROM all_cell ANTI JOIN lake_dropped USING (cell_id, corpus)")
    elif table in OF_CELLS:
        twice = con.execute("SELECT count(*) FROM lake_dropped").fetchall()[0][0]
        kept = " ANTI JOIN lake_dropped USING (cell_id, corpus)" if twice else ""
        con.execute(f"CREATE VIEW {table} AS SELECT * FROM all_{table}{kept}")


def _require_agreement(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    conflicts = con.execute(
        "SELECT any_value(name), list(corpus ORDER BY corpus) FROM all_cell WHERE content_hash IS NOT NULL"
        " GROUP BY cell_id HAVING count(DISTINCT content_hash) > 1 ORDER BY 1"
    ).fetchall()
    if conflicts:
        names = "".join(f"\n  {name}: {', '.join(where)}" for name, where in conflicts[:NAMED])
        more = f"\n  and {len(conflicts) - NAMED} more" if len(conflicts) > NAMED else ""
        raise VerificationError(
            f"{counted(len(conflicts), 'cell')} of {folder} {'stands' if len(conflicts) == 1 else 'stand'} in several corpora with other results:{names}{more}",
            hint="take one of the corpora out of the folder, or merge them with --keep-both",
        )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
