"""Writes QUESTIONS.md: each open question in words, with the rows that answer it and the query that gives them.

    python docs/results/questions.py open=open.duckdb fair=fair.duckdb paper=paper.duckdb

The numbers are the databases' alone. Words and queries are in questions.toml; a question whose database is not named, or
holds no rows for it, says so. A question with a `figure` gets one: the stored effects of that hypothesis with their intervals.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from orledger.reports.figures.style import BLACK, BLUE, GREY, house_style, save
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


def forest(frame: pl.DataFrame, target: Path) -> None:
    """Write the effects of the tests in `frame` with their intervals as an SVG: filled where the outcome is decided."""
    with house_style():
        panels = frame.partition_by("panel", maintain_order=True)
        sizes = [part.height + 1.5 for part in panels]
        figure = Figure(figsize=(6.3, 0.21 * sum(sizes)))
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=sizes)
        for ax, part in zip(axes[:, 0], panels, strict=True):
            rows = list(part.iter_rows(named=True))[::-1]
            ax.axvline(0, color=BLACK, linewidth=0.6)
            for y, row in enumerate(rows):
                decided = row["outcome"] in ("less", "greater")
                ax.plot([row["low"], row["high"]], [y, y], color=GREY)
                ax.plot(row["effect"], y, "o", color=BLUE, markerfacecolor=BLUE if decided else "white")
            ax.set_yticks(range(len(rows)), [row["comparison"] for row in rows])
            ax.set_ylim(-0.7, len(rows) - 0.3)
            ax.set_title(f"{rows[0]['panel']}: {rows[0]['effect_name']}")
        save(
            figure,
            target,
            title=f"Effects of {frame['hypothesis'][0]}",
            description="Stored effects with their intervals; filled where the outcome is decided",
        )


EFFECTS = """
SELECT hypothesis, comparison, split_part(comparison, '/', 1) AS panel, effect, low, high, outcome, effect_name FROM newest_tests
WHERE hypothesis = ? AND variant IN ('declared', 'blocked') AND effect IS NOT NULL AND low IS NOT NULL ORDER BY comparison"""


def page(paths: Mapping[str, Path], pictures: Path | None = None) -> str:
    """The whole document from the databases by name; its figures are written to the folder `pictures`, or left out."""
    parts = [
        "# What the open questions found",
        "Written by `docs/results/questions.py` from the databases of the presets `open`, `fair` and `paper`. The words are ours; every number "
        "comes from the query below it. Tests, wins and verdicts are rows that `orledger audit` stored; the hypotheses O1 to O4 are in "
        "[open/hypotheses](open/hypotheses), all exploratory.",
    ]
    for name, path in paths.items():
        with open_results(path) as results:
            parts += [f"Cells of `{name}`:", table(results.sql(CELLS))]
    parts.append(
        "The six cells of `perturbation` that are planned and not done belong to further seeds, which an earlier text of the preset asked for. The corpus of `open` "
        "is in [open/corpus](open/corpus); `fair` is not shipped, and `orledger run b --preset fair` computes it in minutes."
    )
    for q in questions():
        parts += [f"## {q['title']}", q["words"].strip()]
        if q["database"] not in paths:
            parts.append(f"The database of the preset `{q['database']}` was not at hand.")
            continue
        with open_results(paths[q["database"]]) as results:
            frame = results.sql(q["sql"])
            if "figure" in q and frame.height and pictures is not None:
                name = f"questions_{q['figure']}.svg"
                forest(results.sql(EFFECTS, [q["figure"]]), pictures / name)
                parts.append(f"![Effects of {q['figure']} with their intervals; filled where decided]({name})")
        parts.append(table(frame) if frame.height else "No rows: what it asks about has not been computed in full.")
        parts.append(f"```sql\n{q['sql'].strip()}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    (HERE / "QUESTIONS.md").write_text(page({name: Path(path) for name, path in given.items()}, HERE), encoding="utf-8")
