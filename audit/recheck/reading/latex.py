"""A paper in LaTeX: its sentences by section, abstract and caption, and its tables."""

from __future__ import annotations

import bisect
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.document import Document, Grid, Sentence, split_sentences
from orledger.audit.recheck.reading.latex_source import group_end, read_source, skip_space
from orledger.audit.recheck.reading.latex_tables import TabularSpan, read_grid, tabulars
from orledger.audit.recheck.reading.latex_text import plain

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.audit.recheck.reading.latex_source import LatexSource

_MARK = re.compile(
    r"\\(?P<level>(?:sub)*section|chapter|paragraph)\*?\s*(?:\[[^\]]*\])?\s*(?=\{)|\\(?P<switch>appendix)\b"
    r"|\\(?P<edge>begin|end)\{(?P<name>abstract|thebibliography|figure\*?|table\*?|wraptable|wrapfigure)\}|\\begin\{document\}"
)
_CAPTION = re.compile(r"\\caption(?:of\s*\{\w+\})?\*?\s*(?:\[[^\]]*\])?\s*(?=\{)")
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
_IFFALSE = re.compile(r"\\iffalse\b.*?\\fi\b", re.S)


def read_latex(path: Path) -> Document:
    """The paper whose main file is `path`."""
    source = read_source(path)
    text = source.text
    begin = text.find("\\begin{document}")
    first = begin + len("\\begin{document}") if begin >= 0 else 0
    last = text.find("\\end{document}")
    last = last if last >= 0 else len(text)
    hidden = [(m.start(), m.end()) for m in _IFFALSE.finditer(text)]
    hidden += [
        (m.start(), _close(text, m.start(), "thebibliography"))
        for m in re.finditer(r"\\begin\{thebibliography\}", text)
    ]
    spans = [s for s in tabulars(text) if s.start >= first and not _inside(s.start, hidden)]
    captions = [
        (m.start(), m.end(), group_end(text, m.end()))
        for m in _CAPTION.finditer(text, first, last)
        if not _inside(m.start(), hidden)
    ]
    places = _places(source, first)
    grids = [_grid(source, span, i, places) for i, span in enumerate(spans, start=1)]
    cuts = sorted([(s.start, s.end) for s in spans] + [(start, end) for start, _, end in captions] + hidden)
    sentences: list[Sentence] = []
    position = first
    for start, end in [*cuts, (last, last)]:
        if start > position:
            sentences += _sentences(source, position, min(start, last), places)
        position = max(position, end)
    for _, opened, end in captions:
        sentences += _sentences(source, opened + 1, end - 1, places, f"caption of {_float_name(text, opened)}")
    sentences.sort(key=lambda s: (s.file, s.line))
    return Document(path.name, tuple(sentences), tuple(grids), source.notes)


def _close(text: str, start: int, name: str) -> int:
    end = text.find(f"\\end{{{name}}}", start)
    return len(text) if end < 0 else end


def _inside(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


def _places(source: LatexSource, first: int) -> tuple[list[int], list[str]]:
    """Positions in the source and the name of the place that begins at each."""
    text = source.text
    starts, names = [0], [""]
    section, appendix = "", False
    for match in _MARK.finditer(text, first):
        if match["switch"]:
            appendix = True
        elif match["level"] in ("section", "chapter", "subsection"):
            title = plain(text, match.end(), group_end(text, match.end()), source.macros).text
            section = re.sub(r"\s+", " ", title).strip()
        elif match["name"] == "abstract":
            starts.append(match.start())
            names.append("abstract" if match["edge"] == "begin" else section)
            continue
        else:
            continue
        starts.append(match.start())
        names.append(f"appendix, {section}" if appendix and section else section)
    return starts, names


def _place(places: tuple[list[int], list[str]], position: int) -> str:
    return places[1][bisect.bisect_right(places[0], position) - 1]


def _sentences(
    source: LatexSource, start: int, end: int, places: tuple[list[int], list[str]], place: str | None = None
) -> list[Sentence]:
    written = plain(source.text, start, end, source.macros)
    text, found = written.text, []
    for low, high in split_sentences(text):
        at = written.at[low:high]
        where = _place(places, at[0])
        where = place + (", appendix" if "appendix" in where else "") if place is not None else where
        file, _ = source.origin(at[0])
        # Runs of white space become one space, and the lines follow the characters that stay.
        chars: list[str] = []
        lines: list[int] = []
        for char, offset in zip(text[low:high], at, strict=True):
            space = char in " \t\n"
            if space and chars and chars[-1] == " ":
                continue
            chars.append(" " if space else char)
            lines.append(source.origin(offset)[1])
        found.append(Sentence("".join(chars), where, file, tuple(lines)))
    return found


def _float(text: str, position: int) -> tuple[int, int]:
    """The float environment around a position, or the paragraph around it."""
    begin = max(
        text.rfind("\\begin{table", 0, position),
        text.rfind("\\begin{figure", 0, position),
        text.rfind("\\begin{wraptable", 0, position),
    )
    if begin >= 0:
        name = text[begin + 7 : text.find("}", begin)]
        end = text.find(f"\\end{{{name}}}", begin)
        if end >= position:
            return begin, end
    return text.rfind("\n\n", 0, position) + 1, max(text.find("\n\n", position), position)


def _float_name(text: str, position: int) -> str:
    start, end = _float(text, position)
    label = _LABEL.search(text, start, end)
    kind = "figure" if text.startswith("\\begin{figure", start) else "table"
    return f"{kind} {label[1]}" if label else f"a {kind}"


def _grid(source: LatexSource, span: TabularSpan, number: int, places: tuple[list[int], list[str]]) -> Grid:
    text = source.text
    start, end = _float(text, span.start)
    # A long table stands in no float and holds its caption and label itself.
    caption = _CAPTION.search(text, start, end) or _CAPTION.search(text, span.start, span.end)
    words = ""
    if caption:
        opened = skip_space(text, caption.end())
        words = re.sub(r"\s+", " ", plain(text, opened + 1, group_end(text, opened) - 1, source.macros).text).strip()
    label = _LABEL.search(text, start, end) or _LABEL.search(text, span.start, span.end)
    inner = list(tabulars(text[start:end]))
    name = label[1] if label else f"table {number}"
    if len(inner) > 1:
        name += f" part {1 + sum(start + s.start < span.start for s in inner)}"
    place = f"table {name}" if label else name
    where = _place(places, span.start)
    grid = read_grid(source, span, name, words, f"{place}, appendix" if where.startswith("appendix") else place)
    after = text[span.end : end] if len(inner) == 1 and text.startswith("\\begin{", start) else ""
    under = plain(after, 0, len(after), source.macros).text if "\\caption" not in after else ""
    return replace(grid, notes=re.sub(r"\s+", " ", under).strip())
