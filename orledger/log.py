"""Writing from one's own loop: a study, its cells, and numbers that are on the disk a moment after they are logged.

    with orledger.study("mine", better={"rmse": "lower"}) as s:
        for dataset in datasets:
            cell = s.cell(dataset=dataset, seed=0)
            if "ridge" not in cell:
                cell.log("ridge", rmse=fit(dataset))

What was logged in an earlier session is still there: a cell knows its arms, so a loop that asks skips them. Numbers logged
one after the other share a transaction and are stored within a quarter of a second, whatever the loop does next; the
numbers of one ``log`` are stored together. ``with s.cell(...) as cell:`` stores the whole cell or nothing of it.
"""

from __future__ import annotations

import json
import math
import warnings
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.errors import DataError, Note, UsageError
from orledger.schema.accepted import BEYOND, LARGEST, check_keys, key_text, label_text, text, whole
from orledger.schema.catalogue import Catalogue, Metric
from orledger.schema.frames import frame
from orledger.schema.grouping import Groups
from orledger.schema.outcomes import CellOutcome, PlannedCell
from orledger.schema.writing import Writer
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HASH_VERSION = "log-1"
Place = tuple[str, str, "str | None", "int | None"]  # arm, metric, label, index


class StudyLog:
    """A study that is being written; use it as a context manager. ``better`` gives the direction of metrics."""

    def __init__(
        self,
        name: str,
        db: str | Path = "results.duckdb",
        *,
        block: str = "main",
        better: Mapping[str, str] | None = None,
    ) -> None:
        for said in (better or {}).values():
            if said not in ("lower", "higher"):
                raise UsageError(f"better: {said!r} is neither lower nor higher")
        self.name, self.block, self.path = text(name, "the name of the study"), text(block, "the block"), Path(db)
        self.better = dict(better or {})
        self._cells: dict[tuple[tuple[str, str], ...], LoggedCell] = {}
        self._keys: dict[str, None] = {}  # of all cells
        self._metrics: dict[str, set[str]] = {}
        self._seen: set[str] = set()

    def __enter__(self) -> StudyLog:
        self._writer = _PlanningWriter(self.path)
        try:
            self._load()
        except BaseException:
            self._writer.close()
            raise
        self._groups = Groups(self._writer, None, lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        """Stores what is left, also after an exception: numbers that were logged are numbers."""
        try:
            self._groups.close()
        finally:
            try:
                self._describe()
            finally:
                self._writer.close()

    def __repr__(self) -> str:
        return f"study {self.name}/{self.block} in {self.path}: {counted(len(self._cells), 'cell')}"

    def cell(self, **keys: Any) -> LoggedCell:
        """The cell with these keys, as it is in the database or new."""
        if not keys:
            raise UsageError("a cell needs at least one key", hint="such as cell(dataset='iris', seed=0)")
        check_keys(keys, self._keys)
        named = {k: key_text(v, f"the key {k!r}") for k, v in keys.items()}
        identity = tuple(sorted(named.items()))
        if identity not in self._cells:
            self._cells[identity] = LoggedCell(self, named)
            self._keys |= dict.fromkeys(named)
        return self._cells[identity]

    def flush(self) -> None:
        """Everything logged so far is on the disk when this returns."""
        self._groups.close()
        self._groups = Groups(self._writer, None, lambda *_: None)

    def _note_spelling(self, metrics: Iterable[str]) -> None:
        """A note on a metric that is spelt nearly like one that has a direction: it is stored as another one."""
        for name in metrics:
            close = get_close_matches(name, self.better, 1, 0.7) if name not in self._seen else []
            if close and name not in self.better:
                warnings.warn(
                    Note(f"{name!r} is stored as a metric of its own; did you mean {close[0]!r}?"), stacklevel=4
                )
            self._seen.add(name)

    def _hand_over(self, cell: LoggedCell, metrics: Iterable[tuple[str, str]]) -> None:
        for arm, metric in metrics:
            self._metrics.setdefault(metric, set()).add(arm)
        if cell.id not in self._writer.described:
            self._writer.described[cell.id] = cell.planned()
        self._groups.add(cell.id, cell.outcome())

    def _load(self) -> None:
        """The cells that earlier sessions stored."""
        con, place = self._writer.con, [self.name, self.block]
        where = "WHERE case_name = ? AND block = ?"
        rows = con.execute(f"SELECT cell_id, keys::JSON::VARCHAR, hash_version FROM cell {where}", place).fetchall()
        foreign = next((r for r in rows if r[2] != HASH_VERSION), None)
        if foreign is not None:
            raise DataError(
                f"{self.path}: the study {self.name}/{self.block} was imported or computed by a run",
                hint="log under another name or block",
            )
        by_id: dict[str, LoggedCell] = {}
        for cell_id, keys, _ in rows:
            named = json.loads(keys)
            by_id[cell_id] = self._cells[tuple(sorted(named.items()))] = LoggedCell(self, named)
            self._keys |= dict.fromkeys(named)
        chosen = f"SELECT cell_id FROM cell {where}"
        records = con.sql(
            f"SELECT cell_id, arm, metric, label, idx, value FROM record WHERE cell_id IN ({chosen})", params=place
        )
        for cell_id, *spot, value in frame(records).iter_rows():
            by_id[cell_id].rows[tuple(spot)] = value
        for cell_id, arm, reason in con.execute(
            f"SELECT cell_id, arm, reason FROM refusal WHERE cell_id IN ({chosen})", place
        ).fetchall():
            by_id[cell_id].refusals[arm] = reason

    def _describe(self) -> None:
        """What was logged, in the catalogue of the study."""
        if not self._metrics:
            return
        from orledger.schema import catalogue

        known = {(m.block, m.metric): m for m in catalogue.read(self._writer.con, self.name).metrics}
        found = []
        for name, arms in self._metrics.items():
            before = known.get((self.block, name))
            listed = {*arms, *(before.arms.split(", ") if before else ())}
            indexed = any(p[1] == name and p[3] is not None for c in self._cells.values() for p in c.rows)
            better = self.better.get(name) or (before.better if before else None)
            found.append(
                Metric(
                    self.block, ", ".join(sorted(listed)), name, None, "step" if indexed else None, None, better, name
                )
            )
        self._writer.catalogue(Catalogue(self.name, tuple(found)))


class LoggedCell:
    """One cell of a log: its keys, and the numbers and refusals logged so far."""

    def __init__(self, log: StudyLog, keys: Mapping[str, str]) -> None:
        self.study, self.keys = log, dict(keys)
        self.rows: dict[Place, float] = {}
        self.refusals: dict[str, str] = {}
        self._held: list[tuple[str, str]] | None = None
        self.id = sha256(self._spec().encode()).hexdigest()[:24]

    def __enter__(self) -> LoggedCell:
        self._held, self._before = [], (dict(self.rows), dict(self.refusals))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        held, self._held = self._held or [], None
        if kind is not None:  # nothing of a cell that did not end well
            self.rows, self.refusals = self._before
        else:
            self.study._hand_over(self, held)

    def __contains__(self, arm: object) -> bool:
        return arm in self.arms

    @property
    def arms(self) -> set[str]:
        """The arms that have a number or a refusal here."""
        return {place[0] for place in self.rows} | set(self.refusals)

    def log(
        self,
        arm: str,
        *,
        idx: int | None = None,
        label: str | float | None = None,
        replace: bool = False,
        **metrics: float,
    ) -> LoggedCell:
        """Stores ``metrics`` of ``arm``; the same number again changes nothing, another one needs ``replace``.

        ``idx`` is a whole number. A number as a ``label`` is stored as its text.
        """
        if not metrics:
            raise UsageError(f"nothing to log for {arm!r}", hint="such as log('ridge', rmse=0.5)")
        arm, place = _named(arm, metrics), (label_text(label), whole(idx))
        new = {(arm, metric, *place): self._number(arm, metric, value) for metric, value in metrics.items()}
        self._add(new, replace)
        return self

    def series(
        self, arm: str, *, label: str | float | None = None, replace: bool = False, **metrics: Iterable[float]
    ) -> LoggedCell:
        """Stores curves of ``arm``: one number per index 0, 1, 2, ..."""
        arm, said = _named(arm, metrics), label_text(label)
        new: dict[Place, float] = {
            (arm, metric, said, i): self._number(arm, metric, value)
            for metric, values in metrics.items()
            for i, value in enumerate(values)
        }
        self._add(new, replace)
        return self

    def refuse(self, arm: str, reason: str) -> LoggedCell:
        """``arm`` has no result here, and why; absent, never zero."""
        arm, reason = text(arm, "the arm"), text(reason, f"the reason of {arm!r}", most=None)
        self.refusals[arm] = reason
        self._stored(())
        return self

    def outcome(self) -> CellOutcome:
        """Everything the cell holds."""
        places = list(self.rows)
        texts = {
            name: np.array([p[k] for p in places], dtype=object) for k, name in enumerate(("arm", "metric", "label"))
        }
        idx = np.ma.array(
            [0 if p[3] is None else p[3] for p in places], mask=[p[3] is None for p in places], dtype=np.int32
        )
        value = np.fromiter(self.rows.values(), dtype=float, count=len(places))
        refusals = [(arm, reason, None) for arm, reason in self.refusals.items()]
        return CellOutcome("done", columns={**texts, "idx": idx, "value": value}, refusals=refusals)

    def planned(self) -> PlannedCell:
        """The row of ``cell`` that says what it is."""
        name = "/".join((self.study.name, self.study.block, *self.keys.values()))
        return PlannedCell(self.id, self.study.name, self.study.block, name, self.keys, self._spec(), HASH_VERSION)

    def _add(self, new: Mapping[Place, float], replace: bool) -> None:
        for place, value in new.items():
            if not replace and self.rows.get(place, value) != value:
                arm, metric, label, idx = place
                where = "".join(f", {k} {v}" for k, v in (("label", label), ("index", idx)) if v is not None)
                raise DataError(
                    f"{'/'.join(self.keys.values())}: {metric} of {arm}{where} is {self.rows[place]!r}, and {value!r} was logged",
                    hint="log(..., replace=True) puts it in place of the old one",
                )
        self.study._note_spelling(p[1] for p in new)
        fresh = {p: v for p, v in new.items() if self.rows.get(p) != v}
        if fresh:
            self.rows |= fresh
            self._stored({(p[0], p[1]) for p in fresh})

    def _stored(self, metrics: Iterable[tuple[str, str]]) -> None:
        if self._held is not None:
            self._held += metrics
        else:
            self.study._hand_over(self, metrics)

    def _number(self, arm: str, metric: str, value: Any) -> float:
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            number = math.inf
        except (TypeError, ValueError):
            number = math.nan
        if not abs(number) <= LARGEST:
            beyond = f", {BEYOND}" if math.isfinite(number) else ""
            raise DataError(
                f"{'/'.join(self.keys.values())}: {metric} of {arm} is {value!r}{beyond}",
                hint="log finite numbers; what has none is refuse(arm, reason)",
            )
        return number

    def _spec(self) -> str:
        spec = {"case": self.study.name, "block": self.study.block, "keys": self.keys, "settings": {}}
        return json.dumps(
            {"hash_version": HASH_VERSION, **spec}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )


def _named(arm: Any, metrics: Iterable[str]) -> str:
    """The arm, which like the names of its metrics must be a text that can be stored."""
    for metric in metrics:
        text(metric, "the name of a metric")
    return text(arm, "the arm")


class _PlanningWriter(Writer):
    """A writer that plans a cell when its first numbers come: a log has no plan ahead of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.described: dict[str, PlannedCell] = {}

    def store_many(self, outcomes: Iterable[tuple[str, CellOutcome]], run_id: str | None = None) -> None:
        """The outcomes of several cells in one transaction, those that are new planned in it."""
        batch = list(outcomes)
        with self.transaction():
            self.plan([self.described[cell_id] for cell_id, _ in batch])
            super().store_many(batch, run_id)
