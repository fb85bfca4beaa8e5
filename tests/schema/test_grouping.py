"""Group commits: nothing is acknowledged before it is on the disk, and nothing waits for ever."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from orledger.errors import DatabaseError, DataError
from orledger.schema import grouping
from orledger.schema.checking import check
from orledger.schema.grouping import Groups
from orledger.schema.reading import open_results
from orledger.schema.writing import CellOutcome, PlannedCell, Writer


def outcome(value: float = 1.0) -> CellOutcome:
    text = np.array(["a"], dtype=object)
    none = np.array([None], dtype=object)
    idx = np.ma.array(np.zeros(1, dtype=np.int32), mask=[True])
    columns = {"arm": text, "metric": text, "label": none, "idx": idx, "value": np.array([value])}
    return CellOutcome("done", columns=columns, facts={"k": "v"}, refusals=[("shy", "no", None)])


def writer(db: Path, cells: int) -> Writer:
    made = Writer(db)
    made.plan([PlannedCell(f"c{k}", "toy", "main", f"toy/c{k}", {"k": k}, "{}", "1") for k in range(cells)])
    return made


def entries(con: object) -> int:
    return con.execute("SELECT count(*) FROM ledger WHERE kind = 'cells'").fetchall()[0][0]  # type: ignore[attr-defined]


def test_cells_that_arrive_together_share_a_transaction(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "LONGEST_WAIT", 3600.0)
    with writer(db, 50) as w:
        acknowledged: list[str] = []
        groups = Groups(w, None, lambda cell, _: acknowledged.append(cell))
        for k in range(50):
            groups.add(f"c{k}", outcome())
        groups.close()
        assert sorted(acknowledged) == sorted(f"c{k}" for k in range(50))
        assert entries(w.con) == 2  # the first alone, the others when it closes
    report = check(db)
    assert report.findings == ()
    assert (report.cells, report.records) == (50, 50)


def test_what_is_acknowledged_is_on_the_disk(db: Path, tmp_path: Path) -> None:
    """At each acknowledgement the files are copied as a crash would leave them; the copy holds the cell."""
    with writer(db, 6) as w:
        copies = []

        def crash(cell: str, _: CellOutcome) -> None:
            copy = tmp_path / f"{cell}.duckdb"
            shutil.copy(db, copy)
            if (log := db.with_name(f"{db.name}.wal")).exists():
                shutil.copy(log, copy.with_name(f"{copy.name}.wal"))
            copies.append((cell, copy))

        groups = Groups(w, None, crash)
        for k in range(6):
            groups.add(f"c{k}", outcome())
        groups.close()
    assert len(copies) == 6
    for cell, copy in copies:
        Writer(copy).close()  # what a next run does first: the log goes into the file
        with open_results(copy) as results:
            assert cell in set(results.sql("SELECT cell_id FROM cell WHERE state = 'done'")["cell_id"])


def test_a_cell_is_committed_while_the_next_one_is_computed(db: Path) -> None:
    """The second cell follows the first at once and would wait for a third that never comes: the thread commits it."""
    with writer(db, 3) as w:
        seen = {f"c{k}": threading.Event() for k in range(2)}
        groups = Groups(w, None, lambda cell, _: seen[cell].set())
        groups.add("c0", outcome())
        groups.add("c1", outcome())
        assert all(event.wait(60) for event in seen.values())
        assert groups.alone(lambda: entries(w.con)) == 2
        groups.close()


@pytest.mark.parametrize("limit", ["MOST_CELLS", "MOST_RECORDS"])
def test_a_full_group_is_committed_at_once(db: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(grouping, limit, 4)
    monkeypatch.setattr(grouping, "LONGEST_WAIT", 3600.0)
    with writer(db, 9) as w:
        groups = Groups(w, None, lambda *_: None)
        for k in range(9):
            groups.add(f"c{k}", outcome())
        assert entries(w.con) == 3  # the first alone, then two full groups
        groups.close()


def test_a_cell_that_is_refused_takes_no_other_with_it(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "LONGEST_WAIT", 3600.0)
    with writer(db, 5) as w:
        groups = Groups(w, None, lambda *_: None)
        for k in range(4):
            groups.add(f"c{k}", outcome())
        groups.add("c4", outcome(float("nan")))
        with pytest.raises(DatabaseError, match="a row was refused"):
            groups.close()
        assert w.states() == {"c0": "done", "c1": "done", "c2": "done", "c3": "done", "c4": "planned"}
    assert check(db).findings == ()


def test_what_comes_after_a_cell_that_cannot_be_stored_is_stored(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "LONGEST_WAIT", 3600.0)
    told = []
    with writer(db, 5) as w:
        groups = Groups(w, None, lambda cell_id, _: told.append(cell_id))
        groups.add("c0", outcome())
        groups.add("c1", CellOutcome("refused", reason="\ud800"))
        groups.add("c2", outcome())
        groups.add("c3", outcome(float("nan")))
        groups.add("c4", outcome())
        with pytest.raises(DataError, match=r"the cell c1: .* cannot be stored"):
            groups.close()
        assert told == ["c0", "c2", "c4"]
    assert check(db).findings == ()


def test_what_goes_wrong_in_the_background_is_raised_by_the_next_call(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "LONGEST_WAIT", 3600.0)
    with writer(db, 3) as w:
        groups = Groups(w, None, lambda *_: None)
        groups.add("c0", outcome())
        groups.add("c1", outcome(float("inf")))
        monkeypatch.setattr(grouping, "LONGEST_WAIT", 0.0)
        with groups._turn:
            groups._turn.notify()
        groups._thread.join(60)
        assert not groups._thread.is_alive()
        with pytest.raises(DatabaseError, match="a row was refused"):
            groups.add("c2", outcome())
        groups.close()
        assert w.states()["c0"] == "done"
