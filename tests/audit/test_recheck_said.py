"""Arithmetic and changes that a text prints in full, and repeats that end their sentence; expectations by hand."""

import pytest

from orledger.audit.recheck.automatic import equations
from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.model import Verdict
from orledger.audit.recheck.reading.numbers import numbers_in
from orledger.audit.recheck.reading.opening import read_document


def found(tmp_path, words, rule, name="p.tex"):
    text = f"\\begin{{document}}\n{words}\n\\end{{document}}\n" if name.endswith("tex") else words
    (tmp_path / name).write_text(text, encoding="utf-8")
    return [f for f in recheck_document(read_document(tmp_path / name)) if f.rule == rule]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (r"There are $3\times144=432$ points.", Verdict.MATCHES),
        (r"There are $3\times144=423$ points.", Verdict.INCONSISTENT),
        (r"With 3 seeds $\times$ 5 rungs $=$ 16 cells.", Verdict.INCONSISTENT),
        (r"The level is $13/14=0.9286$.", Verdict.MATCHES),
        (r"The level is $13/14=0.9285$.", Verdict.CONVENTION),  # 0.92857 cut off after four digits
        (r"The level is $13/14=0.9268$.", Verdict.INCONSISTENT),
        (r"In all $5+18=23$ evaluations.", Verdict.MATCHES),
        (r"In all $2+3\times4=14$ runs.", Verdict.MATCHES),
        (r"In all $2+3\times4=20$ runs.", Verdict.INCONSISTENT),
        (r"About $23506/3600\approx6.5$ hours.", Verdict.MATCHES),
        (r"A share of $1,413/2,826=50\%$.", Verdict.MATCHES),
        (r"The mean $\frac{3+5}{2}=4$ is small.", None),
        (r"The root $\sqrt{2/3}=0.816$ is small.", None),
        (r"We take $\lceil0.95\times301\rceil=286$ of them.", None),
        (r"Here $x^2-1=3$ and $n-2=5$.", None),
        (r"As $\log 8/2=1.04$ says.", None),
        (r"With $2\cdot10^3+1=2001$ rows.", None),
        (r"For $k=1,2+3=4$ terms.", None),
    ],
)
def test_equations_of_numbers_are_worked_out(tmp_path, words, verdict):
    assert [f.verdict for f in found(tmp_path, words, "equation")] == ([] if verdict is None else [verdict])


def test_a_divisor_that_may_be_zero_gives_no_value():
    assert equations.value_of("3/0") is None
    assert equations.value_of("3/0.0") is None


def test_equations_stand_in_cells_too(tmp_path):
    table = "| level | share |\n|---|---|\n| a | 88/89=0.9888 |\n| b | 77/78=0.9782 |\n"
    bad = [f for f in found(tmp_path, table, "equation", "p.md") if not f.verdict.good]
    assert [(f.line, f.printed, f.recomputed) for f in bad] == [(4, "77/78=0.9782", "0.987179")]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("The error fell from 12.5 to 10.0 (a 20% reduction).", Verdict.MATCHES),
        ("The error fell from 12.5 to 10.0 (a 25% reduction).", Verdict.CONVENTION),  # relative to the second
        ("The error fell from 12.5 to 10.0 (a 30% reduction).", Verdict.INCONSISTENT),
        ("The error fell from 12.5 to 10.0, about 21% lower.", Verdict.MATCHES),
        ("Accuracy rose from 81.2% to 85.2%, a 4.0 percentage point gain.", Verdict.MATCHES),
        ("Accuracy rose from 81.2% to 85.2%, a 4% improvement.", Verdict.CONVENTION),  # points called percent
        ("Accuracy rose from 0.812 to 0.852 (6 percentage points).", Verdict.INCONSISTENT),
        ("It takes 10 s instead of going from 40 s to 10 s, a factor of 4.", Verdict.MATCHES),
        ("It went from 40 s to 10 s (5× faster).", Verdict.INCONSISTENT),
        ("Increasing the width from 128 to 256 (4× parameters) helped.", None),
        ("The range is from 5 to 10 (30% of the runs).", None),
        ("The dose went from 5 to 10, a 0.1% increase in risk.", None),
        ("It went from -3 to 10 (a 20% increase).", None),
    ],
)
def test_changes_beside_their_two_numbers(tmp_path, words, verdict):
    assert [f.verdict for f in found(tmp_path, words, "change", "p.md")] == ([] if verdict is None else [verdict])


ENDING = "The final accuracy of the whole model on the held out test set is {}."


@pytest.mark.parametrize("tail", ["", " percent"])
def test_a_number_that_ends_its_sentence_is_compared_with_its_repeat(tmp_path, tail):
    text = f"# One\n\n{ENDING.format('0.913' + tail)}\n\n# Two\n\n{{}}\n"
    bad = found(tmp_path, text.format(ENDING.format("0.931" + tail)), "same words", "a.md")
    assert [(f.verdict, f.printed, f.recomputed, f.line) for f in bad] == [(Verdict.INCONSISTENT, "0.931", "0.913", 7)]
    good = found(tmp_path, text.format(ENDING.format("0.91" + tail)), "same words", "b.md")
    assert [f.verdict for f in good] == [Verdict.MATCHES]


def test_a_sentence_that_goes_on_is_another_one(tmp_path):
    other = ENDING.format("0.931").removesuffix(".") + " for the second model of the two."
    assert found(tmp_path, f"# One\n\n{ENDING.format('0.913')}\n\n# Two\n\n{other}\n", "same words", "a.md") == []


def test_a_comma_between_the_ends_of_an_interval_groups_no_digits():
    assert [n.value for n in numbers_in("gains of 40× [21,135] in 1,413 runs, [1,413,000]")] == [
        40,
        21,
        135,
        1413,
        1413000,
    ]
