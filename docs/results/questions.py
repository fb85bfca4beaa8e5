"""Writes QUESTIONS.md: each open question in words, with the rows that answer it and the query that gives them.

    python docs/results/questions.py open=open.duckdb fair=fair.duckdb paper=paper.duckdb

The numbers are the databases' alone. Words and queries are in questions.toml; a question whose database is not named, or
holds no rows for it, says so.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from orledger.schema.reading import open_results

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

HERE = Path(__file__).parent
CELLS = """
SELECT case_name AS "case", block, count(*) AS planned, count(*) FILTER (state = 'done') AS done,
       count(*) FILTER (state = 'refused') AS refused
FROM cell GROUP BY ALL ORDER BY ALL"""


def questions() -> list[dict[str, str]]:
    """The questions in order, each with title, database, words and sql."""
    return tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))["question"]


def text(value: object) -> str:
    """A number with four significant digits, anything else as it is; nothing for what is absent."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|")


def table(frame: pl.DataFrame) -> str:
    """The frame as a Markdown table."""
    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.width]
    lines += ["| " + " | ".join(text(v) for v in row) + " |" for row in frame.iter_rows()]
    return "\n".join(lines)


def page(paths: Mapping[str, Path]) -> str:
    """The whole document from the databases by name."""
    parts = [
        "# What the open questions found",
        "Written by `docs/results/questions.py` from the databases of the presets `open`, `fair` and `paper`. The words are ours; every number "
        "comes from the query below it. Tests, wins and verdicts are rows that `orledger audit` stored; the hypotheses O1 to O4 are in "
        "[open/hypotheses](open/hypotheses), all exploratory.",
    ]
    for name, path in paths.items():
        with open_results(path) as results:
            parts += [f"Cells of `{name}`:", table(results.sql(CELLS))]
    for q in questions():
        parts += [f"## {q['title']}", q["words"].strip()]
        if q["database"] not in paths:
            parts.append(f"The database of the preset `{q['database']}` was not at hand.")
            continue
        with open_results(paths[q["database"]]) as results:
            frame = results.sql(q["sql"])
        parts.append(table(frame) if frame.height else "No rows: what it asks about has not been computed in full.")
        parts.append(f"```sql\n{q['sql'].strip()}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    (HERE / "QUESTIONS.md").write_text(page({name: Path(path) for name, path in given.items()}), encoding="utf-8")
