"""Checks without annotation: what is right passes, and one wrong digit of every kind is found."""

import pytest

from orledger.audit.recheck.automatic import intervals, marks, percentages, repeats
from orledger.audit.recheck.automatic.checking import CHECKS, recheck_document
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import read_number
from orledger.audit.recheck.reading.opening import read_document

PAPER = r"""\documentclass{article}
\begin{document}
\begin{abstract}
The new rule wins on 12 of 40 cells (30\%), and the median speed of the new rule is 3.25 times that of the old one.
\end{abstract}
\section{Results}
The effect is clear, $t(28) = 2.20$, $p = .036$, with a mean difference of 0.40, 95\% CI [0.10, 0.70], $p = 0.01$.
We saw 5 wins, 2 losses and 1 tie in all 8 cells of the test. A share of 25\% of the 8 runs failed.
Ratings were M = 3.50 (SD = 1.00, n = 20) on a Likert scale.
We find again that the median speed of the new rule is 3.25 times that of the old one.
\begin{table}\caption{Counts of what was seen, and the number of items per group.}\label{tab:n}
\begin{tabular}{lrrrr}
\toprule
Group & yes & no & total & better/worse/tied \\
\midrule
one & 12 & 30 & 42 & 1/2/3 \\
two & 15 & 31 & 46 & 2/2/2 \\
three & 11 & 11 & 22 & 3/2/1 \\
\midrule
Total & 38 & 72 & 110 & \\
\bottomrule
\end{tabular}
\end{table}
\begin{table}\caption{Errors.}\label{tab:e}
\begin{tabular}{lrrlr}
\toprule
Arm & error $\downarrow$ & width & median [IQR] & rank \\
\midrule
a & \textbf{0.10} & 2.0 & 0.30 [0.20, 0.40] & 1 \\
b & 0.20 & \textbf{1.0} & 0.50 [0.40, 0.60] & 2 \\
c & 0.30 & 3.0 & 0.70 [0.60, 0.80] & 3 \\
\bottomrule
\end{tabular}
\end{table}
\begin{table}\caption{The number of right answers of n people.}\label{tab:m}
\begin{tabular}{lrrrl}
\toprule
Group & mean & SD & n & chose yes \\
\midrule
a & 3.50 & 1.10 & 20 & 10 (25.0\%) \\
b & 2.25 & 0.85 & 20 & 20 (50.0\%) \\
c & 4.10 & 1.55 & 20 & 30 (75.0\%) \\
\bottomrule
\end{tabular}
\end{table}
\end{document}
"""


def findings(tmp_path, text):
    (tmp_path / "paper.tex").write_text(text)
    return recheck_document(read_document(tmp_path / "paper.tex"))


def test_a_paper_without_mistakes_has_none(tmp_path):
    found = findings(tmp_path, PAPER)
    assert [(f.id, f.why) for f in found if not f.verdict.good] == []
    assert {f.rule for f in found} == {
        "reported test", "share of counts", "share possible", "interval", "interval and p", "total", "wins, losses and ties",
        "bold", "rank", "GRIMMER", "same words", "derived",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ("(30\\%)", "(31\\%)", "share of counts", 4),
        ("12 of 40", "42 of 40", "share of counts", 4),
        ("speed of the new rule is 3.25", "speed of the new rule is 3.35", "same words", 10),
        ("p = .036", "p = .063", "reported test", 7),
        ("difference of 0.40", "difference of 0.04", "interval", 7),
        ("[0.10, 0.70]", "[0.70, 0.10]", "interval", 7),
        ("p = 0.01$.", "p = 0.10$.", "interval and p", 7),
        ("5 wins", "6 wins", "wins, losses and ties", 8),
        ("25\\% of the 8", "26\\% of the 8", "share possible", 8),
        ("M = 3.50", "M = 3.52", "GRIM", 9),
        ("SD = 1.00", "SD = 1.01", "GRIMMER", 9),
        ("15 & 31 & 46", "15 & 31 & 47", "total", 17),
        ("12 & 30", "13 & 30", "total", 16),
        ("Total & 38", "Total & 83", "total", 20),
        ("1/2/3", "1/2/4", "wins, losses and ties", 16),
        ("\\textbf{0.10}", "\\textbf{0.40}", "bold", 29),
        ("0.50 [0.40, 0.60]", "0.90 [0.40, 0.60]", "interval", 30),
        ("[0.60, 0.80] & 3", "[0.60, 0.80] & 2", "rank", 31),
        ("3.50 & 1.10", "3.52 & 1.10", "GRIM", 40),
        ("3.50 & 1.10", "3.50 & 1.11", "GRIMMER", 40),
        ("20 (50.0\\%)", "20 (51.0\\%)", "share of counts", 41),
    ],
)
def test_one_wrong_number_of_every_kind_is_found_where_it_stands(tmp_path, old, new, rule, line):
    assert old in PAPER
    text = PAPER.replace(old, new, 1)
    if rule == "wins, losses and ties" and "/" in old:  # a table with an n column
        text = text.replace("Group & yes & no & total", "Group & yes & no & n")
        text = text.replace("12 & 30 & 42 & 1/2/4", "12 & 30 & 6 & 1/2/4")
    bad = [f for f in findings(tmp_path, text) if not f.verdict.good]
    hits = [f for f in bad if f.rule == rule]
    assert hits, [(f.rule, f.why) for f in bad]
    assert line in {f.line for f in hits}
    assert all(f.sentence and f.why and f.file == "paper.tex" for f in hits)


def test_a_check_that_breaks_is_a_finding_and_ends_no_other(tmp_path, monkeypatch):
    def broken(document):
        raise ValueError("no such thing")
        yield document

    monkeypatch.setitem(CHECKS, "ranks", broken)
    found = findings(tmp_path, PAPER)
    assert [f.verdict for f in found if f.rule == "ranks"] == [CheckVerdict.UNCHECKED]
    assert any(f.rule == "bold" for f in found)


def number(text):
    found = read_number(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("k", "n", "share", "verdict"),
    [
        (2, 3, "66.7%", CheckVerdict.MATCHES),
        (2, 3, "66.6%", CheckVerdict.CONVENTION),
        (2, 3, "33.3%", CheckVerdict.CONVENTION),
        (2, 3, "67.0%", CheckVerdict.INCONSISTENT),
        (1, 8, "12%", CheckVerdict.MATCHES),
        (1, 8, "13%", CheckVerdict.MATCHES),
        (4, 3, "133%", CheckVerdict.IMPOSSIBLE),
        (0, 0, "0%", CheckVerdict.IMPOSSIBLE),
    ],
)
def test_counts_with_their_share(k, n, share, verdict):
    """An eighth is 12.5 %, which rounds either way; two thirds are 66.67 %."""
    assert percentages.share_of(k, n, number(share))[0] is verdict


@pytest.mark.parametrize(
    ("low", "high", "p", "wrong"),
    [
        ("0.1", "0.9", "0.01", False),
        ("0.1", "0.9", "0.20", True),
        ("-0.1", "0.9", "0.01", True),
        ("-0.1", "0.9", "<0.05", True),
        ("0.0", "0.9", "0.20", False),
        ("0.1", "0.9", "0.05", False),
    ],
)
def test_an_interval_and_a_p_value_of_one_level_decide_alike(low, high, p, wrong):
    assert bool(intervals.contradicts(number(low), number(high), 0.0, number(p), 0.05)) is wrong


def test_an_estimate_may_lie_on_the_rounded_end_of_its_interval():
    assert intervals.inside(number("0.4"), number("0.44"), number("0.9"))
    assert not intervals.inside(number("0.40"), number("0.44"), number("0.90"))


def test_ranks_with_ties_allow_every_convention():
    assert marks.ranks([1.0, 2.0, 2.0, 3.0], falling=False) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert marks.ranks([1.0, 2.0, 3.0], falling=True) == [(3, 3), (2, 2), (1, 1)]


def test_numbers_printed_with_different_precision_agree():
    assert repeats.agree(number("0.5"), number("0.54"))
    assert not repeats.agree(number("0.5"), number("0.56"))


def test_the_same_cell_of_two_tables_is_compared_where_most_agree(tmp_path):
    table = "| arm | score | time |\n|---|---|---|\n| a | 1.52 | 10 |\n| b | 2.51 | 20 |\n| c | 3.57 | 30 |\n"
    (tmp_path / "p.md").write_text(
        f"{table}\nAgain.\n\n" + table.replace("3.57", "3.67").replace("10", "11").replace("20", "21")
    )
    bad = [f for f in recheck_document(read_document(tmp_path / "p.md")) if not f.verdict.good]
    assert [(f.printed, f.line) for f in bad] == [("3.67", 13)]


def test_standard_errors_of_two_experiments_agree_by_chance_and_are_not_compared(tmp_path):
    table = "| effect | SE |\n|---|---|\n| a | 0.05 |\n| b | 0.01 |\n| c | 0.02 |\n| d | 0.01 |\n"
    (tmp_path / "p.md").write_text(f"{table}\nAnd the second experiment.\n\n" + table.replace("0.05", "0.02"))
    assert [f for f in recheck_document(read_document(tmp_path / "p.md")) if f.rule == "same cell"] == []


def test_a_phase_of_trials_is_no_fraction(tmp_path):
    (tmp_path / "p.md").write_text("The rate is higher for Phase 2/3 trials (34.4% of all) than for others.")
    assert recheck_document(read_document(tmp_path / "p.md")) == []


@pytest.mark.parametrize("words", ["99.9% of the 8 billion rows fit.", "Of all, 3 of 8 million (0.1%) failed."])
def test_eight_billion_are_not_eight(tmp_path, words):
    paper = tmp_path / "p.md"
    paper.write_text(words, encoding="utf-8")
    assert not [f for f in recheck_document(read_document(paper)) if "share" in f.rule]
