"""A paper as read: sentences with their places, and tables as grids of typed cells."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.numbers import CellNumbers, read_entry

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class PrintedCell:
    """One cell: its text, where it stands, whether it is marked, and over how many columns it spans."""

    text: str
    line: int
    bold: bool = False
    underlined: bool = False
    span: int = 1
    repeated: bool = False  # a copy made for a span: the number is printed once

    @cached_property
    def entry(self) -> CellNumbers:
        """The typed content."""
        return read_entry(self.text)


@dataclass(frozen=True)
class Grid:
    """A table: header rows, body rows of equal length, and the block (between rules) of each body row."""

    name: str
    caption: str
    file: str
    line: int
    header: tuple[tuple[PrintedCell, ...], ...]
    rows: tuple[tuple[PrintedCell, ...], ...]
    blocks: tuple[int, ...]
    place: str = ""
    notes: str = ""  # what stands under the table

    @property
    def width(self) -> int:
        """Number of columns."""
        return max((len(row) for row in (*self.header, *self.rows)), default=0)

    def heading(self, column: int) -> str:
        """The words above a column, each header cell once."""
        words = [row[column].text.strip() for row in self.header if column < len(row)]
        return " ".join(dict.fromkeys(w for w in words if w))

    def label(self, row: int) -> str:
        """The words of a row: its first cells that hold no number, or its first cell."""
        found: list[str] = []
        for cell in self.rows[row]:
            if cell.entry.form == "missing" and not found:
                continue
            if cell.entry.form != "words":
                break
            found.append(cell.text.strip())
        return " ".join(dict.fromkeys(found)) or (self.rows[row][0].text.strip() if self.rows[row] else "")

    def column(self, column: int) -> list[tuple[int, PrintedCell]]:
        """(row, cell) of a column, top to bottom; copies made for spans are left out."""
        found = [(i, row[column]) for i, row in enumerate(self.rows) if column < len(row)]
        return [(i, cell) for i, cell in found if not cell.repeated and cell.span == 1]

    def cells(self) -> Iterator[tuple[int, int, PrintedCell]]:
        """(row, column, cell) of every body cell that is printed, each once."""
        for i, row in enumerate(self.rows):
            for j, cell in enumerate(row):
                if not cell.repeated:
                    yield i, j, cell

    def where(self, row: int, column: int) -> str:
        """A cell's place in words."""
        return (
            f"{self.place or self.name}, row {self.label(row) or row + 1}, column {self.heading(column) or column + 1}"
        )

    def key(self, row: int, column: int) -> str:
        """A cell's id."""
        return f"{self.name}/{row + 1}/{column + 1}"


@dataclass(frozen=True)
class Sentence:
    """A sentence of the text: plain words, its place (section, abstract, caption), file and the line of each character."""

    text: str
    place: str
    file: str
    lines: tuple[int, ...] = field(repr=False)

    @property
    def line(self) -> int:
        """The line it starts on."""
        return self.lines[0] if self.lines else 0

    def line_at(self, position: int) -> int:
        """The line of a character."""
        return self.lines[min(position, len(self.lines) - 1)] if self.lines else 0


@dataclass(frozen=True)
class Document:
    """A paper: its sentences and its tables in order; `notes` say what could not be read."""

    name: str
    sentences: tuple[Sentence, ...]
    grids: tuple[Grid, ...]
    notes: tuple[str, ...] = ()


# A stop that ends no sentence.
LONGEST = 2_000  # characters of a sentence: what is longer is a list or a file that is no text
WIDEST = 500  # columns that one cell of a table may span
_ENDLESS = re.compile(r"\d{61,}")
_MOST_NOTES = 20
_SHORT = re.compile(
    r"(?:\b(?:[A-Z]|[a-z]|Fig|Figs|Tab|Table|Eq|Eqs|Sec|Secs|App|Thm|Prop|Lem|Rem|Cor|Def|Alg|Ref|Refs|No|Nos|vs|cf|al|etc|"
    r"resp|approx|rel|e\.g|i\.e|w\.r\.t|i\.i\.d|Dr|Prof|St|ca|std|norm|const|temp|pred|max|min|avg|dev|est|ibid|viz)\.)$"
)


def readable(text: str, file: str) -> tuple[str, list[str]]:
    """The text without strings of digits that no number has, and a note about each line that had one."""
    notes = [
        f"{file}:{text.count(chr(10), 0, m.start()) + 1}: {len(m[0])} digits in a row are no number and were not read"
        for m in itertools.islice(_ENDLESS.finditer(text), _MOST_NOTES)
    ]
    return (_ENDLESS.sub("…", text) if notes else text), notes


_RAISED = re.compile(r"(?<=\d)[·⋅∙](?=\d)(?!10\s*\^)")
_RAISED_ZERO = re.compile(r"(?<![\d.·])0[·⋅∙]\d")


def with_decimal_points(document: Document) -> Document:
    """The document with raised decimal points on the line, where it has them: some journals print 0·85 for 0.85."""
    cells = (c.text for g in document.grids for row in g.rows for c in row)
    raised = sum(len(_RAISED_ZERO.findall(t)) for t in itertools.chain((s.text for s in document.sentences), cells))
    if raised < 3:
        return document

    def lowered(rows: tuple[tuple[PrintedCell, ...], ...]) -> tuple[tuple[PrintedCell, ...], ...]:
        return tuple(tuple(replace(c, text=_RAISED.sub(".", c.text)) for c in row) for row in rows)

    return replace(
        document,
        sentences=tuple(replace(s, text=_RAISED.sub(".", s.text)) for s in document.sentences),
        grids=tuple(replace(g, header=lowered(g.header), rows=lowered(g.rows)) for g in document.grids),
    )


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the sentences of a text; an empty line ends one too, and one without an end is cut at a space."""
    for start, end in _sentences(text):
        while end - start > LONGEST:
            cut = text.rfind(" ", start, start + LONGEST)
            cut = cut if cut > start else start + LONGEST
            yield start, cut
            start = cut
        yield start, end


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in re.finditer(r"[.!?][\"”’)\]]*(?=\s+[\"“‘(\[]?[A-Z0-9\\κμσλ])|\n\s*\n", text):
        if match[0].strip() and _SHORT.search(text[max(0, match.start() - 8) : match.start() + 1]):
            continue
        if text[start : match.end()].strip():
            yield _trimmed(text, start, match.end())
        start = match.end()
    if text[start:].strip():
        yield _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def rectangular(rows: list[list[PrintedCell]]) -> list[tuple[PrintedCell, ...]]:
    """The rows with spans spelled out, all as long as the longest."""
    wide = []
    for row in rows:
        cells: list[PrintedCell] = []
        for cell in row:
            cells.append(cell)
            copies = cell.span - 1
            cells.extend(
                PrintedCell(cell.text, cell.line, cell.bold, cell.underlined, 1, repeated=True) for _ in range(copies)
            )
        wide.append(cells)
    width = max((len(row) for row in wide), default=0)
    return [tuple(row + [PrintedCell("", row[-1].line if row else 0)] * (width - len(row))) for row in wide]
