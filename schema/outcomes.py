"""What is written: a cell as it is planned, what came of it, and both as columns for many cells at once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.errors import DataError
from orledger.schema.hashing import DATASET_COLUMNS, HEAD, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

Columns = dict[str, np.ndarray]
RECORD_COLUMNS = ("arm", "metric", "label", "idx", "value")


@dataclass(frozen=True)
class PlannedCell:
    """A row of ``cell`` before it is computed."""

    cell_id: str
    case: str
    block: str
    name: str
    keys: Mapping[str, Any]
    spec: str
    hash_version: str
    job_id: str | None = None


@dataclass(frozen=True)
class CellOutcome:
    """What came of one cell: ``columns`` holds arm, metric, label, idx (masked) and value, equally long."""

    state: str
    reason: str | None = None
    error: str | None = None
    seconds: float | None = None
    backend: str | None = None
    columns: Mapping[str, np.ndarray] | None = None
    refusals: Sequence[tuple[str, str, float | None]] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    datasets: Sequence[Mapping[str, Any]] = ()
    host: str | None = None

    @property
    def records(self) -> Mapping[str, np.ndarray]:
        """The columns, of length 0 when there are none."""
        return self.columns if self.columns is not None else _no_records()

    def content_hash(self) -> str | None:
        """The hash of all the cell recorded; None for a failed cell, which recorded nothing."""
        if self.state not in ("done", "refused"):
            return None
        return content_hash(self.state, self.reason, self.records, self.refusals, self.facts, self.datasets)


def planned_columns(cells: Sequence[PlannedCell]) -> Columns:
    """The columns of ``cell`` that a plan fills; keys as JSON."""

    def keys(cell: PlannedCell) -> str:
        texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in cell.keys.items()}
        return HEAD.encode(texts)

    return {
        "cell_id": texts(c.cell_id for c in cells),
        "case_name": texts(c.case for c in cells),
        "block": texts(c.block for c in cells),
        "name": texts(c.name for c in cells),
        "keys": texts(map(keys, cells)),
        "spec": texts(c.spec for c in cells),
        "hash_version": texts(c.hash_version for c in cells),
        "job_id": texts(c.job_id for c in cells),
    }


def settled_rows(cells: Mapping[str, CellOutcome], run_id: str | None, now: datetime) -> list[dict[str, Any]]:
    """For each cell, the columns of ``cell`` that its outcome fills."""
    return [
        {
            "cell_id": cell_id,
            "state": outcome.state,
            "reason": outcome.reason,
            "error": outcome.error,
            "seconds": outcome.seconds,
            "backend": outcome.backend,
            "n_records": int(outcome.records["value"].size),
            "content_hash": _hash(cell_id, outcome),
            "run_id": run_id,
            "finished": now,
            "host": outcome.host,
        }
        for cell_id, outcome in cells.items()
    ]


def _hash(cell_id: str, outcome: CellOutcome) -> str | None:
    try:
        return outcome.content_hash()
    except DataError as error:
        raise DataError(f"the cell {cell_id}: {error.message}", hint="nothing of it was stored") from error


def record_columns(cells: Mapping[str, CellOutcome]) -> Columns:
    """The records of all cells, one below the other, with the column cell_id in front."""
    parts = [outcome.records for outcome in cells.values()]
    sizes = [part["value"].size for part in parts]
    joined = {
        name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in RECORD_COLUMNS if name != "idx"
    }
    idx = np.ma.array(
        np.concatenate([np.ma.getdata(part["idx"]) for part in parts]),
        mask=np.concatenate([np.ma.getmaskarray(part["idx"]) for part in parts]),
    )
    return {"cell_id": np.repeat(texts(cells), sizes), **joined, "idx": idx}


def dataset_row(dataset: Mapping[str, Any]) -> list[Any]:
    """The columns of ``dataset`` after its cell, in their order."""
    return [dataset[c] for c in DATASET_COLUMNS]


def texts(values: Iterable[str | None]) -> np.ndarray:
    """An array of objects: DuckDB reads it as VARCHAR."""
    return np.array(list(values), dtype=object)


def _no_records() -> Columns:
    empty = np.empty(0, dtype=object)
    index = np.ma.array(np.empty(0, dtype=np.int32))
    return {"arm": empty, "metric": empty, "label": empty, "idx": index, "value": np.empty(0)}
