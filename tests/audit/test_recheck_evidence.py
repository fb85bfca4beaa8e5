"""Columns that show by themselves what they are: whole numbers, shares of n, intervals around their middle; and those that do not."""

import itertools

import pytest

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.automatic.evidence import Trial, by_chance, of_this_kind
from orledger.audit.recheck.reading.opening import read_document


def bad(tmp_path, text, name="paper.md"):
    (tmp_path / name).write_text(text)
    return [
        (f.rule, f.printed, f.verdict.value)
        for f in recheck_document(read_document(tmp_path / name))
        if not f.verdict.good
    ]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def test_the_chance_of_hits_is_that_of_independent_trials():
    chances = [0.2, 0.5, 0.9]
    for hits in range(4):
        exact = 0.0
        for outcome in itertools.product((0, 1), repeat=3):
            if sum(outcome) >= hits:
                weight = 1.0
                for chance, got in zip(chances, outcome, strict=True):
                    weight *= chance if got else 1 - chance
                exact += weight
        assert by_chance(chances, hits) == pytest.approx(exact)


def test_words_alone_do_not_make_whole_numbers():
    assert not of_this_kind([Trial(0.2, False)] * 3, said=True)
    assert of_this_kind([Trial(0.2, True), Trial(0.2, True), Trial(0.2, False)], said=True)
    assert not of_this_kind([Trial(0.2, True)] * 2, said=False)
    assert of_this_kind([Trial(0.2, True)] * 6 + [Trial(0.2, False)], said=False)


MEANS = [("a", "3.50"), ("b", "2.25"), ("c", "4.10"), ("d", "1.85"), ("e", "3.05"), ("f", "2.60"), ("g", "3.15")]


def test_means_with_n_in_the_heading_are_checked(tmp_path):
    """Multiples of 1/20 in seven rows; 3.52 is none."""
    head = ["group", "mean (n = 20)"]
    broken = [(k, "3.52" if k == "a" else m) for k, m in MEANS]
    assert bad(tmp_path, table(head, MEANS)) == []
    assert bad(tmp_path, table(head, broken)) == [("GRIM", "3.52", "impossible")]


def test_means_with_n_in_the_caption_are_checked(tmp_path):
    rows = " \\\\ ".join(f"{k} & {m}" for k, m in MEANS)
    text = f"\\begin{{table}}\\caption{{Answers, n = 20.}}\\begin{{tabular}}{{lr}} group & mean \\\\ \\midrule {rows} \\\\ \\end{{tabular}}\\end{{table}}"
    assert bad(tmp_path, text, "p.tex") == []
    assert bad(tmp_path, text.replace("3.50", "3.52"), "p.tex") == [("GRIM", "3.52", "impossible")]


def test_measured_means_are_not_taken_for_counts(tmp_path):
    rows = [("gold", "20", "0.104"), ("silver", "34", "0.026"), ("bronze", "49", "0.019")]
    text = "The number of medals.\n\n" + table(["tier", "n", "mean"], rows)
    assert bad(tmp_path, text) == []


def test_shares_under_a_heading_with_n(tmp_path):
    """Counts of 24 are 4.17, 8.33, 12.5, ... per cent; 26 is no count of 24, and 6 of 23 is."""
    shares = ["25%", "50%", "8%", "13%", "33%", "67%", "92%", "75%"]
    rows = [(f"item {i}", s) for i, s in enumerate(shares)]
    assert bad(tmp_path, table(["item", "yes (n=24)"], rows)) == []
    rows[0] = ("item 0", "26%")
    assert bad(tmp_path, table(["item", "yes (n=24)"], rows)) == [("share possible", "26%", "another convention")]


RATIOS = [
    ("a", "1.28 (1.12–1.46)"), ("b", "1.23 (1.12–1.35)"), ("c", "2.00 (1.00–4.00)"), ("d", "0.50 (0.25–1.00)"),
    ("e", "1.50 (0.75–3.00)"), ("f", "3.00 (1.50–6.00)"), ("g", "1.09 (0.95–1.25)"),
]  # fmt: skip


def test_estimates_lie_in_the_middle_of_their_intervals(tmp_path):
    """Ratios are the geometric means of their ends."""
    head = ["effect", "ratio (95% CI)"]
    assert bad(tmp_path, table(head, RATIOS)) == []
    broken = [(k, v.replace("1.46", "5.46")) for k, v in RATIOS]
    assert bad(tmp_path, table(head, broken)) == [("middle of the interval", "1.28 (1.12–5.46)", "inconsistent")]


def test_parallel_sentences_are_no_repeats(tmp_path):
    text = (
        "# Refits\n\nThe early block retained 28,682 appearances, 357 players and 118 reports; its ratio was 1.2.\n\n"
        "The late block retained 36,418 appearances, 755 players and 308 reports; its ratio was 1.3.\n"
    )
    assert bad(tmp_path, text) == []


def test_a_family_of_p_values_may_decide_differently_from_single_intervals(tmp_path):
    rows = [("a", "1.27 (1.11–1.44)", "0.160"), ("b", "1.09 (0.95–1.25)", "1.000"), ("c", "1.23 (1.12–1.34)", "0.001")]
    assert bad(tmp_path, table(["effect", "Ratio (95% CI)", "Holm p"], rows)) == []
    assert [b[0] for b in bad(tmp_path, table(["effect", "Ratio (95% CI)", "p"], rows))] == ["interval and p"]


def test_a_percentage_may_have_an_interval_in_shares(tmp_path):
    assert bad(tmp_path, "The rate falls to 24.9% (95% CI [0.226, 0.276]) at once.\n") == []
    assert bad(tmp_path, "The rate falls to 29.9% (95% CI [0.226, 0.276]) at once.\n") != []


def test_raised_decimal_points(tmp_path):
    text = "The effect was clear (z = 2·85, p = 0·004), with a share of 0·25 and another of 0·75 in all.\n"
    assert bad(tmp_path, text) == []
    assert [b[0] for b in bad(tmp_path, text.replace("0·004", "0·040"))] == ["reported test"]
