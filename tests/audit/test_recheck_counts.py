"""Counts in tables: one wrong cell of two totals, shares of a number of cases that is the same in every row, and counts with bare shares."""

import random

import pytest

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.findings import grouped
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.opening import read_document


def read(tmp_path, head, rows, caption=""):
    lines = [head, ["---"] * len(head), *rows]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    (tmp_path / "p.md").write_text(f"{caption}\n\n{text}", encoding="utf-8")
    return recheck_document(read_document(tmp_path / "p.md"))


def bad(found, rule):
    return [(f.line, f.printed, f.recomputed) for f in found if f.rule == rule and not f.verdict.good]


SUMS = [["a", "5", "7", "12"], ["b", "9", "6", "15"], ["c", "10", "11", "21"], ["Total", "24", "24", "48"]]
HEAD = ["arm", "yes", "no", "total"]


@pytest.mark.parametrize(
    ("row", "column", "printed"), [(3, 1, "26"), (1, 2, "16"), (0, 1, "50"), (3, 3, "84"), (2, 3, "22")]
)
def test_one_wrong_cell_of_two_totals_is_one_cause_at_that_cell(tmp_path, row, column, printed):
    """The cell has a part in the total of its row and in that of its column; both say what it has to be."""
    rows = [list(r) for r in SUMS]
    right, rows[row][column] = rows[row][column], printed
    found = read(tmp_path, HEAD, rows)
    assert bad(found, "total") == [(row + 5, printed, right)] * 2
    assert len(grouped(found)) == 1
    assert len({f.id for f in found}) == len(found)


def test_two_wrong_cells_are_two_causes(tmp_path):
    rows = [
        ["a", "5", "7", "2", "14"],
        ["b", "9", "6", "4", "19"],
        ["c", "10", "11", "8", "29"],
        ["Total", "24", "24", "14", "62"],
    ]
    rows[0][1], rows[1][2] = "6", "9"
    found = read(tmp_path, ["arm", "x", "y", "z", "total"], rows)
    assert sorted(bad(found, "total")) == [(5, "6", "5"), (5, "6", "5"), (6, "9", "6"), (6, "9", "6")]
    assert len(grouped(found)) == 2


def test_a_total_in_one_direction_alone_is_blamed_itself(tmp_path):
    rows = [["a", "5", "7", "12"], ["b", "9", "6", "16"], ["c", "10", "11", "21"], ["d", "3", "1", "4"]]
    assert bad(read(tmp_path, HEAD, rows), "total") == [(6, "16", "15")]


def test_a_wrong_part_of_a_total_is_not_told_again_as_a_sum_of_columns(tmp_path):
    pairs = [(12, 31), (45, 17), (23, 28), (31, 14), (52, 39), (18, 44), (27, 9), (36, 21)]
    rows = [[f"r{k}", str(a), str(b), str(a + b + (k == 4))] for k, (a, b) in enumerate(pairs)]
    found = read(tmp_path, HEAD, rows)
    assert bad(found, "total") == [(9, "92", "91")]
    assert len(grouped(found)) == 1


CORRECT = [411, 423, 387, 402, 444, 431, 398, 377, 460, 405, 419, 436]


@pytest.mark.parametrize("scale", [1, 100])
def test_the_accuracy_of_one_number_of_cases_follows_from_the_count(tmp_path, scale):
    """Of 500 in every row; the fifth share is a point too large."""
    digits = 3 if scale == 1 else 1
    rows = [[f"m{k}", "500", str(c), f"{scale * c / 500:.{digits}f}"] for k, c in enumerate(CORRECT)]
    head = ["model", "n", "correct", "accuracy"]
    found = read(tmp_path, head, rows)
    assert [f.verdict for f in found if f.rule == "derived"] == [CheckVerdict.MATCHES] * 12
    rows[4][3] = f"{scale * (444 + 5) / 500:.{digits}f}"
    wrong = bad(read(tmp_path, head, rows), "derived")
    assert [(line, printed) for line, printed, _ in wrong] == [(9, rows[4][3])]


def test_the_share_is_blamed_and_not_the_number_of_cases(tmp_path):
    sizes = [218, 240, 199, 305, 277, 188, 260, 231, 214, 222, 290, 250]
    rows = [[f"m{k}", str(n), str(n - 40 - k), f"{100 * (n - 40 - k) / n:.1f}"] for k, n in enumerate(sizes)]
    rows[4][3] = "85.1"  # 233 of 277 are 84.1
    assert bad(read(tmp_path, ["model", "n", "correct", "accuracy"], rows), "derived") == [(9, "85.1", "84.116")]


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        # a setting that is the same in every row, beside counts and scores of another kind
        (["m", "epochs", "layers", "score"], [("12", "84.1"), ("24", "85.0"), ("6", "79.9"), ("48", "86.1"), ("36", "85.9")]),
        (["m", "batch", "epochs", "accuracy"], [("10", "71.2"), ("20", "74.5"), ("30", "75.1"), ("40", "75.0"), ("50", "75.3")]),
        (["m", "n", "correct", "F1"], [("411", "80.2"), ("423", "83.1"), ("387", "75.4"), ("402", "79.9"), ("444", "87.7")]),
        (["m", "n", "errors", "accuracy"], [("89", "82.2"), ("77", "84.6"), ("113", "77.4"), ("98", "80.4"), ("56", "88.8")]),
        (["m", "n", "wins", "rank"], [("1", "5"), ("2", "4"), ("3", "3"), ("4", "2"), ("5", "1")]),
        (["m", "seeds", "trees", "time"], [("100", "1.2"), ("200", "2.3"), ("400", "4.9"), ("800", "9.7"), ("50", "0.6")]),
        (["m", "year", "papers", "share"], [("12", "0.6"), ("24", "1.3"), ("36", "1.9"), ("48", "2.5"), ("60", "3.1")]),
    ],
)  # fmt: skip
def test_a_column_that_is_the_same_in_every_row_makes_no_shares_of_others(tmp_path, head, rows):
    constant = {"epochs": "30", "batch": "128", "n": "500", "seeds": "5", "year": "2024"}[head[1]]
    found = read(tmp_path, head, [[f"m{k}", constant, *row] for k, row in enumerate(rows)])
    assert bad(found, "derived") == []


CASES = [("Stroke", 5, 7), ("Diabetes", 12, 14), ("Female sex", 30, 29), ("Smoker", 22, 25), ("Statin use", 33, 30)]


def baseline(
    tmp_path, cases=CASES, name="{}, n (%)", head=("Treatment (n = 60)", "Control (n = 64)"), caption="", more=()
):
    rows = [[name.format(w), f"{a} ({100 * a / 60:.1f})", f"{b} ({100 * b / 64:.1f})"] for w, a, b in cases]
    return lambda change: read(tmp_path, ["Characteristic", *head], [*change(rows), *more], caption)


def first(cell):
    return lambda rows: [[rows[0][0], rows[0][1], cell], *rows[1:]]


def same(rows):
    return rows


def test_counts_with_bare_shares_are_shares_of_the_n_in_the_heading(tmp_path):
    """7 of 64 are 10.9 %; 7 of 59 are 11.9 %, and no 7 of 52 to 64 are 21.9 %."""
    made = baseline(tmp_path)
    right = [f.verdict for f in made(same) if f.rule == "share of counts"]
    assert right == [CheckVerdict.MATCHES] * 10
    (wrong,) = [f for f in made(first("7 (21.9)")) if not f.verdict.good]
    assert (wrong.verdict, wrong.printed, wrong.recomputed) == (CheckVerdict.INCONSISTENT, "7 (21.9)", "10.94%")
    (missing,) = [f for f in made(first("7 (11.9)")) if not f.verdict.good]
    assert (missing.verdict, missing.convention) == (CheckVerdict.CONVENTION, "some missing")
    (more,) = [f for f in made(first("70 (10.9)")) if not f.verdict.good]
    assert more.verdict is CheckVerdict.IMPOSSIBLE


@pytest.mark.parametrize("name", ["{}, no. (%)", "{} – number (percent)", "{} [n (%)]", "{}, No (%)", "{}, N (%)"])
def test_rows_say_in_several_ways_that_they_are_counts_with_shares(tmp_path, name):
    assert bad(baseline(tmp_path, name=name)(first("7 (21.9)")), "share of counts") == [(5, "7 (21.9)", "10.94%")]


def test_headings_and_rows_above_may_say_so_for_all(tmp_path):
    heads = ("Treatment (n = 60), n (%)", "Control (n = 64), n (%)")
    wrong = [(5, "7 (21.9)", "10.94%")]
    assert bad(baseline(tmp_path, name="{}", head=heads)(first("7 (21.9)")), "share of counts") == wrong
    above = baseline(tmp_path, name="{}")
    found = above(lambda rows: [["History, n (%)", "", ""], *first("7 (21.9)")(rows)])
    assert bad(found, "share of counts") == [(6, "7 (21.9)", "10.94%")]


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"name": "{}"}, first("7 (21.9)")),  # nothing says what the brackets hold
        ({"name": "{}, mean (SD)"}, first("7 (21.9)")),
        ({"head": ("Treatment", "Control")}, first("7 (21.9)")),  # no n
        ({"more": [["Age, mean (SD)", "62 (11)", "63 (12)"], ["Score, median (IQR)", "6 (4)", "7 (5)"]]}, same),
        ({"more": [["Age in years", "62 (11)", "63 (12)"]]}, same),
        ({"more": [["Biopsy done, n (%)", "6 (12.0)", "7 (13.0)"]]}, same),  # of 50 and 54 who were asked
        ({"more": [["Length of stay, days", "6 (12.0)", "7 (13.0)"]]}, same),
        ({"more": [["Events per year, n (rate)", "6 (0.4)", "7 (0.3)"]]}, same),
        ({"more": [["Site", "", ""], ["Weight (kg)", "71 (12)", "70 (11)"]]}, same),
        ({"more": [["Killip class, n", "6", "7"]]}, same),
        (
            {
                "more": [
                    ["Class, n (%)", "", ""],
                    ["one", "6 (10.0)", "8 (12.5)"],
                    ["Weight (kg)", "71 (12)", "70 (11)"],
                ]
            },
            same,
        ),
        ({"head": ("A (n = 60), n (%)", "B (n = 64), n (%)"), "more": [["Weight (kg)", "51 (12)", "70 (11)"]]}, same),
    ],
)
def test_brackets_that_hold_something_else_are_left_alone(tmp_path, options, change):
    assert [f.why for f in baseline(tmp_path, **options)(change) if not f.verdict.good] == []


def test_shares_of_the_row_are_none_of_the_column(tmp_path):
    """5 of the 12 with a stroke: the table shows that its shares are of another n."""
    rows = [[f"{w}, n (%)", f"{a} ({100 * a / (a + b):.1f})", f"{b} ({100 * b / (a + b):.1f})"] for w, a, b in CASES]
    found = read(tmp_path, ["Characteristic", "Treatment (n = 60)", "Control (n = 64)"], rows)
    assert bad(found, "share of counts") == []


@pytest.mark.parametrize(
    "more",
    [
        ["Biopsy, n (%)", "12 (20.3)", "14 (21.9)"],  # one of 60 missing
        ["Biopsy, n (%)", "0 (0.0)", "7 (11.9)"],  # none of 60 and none of 55 are both 0.0 %
        ["Biopsy, n (%)", "6 (10)", "7 (12)"],  # of 59
    ],
)
def test_a_few_missing_ones_are_no_finding(tmp_path, more):
    assert [f.why for f in baseline(tmp_path, more=[more])(same) if not f.verdict.good] == []


@pytest.mark.parametrize("words", ["Unknown, n (%)", "Sex not reported, n (%)"])
def test_a_table_that_speaks_of_missing_ones_has_them(tmp_path, words):
    made = baseline(tmp_path, more=[[words, "3 (5.0)", "5 (7.8)"]])
    assert bad(made(first("7 (11.9)")), "share of counts") == []
    assert bad(made(first("7 (21.9)")), "share of counts") == [(5, "7 (21.9)", "10.94%")]


def true_table(draw):
    """Counts with shares of two arms, one row in ten with some missing in both, and means with deviations below them."""
    sizes = [draw.randint(20, 900), draw.randint(20, 900)]
    said = draw.choice(["row", "heading", "above"])
    head = [
        "Characteristic",
        *(f"{arm}{', n (%)' * (said == 'heading')} (n = {n})" for arm, n in zip("AB", sizes, strict=True)),
    ]
    rows = [["History, n (%)", "", ""]] if said == "above" else []
    for k in range(draw.randint(3, 15)):
        digits, missing = draw.choice([0, 1, 1, 2]), draw.random() < 0.1
        known = [n - missing * draw.randint(1, max(1, n // 10)) for n in sizes]
        counts = [draw.randint(0, n) for n in known]
        cells = [f"{c} ({100 * c / n:.{digits}f})" for c, n in zip(counts, known, strict=True)]
        rows.append([f"x{k}{', n (%)' * (said == 'row')}", *cells])
    for _ in range(draw.randint(0, 4)):
        means = [f"{draw.randint(20, 140)} ({draw.randint(3, 20)})" for _ in sizes]
        rows.append([draw.choice(["Age", "Weight (kg)", "SBP, mmHg", "Tumour burden"]), *means])
    return head, rows


def test_true_tables_of_all_kinds_have_no_finding(tmp_path):
    draw = random.Random(5)
    for _ in range(100):
        head, rows = true_table(draw)
        assert [(f.printed, f.why) for f in read(tmp_path, head, rows) if not f.verdict.good] == [], rows
