"""Rows that hold without noise: which directions of them count, when they contradict each other, and what is left of the others."""

import numpy as np
import pytest

from orledger.recovery import InputError, SingularGramError, Spectral, local_interval, primal_elements
from orledger.recovery.elimination import eliminate_features, eliminate_gram, gram_cut, row_mask

EPS = 2.0**-52
UP = 1 + 4 * EPS


@pytest.mark.parametrize(
    ("eigenvalues", "cut"),
    [
        ([100.0, 65.0], 64.0),  # nothing at the noise
        ([1.0, 0.5], 64.0),  # nothing above it
        ([64.0, 64001.0], 64.0),  # a gap of more than a thousand
        ([64.0, 64000.0], 1 / 16),  # of a thousand: a spectrum that decays
        ([2.0, 2001.0], 64.0),
        ([2.0, 1999.0], 1 / 16),
        ([1e-9, 64.5], 64.0),  # what lies below the sixteenth of a unit counts as that much
        ([1e-9, 0.07, 69.0], 1 / 16),
        ([-40.0, 0.0, 1e6], 80.0),  # twice the most negative is not trusted
        ([-40.0, 60.0, 200.0], 80.0),
        ([-0.01, 1.0, 100.0], 1 / 16),
        ([], 64.0),
    ],
)
def test_the_rank_rule(eigenvalues, cut):
    for unit in (1.0, 2.0**-50):
        w = unit * np.array(eigenvalues)[::-1]
        assert gram_cut(w, unit, None) == cut * unit
    assert gram_cut(np.array(eigenvalues), 1.0, 3.0) == max(3.0, -2 * min([0.0, *eigenvalues]))


def test_a_gap_is_measured_from_a_sixteenth_of_a_unit():
    """62.5 is a thousand sixteenths: 64.5 lies beyond the gap, whatever is below the sixteenth."""
    assert gram_cut(np.array([1 / 16, 64.5]), 1.0, None) == 64.0
    assert gram_cut(np.array([0.0645, 64.5]), 1.0, None) == 1 / 16
    assert gram_cut(np.array([0.0644, 64.5]), 1.0, None) == 64.0


def test_masks_and_row_numbers():
    assert row_mask(None, 3) is None
    assert row_mask(np.zeros(3, bool), 3) is None
    assert row_mask([-1], 3).tolist() == [False, False, True]
    assert row_mask([0, 2, -3], 3).tolist() == [True, False, True]
    given = np.array([True, False])
    mask = row_mask(given, 2)
    mask[:] = False
    assert given.tolist() == [True, False]  # the caller's own array is left alone
    for wrong, text in (
        ([3], r"outside the 3 rows: \[3\]"),
        ([-4], "outside the 3 rows"),
        ([0, 1, 2, 0, 1, 2, 9], r"\[0, 1, 2, 0, 1\]$"),
        ([[0, 1]], "neither a boolean mask nor row numbers"),
        ([0.5], "neither a boolean mask nor row numbers"),
        ([True, False], r"shape \(2,\); there are 3 rows"),
    ):
        with pytest.raises(InputError, match=text):
            row_mask(wrong, 3)


def test_exact_rows_of_a_gram_matrix_may_differ_by_a_thousand_units_of_their_data():
    """Two rows, the second without a part of its own: its datum has to be zero, up to rounding of the first."""
    G, mask = np.diag([1.0, 0.0, 5.0]), np.array([True, True, False])
    limit = 1000 * EPS * 2.0
    record, left, y = eliminate_gram(G, np.array([2.0, limit, 7.0]), mask, 0.0)
    assert (record.count, record.width, record.norm2, record.schur_scale) == (2, 0, 4.0, 5.0)
    assert (record.dropped, record.slip) == (1, 0.0)
    assert (left.tolist(), y.tolist()) == ([[5.0]], [7.0])
    with pytest.raises(SingularGramError, match=r"residual 4.44e-13 of data of norm 2 \(limit 4.44e-13\)"):
        eliminate_gram(G, np.array([2.0, limit * UP, 7.0]), mask, 0.0)
    # What lies below the cut could still carry as much as the root of the cut times the norm.
    cut = 2.0**20 * EPS
    for share, fails in ((0.999, False), (1.001, True)):
        y = np.array([2.0, share * (2 * cut**0.5 + limit), 7.0])
        if fails:
            with pytest.raises(SingularGramError):
                eliminate_gram(G, y, mask, 2.0**20)
        else:
            assert eliminate_gram(G, y, mask, 2.0**20)[0].norm2 == pytest.approx(4.0)
    tied = np.diag([1.0, cut, 5.0])
    assert eliminate_gram(tied, np.array([2.0, 0.0, 7.0]), mask, 2.0**20)[0].dropped == 1
    assert eliminate_gram(np.diag([1.0, cut * UP, 5.0]), np.array([2.0, 0.0, 7.0]), mask, 2.0**20)[0].dropped == 0


def test_exact_features_may_differ_by_a_thousand_times_the_units_of_their_rank():
    Phi, mask = np.array([[1.0, 0.0], [0.0, 0.0], [3.0, 4.0]]), np.array([True, True, False])
    limit = 1000 * 3.0 * EPS * 2.0
    record, left, y = eliminate_features(Phi, np.array([2.0, limit, 7.0]), mask, 3.0)
    assert (record.count, record.width, record.norm2, record.schur_scale) == (2, 2, 4.0, 5.0)
    assert record.slip == pytest.approx(4 * 3 * EPS, rel=1e-15, abs=0)
    assert record.dropped == 0
    assert (np.abs(left).tolist(), y.tolist()) == ([[4.0]], [1.0])
    with pytest.raises(SingularGramError, match=r"of data of norm 2 \(limit 1.33e-12\)"):
        eliminate_features(Phi, np.array([2.0, limit * UP, 7.0]), mask, 3.0)


def test_the_slip_grows_with_the_condition_of_the_exact_rows_that_count():
    mask = np.array([True, True, False])
    for second, condition in ((0.5, 2.0), (3 * EPS * UP, 1 / (3 * EPS * UP)), (3 * EPS, 1.0)):
        Phi = np.array([[1.0, 0.0], [0.0, second], [3.0, 4.0]])
        record, left, _ = eliminate_features(Phi, np.array([1.0, 0.0, 0.0]), mask, 3.0)
        assert record.slip == pytest.approx(12 * EPS * condition, rel=1e-12, abs=0)
        assert left.shape == ((1, 1) if second == 3 * EPS else (1, 0))
    record, left, y = eliminate_features(np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([0.0, 3.0]), mask[1:], 2.0)
    assert (record.slip, record.norm2) == (0.0, 0.0)
    assert (np.sort(np.abs(left[0])).tolist(), y.tolist()) == ([1.0, 2.0], [3.0])


def test_exact_rows_alone_leave_nothing_and_couple_to_nothing():
    every = np.ones(2, bool)
    record, left, y = eliminate_gram(np.diag([4.0, 1.0]), np.array([2.0, 3.0]), every, None)
    assert (record.schur_scale, record.norm2, left.shape, y.shape) == (0.0, 10.0, (0, 0), (0,))
    record, left, y = eliminate_features(np.diag([2.0, 1.0]), np.array([2.0, 3.0]), every, 2.0)
    assert (record.schur_scale, record.norm2, left.shape, y.shape) == (0.0, 10.0, (0, 0), (0,))
    assert eliminate_gram(np.eye(2), np.ones(2), None, None)[0] is None
    assert eliminate_features(np.eye(2), np.ones(2), None, 2.0)[0] is None


@pytest.mark.parametrize("form", ["kernel", "features"])
@pytest.mark.parametrize("exact", [None, [1, 4]])
def test_elements_written_out_attain_their_edges_and_meet_both_balls_and_the_exact_rows(form, exact):
    rng = np.random.default_rng(12)
    Phi, C = rng.standard_normal((5, 8)), rng.standard_normal((3, 8))
    y, eta, rho = rng.standard_normal(5), 0.5, 3.0
    if form == "kernel":
        spec = Spectral.from_gram(Phi @ Phi.T, y, exact=exact)
        proj = spec.project(Phi @ C.T, (C * C).sum(1))
    else:
        spec = Spectral.from_features(Phi, y, exact=exact)
        proj = spec.project(C)
    band = local_interval(spec, proj, rho, eta)
    noisy = [i for i in range(5) if i not in (exact or ())]
    ends = zip(primal_elements(proj, band), (band.null_lower, band.null_upper), (band.primal_lower, band.primal_upper), strict=True)  # fmt: skip
    for element, null, value in ends:
        theta = element @ Phi + null[:, None] * C if form == "kernel" else element
        assert (theta * C).sum(1) == pytest.approx(value, rel=1e-9)
        assert np.linalg.norm(theta, axis=1) == pytest.approx(np.full(3, rho), rel=1e-7)
        rest = theta @ Phi.T - y
        assert np.linalg.norm(rest[:, noisy], axis=1) == pytest.approx(np.full(3, eta), rel=1e-7)
        assert rest[:, exact or []] == pytest.approx(np.zeros((3, len(exact or []))), abs=1e-10)
    assert (band.gap_rel < 1e-9).all()
    assert band.mid == pytest.approx((band.lower + band.upper) / 2, rel=1e-12)
    assert band.half == pytest.approx((band.upper - band.lower) / 2, rel=1e-12)
    assert (band.lower <= band.primal_lower + 1e-12).all()
