"""P-values that no data give, without a statistic beside them, and tests whose heading states the degrees of freedom."""

import pytest

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.opening import read_document


def found(tmp_path, words, rule):
    (tmp_path / "p.md").write_text(words, encoding="utf-8")
    return [f for f in recheck_document(read_document(tmp_path / "p.md")) if f.rule == rule]


def table(*lines):
    return "\n".join([lines[0], "|---" * (lines[0].count("|") - 1) + "|", *lines[1:]]) + "\n"


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("The groups did not differ significantly (p = 1.02).", "p = 1.02"),
        ("The odds ratio was 0.9 (95% CI 0.7 to 1.2; p = 1.20).", "p = 1.20"),
        ("A log-rank test showed no difference, P = 1.10.", None),  # a logarithm may be meant
        ("Fisher's exact test gave no difference, P = 1.10.", "P = 1.10"),
        ("Blood pressure did not differ (p = 10.2, or so).", None),  # one decimal
        ("The p-value of 1.3 is large.", "p-value of 1.3"),
        ("We saw a p-value = -0.02 there.", "p-value = -0.02"),
    ],
)
def test_a_p_value_above_one_is_impossible_without_a_statistic(tmp_path, words, printed):
    seen = [(f.printed, f.verdict) for f in found(tmp_path, words, "p-value")]
    assert seen == ([] if printed is None else [(printed, CheckVerdict.IMPOSSIBLE)])


@pytest.mark.parametrize(
    "words",
    [
        "The groups did not differ significantly (p = 1.00).",
        "The groups did not differ significantly (p = .98).",
        "The Minkowski distance (p = 1.50) was not significantly better.",
        "With p = 1.50 the result is not significantly better.",
        "The p = 1.50 setting was not significantly better.",
        "We take the $L_p$ norm (p = 1.25), which is significantly faster.",
        "The Tweedie variance (p = 1.70) fits significantly better.",
        "The gas (p = 1.02 bar) was significantly warmer.",
        "The pressure was set (p = 1.02) before the run.",
        "A p-value of 2 tests was missing.",
        "The p-value was 1.5 times as large as before.",
        "The p-value is 1.5-fold larger.",
        "The p-value of 5.0 × 10^{-8} is usual in genetics.",
        "A p-value of 3.2e-5 was seen.",
        "The negative logarithm of the p-value was 5.25, significant at once.",
        "We found a p-value of 1.25% in all.",
        "The momentum of p = 2.35 GeV is significantly larger, p = 2.35 GeV.",
        "The effect was significant (z = 1.96, p = 0.05, n = 1.20).",
    ],
)
def test_other_quantities_called_p_are_left_alone(tmp_path, words):
    assert found(tmp_path, words, "p-value") == []


def test_a_column_of_p_values_has_none_above_one(tmp_path):
    rows = ["| a | 0.20 |", "| b | 0.04 |", "| c | <0.001 |", "| d | 1.20 |"]
    seen = found(tmp_path, table("| arm | p-value |", *rows), "p-value")
    assert [(f.printed, f.line) for f in seen] == [("1.20", 6)]
    for heading in ("-log10 p-value", "p-values (%)", "p", "log p-value"):
        assert found(tmp_path, table(f"| arm | {heading} |", *rows), "p-value") == [], heading
    count = [*rows[:3], "| observations | 380 |"]
    assert found(tmp_path, table("| arm | p-value |", *count), "p-value") == [], "a count in a row of its own"
    logs = ["| a | 0.20 |", "| b | 4.04 |", "| c | 2.31 |", "| d | 1.20 |"]
    assert found(tmp_path, table("| arm | p-value |", *logs), "p-value") == [], "a column of another kind"


@pytest.mark.parametrize(
    ("heading", "statistic", "p", "verdict"),
    [
        ("t(118)", "3.69", ".04", CheckVerdict.INCONSISTENT),  # 0.0003
        ("t(118)", "2.10", ".038", CheckVerdict.MATCHES),
        ("t(118)", "2.10", ".019", CheckVerdict.CONVENTION),  # one-sided
        ("F(2, 57)", "2.10", ".132", CheckVerdict.MATCHES),
        ("F(2, 57)", "2.10", ".312", CheckVerdict.INCONSISTENT),
        ("χ²(1)", "3.84", ".05", CheckVerdict.MATCHES),
        ("χ²(1)", "-3.84", ".05", CheckVerdict.IMPOSSIBLE),
        ("r(58)", "0.50", "<.001", CheckVerdict.MATCHES),
        ("r(58)", "0.50", ".01", CheckVerdict.INCONSISTENT),
        ("t(df = 118) statistic", "2.10", ".038", CheckVerdict.MATCHES),
        ("t(2, 57)", "2.10", ".9", None),  # t has one
        ("F(57)", "2.10", ".9", None),
        ("t(s)", "3.69", ".04", None),  # seconds
        ("r(x)", "0.50", ".9", None),
        ("t(118)", "-", ".9", None),
        ("time(118)", "3.69", ".04", None),
    ],
)
def test_degrees_of_freedom_in_the_heading(tmp_path, heading, statistic, p, verdict):
    seen = found(tmp_path, table(f"| measure | {heading} | p |", f"| a | {statistic} | {p} |"), "reported test")
    assert [f.verdict for f in seen] == ([] if verdict is None else [verdict])


def test_a_caption_that_speaks_of_corrections_or_sides_is_heard(tmp_path):
    """z = 2.86 has p = 0.0042: 0.0085 for two comparisons, 0.0021 one-sided."""
    text = "\\begin{{table}}\\caption{{{}}}\\begin{{tabular}}{{lrr}} a & t(1000) & p \\\\ \\midrule b & 2.86 & {} \\\\ \\end{{tabular}}\\end{{table}}"
    for caption, p, verdict in (
        ("Tests.", ".0087", CheckVerdict.INCONSISTENT),
        ("Tests, Bonferroni corrected.", ".0087", CheckVerdict.MATCHES),
        ("Tests.", ".0022", CheckVerdict.CONVENTION),
        ("One-sided tests.", ".0022", CheckVerdict.MATCHES),
    ):
        (tmp_path / "p.tex").write_text("\\begin{document}" + text.format(caption, p) + "\\end{document}")
        (seen,) = recheck_document(read_document(tmp_path / "p.tex"))
        assert seen.verdict is verdict, caption


def test_a_corrected_column_beside_leaves_the_other_as_it_is(tmp_path):
    """r = .18 of 496 has p = 0.00006."""
    head, row = "a & r & p", "b & .18 & .001"
    for more, value, verdict in (("", "", CheckVerdict.MATCHES), (" & p-FDR", " & .002", CheckVerdict.INCONSISTENT)):
        cells = f"{head}{more} \\\\ \\midrule {row}{value} \\\\"
        text = f"\\begin{{table}}\\caption{{N = 496, p after FDR correction.}}\\begin{{tabular}}{{lrrr}}{cells}\\end{{tabular}}\\end{{table}}"
        (tmp_path / "p.tex").write_text("\\begin{document}" + text + "\\end{document}")
        (seen,) = recheck_document(read_document(tmp_path / "p.tex"))
        assert seen.verdict is verdict
