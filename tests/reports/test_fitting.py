"""Names that nobody foresaw on a page and beside an axis: nothing is cut, lost or confused."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from hand_made import LONG as LONG_NAME
from hand_made import made
from hypothesis import given
from hypothesis import strategies as st

from orledger.reports.figures.generic_looks import LONGEST, each_shown
from orledger.reports.tables import latex
from orledger.reports.tables.fitting import LONG, fitted
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
        [f"{LONG_NAME} {k}" if long else f"m{k}" for k in range(arms)],
        [f"data {k}" * (6 if long else 1) for k in range(units)],
    )
    pages = fitted(t)
    assert cells(pages) == cells([t])
    assert sum(len(list(p.rows())) * (len(p.columns) - 1) for p in pages) == arms * units


def test_a_table_that_fits_and_a_table_of_an_author_stay_as_they_are():
    small = made(["ours", "theirs"], ["adult", "bank"])
    assert fitted(small) == [small]
    authored = replace(made([f"{LONG_NAME} {k}" for k in range(20)], ["adult"]), generic=False)
    assert fitted(authored) == [authored]


def test_headings_become_numbers_and_the_key_names_every_arm():
    names = [f"{LONG_NAME} {k}" for k in range(12)]
    first, *_ = fitted(made(names, ["adult", "bank"]))
    assert [plain(c.header) for c in first.columns[1:]] == [str(k) for k in range(1, 13)]
    assert all(f"{k} {name}" in plain(first.notes[0]) for k, name in enumerate(names, 1))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_sets_it_without_cutting_anything(tmp_path):
    units = [f"a_rather_long_name_of_a_dataset_{k}" if k % 5 else f"[{k}] 中文" for k in range(70)]
    t = made([f"{LONG_NAME} {k}" for k in range(14)], units)
    (tmp_path / "t.tex").write_text(latex.table(t), encoding="utf-8")
    (tmp_path / "all.tex").write_text(latex.document([t], "abc"), encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    log = done.stdout.decode("latin-1")
    assert done.returncode == 0, log[-2000:]
    assert [float(pt) for pt in re.findall(r"Overfull \\[hv]box \((\S+?)pt", log) if float(pt) > 20] == []
    assert "Float too large" not in log


def test_a_long_table_of_a_report_goes_on_from_page_to_page():
    few, many = made(["a", "b"], [f"u{k}" for k in range(LONG)]), made(["a", "b"], [f"u{k}" for k in range(LONG + 1)])
    assert latex.table(few, longtable=True) == latex.table(few)
    text = latex.table(many, longtable=True)
    assert (text.count(r"\begin{longtable}"), text.count(r"\begin{table}"), text.count(r"\toprule")) == (1, 0, 2)
    assert text.count(r"\label{tab:t}") == 1
    assert "longtable" not in latex.table(many)
    authored = replace(many, generic=False)
    assert latex.table(authored, longtable=True) == latex.table(authored)
    wide = latex.table(made([f"{LONG_NAME} {k}" for k in range(30)], [f"u{k}" for k in range(200)]), longtable=True)
    panels = wide.count(r"\begin{longtable}")
    assert panels > 1
    assert (wide.count(r"\caption"), wide.count(r"\addtocounter{table}{-1}")) == (1, panels - 1)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_two_hundred_rows_fill_their_pages(tmp_path):
    tables = [
        made(["a", "b"], [f"[u{k}]" for k in range(200)]),
        made([f"m{k}" for k in range(40)], [f"u{k}" for k in range(70)]),
    ]
    tables[1] = replace(tables[1], name="wide")
    body = "".join(latex.table(t, longtable=True) for t in tables)
    (tmp_path / "all.tex").write_text(
        "\\documentclass[10pt]{article}\\usepackage{booktabs}\\usepackage{longtable}\\setlength{\\textheight}{10.1in}\\begin{document}"
        f"{body}\\ref{{tab:wide}}\\end{{document}}",
        encoding="utf-8",
    )
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    for _ in range(3):  # columns settle, then references
        done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode("latin-1")[-2000:]
    aux = (tmp_path / "all.aux").read_text()
    # 200 rows end on the third page, where the second table begins; its panels count as one table.
    assert re.search(r"\\newlabel\{tab:wide\}\{\{2\}\{3\}", aux)


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
