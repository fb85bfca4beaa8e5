"""Values of several quantities side by side on common units: who has a partner, who has not, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.statistics.result import Dropped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from orledger.audit.evaluation.units import Units


@dataclass(frozen=True)
class Matched:
    """Values of several quantities on common units: ``matrix`` (units, sides), NaN where a side is absent and allowed to be."""

    keys: tuple[str, ...]
    units: pl.DataFrame
    matrix: NDArray[np.float64]
    points: NDArray[np.int64]
    dropped: tuple[Dropped, ...]


def match(units: Sequence[Units], names: Sequence[str], *, incomplete: bool = False) -> Matched:
    """``units`` side by side on common keys, sorted by them; units without all partners are dropped with the reason.

    With ``incomplete`` a unit stays when at least two sides have it, and the gaps are NaN.
    """
    keys = list(units[0].keys)
    first = units[0].values.select(keys)
    if all(u.absent.is_empty() and u.values.select(keys).equals(first) for u in units):  # every unit has all partners
        matrix = np.column_stack([u.values["value"].to_numpy() for u in units])
        return Matched(tuple(keys), first, matrix, np.column_stack([u.values["points"].to_numpy() for u in units]), ())
    table = units[0].values.rename({"value": "v0", "points": "n0"})
    for j, u in enumerate(units[1:], 1):
        table = table.join(
            u.values.rename({"value": f"v{j}", "points": f"n{j}"}), on=keys, how="full", coalesce=True, nulls_equal=True
        )
    table = table.sort(keys)
    columns = [f"v{j}" for j in range(len(units))]
    present = pl.sum_horizontal(pl.col(c).is_not_null() for c in columns)
    kept = table.filter(present >= 2 if incomplete else present == len(units))
    dropped = _dropped(units, names, kept, keys, table)
    matrix = kept.select(pl.col(columns).fill_null(float("nan"))).to_numpy().reshape(kept.height, len(columns))
    points = (
        kept.select(pl.col(f"n{j}" for j in range(len(units))).fill_null(0))
        .to_numpy()
        .reshape(kept.height, len(columns))
    )
    return Matched(tuple(keys), kept.select(keys), matrix, points, dropped)


def _dropped(
    units: Sequence[Units], names: Sequence[str], kept: pl.DataFrame, keys: list[str], table: pl.DataFrame
) -> tuple[Dropped, ...]:
    if kept.height == table.height and all(u.absent.is_empty() for u in units):
        return ()
    found: dict[str, list[str]] = {}
    refused: set[str] = set()
    for u, name in zip(units, names, strict=True):
        side = f"{name}: " if len(units) > 1 else ""
        for row in u.absent.iter_rows():
            *key, reason, declined = row
            found.setdefault(unit_name(key), []).append(side + reason)
            refused |= {unit_name(key)} if declined else set()
    for j, u in enumerate(units):  # a unit that another side has and this one was never planned for
        lone = table.filter(pl.col(f"v{j}").is_null()).join(u.absent, on=keys, how="anti", nulls_equal=True)
        for row in lone.select(keys).iter_rows():
            found.setdefault(unit_name(row), []).append(f"{names[j]}: no partner")
    entered = {unit_name(row) for row in kept.select(keys).iter_rows()}
    return tuple(
        Dropped(unit, "; ".join(dict.fromkeys(reasons)), unit in refused, unit in entered)
        for unit, reasons in sorted(found.items())
    )


def unit_name(values: Sequence[str | None]) -> str:
    """The name of a unit for people: its key values separated by slashes."""
    return "/".join("-" if v is None else v for v in values)
