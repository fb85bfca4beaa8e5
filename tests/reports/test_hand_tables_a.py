"""The tables of Case A from few records written by hand: every number in them can be worked out in the head."""

import polars as pl
import pytest
from hand_source import HandSource, behind, bold, cell, record, said, shown

from orledger.paper.tables.a import table_a, table_a16, table_astab
from orledger.paper.tables.a_cert import certificate_column, load, seed_median, table_acert
from orledger.reports.tables.format import fixed
from orledger.reports.tables.render import plain
from orledger.reports.tables.table import TIGHT, PrintSize
from orledger.reports.tables.values import Absent


def rules(level, seed, grid=24, label=None, **rmse):
    keys = {"grid": grid, "level": level, "seed": seed}
    return [record("a/rules", keys, arm, label, rmse=value, lam2=1.0) for arm, value in rmse.items()]


# The oracle is the lowest everywhere; without noise both seeds are one computation.
ERRORS = [
    *rules(0.1, 0, released=200, morozov=2, ml2=4, oracle=1), *rules(0.1, 1, released=300, morozov=2, ml2=8, oracle=0.5),
    *rules(0.0, 0, released=9, morozov=3, oracle=1), *rules(0.0, 1, released=9, morozov=3, oracle=1),
    *rules(0.01, 0, released=50, morozov=5, oracle=4), *rules(0.01, 0, label="variant", released=1, morozov=1, ml2=1),
]  # fmt: skip
MOVED = pl.DataFrame({"grid": [24.0, 16.0], "runs": [3, 4], "low": [1.0, 2.0], "high": [3.0, 4.0]})


def test_the_table_of_accuracy():
    t = table_a(HandSource(ERRORS, {"a_perturbation_series": MOVED}))
    found = shown(t)
    assert list(found) == ["rel 0", "rel 0.01", "rel 0.1"]
    assert [found[row]["n"] for row in found] == ["1", "1", "2"]
    assert [found[row]["gain"] for row in found] == ["3.0× [3.0, 3.0]", "10× [10, 10]", "125× [100, 150]"]
    assert [found[row]["M/o"] for row in found] == ["3.00", "1.25", "3.00"]
    assert [found["rel 0.1"][rule] for rule in ("released", "morozov", "ml2", "oracle")] == ["2.5·10²", "2.0", "6.0", "7.5·10⁻¹"]  # fmt: skip
    assert found["rel 0.01"]["ml2"] == "no a/rules ml2 rmse None 24 0.01"
    assert bold(t) == {(row, "morozov") for row in found}
    quotes = {key: said(quote) for key, quote in t.quotes.items() if key.startswith(("gain", "last"))}
    assert quotes == {
        "gain smallest median": "10", "gain largest median": "125", "gain smallest cell": "10.0", "gain largest cell": "150",
        "gain cells at least 100": "2/3", "last bit draws": "3", "last bit smallest": "1.0", "last bit largest": "3.0",
    }  # fmt: skip
    assert "the median gain lies between 10 and 125." in plain(t.caption)
    assert "between 1.0 and 3.0 (3 draws)" in plain(t.caption)
    assert behind(cell(t, "rel 0.1", "ml2"), "arm") == {"ml2"}
    assert behind(cell(t, "rel 0.1", "gain"), "arm") == {"released", "morozov"}
    assert behind(t.quotes["gain cells at least 100"], "level") == {0.01, 0.1}


def test_levels_stand_by_size_however_many_they_are():
    levels = [k / 1000 for k in range(1, 200)]
    records = [r for level in reversed(levels) for r in rules(level, 0, released=2, morozov=1, oracle=1)]
    t = table_a(HandSource(records, {"a_perturbation_series": MOVED}))
    assert list(shown(t)) == [f"rel {level:g}" for level in levels]


def test_gains_of_at_least_a_hundred_are_counted_and_every_other_rule_is_compared():
    gains = (99.5, 100, 150, 200)
    t = table_a(HandSource([r for seed, g in enumerate(gains) for r in rules(0.1, seed, released=2 * g, morozov=2)]))
    assert said(t.quotes["gain cells at least 100"]) == "3/4"
    others = ("released", "ml2", "gcv", "lcurve", "oracle")
    assert [said(t.quotes[f"Morozov minus {rule} p"]) for rule in others] == [f"no H1/rmse/{rule}" for rule in others]


def test_gains_that_are_missing_are_missing_with_their_reason():
    t = table_a16(HandSource(rules(0.1, 0, grid=16, morozov=2, oracle=1)))
    assert shown(t)["rel 0.1"]["gain"] == "no a/rules ('released', 'morozov') rmse None 16 0.1"
    assert not [key for key in t.quotes if key.startswith(("gain", "last"))]
    assert "the median gain" not in plain(t.caption)
    t = table_a16(HandSource(rules(0.1, 0, grid=16, released=3, morozov=2)))
    assert shown(t)["rel 0.1"]["M/o"] == "no a/rules ('morozov', 'oracle') rmse None 16 0.1"
    assert "the median gain is 1.5." in plain(t.caption)
    t = table_a16(HandSource(rules(0, 0, grid=16, released=3, morozov=2)))
    assert not [key for key in t.quotes if key.startswith("gain")]  # no level has noise


def test_the_table_of_dispersion():
    """Seeds of 1 and 3 have the deviation √2 and the mean 2; of 3 and 5 the mean is 4, of 7 and 9 it is 8."""
    first = [*rules(0.1, 0, released=1, morozov=3, oracle=7), *rules(0.1, 1, released=3, morozov=5, oracle=9), *rules(0.2, 0, released=1)]  # fmt: skip
    t = table_astab(HandSource(first))
    found = shown(t)
    assert list(found) == ["grid 24 rel 0.1", "grid 24 median", "grid 24 ratio", "p", "wins"]
    assert [found["grid 24 rel 0.1"][rule] for rule in ("released", "morozov", "oracle")] == ["0.707", "0.354", "0.177"]
    assert [found["grid 24 ratio"][rule] for rule in ("released", "morozov", "oracle")] == ["2.00", "1.00", "0.500"]
    assert found["grid 24 rel 0.1"]["gcv"] == "no a/rules gcv rmse None 24.0 0.1"
    assert bold(t) == {("grid 24 rel 0.1", "morozov"), ("grid 24 median", "morozov")}
    assert [plain(g.heading) for g in t.groups] == ["24² collocation, 1 group of one noise level", "the audit's test over groups of both grids"]  # fmt: skip
    assert "across the 2 noise seeds" in plain(t.caption)
    assert behind(cell(t, "grid 24 rel 0.1", "released"), "arm") == {"released"}
    assert behind(cell(t, "grid 24 rel 0.1", "released"), "level") == {0.1}
    assert behind(cell(t, "grid 24 ratio", "released"), "arm") == {"released", "morozov"}
    assert behind(t.quotes["grid 24 median released"], "arm") == {"released"}
    assert (found["p"]["gcv"], found["p"]["morozov"], found["wins"]["gcv"]) == ("no H1/cv/gcv", "", "no H1/cv/gcv")
    second = [r for seed in (0, 1, 2) for r in rules(0.1, seed, grid=16, released=4, morozov=1 + seed)]
    t = table_astab(HandSource([*first, *second, *rules(0.2, 1, released=1)]))
    assert [plain(g.heading) for g in t.groups] == [
        "24² collocation, 2 groups of one noise level", "16² collocation, 1 group of one noise level",
        "both grids, 3 groups of one grid and noise level", "the audit's test over groups of both grids",
    ]  # fmt: skip
    assert "across the 2 to 3 noise seeds" in plain(t.caption)
    assert shown(t)["pooled median"]["released"] == "0"  # of 0.707, 0 and 0
    assert shown(t)["grid 24 rel 0.2"]["morozov"] == "no a/rules morozov rmse None 24.0 0.2"


def test_levels_of_noise_ascend():
    levels = [2.0**-k for k in range(9, 0, -1)]
    rows = [r for level in levels for seed in (0, 1) for r in rules(level, seed, gcv=1 + seed, ml2=1, lcurve=2)]
    found = [row for row in shown(table_astab(HandSource(rows))) if " rel " in row]
    assert found == [f"grid 24 rel {level:g}" for level in levels]


def test_a_rule_of_one_seed_is_named_as_such():
    rows = [*rules(0.1, 0, released=1, gcv=1), *rules(0.1, 1, released=3), *rules(0.2, 0, gcv=2)]
    found = shown(table_astab(HandSource(rows)))
    assert found["grid 24 rel 0.1"]["gcv"] == "1 of the 2 values that a dispersion needs"
    assert found["grid 24 median"]["gcv"] == "1 of the 2 values that a dispersion needs"


# ---- certificates -----------------------------------------------------------------------------------------------------------


def point(seed, arm, idx, label=None, level=0.1, **metrics):
    return record("a/certificates", {"grid": 24, "level": level, "seed": seed}, arm, label, idx, **metrics)


def of_cell(seed, level=0.1, **metrics):
    return record("a/certificates", {"grid": 24, "level": level, "seed": seed}, "cell", **metrics)


POINTS = [
    point(seed, "point", i, error=e) for seed, errors in enumerate(((1, 5), (2, 4))) for i, e in enumerate(errors)
]
GLOBAL = [point(seed, "global", i, radius=(5, 8)[i], certificate=4) for seed in (0, 1) for i in (0, 1)]
GRID = [point(seed, "global", i, "grid97", radius=16, certificate=4 + 4 * i) for seed in (0, 1) for i in (0, 1)]
RUNG = [point(seed, "conditional", i, "m=1.05", half=half, error=e) for seed, half, errors in ((0, 2, (1, 2)), (1, 1, (0.5, 4))) for i, e in enumerate(errors)]  # fmt: skip
WIDER = [point(0, "conditional", i, "m=2.0", half=9, error=1) for i in (0, 1)]
BAND = [point(seed, "gp_band", i, half=1 + 2 * seed, error=e) for seed, i, e in ((0, 0, 1), (0, 1, 0.5), (1, 0, 4), (1, 1, 5))]  # fmt: skip
CELLS = [of_cell(seed, rho_oc=10 * (seed + 1), eps_hat=10 * (seed + 1) + 10, delta_num=0.1 + 0.2 * seed, noise_exceeds_eta=seed) for seed in (0, 1)]  # fmt: skip
ALL = [*POINTS, *GLOBAL, *GRID, *RUNG, *WIDER, *BAND, *CELLS]


def test_the_table_of_certificates():
    """An error of exactly the certificate, the half-width or the band is inside it; one of four points is not."""
    t = table_acert(HandSource(ALL))
    found = {row: cells["rel 0.1"] for row, cells in shown(t).items()}
    assert found == {
        "cells": "2 × 2", "outside": "1/2", "rho oc": "15.000", "rho source": "root of the misfit", "eps hat": "25.000",
        "radii": "41.667%",  # 10 of 20 and 10 of 30
        "coverage": "0.7500 (1/4)", "bound": "no H2/global-coverage/0.1", "margin": "1.00", "delta": "2.00·10⁻¹ (5.0000%)",
        "attainment": "0.650000", "attainment iqr": "[0.500000, 0.800000]", "attainment worst": "0.500000",
        "attainment grid": "0.375000", "attainment grid iqr": "[0.250000, 0.500000]", "attainment grid worst": "0.250000",
        "global": "4.000", "conditional": "1.500", "conditional coverage": "0.8333", "refused": "1/4",
        "tightening": "3.000× [2.000, 4.000]", "premium": "1.31× [1.12, 1.50]",  # 1.5 and 1.125
        "gp coverage": "0.5000 (2/4)", "gp width": "2.000", "gp ratio": "1.75×",  # 1/2 and 3/1
    }  # fmt: skip
    assert "at 2 evaluation points per seed" in plain(t.caption)
    assert [len(g.rows) for g in t.groups] == [6, 10, 6, 3]
    assert behind(cell(t, "attainment grid", "rel 0.1"), "label") == {"grid97"}
    assert behind(cell(t, "conditional", "rel 0.1"), "label") == {"m=1.05"}


def test_three_levels_of_noise_are_set_tight():
    levels = [r | {"keys": r["keys"] | {"level": lv}, "cell_id": f"{r['cell_id']} {lv}"} for lv in (0.1, 0.2, 0.3) for r in ALL]  # fmt: skip
    assert table_acert(HandSource(levels)).layout == TIGHT
    assert table_acert(HandSource([r for r in levels if r["keys"]["level"] < 0.3])).layout == PrintSize()


def test_without_noise_one_cell_counts_and_its_radius_has_a_closed_form():
    t = table_acert(HandSource([r | {"keys": r["keys"] | {"level": 0.0}} for r in ALL]))
    found = {row: cells["rel 0"] for row, cells in shown(t).items()}
    assert (found["cells"], found["rho source"], found["rho oc"], found["refused"]) == ("1 × 2", "closed form", "10.000", "0/2")  # fmt: skip


def without(records, *, gone=(), **metrics):
    """``records`` without some of them, or without some metrics of them."""
    kept = [r for r in records if r not in gone]
    return [r | {"metrics": {k: v for k, v in r["metrics"].items() if not metrics.get(k)}} for r in kept]


@pytest.mark.parametrize(
    ("records", "row", "why"),
    [
        (without(ALL, eps_hat=True), "radii", "cell eps_hat None"),
        (without(ALL, rho_oc=True), "radii", "cell rho_oc None"),
        (without(ALL, gone=GLOBAL), "margin", "global certificate None"),
        (without(ALL, gone=BAND), "gp ratio", "gp_band half None"),
        (without(ALL, gone=[*BAND, *RUNG]), "gp width", "gp_band half None"),
        (without(ALL, gone=RUNG), "gp ratio", "conditional half m=1.05"),
        (without(ALL, gone=RUNG), "tightening", "conditional half m=1.05"),
        (without(ALL, gone=RUNG), "premium", "conditional half m=1.05"),
        (without(ALL, gone=[*RUNG, *WIDER]), "conditional coverage", "conditional half None"),
        (without(ALL, gone=GRID), "attainment grid worst", "global certificate grid97"),
    ],
)
def test_an_absent_cell_says_which_records_it_lacks(records, row, why):
    arm, metric, label = why.split()
    assert shown(table_acert(HandSource(records)))[row]["rel 0.1"] == f"no a/certificates {arm} {metric} {label} 0.1"


def test_a_cell_of_two_numbers_says_which_of_them_is_absent():
    def reasons(records, row):
        _, validity, _, _ = certificate_column(load(HandSource(records)), 0.1, Absent("none"))
        return [part.reason.split()[3] for part in validity[row][1].parts if isinstance(part, Absent)]

    bare = without(ALL, gone=GLOBAL)
    assert (reasons(bare, "delta"), reasons(bare, "coverage")) == (["certificate"], ["certificate"])
    assert reasons(without(ALL, delta_num=True), "delta") == ["delta_num", "delta_num"]
    assert reasons(without(ALL, gone=GLOBAL, delta_num=True), "delta") == ["delta_num", "delta_num"]


def test_ratios_are_of_one_seed():
    """The band of one seed over the half-width of another would be a number about neither."""
    apart = without(ALL, gone=[*BAND[:2], *RUNG[2:], *GLOBAL[:2]])
    apart = [r | {"metrics": {k: v for k, v in r["metrics"].items() if k != ("rho_oc", "eps_hat")[r["keys"]["seed"]]}} for r in apart]  # fmt: skip
    found = {row: cells["rel 0.1"] for row, cells in shown(table_acert(HandSource(apart))).items()}
    assert found["gp ratio"] == "no a/certificates conditional half m=1.05 0.1"
    assert found["tightening"] == "no a/certificates global certificate None 0.1"
    assert found["radii"] == "no a/certificates cell rho_oc None 0.1"
    assert (found["gp width"], found["conditional"], found["global"], found["rho oc"], found["eps hat"]) == ("3.000", "2.000", "4.000", "20.000", "20.000")  # fmt: skip


def test_a_range_over_seeds_stands_where_it_shows():
    assert plain(seed_median(pl.Series([1.0, 1.2, 2.0]).to_numpy(), fixed(1), "", brackets=True)) == "1.2 [1.0, 2.0]"
    assert plain(seed_median(pl.Series([1.0, 1.2, 2.0]).to_numpy(), fixed(1), "")) == "1.2"
    assert plain(seed_median(pl.Series([1.01, 1.02]).to_numpy(), fixed(1), "", brackets=True)) == "1.0"
