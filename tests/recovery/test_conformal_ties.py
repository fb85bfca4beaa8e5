"""Calibrated bands under ties: a response whose score is at most kappa_star lies in its band, at every place and in every batch."""

import numpy as np
import pytest

from orledger.recovery import Spectral, conformal_radius, covering_radius, local_interval, occam


def problem(seed, n, d, scale=1.0):
    """Fit rows with column scales over four decades, far from zero, so that edges are large beside their half-widths."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, d)) * np.logspace(0, -4, d) + 3.0
    y = scale * (Phi @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n))
    spec = Spectral.from_features(Phi, y)
    eta = spec.best_misfit + 0.1 * (spec.ynorm - spec.best_misfit)
    return rng, spec, eta


def inside(band, y):
    return (band.lower <= y) & (y <= band.upper)


@pytest.mark.parametrize("shape", [(6, 9), (12, 4), (5, 5)])
def test_one_calibration_response_lies_in_the_band_it_sets(shape):
    """230 problems with one calibration row: the score is the ball that just reaches it."""
    n, d = shape
    for seed in range(77):
        rng, spec, eta = problem(seed, n, d)
        C = rng.standard_normal((1, d)) + 3.0
        y = C @ rng.standard_normal(d) + rng.standard_normal(1)
        found = conformal_radius(spec, spec.project(C), y, eta)
        assert inside(found.band(spec, spec.project(C), eta), y).all(), seed
        # The same row among others: another batch, other kernels of the linear algebra, the same answer.
        batch = spec.project(np.vstack([rng.standard_normal((40, d)), np.repeat(C, 3, 0)]))
        assert inside(found.band(spec, batch, eta), np.r_[np.zeros(40), np.repeat(y, 3)])[40:].all(), seed


@pytest.mark.parametrize("n_cal", [1, 5, 19, 60])
def test_two_atoms_are_covered_at_the_level(n_cal):
    """Two equally likely (x, y): a miss needs a sample that holds one atom only, and coverage is at least the level.

    The chance of a new response to be the atom that the sample lacks is 2^-n_cal; otherwise both atoms must be inside.
    """
    for seed in range(40):
        rng, spec, eta = problem(seed, 8, 12)
        C = rng.standard_normal((2, 12)) + 3.0
        y = C @ rng.standard_normal(12) + rng.standard_normal(2)
        draw = rng.integers(0, 2, n_cal)
        found = conformal_radius(spec, spec.project(C[draw]), y[draw], eta, level=0.95)
        drawn = np.isin([0, 1], draw[np.argsort(found.scores[: len(draw)])[: found.order]])
        assert inside(found.band(spec, spec.project(C), eta), y)[drawn].all(), seed


def test_membership_is_what_the_score_decides():
    """Responses with a score of at most kappa_star are inside; beyond it by a millionth of the room they are outside."""
    for seed in range(10):
        rng, spec, eta = problem(seed, 6, 9)
        C = np.repeat(rng.standard_normal((15, 9)) + 3.0, 2, 0)
        y = C @ rng.standard_normal(9) + np.tile(rng.standard_normal(15), 2)
        proj, rho_oc = spec.project(C), occam(spec, eta).rho
        found = conformal_radius(spec, proj, y, eta, level=0.7, kappa_cap=1e9)
        band = found.band(spec, proj, eta)
        score = covering_radius(spec, proj, y, eta) / rho_oc
        assert inside(band, y)[score <= found.kappa_star].all()
        wide = local_interval(spec, proj, found.kappa * rho_oc * (1 + 1e-6), eta)
        assert not inside(wide, y)[score > found.kappa_star * (1 + 1e-6)].any()
        assert inside(band, y).sum() >= found.order
        assert (band.half - wide.half <= 1e-6 * (np.abs(band.mid) + band.half)).all()


def test_the_floor_holds_the_response_that_sets_it():
    """Full column rank and a response out of reach of every ball: the additive floor is part of the band, rounding included."""
    for seed in range(60):
        rng, spec, eta = problem(seed, 30, 3)
        C = np.repeat(rng.standard_normal((4, 3)) + 3.0, 3, 0)
        y = C @ np.ones(3) + np.repeat(1e3 * rng.standard_normal(4), 3)
        found = conformal_radius(spec, spec.project(C), y, eta)
        assert found.floor_used
        assert inside(found.band(spec, spec.project(C), eta), y).all(), seed


def smooth_problem(seed, exact):
    """Rows of a smooth kernel that float64 does not resolve, in a ball far larger than it needs to be."""
    rng = np.random.default_rng([seed, 31])
    x = rng.uniform(0, 1, 12)
    held = np.arange(12) < exact
    spec = Spectral.from_gram(kernel(x, x), np.sin(5 * x) + 0.1 * ~held * rng.standard_normal(12), exact=held)
    return rng, x, spec, spec.best_misfit + 1e-3 * (spec.ynorm - spec.best_misfit)


def kernel(a, b, length=0.2):
    return np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / length**2)


@pytest.mark.parametrize("exact", [0, 3])
def test_an_edge_moves_by_less_than_its_allowance_when_inner_products_round_differently(exact):
    """Inner products in another batch differ by a unit in the last place; where V is rounding, its root does not."""
    for seed in range(12):
        rng, x, spec, eta = smooth_problem(seed, exact)
        at = np.concatenate([rng.uniform(0, 1, 6), x[:2]])
        b = kernel(x, at)
        rho = 40 * occam(spec, eta).rho
        bands = [
            local_interval(spec, spec.project(b * (1 + u), np.ones(8)), rho, eta)
            for u in (0.0, *(np.finfo(float).eps * rng.choice([-1, 0, 1], (5, *b.shape))))
        ]
        assert not bands[0].resolved.all()
        for band in bands[1:]:
            moved = np.maximum(np.abs(band.lower - bands[0].lower), np.abs(band.upper - bands[0].upper))
            # What is moved outwards with one rounding may just not be with another.
            out = [b.half > 0.5001 * (b.primal_upper - b.primal_lower) for b in (band, bands[0])]
            alike = out[0] == out[1]
            assert (moved <= np.minimum(band.delta_num, bands[0].delta_num) / 2)[alike].all(), seed


def test_two_atoms_are_covered_where_a_gram_matrix_resolves_nothing():
    """The level of ten and nine copies of two responses, each looked up on its own and among others."""
    for seed in range(12):
        rng, x, spec, eta = smooth_problem(seed, 0)
        at = np.array([x[0], rng.uniform()])
        y = np.sin(5 * at) + 0.3 * rng.standard_normal(2)
        draw = rng.permutation([0] * 9 + [1] * 10)
        found = conformal_radius(spec, spec.project(kernel(x, at[draw]), np.ones(19)), y[draw], eta, level=0.95)
        for places in ([0], [1], [0, 1], [*rng.integers(0, 2, 40)]):
            band = found.band(spec, spec.project(kernel(x, at[places]), np.ones(len(places))), eta)
            assert inside(band, y[places]).all(), (seed, places)


@pytest.mark.parametrize("seed", [87, 88])
def test_a_new_response_with_a_score_of_at_most_kappa_lies_in_a_band_that_is_not_resolved(seed):
    """The problem that contains the exact one can be narrower than the matrix whose directions were dropped: the scores are the latter's."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, 8)
    noise = 10.0 ** rng.uniform(-8, -4)
    y, eta = np.sin(5 * x) + noise * rng.standard_normal(8), 1e-3 * noise * 8**0.5
    spec = Spectral.from_gram(np.exp(-0.5 * (x[:, None] - x) ** 2 / 0.09), y)
    at = rng.uniform(0, 1, 30)
    points = spec.project(np.exp(-0.5 * (x[:, None] - at) ** 2 / 0.09), np.ones(30))
    found = conformal_radius(spec, points, np.sin(5 * at) + noise * rng.standard_normal(30), eta, level=0.8)
    band = found.band(spec, points, eta)
    assert not band.resolved.all()
    for outside in (np.nextafter(band.upper, np.inf), np.nextafter(band.lower, -np.inf)):
        assert (covering_radius(spec, points, outside, eta) > found.kappa * found.anchor).all()
    np.testing.assert_allclose((band.lower + band.upper) / 2, band.mid, rtol=1e-12)
    np.testing.assert_allclose((band.upper - band.lower) / 2, band.half, rtol=1e-9)
