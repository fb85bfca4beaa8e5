"""The sentences of the first screen say what the audit's row says, in the right direction, and once."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import pytest
from hand_made import ROW

from orledger.reports.report.answering import Answers, answers
from orledger.reports.report.templating import judged
from orledger.reports.report.wording import Said, claimed


def test_a_comparison_that_could_not_have_been_shown_says_so_and_names_the_side_that_leads() -> None:
    (answer,) = answers([ROW]).answers
    (said,) = answer.members
    assert said.leads == "forest is better than baseline on 4 of 5 units (dataset), worse on 1"
    assert answer.shown == "Could not have been shown"
    assert answer.why == (
        "the signed rank test can give no p below 0.0625 on a sample like this, before Holm's correction over 3 comparisons,"
        " and the level is 0.05; more units are needed"
    )
    assert (
        said.by == "forest minus baseline: 0.00825, 93.8% interval of this comparison alone [−0.003, 0.01]"
    )  # the side that leads comes first
    (alone,) = answers([ROW | {"n": 1, "level": 0.0}]).answers  # one unit has an interval of no level
    assert alone.members[0].by == ""


def test_comparisons_with_one_reason_share_it() -> None:
    rows = [ROW, ROW | {"test_id": "u"}, ROW | {"test_id": "v", "floor": 0.125}]
    (answer,) = answers(rows).answers
    assert [m.test_id for m in answer.members] == ["t", "u", "v"]
    assert answer.shown == "None of these 3 could have been shown"
    assert "no p below 0.0625 to 0.125 on a sample like this, before Holm" in answer.why
    uncorrected = ROW | {"test_id": "w", "p_holm": None}
    assert [a.shown for a in answers([ROW, uncorrected]).answers] == ["Could not have been shown"] * 2


def test_what_was_shown_and_what_was_not_are_told_apart() -> None:
    shown = ROW | {"outcome": "greater", "wins": 9, "losses": 0, "draws": 1, "n": 10, "p": 0.004, "p_holm": None}
    unshown = ROW | {
        "test_id": "u",
        "outcome": "undecided",
        "wins": 2,
        "losses": 2,
        "draws": 1,
        "low": None,
        "high": None,
    }
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
            "said": Said("", "", (x, y), "" if {x, y} == {"c", "d"} else y),
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
    dropped = [
        {"unit": "u", "reason": "d: arm refused: OOM", "refused": True},
        {"unit": "v", "reason": "a: no entry"},
        {"unit": "w", "reason": "d: no entry", "partial": True},
    ]
    (standing,) = answers([*pairs, ranking | {"dropped": dropped}]).standings
    assert standing.leads.endswith("on 9 units (dataset) that have every arm; 2 lack one (d on 1 of them)")


def won(outcome: str, winner: str, **changes: object) -> dict:
    sides = ("a", "b")
    row = ROW | {"outcome": outcome, "p": 0.047, "p_holm": None, "untestable": None, "level": 0.95, **changes}
    return row | {"said": Said("", "", sides, winner)}


def told(row: dict) -> SimpleNamespace:
    """What is said of one comparison."""
    (answer,) = answers([row]).answers
    (one,) = answer.members
    return SimpleNamespace(shown=answer.shown, why=answer.why, leads=one.leads, by=one.by)


@pytest.mark.parametrize(("wins", "losses"), [(14, 16), (15, 15)])
def test_what_ranks_show_against_the_count_of_units_names_the_side_it_was_shown_for(wins: int, losses: int) -> None:
    """Fourteen large differences outweigh sixteen small ones: Shown must not be read as shown for the side with more units."""
    said = told(won("greater", "a", n=30, wins=wins, losses=losses))
    assert said.shown == "Shown, but for a"
    assert said.why == "p = 0.047, at level 0.05; a is ahead by the size of the differences"
    plain = told(won("greater", "a", n=30, wins=16, losses=14))
    assert (plain.shown, plain.why) == ("Shown", "p = 0.047, at level 0.05")
    other = told(won("less", "b", n=30, wins=16, losses=14))
    assert other.shown == "Shown, but for b"


@pytest.mark.parametrize(("side", "word"), [("less", "lower"), ("greater", "higher")])
def test_a_test_of_one_side_says_what_it_cannot_see(side: str, word: str) -> None:
    said = told(won("undecided", "", side=side, n=12, wins=0, losses=12, p=1.0, low=None, high=0.7))
    assert said.why == f"p = 1, at level 0.05; the test asks one thing only, whether a has the {word} values"
    assert said.by == "b minus a: 0.00825, 95% interval [−0.7, ∞)"


def test_units_in_which_a_side_declined_stand_beside_the_count() -> None:
    out = [
        {"unit": "u1", "reason": "a: arm refused: too hard", "refused": True},
        {"unit": "u2", "reason": "a: arm refused: too hard", "refused": True},
        {"unit": "u3", "reason": "b: no record", "refused": False},
        {"unit": "u4", "reason": "a: arm refused: too hard (seed 2)", "refused": True, "partial": True},
    ]
    said = told(won("less", "a", n=8, wins=8, losses=0, dropped=out))
    assert said.leads == (
        "a is better than b on 8 of 8 units (dataset), worse on 0,"
        " with 2 units and a part of 1 unit left out in which a side refused or failed"
    )
    nested = told(won("less", "a", n=8, wins=8, losses=0, dropped=out[:1], variant="blocked"))
    assert nested.leads.endswith("with 1 value left out in which a side refused or failed")


def test_an_empty_entry_of_an_imported_table_is_missing_and_no_refusal() -> None:
    def out(unit: str, reason: str) -> dict:
        return {"unit": unit, "reason": reason, "refused": True}

    empty = [out("u1", "a: arm refused: missing in t.csv"), out("u2", "a: arm refused: missing in t.csv; b: no record")]
    said = told(won("less", "a", n=8, wins=8, losses=0, dropped=empty))
    assert said.leads.endswith("worse on 0, with 2 units left out in which a value is missing")
    declined = [
        out("u3", "a: arm refused: missing in t.csv; b: arm refused: OOM"),
        out("u4", "b: cell failed"),
        out("u5", "b: cell refused: missing in t.csv"),
    ]
    said = told(won("less", "a", n=8, wins=8, losses=0, dropped=[*empty, *declined]))
    assert said.leads.endswith(
        ", with 3 units left out in which a side refused or failed, with 2 units left out in which a value is missing"
    )


def test_ties_are_named_where_they_and_not_the_number_of_units_keep_p_from_being_small() -> None:
    tied = won("untestable", "", n=20, n_nonzero=5, wins=5, losses=0, draws=15, untestable="too many units tie")
    assert told(tied).why == (
        "15 of 20 units are equal, and on the 5 that differ the signed rank test can give no p below 0.0625, and the level is 0.05;"
        " more units that differ are needed"
    )
    equal = tied | {"n_nonzero": 0, "wins": 0, "draws": 20, "floor": 1.0}
    assert told(equal).why.startswith("all 20 units are equal, and the level is 0.05; more units that differ")


def test_where_the_correction_alone_is_in_the_way_fewer_comparisons_help_and_the_sentence_says_so() -> None:
    """Eight datasets, six arms: no p below 2/2^8, which is below the level, and 15 times that is above it."""
    pairs = [
        ROW | {"test_id": f"{x}{y}", "n": 8, "n_nonzero": 8, "wins": 8, "losses": 0, "floor": 2 / 2**8, "p": 2 / 2**8,
               "p_holm": 15 * 2 / 2**8, "family_size": 15, "said": Said("", "", (x, y), "")}
        for x, y in combinations("abcdef", 2)
    ]  # fmt: skip
    ranks = dict(zip("abcdef", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True))
    found = answers(
        [*pairs, ROW | {"test_id": "r", "p": None, "n": 8, "details": {"mean_ranks": ranks, "mean_rank_low": ranks}}]
    )
    assert found.answers[0].why == (
        "the signed rank test can give no p below 0.00781 on a sample like this, before Holm's correction over 15 comparisons,"
        " and the level is 0.05; more units or fewer comparisons (--control, --best) are needed"
    )
    (standing,) = found.standings
    assert standing.apart == (
        "This sample could not have told it apart from b, c, d, e, f by the signed rank test after Holm's correction over 15 comparisons",
    )
    assert standing.pairs == (
        "Of 15 pairs 0 are shown to differ, 15 could not have been, by this test on this sample, at level 0.05, after Holm's correction"
    )


@pytest.mark.parametrize(("verdict", "mode", "after_data", "tone"), [
    ("supported", "registered", False, "v-good"),
    ("supported", "registered", True, "v-open"),
    ("supported", "exploratory", False, "v-open"),
    ("refuted", "exploratory", True, "v-bad"),
])  # fmt: skip
def test_only_what_was_registered_before_the_data_is_green(
    verdict: str, mode: str, after_data: bool, tone: str
) -> None:
    assert judged({"verdict": verdict, "mode": mode, "after_data": after_data}) == tone


def test_equivalence_is_told_beside_a_difference_that_was_not_shown() -> None:
    bounds = {"margin": 0.1, "p_equivalent": 0.003, "p_noninferior": 0.001, "equivalent": True, "noninferior": True}
    said = told(won("undecided", "", **bounds))
    assert said.why.endswith("; equivalent within the margin of 0.1 (p = 0.003)")
    half = told(won("undecided", "", **(bounds | {"equivalent": False, "p_equivalent": 0.3})))
    assert half.why.endswith(
        "; equivalence within the margin of 0.1 is not shown (p = 0.3), non-inferiority is (p = 0.001)"
    )


@pytest.mark.parametrize(("test", "transform", "what"), [
    ("signed_rank", "none", "a minus b"), ("sign", "log10", "log10 of a over b"), ("signed_rank", "log10", "log10 of a over b"), ("slope", "none", "slope"),
])  # fmt: skip
def test_an_effect_says_which_side_comes_first(test: str, transform: str, what: str) -> None:
    row = won("greater", "a", test=test, transform=transform, effect_name="slope", low=0.0, high=0.2, effect=0.1)
    assert told(row | {"interval_ends": "(]"}).by == f"{what}: 0.1, 95% interval (0, 0.2]"
    assert told(row | {"test": "sign", "transform": "none"}).by == ""  # of units with scales of their own


@pytest.mark.parametrize(("level", "words"), [
    ("the level of 0.05 is kept", "the level of 0.05 is kept"),
    ("the level of 0.05 is kept. For other values of d the units are too fine", "the level of 0.05 is kept, with reservations"),
    ("no level is claimed: c left 4 units out; it is exploratory. The p of c is an approximation", "no level is claimed"),
    ("no level: it rests on no test that decided", "no level: it rests on no test that decided"),
])  # fmt: skip
def test_the_first_screen_says_no_more_about_a_level_than_the_audit(level: str, words: str) -> None:
    assert claimed(level) == words


def test_the_first_by_rank_is_worse_than_the_arm_that_was_shown_to_be_better() -> None:
    """Whose comparison is decided is read from its outcome: c is better than d on fewer units, and by more."""
    pairs = [
        ROW | {"test_id": f"{x}{y}", "outcome": "less", "wins": 4, "losses": 5, "n": 9, "said": Said("", "", (x, y), x if y == "d" else y)}
        for x, y in combinations("abcd", 2)
    ]  # fmt: skip
    ranks = dict(zip("abcd", (4.0, 3.0, 2.0, 1.0), strict=True))
    ranking = ROW | {"test_id": "r", "p": None, "n": 9, "details": {"mean_ranks": ranks, "mean_rank_low": ranks}}
    (standing,) = answers([*pairs, ranking]).standings
    assert standing.apart == ("Shown to be worse than c, b, a",)


def test_the_first_by_rank_is_not_shown_better_than_arms_it_was_not_compared_with() -> None:
    """Every arm against the control c, and d is first by rank: one comparison says nothing about a and b."""
    pairs = [
        ROW | {"test_id": f"c{y}", "outcome": "less", "wins": 9, "losses": 0, "n": 9, "said": Said("", "", ("c", y), y if y == "d" else "c")}
        for y in "abde"
    ]  # fmt: skip
    ranks = dict(zip("dcabe", (1.0, 2.0, 3.0, 4.0, 5.0), strict=True))
    ranking = ROW | {"test_id": "r", "p": None, "n": 9, "details": {"mean_ranks": ranks, "mean_rank_low": ranks}}
    (standing,) = answers([*pairs, ranking]).standings
    assert standing.apart == ("Shown to be better than 1 of the other 4", "Not compared with a, b, e")


def test_what_could_not_be_shown_for_other_reasons_is_not_told_in_one_sentence() -> None:
    tied = {"untestable": "too many units tie", "draws": 4, "n_nonzero": 1}
    rows = [
        ROW,
        ROW | {"test_id": "u", **tied},
        ROW | {"test_id": "v", "side": "less"},
        ROW | {"test_id": "w", "margin": 0.1},
    ]
    assert len(answers(rows).answers) == 4


def test_an_effect_is_told_from_the_side_that_leads() -> None:
    row = won("less", "b", wins=1, losses=9, n=10, effect=-0.2, low=-0.3, high=-0.1, interval_ends="(]")
    assert told(row).by == "b minus a: 0.2, 95% interval [0.1, 0.3)"
    assert told(row | {"said": Said("", "", ("a", "b"), "a")}).by == "a minus b: −0.2, 95% interval (−0.3, −0.1]"
