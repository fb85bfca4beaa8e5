"""``orledger presets`` and ``orledger settings``: what may be run, and every choice behind it."""

from __future__ import annotations

import json
from typing import Any

import click

from orledger.cli_complete import presets as complete
from orledger.cli_options import echo_json, echo_table, json_option


@click.group()
def presets() -> None:
    """List the presets that ship, and what one plans."""


@presets.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the name and purpose of each preset."""
    from orledger.runners.plan import load_preset, preset_names

    rows = [{"preset": name, "purpose": load_preset(name).title} for name in preset_names()]
    echo_json(rows) if as_json else echo_table(rows)


@presets.command()
@click.argument("name", shell_complete=complete)
@json_option
def show(name: str, as_json: bool) -> None:
    """Show how many cells preset NAME (or a .toml file) plans, block by block."""
    from orledger.runners.plan import load_preset, make_plan

    preset = load_preset(name)
    blocks: dict[tuple[str, str], list[int]] = {}
    for job in make_plan(preset):
        for cell in job.cells:
            blocks.setdefault((cell.case, cell.block), [0, 0])[0] += 1
        blocks[job.cells[0].case, job.cells[0].block][1] += 1
    rows = [
        {"case": case, "block": block, "cells": cells, "jobs": jobs} for (case, block), (cells, jobs) in blocks.items()
    ]
    if as_json:
        echo_json({"preset": preset.name, "purpose": preset.title, "blocks": rows})
        return
    click.echo(f"{preset.name}: {preset.title}")
    echo_table(rows, right=("cells", "jobs"))


@click.command()
@click.argument("case", default="all")
@click.option(
    "--preset", default="smoke", show_default=True, shell_complete=complete, help="The preset whose values to show."
)
@click.option("--ours", is_flag=True, help="Only settings that the reproduced work does not give.")
@json_option
def settings(case: str, preset: str, ours: bool, as_json: bool) -> None:
    """List every setting with its value, its meaning, and whether the reproduced work gives it."""
    from orledger.runners.plan import load_preset, package, setting_rows

    if case != "all":
        package(case)  # an unknown case is told, with those that there are

    rows: list[dict[str, Any]] = [
        {"case": c, "setting": name, "value": json.dumps(value), "given": "given" if given else "ours", "meaning": text}
        for c, name, value, given, text in setting_rows(load_preset(preset), None if case == "all" else (case,))
        if not (ours and given)
    ]
    echo_json(rows) if as_json else echo_table(rows)
