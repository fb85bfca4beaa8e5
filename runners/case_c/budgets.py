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

BUDGETS = ("near-initial", "moderate", "converged")


@dataclass(frozen=True)
class Budget:
    """One named budget: ``steps`` of Adam at ``rate``, or L-BFGS-B to ``tolerance`` within ``steps`` iterations.

    L-BFGS-B also ends after ``evaluations`` of the likelihood, and keeps raw parameters within ``bound`` of zero.
    """

    name: str
    optimiser: str
    steps: int
    rate: float = 0.0
    tolerance: float = 0.0
    evaluations: int = 0
    bound: float = 0.0


# The settings each budget depends on, and so the only ones of these that belong into a cell's spec.
BUDGET_SETTINGS = {
    "near-initial": ("near_initial_steps", "adam_rate"),
    "moderate": ("moderate_steps", "adam_rate"),
    "converged": ("converged_iterations", "converged_tolerance", "converged_evaluations", "converged_bound"),
}


def make_budget(name: str, settings: Mapping[str, Any]) -> Budget:
    """The budget called ``name`` with the step counts and rates of ``settings``."""
    if name == "near-initial":
        return Budget(name, "adam", settings["near_initial_steps"], rate=settings["adam_rate"])
    if name == "moderate":
        return Budget(name, "adam", settings["moderate_steps"], rate=settings["adam_rate"])
    if name == "converged":
        return Budget(
            name,
            "lbfgs",
            settings["converged_iterations"],
            tolerance=settings["converged_tolerance"],
            evaluations=settings["converged_evaluations"],
            bound=settings["converged_bound"],
        )
    raise UsageError(f"unknown fit budget {name!r}", hint=f"one of {', '.join(BUDGETS)}")
