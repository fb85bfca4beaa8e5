"""Recheck rules for p-values and test statistics: which convention, if any, gives the printed value."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from orledger.audit.recheck.claims import every, less
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.rounding import Enclosure, exactly, hull
from orledger.audit.recheck.rules import CountOf, ImpossibleError, Recomputed, UnusableError, rule
from orledger.audit.statistics import attainable, counts
from orledger.audit.statistics.spearman import spearman as rank_correlation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _given(number: float | None) -> float:
    """The number of a test that always has one; these tests never leave it out."""
    assert number is not None
    return float(number)


@rule
def p_floor(n: int, ties: int = 0) -> list[Recomputed]:
    """The smallest two-sided signed-rank p-value of the n - ties pairs that differ, 2^(1-n+ties).

    With printed ties the floor of all n pairs is out of reach of any data; it is named when it is what was printed.
    """
    if ties > n:
        raise ImpossibleError(f"{ties} ties among {n} pairs")
    floor = Recomputed("tied pairs dropped" if ties else "all pairs differ", (exactly(2.0 ** (1 - max(n - ties, 1))),))
    if not ties:
        return [floor]
    return [floor, Recomputed(f"the {ties} ties ignored", (exactly(2.0 ** (1 - n)),), excuse=CheckVerdict.FALSE)]


@rule
def signed_rank(
    n: int, target: Enclosure, wins: int | None = None, losses: int | None = None, ties: int | None = None
) -> Iterator[Recomputed]:
    """Two-sided signed-rank p-values of n pairs with the printed counts, convention by convention.

    The exact test with zeros dropped comes first; then the normal approximation, continuity, tied magnitudes, zeros
    ranked before they are dropped (Pratt), one-sided and sign tests. Counts that are not printed are enumerated.
    """
    cases = attainable.splits(n, wins, losses, ties)
    if not cases:
        known = {"wins": wins, "losses": losses, "ties": ties}
        said = " + ".join(f"{count} {name}" for name, count in known.items() if count is not None)
        raise ImpossibleError(f"{said} do not make {n} pairs")

    def values(p_values: Callable[[int, int, int], np.ndarray]) -> tuple[Enclosure, ...]:
        found = np.concatenate([p_values(w, lost, tied) for w, lost, tied in cases])
        return tuple(exactly(p) for p in np.unique(found))

    yield Recomputed("exact, zeros dropped", values(lambda w, lo, _: attainable.exact_p_values(w + lo, lo)))
    yield Recomputed(
        "normal approximation, zeros dropped", values(lambda w, lo, _: attainable.normal_p_values(w + lo, lo))
    )
    yield Recomputed(
        "normal approximation with continuity correction, zeros dropped",
        values(lambda w, lo, _: attainable.normal_p_values(w + lo, lo, continuity=True)),
    )
    tied_exact = values(lambda w, lo, _: attainable.tied_p_values(w + lo, lo))
    if tied_exact:
        yield Recomputed("exact, zeros dropped, some magnitudes tied", tied_exact)
    fits = [(found, w + lo) for w, lo, _ in cases if (found := attainable.tie_term_that_fits(w + lo, lo, target))]
    if fits:
        (term, p), m = min(fits)
        detail = f"{m} non-zero differences, ties worth a sum of t^3-t of {term}"
        yield Recomputed("normal approximation with tie correction, zeros dropped", (exactly(p),), detail=detail)
    if any(tied for _, _, tied in cases):
        yield Recomputed(
            "exact, zeros ranked then dropped", values(lambda w, lo, t: attainable.exact_p_values(w + lo, lo, t))
        )
        yield Recomputed(
            "normal approximation, zeros ranked then dropped",
            values(lambda w, lo, t: attainable.normal_p_values(w + lo, lo, zeros_ranked=t)),
        )
    yield Recomputed(
        "exact one-sided, zeros dropped", values(lambda w, lo, _: attainable.exact_p_values(w + lo, lo) / 2)
    )
    yield Recomputed("exact sign test", values(lambda w, lo, _: np.array([attainable.sign_test_p(w, lo)])))


@rule
def signed_rank_normal(n: int, wins: int, losses: int) -> list[Recomputed]:
    """Two-sided signed-rank p-values by the normal approximation alone, zeros dropped, no magnitudes tied.

    For a p-value whose neighbours in the paper were computed this way: one table has one convention.
    """
    if wins + losses > n:
        raise ImpossibleError(f"{wins} wins + {losses} losses do not make {n} pairs")
    found = attainable.normal_p_values(wins + losses, losses)
    return [Recomputed("normal approximation, as its neighbours", tuple(exactly(p) for p in np.unique(found)))]


@rule
def signed_rank_groups(groups: list[int]) -> list[Recomputed]:
    """Signed-rank p-value when all differences have one sign and fall into printed groups of equal size."""
    m = sum(groups)
    term = sum(size**3 - size for size in groups)
    untied = float(attainable.normal_p(m, 0))
    return [
        Recomputed("exact, zeros dropped", (exactly(2.0 ** (1 - m)),)),
        Recomputed(
            "normal approximation with tie correction, zeros dropped",
            (exactly(float(attainable.normal_p(m, 0, tie_term=term))),),
        ),
        Recomputed("normal approximation, zeros dropped", (exactly(untied),)),
    ]


@rule
def mcnemar(first: int, second: int) -> Enclosure:
    """Exact two-sided McNemar p-value of the two discordant counts."""
    return exactly(_given(counts.mcnemar(first, second).p))


def _fisher(a: CountOf, b: CountOf, side: str = "two-sided") -> float:
    return _given(counts.fisher(a.k, a.n, b.k, b.n, side).p)


@rule
def fisher(of: list[CountOf]) -> list[Recomputed]:
    """Fisher's exact p-value of two fractions, two-sided; then one-sided."""
    first, second = of
    one_sided = min(_fisher(first, second, "less"), _fisher(first, second, "greater"))
    return [
        Recomputed("two-sided", (exactly(_fisher(first, second)),)),
        Recomputed("one-sided", (exactly(one_sided),)),
    ]


@rule
def fisher_holm(family: list[CountOf], pairs: list[list[int]], take: str) -> Enclosure:
    """Smallest or largest Holm-adjusted Fisher p among the named pairs, adjusted over all pairs of the family.

    `pairs` counts positions in the family from zero.
    """
    everyone = list(itertools.combinations(range(len(family)), 2))
    adjusted = dict(zip(everyone, counts.holm([_fisher(family[i], family[j]) for i, j in everyone]), strict=True))
    chosen = [adjusted[min(i, j), max(i, j)] for i, j in pairs]
    return exactly(min(chosen) if take == "smallest" else max(chosen))


@rule
def fisher_holm_below(family: list[CountOf], bound: float) -> Enclosure:
    """How many pairs of the family have a Holm-adjusted Fisher p below the bound."""
    raw = [_fisher(a, b) for a, b in itertools.combinations(family, 2)]
    return exactly(sum(p < bound for p in counts.holm(raw)))


@rule
def friedman_p(chi2: Enclosure, arms: int) -> Enclosure:
    """Chi-square tail of a printed Friedman statistic with arms - 1 degrees of freedom."""
    return chi2.map(lambda x: float(stats.chi2.sf(x, arms - 1)))


@rule
def friedman_bounds(ranks: list[Enclosure], blocks: int, target: Enclosure) -> list[Recomputed]:
    """Whether a tie-corrected Friedman statistic can have the printed mean ranks.

    The statistic without tie correction is a lower bound; complete agreement, blocks * (arms - 1), is an upper one.
    """
    arms = len(ranks)
    squares = []
    for mean_rank in ranks:
        away = mean_rank - exactly((arms + 1) / 2)
        squares.append(0.0 if away.low <= 0 <= away.high else min(abs(away.low), abs(away.high)) ** 2)
    least, most = 12 * blocks / (arms * (arms + 1)) * sum(squares), blocks * (arms - 1)
    truth = every((less(exactly(least), target, strict=False), less(target, exactly(most), strict=False)))
    return [Recomputed(f"between {least:.4g} without tie correction and {most}", truth=truth)]


def _spearman_t(rho: float, n: int) -> float:
    if abs(rho) == 1:
        return 0.0
    return float(2 * stats.t.sf(abs(rho) * np.sqrt((n - 2) / (1 - rho * rho)), n - 2))


@rule
def spearman_p(rho: Enclosure, n: int) -> Enclosure:
    """p-value of a printed Spearman coefficient by the t approximation."""
    if rho.low > 1 or rho.high < -1:
        raise ImpossibleError(f"a rank correlation of {rho.middle:g} is beyond one")
    if n < 3:
        raise UnusableError(f"the t approximation needs 3 pairs, and there are {n}")
    ends = max(rho.low, -1.0), min(rho.high, 1.0)
    nearest = min(max(0.0, ends[0]), ends[1])  # to zero, where p is largest
    return hull(exactly(_spearman_t(x, n)) for x in (*ends, nearest))


@rule
def spearman(x: list[Enclosure], y: list[Enclosure], take: str) -> list[Recomputed]:
    """Spearman's rho of two printed lists, or its p: exact over all permutations, then the t approximation."""
    result = rank_correlation([v.middle for v in x], [v.middle for v in y])
    rho, p = _given(result.statistic), _given(result.p)
    if take == "rho":
        return [Recomputed("midranks", (exactly(rho),))]
    return [
        Recomputed("exact permutation, two-sided", (exactly(p),)),
        Recomputed("t approximation", (exactly(_spearman_t(rho, len(x))),)),
    ]
