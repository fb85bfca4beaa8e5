"""Wins, losses and ties against their n, in columns and in sentences; sums by hand, and what an n may be instead."""

import pytest

from orledger.audit.recheck.automatic.tallies import check_tallies
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.opening import read_document

WRONG, RIGHT = CheckVerdict.IMPOSSIBLE, CheckVerdict.MATCHES


def seen(tmp_path, text):
    (tmp_path / "p.md").write_text(text + "\n")
    return [(f.verdict, f.line, f.recomputed) for f in check_tallies(read_document(tmp_path / "p.md"))]


def table(header, *rows):
    lines = [header, ",".join("-" * 3 for _ in header.split(",")), *rows]
    return "\n".join("| " + line.replace(",", " | ") + " |" for line in lines)


@pytest.mark.parametrize(
    "header",
    [
        "against,wins,ties,losses,n",
        "against,Won,Tied,Lost,datasets",
        "against,W,T,L,N",
        "against,better,equal,worse,pairs",
    ],
)
def test_a_row_that_does_not_add_up_among_rows_that_do(tmp_path, header):
    rows = ["a,15,3,6,24", "b,13,2,10,24", "c,18,1,5,24", "d,20,0,4,24"]
    assert seen(tmp_path, table(header, *rows)) == [
        (RIGHT, 3, "24"),
        (WRONG, 4, "25"),
        (RIGHT, 5, "24"),
        (RIGHT, 6, "24"),
    ]


def test_the_order_of_the_columns_does_not_matter(tmp_path):
    text = table("n,losses,wins,ties", "24,6,15,3", "24,10,13,3")
    assert seen(tmp_path, text) == [(RIGHT, 3, "24"), (WRONG, 4, "26")]


def test_a_lone_row_is_read_where_it_exceeds_its_n_by_a_little(tmp_path):
    assert seen(tmp_path, table("a,wins,ties,losses,n", "x,13,2,10,24")) == [(WRONG, 3, "25")]
    assert seen(tmp_path, table("a,W,T,L,N", "x,13,2,10,24")) == []  # letters may be anything


def test_ties_may_be_left_out_of_n(tmp_path):
    """Sign tests give the number of pairs that are not tied."""
    text = table("test,wins,losses,ties,n,p", "a,9,2,2,11,0.07", "b,10,3,0,13,0.09", "c,8,4,1,12,0.39")
    assert [verdict for verdict, *_ in seen(tmp_path, text)] == [RIGHT] * 3
    assert seen(tmp_path, table("arm,wins/losses/ties,n", "a,9/2/2,11")) == [(RIGHT, 3, "11")]


@pytest.mark.parametrize(
    "text",
    [
        table("a,wins,ties,losses,n", "x,15,3,6,8", "y,13,2,9,8"),  # three comparisons on each of eight datasets
        table("a,wins,ties,losses,n", "x,15,3,6,1000", "y,13,2,9,2000"),  # rows of a dataset
        table("a,wins,ties,losses,n", "x,15,3,4,24", "y,13,2,7,24"),  # pairs that failed, in every row
        table("a,wins,ties,losses,failed,n", "x,15,3,4,2,24", "y,13,2,7,2,24", "z,15,3,6,0,24"),
        table("a,win-big,win,tie,loss,loss-big,n", "x,3,12,3,4,2,24", "y,5,8,2,7,2,24"),
        table("a,strong wins,wins,ties,losses,n", "x,3,12,3,9,24", "y,5,13,2,10,24"),
        table("a,wins,ties,losses,seeds,datasets", "x,13,2,10,3,24"),  # two columns may be n
        table("a,win rate,tie rate,loss rate,n", "x,13,2,10,24"),
        table("a,wins (%),ties (%),losses (%),n", "x,13%,2%,10%,24"),
        table("a,wins,ties,losses,n", "x,13.5,2.5,9.0,24"),  # half wins are points
        table("a,wins,losses,n", "x,13,12,24"),  # no ties
    ],
)
def test_columns_whose_n_counts_something_else_are_left_alone(tmp_path, text):
    assert [s for s in seen(tmp_path, text) if s[0] is not RIGHT] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has 15 wins, 4 ties and 6 losses on the 24 datasets.", (WRONG, 1, "25")),
        ("It has 15 wins, 3 ties, and 6 losses on all 24 datasets (p = .03).", (RIGHT, 1, "24")),
        ("We see 18 wins, 2 ties and 10 losses over 30 replications, with an interval.", (RIGHT, 1, "30")),
        ("There are 15 wins, 4 draws and 4 losses in 24 games.", (WRONG, 1, "23")),
        ("We saw 30 wins and 10 losses in 20 cells.", None),  # two comparisons in each
        ("It has 15 wins, 3 ties and 6 losses over 8 datasets.", None),  # three metrics on each
        ("It has 15 wins, 4 ties and 6 losses on 24 datasets and 3 budgets.", None),
        ("It has 15 wins, 4 ties and 6 losses on 24 datasets × 2 seeds.", None),
        ("It has 15 wins, 4 ties and 6 losses on 24 datasets, 3 of them small.", None),
        ("It has 15 wins, 4 ties and 6 losses on 24 datasets (2 metrics for one).", None),
        ("It has 15 wins, 2 ties and 4 losses on the 24 datasets; the remaining runs ended early.", None),
        ("It has 11.15 wins, 4 ties and 6 losses on 24 datasets.", None),
        ("It has 15 wins, 4 ties and 6 losses on the 24 hardest of all.", None),
        ("It has 15 significant wins, 4 ties and 6 losses on the 28 datasets.", None),
    ],
)
def test_wins_ties_and_losses_in_a_sentence(tmp_path, text, expected):
    assert seen(tmp_path, text) == ([] if expected is None else [expected])
