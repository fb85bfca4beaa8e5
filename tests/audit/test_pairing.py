"""Units: partners, missing partners with reasons, nested values, aggregation, transforms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis_text import comparison

from orledger.audit.evaluation.comparisons import evaluate
from orledger.audit.evaluation.summary import test_line as line_of
from orledger.audit.evaluation.units import UnitReader, load_units
from orledger.audit.registry.quantities import combined_sql
from orledger.audit.statistics.signedrank import signed_rank
from orledger.errors import DataError


def test_pairs_and_direction(db):
    db.splits([(-1, -2), (-3, -4), (-5, -6)])
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "signed_rank"\narms = ["a", "b"]\n'))
    assert (e.variant, e.independent, e.outcome) == ("declared", True, "less")
    assert e.result.p == signed_rank([-1, -2, -3, -4, -5, -6]).p == 2.0**-5
    assert e.result.effect == -3.5


def test_missing_partners_and_refusals_are_listed(db):
    db.splits([(-1, -2), (-3, -4), (-5, -6)])
    db.cell({"split": 3, "rel": 0}, [("b", "m", 1.0)], refusals=[("a", "the set is empty")])
    db.cell({"split": 4, "rel": 0}, state="failed")
    db.cell({"split": 5, "rel": 0}, state="planned")
    db.cell({"split": 6, "rel": 0}, state="refused", reason="no such target")
    db.cell({"split": 7, "rel": 0}, [("a", "m", 1.0)])
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "signed_rank"\narms = ["a", "b"]\n'))
    dropped = {d.unit: d.reason for d in e.result.dropped}
    assert e.result.n == 6
    assert dropped == {
        "3/0.0": "a: arm refused: the set is empty",
        "4/0.0": "a: cell failed; b: cell failed",
        "5/0.0": "a: cell not computed; b: cell not computed",
        "6/0.0": "a: cell refused: no such target; b: cell refused: no such target",
        "7/0.0": "b: no record",
    }


def test_nested_values_get_the_blocked_version_beside_the_naive_one(db):
    db.splits([(-1, -2), (-3, 4), (-5, -6), (-7, -8), (-9, -10), (-11, -12)])
    blocked, naive, *_ = evaluate(
        UnitReader(db.results),
        comparison('test = "signed_rank"\narms = ["a", "b"]\nunit = ["split"]\nblocked = "mean"\n'),
    )
    assert (blocked.variant, blocked.independent, blocked.result.n) == ("blocked", True, 6)
    assert (naive.variant, naive.independent, naive.result.n) == ("naive", False, 12)
    means = [-1.5, 0.5, -5.5, -7.5, -9.5, -11.5]
    assert blocked.result.p == signed_rank(means).p
    assert blocked.result.effect == np.median([(x + y) / 2 for i, x in enumerate(means) for y in means[i:]])


def test_nested_values_without_a_rule_get_no_p(db):
    db.splits([(-1, -2), (-3, -4), (-5, -6)])
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "signed_rank"\narms = ["a", "b"]\nunit = ["split"]\n'))
    assert (e.outcome, e.result.p, e.independent) == ("refused", None, False)
    assert "nested" in e.result.method


def test_a_floor_above_alpha_is_untestable(db):
    db.splits([(-1, -2), (-3, -4)])
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "signed_rank"\narms = ["a", "b"]\n'))
    assert (e.outcome, e.result.floor) == ("untestable", 0.125)


def test_no_data_is_missing(db):
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "signed_rank"\narms = ["a", "b"]\n'))
    assert (e.outcome, e.result.p, e.result.n) == ("missing", None, 0)


def test_log_scale_drops_what_has_no_logarithm(db):
    db.splits([(0, 10), (90, -10)])
    e, *_ = evaluate(
        UnitReader(db.results), comparison('test = "signed_rank"\narms = ["a", "b"]\ntransform = "log10"\n')
    )
    assert e.result.n == 3
    assert [d.unit for d in e.result.dropped] == ["1/0.25"]
    assert e.result.effect == pytest.approx((np.log10(2) + 0.5) / 2)  # Walsh averages of 0, log10 2 and 1
    assert e.result.effect_name == "Hodges-Lehmann median of log10 ratios"


def test_where_compares_numbers_as_numbers(db):
    db.splits([(-1, -2), (-3, -4)], rels=("0.0", "1e-4"))
    for condition, n in (("{ gt = 0 }", 2), ("0", 2), ("0.0001", 2), ("[0, 0.0001]", 4), ("{ ge = 0 }", 4)):
        c = comparison(f'test = "signed_rank"\narms = ["a", "b"]\nwhere = {{ rel = {condition} }}\n')
        assert evaluate(UnitReader(db.results), c)[0].result.n == n, condition


def test_aggregated_over_seeds(db):
    for group, spread in enumerate((1, 2, 3)):
        for seed, z in enumerate((-1, 0, 1)):
            db.cell(
                {"split": group, "rel": 0, "seed": seed}, [("a", "m", 10 + spread * z), ("b", "m", 10 + 2 * spread * z)]
            )
    c = comparison('test = "signed_rank"\narms = ["a", "b"]\naggregate = { over = ["seed"], stat = "cv" }\n')
    e, *_ = evaluate(UnitReader(db.results), c)
    assert e.result.n == 3
    assert e.result.effect == pytest.approx(-0.2)  # cv 0.1, 0.2, 0.3 against twice as much


def test_a_unit_that_lost_a_seed_enters_and_is_not_called_dropped(db):
    for split in range(3):
        for seed in range(2):
            lost = [("a", "out of memory")] if split == 2 or (split, seed) == (1, 1) else []
            db.cell(
                {"split": split, "rel": 0, "seed": seed},
                [("b", "m", 1.0)] + [("a", "m", 2.0)] * (not lost),
                refusals=lost,
            )
    over = 'aggregate = { over = ["seed"], stat = "mean" }\n'
    for test in ('test = "signed_rank"\narms = ["a", "b"]\n', 'test = "mean_ranks"\narms = ["a", "b"]\n'):
        e, *_ = evaluate(UnitReader(db.results), comparison(test + over))
        assert e.result.n == 2
        assert {d.unit: d.partial for d in e.result.dropped} == {"1/0": True, "2/0": False}
        assert line_of(e).endswith("1 unit dropped, 1 unit incomplete")
    runs = 'test = "improvement"\narms = ["a", "b"]\npair = ["split", "seed"]\nunit = ["split"]\n'
    e, *_ = evaluate(UnitReader(db.results), comparison(runs))
    assert [(d.unit, d.partial) for d in e.result.dropped] == [("1/1", True), ("2/0", False), ("2/1", False)]
    assert line_of(e).endswith("3 values absent")


def test_two_values_have_a_dispersion_and_one_has_none(db):
    """The deviation of 9 and 11 is the root of 2, over a mean of 10; a unit with a single seed is dropped and says why."""
    for split, seeds in enumerate(((9.0, 11.0), (9.0, 11.0), (9.0,))):
        for seed, v in enumerate(seeds):
            db.cell({"split": split, "rel": 0, "seed": seed}, [("a", "m", v), ("b", "m", 10 + 2 * (v - 10))])
    c = comparison('test = "signed_rank"\narms = ["a", "b"]\naggregate = { over = ["seed"], stat = "cv" }\n')
    result = evaluate(UnitReader(db.results), c)[0].result
    assert result.n == 2
    assert result.effect == pytest.approx(-(2**0.5) / 10)
    assert any("one value is not enough for cv" in d.reason for d in result.dropped)


def test_two_cells_for_one_unit_are_not_guessed_between(db):
    db.splits([(-1, -2)])
    db.cell({"split": 0, "rel": 0, "extra": 1}, [("a", "m", 1.0), ("b", "m", 2.0)])
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "signed_rank"\narms = ["a", "b"]\n'))
    assert e.result.n == 1
    assert "2 values for one unit" in e.result.dropped[0].reason


def test_series_are_reduced_inside_their_cell(db):
    db.cell(
        {"split": 0, "rel": 0},
        [("a", "m", v, None, i) for i, v in enumerate((1.0, 5.0, 9.0))] + [("d", "m", 2.0, None, i) for i in range(3)],
    )
    c = comparison('test = "proportion"\narm = "a"\nover_idx = "sum"\ndivide_by = { arm = "d" }\nevent = { gt = 1 }\n')
    e, *_ = evaluate(UnitReader(db.results), c)
    assert (e.result.statistic, e.result.n, e.variant, e.independent) == (2.0, 3, "naive", False)
    q = comparison('test = "proportion"\narm = "a"\nover_idx = "median"\n').sides[0][1]
    assert load_units(UnitReader(db.results), q, ("split", "rel")).values["value"].to_list() == [5.0]


def test_identical_series(db):
    def series(arm, values):
        return [(arm, "m", float(v), None, i) for i, v in enumerate(values)]

    db.cell({"split": 0, "rel": 0}, series("k1", (3, 4, 5)) + series("k2", (3, 4, 5)))
    db.cell({"split": 1, "rel": 0}, series("k1", (3, 4, 5)) + series("k2", (3, 4, 6)))
    db.cell({"split": 2, "rel": 0}, series("k1", (3, 4, 5)) + series("k2", (3, 4)))
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "proportion"\nidentical = ["k1", "k2"]\n'))
    assert (e.result.wins, e.result.n) == (1, 3)
    (early,) = evaluate(
        UnitReader(db.results), comparison('test = "proportion"\nidentical = ["k1", "k2"]\nidx = { lt = 2 }\n')
    )
    assert early.result.wins == 3


def test_refusals_can_be_compared(db):
    for split in range(6):
        db.cell({"split": split, "rel": 0}, [("b", "m", 1.0)], refusals=[("a", "empty")])
    e, *_ = evaluate(UnitReader(db.results), comparison('test = "mcnemar"\nrefused = true\narms = ["a", "b"]\n'))
    assert e.result.p == 2.0**-5
    assert (e.outcome, e.result.details["first_only"]) == ("greater", 6)


def test_bounded_values_are_counted(db):
    for split, v in enumerate((1.3, 40.0, 40.0, 2.5)):
        db.cell({"split": split, "rel": 0}, [("a", "m", v), ("b", "m", float(split))])
    e, *_ = evaluate(
        UnitReader(db.results),
        comparison('test = "spearman"\nx = { arm = "b" }\ny = { arm = "a", bound = { at = 40 } }\n'),
    )
    assert e.bounded == 2


def test_the_stored_query_returns_the_values(db):
    """What a test row keeps as its origin leads back to the records and their cells."""
    db.splits([(-1, -2), (-3, -4)])
    c = comparison('test = "signed_rank"\narms = ["a", "b"]\n')
    rows = db.con.execute(combined_sql(UnitReader(db.results).surface, c.sides, c.pair)).fetchall()
    columns = [d[0] for d in db.con.description]
    assert len(rows) == 8
    assert {"side", "cell_id", "split", "rel", "value"} <= set(columns)
    ids = {r[columns.index("cell_id")] for r in rows}
    assert ids == {r[0] for r in db.con.execute("SELECT cell_id FROM cell").fetchall()}


def test_a_query_without_the_keys_is_refused(db):
    c = comparison('test = "signed_rank"\na = { sql = "SELECT 1 AS value" }\nb = { arm = "b" }\n')
    with pytest.raises(DataError, match="no column split, rel"):
        evaluate(UnitReader(db.results), c)


def test_printed_ties_are_ties_at_the_declared_resolution(db):
    """0.3 - 0.1 and 0.5 - 0.3 differ by rounding only, and tie; 0.31 - 0.1 ties with them at a resolution of 0.1."""
    for split, (a, b) in enumerate(((0.3, 0.1), (0.5, 0.3), (0.31, 0.1), (0.1, 0.8))):
        db.cell({"split": split, "rel": 0}, [("a", "m", a), ("b", "m", b)])
    body = 'test = "signed_rank"\narms = ["a", "b"]\n'
    assert evaluate(UnitReader(db.results), comparison(body))[0].result.ties == 2
    assert evaluate(UnitReader(db.results), comparison(body + "resolution = 0.1\n"))[0].result.ties == 3


def test_a_setting_can_make_nested_values_independent(db):
    """With one noise stream per cell the cells are the units; with a shared stream they are not."""
    body = 'test = "signed_rank"\narms = ["a", "b"]\nunit = ["split"]\nblocked = "mean"\nindependent_when = { stream = "per_cell" }\n'
    db.splits([(-1, -2), (-3, -4), (-5, -6)])
    db.con.execute("""UPDATE cell SET spec = '{"settings":{"stream":"per_cell"}}'""")
    e, *_ = evaluate(UnitReader(db.results), comparison(body))
    assert (e.variant, e.independent, e.result.n) == ("declared", True, 6)
    db.con.execute("""UPDATE cell SET spec = '{"settings":{"stream":"per_seed"}}' WHERE keys['split'] = '0'""")
    blocked, naive, *_ = evaluate(UnitReader(db.results), comparison(body))
    assert (blocked.result.n, naive.result.n, naive.independent) == (3, 6, False)
