"""Columns of tables, every row of them, against plain SQL and numpy on the records themselves."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic_db
from scipy.stats import wilcoxon

from orledger.reports.tables.building import build, declared
from orledger.reports.tables.values import Absent, Count, Join, MedianIQR, Number, PValue, Range

RULES = ("released", "morozov", "ml2", "gcv", "lcurve", "oracle")
BANDS = ("dak", "dak_kl", "cp", "ncp", "triv", "or1", "or1_nf", "or1_int")


@pytest.fixture(scope="module")
def con(audited):
    return audited.con


@pytest.fixture(scope="module")
def shown(con):
    """The numbers in a column of a table by row, and the rows that have none left out."""
    made = {}

    def column(name, key, rows=""):
        if name not in made:
            made[name] = build(declared()[name], synthetic_db.Adapter(con))
        at = [c.key for c in made[name].columns].index(key)
        return {r.key: numbers(r.cells[at]) for r in made[name].rows() if rows in r.key}

    return column


def numbers(cell):
    """Every number that stands in a cell, in the order in which it is printed; none for a cell that is absent."""
    match cell:
        case Number():
            return (cell.value,)
        case Count():
            return (cell.k, cell.n)
        case Range():
            return (cell.low, cell.high)
        case MedianIQR():
            return (cell.median, cell.q1, cell.q3)
        case PValue():
            return (cell.p,)
        case Join():
            return tuple(n for part in cell.parts for n in ((part,) if isinstance(part, float) else numbers(part)))
        case _:
            return ()


def records(con, case, block, metric, *, keys, where="r.label IS NULL AND r.idx IS NULL"):
    """{(arm, *keys): values} of the records of a metric, each key as text."""
    picks = "".join(f", c.keys['{k}']" for k in keys)
    rows = con.execute(
        f"SELECT r.arm{picks}, r.value FROM record r JOIN cell c USING (cell_id) WHERE c.case_name = ? AND c.block = ?"
        f" AND r.metric = ? AND {where} AND c.state = 'done' ORDER BY ALL",
        [case, block, metric],
    ).fetchall()
    found = {}
    for *key, value in rows:
        found.setdefault(tuple(key), []).append(value)
    return {key: np.array(values) for key, values in found.items()}


def same(found, wanted):
    """Both have the same rows, and the same numbers in each."""
    assert {k for k, v in found.items() if v} == set(wanted)
    for row, values in wanted.items():
        assert found[row] == pytest.approx(values, rel=1e-12), row


def quartiles(x):
    return (np.median(x), *np.percentile(x, [25, 75]))


@pytest.mark.parametrize(("name", "grid"), [("A", "24"), ("A16", "16")])
@pytest.mark.parametrize("rule", RULES)
def test_medians_of_every_rule(con, shown, name, grid, rule):
    rmse = records(con, "a", "rules", "rmse", keys=("grid", "level"))
    wanted = {f"rel {float(k[2]):g}": (np.median(x),) for k, x in rmse.items() if k[:2] == (rule, grid)}
    same(shown(name, rule, "rel"), wanted)


@pytest.mark.parametrize(("name", "grid"), [("A", "24"), ("A16", "16")])
def test_seeds_of_every_level(con, shown, name, grid):
    """Without noise the seeds do the same, and count once."""
    rmse = records(con, "a", "rules", "rmse", keys=("grid", "level"))
    wanted = {
        f"rel {float(k[2]):g}": (len(x) if float(k[2]) else 1,) for k, x in rmse.items() if k[:2] == ("oracle", grid)
    }
    same(shown(name, "n", "rel"), wanted)


@pytest.mark.parametrize("rule", RULES)
def test_dispersion_of_every_rule(con, shown, rule):
    rmse = records(con, "a", "rules", "rmse", keys=("grid", "level"))
    wanted = {
        f"grid {g} rel {float(lv):g}": (np.std(x, ddof=1) / np.mean(x),)
        for (arm, g, lv), x in rmse.items()
        if arm == rule and float(lv) > 0
    }
    same(
        shown("Astab", rule, "grid"), wanted | {k: v for k, v in shown("Astab", rule, "grid").items() if "rel" not in k}
    )
    assert len(wanted) == 10


@pytest.mark.parametrize("rule", RULES)
def test_ratios_between_backends(con, shown, rule):
    rmse = records(con, "a", "portability", "rmse", keys=("backend", "grid", "level", "seed"))
    backends = sorted({k[1] for k in rmse})
    assert len(backends) == 2
    single = next(b for b in backends if "32" in b)
    double = next(b for b in backends if "32" not in b)
    pairs = [(x[0], rmse[(rule, double, *k[2:])][0]) for k, x in rmse.items() if k[:2] == (rule, single)]
    ratio = np.array([a / b for a, b in pairs])
    row = f"float32 {rule}"
    assert shown("Aport", "n")[row] == (len(ratio),)
    assert shown("Aport", "ratio")[row] == pytest.approx((np.median(ratio),), rel=1e-12)
    assert shown("Aport", "range")[row] == pytest.approx((ratio.min(), ratio.max()), rel=1e-12)
    assert shown("Aport", "worst")[row] == pytest.approx((max(ratio.max(), 1 / ratio.min()),), rel=1e-12)


def test_datasets_as_they_were_audited(con, shown):
    for column, metric, label in (
        ("rows", "n", "IS NULL"), ("features", "d", "IS NULL"), ("distinct", "distinct", "IS NULL"),
        ("R2 file order", "r2", "= 'file_order'"), ("R2 shuffled", "r2", "= 'shuffled'"),
    ):  # fmt: skip
        found = records(con, "b", "audit", metric, keys=("dataset",), where=f"r.label {label}")
        same(shown("Baudit", column), {d: tuple(x) for (_, d), x in found.items()})


@pytest.mark.parametrize("arm", ["cp", "triv", "or1", "or1_nf"])
@pytest.mark.parametrize(
    ("column", "metric"), [("coverage", "coverage"), ("width", "width_median"), ("score", "interval_score")]
)
def test_means_under_shift(con, shown, arm, column, metric):
    found = records(con, "b", "main", metric, keys=("regime", "dataset"))
    same(shown("Bshift", f"{arm} {column}"), {k[2]: (x.mean(),) for k, x in found.items() if k[:2] == (arm, "shift")})


def test_what_stands_before_the_arms_under_shift(con, shown):
    r2 = records(con, "b", "main", "r2", keys=("regime", "dataset"), where="r.idx IS NULL")
    severity = records(con, "b", "main", "severity", keys=("regime", "dataset"), where="r.label = 'centroid'")
    for column, found in (("R2", r2), ("severity", severity)):
        same(shown("Bshift", column), {k[2]: (np.median(x),) for k, x in found.items() if k[:2] == ("cell", "shift")})
    cells = con.execute(
        "SELECT keys['dataset'], count(*) FROM cell WHERE case_name = 'b' AND block = 'main' AND keys['regime'] = 'shift'"
        " AND state = 'done' GROUP BY ALL"
    ).fetchall()
    assert {d: n[0] for d, n in shown("Bshift", "n").items()} == dict(cells)


@pytest.mark.parametrize("arm", BANDS)
@pytest.mark.parametrize("regime", ["iid", "shift"])
def test_all_arms(con, shown, arm, regime):
    row = f"{regime} {arm}"
    of = {
        m: records(con, "b", "main", m, keys=("regime",))[arm, regime]
        for m in ("coverage", "width_median", "interval_score", "penalty_share")
    }
    assert shown("Barms", "n")[row] == (len(of["coverage"]),)
    assert shown("Barms", "coverage")[row] == pytest.approx((of["coverage"].mean(),), rel=1e-12)
    assert shown("Barms", "width")[row] == pytest.approx(quartiles(of["width_median"]), rel=1e-12)
    assert shown("Barms", "score")[row] == pytest.approx(quartiles(of["interval_score"]), rel=1e-12)
    assert shown("Barms", "penalty")[row] == pytest.approx((np.median(of["penalty_share"]),), rel=1e-12)


def test_the_tail_names_the_numbers_of_its_cells(con, shown):
    keys = ("dataset", "regime", "seed", "rel")
    columns = {
        "over cap": ("or1", "n_over_cap"), "ns max": ("or1", "ns_max"), "median": ("or1_int", "width_median"),
        "mean": ("or1_int", "width_mean"), "max": ("or1_int", "width_max"), "n test": ("cell", "n_test"),
    }  # fmt: skip
    for column, (arm, metric) in columns.items():
        found = records(con, "b", "main", metric, keys=keys)
        rows = shown("Btail", column)
        assert rows
        for row, values in rows.items():
            dataset, regime, seed, rel = row.split("/")
            (wanted,) = (
                x for k, x in found.items() if k[:4] == (arm, dataset, regime, seed) and float(k[4]) == float(rel)
            )
            assert values == pytest.approx(tuple(wanted), rel=1e-12), (column, row)


@pytest.mark.parametrize("arm", ["dak", "cp", "ncp", "triv", "or1", "or1_int"])
def test_the_gap_task_by_scale_and_region(con, shown, arm):
    for column, metric in (("coverage", "coverage"), ("width", "width_mean"), ("score", "interval_score")):
        for region in ("gap", "ind", "ext"):
            found = records(con, "b", "gap", metric, keys=("scale",), where=f"r.label = '{region}'")
            for (name, scale), x in found.items():
                if name == arm:
                    assert shown("Bgap", column)[f"{scale} {region} {arm}"] == pytest.approx(quartiles(x), rel=1e-12)


def test_many_seeds_beside_the_single_one(con, shown):
    for arm, word, metric in (("cp", "coverage", "coverage"), ("or1", "width", "width_mean")):
        for region in ("gap", "ind", "ext"):
            found = records(con, "b", "gap", metric, keys=("scale",), where=f"r.label = '{region}'")
            for (name, scale), x in found.items():
                if name == arm:
                    row = f"{scale} {arm} {word} {region}"
                    assert shown("Bgapsurv", "many")[row] == pytest.approx(quartiles(x), rel=1e-12)
                    assert shown("Bgapsurv", "range")[row] == pytest.approx((x.min(), x.max()), rel=1e-12)


@pytest.mark.parametrize("arm", ["ei", "ucb", "k1", "k2", "k5"])
def test_regret_of_every_search(con, shown, arm):
    found = records(con, "c", "main", "final_regret", keys=("benchmark", "dim"))
    mine = {f"{k[1]} {float(k[2]):g}": x for k, x in found.items() if k[0] == arm}
    same(shown("C", arm), {row: (np.median(x), x.max()) for row, x in mine.items()})
    same(shown("C", "n"), {row: (len(x),) for row, x in mine.items()})


@pytest.mark.parametrize(
    ("name", "metric", "reference"),
    [("CpairEI", "final_regret", "ei"), ("CpairOR", "final_regret", "k1"), ("CaucEI", "auc", "ei")],
)
def test_paired_searches(con, shown, name, metric, reference):
    """The row arm minus the reference on shared seeds, negative being better: counts, p and its floor from the differences."""
    found = records(con, "c", "main", metric, keys=("benchmark", "dim", "seed"))
    for arm in {"ei", "ucb", "k1", "k2", "k5"} - {reference}:
        for benchmark, dim in {k[1:3] for k in found}:
            seeds = [k[3] for k in found if k[:3] == (arm, benchmark, dim)]
            d = np.concatenate([found[arm, benchmark, dim, s] - found[reference, benchmark, dim, s] for s in seeds])
            row = f"{benchmark} {float(dim):g} {arm}"
            nonzero = int((d != 0).sum())
            assert shown(name, "n")[row] == (len(d),)
            assert shown(name, "counts")[row] == ((d < 0).sum(), (d > 0).sum(), (d == 0).sum())
            assert shown(name, "floor")[row] == pytest.approx((min(1.0, 2 * 2.0**-nonzero),), rel=1e-12)
            walsh = [(a + b) / 2 for i, a in enumerate(d) for b in d[i:]]
            assert shown(name, "difference")[row] == pytest.approx((np.median(walsh),), rel=1e-9, abs=1e-12)
            low, high = shown(name, "interval")[row]
            assert low <= np.median(walsh) <= high
            if nonzero == len(d) and len(set(np.abs(d))) == len(d):
                assert shown(name, "p")[row][:1] == pytest.approx((wilcoxon(d, mode="exact").pvalue,), rel=1e-9)


def test_dispersion_and_escape_of_the_ladder(con, shown):
    keys = ("benchmark", "dim", "seed")
    osc, mean = (
        records(con, "c", "main", m, keys=(*keys,), where="r.label IS NULL AND r.arm = 'k1' AND r.idx IS NOT NULL")
        for m in ("osc", "mean_c")
    )
    assert osc
    by = {}
    for key in osc:
        rows = con.execute(
            "SELECT o.idx, o.value / m.value FROM record o JOIN record m USING (cell_id, arm, idx) JOIN cell c USING (cell_id)"
            " WHERE o.metric = 'osc' AND m.metric = 'mean_c' AND o.label IS NULL AND m.label IS NULL AND o.arm = 'k1'"
            " AND c.block = 'main' AND c.case_name = 'c' AND c.keys['benchmark'] = ? AND c.keys['dim'] = ? AND c.keys['seed'] = ?"
            " ORDER BY o.idx",
            list(key[1:]),
        ).fetchall()
        assert len(rows) == len(osc[key]) == len(mean[key])
        by.setdefault(f"{key[1]} {float(key[2]):g}", []).append(rows)
    for row, seeds in by.items():
        assert shown("Ckappa", "dispersion")[row] == pytest.approx(
            (np.median([d for s in seeds for _, d in s]),), rel=1e-12
        )
        first = np.median([next((i for i, d in s if d > 1e-6), np.inf) for s in seeds])
        assert shown("Ckappa", "escape")[row] == ((first,) if np.isfinite(first) else ())


def test_absent_cells_hold_no_number():
    assert numbers(Absent("why")) == ()
