"""Names that nobody foresaw on a page and beside an axis: nothing is cut, lost or confused."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from hand_made import LONG, made
from hypothesis import given
from hypothesis import strategies as st

from orledger.reports.figures.generic_looks import LONGEST, each_shown
from orledger.reports.tables import latex
from orledger.reports.tables.fitting import fitted
from orledger.reports.tables.render import plain
from orledger.reports.tables.table import Table


def cells(tables: list[Table]) -> set[tuple[str, str, str]]:
    """Every number under its row and the key of its column, wherever it is printed."""
    return {
        (r.key, c.key, plain(v))
        for t in tables
        for r in t.rows()
        for c, v in zip(t.columns[1:], r.cells[1:], strict=True)
    }


@pytest.mark.parametrize(("arms", "units"), [(3, 5), (12, 40), (30, 40), (60, 3)])
@pytest.mark.parametrize("long", [False, True])
def test_every_number_is_printed_once_whatever_the_names(arms, units, long):
    t = made(
        [f"{LONG} {k}" if long else f"m{k}" for k in range(arms)],
        [f"data {k}" * (6 if long else 1) for k in range(units)],
    )
    pages = fitted(t)
    assert cells(pages) == cells([t])
    assert sum(len(list(p.rows())) * (len(p.columns) - 1) for p in pages) == arms * units


def test_a_table_that_fits_and_a_table_of_an_author_stay_as_they_are():
    small = made(["ours", "theirs"], ["adult", "bank"])
    assert fitted(small) == [small]
    authored = replace(made([f"{LONG} {k}" for k in range(20)], ["adult"]), generic=False)
    assert fitted(authored) == [authored]


def test_headings_become_numbers_and_the_key_names_every_arm():
    names = [f"{LONG} {k}" for k in range(12)]
    first, *_ = fitted(made(names, ["adult", "bank"]))
    assert [plain(c.header) for c in first.columns[1:]] == [str(k) for k in range(1, 13)]
    assert all(f"{k} {name}" in plain(first.notes[0]) for k, name in enumerate(names, 1))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_sets_it_without_cutting_anything(tmp_path):
    units = [f"a_rather_long_name_of_a_dataset_{k}" if k % 5 else f"[{k}] 中文" for k in range(70)]
    t = made([f"{LONG} {k}" for k in range(14)], units)
    (tmp_path / "t.tex").write_text(latex.table(t), encoding="utf-8")
    (tmp_path / "all.tex").write_text(latex.document([t], "abc"), encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    log = done.stdout.decode("latin-1")
    assert done.returncode == 0, log[-2000:]
    assert [float(pt) for pt in re.findall(r"Overfull \\[hv]box \((\S+?)pt", log) if float(pt) > 20] == []
    assert "Float too large" not in log


def test_names_that_differ_in_the_middle_or_nowhere_near_stay_apart():
    names = [f"A dataset with a rather long descriptive name, number {k} (subset of UCI)" for k in (7, 14, 21)]
    assert [k in s for k, s in zip(("7", "14", "21"), each_shown(names), strict=True)] == [True] * 3
    assert each_shown(["adult", "bank"]) == ["adult", "bank"]


@given(st.lists(st.text("ab ", max_size=80), unique=True, max_size=8))
def test_different_names_are_written_differently(names):
    assert len({*each_shown(names)}) == len(names)
    assert all(len(s) <= LONGEST + 4 for s in each_shown(names))


@pytest.mark.parametrize("name", ["our_method$^2$", r"100% \textbf{best}", r"a\$b$c", "plain"])
def test_a_name_in_a_figure_is_drawn_as_it_is_and_no_formula(name):
    from matplotlib import cbook

    text = each_shown([name])[0]
    assert not cbook.is_math_text(text)
    assert text.replace(r"\$", "$") == name  # what matplotlib does with a text that is no formula
