"""Counts with their percentages: k of n and what share that is; shares that no count of n gives."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.evidence import Trial, of_this_kind
from orledger.audit.recheck.automatic.granularity import sums_between
from orledger.audit.recheck.automatic.spots import Spot, in_cell, in_sentence
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import normal, read_number
from orledger.audit.recheck.rounding import Enclosure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid
    from orledger.audit.recheck.reading.numbers import PrintedNumber

_C = r"\d{1,3}(?:[,\u2009]\d{3})+|\d+"
_SCALED = r"(?!\s?(?:hundred|thousand|million|billion|trillion|[kKMB])\b)"  # 8 million are not 8
_OF = rf"(?<![\d.,/+\-])(?P<k>{_C})\s*(?:/|(?:\s+out)?\s+of\s+(?:the\s+|all\s+|its\s+)?)\s*(?P<n>{_C})(?![\d./])(?!,\d){_SCALED}"
_SHARE = r"(?P<share>\d+(?:\.\d+)?)\s?%"
# The share stands right beside its counts: in brackets, or after a comma or an equals sign.
_AFTER = re.compile(rf"{_OF}(?:\s+[A-Za-z-]+){{0,3}}\s*[(\[,=]\s*(?:or |i\.e\. |about )?{_SHARE}")
# Of 1,413 patients 424 (30%) improved
_AMONG = re.compile(
    rf"\b(?:[Oo]f|[Aa]mong|[Ff]rom)\s+(?:the\s+|all\s+|these\s+|our\s+)?(?P<n>{_C})(?![\d./])(?!,\d){_SCALED}(?:\s+[A-Za-z-]+){{1,4}},?\s+"
    rf"(?P<k>{_C})(?![\d./])(?:\s+[a-z-]+){{0,2}}\s*[(\[]\s*{_SHARE}\s*[)\]]"
)
_BEFORE = re.compile(rf"{_SHARE}\s*[(\[]\s*{_OF}")
_PART = re.compile(rf"{_SHARE}\s+of\s+(?:the\s+|all\s+|our\s+)?(?P<n>{_C})(?![\d.%]){_SCALED}\s+(?P<what>[a-z]+)")
_BOUND = re.compile(
    r"(?:at least|at most|more than|less than|fewer than|over|under|up to|about|nearly|almost|around|[<>≤≥~≈])\s*$",
    re.I,
)

# Stroke, n (%); No. (%) of patients; number (percent)
_COUNT_AND_SHARE = re.compile(
    r"(?:\bn|\bno\.?|\bnumbers?|\bcounts?|#)\s*[(\[]\s*(?:%|per ?cent(?:age)?)", re.IGNORECASE
)
_ANOTHER_PAIR = re.compile(
    r"\b(?:mean|median|s\.?d\.?|s\.?e\.?m?|iqr|range|quartiles?|average|years?|days|age|score|index|per|rate|bmi|weight|height|mass|pressure|kg|cm|mm|mg|mmHg|ml|dose|levels?)\b|±|\bCI\b|/",
    re.IGNORECASE,
)
_MANY = 0.05  # a part of n that is missing in one column and not in another one only seldom
_CHANCE = 1e-3
_LACKING = re.compile(
    r"\bmissing|\bunknown|\bavailable|\bnot (?:reported|known|recorded|stated)|\brespond|\banswered|\bdenominator", re.I
)
_NAMED = re.compile(
    r"\b(?:phase|grade|stage|type|class|level|step|panel|figure|table)s?\s+$", re.IGNORECASE
)  # a phase 2/3 trial
_ANSWERED = 0.8  # the least part of n that is taken for those of whom something is known


def _whole(text: str) -> int:
    return int(re.sub(r"[,\u2009]", "", text))


def share_of(k: int, n: int, share: PrintedNumber) -> tuple[CheckVerdict, str, float]:
    """Whether k of n prints as the share: the verdict, why, and the share itself."""
    if n == 0 or k > n:
        return CheckVerdict.IMPOSSIBLE, f"{k} of {n} is more than all of them", float("nan")
    found = k / n * (100 if share.percent else 1)
    unit = "%" if share.percent else ""
    ends = share.interval
    edge = 1e-9 * max(1.0, abs(found))
    if ends.low - edge <= found <= ends.high + edge:
        return CheckVerdict.MATCHES, f"{k}/{n} = {found:.4g}{unit}", found
    rest = (100 if share.percent else 1) - found
    if ends.low - edge <= rest <= ends.high + edge:
        return (
            CheckVerdict.CONVENTION,
            f"{k}/{n} = {found:.5g}{unit}: fits when the count is of the others, {n - k}/{n}",
            rest,
        )
    # Cut instead of rounded is a convention; some people print 66.6% for two thirds.
    if share.value <= found < share.value + 10.0**share.last:
        return CheckVerdict.CONVENTION, f"{k}/{n} = {found:.5g}{unit}: fits digits that are cut off, not rounded", found
    return CheckVerdict.INCONSISTENT, f"{k}/{n} = {found:.5g}{unit}", found


def possible_share(n: int, share: PrintedNumber) -> bool:
    """Whether some count of n prints as the share: GRIM, below and above one."""
    ends, scale = share.interval, 100 if share.percent else 1
    return len(sums_between(Enclosure(ends.low / scale, ends.high / scale), n)) > 0


def _judged(spot: Spot, k: int, n: int, share: PrintedNumber) -> Finding:
    verdict, why, found = share_of(k, n, share)
    value = None if verdict is CheckVerdict.IMPOSSIBLE else (found, found)
    return spot.found(
        "share of counts",
        verdict,
        why,
        recomputed=f"{found:.4g}{'%' if share.percent else ''}",
        value=value,
        cause=f"share of counts: {spot.id}",
    )


def check_text(document: Document) -> Iterator[Finding]:
    """Counts with a share beside them, shares of a stated number, and counts above their total, in sentences."""
    for sentence in document.sentences:
        text = normal(sentence.text)
        seen: set[int] = set()
        for pattern in (_AFTER, _BEFORE, _AMONG):
            for match in pattern.finditer(text):
                share = read_number(match["share"] + "%")
                if share is None or match.start("k") in seen or _NAMED.search(text[: match.start("k")]):
                    continue
                seen.add(match.start("k"))
                yield _judged(
                    in_sentence(sentence, match.start(), match[0]), _whole(match["k"]), _whole(match["n"]), share
                )
        for match in _PART.finditer(text):
            share, n = read_number(match["share"] + "%"), _whole(match["n"])
            if share is None or not 1 < n <= 1_000_000 or share.value > 100 or _BOUND.search(text[: match.start()]):
                continue  # a bound may be any number
            spot = in_sentence(sentence, match.start(), match[0])
            good = possible_share(n, share)
            nearest = round(share.value * n / 100)
            why = f"{nearest} of {n} is {100 * nearest / n:.4g}%" + ("" if good else ", the nearest possible")
            verdict = CheckVerdict.ATTAINABLE if good else CheckVerdict.IMPOSSIBLE
            yield spot.found(
                "share possible",
                verdict,
                why,
                recomputed=f"{100 * nearest / n:.4g}%",
                cause=f"share possible: {spot.id}",
            )


def check_tables(document: Document) -> Iterator[Finding]:
    """Cells with counts and their share, columns of counts with percentages, and fractions above one."""
    for grid in document.grids:
        for i, j, cell in grid.cells():
            entry = cell.entry
            if entry.counts is not None and entry.main is not None and (entry.main.percent or entry.main.value <= 1):
                yield _judged(in_cell(grid, i, j), *entry.counts, entry.main)
        yield from _column_totals(grid)
        yield from _column_shares(grid)
        yield from _counts_with_bare_shares(grid)


def _column_totals(grid: Grid) -> Iterator[Finding]:
    """Columns of ``k (p%)``: one total must explain all of them, or the one printed in the heading."""
    for j in range(grid.width):
        cells = [
            (i, int(e.main.value), e.spread)
            for i, cell in grid.column(j)
            if (e := cell.entry).form == "paren" and e.main is not None and e.spread is not None
            and e.main.whole and e.spread.percent and e.main.value >= 0
        ]  # fmt: skip
        if len(cells) < 2:
            continue
        stated = re.search(rf"[nN]\s*=\s*({_C})", grid.heading(j))
        n = _whole(stated[1]) if stated else _common_total([(k, share) for _, k, share in cells])
        for i, k, share in cells:
            if n is not None:
                yield _judged(in_cell(grid, i, j), k, n, share)


def _column_shares(grid: Grid) -> Iterator[Finding]:
    """Columns of bare percentages under a heading that states n, where they show that they are shares of n."""
    for j in range(grid.width):
        stated = re.search(rf"\b[nN]\s*=\s*({_C})", grid.heading(j))
        n = _whole(stated[1]) if stated else 0
        if not 1 < n <= 1_000_000:
            continue
        said = "%" in grid.heading(j)
        shares = [
            (i, replace(main, percent=True))
            for i, cell in grid.column(j)
            if (main := cell.entry.main) is not None
            and cell.entry.form == "plain"
            and (main.percent or said)
            and 0 < main.value < 100
        ]
        trials = [Trial(n * 10.0**share.last / 100, possible_share(n, share)) for _, share in shares]
        if of_this_kind(trials, said=False):
            yield from (_possible(in_cell(grid, i, j), n, share) for i, share in shares)


def _size(grid: Grid, column: int) -> int:
    """The n that a heading states once; 0 where it states none, or several."""
    stated = {_whole(n) for n in re.findall(rf"\b[nN]\s*=\s*({_C})(?![\d.])", grid.heading(column))}
    return stated.pop() if len(stated) == 1 else 0


@dataclass(frozen=True, slots=True)
class Portion:
    """A cell ``k (p)`` in a column of n: where it stands, and its three numbers."""

    row: int
    column: int
    k: int
    n: int
    share: PrintedNumber

    @property
    def fits(self) -> bool:
        """Whether k of n prints as the share."""
        return share_of(self.k, self.n, self.share)[0].good

    @property
    def answered(self) -> int:
        """The largest n below the stated one, with some missing, of which k has the share; 0 where there is none."""
        most = 100 * self.k / self.share.interval.low if self.share.interval.low > 0 else math.inf
        top = min(self.n - 1, math.floor(min(most, self.n)))
        fitting = (m for m in range(top, max(top - 2, int(_ANSWERED * self.n)), -1) if m >= self.k)
        return next((m for m in fitting if share_of(self.k, m, self.share)[0].good), 0)


def _portions(grid: Grid, sizes: Mapping[int, int]) -> Iterator[tuple[bool, list[Portion]]]:
    """The cells ``k (p)`` of the rows for which something says ``n (%)``, and whether the row itself does."""
    said = bool(_COUNT_AND_SHARE.search(grid.caption))
    above = False
    for i, row in enumerate(grid.rows):
        label = grid.label(i)
        declared, other = bool(_COUNT_AND_SHARE.search(label)), bool(_ANOTHER_PAIR.search(label))
        if all(cell.entry.main is None and cell.entry.counts is None for cell in row):
            above = declared  # a heading within the table speaks for the rows below it
        found = []
        for j, n in sizes.items():
            k, share = row[j].entry.main, row[j].entry.spread
            if row[j].repeated or row[j].span > 1 or row[j].entry.form != "paren" or k is None or share is None:
                continue
            if not k.whole or k.value < 0 or k.relation != "=" or share.percent or share.relation != "=":
                continue
            if declared or (not other and (above or said or _COUNT_AND_SHARE.search(grid.heading(j)))):
                found.append(Portion(i, j, int(k.value), n, replace(share, percent=True)))
        if found:
            yield declared, found


def _counts_with_bare_shares(grid: Grid) -> Iterator[Finding]:
    """Cells ``k (p)`` under headings that state n, where rows, headings or caption say ``n (%)`` and the table shows it."""
    sizes = {j: n for j in range(grid.width) if 1 < (n := _size(grid, j)) <= 1_000_000}
    rows = [row for declared, row in _portions(grid, sizes) if declared or _shown(row)]
    if not of_this_kind([Trial(10.0**p.share.last / 100, p.fits) for row in rows for p in row], said=False):
        return
    words = [grid.caption, grid.notes, *(grid.label(i) for i in range(len(grid.rows)))]
    lacking = any(_LACKING.search(w) for w in words)
    for row in rows:
        if len(row) > 1 and not any(p.fits for p in row) and all(p.answered for p in row):
            continue  # a row of those who were asked
        for p in row:
            spot, fewer = in_cell(grid, p.row, p.column), p.answered
            if p.fits or not fewer:
                yield _judged(spot, p.k, p.n, p.share)
            elif not lacking and _alone(p, row):
                found = 100 * p.k / p.n
                yield spot.found(
                    "share of counts",
                    CheckVerdict.CONVENTION,
                    f"{p.k}/{p.n} = {found:.4g}%: fits {p.k} of {fewer}, with {p.n - fewer} missing",
                    recomputed=f"{found:.4g}%",
                    value=(found, found),
                    convention="some missing",
                    cause=f"share of counts: {spot.id}",
                )


def _shown(row: Sequence[Portion]) -> bool:
    """Whether a row that does not say so itself holds counts with shares: nothing breaks, or what fits does so by no chance."""
    by_chance = math.prod(10.0**p.share.last / 100 for p in row if p.fits)
    return by_chance <= _CHANCE or all(p.fits for p in row)


def _alone(p: Portion, row: Sequence[Portion]) -> bool:
    """Whether many would have to be missing here, and as many are not in another column of the row."""
    gone = 1 - p.answered / p.n
    others = ((q, round(q.n * (1 - gone))) for q in row if q.fits)
    return gone >= _MANY and p.share.last < 0 and any(not share_of(q.k, n, q.share)[0].good for q, n in others)


def _possible(spot: Spot, n: int, share: PrintedNumber) -> Finding:
    """Whether some count of n gives the share; if not, of which smaller n with some answers missing one does."""
    if possible_share(n, share):
        return spot.found("share possible", CheckVerdict.ATTAINABLE, f"some count of {n} prints as {share.text}")
    fewer = next((m for m in range(n - 1, int(_ANSWERED * n), -1) if possible_share(m, share)), None)
    if fewer is None:
        return spot.found("share possible", CheckVerdict.IMPOSSIBLE, f"no count of {n} prints as {share.text}")
    why = f"no count of {n} prints as {share.text}; {round(share.value * fewer / 100)} of {fewer} does, with {n - fewer} missing"
    return spot.found("share possible", CheckVerdict.CONVENTION, why)


def _common_total(pairs: list[tuple[int, PrintedNumber]]) -> int | None:
    """The total that most of the pairs fit, when more than half do; the smallest of several."""
    largest = max(pairs, key=lambda p: p[0])
    k, share = largest
    if share.value <= 0 or k == 0:
        return None
    low, high = k * 100 / share.interval.high, k * 100 / max(share.interval.low, 1e-9)
    best, votes = None, 0
    for n in range(max(1, int(low) - 1), min(int(high) + 2, int(low) + 20_000)):
        count = sum(share_of(a, n, s)[0].good for a, s in pairs if a <= n)
        if count > votes:
            best, votes = n, count
    return best if votes > len(pairs) / 2 else None
