"""What Tab completes in a shell: presets, tables, figures and databases; and ``orledger completion``, which prints the script."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, presets, tables, figures and databases.

    \b
    bash: eval "$(orledger completion bash)" in ~/.bashrc
    zsh:  eval "$(orledger completion zsh)" in ~/.zshrc
    fish: orledger completion fish > ~/.config/fish/completions/orledger.fish
    """
    from click.shell_completion import get_completion_class

    from orledger.cli import main

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "orledger", "_ORLEDGER_COMPLETE").source())


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The presets that begin with what was typed."""
    from orledger.runners.plan import preset_names

    return _beginning(preset_names(), incomplete)


def tables(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The tables of installed studies and of the database at hand that begin with what was typed."""
    from orledger import studies
    from orledger.reports.tables.building import declared, offered
    from orledger.schema.reading import open_results

    names = list(declared())
    if (db := _database(ctx)) is not None:
        with open_results(db) as results:
            names += offered(results, studies.present(results))
    return _beginning(names, incomplete)


def figures(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The figures of installed studies and of the database at hand that begin with what was typed."""
    from orledger.reports.figures.drawing import declared, select
    from orledger.schema.reading import open_results

    names = list(declared())
    if (db := _database(ctx)) is not None:
        with open_results(db) as results:
            names += [spec.name for spec in select(results)]
    return _beginning(names, incomplete)


def databases(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Files that end in .duckdb, and the folders on the way to them."""
    folder, _, start = incomplete.rpartition("/")
    place = Path(f"{folder}/" if incomplete.startswith("/") else folder or ".")
    if not place.is_dir():
        return []
    prefix = f"{folder}/" if "/" in incomplete else ""
    entries = sorted(os.scandir(place), key=lambda e: e.name)
    found = [e for e in entries if e.name.startswith(start) and (start.startswith(".") or not e.name.startswith("."))]
    return [f"{prefix}{e.name}{'/' if e.is_dir() else ''}" for e in found if e.is_dir() or e.name.endswith(".duckdb")]


def _database(ctx: click.Context) -> Path | None:
    """The database of the command line so far, of the environment, or the usual one; None when there is none."""
    path = Path(ctx.params.get("db") or os.environ.get("ORLEDGER_DB") or "results.duckdb")
    return path if path.is_file() else None


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Case does not matter to the commands, and not here."""
    return [n for n in dict.fromkeys(names) if n.lower().startswith(incomplete.lower())]
