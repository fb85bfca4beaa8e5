"""Recheck rules about shares and counts: which shares a sample size allows, intervals of proportions, refusals."""

from __future__ import annotations

import math
from functools import cache

from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.rounding import Enclosure, exactly, hull
from orledger.audit.recheck.rules import CountOf, Recomputed, Truth, rule
from orledger.audit.statistics import counts
from orledger.audit.statistics.attainable import shares


def _candidates(convention: str, values: list[float], target: Enclosure) -> list[Recomputed]:
    """The values themselves, then the values as they print when rounded to one digit more first."""
    slop = 0.05 * (target.high - target.low)  # half a unit of the digit after the last printed one
    return [
        Recomputed(convention, tuple(exactly(x) for x in values), listed=True, miss=CheckVerdict.IMPOSSIBLE),
        Recomputed(
            f"{convention}, rounded twice",
            tuple(Enclosure(x - slop, x + slop) for x in values),
            listed=True,
            excuse=CheckVerdict.IMPOSSIBLE,
        ),
    ]


@rule
def share_possible(n: int, target: Enclosure, scale: float = 1.0, step: float = 1.0) -> list[Recomputed]:
    """The shares k/n that print as the target does, k a multiple of `step`; `scale` = 100 for percentages."""
    return _candidates(f"k of {n}", shares(n, target, scale, step), target)


@rule
def mean_share_possible(sizes: list[int], target: Enclosure) -> list[Recomputed]:
    """Means over cells of shares of the given numbers of points that print as the target does."""
    common = math.lcm(*sizes)
    step = math.gcd(*(common // size for size in sizes))
    values = shares(common * len(sizes), target, step=step)
    return _candidates(f"mean of shares of {'+'.join(map(str, sizes))} points", values, target)


@cache
def _sizes(low: float, high: float, most: int) -> frozenset[int]:
    """The numbers of points up to `most` of which some share lies between two ends."""
    window = Enclosure(low, high)
    return frozenset(n for n in range(1, most + 1) if any(window.low <= s <= window.high for s in shares(n, window)))


@rule
def region_shares(
    regions: list[list[Enclosure]], points: int, region: int, target: Enclosure, parts: int = 1
) -> list[Recomputed]:
    """The shares of a region's points that print as the target does, when the regions together have `points` of them.

    `regions` lists printed shares of single runs, region by region, and no region's number of points is printed: a number is
    possible when every share of its region is some k of it and the numbers add up. With `parts` = 2 the target is the mean of
    two such shares (a median of an even number), with 4 a quarter of the way between them (a quartile). `region` counts from zero.
    """
    fitting = [frozenset.intersection(*(_sizes(x.low, x.high, points) for x in listed)) for listed in regions]
    others = [sizes for i, sizes in enumerate(fitting) if i != region]
    sums = {0}
    for sizes in others:
        sums = {total + n for total in sums for n in sizes if total + n < points}
    found = sorted(n for n in fitting[region] if points - n in sums)
    values = tuple(exactly(s) for n in found for s in shares(n * parts, target) if target.low <= s <= target.high)
    listed = ", ".join(map(str, found[:6])) + (", ..." if len(found) > 6 else "")
    return [Recomputed(f"k/n with n in {{{listed}}}", values, listed=True, miss=CheckVerdict.IMPOSSIBLE)]


@rule
def clopper_pearson(of: CountOf, end: str, level: float = 0.95, missed: bool = False) -> list[Recomputed]:
    """One end of the Clopper-Pearson interval of k/n, two-sided; then the one-sided bound at the same level.

    With `missed` the fraction counts failures and the interval is that of the successes.
    """
    of = CountOf(of.n - of.k, of.n) if missed else of
    both = counts.clopper_pearson(of.k, of.n, level)
    one = counts.clopper_pearson(of.k, of.n, level, "lower" if end == "low" else "upper")
    return [
        Recomputed("two-sided", (exactly(both.low if end == "low" else both.high),)),
        Recomputed("one-sided", (exactly(one.low if end == "low" else one.high),)),
    ]


@rule
def odds_ratio(of: list[CountOf]) -> Enclosure:
    """Sample odds ratio of two fractions."""
    (a, m), (b, n) = of
    return exactly(a * (n - b) / ((m - a) * b))


@rule
def pooled_share_end(
    sizes: list[int], of: list[Enclosure], end: str, within: Enclosure, level: float = 0.95
) -> Enclosure:
    """Clopper-Pearson end of a pooled share, over the pooled counts that its parts and its own digits allow."""
    n = sum(sizes)
    low = max(sum(x.low * size for x, size in zip(of, sizes, strict=True)), within.low * n)
    high = min(sum(x.high * size for x, size in zip(of, sizes, strict=True)), within.high * n)
    ends = [
        clopper_pearson(CountOf(k, n), end, level)[0].values[0]
        for k in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    ]
    return hull(ends)


@rule
def share_of_delivered(refused: int, cells: int, target: Enclosure) -> list[Recomputed]:
    """Shares of the cells that did not refuse."""
    return share_possible(cells - refused, target)


@rule
def delivered_total(refused: list[int], cells: int) -> Enclosure:
    """Delivered cells of several variants together."""
    return exactly(sum(cells - r for r in refused))


@rule
def fewer_deliveries(refused: list[int], cells: int) -> Enclosure:
    """Pairs of two variants when the scarcer one delivers only where the other does too."""
    return exactly(cells - max(refused))


@rule
def ladder_from_pairs(pairs: list[CountOf]) -> list[Recomputed]:
    """Joint identity counts that three pairwise identity counts allow.

    Identity is an equivalence relation, so two of the three identities imply the third and their union fits in n.
    """
    ks, n = [c.k for c in pairs], pairs[0].n
    possible = [k for k in range(min(ks) + 1) if sum(ks) - 2 * k <= n]
    return [Recomputed("identity is transitive", tuple(exactly(k / n) for k in possible))]


@rule
def records_left(fraction: CountOf, records: list[Enclosure], taken: Enclosure) -> Enclosure:
    """The printed numerator over what is left of the records once some are taken away."""
    everything = exactly(1)
    for factor in records:
        everything = everything * factor
    return exactly(fraction.k) / (everything - taken)


@rule
def planned_cells(datasets: int, regimes: int, seeds: int, levels: int, extra_levels: int, anchors: int) -> Enclosure:
    """Cells of a factorial plan where one dataset has extra noise levels, plus single anchor cells."""
    return exactly(regimes * seeds * (datasets * levels + extra_levels) + anchors)


@rule
def denominator_delivered(fraction: CountOf, refused: int, cells: int) -> Truth:
    """The printed denominator is the number of cells that did not refuse."""
    return "always" if fraction.n == cells - refused else "never"


@rule
def denominator_sum(fraction: CountOf, parts: list[int]) -> Truth:
    """The printed denominator is the sum of the parts."""
    return "always" if fraction.n == sum(parts) else "never"


@rule
def denominator_product(fraction: CountOf, factors: list[int]) -> Truth:
    """The printed denominator is the product of the factors."""
    return "always" if fraction.n == math.prod(factors) else "never"
