"""The newest audit of a database as rows to print: tests, claims and dispositions by the names that hypothesis files give them.

Tables, captions and figures take every p-value, interval, count of wins and verdict from here, and compute none. A row is
addressed as ``faster/time/ours``: the hypothesis, then the comparison or claim.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from orledger.audit.registry.words import DECIDED, Outcome, Variant
from orledger.reports.origin import AuditRow, Origin
from orledger.schema.hashing import DATABASE_HASH
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orledger.reports.source import Database

NEWEST = "SELECT audit_id, data_hash, n_cells, n_records FROM audit ORDER BY created DESC, audit_id LIMIT 1"
# Current texts that it did not see: they were registered, or replaced another text, after it.
UNJUDGED = """
SELECT hypothesis FROM registration r WHERE NOT EXISTS (SELECT 1 FROM registration s WHERE s.parent = r.hash)
  AND NOT list_contains((SELECT registrations FROM audit ORDER BY created DESC, audit_id LIMIT 1), r.hash)
ORDER BY hypothesis
"""
NOW = "SELECT count(*) FILTER (state = 'done') AS cells, (SELECT count(*) FROM all_records) AS records FROM all_cells"
OPPOSITE: dict[str, str] = {Outcome.LESS: Outcome.GREATER, Outcome.GREATER: Outcome.LESS}
# The variant to print comes first: the one whose values are independent units.
VARIANTS = (Variant.DECLARED, Variant.BLOCKED, Variant.NAIVE, Variant.COARSER)
NO_AUDIT = "the database has no audit"
MIRRORED = str.maketrans("[]()", "][)(")


@dataclass(frozen=True)
class TestRow:
    """One row of ``test_result``: a comparison in one variant, with its id. Effects are first side minus second."""

    __test__ = False  # the name starts with Test; pytest must not collect it

    test_id: str
    hypothesis: str
    comparison: str
    variant: str
    title: str
    test: str
    transform: str
    unit: str
    independent: bool
    outcome: str
    alpha: float
    side: str
    statistic: float | None
    p: float | None
    family: str | None
    p_holm: float | None
    floor: float | None
    n: int
    n_nonzero: int
    method: str
    effect: float | None
    effect_name: str
    low: float | None
    high: float | None
    level: float | None
    interval_method: str
    interval_ends: str
    untestable: str | None
    margin: float | None
    wins: int | None
    losses: int | None
    draws: int | None
    bounded: int
    noise_floor: float | None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Its name in the hypothesis files."""
        return f"{self.hypothesis}/{self.comparison}"

    @property
    def origin(self) -> Origin:
        """The row itself."""
        return Origin((AuditRow("test_result", self.test_id),))

    @property
    def decided(self) -> bool:
        """True when the audit found a difference at its alpha, after any correction it declares."""
        return self.outcome in DECIDED

    @property
    def why_absent(self) -> str:
        """Why the row has no p, effect or interval, in its own words."""
        return f"{self.outcome} in the audit: {self.method}"

    def reversed(self) -> TestRow:
        """The same row read from the other side: second minus first. The two-sided p and its floor do not change."""
        if self.side != "two-sided":
            raise ValueError(f"{self.address} is one-sided ({self.side}) and has one direction only")
        return replace(
            self,
            outcome=OPPOSITE.get(self.outcome, self.outcome),
            effect=None if self.effect is None else -self.effect,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
            interval_ends=self.interval_ends[::-1].translate(MIRRORED),
            wins=self.losses,
            losses=self.wins,
        )


@dataclass(frozen=True)
class ClaimRow:
    """One row of ``claim``: a statement in words, its state, and what was observed."""

    claim_id: str
    hypothesis: str
    name: str
    kind: str
    statement: str
    state: str
    observed: str
    value: float | None
    n: int

    @property
    def address(self) -> str:
        """Its name in the hypothesis files."""
        return f"{self.hypothesis}/{self.name}"

    @property
    def origin(self) -> Origin:
        """The row itself."""
        return Origin((AuditRow("claim", self.claim_id),))


@dataclass(frozen=True)
class DispositionRow:
    """One row of ``disposition``: the verdict on a hypothesis and why."""

    disposition_id: str
    hypothesis: str
    mode: str
    statement: str
    verdict: str
    reason: str

    @property
    def origin(self) -> Origin:
        """The row itself."""
        return Origin((AuditRow("disposition", self.disposition_id),))


@dataclass
class AuditRows:
    """The rows of the newest audit; each table of the database is read once, when it is first asked for."""

    results: Database

    @cached_property
    def _head(self) -> dict[str, Any]:
        rows = self.results.sql(NEWEST).to_dicts()
        return rows[0] if rows else {}

    @property
    def audit_id(self) -> str | None:
        """The newest audit, or None."""
        return self._head.get("audit_id")

    @cached_property
    def stale(self) -> str | None:
        """What changed in the database since the newest audit, in words; None when cells, their hashes and the number of records agree."""
        if not self._head:
            return None
        now = self.results.sql(NOW).row(0)
        seen = self._head["n_cells"], self._head["n_records"]
        if now == seen and self.results.sql(DATABASE_HASH).item() == self._head["data_hash"]:
            return None
        there = "as many, with other values or states" if now == seen else f"{now[0]:,} and {now[1]:,}"
        return f"the newest audit looked at {seen[0]:,} cells and {seen[1]:,} records; the database now has {there}"

    @cached_property
    def unjudged(self) -> tuple[str, ...]:
        """The hypotheses of which the newest audit did not see the current text; empty where there is no audit."""
        return tuple(self.results.sql(UNJUDGED)["hypothesis"].to_list()) if self._head else ()

    @cached_property
    def _tests(self) -> dict[str, tuple[TestRow, ...]]:
        found: dict[str, list[TestRow]] = {}
        for row in self._read("test_result", TestRow):
            test = TestRow(**{**row, "details": json.loads(row["details"] or "{}")})
            found.setdefault(test.address, []).append(test)
        return {a: tuple(sorted(rows, key=lambda t: VARIANTS.index(t.variant))) for a, rows in sorted(found.items())}

    @cached_property
    def _claims(self) -> dict[str, ClaimRow]:
        claims = (ClaimRow(**row) for row in self._read("claim", ClaimRow))
        return {c.address: c for c in sorted(claims, key=lambda c: c.address)}

    @cached_property
    def _dispositions(self) -> dict[str, DispositionRow]:
        return {r["hypothesis"]: DispositionRow(**r) for r in self._read("disposition", DispositionRow)}

    def _read(self, table: str, kind: type) -> Iterable[dict[str, Any]]:
        if self.audit_id is None:
            return []
        columns = ", ".join(f.name for f in fields(kind))
        return self.results.sql(f"SELECT {columns} FROM {table} WHERE audit_id = '{self.audit_id}'").to_dicts()

    def test(self, address: str, variant: str | None = None) -> TestRow | None:
        """The row of a comparison: the variant whose values are independent units, or the one asked for."""
        rows = self._tests.get(address, ())
        return next((r for r in rows if variant in (None, r.variant)), None)

    def tests(self, hypothesis: str) -> tuple[TestRow, ...]:
        """All rows of one hypothesis, the variant to print first."""
        return tuple(r for rows in self._tests.values() for r in rows if r.hypothesis == hypothesis)

    def claim(self, address: str) -> ClaimRow | None:
        """The row of a claim."""
        return self._claims.get(address)

    def claims(self, hypothesis: str) -> tuple[ClaimRow, ...]:
        """All claims of one hypothesis."""
        return tuple(c for c in self._claims.values() if c.hypothesis == hypothesis)

    def disposition(self, hypothesis: str) -> DispositionRow | None:
        """The verdict on a hypothesis."""
        return self._dispositions.get(hypothesis)

    def why_absent(self, address: str) -> str:
        """Why there is no row at ``address``."""
        return NO_AUDIT if self.audit_id is None else f"not in the audit: {address}"


Row = TypeVar("Row", TestRow, ClaimRow)


@dataclass
class Citations:
    """The rows that one table or figure prints, and the addresses at which there was none."""

    audit: AuditRows
    rows: dict[str, TestRow | ClaimRow] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def test(self, address: str) -> TestRow | None:
        """The row of a comparison, from now on cited."""
        return self._cite(address, self.audit.test(address))

    def claim(self, address: str) -> ClaimRow | None:
        """The row of a claim, from now on cited."""
        return self._cite(address, self.audit.claim(address))

    def _cite(self, address: str, row: Row | None) -> Row | None:
        if row is None:
            self.absent[address] = self.audit.why_absent(address)
        else:
            self.rows[address] = row
        return row

    def tests(self) -> list[TestRow]:
        """The comparisons cited so far, in the order in which they were asked for."""
        return [r for r in self.rows.values() if isinstance(r, TestRow)]

    def queries(self) -> tuple[str, ...]:
        """Queries that return the cited rows."""
        tests = [r.test_id for r in self.rows.values() if isinstance(r, TestRow)]
        claims = [r.claim_id for r in self.rows.values() if isinstance(r, ClaimRow)]
        found = (("test_result", "test_id", tests, "comparison, variant"), ("claim", "claim_id", claims, "name"))
        return tuple(
            f"SELECT * FROM {table}\nWHERE {key} IN ({', '.join(repr(i) for i in sorted(ids))})\nORDER BY hypothesis, {order}"
            for table, key, ids, order in found
            if ids
        )

    def warning(self) -> str:
        """What a reader must know: that there is no audit, or that it is older than the data; empty where neither is so."""
        if self.audit.audit_id is None:
            missing = "This database has no audit: what a test would say is absent here until orledger audit has run."
            return missing if self.absent else ""
        stale = self.audit.stale if self.rows else ""
        return f"{stale[:1].upper()}{stale[1:]}." if stale else ""

    def note(self) -> str:
        """One sentence: which rows of which audit are cited; empty where none are."""
        if self.audit.audit_id is None or not self.rows:
            return ""
        hypotheses = ", ".join(sorted({r.hypothesis for r in self.rows.values()}))
        rows = counted(len(self.rows), "row")
        return f"Tests and claims: {rows} of audit {self.audit.audit_id[:12]} ({hypotheses})."
