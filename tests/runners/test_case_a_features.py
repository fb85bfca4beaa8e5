"""The feature form of Case A against interval arithmetic: certificates that float64 cannot take from the Gram matrix."""

import numpy as np
import pytest

from orledger.errors import UsageError
from orledger.recovery import Spectral, global_radius, local_interval, occam
from orledger.runners.case_a.kernel import se, se_features
from orledger.runners.case_a.linearisation import Rows
from orledger.runners.case_a.problem import boundary, collocation, draw, evaluation

PRINTED_RADIUS = 25.0494


def exact_linearisation(n: int, log_length: float):
    """The rows linearised about the true solution, without noise."""
    data = draw("two_sines", n, 0.0, 1, "per_seed")
    return Rows.build(n, log_length).at(data.truth(collocation(n)).reshape(n, n), data.values)


def power_function(lin, points: np.ndarray, bits: int) -> np.ndarray:
    """sqrt(k(x,x) - b^T G^-1 b) at the points, from the definitions, enclosed by interval arithmetic at ``bits`` bits.

    The coordinates and the coefficient 3 u^2 are the float64 numbers the code uses; everything after them is enclosed.
    """
    flint = pytest.importorskip("flint")
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        arb, length = flint.arb, flint.arb(lin.rows.length)

        def table(s, t):
            def entry(p, q):
                d = (arb(p) - arb(q)) / length
                e, k = d * d, (-d * d / 2).exp()
                return k, k * (e - 1) / length**2, k * (e * e - 6 * e + 3) / length**4

            memo = {(p, q): entry(p, q) for p in set(s) for q in set(t)}
            return lambda p, q: memo[p, q]

        inner, edge = (P.tolist() for P in (collocation(lin.rows.n), boundary(lin.rows.n)))
        rows = [(x, y, a) for (x, y), a in zip(inner, map(arb, lin.a.tolist()), strict=True)]
        rows += [(x, y, None) for x, y in edge]
        targets = [(x, y, None) for x, y in points.tolist()]
        coordinates = [c for x, y, _ in rows + targets for c in (x, y)]
        at = table(coordinates, coordinates)

        def inner_product(p, q):
            (x, x2, x4), (y, y2, y4) = at(p[0], q[0]), at(p[1], q[1])
            if p[2] is None and q[2] is None:
                return x * y
            lap = x2 * y + x * y2
            if p[2] is None or q[2] is None:
                return (q[2] if p[2] is None else p[2]) * x * y - lap
            return x4 * y + 2 * x2 * y2 + x * y4 - (p[2] + q[2]) * lap + p[2] * q[2] * x * y

        G = flint.arb_mat([[inner_product(p, q) for q in rows] for p in rows])
        B = flint.arb_mat([[inner_product(p, q) for q in targets] for p in rows])
        X = G.solve(B)
        squares = [1 - sum((B[i, k] * X[i, k] for i in range(len(rows))), arb(0)) for k in range(len(targets))]
        assert all(float(v.rad()) < 1e-15 * float(v.mid()) for v in squares), "raise the precision"
        return np.sqrt([float(v.mid()) for v in squares])
    finally:
        flint.ctx.prec = before


def test_features_are_those_of_the_kernel_and_of_its_second_derivative():
    x, length = np.linspace(0, 1, 23), 0.12
    value, second = se_features(x, length)
    k, k2, k4 = se(x, x, length)
    np.testing.assert_allclose(value @ value.T, k, atol=1e-14)
    np.testing.assert_allclose(second @ value.T, k2, atol=1e-13 / length**2)
    np.testing.assert_allclose(second @ second.T, k4, atol=1e-12 / length**4)


def test_both_forms_are_the_same_problem():
    lin, points = exact_linearisation(6, -1.2), evaluation(4, 0.1, 0.9)
    Phi, C = lin.features(points)
    b, kxx = lin.functionals(points)
    np.testing.assert_allclose(Phi @ Phi.T, lin.G, atol=1e-13 * np.abs(lin.G).max())
    np.testing.assert_allclose(Phi @ C.T, b, atol=1e-13 * np.abs(b).max())
    np.testing.assert_allclose((C * C).sum(1), kxx, rtol=1e-13)
    assert Phi.shape == (36 + 20, 36 + 20 + 1)


def test_with_noise_both_forms_give_the_same_certificates():
    """A nugget hides the small eigenvalues, so the quick form and the accurate one agree."""
    n, eta = 12, 2.0
    data = draw("two_sines", n, 1e-3, 4, "per_seed")
    lin = Rows.build(n, -1.7).at(data.truth(collocation(n)).reshape(n, n), data.values)
    found = {form: lin.problems(evaluation(5, 0.1, 0.9), form) for form in ("features", "gram")}
    (noisy, exact), (noisy_gram, exact_gram) = found["features"], found["gram"]
    ours, theirs = (global_radius(*p, 20.0, eta) for p in (noisy, noisy_gram))
    np.testing.assert_allclose(ours.cert, theirs.cert, rtol=1e-8)
    anchors = [occam(p[0], eta) for p in (exact, exact_gram)]
    assert anchors[0].rho == pytest.approx(anchors[1].rho, rel=1e-6)
    halves = [
        local_interval(*p, 1.1 * o.rho, eta, occ=o).half for p, o in zip((exact, exact_gram), anchors, strict=True)
    ]
    np.testing.assert_allclose(*halves, rtol=1e-6)


@pytest.mark.parametrize("log_length", [-1.0, -0.8])
def test_noise_free_certificate_agrees_with_interval_arithmetic(log_length):
    """Ten by ten with a longer kernel is as ill conditioned as the paper's grid, and quick enough for every run."""
    lin, points = exact_linearisation(10, log_length), evaluation(4, 0.1, 0.9)
    (spec, proj), _ = lin.problems(points, "features")
    truth = power_function(lin, points, 400)
    np.testing.assert_allclose(global_radius(spec, proj, 1.0, 0.0).cert, truth, rtol=1e-6)
    (spec, proj), _ = lin.problems(points, "gram")
    assert np.abs(global_radius(spec, proj, 1.0, 0.0).cert / truth - 1).max() > 1e-4


@pytest.mark.slow
def test_noise_free_median_of_the_paper_in_interval_arithmetic():
    """The printed 1.528e-2 is 1.5307e-2 once its arithmetic is exact; the feature form has that number to ten digits."""
    lin, points = exact_linearisation(24, -2.311), evaluation(12, 0.05, 0.95)
    truth = np.median(PRINTED_RADIUS * power_function(lin, points, 400))
    (spec, proj), _ = lin.problems(points, "features")
    assert np.median(global_radius(spec, proj, PRINTED_RADIUS, 0.0).cert) == pytest.approx(truth, rel=1e-8)
    assert truth == pytest.approx(1.528e-2, rel=2e-3)


def test_a_length_too_short_for_the_expansion_says_what_to_do():
    with pytest.raises(UsageError, match="too short") as caught:
        exact_linearisation(6, -4.5).problems(evaluation(3, 0.1, 0.9), "features")
    assert "cert_form" in caught.value.hint
    exact_linearisation(6, -4.5).problems(evaluation(3, 0.1, 0.9), "gram")


def test_a_problem_that_float64_cannot_resolve_is_refused_with_the_number_of_lost_directions():
    """The rows are independent, so exact arithmetic would fit any data; the refusal must not blame the data alone."""
    lin = exact_linearisation(12, 0.0)
    (spec, _), _ = lin.problems(evaluation(3, 0.1, 0.9), "features")
    found = occam(spec, 0.0)
    assert found.refused
    assert f"{len(lin.z) - len(spec.s2)} of {len(lin.z)} directions" in found.reason


@pytest.mark.parametrize("n", [32, pytest.param(36, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.slow)])
def test_without_noise_exact_boundary_rows_are_refused_no_more_than_noisy_ones(n):
    """With eta = 0 every row is exact, so both arms hold one problem; directions below rounding must not empty its set.

    What rounding drops is forgotten data: the two radii differ by what the dropped directions carry, a part in a thousand.
    """
    points = evaluation(4, 0.1, 0.9)
    data = draw("two_sines", n, 0.0, 1, "per_seed")
    (noisy, _), (exact, proj) = exact_linearisation(n, -2.311).problems(points, "features")
    every, bordered = occam(noisy, 0.0), occam(exact, 0.0)
    assert exact.dropped
    assert not every.refused
    assert not bordered.refused
    assert bordered.rho == pytest.approx(every.rho, rel=1e-3)
    band = local_interval(exact, proj, 1.05 * bordered.rho, 0.0, occ=bordered)
    assert ((band.lower <= data.truth(points)) & (data.truth(points) <= band.upper)).all()


def test_data_outside_the_range_of_dependent_features_are_still_refused():
    """A dropped direction that is exactly zero hides nothing: a part in a hundred thousand outside the range is seen."""
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((30, 8)) @ rng.standard_normal((8, 12))
    outside = np.linalg.svd(Phi)[0][:, -1]
    y = Phi @ rng.standard_normal(12)
    spec = Spectral.from_features(Phi, y + 1e-5 * np.linalg.norm(y) * outside)
    assert spec.dropped == 4
    assert occam(spec, 0.0).refused
    assert not occam(Spectral.from_features(Phi, y), 0.0).refused
