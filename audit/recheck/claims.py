"""Recheck rules for claims in words: orderings, bounds, counts of wins, flips, identities.

A claim is judged over every set of numbers that prints as its operands do: it holds always, for some of them, or never.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from orledger.audit.recheck.rounding import SLACK, Enclosure, exactly
from orledger.audit.recheck.rules import CountOf, ImpossibleError, Recomputed, Truth, Words, as_fraction, rule

if TYPE_CHECKING:
    from collections.abc import Iterable


def less(a: Enclosure, b: Enclosure, *, strict: bool) -> Truth:
    """Whether a < b (or a <= b) holds for all, some or none of the numbers in the two intervals."""
    slack = SLACK * max(abs(a.low), abs(a.high), abs(b.low), abs(b.high))
    if a.high < b.low - slack or (not strict and a.high <= b.low + slack):
        return "always"
    # Two rounding intervals that share nothing but an edge hold no common number: one number rounds to one string.
    edge = not strict and (a.exact or b.exact)
    if a.low < b.high - slack or (edge and a.low <= b.high + slack):
        return "sometimes"
    return "never"


def every(truths: Iterable[Truth]) -> Truth:
    """The truth of a conjunction."""
    seen = set(truths)
    if "never" in seen:
        return "never"
    return "sometimes" if "sometimes" in seen else "always"


def negation(truth: Truth) -> Truth:
    """The truth of the opposite claim."""
    opposite: dict[Truth, Truth] = {"always": "never", "sometimes": "sometimes", "never": "always"}
    return opposite[truth]


def judged(pairs: Iterable[tuple[Enclosure, Enclosure]], *, strict: bool) -> list[Recomputed]:
    """Whether the first of every pair lies below the second, with the pairs that break it."""
    listed = list(pairs)
    truths = [less(a, b, strict=strict) for a, b in listed]
    relation = "below" if strict else "at most"
    broken = [f"{a.shown} {relation} {b.shown}" for (a, b), t in zip(listed, truths, strict=True) if t == "never"]
    return [Recomputed("", truth=every(truths), detail=f"not {', not '.join(broken)}" if broken else "")]


@rule
def at_most(of: list[Enclosure], bound: Enclosure) -> list[Recomputed]:
    """No value above the bound."""
    return judged(((x, bound) for x in of), strict=False)


@rule
def at_least(of: list[Enclosure], bound: Enclosure) -> list[Recomputed]:
    """No value below the bound."""
    return judged(((bound, x) for x in of), strict=False)


@rule
def below(of: list[Enclosure], than: list[Enclosure]) -> list[Recomputed]:
    """Each value strictly below its partner."""
    return judged(zip(of, than, strict=True), strict=True)


@rule
def not_above(of: list[Enclosure], than: list[Enclosure]) -> list[Recomputed]:
    """No value above its partner."""
    return judged(zip(of, than, strict=True), strict=False)


@rule
def inside(of: list[Enclosure], low: Enclosure, high: Enclosure) -> list[Recomputed]:
    """Every value between two printed ends, ends included."""
    return judged([pair for x in of for pair in ((low, x), (x, high))], strict=False)


@rule
def ordered(of: list[Enclosure], direction: str, strict: bool = False) -> list[Recomputed]:
    """The list rises, or falls, from first to last."""
    rising = of if direction == "rising" else of[::-1]
    return judged(itertools.pairwise(rising), strict=strict)


@rule
def ordered_shares(of: list[CountOf]) -> list[Recomputed]:
    """Fractions of counts do not rise from first to last."""
    rises = [f"{a.k}/{a.n} then {b.k}/{b.n}" for a, b in itertools.pairwise(of) if as_fraction(a) < as_fraction(b)]
    return [Recomputed("", truth="never" if rises else "always", detail=", ".join(rises))]


@rule
def is_lowest(among: list[Enclosure], of: Enclosure) -> list[Recomputed]:
    """The value is not above any of the others: the bold entry of its row."""
    return judged(((of, x) for x in among), strict=False)


@rule
def order_flips(first: list[Enclosure], second: list[Enclosure]) -> list[Recomputed]:
    """Two comparisons of the same pair go opposite ways."""
    up = less(first[0], first[1], strict=True), less(second[1], second[0], strict=True)
    down = less(first[1], first[0], strict=True), less(second[0], second[1], strict=True)
    ways = every(up), every(down)
    truth: Truth = "always" if "always" in ways else "sometimes" if "sometimes" in ways else "never"
    seen = " and ".join(f"{a.middle:g} against {b.middle:g}" for a, b in (first, second))
    return [Recomputed("", truth=truth, detail=seen)]


@rule
def median_sign(median: Enclosure, better: int, worse: int, tied: int) -> Truth:
    """The printed median difference has the sign its win, loss and tie counts force."""
    signs = [-1] * better + [0] * tied + [1] * worse
    n = len(signs)
    if n == 0:
        raise ImpossibleError("no pairs at all, and a median of them")
    middle = {signs[(n - 1) // 2], signs[n // 2]}
    if middle == {0}:
        return every((less(exactly(0), median, strict=False), less(median, exactly(0), strict=False)))
    if middle <= {0, 1}:
        return less(exactly(0), median, strict=True)
    if middle <= {0, -1}:
        return less(median, exactly(0), strict=True)
    return "sometimes"


@rule
def placed(word: Words, value: Enclosure, quartiles: list[Enclosure], ends: list[Enclosure]) -> Truth:
    """The printed word says where the value lies: in IQR, in range (outside the quartiles), or outside the range."""
    in_quartiles = every((less(quartiles[0], value, strict=False), less(value, quartiles[1], strict=False)))
    in_range = every((less(ends[0], value, strict=False), less(value, ends[1], strict=False)))
    claims: dict[str, Truth] = {
        "in IQR": in_quartiles,
        "in range": every((negation(in_quartiles), in_range)),
        "outside": negation(in_range),
    }
    return claims[word]


@rule
def count_fits_quartiles(reached: CountOf, level: Enclosure, median: Enclosure, quartiles: list[Enclosure]) -> Truth:
    """How many of n values reach a level agrees with the printed quartiles, linear between order statistics."""
    short = reached.n - reached.k
    truths: list[Truth] = []
    for q, value in zip((0.25, 0.5, 0.75), (quartiles[0], median, quartiles[1]), strict=True):
        position = q * (reached.n - 1)
        low, high = int(position), int(position) + (position > int(position))
        if low >= short:
            truths.append(less(level, value, strict=False))
        elif high < short:
            truths.append(less(value, level, strict=True))
    return every(truths)


@rule
def no_losses(n: int, wins: int, p: Enclosure) -> list[Recomputed]:
    """No pair goes the other way: with every remaining pair a tie, the exact p would be 2^(1-wins)."""
    without = exactly(2.0 ** (1 - wins))
    truth: Truth = "always" if without.meets(p) else "never"
    return [Recomputed(f"{n - wins} ties and no loss give p = {without.low:.4g}", truth=truth)]


@rule
def between(of: list[Enclosure], target: Enclosure) -> list[Recomputed]:
    """The target lies between the smallest and the largest printed: an interval around its median, a pool its parts."""
    ends = sorted(of, key=lambda x: x.middle)
    truth = every((less(ends[0], target, strict=False), less(target, ends[-1], strict=False)))
    return [Recomputed("", truth=truth, detail=f"{ends[0].middle:g} to {ends[-1].middle:g}")]


@rule
def scaled_between(of: Enclosure, factors: list[Enclosure], target: Enclosure) -> list[Recomputed]:
    """The target lies between the smallest and the largest factor times a number.

    Medians keep inequalities that hold element by element, so a ratio of medians lies between the extreme ratios.
    """
    low, high = of * factors[0], of * factors[1]
    truth = every((less(low, target, strict=False), less(target, high, strict=False)))
    return [Recomputed("", truth=truth, detail=f"{low.middle:.3g} to {high.middle:.3g}")]


@rule
def at_least_scaled(of: Enclosure, bound: Enclosure, factor: float) -> Truth:
    """The value is at least `factor` times the bound."""
    return less(bound * exactly(factor), of, strict=False)


@rule
def mean_holds_largest(mean: Enclosure, largest_value: Enclosure, n: int) -> Truth:
    """A mean of n non-negative values is at least the largest of them over n, and at most the largest."""
    return every((less(largest_value / exactly(n), mean, strict=False), less(mean, largest_value, strict=False)))


@rule
def score_holds_widths(score: Enclosure, widths: list[Enclosure], cells: int) -> Truth:
    """A mean interval score over cells is at least twice the listed mean half-widths over the number of cells."""
    least = Enclosure(2 * sum(w.low for w in widths) / cells, 2 * sum(w.high for w in widths) / cells)
    return less(least, score, strict=False)


@rule
def sums_to(of: list[int], total: int) -> list[Recomputed]:
    """Counts add up to a printed total."""
    truth: Truth = "always" if sum(of) == total else "never"
    return [Recomputed(f"{' + '.join(map(str, of))} = {sum(of)} against {total}", truth=truth)]


@rule
def same_order(first: list[Enclosure], second: list[Enclosure]) -> list[Recomputed]:
    """Two lists order their elements the same way, ties in either list allowed."""
    pairs = [(i, j) for i in range(len(first)) for j in range(len(first)) if i != j]
    opposed = [
        less(first[i], first[j], strict=True) == "always" and less(second[j], second[i], strict=True) == "always"
        for i, j in pairs
    ]
    if any(opposed):
        i, j = pairs[opposed.index(True)]
        was, became = (f"{x[i].middle:g} before {x[j].middle:g}" for x in (first, second))
        return [Recomputed("", truth="never", detail=f"{was}, then {became.replace('before', 'after')}")]
    agreed = [
        less(first[i], first[j], strict=True) == "always" and less(second[i], second[j], strict=True) == "always"
        for i, j in pairs
    ]
    return [Recomputed("", truth="always" if sum(agreed) == len(pairs) // 2 else "sometimes")]


@rule
def count_share_of_extreme(low: Enclosure, high: Enclosure, factor: float, target: Enclosure) -> Truth:
    """A positive share of ratios lies farther than a factor from one only if an extreme ratio does."""
    beyond = (
        less(low, exactly(1 / factor), strict=True) == "always" or less(exactly(factor), high, strict=True) == "always"
    )
    return "always" if beyond == (target.low > 0) else "never"
