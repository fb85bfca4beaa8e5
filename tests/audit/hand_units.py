"""Units written by hand, and a ledger that remembers them: comparisons and claims without a database."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from orledger.audit.evaluation.units import WHY, UnitReader, Units
from orledger.audit.registry.hypotheses import Claim, Comparison
from orledger.audit.registry.quantities import Surface


def units(values: Sequence[tuple], absent: Sequence[tuple] = (), keys: Sequence[str] = ("k",)) -> Units:
    """``values`` are (*keys, value) or (*keys, value, points); ``absent`` are (*keys, reason) or (*keys, reason, declined)."""
    n, texts = len(keys), dict.fromkeys(keys, pl.String)
    there = [(*r[: n + 1], r[n + 1] if len(r) > n + 1 else 1) for r in values]
    gone = [(*r[: n + 1], r[n + 1] if len(r) > n + 1 else False) for r in absent]
    return Units(
        tuple(keys),
        pl.DataFrame(there, schema={**texts, "value": pl.Float64, "points": pl.Int64}, orient="row"),
        pl.DataFrame(gone, schema={**texts, **WHY}, orient="row"),
    )


def remembering(asked: Comparison | Claim, *sides: Units) -> UnitReader:
    """A ledger that has read ``sides``, one for each side of ``asked``, and knows of no plan."""
    found = {(q, tuple(asked.pair)): u for (_, q), u in zip(asked.sides, sides, strict=True)}
    return UnitReader(None, memory={"surface": Surface({}), "planned early": pl.DataFrame(), **found})  # type: ignore[arg-type]
