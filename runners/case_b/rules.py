"""The gate's thresholds as a cell's settings give them; shared by the runner and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.audit.datasets.gate import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping


def dataset_rules(settings: Mapping[str, Any]) -> Rules:
    """The gate's rules under the settings of a cell."""
    return Rules(
        max_levels=settings["max_levels"],
        min_distinct=settings["min_distinct"],
        min_r2=settings["min_r2"],
        folds=settings["folds"],
        n_estimators=settings["rf_trees"],
        random_state=settings["rf_state"],
    )
