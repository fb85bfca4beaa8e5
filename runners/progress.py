"""Telling the user how a run goes: a bar on a terminal, plain lines elsewhere, nothing when asked."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from orledger.wording import counted

if TYPE_CHECKING:
    from orledger.runners.cells import Cell


class Reporter(Protocol):
    """Hears of every stored cell, in the process that stores."""

    def start(self, total: int, title: str) -> None:
        """``total`` cells are about to be computed."""
        ...

    def stored(self, cell: Cell, state: str, detail: str | None) -> None:
        """One cell is committed; ``detail`` is the last line of an error or the reason of a refusal."""
        ...

    def close(self) -> None:
        """No more cells will come."""
        ...


class Silent:
    """Says nothing."""

    def start(self, total: int, title: str) -> None:
        """Nothing."""

    def stored(self, cell: Cell, state: str, detail: str | None) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """A line now and then: every ``every`` seconds, for the last cell, and for whatever did not go well."""

    def __init__(self, stream: TextIO | None = None, every: float = 5.0) -> None:
        self.stream = stream or sys.stderr
        self.every = every
        self.total = self.done = 0
        self.began = self.spoke = 0.0

    def start(self, total: int, title: str) -> None:
        """Says what is to be done."""
        self.total, self.began, self.spoke = total, time.monotonic(), time.monotonic()
        print(f"{title}: {counted(total, 'cell')} to compute", file=self.stream, flush=True)

    def stored(self, cell: Cell, state: str, detail: str | None) -> None:
        """Counts, and speaks when there is something to say."""
        self.done += 1
        if state != "done":
            print(f"{state}: {cell.name}: {detail}", file=self.stream, flush=True)
        now = time.monotonic()
        if self.done == self.total or now - self.spoke >= self.every:
            self.spoke = now
            rate = self.done / max(now - self.began, 1e-9)
            left = duration((self.total - self.done) / rate)
            print(f"{self.done}/{self.total} cells, {rate:.2f} per second, {left} left", file=self.stream, flush=True)

    def close(self) -> None:
        """Nothing is left open."""


class Bar:
    """A progress bar with cells done, rate and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.task: Any = None
        self.began = 0.0
        self.done = 0

    def start(self, total: int, title: str) -> None:
        """Shows the bar."""
        self.began = time.monotonic()
        self.task = self.progress.add_task(title, total=total, rate="")
        self.progress.start()

    def stored(self, cell: Cell, state: str, detail: str | None) -> None:
        """Moves the bar; what did not go well scrolls above it."""
        self.done += 1
        if state != "done":
            self.progress.console.print(f"{state}: {cell.name}: {detail}", markup=False, highlight=False)
        rate = self.done / max(time.monotonic() - self.began, 1e-9)
        self.progress.update(self.task, advance=1, rate=f"{rate:.2f}/s")

    def close(self) -> None:
        """Leaves the bar as it stands."""
        self.progress.stop()


def reporter() -> Reporter:
    """A bar when standard error is a terminal, lines otherwise."""
    return Bar() if sys.stderr.isatty() else Lines()


def duration(seconds: float) -> str:
    """Seconds for people: 0.4s, 12s, 3m 05s, 2h 10m."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
