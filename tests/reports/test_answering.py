"""The sentences of the first screen say what the audit's row says, in the right direction, and once."""

from __future__ import annotations

from itertools import combinations

from orledger.reports.report.answering import Answers, answers
from orledger.reports.report.wording import Said

ROW = {
    "test_id": "t", "hypothesis": "h", "variant": "declared", "unit": "dataset", "n": 5, "wins": 1, "losses": 4, "draws": 0, "p": 0.125, "p_holm": 0.375,
    "floor": 0.0625, "alpha": 0.05, "effect": -0.00825, "low": -0.01, "high": 0.003, "level": 1 - 2 / 32, "effect_name": "Hodges-Lehmann median of differences",
    "outcome": "untestable", "test": "signed_rank", "transform": "none", "details": {},
    "said": Said("not testable", "", ("baseline", "forest")),
}  # fmt: skip


def test_a_comparison_that_could_not_have_been_shown_says_so_and_names_the_side_that_leads() -> None:
    (answer,) = answers([ROW]).answers
    (said,) = answer.members
    assert said.leads == "forest is better than baseline on 4 of 5 units (dataset), worse on 1"
    assert answer.shown == "Could not have been shown"
    assert "no p below 0.0625 before the correction, and the level is 0.05" in answer.why
    assert said.by == "forest minus baseline: 0.00825, 93.8% interval [−0.003, 0.01]"  # the side that leads comes first
    (alone,) = answers([ROW | {"n": 1, "level": 0.0}]).answers  # one unit has an interval of no level
    assert alone.members[0].by == ""


def test_comparisons_with_one_reason_share_it() -> None:
    rows = [ROW, ROW | {"test_id": "u"}, ROW | {"test_id": "v", "floor": 0.125}]
    (answer,) = answers(rows).answers
    assert [m.test_id for m in answer.members] == ["t", "u", "v"]
    assert answer.shown == "None of these 3 could have been shown"
    assert "no p below 0.0625 to 0.125 before" in answer.why
    uncorrected = ROW | {"test_id": "w", "p_holm": None}
    assert [a.shown for a in answers([ROW, uncorrected]).answers] == ["Could not have been shown"] * 2


def test_what_was_shown_and_what_was_not_are_told_apart() -> None:
    shown = ROW | {"outcome": "greater", "wins": 9, "losses": 0, "draws": 1, "n": 10, "p": 0.004, "p_holm": None}
    unshown = ROW | {"test_id": "u", "outcome": "undecided", "wins": 2, "losses": 2, "draws": 1, "low": None}
    first, second = answers([shown, unshown]).answers
    assert first.members[0].leads == "baseline is better than forest on 9 of 10 units (dataset), worse on 0, equal on 1"
    assert (first.shown, first.why) == ("Shown", "p = 0.004, at level 0.05")
    assert second.members[0].leads == "baseline and forest are each better on 2 of 5 units (dataset), equal on 1"
    assert (second.shown, second.members[0].by) == ("Not shown", "")


def test_measures_and_other_variants_are_no_comparisons() -> None:
    assert answers([ROW | {"p": None}, ROW | {"wins": None}, ROW | {"variant": "coarser"}]) == Answers()


def test_of_many_arms_the_first_by_rank_speaks() -> None:
    """Four arms: d leads by rank, wins against a and b, does not decide against c, and all other pairs are shown."""
    pairs = [
        ROW
        | {
            "test_id": f"{x}{y}", "outcome": "undecided" if {x, y} == {"c", "d"} else "less", "wins": 0, "losses": 9, "n": 9, "p_holm": 0.01,
            "said": Said("", "", (x, y)),
        }
        for x, y in combinations("abcd", 2)
    ]  # fmt: skip
    ranks = dict(zip("abcd", (4.0, 3.0, 2.0, 1.0), strict=True))
    ranking = ROW | {"test_id": "r", "p": None, "n": 9, "details": {"mean_ranks": ranks, "mean_rank_low": ranks}}
    found = answers([*pairs, ranking])
    (standing,) = found.standings
    assert standing.leads == "d has the best mean rank: 1.00 among 4 arms on 9 units (dataset)"
    assert standing.apart == ("Shown to be better than 2 of the other 3", "Not told apart from c")
    assert standing.pairs == "Of 6 pairs 5 are shown to differ, 1 is not, at level 0.05, after Holm's correction"
    assert [m.test_id for a in found.answers for m in a.members] == ["cd"]
    assert found.more == 5
