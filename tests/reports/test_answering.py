"""The sentences of the first screen say what the audit's row says, in the right direction."""

from __future__ import annotations

from orledger.reports.report.answering import answers
from orledger.reports.report.wording import Said

ROW = {
    "test_id": "t", "variant": "declared", "unit": "dataset", "n": 5, "wins": 1, "losses": 4, "draws": 0, "p": 0.125, "p_holm": 0.375, "floor": 0.0625,
    "alpha": 0.05, "effect": -0.00825, "low": -0.01, "high": 0.003, "level": 1 - 2 / 32, "effect_name": "Hodges-Lehmann median of differences", "outcome": "untestable",
    "test": "signed_rank", "transform": "none",
    "said": Said("not testable", "", ("baseline", "forest")),
}  # fmt: skip


def test_a_comparison_that_could_not_have_been_shown_says_so_and_names_the_side_that_leads() -> None:
    (said,) = answers([ROW])
    assert said.leads == "forest is better than baseline on 4 of 5 units (dataset), worse on 1"
    assert said.shown == "Could not have been shown"
    assert "no p below 0.0625 before the correction, and the level is 0.05" in said.why
    assert said.by == "baseline minus forest: −0.00825, 93.8% interval [−0.01, 0.003]"
    (alone,) = answers([ROW | {"n": 1, "level": 0.0}])  # one unit has an interval of no level
    assert alone.by == ""


def test_what_was_shown_and_what_was_not_are_told_apart() -> None:
    shown = ROW | {"outcome": "greater", "wins": 9, "losses": 0, "draws": 1, "n": 10, "p": 0.004, "p_holm": None}
    unshown = ROW | {"outcome": "undecided", "wins": 2, "losses": 2, "draws": 1, "low": None}
    first, second = answers([shown, unshown])
    assert first.leads == "baseline is better than forest on 9 of 10 units (dataset), worse on 0, equal on 1"
    assert (first.shown, first.why) == ("Shown", "p = 0.004, at level 0.05")
    assert second.leads == "baseline and forest are each better on 2 of 5 units (dataset), equal on 1"
    assert (second.shown, second.by) == ("Not shown", "")


def test_measures_and_other_variants_are_no_comparisons() -> None:
    assert answers([ROW | {"p": None}, ROW | {"wins": None}, ROW | {"variant": "coarser"}]) == []
