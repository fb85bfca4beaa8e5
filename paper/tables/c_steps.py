"""Queries behind the counts of Table Cinv: the steps and the trajectories that each of its numbers counts, one row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.origin import answered
from orledger.schema.layouts import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orledger.reports.origin import Origin

PLACE = "cell_id, cell, benchmark, dim, seed"
FIRED = """SELECT s.cell_id, s.cell, s.benchmark, s.dim, s.seed, s.arm, s.idx, f.pair, s.same > 0 AS same, f.fires > 0 AS fires, f.ratio
FROM c_main_series s JOIN (
  SELECT cell_id, arm, idx, split_part(label, '/', 1) AS pair, max(fires) AS fires, min(ratio) AS ratio
  FROM c_main_series
  WHERE fires IS NOT NULL AND substr(label, strpos(label, '/') + 1) IN ({rules})
  GROUP BY ALL
) f ON (f.cell_id, f.arm, f.idx, f.pair) = (s.cell_id, s.arm, s.idx, split_part(s.label, '/', 1))
WHERE s.same IS NOT NULL AND s.arm IN ({arms})"""
PATHS = """SELECT cell_id, arm, list(action ORDER BY idx) AS actions
FROM c_main_series WHERE label IS NULL AND action IS NOT NULL GROUP BY ALL"""


def steps(rules: Iterable[str], arms: Iterable[str], *, fires: bool, same: bool) -> Origin:
    """The steps at which the criterion did or did not fire and the minimiser did or did not stay."""
    query = f"SELECT {PLACE}, arm, idx, pair, ratio FROM (\n{_fired(rules, arms)}\n)\nWHERE fires = {fires} AND same = {same}"
    return answered(f"{query}\nORDER BY ALL")


def trajectories(
    rules: Iterable[str], arms: Iterable[str], pairs: Mapping[str, tuple[str, str]], *, fires: bool, same: bool
) -> Origin:
    """The pairs of trajectories: whether the criterion fires at every step of the smaller multiple, and whether their actions agree."""
    listed = ", ".join(f"({literal(p)}, {literal(low)}, {literal(high)})" for p, (low, high) in pairs.items())
    query = (
        f"WITH steps AS (\n{_fired(rules, arms)}\n), paths AS (\n{PATHS}\n)\n"
        f"SELECT {PLACE}, pair, steps FROM (\n"
        "SELECT s.cell_id, s.cell, s.benchmark, s.dim, s.seed, s.pair, count(*) AS steps, bool_and(s.fires) AS fires, low.actions = high.actions AS same\n"
        f"FROM steps s JOIN (VALUES {listed}) t (pair, low, high) ON s.pair = t.pair AND s.arm = t.low\n"
        "JOIN paths low ON low.cell_id = s.cell_id AND low.arm = t.low JOIN paths high ON high.cell_id = s.cell_id AND high.arm = t.high\n"
        f"GROUP BY ALL\n)\nWHERE fires = {fires} AND same = {same}\nORDER BY ALL"
    )
    return answered(query)


def _fired(rules: Iterable[str], arms: Iterable[str]) -> str:
    return FIRED.format(rules=", ".join(map(literal, rules)), arms=", ".join(map(literal, arms)))
