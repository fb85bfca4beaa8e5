"""The same quantity in two places: sentences with the same words around a number, tables with the same row and column."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.spots import in_cell, in_sentence, number_id
from orledger.audit.recheck.model import Verdict
from orledger.audit.recheck.reading.numbers import Number, normal, numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid, Sentence

_WORD = re.compile(r"[A-Za-zκμσλρχΔ@][\w'-]*|\d[\d.,]*%?|[<>=×±]")
_BEFORE, _AFTER = 6, 4
_LAST = 9  # words before a number that ends its sentence, or all but ends it
_FEWEST = 6  # words of three letters or more that must agree around the two numbers, both sides together
_END = "."
_NEAREST = 60  # tables before it that a table is compared with
_AGREEING = 0.6  # share of a column's common cells in two tables that must agree before the others count


@dataclass(frozen=True, slots=True)
class Mention:
    """A number with the words around it, other numbers replaced by #; `near` are those numbers."""

    sentence: Sentence
    number: Number
    before: tuple[str, ...]
    after: tuple[str, ...]
    near: tuple[str, ...] = ()


def mentions(sentence: Sentence) -> Iterator[Mention]:
    """Every number of a sentence with its neighbours."""
    text = normal(sentence.text)
    for number in numbers_in(text):
        start = number.end - len(number.text.lstrip("<>=≤≥≈~ "))
        if re.search(r"[(,\[]\s*$", text[:start]) and re.match(r"\s*[,)\]]", text[number.end :]):
            continue  # one of several numbers in brackets, such as (1, 3): the words outside do not tell which
        before = _WORD.findall(text[max(0, start - 120) : start])
        after = _WORD.findall(text[number.end : number.end + 80])[:_AFTER]
        ends = len(after) < 2  # the sentence ends: more words before the number make up for those that do not follow
        before = before[-(_LAST if ends else _BEFORE) :]
        near = tuple(w for w in (*before, *after) if w[0].isdigit())
        follow = (*map(_plain, after), _END) if ends else tuple(map(_plain, after))
        yield Mention(sentence, number, tuple(map(_plain, before)), follow, near)


def _plain(word: str) -> str:
    return "#" if word[0].isdigit() else word.lower()


def agree(a: Number, b: Number) -> bool:
    """Whether one number can print as both."""
    return a.interval.low < b.interval.high and b.interval.low < a.interval.high


def alike(a: Number, b: Number) -> bool:
    """Whether two numbers can be about one quantity: both counts or neither, and within a factor of ten."""
    if a.whole != b.whole or (a.value < 0) != (b.value < 0):
        return False
    small, large = sorted((abs(a.value), abs(b.value)))
    return small == large or (small > 0 and large / small <= 10)


def check_text(document: Document) -> Iterator[Finding]:
    """Numbers whose neighbours on both sides are the same words in another place."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...], bool], list[Mention]] = defaultdict(list)
    for sentence in document.sentences:
        for m in mentions(sentence):
            words = [w for w in (*m.before, *m.after) if len(w) > 2]  # letters and signs are notation, not words
            if len(words) >= _FEWEST and len(m.before) >= 2:
                groups[m.before, m.after, m.number.percent].append(m)
    for members in groups.values():
        first = members[0]
        for other in members[1:]:
            if not alike(first.number, other.number) or _parallel(first, other):
                continue
            spot = in_sentence(other.sentence, other.number.start, other.number.text)
            where = f"{first.sentence.file}:{first.sentence.line_at(first.number.start)}, {first.sentence.place}"
            good = agree(first.number, other.number)
            yield spot.found(
                "same words",
                Verdict.MATCHES if good else Verdict.INCONSISTENT,
                f"the same words stand with {first.number.text} at {where}",
                recomputed=first.number.text,
                operands=(number_id(first.sentence, first.number), number_id(other.sentence, other.number)),
                cause=f"same words: {' '.join(first.before)} … {' '.join(first.after)}",
            )


def _parallel(first: Mention, other: Mention) -> bool:
    """Whether two sentences say the same of two things: they stand in one section, or other numbers beside them differ."""
    if agree(first.number, other.number):
        return other.sentence is first.sentence
    return other.sentence.place == first.sentence.place or other.near != first.near


def check_tables(document: Document) -> Iterator[Finding]:
    """Cells with the same row and column name in two tables that agree in most of what they share."""
    names: list[dict[tuple[str, str], tuple[int, int]]] = []
    for grid in document.grids:
        found: dict[tuple[str, str], tuple[int, int]] = {}
        double: set[tuple[str, str]] = set()
        for i, j, cell in grid.cells():
            key = (grid.label(i).lower(), grid.heading(j).lower())
            if cell.entry.main is None or not all(key):
                continue
            if key in found:
                double.add(key)
            found[key] = (i, j)
        names.append({key: at for key, at in found.items() if key not in double})
    for b, second in enumerate(document.grids):
        for a in range(max(0, b - _NEAREST), b):
            first = document.grids[a]
            columns: dict[str, list[tuple[tuple[int, int], tuple[int, int]]]] = defaultdict(list)
            for key in names[b]:
                if key in names[a]:
                    columns[key[1]].append((names[a][key], names[b][key]))
            for shared in columns.values():
                yield from _column(first, second, shared)


def _column(first: Grid, second: Grid, shared: list[tuple[tuple[int, int], tuple[int, int]]]) -> Iterator[Finding]:
    """The cells that one column has in two tables, when most of them agree: the rest is then a slip."""
    pairs = [(x, y, first.rows[x[0]][x[1]].entry.main, second.rows[y[0]][y[1]].entry.main) for x, y in shared]
    known = [(x, y, m, n) for x, y, m, n in pairs if m is not None and n is not None]
    if len(known) < 3 or sum(agree(m, n) for _, _, m, n in known) < _AGREEING * len(known):
        return
    for x, y, m, n in known:
        yield in_cell(second, *y).found(
            "same cell",
            Verdict.MATCHES if agree(m, n) else Verdict.INCONSISTENT,
            f"{first.where(*x)} prints {m.text}",
            recomputed=m.text,
            operands=(first.key(*x), second.key(*y)),
            cause=f"same cell: {first.name} and {second.name}",
        )
