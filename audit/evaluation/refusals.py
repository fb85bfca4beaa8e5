"""Units in which one side refused or failed, counted as the comparison declares: dropped, lost, or at the worst rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.evaluation.pairing import Matched, unit_name
from orledger.audit.evaluation.units import UnitReader, load_units
from orledger.audit.registry.quantities import cells_sql
from orledger.audit.registry.words import Refusals
from orledger.schema.layouts import identifier, literal

if TYPE_CHECKING:
    from orledger.audit.registry.hypotheses import Claim, Comparison
    from orledger.audit.registry.quantities import Quantity


def refused_units(ledger: UnitReader, quantity: Quantity, keys: tuple[str, ...]) -> pl.DataFrame:
    """The units (keys) of ``quantity`` whose cell refused or failed, or in which its arm refused."""
    arm = quantity.refused or (quantity.source.arm if quantity.source else None)
    cells = cells_sql(ledger.surface, quantity, keys, states=("done", "refused", "failed"), extra=", state")
    names = ", ".join(f"c.{identifier(k)}::VARCHAR AS {identifier(k)}" for k in keys)
    query = (
        f"SELECT DISTINCT {names} FROM ({cells}) c"
        f" LEFT JOIN (SELECT DISTINCT cell_id, true AS refused FROM all_refusals WHERE arm = {literal(arm or '')}) f USING (cell_id)"
        " WHERE c.state <> 'done' OR f.refused ORDER BY ALL"
    )
    found: pl.DataFrame = ledger.recall(("refused", query), lambda: ledger.results.sql(query))
    return found.cast(pl.String)


def counted(ledger: UnitReader, comparison: Comparison, m: Matched, sign: int = 1) -> Matched:
    """``m`` (prepared differences) with the units that one side alone refused, as its policy says; others stay dropped.

    A refusal is a loss for the side that refused, as large as the largest difference there is; ``sign`` -1 turns it into a
    win, for the other bound. Units that both sides refused say nothing about either.
    """
    if comparison.refusals == Refusals.DROP:
        return m
    keys = list(comparison.pair)
    sides = [q for _, q in comparison.sides]
    values = [load_units(ledger, q, keys).values.select(keys) for q in sides]
    refused = [refused_units(ledger, q, comparison.pair) for q in sides]
    largest = float(np.abs(m.matrix[:, 0]).max(initial=0.0)) or 1.0
    worse = largest if comparison.better == "lower" else -largest
    units, d = [m.units], [m.matrix[:, 0]]
    for j in (0, 1):
        lost = refused[j].join(values[1 - j], on=keys, how="semi").join(values[j], on=keys, how="anti")
        units.append(lost.select(keys))
        d.append(np.full(lost.height, sign * (worse if j == 0 else -worse)))
    table = pl.concat(units)
    joined = np.concatenate(d)
    names = {unit_name(row) for row in pl.concat(units[1:]).iter_rows()}
    order = table.with_row_index("_at").sort(keys)["_at"].to_numpy()
    scale = np.concatenate([m.matrix[:, 1], np.zeros(joined.size - m.matrix.shape[0])])
    return replace(
        m,
        units=table[order],
        matrix=np.column_stack([joined, scale])[order],
        points=np.ones((joined.size, 2), dtype=np.int64),
        dropped=tuple(x for x in m.dropped if x.unit not in names),
    )


def with_refused(ledger: UnitReader, claim: Claim, m: Matched) -> Matched:
    """``m`` with the refused units of a claim about one side at the value ``refused_as``."""
    assert claim.refused_as is not None
    keys = list(claim.pair)
    lost = refused_units(ledger, claim.sides[0][1], claim.pair).join(m.units, on=keys, how="anti")
    names = {unit_name(row) for row in lost.iter_rows()}
    sides = m.matrix.shape[1]
    return replace(
        m,
        units=pl.concat([m.units, lost.select(keys)]),
        matrix=np.vstack([m.matrix, np.full((lost.height, sides), claim.refused_as)]),
        points=np.vstack([m.points, np.ones((lost.height, sides), dtype=np.int64)]),
        dropped=tuple(x for x in m.dropped if x.unit not in names),
    )
