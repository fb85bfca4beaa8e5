"""Fitting the hyper-parameters within a budget: Adam by hand, or SciPy's L-BFGS-B, on the analytic gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.optimize import minimize

from orledger.runners.case_c.likelihood import FitData, negative_log_posterior

if TYPE_CHECKING:
    from orledger.recovery.array_types import Array
    from orledger.runners.case_c.budgets import Budget
    from orledger.runners.case_c.kernel import Pairs, ParameterLayout

ADAM_FIRST, ADAM_SECOND, ADAM_FLOOR = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Fit:
    """Fitted raw parameters (size,), the negative log posterior per datum there, the largest gradient entry, steps taken."""

    raw: torch.Tensor
    loss: float
    gradient: float
    steps: int


def fit(raw: torch.Tensor, layout: ParameterLayout, pairs: Pairs, y: torch.Tensor, budget: Budget) -> Fit:
    """The fit of standardised data ``y`` (n,) from the starting vector ``raw`` (size,) within ``budget``."""
    data = FitData.of(pairs, y)
    start = raw.numpy() if isinstance(data.y, np.ndarray) else raw
    if budget.optimiser == "adam":
        end, steps = _adam(start, layout, data, budget), budget.steps
    else:
        end, steps = _lbfgs(start, layout, data, budget)
    loss, gradient = negative_log_posterior(end, layout, data)
    return Fit(torch.as_tensor(end), float(loss), float(abs(gradient).max()), steps)


def _adam(raw: Array, layout: ParameterLayout, data: FitData, budget: Budget) -> Array:
    first = second = 0.0 * raw
    for step in range(1, budget.steps + 1):
        _, gradient = negative_log_posterior(raw, layout, data)
        first = ADAM_FIRST * first + (1.0 - ADAM_FIRST) * gradient
        second = ADAM_SECOND * second + (1.0 - ADAM_SECOND) * gradient * gradient
        scale = second**0.5 / (1.0 - ADAM_SECOND**step) ** 0.5 + ADAM_FLOOR
        raw = raw - budget.rate / (1.0 - ADAM_FIRST**step) * first / scale
    return raw


def _lbfgs(raw: Array, layout: ParameterLayout, data: FitData, budget: Budget) -> tuple[Array, int]:
    def there(vector: np.ndarray) -> Array:
        return vector if isinstance(raw, np.ndarray) else torch.tensor(vector, dtype=raw.dtype, device=raw.device)

    def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = negative_log_posterior(there(vector), layout, data)
        return float(loss), _here(gradient)

    found = minimize(
        objective,
        _here(raw),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-budget.bound, budget.bound)] * layout.size,
        options={"maxiter": budget.steps, "maxfun": budget.evaluations, "gtol": budget.tolerance, "ftol": 0.0},
    )
    return there(found.x), int(found.nit)


def _here(x: Array) -> np.ndarray:
    """``x`` on the host, where SciPy is."""
    return x if isinstance(x, np.ndarray) else torch.as_tensor(x).cpu().numpy()
