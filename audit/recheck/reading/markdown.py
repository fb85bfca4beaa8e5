"""A paper in Markdown: pipe tables, and the sentences between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.document import Document, Grid, PrintedCell, Sentence, rectangular, split_sentences

if TYPE_CHECKING:
    from pathlib import Path

_SEPARATOR = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_MARKUP = re.compile(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)|`|\$|<[^<>\d\s][^<>]*>")


def read_markdown(path: Path, text: str) -> Document:
    """The tables and sentences of a Markdown text; tables are named by their order."""
    lines = text.splitlines()
    grids: list[Grid] = []
    sentences: list[Sentence] = []
    place, paragraph, first, fenced, i = "", "", 0, False, 0

    def flush() -> None:
        nonlocal paragraph
        sentences.extend(_sentences(path.name, place, paragraph, first))
        paragraph = ""

    while i < len(lines):
        line = lines[i]
        heading = re.match(r"#{1,6}\s+(.*)", line)
        if line.lstrip().startswith(("```", "~~~")):
            flush()
            fenced = not fenced
        elif fenced:
            pass
        elif "|" in line and i + 1 < len(lines) and _SEPARATOR.match(lines[i + 1]) and "-" in lines[i + 1]:
            flush()
            end = i + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [[_cell(c, k + 1) for c in _cells(lines[k])] for k in (i, *range(i + 2, end))]
            wide = rectangular(rows)
            number = len(grids) + 1
            blocks = (0,) * (len(wide) - 1)
            name = f"table {number}"
            grids.append(Grid(name, "", path.name, i + 1, (wide[0],), tuple(wide[1:]), blocks, name))
            i = end
            continue
        elif heading:
            flush()
            place = _MARKUP.sub("", heading[1]).strip()
        elif not line.strip():
            flush()
        else:
            first = first if paragraph else i + 1
            paragraph += ("\n" if paragraph else "") + line
        i += 1
    flush()
    return Document(path.name, tuple(sentences), tuple(grids))


def _cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    line = line.removesuffix("|") if not line.endswith("\\|") else line
    return [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]


def _cell(raw: str, line: int) -> PrintedCell:
    raw = raw.strip()
    bold = bool(re.search(r"\*\*|__|<b>|<strong>", raw)) and any(c.isdigit() for c in raw)
    return PrintedCell(_MARKUP.sub("", raw).strip(), line, bold, "<u>" in raw)


def _sentences(file: str, place: str, paragraph: str, first: int) -> list[Sentence]:
    found = []
    for start, end in split_sentences(paragraph):
        chars: list[str] = []
        lines: list[int] = []
        line = first + paragraph.count("\n", 0, start)
        skipped = {k for m in _MARKUP.finditer(paragraph) for k in range(m.start(), m.end())}
        for k in range(start, end):
            if k not in skipped:
                chars.append(" " if paragraph[k] == "\n" else paragraph[k])
                lines.append(line)
            line += paragraph[k] == "\n"
        if chars:
            found.append(Sentence("".join(chars), place, file, tuple(lines)))
    return found
