"""A paper in HTML: its tables with their spans and marks, and its sentences."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.document import Document, Grid, PrintedCell, Sentence, rectangular, split_sentences

if TYPE_CHECKING:
    from pathlib import Path

_TEXT_BLOCKS = frozenset({"p", "li", "dd", "dt", "blockquote", "figcaption", "caption", "td", "th", "div", "section"})
_SILENT = frozenset({"script", "style", "head", "template", "noscript"})
_WIDEST = 1000  # columns or rows that one cell may claim to span


class _Reader(HTMLParser):
    """Collects tables and sentences as the tags come."""

    def __init__(self, file: str) -> None:
        super().__init__(convert_charrefs=True)
        self.file, self.place, self.silent = file, "", 0
        self.words: list[str] = []
        self.lines: list[int] = []
        self.sentences: list[Sentence] = []
        self.grids: list[Grid] = []
        self.table: _Table | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in _SILENT:
            self.silent += 1
        if tag == "table" and self.table is None:
            self.flush()
            self.table = _Table(values.get("id") or f"table {len(self.grids) + 1}", self.getpos()[0])
        elif self.table is not None:
            self.table.start(tag, values, self.getpos()[0])
        elif tag in _TEXT_BLOCKS or re.fullmatch(r"h[1-6]", tag):
            self.flush()
        if tag in ("sup", "sub") and not self.silent:
            self.handle_data("^{" if tag == "sup" else "_{")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self.silent = max(0, self.silent - 1)
        if tag in ("sup", "sub") and not self.silent:
            self.handle_data("}")
        if self.table is not None:
            if tag == "table":
                self.grids.append(self.table.grid(self.file))
                self.table = None
            else:
                self.table.end(tag)
        elif re.fullmatch(r"h[1-6]", tag):
            self.place = re.sub(r"\s+", " ", "".join(self.words)).strip()
            self.words, self.lines = [], []
        elif tag in _TEXT_BLOCKS:
            self.flush()

    def handle_data(self, data: str) -> None:
        if self.silent:
            return
        if self.table is not None:
            self.table.text(data)
            return
        line = self.getpos()[0]
        for char in data:
            space = char in " \t\n\r"
            if not (space and self.words and self.words[-1] == " "):
                self.words.append(" " if space else char)
                self.lines.append(line)
            line += char == "\n"

    def flush(self) -> None:
        text = "".join(self.words)
        for start, end in split_sentences(text):
            self.sentences.append(Sentence(text[start:end], self.place, self.file, tuple(self.lines[start:end])))
        self.words, self.lines = [], []


class _Table:
    """One table as its tags come; a cell that spans rows is copied into those below."""

    def __init__(self, name: str, line: int) -> None:
        self.name, self.line, self.caption = name, line, ""
        self.rows: list[list[PrintedCell]] = []
        self.heads: list[bool] = []
        self.open = self.head = self.bold = self.underlined = self.captioned = False
        self.words: list[str] = []
        self.span = self.down = 1
        self.cell_line = line
        self.covered: dict[int, tuple[int, PrintedCell]] = {}
        self.in_head = False

    def start(self, tag: str, values: dict[str, str], line: int) -> None:
        if tag == "thead":
            self.in_head = True
        elif tag == "tr":
            self.rows.append([])
            self.heads.append(True)
        elif tag in ("td", "th"):
            self._close()
            if not self.rows:
                self.rows.append([])
                self.heads.append(True)
            self.open, self.head, self.bold, self.underlined, self.words = True, tag == "th", False, False, []
            self.span, self.down = _count(values.get("colspan")), _count(values.get("rowspan"))
            self.cell_line = line
            self._copy_down()
        elif tag in ("b", "strong"):
            self.bold = True
        elif tag == "u":
            self.underlined = True
        elif tag == "caption":
            self.captioned = True

    def end(self, tag: str) -> None:
        if tag in ("td", "th", "tr"):
            self._close()
        if tag == "tr" and self.rows:
            self._copy_down()
        elif tag == "caption":
            self.captioned = False
        elif tag == "thead":
            self.in_head = False

    def text(self, data: str) -> None:
        if self.captioned:
            self.caption += data
        elif self.open:
            self.words.append(data)

    def _copy_down(self) -> None:
        row = self.rows[-1]
        while (column := sum(c.span for c in row)) in self.covered:
            left, cell = self.covered[column]
            row.append(PrintedCell(cell.text, cell.line, cell.bold, cell.underlined, cell.span, repeated=True))
            if left > 1:
                self.covered[column] = (left - 1, cell)
            else:
                del self.covered[column]

    def _close(self) -> None:
        if not self.open:
            return
        text = re.sub(r"[ \t\r\n]+", " ", "".join(self.words)).strip()
        digits = any(c.isdigit() for c in text)
        cell = PrintedCell(text, self.cell_line, self.bold and digits, self.underlined and digits, self.span)
        column = sum(c.span for c in self.rows[-1])
        self.rows[-1].append(cell)
        if self.down > 1:
            self.covered[column] = (self.down - 1, cell)
        if not self.head and not self.in_head:
            self.heads[-1] = False
        self.open = False

    def grid(self, file: str) -> Grid:
        self._close()
        kept = [(row, head) for row, head in zip(self.rows, self.heads, strict=True) if row]
        heads = 0
        while heads < len(kept) and kept[heads][1]:
            heads += 1
        heads = heads if 0 < heads < len(kept) else min(1, max(0, len(kept) - 1))
        wide = rectangular([row for row, _ in kept])
        place = f"table {self.name}" if not self.name.startswith("table") else self.name
        caption = re.sub(r"\s+", " ", self.caption).strip()
        body = tuple(wide[heads:])
        return Grid(self.name, caption, file, self.line, tuple(wide[:heads]), body, (0,) * len(body), place)


def _count(text: str | None) -> int:
    return min(max(int(text), 1), _WIDEST) if text and re.fullmatch(r"\s*\d{1,9}\s*", text) else 1


def read_html(path: Path, text: str) -> Document:
    """The tables and sentences of an HTML page."""
    reader = _Reader(path.name)
    reader.feed(text)
    reader.close()
    reader.flush()
    return Document(path.name, tuple(reader.sentences), tuple(reader.grids))
