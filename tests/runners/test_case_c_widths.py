"""Certified widths, the kappa ladder and the shape schedule, against brute force."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, minimize_scalar

from orledger.recovery import GRID97, EmptySetError, Spectral, global_radius
from orledger.runners.case_c.kernel import Pairs, ParameterLayout, constrain, cross, gram, initial_raw, log_distance
from orledger.runners.case_c.ladder import KAPPAS, PAIRS, climb
from orledger.runners.case_c.schedule import AmplitudeSearch, shape_width
from orledger.runners.case_c.widths import certified_widths


def problem(dim, n=9, m=150, seed=0):
    g = torch.Generator().manual_seed(seed)
    layout = ParameterLayout(3, dim)
    raw = initial_raw(layout, torch.zeros(3, dim, dtype=torch.float64), 1.99)
    p = constrain(raw, layout)
    x = torch.rand(n, dim, generator=g, dtype=torch.float64)
    candidates = torch.rand(m, dim, generator=g, dtype=torch.float64)
    y = torch.randn(n, generator=g, dtype=torch.float64).numpy()
    difference = [(x[i].unsqueeze(-1) - candidates.T).contiguous() for i in range(n)]
    b = cross(p, difference, [log_distance(d) for d in difference]).numpy()
    return gram(p, Pairs.of(x)).numpy(), b, float(p.output), (y - y.mean()) / y.std(ddof=1)


def test_radius_is_the_minimum_over_all_nuggets_by_direct_search():
    G, b, k0, y = problem(2)
    eta = 0.45 * np.sqrt(len(y))
    widths = certified_widths(G, b, k0, y, eta)
    for j in range(0, b.shape[1], 30):

        def squared(log_mu, j=j):
            mu = np.exp(log_mu)
            V = k0 - b[:, j] @ np.linalg.solve(G + np.eye(len(y)) / mu, b[:, j])
            return V * (widths.rho**2 + mu * eta**2)

        grid = np.linspace(-25, 12, 400)
        start = grid[np.argmin([squared(t) for t in grid])]
        inner = minimize_scalar(squared, bounds=(start - 0.2, start + 0.2), method="bounded", options={"xatol": 1e-10})
        expected = np.sqrt(min(inner.fun, widths.rho**2 * k0))
        assert widths.radius[j] == pytest.approx(expected, rel=1e-9)


def test_occam_radius_is_the_smallest_norm_that_meets_the_noise_level():
    """By a general constrained solver on the representer coefficients."""
    G, b, k0, y = problem(2, n=5)
    eta = 0.9
    found = minimize(
        lambda a: a @ G @ a,
        np.linalg.solve(G, y),
        jac=lambda a: 2 * G @ a,
        constraints={"type": "ineq", "fun": lambda a: eta**2 - np.sum((G @ a - y) ** 2)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert certified_widths(G, b, k0, y, eta).rho == pytest.approx(np.sqrt(found.fun), rel=1e-6)


def test_width_is_exactly_flat_far_from_the_data_and_the_grid_shows_its_floor():
    G, b, k0, y = problem(10)
    widths = certified_widths(G, b, k0, y, 0.45 * np.sqrt(len(y)), grid=True)
    assert np.ptp(widths.radius) == 0.0
    assert widths.radius[0] == widths.rho * np.sqrt(k0)
    # The grid starts at mu = 1e-12 instead of 0, so its width is above the exact one by about that much, and not flat.
    excess = widths.on_grid / widths.radius - 1
    assert 0 < excess.max() < 1e-11
    assert 0 < np.ptp(widths.on_grid) / widths.on_grid.mean() < 1e-11


def test_grid_radius_is_that_of_the_library_and_never_below_the_exact_one():
    G, b, k0, y = problem(2, m=700)
    eta = 0.45 * np.sqrt(len(y))
    widths = certified_widths(G, b, k0, y, eta, grid=True)
    spectral = Spectral.from_gram(G, y)
    whole = global_radius(
        spectral, spectral.project(b, np.full(700, k0)), widths.rho, eta, method="grid97", grid=GRID97
    )
    assert np.allclose(widths.on_grid, whole.radius, rtol=1e-15, atol=0)
    assert (widths.on_grid >= widths.radius * (1 - 1e-12)).all()


def test_data_within_the_noise_have_zero_width_and_contradictory_data_are_refused():
    G, b, k0, y = problem(2)
    assert certified_widths(G, b, k0, y, 10.0).radius.max() == 0.0
    twice = np.ones((2, 2))
    with pytest.raises(EmptySetError):
        certified_widths(twice, np.full((2, 3), 0.5), 1.0, np.array([1.0, -1.0]), 0.1)


def brute(mean, width, kappa):
    values = mean - kappa * width
    order = np.sort(values)
    return int(values.argmin()), order[1] - order[0]


@pytest.mark.parametrize("seed", range(40))
def test_ladder_agrees_with_enumeration_and_never_fires_wrongly(seed):
    rng = np.random.default_rng(seed)
    mean, width = rng.normal(size=60), 1 + 10 ** rng.uniform(-3, 0.5) * rng.random(60)
    index = rng.permutation(1000)[:60]
    ladder = climb(mean, width, index)
    for kappa in KAPPAS:
        best, gap = brute(mean, width, kappa)
        assert ladder.argmin[str(kappa)] == index[best]
        assert ladder.gap[str(kappa)] == pytest.approx(gap, rel=1e-12)
    for low, high in PAIRS:
        pair = f"{low}-{high}"
        same = brute(mean, width, low)[0] == brute(mean, width, high)[0]
        assert ladder.same[pair] == same
        for anchor, kappa in (("low", low), ("high", high)):
            best, gap = brute(mean, width, kappa)
            assert ladder.fires[f"{pair}/osc/{anchor}"] == ((high - low) * np.ptp(width) < gap)
            lead = (width - width[best]).max() if anchor == "low" else (width[best] - width).max()
            assert ladder.fires[f"{pair}/sharp/{anchor}"] == ((high - low) * max(lead, 0) < gap)
            assert ladder.fires[f"{pair}/sharp/{anchor}"] >= ladder.fires[f"{pair}/osc/{anchor}"]
            assert same or not ladder.fires[f"{pair}/sharp/{anchor}"]


def test_a_tie_is_counted_has_no_ratio_and_silences_the_criterion():
    mean, width = np.array([0.0, 0.0, 1.0]), np.ones(3)
    ladder = climb(mean, width, np.arange(3))
    assert ladder.tie == {"1": True, "2": True, "5": True}
    assert not any(ladder.fires.values())
    assert ladder.ratio == {}
    assert all(ladder.same.values())


@pytest.mark.parametrize("margin", [1.0, 10.0])
@pytest.mark.parametrize("seed", range(15))
def test_shape_schedule_breaks_the_margin_condition_and_stays_above_the_floor(seed, margin):
    rng = np.random.default_rng(seed)
    mean, radius, nearest = rng.normal(size=2000), np.full(2000, 2.0), rng.random(2000)
    mean[0] = -5.0 - rng.random()  # a clear winner, which the flat width can never dislodge
    index = np.arange(2000)
    assert all(climb(mean, radius, index).fires.values())
    found = shape_width(mean, radius, nearest, index, AmplitudeSearch(start=0.01, growth=2.0, margin=margin))
    assert not found.ladder.fires["1-2/osc/low"]
    assert found.ladder.ratio["1-2/osc/low"] >= margin
    assert (found.width >= radius).all()
    # The amplitude is the first that does it: on the rung before, the condition was not broken as much.
    h = (nearest - nearest.min()) / np.ptp(nearest)
    if found.tau > 0.02:
        assert climb(mean, radius + found.tau / 2 * h, index).ratio["1-2/osc/low"] < margin


def test_shape_schedule_without_distances_to_use_returns_the_floor():
    mean, radius = np.array([0.0, 1.0, 2.0]), np.full(3, 2.0)
    found = shape_width(
        mean, radius, np.full(3, 0.3), np.arange(3), AmplitudeSearch(start=0.01, growth=2.0, margin=1.0)
    )
    assert np.array_equal(found.width, radius)
