"""The Occam radius of diagonal problems against 60 digits, what it says beside the number, and what rounding is forgiven."""

import math

import mpmath
import numpy as np
import pytest

from orledger.recovery import EmptySetError, InputError, Spectral, occam
from orledger.recovery.occam import HINT, misfit_root, misfit_slack

EPS = 2.0**-52
S, Y = np.array([2.0, 1.0, 0.25]), np.array([3.0, -1.0, 0.5])


def root(s2, y2, target):
    """Mu with sum y2 / (1 + mu s2)^2 = target, by halving log mu in 60 digits."""
    s2, y2, target = [mpmath.mpf(float(v)) for v in s2], [mpmath.mpf(float(v)) for v in y2], mpmath.mpf(float(target))
    low, high = mpmath.mpf(-200), mpmath.mpf(400)
    for _ in range(90):
        mid = (low + high) / 2
        mu = mpmath.exp(mid)
        above = sum(b / (1 + mu * a) ** 2 for a, b in zip(s2, y2, strict=True)) > target
        low, high = (mid, high) if above else (low, mid)
    return mpmath.exp(low)


def features(rest, fixed=0.0):
    """S on the diagonal, a row of zeros whose datum is `rest`, and a coordinate of its own that an exact row fixes."""
    Phi, y = np.zeros((5, 4)), np.array([*Y, rest, fixed])
    Phi[[0, 1, 2, 4], [0, 1, 2, 3]] = [*S, 1.0]
    return Spectral.from_features(Phi, y, exact=[4])


@pytest.mark.parametrize(("rest", "fixed"), [(0.0, 0.0), (0.75, 0.0), (0.0, 2.0), (0.75, 0.5)])
@pytest.mark.parametrize("share", [1e-3, 0.2, 0.9, 0.999])
def test_the_least_norm_of_a_diagonal_problem(rest, fixed, share):
    """The part of the noise ball that the rows can use is a share of the data; what an exact row fixes is part of the norm."""
    with mpmath.workdps(60):
        y2, eta = Y**2, math.sqrt(rest**2 + share * float(Y @ Y))
        mu = root(S**2, y2, mpmath.mpf(eta) ** 2 - mpmath.mpf(rest) ** 2)
        parts = [(mu * s * y / (1 + mu * s * s)) ** 2 for s, y in zip(map(float, S), map(float, Y), strict=True)]
        rho = mpmath.sqrt(sum(parts) + fixed**2)
    found = occam(features(rest, fixed), eta)
    assert found.rho == pytest.approx(float(rho), rel=1e-11)
    assert found.mu == pytest.approx(float(mu), rel=1e-9)
    assert found.margin == pytest.approx(eta - rest, rel=1e-14)
    assert (found.eta, found.refused, found.reason) == (eta, False, "interior")
    assert found.require() is found


def test_data_that_are_noise_leave_what_the_exact_rows_ask_for():
    spec = features(0.0, 2.0)
    for eta in (spec.ynorm, 9.0):
        found = occam(spec, eta)
        assert (found.rho, found.margin) == (pytest.approx(2.0, rel=1e-14), pytest.approx(eta, rel=1e-14))
        assert (found.mu, found.refused) == (0.0, False)
        assert found.reason == "data within the noise level"
    assert occam(spec, spec.ynorm * (1 - 4 * EPS)).mu > 0


@pytest.mark.parametrize("rest", [0.0, 0.75])
def test_at_the_best_misfit_the_least_squares_solution_is_the_only_one(rest):
    spec = features(rest, 2.0)
    assert spec.best_misfit == pytest.approx(rest, rel=1e-14, abs=1e-15)
    found = occam(spec, spec.best_misfit)
    assert found.rho == pytest.approx(math.sqrt(float(((Y / S) ** 2).sum()) + 4.0), rel=1e-13)
    assert (found.mu, found.margin, found.refused) == (math.inf, 0.0, False)
    assert found.reason == "eta equals the best misfit"


def refusal(spec, eta):
    found = occam(spec, eta)
    assert found.refused
    assert math.isnan(found.rho)
    assert math.isnan(found.mu)
    assert (found.eta, found.margin) == (eta, eta - spec.best_misfit)
    with pytest.raises(EmptySetError) as seen:
        found.require()
    assert str(seen.value).startswith(f"no element is consistent with the data: {found.reason}")
    assert (seen.value.margin, seen.value.hint) == (found.margin, HINT)
    return found.reason


def test_a_refusal_says_what_was_lost_to_rounding_where_that_is_the_reason():
    """Two directions for two rows would fit any data; two columns do not fit three rows, whatever is lost of them."""
    wide = Spectral.from_gram(np.diag([1.0, 1e-17]), np.array([1.0, 0.5]))
    assert refusal(wide, 0.125) == (
        "eta = 0.125 is below the best achievable misfit 0.5; 1 of 2 directions are lost to rounding in the factorisation"
    )
    tall = Spectral.from_features(np.array([[1.0, 0.0], [0.0, 1e-17], [0.0, 0.0]]), np.array([1.0, 0.5, 0.0]))
    assert tall.dropped == 1
    assert refusal(tall, 0.125) == "eta = 0.125 is below the best achievable misfit 0.5"
    assert refusal(Spectral.from_features(np.eye(2)[:, :1], np.array([1.0, 0.5])), 0.0).endswith("misfit 0.5")
    with pytest.raises(InputError, match="the observations are a list"):
        occam([1.0], 1.0)


def test_what_rounding_can_hide_of_the_best_misfit():
    """64 units of the data; beside features of full rank as much as the resolution of the factorisation, to a millionth."""
    y, norm = np.array([3.0, 4.0]), 5.0
    plain = Spectral.from_features(np.diag([1.0, 1e-3]), y)
    assert misfit_slack(plain) == pytest.approx(64 * EPS * norm, rel=1e-12, abs=0)
    lost = Spectral.from_features(np.diag([0.5, 1e-17]), y)  # two units of 0.5 are resolved; 3 / 0.5 is the norm
    assert misfit_slack(lost) == pytest.approx(64 * EPS * norm + 2 * EPS * 0.5 * 6.0, rel=1e-12, abs=0)
    for units, options in ((64, {}), (1, {"rank_tol": 1.0})):
        kernel, cut = Spectral.from_gram(np.diag([4.0, 1.0]), y, **options), math.sqrt(units * EPS * 4.0)
        want = 64 * EPS * norm + cut * math.sqrt(9 / 4 + 16 / 1)
        assert misfit_slack(kernel) == pytest.approx(want, rel=1e-12, abs=0)
    capped = Spectral.from_gram(np.diag([4.0, 1e-6]), y)
    assert misfit_slack(capped) == pytest.approx(64 * EPS * norm + 1e-6 * norm, rel=1e-12, abs=0)


def test_multipliers_of_misfits_from_next_to_nothing_to_next_to_all_of_the_data():
    """Several at once, over thirty decades of singular values: each alone in 60 digits."""
    y2 = np.array([0.5, 2.0, 1.0])
    for s2 in (np.array([1e9, 1.0, 1e-6]), np.array([7.0, 7.0, 7.0]), np.array([1e20, 1e19, 1e-10])):
        targets = 3.5 * np.array([1e-12, 1e-3, 0.3, 0.8, 1 - 1e-6])
        found = misfit_root(s2, y2, targets)
        with mpmath.workdps(60):
            want = [float(root(s2, y2, t)) for t in targets]
        assert found == pytest.approx(want, rel=1e-9)
        assert found[:3] == pytest.approx(want[:3], rel=1e-13, abs=0)


@pytest.mark.parametrize("unit", [1.0, 1e-20, 1e20, 1e-50, 1e50])
@pytest.mark.parametrize("share", [0.999, 0.5, 1e-3])
def test_the_radius_of_one_direction_is_exact_to_rounding_in_any_unit(unit, share):
    """One direction s: mu s^2 = |y| / eta - 1 and rho = (|y| - eta) / s; beside it a row that the data do not touch."""
    spec = Spectral.from_features(np.diag([0.7, 1e-5]) * unit, np.array([3.0, 0.0]))
    eta = 3.0 * share
    found = occam(spec, eta)
    assert found.rho == pytest.approx((3.0 - eta) / (0.7 * unit), rel=20 * EPS / (1 - share), abs=0)
    assert found.mu * 0.7 * unit * 0.7 * unit == pytest.approx(1 / share - 1, rel=99 * EPS / (1 - share), abs=0)
