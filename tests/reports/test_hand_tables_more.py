"""Floors, backends, the ladder, the ablation and the data of the study from few records written by hand."""

import polars as pl
import pytest
from hand_made import row
from hand_source import HandSource, behind, bold, cell, record, said, shown
from test_hand_tables_a import ALL, GLOBAL, point, rules, without

from orledger.paper.tables.a_floor import table_afloor, table_aport
from orledger.paper.tables.a_ladder import table_aladder
from orledger.paper.tables.b_ablation import table_babl, table_battr
from orledger.paper.tables.b_data import table_baudit, table_blevels
from orledger.reports.source import NothingToShowError
from orledger.reports.tables.render import plain
from orledger.reports.tables.table import TIGHT, PrintSize
from orledger.reports.tables.values import Text


def solve(way, repeat, high, low, grid=24):
    """One run: its error at the weights 100 and 0.5."""
    keys = {"grid": grid, "backend": way, "repeat": repeat}
    return [record("a/floor", keys, "solve", idx=i, rmse=v, lam2=w) for i, (w, v) in enumerate(((100.0, high), (0.5, low)))]  # fmt: skip


RUNS = [*solve("ulp", 0, 3, 2), *solve("same_process", 1, 1, 2), *solve("same_process", 0, 1, 2), *solve("another", 0, 1, 2)]  # fmt: skip


def choice(rule, errors, weights, indices=(0, 0)):
    return [record("a/rules", {"grid": 24, "level": 0.1, "seed": s}, rule, rmse=e, lam2=w, lam2_index=i) for s, (e, w, i) in enumerate(zip(errors, weights, indices, strict=True))]  # fmt: skip


def test_the_table_of_floors():
    """Runs of 1 and 3 have the deviation √2 and the mean 2; with two more of 1 the deviation is 1 and the mean 3/2."""
    t = table_afloor(HandSource([*RUNS, *solve("same_process", 0, 1, 2, grid=16)]))
    found = {row: tuple(cells.values()) for row, cells in shown(t).items()}
    alone = "1 of the 2 values that a dispersion needs"
    assert found == {
        "grid 24 same_process": ("same process", "1/2", "0", "0"), "grid 24 another": ("another", "1/2", "0", "0"),
        "grid 24 ulp": ("data moved by one last bit", "2/2", "0.707", "0"), "grid 24 all": ("all together", "2/4", "0.667", "0"),
        "grid 16 same_process": ("same process", "1/1", alone, alone), "grid 16 all": ("all together", "1/1", alone, alone),
    }  # fmt: skip
    assert list(found)[:2] == ["grid 24 same_process", "grid 24 another"]
    assert [plain(g.heading) for g in t.groups] == ["24² collocation, noise-free", "16² collocation, noise-free"]
    assert "Last block" not in plain(t.caption)
    assert [plain(c.header) for c in t.columns[2:]] == ["100", "0.5"]
    assert [shown(t)["grid 24 all"][f"lam2 {w}"] for w in ("100", "0.5")] == ["0.667", "0"]
    first = {"24/same_process/0"}
    assert behind(cell(t, "grid 24 ulp", "curves"), "cell_id") == first | {"24/ulp/0"}
    assert cell(t, "grid 24 same_process", "repetition").mono is False
    assert cell(t, "grid 24 another", "repetition").mono is True


def test_a_dispersion_stands_over_the_floor_at_the_weight_that_was_chosen():
    """The floor at 100 is 2/3 and at 0.5 it is 0; nobody ran at 7. Of three choices the middle one has the weight."""
    chosen = [
        *choice("released", (1, 3), (100.0, 100.0)), *choice("gcv", (1, 3), (0.5, 0.5)), *choice("ml2", (1, 3), (7.0, 7.0)),
        *choice("morozov", (2, 2, 5), (7.0, 100.0, 0.5), (0, 1, 9)), *choice("lcurve", (1,), (100.0,), (0,)), *choice("oracle", (1, 3), (7.0, 7.0)),
    ]  # fmt: skip
    t = table_afloor(HandSource([*RUNS, *chosen, *rules(0.0, 0, oracle=1), *rules(0.0, 1, oracle=2)]))
    own = {row: (cells["lam2 100"], cells["lam2 0.5"]) for row, cells in shown(t).items() if row.startswith("own")}
    assert own == {
        "own floor released": ("1.06", ""), "own floor gcv": ("", "the floor at this weight is 0"), "own floor ml2": ("", ""),
        "own floor morozov": ("0.866", ""), "own floor oracle": ("", ""),  # √3 over 3, over 2/3
    }  # fmt: skip
    assert {key: said(quote) for key, quote in t.quotes.items()} == {"released over own floor": "1.06", "morozov over own floor": "0.866"}  # fmt: skip
    assert "Last block" in plain(t.caption)
    alone = table_afloor(HandSource([*solve("same_process", 0, 1, 2), *chosen]))
    assert shown(alone)["own floor released"]["lam2 100"] == "1 of the 2 values that a floor needs"


def test_weights_above_one_are_powers_of_ten():
    keys = {"grid": 24, "backend": "ulp", "repeat": 0}
    runs = [record("a/floor", keys, "solve", idx=i, rmse=1, lam2=w) for i, w in enumerate((1e6, 0.01))]
    t = table_afloor(HandSource([*runs, record("a/floor", keys | {"grid": 16}, "solve", idx=0, rmse=1, lam2=1e6)]))
    assert [plain(c.header) for c in t.columns[2:]] == ["10⁶", "0.01"]
    assert shown(t)["grid 16 ulp"]["lam2 0.01"] == "no a/floor solve rmse None 16.0"


def port(arm, backend, seed, idx=None, **metrics):
    return record("a/portability", {"grid": 24, "level": 0.1, "seed": seed, "backend": backend}, arm, idx=idx, **metrics)  # fmt: skip


BACKENDS = [
    port(arm, backend, seed, rmse=error)
    for arm, backend, seed, error in (
        ("released", "z float64", 0, 2), ("released", "z float64", 1, 4), ("released", "gpu", 0, 1), ("released", "gpu", 1, 5), ("gcv", "z float64", 0, 1),
        ("gcv", "gpu", 0, 1.1), ("oracle", "z float64", 0, 1), ("oracle", "gpu", 0, 1), ("ml2", "gpu", 0, 1), ("gcv", "tpu", 0, 3),
    )
]  # fmt: skip
SOLVES = [port("solve", b, 0, i, rmse=v, misfit=1) for b, vs in (("z float64", (2, 2, 2, 2, 2)), ("gpu", (2, 2.06, 1.8, 6, 1))) for i, v in enumerate(vs)]  # fmt: skip


def test_the_table_of_backends():
    """Twice as large and half as large are both off by a factor of two; the oracle, which reads the test set, is not bold."""
    t = table_aport(HandSource([*BACKENDS, *SOLVES]))
    found = {row: tuple(cells.values())[1:] for row, cells in shown(t).items()}
    assert found["gpu released"] == ("2", "0.875", "[0.5000, 1.250]", "2.00×")
    assert found["gpu gcv"] == ("1", "1.100", "[1.100, 1.100]", "1.10×")
    assert found["gpu ml2"] == ("0", *["no a/portability ml2 rmse None"] * 3)
    assert bold(t) == {(f"{other} gcv", key) for other in ("gpu", "tpu") for key in ("rule", "ratio", "range", "worst")}
    assert [plain(g.heading) for g in t.groups] == ["gpu over z float64", "tpu over z float64"]
    assert {key: said(quote) for key, quote in t.quotes.items()} == {"gpu pairs within 1%": "20.0%", "gpu pairs within 5%": "40.0%", "gpu pairs within 20%": "60.0%"}  # fmt: skip
    assert "on gpu, 20.0% agree to 1%, 40.0% to 5% and 60.0% to 20%." in plain(t.caption)
    assert [part.mono for part in t.caption.parts if isinstance(part, Text)] == [True]
    assert behind(cell(t, "gpu released", "ratio"), "arm") == {"released"}
    assert behind(cell(t, "gpu gcv", "ratio"), "backend") == {"gpu", "z float64"}
    assert "matched single solves" not in plain(table_aport(HandSource(BACKENDS)).caption)
    with pytest.raises(NothingToShowError, match=r"on one backend only \(gpu\)"):
        table_aport(HandSource([r for r in BACKENDS if r["keys"]["backend"] == "gpu"]))


def test_the_table_of_the_ladder():
    """√(m² - 1) is 3/4 at m = 5/4, √3 at 2 and 2.4 at 2.6: halves of 4, 4.8 and 5 times that deviate by one fifth at most."""
    exact = [point(0, "point", i, level=0.0, error=1) for i in (0, 1)]
    exact += [point(0, "conditional", i, f"m={m}", level=0.0, half=h, error=e) for m, h, e in (("1.25", 3, 3), ("2.6", 12, 99), ("2.0", 4.8 * 3**0.5, 99)) for i in (0, 1)]  # fmt: skip
    t = table_aladder(HandSource([*ALL, *exact]))
    found = shown(t)
    assert [found["m 1.05"][f"rel 0.1 {what}"] for what in ("half", "premium", "tightening", "coverage")] == ["1.50", "1.31", "3.00", "0.750"]  # fmt: skip
    assert [found["m 1.25"][f"rel 0 {what}"] for what in ("half", "premium", "tightening", "coverage")] == ["3.00", "1.00", "no a/certificates global certificate None 0.0", "1.000"]  # fmt: skip
    assert {found["m 1.25"][f"rel 0.1 {what}"] for what in ("half", "tightening", "coverage")} == {"no a/certificates conditional half m=1.25 0.1"}  # fmt: skip
    assert [cells["m"] for cells in found.values()] == ["1.05", "1.25", "2.00", "2.60", "2.6 / 1.05"]
    assert list(found["ends"].values())[1:] == ["no a/certificates conditional half m=1.05 0.0", "", "", "", "no a/certificates conditional half m=2.6 0.1", "", "", ""]  # fmt: skip
    assert said(t.quotes["law deviation"]) == "2.0·10⁻¹"
    assert "range over seeds" not in plain(t.caption)
    assert [(s.start, s.width) for s in t.spans] == [(1, 4), (5, 4)]
    assert t.layout == PrintSize()
    bare = table_aladder(HandSource(without(ALL, gone=GLOBAL)))
    assert bare.quotes == {}
    assert shown(bare)["m 2"]["rel 0.1 tightening"] == "no a/certificates global certificate None 0.1"
    third = [r | {"keys": r["keys"] | {"level": 0.2}, "cell_id": f"more {r['cell_id']}"} for r in ALL]
    both = [r for r in exact if r["label"] != "m=2.6"]
    both += [point(0, "conditional", i, "m=1.05", level=0.0, half=1, error=1) for i in (0, 1)]
    wide = table_aladder(HandSource([*ALL, *both, *third]))
    assert wide.layout == TIGHT
    assert shown(wide)["ends"]["rel 0 half"] == "8.314×"  # 4.8 √3; without noise there is no range
    assert "(range over seeds [4.500, 4.500] at rel. 0.1; [4.500, 4.500] at rel. 0.2)" in plain(wide.caption)


def test_a_ladder_without_its_widest_rung_says_so():
    low = [point(0, "point", 0, level=0.0, error=1), point(0, "conditional", 0, "m=1.05", level=0.0, half=3, error=3)]
    middle = [point(0, "conditional", 0, "m=1.5", half=3, error=3)]
    t = table_aladder(HandSource([*ALL, *low, *middle]))
    assert shown(t)["ends"]["rel 0 half"] == "no a/certificates conditional half m=2 0.0"
    assert t.quotes == {}  # one rung shows no law
    second = [point(0, "conditional", 0, "m=2.0", level=0.0, half=1, error=1)]
    assert list(table_aladder(HandSource([*ALL, *low, *second])).quotes) == ["law deviation"]


def head(arm, seed, **metrics):
    return record("b/ablation", {"dataset": "d", "seed": seed, "rel": 0.25}, arm, **metrics)


WIDTHS = {"width_median": 1, "width_mean": 2, "width_max": 4, "interval_score": 8, "blow_up": 0, "ns_max": 0.5}
HEADS = [
    head("clamp_all", 0, **WIDTHS), head("clamp_all", 1, ns_max=0.999, interval_score=99), head("clamp_fit", 0, **WIDTHS | {"width_median": 3, "blow_up": 1, "ns_max": 0.9995}),
    head("clamp_fit", 1, **WIDTHS), head("drop_all", 2, **{k: v for k, v in WIDTHS.items() if k != "ns_max"}),
]  # fmt: skip


def test_the_table_of_the_ablation():
    """A share of exactly 0.999 is not above it; a head without a width was refused, and its other numbers do not count."""
    t = table_babl(HandSource(HEADS))
    found = {row: tuple(cells.values())[2:] for row, cells in shown(t).items()}
    assert found["clamp_all"] == ("2/3", "1.00", "2.00", "4.00", "0", "0/2", "8.00")
    assert found["clamp_fit"] == ("1/3", "2.00", "2.00", "4.00", "0.50", "1/2", "8.00")
    assert found["drop_all"] == ("2/3", "1.00", "2.00", "4.00", "0", "no b/ablation drop_all ns_max None", "8.00")
    assert found["drop_fit"][:2] == ("3/3", "no b/ablation drop_fit width_median None")
    assert said(t.quotes["clamp refusals all rows only"]) == "1/3"
    assert said(t.quotes["drop refusals all rows only"]) == "0/3"
    assert said(t.quotes["drop refusals McNemar p"]) == "no H5/delivery-refusals"
    assert "on 3 shift cells" in plain(t.caption)
    assert "above 0.999)" in plain(t.caption)
    assert [(s.start, s.width) for s in t.spans] == [(3, 3)]


def test_effects_are_asked_where_they_are_registered():
    t = table_battr(HandSource(HEADS))
    asked = {row: cells["ratio"].removeprefix("no ") for row, cells in shown(t).items()}
    assert [row for row, address in asked.items() if address.startswith("H5/")] == [
        "width_median columns, fit rows", "width_median delivery, dropped", "width_mean columns, fit rows", "width_mean columns, all rows",
        "width_mean delivery, dropped", "width_max columns, fit rows", "interval_score columns, fit rows",
    ]  # fmt: skip
    assert (asked["width_max interaction"], asked["interval_score delivery, clamped"]) == ("CaseB/interaction-max", "CaseB/delivery-score-clamp")  # fmt: skip
    known = table_battr(HandSource(HEADS, audit={"H5/clamp-max": row(effect=0.1, low=0.05, high=0.3)}))
    assert list(shown(known)["width_max columns, fit rows"].values())[2:4] == ["1.26", "[1.12, 2.00]"]  # powers of ten
    heads = [cells["scale"] for cells in shown(t).values()]
    assert heads == [name if i == 0 else "" for name in ("w, median", "w, mean", "w, largest", "interval score") for i in range(5)]  # fmt: skip


def test_the_tables_of_data():
    audit = [
        record("b/audit", {"dataset": name}, "rf", label, **metrics)
        for name, label, metrics in (
            ("z", None, {"n": 10, "d": 3, "distinct": 7, "passed": 1}), ("z", "shuffled", {"r2": 0.5}), ("z", "file_order", {"r2": 0.25}),
            ("y", None, {"n": 10, "d": 3, "distinct": 7, "passed": 0}), ("x", "shuffled", {"r2": 0.1}), ("w", None, {"n": 1}),
        )
    ]  # fmt: skip
    origins = pl.DataFrame({"dataset": ["z"], "origin": ["web"], "target": ["t"]})
    t = table_baudit(HandSource(audit, {"b_audit_cells": origins}))
    found = {row: tuple(cells.values())[1:] for row, cells in shown(t).items()}
    assert list(found) == ["w", "x", "y", "z"]
    assert found["z"] == ("10", "3", "web", "t", "7", "0.2500", "0.5000", "passes")
    assert found["y"] == ("10", "3", *["no b/audit rf n None y"] * 2, "7", "no b/audit rf r2 file_order y", "no b/audit rf r2 shuffled y", "refused")  # fmt: skip
    assert (found["x"][0], found["x"][6], found["x"][7]) == ("no b/audit rf n None x", "0.1000", "no b/audit rf passed None x")  # fmt: skip
    assert (cell(t, "z", "origin").mono, cell(t, "z", "target").mono, cell(t, "z", "dataset").mono) == (False, True, True)  # fmt: skip
    assert behind(cell(t, "z", "R2 shuffled"), "label") == {"shuffled"}
    assert behind(cell(t, "z", "rows"), "label") == {None}
    many = [record("b/audit", {"dataset": name}, "rf", n=1) for name in "kbfaidhcgej"]
    assert list(shown(table_baudit(HandSource(many, {"b_audit_cells": origins})))) == sorted("kbfaidhcgej")


def test_levels_follow_from_the_sizes():
    """Splits of equal sizes share a row; k counts from zero."""
    splits = [record("b/main", {"dataset": "d", "regime": r, "seed": s, "rel": 0.25}, "cell", n_train=20, n_test=5, n_cal=n, k=k) for r, s, n, k in (("shift", 0, 19, 17), ("shift", 1, 19, 17), ("odd", 0, 9, 8), ("iid", 0, 4, 3))]  # fmt: skip
    t = table_blevels(HandSource(splits))
    found = {row: tuple(cells.values())[1:] for row, cells in shown(t).items()}
    assert found == {
        "d iid 4": ("i.i.d.", "20", "5", "4", "4/5 = 0.8000", "3", "4/5 = 0.8000"), "d odd 9": ("odd", "20", "5", "9", "9/10 = 0.9000", "8", "9/10 = 0.9000"),
        "d shift 19": ("covariate shift", "20", "5", "19", "19/20 = 0.9500", "17", "18/20 = 0.9000"),
    }  # fmt: skip
    assert behind(cell(t, "d shift 19", "k"), "seed") == {0, 1}
    assert cell(t, "d odd 9", "dataset").mono
    many = [s | {"keys": s["keys"] | {"regime": f"r{i}"}} for i in range(9) for s in splits[:1]]
    assert list(shown(table_blevels(HandSource(many)))) == [f"d r{i} 19" for i in range(9)]
