"""What is made once is made once, what is slow holds up nobody else, and who waits too long is told."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from orledger.errors import QueryRefusedError
from orledger.explorer.asking import Asking
from orledger.explorer.keeping import Kept
from orledger.explorer.lanes import BusyError, Lane
from orledger.schema.sandbox import Limits, QueryStoppedError

WAIT = 30.0  # seconds after which a test that hangs fails


def test_the_same_is_made_once_and_another_thing_does_not_wait_for_it() -> None:
    kept: Kept[str] = Kept()
    begun, go, made = threading.Event(), threading.Event(), []

    def slow() -> str:
        made.append("slow")
        begun.set()
        assert go.wait(WAIT)
        return "slow"

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(kept.get, "slow", slow) for _ in range(3)]
        assert begun.wait(WAIT)
        assert pool.submit(kept.get, "quick", lambda: "quick").result(WAIT) == "quick"
        assert not any(w.done() for w in waiting)
        go.set()
        assert [w.result(WAIT) for w in waiting] == ["slow"] * 3
    assert made == ["slow"]


def test_errors_and_what_is_not_worth_it_leave_no_trace_and_the_oldest_makes_room() -> None:
    kept: Kept[int] = Kept(2)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    kept.get("b", lambda: 404, lambda made: made == 200)
    assert kept.keys() == []
    for key in ("c", "d", "c", "e"):
        kept.get(key, lambda: 200)
    assert kept.keys() == ["c", "e"]


def test_what_is_kept_weighs_no_more_than_allowed() -> None:
    kept: Kept[str] = Kept(10, len)
    for text in ("aaaa", "bbb", "ccc"):
        kept.get(text, lambda text=text: text)
    assert kept.keys() == ["aaaa", "bbb", "ccc"]  # 10 in all
    kept.get("dd", lambda: "dd")
    assert kept.keys() == ["bbb", "ccc", "dd"]
    assert kept.get("eleven", lambda: "e" * 11) == "e" * 11
    assert kept.keys() == ["bbb", "ccc", "dd"]  # it would push out all the others, and not fit even then
    kept.get("eight", lambda: "e" * 8)
    assert kept.keys() == ["dd", "eight"]
    kept.get("ten", lambda: "t" * 10)
    assert kept.keys() == ["ten"]  # it fits alone


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        ("import time; time.sleep(600)", QueryStoppedError, "its process was ended"),
        ("raise SystemExit", QueryRefusedError, "the process that ran the query ended"),
    ],
)
def test_a_query_that_hears_nothing_ends_its_own_process_alone(
    code: str, error: type[Exception], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orledger.explorer.asking.GRACE", 0.2)
    asking = Asking(1, 5.0, (sys.executable, "-c", code))
    for _ in range(2):  # the turn was given back, and another process takes it
        with pytest.raises(error, match=said):
            asking.ask(tmp_path / "any.duckdb", "SELECT 1", Limits(seconds=0.1 if "sleep" in code else WAIT), 10)
    asking.close()
    with pytest.raises(BusyError, match="is ending"):
        asking.ask(tmp_path / "any.duckdb", "SELECT 1", Limits(), 10)


def test_a_lane_takes_so_many_and_tells_who_waits_too_long() -> None:
    async def scene() -> str:
        lane, go, begun = Lane(1, 0.05), threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            assert go.wait(WAIT)

        async with anyio.create_task_group() as group:
            group.start_soon(lane.run, work)
            await anyio.to_thread.run_sync(begun.wait, WAIT)
            with pytest.raises(BusyError, match=r"no turn within 0\.05 seconds"):
                await lane.run(lambda: "never")
            go.set()
        return await lane.run(lambda: "afterwards")

    assert anyio.run(scene) == "afterwards"
