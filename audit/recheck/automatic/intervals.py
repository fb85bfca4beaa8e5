"""Intervals: lower end first, the estimate inside, and in agreement with the p-value printed beside them."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy import stats

from orledger.audit.recheck.automatic.reported import corrected, fits, multiples
from orledger.audit.recheck.automatic.spots import Spot, in_cell, in_sentence
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import normal, read_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid, Sentence
    from orledger.audit.recheck.reading.numbers import PrintedNumber

_N = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+|\s*[×·]\s*10\s*\^\{?[-+]?\d+\}?)?"
_PAIR = rf"[\[(]\s*(?P<low>{_N})%?\s*(?:,|;|–|\bto\b)\s*(?P<high>{_N})%?\s*[\])]"
_CI = re.compile(
    rf"(?P<level>\d{{2}}(?:\.\d)?)\s?%\s*(?:CIs?|confidence intervals?|credible intervals?|C\.I\.)[^\[(.;]{{0,30}}{_PAIR}"
)
# 95% CI 1.10–1.90 and 95% CI: 8.3% to 9.7%, without brackets around the ends
_CI_OPEN = re.compile(
    rf"(?P<level>\d{{2}}(?:\.\d)?)\s?%\s*(?:CIs?|confidence intervals?|credible intervals?|C\.I\.)\s*[:=,]?\s*"
    rf"(?P<low>{_N})\s?%?\s*(?:–|-|\bto\b|,\s)\s*(?P<high>{_N})(?![\d.]*\d)\s?%?"
)
_BRACKET = re.compile(rf"(?P<main>{_N})\s*[×%]?\s*\[\s*(?P<low>{_N})%?\s*(?:,|;|–|\bto\b)\s*(?P<high>{_N})%?\s*\]")
_P_NEAR = re.compile(rf"[pP]\s*(?P<p>[<>=≤≥]\s*{_N})")
_RATIO = re.compile(r"\b(?:(?i:odds|hazard|risk|rate|ratios?)|a?OR|a?HR|a?RR|IRR|PR|SHR)\b|×")
_ADJUSTED = re.compile(
    r"\b(?:holm|bonferroni|adjusted p|adj\.? ?p|p[- ]adj|fdr|q[- ]?value|benjamini|corrected p|bootstrap|wilcoxon|mann[- –]?whitney|kruskal|permutation)",
    re.I,
)
_NAMED_RATIO = re.compile(r"\b(?:(?i:ratios?)|a?OR|a?HR|a?RR|IRR|PR|SHR)\b")
_DIFFERENCE = re.compile(r"\b(?:differences?|coefficients?|slopes?|means?|correlations?|log)\b|β|Δ", re.IGNORECASE)
_NEAR = 2.0  # so many times alpha, or that part of it, and two usual methods may decide differently
# A number of another kind right before the interval: p = .03, 95% CI ...; n = 120 (95% CI ...); 1.78 per 100,000 (95% CI ...)
_NO_ESTIMATE = re.compile(
    r"(?:\b(?:[pPnNtFzZQ]|SE|SD|df|[Ss]tudies)\s*(?:\([^)]*\))?|χ\^?\{?2?\}?\s*(?:\([^)]*\))?|I\^\{?2\}?)\s*[=<>≤≥]?\s*$|[<>≤≥]\s*$|\bper\s+$"
)
_SPREAD = re.compile(rf"(?P<main>{_N})\s*%?\s*±\s*$")  # 30.1 ± 10.1 [18, 73]: the mean is the estimate
_LAST_NUMBER = re.compile(rf"(?P<main>{_N})\s*[×%]?\s*[,;(]?\s*(?:with\s+(?:an?\s+)?)?$")


def ordered(low: PrintedNumber, high: PrintedNumber) -> bool:
    """Whether the lower end comes first."""
    return low.value <= high.value


def inside(main: PrintedNumber, low: PrintedNumber, high: PrintedNumber) -> bool:
    """Whether the estimate can lie in the interval, each known to its last digit."""
    # Rounding intervals that share nothing but an edge hold no common number: one number rounds to one string.
    edge = 1e-12 * max(abs(main.value), abs(low.value), abs(high.value), 1e-300)
    return low.interval.low < main.interval.high - edge and main.interval.low < high.interval.high - edge


def contradicts(low: PrintedNumber, high: PrintedNumber, null: float, p: PrintedNumber, alpha: float) -> str:
    """Why a test at alpha and the interval of the same level cannot both be right; empty when they can."""
    if low.interval.low <= null <= low.interval.high or high.interval.low <= null <= high.interval.high:
        return ""  # the end prints as the null value: either decision is possible
    excludes = null < low.value or null > high.value
    above = (p.relation == "=" and p.interval.low > alpha) or (p.relation in (">", "≥") and p.value >= alpha)
    below = (p.relation == "=" and p.interval.high < alpha) or (p.relation in ("<", "≤") and p.value <= alpha)
    if excludes and above:
        return f"the interval excludes {null:g}, and p is above {alpha:g}"
    if not excludes and below:
        return f"the interval holds {null:g}, and p is below {alpha:g}"
    return ""


def p_of_interval(
    main: PrintedNumber | None, low: PrintedNumber, high: PrintedNumber, null: float, level: float
) -> tuple[float, float]:
    """The two-sided p-values of an estimate whose interval of this level has these ends, as normal, of a ratio on its logarithm."""
    width = 2 * stats.norm.isf((1 - level) / 2)
    if null == 1 and low.interval.low <= 0:
        return 0.0, 1.0
    turned = math.log if null == 1 else float
    found = []
    for a, b in itertools.product((low.interval.low, low.interval.high), (high.interval.low, high.interval.high)):
        ends = turned(a), turned(b)
        if ends[1] <= ends[0]:
            return 0.0, 1.0
        middles = [sum(ends) / 2]
        if main is not None and a < main.value < b:
            middles.append(turned(main.value))
        found += [float(2 * stats.norm.sf(abs(m - turned(null)) * width / (ends[1] - ends[0]))) for m in middles]
    return min(found), max(found)


def _other_unit(main: PrintedNumber, low: PrintedNumber, high: PrintedNumber) -> bool:
    """Whether a percentage lies in an interval that is printed as shares."""
    if not main.percent or low.percent or high.percent or high.value > 1:
        return False
    share = replace(main, value=main.value / 100, last=main.last - 2, percent=False)
    return inside(share, low, high)


def _judged(spot: Spot, main: PrintedNumber | None, low: PrintedNumber, high: PrintedNumber) -> Finding:
    if not ordered(low, high):
        verdict, why = CheckVerdict.IMPOSSIBLE, f"the lower end {low.text} lies above the upper end {high.text}"
    elif main is not None and not inside(main, low, high) and not _other_unit(main, low, high):
        verdict, why = CheckVerdict.INCONSISTENT, f"{main.text} lies outside {low.text} to {high.text}"
    else:
        verdict, why = (
            CheckVerdict.MATCHES,
            "ordered" if main is None else f"{main.text} lies in {low.text} to {high.text}",
        )
    return spot.found("interval", verdict, why, cause=f"interval: {spot.id}")


def check_text(document: Document) -> Iterator[Finding]:
    """Confidence intervals and bracketed pairs of the text, with the estimate before them and the p-value after them."""
    family = corrected(document)
    for sentence in document.sentences:
        text = normal(sentence.text)
        done: set[int] = set()
        for match in (*_CI.finditer(text), *_CI_OPEN.finditer(text)):
            done.add(match.start("low"))
            yield from _confidence(sentence, text, match, family=family)
        for match in _BRACKET.finditer(text):
            numbers = [read_number(match[name]) for name in ("main", "low", "high")]
            before = text[max(0, match.start() - 2) : match.start()]
            if match.start("low") in done or None in numbers or re.search(r"[\w^_{/]$", before):
                continue
            if re.match(r"9\d(?:\.\d)?\s*%", match[0]):  # the level of an interval, not its estimate
                continue
            main, low, high = (n for n in numbers if n is not None)
            spread = _SPREAD.search(text[: match.start()])
            if spread is None and _NO_ESTIMATE.search(text[: match.start()]):
                continue
            mean = read_number(spread["main"]) if spread else None
            start = spread.start() if spread else match.start()
            yield _judged(in_sentence(sentence, start, text[start : match.end()]), mean or main, low, high)


def _confidence(sentence: Sentence, text: str, match: re.Match[str], *, family: bool) -> Iterator[Finding]:
    low, high = read_number(match["low"]), read_number(match["high"])
    if low is None or high is None:
        return
    found = _LAST_NUMBER.search(text[: match.start()])
    if found and (spread := _SPREAD.search(text[: found.start("main")])):
        found = spread
    elif found and _NO_ESTIMATE.search(text[: found.start("main")]):
        found = None
    main = read_number(found["main"] + ("%" if "%" in found[0] else "")) if found else None
    start = found.start("main") if found and main is not None else match.start()
    spot = in_sentence(sentence, start, text[start : match.end()])
    yield _judged(spot, main, low, high)
    rest = text[match.end() :]
    nearby = _P_NEAR.match(rest.lstrip(" ,;)"))
    p = read_number(nearby["p"]) if nearby else None
    if p is None or nearby is None or _ADJUSTED.search(sentence.text):
        return
    null = 1.0 if _RATIO.search(sentence.text) and low.value > 0 else 0.0  # no ratio is negative
    end = match.end() + len(rest) - len(rest.lstrip(" ,;)")) + nearby.end()
    beside = Beside(main, low, high, null, float(match["level"]) / 100, p, sentence.text, family)
    yield _against(in_sentence(sentence, start, text[start:end]), beside)


@dataclass(frozen=True, slots=True)
class Beside:
    """An interval and the p-value beside it: the value of no effect, the level, the words around, and whether the paper corrects p-values."""

    main: PrintedNumber | None
    low: PrintedNumber
    high: PrintedNumber
    null: float
    level: float
    p: PrintedNumber
    words: str
    family: bool

    def contradicts(self, null: float) -> str:
        """Why interval and p-value cannot both be right where this is the value of no effect; empty when they can."""
        return contradicts(self.low, self.high, null, self.p, 1 - self.level)

    def other_reading(self, possible: tuple[float, float]) -> tuple[str, str]:
        """Another reading in which both hold, in a word and as a sentence; `possible` are the p-values of the interval."""
        alpha = 1 - self.level
        others = [1.0] if self.null == 0 and self.low.value > 0 and not _DIFFERENCE.search(self.words) else []
        if self.null == 1 and not _NAMED_RATIO.search(self.words):
            others = [0.0]
        if others and not self.contradicts(others[0]):
            return f"no effect is {others[0]:g}", f"fits where no effect is {others[0]:g}"
        if fits(self.p, (possible[0] / 2, possible[1] / 2)):
            return "one-sided", "fits a one-sided p"
        times = multiples(self.p, possible) if self.family else 0
        if times:
            return "corrected", f"fits {times} times the p, as after a correction for {times} comparisons"
        around = (alpha / _NEAR, alpha * _NEAR)
        if fits(self.p, around) and possible[0] <= around[1] and possible[1] >= around[0]:
            return "two methods", f"so near to {alpha:.4g} an interval and a test of two usual methods may differ"
        return "", ""


def _against(spot: Spot, beside: Beside) -> Finding:
    cause = f"interval and p: {spot.place.split(', row')[0]}"
    why = beside.contradicts(beside.null)
    if not why:
        return spot.found("interval and p", CheckVerdict.MATCHES, f"agrees with p {beside.p.text}", cause=cause)
    possible = p_of_interval(beside.main, beside.low, beside.high, beside.null, beside.level)
    shown = f"p = {possible[0]:.2g} to {possible[1]:.2g}"
    reading, words = beside.other_reading(possible)
    return spot.found(
        "interval and p",
        CheckVerdict.CONVENTION if reading else CheckVerdict.INCONSISTENT,
        f"{why}; the interval has {shown}{f': {words}' if words else ', one-sided half that: one of them is wrong'}",
        recomputed=shown,
        value=possible,
        convention=reading or None,
        decision=True,
        cause=cause,
    )


def check_tables(document: Document) -> Iterator[Finding]:
    """Intervals of cells, and rows with an interval and a p-value."""
    family = corrected(document)
    for grid in document.grids:
        for i, j, cell in grid.cells():
            entry = cell.entry
            if entry.form == "interval" and entry.ends is not None:
                yield _judged(in_cell(grid, i, j), entry.main, *entry.ends)
        yield from _with_p(grid, family=family)


def _with_p(grid: Grid, *, family: bool) -> Iterator[Finding]:
    headings = [grid.heading(j) for j in range(grid.width)]
    p_columns = [j for j, h in enumerate(headings) if re.search(r"(?:^|\s)p(?:[- ]?val(?:ue)?s?)?\.?$", h.strip())]
    intervals = [
        (j, m) for j, h in enumerate(headings) if (m := re.search(r"(\d{2})\s?%", h)) and re.search(r"CI|interval", h)
    ]
    if len(p_columns) != 1 or len(intervals) != 1:
        return
    (j, level), p_column = intervals[0], p_columns[0]
    if _ADJUSTED.search(f"{headings[p_column]} {grid.caption}"):
        return  # p-values of a family, and rank tests beside bootstrap intervals, may decide differently
    ratio = _RATIO.search(" ".join(headings)) is not None
    for i, row in enumerate(grid.rows):
        ends, p = row[j].entry.ends, row[p_column].entry.main
        if ends is None or p is None or row[p_column].repeated:
            continue
        # A column of ratios is about one, unless its intervals lie around zero.
        null = 1.0 if ratio and ends[0].value > 0 else 0.0
        words = f"{' '.join(headings)} {grid.caption}"
        beside = Beside(row[j].entry.main, *ends, null, float(level[1]) / 100, p, words, family)
        yield _against(in_cell(grid, i, j), beside)
