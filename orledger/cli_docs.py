"""docs/commands.md, written from the commands themselves by ``make docs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orledger.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = """# The commands

Every command has `--help`. Most take `--db`, which is `results.duckdb` unless `ORLEDGER_DB` says otherwise, and `--json`
for programs. `make docs` writes this page from the commands.

"""


def page() -> str:
    """The help of every command, one section each."""
    root = click.Context(main, info_name="orledger", terminal_width=110, max_content_width=110, **main.context_settings)
    sections = [_section(root, main)]
    for name in main.list_commands(root):
        command = main.get_command(root, name)
        if command is not None:
            sections += [_section(context, inner) for context, inner in _below(root, name, command)]
    return INTRODUCTION + "\n".join(sections)


def _below(parent: click.Context, name: str, command: click.Command) -> Iterator[tuple[click.Context, click.Command]]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=110, max_content_width=110)
    yield context, command
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from _below(context, inner, found)


def _section(context: click.Context, command: click.Command) -> str:
    return f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    click.echo(page(), nl=False)
