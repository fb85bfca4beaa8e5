"""The interactive shell of ``orledger sql``: one statement after the other, with history and completion by readline."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orledger.errors import OrledgerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orledger.schema.describing import TableInfo

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "WITH", "JOIN", "LEFT JOIN", "USING", "DISTINCT",
    "AS", "AND", "OR", "NOT", "NULL", "IS", "IN", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE", "END", "UNION ALL",
    "DESCRIBE", "SUMMARIZE", "SHOW TABLES", "EXPLAIN", "count(*)", "avg(", "median(", "quantile_cont(", "min(", "max(", "sum(",
)  # fmt: skip
HELP = """\
A statement ends with a semicolon and may take several lines. Tab completes names; the arrow keys go through the history.
  .tables          the tables and views
  .schema NAME     the columns of one of them and what they mean
  .format STYLE    how rows are printed from now on: {styles}
  .help            this text
  .quit            or Ctrl-D"""
LONGEST = 1000  # statements kept in the history


class Completer:
    """What Tab offers: names of tables and columns, and the words of SQL; ``words`` is asked again for every line."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = sorted(set(words), key=str.lower)
        self._found: list[str] = []

    def __call__(self, text: str, state: int) -> str | None:
        """The ``state``-th completion of ``text``, as readline asks for them."""
        if state == 0:
            low = text.lower()
            self._found = [w for w in self.words if w.lower().startswith(low)] if low else []
        return self._found[state] if state < len(self._found) else None


def shell(
    name: str,
    styles: tuple[str, ...],
    tables: Callable[[], list[TableInfo]],
    run: Callable[[str, str], None],
    *,
    history: Path | None = None,
) -> None:
    """Reads statements until the end of input, and hands each to ``run`` with the style in use.

    ``tables`` describes the database. An error is printed and the shell goes on; Ctrl-C drops what was typed.
    """
    known = tables()
    _prepare(history, known)
    click.echo(f"{name}; .help for help, .quit or Ctrl-D to leave")
    style, typed = styles[0], ""
    while True:
        try:
            line = input("   ...> " if typed else "sql> ")
        except EOFError:
            click.echo()
            break
        except KeyboardInterrupt:
            click.echo()
            typed = ""
            continue
        if not typed and line.strip().startswith("."):
            word, _, rest = line.strip().partition(" ")
            if word in (".quit", ".exit"):
                break
            style = _command(word, rest.strip(), style, styles, known)
            continue
        typed = f"{typed}\n{line}" if typed else line
        if not typed.strip():
            typed = ""
        elif typed.rstrip().endswith(";"):
            _try(run, typed.rstrip(), style)
            typed = ""
    _keep(history)


def _try(run: Callable[[str, str], None], statement: str, style: str) -> None:
    try:
        run(statement, style)
    except OrledgerError as error:
        click.echo(f"error: {error}", err=True)
    except KeyboardInterrupt:
        click.echo("stopped by Ctrl-C", err=True)


def _command(word: str, rest: str, style: str, styles: tuple[str, ...], known: list[TableInfo]) -> str:
    """Does what a line with a leading dot asks for; the style that holds from now on."""
    if word == ".tables":
        click.echo("\n".join(t.name for t in known))
    elif word == ".schema":
        found = next((t for t in known if t.name.lower() == rest.lower()), None)
        if found is None:
            click.echo(f"no table {rest!r}; .tables lists them", err=True)
        else:
            click.echo(f"{found.name}: {found.comment or ''}".rstrip(": "))
            for column in found.columns:
                click.echo(f"    {column.name}  {column.type.lower()}  {column.comment or ''}".rstrip())
    elif word == ".format" and rest in styles:
        return rest
    elif word == ".format":
        click.echo(f"one of {', '.join(styles)}; now {style}", err=True)
    else:
        click.echo(HELP.format(styles=", ".join(styles)))
    return style


def _prepare(history: Path | None, known: list[TableInfo]) -> None:
    try:
        import readline
    except ImportError:  # a Python without it, as on some Windows: lines are read plainly
        return
    names = [t.name for t in known] + [c.name for t in known for c in t.columns]
    quoted = [n if re.fullmatch(r"[A-Za-z_]\w*", n) else '"' + n.replace('"', '""') + '"' for n in names]
    readline.set_completer(Completer([*quoted, *KEYWORDS]))
    readline.set_completer_delims(" \t\n,();=<>+-*/")
    readline.parse_and_bind("tab: complete")
    if history is not None and history.is_file():
        try:
            readline.read_history_file(history)
        except OSError as error:
            click.echo(f"note: the history cannot be read: {error}", err=True)


def _keep(history: Path | None) -> None:
    if history is None:
        return
    try:
        import readline

        history.parent.mkdir(parents=True, exist_ok=True)
        readline.set_history_length(LONGEST)
        readline.write_history_file(history)
    except (ImportError, OSError) as error:
        click.echo(f"note: the history is not kept: {error}", err=True)


def history_file() -> Path:
    """Where statements are remembered: ORLEDGER_SQL_HISTORY, or a file in the user's state folder."""
    if (given := os.environ.get("ORLEDGER_SQL_HISTORY")) is not None:
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "orledger" / "sql_history"
