"""The gate before training: is this table a regression problem at all, and can a random forest learn it?

Pure functions of arrays. The runner calls them before any network is trained and refuses the cells of a failing
dataset; ``orledger datasets audit`` prints the same result. The rules: a categorical target
or one with few levels is refused before anything is computed, then at least 50 distinct targets, finite values, and a
positive cross-validated R2 of a random forest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROTOCOLS = ("file_order", "shuffled")


@dataclass(frozen=True)
class Rules:
    """The thresholds of the gate and the settings of its random forest.

    ``max_levels`` levels or fewer make a target categorical; ``min_distinct`` distinct values and a mean fold R2 above
    ``min_r2`` (folds in file order) are required. ``random_state`` seeds the forest and, in the
    shuffled protocol, the folds.
    """

    max_levels: int = 20
    min_distinct: int = 50
    min_r2: float = 0.05
    folds: int = 5
    n_estimators: int = 100
    random_state: int = 0


@dataclass(frozen=True)
class DatasetAudit:
    """What the gate found: sizes, R2 per fold protocol (empty when the forest was not reached), and every broken rule."""

    n: int
    d: int
    distinct: int
    problems: tuple[str, ...]
    r2: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True when no rule is broken."""
        return not self.problems


def level_problems(y: np.ndarray, rules: Rules) -> tuple[int, list[str]]:
    """The number of distinct targets, and the rules about levels and finiteness that the target breaks; needs no model."""
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        return int(np.unique(y.astype(str)).size), [f"the target is categorical (type {y.dtype})"]
    bad = int((~np.isfinite(y.astype(float))).sum())
    distinct = int(np.unique(y[np.isfinite(y.astype(float))]).size)
    problems = [f"{bad} targets are not finite"] if bad else []
    if distinct <= rules.max_levels:
        problems.append(f"the target has {distinct} levels, and {rules.max_levels} or fewer make it categorical")
    elif distinct < rules.min_distinct:
        problems.append(f"the target has {distinct} distinct values, fewer than {rules.min_distinct}")
    return distinct, problems


def forest_r2(X: np.ndarray, y: np.ndarray, rules: Rules, *, shuffled: bool) -> float:
    """Mean over folds of the R2 of a random forest, with folds in file order or shuffled once."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import KFold, cross_val_score

    folds = KFold(rules.folds, shuffle=shuffled, random_state=rules.random_state if shuffled else None)
    forest = RandomForestRegressor(n_estimators=rules.n_estimators, random_state=rules.random_state)
    return float(cross_val_score(forest, X, y, cv=folds, scoring="r2").mean())


def audit_table(
    X: np.ndarray, y: np.ndarray, rules: Rules | None = None, protocols: Sequence[str] = PROTOCOLS
) -> DatasetAudit:
    """The gate's finding for features X (n, d) and target y (n,); the forest runs only when every cheaper rule holds.

    ``protocols`` names the fold protocols to compute; the verdict uses file order, so leave it out only to look at levels.
    """
    rules = rules or Rules()
    X = np.asarray(X)
    distinct, problems = level_problems(y, rules)
    if X.dtype.kind not in "fiu":
        problems.append(f"the features are not numbers (type {X.dtype})")
    elif not np.isfinite(X.astype(float)).all():
        column = int(np.flatnonzero(~np.isfinite(X.astype(float)).all(axis=0))[0])
        problems.append(f"feature column {column} holds values that are not finite")
    r2: dict[str, float] = {}
    if not problems:
        r2 = {name: forest_r2(X, np.asarray(y, dtype=float), rules, shuffled=name == "shuffled") for name in protocols}
        if "file_order" in r2 and r2["file_order"] <= rules.min_r2:
            problems.append(
                f"random-forest R2 is {r2['file_order']:.4f} over {rules.folds} folds in file order; "
                f"more than {rules.min_r2} is required"
            )
    return DatasetAudit(X.shape[0], X.shape[1], distinct, tuple(problems), r2)
