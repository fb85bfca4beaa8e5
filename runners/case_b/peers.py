"""Ordinary regressors on the rows of a main cell: what a network's accuracy is to be measured against."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.runners.records import CellResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.runners.case_b.problem import SplitRows


def models(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Ridge with its penalty cross-validated, the audit's forest, and a GP with one length scale and learned noise."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.linear_model import RidgeCV

    kernel = ConstantKernel(1.0) * RBF(2.0) + WhiteKernel(0.1, (1e-6, 10.0))
    return {
        "ridge": RidgeCV(alphas=np.logspace(-3, 3, 13)),
        "forest": RandomForestRegressor(n_estimators=settings["rf_trees"], random_state=settings["rf_state"]),
        "gp": GaussianProcessRegressor(kernel),
    }


def peers_cell(problem: SplitRows, settings: Mapping[str, Any]) -> CellResult:
    """Test RMSE of each regressor, fitted on all training rows, in sd of the clean training targets as in the main block."""
    from sklearn.exceptions import ConvergenceWarning

    out = CellResult()
    for arm, model in models(settings).items():
        with warnings.catch_warnings():
            # A hyperparameter at its bound is an answer here, not a fault.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(problem.x_train, problem.y_train)
        residual = model.predict(problem.x_test) - problem.y_test
        out.scalar(arm, "rmse", float(np.sqrt(np.mean(residual**2))))
    out.scalar("cell", "n_train", problem.y_train.size)
    out.scalar("cell", "n_test", problem.y_test.size)
    return out
