"""One look for what commands print: a colour for every kind of verdict and state, and a line that says what is being done."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GOOD, BAD, OPEN = "green", "red", "yellow"
TONES = {
    **dict.fromkeys(("supported", "done", "finished", "matches", "attainable"), GOOD),
    **dict.fromkeys(("refuted", "partially refuted", "failed", "fails", "false as printed", "inconsistent", "impossible"), BAD),
    **dict.fromkeys(("inconclusive", "not enough data", "not testable", "running", "stopped", "another convention", "could not be checked"), OPEN),
}  # fmt: skip


def toned(word: str, text: str | None = None) -> str:
    """``text`` (``word`` itself without it) in the colour of ``word``; a terminal shows it, a file or pipe gets the plain text."""
    low = word.lower()
    colour = TONES.get(low) or next((c for w, c in TONES.items() if low.startswith(w)), None)
    return click.style(text or word, fg=colour, bold=True) if colour else text or word


def strong(text: str) -> str:
    """A heading."""
    return click.style(text, bold=True)


def columns() -> int:
    """How wide lines of text are: as the terminal, at most 100; 100 in a file or pipe."""
    return min(100, shutil.get_terminal_size((100, 24)).columns) if sys.stdout.isatty() else 100


def hanging(text: str, indent: str = "  ") -> str:
    """``text`` indented, on a terminal with its lines under each other; a file or pipe gets one line."""
    if not sys.stdout.isatty():
        return f"{indent}{text}"
    return "\n".join(
        wrap(text, columns(), initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)
    )  # fmt: skip


def heading(name: str, verdict: str, late: bool = False) -> str:
    """The name of a hypothesis as a heading, and its verdict in colour; not the good one where the text came too late to be confirmed."""
    muted = late and TONES.get(verdict.lower()) == GOOD
    return f"{strong(name)}  {click.style(verdict, fg=OPEN, bold=True) if muted else toned(verdict)}"


@contextmanager
def steps(what: str) -> Iterator[Callable[[str], None]]:
    """While inside, a line on the terminal says ``what`` is being made, for how long, and the step it was told last.

    Nothing is shown where standard error is no terminal. What is inside must print nothing.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as shown:
        task = shown.add_task(what, total=None)
        yield lambda doing: shown.update(task, description=f"{what}: {doing}")
