"""A database with one imported study, and hypothesis files that somebody else might send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from click.testing import CliRunner, Result

from orledger.cli import main

if TYPE_CHECKING:
    from pathlib import Path

MAPPING = """
study = "s"
block = "t"
form = "wide"
keys = ["dataset", "seed"]
[wide]
metric = "m"
arms = ["a", "b", "c"]
[[metric]]
name = "m"
better = "lower"
description = "an error"
"""
HEAD = """
[hypothesis]
id = "X"
title = "t"
mode = "registered"
statement = "s"
[defaults]
case = "s"
block = "t"
metric = "m"
pair = ["dataset", "seed"]
"""
TAIL = """
[disposition]
otherwise = "refuted"
otherwise_reason = "r"
[[disposition.rule]]
verdict = "supported"
reason = "r"
all = ["c {}"]
"""


def run(*words: str | Path, env: dict[str, str] | None = None) -> Result:
    """The command in this process; a traceback is an exception of the result."""
    return CliRunner().invoke(main, [str(w) for w in words], env=env)


def study(folder: Path, rows: int = 8) -> Path:
    """A database with the study: arm a is lower than b by 1, 2, 3, ..., c has no value in the last row."""
    lines = [f"d{k % 4},{k},{10 - k},{11},{'' if k == rows - 1 else 10.5}" for k in range(rows)]
    (folder / "s.csv").write_text("\n".join(["dataset,seed,a,b,c", *lines]) + "\n", encoding="utf-8")
    (folder / "s.mapping.toml").write_text('missing = [""]\n' + MAPPING, encoding="utf-8")
    done = run("import", folder / "s.csv", "--mapping", folder / "s.mapping.toml", "--db", folder / "s.duckdb")
    assert done.exit_code == 0, done.output
    return folder / "s.duckdb"


def comparison(body: str) -> str:
    """A whole hypothesis file around the comparison c."""
    return f'{HEAD}\n[[comparison]]\nid = "c"\ntitle = "t"\n{body}\n{TAIL.format("is less")}'


def claim(body: str) -> str:
    """A whole hypothesis file around the claim c."""
    return f'{HEAD}\n[[claim]]\nid = "c"\nstatement = "s"\n{body}\n{TAIL.format("holds")}'


def query(sql: str) -> str:
    """A hypothesis file whose only claim asks ``sql``."""
    return claim(f"kind = 'measured'\nstat = 'max'\npair = ['k']\nsql = '''{sql}'''")


def computed(path: Path, values: dict[tuple[str, int], dict[str, float | None]], planned: int = 0) -> Path:
    """The study with cells that a run computed here: ``values`` by (dataset, seed) and arm, None where the arm refused.

    ``planned`` further cells were never computed.
    """
    from orledger.schema.writing import CellOutcome, PlannedCell, Writer

    def cell(dataset: str, seed: int) -> PlannedCell:
        return PlannedCell(f"{dataset}/{seed}", "s", "t", f"s/t/{dataset}/{seed}", {"dataset": dataset, "seed": seed}, "{}", "1")  # fmt: skip

    with Writer(path) as writer:
        writer.plan([cell(*unit) for unit in values] + [cell("later", k) for k in range(planned)])
        found = []
        for unit, arms in values.items():
            known = {arm: value for arm, value in arms.items() if value is not None}
            n = len(known)
            columns = {
                "arm": np.array(list(known), dtype=object),
                "metric": np.array(["m"] * n, dtype=object),
                "label": np.array([None] * n, dtype=object),
                "idx": np.ma.array(np.zeros(n), mask=True, dtype=np.int32),
                "value": np.array(list(known.values())),
            }
            refusals = [(arm, "empty set", None) for arm, value in arms.items() if value is None]
            found.append((cell(*unit).cell_id, CellOutcome("done", columns=columns, refusals=refusals)))
        writer.store_many(found)
    return path
