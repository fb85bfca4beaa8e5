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
        ("We use 4 seeds x 16 settings = 48 runs.", CheckVerdict.INCONSISTENT),
        ("We use 4 seeds x 16 settings = 64 runs.", CheckVerdict.MATCHES),
        ("Over 5 seeds x 5 outer folds = 24 selections.", CheckVerdict.INCONSISTENT),
        ("There are $12+12=23$ of them.", CheckVerdict.INCONSISTENT),  # counts have no digits to cut off
        ("There are 50 x 3 models x 3 seeds = 450 runs.", CheckVerdict.MATCHES),
        ("There are 3 models x 8 seeds x 2 = 42 runs.", CheckVerdict.INCONSISTENT),
        ("On 4 x 8 gpus batch = 512 was used.", None),
        ("With 3 models, 4 seeds x 16 settings = 192 runs.", None),
        ("With 3 models and 4 seeds x 16 settings = 192 runs.", None),
        ("For $k$ x 4 seeds x 16 settings = 640 runs.", None),
        ("With 4 seeds x 16 settings = 128 runs per pair of tasks.", None),
        ("With 4 seeds x 16 settings = 192 x 3 tasks.", None),
        ("A grid of 4 x 16 = 48 is small.", None),  # no things
        ("We solve 2 x + 3 = 7 and 4 n + 1 = 9.", None),
        ("The test of 5 x 2 cv F = 3.2 is small.", None),
        (r"The test of 5 $\times$ 2 cv $F$ = 3.2 is small.", None),
        (r"For the 2 $\times$ 2 tables $p$ = 0.03 holds.", None),
        (r"For 2 $\times$ 3 designs power = 0.83 holds.", None),
        ("It takes 3 runs x 20 minutes = 1 hour.", None),
        (r"It takes 3 $\times$ 20 minutes = 1 hour.", None),
        (r"It takes 3 $\times$ 20 minutes = 50 minutes.", CheckVerdict.INCONSISTENT),
        ("It needs 4 nodes x 512 parts = 2 GB of memory.", None),
        ("A lens of 10 x magnification = 200 is used.", None),
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
        ("It fell by -1.78 per 100,000 (95% CI: [-2.49, -1.06]).", [CheckVerdict.MATCHES]),  # the unit is no estimate
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
        ("Training went from 80 to 100 epochs (a 15% improvement).", None),  # of the accuracy
        ("Training went from 80 to 100 epochs, a 15% gain.", None),
        ("Training went from 80 to 100 epochs (15% better).", None),
        ("Training went from 80 to 100 epochs (a 15% reduction).", None),  # of the error
        ("Training went from 80 to 100 epochs (a 25% improvement).", CheckVerdict.MATCHES),
        ("Training went from 80 to 100 epochs (a 15% increase).", CheckVerdict.INCONSISTENT),
        ("Training went from 80 to 100 epochs (a 15% change).", CheckVerdict.INCONSISTENT),
        ("Training takes 100 s vs 80 s, 35% longer.", CheckVerdict.INCONSISTENT),
        ("The range is from 5 to 10 (30% of the runs).", None),
        ("The dose went from 5 to 10, a 0.1% increase in risk.", None),
        ("It went from -3 to 10 (a 20% increase).", None),
        ("It raises throughput from 80 to 100 items per second (a 25% increase).", CheckVerdict.MATCHES),
        ("It raises throughput from 80 to 100 items per second (an increase of 25%).", CheckVerdict.MATCHES),
        ("It raises throughput from 80 to 100 items per second (an increase of 20%).", CheckVerdict.CONVENTION),
        (
            "It raises throughput from 80 items per second to 100 items per second (a 35% increase).",
            CheckVerdict.INCONSISTENT,
        ),
        ("The rate rose from 80 to 100 frames/s (an increase of about 24%).", CheckVerdict.MATCHES),
        ("The error fell from 12.5 to 10.0 (a reduction of 30%).", CheckVerdict.INCONSISTENT),
        ("Going from 80 to 100 trees per forest (a 15% increase) costs time.", None),
        ("Going from 80 to 100 requests per second (a 15% reduction) costs quality.", None),  # of the quality
        ("Going from 80 to 100 items per second (a 15% increase in memory) is dear.", None),
        ("Going from 80 to 100 items per second (an improvement of 15%) is good.", None),
        ("Going from 80 to 100 items per second (for a 15% increase) is dear.", None),
        ("Going from 80 to 100 items per second (a 300% increase) is dear.", None),
        ("From 80 to 100 items per second were seen, 15% of them late.", None),
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


def test_equal_numbers_beside_make_up_for_few_words(tmp_path):
    words = "wins on {} of 24 datasets (71%) and reaches a mean accuracy of {}."
    text = f"# Abstract\n\nOur method {words.format(17, '0.847')}\n\n# Results\n\nIt {{}}\n"
    bad = found(tmp_path, text.format(words.format(17, "0.874")), "same words", "a.md")
    assert [(f.printed, f.recomputed) for f in bad if not f.verdict.good] == [("0.874", "0.847")]
    other = words.format(17, "0.874").replace("71%", "75%")
    assert [f for f in found(tmp_path, text.format(other), "same words", "b.md") if not f.verdict.good] == []
    few = "It wins on {} of 24 (71%) and has an accuracy of {}."
    text = f"# Abstract\n\n{few.format(17, '0.847')}\n\n# Results\n\nBut {few.format(17, '0.874')}\n"
    assert [f for f in found(tmp_path, text, "same words", "c.md") if not f.verdict.good] == []


def test_captions_of_two_tables_tell_of_two_things(tmp_path):
    table = r"\begin{table}\caption{%s}\label{tab:%d}\begin{tabular}{lr}a & 1 \\ b & 2 \\\end{tabular}\end{table}"
    words = "Median distance and quartiles across all instances with {} objectives over 60 independent runs."
    text = "\n".join(table % (words.format(n), n) for n in (2, 3))
    assert [f for f in found(tmp_path, text, "same words") if not f.verdict.good] == []


SHORT = "FoldNet reaches a mean accuracy of {}."


def test_a_short_sentence_that_is_said_again_has_the_same_number(tmp_path):
    text = f"# Abstract\n\n{SHORT.format('0.847')}\n\n# Results\n\n{{}}\n"
    bad = found(tmp_path, text.format(SHORT.format("0.874")), "same words", "a.md")
    assert [(f.verdict, f.printed, f.recomputed, f.line) for f in bad] == [
        (CheckVerdict.INCONSISTENT, "0.874", "0.847", 7)
    ]
    assert [f.verdict for f in found(tmp_path, text.format(SHORT.format("0.85")), "same words", "b.md")] == []
    good = found(tmp_path, text.format(SHORT.format("0.8473")), "same words", "c.md")
    assert [f.verdict for f in good] == [CheckVerdict.MATCHES]


@pytest.mark.parametrize(
    "second",
    [
        "# Results\n\n" + SHORT.format("0.874").replace("FoldNet", "TabNet"),
        "# Results\n\n" + SHORT.format("0.874").replace(".", " on the second task.").replace("0 on", "0.874 on"),
        "# First set\n\n" + SHORT.format("0.847") + "\n\n# Second set\n\n" + SHORT.format("0.874"),
        "# First set\n\n" + SHORT.format("0.861") + "\n\n# Second set\n\n" + SHORT.format("0.874"),
        "# Results\n\n" + SHORT.format("84.7%"),  # in another unit
        "# Results\n\n" + SHORT.format("847"),
        "# Results\n\nBut " + SHORT.format("0.874"),
    ],
)
def test_a_short_sentence_about_something_else_is_left_alone(tmp_path, second):
    text = f"# Abstract\n\n{SHORT.format('0.847')}\n\n{second}\n"
    assert [f for f in found(tmp_path, text, "same words", "a.md") if not f.verdict.good] == []


@pytest.mark.parametrize(
    ("words", "other"),
    [
        ("We train FoldNet with a batch size of {}.", ("128", "256")),  # settings of two experiments
        ("We train FoldNet with learning rate {}.", ("0.01", "0.02")),
        ("The mean accuracy is {}.", ("0.847", "0.874")),  # too few words
        ("FoldNet reaches a mean accuracy of {} (2 seeds).", ("0.847", "0.0840")),  # more than ten times less
    ],
)
def test_short_sentences_that_say_too_little_are_left_alone(tmp_path, words, other):
    text = f"# Abstract\n\n{words.format(other[0])}\n\n# Appendix\n\n{words.format(other[1])}\n"
    assert found(tmp_path, text, "same words", "a.md") == []


def test_a_short_sentence_with_another_number_beside_is_another_one(tmp_path):
    words = "FoldNet reaches a mean accuracy of {} after {} hours."
    text = f"# Abstract\n\n{words.format('0.847', 5)}\n\n# Results\n\n{words.format('0.874', 8)}\n"
    assert found(tmp_path, text, "same words", "a.md") == []
    same = text.replace("8 hours", "5 hours")
    assert [f.printed for f in found(tmp_path, same, "same words", "b.md") if not f.verdict.good] == ["0.874"]


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
    assert [f.verdict for f in found(tmp_path, words, "interval and p", "p.md")] == [CheckVerdict.INCONSISTENT]


@pytest.mark.parametrize(
    ("words", "verdict", "reading"),
    [
        # z = ln(1.40) / (ln(2.06 / 0.95) / 3.92) = 1.70, p = 0.09
        ("The hazard ratio was 1.40 (95% CI 0.95 to 2.06, p = .01).", CheckVerdict.INCONSISTENT, None),
        ("The hazard ratio was 1.40 (95% CI 0.95 to 2.06, p = .09).", CheckVerdict.MATCHES, None),
        ("The hazard ratio was 1.40 (95% CI 0.95 to 2.06, p = .045).", CheckVerdict.CONVENTION, "one-sided"),
        ("The hazard ratio was 1.40 (95% CI 0.95 to 2.06, p = .035).", CheckVerdict.CONVENTION, "two methods"),
        ("The hazard ratio was 1.40 (95% CI 0.95 to 2.06, p < .001).", CheckVerdict.INCONSISTENT, None),
        ("The mean difference was 0.30 (95% CI -0.02 to 0.62, p = .033).", CheckVerdict.CONVENTION, "one-sided"),
        ("The risk score rose by 1.40 (95% CI 0.95 to 1.85, p < .001).", CheckVerdict.CONVENTION, "no effect is 0"),
        ("The effect was 1.40 (95% CI 0.95 to 2.06, p = .09).", CheckVerdict.CONVENTION, "no effect is 1"),
        ("The difference was 1.40 (95% CI 0.95 to 1.85, p = .09).", CheckVerdict.INCONSISTENT, None),
        ("The difference was 0.40 (95% CI 0.10 to 0.70, p = .10).", CheckVerdict.INCONSISTENT, None),
        # alone 0.009; for ten comparisons 0.09, where the paper speaks of them
        ("We use Holm's procedure. The difference was 0.40 (95% CI 0.10 to 0.70, p = .09).", CheckVerdict.CONVENTION, "corrected"),
    ],
)  # fmt: skip
def test_an_interval_against_its_p_value_names_the_reading_that_fits_or_none(tmp_path, words, verdict, reading):
    (seen,) = found(tmp_path, words, "interval and p", "p.md")
    assert (seen.verdict, seen.convention) == (verdict, reading)
    assert seen.printed.endswith(")"), "the bracket that the quote opens"


@pytest.mark.parametrize(
    "words",
    [
        "The Holm-adjusted difference was 0.40 (95% CI 0.10 to 0.70, p = .10).",
        "By bootstrap the difference was 0.40 (95% CI 0.10 to 0.70, p = .10).",
        "The difference was 0.40 (95% CI 0.10 to 0.70), and p = .10 for the other one.",
    ],
)
def test_intervals_are_not_held_against_p_values_of_another_kind(tmp_path, words):
    assert found(tmp_path, words, "interval and p", "p.md") == []


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


WINS = "Our method wins on {} of the 24 datasets."
TOTAL = "In total {} patients were enrolled."


@pytest.mark.parametrize(
    ("first", "second", "printed", "recomputed"),
    [
        (WINS.format(17), WINS.format(18), "18", "17"),
        (TOTAL.format(312), TOTAL.format(321), "321", "312"),
        (TOTAL.format(312), TOTAL.format(309), "309", "312"),  # of an earlier draft
        ("In total, 1,312 patients were enrolled.", "In total 1,321 patients were enrolled.", "1,321", "1,312"),
        (WINS.format(17), WINS.format(18).replace(".", " and reaches a mean accuracy of 0.847."), "18", "17"),
        (WINS.format(17).replace(".", ", and needs less time."), WINS.format(18), "18", "17"),
        (WINS.format(17), "As shown in Table 2, our method wins on 18 out of the 24 datasets (p = 0.01).", "18", "17"),
        (WINS.format(17), f"We find that {WINS.format(18).replace('Our', 'our')}", "18", "17"),
        ("A total of 312 patients were enrolled.", "A total of 321 patients were enrolled.", "321", "312"),
        ("The rule holds in 12 of 40 patients.", "The rule holds in 13 of 40 patients.", "13", "12"),
    ],
)  # fmt: skip
def test_a_count_that_is_told_again_is_the_same(tmp_path, first, second, printed, recomputed):
    text = f"# Abstract\n\n{first}\n\n# Results\n\n{{}}\n"
    bad = found(tmp_path, text.format(second), "same words", "a.md")
    assert [(f.verdict, f.printed, f.recomputed) for f in bad] == [(CheckVerdict.INCONSISTENT, printed, recomputed)]
    good = found(tmp_path, text.format(second.replace(printed, recomputed)), "same words", "b.md")
    assert [f.verdict for f in good] == [CheckVerdict.MATCHES]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (WINS.format(17), "# Results\n\nThe baseline wins on 18 of the 24 datasets."),
        (WINS.format(17), "# Results\n\n" + WINS.format(18).replace(".", " of the second suite.")),
        (WINS.format(17), "# Results\n\n" + WINS.format(18).replace("datasets", "datasets in terms of speed")),
        (WINS.format(17), "# Results\n\nIn terms of speed, our method wins on 18 of the 24 datasets."),
        (WINS.format(17), "# Results\n\n" + WINS.format(18).replace("24", "25")),
        (WINS.format(17), "# Ablation\n\n" + WINS.format(18)),
        (WINS.format(17), "# Running time\n\n" + WINS.format(18)),
        (WINS.format(17), "# One\n\n" + WINS.format(17) + "\n\n# Two\n\n" + WINS.format(18)),
        (WINS.format(17), "# Results\n\nBy accuracy, it is 17 of the 24. " + WINS.format(18)),
        (WINS.format(17), "# Results\n\nBy accuracy (17/24) and by rank it is good. " + WINS.format(18)),
        (WINS.format(17) + " It is fast on 18 of the 24.", "# Results\n\n" + WINS.format(18)),
        (WINS.format(17), "# Results\n\n" + WINS.format(18) + "\n\n| arm | wins |\n|---|---|\n| ours | 17 |"),
        (WINS.format(17), "# Results\n\n" + WINS.format(3)),  # far away: of something else
        (TOTAL.format(312), "# Results\n\n" + TOTAL.format(150)),
        (TOTAL.format(312), "# Validation cohort\n\n" + TOTAL.format(321)),
        (TOTAL.format(312), "# Study 2\n\n" + TOTAL.format(321)),
        (TOTAL.format(312), "# Results\n\nOf the 312 patients of both sites we tell. " + TOTAL.format(321)),
        (TOTAL.format(312), "# Results\n\n" + TOTAL.format(321).replace("enrolled", "analysed")),
        (TOTAL.format(312), "# Results\n\n" + TOTAL.format(321).replace("patients", "controls")),
        ("We evaluate on 5 datasets.", "# Results\n\nWe evaluate on 3 datasets."),
        ("We trained the model for 30 epochs.", "# Results\n\nWe trained the model for 20 epochs."),
        ("It fails in 3 of 24.", "# Results\n\nIt fails in 4 of 24."),
    ],
)  # fmt: skip
def test_counts_of_something_else_are_no_repeats(tmp_path, first, second):
    assert found(tmp_path, f"# Abstract\n\n{first}\n\n{second}\n", "same words", "a.md") == []


def test_a_count_within_many_words_is_told_once(tmp_path):
    words = "In total {} patients with newly diagnosed disease of any stage were enrolled in the trial."
    text = f"# Abstract\n\n{words.format(312)}\n\n# Results\n\n{words.format(321)}\n"
    assert [f.printed for f in found(tmp_path, text, "same words", "a.md")] == ["321"]
