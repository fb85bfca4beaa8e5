"""Options that several commands share, and how they print."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from orledger.cli_complete import databases
from orledger.wording import escaped_json, json_safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.schema.reading import Results
    from orledger.study import Study

NARROWEST = 24  # letters of a column that is folded
ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")


class PlacePath(click.Path):
    """A path on this machine, or the address of a folder or file in an object store."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A Path, or an Address."""
        if not ADDRESS.match(str(value)):
            return super().convert(value, param, ctx)
        from orledger.schema.addresses import parse

        return parse(str(value))


class NumberRange(click.FloatRange):
    """A number between two others: NaN, which no comparison excludes, and what is infinite are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The value as a finite number of the range."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class LocalPath(click.Path):
    """A path on this machine; an address such as s3://bucket/x, which would otherwise become a folder ``s3:``, is refused."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; a usage error for an address."""
        if ADDRESS.match(str(value)):
            self.fail(f"{value} is an address, and a path on this machine is expected", param, ctx)
        return super().convert(value, param, ctx)


db_option = click.option(
    "--db",
    type=LocalPath(),
    default=Path("results.duckdb"),
    envvar="ORLEDGER_DB",
    shell_complete=databases,
    show_default=True,
    show_envvar=True,
    help="The results database.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program to read.")

study_option = click.option(
    "--study",
    "references",
    multiple=True,
    metavar="STUDY",
    help="A study that is not installed: a module path such as mylab.study, or a folder with a study.toml (repeatable).",
)


def chosen_studies(results: Results, references: tuple[str, ...]) -> list[Study]:
    """The studies to show: those that ``references`` name and the installed ones, as far as they have cells here."""
    from orledger import studies

    return studies.present(results, [studies.find(r) for r in references])


@contextmanager
def reading(path: Path, **config: Any) -> Iterator[Results]:
    """The results at ``path``; says on standard error when a snapshot answers."""
    from orledger.schema.reading import open_results

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = open_results(path, **config)
    if results.note:
        warn(results.note)
    with results:
        yield results


def echo_json(value: Any) -> None:
    """``value`` as indented JSON; dates and paths as text, and numbers that JSON has no word for."""
    text = json.dumps(json_safe(value), indent=2, ensure_ascii=False, default=str, allow_nan=False)
    click.echo(escaped_json(text))


def echo_table(rows: list[dict[str, Any]], *, right: tuple[str, ...] = ()) -> None:
    """Rows of equal keys as an aligned table; the columns named in ``right`` are numbers. On a terminal the last column is folded to fit."""
    if not rows:
        return
    names = list(rows[0])
    text = [[_shown(row[n]) for n in names] for row in rows]
    widths = [max(len(n), *(len(line[k]) for line in text)) for k, n in enumerate(names)]
    wide, before = shutil.get_terminal_size().columns, sum(widths[:-1]) + 2 * (len(names) - 1)
    folded = on_terminal() and before + widths[-1] > wide and names[-1] not in right
    indent = before if wide - before >= NARROWEST else 6  # beside the other columns, or below them
    for number, line in enumerate([names, *text]):
        cells = [
            c.rjust(w) if names[k] in right else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))
        ]
        if folded:
            parts = wrap(cells[-1], wide - indent)
            cells[-1] = f"\n{' ' * indent}".join(parts if indent == before else ["", *parts])
        shown = "  ".join(cells).rstrip()
        click.echo(click.style(shown, bold=True) if number == 0 else shown)  # a file or pipe gets the plain text


def warn(message: str) -> None:
    """``message`` as a note on standard error."""
    click.echo(f"note: {message}", err=True)


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
