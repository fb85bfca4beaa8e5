"""Every public function with odd inputs in every place: a finite answer, or a refusal in words; no warning, no foreign error."""

import dataclasses
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from orledger.recovery import (
    KernelRecovery,
    RecoveryError,
    Spectral,
    conformal_radius,
    covering_radius,
    flatness_bound,
    gaussian_truth_coverage,
    gcv,
    global_radius,
    guarded_delivery,
    kappa_invariance,
    lcurve_corner,
    local_interval,
    log_marginal,
    matched_mu,
    minimise,
    occam,
    pinsker_variances,
    profiled_scale,
    radius_values,
    truth_coverage,
)

RNG = np.random.default_rng(11)
PHI, C = RNG.standard_normal((7, 4)), RNG.standard_normal((5, 4))
Y = PHI @ RNG.standard_normal(4) + 0.1 * RNG.standard_normal(7)
GRAM, B, KXX = PHI @ PHI.T + 0.3 * np.eye(7), 0.1 * RNG.standard_normal((7, 5)), np.full(5, 3.0)
SPEC = Spectral.from_features(PHI, Y)
PROJ, ETA = SPEC.project(C), 1.3 * SPEC.best_misfit
RHO = 1.5 * occam(SPEC, ETA).rho
BAND, CERT = local_interval(SPEC, PROJ, RHO, ETA), global_radius(SPEC, PROJ, 2.0, ETA)
X, W = RNG.random((7, 2)), np.linspace(1, 0.1, 6)


def kernel(a, b):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1))


def whole(Phi, y, C):
    spec = Spectral.from_features(Phi, y)
    least = occam(spec, 1.1 * spec.best_misfit + 0.01).require()
    return local_interval(spec, spec.project(C), 1.2 * least.rho + 0.1, least.eta)


def whole_gram(G, y, b, kxx):
    spec = Spectral.from_gram(G, y)
    least = occam(spec, 1.1 * spec.best_misfit + 0.01).require()
    return local_interval(spec, spec.project(b, kxx), 1.2 * least.rho + 0.1, least.eta)


CALLS = {
    "features": (whole, {"Phi": PHI, "y": Y, "C": C}),
    "gram": (whole_gram, {"G": GRAM, "y": Y, "b": B, "kxx": KXX}),
    "rank": (lambda **a: Spectral.from_features(PHI, Y, **a).yt, {"rank_tol": 3.0}),
    "exact": (lambda **a: Spectral.from_gram(GRAM, Y, **a).yt, {"exact": np.array([1.0, 0, 0, 0, 0, 0, 0])}),
    "interval": (lambda **a: local_interval(SPEC, PROJ, **a), {"rho": RHO, "eta": ETA}),
    "radius": (lambda **a: global_radius(SPEC, PROJ, **a), {"eps": 1.0, "eta": ETA}),
    "grid": (lambda **a: global_radius(SPEC, PROJ, 1.0, ETA, "grid97", **a), {"grid": np.array([-3.0, 3.0, 7.0])}),
    "values": (radius_values, {"w": W, "beta2": 0.01 * RNG.random((5, 6)) * W, "kxx": np.ones(5), "eps": 1.0, "eta": 0.2}),
    "covering": (lambda **a: covering_radius(SPEC, PROJ, **a), {"values": RNG.standard_normal(5), "eta": ETA}),
    "conformal": (
        lambda **a: conformal_radius(SPEC, PROJ, **a),
        {"y_cal": RNG.standard_normal(5), "eta": ETA, "rho_oc": RHO, "level": 0.8, "kappa_cap": 40.0},
    ),
    "conformal grid": (
        lambda **a: conformal_radius(SPEC, PROJ, Y[:5], ETA, method="grid", **a),
        {"grid": np.array([1.1, 2.0])},
    ),
    "guarded": (
        lambda **a: guarded_delivery(BAND, CERT, PROJ, **a),
        {"ridge": RNG.standard_normal(5), "y_scale": 1.0, "gap_tol": 1e-6, "drift_factor": 5.0},
    ),
    "invariance": (kappa_invariance, {"m": RNG.random((3, 6)), "c": RNG.random((3, 6)), "kappa": 1.0, "kappa_prime": 2.0}),
    "flatness": (flatness_bound, {"eps": 1.0, "eta": 0.1, "k0": 1.0, "t": 4.0, "phi": 0.5, "nugget": 0.1}),
    "corner": (lcurve_corner, {"misfit": 2.0 ** np.arange(5), "norm": np.array([50.0, 10, 3, 2, 1.8])}),
    "matched": (lambda **a: matched_mu(SPEC, **a), {"misfits": np.array([ETA, 1.1 * ETA])}),
    "minimise": (lambda **a: minimise(SPEC, "gcv", **a), {"bounds": np.array([0.1, 10.0])}),
    "truth": (truth_coverage, {"observation_level": 0.9, "z": 1.0, "noise_tail": 0.1}),
    "gaussian": (gaussian_truth_coverage, {"observation_level": 0.9, "sigma": 1.0, "z": 1.0}),
    "pinsker": (pinsker_variances, {"noise": np.ones(5), "weights": np.arange(1.0, 6.0), "rho": 2.0, "floor": 0.1}),
    "kernel": (lambda X, y: KernelRecovery.fit(kernel, X, y).radii(X, 1.0, 0.1), {"X": X, "y": Y}),
    "points": (lambda **a: KernelRecovery.fit(kernel, X, Y).intervals(**a), {"points": X, "rho": 20.0, "eta": 0.5}),
    **{
        f"{name} of mu": (lambda mu, call=call: call(mu), {"mu": np.array([0.1, 1.0, 2.0])})
        for name, call in {
            "damping": SPEC.damping, "misfit": SPEC.misfit, "norm": SPEC.norm, "q": SPEC.q, "V": PROJ.V, "m": PROJ.m, "pf": PROJ.pf,
            "wn": PROJ.wn, "at": PROJ.at, "gcv": lambda mu: gcv(SPEC, mu), "marginal": lambda mu: log_marginal(SPEC, mu),
            "scale": lambda mu: profiled_scale(SPEC, mu),
        }.items()
    },
}  # fmt: skip


def odd(base):
    """Versions of one argument: other types, other shapes, other memory, values at and beyond the ends."""
    values = [
        None,
        "abc",
        b"1",
        {"a": 1},
        1j,
        np.nan,
        np.inf,
        -np.inf,
        -1.0,
        0.0,
        1e-300,
        1e300,
        True,
        Decimal("0.5"),
        Fraction(1, 2),
    ]
    values += [np.float16(0.5), np.array(0.5), np.array([0.5]), [], [[1, 2], [3]], np.array(["2020-01-01"], "M8[D]")]
    if np.ndim(base):
        poked = [base.copy() for _ in range(3)]
        for array, value in zip(poked, (np.nan, np.inf, -np.inf), strict=True):
            array.flat[0] = value
        frozen = base.copy()
        frozen.flags.writeable = False
        values += [
            *poked,
            frozen,
            base.tolist(),
            base.astype(object),
            base.astype(str),
            base.astype("f4"),
            base.astype(">f8"),
        ]
        values += [
            base.astype(complex),
            np.repeat(base, 2, 0)[::2],
            np.asfortranarray(base),
            base[:0],
            base[None],
            base.ravel(),
            base * 0,
        ]
        values += [
            base * 1e-200,
            base * 1e200,
            -np.abs(base),
            (3 * base).astype(int),
            np.array([None] * base.size, object),
            base > 0,
        ]
    return values


def finite(value):
    """No NaN in an answer. A refused Occam radius is the exception, and no function here returns one."""
    if isinstance(value, tuple) or dataclasses.is_dataclass(value):
        parts = value if isinstance(value, tuple) else [getattr(value, f.name) for f in dataclasses.fields(value)]
        return all(finite(part) for part in parts)
    return not (
        isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f" and np.isnan(value).any()
    )


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_input_is_answered_or_refused(name):
    call, arguments = CALLS[name]
    for key, base in arguments.items():
        for value in odd(base):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if name in ("kernel", "points"):
                    warnings.filterwarnings("ignore", "overflow encountered in square")  # the test's own kernel
                try:
                    answer = call(**{**arguments, key: value})
                except RecoveryError:
                    continue
            assert finite(answer), (key, value)


@pytest.mark.parametrize(
    "wrong", [None, "rbf", lambda *_: 1, lambda a, b: [[1.0] * len(b)] * len(a), lambda a, b: 1j * kernel(a, b)]
)
def test_what_is_no_kernel_is_refused_or_read(wrong):
    """A list of lists is read as the matrix it is; all equal, it is the Gram matrix of a constant."""
    try:
        found = KernelRecovery.fit(wrong, X, np.ones(7)).intervals(X, 3.0, 0.1)
    except RecoveryError:
        return
    np.testing.assert_allclose(found.centre, found.centre[0])
