"""Objects of the wrong kind, tensors with gradients, and problems without a noisy row: answered or refused, the same way everywhere."""

import warnings

import numpy as np
import pytest

from orledger.recovery import (
    CertifiedRegressor,
    InputError,
    Spectral,
    conformal_radius,
    covering_radius,
    discrepancy,
    gcv,
    global_radius,
    guarded_delivery,
    interval_score,
    local_interval,
    log_marginal,
    matched_mu,
    minimise,
    occam,
    primal_elements,
    profiled_scale,
)
from orledger.recovery.regression.scoring import mean_width

torch = pytest.importorskip("torch")

PHI = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.0, 2.0]])
Y, C, ETA = np.array([1.0, 2.0, 0.5, -1.0]), np.eye(3), 1.5
SPEC = Spectral.from_features(PHI, Y)
PROJ = SPEC.project(C)
BAND, CERT = local_interval(SPEC, PROJ, 3.0, ETA), global_radius(SPEC, PROJ, 3.0, ETA)
RIDGE = np.zeros(3)

ASKED = {
    "Spectral": (
        SPEC,
        r"the observations are .*\n  what to do: pass a Spectral: from_gram or from_features",
        [
            lambda it: occam(it, ETA),
            lambda it: discrepancy(it, ETA),
            lambda it: matched_mu(it, [ETA]),
            lambda it: gcv(it, 1.0),
            lambda it: log_marginal(it, 1.0),
            lambda it: profiled_scale(it, 1.0),
            lambda it: minimise(it, "gcv"),
            lambda it: local_interval(it, PROJ, 3.0, ETA),
            lambda it: global_radius(it, PROJ, 3.0, ETA),
            lambda it: covering_radius(it, PROJ, RIDGE, ETA),
            lambda it: conformal_radius(it, PROJ, RIDGE, ETA),
        ],
    ),
    "Projection": (
        PROJ,
        r"the points are .*\n  what to do: pass what spec.project\(...\) returns",
        [
            lambda it: local_interval(SPEC, it, 3.0, ETA),
            lambda it: global_radius(SPEC, it, 3.0, ETA),
            lambda it: covering_radius(SPEC, it, RIDGE, ETA),
            lambda it: conformal_radius(SPEC, it, RIDGE, ETA),
            lambda it: primal_elements(it, BAND),
            lambda it: guarded_delivery(BAND, CERT, it, RIDGE, 1.0),
        ],
    ),
    "Interval": (
        BAND,
        r"the intervals are .*\n  what to do: pass what local_interval\(...\) returns",
        [lambda it: primal_elements(PROJ, it), lambda it: guarded_delivery(it, CERT, PROJ, RIDGE, 1.0)],
    ),
    "GlobalCertificate": (
        CERT,
        r"the certificate is .*\n  what to do: pass what global_radius\(...\) returns",
        [lambda it: guarded_delivery(BAND, it, PROJ, RIDGE, 1.0)],
    ),
}


@pytest.mark.parametrize("kind", ASKED)
def test_an_object_of_another_kind_is_refused_by_name_wherever_it_is_asked_for(kind):
    right, text, calls = ASKED[kind]
    others = [v for v, _, _ in ASKED.values() if v is not right]
    for call in calls:
        call(right)
        for wrong in (None, 3.0, "x", C, object(), type(right), torch.ones(2), *others):
            with pytest.raises(InputError, match=text):
                call(wrong)


def test_what_is_refused_is_called_by_its_type():
    for wrong, text in (
        (None, "are a NoneType"),
        (CERT, "are a GlobalCertificate"),
        (Spectral, "are the class Spectral"),
    ):
        with pytest.raises(InputError, match=text):
            gcv(wrong, 1.0)


def test_intervals_certificates_and_points_that_do_not_belong_together():
    other = Spectral.from_features(PHI[:2], Y[:2])
    with pytest.raises(InputError, match="elements have 3 coordinates and the points 2"):
        primal_elements(other.project(C[:2]), local_interval(SPEC, SPEC.project(C[:2]), 3.0, ETA))
    with pytest.raises(InputError, match="3 intervals, 3 ridge values, 3 functionals and 2 certificates do not match"):
        guarded_delivery(BAND, global_radius(SPEC, PROJ[:2], 3.0, ETA), PROJ, RIDGE, 1.0)


# ---- tensors with gradients -----------------------------------------------------------------------------------------------


def grown(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("spec", [SPEC, Spectral.from_features(grown(PHI), grown(Y))], ids=["arrays", "tensors"])
def test_answers_at_tensors_with_gradients_have_the_numbers_and_no_gradient(spec):
    proj, mu = spec.project(grown(C)), [0.5, 1.0, 2.0]
    calls = [lambda m, rule=rule: rule(spec, m) for rule in (gcv, log_marginal, profiled_scale)]
    for call in (*calls, proj.V, lambda m: proj.at(m).m):
        found = call(grown(mu))
        assert not getattr(found, "requires_grad", False)
        assert np.array_equal(np.asarray(found), np.asarray(call(np.array(mu))))
    assert minimise(spec, "gcv", bounds=grown([0.1, 10.0])) == minimise(spec, "gcv", bounds=(0.1, 10.0))
    certificate = global_radius(spec, proj, grown(3.0), grown(ETA))
    assert not getattr(certificate.radius, "requires_grad", False)


def test_a_list_of_tensors_with_gradients_is_refused_in_words():
    with pytest.raises(InputError, match="y is not numeric"):
        Spectral.from_features(PHI, [torch.tensor(1.0, requires_grad=True)] * 4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_regressor_takes_tensors_with_gradients_as_it_takes_arrays(kernel):
    x = np.sin(np.arange(60.0)).reshape(30, 2)
    y = x[:, 0] + 0.1 * np.cos(7 * np.arange(30.0))
    settings = {"kernel": kernel, "n_features": 8, "calibration": "split", "noise_std": 0.2, "level": 0.8}
    plain, gradient = CertifiedRegressor(**settings), CertifiedRegressor(**settings)
    plain.fit(x, y, sample_weight=np.ones(30)).calibrate(x[:9], y[:9])
    gradient.fit(grown(x), grown(y), sample_weight=grown(np.ones(30))).calibrate(grown(x[:9]), grown(y[:9]))
    for name in ("predict", "predict_interval", "predict_function_interval", "predict_shifted_interval"):
        for a, b in zip(getattr(plain, name)(x), getattr(gradient, name)(grown(x)), strict=True):
            assert np.array_equal(a, b), name
    assert gradient.score(grown(x), grown(y)) == plain.score(x, y)
    band = gradient.predict_interval(x)
    assert interval_score(grown(y), grown(band)) == interval_score(y, band)
    assert mean_width(grown(band)) == mean_width(band)
    plain.partial_fit(x, y), gradient.partial_fit(grown(x), grown(y))
    assert np.array_equal(plain.predict(x), gradient.predict(x))
    with pytest.raises(InputError, match=r"X has type torch\.complex64"):
        plain.predict(torch.ones((2, 2), dtype=torch.complex64))


# ---- limits of the rules --------------------------------------------------------------------------------------------------


def test_rules_at_an_infinite_mu_are_their_limits():
    """G = diag(2, 1) and y = (1, 2): residuals y / (mu s^2), trace sum 1 / (mu s^2); tau^2 n = sum y^2 / s^2. With y0 > 0, no limit."""
    spec = Spectral.from_gram(np.diag([2.0, 1.0]), np.array([1.0, 2.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mu in (1e90, 1e200, 1e300, np.inf):
            assert gcv(spec, mu) == pytest.approx(2 * (0.25 + 4) / 1.5**2, rel=1e-14)
        assert gcv(spec, np.array([1.0, np.inf])) == pytest.approx(
            [2 * (1 / 9 + 1) / (5 / 6) ** 2, 2 * 4.25 / 2.25], rel=1e-14
        )
        assert profiled_scale(spec, np.array([1.0, np.inf])) == pytest.approx(
            [np.sqrt((1 / 3 + 2) / 2), 1.5], rel=1e-14
        )
        assert profiled_scale(Spectral.from_features(np.ones((2, 1)), np.array([0.0, 2.0])), np.inf) == np.inf
        assert gcv(Spectral.from_features(np.ones((2, 1)), np.array([0.0, 2.0])), np.inf) == pytest.approx(
            4.0, rel=1e-14
        )
        zero = Spectral.from_gram(np.eye(2), np.zeros(2))
        assert gcv(zero, np.inf) == profiled_scale(zero, np.inf) == 0.0
        with pytest.raises(InputError, match="the data are zero"):
            log_marginal(zero, 1.0, "profiled")


def test_rules_need_a_row_with_noise_and_a_range():
    fixed = Spectral.from_gram(np.eye(2), np.ones(2), exact=[0, 1])
    for call in (lambda: gcv(fixed, 1.0), lambda: log_marginal(fixed, 1.0), lambda: profiled_scale(fixed, 1.0), lambda: minimise(fixed, "gcv")):  # fmt: skip
        with pytest.raises(InputError, match="every row is exact"):
            call()
    # Rows of zeros: 2 log likelihood = -mu |y|^2 + n log mu + const, largest at mu = n / |y|^2.
    mute = Spectral.from_features(np.zeros((2, 3)), np.array([1.0, 2.0]))
    with pytest.raises(InputError, match="no noisy row says anything"):
        minimise(mute, "mlii_unit")
    assert minimise(mute, "mlii_unit", bounds=(1e-3, 1e3)).mu == pytest.approx(0.4, rel=1e-6)


# ---- inner products that no functional has ----------------------------------------------------------------------------------


def test_what_exact_rows_explain_beyond_a_squared_norm_is_refused():
    """One exact row of norm 1 and a point with b = 1: kxx is at least 1."""
    spec = Spectral.from_gram(np.eye(2), np.array([1.0, 0.0]), exact=[0])
    assert spec.project(np.array([[1.0], [0.0]]), np.ones(1)).c02.tolist() == [0.0]
    with pytest.raises(InputError, match=r"point 1: b explains 2 times kxx = 0.5, so these are not"):
        spec.project(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([1.0, 0.5]))


def test_a_product_in_a_hidden_direction_is_refused_with_the_users_own_point_and_norm():
    """Exact rows of a smooth kernel lose directions; a b that only these contradict shows in the problem that drops nothing."""
    x = np.linspace(0, 1, 14)
    G = np.exp(-((x[:, None] - x) ** 2) / 8)
    spec = Spectral.from_gram(G, G @ np.ones(14), exact=np.arange(14))
    b = G[:, :4] * 1.0
    b[:, 2] += 1e-5 * np.linalg.eigh(G)[1][:, 0]
    proj = spec.project(b, np.full(4, 1.25))
    text = r"point {}: b explains .* times kxx = 1.25, in directions that rounding hides in this Gram matrix, so"
    for ask in (lambda p: global_radius(spec, p, 1.0, 0.1), lambda p: global_radius(spec, p, 1.0, 0.1, "grid97"), lambda p: local_interval(spec, p, 99.0, 0.1)):  # fmt: skip
        with pytest.raises(InputError, match=text.format(2)):
            ask(proj)
        with pytest.raises(InputError, match=text.format(1)):
            ask(proj[1:])
        ask(proj[:2])  # the others are as they should be
    with pytest.raises(InputError, match=text.format(2)):
        proj.widened(np.array([0, 2]))
