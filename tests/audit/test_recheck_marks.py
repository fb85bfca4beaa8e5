"""Bold numbers against the rest of their column or row: what the caption says, which end is best, and marks of another kind."""

import pytest

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.opening import read_document

HEAD = ("method", "A", "B", "C", "D")


def marks(tmp_path, caption, rows, head=HEAD):
    lines = " \\\\ ".join(" & ".join(f"\\textbf{{{c[1:]}}}" if c[0] == "!" else c for c in row) for row in rows)
    text = f"\\begin{{tabular}}{{l{'r' * len(head)}}}\\toprule {' & '.join(head)} \\\\ \\midrule {lines} \\\\ \\bottomrule\\end{{tabular}}"
    (tmp_path / "p.tex").write_text(
        f"\\begin{{document}}\\begin{{table}}\\caption{{{caption}}}{text}\\end{{table}}\\end{{document}}"
    )
    return [f for f in recheck_document(read_document(tmp_path / "p.tex")) if f.rule == "bold"]


def bad(found):
    assert {f.verdict for f in found} <= {CheckVerdict.MATCHES, CheckVerdict.INCONSISTENT}
    return [(f.printed, f.recomputed) for f in found if not f.verdict.good]


# The last row is the best but for column C.
OURS = [
    ("x", "81.2", "73.3", "69.8", "71.0"),
    ("y", "84.1", "72.2", "80.4", "75.5"),
    ("w", "80.2", "70.1", "86.8", "69.5"),
    ("z", "!86.0", "!75.5", "!82.0", "!78.3"),
]


def test_a_row_in_bold_is_one_of_best_values_where_the_caption_says_so(tmp_path):
    found = marks(tmp_path, "Results. Best in bold.", OURS)
    assert len(found) == 4
    assert bad(found) == [("82.0", "86.8")]
    assert [f.why for f in found if not f.verdict.good] == [
        "not the highest of its column, as the other marks are, which is 86.8"
    ]
    both = marks(tmp_path, "Best in bold, second best underlined.", OURS)
    assert bad(both) == [("82.0", "86.8")]
    assert marks(tmp_path, "Results. Our method in bold.", OURS) == []
    assert marks(tmp_path, "Results.", OURS) == []


# Every mark is the best of its row; in column C it is not the best of its column.
MOVED = [
    ("x", "81.2", "!82.3", "69.8", "71.0"),
    ("y", "77.1", "72.2", "76.4", "!77.5"),
    ("z", "!86.0", "71.5", "82.0", "70.3"),
    ("w", "80.2", "70.1", "!81.0", "69.5"),
]


def test_the_caption_says_of_what_a_mark_is_the_best(tmp_path):
    assert bad(marks(tmp_path, "The best value of each column is in bold.", MOVED)) == [("81.0", "82")]
    assert bad(marks(tmp_path, "Best per row in bold.", MOVED)) == []
    assert bad(marks(tmp_path, "Bold: the best.", MOVED)) == [], "as rows all of them are"


def test_one_mark_in_every_column_and_not_in_every_row_are_marks_of_columns(tmp_path):
    rows = [*MOVED, ("v", "60.1", "60.2", "60.3", "60.4")]
    assert bad(marks(tmp_path, "Bold: the best.", rows)) == [("81.0", "82")]


def test_what_best_means_is_taken_from_names_then_from_the_other_marks(tmp_path):
    losses = ("method", "loss A", "loss B", "loss C", "D")
    rows = [
        ("x", "!1.2", "3.3", "9.8", "7.0"),
        ("y", "4.1", "!2.2", "8.4", "7.5"),
        ("w", "8.2", "7.1", "!8.8", "!6.5"),
    ]
    (wrong,) = [f for f in marks(tmp_path, "Best in bold.", rows, losses) if not f.verdict.good]
    assert wrong.why == "not the lowest of its column, which is 8.4"
    mixed = [
        ("x", "!1.2", "!3.3", "5.4", "7.0"),
        ("y", "4.1", "2.2", "!6.8", "7.5"),
        ("w", "8.2", "2.1", "9.9", "!6.5"),
        ("v", "8.1", "1.1", "5.9", "9.5"),
    ]
    (wrong,) = [f for f in marks(tmp_path, "Best in bold.", mixed) if not f.verdict.good]
    assert wrong.why == "neither the highest of its column, which is 9.9, nor the lowest, which is 5.4"
    assert wrong.recomputed == ""


@pytest.mark.parametrize(
    ("caption", "change"),
    [
        ("Best in bold.", {}),
        ("Best in bold.", {"w": ("Oracle", "90.2", "90.1", "96.8", "99.5")}),
        ("Best in bold.", {"w": ("Human", "80.2", "70.1", "86.8", "69.5")}),
        ("Best in bold.", {"w": ("Upper bound", "96.2", "70.1", "86.8", "69.5")}),
        ("Best per column in bold.", {"w": ("$\\Delta$", "+0.2", "+0.1", "99.0", "+9.5")}),
        ("Bold: our method.", {"w": ("w", "80.2", "70.1", "86.8", "69.5")}),
        ("In bold: not significantly worse than the best.", {"w": ("w", "80.2", "70.1", "86.8", "69.5")}),
        ("For open models, the best is in bold.", {"w": ("w", "80.2", "70.1", "86.8", "69.5")}),
        ("Best among ours in bold.", {"w": ("w", "80.2", "70.1", "86.8", "69.5")}),
        ("Best of each group in bold.", {"w": ("w", "80.2", "70.1", "86.8", "69.5")}),
        ("Best in bold.", {"w": ("w$^*$", "80.2", "70.1", "86.8", "69.5")}),  # with something that the others lack
        ("Best in bold.", {"w": ("w", "80.2", "70.1", "86.8", "99.5")}),  # two of four: a chosen row after all
        ("Best and second best in bold.", {"w": ("w", "80.2", "70.1", "86.8", "69.5")}),
        ("Best results within the error in bold.", {"w": ("w", "80.2", "70.1", "86.8", "69.5")}),
        ("Best in bold.", {"w": ("w", "90.2", "90.1", "96.8", "99.5")}),  # marks of another kind
        ("Best in bold.", {"w": ("w", "80.2", "!75.5", "80.8", "69.5")}),  # a tie
    ],
)
def test_marks_that_are_right_or_of_another_kind(tmp_path, caption, change):
    rows = [change.get(row[0], ("w", "80.2", "70.1", "80.8", "69.5") if row[0] == "w" else row) for row in OURS]
    assert bad(marks(tmp_path, caption, rows)) == []
