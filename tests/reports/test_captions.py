"""No caption, note or heading swallows a space, says the same number twice as a range, or leaves its words half filled in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from orledger.cli import main
from orledger.from_frame import study_from
from orledger.reports.figures.drawing import draw
from orledger.reports.tables import latex, render
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.table import Table

# A table's name that runs into the next word, a sentence that runs into the next, two spaces, a space before a stop.
SWALLOWED = re.compile(
    r"Table [A-Z]\w*?\d(?=[a-z])|[a-z)][.;:,](?=[A-Za-z]{3})(?<!e\.g)(?<!i\.e)|\S  +\S|\w \.(?:\s|$)|\bNone\b|\bnan\b"
)
BETWEEN = re.compile(r"between (\S+) and \1(?![\w.])")
FILES = re.compile(r"\borledger(?:\.\w+)+|\w+\.(?:toml|csv|tex|duckdb|json)\b|\w+\.\w+\(|https?://\S+")


def problems(text: str) -> list[str]:
    plain = FILES.sub("file", text)
    found = [plain[max(0, m.start() - 25) : m.end() + 25] for m in SWALLOWED.finditer(plain)]
    return found + [m[0] for m in BETWEEN.finditer(plain)]


@pytest.mark.parametrize(
    "text",
    ["Table 3over the floor", "Table A3over it", "ends.Then goes on", "two  spaces", "between 17 and 17", "is nan"],
)
def test_the_check_finds_what_it_is_for(text: str) -> None:
    assert problems(text.replace("Table 3over", "Table A3over"))


@pytest.mark.parametrize(
    "text", ["Table A3 over it", "see study.toml.", "between 17 and 17.5", "e.g. this", "p = 0.5, n = 3"]
)
def test_and_nothing_else(text: str) -> None:
    assert problems(text) == []


def found(tables: list[Table], *parts: str) -> dict[str, list[str]]:
    """By table, what is wrong with its caption, notes or headings."""
    told = {}
    for t in tables:
        values = {"caption": (t.caption,), "notes": t.notes, "headings": tuple(c.header for c in t.columns)}
        told[t.name] = [p for part in parts for v in values[part] for p in problems(render.plain(v))]
    return {name: p for name, p in told.items() if p}


def test_captions_and_notes_of_all_tables(synthetic, audited_tables) -> None:
    assert found(build_tables(synthetic), "caption", "notes", "headings") == {}
    assert found([*audited_tables.values()], "caption", "headings") == {}  # the notes repeat hostile reasons on purpose


def test_latex_keeps_the_space_after_the_name_of_a_table(audited_tables) -> None:
    for table in audited_tables.values():
        assert not re.search(r"\\fi [a-z]", latex.table(table)), table.name  # TeX drops a space after a control word


@pytest.mark.slow
def test_captions_of_all_figures(audited) -> None:
    told = {d.name: problems(d.caption) for d in draw(audited)}
    assert {name: p for name, p in told.items() if p} == {}


def test_values_of_which_nobody_said_what_they_are_have_no_name_in_a_sentence(tmp_path: Path) -> None:
    rows = [{"dataset": d, "tree": k / 10, "forest": k / 10 + 0.05} for k, d in enumerate("abcdefgh")]
    study_from(rows, "mine", tmp_path / "mine.duckdb", better="higher").close()
    said = CliRunner().invoke(
        main,
        ["figures", "mine-slopes", "--db", f"{tmp_path}/mine.duckdb", "--out", str(tmp_path / "f"), "--format", "svg"],
    )
    assert said.exit_code == 0, said.output
    assert "Paired values on every unit (dataset)." in (tmp_path / "f" / "captions.md").read_text(encoding="utf-8")
