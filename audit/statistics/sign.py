"""The exact sign test, and its anytime-valid form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, betaln
from scipy.stats import binomtest

from orledger.audit.statistics.inversion import interval_fields, sign_interval
from orledger.audit.statistics.result import TestResult, check_side, count_wins
from orledger.audit.statistics.signedrank import signed_rank_floor
from orledger.audit.ties import LARGEST, middle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TINY = 1e-280  # below it a share of the Beta distribution is taken from its series


class Coin(NamedTuple):
    """What tosses of a fair coin say: the p-value, and the smallest one that as many tosses can reach."""

    p: float
    floor: float


def fair_coin(heads: int, tosses: int, side: str) -> Coin:
    """``p`` of ``heads`` among ``tosses`` of a fair coin, exact binomial, and the ``floor`` that as many tosses can reach."""
    p = float(binomtest(heads, tosses, 0.5, alternative=side).pvalue) if tosses else 1.0
    return Coin(p, signed_rank_floor(tosses, side))


def sign_p(differences: NDArray[np.float64], side: str) -> float:
    """The p-value of the sign test alone."""
    return fair_coin(int((differences > 0).sum()), int((differences != 0).sum()), side).p


def sign_test(
    differences: ArrayLike,
    side: str = "two-sided",
    *,
    better: str = "lower",
    level: float = 0.95,
    scale: ArrayLike = 0.0,
) -> TestResult:
    """The exact binomial test that positive and negative ``differences`` (n,) are equally likely; zeros are dropped.

    ``scale`` (n,) is the size of the numbers that were subtracted: what their rounding leaves of a tie is one.
    """
    check_side(side)
    d = np.asarray(differences, dtype=float)
    wins, losses, draws = count_wins(d, better)
    plus, m = int((d > 0).sum()), int((d != 0).sum())
    coin = fair_coin(plus, m, side)
    return TestResult(
        test="sign",
        method="exact binomial, zeros dropped",
        side=side,
        n=d.size,
        n_nonzero=m,
        ties=0,
        statistic=float(plus),
        statistic_name="number of positive differences",
        p=coin.p,
        floor=coin.floor,
        effect=middle(d) if d.size else None,
        effect_name="median of differences",
        **interval_fields(sign_interval(d, sign_p, side, level, scale)),
        wins=wins,
        losses=losses,
        draws=draws,
        standard_effect=(2 * plus - m) / m if m else 0.0 if d.size else None,
        standard_effect_name="share of positive minus share of negative differences",
    )


def sign_e_value(heads: int, tosses: int, side: str = "two-sided") -> float:
    """Evidence against a fair coin that may be looked at after every toss: its expectation under the null is at most 1.

    The likelihood ratio of a coin of unknown bias, Beta(1/2, 1/2), against the fair one; one-sided, the bias is drawn from
    the half that the alternative names. Whenever one stops, P(e >= 1 / alpha) is at most alpha (Ville).
    """
    return float(sign_e_values(heads, tosses, side))


def sign_e_values(heads: ArrayLike, tosses: int, side: str = "two-sided") -> NDArray[np.float64]:
    """``sign_e_value`` of every number of ``heads`` (any shape); what is beyond the largest number is that number."""
    h = np.asarray(heads)
    tails = tosses - h
    logarithm = betaln(h + 0.5, tails + 0.5) - betaln(0.5, 0.5) + tosses * np.log(2.0)
    if side != "two-sided":
        toward, away = (tails, h) if side == "less" else (h, tails)
        logarithm = logarithm + np.log(2.0) + _log_half(toward, away)
    found: NDArray[np.float64] = np.exp(np.minimum(logarithm, np.log(LARGEST)))
    return np.where(logarithm < np.log(LARGEST), found, LARGEST)


def _log_half(toward: NDArray[np.int64], away: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of the posterior weight (any shape) of a bias on the side that ``toward`` tosses agree with and ``away`` do not."""
    weight = np.asarray(betainc(away + 0.5, toward + 0.5, 0.5))
    small = weight < TINY
    found = np.array(np.log(np.where(small, 1.0, weight)))
    if (
        small.any()
    ):  # I(1/2; a, b) = (1/2)^(a+b) / (a B(a, b)) (1 + (a+b)/(a+1)/2 + ...), each term less than the one before
        a, b = np.broadcast_arrays(away + 0.5, toward + 0.5)
        a, b = a[small], b[small]
        total = term = np.ones(a.shape)
        k = 0
        while (term > 1e-17 * total).any():
            term = term * (a + b + k) / (a + 1 + k) / 2
            total, k = total + term, k + 1
        found[small] = np.log(total) - (a + b) * np.log(2.0) - np.log(a) - betaln(a, b)
    return found


def sign_test_anytime(
    differences: ArrayLike,
    side: str = "two-sided",
    *,
    better: str = "lower",
    level: float = 0.95,
    scale: ArrayLike = 0.0,
) -> TestResult:
    """The sign test by e-value: p is min(1, 1 / e), valid however often one has looked and whenever one stopped.

    An e-value beyond the largest number is that number, which says less than it does, and p is never 0.
    """
    plain = sign_test(differences, side, better=better, level=level, scale=scale)
    m = plain.n_nonzero
    best = max(sign_e_value(heads, m, side) for heads in (0, m))
    e = sign_e_value(int(plain.statistic or 0), m, side)
    return replace(
        plain,
        test="sign_anytime",
        method="e-value of the sign process, Beta(1/2, 1/2) mixture, zeros dropped; p = 1/e holds at any stopping time",
        p=min(1.0, 1 / e),
        floor=min(1.0, 1 / best),
        low=None,
        high=None,
        level=None,
        interval_method="none: the interval of a fixed n does not hold at any stopping time",
        interval_ends="",
        e_value=e,
    )
