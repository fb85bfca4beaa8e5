"""How much the hyper-parameters are fitted before each acquisition: named budgets, all deterministic and warm-started.

The paper does not state its budget, and its radius dispersions depend on it, so the budget is a key of every cell.

| budget       | optimiser                             | steps before each acquisition                              |
|--------------|---------------------------------------|------------------------------------------------------------|
| near-initial | Adam, moments reset at every step     | ``near_initial_steps`` (2)                                 |
| moderate     | the same                              | ``moderate_steps`` (20)                                    |
| converged    | L-BFGS-B on the analytic gradient     | to a gradient of ``converged_tolerance``, at most          |
|              |                                       | ``converged_iterations`` (200)                             |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import torch

    from orledger.runners.case_c.kernel import Layout, Pairs

BUDGETS = ("near-initial", "moderate", "converged")
# Raw parameters of a converged fit stay in this box: beyond it the constrained ones no longer change in float64.
RAW_BOUND = 20.0
ADAM_FIRST, ADAM_SECOND, ADAM_FLOOR = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Budget:
    """One named budget: ``steps`` of Adam at ``rate``, or L-BFGS-B to ``tolerance`` within ``steps`` iterations."""

    name: str
    optimiser: str
    steps: int
    rate: float = 0.0
    tolerance: float = 0.0


@dataclass(frozen=True)
class Fit:
    """Fitted raw parameters (size,), the negative log posterior per datum there, the largest gradient entry, steps taken."""

    raw: torch.Tensor
    loss: float
    gradient: float
    steps: int


# The settings each budget depends on, and so the only ones of these that belong into a cell's spec.
BUDGET_SETTINGS = {
    "near-initial": ("near_initial_steps", "adam_rate"),
    "moderate": ("moderate_steps", "adam_rate"),
    "converged": ("converged_iterations", "converged_tolerance"),
}


def make_budget(name: str, settings: Mapping[str, Any]) -> Budget:
    """The budget called ``name`` with the step counts and rates of ``settings``."""
    if name == "near-initial":
        return Budget(name, "adam", settings["near_initial_steps"], rate=settings["adam_rate"])
    if name == "moderate":
        return Budget(name, "adam", settings["moderate_steps"], rate=settings["adam_rate"])
    if name == "converged":
        return Budget(name, "lbfgs", settings["converged_iterations"], tolerance=settings["converged_tolerance"])
    raise UsageError(f"unknown fit budget {name!r}", hint=f"one of {', '.join(BUDGETS)}")


def fit(raw: torch.Tensor, layout: Layout, pairs: Pairs, y: torch.Tensor, budget: Budget) -> Fit:
    """The fit of standardised data ``y`` (n,) from the starting vector ``raw`` (size,) within ``budget``."""
    from orledger.runners.case_c.likelihood import negative_log_posterior

    if budget.optimiser == "adam":
        raw, steps = _adam(raw, layout, pairs, y, budget), budget.steps
    else:
        raw, steps = _lbfgs(raw, layout, pairs, y, budget)
    loss, gradient = negative_log_posterior(raw, layout, pairs, y)
    return Fit(raw, float(loss), float(gradient.abs().max()), steps)


def _adam(raw: torch.Tensor, layout: Layout, pairs: Pairs, y: torch.Tensor, budget: Budget) -> torch.Tensor:
    from orledger.runners.case_c.likelihood import negative_log_posterior

    raw = raw.clone()
    first, second = raw.new_zeros(raw.shape), raw.new_zeros(raw.shape)
    for step in range(1, budget.steps + 1):
        _, gradient = negative_log_posterior(raw, layout, pairs, y)
        first.mul_(ADAM_FIRST).add_(gradient, alpha=1.0 - ADAM_FIRST)
        second.mul_(ADAM_SECOND).addcmul_(gradient, gradient, value=1.0 - ADAM_SECOND)
        size = budget.rate / (1.0 - ADAM_FIRST**step)
        scale = (1.0 - ADAM_SECOND**step) ** 0.5
        raw.addcdiv_(first, (second.sqrt() / scale).add_(ADAM_FLOOR), value=-size)
    return raw


def _lbfgs(
    raw: torch.Tensor, layout: Layout, pairs: Pairs, y: torch.Tensor, budget: Budget
) -> tuple[torch.Tensor, int]:
    from scipy.optimize import minimize

    from orledger.runners.case_c.likelihood import negative_log_posterior

    def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = negative_log_posterior(raw.new_tensor(vector), layout, pairs, y)
        return float(loss), gradient.cpu().numpy()

    found = minimize(
        objective,
        raw.cpu().numpy(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-RAW_BOUND, RAW_BOUND)] * layout.size,
        options={"maxiter": budget.steps, "maxfun": 10 * budget.steps, "gtol": budget.tolerance, "ftol": 0.0},
    )
    return raw.new_tensor(found.x), int(found.nit)
