"""How a rule is minimised, where a corner is walked from, and the last inputs that each accepts."""

import numpy as np
import pytest
from mpmath import mp, mpf, polyroots
from parts import part_of

from orledger.recovery import CRITERIA, GlobalCertificate, InputError, Interval, Projection, Spectral, lcurve_corner
from orledger.recovery.delivery import guarded_delivery
from orledger.recovery.errors import EmptySetError
from orledger.recovery.lcurve import CORNERS
from orledger.recovery.occam import misfit_slack
from orledger.recovery.rules import RuleChoice, log_marginal, matched_mu, minimise, profiled_scale

LINE = Spectral.from_features(np.array([[2.0], [0.0]]), np.array([3.0, 4.0]))


@pytest.fixture
def valley(monkeypatch):
    """A criterion (log mu - centre)^2 that keeps what it was asked; the first call is the grid."""

    def make(centre):
        asked = []

        def criterion(_, mu):
            asked.append(np.log(mu))
            return (np.log(mu) - centre) ** 2

        monkeypatch.setitem(CRITERIA, "valley", criterion)
        return asked

    return make


@pytest.mark.parametrize(("width", "nodes"), [(1.0, 64), (16.0, 64), (16.3125, 65), (20.0, 80)])
def test_the_grid_has_four_nodes_per_unit_of_log_mu_and_at_least_64(valley, width, nodes):
    asked = valley(0.3)
    minimise(LINE, "valley", bounds=(np.exp(-3.0), np.exp(width - 3.0)))
    np.testing.assert_allclose(asked[0], np.linspace(-3, width - 3, nodes), atol=1e-12)


def test_without_bounds_the_grid_goes_eight_decades_beyond_the_spectrum(valley):
    spec = Spectral.from_features(np.diag([4.0, 0.5]), np.ones(2))
    asked = valley(0.0)
    minimise(spec, "valley")
    np.testing.assert_allclose(np.exp(asked[0][[0, -1]]), [1e-8 / 16, 1e8 / 0.25], rtol=1e-12)


@pytest.mark.parametrize("node", [1, 2, 31, 61, 62])
def test_between_the_neighbours_of_the_best_node(valley, monkeypatch, node):
    """Of 64 nodes from 0 to 6.3 the best one is inside: the search goes from its left neighbour to its right one."""
    import scipy.optimize

    search, seen = scipy.optimize.minimize_scalar, []

    def spy(f, bounds, **options):
        seen.append(bounds)
        return search(f, bounds=bounds, **options)

    monkeypatch.setattr(scipy.optimize, "minimize_scalar", spy)
    asked = valley(0.1 * node + 0.03)
    found = minimise(LINE, "valley", bounds=(1.0, np.exp(6.3)))
    np.testing.assert_allclose(seen, [(0.1 * (node - 1), 0.1 * (node + 1))], atol=1e-12)
    assert np.log(found.mu) == pytest.approx(0.1 * node + 0.03, abs=1e-8)
    assert (found.rule, found.at_limit) == ("valley", False)
    assert found.value == pytest.approx(0.0, abs=1e-15)
    assert len(asked) < 50  # the search ends when it has arrived


@pytest.mark.parametrize(("centre", "end"), [(-1.0, 0.0), (9.0, 6.3)])
def test_a_valley_beyond_the_bounds_ends_at_the_limit(valley, centre, end):
    valley(centre)
    found = minimise(LINE, "valley", bounds=(1.0, np.exp(6.3)))
    assert found.at_limit
    assert (np.log(found.mu), found.value) == (pytest.approx(end, abs=1e-12), pytest.approx((end - centre) ** 2))


def test_the_minimum_of_the_evidence_is_a_root_of_a_cubic():
    """-9 / (4 + n)^2 - 16 / n^2 + 1 / (4 + n) + 1 / n = 0, times n^2 (4 + n)^2: 2 n^3 - 13 n^2 - 112 n - 256 = 0."""
    mp.dps = 30
    n = mpf(9)
    assert -9 * n**2 - 16 * (4 + n) ** 2 + n**2 * (4 + n) + n * (4 + n) ** 2 == 2 * n**3 - 13 * n**2 - 112 * n - 256
    (root,) = [r.real for r in polyroots([2, -13, -112, -256]) if abs(r.imag) < mpf(10) ** -20 and r.real > 0]
    assert np.log(minimise(LINE, "mlii_unit").nugget) == pytest.approx(float(mp.log(root)), abs=1e-7)


def test_a_nugget_is_the_inverse_of_a_multiplier():
    assert [RuleChoice("", mu, 0.0, False).nugget for mu in (0.0, 0.25, 1.0, 4.0, np.inf)] == [
        np.inf,
        4.0,
        1.0,
        0.25,
        0.0,
    ]


def test_the_evidence_ends_where_a_nugget_does():
    for mu in (0.0, 1e-300, 1e300, np.inf):
        with pytest.raises(InputError, match="0 or infinite"):
            log_marginal(LINE, np.array([1.0, mu]))
    assert np.isfinite(log_marginal(LINE, np.array([1e-299, 1e-3, 1e3, 1e299]))).all()
    assert profiled_scale(LINE, np.array([0.0, 0.25])) == pytest.approx([0.0, np.sqrt((9 / 8 + 4) / 2)], rel=1e-14)


@pytest.mark.filterwarnings("error")
def test_misfits_at_the_limits_of_what_can_be_matched():
    """Down to the slack below the best one, which belongs to mu = inf, and up to |y|; what is negative is no misfit."""
    least = LINE.best_misfit - misfit_slack(LINE)
    assert matched_mu(LINE, np.array([least, 5.0, np.nextafter(5.0, 6)])).tolist() == [np.inf, 0.0, 0.0]
    with pytest.raises(EmptySetError, match="position 0") as refused:
        matched_mu(LINE, np.array([np.nextafter(least, 0)]))
    assert refused.value.margin == pytest.approx(-misfit_slack(LINE), rel=1e-2)
    with pytest.raises(InputError, match=r"negative value: -0\.5"):
        matched_mu(LINE, np.array([-0.5, 4.5]))
    with pytest.raises(EmptySetError, match="misfit 0 "):
        matched_mu(LINE, np.array([4.5, 0.0]))
    clean = Spectral.from_features(np.eye(2), np.array([0.3, 0.4]))
    assert matched_mu(clean, np.array([0.0, 0.25])) == pytest.approx([np.inf, 1.0], rel=1e-12)
    with pytest.raises(InputError, match="at most 1 axis"):
        matched_mu(LINE, np.full((1, 2), 4.5))


def test_distance_from_a_short_chord_and_on_small_axes():
    """Axes are scaled whatever their size; distances from a chord of length 1/4 are not multiples of it."""
    x, y = np.array([0.0, 0.25, 1.0]) / 1024, np.array([1.0, 0.25, 0.0]) / 512
    assert CORNERS["chord"](x, y)[1] == pytest.approx(np.sqrt(1 / 8), rel=1e-14)
    assert CORNERS["chord"](np.array([0.0, 1.0, 0.25]), np.array([1.0, 0.0, 1.0]))[1] == pytest.approx(1.0)


def test_distances_from_a_chord_are_the_same_wherever_the_curve_lies():
    """Whole numbers far from zero, where the next one is the next float; and ends that are not the extremes of the axes."""
    x, y = np.array([0.0, 1.0, 4.0]), np.array([4.0, 1.0, 0.0])
    np.testing.assert_array_equal(CORNERS["chord"](x + 2.0**52, y), CORNERS["chord"](x, y))
    np.testing.assert_array_equal(CORNERS["chord"](x, y + 2.0**52), CORNERS["chord"](x, y))
    # Scaled, the ends are (1/4, 1) and (3/4, 1/2): (0, 0) lies below by 5/4 / sqrt(2), and (1, 3/4) above by half / sqrt(2).
    found = CORNERS["chord"](np.array([1.0, 0.0, 4.0, 3.0]), np.array([4.0, 0.0, 3.0, 2.0]))
    np.testing.assert_allclose(found[1:-1], np.array([1.25, -0.5]) / np.sqrt(2), rtol=1e-14)


def test_the_ends_alone_say_from_where_a_curve_is_walked():
    """Down, to the right and up: a turn to the left when walked so. Misfits in between may lie on either side of the ends."""
    x, y = np.array([2.0, 1.5, 1.0, 2.5, 2.75, 2.25]), np.array([9.0, 5.0, 1.0, 0.9, 0.8, 0.7])
    for walked, answer in ((slice(None), 2), (slice(None, None, -1), 3)):
        assert lcurve_corner(x[walked], y[walked]) == answer
    # Ends with equal misfits are walked as given: the second node turns to the left, the third to the right.
    x, y = np.array([0.5, 0.25, 0.75, 0.5]), np.array([4.0, 2.0, 1.9, 0.5])
    assert lcurve_corner(x, y, scale="linear") == 1
    assert lcurve_corner(x[::-1], y[::-1], scale="linear") == 1


def delivered(**options):
    band = part_of(Interval, mid=np.array([100.5]), half=np.array([1.0]), gap_rel=np.array([0.0]))
    certificate = part_of(GlobalCertificate, mu=1.0, cert=np.ones(1), delta_num=0.0, allowance=np.zeros(1))
    settings = {"ridge": np.full(1, 100.0), "y_scale": 1.0, **options}
    return guarded_delivery(band, certificate, part_of(Projection, ct=np.zeros((1, 0))), **settings)


@pytest.mark.parametrize("name", ["gap_tol", "drift_factor", "y_scale"])
def test_limits_of_the_guard_may_be_zero_and_not_less(name):
    assert not delivered(**{name: 0.0}).substituted.any()
    with pytest.raises(InputError, match=f"{name} = -0.5"):
        delivered(**{name: -0.5})
