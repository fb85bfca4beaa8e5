"""A tiny results database in memory, filled by hand, for tests of the audit."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest
from database_copies import copied, save

from orledger.schema import catalogue, viewing
from orledger.schema.reading import Results


@functools.cache
def _empty() -> tempfile.TemporaryDirectory[str]:
    """A folder with a database to which every migration was applied, for as long as the process lives."""
    con = duckdb.connect()
    folder = files("orledger.schema.migrations")
    for name in sorted(p.name for p in folder.iterdir() if p.name.endswith(".sql")):
        con.execute(folder.joinpath(name).read_text(encoding="utf-8"))
    place = tempfile.TemporaryDirectory()
    save(con, Path(place.name) / "empty.duckdb")
    return place


before_forks = _empty  # tests/mutants makes it once, and not for every mutant


INSERTS = (
    "INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, state, reason, n_records, content_hash)"
    " SELECT id, of, block, name, keys::JSON::MAP(VARCHAR, VARCHAR), spec, '1', state, reason, n, hash"
    " FROM (VALUES {}) v(id, of, block, name, keys, spec, state, reason, n, hash)",
    "INSERT INTO record VALUES {}",
    "INSERT INTO refusal SELECT *, NULL FROM (VALUES {})",
)


class HandDatabase:
    """The migrations applied to an in-memory DuckDB, and cells added one by one."""

    def __init__(self) -> None:
        self._con = copied(Path(_empty().name) / "empty.duckdb")
        self._results = Results(Path("in memory"), self._con)
        self._waiting: dict[str, list[tuple[object, ...]]] = {insert: [] for insert in INSERTS}

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The connection, to a database with everything that was added so far: one statement for many rows."""
        for insert, rows in self._waiting.items():
            for start in range(0, len(rows), 200):
                some = rows[start : start + 200]
                places = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
                self._con.execute(insert.format(places), [value for row in some for value in row])
            rows.clear()
        return self._con

    @property
    def results(self) -> Results:
        """The database for reading, its views those of what was added so far."""
        catalogue.complete_all(self.con)
        viewing.refresh(self.con)
        return self._results

    def cell(self, keys, records=(), *, case="t", block="main", state="done", reason=None, refusals=()):
        """Adds a cell; ``records`` are (arm, metric, value), or (arm, metric, value, label, idx)."""
        spec = json.dumps([case, block, keys], sort_keys=True)
        cell_id = hashlib.sha256(spec.encode()).hexdigest()[:24]
        cells, values, refused = self._waiting.values()
        cells.append(
            (cell_id, case, block, spec, json.dumps({k: str(v) for k, v in keys.items()}), spec, state, reason, len(records),
             hashlib.sha256(repr(records).encode()).hexdigest())
        )  # fmt: skip
        for record in records:
            arm, metric, value, label, idx = (*record, None, None)[:5]
            values.append((cell_id, arm, metric, label, idx, value))
        refused += [(cell_id, arm, why) for arm, why in refusals]
        return cell_id

    def splits(self, values, rels=(0, 0.25)):
        """Splits with a few noise levels each; arm a is b plus ``values[split][rel]``."""
        for split, row in enumerate(values):
            for rel, d in zip(rels, row, strict=True):
                self.cell({"split": split, "rel": rel}, [("a", "m", 10 + d), ("b", "m", 10.0)])


@pytest.fixture
def db() -> HandDatabase:
    return HandDatabase()


@pytest.fixture(scope="module")
def module_db() -> HandDatabase:
    """One for all tests of a file, which fill it once and read it."""
    return HandDatabase()
