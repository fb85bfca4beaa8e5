"""Each predicate, once holding and once failing, and what it says when there is no data."""

from __future__ import annotations

import pytest
from hypothesis_text import framed

from orledger.audit.evaluation.claims import check
from orledger.audit.evaluation.units import UnitReader
from orledger.audit.registry.reading import parse_hypothesis
from orledger.errors import DataError
from orledger.toml_tables import TomlError


def result(db, body: str):
    return checked(db.results, body)


def checked(results, body: str):
    text = framed('[[claim]]\nid = "w"\nstatement = "s"\n' + body, ("g", "s"), "w holds")
    h = parse_hypothesis(text, "x.toml")
    return check(UnitReader(results), h.claims[0])


@pytest.fixture
def filled(db):
    """Two groups of three units; arm a is 1, 2, 3 and 10, 20, 30, arm b twice that, arm c is b except once above."""
    return fill(db)


@pytest.fixture(scope="module")
def once(module_db):
    """The same for tests that only read it."""
    return fill(module_db).results


def fill(db):
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
    ('kind = "monotone"\nalong = "s"\nstat = "median"\narm = "a"', "holds", "0 of 3 pairs turn; value: 5.5 11 16.5"),
    ('kind = "monotone"\nalong = "s"\nstat = "median"\ndirection = "decreasing"\narm = "a"', "fails", "3 of 3 pairs"),
    ('kind = "monotone"\nalong = "g"\nstat = "median"\norder = ["q", "p"]\ndirection = "decreasing"\narm = "a"', "holds", "20 2"),
    ('kind = "monotone"\nalong = "s"\narm = "a"', "fails", "3 of 12 pairs turn; value: 1/10 2/20 3/30"),
    ('kind = "monotone"\nalong = "s"\nwithin = ["g"]\narm = "a"', "holds", "0 of 6 pairs turn; value in p: 1 2 3; value in q: 10 20 30"),
    ('kind = "monotone"\nalong = "s"\nwhere = { s = 1 }\narm = "a"', "missing", "all units stand at one place along s"),
    ('kind = "count"\nat_least = 6\narms = ["a", "b"]', "holds", "a better than b in 6 of 6"),
    ('kind = "count"\nat_least = 0.5\nevent = { gt = 10 }\narm = "a"', "fails", "true in 2 of 6"),
    ('kind = "count"\nat_most = 2\nevent = { gt = 10 }\narm = "a"', "holds", ""),
    ('kind = "none"\nevent = { gt = 30 }\narm = "a"', "holds", "0 in 6 records"),
    ('kind = "none"\nevent = { gt = 29 }\narm = "a"', "fails", "1 in 6 records"),
    ('kind = "measured"\nstat = "max"\nwithin = ["g"]\narm = "a"', "measured", "max of m: p 3, q 30"),
    ('kind = "measured"\nstat = "share"\narm = "a"', "measured", "share of records: 11 (66 of 6)"),
    ('kind = "at_most"\nlimit = 1\narm = "nobody"', "missing", "no units; 0 of 6 units, 6 dropped: no record (6)"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "state", "observed"), CASES)
def test_predicates(once, body, state, observed):
    r = checked(once, body + "\n")
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


# ---- monotone: ties along the key ---------------------------------------------------------------------------------------


def test_a_violation_cannot_hide_in_the_mean_of_a_tie(db):
    """Values 0, 1, 1 share a place, 0.4 follows: their mean 2/3 would fall to 0.4, but the 0 rises to it."""
    for g, (s, v) in enumerate([(0, 0.0), (0, 1.0), (0, 1.0), (1, 0.4), (2, 0.0)]):
        db.cell({"g": g, "s": s}, [("a", "m", v)])
    body = 'kind = "monotone"\ndirection = "decreasing"\nalong = "s"\narm = "a"\n'
    r = result(db, body)
    assert (r.state, r.value) == ("fails", 1.0)
    assert r.counterexamples == ("value: 0/0 0, 3/1 0.4",)
    assert "1 of 7 pairs turn" in r.observed  # three tied against two, and those two
    assert result(db, body + 'stat = "mean"\n').state == "holds"  # a reduction that the file declares is another claim


def test_small_steps_do_not_add_up_to_a_turn(db):
    """Three steps down by 0.4 are within a tolerance of 0.5 one by one; the first and the last differ by 1.2."""
    for s, v in enumerate((2.0, 1.6, 1.2, 0.8)):
        db.cell({"g": "p", "s": s}, [("a", "m", v)])
    r = result(db, 'kind = "monotone"\nalong = "s"\ntolerance = 0.5\narm = "a"\n')
    assert (r.state, r.value) == ("fails", 3.0)  # 2.0 to 1.2, 2.0 to 0.8, 1.6 to 0.8


def test_equal_values_are_no_turn_unless_strict(db):
    for s in (1, 2):
        db.cell({"g": "p", "s": s}, [("a", "m", 5.0)])
    body = 'kind = "monotone"\nalong = "s"\narm = "a"\n'
    assert result(db, body).state == "holds"
    assert result(db, body + "strict = true\n").state == "fails"


def test_a_key_without_numbers_needs_an_order(filled):
    with pytest.raises(DataError, match="'g' has values that are no numbers"):
        result(filled, 'kind = "monotone"\nalong = "g"\narm = "a"\n')
    r = result(filled, 'kind = "monotone"\nalong = "g"\norder = ["p", "z"]\nwhere = { s = 1 }\narm = "a"\n')
    assert r.state == "missing"
    assert [(d.unit, d.reason) for d in r.dropped] == [("q/1", "g is not in the order given")]


# ---- what a claim could not look at -------------------------------------------------------------------------------------


@pytest.fixture
def gappy(filled):
    """Three more units: one arm refused with numbers in its reason, one cell failed, and a third group refused altogether."""
    filled.cell({"g": "p", "s": 4}, [("b", "m", 1.0)], refusals=[("a", "empty set: eta = 5.98 is below 6.08")])
    filled.cell({"g": "q", "s": 4}, state="failed")
    filled.cell({"g": "r", "s": 1}, [("b", "m", 1.0)], refusals=[("a", "empty set: eta = 1.5 is below 2.5")])
    return filled


def test_dropped_units_are_kept_with_reasons_and_said(gappy):
    r = result(gappy, 'kind = "at_most"\nlimit = 30\narm = "a"\n')
    assert (r.state, r.n) == ("holds", 6)
    assert r.observed.endswith("; 6 of 9 units, 3 dropped: arm refused: empty set (2), cell failed (1)")
    assert [(d.unit, d.reason) for d in r.dropped] == [
        ("p/4", "arm refused: empty set: eta = 5.98 is below 6.08"),
        ("q/4", "cell failed"),
        ("r/1", "arm refused: empty set: eta = 1.5 is below 2.5"),
    ]


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ('kind = "at_most"\nlimit = 30\nstat = "mean"\nwithin = ["g"]\narm = "a"', "missing"),
        ('kind = "at_most"\nlimit = 30\nwithin = ["g"]\narm = "a"', "missing"),
        ('kind = "best"\nstat = "mean"\nwithin = ["g"]\narms = ["a", "b"]', "missing"),
        ('kind = "never_worse"\nwithin = ["g"]\narms = ["a", "b"]', "missing"),
        ('kind = "at_most"\nlimit = 15\nstat = "mean"\nwithin = ["g"]\narm = "a"', "fails"),
        ('kind = "measured"\nstat = "mean"\nwithin = ["g"]\narm = "a"', "measured"),
    ],
)
def test_a_planned_group_without_any_value_keeps_a_claim_from_holding(gappy, body, state):
    """Group r was planned and has nothing: what is said of every group does not hold on two of three; it can still fail."""
    r = result(gappy, body + "\n")
    assert r.state == state
    assert r.observed.startswith("no value for r; of the rest: ")


def test_an_aggregate_over_part_of_its_cells_says_so(gappy):
    r = result(
        gappy, 'kind = "at_most"\nlimit = 30\npair = ["g"]\naggregate = { over = ["s"], stat = "mean" }\narm = "a"\n'
    )
    assert r.n == 2
    assert "2 of 3 units, 1 dropped: arm refused: empty set (1); 2 of 2 units incomplete: " in r.observed


QUERY = """
SELECT c.cell_id, c.keys['g'] AS g, c.keys['s'] AS s, r.value FROM record r JOIN cell c USING (cell_id) WHERE r.arm = 'a'
"""


def test_a_query_of_its_own_misses_the_cells_it_does_not_return(gappy):
    body = f'kind = "at_most"\nlimit = 30\nwithin = ["g"]\nsql = """{QUERY}"""\n'
    r = result(gappy, body)
    assert r.state == "missing"
    assert [(d.unit, d.reason) for d in r.dropped] == [
        ("p/4", "no record"),
        ("q/4", "cell failed"),
        ("r/1", "no record"),
    ]
    assert result(gappy, body + 'where = { g = ["p", "q"] }\n').state == "holds"


def test_two_values_for_one_unit_are_named(filled):
    r = result(filled, f'kind = "at_most"\nlimit = 30\npair = ["g"]\nsql = """{QUERY}"""\n')
    assert r.state == "missing"
    assert "2 dropped: 3 values for one unit" in r.observed


def test_zero_over_zero_is_no_ratio(db):
    """0/0 is neither within the limit nor beyond it: the unit is left out and named; 1/0 is beyond every limit."""
    db.cell({"g": "p", "s": 1}, [("a", "m", 0.0), ("b", "m", 0.0)])
    db.cell({"g": "p", "s": 2}, [("a", "m", 1.0), ("b", "m", 2.0)])
    body = 'kind = "at_most"\nlimit = 1\ncombine = "ratio"\narms = ["a", "b"]\n'
    r = result(db, body)
    assert (r.state, r.value, r.n) == ("holds", 0.5, 1)
    assert [(d.unit, d.reason) for d in r.dropped] == [("p/1", "ratio is not defined")]
    db.cell({"g": "p", "s": 3}, [("a", "m", 1.0), ("b", "m", 0.0)])
    assert result(db, body).state == "fails"


# ---- pooled shares --------------------------------------------------------------------------------------------------------


def test_a_share_pools_numerators_and_denominators(db):
    """1 of 2 and 1 of 8 records: 2 of 10 pooled, where the mean of the two shares would be 0.3125; a unit of none adds none."""
    for s, (hits, records) in enumerate(((1, 2), (1, 8), (0, 0))):
        db.cell({"g": "p", "s": s}, [("a", "hits", hits), ("a", "records", records)])
    sql = """
    SELECT c.cell_id, c.keys['g'] AS g, c.keys['s'] AS s, max(r.value) FILTER (r.metric = 'hits') AS value,
           max(r.value) FILTER (r.metric = 'records') AS points
    FROM record r JOIN cell c USING (cell_id) GROUP BY ALL
    """
    body = f'stat = "share"\nsql = """{sql}"""\n'
    r = result(db, 'kind = "measured"\n' + body)
    assert (r.value, r.n) == (0.2, 3)
    assert r.observed == "share of records: 0.2 (2 of 10) (bare: no independent unit is declared)"
    assert result(db, 'kind = "at_most"\nlimit = 0.25\n' + body).state == "holds"
    assert "2 undefined (0 of 0)" in result(db, 'kind = "measured"\nwithin = ["s"]\n' + body).observed


def test_a_share_of_two_sides_is_refused(db):
    with pytest.raises(TomlError, match="'stat': expected another statistic"):
        result(db, 'kind = "best"\nstat = "share"\narms = ["a", "b"]\n')


@pytest.mark.parametrize(
    ("value", "state", "words"),
    [
        (100, "fails", "; with 3 refused units as 100: 40.6667, fails"),
        (0, "holds", "; with 3 refused units as 0: 7.33333, holds"),
        (23, "holds", "; with 3 refused units as 23: 15, holds"),
    ],
)
def test_refused_units_take_the_value_that_is_declared(gappy, value, state, words):
    """Six units have the mean 11; two refusals and a failure make nine, and the mean (66 + 3 v) / 9."""
    r = result(gappy, f'kind = "at_most"\nlimit = 15\nstat = "mean"\nrefused_as = {value}\narm = "a"\n')
    assert (r.state, r.value, r.n) == (state, 11.0, 6)
    assert words in r.observed


def test_refused_units_cannot_rescue_a_claim_that_fails(gappy):
    r = result(gappy, 'kind = "at_most"\nlimit = 10\nstat = "mean"\nrefused_as = 0\narm = "a"\n')
    assert r.state == "fails"
    assert "7.33333, holds" in r.observed
