"""Sentences that no annotation reads: listed, with the reason that the annotations give."""

import pytest

from orledger.audit.recheck.covering import Bare, Coverage, coverage, states_quantity
from orledger.audit.recheck.data import parse_publication
from orledger.audit.recheck.locating import locate
from orledger.audit.recheck.reading.opening import read_document
from orledger.errors import UsageError

PAPER = "# Results\n\nThe rule wins on 12 cells. It never loses. We thank our friends. The other rule was run on seven cells.\n"
NOTES = """
place = "results"
number = [{ id = "won", printed = "12", kind = "count", meaning = "cells won" }]
uncovered = [
  { words = "It never loses", reason = "losses are not printed" },
  { words = "no such words", reason = "none" },
]
"""


def test_what_is_not_annotated_is_listed_with_its_reason(tmp_path):
    (tmp_path / "p.md").write_text(PAPER)
    document, publication = read_document(tmp_path / "p.md"), parse_publication({"n.toml": NOTES})
    found = coverage(document, publication, locate(publication, document))
    assert found.stating == 3
    assert [(b.sentence, b.reason) for b in found.bare] == [
        ("It never loses.", "losses are not printed"),
        ("The other rule was run on seven cells.", ""),
    ]
    assert [b.line for b in found.unexplained] == [3]
    assert found.unused == ("no such words",)


def test_how_much_is_annotated_is_said_in_one_line():
    bare = [Bare("p.md", k, "Results", f"All {k} win.", reason) for k, reason in enumerate(("", "a", "", "b", "c"))]
    assert Coverage(9, tuple(bare), ()).summary == (
        "4 of 9 sentences with a number or a word of quantity hold an annotated one; "
        "of the other 5, 3 have a reason and 2 have none"
    )


@pytest.mark.parametrize(
    ("text", "counts"), [("Both fall.", True), ("It rises to 0.3.", True), ("We thank our friends.", False)]
)
def test_numbers_and_words_of_quantity_count(text, counts):
    assert states_quantity(text) is counts


def test_a_reason_needs_words_and_a_reason():
    with pytest.raises(UsageError, match="reason"):
        parse_publication({"n.toml": 'uncovered = [{ words = "x" }]'})
    with pytest.raises(UsageError, match="why"):
        parse_publication({"n.toml": 'uncovered = [{ words = "x", reason = "y", why = "z" }]'})


def test_a_count_in_words_is_found_on_its_line(tmp_path):
    (tmp_path / "p.md").write_text("There are 7 of them.\n\nAll seven were run.\n")
    notes = 'place = "p"\nnumber = [{ id = "n", printed = "7", kind = "count", line = 3, meaning = "runs" }]'
    found = locate(parse_publication({"n.toml": notes}), read_document(tmp_path / "p.md"))
    assert found["n"].line == 3
