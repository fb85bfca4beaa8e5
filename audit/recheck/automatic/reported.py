"""Reported tests: t, F, chi-squared, r, z and Q with their degrees of freedom, against the p-value printed beside them.

The statistic is known to its last digit only, so a range of p-values follows from it; the printed p-value must meet it. This
is what statcheck does (Nuijten and others 2016), here over LaTeX, with the range in closed form.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scipy import stats

from orledger.audit.recheck.automatic.spots import in_cell, in_sentence
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import PrintedNumber, normal, read_number
from orledger.audit.recheck.rounding import Enclosure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid

ALPHA = 0.05
_N = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+|\s*[×·]\s*10\s*\^\{?[-+]?\d+\}?)?"
_P = rf"(?:(?P<ns>n\.?\s?s\.?(?![a-z]))|[pP]\s*(?P<p_relation>[<>=≤≥])\s*(?P<p>{_N}))"
_TEST = re.compile(
    r"(?<![A-Za-z_\\])(?:(?P<chi>(?:χ|[Cc]hi|X|x)(?:\s?-?_?\^?\{?2\}?|-squared?))|(?P<letter>[tFrzZQ])(?:[-_]?\{?[a-z]+\}?)?)"
    rf"\s*(?:_\{{?\s*(?P<sub>[\d.,\s]+?)\s*\}}?|\(\s*(?P<df>{_N}(?:\s*,\s*(?:[Nn]\s*=\s*)?{_N})?)\s*\))?"
    rf"\s*(?P<relation>[=<>≤≥])\s*(?P<value>{_N})(?!\.?\d)(?P<between>(?:(?![tFrzZQχ](?:\s*\([^()]*\))?\s*=)(?:[^.;()<>]|\.(?=\d))){{0,60}}?)[,;)]?\s*{_P}"
)
_DEGREES = {"t": 1, "r": 1, "F": 2, "chi2": 1, "Q": 1, "z": 0}
_CORRECTED = re.compile(
    r"\b(?:bonferroni|holm|tukey|[sš]id[aá]k|hochberg|scheff[eé]|fdr|multiple comparisons?|(?:adjusted|corrected) p|p[- ]adj)",
    re.IGNORECASE,
)
_PAIRWISE = re.compile(r"\b(?:pairwise|post[- ]?hoc|simple (?:main )?effects|contrasts?)\b", re.IGNORECASE)
_COMPARISONS = range(2, 11)  # numbers of comparisons that a p-value may be multiplied by
_BETWEEN = "a p-value lies between 0 and 1"
_ONE_SIDED = re.compile(r"one[-– ](?:tail|side)|directional", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reported:
    """A test as printed: kind, statistic, degrees of freedom, and the p-value (None for "ns")."""

    kind: str
    statistic: PrintedNumber
    df: tuple[float, ...]
    p: PrintedNumber | None
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What the statistic says about the printed p-value."""

    verdict: CheckVerdict
    p_range: tuple[float, float] | None
    why: str
    decision: bool = False
    convention: str | None = None


def reported_tests(text: str) -> Iterator[Reported]:
    """Every test of a sentence that prints a statistic and a p-value."""
    text = normal(text)
    position = 0
    while match := _TEST.search(text, position):
        kind = "chi2" if match["chi"] else match["letter"].replace("Z", "z")
        inside = re.sub(r"[Nn]\s*=\s*", "", match["df"] or match["sub"] or "")
        degrees = tuple(float(d.replace(",", "")) for d in re.findall(_N if match["df"] else r"\d+(?:\.\d+)?", inside))
        needed = _DEGREES[kind]
        statistic = read_number(match["relation"].replace("=", "") + match["value"])
        p = read_number((match["p_relation"] or "") + match["p"]) if match["p"] else None
        few = len(degrees) == needed or (len(degrees) > needed and kind not in ("t", "r"))  # t and r have one
        usable = few and statistic is not None and (p is not None or match["ns"])
        # A statistic without its degrees of freedom may stand before one that has them.
        position = match.end() if usable else match.start() + 1
        if usable and statistic is not None:
            yield Reported(kind, statistic, degrees[:needed], p, match.start(), match[0])


def p_value(kind: str, value: float, df: tuple[float, ...]) -> float:
    """The two-sided p-value of a statistic; the upper tail for F, chi-squared and Q."""
    if kind == "t":
        return float(2 * stats.t.sf(abs(value), df[0]))
    if kind == "z":
        return float(2 * stats.norm.sf(abs(value)))
    if kind == "r":
        if abs(value) >= 1:
            return 0.0
        return float(2 * stats.t.sf(abs(value) * math.sqrt(df[0] / (1 - value * value)), df[0]))
    if kind == "F":
        return float(stats.f.sf(value, *df))
    return float(stats.chi2.sf(value, df[0]))


def impossible(test: Reported) -> str:
    """Why no data give this test; empty when some can."""
    if test.kind == "r" and abs(test.statistic.value) > 1:
        return "a correlation lies between -1 and 1"
    if test.kind in ("F", "chi2", "Q") and test.statistic.value < 0:
        return "this statistic is never negative"
    if any(d <= 0 for d in test.df):
        return "degrees of freedom are positive"
    if test.p is not None and (test.p.value > 1 or test.p.value < 0):
        return _BETWEEN
    return ""


def judge(
    test: Reported,
    *,
    one_sided: bool = False,
    alpha: float = ALPHA,
    family: Literal["stated", "possible"] | None = None,
) -> Judged:
    """Whether the printed p-value follows from the statistic; `one_sided` when the text says so.

    `family` says that the text states a correction for several comparisons, or that there may be one.
    """
    wrong = impossible(test)
    if wrong:
        return Judged(CheckVerdict.IMPOSSIBLE, None, wrong)
    ends = test.statistic.interval
    if test.statistic.relation in ("<", "≤"):  # F(1, 30) < 1, ns
        ends = Enclosure(0.0, abs(test.statistic.value))
    elif test.statistic.relation in (">", "≥"):
        ends = Enclosure(abs(test.statistic.value), math.inf)
    if test.kind in ("F", "chi2", "Q"):
        ends = Enclosure(max(ends.low, 0.0), max(ends.high, 0.0))
    corners = [p_value(test.kind, x, test.df) for x in (ends.low, ends.high)]
    if ends.low <= 0 <= ends.high:
        corners.append(1.0)
    two = (min(corners), max(corners))
    sided = test.kind in ("t", "z", "r")
    halves = (two[0] / 2, two[1] / 2)
    stated, other = (halves, two) if one_sided and sided else (two, halves)
    name, other_name = ("one-sided ", "two-sided ") if one_sided and sided else ("two-sided ", "one-sided ")
    shown = f"{name if sided else ''}p = {stated[0]:.4g} to {stated[1]:.4g}"
    if test.p is not None and test.p.value == 0:
        return Judged(CheckVerdict.FALSE, stated, f"a p-value is never zero; {shown}")
    if fits(test.p, stated, alpha):
        return Judged(CheckVerdict.MATCHES, stated, shown)
    decision = decides_otherwise(test.p, stated, alpha)
    if sided and fits(test.p, other, alpha):
        return Judged(
            CheckVerdict.CONVENTION, stated, f"fits {other_name.strip()}; {shown}", decision, other_name.strip()
        )
    times = 0 if family is None else multiples(test.p, two, alpha)
    if times:
        words = f"fits {times} times the p, as after a correction for {times} comparisons; {shown}"
        return Judged(
            CheckVerdict.MATCHES if family == "stated" else CheckVerdict.CONVENTION,
            stated,
            words,
            decision,
            "corrected",
        )
    if family == "stated" and test.p is not None and test.p.relation == "=" and test.p.value > stated[1]:
        return Judged(CheckVerdict.MATCHES, stated, f"larger than without the correction that the text states; {shown}")
    also = f", and {'twice' if one_sided else 'half'} that" if sided else ""
    return Judged(CheckVerdict.INCONSISTENT, stated, f"tried {shown}{also}", decision)


def multiples(p: PrintedNumber | None, possible: tuple[float, float], alpha: float = ALPHA) -> int:
    """For how many comparisons a p-value in the possible range may have been corrected to print like this; 0 for none."""
    return next((k for k in _COMPARISONS if fits(p, _multiplied(possible, k), alpha)), 0)


def corrected(document: Document) -> bool:
    """Whether a paper speaks of p-values corrected for several comparisons."""
    return any(_CORRECTED.search(sentence.text) for sentence in document.sentences)


def _multiplied(p: tuple[float, float], times: int) -> tuple[float, float]:
    return min(1.0, p[0] * times), min(1.0, p[1] * times)


def family_of(text: str) -> Literal["stated", "possible"] | None:
    """Whether a sentence states that p-values are corrected for several comparisons, or speaks of such comparisons."""
    if _CORRECTED.search(text):
        return "stated"
    return "possible" if _PAIRWISE.search(text) else None


def fits(p: PrintedNumber | None, possible: tuple[float, float], alpha: float = ALPHA) -> bool:
    """Whether a p-value in the possible range prints like this; None is "not significant"."""
    if p is None:
        return possible[1] > alpha
    if p.relation in ("<", "≤"):
        return possible[0] < p.value
    if p.relation in (">", "≥"):
        return possible[1] > p.value
    edge = 1e-9
    return possible[0] <= p.interval.high + edge and possible[1] >= p.interval.low - edge


def decides_otherwise(p: PrintedNumber | None, possible: tuple[float, float], alpha: float = ALPHA) -> bool:
    """Whether the printed p-value decides at alpha, and the whole possible range decides the other way."""
    if p is None or (p.relation in (">", "≥") and p.value >= alpha) or (p.relation == "=" and p.value > alpha):
        return possible[1] <= alpha
    if (p.relation in ("<", "≤", "=")) and p.value <= alpha:
        return possible[0] > alpha
    return False


_HEADINGS = {
    "z": r"^z(?:[- ]?(?:value|score|stat(?:istic)?))?$",
    "t": r"^t(?:[- ]?(?:value|stat(?:istic)?))?$",
    "r": r"^r$",
}
# t(118), t_{118}, F(2, 57), χ^2(3), r(58): a heading that gives the degrees of freedom of all its rows
_WITH_DF = re.compile(
    r"(?:(?P<chi>χ\s?\^?\{?2\}?|chi-?(?:2|squared?))|(?P<letter>[tFrQ]))\s*_?[({]\s*"
    r"(?:df\s*=\s*)?(?P<df>\d+(?:\.\d+)?(?:\s*[,;]\s*\d+(?:\.\d+)?)?)\s*[)}](?:[- ]?(?:value|stat(?:istic)?))?"
)
_P_HEADING = re.compile(r"p(?:[- ]?val(?:ue)?s?)?\.?", re.I)
_DF_HEADING = re.compile(r"(?:df|d\.f\.|degrees of freedom)", re.I)


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table prints its tests: the kind, the columns of statistic and p, and the degrees of freedom of all rows, or their column."""

    kind: str
    statistic: int
    p: int
    df: tuple[float, ...] | int


def _columns(grid: Grid) -> Columns | None:
    """The columns of the tests of a table, where there is one column of p and one of statistics."""
    headings = [normal(grid.heading(j)).strip() for j in range(grid.width)]
    p_columns = [j for j, h in enumerate(headings) if _P_HEADING.fullmatch(h)]
    df_columns = [j for j, h in enumerate(headings) if _DF_HEADING.fullmatch(h)]
    with_df = [(j, m) for j, h in enumerate(headings) if (m := _WITH_DF.fullmatch(h))]
    found = [(k, j) for k, form in _HEADINGS.items() for j, h in enumerate(headings) if re.match(form, h, re.I)]
    if len(p_columns) != 1 or len(found) + len(with_df) != 1:
        return None
    if with_df:
        column, match = with_df[0]
        kind = "chi2" if match["chi"] else match["letter"]
        df = tuple(float(d) for d in re.findall(r"\d+(?:\.\d+)?", match["df"]))
        known = len(df) == _DEGREES[kind] and not df_columns
        return Columns(kind, column, p_columns[0], df) if known else None
    kind, column = found[0]
    if kind == "z":
        return Columns(kind, column, p_columns[0], ())
    if len(df_columns) == 1:
        return Columns(kind, column, p_columns[0], df_columns[0])
    sizes = {int(n.replace(",", "")) for n in re.findall(r"\b[Nn]\s*=\s*(\d[\d,]*)", f"{grid.caption} {grid.notes}")}
    # A correlation of N pairs has N - 2 degrees of freedom; the table says N once for all rows.
    stated = float(sizes.pop() - 2) if len(sizes) == 1 and not df_columns else 0.0
    return Columns(kind, column, p_columns[0], (stated,)) if kind == "r" and stated > 0 else None


def check_tables(document: Document) -> Iterator[Finding]:
    """One finding per table row with a column of p and one of z, or of a statistic with degrees of freedom or, for r, a stated N."""
    for grid in document.grids:
        columns = _columns(grid)
        if columns is None:
            continue
        words = f"{grid.caption} {grid.notes}"
        # Where corrected values have a column of their own, the others are as they are.
        several = sum(bool(re.match(r"[pq](?![a-z])", grid.heading(j).strip(), re.I)) for j in range(grid.width)) > 1
        family = None if several else family_of(words)
        for i, row in enumerate(grid.rows):
            statistic, p = row[columns.statistic].entry.main, row[columns.p].entry.main
            df = columns.df
            if isinstance(df, int):
                printed = row[df].entry.main
                df = () if printed is None else (printed.value,)
            if statistic is None or p is None or row[columns.statistic].repeated:
                continue
            if len(df) != _DEGREES[columns.kind]:
                continue
            test = Reported(columns.kind, statistic, df, p, 0, row[columns.statistic].text)
            judged = judge(test, family=family)
            if judged.convention == "one-sided" and _ONE_SIDED.search(words):
                judged = judge(test, one_sided=True)
            value = judged.p_range
            yield in_cell(grid, i, columns.p).found(
                "reported test",
                judged.verdict,
                f"{columns.kind} = {statistic.text}"
                + (f" with {' and '.join(f'{d:g}' for d in df)} degrees of freedom" if df else "")
                + f": {judged.why}",
                recomputed="" if value is None else f"p = {value[0]:.4g} to {value[1]:.4g}",
                value=value,
                convention=judged.convention,
                decision=judged.decision,
                operands=(grid.key(i, columns.statistic), grid.key(i, columns.p)),
            )


# A p-value as it is named, or as it is reported: in brackets or after a comma, with nothing behind it.
_NAMED_P = re.compile(
    rf"\b[pP][- ]?value\s*(?:of|was|is|=)\s*(?P<p>{_N})(?!\.?\d|\s?%|\s?[×x]|\s?-?\s?(?:times|fold)\b)"
)
_BARE_P = re.compile(rf"[(,;]\s*[pP]\s*=\s*(?P<p>{_N})(?=\s*(?:[),;]|\.(?!\d)|$))")
_NO_P = re.compile(
    r"\blog|(?:\b|_)norms?\b|\bL_?\{?p\b|ℓ|minkowski|tweedie|\bof order\b|\border p\b|\bdegree(?!s of freedom)|exponent|dimension"
    r"|power[- ]law|predictors|features|hyper-?parameter|penalt|\b(?:bar|[kMGhm]?Pa|atm|Torr|GeV|MeV)\b",
    re.I,
)
_TESTED = re.compile(
    r"significan|[pP][- ]value|\b\d{2}\s?%\s?CI|confidence interval|\b(?:t|chi-squared?|Fisher|Wilcoxon|Mann[- –]Whitney|ANOVA|log-?rank"
    r"|McNemar|Kruskal|exact|signed[- ]rank)(?:'s)?[- ](?:test|exact)|\bANOVA\b|hazard ratio|odds ratio|did not differ|no difference|correlat"
)


def check_beyond(document: Document) -> Iterator[Finding]:
    """P-values above one, or below zero, without a statistic beside them: in sentences about tests, and in columns called p-value."""
    for sentence in document.sentences:
        text = normal(sentence.text)
        known = [(test.start, test.start + len(test.text)) for test in reported_tests(sentence.text)]
        named, bare = list(_NAMED_P.finditer(text)), list(_BARE_P.finditer(text))
        for match in () if _NO_P.search(text) else (*named, *(bare if _TESTED.search(text) else ())):
            p, least = read_number(match["p"]), 1 if match in named else 2  # decimals: p-value of 2 tests
            if p is None or p.last > -least or 0 <= p.value <= 1 or any(a <= match.start("p") < b for a, b in known):
                continue
            printed = match[0].lstrip("(,; ")
            spot = in_sentence(sentence, match.end() - len(printed), printed)
            yield spot.found("p-value", CheckVerdict.IMPOSSIBLE, _BETWEEN, cause=f"p-value: {spot.id}")
    for grid in document.grids:
        columns = _columns(grid)
        for j in range(grid.width):
            heading = normal(grid.heading(j)).strip()
            if columns is not None or not re.fullmatch(r"(?:[a-z]+ )?p[- ]val(?:ue)?s?\.?", heading, re.I):
                continue
            if _NO_P.search(f"{heading} {grid.caption}"):
                continue
            cells = [(i, m) for i, cell in grid.column(j) if cell.entry.form == "plain" and (m := cell.entry.main)]
            # A whole number among them is a count, in a row of its own.
            beyond = [(i, m) for i, m in cells if not 0 <= m.value <= 1 and not m.percent and not m.whole]
            if len(cells) < 4 or 4 * sum(m.value > 1 for _, m in cells) > len(cells):
                continue  # a column of another kind
            for i, _ in beyond:
                yield in_cell(grid, i, j).found("p-value", CheckVerdict.IMPOSSIBLE, _BETWEEN)


def _one_sided(text: str, tests: Sequence[Reported], position: int) -> bool:
    """Whether a sentence calls this test one-sided: before all its tests, or from this test on to the next one."""
    text = normal(text)
    after = tests[position + 1].start if position + 1 < len(tests) else len(text)
    return any(
        m.start() < tests[0].start or tests[position].start <= m.start() < after for m in _ONE_SIDED.finditer(text)
    )


def check_text(document: Document) -> Iterator[Finding]:
    """One finding per reported test of the text."""
    for sentence in document.sentences:
        family = family_of(sentence.text)
        tests = list(reported_tests(sentence.text))
        for position, test in enumerate(tests):
            judged = judge(test, one_sided=_one_sided(sentence.text, tests, position), family=family)
            spot = in_sentence(sentence, test.start, test.text)
            value = judged.p_range
            yield spot.found(
                "reported test",
                judged.verdict,
                judged.why,
                recomputed="" if value is None else f"p = {value[0]:.4g} to {value[1]:.4g}",
                value=value,
                convention=judged.convention,
                decision=judged.decision,
                cause=f"reported test: {spot.id}",
            )
