"""A paper from a file: the reader is chosen by the file's ending."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.document import (
    Document,
    Grid,
    PrintedCell,
    readable,
    rectangular,
    with_decimal_points,
)
from orledger.audit.recheck.reading.latex import read_latex
from orledger.audit.recheck.reading.markdown import read_markdown
from orledger.audit.recheck.reading.web import read_html
from orledger.errors import UsageError
from orledger.files import require_file

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = (".tex", ".ltx", ".md", ".markdown", ".csv", ".tsv", ".html", ".htm")
LARGEST = 50_000_000  # bytes
HEAD = 8_000_000  # characters of a table in CSV that are read: its first rows are in them, however long the file is
MOST_ROWS = 1_000  # of a table: a longer one is data, and relations between all its lines would take hours


_READERS = {".md": read_markdown, ".markdown": read_markdown, ".html": read_html, ".htm": read_html}


def read_document(path: Path) -> Document:
    """The paper in `path`: LaTeX, Markdown, HTML or a table in CSV."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"{path} is of a kind that is not read: {ending or 'no ending'}", hint=f"one of {', '.join(ENDINGS)}"
        )
    require_file(path)
    try:
        if ending in (".csv", ".tsv"):
            return _bounded(_read_table(path))
        size = path.stat().st_size
        if size > LARGEST:
            raise UsageError(f"{path} has {size} bytes", hint=f"at most {LARGEST}: name the main file of the paper")
        if ending in (".tex", ".ltx"):
            return _bounded(with_decimal_points(read_latex(path)))
        text, notes = readable(path.read_text(encoding="utf-8-sig", errors="replace"), path.name)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="name a file that exists") from error
    except RecursionError as error:
        raise UsageError(f"{path} has groups inside groups, too deep to be read", hint="take them out") from error
    document = _bounded(with_decimal_points(_READERS[ending](path, text)))
    return replace(document, notes=(*document.notes, *notes))


def _read_table(path: Path) -> Document:
    """The beginning of a table in CSV; a note says where reading ended in a long file."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        text = file.read(HEAD)
        more = bool(file.read(1))
    text, notes = readable(text[: text.rfind("\n") + 1] or text if more else text, path.name)
    if more:
        notes.append(f"{path.name}: the first {text.count(chr(10))} lines were read; the file goes on")
    document = read_delimited(path, text)
    return replace(document, notes=(*document.notes, *notes))


def _bounded(document: Document) -> Document:
    """The document with the first rows of tables that are data and not print, and a note about each."""
    long = [grid for grid in document.grids if len(grid.rows) > MOST_ROWS]
    if not long:
        return document
    notes = [f"{g.file}:{g.line}: {g.name} has {len(g.rows)} rows; the first {MOST_ROWS} were read" for g in long]
    grids = tuple(replace(g, rows=g.rows[:MOST_ROWS], blocks=g.blocks[:MOST_ROWS]) for g in document.grids)
    return replace(document, grids=grids, notes=(*document.notes, *notes))


def read_delimited(path: Path, text: str) -> Document:
    """A table in CSV or TSV: its first line is the header."""
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:8192], delimiters=",;\t")
    except csv.Error:
        dialect = csv.excel_tab if path.suffix.lower() == ".tsv" else csv.excel
    reader = csv.reader(io.StringIO(text), dialect)
    rows = []
    try:
        rows = [[PrintedCell(field.strip(), reader.line_num) for field in record] for record in reader if any(record)]
    except csv.Error as error:
        raise UsageError(
            f"{path}, line {reader.line_num}: {error}", hint="write a table with one record per line"
        ) from error
    wide = rectangular(rows)
    name = path.stem
    body = tuple(wide[1:])
    grid = Grid(name, "", path.name, 1, tuple(wide[:1]), body, (0,) * len(body), f"table {name}")
    return Document(path.name, (), (grid,) if rows else ())
