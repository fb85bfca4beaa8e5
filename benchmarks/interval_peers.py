"""The methods of the interval comparison: ours, MAPIE's split, CV+ and CQR, and a plain Gaussian process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from orledger.recovery import CertifiedRegressor

if TYPE_CHECKING:
    from collections.abc import Callable

    Method = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]

LEVEL = 0.9
ALPHAS = np.logspace(-6, 6, 13)
GP_ROWS = 1000
"""A dense GP grows with the cube of its rows: it is fitted on a random sample of at most this many."""

QUANTILE_ROWS = 1200
"""Linear quantile regression on 300 features is a large linear program: it is fitted on at most this many rows."""


def _size(n: int) -> int:
    """Features of the kernel: the default, and fewer for tables on which peers refit many times."""
    return 500 if n <= 2000 else 300


def ours(conformity: str = "adaptive", calibration: str = "auto", shift: bool = False) -> Method:
    def method(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
        model = CertifiedRegressor(
            kernel="matern", n_features=_size(len(y)), conformity=conformity, calibration=calibration, level=LEVEL, random_state=seed
        ).fit(X, y)  # fmt: skip
        return model.predict_shifted_interval(X_test)[0] if shift else model.predict_interval(X_test)

    return method


def _ridge(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    """Ridge on the features that our own fit makes of the training rows, its penalty cross-validated: equal footing."""
    fitted = CertifiedRegressor(kernel="matern", n_features=_size(len(y)), calibration=None, random_state=seed).fit(
        X, y
    )
    features = fitted.model_.features
    return make_pipeline(FunctionTransformer(features), RidgeCV(alphas=ALPHAS))


def _halves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n)
    held = min(n // 4, 5000)
    return order[held:], order[:held]


def mapie_split(score: str = "absolute") -> Method:
    def method(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
        from mapie.conformity_scores import ResidualNormalisedScore
        from mapie.regression import SplitConformalRegressor

        rest, held = _halves(len(y), seed)
        base = _ridge(X[rest], y[rest], seed)
        kind = "absolute"
        if score == "normalised":
            kind = ResidualNormalisedScore(
                residual_estimator=_ridge(X[rest], y[rest], seed), random_state=seed, sym=True
            )
        model = SplitConformalRegressor(base, confidence_level=LEVEL, conformity_score=kind, prefit=False)
        model.fit(X[rest], y[rest]).conformalize(X[held], y[held])
        return model.predict_interval(X_test)[1][:, :, 0]

    return method


def mapie_cross(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
    from mapie.regression import CrossConformalRegressor
    from sklearn.model_selection import KFold

    folds = KFold(10, shuffle=True, random_state=seed)
    model = CrossConformalRegressor(
        _ridge(X, y, seed), confidence_level=LEVEL, method="plus", cv=folds, random_state=seed
    )
    return model.fit_conformalize(X, y).predict_interval(X_test)[1][:, :, 0]


def mapie_cqr(base: str) -> Method:
    def method(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
        from mapie.regression import ConformalizedQuantileRegressor
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import QuantileRegressor

        rest, held = _halves(len(y), seed)
        if base == "linear":
            rest = rest[:QUANTILE_ROWS]
            features = _ridge(X[rest], y[rest], seed).steps[0][1]  # type: ignore[attr-defined]
            scale = float(np.std(y[rest])) or 1.0
            learner = [make_pipeline(features, QuantileRegressor(quantile=q, alpha=1e-4 * scale, solver="highs"))
                       for q in (0.05, 0.95, 0.5)]  # fmt: skip
        else:
            learner = [
                HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed) for q in (0.05, 0.95, 0.5)
            ]
        for one in learner:
            one.fit(X[rest], y[rest])
        model = ConformalizedQuantileRegressor(learner, confidence_level=LEVEL, prefit=True)
        return model.conformalize(X[held], y[held]).predict_interval(X_test)[1][:, :, 0]

    return method


def gaussian_process(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    rows = np.random.default_rng(seed).permutation(len(y))[:GP_ROWS]
    kernel = ConstantKernel(1.0) * Matern(length_scale=2.0, nu=2.5) + WhiteKernel(0.1)
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[rows], y[rows])
    mean, sd = model.predict(X_test, return_std=True)
    reach = 1.6448536269514722 * sd
    return np.column_stack([mean - reach, mean + reach])


METHODS: dict[str, Method] = {
    "ours, adaptive": ours(),
    "ours, certificate": ours("certificate"),
    "ours, local": ours("local"),
    "ours, absolute": ours("absolute"),
    "ours, adaptive, split": ours(calibration="split"),
    "MAPIE split": mapie_split(),
    "MAPIE split, normalised": mapie_split("normalised"),
    "MAPIE CV+": mapie_cross,
    "MAPIE CQR, same features": mapie_cqr("linear"),
    "MAPIE CQR, boosted trees": mapie_cqr("trees"),
    "GP": gaussian_process,
}
SHIFT_METHODS: dict[str, Method] = {
    "ours, adaptive": ours(),
    "ours, weighted": ours(calibration="split", shift=True),
    **{name: METHODS[name] for name in ("ours, certificate", "MAPIE split", "MAPIE CV+", "MAPIE CQR, same features",
                                        "MAPIE CQR, boosted trees", "GP")},
}  # fmt: skip
