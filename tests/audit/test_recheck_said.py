"""Arithmetic and changes that a text prints in full, and repeats that end their sentence; expectations by hand."""

import pytest

from orledger.audit.recheck.automatic import equations
from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import numbers_in
from orledger.audit.recheck.reading.opening import read_document


def found(tmp_path, words, rule, name="p.tex"):
    text = f"\\begin{{document}}\n{words}\n\\end{{document}}\n" if name.endswith("tex") else words
    (tmp_path / name).write_text(text, encoding="utf-8")
    return [f for f in recheck_document(read_document(tmp_path / name)) if f.rule == rule]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (r"There are $3\times144=432$ points.", CheckVerdict.MATCHES),
        (r"There are $3\times144=423$ points.", CheckVerdict.INCONSISTENT),
        (r"With 3 seeds $\times$ 5 rungs $=$ 16 cells.", CheckVerdict.INCONSISTENT),
        (r"The level is $13/14=0.9286$.", CheckVerdict.MATCHES),
        (r"The level is $13/14=0.9285$.", CheckVerdict.CONVENTION),  # 0.92857 cut off after four digits
        (r"The level is $13/14=0.9268$.", CheckVerdict.INCONSISTENT),
        (r"In all $5+18=23$ evaluations.", CheckVerdict.MATCHES),
        (r"In all $2+3\times4=14$ runs.", CheckVerdict.MATCHES),
        (r"In all $2+3\times4=20$ runs.", CheckVerdict.INCONSISTENT),
        (r"About $23506/3600\approx6.5$ hours.", CheckVerdict.MATCHES),
        (r"A share of $1,413/2,826=50\%$.", CheckVerdict.MATCHES),
        (r"The index is $103.33/6=17.22\%$ of all.", CheckVerdict.MATCHES),  # a mean of percentages is one
        (r"The index is $103.33/6=17.32\%$ of all.", CheckVerdict.INCONSISTENT),
        (r"A vector of $92\times5=461$-dimensional rows.", CheckVerdict.INCONSISTENT),
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
    ("words", "verdicts"),
    [
        ("It was 9.0% (95% CI: 8.3%-9.7%).", [CheckVerdict.MATCHES]),
        ("It was 9.9% (95% CI 8.3–9.7%).", [CheckVerdict.INCONSISTENT]),
        ("The mean was -0.30, 95% CI -0.20 to -0.40.", [CheckVerdict.IMPOSSIBLE]),
        ("The odds ratio was 1.45 (95% CI 1.10–1.90).", [CheckVerdict.MATCHES]),
        ("The effect was clear (p = .036, 95% CI [0.10, 0.70]).", [CheckVerdict.MATCHES]),  # p is no estimate
        ("The effect was clear, t(28) = 2.20, 95% CI [0.10, 0.70].", [CheckVerdict.MATCHES]),
        ("In n = 120 (95% CI 0.2 to 0.4) it was seen.", [CheckVerdict.MATCHES]),
        ("We report 95% CIs of 12 studies.", []),
        ("It was 1.2 [1.0, 1.1].", [CheckVerdict.INCONSISTENT]),  # 1.15 prints as 1.1 or as 1.2, and not as both
        ("It was 1.15 [1.0, 1.1].", [CheckVerdict.MATCHES]),
        ("They were 30.1 ± 10.1 [18, 73] years old.", [CheckVerdict.MATCHES]),  # the mean, and not its deviation
        ("They were 10.1 ± 30.1 [18, 73] years old.", [CheckVerdict.INCONSISTENT]),
        ("It was 3.1 ± 0.2 (95% CI 2.7 to 3.5).", [CheckVerdict.MATCHES]),
        ("The spread was SD = 10.1 [18, 73].", []),
    ],
)
def test_intervals_stand_with_and_without_brackets(tmp_path, words, verdicts):
    assert [f.verdict for f in found(tmp_path, words, "interval", "p.md")] == verdicts


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("The error fell from 12.5 to 10.0 (a 20% reduction).", CheckVerdict.MATCHES),
        ("The error fell from 12.5 to 10.0 (a 25% reduction).", CheckVerdict.CONVENTION),  # relative to the second
        ("The error fell from 12.5 to 10.0 (a 30% reduction).", CheckVerdict.INCONSISTENT),
        ("The error fell from 12.5 to 10.0, about 21% lower.", CheckVerdict.MATCHES),
        ("Accuracy rose from 81.2% to 85.2%, a 4.0 percentage point gain.", CheckVerdict.MATCHES),
        ("Accuracy rose from 81.2% to 85.2%, a 4% improvement.", CheckVerdict.CONVENTION),  # points called percent
        ("Accuracy rose from 0.812 to 0.852 (6 percentage points).", CheckVerdict.INCONSISTENT),
        ("It takes 10 s instead of going from 40 s to 10 s, a factor of 4.", CheckVerdict.MATCHES),
        ("It went from 40 s to 10 s (5× faster).", CheckVerdict.INCONSISTENT),
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
    text = f"# Results\n\n{ENDING.format('0.913' + tail)}\n\n# Discussion\n\n{{}}\n"
    bad = found(tmp_path, text.format(ENDING.format("0.931" + tail)), "same words", "a.md")
    assert [(f.verdict, f.printed, f.recomputed, f.line) for f in bad] == [
        (CheckVerdict.INCONSISTENT, "0.931", "0.913", 7)
    ]
    good = found(tmp_path, text.format(ENDING.format("0.91" + tail)), "same words", "b.md")
    assert [f.verdict for f in good] == [CheckVerdict.MATCHES]
    two = text.replace("# Results", "# First experiment").replace("# Discussion", "# Second experiment")
    assert found(tmp_path, two.format(ENDING.format("0.931" + tail)), "same words", "c.md") == [], (
        "two things in the same words"
    )


def test_a_sentence_may_begin_where_its_repeat_goes_on(tmp_path):
    words = "the score rose by {} points on the primary outcome of the trial."
    text = f"# Abstract\n\nOf 1,413 patients 424 (30%) improved; {words.format('12.5')}\n\n# Results\n\nT{words.format('13.5')[1:]}\n"
    bad = [f for f in found(tmp_path, text, "same words", "a.md") if not f.verdict.good]
    assert [(f.printed, f.recomputed) for f in bad] == [("13.5", "12.5")]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("Of 1,413 patients 424 (30%) improved.", CheckVerdict.MATCHES),
        ("Of 1,413 patients 424 (31%) improved.", CheckVerdict.INCONSISTENT),
        ("Among the 40 mice, 12 animals (30%) died.", CheckVerdict.MATCHES),
        ("Of 40 mice in 3 cages (75% of all) none died.", None),
    ],
)
def test_counts_after_their_total(tmp_path, words, verdict):
    seen = [f.verdict for f in found(tmp_path, words, "share of counts", "a.md")]
    assert seen == ([] if verdict is None else [verdict])


def test_numbers_of_figures_and_experiments_are_no_repeats(tmp_path):
    words = "Response times and proportions of correct responses by block and by type in Experiment {} are small."
    text = f"# Results\n\n{words.format(1)}\n\n# Discussion\n\n{words.format(2)}\n"
    assert found(tmp_path, text, "same words", "a.md") == []


def test_a_sentence_that_goes_on_is_another_one(tmp_path):
    other = ENDING.format("0.931").removesuffix(".") + " for the second model of the two."
    assert found(tmp_path, f"# One\n\n{ENDING.format('0.913')}\n\n# Two\n\n{other}\n", "same words", "a.md") == []


def test_an_interval_below_zero_is_about_no_ratio(tmp_path):
    words = "The hazard worsens: the mean is -0.63, 95% CI [-1.49, 0.07], p = 0.091."
    assert [f.verdict for f in found(tmp_path, words, "interval and p", "p.md")] == [CheckVerdict.MATCHES]
    words = "The hazard ratio is 1.40, 95% CI [1.09, 1.70], p = 0.091."
    assert [f.verdict for f in found(tmp_path, words, "interval and p", "p.md")] == [CheckVerdict.CONVENTION]


ESTIMATES = [
    ("1", "0.947 [0.943, 0.951]"),
    ("3", "0.917 [0.912, 0.921]"),
    ("5", "0.898 [0.893, 0.903]"),
    ("7", "0.885 [0.880, 0.890]"),
]


def two_tables(second):
    def table(heading, rows):
        return "\n".join([f"| minutes | {heading} |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows)])

    return table("cohort B", ESTIMATES) + "\n\nAnd now the rest of it.\n\n" + table("AUROC (95% CI)", second) + "\n"


def test_columns_with_the_same_intervals_have_the_same_estimates(tmp_path):
    """The headings differ; three intervals of four are the same, so the fourth and an estimate of another cell are slips."""
    same = found(tmp_path, two_tables(ESTIMATES), "same interval", "p.md")
    assert [f.verdict for f in same] == [CheckVerdict.MATCHES] * 4
    slips = [("1", "0.946 [0.943, 0.951]"), *ESTIMATES[1:3], ("7", "0.885 [0.870, 0.890]")]
    bad = [f for f in found(tmp_path, two_tables(slips), "same interval", "p.md") if not f.verdict.good]
    assert [(f.printed, f.recomputed) for f in bad] == [(slips[k][1], ESTIMATES[k][1]) for k in (0, 3)]
    others = [(k, v.replace("0.9", "0.8")) for k, v in ESTIMATES]
    assert found(tmp_path, two_tables(others), "same interval", "p.md") == [], "another quantity"


def test_a_comma_between_the_ends_of_an_interval_groups_no_digits():
    assert [n.value for n in numbers_in("gains of 40× [21,135] in 1,413 runs, [1,413,000]")] == [
        40,
        21,
        135,
        1413,
        1413000,
    ]


def test_the_space_below_a_line_is_no_number(tmp_path):
    (tmp_path / "p.tex").write_text(
        "\\begin{document}\nTwo lines \\\\[4pt] of text \\\\*[-2.5ex] and [4] notes.\n\\end{document}\n"
    )
    (sentence,) = read_document(tmp_path / "p.tex").sentences
    assert [n.value for n in numbers_in(sentence.text)] == [4]
