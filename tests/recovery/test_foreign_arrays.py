"""Arrays of other kinds: those that hold plain numbers give the plain array's answer, the others are refused by name."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from orledger.recovery import (
    CertifiedRegressor,
    InputError,
    KernelRecovery,
    Spectral,
    conformal_radius,
    covering_radius,
    gcv,
    global_radius,
    kappa_invariance,
    lcurve_corner,
    local_interval,
    log_marginal,
    matched_mu,
    occam,
    pinsker_variances,
    profiled_scale,
    radius_values,
)

torch = pytest.importorskip("torch", reason="the cases extra is not installed")

RNG = np.random.default_rng(8)
PHI, C = RNG.standard_normal((8, 5)), RNG.standard_normal((3, 5))
Y = PHI @ RNG.standard_normal(5) + 0.1 * RNG.standard_normal(8)
SPEC = Spectral.from_features(PHI, Y)
POINTS, ETA = SPEC.project(C), 1.2 * SPEC.best_misfit
GRAM, B, KXX = PHI @ PHI.T + 0.1 * np.eye(8), PHI @ C.T, (C * C).sum(1) + 0.1
RHO = 1.3 * occam(SPEC, ETA).rho
PLAIN = local_interval(SPEC, POINTS, RHO, ETA)


def band(Phi=PHI, y=Y, C=C, eta=ETA):
    spec = Spectral.from_features(Phi, y)
    return local_interval(spec, spec.project(C), RHO, eta)


def masked(x):
    """The first entry is below a mask; its value is still there for whoever does not look."""
    return np.ma.masked_array(x, mask=np.arange(np.size(x)).reshape(np.shape(x)) == 0)


SAME = {
    "y backwards and back": {"y": Y[::-1].copy()[::-1]},
    "Phi by columns": {"Phi": np.asfortranarray(PHI)},
    "y in long double": {"y": Y.astype(np.longdouble)},
    "y of the other byte order": {"y": Y.astype(">f8")},
    "nothing masked": {"y": np.ma.masked_array(Y)},
    "objects": {"y": Y.astype(object)},
    "fractions": {"y": [Fraction(float(v)) for v in Y]},
    "decimals": {"y": pl.Series([Decimal(repr(float(v))) for v in Y])},
    "polars": {"Phi": pl.DataFrame(PHI), "y": pl.Series(Y)},
    "gradients": {
        "Phi": torch.tensor(PHI, requires_grad=True),
        "y": torch.tensor(Y, requires_grad=True),
        "C": torch.tensor(C, requires_grad=True),
    },
    "a tensor of one number": {"eta": torch.tensor(ETA, dtype=torch.float64, requires_grad=True)},
    "a lazily negated tensor": {"y": torch.tensor(-1j * Y).conj().imag},
}


@pytest.mark.parametrize("name", SAME)
def test_the_answer_is_that_of_the_plain_array(name):
    found = band(**SAME[name])
    lower, upper = (np.asarray(v.detach() if hasattr(v, "detach") else v) for v in (found.lower, found.upper))
    np.testing.assert_allclose(lower, PLAIN.lower, rtol=1e-10)
    np.testing.assert_allclose(upper, PLAIN.upper, rtol=1e-10)


REFUSED = {
    "y masked": (lambda: band(y=masked(Y)), r"y has 1 masked value\(s\), the first at index \(0,\)"),
    "Phi masked": (lambda: band(Phi=masked(PHI)), "Phi has 1 masked"),
    "C masked": (lambda: band(C=masked(C)), "C has 1 masked"),
    "masked beside a tensor": (lambda: band(Phi=torch.tensor(PHI), y=masked(Y)), "1 masked"),
    "eta masked": (lambda: band(eta=np.ma.masked), "eta = masked; one real number"),
    "exact masked": (lambda: Spectral.from_gram(GRAM, Y, exact=masked(np.arange(2))), "exact has 1 masked"),
    "mu masked": (lambda: SPEC.misfit(masked([1.0, 2.0])), "mu has 1 masked"),
    "misfits masked": (lambda: matched_mu(SPEC, masked([1.0, 2.0])), "misfits has 1 masked"),
    "responses masked": (lambda: conformal_radius(SPEC, POINTS, masked(np.ones(3)), ETA), "y_cal has 1 masked"),
    "means masked": (lambda: kappa_invariance(masked([1.0, 2.0]), [1.0, 2.0], 1.0, 2.0), "m has 1 masked"),
    "noise masked": (lambda: pinsker_variances(masked([1.0, 2.0]), [1.0, 2.0], 1.0), "noise has 1 masked"),
    "regressor masked": (lambda: CertifiedRegressor().fit(masked(PHI), Y), "X has 1 masked"),
    "targets masked": (lambda: CertifiedRegressor().fit(PHI, masked(Y)), "y has 1 masked"),
    "rows masked": (lambda: CertifiedRegressor(calibration=None).fit(PHI, Y).predict(masked(PHI)), "X has 1 masked"),
    "too large for float64": (lambda: band(y=Y.astype(np.longdouble) * np.longdouble("1e400")), "non-finite"),
    "a whole number too large": (lambda: band(y=[10**400] * 8), "y is not numeric: int too large"),
    "text in objects": (lambda: band(y=np.array(["1"] * 8, dtype=object)), "y is not numeric: it holds the text '1'"),
    "text of any length": (lambda: band(y=np.array(["1"] * 8, np.dtypes.StringDType())), "its type is StringDType"),
    "categories": (lambda: band(y=pl.Series(["1"] * 8, dtype=pl.Categorical)), "it holds the text '1'"),
    "sparse": (lambda: band(Phi=torch.tensor(PHI).to_sparse()), "Phi is a tensor without dense values"),
    "nothing behind it": (lambda: band(Phi=torch.empty(8, 5, device="meta")), "without dense values .*meta"),
    "kxx negative": (lambda: Spectral.from_gram(GRAM, Y).project(B, -KXX), "kxx has the negative value"),
    "kxx zero": (lambda: Spectral.from_gram(GRAM, Y).project(B, 0 * KXX), "times kxx = 0, so"),
    "more than kxx": (lambda: radius_values(np.ones(2), np.full((1, 2), 10.0), np.ones(1), 1.0, 1.0), "explains 20 of kxx = 1"),
    "no end to kappa": (lambda: conformal_radius(SPEC, POINTS, 1e3 * np.ones(3), ETA, kappa_cap=np.inf), "kappa_cap = inf"),
    "squares that overflow": (lambda: lcurve_corner([1, 2, 1e300], [3.0, 2, 1], scale="linear"), "largest entry of misfit"),
    "huge targets": (lambda: CertifiedRegressor().fit(PHI, 1e200 * Y), "largest entry of y"),
    "tiny targets": (lambda: CertifiedRegressor().fit(PHI, 1e-200 * Y), "largest entry of y"),
    "huge rows": (lambda: CertifiedRegressor().fit(1e200 * PHI, Y), "largest entry of X"),
    "a block that is true": (lambda: KernelRecovery.fit(np.dot, PHI, Y, block=True), "block = True"),
    "a diagonal in words": (lambda: KernelRecovery.fit(np.dot, PHI, Y, diagonal="ones"), "the diagonal is 'ones'"),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", REFUSED)
def test_what_holds_no_plain_numbers_is_refused(name):
    call, text = REFUSED[name]
    with pytest.raises(InputError, match=text):
        call()


OTHER = Spectral.from_features(PHI[:, ::-1].copy(), Y)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: local_interval(OTHER, POINTS, RHO, ETA), "another Spectral"),
        (lambda: global_radius(OTHER, POINTS, 1.0, ETA), "another Spectral"),
        (lambda: covering_radius(OTHER, POINTS, np.ones(3), ETA), "another Spectral"),
        (lambda: local_interval(SPEC, C, RHO, ETA), "the points are a ndarray"),
        (lambda: occam(PHI, ETA), "the observations are a ndarray"),
        (lambda: local_interval(SPEC, POINTS, RHO, ETA, occ=occam(SPEC, 2 * ETA)), "occ is the Occam radius at eta"),
        (lambda: local_interval(SPEC, POINTS, RHO, ETA, occ=2.0), "occ is 2.0"),
    ],
)
def test_parts_of_different_problems_are_not_put_together(call, text):
    """Before, points of another problem and an Occam radius at another noise level were used without a word."""
    with pytest.raises(InputError, match=text):
        call()


def spoiled_tensors(values):
    """Tensors that hold no dense real numbers, by kind."""
    t = torch.as_tensor(values)
    return {
        "nested": torch.nested.nested_tensor([t.reshape(-1), t.reshape(-1)[:1]]),
        "quantized": torch.quantize_per_tensor(t.float(), 0.1, 0, torch.qint8),
        "sparse": t.to_sparse(),
        "without storage": t.to("meta"),
        "complex": t.to(torch.complex128),
        "of half precision": t.to(torch.bfloat16),
    }


@pytest.mark.parametrize("kind", spoiled_tensors(np.eye(2)))
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own, about its prototypes
def test_tensors_without_dense_real_numbers_are_refused_wherever_they_stand(kind):
    Phi, y = np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([1.0, 2.0])
    odd, spec = spoiled_tensors(Phi)[kind], Spectral.from_features(Phi, y)
    kernel = KernelRecovery.fit(lambda a, b: a @ b.T + 1, Phi, y)
    calls = [
        lambda: spec.project(odd),
        lambda: Spectral.from_features(Phi, y, exact=spoiled_tensors(y)[kind]),
        lambda: global_radius(spec, spec.project(Phi), 1.0, 1.0, "grid97", grid=spoiled_tensors(np.array([-3.0, 3.0, 5.0]))[kind]),
        lambda: spec.damping(odd),
        lambda: kernel.intervals(odd, 1.0, 1.0),
    ]  # fmt: skip
    if kind != "of half precision":  # beside wider numbers it is read as they are
        calls += [lambda: Spectral.from_features(odd, y), lambda: Spectral.from_features(odd, torch.as_tensor(y))]
    for call in calls:
        with pytest.raises(InputError):
            call()


def test_arrays_beside_tensors_are_read_as_they_are_alone():
    Phi, y = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, -1.0]]), torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
    frozen = Phi.copy()
    frozen.flags.writeable = False
    want = Spectral.from_features(torch.as_tensor(Phi), y).s2
    for other in (frozen, Phi[::-1][::-1], Phi.astype(object), pl.DataFrame(Phi), Phi.tolist(), np.asfortranarray(Phi)):
        assert torch.equal(Spectral.from_features(other, y).s2, want)
    for wrong in (Phi.astype(str), [[1, 2], [3]]):
        with pytest.raises(InputError, match="an array beside tensors is not numeric"):
            Spectral.from_features(wrong, y)


def test_points_as_tensors_are_answered_like_the_rows_that_are_none():
    rows, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 0.5])
    fitted = KernelRecovery.fit(lambda a, b: np.exp(-((a - b.T) ** 2)), rows, y)
    found, want = (
        fitted.intervals(points, 10.0, 0.1) for points in (torch.tensor([[0.5]], requires_grad=True), np.array([[0.5]]))
    )
    assert isinstance(found.lower, np.ndarray)
    assert (found.lower, found.upper) == (want.lower, want.upper)


def test_odd_values_of_options_and_numbers_are_refused_in_words():
    spec = Spectral.from_features(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([1.0, 2.0]))
    proj, two = spec.project(np.eye(2)), np.array([0.5, 0.7])
    refused = [
        lambda: Spectral.from_gram(np.eye(2), np.ones(2), singular=two),
        lambda: Spectral.from_gram(np.eye(2), np.ones(2), exact=np.array([0], "m8[s]")),
        lambda: global_radius(spec, proj, 1.0, 1.0, method=two),
        lambda: conformal_radius(spec, proj, two, 1.0, method=two),
        lambda: conformal_radius(spec, proj, two, 1.0, floor=two),
        lambda: conformal_radius(spec, proj, two, 1.0, level=np.timedelta64(1)),
        lambda: log_marginal(spec, 1.0, two),
        lambda: lcurve_corner([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], scale=two),
        lambda: proj[0],
        lambda: proj[None],
        lambda: KernelRecovery.fit(lambda a, b: a @ b.T, np.eye(2), np.ones(2), block=np.timedelta64(3)),
        lambda: pinsker_variances(np.ones(2), np.array([1.0, 1e-310]), 1.0),
        lambda: radius_values(np.ones(1), np.ones((2, 1)), np.array([2.0, 1e-310]), 1.0, 1.0),
    ]
    for call in refused:
        with pytest.raises(InputError):
            call()
    assert Spectral.from_features(np.eye(2), np.ones(2), rank_tol=torch.tensor(0.5, requires_grad=True)).dropped == 0
    assert pinsker_variances(np.ones(2), np.array([1e40, 2e40]), 2.0).tau2.tolist() == [
        0.0,
        0.0,
    ]  # 4e-80, below the rounding of mu
    assert spec.damping(1.7e308) == pytest.approx([0.0, 0.0], abs=1e-300)
    line = Spectral.from_features(np.array([[2.0]]), np.array([3.0]))
    assert profiled_scale(line, 1.7e308) == pytest.approx(1.5)  # y / s in the limit
    assert gcv(line, 1.7e308) == pytest.approx(gcv(line, np.inf))
    assert spec.damping(np.longdouble("1e4000")).tolist() == [0.0, 0.0]
