"""When a group of cells is committed: by the clock that a test holds, and without a database."""

from __future__ import annotations

import numpy as np
import pytest

from orledger.errors import DatabaseError
from orledger.schema import grouping
from orledger.schema.grouping import LONGEST_WAIT, Groups
from orledger.schema.outcomes import CellOutcome

CELL = CellOutcome("done", columns={"value": np.zeros(3)})


class Store:
    """A writer that remembers what it was given, and refuses cells called bad."""

    def __init__(self):
        self.groups, self.tried = [], 0

    def store_many(self, cells, run_id):
        cells = dict(cells)
        self.tried += 1
        if "bad" in cells:
            raise DatabaseError("a row was refused")
        self.groups.append((sorted(cells), run_id))

    def store(self, cell_id, outcome, run_id):
        self.store_many([(cell_id, outcome)], run_id)


class Turn:
    """A lock that nobody else wants; whoever waits is told to end, or does what ``meanwhile`` says and goes on."""

    def __init__(self, groups):
        self.groups, self.waits, self.told, self.meanwhile = groups, [], 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def wait(self, left):
        self.waits.append(left)
        if self.meanwhile:
            self.meanwhile.pop()()
        else:
            self.groups._closed = True

    def notify(self):
        self.told += 1


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(grouping.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def groups(monkeypatch, clock):
    """Groups whose thread does not run by itself."""
    monkeypatch.setattr(grouping.threading.Thread, "start", lambda _: None)
    monkeypatch.setattr(grouping.threading.Thread, "join", lambda _: None)
    stored = []
    made = Groups(Store(), "run", lambda cell, _: stored.append(cell))
    made._turn = Turn(made)
    made.stored_cells = stored
    return made


def test_the_first_cell_is_committed_at_once_and_the_next_ones_wait(groups, clock):
    groups.add("a", CELL)
    assert groups.writer.groups == [(["a"], "run")]
    clock[0] += LONGEST_WAIT / 2
    groups.add("b", CELL)
    clock[0] += LONGEST_WAIT / 4
    groups.add("c", CELL)
    assert groups.stored_cells == ["a"]
    assert groups._turn.told == 2  # the thread learns that somebody waits
    groups.close()
    assert groups._closed
    assert groups.writer.groups[1:] == [(["b", "c"], "run")]
    assert groups.stored_cells == ["a", "b", "c"]


def test_after_a_quiet_moment_a_cell_is_committed_at_once_again(groups, clock):
    groups.add("a", CELL)
    clock[0] += LONGEST_WAIT
    groups.add("b", CELL)
    assert groups.stored_cells == ["a", "b"]


@pytest.mark.parametrize(
    ("limit", "most", "kept"), [("MOST_CELLS", 3, 2), ("MOST_RECORDS", 7, 2), ("MOST_RECORDS", 6, 1)]
)
def test_a_full_group_does_not_wait(groups, monkeypatch, limit, most, kept):
    """Cells of three records: seven are reached with the third, six with the second."""
    monkeypatch.setattr(grouping, limit, most)
    for name in "xabc"[: kept + 1]:
        groups.add(name, CELL)
    assert groups.stored_cells == ["x"]
    groups.add("last", CELL)
    assert groups.stored_cells == ["x", *"abc"[:kept], "last"]
    assert groups._records == 0


def test_the_thread_waits_as_long_as_the_first_cell_may(groups, clock):
    groups._pending, groups._since = {"a": CELL}, clock[0] - 0.1
    groups._wait_and_commit()
    assert groups._turn.waits == [pytest.approx(LONGEST_WAIT - 0.1)]
    groups._closed, groups._pending = False, {}
    groups._wait_and_commit()
    assert groups._turn.waits[1:] == [None]


def test_the_thread_looks_again_after_it_has_waited(groups, clock):
    groups._pending, groups._since = {"a": CELL}, clock[0]
    groups._turn.meanwhile = [lambda: clock.__setitem__(0, clock[0] + LONGEST_WAIT)]
    groups._wait_and_commit()
    assert groups._turn.waits == [LONGEST_WAIT, None]
    assert groups.stored_cells == ["a"]


def test_the_thread_commits_what_has_waited_long_enough(groups, clock):
    groups._pending, groups._since = {"a": CELL}, clock[0] - LONGEST_WAIT
    groups._wait_and_commit()
    assert groups.stored_cells == ["a"]
    assert groups._turn.waits == [None]  # and then waits for the next one


def test_what_the_thread_could_not_commit_is_raised_once(groups, clock):
    groups._pending, groups._since = {"bad": CELL}, clock[0] - LONGEST_WAIT
    groups._wait_and_commit()
    assert groups._turn.waits == []
    assert groups.writer.tried == 1
    for call in (lambda: groups.add("a", CELL), lambda: groups.alone(lambda: 1)):
        groups._error = groups._error or DatabaseError("a row was refused")
        with pytest.raises(DatabaseError):
            call()
        assert groups._error is None
    assert groups.alone(lambda: 7) == 7


def test_of_a_group_with_a_bad_cell_the_ones_before_it_are_stored(groups):
    groups.add("x", CELL)
    for name in ("a", "b", "bad"):
        groups.add(name, CELL)
    with pytest.raises(DatabaseError):
        groups.close()
    assert groups.stored_cells == ["x", "a", "b"]


def test_nobody_waits_for_the_thread_of_groups_that_were_never_closed(groups):
    assert groups._thread.daemon
