"""Tables of LaTeX source: rows, cells, spans, rules and marks of tabular environments."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.document import WIDEST, Grid, PrintedCell, rectangular
from orledger.audit.recheck.reading.latex_source import group_end, skip_space
from orledger.audit.recheck.reading.latex_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.reading.latex_source import LatexSource

_BEGIN = re.compile(r"\\begin\{(tabular\*?|tabularx|tabulary|longtable|supertabular|xltabular|NiceTabular\*?)\}")
_RULE = re.compile(
    r"\s*(?:\\(?P<heavy>toprule|midrule|bottomrule|hline|Xhline|specialrule)|\\(?P<light>cmidrule|cline|addlinespace|arrayrulecolor|"
    r"rowcolor|endhead|endfirsthead|endfoot|endlastfoot|noalign|small|footnotesize|scriptsize|centering|rowfont))\b"
)
_PAGES = re.compile(r"\\end(firsthead|head|foot|lastfoot)\b")
_SPANNING = frozenset({"tabular*", "tabularx", "tabulary", "xltabular", "NiceTabular*"})  # a width comes first


@dataclass(frozen=True)
class TabularSpan:
    """Where a tabular environment stands in the source: all of it, and its body."""

    start: int
    end: int
    body: int
    close: int


def tabulars(text: str) -> Iterator[TabularSpan]:
    """Every outermost tabular environment."""
    position = 0
    while found := _BEGIN.search(text, position):
        name, depth, i = found[1], 1, found.end()
        tag = re.compile(r"\\(begin|end)\{" + re.escape(name) + r"\}")
        while depth and (match := tag.search(text, i)):
            depth += 1 if match[1] == "begin" else -1
            i = match.end()
        close = i - len(f"\\end{{{name}}}") if depth == 0 else len(text)
        yield TabularSpan(
            found.start(), i if depth == 0 else len(text), _after_arguments(text, found.end(), name), close
        )
        position = i if depth == 0 else len(text)


def _after_arguments(text: str, i: int, name: str) -> int:
    for _ in range(2 if name in _SPANNING else 1):
        i = skip_space(text, i)
        while text[i : i + 1] == "[":
            i = skip_space(text, group_end(text, i, "[", "]"))
        if text[i : i + 1] == "{":
            i = group_end(text, i)
    return i


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """("cell" or "row", start, end): cells up to & and rows up to a double backslash, outside braces and inner tables."""
    depth, inner, begun, i = 0, 0, start, start
    while i < end:
        char = text[i]
        if char == "\\":
            if text.startswith("\\begin{", i):
                inner += 1
            elif text.startswith("\\end{", i):
                inner -= 1
            elif depth == 0 and inner == 0 and (text[i + 1 : i + 2] == "\\" or text.startswith("\\tabularnewline", i)):
                yield "row", begun, i
                i += 2 if text[i + 1] == "\\" else len("\\tabularnewline")
                i += text[i : i + 1] == "*"
                after = skip_space(text, i)
                if text[after : after + 1] == "[" and re.match(r"\[\s*-?[\d.]+\s*\w+\s*\]", text[after : after + 20]):
                    i = group_end(text, after, "[", "]")
                begun = i
                continue
            i += 2
            continue
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        elif char == "&" and depth == 0 and inner == 0:
            yield "cell", begun, i
            begun = i + 1
        i += 1
    yield "row", begun, end


def _parts(text: str, span: TabularSpan) -> Iterator[tuple[str, int, int, bool]]:
    """The pieces of a table with whether one begins its body; heads and feet for further pages of a long table are left out."""
    found = {m[1]: m for m in _PAGES.finditer(text, span.body, span.close)}
    if not found:
        yield from ((*piece, False) for piece in _pieces(text, span.body, span.close))
        return
    head = found.get("firsthead") or found.get("head")
    if head is not None:
        yield from ((*piece, False) for piece in _pieces(text, span.body, head.start()))
    after = max(m.end() for m in found.values())
    for position, piece in enumerate(_pieces(text, after, span.close)):
        yield (*piece, position == 0)


def read_grid(source: LatexSource, span: TabularSpan, name: str, caption: str, place: str) -> Grid:
    """The table at a span of the source."""
    rows: list[list[PrintedCell]] = []
    rules: list[bool] = []  # whether a heavy rule stands above each row
    down: dict[int, tuple[int, PrintedCell]] = {}  # column -> (rows still covered, cell)
    cells: list[PrintedCell] = []
    heavy = pending = False
    for kind, start, end, first in _parts(source.text, span):
        pending = pending or first
        if not cells:
            start, heavy = _skip_rules(source.text, start, end)
            pending = pending or heavy
            if kind == "row" and source.text.startswith("\\caption", skip_space(source.text, start)):
                continue  # a long table holds its caption as a row
        column = sum(cell.span for cell in cells)
        cells.append(_cell(source, start, end, column, down))
        if kind == "cell":
            continue
        if any(cell.text for cell in cells):
            rows.append(cells)
            rules.append(pending)
            pending = False
        cells = []
    file, line = source.origin(span.start)
    body = next((i for i in range(1, len(rows)) if rules[i]), 1 if len(rows) > 1 else 0)
    wide = rectangular(rows)
    return Grid(name, caption, file, line, tuple(wide[:body]), tuple(wide[body:]), _blocks(rows, rules, body), place)


def _blocks(rows: list[list[PrintedCell]], rules: list[bool], body: int) -> tuple[int, ...]:
    """A number for each body row that changes at every rule and after every row that is one spanning cell of words."""
    width = max((sum(c.span for c in row) for row in rows), default=0)
    block, found = 0, []
    for i in range(body, len(rows)):
        filled = [c for c in rows[i] if c.text]
        title = len(filled) == 1 and (
            filled[0].span >= max(2, width - 1) or (width > 2 and filled[0].entry.form == "words")
        )
        if i > body and (rules[i] or title):
            block += 1
        found.append(block)
    return tuple(found)


def _skip_rules(text: str, start: int, end: int) -> tuple[int, bool]:
    """The position after the rules at the start of a row, and whether one of them goes across the table."""
    heavy = False
    while match := _RULE.match(text, start, end):
        heavy = heavy or match["heavy"] is not None
        start = match.end()
        while start < end and text[start] in "[({":
            start = group_end(text, start, text[start], {"[": "]", "(": ")", "{": "}"}[text[start]])
    return start, heavy


_MULTI = re.compile(r"\\multicolumn\s*\{\s*(\d+)\s*\}\s*(?=\{)")
_DOWN = re.compile(r"\\multirow\s*(?:\[[^\]]*\])?\s*\{\s*(-?\d+)\s*\}")


def _cell(
    source: LatexSource, start: int, end: int, column: int, down: dict[int, tuple[int, PrintedCell]]
) -> PrintedCell:
    raw = source.text[start:end]
    words = plain(source.text, start, end, source.macros)
    text = re.sub(r"\s+", " ", words.text.replace("\u2009", "\u2009")).strip(" \n\t")
    lead = len(raw) - len(raw.lstrip())
    _, line = source.origin(min(start + lead, max(end - 1, start)))
    has_digit = any(c.isdigit() for c in text)
    across = _MULTI.search(raw)
    span = min(int(across[1]), WIDEST) if across else 1
    cell = PrintedCell(text, line, words.bold and has_digit, words.underlined and has_digit, max(1, span))
    rows = _DOWN.search(raw)
    if rows and int(rows[1]) > 1:
        down[column] = (int(rows[1]) - 1, cell)
    elif not text and column in down:
        left, above = down[column]
        down[column] = (left - 1, above)
        if left > 0:
            return replace(above, repeated=True)
    elif column in down and text:
        down.pop(column, None)
    return cell
