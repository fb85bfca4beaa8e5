"""Each predicate, once holding and once failing, and what it says when there is no data."""

from __future__ import annotations

import pytest
from hypothesis_text import framed

from orledger.audit.claims import check
from orledger.audit.pairing import Ledger
from orledger.audit.reading import parse_hypothesis


def result(db, body: str):
    text = framed('[[claim]]\nid = "w"\nstatement = "s"\n' + body, ("g", "s"), "w holds")
    h = parse_hypothesis(text, "x.toml")
    return check(Ledger(db.con), h.claims[0])


@pytest.fixture
def filled(db):
    """Two groups of three units; arm a is 1, 2, 3 and 10, 20, 30, arm b twice that, arm c is b except once above."""
    for g, scale in (("p", 1.0), ("q", 10.0)):
        for s in (1, 2, 3):
            v = s * scale
            db.cell(
                {"g": g, "s": s},
                [("a", "m", v), ("b", "m", 2 * v), ("c", "m", 2.5 * v if (g, s) == ("q", 3) else 2 * v)],
            )
    return db


CASES = [
    ('kind = "never_worse"\narms = ["a", "b"]', "holds", "a is worse than b in 0 of 6 units"),
    ('kind = "never_worse"\narms = ["b", "a"]', "fails", "b is worse than a in 6 of 6 units"),
    ('kind = "never_worse"\nbetter = "higher"\narms = ["b", "a"]', "holds", ""),
    ('kind = "never_worse"\ntolerance = 20\narms = ["b", "a"]', "fails", "in 1 of 6"),
    ('kind = "at_most"\nlimit = 30\narm = "a"', "holds", "largest m is 30, limit 30"),
    ('kind = "at_most"\nlimit = 29\narm = "a"', "fails", ""),
    ('kind = "at_most"\nlimit = 2\nstat = "median"\nwithin = ["g"]\narm = "a"', "fails", "largest median of m is 20"),
    ('kind = "at_most"\nlimit = 0.5\ncombine = "ratio"\narms = ["a", "b"]', "holds", "largest a/b is 0.5"),
    ('kind = "at_least"\nlimit = -30\ncombine = "difference"\narms = ["a", "b"]', "holds", "smallest a minus b is -30"),
    ('kind = "at_least"\nlimit = 6\nstat = "mean"\narm = "a"', "holds", "mean of m is 11, limit 6"),
    ('kind = "ordering"\nstat = "median"\narms = ["a", "b"]', "holds", "median: a 6.5, b 13"),
    ('kind = "ordering"\nstat = "median"\nstrict = true\narms = ["a", "b", "c"]', "fails", ""),
    ('kind = "ordering"\nstat = "median"\ndirection = "decreasing"\narms = ["b", "a"]', "holds", ""),
    ('kind = "best"\nstat = "median"\nwithin = ["g"]\narms = ["a", "b", "c"]', "holds", "a is best in 2 of 2 groups"),
    ('kind = "best"\nstat = "mean"\nstrict = true\nbetter = "higher"\nwithin = ["g"]\narms = ["c", "b"]', "fails", "best in 1 of 2 groups"),
    ('kind = "monotone"\nalong = "s"\narm = "a"', "holds", "5.5 11 16.5"),
    ('kind = "monotone"\nalong = "s"\ndirection = "decreasing"\narm = "a"', "fails", ""),
    ('kind = "monotone"\nalong = "g"\norder = ["q", "p"]\ndirection = "decreasing"\narm = "a"', "holds", "20 2"),
    ('kind = "count"\nat_least = 6\narms = ["a", "b"]', "holds", "a better than b in 6 of 6"),
    ('kind = "count"\nat_least = 0.5\nevent = { gt = 10 }\narm = "a"', "fails", "true in 2 of 6"),
    ('kind = "count"\nat_most = 2\nevent = { gt = 10 }\narm = "a"', "holds", ""),
    ('kind = "none"\nevent = { gt = 30 }\narm = "a"', "holds", "0 in 6 records"),
    ('kind = "none"\nevent = { gt = 29 }\narm = "a"', "fails", "1 in 6 records"),
    ('kind = "measured"\nstat = "max"\nwithin = ["g"]\narm = "a"', "measured", "max of m: p 3, q 30"),
    ('kind = "at_most"\nlimit = 1\narm = "nobody"', "missing", "no units"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "state", "observed"), CASES)
def test_predicates(filled, body, state, observed):
    r = result(filled, body + "\n")
    assert r.state == state
    assert observed in r.observed


def test_counterexamples_are_named(filled):
    r = result(filled, 'kind = "never_worse"\narms = ["c", "b"]\n')
    assert r.counterexamples == ("q/3: 75 against 60",)
    assert r.value == 1


def test_resampling_over_backends(db):
    """An arm that spreads least on both backends stays lowest; one that is wild on the second backend does not."""
    for backend in (0, 1):
        for g in ("p", "q"):
            for s in (1, 2, 3):
                wild = 10.0**s if backend else 1 + 0.001 * s
                db.cell(
                    {"g": g, "s": s, "backend": backend},
                    [("a", "m", 1 + 0.01 * s), ("b", "m", 1 + 0.1 * s), ("c", "m", wild)],
                )
    body = 'kind = "resampled"\nstat = "cv"\nalong = "backend"\nwithin = ["g"]\npair = ["g", "s", "backend"]\ndraws = 200\n'
    steady = result(db, body + 'arms = ["a", "b"]\n')
    assert (steady.state, steady.value) == ("holds", 1.0)
    assert "lowest in 200 of 200 draws" in steady.observed
    mixed = result(db, body + 'arms = ["c", "b"]\n')
    assert mixed.state == "fails"
    assert 0 < mixed.value < 0.5  # both groups must escape the wild backend in most cells
    assert result(db, body + 'where = { backend = 0 }\narms = ["a", "b"]\n').state == "missing"
