"""``orledger init`` and ``orledger study`` on a results database: the questions, audit and report of a study that it holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orledger.cli_anew import put
from orledger.cli_look import hanging
from orledger.cli_options import echo_json, warn
from orledger.cli_study_again import same_questions
from orledger.cli_studying import as_said, audited, compared, wishes, written
from orledger.errors import UsageError

if TYPE_CHECKING:
    from orledger.audit.importing.asking import Questions
    from orledger.audit.importing.inference import Guess


def database_of(tables: tuple[str, ...]) -> Path | None:
    """The results database that was given in the place of tables; None when tables were."""
    paths = [Path(t) for t in tables if t.endswith((".duckdb", ".ddb"))]
    if paths and len(tables) > 1:
        raise UsageError(
            f"{paths[0]} is a database, and something else was given beside it",
            hint="one database, or tables; orledger db merge joins databases",
        )
    return paths[0] if paths else None


def init_stored(path: Path, said: dict[str, Any], *, as_json: bool, force: bool) -> None:
    """Writes the hypothesis file of a study that the database holds already, and stops."""
    file, reasons = ask(path, said, quiet=as_json, force=force)
    if as_json:
        echo_json({"hypotheses": file, "reasons": reasons})
    else:
        click.echo(f"wrote {file}")


def study_stored(
    path: Path, out: Path | None, said: dict[str, Any], *, amend: bool, force: bool, as_json: bool, **how: Any
) -> None:
    """The audit, tables, figures and report of a study that the database holds already."""
    from orledger.audit.registry.reading import read_hypothesis

    file = questions_of(path, said)
    if file.exists() and not force:
        said = {} if any(v for k, v in said.items() if k != "name") and _as_written(path, said, file) else said
        reasons = as_said(said, [file], "what is asked", quiet=as_json, allowed=("name",))
    else:
        file, reasons = ask(path, said, quiet=as_json, force=force)
    hypothesis = read_hypothesis(file)
    facts = audited(path, hypothesis, amend=amend or force, quiet=as_json)
    folder = path.with_name(f"{file.name.removesuffix('.hypotheses.toml')}-report") if out is None else out
    written(path, folder, {"db": path, "reasons": reasons, **facts}, as_json, title=None, **how)


def questions_of(path: Path, said: dict[str, Any]) -> Path:
    """Where the hypothesis file of a study in the database at ``path`` stands: beside it, under its name or that of the study."""
    return path.with_name(f"{(said['name'] or path.stem).replace('/', '-')}.hypotheses.toml")


def ask(path: Path, said: dict[str, Any], *, quiet: bool, force: bool = False) -> tuple[Path, list[str]]:
    """Writes the questions for a study in the database at ``path``; returns the file and why it asks what it asks."""
    from orledger.audit.importing.stored import AFTER

    file = questions_of(path, said)
    if file.exists() and not force:
        raise UsageError(f"{file} is there already", hint="--force writes over it; orledger study uses it as it is")
    guess, asked = _asked(path, said)
    reasons = [*guess.reasons, *asked.reasons]
    for reason in () if quiet else reasons:
        click.echo(hanging(reason))
    put(file, asked.text)
    warn(AFTER)
    return file, reasons


def _as_written(path: Path, said: dict[str, Any], file: Path) -> bool:
    """Whether what was ``said`` would ask what ``file`` asks: the command is given again, and nothing contradicts it."""
    try:
        return same_questions(_asked(path, said)[1].text, file)
    except UsageError:
        return False


def _asked(path: Path, said: dict[str, Any]) -> tuple[Guess, Questions]:
    """What ``said`` makes of a study in the database at ``path``: how it is understood, and the questions."""
    from orledger.audit.importing.stored import ask_stored
    from orledger.schema.reading import open_results

    for option in ("arm", "keys", "ignore"):
        if said[option]:
            raise UsageError(
                f"--{option.rstrip('s')} is about the columns of a table, and {path} is a database",
                hint="its catalogue says what its numbers are",
            )
    with open_results(path) as results:
        return ask_stored(results, wishes(said), compare=compared(said), control=said["control"])
