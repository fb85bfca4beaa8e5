"""The small summaries of tables: each cell from a sample or a row of the audit, with expectations written by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hand_made import row

from orledger.reports.audit_rows import ClaimRow
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.format import fixed
from orledger.reports.tables.render import plain
from orledger.reports.tables.table import TableError
from orledger.reports.tables.values import Absent, Number, Range

NONE = Absent("nothing here")
SAMPLE = [1.0, 2.0, 4.0, 9.0]


def reason(cell) -> str:
    assert isinstance(cell, Absent)
    return cell.reason


def test_samples_are_summarised_by_their_definitions():
    assert plain(s.median(SAMPLE, fixed(1), "why")) == "3.0"
    assert plain(s.mean(SAMPLE, fixed(1), "why")) == "4.0"
    # Quartiles by linear interpolation at places 0.75 and 2.25 of 0 to 3.
    assert plain(s.median_iqr(SAMPLE, fixed(2), "why")) == "3.00 [1.75, 5.25]"
    assert plain(s.median_iqr(SAMPLE, fixed(2), "why", fixed(1))) == "3.00 [1.8, 5.2]"
    assert plain(s.spread(SAMPLE, fixed(0))) == "[1, 9]"
    assert s.spread(SAMPLE, fixed(0)).fields() == {"min": 1.0, "max": 9.0}
    assert plain(s.count([0, 2, 0, -1, 1])) == "3/5"
    # The squares of the deviations from 4 are 9, 4, 0 and 25: 38 / 3 with one degree of freedom less.
    assert s.cv(SAMPLE) == pytest.approx(np.sqrt(38 / 3) / 4)
    assert s.cv([0.1, 0.1, 0.1]) == 0.0
    assert s.cv([1.0, 1.0, 4.0]) == pytest.approx(np.sqrt(3.0) / 2)


@pytest.mark.parametrize("why", ["why", lambda: "why"])
def test_what_is_not_there_is_absent_for_its_reason(why):
    for summary in (s.median, s.mean, s.median_iqr):
        assert reason(summary([], fixed(1), why)) == "why"
    for value in (None, np.nan, np.inf):
        assert reason(s.number(value, fixed(1), why)) == "why"
    assert s.number(0.0, fixed(1), why) == Number(0.0, fixed(1))
    assert s.needing(3, 0, "a test", why) == why
    assert s.needing(3, 2, "a test", why) == "2 of the 3 values that a test needs"


def test_a_value_that_was_counted_on_is_there():
    assert s.known(0.0) == 0.0
    with pytest.raises(TableError, match="counted on"):
        s.known(None)


def test_values_know_their_records_where_the_frame_does():
    frame = pl.DataFrame({"cell_id": ["x", "y", "z"], "m": [1, None, 3], "n": [1, 2, 3]})
    found = s.values(frame, "m")
    assert found.tolist() == [1.0, 3.0]
    (records,) = found.origin.parts
    assert (records.frame["cell_id"].to_list(), records.columns) == (["x", "z"], ("m",))
    assert s.values(frame, "m", "a", "b").origin.parts[0].columns == ("a", "b")
    assert s.values(frame.drop("cell_id"), "m").origin.parts == ()


def test_cells_of_a_row_show_the_row():
    found = row(p=0.01, floor=0.001, effect=0.5, low=-1.0, high=2.0, level=0.95, wins=3, n=1234, statistic=7.5)
    assert plain(s.p_cell(found)) == "0.010"
    assert plain(s.effect_cell(found, fixed(1))) == "0.5"
    assert plain(s.effect_cell(found, fixed(1), lambda v: 10 * v)) == "5.0"
    assert s.interval_cell(found, fixed(1)) == Range(-1.0, 2.0, fixed(1))
    assert plain(s.interval_cell(found, fixed(1), lambda v: 10 * v)) == "[−10.0, 20.0]"
    assert plain(s.wins_cell(found)) == "3/1,234"
    assert plain(s.n_cell(found)) == "1,234"
    assert plain(s.floor_cell(found)) == "0.0010"
    assert plain(s.p_cell(row(p=0.2, floor=0.1, outcome="untestable"))) == "0.20§"


def test_an_interval_below_the_level_asked_for_is_marked():
    for level, shown in ((0.95, "[1.0, 2.0]"), (0.99, "[1.0, 2.0]"), (0.9499, "[1.0, 2.0]‡"), (None, "[1.0, 2.0]‡")):
        assert plain(s.interval_cell(row(low=1.0, high=2.0, level=level), fixed(1))) == shown


CELLS = {
    "p": s.p_cell, "effect": lambda r: s.effect_cell(r, fixed(1)), "interval": lambda r: s.interval_cell(r, fixed(1)),
    "wins": s.wins_cell, "floor": s.floor_cell, "n": s.n_cell,
}  # fmt: skip


@pytest.mark.parametrize("cell", CELLS)
def test_a_row_that_is_absent_stays_absent(cell):
    assert CELLS[cell](NONE) is NONE


@pytest.mark.parametrize(("cell", "gone"), [("p", "p"), ("p", "floor"), ("effect", "effect"), ("interval", "low"), ("interval", "high"), ("wins", "wins"), ("floor", "floor")])  # fmt: skip
def test_what_a_row_lacks_is_absent_in_its_words(cell, gone):
    there = {"floor": 0.1, "method": "none", "outcome": "missing"}
    assert reason(CELLS[cell](row(**{**there, gone: None}))) == "missing in the audit: none"


def test_the_number_of_a_claim_stands_as_stored():
    claim = ClaimRow("c", "H", "w", "count", "s", "holds", "seen", 0.5, 3)
    assert plain(s.value_cell(claim, fixed(2))) == "0.50"
    assert (
        reason(s.value_cell(ClaimRow("c", "H", "w", "count", "s", "missing", "no units", None, 0), fixed(2)))
        == "no units"
    )
    assert s.value_cell(NONE, fixed(2)) is NONE


def test_a_test_of_ranks_is_quoted_with_the_ranks_asked_for():
    found = row(statistic=7.5, p=0.02, floor=0.001, details={"mean_ranks": {"a": 1.25, "b": 2.0}}, method="none")
    quotes = s.rank_quotes(found, {"a": "first", "c": "third"})
    shown = {k: plain(v) for k, v in quotes.items()}
    assert shown == {"Friedman statistic": "7.50", "Friedman p": "0.020", "first": "1.25", "third": "–"}
    for lacking, why in ((NONE, "nothing here"), (row(outcome="missing", method="none"), "missing in the audit: none")):
        quotes = s.rank_quotes(lacking, {"a": "first"})
        assert {k: reason(v) for k, v in quotes.items()} == dict.fromkeys(("Friedman statistic", "Friedman p", "first"), why)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "field", "empty"),
    [(s.unit_words, "unit", "not known"), (s.interval_words, "interval_method", "not computed"), (s.effect_words, "effect_name", "effect")],
)  # fmt: skip
def test_rows_are_described_in_their_own_words(words, field, empty):
    rows = [row(**{field: "x"}), NONE, row(**{field: "y"}), row(**{field: "x"})]
    assert words(rows) == "x or y"
    assert words([NONE]) == empty
    if field != "unit":
        assert words([row(**{field: ""}), row(**{field: "x"})]) == "x"


FRAME = pl.DataFrame(
    [("a", 2, 1.0), ("a", 1, 2.0), ("a", 3, None), ("b", 1, 3.0), ("b", 2, 4.0), ("b", 3, 5.0), ("c", 1, 9.0)],
    schema=["arm", "seed", "m"],
    orient="row",
)


def test_pairs_are_the_cells_that_both_arms_delivered():
    pairs = s.paired(FRAME, ["seed"], "m", "a", "b")
    assert pairs.rows() == [(1, 2.0, 3.0), (2, 1.0, 4.0)]
    found = s.matched(FRAME, pairs, ["seed"], "m", "a", "b")
    assert found.rows() == [("a", 2, 1.0), ("a", 1, 2.0), ("b", 1, 3.0), ("b", 2, 4.0)]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.1, "0.1"), (0.0999, "9.99·10⁻²"), (999.0, "999"), (1000.0, "10³"), (1000.4, "10³"), (-5.0, "−5"), (0.0, "0"), (2e-5, "2·10⁻⁵")],
)  # fmt: skip
def test_settings_have_a_power_of_ten_outside_their_range(value, shown):
    assert plain(s.power_of_ten(value)) == shown


@pytest.mark.parametrize(
    ("value", "style", "shown"),
    [
        (1e6, fixed(0), "1.00·10⁶"), (999999.0, fixed(0), "999999"), (-1e6, fixed(3), "−1.000·10⁶"), (0.0995, rules.P_VALUE, "0.10"),
        (9.95e-4, rules.P_VALUE, "0.0010"), (9.94e-4, rules.P_VALUE, "9.9·10⁻⁴"), (1e-3, rules.SHORT, "0.001"), (9.99e-4, rules.SHORT, "9.99·10⁻⁴"),
        (999.0, rules.SHORT, "999"), (1000.0, rules.SHORT, "1·10³"), (9e-4, rules.SHORT, "9·10⁻⁴"), (99999.0, rules.significant(5), "99999"),
        (1e5, rules.significant(3), "1.00·10⁵"), (1e-3, rules.significant(3), "0.00100"), (9.99e-4, rules.significant(3), "9.99·10⁻⁴"),
        (1.0001, rules.ratio(3), "1.00010"), (1.00001, rules.ratio(3), "1+1.0·10⁻⁵"), (0.99999, rules.ratio(3), "1−1.0·10⁻⁵"),
        (2.0, rules.ratio(3), "2.00"), (5e-5, fixed(3).bound(), "<0.001"), (0.0, rules.SHORT, "0"), (0.0, rules.scientific(3), "0"),
        (12.0, rules.scientific(3), "1.20·10¹"), (0.25, rules.percent(0).signed(), "+25%"), (1e-9, rules.INTEGER, "0"), (-1e-9, rules.INTEGER, "0"),
    ],
)  # fmt: skip
def test_numbers_at_the_bounds_of_the_rules(value, style, shown):
    assert plain(Number(value, style)) == shown


def test_a_style_is_a_plain_number_unless_it_says_more():
    assert rules.Style("fixed") == rules.Style("fixed", 0, sign=False, suffix="", scale=1.0, bounded=False)
    with pytest.raises(rules.FormatError, match="unknown number style 'odd'"):
        rules.digits(1.0, rules.Style("odd"))


def test_a_style_is_changed_by_its_methods():
    assert plain(Number(0.25, fixed(2).signed())) == "+0.25"
    assert plain(Number(0.25, fixed(2).times())) == "0.25×"
    assert plain(Number(0.25, rules.percent(1))) == "25.0%"
    assert plain(Number(1e-12, fixed(8).bound())) == "<0.00000001"
    assert plain(Number(1e-12, fixed(8))) == "1.0·10⁻¹²"
