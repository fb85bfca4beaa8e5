"""The tables of Case B from few records written by hand: every number in them can be worked out in the head."""

import polars as pl
from hand_source import HandSource, behind, bold, cell, record, said, shown

from orledger.paper.tables.b import table_barms, table_bshift
from orledger.paper.tables.b_gap import table_bgap, table_bgapsurv
from orledger.paper.tables.b_width import table_bfloor, table_btail
from orledger.reports.tables.render import plain


def main(arm, dataset="d1", regime="shift", seed=0, rel=0.25, label=None, id=None, **metrics):
    return record("b/main", {"dataset": dataset, "regime": regime, "seed": seed, "rel": rel}, arm, label, cell=id, **metrics)  # fmt: skip


def scores(arm, score, dataset="d1", regime="shift", seeds=(0, 1), **more):
    return [main(arm, dataset, regime, s, coverage=0.9 + s / 10, width_median=1 + s, interval_score=score + s, **more) for s in seeds]  # fmt: skip


# d2 has no audit score, and the OR head delivered in one of its cells; d3 lacks the band without a floor.
SHIFTED = [
    *scores("cp", 3), *scores("triv", 2), *scores("or1", 4), *scores("or1_nf", 2), *scores("cp", 3, "d2"), *scores("or1", 1, "d2", seeds=(0,)), *scores("triv", 2, "d3"), *scores("or1", 2.25, "d3"),
    main("cell", r2=0.5), main("cell", seed=1, r2=0.7), main("cell", "d3", r2=0.1), main("cell", "d3", label="centroid", severity=3.0),
    main("cell", label="centroid", severity=2.0), main("cell", label="other", severity=9.0), main("cell", seed=1, label="centroid", severity=4.0),
    main("cp", label="variant", coverage=0.1, width_median=50, interval_score=50), main("cp", "d4", interval_score=50),
]  # fmt: skip


def test_the_table_of_shifts():
    t = table_bshift(HandSource(SHIFTED))
    found = shown(t)
    assert list(found) == ["d3", "d1", "d2"]  # by the audit score; one without comes last, and d4 has no coverage
    assert [(r["R2"], r["severity"], r["n"]) for r in found.values()] == [
        ("0.100", "3.00", "2"), ("0.600", "3.00", "2"), ("no b/main cell r2 None shift d2", "no b/main cell severity centroid shift d2", "2 (1)"),
    ]  # fmt: skip
    assert [found["d1"][f"cp {what}"] for what in ("coverage", "width", "score")] == ["0.950", "1.50", "3.50"]
    assert [found["d2"][f"or1 {what}"] for what in ("coverage", "width", "score")] == ["0.900", "1.00", "1.00"]
    assert [found["d3"][f"or1_nf {what}"] for what in ("coverage", "width", "score")] == [f"no b/main or1_nf {m} None shift d3" for m in ("coverage", "width_median", "interval_score")]  # fmt: skip
    assert bold(t) == {("d1", "triv score"), ("d1", "or1_nf score"), ("d2", "or1 score"), ("d3", "triv score")}
    assert plain(t.caption).endswith("of 3 datasets.")
    assert behind(cell(t, "d1", "severity"), "label") == {"centroid"}
    assert behind(cell(t, "d1", "R2"), "dataset") == {"d1"}


def test_the_table_of_all_arms():
    """Regimes without cells are left out, and arms of open questions where nobody recorded them."""
    more = [*scores("cp", 3, regime="wide", penalty_share=0.5), *scores("wcp", 1, regime="wide"), main("cp", regime="wide", seed=0, rel=0.5, coverage=1.0, width_median=9.0, interval_score=9.0)]  # fmt: skip
    t = table_barms(HandSource([*SHIFTED, *more, *scores("cp_centre", 7)]))
    found = shown(t)
    assert {row.split()[0] for row in found} == {"shift", "wide"}
    optional = [f"{regime} {arm}" for regime in ("shift", "wide") for arm in ("wcp", "cp_centre")]
    assert [row for row in optional if row in found] == ["shift cp_centre", "wide wcp"]
    assert found["wide cp"] == {"arm": "split-CP", "n": "3", "coverage": "0.967", "width": "2.00 [1.50, 5.50]", "score": "4.00 [3.50, 6.50]", "penalty": "0.500"}  # fmt: skip
    assert found["wide or1"]["score"] == "no b/main or1 interval_score None wide"
    assert found["wide or1"]["n"] == "0"
    assert [plain(g.heading).partition(": ")[2] for g in t.groups] == ["6 cells on 6 distinct splits", "3 cells on 2 distinct splits"]  # fmt: skip
    assert {b for b in bold(t) if b[0].startswith("wide")} == {("wide wcp", "score")}
    assert (said(t.quotes["wide cp coverage"]), said(t.quotes["wide cp score"])) == ("0.967", "4.00 [3.50, 6.50]")


def test_the_table_of_width_budgets():
    """Bands of 4, 8 and 10: the floor is a quarter of two of them and six tenths of the last."""
    records = [r for seed, (add, noise, inner) in enumerate(((1, 1, 2), (2, 2, 4), (6, 2, 2))) for r in (main("or1", seed=seed, w_add=add, w_obs=noise, width_mean=99), main("or1_int", seed=seed, width_mean=inner))]  # fmt: skip
    records += [main("or1", seed=9, w_add=5.0, width_mean=1), main("or1", seed=8, label="x", w_add=5.0, w_obs=1.0)]
    t = table_bfloor(HandSource([*records, main("or1_int", seed=7, width_mean=50), main("or1_int", seed=9, width_mean=5)]))  # fmt: skip
    found = {row: cells["shift"] for row, cells in shown(t).items()}
    assert [found[f"share {part}"] for part in ("w_int", "w_add", "w_obs")] == ["0.500 [0.350, 0.500]", "0.250 [0.250, 0.425]", "0.250 [0.225, 0.250]"]  # fmt: skip
    assert [found[f"size {part}"] for part in ("w_int", "w_add", "w_obs")] == ["2.000 [2.000, 3.000]", "2.000 [1.500, 4.000]", "2.000 [1.500, 2.000]"]  # fmt: skip
    assert shown(t)["size w_obs"]["iid"] == "no b/main or1 w_add None iid"
    assert [plain(c.header) for c in t.columns[1:]] == ["i.i.d. (n = 0)", "covariate shift (n = 3)"]
    assert found["w_add buys width_median"] == "no H5/width-median/or1_nf"
    assert shown(t)["w_obs buys coverage"]["iid"] == "no H2/noise-allowance-coverage"
    assert behind(cell(t, "size w_int", "shift"), "arm") == {"or1_int"}
    assert behind(cell(t, "size w_add", "shift"), "arm") == {"or1"}
    assert behind(cell(t, "share w_add", "shift"), "arm") == {"or1", "or1_int"}
    assert behind(cell(t, "share w_add", "shift"), "seed") == {0, 1, 2}


def tail(id, seed, over, regime="iid", tested=10, guard=0, mean=2.0, most=5.0, band=3.0, star=1.5):
    where = {"seed": seed, "regime": regime, "id": id}
    found = [main("or1", **where, n_over_cap=over, ns_max=0.1, n_guard=guard, width_median=band, kappa_star=star), main("or1_int", **where, width_median=1.0, width_mean=mean, width_max=most)]  # fmt: skip
    return [*found, *([main("cell", **where, n_test=tested)] if tested else [])]


TAIL = [*tail("aaaaaa1", 0, 2, mean=7.0, band=20.0), *tail("bbbbbb1", 1, 1, mean=None), *tail("cccccc1", 2, 0, most=99, band=20.5, guard=4), *tail("dddddd1", 3, 3, mean=9.0, regime="shift", star=None)]  # fmt: skip


def test_the_table_of_the_tail():
    """A median of exactly 20 does not exceed 20, and a cell without a mean comes last."""
    t = table_btail(HandSource(TAIL))
    found = shown(t)
    assert list(found) == ["d1/shift/3/0.25", "d1/iid/0/0.25", "d1/iid/1/0.25"]
    assert found["d1/iid/0/0.25"] == {"cell": "d1/iid/0/0.25", "n test": "10", "over cap": "2", "median": "1.00", "mean": "7.0", "max": "5.00", "ns max": "0.100", "kappa": "1.5"}  # fmt: skip
    assert found["d1/shift/3/0.25"]["kappa"] == "no b/main or1 kappa_star None d1 shift 3.0 0.25"
    assert found["d1/iid/1/0.25"]["mean"] == "no b/main or1_int width_mean None d1 iid 1.0 0.25"
    assert {key: said(quote) for key, quote in t.quotes.items()} == {
        "points over cap": "6/40", "cells over cap": "3/4", "blow ups": "1/4", "guarded points": "4", "shift cells over cap": "1", "largest half-width": "99.000",
    }  # fmt: skip
    assert "left out" not in plain(t.caption)
    for key, arm in (("n test", "cell"), ("over cap", "or1"), ("median", "or1_int"), ("mean", "or1_int"), ("max", "or1_int"), ("ns max", "or1"), ("kappa", "or1")):  # fmt: skip
        assert behind(cell(t, "d1/iid/0/0.25", key), "arm") == {arm}
        assert behind(cell(t, "d1/iid/0/0.25", key), "cell_id") == {"aaaaaa1"}


def test_cells_of_one_name_are_told_apart_by_their_ids():
    t = table_btail(HandSource([*TAIL, *tail("ddddd2", 3, 3, mean=9.5, regime="shift")]))
    assert [row.rpartition(" ")[2] for row in shown(t)] == ["ddddd2", "dddddd", "aaaaaa", "bbbbbb"]


def test_cells_of_one_mean_stand_in_the_order_of_their_names():
    t = table_btail(HandSource([r for i in (3, 1, 2) for r in tail(f"c{i}", i, 1, mean=5.0)]))
    assert list(shown(t)) == [f"d1/iid/{i}/0.25" for i in (1, 2, 3)]


def test_twenty_cells_of_the_tail_are_listed():
    t = table_btail(HandSource([r for i in range(23) for r in tail(f"c{i:02}", i, 1, mean=100 - i)]))
    assert [row.split("/")[2] for row in shown(t)] == [str(i) for i in range(20)]
    assert "The 3 cells with the smallest means are left out here." in plain(t.caption)


def test_a_tail_without_points_says_so():
    t = table_btail(HandSource(tail("a", 0, 0, tested=None, guard=None)))
    assert list(shown(t)) == ["none"]
    assert set(list(shown(t)["none"].values())[1:]) == {""}
    assert (said(t.quotes["points over cap"]), said(t.quotes["guarded points"])) == ("0/0", "0")
    assert said(table_btail(HandSource(tail("a", 0, 1, most=None))).quotes["largest half-width"]) == "no b/main or1_int width_max None"  # fmt: skip


def gap(arm, region, seeds=(0, 1), scale="train", score=5.0):
    return [record("b/gap", {"seed": s, "scale": scale}, arm, region, coverage=0.5 + s / 4, width_mean=1.0 + s, interval_score=score + s) for s in seeds]  # fmt: skip


GAP = [*gap("cp", "gap"), *gap("or1", "gap", score=4.0), *gap("cp", "ext"), *gap("cp", "elsewhere"), *gap("or1", "ext", seeds=(0,), score=9.0)]  # fmt: skip


def test_the_table_of_the_gap():
    t = table_bgap(HandSource(GAP))
    found = shown(t)
    assert [plain(g.heading).rpartition(", ")[2] for g in t.groups] == ["2 seeds", "2 seeds"]
    assert {row.rpartition(" ")[0] for row in found} == {"train gap", "train ext"}
    assert found["train gap cp"] == {"arm": "split-CP", "coverage": "0.625 [0.562, 0.688]", "reached": "no CaseB/gap-reached/train/gap/cp", "width": "1.500 [1.250, 1.750]", "score": "5.50 [5.25, 5.75]"}  # fmt: skip
    assert found["train ext dak"]["width"] == "no b/gap dak width_mean ext train"
    assert bold(t) == {("train gap or1", "score"), ("train ext cp", "score")}
    assert said(t.quotes["train ext OR score p against split-CP"]) == "no CaseB/gap-train-score-ext"
    assert "Reached" not in plain(t.caption)


def test_printed_values_at_the_ends_of_our_range_are_inside_it():
    printed = {"cp coverage gap": "0.5", "cp coverage ext": "0.75", "cp width gap": "0.9", "cp width ext": "2.01", "or1 width gap": "1.5"}  # fmt: skip
    frame = pl.DataFrame({"row_name": list(printed), "printed": list(printed.values()), "value": [float(v) for v in printed.values()]})  # fmt: skip
    t = table_bgapsurv(HandSource(GAP, {"published": frame}))
    found = shown(t)
    assert bold(t) == {("train cp width gap", "single"), ("train cp width ext", "single")}
    assert {row: found[f"train {row}"]["single"] for row in printed} == printed
    assert found["train cp coverage gap"]["range"] == "0.500–0.750"
    assert found["train or1 coverage ext"]["single"] == "not among the printed numbers: or1 coverage ext"
    assert not [row for row in found if "ind" in row.split() or "dak" in row.split()]
    assert [plain(g.heading).rpartition(", ")[2] for g in t.groups] == ["2 seeds"]
