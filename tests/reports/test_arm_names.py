"""Macros and CSV columns of generic tables are called by the arm that they are about, whatever its rank and its neighbours."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hand_made import made

from orledger.cli import main
from orledger.reports.tables.numbers import macros, numbers_tex
from orledger.reports.tables.render import table_csv, table_metadata
from orledger.reports.tables.table import Column, Table, arm_columns
from orledger.reports.tables.values import Text


def turned(t: Table) -> Table:
    """The same table with its arms, and their values, in the opposite order."""
    groups = tuple(
        replace(g, rows=tuple(replace(r, cells=(r.cells[0], *r.cells[:0:-1])) for r in g.rows)) for g in t.groups
    )
    return replace(t, columns=(t.columns[0], *t.columns[:0:-1]), groups=groups)


def named(t: Table) -> dict[str, tuple[str, str, str]]:
    return {m.name: (m.body, m.place, m.note) for m in macros([t])}


def test_the_order_of_arms_changes_no_name_and_no_number():
    for arms in (["A", "B", "C"], ["A-1", "A1", "A 1"], ["方法一", "方法二"], ["a", "A", "Ab"]):
        t = made(arms, ["d0", "d1"])
        assert named(turned(t)) == named(t)
        assert len(named(t)) == 2 * len(arms)


def test_a_macro_is_named_by_its_arm_and_said_to_be():
    found = named(made(["A", "B"], ["d0"]))
    assert found == {
        "orlTDZeroA": (r"\ensuremath{0}", "table t, row d0, arm A", ""),
        "orlTDZeroB": (r"\ensuremath{0.001}", "table t, row d0, arm B", ""),
    }


@pytest.mark.parametrize("equal", [False, True])
def test_arms_that_letters_cannot_tell_apart_are_told_apart_also_where_their_numbers_are_equal(equal):
    t = made(["A-1", "A1", "B"], ["d0"])
    if equal:
        (row,) = t.rows()
        t = replace(t, groups=(replace(t.groups[0], rows=(replace(row, cells=(row.cells[0], *[row.cells[1]] * 3)),)),))
    found = {place: (name, note) for name, (_, place, note) in named(t).items()}
    dashed, plain = found["table t, row d0, arm A-1"], found["table t, row d0, arm A1"]
    for (name, note), other in ((dashed, "A1"), (plain, "A-1")):
        tag = re.fullmatch("orlTDZeroAOne([A-Z][a-z]{5})", name)[1]
        assert note == f"{tag} tells it from table t, row d0, arm {other}"
    assert dashed[0] != plain[0]
    assert found["table t, row d0, arm B"] == ("orlTDZeroB", "")
    # What else is there changes nothing, and the arm alone has no need of it.
    more = {place: name for name, (_, place, _) in named(made(["A1", "C", "A-1"], ["d0", "d1"])).items()}
    assert more["table t, row d0, arm A1"] == plain[0]
    assert [*named(made(["A1"], ["d0"]))] == ["orlTDZeroAOne"]


def test_a_name_without_letters_is_never_left_out():
    ((name, (_, place, note)),) = named(made(["方法"], ["d0"])).items()
    tag = re.fullmatch("orlTDZero([A-Z][a-z]{5})", name)[1]
    assert (place, note) == ("table t, row d0, arm 方法", f"{tag} stands for what a macro cannot spell")
    text = numbers_tex(macros([made(["方法", "a\nb\u2028\x07c"], ["d0"])]), "f" * 64)
    assert "% table t, row d0, arm 方法\n" in text
    assert "% table t, row d0, arm a b ?c\n" in text.replace("\u2028", " ")
    assert all(line.startswith(("%", "\\newcommand")) for line in text.split("\n")[:-1])


def test_a_row_and_a_column_that_run_together_are_told_apart():
    found = named(made(["B", "A B"], ["d", "d A"]))
    assert len(found) == 4
    assert [n for n in found if n in ("orlTDAB", "orlTDB", "orlTDAAB")] == ["orlTDB", "orlTDAAB"]


def test_a_csv_has_a_column_for_each_arm_and_says_which_is_whose():
    t = made(["=A", "b c", "b_c", "unit", "row"], ["d0"])
    t = replace(t, columns=arm_columns(t.columns[0], [(c.arm, "shown") for c in t.columns[1:]]))
    header, line = csv.reader(io.StringIO(table_csv(t)))
    assert header[:4] == ["group", "row", "unit_", "'=A"]
    assert header[6] == "unit"
    assert len({*header}) == len(header) == len(line)
    assert all(re.fullmatch("b_c_[0-9a-f]{6}", h) for h in header[4:6])
    assert re.fullmatch("row_[0-9a-f]{6}", header[7])
    arms = json.loads(table_metadata(t))["arms"]
    assert arms == dict(zip(header[3:], ["=A", "b c", "b_c", "unit", "row"], strict=True))
    assert "arms" not in json.loads(table_metadata(replace(t, columns=(Column("x", Text("x")),), groups=())))


def test_a_paper_keeps_the_number_of_its_method_when_results_grow(tmp_path, monkeypatch):
    """A leads on nine datasets; on eleven more B does, and every rank changes."""
    monkeypatch.chdir(tmp_path)
    first = "".join(f"d{i},0.80{i},0.79{i},0.70{i}\n" for i in range(9))
    more = "".join(f"d{i},0.80,0.90,0.70\n" for i in range(10, 21))
    numbers = tmp_path / "m-report" / "tables" / "numbers.tex"
    (tmp_path / "p.tex").write_text("\\input{m-report/tables/numbers}\nA: \\orlMResultsDZeroA{}.\n")
    (tmp_path / "q.tex").write_text("\\input{m-report/tables/numbers}\n\\orlMResultsDZeroArmOne{}\n")
    for rows in (first, first + more):
        (tmp_path / "m.csv").write_text(f"dataset,A,B,C\n{rows}")
        done = CliRunner().invoke(main, ["study", "m.csv", "--better", "higher", "--no-pdf"])
        assert done.exit_code == 0, done.output
        wanted = "% table m-results, row d0, arm A\n\\newcommand{\\orlMResultsDZeroA}{\\ensuremath{0.800}}\n"
        assert wanted in numbers.read_text()
    done = CliRunner().invoke(main, ["tables", "--db", "m.duckdb", "--check", "p.tex"])
    assert (done.exit_code, done.output.partition(",")[0]) == (0, "p.tex: 1 macro used")
    done = CliRunner().invoke(main, ["tables", "--db", "m.duckdb", "--check", "q.tex"])
    assert done.exit_code == 6
    assert "undefined  orlMResultsDZeroArmOne" in done.output
