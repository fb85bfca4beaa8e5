"""Every cell of the generic tables, on a study small enough to be written down: values, ranks and rows of the audit by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hand_made import Told, row

from orledger.reports.audit_rows import ClaimRow, DispositionRow, TestRow
from orledger.reports.generic import IMPORTED, Values
from orledger.reports.origin import Records
from orledger.reports.tables.fitting import NARROWEST, WIDTH
from orledger.reports.tables.format import Style, fixed, significant
from orledger.reports.tables.generic import PART, interval_of, number_style, result_table, summary_table
from orledger.reports.tables.generic_tests import claim_table, disposition_table, pair_table, refusal_table
from orledger.reports.tables.generic_tests import test_table as table_of_tests
from orledger.reports.tables.render import plain
from orledger.reports.tables.table import PrintSize, Table
from orledger.reports.tables.values import Absent

NAN = np.nan
# u1: b and c tie behind a. u2: c has no value. u3: b, a, c.
MATRIX = [[0.10, 0.20, 0.20], [0.30, 0.10, NAN], [0.50, 0.40, 0.60]]


def ranks(arms: str, **changes: object) -> TestRow:
    """Mean ranks k + 1/4 of the k-th arm, with a half to either side."""
    at = {a: k + 0.25 for k, a in enumerate(arms, 1)}
    low, high = ({a: r + d for a, r in at.items()} for d in (-0.5, 0.5))
    details = {"mean_ranks": at, "mean_rank_low": low, "mean_rank_high": high}
    plainly = {"test": "mean_ranks", "comparison": "ranks", "p": None, "n": 12, "details": details, "level": 0.9}
    return row(**{**plainly, "interval_method": "drawn again", **changes})


class Small(Told):
    """A subject of given values; ``single`` rows are found by their arm."""

    def __init__(self, matrix, arms="abc", pairs=None, ranking=None, single=None, *, imported=0, short=()):
        super().__init__(arms, pairs or {}, ranking)
        self.better, self.layout = "lower", SimpleNamespace(case="k")
        self.repeats, self.described = (), ""
        self.results = SimpleNamespace(sql=lambda query: pl.DataFrame({"n": [imported if "'k'" in query else -1]}))
        self.audit = SimpleNamespace(why_absent=lambda what: f"not in the audit: {what}")
        x = np.array(matrix, dtype=float)
        units = tuple(f"u{i}" for i in range(1, len(x) + 1))
        there = [(u, a, f"{u}{a}{r}") for i, u in enumerate(units) for j, a in enumerate(arms) if not np.isnan(x[i, j])
                 for r in range(1 if (u, a) in short else 2)]  # fmt: skip
        records = pl.DataFrame(there, schema=["unit", "arm", "cell_id"], orient="row")
        self.values = Values(units, tuple(arms), x, records)
        self.labels = {"a": "Alpha"}
        self.sides = {r.comparison: tuple(r.comparison) for r in self.tests}
        for (test, arm), found in (single or {}).items():
            self.tests = (*self.tests, found)
            self.sides[found.comparison] = (arm,)
            assert found.test == test

    def why(self, unit, arm):
        return f"{arm} has nothing on {unit}"


def printed(table: Table) -> list[list[str]]:
    return [[plain(c) for c in r.cells] for g in table.groups for r in g.rows]


def bold(table: Table) -> list[list[int]]:
    """The places of the bold cells of each row."""
    return [[j for j, c in enumerate(r.cells) if c.bold] for g in table.groups for r in g.rows]


def keys(table: Table) -> list[str]:
    return [c.key for c in table.columns]


# ---- results ------------------------------------------------------------------------------------------------------------


def test_values_stand_with_their_ranks_and_end_with_mean_ranks():
    subject = Small(MATRIX, ranking=ranks("bac"))
    subject.ordered = ("b", "a", "c")
    table = result_table(subject)
    assert printed(table) == [
        ["u1", "0.200 (2.5)", "0.100 (1)", "0.200 (2.5)"],
        ["u2", "0.100 (1)", "0.300 (2)", "–"],
        ["u3", "0.400 (1)", "0.500 (2)", "0.600 (3)"],
        ["mean rank", "1.25", "2.25", "3.25"],
        ["90% interval", "[0.75, 1.75]", "[1.75, 2.75]", "[2.75, 3.75]"],
    ]
    assert bold(table) == [[2], [1], [1], [1], []]
    absent = table.groups[0].rows[1].cells[3]
    assert isinstance(absent, Absent)
    assert absent.reason == "c has nothing on u2"
    assert [(c.key, plain(c.header), c.align) for c in table.columns] == [
        ("unit", "dataset", "l"), ("b", "b", "r"), ("a", "Alpha", "r"), ("c", "c", "r")
    ]  # fmt: skip
    assert table.title == "Results, m by dataset"
    assert [len(g.rows) for g in table.groups] == [3, 2]
    assert [[getattr(c, "italic", False) for c in r.cells] for r in table.groups[1].rows] == [[True, *[False] * 3]] * 2


def test_without_a_unit_there_is_one_part_with_the_ranks():
    table = result_table(Small(np.empty((0, 2)), "ab", ranking=ranks("ab")))
    assert [r[0] for r in printed(table)] == ["mean rank", "90% interval"]
    assert table.title == "Results, m by dataset"


def test_a_value_comes_from_its_own_records_and_its_rank_from_those_of_the_unit():
    cell = result_table(Small(MATRIX)).groups[0].rows[1].cells[1]
    frames = [p.frame for p in cell.origin.parts if isinstance(p, Records)]
    assert sorted(f.height for f in frames) == [2, 4]
    assert all(set(f["unit"]) == {"u2"} for f in frames)


def test_ranks_that_the_audit_lacks_are_absent_or_blank():
    ranking = ranks("ab", level=None)
    subject = Small(MATRIX, ranking=ranking)
    last = result_table(subject).groups[1]
    assert [[plain(c) for c in r.cells] for r in last.rows] == [
        ["mean rank", "1.25", "2.25", "–"],
        ["95% interval", "[0.75, 1.75]", "[1.75, 2.75]", ""],
    ]
    assert last.rows[0].cells[3].reason == "not in the audit: the mean rank of c in H"
    assert len(result_table(Small(MATRIX)).groups) == 1


@pytest.mark.parametrize(("units", "parts"), [(PART, 1), (PART + 1, 2)])
def test_many_units_go_on_in_further_parts(units, parts):
    subject = Small(np.arange(2.0 * units).reshape(-1, 2), "ab", ranking=ranks("ab"))
    made = [result_table(subject, k) for k in range(1, parts + 1)]
    shown = [r.key for t in made for r in t.groups[0].rows]
    assert shown == list(subject.values.units)
    assert [len(t.groups) for t in made] == [1] * (parts - 1) + [2]
    ends = [t.title.partition(", part ")[2] for t in made]
    assert ends == ([""] if parts == 1 else ["1 of 2", "2 of 2"])


@pytest.mark.parametrize(("count", "rank", "size"), [(6, " (1)", ("footnotesize", 4.0)), (7, "", ("scriptsize", 3.0))])
def test_beside_many_arms_there_is_no_room_for_ranks(count, rank, size):
    arms = "abcdefg"[:count]
    table = result_table(Small([range(count)], arms, ranking=ranks(arms)))
    assert printed(table)[0][1] == f"0{rank}"
    assert [r[0] for r in printed(table)[1:]] == ["mean rank", *(["90% interval"] if rank else [])]
    assert ("Ranks within a row" in plain(table.caption)) == bool(rank)
    assert table.layout == PrintSize(*size)


def test_a_style_that_is_asked_for_is_used():
    assert printed(result_table(Small([[1.0, 2.0]], "ab"), style=fixed(1)))[0] == ["u1", "1.0 (1)", "2.0 (2)"]


def test_the_caption_says_what_was_averaged_and_where_runs_are_missing():
    subject = Small(MATRIX, short={("u1", "a")})
    subject.better, subject.described = "higher", "Time to the end."
    assert plain(result_table(subject).caption) == (
        "Time to the end. Higher is better, the best of a row in bold. Ranks within a row in brackets."
    )
    subject.repeats, subject.described = ("seed",), "m"
    assert plain(result_table(subject).caption) == (
        "Higher is better, the best of a row in bold. Values are means over seed. Means of fewer runs than other arms"
        " have there: Alpha on u1 (1 of 2). Ranks within a row in brackets."
    )
    many = Small(np.ones((7, 2)), "ab", short={(f"u{i}", "b") for i in range(1, 8)})
    many.repeats = ("seed",)
    assert [f"b on u{i} (1 of 2)" in plain(result_table(many).caption) for i in range(1, 8)] == [True] * 5 + [False] * 2
    over = Small(MATRIX, ranking=ranks("abc", n=2, test="friedman"))
    assert plain(result_table(over).caption).endswith(
        "in brackets. Mean ranks are over the 2 units that have every arm (1 lacks one)."
    )


@pytest.mark.parametrize(("imported", "notes"), [(0, []), (3, [IMPORTED])])
def test_only_of_imported_results_it_is_said_that_they_were(imported, notes):
    assert [plain(n) for n in result_table(Small(MATRIX, imported=imported)).notes] == notes


# ---- summary ------------------------------------------------------------------------------------------------------------


def one(test: str, arm: str, effect: float | None, **changes: object) -> tuple[tuple[str, str], TestRow]:
    ends = {} if effect is None else {"low": effect - 0.05, "high": effect + 0.05}
    fields = {
        "test": test,
        "comparison": f"{test} of {arm}",
        "test_id": f"{test[0]}{arm}",
        "effect": effect,
        "p": None,
        "n": 3,
    }
    return (test, arm), row(**{**fields, **ends, **changes})  # fmt: skip


def test_the_summary_has_medians_ranks_and_runs():
    singles = dict([
        one("median", "a", 0.30, n=3, interval_method="of order"),
        one("median", "b", 0.20, n=2, level=0.75),
        one("interquartile_mean", "a", 0.35, details={"fewest_runs_per_unit": 2}, interval_method="redrawn"),
        one("interquartile_mean", "b", None, details={"fewest_runs_per_unit": 9}, method="too few", outcome="measured"),
    ])  # fmt: skip
    table = summary_table(Small(MATRIX, ranking=ranks("ab"), single=singles, pairs={"ab": row(comparison="ab")}))
    assert keys(table) == ["arm", "n", "median", "median interval", "rank", "rank interval", "iqm", "iqm interval"]
    assert [plain(c.header) for c in table.columns[1:]] == [
        "units", "median", "interval", "mean rank", "interval", "IQM", "interval"
    ]  # fmt: skip
    assert printed(table) == [
        ["Alpha", "3", "0.300", "[0.250, 0.350]", "1.25", "[0.75, 1.75]", "0.350", "[0.300, 0.400]"],
        ["b", "2", "0.200", "[0.150, 0.250]", "2.25", "[1.75, 2.75]", "–", ""],
        ["c", "–", "–", "", "–", "", "–", ""],
    ]
    assert bold(table) == [[], [2], []]
    reasons = {c.reason for g in table.groups for r in g.rows for c in r.cells if isinstance(c, Absent)}
    assert reasons == {
        "measured in the audit: too few",
        *(f"not in the audit: the {w} of c in H" for w in ("median", "mean rank", "interquartile mean")),
    }
    assert plain(table.caption) == (
        "Every arm over its units, best mean rank first; lower m is better. Intervals: medians: of order, 75.0% to 95.0%;"
        " mean ranks: drawn again, 90.0%, about further units like these; interquartile means (IQM): redrawn, 95.0%, about"
        " new runs on these units and no others. With 2 runs to a unit a bootstrap interval is too short."
    )
    ids = ["t", "ma", "mb", "ia", "ib"]
    assert table.queries == (
        f"SELECT * FROM test_result\nWHERE test_id IN ({', '.join(map(repr, ids))})\nORDER BY comparison, variant",
    )


def test_a_summary_without_runs_and_ranks_has_no_columns_and_words_for_them():
    table = summary_table(Small(MATRIX))
    assert keys(table)[-1] == "rank interval"
    assert plain(table.caption) == "Every arm over its units, best mean rank first; lower m is better. "
    assert table.queries == ()
    assert [r[4:] for r in printed(table)] == [["–", ""]] * 3
    ranked = summary_table(Small(MATRIX, ranking=ranks("abc", interval_method="", n=2)))
    assert plain(ranked.caption).startswith(
        "Every arm over its units, best mean rank first over the 2 units that have every arm (1 lacks one); lower m is better."
        " Intervals: mean ranks: , 90.0%, about further units like these. Over 2 units"
    )


@pytest.mark.parametrize(
    ("tests", "better", "best"), [
        ((), "lower", 1), ((), "higher", 0), (("sign",), "lower", None), (("sign", "sign"), "lower", None), (("sign", "signed_rank"), "lower", 1)
    ]
)  # fmt: skip
def test_no_median_is_the_best_where_units_have_scales_of_their_own(tests, better, best):
    pairs = {f"{a}{b}": row(comparison=a + b, test=t) for (a, b), t in zip(("ab", "ac"), tests, strict=False)}
    subject = Small(MATRIX, pairs=pairs, single=dict([one("median", "a", 0.3), one("median", "b", 0.2)]))
    subject.better = better
    assert bold(summary_table(subject)) == [[2] if i == best else [] for i in range(3)]


# ---- numbers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "style"), [
        ([], fixed(3)), ([NAN, np.inf], fixed(3)), ([0.0], fixed(3)), ([10.0], fixed(3)), ([10.1], fixed(2)), ([-100.0, NAN], fixed(2)),
        ([100.1, 1.0], fixed(1)), ([1000.0], fixed(1)), ([1000.1], fixed(0)), ([0.0, 1.0], fixed(3)), ([1.0, 1e4], fixed(0)),
        ([1.0, 10001.0], significant(3)), ([1e-5, 1.0, 0.0], significant(3)),
    ]
)  # fmt: skip
def test_decimals_tell_the_values_apart(values: list[float], style: Style):
    assert number_style(np.array([values])) == style


@pytest.mark.parametrize(
    ("values", "decimals"), [([82.9, 80.0, NAN], 1), ([82.0, -3.0], 0), ([0.8, 0.75], 2), ([0.1 + 0.2], 3), ([1e-3, 2.0], 3), ([1e-4, 0.5], 3), ([], 0)]
)  # fmt: skip
def test_values_as_given_have_no_more_decimals_than_the_longest(values, decimals):
    assert number_style(np.array([values]), given=True) == fixed(decimals)
    assert number_style(np.array([[1e-5, 1.0]]), given=True) == significant(3)


def test_single_values_are_printed_as_given_and_means_are_not():
    x = [[82.9, 80.5], [81.0, 83.7]]
    every = {(u, a) for u in ("u1", "u2") for a in "ab"}
    assert printed(result_table(Small(x, "ab", short=every)))[:2] == [
        ["u1", "82.9 (2)", "80.5 (1)"],
        ["u2", "81.0 (1)", "83.7 (2)"],
    ]
    assert printed(result_table(Small(x, "ab")))[0] == ["u1", "82.90 (2)", "80.50 (1)"]


@pytest.mark.parametrize(
    ("ends", "shown"), [
        ({"low": 1.0, "high": 2.0}, "[1.0, 2.0]"), ({"low": 1.0, "high": 2.0, "interval_ends": "(]"}, "(1.0, 2.0]"),
        ({"low": 1.0, "high": 2.0, "interval_ends": ""}, "[1.0, 2.0]"), ({"low": 1.0, "high": None}, "at least 1.0"),
        ({"low": None, "high": 2.0}, "at most 2.0"), ({"low": None, "high": None}, ""), ({"low": 1.0, "high": 2.0, "level": 0.0}, "–"),
        ({"low": 1.0, "high": 2.0, "level": 1.0}, "[1.0, 2.0]"),
    ]
)  # fmt: skip
def test_intervals_show_the_ends_they_have(ends, shown):
    assert plain(interval_of(row(**ends), fixed(1))) == shown


# ---- pairs and tests ----------------------------------------------------------------------------------------------------


def test_pairs_show_the_corrected_p_and_who_is_better():
    pairs = {
        "ab": row(comparison="ab", p=0.001, p_holm=0.02, floor=0.02, outcome="greater", n=8, alpha=0.1),
        "ac": row(comparison="ac", p=0.3, p_holm=None, floor=0.3, n=5, side="less", test="sign"),
        "cd": row(comparison="cd", p=None, n=10, outcome="missing", method="none"),
    }
    table = pair_table(Small([range(5)], "abcde", pairs=pairs))
    assert keys(table) == ["arm", "a", "b", "c", "d"]
    assert [plain(c.header) for c in table.columns] == ["", "Alpha", "b", "c", "d"]
    # Lower is better and the values of a are greater. The one-sided test has one direction.
    assert printed(table) == [
        ["Alpha", "", "0.020 (−)", "0.30†", ""],
        ["b", "0.020 (+)", "", "", ""],
        ["c", "", "", "", "–"],
        ["d", "", "", "–", ""],
    ]
    assert bold(table) == [[2], [1], [], []]
    # A corrected p has no floor of its own.
    assert [c.fields()["floor"] for c in table.groups[0].rows[0].cells[2:4]] == [0.0, 0.3]
    reasons = {(i, j): c.reason for i, r in enumerate(table.groups[0].rows) for j, c in enumerate(r.cells) if isinstance(c, Absent)}  # fmt: skip
    assert reasons == dict.fromkeys([(2, 4), (3, 3)], "missing in the audit: none")
    assert plain(table.caption) == (
        "Two-sided or one-sided (the first arm has the lower values) p of the signed rank or sign test of each pair over the 5 to"
        " 10 units that have both arms, Holm's correction over the family. Bold: a difference at 0.1; (+) where the arm of the"
        " row is better, (−) where it is worse. Empty places: what the hypotheses do not ask for."
    )
    assert table.layout == PrintSize("footnotesize", 3.0)
    equal = pair_table(Small([[1.0, 2.0]], "ab", pairs={"ab": row(n=8)}))
    assert "over 8 units, no correction" in plain(equal.caption)


@pytest.mark.parametrize(("arms", "size"), [("abcdef", "footnotesize"), ("abcdefg", "scriptsize")])
def test_pairs_of_many_arms_are_printed_smaller(arms, size):
    pairs = {f"{x}{y}": row(comparison=f"{x}{y}") for x, y in combinations(arms, 2)}
    assert pair_table(Small([range(len(arms))], arms, pairs=pairs)).layout.size == size


def test_pairs_with_one_control_stand_in_one_column():
    pairs = {f"c{x}": row(comparison=f"c{x}", p=k / 10) for k, x in enumerate("abde", 1)}
    table = pair_table(Small([range(5)], "abcde", pairs=pairs))
    assert [plain(c.header) for c in table.columns] == ["", "c"]
    assert printed(table) == [["Alpha", "0.10"], ["b", "0.20"], ["d", "0.30"], ["e", "0.40"]]
    assert (table.footnotes(), "Empty" in plain(table.caption)) == ((), False)
    # A test with one direction has one place: the control is the first arm, and has the row.
    sided = pair_table(Small([range(5)], "abcde", pairs={n: replace(r, side="less") for n, r in pairs.items()}))
    assert [plain(c.header) for c in sided.columns] == ["", "Alpha", "b", "d", "e"]
    assert printed(sided) == [["c", "0.10", "0.20", "0.30", "0.40"]]
    two = pair_table(Small([[1.0, 2.0]], "ab", pairs={"ab": row()}))
    assert printed(two) == [["Alpha", "", "0.20"], ["b", "0.20", ""]]


def test_tests_stand_as_the_audit_stored_them():
    pairs = {
        "ab": row(comparison="ab", outcome="less", p=0.01, p_holm=0.03, floor=0.001, effect=-0.5, low=-1.0, high=0.25, wins=7, losses=2, draws=1),
        "ac": row(comparison="ac", outcome="greater", p=0.25, floor=0.25, effect=1e3, wins=None, test="sign"),
        "bc": row(comparison="bc", outcome="missing", p=None, effect=None, low=None, high=None, wins=0, losses=0, method="none"),
    }  # fmt: skip
    subject = Small(MATRIX, pairs=pairs)
    more = {
        "abc": row(comparison="abc", test="friedman", outcome="different", p=0.5, effect=1e-3, low=5e-4, high=0.0625, n=1234, floor=None, method="chi"),
        "im": row(comparison="im", test="improvement", outcome="measured", p=None, effect=9e-4, low=5e-4, high=0.5, wins=None,
                  details={"fewest_runs_per_unit": 5}),
        "me": row(comparison="me", test="median"),
    }  # fmt: skip
    subject.tests = (*subject.tests, *more.values())
    subject.sides |= {"abc": ("a", "b", "c"), "im": ("b", "a"), "me": ("a",)}
    table = table_of_tests(subject)
    assert keys(table) == ["comparison", "test", "n", "effect", "interval", "p", "holm", "wins", "finding"]
    assert printed(table) == [
        ["Alpha against b", "signed rank", "10", "−0.500", "[−1.000, 0.250]", "0.010", "0.030", "7/2/1", "Alpha is better"],
        ["Alpha against c", "sign", "10", "1·10³", "[−0.1, 0.3]", "0.25†", "", "", "c is better"],
        ["b against c", "signed rank", "10", "", "", "–", "", "0/0/0", "no data"],
        ["all arms", "Friedman", "1,234", "0.001", "[0.001, 0.062]", "0.50", "", "6/4/0", "the arms differ"],
        ["b against Alpha", "improvement", "10", "9·10⁻⁴", "[5·10⁻⁴, 0.5]", "", "", "", "measured"],
    ]  # fmt: skip
    assert bold(table) == [[8], [8], [], [8], []]
    assert table.layout == PrintSize("scriptsize", 3.0)
    assert [plain(n) for n in table.notes] == [
        "Methods. signed rank: exact; sign: exact; signed rank: none; Friedman: chi; improvement: exact."
    ]
    assert table.groups[0].rows[3].cells[5].fields() == {"": 0.5, "floor": 0.0}
    subject.better = "higher"
    assert [r[-1] for r in printed(table_of_tests(subject))][:2] == ["b is better", "Alpha is better"]


def test_the_table_of_tests_says_which_pair_has_a_plain_median():
    inverted, median = "Hodges-Lehmann median of differences", "median of differences"
    pairs = {
        "ab": row(comparison="ab", effect_name=inverted, interval_method="inversion"),
        "bc": row(comparison="bc", effect_name=median, interval_method="order statistics"),
    }
    words = (
        f" Effects: {inverted} for Alpha − b; {median} for b − c. Their intervals: inversion for Alpha − b; order statistics for b − c."
        " The plain median and its order statistics stand for samples too large"
    )
    assert words in plain(table_of_tests(Small(MATRIX, pairs=pairs)).caption)
    del pairs["bc"]
    assert "Effects:" not in plain(table_of_tests(Small(MATRIX, pairs=pairs)).caption)


@pytest.mark.parametrize(("effect", "shown"), [(999.5, "999.500"), (-999.5, "−999.500"), (1e-3, "0.001"), (0.0, "0")])
def test_an_effect_has_three_decimals_where_they_say_something(effect, shown):
    table = table_of_tests(Small([[1.0, 2.0]], "ab", pairs={"ab": row(comparison="ab", effect=effect)}))
    assert printed(table)[0][3] == shown


# ---- verdicts, claims and refusals --------------------------------------------------------------------------------------


def test_verdicts_and_claims_stand_in_their_columns():
    verdict = DispositionRow("d", "H", "registered", "said", "confirmed", "because")
    claim = ClaimRow("c1", "H", "w", "count", "s", "holds", "seen", 0.5, 1200)
    audit = SimpleNamespace(
        audit_id="x", disposition={"H": verdict}.get, claims={"H": (claim,), "G": ()}.__getitem__, results=None
    )
    table = disposition_table(audit, ("G", "H"))
    assert dict(zip(keys(table), printed(table)[0], strict=True)) == {
        "hypothesis": "H", "verdict": "confirmed", "mode": "registered", "statement": "said", "reason": "because"
    }  # fmt: skip
    assert (len(printed(table)), bold(table)) == (1, [[1]])
    table = claim_table(audit, ("G", "H"))
    assert dict(zip(keys(table), printed(table)[0], strict=True)) == {
        "claim": "H/w", "statement": "s", "state": "holds", "n": "1,200", "observed": "seen"
    }  # fmt: skip
    assert bold(table) == [[2]]


def test_sentences_have_an_inch_or_more_and_leave_some_two_for_the_rest():
    nothing = SimpleNamespace(audit_id="x", sql=lambda _query: pl.DataFrame({"arm": [], "refused": [], "cells": []}))
    for table in (disposition_table(nothing, ()), claim_table(nothing, ()), refusal_table(nothing, "k")):
        widths = [c.align for c in table.columns if not isinstance(c.align, str)]
        assert min(widths) >= NARROWEST
        assert abs(WIDTH - sum(widths) - 2) <= 0.5


def test_refusals_are_counted_by_arm_and_reason():
    rows = pl.DataFrame({"arm": ["a", "b"], "refused": ["no", "it's"], "cells": [1234, 1]})
    table = refusal_table(SimpleNamespace(sql=lambda _query: rows), "k")
    assert printed(table) == [["a", "no", "1,234"], ["b", "it's", "1"]]
    assert keys(table) == ["arm", "reason", "cells"]
    (origin,) = table.groups[0].rows[1].cells[2].origin.parts
    assert "case_name = 'k' AND arm = 'b' AND refused = 'it''s'" in str(origin)
