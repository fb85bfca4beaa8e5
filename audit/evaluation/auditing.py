"""The audit of a database: every registered comparison and claim evaluated, every hypothesis disposed of, all of it stored."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.evaluation.claims import ClaimResult, check
from orledger.audit.evaluation.comparisons import Evaluation, evaluate
from orledger.audit.evaluation.dispositions import Decision, decide
from orledger.audit.evaluation.families import correct_families
from orledger.audit.evaluation.history import EarlierLook, with_history
from orledger.audit.evaluation.names import check_names
from orledger.audit.evaluation.sensitivity import Sensitivity, at_coarser_unit, deciding, speaks
from orledger.audit.evaluation.storing import digest, store
from orledger.audit.evaluation.units import UnitReader, layouts
from orledger.audit.registry import known
from orledger.audit.registry.quantities import RecordSource
from orledger.audit.registry.registration import (
    Registration,
    current_registrations,
    register,
    register_descriptions,
    register_shipped,
)
from orledger.audit.registry.words import Registered
from orledger.errors import DataError, QueryRefusedError, VerificationError
from orledger.schema import catalogue, chain, viewing
from orledger.schema.explaining import translated
from orledger.schema.hashing import DATABASE_HASH
from orledger.schema.layouts import identifier
from orledger.schema.objects import StaleViewsError
from orledger.schema.opening import connect, writing
from orledger.schema.reading import open_results
from orledger.schema.sandbox import Limits, require_query
from orledger.schema.steadiness import Looking
from orledger.schema.transactions import transaction
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from orledger.audit.registry.hypotheses import Claim, Comparison, Hypothesis
    from orledger.schema.reading import Results
    from orledger.schema.receipts import Earlier

# Part of every audit id: change it whenever the same inputs may give other rows.
AUDIT_VERSION = "15"

MOST_SPILLED = "64GB"  # of the disk, by the queries of an audit

COPY = "copy of "  # before the name of a view: a temporary table with a part of it


@dataclass(frozen=True)
class AuditFinding:
    """One hypothesis with everything that was found about it; ``decision`` is None where the file only describes.

    ``level`` says in words whether the verdict keeps its level; ``receipt`` is the first one that holds the text and was
    written before any of its cells had an outcome.
    """

    registration: Registration
    hypothesis: Hypothesis
    tests: tuple[Evaluation, ...]
    claims: tuple[ClaimResult, ...]
    decision: Decision | None
    sensitivity: Sensitivity | None
    known: Registered = Registered.BEFORE
    earlier: tuple[EarlierLook, ...] = ()
    remarks: tuple[str, ...] = ()
    level: str = ""
    receipt: Earlier | None = None

    @property
    def after_data(self) -> bool:
        """Whether the first text of the hypothesis was registered after cells were done."""
        return self.registration.parent is None and self.registration.cells_done > 0

    @property
    def late(self) -> bool:
        """Whether support confirms nothing, because the hypothesis is exploratory or came after the data."""
        return self.hypothesis.mode == "exploratory" or self.after_data


@dataclass(frozen=True, repr=False)
class Audit:
    """What one audit found; ``audit_id`` names its rows in the database. Printed, it is what ``orledger audit`` says."""

    audit_id: str
    data_hash: str
    n_cells: int
    n_records: int
    findings: tuple[AuditFinding, ...]

    def __repr__(self) -> str:
        from orledger.audit.evaluation.summary import audit_lines

        return "\n".join(audit_lines(self))


def audit(
    path: Path,
    hypotheses: Sequence[Hypothesis] = (),
    *,
    amend: bool = False,
    unverified: bool = False,
    limits: Limits | None = None,
    now: datetime | None = None,
) -> Audit:
    """Evaluates every current registration on the database at ``path`` and stores the rows; the same inputs give the same rows.

    ``hypotheses`` are registered first. A database without registrations gets those of the studies that have cells in it; the
    dispositions then say that they were registered after the data. Files of theirs that only describe are added where they
    are not registered yet: no verdict rests on them, so that coming after the data does no harm. Whatever a hypothesis file
    says is evaluated on a connection that can only read; it is closed before another one writes the rows, and only if
    nothing changed meanwhile. Names that do not occur in the data are an error before anything is registered or evaluated. A
    database whose chain does not verify gets no verdict, or, with ``unverified``, one that says so.
    """
    limits = limits or Limits.from_environment()
    try:
        _require_names(path, hypotheses)
    except StaleViewsError:  # which every command that writes makes anew
        connect(path, "write").close()
        _require_names(path, hypotheses)
    with writing(path) as con, transaction(con):
        catalogue.complete_all(con, unless_known=True)
        viewing.refresh(con)  # through which the units are counted that a text is registered with
        for h in hypotheses:
            register(con, h, amend=amend, now=now)
        if current_registrations(con):
            register_descriptions(con, now=now)
        else:
            register_shipped(con, now=now)
    with _reading(path) as results:
        broken = [f"{f.rule}: {f.where}, {f.detail}" for f in chain.verify(results.con, checked=True)]
        if broken and not unverified:
            raise VerificationError(
                f"{path} is not as it was recorded, and gets no verdict: {broken[0]}"
                + (f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""),
                hint="orledger verify lists everything; --unverified gives verdicts that say so",
            )
        found = examine(results, limits)
    if broken:
        remark = f"the database is not as it was recorded ({counted(len(broken), 'finding')}): {broken[0]}"
        found = replace(found, findings=tuple(replace(f, remarks=(*f.remarks, remark)) for f in found.findings))
    with writing(path) as con, transaction(con):
        hashes = {r.hash for r in current_registrations(con)}
        if data_state(con)[0] != found.data_hash or hashes != {f.registration.hash for f in found.findings}:
            raise VerificationError(
                f"{path} was changed while it was audited, and nothing was stored", hint="run the audit again"
            )
        store(con, found, now)
    return found


def _require_names(path: Path, hypotheses: Sequence[Hypothesis]) -> None:
    """Refuses what is no query, and names that do not occur in the data."""
    with _reading(path) as results:
        replaced = {h.id for h in hypotheses}
        stored = [r.parsed() for r in current_registrations(results.con) if r.hypothesis not in replaced]
        require_queries(results.con, [*hypotheses, *stored])
        check_names(results, [*hypotheses, *stored])


@contextmanager
def _reading(path: Path) -> Iterator[Results]:
    """The database at ``path`` as its queries see it: read-only, and nothing of the machine around it.

    What a query needs beyond the memory it may use goes to a folder of its own, which is bounded too and removed.
    """
    with tempfile.TemporaryDirectory(prefix="orledger-") as folder, translated(path, read_only=True):
        config = {"temp_directory": folder, "max_temp_directory_size": MOST_SPILLED, "lock_configuration": True}
        with open_results(path, snapshot=False, **config) as results:
            yield results


def require_queries(con: DuckDBPyConnection, hypotheses: Iterable[Hypothesis]) -> None:
    """Refuses a hypothesis whose SQL is not one query each, or may give other rows each time, before it is registered or evaluated."""
    looking: Looking | None = None
    for h in hypotheses:
        parts: tuple[Comparison | Claim, ...] = (*h.comparisons, *h.claims)
        for c in parts:
            with naming(h, c.id):
                for _, q in c.sides:
                    if q.sql is not None:
                        require_query(con, q.sql)
                        looking = looking or Looking(con)
                        looking.require_steady(q.sql)


def examine(results: Results, limits: Limits | None = None) -> Audit:
    """What the current registrations come to on ``results``, which are only read."""
    registrations = current_registrations(results.con)
    for r in registrations:
        if not r.intact():
            raise VerificationError(
                f"the text of {r.hypothesis} is not the one that was registered as {r.hash[:12]}",
                hint="orledger verify names what was changed; restore the database from a copy",
            )
    data_hash, n_cells, n_records = data_state(results.con)
    audit_id = digest(AUDIT_VERSION, data_hash, *sorted(r.hash for r in registrations))
    hypotheses = [r.parsed() for r in registrations]
    copies = _copied(results, hypotheses)
    try:
        ledger = UnitReader(results, copies, limits or Limits())
        findings = tuple(
            with_history(results, find(ledger, r, h), audit_id, data_hash)
            for r, h in zip(registrations, hypotheses, strict=True)
        )
    finally:
        for table in copies.values():
            results.con.execute(f"DROP TABLE IF EXISTS {identifier(table)}")
    return Audit(audit_id, data_hash, n_cells, n_records, findings)


@contextmanager
def naming(hypothesis: Hypothesis, name: str) -> Iterator[None]:
    """Errors of the query or the values behind ``name`` say in which file it stands."""
    try:
        yield
    except (DataError, QueryRefusedError) as error:
        raise type(error)(f"{hypothesis.file}: {name}: {error.message}", hint=error.hint) from error


def find(ledger: UnitReader, registration: Registration, hypothesis: Hypothesis) -> AuditFinding:
    """Tests, claims and disposition of one hypothesis."""
    claims: list[ClaimResult] = []
    evaluated: list[Evaluation] = []
    at_registration = known.stored(ledger.results.con, registration.hash, hypothesis)
    for claim in hypothesis.claims:
        with naming(hypothesis, claim.id):
            claims.append(check(ledger, claim))
    for comparison in hypothesis.comparisons:
        with naming(hypothesis, comparison.id):
            evaluated += evaluate(ledger, comparison, at_registration.get(comparison.id))
    by_claim = {c.claim.id: c for c in claims}
    tests = correct_families(evaluated)
    tests = [replace(e, noise_floor=by_claim[e.comparison.noise].value) if e.comparison.noise else e for e in tests]
    if not hypothesis.decides:
        return AuditFinding(registration, hypothesis, tuple(tests), tuple(claims), None, None)
    first, coarser = deciding(tests), at_coarser_unit(tests)
    decision = decide(hypothesis, first, by_claim)
    # A verdict that no rule gave rests on what all rules ask about.
    asked = decision.evidence or [t.id for r in hypothesis.rules for t in (*r.all, *r.any, *r.none)]
    named = [n for n in dict.fromkeys(asked) if n in first]
    # What the verdict rests on is needed here: a test that cannot decide at the coarser unit is no refutation.
    stricter = replace(hypothesis, needs=tuple(dict.fromkeys((*hypothesis.needs, *named))))
    again = decide(stricter, {**first, **coarser}, by_claim) if any(n in coarser for n in named) else None
    sensitivity = speaks(decision, again, [first[n] for n in named or first], coarser)
    return AuditFinding(registration, hypothesis, tuple(tests), tuple(claims), decision, sensitivity)


def data_state(con: DuckDBPyConnection) -> tuple[str, int, int]:
    """A hash over all cells with their states and contents, the number of cells done, and the number of records."""
    done, records, found = con.execute(
        "SELECT count(*) FILTER (state = 'done'), (SELECT count(*) FROM all_records),"
        f" (SELECT hash FROM ({DATABASE_HASH})) FROM all_cells"
    ).fetchall()[0]
    return str(found), int(done), int(records)


def _copied(results: Results, hypotheses: Iterable[Hypothesis]) -> dict[str, str]:
    """Temporary tables with the arms, labels and metrics that the hypotheses ask of each wide view, by the name of the view."""
    known = layouts(results)
    scalar_views = {layout.name for layout in known.values()}
    asked: dict[str, tuple[Mapping[str, str], list[RecordSource]]] = {}
    for q in (q for h in hypotheses for q in h.quantities):
        layout = known.get((q.case, q.block))
        if layout is None or q.source is None:
            continue
        arms = [RecordSource(arm, q.source.metric, q.source.label) for arm in q.identical] or [q.source]
        for view, columns in ((layout.name, layout.scalars), (layout.series, layout.indexed)):
            if q.source.metric in columns and (q.is_series or view == layout.name):
                asked.setdefault(view, (columns, []))[1].extend([*arms, *([q.divide_by] if q.divide_by else [])])
    series = {layout.series: layout for layout in known.values()}
    for view, (columns, sources) in asked.items():
        wanted = {m: c for m, c in columns.items() if m in {s.metric for s in sources}}
        left_out = ", ".join(identifier(c) for c in columns.values() if c not in wanted.values())
        table = f"(SELECT *{f' EXCLUDE ({left_out})' if left_out else ''} FROM {identifier(view)})"
        if view in series:  # only what has a value is asked for: the records of other metrics need not be grouped
            table = f"({viewing.statements(replace(series[view], indexed=wanted))[view]})"
        rows = " OR ".join(sorted({f"({' AND '.join(s.sql())})" for s in sources}))
        rows += " OR refused IS NOT NULL" if view in scalar_views else ""
        results.con.execute(
            f"CREATE OR REPLACE TEMP TABLE {identifier(COPY + view)} AS SELECT * FROM {table} WHERE {rows}"
        )
    return {view: COPY + view for view in asked}
