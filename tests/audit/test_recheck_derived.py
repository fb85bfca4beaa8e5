"""Relations that a table shows by itself: found where they are meant, silent where numbers only happen to fit."""

import random

import pytest

from orledger.audit.recheck.automatic.derived import check_averages, check_derived
from orledger.audit.recheck.reading.opening import read_document

ROWS = [("a", 12.31, 10.12), ("b", 9.87, 11.05), ("c", 15.42, 12.86), ("d", 8.03, 3.77), ("e", 11.18, 9.64)]


def written(tmp_path, header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    (tmp_path / "p.md").write_text("\n".join(lines) + "\n")
    return read_document(tmp_path / "p.md")


FORMS = {
    "diff": lambda a, b: f"{a - b:.2f}",
    "both": lambda a, b: f"{a + b:.2f}",
    "ratio": lambda a, b: f"{a / b:.3f}",
    "share": lambda a, b: f"{100 * a / b:.1f}",
    "gain": lambda a, b: f"{100 * (a / b - 1):.1f}",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_follows_from_two_others_is_found_and_its_slip_too(tmp_path, form):
    rows = [[name, f"{a:.2f}", f"{b:.2f}", FORMS[form](a, b)] for name, a, b in ROWS]
    found = list(check_derived(written(tmp_path, ["arm", "x", "y", form], rows)))
    assert found
    assert all(f.verdict.good for f in found)
    digits = rows[2][3]
    place = next(i for i, c in enumerate(digits) if c.isdigit() and c != "9")
    rows[2][3] = digits[:place] + str(int(digits[place]) + 1) + digits[place + 1 :]
    bad = [f for f in check_derived(written(tmp_path, ["arm", "x", "y", form], rows)) if not f.verdict.good]
    assert {f.line for f in bad} == {5}


def test_numbers_that_only_happen_to_fit_are_left_alone(tmp_path):
    """A hundred tables of unrelated numbers, and of small whole numbers, give no relation."""
    draw = random.Random(3)
    for _ in range(100):
        rows = [
            [f"r{i}", *(f"{draw.uniform(0, 100):.1f}" for _ in range(5)), *(str(draw.randrange(4)) for _ in range(3))]
            for i in range(6)
        ]
        assert list(check_derived(written(tmp_path, list("nabcdexyz"), rows))) == []


def test_averages_of_rows_and_columns(tmp_path):
    rows = [
        ["a", "1.0", "2.0", "3.0", "2.0"],
        ["b", "3.0", "4.0", "8.0", "5.0"],
        ["c", "5.0", "6.0", "1.0", "4.0"],
        ["Average", "3.0", "4.0", "4.0", "3.7"],
    ]
    header = ["arm", "x", "y", "z", "Avg."]
    assert all(f.verdict.good for f in check_averages(written(tmp_path, header, rows)))
    rows[1][4] = "5.1"
    bad = [f for f in check_averages(written(tmp_path, header, rows)) if not f.verdict.good]
    assert [(f.printed, f.recomputed) for f in bad] == [("5.1", "5")]


def test_nothing_divided_by_nothing_says_nothing(tmp_path):
    """Cells = recovered / share, but for the row in which none was recovered."""
    rows = [("a", 20, 10), ("b", 40, 10), ("c", 25, 5), ("d", 50, 10), ("e", 80, 20), ("f", 16, 4), ("g", 29, 0)]
    lines = ["| kind | cells | recovered | share |", "|---|---|---|---|"]
    lines += [f"| {k} | {n} | {r} | {r / n:.3f} |" for k, n, r in rows]
    (tmp_path / "p.md").write_text("\n".join(lines) + "\n")
    found = list(check_derived(read_document(tmp_path / "p.md")))
    assert found
    assert all(f.verdict.good for f in found)
