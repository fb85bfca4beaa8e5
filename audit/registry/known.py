"""What is known about each comparison when its text is registered: sides, family, unit, and how many units there are."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from orledger.audit.registry.quantities import Surface, cells_sql
from orledger.errors import VerificationError
from orledger.schema import viewing
from orledger.schema.layouts import literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

    from orledger.audit.registry.hypotheses import Comparison, Hypothesis

# Tests whose n counts units that every side has.
MATCHED = ("signed_rank", "sign", "sign_anytime", "mcnemar", "friedman", "skillings_mack", "spearman", "slope")

Said = tuple[str, str, str, str | None, int | None]

# How many units a query finds, and in which states: the sides of a comparison, and many comparisons, ask the same.
Asked = dict[str, tuple[int, set[str]]]

DECLARED, PLANNED, PRESENT, UNKNOWN = "declared", "planned", "present", "not known yet"


@dataclass(frozen=True)
class RegisteredUnits:
    """A row of the table registered; ``units`` is None where their number is not known yet."""

    comparison: str
    test: str
    sides: str
    family: str | None
    family_size: int | None
    unit: str
    units: int | None
    basis: str

    @property
    def said(self) -> Said:
        """What follows from the text alone."""
        return self.comparison, self.test, self.sides, self.family, self.family_size


def known(con: DuckDBPyConnection, hypothesis: Hypothesis) -> Iterator[RegisteredUnits]:
    """What the database behind ``con`` knows about the comparisons of ``hypothesis`` now; only plans and states are read."""
    surface = Surface({(layout.case, layout.block): layout for layout in viewing.read(con)})
    asked: Asked = {}
    for c, said in zip(hypothesis.comparisons, _said(hypothesis), strict=True):
        unit, units, basis = _units(con, surface, c, asked)
        yield RegisteredUnits(*said, ", ".join(unit), units, basis)


def _said(hypothesis: Hypothesis) -> Iterator[Said]:
    """What the text of ``hypothesis`` says of each of its comparisons."""
    sizes = Counter(c.family for c in hypothesis.comparisons)
    for c in hypothesis.comparisons:
        sides = json.dumps([name for name, _ in c.sides], ensure_ascii=False)
        yield c.id, c.test, sides, c.family, None if c.family is None else sizes[c.family]


def store(con: DuckDBPyConnection, registration: str, hypothesis: Hypothesis) -> None:
    """Writes the rows of ``registration``, whose text is that of ``hypothesis``."""
    rows = [[registration, *astuple(k)] for k in known(con, hypothesis)]
    if rows:
        con.executemany("INSERT INTO registered VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


# A text that was registered in several histories, such as those of shards, was counted in each for its part.
STORED = """
SELECT comparison, test, sides, family, family_size, unit, units, basis FROM registered WHERE registration = $hash AND $hash NOT IN (
    SELECT key FROM ledger_item JOIN ledger USING (branch, sequence) WHERE part = 'registered' AND kind = 'registration'
    GROUP BY key HAVING count(DISTINCT branch) > 1
)
"""


def stored(con: DuckDBPyConnection, registration: str, hypothesis: Hypothesis) -> dict[str, RegisteredUnits]:
    """The rows of ``registration`` by comparison; VerificationError when they do not say what its text says.

    Empty for a text that an earlier version registered, or several databases that were merged.
    """
    found = [RegisteredUnits(*row) for row in con.execute(STORED, {"hash": registration}).fetchall()]
    if found and {k.said for k in found} != set(_said(hypothesis)):
        raise VerificationError(
            f"{hypothesis.id}: the comparisons that were registered as {registration[:12]} are not those of its text",
            hint="orledger verify names what was changed; restore the database from a copy",
        )
    return {k.comparison: k for k in found}


def _units(
    con: DuckDBPyConnection, surface: Surface, c: Comparison, asked: Asked
) -> tuple[tuple[str, ...], int | None, str]:
    """The independent unit of ``c``, how many there are, and how that is known; ``asked`` is added to."""
    nothing = (c.unit, c.units, UNKNOWN if c.units is None else DECLARED)
    plain = all(q.sql is None and not q.record_keys(surface.layout(q), c.unit) for _, q in c.sides)
    if c.test not in MATCHED or not plain or not all(surface.layout(q).name for _, q in c.sides):
        return nothing
    unit = c.pair if c.nested and c.independent_when and _free(con, surface, c) else c.unit
    counts, states = [], set()
    for _, quantity in c.sides:
        query = cells_sql(surface, quantity, unit, states=(), extra=", state")
        if query not in asked:
            rows = con.execute(query).fetchall()
            asked[query] = len({row[1:-1] for row in rows}), {row[-1] for row in rows}
        counts.append(asked[query][0])
        states |= asked[query][1]
    if c.units is not None:
        return unit, c.units, DECLARED
    if not min(counts):
        return nothing
    return unit, min(counts), PLANNED if states == {"planned"} else PRESENT


def _free(con: DuckDBPyConnection, surface: Surface, c: Comparison) -> bool:
    """Whether there are cells, and every one has the setting that makes its values independent."""
    assert c.independent_when is not None
    name, value = c.independent_when
    path = literal(f'$."{name}"')
    found: set[bool] = set()
    for _, quantity in c.sides:
        query = cells_sql(surface, quantity, (), states=(), extra=f", json_extract_string(settings, {path}) AS setting")
        found |= {row[-1] == value for row in con.execute(query).fetchall()}
    return found == {True}
