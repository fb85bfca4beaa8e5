"""The plan of the study: its settings, and the jobs of a preset's ``location`` table. Imports nothing heavy."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.runners.cells import Cell, Job
from orledger.runners.settings import Setting, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS = (
    Setting("draws", 25, False, "Draws per cell."),
    Setting("trim", 0.1, False, "Share of draws that the trimmed mean leaves out at each end."),
)
AXES = ("laws", "seeds")
LAWS = ("normal", "cauchy")


def plan(table: Mapping[str, Any], where: str) -> list[Job]:
    """One job per cell, in the order of the axes; an unknown name is an error that says where it stands."""
    values = resolve(SETTINGS, table.get("settings", {}), f"{where}.settings")
    axes = table.get("main", {})
    unknown = sorted(
        (set(table) - {"settings", "main"}) | (set(axes) - set(AXES)) | (set(axes.get("laws", [])) - set(LAWS))
    )
    if unknown:
        raise UsageError(
            f"{where}: {unknown[0]!r} is unknown", hint=f"block main, axes {', '.join(AXES)}, laws {', '.join(LAWS)}"
        )
    chosen = product(*(axes.get(axis, []) for axis in AXES))
    return [Job((Cell("location", "main", {"law": law, "seed": seed}, values),)) for law, seed in chosen]
