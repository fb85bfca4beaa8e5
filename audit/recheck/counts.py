"""Recheck rules that count: in how many groups, pairs or contrasts a relation holds, within rounding."""

from __future__ import annotations

from orledger.audit.recheck.claims import every, less
from orledger.audit.recheck.rounding import Enclosure, exactly
from orledger.audit.recheck.rules import CountOf, Recomputed, Truth, rule


def _count(truths: list[Truth]) -> Enclosure:
    return Enclosure(truths.count("always"), len(truths) - truths.count("never"))


@rule
def count_lowest(of: list[Enclosure], others: list[list[Enclosure]]) -> Enclosure:
    """In how many groups the value is strictly below all the others."""
    return _count([every(less(x, y, strict=True) for y in rest) for x, rest in zip(of, others, strict=True)])


@rule
def count_below(of: list[Enclosure], than: list[Enclosure] | None = None, bound: Enclosure | None = None) -> Enclosure:
    """How many values lie strictly below their partners, or below one bound."""
    partners = than if than is not None else [bound or exactly(0)] * len(of)
    return _count([less(a, b, strict=True) for a, b in zip(of, partners, strict=True)])


@rule
def count_at_least(of: list[Enclosure], bound: Enclosure) -> Enclosure:
    """How many values reach the bound."""
    return _count([less(bound, x, strict=False) for x in of])


@rule
def count_full(of: list[CountOf]) -> Enclosure:
    """How many fractions are n of n."""
    return exactly(sum(c.k == c.n for c in of))


@rule
def count_below_share(of: list[Enclosure], than: list[Enclosure]) -> Enclosure:
    """In which share of the pairs the first is strictly below the second."""
    return count_below(of, than) / exactly(len(of))


@rule
def count_different(of: list[CountOf], than: list[CountOf]) -> Enclosure:
    """How many printed fractions differ from their partners."""
    return exactly(sum(a != b for a, b in zip(of, than, strict=True)))


@rule
def improves_exactly(of: list[Enclosure], than: list[Enclosure], count: int) -> Truth:
    """No value above its partner, and strictly below it exactly `count` times."""
    strictly = count_below(of, than)
    reached: Truth = "always" if strictly.exact else "sometimes"
    if not strictly.low <= count <= strictly.high:
        reached = "never"
    return every((*(less(a, b, strict=False) for a, b in zip(of, than, strict=True)), reached))


@rule
def same_fraction(of: CountOf, fraction: CountOf) -> list[Recomputed]:
    """The same counts printed elsewhere: both of them, so that 0/7 is not 0/6."""
    truth: Truth = "always" if of == fraction else "never"
    return [Recomputed("", truth=truth, detail=f"{fraction.k}/{fraction.n} against {of.k}/{of.n}")]


@rule
def one_of(of: list[Enclosure]) -> list[Recomputed]:
    """One number of a printed list: a weight of its grid, a level of its design."""
    return [Recomputed(f"one of {', '.join(f'{x.middle:g}' for x in of)}", tuple(of), listed=True)]
