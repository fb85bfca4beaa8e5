"""What captions of tables and figures add so that nobody reads more out of them than the audit says."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from orledger.audit.registry.words import Outcome
from orledger.wording import counted, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.reports.audit_rows import TestRow
    from orledger.reports.generic import Pair, Subject

PLAIN = "median of differences"  # the effect of a signed-rank test that was not inverted
NAMED = 6  # pairs that a caption names
FEW_UNITS = 10  # below so many a percentile bootstrap of a mean, said to cover 95 %, covers 91 % and less
FEW_RUNS = 5  # below so many runs to a unit a stratified one covers 85 % and less


def undecided(subject: Subject, a: str, b: str) -> bool:
    """Whether two arms were tested against each other, in whichever order, and no difference was found."""
    row = subject.pair(a, b) or subject.pair(b, a)
    return row is not None and row.p is not None and not row.decided


def hopeless(subject: Subject) -> str:
    """Says how many pairs this test could not have shown to differ: that it found no difference there says nothing at all."""
    count = sum(p.row.outcome == Outcome.UNTESTABLE for p in subject.pairs)
    many = f"Of {len(subject.pairs)} pairs {count} could" if len(subject.pairs) > 1 else "It could"
    return f" {many} not have been shown to differ by this test, for lack of units that do." if count else ""


def uncompared(subject: Subject) -> str:
    """Names the pairs of which there is no p, or the one arm that all others were compared with: no bar does not say that arms differ."""
    arms = subject.ordered
    pairs = [
        (a, b)
        for i, a in enumerate(arms)
        for b in arms[i + 1 :]
        if all(row is None or row.p is None for row in (subject.pair(a, b), subject.pair(b, a)))
    ]
    others = {frozenset(pair) for pair in combinations(arms, 2)} - {frozenset(pair) for pair in pairs}
    if (
        len(pairs) > 1
        and len(others) > 1
        and (control := frozenset.intersection(*others))
        and not any(control & {*p} for p in pairs)
    ):
        return f" All were compared with {subject.label(*control)} alone: that no bar joins two others says nothing."
    names = [f"{subject.label(a)} and {subject.label(b)}" for a, b in pairs]
    return f" Not compared, and so without a bar: {some(names, NAMED, '; ')}." if names else ""


def levels(rows: Sequence[TestRow]) -> str:
    """The level of the intervals of ``rows``, or from which to which they go; empty where no row has an interval."""
    found = sorted(row.level for row in rows if row.level)
    if not found:
        return ""
    low, high = f"{found[0]:.1%}", f"{found[-1]:.1%}"
    return low if low == high else f"{low} to {high}"


def of_tests(subject: Subject, tests: tuple[str, ...]) -> str:
    """At which levels the intervals of ``tests`` are, and that the number of comparisons does not widen them."""
    rows = [t for t in subject.of(*tests) if not (t.low is None and t.high is None)]
    if not (reached := levels(rows)):
        return ""
    alone = ""
    if any(t.p_holm is not None for t in rows):
        alone = ", of each comparison alone: one can leave out 0 where the corrected p does not decide"
    runs = subject.of("improvement")
    of_runs = f" Those of improvement speak about new runs on these units.{few_runs(runs)}" if runs else ""
    return f" Intervals of the tests have a level of {reached}{alone}.{of_runs}"


def kinds(subject: Subject, pairs: Sequence[Pair], kind: str) -> str:
    """What the rows of ``pairs`` say in the field ``kind`` (effect_name, interval_method); of several, each with the pairs that it holds for."""
    found: dict[str, list[str]] = {}
    for p in pairs:
        if p.row.effect is not None and (said := getattr(p.row, kind)):
            found.setdefault(said, []).append(f"{subject.label(p.first)} − {subject.label(p.second)}")
    if len(found) < 2:
        return next(iter(found), "")
    return "; ".join(f"{said} for {some(names, NAMED)}" for said, names in found.items())


def plain_medians(pairs: Sequence[Pair]) -> str:
    """Says why some pairs of a signed-rank test have a plain median, whose interval is not that of the test."""
    found = {p.row.effect_name for p in pairs if p.row.test == "signed_rank" and p.row.effect is not None}
    if PLAIN not in found:
        return ""
    return (
        " The plain median and its order statistics stand for samples too large to invert the test: above 600 differences, and above"
        " 150 where two are the same number. Such an interval can hold 0 where the test rejects, and the other way round."
    )


def few_runs(rows: Sequence[TestRow]) -> str:
    """Says that the intervals of estimates over runs are too short where a unit has few runs to redraw."""
    fewest = min((row.details["fewest_runs_per_unit"] for row in rows if row.details), default=FEW_RUNS)
    return f" With {counted(fewest, 'run')} to a unit a bootstrap interval is too short." if fewest < FEW_RUNS else ""


def flat_ranks(subject: Subject) -> str:
    """Says that intervals of ranks over few units are too short, and that one without width is no certainty: units that agree give a
    bootstrap nothing to vary.
    """
    row = subject.ranking
    if row is None:
        return ""
    low, high = row.details["mean_rank_low"], row.details["mean_rank_high"]
    words = ""
    if row.test == "mean_ranks" and row.n < FEW_UNITS:  # Friedman's test brings Student intervals
        words += f" Over {counted(row.n, 'unit')} a bootstrap interval of a mean rank is too short."
    if any(low[arm] >= high[arm] for arm in low):
        words += f" An interval of ranks without width says that all {row.n} units agree, not that further ones will."
    return words
