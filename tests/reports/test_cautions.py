"""Captions say what a reader must not read out of a bar, a grey square or an interval."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import Told, ranked, row

from orledger.reports import cautions
from orledger.reports.figures.figure import Canvas
from orledger.reports.figures.generic import draw_differences, draw_forest
from orledger.reports.figures.generic_ranks import cliques, draw_critical
from orledger.reports.tables.format import fixed
from orledger.reports.tables.generic import interval_of
from orledger.reports.tables.generic_tests import pair_table


def test_arms_that_nobody_compared_get_no_bar_and_are_named():
    """Against a control the others are not compared: no bar between them must not be read as a difference."""
    told = Told("abc", {"ab": row(), "ac": row(outcome="greater", p=0.01, p_holm=0.02)}, ranked())
    assert cliques(told) == [("a", "b")]
    caption = draw_critical(Canvas(None, None), told)
    assert caption.endswith("Not compared, and so without a bar: b and c.")
    assert "do not differ" not in caption


def test_of_a_control_it_is_said_once_that_nothing_else_was_compared():
    told = Told("abcd", {"ab": row(), "ca": row(), "ad": row()}, ranked())
    words = " All were compared with a alone: that no bar joins two others says nothing."
    assert cautions.uncompared(told) == words
    missing = Told("abcd", {"ab": row(), "ca": row(p=None), "ad": row()}, ranked())
    assert cautions.uncompared(missing) == " Not compared, and so without a bar: a and c; b and c; b and d; c and d."


def test_a_pair_without_data_is_not_joined():
    told = Told("ab", {"ab": row(outcome="missing", p=None)}, None)
    assert not cautions.undecided(told, "a", "b")
    assert cautions.uncompared(told) == " Not compared, and so without a bar: a and b."


def test_a_pair_tested_on_one_side_is_found_in_either_order():
    told = Told("ba", {"ab": row(side="less")})
    assert cautions.undecided(told, "b", "a")
    assert cautions.uncompared(told) == ""


def test_pairs_that_could_not_have_been_shown_to_differ_are_counted():
    told = Told("abc", {"ab": row(outcome="untestable"), "ac": row(), "bc": row(outcome="untestable")}, ranked())
    words = " Of 3 pairs 2 could not have been shown to differ by this test, for lack of units that do."
    assert cautions.hopeless(told) == words
    assert words in draw_critical(Canvas(None, None), told)
    assert cautions.hopeless(Told("ab", {"ab": row()})) == ""


@pytest.mark.parametrize(("holm", "correction"), [(None, "no correction"), (0.4, "Holm's correction")])
def test_a_caption_names_a_correction_only_where_there_was_one(holm, correction):
    told = Told(
        "abc", {"ab": row(p_holm=holm), "ac": row(p_holm=holm, outcome="less"), "bc": row(p_holm=holm)}, ranked()
    )
    assert f"signed rank tests at 0.05, {correction})" in draw_critical(Canvas(None, None), told)
    forest = draw_forest(Canvas(None, None), told)
    assert ("after the correction" in forest) == (holm is not None)
    assert ("of each pair alone, so that one can leave out 0 and be grey" in forest) == (holm is not None)
    assert ("(of its pair alone)" in draw_differences(Canvas(None, None), told)) == (holm is not None)
    alone = "of each comparison alone: one can leave out 0 where the corrected p does not decide"
    assert (alone in cautions.of_tests(told, ("signed_rank",))) == (holm is not None)


INVERTED = {"effect_name": "Hodges-Lehmann median of differences", "interval_method": "exact inversion"}
MEDIAN = {"effect_name": "median of differences", "interval_method": "order statistics"}
WHY = " The plain median and its order statistics stand for samples too large to invert the test: above 600"


def test_a_caption_names_every_effect_and_interval_with_the_pairs_that_have_it():
    told = Told("abc", {"ab": row(**INVERTED), "ac": row(**INVERTED), "bc": row(**MEDIAN)})
    told.labels = {"c": "Cee"}
    canvas = Canvas(None, None)
    forest, differences = draw_forest(canvas, told), draw_differences(Canvas(None, None), told)
    assert forest.startswith(
        "Effect of every pair over 10 units, first arm minus second: Hodges-Lehmann median of differences for a − b, a − Cee;"
        " median of differences for b − Cee. Intervals: exact inversion for a − b, a − Cee; order statistics for b − Cee;"
        f" level at least 95.0%.{WHY}"
    )
    label = canvas.figure.axes[0].get_xlabel()
    assert label == "Hodges-Lehmann median of differences or median of differences, m"
    # It draws the first two pairs, which have one effect.
    assert "95.0% interval of the Hodges-Lehmann median of differences (dashed)." in differences
    assert WHY not in differences
    turned = Told("abc", {"bc": row(**MEDIAN), "ab": row(**INVERTED)})
    words = "interval of the effect (dashed): median of differences for b − c; Hodges-Lehmann median of differences for a − b."
    assert words + WHY in draw_differences(Canvas(None, None), turned)


def test_of_one_kind_of_effect_no_pair_is_named():
    told = Told("abc", {"ab": row(**INVERTED), "bc": row(**INVERTED), "ac": row(effect=None, **MEDIAN)})
    forest = draw_forest(Canvas(None, None), told)
    assert forest.startswith(
        "Hodges-Lehmann median of differences of every pair over 10 units, first arm minus second. Intervals: exact inversion, level"
    )
    assert WHY not in forest
    all_plain = draw_forest(Canvas(None, None), Told("ab", {"ab": row(**MEDIAN)}))
    assert all_plain.startswith(
        "Median of differences of every pair over 10 units, first arm minus second. Intervals: order"
    )
    assert WHY in all_plain


def test_the_forest_shades_the_margin_and_leaves_hollow_what_could_not_have_been_shown():
    told = Told("abc", {"ab": row(margin=0.05), "ac": row(outcome="untestable", margin=0.05)})
    canvas = Canvas(None, None)
    caption = draw_forest(canvas, told)
    assert caption.endswith(
        "no difference was found; hollow ones: none could have been. Shaded: the equivalence margin of 0.05."
    )
    marks = [line.get_markerfacecolor() for line in canvas.figure.axes[0].lines if line.get_marker() == "s"]
    assert [m == "none" for m in marks] == [False, True]
    assert len(canvas.figure.axes[0].patches) == 1


def test_levels_of_intervals_are_told_from_lowest_to_highest():
    assert cautions.levels([row(level=0.95), row(level=0.875), row(level=None), row(level=0.0)]) == "87.5% to 95.0%"
    assert cautions.levels([row(level=0.95)]) == "95.0%"
    told = Told("abc", {"ab": row(level=0.875), "ac": row(low=None, high=None, level=0.5)})
    assert cautions.of_tests(told, ("signed_rank",)) == " Intervals of the tests have a level of 87.5%."


def test_an_interval_of_ranks_without_width_is_no_certainty():
    assert cautions.flat_ranks(Told("abc", {}, ranked(0.0))) == (
        " An interval of ranks without width says that all 10 units agree, not that further ones will."
    )
    assert cautions.flat_ranks(Told("abc", {}, ranked())) == ""
    assert cautions.flat_ranks(Told("abc", {})) == ""


def test_a_bootstrap_over_few_units_or_runs_is_said_to_be_too_short():
    nine = replace(ranked(), n=9)
    assert (
        cautions.flat_ranks(Told("abc", {}, nine)) == " Over 9 units a bootstrap interval of a mean rank is too short."
    )
    assert cautions.flat_ranks(Told("abc", {}, replace(nine, test="friedman"))) == ""
    three, five = (row(test="improvement", p=None, details={"fewest_runs_per_unit": n}) for n in (3, 5))
    assert cautions.few_runs([five, three]) == " With 3 runs to a unit a bootstrap interval is too short."
    assert cautions.few_runs([five]) == cautions.few_runs([]) == ""


@pytest.mark.parametrize(("changes", "text"), [
    ({"interval_ends": "(]"}, "(-0.10, 0.30]"), ({"interval_ends": ""}, "[-0.10, 0.30]"), ({"high": None}, "at least -0.10"),
    ({"low": None}, "at most 0.30"), ({"low": None, "high": None}, ""),
])  # fmt: skip
def test_an_interval_is_printed_with_the_ends_it_has(changes, text):
    printed = "".join(t.text for t in interval_of(row(**changes), fixed(2)).tokens())
    assert printed.replace("−", "-") == text


def test_a_row_read_from_the_other_side_turns_its_ends_round():
    back = row(interval_ends="(]").reversed()
    assert (back.low, back.high, back.interval_ends) == (-0.3, 0.1, "[)")
    assert back.reversed().interval_ends == "(]"


@pytest.mark.parametrize(
    ("side", "words"), [("two-sided", "Two-sided p"), ("less", "One-sided (the first arm has the lower values) p")]
)
def test_the_table_of_pairs_says_which_side_was_asked_about(side, words, monkeypatch):
    monkeypatch.setattr("orledger.reports.tables.generic_tests.notes", lambda _: ())
    told = Told("ab", {"ab": row(side=side)})
    told.audit = type("Rows", (), {"why_absent": staticmethod(str)})
    assert pair_table(told).caption.text.startswith(
        f"{words} of the signed rank test of each pair over 10 units, no correction."
    )
