"""Forty arms with long names: what figures, findings and the printed appendix leave out, and the words that say so."""

from __future__ import annotations

from itertools import combinations

import pytest
from hand_made import LONG, ROW, Told, made, ranked, row

from orledger.reports.figures.figure import Canvas
from orledger.reports.figures.generic import draw_forest, draw_heat
from orledger.reports.figures.generic_choice import ROWS, first, leading
from orledger.reports.figures.generic_looks import NAMED, curve_looks, halved, other_arms
from orledger.reports.figures.style import PALE
from orledger.reports.report.answering import answers
from orledger.reports.report.document import MANY
from orledger.reports.report.pdf import PRINTED, compared, fewer
from orledger.reports.report.wording import Said
from orledger.reports.tables.fitting import fitted
from orledger.reports.tables.render import plain

ARMS = "".join(chr(c) for c in range(ord("A"), ord("A") + 40))


def forty() -> Told:
    pairs = {
        a + b: row(test_id=a + b, comparison=a + b, effect=0.1 if b == "B" else -0.1) for a, b in combinations(ARMS, 2)
    }
    return Told(ARMS, pairs, ranked())


def test_of_many_pairs_a_forest_shows_those_of_the_best_arm_nearest_first():
    subject = forty()
    pairs, words = leading(subject, subject.pairs)
    assert [p.second for p in pairs] == [*ARMS[1 : ROWS + 1]]
    assert words.startswith(" Of 780 pairs those of A, which has the best mean rank, with the first 30 of the arms")
    assert leading(subject, subject.pairs[:ROWS]) == ([*subject.pairs[:ROWS]], "")
    canvas = Canvas(None, None)
    assert draw_forest(canvas, subject).endswith(words)
    assert len(canvas.figure.axes[0].get_yticks()) == ROWS


def test_the_best_arm_comes_first_in_a_forest_of_its_pairs():
    subject = forty()
    turned = {
        a + b: row(test_id=a + b, comparison=a + b, effect=0.2, low=0.1, high=0.4) for b, a in combinations(ARMS, 2)
    }
    subject.pairs = Told(ARMS, turned).pairs
    canvas = Canvas(None, None)
    draw_forest(canvas, subject)
    labels = [t.get_text() for t in canvas.figure.axes[0].get_yticklabels()]
    assert all(label.startswith("A − ") for label in labels)
    marks = [line.get_xdata()[0] for line in canvas.figure.axes[0].lines if line.get_marker() == "s"]
    assert set(marks) == {-0.2}


def test_without_ranks_the_smallest_p_is_shown_and_of_equal_ones_the_larger_effect():
    pairs = {a + b: row(test_id=a + b, p=0.5, effect=k / 1000) for k, (a, b) in enumerate(combinations(ARMS, 2))}
    subject = Told(ARMS, pairs)
    shown, words = leading(subject, subject.pairs)
    assert [p.row.effect for p in shown] == [k / 1000 for k in range(779, 749, -1)]
    assert words == " Of 780 pairs the 30 with the smallest p; the audit has all."
    assert [p.row.effect for p in first(subject, 2)] == [0.779, 0.778]


def test_of_many_curves_the_first_have_a_name_and_a_colour():
    subject = forty()
    looks = curve_looks(subject, subject.ordered)
    assert [look.name for look in looks.values() if look.name] == [*ARMS[:NAMED], "the other 32 arms"]
    assert sum(look.colour == PALE for look in looks.values()) == 40 - NAMED
    assert other_arms(subject, ARMS).startswith(" In colour the 8 with the best mean rank")
    assert other_arms(subject, ARMS[:3]) == ""
    assert PALE not in {look.colour for look in curve_looks(subject, ARMS[:10]).values()}


@pytest.mark.parametrize(("arms", "down"), [(12, False), (13, True)])
def test_a_map_of_many_arms_has_them_below_one_another(arms, down):
    subject, canvas = Told(ARMS[:arms], {}), Canvas(None, None)
    draw_heat(canvas, subject)
    ax = canvas.figure.axes[0]
    named = [t.get_text() for t in (ax.get_yticklabels() if down else ax.get_xticklabels())]
    assert named == [*ARMS[:arms]]


def test_a_long_name_stands_in_two_lines_of_about_one_length():
    assert halved("a short one") == "a short one"
    assert halved("x" * 60) == "x" * 60
    assert halved("Support vector machine with label smoothing") == "Support vector machine\nwith label smoothing"


def test_rows_of_a_square_table_are_named_once():
    names = [f"{LONG} {k}" for k in range(30)]
    pages = fitted(made(names, names))
    heads = [plain(c.header) for p in pages for c in p.columns[1:]]
    assert {*heads} == {str(k) for k in range(1, 31)}
    later = [p for p in pages if "1" not in {plain(c.header) for c in p.columns[1:]}]
    assert later
    assert all([plain(r.cells[0]) for r in p.rows()] == [str(k) for k in range(1, 31)] for p in later)
    early = [plain(r.cells[0]) for p in pages if p not in later for r in p.rows()]
    assert early == [f"{k} {name}" for k, name in enumerate(names, 1)]


def test_findings_do_not_list_everybody():
    pairs = [
        ROW | {"test_id": f"A{y}", "outcome": "undecided", "wins": 5, "losses": 4, "n": 9, "said": Said("", "", ("A", y), "")}
        for y in ARMS[1:]
    ]  # fmt: skip
    ranks = {arm: float(k) for k, arm in enumerate(ARMS)}
    ranking = ROW | {"test_id": "r", "p": None, "n": 9, "details": {"mean_ranks": ranks, "mean_rank_low": ranks}}
    (standing,) = answers([*pairs, ranking]).standings
    assert standing.apart == ("Not told apart from any of the other 39",)
    pairs[0] = pairs[0] | {"outcome": "greater", "said": Said("", "", ("A", "B"), "A")}
    (standing,) = answers([*pairs, ranking]).standings
    assert standing.apart[1] == "Not told apart from C, D, E, F, G, H and 32 more"


def test_the_printed_appendix_keeps_the_smallest_p_and_the_rarest_kinds():
    def made_up(k: int, hypothesis: str, p: float | None, test: str) -> dict:
        return {"test_id": f"{hypothesis}{k}", "hypothesis": hypothesis, "p": p, "test": test}

    few = [made_up(k, "H", 0.5, "sign") for k in range(MANY)]
    assert fewer(few) == few
    many = [made_up(k, "I", 1 - k / 1000, "sign") for k in range(MANY + 1)]
    assert fewer(few + many) == few + many[-PRINTED:]
    measured = [made_up(k, "J", None, "improvement") for k in range(MANY)] + [made_up(MANY, "J", None, "median")]
    assert fewer(measured) == [*measured[: PRINTED - 1], measured[-1]]


def test_a_comparison_is_printed_once_with_the_row_that_decides_first():
    rows = [
        {"hypothesis": "H", "comparison": c, "title": c, "variant": v}
        for c, v in (("a", "blocked"), ("a", "coarser"), ("a", "naive"), ("b", "coarser"), ("b", "declared"))
    ]
    found = compared(rows)
    assert [(c.title, [t["variant"] for t in c.rows]) for c in found] == [
        ("a", ["blocked", "coarser", "naive"]),
        ("b", ["declared", "coarser"]),
    ]
