"""The paper's printed numbers recomputed from one another: one finding per check, its verdict computed.

`recheck()` reads the transcription, recomputes every number that follows from other printed numbers, and compares
with the interval its digits allow. Nothing about a verdict is written in the transcription: a check names a rule and
its operands, and may name other conventions to try when the first one does not fit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.recheck import (  # noqa: F401  (importing these registers their rules)
    arithmetic,
    claims,
    counts,
    protocol,
    pvalues,
    shares,
)
from orledger.audit.recheck.data import load_publication
from orledger.audit.recheck.rules import Recomputed, candidates, operand_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orledger.audit.recheck.model import Check, Publication, Published
    from orledger.audit.recheck.rounding import Interval

MATCHES = "matches"
WITHIN_ROUNDING = "matches within rounding"
ATTAINABLE = "attainable"
CONVENTION = "convention differs"
INCONSISTENT = "inconsistent"
VERDICTS = (MATCHES, WITHIN_ROUNDING, ATTAINABLE, CONVENTION, INCONSISTENT)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    `low` and `high` bound the recomputed value (None for a claim in words); `recomputed` is the same as text, for an
    enumeration the value nearest to the printed one. `convention` is the reading that fits (None when none does), and `why`
    says what fits, or what was tried and does not.
    """

    id: str
    place: str
    printed: str
    recomputed: str
    low: float | None
    high: float | None
    verdict: str
    rule: str
    convention: str | None
    why: str
    operands: tuple[str, ...]


def recheck(publication: Publication | None = None) -> list[Finding]:
    """One finding per check of the publication; by default of the transcription that ships with the package."""
    publication = load_publication() if publication is None else publication
    seen: Counter[str] = Counter()
    findings = []
    for check in publication.checks:
        label = f"{check.target} {check.rule}"
        seen[label] += 1
        suffix = f" {seen[label]}" if seen[label] > 1 else ""
        findings.append(_finding(label + suffix, check, publication.numbers))
    return findings


def _finding(name: str, check: Check, numbers: Mapping[str, Published]) -> Finding:
    tried: list[Recomputed] = []
    options = candidates(check, numbers)
    fitting, verdict = None, INCONSISTENT
    for candidate in options:  # asking for the first candidate validates the check, its target included
        verdict = _compare(candidate, numbers[check.target].interval)
        if verdict != INCONSISTENT:
            fitting = candidate
            break
        tried.append(candidate)
    target = numbers[check.target]
    if fitting is not None and tried:
        verdict = CONVENTION
    shown = fitting or tried[0]
    value = _nearest(shown.values, target)
    return Finding(
        id=name,
        place=target.place,
        printed=target.printed,
        recomputed=_text(shown, value),
        low=None if value is None else value.low,
        high=None if value is None else value.high,
        verdict=verdict,
        rule=check.rule,
        convention=None if fitting is None else fitting.convention,
        why=_why(fitting, tried, target),
        operands=operand_ids(check),
    )


def _compare(candidate: Recomputed, printed: Interval | None) -> str:
    if candidate.truth is not None:
        return {"always": MATCHES, "sometimes": WITHIN_ROUNDING, "never": INCONSISTENT}[candidate.truth]
    if printed is None or not any(value.meets(printed) for value in candidate.values):
        return INCONSISTENT
    if candidate.listed or len(candidate.values) > 1:
        return ATTAINABLE
    return MATCHES if candidate.values[0].inside(printed) else WITHIN_ROUNDING


def _nearest(values: tuple[Interval, ...], target: Published) -> Interval | None:
    """The value that fits the printed number best: inside its rounding interval if any is, then closest to its digits."""
    printed, middle = target.interval, target.value
    if not values or printed is None or middle is None:
        return None
    return min(values, key=lambda value: (not value.meets(printed), abs(value.middle - middle)))


def _text(candidate: Recomputed, value: Interval | None) -> str:
    if candidate.truth is not None:
        return {"always": "holds", "sometimes": "can hold", "never": "does not hold"}[candidate.truth]
    if value is None:
        return "no value"
    return f"{value.low:.6g}" if value.exact else f"{value.low:.6g} to {value.high:.6g}"


def _describe(candidate: Recomputed, target: Published) -> str:
    value = _nearest(candidate.values, target)
    count = len(candidate.values)
    several = (
        ", the nearest possible" if candidate.listed else f", the nearest of {count} possible" if count > 1 else ""
    )
    detail = f" ({candidate.detail})" if candidate.detail else ""
    return f"{candidate.convention}: {_text(candidate, value)}{several}{detail}"


def _why(fitting: Recomputed | None, tried: list[Recomputed], target: Published) -> str:
    misses = "; ".join(_describe(candidate, target) for candidate in tried)
    if fitting is None:
        return misses
    fit = _describe(fitting, target)
    return f"fits {fit}; does not fit {misses}" if tried else fit


def summary(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings have each verdict, in the order of `VERDICTS`."""
    found = Counter(finding.verdict for finding in findings)
    return {verdict: found[verdict] for verdict in VERDICTS}


def recheck_frame(publication: Publication | None = None) -> pl.DataFrame:
    """The findings as a frame, one row per check; `operands` is a list of ids."""
    rows = [{**asdict(finding), "operands": list(finding.operands)} for finding in recheck(publication)]
    text, number = pl.String, pl.Float64
    schema = {"id": text, "place": text, "printed": text, "recomputed": text, "low": number, "high": number}
    return pl.DataFrame(
        rows,
        schema={
            **schema,
            "verdict": text,
            "rule": text,
            "convention": text,
            "why": text,
            "operands": pl.List(pl.String),
        },
    )


def load_published(publication: Publication | None = None) -> pl.DataFrame:
    """The transcribed numbers, one row each, with the columns of the database table `published`."""
    publication = load_publication() if publication is None else publication
    return _frame(publication).drop("case", "metric", "arm")


def published_metrics(publication: Publication | None = None) -> pl.DataFrame:
    """Which printed numbers our own records can recompute: id, case, metric and arm in the words of the catalogues."""
    publication = load_publication() if publication is None else publication
    return _frame(publication).select("id", "case", "metric", "arm").filter(pl.col("metric").is_not_null())


def _frame(publication: Publication) -> pl.DataFrame:
    rows = [
        {
            "id": n.id,
            "place": n.place,
            "table_name": n.table,
            "row_name": n.row,
            "column_name": n.column,
            "kind": n.kind,
            "printed": n.printed,
            "low": None if n.interval is None else n.interval.low,
            "high": None if n.interval is None else n.interval.high,
            "value": n.value,
            "meaning": n.meaning,
            "case": n.case,
            "metric": n.metric,
            "arm": n.arm,
        }
        for n in publication.numbers.values()
    ]
    floats = {"low", "high", "value"}
    names = list(rows[0]) if rows else []
    return pl.DataFrame(rows, schema={name: pl.Float64 if name in floats else pl.String for name in names})
