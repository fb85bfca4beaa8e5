"""The same quantity in two places: the same words around a number, the same short sentence, the same row and column of tables."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.spots import in_cell, in_sentence, number_id
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import PrintedNumber, normal, numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid, Sentence

_WORD = re.compile(r"[A-Za-zκμσλρχΔ@][\w'-]*|\d[\d.,]*%?|[<>=×±]")
_BEFORE, _AFTER = 6, 4
_SHORT = 4  # words before a number that a sentence may begin with
_LAST = 9  # words before a number that ends its sentence, or all but ends it
FEWEST = 6  # words of three letters or more that must agree around the two numbers, both sides together
_END = "."
_NEAREST = 60  # tables before it that a table is compared with
_AGREEING = 0.6  # share of a column's common cells in two tables that must agree before the others count
_ROWS = 3  # rows that must have one number, or one interval, in two tables
_TELLING = 3  # digits, or decimals, of a number that tells
_LABEL = re.compile(
    r"\b(?:fig(?:ure|s)?|tab(?:le)?s?|exp(?:eriment|t)?s?|stud(?:y|ies)|sec(?:tion|s)?|app(?:endix)?|chapter|eq(?:uation)?s?|model|step|phase|"
    r"hypothesis|panel|box|part|supplement(?:ary)?)\.?\s*$",
    re.I,
)
# Where a paper says again what it says elsewhere. Two sections of the body tell of two things in the same words.
_AGAIN = re.compile(
    r"abstract|introduction|discussion|conclusion|summary|limitation|appendix|caption|highlights|significance", re.I
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A number with the words around it, other numbers replaced by #; `left` and `right` are the words as they stand."""

    sentence: Sentence
    number: PrintedNumber
    before: tuple[str, ...]
    after: tuple[str, ...]
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()

    def near(self, words: int) -> tuple[str, ...]:
        """The other numbers among the words before it, so many of them, and after it."""
        return tuple(w for w in (*self.left[-words:], *self.right) if w[0].isdigit())


def mentions(sentence: Sentence) -> Iterator[Mention]:
    """Every number of a sentence with its neighbours."""
    text = normal(sentence.text)
    for number in numbers_in(text):
        start = number.end - len(number.text.lstrip("<>=≤≥≈~ "))
        if re.search(r"[(,\[]\s*$", text[:start]) and re.match(r"\s*[,)\]]", text[number.end :]):
            continue  # one of several numbers in brackets, such as (1, 3): the words outside do not tell which
        if _LABEL.search(text[max(0, start - 20) : start]):
            continue  # the number of a figure, a table or an experiment
        before = _WORD.findall(text[max(0, start - 120) : start])
        after = _WORD.findall(text[number.end : number.end + 80])[:_AFTER]
        ends = len(after) < 2  # the sentence ends: more words before the number make up for those that do not follow
        before = before[-(_LAST if ends else _BEFORE) :]
        follow = (*map(_plain, after), _END) if ends else tuple(map(_plain, after))
        yield Mention(sentence, number, tuple(map(_plain, before)), follow, tuple(before), tuple(after))


def telling_words(mention: Mention, before: tuple[str, ...] | None = None) -> list[str]:
    """The words around a number, those `before` it as given; letters and signs are notation, not words."""
    return [w for w in (*(mention.before if before is None else before), *mention.after) if len(w) > 2]


def _plain(word: str) -> str:
    return "#" if word[0].isdigit() else word.lower()


def agree(a: PrintedNumber, b: PrintedNumber) -> bool:
    """Whether one number can print as both."""
    return a.interval.low < b.interval.high and b.interval.low < a.interval.high


def alike(a: PrintedNumber, b: PrintedNumber) -> bool:
    """Whether two numbers can be about one quantity: both counts or neither, and within a factor of ten."""
    if a.whole != b.whole or (a.value < 0) != (b.value < 0):
        return False
    small, large = sorted((abs(a.value), abs(b.value)))
    return small == large or (small > 0 and large / small <= 10)


def check_text(document: Document) -> Iterator[Finding]:
    """Numbers whose neighbours on both sides are the same words in another place."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...], bool, tuple[str, ...]], list[Mention]] = defaultdict(list)
    for sentence in document.sentences:
        for m in mentions(sentence):
            # A sentence may begin where another goes on: fewer words before the number do where enough of them agree.
            for before in dict.fromkeys((m.before, m.before[-_SHORT:])):
                # Where they are few, the numbers among them count as well, and have to be the same.
                words, numbers = len(telling_words(m, before)), m.near(len(before))
                told = words + len(numbers) >= FEWEST and words >= FEWEST - 1 and tells(m.number)
                if len(before) >= 2 and (words >= FEWEST or told):
                    groups[before, m.after, m.number.percent, () if words >= FEWEST else numbers].append(m)
    done: set[tuple[str, str]] = set()
    for (before, *_), members in groups.items():
        first = members[0]
        for other in members[1:]:
            pair = number_id(first.sentence, first.number), number_id(other.sentence, other.number)
            if pair in done or not alike(first.number, other.number) or _parallel(first, other, len(before)):
                continue
            done.add(pair)
            spot = in_sentence(other.sentence, other.number.start, other.number.text)
            where = f"{first.sentence.file}:{first.sentence.line_at(first.number.start)}, {first.sentence.place}"
            good = agree(first.number, other.number)
            yield spot.found(
                "same words",
                CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
                f"the same words stand with {first.number.text} at {where}",
                recomputed=first.number.text,
                operands=pair,
                cause=f"same words: {' '.join(first.before)} … {' '.join(first.after)}",
            )


def _parallel(first: Mention, other: Mention, words: int) -> bool:
    """Whether two sentences say the same of two things: both in the body, in captions, in one section, or with other numbers beside them."""
    if agree(first.number, other.number):
        return other.sentence is first.sentence
    places = first.sentence.place, other.sentence.place
    if all("caption" in place for place in places):
        return True
    return places[0] == places[1] or not any(map(_AGAIN.search, places)) or other.near(words) != first.near(words)


def tells(number: PrintedNumber) -> bool:
    """Whether a number has digits enough to be known again: three from its first other than zero, or three decimals."""
    digits = re.sub(r"\D", "", re.split(r"[eE×·]", number.text)[0]).lstrip("0")
    return len(digits) >= _TELLING or number.last <= -_TELLING


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


def check_intervals(document: Document) -> Iterator[Finding]:
    """Estimates with intervals in columns of two tables, whatever their headings, that have the same intervals row by row.

    Two quantities do not share most of their intervals, so the estimates are of one quantity and have to agree as well.
    """
    columns = [[_intervals(grid, j) for j in range(grid.width)] for grid in document.grids]
    wrong: set[str] = set()  # a cell that differs from one table is named once, whatever other tables say
    for b, second in enumerate(document.grids):
        for a in range(max(0, b - _NEAREST), b):
            for one in columns[a]:
                for other in columns[b]:
                    shared = [(one[label], other[label]) for label in other if label in one]
                    for finding in _same_intervals(document.grids[a], second, shared):
                        if finding.verdict.good or finding.id not in wrong:
                            yield finding
                        if not finding.verdict.good:
                            wrong.add(finding.id)


def _intervals(grid: Grid, column: int) -> dict[str, tuple[int, int]]:
    """The cells of a column that hold an estimate and its interval, by the name of their row, each name once."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for i, cell in grid.column(column):
        if cell.entry.form == "interval" and cell.entry.main is not None and cell.entry.ends is not None:
            found[grid.label(i).lower()].append((i, column))
    return {label: at[0] for label, at in found.items() if label and len(at) == 1}


def _same_intervals(
    first: Grid, second: Grid, shared: list[tuple[tuple[int, int], tuple[int, int]]]
) -> Iterator[Finding]:
    if len(shared) < _ROWS:
        return
    cells = [(x, y, first.rows[x[0]][x[1]].entry, second.rows[y[0]][y[1]].entry) for x, y in shared]
    rows = [(x, y, (m.main, *m.ends), (n.main, *n.ends)) for x, y, m, n in cells if m.ends and n.ends]
    telling = [(m, n) for _, _, m, n in rows if len({*_digits(m), *_digits(n)}) > 1]
    alike = sum(_digits(m)[1:] == _digits(n)[1:] for m, n in telling)
    if alike < _ROWS or alike < _AGREEING * len(rows):
        return
    for x, y, m, n in rows:
        good = all(p is not None and q is not None and agree(p, q) for p, q in zip(m, n, strict=True))
        printed = first.rows[x[0]][x[1]].text
        yield in_cell(second, *y).found(
            "same interval",
            CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
            f"{first.where(*x)} prints {printed}, and the two columns share {alike} of {len(rows)} intervals",
            recomputed=printed,
            operands=(first.key(*x), second.key(*y)),
            cause=f"same interval: {first.name} and {second.name}",
        )


def _digits(numbers: tuple[PrintedNumber | None, ...]) -> tuple[str, ...]:
    return tuple("" if n is None else n.text for n in numbers)


def _column(first: Grid, second: Grid, shared: list[tuple[tuple[int, int], tuple[int, int]]]) -> Iterator[Finding]:
    """The cells that one column has in two tables, when most of them agree: the rest is then a slip."""
    pairs = [(x, y, first.rows[x[0]][x[1]].entry.main, second.rows[y[0]][y[1]].entry.main) for x, y in shared]
    known = [(x, y, m, n) for x, y, m, n in pairs if m is not None and n is not None]
    # Standard errors of 0.01 and 0.02 agree by chance in tables of two experiments; numbers of three digits do not.
    telling = [(m, n) for _, _, m, n in known if tells(m) and tells(n)]
    agreeing = sum(agree(m, n) for m, n in telling)
    if len(known) < _ROWS or agreeing < 2 or agreeing < _AGREEING * len(telling):
        return
    for x, y, m, n in known:
        yield in_cell(second, *y).found(
            "same cell",
            CheckVerdict.MATCHES if agree(m, n) else CheckVerdict.INCONSISTENT,
            f"{first.where(*x)} prints {m.text}",
            recomputed=m.text,
            operands=(first.key(*x), second.key(*y)),
            cause=f"same cell: {first.name} and {second.name}",
        )
