"""Tables to files: one per table and format, the macros, and the document that inputs all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.tables import latex, plain_text, render, typst
from orledger.reports.tables.numbers import macros, numbers_tex
from orledger.wording import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orledger.reports.tables.table import Table

WRITERS = {
    "tex": latex.table,
    "csv": render.table_csv,
    "md": render.table_markdown,
    "html": render.page,
    "typ": typst.table,
    "txt": plain_text.table,
}


def write_tables(
    tables: Sequence[Table],
    folder: Path,
    formats: Sequence[str],
    database: str,
    *,
    document: bool = True,
    notices: Sequence[str] = (),
) -> list[Path]:
    """Write every table in every format and return the files; the same database gives the same bytes.

    With ``csv`` the caption, the notes and the queries stand in a file beside each. With ``tex`` also ``numbers.tex``; with ``document`` also ``tables.tex``, which inputs the tables beside it. Both begin with ``notices`` about the database.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []

    def put(name: str, text: str) -> None:
        path = folder / name
        path.write_bytes(text.encode("utf-8"))
        written.append(path)

    for suffix in formats:
        for table in tables:
            text = WRITERS[suffix](table)
            put(f"{table.name}.{suffix}", text if suffix == "csv" else visible(text))
            if suffix == "csv":
                put(f"{table.name}.csv-metadata.json", render.table_metadata(table))
    if "tex" in formats:
        put("numbers.tex", numbers_tex(macros(tables), database, notices))
        if document:
            put("tables.tex", latex.document(tables, database, notices))
    return written
