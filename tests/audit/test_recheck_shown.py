"""What a recheck says to people: the name of a finding, its reason, its sentence, its place, and shares of noticed changes."""

from __future__ import annotations

import math

import pytest

from orledger.audit.recheck.findings import Cause, Finding
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.power import Power


def finding(**given) -> Finding:
    known = {
        "id": "sum", "place": "Table 1", "printed": "12", "recomputed": "13", "low": 13.0, "high": 13.0,
        "verdict": CheckVerdict.INCONSISTENT, "rule": "total", "convention": None, "why": "the rows add up to 13", "operands": (),
    }  # fmt: skip
    return Finding(**(known | given))


def test_a_finding_says_why_and_where():
    assert finding().because == "The rows add up to 13"
    assert finding().where == "Table 1"
    assert finding(file="p.tex", line=7).where == "p.tex:7, Table 1"
    assert Cause("c", CheckVerdict.INCONSISTENT, (finding(rule="mean_rank"), finding())).kind == "mean rank"


@pytest.mark.parametrize(
    ("id_", "file", "name"),
    [
        ("p.tex:7:3 total", "p.tex", "total"),  # a mere position, which `where` gives too
        ("p.tex/2/5 total", "p.tex", "total"),
        ("p.tex:7:3 total", "", "p.tex:7:3 total"),
        ("won", "p.tex", "won"),
    ],
)
def test_a_finding_is_called_by_its_id_or_its_kind(id_, file, name):
    assert finding(id=id_, file=file).name == name


@pytest.mark.parametrize(
    ("sentence", "printed", "quoted"),
    [
        ("We won 12 of 20.", "12", ("We won ", "12", " of 20.")),
        ("Of 112 and 12.5 and 12 cells.", "12", ("Of 112 and 12.5 and ", "12", " cells.")),
        ("In @ we won 12.", "12", ("In … we won ", "12", ".")),
        ("It never loses.", "12", ("It never loses.", "", "")),
        ("We won all.", "", ("We won all.", "", "")),
    ],
)
def test_the_printed_number_is_marked_in_its_sentence(sentence, printed, quoted):
    assert finding(sentence=sentence, printed=printed).quoted == quoted


def test_every_verdict_has_a_meaning_of_its_own():
    assert len({verdict.meaning for verdict in CheckVerdict}) == len(CheckVerdict)


def test_shares_of_noticed_changes_are_of_those_that_were_made():
    some = Power("Table 1", numbers=4, read=3, changes=16, noticed=12, last=8, last_noticed=2)
    assert (some.share, some.last_share) == (0.75, 0.25)
    none = Power("Table 2", numbers=1, read=0, changes=0, noticed=0, last=0, last_noticed=0)
    assert math.isnan(none.share)
    assert math.isnan(none.last_share)
