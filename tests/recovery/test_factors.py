"""One factorisation: where its limits lie, to the bit where numbers allow it, and what it says on either side of them."""

import numpy as np
import pytest

from orledger.recovery import GramError, InputError, SingularGramError, Spectral, global_radius
from orledger.recovery import spectral as module

EPS = 2.0**-52
UP = 1 + 4 * EPS


def gram(diagonal, y=None, **options):
    return Spectral.from_gram(np.diag(diagonal), np.ones(len(diagonal)) if y is None else np.array(y), **options)


def refused(call, error, text=None):
    with pytest.raises(error, match=text):
        call()


def test_a_thousand_units_of_skew_are_rounding_and_are_halved():
    limit = 1000 * EPS * 4.0
    almost = Spectral.from_gram(np.array([[4.0, limit], [0.0, 4.0]]), np.ones(2))
    assert almost.s2 == pytest.approx([4 + limit / 2, 4 - limit / 2], rel=2 * EPS)
    assert almost.given[0][0, 1] == almost.given[0][1, 0] == limit / 2
    for skew in (limit * UP, -limit * UP):
        refused(lambda s=skew: Spectral.from_gram(np.array([[4.0, s], [0.0, 4.0]]), np.ones(2)), GramError, "8.88e-13")


def test_skew_and_size_are_looked_for_in_every_block_of_rows(monkeypatch):
    monkeypatch.setattr(module, "SYMMETRY_ROWS", 2)
    for i, j in ((0, 4), (4, 0), (2, 3), (4, 3)):
        G = np.eye(5)
        G[i, j] = -7.0
        assert module._size_and_skew(G) == (7.0, 7.0)
    assert module._size_and_skew(np.diag([1.0, -3.0, 2.0])) == (3.0, 0.0)


def test_an_eigenvalue_is_negative_beyond_a_hundred_millionth_of_the_largest_entry():
    assert gram([4.0, -4 * 1e-8]).dropped == 1
    refused(lambda: gram([4.0, -4.04 * 1e-8]), GramError, r"negative eigenvalue -4.04e-08 \(largest 4\)")
    refused(lambda: gram([-0.5, -0.5]), GramError, r"negative eigenvalue -0.5 \(largest 0\)")
    # The exact row counts for the size, though the matrix that is left has only small entries.
    assert gram([100.0, 1.0, -9e-7], exact=[0]).dropped == 1
    refused(lambda: gram([100.0, 1.0, -1.1e-6], exact=[0]), GramError)


def test_a_tolerance_in_units_is_the_value_up_to_which_eigenvalues_count_as_zero():
    cut = 1024 * EPS * 2.0
    spec = gram([2.0, 3 * cut, cut], y=[1.0, 2.0, 3.0], rank_tol=1024)
    assert spec.s2.tolist() == [2.0, 3 * cut]
    assert spec.yt.tolist() == [1.0, 2.0] or np.abs(spec.yt).tolist() == [1.0, 2.0]
    assert (spec.dropped, spec.n, spec.resolution, spec.y02) == (1, 3, cut**0.5, 9.0)
    assert spec.lost[0].tolist() == [cut]
    assert np.abs(spec.lost[1]).tolist() == [[0.0], [0.0], [1.0]]
    assert spec.ynorm == pytest.approx(14**0.5)
    assert spec.best_misfit == 3.0
    assert gram([2.0, cut * UP], rank_tol=1024).dropped == 0
    whole = gram([2.0, 1.0])
    assert (whole.dropped, whole.lost) == (0, None)
    refused(lambda: gram([1.0], rank_tol=-1.0), InputError, "rank_tol")


def test_a_schur_complement_carries_the_rounding_of_the_block_it_comes_from():
    """The noisy block has entries of 1, and what the exact row leaves of it is 1e-12: its unit is that of 1."""
    y = np.ones(3)
    G = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-12, 0.0], [0.0, 0.0, 2.0]])
    spec = Spectral.from_gram(G, y, exact=[0], rank_tol=4096)
    assert spec.dropped == 1
    assert spec.resolution == pytest.approx((4096 * EPS * 2.0) ** 0.5)
    assert Spectral.from_gram(G, y, exact=[0, 2], rank_tol=4096).resolution == pytest.approx((4096 * EPS) ** 0.5)


def test_a_singular_matrix_is_named_with_its_weakest_row():
    with pytest.raises(SingularGramError) as err:
        gram([3.0, 0.0, 1.0, 2.0], singular="raise")
    assert str(err.value).startswith("G is singular: 1 of 4 eigenvalues are at or below 4.26e-14; ")
    assert "carried mostly by row 1" in str(err.value)
    assert gram([3.0, 0.5], singular="raise").dropped == 0
    refused(lambda: gram([1.0], singular="ignore"), InputError, "singular = 'ignore'")


def test_shapes_that_do_not_fit():
    eye = np.eye(2)
    refused(lambda: Spectral.from_gram(np.zeros((0, 0)), np.zeros(0)), InputError, "y is empty")
    refused(lambda: Spectral.from_gram(np.zeros((2, 3)), np.ones(2)), InputError, r"shape \(2, 3\) and y has 2")
    refused(lambda: Spectral.from_features(np.zeros((0, 2)), np.zeros(0)), InputError, r"\(0, 2\): there is nothing")
    refused(lambda: Spectral.from_features(np.zeros((2, 0)), np.ones(2)), InputError, r"\(2, 0\): there is nothing")
    refused(lambda: Spectral.from_features(eye, np.ones(3)), InputError, "2 rows and y has 3")
    plain, kernel = Spectral.from_features(eye, np.ones(2)), gram([1.0, 1.0])
    refused(lambda: plain.project(eye, np.ones(2)), InputError, "without kxx")
    refused(lambda: plain.project(np.ones((2, 3))), InputError, "have 2 columns")
    refused(lambda: kernel.project(eye), InputError, "needs project")
    refused(lambda: kernel.project(np.ones((3, 2)), np.ones(2)), InputError, r"must be \(2, len")
    refused(lambda: kernel.project(np.ones((2, 2)) / 9, np.ones(3)), InputError, r"must be \(2, len")
    for needless in (plain, Spectral.from_features(eye, np.ones(2), exact=[0]), kernel):
        refused(lambda spec=needless: spec.coupled, InputError, "couples the two")


def test_features_are_dropped_at_so_many_units_as_they_have_rows_or_columns():
    cut = 3 * EPS * 2.0
    for last, dropped in ((cut, 1), (cut * UP, 0)):
        Phi = np.zeros((2, 3))
        Phi[0, 0], Phi[1, 1] = 2.0, last
        spec = Spectral.from_features(Phi, np.array([3.0, 4.0]))
        assert (spec.dropped, spec.resolution, len(spec.s2), spec.n) == (dropped, cut, 2 - dropped, 2)
        assert spec.y02 == (16.0 if dropped else 0.0)
        assert spec.s2[0] == 4.0
    assert Spectral.from_features(np.diag([2.0, cut]), np.ones(2), rank_tol=1.0).dropped == 0
    exact = Spectral.from_features(
        np.array([[1.0, 0, 0], [4.0, 1e-3, 0], [3.0, 0, 0]]), np.array([0.0, 1, 0]), exact=[0]
    )
    assert exact.resolution == pytest.approx(
        3 * EPS * 5.0, rel=1e-6, abs=0
    )  # |(4, 3)|: the rows before the exact one was taken out
    assert exact.dropped == 1


def test_a_part_outside_the_rows_is_one_from_sixteen_units_on():
    spec = Spectral.from_features(np.array([[1.0, 0.0, 0.0]]), np.ones(1))
    parts = EPS * np.array([15.0, 16.0, 17.0, 1e10])
    found = spec.project(np.column_stack([np.ones(4), parts, np.zeros(4)]))
    assert found.c02 == pytest.approx([0, 0, parts[2] ** 2, parts[3] ** 2], rel=1e-12, abs=0)
    assert found.norm2 == pytest.approx(np.ones(4), rel=1e-10)
    rotated = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert (Spectral.from_features(rotated, np.ones(3)).project(np.full((1, 3), 1 / 3)).c02 == 0).all()


def test_inner_products_may_explain_a_thousandth_more_than_there_is():
    spec = gram([1.0, 1.0])
    square = 1001.0  # 1001^2 is 1.001 times 1001000, to the bit
    b, k = np.array([[square, 0.0], [0.0, 1.0]]), np.array([1001000.0, 1.0])
    found = spec.project(b, k)
    assert found.c02.tolist() == [0.0, 0.0]
    assert found.norm2.tolist() == k.tolist()  # as given, though the parts add up to more
    assert found.c02_floor == pytest.approx((2 + 16) * EPS * k, rel=1e-15, abs=0)
    text = r"point 1: b explains 1.44 times kxx = 1, so"
    refused(lambda: spec.project(np.array([[square, 0.0], [0.0, 1.2]]), k), InputError, text)
    refused(lambda: spec.project(b * 1.000001, k), InputError, r"point 0: b explains 1.001 times kxx = 1.001e\+06,")
    with_exact = gram([1.0, 1.0, 1.0], exact=[2])
    assert with_exact.project(np.zeros((3, 1)), np.array([2.0])).c02_floor == pytest.approx(
        [(3 + 16) * EPS * 2], rel=1e-15, abs=0
    )
    nothing = spec.project(np.zeros((2, 1)), np.zeros(1))
    assert (nothing.c02[0], nothing.null_share[0]) == (0.0, 0.0)
    assert nothing.c02_floor[0] > 0


def rows_with_one_exact():
    rng = np.random.default_rng(1)
    F, C = rng.standard_normal((4, 6)), rng.standard_normal((3, 6))
    spec = Spectral.from_gram(F @ F.T, rng.standard_normal(4), exact=[1])
    return spec, spec.project(F @ C.T, (C * C).sum(1)), F, C


def test_what_couples_noisy_rows_to_exact_ones():
    """|coupled|^2 is what the exact row takes off the noisy block, in the eigenbasis of what is left."""
    spec, _, F, _ = rows_with_one_exact()
    noisy = F[[0, 2, 3]]
    taken = noisy @ np.outer(F[1], F[1]) @ noisy.T / (F[1] @ F[1])
    assert spec.coupled @ spec.coupled.T == pytest.approx(spec.basis.T @ taken @ spec.basis, rel=1e-10)
    first, second = spec.pulls
    assert first == pytest.approx(np.sqrt(spec.s2)[:, None] * spec.coupled, rel=1e-14)
    assert second == pytest.approx(spec.yt[:, None] * spec.coupled, rel=1e-14)


def test_the_dominating_problem_is_made_for_all_points_or_for_those_asked_for():
    spec, proj, _, _ = rows_with_one_exact()
    for name, wide in (("_wide", proj.widened), ("_loose", proj.loosened)):
        some = wide(np.array([2, 0]))
        assert name not in vars(proj)  # nothing was computed for the other point
        everything = wide(np.array([2, 1, 0]))
        assert name in vars(proj)
        assert everything.ct[[0, 2]] == pytest.approx(some.ct, rel=1e-12)
        assert everything.c02[[0, 2]] == pytest.approx(some.c02, rel=1e-12)
        assert some.rows[1] == pytest.approx(proj.rows[1][[2, 0]] * (1 + 8 * EPS), rel=EPS / 2, abs=0)
    assert (spec.widened.given, spec.widened.dropped) == (None, 0)
    assert (spec.widened.given, spec.loosened.given) == (None, None)
    anew = spec.given[0] + np.diag(spec.delta)
    assert np.sort(spec.widened.s2) == pytest.approx(
        np.sort(Spectral.from_gram(anew, spec.given[1], exact=[1]).s2), rel=1e-9
    )
    refused(lambda: spec.widened.project(*proj.rows).widened(np.array([0])), InputError, "no further widened form")
    refused(lambda: proj.lost_part, InputError, "no direction was left out")
    plain = Spectral.from_features(np.eye(2), np.ones(2))
    assert (plain.widened, plain.loosened) == (None, None)
    refused(lambda: plain.project(np.eye(2)).loosened(np.array([0])), InputError, "no widened form in the same")


def test_the_noise_of_no_noisy_row_is_zero():
    spec = gram([1.0, 2.0], exact=[0, 1])
    assert spec.noisy_delta == 0.0
    assert (spec.n, len(spec.s2), spec.dropped, spec.best_misfit) == (0, 0, 0, 0.0)
    assert spec.exact_norm2 == pytest.approx(1.5)
    assert gram([1.0]).exact_norm2 == 0.0


@pytest.mark.parametrize("exact", [None, [0]])
def test_moments_of_one_multiplier_many_and_one_for_each_point(exact):
    rng = np.random.default_rng(6)
    Phi, y, C = rng.standard_normal((4, 5)), rng.standard_normal(4), rng.standard_normal((3, 5))
    spec = Spectral.from_features(Phi, y, exact=exact)
    proj, mus = spec.project(C), np.array([0.0, 0.2, 7.0, np.inf])
    for name in ("V", "m", "pf", "wn"):
        table = getattr(proj, name)(mus)
        assert table.shape == (3, 4)
        for j, mu in enumerate(mus):
            assert getattr(proj, name)(mu) == pytest.approx(table[:, j], rel=1e-12, abs=1e-14)
            assert getattr(proj.at(np.full(3, mu)), name) == pytest.approx(table[:, j], rel=1e-12, abs=1e-13)
        refused(lambda n=name: getattr(proj, n)(np.ones((2, 2))), InputError, "at most 1 axis")
    refused(lambda: proj.at(np.ones((3, 1))), InputError, "at most 1 axis")
    refused(lambda: proj.at(np.ones(2)), InputError, "2 values for 3 functionals")
    assert pytest.approx(proj.V(0.2)) == proj.at(0.2).V
    assert pytest.approx(proj.V(0.2)) == proj.at(np.array([0.2])).V
    assert spec.q(mus) == pytest.approx([spec.q(mu) for mu in mus])
    picked = proj[np.array([2, 0])]
    assert (len(picked), picked.norm2.tolist()) == (2, proj.norm2[[2, 0]].tolist())
    assert picked.whole2 == pytest.approx((C**2).sum(1)[[2, 0]])
    assert global_radius(spec, picked, 1.0, 0.3).radius == pytest.approx(
        global_radius(spec, proj, 1.0, 0.3).radius[[2, 0]]
    )


def test_norms_and_misfits_of_ridge_solutions():
    rng = np.random.default_rng(9)
    Phi, y = rng.standard_normal((5, 3)), rng.standard_normal(5)
    spec = Spectral.from_features(Phi, y)
    for mu in (0.1, 3.0):
        theta = mu * np.linalg.solve(np.eye(3) + mu * Phi.T @ Phi, Phi.T @ y)
        rest = ((Phi @ theta - y) ** 2).sum()
        assert spec.norm(mu) == pytest.approx(np.linalg.norm(theta))
        assert spec.misfit(mu) == pytest.approx(rest**0.5)
        assert spec.q(mu) == pytest.approx(rest + theta @ theta / mu)
