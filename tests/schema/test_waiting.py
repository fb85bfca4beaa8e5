"""Ctrl-C while a query runs, wherever it comes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from orledger.schema.waiting import interruptible


class Deaf:
    """A connection that hears an interruption only when it comes for the ``nth`` time, as before a query has begun."""

    def __init__(self, nth: int) -> None:
        self.left, self.ended = nth, threading.Event()

    def interrupt(self) -> None:
        self.left -= 1
        if self.left <= 0:
            self.ended.set()


@pytest.fixture
def heard() -> Iterator[None]:
    """The key is heard also where the tests are a background job of a shell, which has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("nth", [1, 3])
def test_a_key_ends_the_work_however_early_it_comes(nth: int) -> None:
    con, main = Deaf(nth), threading.main_thread()

    def work() -> bool:
        signal.pthread_kill(main.ident, signal.SIGINT)
        return con.ended.wait(600)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    with pytest.raises(KeyboardInterrupt):
        interruptible(con, work)
    assert con.ended.is_set()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before


def test_work_returns_and_raises_as_it_would_here() -> None:
    assert interruptible(Deaf(1), lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(Deaf(1), lambda: 1 / 0)


def test_another_thread_does_its_own_work() -> None:
    found: list[str] = []
    work = threading.Thread(
        target=lambda: found.append(interruptible(Deaf(1), lambda: threading.current_thread().name))
    )
    work.start()
    work.join()
    assert found == [work.name]
