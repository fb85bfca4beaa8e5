"""A document with annotations: numbers found in it, drafts that can be read back, and what one wrong digit would change."""

import pytest

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.checking import recheck
from orledger.audit.recheck.data import parse_publication
from orledger.audit.recheck.document_power import document_changes
from orledger.audit.recheck.drafting import draft, printed_form
from orledger.audit.recheck.joint_power import joint_changes
from orledger.audit.recheck.locating import locate, placed, unprinted
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.power import annotated_changes, by_place, by_relation, ceiling, changes, whole
from orledger.audit.recheck.reading.opening import read_document

PAPER = """# Study

We ran 12 cells and 3 failed, so that 9 remained, with a median of 1.25 seconds. All nine agree: the new rule never loses.
Of these, 3 of 9 (33%) were fast, and the price was 1,413.

| arm | cells | share |
|---|---|---|
| new | 4 | 0.44 |
| old | 5 | 0.56 |
| total | 9 | 1.00 |
"""
NOTES = """
place = "the study"
number = [
  { id = "planned", printed = "12", kind = "count", meaning = "cells that were run" },
  { id = "failed", printed = "3", kind = "count", meaning = "cells that failed" },
  { id = "left", printed = "9", kind = "count", meaning = "cells that remained" },
  { id = "price", printed = "1413", kind = "count", meaning = "the price" },
  { id = "gone", printed = "77", kind = "count", meaning = "printed nowhere" },
  { id = "fast", printed = "3/9", kind = "count", meaning = "fast ones" },
  { id = "never", printed = "the new rule never loses", kind = "claim", meaning = "a statement" },
]
[table.T]
place = "the table"
columns = [{ name = "cells", kind = "count" }, { name = "share" }]
[table.T.rows]
new = ["4", "0.44"]
old = ["5", "0.56"]
[[check]]
target = "left"
rule = "difference"
of = ["planned", "failed"]
[[check]]
target = "left"
rule = "total"
of = ["T/new/cells", "T/old/cells"]
[[check]]
target = "never"
rule = "at_most"
of = ["planned"]
bound = "left"
"""


@pytest.fixture
def paper(tmp_path):
    (tmp_path / "p.md").write_text(PAPER)
    return read_document(tmp_path / "p.md")


def test_annotated_numbers_are_found_where_they_stand(paper):
    notes = parse_publication({"n.toml": NOTES})
    where = locate(notes, paper)
    assert {name: at.line for name, at in where.items()} == {
        "planned": 3, "failed": 3, "left": 3, "price": 4, "fast": 4, "never": 3,
        "T/new/cells": 8, "T/new/share": 8, "T/old/cells": 9, "T/old/share": 9,
    }  # fmt: skip
    (missing,) = unprinted(notes, where)
    assert (missing.id, missing.verdict) == ("gone printed", CheckVerdict.UNCHECKED)
    claim = next(f for f in placed(recheck(notes), notes, where) if f.id == "never at_most")
    assert claim.verdict is CheckVerdict.INCONSISTENT
    assert claim.sentence == "All nine agree: the new rule never loses."


def test_a_draft_is_valid_names_every_number_and_marks_what_no_relation_reaches(paper):
    text = draft(paper, recheck_document(paper))
    drafted = parse_publication({"draft.toml": text})
    values = sorted(n.printed for n in drafted.numbers.values())
    for printed in ("12", "3", "9", "1.25", "1413", "0.44", "0.56", "1.00", "33"):
        assert printed in values
    line = next(line for line in text.splitlines() if '"1.25"' in line)
    assert "UNCOVERED" in line
    line = next(line for line in text.splitlines() if '"33"' in line)
    assert "UNCOVERED" not in line
    assert "p.md:4: Of these, 3 of 9 (33%) were fast" in text


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("= .03", "0.03"),
        ("1,413", "1413"),
        ("1.2·10^{-3}", "1.2e-3"),
        ("10^{-3}", "1e-3"),
        ("−0.5", "-0.5"),
        ("30%", "30"),
        ("-.5", "-0.5"),
    ],
)
def test_digits_in_the_form_of_annotations(text, form):
    assert printed_form(text) == form


def test_one_digit_goes_up_or_down_without_a_carry():
    assert sorted(changes("0.19")) == sorted([("1.19", False), ("0.09", False), ("0.29", False), ("0.18", True)])
    assert [printed for printed, _ in changes("5e-8")] == ["4e-8", "6e-8"]
    assert {last for _, last in changes("7/7")} == {False, True}


def annotated_power(notes):
    return by_place(annotated_changes(notes))


def document_power(document):
    return by_place(tried for _, tried in document_changes(document))


def joint_power(notes, document):
    return by_place(joint_changes(notes, document, annotated_changes(notes), document_changes(document)))


def test_power_of_annotations_counts_what_is_noticed_and_names_the_rest():
    parts = {p.place: p for p in annotated_power(parse_publication({"n.toml": NOTES}))}
    assert parts["left"].share == 1.0, "every other count breaks two relations"
    assert parts["price"].share == 0.0
    assert parts["price"].bare == ("price",)
    # 4 and 5 are counts that must add up; the shares are in no relation.
    assert (parts["T"].numbers, parts["T"].read) == (4, 2)
    assert whole(list(parts.values())).numbers == 10


def test_power_without_annotation(paper):
    parts = {p.place: p for p in document_power(paper)}
    table = parts["table 1"]
    assert (table.numbers, table.read) == (6, 6)
    # Counts must add up exactly; the last digits of 0.44 + 0.56 = 1.00 may each be one off within rounding.
    # With 1.44 for 0.44, or 1.56 for 0.56, the last row could be a mean, and a mean is not called a wrong total.
    assert (table.noticed, table.changes, table.last_noticed, table.last) == (12, 19, 5, 10)
    text = parts["Study"]
    assert text.read == 3
    assert 0 < text.noticed < text.changes
    assert any("1,413" in name for name in text.bare)


def test_power_of_all_checks_is_taken_over_every_number_of_the_document(paper):
    notes = parse_publication({"n.toml": NOTES})
    together, alone = whole(joint_power(notes, paper)), whole(document_power(paper))
    # "3 of the 9" is one number here and two there; "gone" is printed nowhere and counts for nothing.
    assert together.numbers == alone.numbers - 1
    assert together.noticed >= alone.noticed
    assert together.last_noticed >= alone.last_noticed
    assert any("1,413" in name for name in together.bare)
    left = next(p for p in joint_power(notes, paper) if p.place == "Study")
    only = next(p for p in document_power(paper) if p.place == "Study")
    assert left.read > only.read, "what an annotation relates is in a relation"


def test_power_says_which_numbers_others_determine_list_or_only_bound():
    text = """
place = "results"
number = [
  { id = "a", printed = "3", kind = "count", meaning = "part" },
  { id = "b", printed = "4", kind = "count", meaning = "part" },
  { id = "whole", printed = "7", kind = "count", meaning = "both" },
  { id = "share", printed = "0.43", meaning = "share of seven" },
  { id = "low", printed = "0.2", kind = "interval end", meaning = "end" },
  { id = "free", printed = "5.5", meaning = "nothing" },
]
[[check]]
target = "whole"
rule = "total"
of = ["a", "b"]
[[check]]
target = "share"
rule = "share_possible"
n = "whole"
[[check]]
target = "low"
rule = "at_most"
of = ["low"]
bound = "share"
"""
    numbers = list(annotated_changes(parse_publication({"n.toml": text})))
    relations = {one.name: one.relation.value for one in numbers}
    assert relations == {
        "a": "follows from others",
        "b": "follows from others",
        "whole": "follows from others",
        "share": "one of a list",
        "low": "only bounded by others",
        "free": "in no relation",
    }
    parts = by_relation(numbers)
    assert [p.place for p in parts] == list(dict.fromkeys(relations.values()))
    free = [p for p in parts if p.place in ("only bounded by others", "in no relation")]
    missed = sum(p.changes - p.noticed for p in free)
    assert ceiling(parts)[0] == pytest.approx(1 - missed / sum(p.changes for p in parts))
    assert ceiling(parts)[0] < 1
