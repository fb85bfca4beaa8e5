"""Reported tests against their p-values: the examples that statcheck's own tests publish, and scipy's tails."""

import pytest
from scipy import stats

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.automatic.reported import judge, p_value, reported_tests
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.opening import read_document


def judged(text, **options):
    (test,) = reported_tests(text)
    return judge(test, **options)


# Texts and classes as published with statcheck (tests/testthat/test-error.R, test-decisionerror.R).
ERRORS = [
    "t(28) = 2.20, p = .03", "F(2, 28) = 2.20, p = .15", "r(28) = .22, p = .26", "chi2(28) = 22.20, p = .79",
    " z = 2.20, p = .04", "Q(28) = 22.20, p = .79", "t(28) = -2.20, p = .03", "t(28) = 2.20, ns", "t(28) = 2.20, p > .05",
    "t(28) = 1.20, p = .03", "t(28) = 2.20, p = .30", "t(28) = 22.20, p = .000", "t(28) = 22.20, p < .000",
]  # fmt: skip
CORRECT = [
    " Z = -2.42, p = 0.016", "t(28) = 2.0, p < .05", "t(28) = 2, p = .02", "t(28) = 2, p = .14", "t(28) = 2.2, p = .03",
    "t(28) = 2.2, p = .04", "t(28) = 2.20, p = .036", "t(28) = 2.20, p = .037",
]  # fmt: skip
DECISIONS = [
    "t(28) = 2.20, p = .06", "t(28) = 1.20, p = .03", "F(2, 28) = 22.20, p = .06", "F(2, 28) = 2.20, p = .03",
    "r(28) = .22, p = .03", "r(28) = .52, p = .06", "chi2(28) = 2.20, p = .03", "chi2(28) = 52.20, p = .06",
    " z = 1.20, p = .03", " z = 2.20, p = .06", "Q(28) = 2.20, p = .03", "Q(28) = 52.20, p = .06",
]  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_that_statcheck_names_are_found(text):
    assert not judged(text).verdict.good


@pytest.mark.parametrize("text", CORRECT)
def test_what_statcheck_calls_correct_is_correct(text):
    assert judged(text).verdict is CheckVerdict.MATCHES


@pytest.mark.parametrize("text", DECISIONS)
def test_decision_errors_that_statcheck_names_are_found(text):
    found = judged(text)
    assert found.decision
    assert not found.verdict.good


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("t(28) = 2.20, p = .05", False),
        ("t(28) = {06}, p < .05", True),
        ("t(28) = {04}, p > .05", True),
        ("t(28) = {04}, p < .06", False),
    ],
)
def test_decisions_at_five_percent_with_bounds(text, decision):
    for level in ("04", "06"):
        text = text.replace("{" + level + "}", f"{stats.t.isf(float('0.' + level) / 2, 28):.6f}")
    assert judged(text).decision is decision


@pytest.mark.parametrize(
    ("alpha", "text"),
    [(0.10, "t(28) = 2.20, p = .11"), (0.01, "t(28) = 5.20, p = .02"), (0.01, "t(28) = 1.20, p = .005")],
)
def test_decisions_at_other_levels(alpha, text):
    assert judged(text, alpha=alpha).decision


def test_one_sided_is_a_convention_unless_the_text_says_so():
    assert judged("t(28) = 2.20, p = .018").verdict is CheckVerdict.CONVENTION
    assert judged("t(28) = 2.20, p = .018", one_sided=True).verdict is CheckVerdict.MATCHES
    assert judged("t(28) = 2.20, p = .01", one_sided=True).verdict is CheckVerdict.INCONSISTENT
    assert judged("t(28) = 2.20, p = .04", one_sided=True).verdict is CheckVerdict.CONVENTION


@pytest.mark.parametrize(
    ("text", "kind", "df", "value"),
    [
        ("F(2.1, 28.1) = 2.20, p = .03", "F", (2.1, 28.1), 2.2),
        (" F ( 2 , 28 ) = 2.20 , p = .03", "F", (2, 28), 2.2),
        ("chi2(28, N = 129) = 2.2, p = .03", "chi2", (28,), 2.2),
        ("chi2(1, N = 11,455) = 16.78, p <.001", "chi2", (1,), 16.78),
        ("χ^{2}(1, n = 81) = 3.25, p = 0.07", "chi2", (1,), 3.25),
        ("χ^2_{1} = 3.25, p = 0.07", "chi2", (1,), 3.25),
        ("t_{28} = 2.20, p = .036", "t", (28,), 2.2),
        ("t(28) = 2.20, d = 0.40, p = .036", "t", (28,), 2.2),
        ("z = −2.1, p = 1.2×10^{-3}", "z", (), -2.1),
    ],
)
def test_tests_are_read_as_printed(text, kind, df, value):
    (found,) = reported_tests(text)
    assert (found.kind, found.df, found.statistic.value) == (kind, df, value)


@pytest.mark.parametrize(
    "text", ["set(28) = 2.20, p = .03", "the rest is 3, p = .04", "t = 2.2, p = .03", "we set t and p = .05"]
)
def test_what_only_looks_like_a_test_is_left_alone(text):
    assert list(reported_tests(text)) == []


@pytest.mark.parametrize(
    "text", ["r(28) = 1.2, p = .03", "F(2, 28) = -2.2, p = .03", "t(28) = 2.2, p = 1.03", "t(0) = 2.2, p = .03"]
)
def test_what_no_data_give_is_impossible(text):
    assert judged(text).verdict is CheckVerdict.IMPOSSIBLE


def test_p_values_are_those_of_the_distributions():
    assert p_value("r", 0.5, (28,)) == pytest.approx(stats.pearsonr(*_correlated(30, 0.5)).pvalue, rel=1e-9)
    assert p_value("t", 2.2, (28,)) == pytest.approx(0.03622, abs=5e-5)


def _correlated(n, r):
    """Two vectors of length n with sample correlation exactly r."""
    import numpy as np

    x = np.arange(n, dtype=float) - (n - 1) / 2
    other = np.cos(np.arange(n))
    other -= other.mean() + x * (other @ x) / (x @ x)
    y = r * x / np.linalg.norm(x) + np.sqrt(1 - r * r) * other / np.linalg.norm(other)
    return x, y


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("The effect is clear, z = 2.86, p = .009.", CheckVerdict.INCONSISTENT),
        ("Pairwise tests differ, z = 2.86, p = .009.", CheckVerdict.CONVENTION),  # twice 0.0042, as for two comparisons
        ("After Bonferroni correction they differ, z = 2.86, p = .009.", CheckVerdict.MATCHES),
        (
            "After Tukey's test they differ, t(40) = 2.50, p = .041.",
            CheckVerdict.MATCHES,
        ),  # larger than 0.0166, and no multiple
        (
            "After Bonferroni correction they differ, z = 2.86, p = .001.",
            CheckVerdict.INCONSISTENT,
        ),  # a correction makes none smaller
    ],
)
def test_p_values_corrected_for_several_comparisons(tmp_path, words, verdict):
    (tmp_path / "p.md").write_text(words)
    (found,) = recheck_document(read_document(tmp_path / "p.md"))
    assert found.verdict == verdict


def test_one_test_of_a_sentence_may_be_one_sided(tmp_path):
    text = "We found t(28) = 2.20, p = .018, and z = 1.80, one-sided p = .036."
    (tmp_path / "p.md").write_text(text)
    assert [f.verdict for f in recheck_document(read_document(tmp_path / "p.md"))] == [
        CheckVerdict.CONVENTION,
        CheckVerdict.MATCHES,
    ]
    (tmp_path / "p.md").write_text("One-sided tests gave" + text.removeprefix("We found").replace("one-sided ", ""))
    assert [f.verdict for f in recheck_document(read_document(tmp_path / "p.md"))] == [
        CheckVerdict.MATCHES,
        CheckVerdict.MATCHES,
    ]


@pytest.mark.parametrize(
    ("words", "kind", "verdict"),
    [
        (
            "t(28) < 2.20, p = .03",
            "t",
            CheckVerdict.CONVENTION,
        ),  # at most 2.20, so p is at least .036, or .018 one-sided
        ("t(28) < 2.20, p = .01", "t", CheckVerdict.INCONSISTENT),
        ("t(28) > 2.20, p = .03", "t", CheckVerdict.MATCHES),
        ("F(1, 30) < 1, ns", "F", CheckVerdict.MATCHES),
        ("F(1, 30) < 1, p = .04", "F", CheckVerdict.INCONSISTENT),
        ("Q-between(2) = 2.20, p = .33", "Q", CheckVerdict.MATCHES),
        ("Q-within(2) = 2.20, p = .03", "Q", CheckVerdict.INCONSISTENT),
    ],
)
def test_forms_that_statcheck_extracts(words, kind, verdict):
    """Forms of statcheck's tests of extraction (test-extract-t-tests.R, test-extract-Q-tests.R), b288d94."""
    (test,) = reported_tests(words)
    assert test.kind == kind
    assert judge(test).verdict == verdict


@pytest.mark.parametrize(
    "words", ["t(2,28) = 2.20, p = .03", "t(28) = .2.20, p = .03", "t[28] = 2.20, p = .03", "T(28) = 2.20, p = .03"]
)
def test_forms_that_statcheck_leaves_alone(words):
    assert list(reported_tests(words)) == []
