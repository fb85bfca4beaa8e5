"""The driver: a plan in, cells out, each whole or absent; what is done is skipped, what fails is recorded."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from orledger.errors import OrledgerError, UsageError
from orledger.runners.cells import HASH_VERSION, Cell, Job, Scalar, canonical
from orledger.runners.engines import Done, Engine, Failed, JobFunction, Resources
from orledger.runners.interrupts import Interrupted, Interruptions
from orledger.runners.progress import Reporter, Silent
from orledger.schema.grouping import Groups
from orledger.schema.snapshot import publish_snapshot, remove_snapshot
from orledger.schema.writing import CellOutcome, PlannedCell, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from orledger.schema.catalogue import Catalogue
    from orledger.study import Study

# A snapshot copies the whole database: never let the copying take more than this share of the time.
SNAPSHOT_SHARE = 0.05


@dataclass(frozen=True)
class RunFacts:
    """What is stored about a run besides its cells: see the table ``run``."""

    preset: str
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    host: Mapping[str, Any]
    git_commit: str | None = None
    engine: str = "serial"
    setting_rows: Sequence[tuple[str, str, Any, bool, str]] = ()
    catalogues: Sequence[Catalogue] = ()
    studies: Sequence[Study] = ()  # that are not installed and bring views


@dataclass(frozen=True)
class Summary:
    """How a run ended: cells by state as this run left them, and the signal that stopped it, if one did."""

    run_id: str
    planned: int
    skipped: int
    done: int
    refused: int
    failed: int
    failed_before: int
    refused_before: int
    remaining: int
    seconds: float
    signum: int | None = None

    @property
    def state(self) -> str:
        """The state of the run as stored: finished, incomplete or interrupted."""
        if self.signum is not None:
            return "interrupted"
        return "incomplete" if self.failed or self.failed_before else "finished"


def run_plan(
    jobs: Sequence[Job],
    path: Path,
    engine: Engine,
    fn: JobFunction,
    facts: RunFacts,
    *,
    resources: Resources | None = None,
    retry: Iterable[str] = (),
    reporter: Reporter | None = None,
    snapshot_every: float = 60.0,
    register: Callable[[DuckDBPyConnection], object] | None = None,
) -> Summary:
    """Computes what is missing of ``jobs`` and stores it in the database at ``path``.

    ``retry`` names the states (failed, refused) to compute again. ``register`` is called with the connection before
    the first cell, so that the hypotheses in force are on record before the data. ``snapshot_every`` is in seconds; 0
    publishes no snapshots.
    """
    resources = resources or Resources()
    reporter = reporter or Silent()
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    cells = [cell for job in jobs for cell in job.cells]
    with Interruptions() as signals, Writer(path) as writer:
        with signals.shield():
            for catalogue in facts.catalogues:
                writer.catalogue(catalogue, facts.studies)
            writer.plan([_planned(cell, job) for job in jobs for cell in job.cells])
            if register is not None:  # after the plan: the units that it names are registered with the text
                with writer.transaction() as con:
                    register(con)
            _begin(writer, run_id, facts, resources)
        states = writer.states()
        settled = {"done", "refused", "failed"} - set(retry)
        todo = [job for job in jobs if any(states[c.id] not in settled for c in job.cells)]
        wanted = {c.id for job in todo for c in job.cells if states[c.id] not in settled}
        before = Counter(states[c.id] for c in cells if c.id not in wanted)
        snapshots = _Snapshots(writer, snapshot_every)
        counts: Counter[str] = Counter()
        began = time.monotonic()
        signum = None
        by_id = {cell.id: cell for cell in cells}

        def stored(cell_id: str, outcome: CellOutcome) -> None:
            counts[outcome.state] += 1
            reporter.stored(by_id[cell_id], outcome.state, _detail(outcome))

        reporter.start(len(wanted), facts.preset)
        try:
            with signals.shield():
                snapshots.publish()
            groups = Groups(writer, run_id, stored)
            try:
                with closing(engine.run(todo, fn, resources)) as events:  # type: ignore[type-var]
                    for event in events:
                        if event.cell.id not in wanted:
                            continue  # recomputed only because a neighbour in its job was missing
                        with signals.shield():
                            groups.add(event.cell.id, _outcome(event))
                            if snapshots.due():
                                groups.alone(snapshots.publish)
            finally:
                signals.hold()
                groups.close()
        except Interrupted as stop:
            signum = stop.signum
        except OrledgerError:
            # The engine cannot go on (no cluster at that address, no GPU): the run is over, what was stored stays.
            writer.end_run(run_id, "incomplete")
            snapshots.remove()
            raise
        finally:
            signals.hold()
            reporter.close()
        summary = Summary(
            run_id=run_id,
            planned=len(cells),
            skipped=len(cells) - len(wanted),
            done=counts["done"],
            refused=counts["refused"],
            failed=counts["failed"],
            failed_before=before["failed"],
            refused_before=before["refused"],
            remaining=len(wanted) - counts.total(),
            seconds=time.monotonic() - began,
            signum=signum,
        )
        writer.end_run(run_id, summary.state)
    snapshots.remove()
    return summary


def select(jobs: Sequence[Job], blocks: Sequence[str] = (), only: Sequence[str] = ()) -> list[Job]:
    """The jobs with at least one cell of the given blocks and keys; ``only`` holds ``key=value`` texts.

    Values of one key are alternatives, different keys must all match; numbers are compared as numbers, so that 1e-3 finds
    0.001. A job is taken or left as a whole.
    """
    wanted: dict[str, set[str]] = {}
    for text in only:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--only {text!r}: expected key=value", hint="such as --only seed=0")
        wanted.setdefault(key, set()).add(value)
    cells = [cell for job in jobs for cell in job.cells]
    _require_known("--block", blocks, {c.block for c in cells})
    _require_known("--only", list(wanted), {k for c in cells for k in c.keys})

    def matches(cell: Cell) -> bool:
        if blocks and cell.block not in blocks:
            return False
        return all(k in cell.keys and any(_names(text, cell.keys[k]) for text in v) for k, v in wanted.items())

    chosen = [job for job in jobs if any(matches(cell) for cell in job.cells)]
    if jobs and not chosen:
        raise UsageError(f"no cell matches {' '.join([*blocks, *only])}", hint="orledger run --dry-run lists the cells")
    return chosen


def _names(text: str, value: Scalar) -> bool:
    """Whether a text of the command line means the ``value`` of a key."""
    if text == str(value):
        return True
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    try:
        return not isinstance(value, str) and float(text) == value
    except ValueError:
        return False


def _require_known(option: str, names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"{option} {name}: no such name in this plan", hint=f"known: {', '.join(sorted(known))}")


def _begin(writer: Writer, run_id: str, facts: RunFacts, resources: Resources) -> None:
    writer.begin_run(
        run_id,
        registration_hash=writer.registration_hash(),
        preset=facts.preset,
        settings=dict(facts.settings),
        versions=dict(facts.versions),
        host=dict(facts.host),
        git_commit=facts.git_commit,
        device=resources.device,
        engine=facts.engine,
        jobs=resources.workers,
        threads=resources.threads,
    )
    writer.settings(run_id, facts.setting_rows)


def _planned(cell: Cell, job: Job) -> PlannedCell:
    return PlannedCell(cell.id, cell.case, cell.block, cell.name, cell.keys, canonical(cell.spec), HASH_VERSION, job.id)


def _outcome(event: Done | Failed) -> CellOutcome:
    if isinstance(event, Failed):
        return CellOutcome("failed", error=event.error)
    result = event.result
    if result.state not in ("done", "refused"):
        raise OrledgerError(
            f"{event.cell.name}: a case returned the state {result.state!r}; done and refused are known"
        )
    return CellOutcome(
        state=result.state,
        reason=result.reason,
        seconds=result.seconds,
        backend=result.backend,
        columns=result.columns(),
        refusals=result.refusals,
        facts=result.facts,
        datasets=result.datasets,
        host=event.host,
    )


def _detail(outcome: CellOutcome) -> str | None:
    if outcome.error is not None:
        return outcome.error.strip().splitlines()[-1]
    return outcome.reason


class _Snapshots:
    """Publishes a snapshot when one is due, seldom enough that copying stays a small share of the time."""

    def __init__(self, writer: Writer, every: float) -> None:
        self.writer = writer
        self.every = every
        self.next = 0.0

    def publish(self) -> None:
        if self.every > 0:
            began = time.monotonic()
            publish_snapshot(self.writer.con, self.writer.path)
            now = time.monotonic()
            self.next = now + max(self.every, (now - began) / SNAPSHOT_SHARE)

    def due(self) -> bool:
        return self.every > 0 and time.monotonic() >= self.next

    def remove(self) -> None:
        """Once the writer lets go of the file, the file itself is the newest there is."""
        if self.every > 0:
            remove_snapshot(self.writer.path)
