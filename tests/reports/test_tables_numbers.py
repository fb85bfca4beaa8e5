"""Tables against values computed another way from the same made-up records (plain SQL and numpy, scipy's tests)."""

import itertools

import numpy as np
import pytest
import synthetic_db
from scipy.stats import friedmanchisquare, wilcoxon

from orledger.reports.tables.building import build, declared
from orledger.reports.tables.values import Absent, Count, Join, MedianIQR, Number

PAPER = (
    "A A16 Astab Afloor Aport Acert Aladder Baudit Blevels Bshift Barms Bfloor Btail Babl Battr Bgap Bgapsurv C CpairEI CpairOR CaucEI Ckappa Cinv "
    "regime dictionary provenance"
)  # fmt: skip


@pytest.fixture(scope="module")
def con(audited):
    return audited.con


@pytest.fixture(scope="module")
def table(con):
    made = {}

    def get(name):
        if name not in made:
            made[name] = build(declared()[name], synthetic_db.Adapter(con))
        return made[name]

    return get


def cell(t, row, column):
    keys = [c.key for c in t.columns]
    return next(r.cells[keys.index(column)] for r in t.rows() if r.key == row)


def query(con, case, block, arm, metric, label=None, keys=()):
    """Rows (keys..., value) of scalar records, by hand."""
    picks = "".join(f"c.keys['{k}'], " for k in keys)
    where = "r.label IS NULL" if label is None else f"r.label = '{label}'"
    return con.execute(
        f"SELECT {picks} r.value FROM record r JOIN cell c USING (cell_id) WHERE c.case_name = '{case}' AND c.block = '{block}' "
        f"AND r.arm = '{arm}' AND r.metric = '{metric}' AND {where} AND r.idx IS NULL ORDER BY ALL"
    ).fetchall()


def test_every_table_of_the_paper_exists_in_order():
    assert list(declared()) == PAPER.split()


@pytest.mark.parametrize("name", PAPER.split())
def test_every_table_is_built_with_rows_queries_and_a_caption(table, name):
    t = table(name)
    assert t.name == name
    assert len(list(t.rows())) >= 3 or name == "Cinv"
    assert len(t.database) == 64
    assert list(t.caption.tokens())
    if name not in ("dictionary", "provenance"):
        assert t.queries
        assert any("planned cells" in tok.text for note in t.notes for tok in note.tokens())


def test_every_query_of_a_table_can_be_run_again(con, table):
    for name in PAPER.split():
        for text in table(name).queries:
            con.execute(text).fetchall()


def rmse(con, rule, grid):
    rows = query(con, "a", "rules", rule, "rmse", keys=("grid", "level", "seed"))
    return {(float(level), int(seed)): v for g, level, seed, v in rows if int(g) == grid}


@pytest.mark.parametrize(("name", "grid"), [("A", 24), ("A16", 16)])
def test_accuracy_medians_gains_and_oracle_ratios(con, table, name, grid):
    by_rule = {r: rmse(con, r, grid) for r in ("released", "morozov", "oracle", "gcv")}
    for level in synthetic_db.LEVELS:
        values = {r: np.array([v for (lv, _), v in sorted(x.items()) if lv == level]) for r, x in by_rule.items()}
        row = f"rel {level:g}"
        for rule, x in values.items():
            assert cell(table(name), row, rule).value == np.median(x)
        gains = values["released"] / values["morozov"]
        median, spread = (p for p in cell(table(name), row, "gain").parts if not isinstance(p, str))
        assert (median.value, spread.low, spread.high) == (np.median(gains), gains.min(), gains.max())
        assert cell(table(name), row, "M/o").value == np.median(values["morozov"] / values["oracle"])


def hodges_lehmann(d):
    """The median of all pairwise means, each value with itself included, by its definition."""
    return np.median([(x + y) / 2 for i, x in enumerate(d) for y in list(d)[i:]])


def test_paired_tests_of_table_a_agree_with_scipy(con, table):
    morozov, released = (rmse(con, r, 24) for r in ("morozov", "released"))
    keys = [k for k in sorted(morozov) if k[0] > 0]
    d = np.array([np.log10(morozov[k]) - np.log10(released[k]) for k in keys])
    quotes = table("A").quotes
    assert quotes["Morozov minus released p"].p == pytest.approx(wilcoxon(d, mode="exact").pvalue, rel=1e-9)
    assert quotes["Morozov minus released dex"].value == pytest.approx(hodges_lehmann(d), abs=1e-12)
    columns = [[rmse(con, r, 24)[k] for k in keys] for r in ("released", "morozov", "ml2", "gcv", "lcurve")]
    assert quotes["Friedman statistic"].value == pytest.approx(friedmanchisquare(*columns).statistic, rel=1e-9)


def test_stability_uses_sample_deviation_over_mean_and_pools_groups(con, table):
    cvs = {}
    for rule, grid in itertools.product(("morozov", "gcv"), (24, 16)):
        x = rmse(con, rule, grid)
        for level in synthetic_db.LEVELS[1:]:
            sample = np.array([v for (lv, _), v in x.items() if lv == level])
            cvs[(rule, grid, level)] = (
                np.sqrt(((sample - sample.mean()) ** 2).sum() / (sample.size - 1)) / sample.mean()
            )
    t = table("Astab")
    assert cell(t, "grid 24 rel 0.001", "gcv").value == pytest.approx(cvs[("gcv", 24, 1e-3)], rel=1e-12)
    pooled = {r: np.median([v for (rule, _, _), v in cvs.items() if rule == r]) for r in ("morozov", "gcv")}
    assert cell(t, "pooled median", "gcv").value == pytest.approx(pooled["gcv"], rel=1e-12)
    assert cell(t, "pooled ratio", "gcv").value == pytest.approx(pooled["gcv"] / pooled["morozov"], rel=1e-12)
    d = [cvs[("morozov", g, lv)] - cvs[("gcv", g, lv)] for g in (24, 16) for lv in synthetic_db.LEVELS[1:]]
    assert cell(t, "p", "gcv").p == pytest.approx(wilcoxon(d, mode="exact").pvalue, rel=1e-9)
    assert cell(t, "p", "gcv").floor == 2**-9
    assert cell(t, "wins", "gcv") == Count(sum(x < 0 for x in d), 10)


def test_the_floor_is_zero_where_repetitions_are_bitwise_equal(table):
    t = table("Afloor")
    assert cell(t, "grid 24 same_process", "curves") == Count(1, 3)
    assert cell(t, "grid 24 same_process", "lam2 50").value == 0
    assert cell(t, "grid 24 ulp", "curves").k > 1
    assert cell(t, "grid 24 ulp", "lam2 50").value > 0


def test_portability_reads_the_worst_ratio_in_either_direction(con, table):
    rows = query(con, "a", "portability", "gcv", "rmse", keys=("level", "seed", "backend"))
    by = {(lv, sd, b): v for lv, sd, b, v in rows}
    ratios = np.array([v / by[(lv, sd, "float64")] for (lv, sd, b), v in by.items() if b == "float32"])
    t = table("Aport")
    assert cell(t, "float32 gcv", "worst").value == pytest.approx(max(ratios.max(), 1 / ratios.min()), rel=1e-12)
    assert cell(t, "float32 gcv", "ratio").value == pytest.approx(np.median(ratios), rel=1e-12)


def test_certificate_coverage_counts_points_and_law_holds(con, table):
    t = table("Acert")
    assert cell(t, "coverage", "rel 0.001").parts[2] == Count(0, 108)
    points = con.execute(
        "SELECT c.keys['level'], r.arm, r.idx, c.cell_id, r.metric, r.value FROM record r JOIN cell c USING (cell_id) "
        "WHERE block = 'certificates' AND arm = 'gp_band' AND idx IS NOT NULL"
    ).fetchall()
    half = {(c, i): v for lv, _, i, c, m, v in points if m == "half" and float(lv) > 0}
    error = {(c, i): v for lv, _, i, c, m, v in points if m == "error" and float(lv) > 0}
    assert cell(t, "gp coverage", "rel 0.001").parts[2] == Count(sum(error[k] <= half[k] for k in half), 108)
    ends = cell(table("Aladder"), "ends", "rel 0 half")
    assert ends.value == pytest.approx(np.sqrt((4 - 1) / (1.01**2 - 1)), rel=1e-12)  # closed form: sqrt(m^2 - 1)


def test_arms_are_mean_coverage_and_quartiles_over_cells(con, table):
    t = table("Barms")
    score = np.array(
        [v for *_, regime, v in query(con, "b", "main", "or1", "interval_score", keys=("regime",)) if regime == "shift"]
    )
    expected = MedianIQR(*(float(q) for q in np.percentile(score, [50, 25, 75])), t.groups[0].rows[0].cells[4].style)
    assert cell(t, "shift or1", "score").strong(False) == expected
    coverage = [v for regime, v in query(con, "b", "main", "cp", "coverage", keys=("regime",)) if regime == "iid"]
    assert cell(t, "iid cp", "coverage").value == pytest.approx(np.mean(coverage), rel=1e-12)
    assert cell(t, "shift or1", "n").value == cell(t, "shift cp", "n").value - 1  # one cell refused


def test_shift_ledger_bolds_the_lowest_mean_score(con, table):
    t = table("Bshift")
    means = {}
    for arm in ("cp", "triv", "or1", "or1_nf"):
        rows = query(con, "b", "main", arm, "interval_score", keys=("dataset", "regime"))
        means[arm] = np.mean([v for d, r, v in rows if (d, r) == ("energy", "shift")])
    winner = min(means, key=means.get)
    assert [arm for arm in means if cell(t, "energy", f"{arm} score").bold] == [winner]
    assert cell(t, "energy", f"{winner} score").value == pytest.approx(means[winner], rel=1e-12)


def test_levels_are_the_order_statistics_of_the_splits(table):
    """Rows of the paper's own table of levels, which follow from the sizes alone."""
    printed = {
        "diabetes iid 88": (353, 89, 84),
        "yacht shift 53": (215, 93, 51),
        "california iid 300": (1200, 300, 285),
    }
    for row, (n_train, n_test, k) in printed.items():
        t = table("Blevels")
        assert (cell(t, row, "n train").value, cell(t, row, "n test").value, cell(t, row, "k").value) == (
            n_train,
            n_test,
            k,
        )


def test_ablation_counts_refusals_and_takes_ratios_of_delivered_pairs(con, table):
    t = table("Babl")
    refused = con.execute(
        "SELECT count(*) FROM refusal f JOIN cell c USING (cell_id) WHERE block = 'ablation' AND arm = 'drop_all'"
    ).fetchall()[0][0]
    assert cell(t, "drop_all", "refused") == Count(refused, 20)
    rows = {
        arm: dict(
            con.execute(f"SELECT cell_id, value FROM record WHERE arm = '{arm}' AND metric = 'width_mean'").fetchall()
        )
        for arm in ("clamp_fit", "drop_fit")
    }
    splits = dict(
        con.execute("SELECT cell_id, keys['dataset'] || keys['seed'] FROM cell WHERE block = 'ablation'").fetchall()
    )
    logs = {}  # by split: cells of one split are averaged before they are compared
    for c in rows["clamp_fit"].keys() & rows["drop_fit"].keys():
        logs.setdefault(splits[c], []).append(np.log10(rows["clamp_fit"][c]) - np.log10(rows["drop_fit"][c]))
    assert cell(table("Battr"), "width_mean columns, fit rows", "ratio").value == pytest.approx(
        10 ** hodges_lehmann([np.mean(x) for x in logs.values()]), rel=1e-9
    )
    assert cell(table("Battr"), "width_mean columns, fit rows", "n").value == len(logs)


def test_last_bit_perturbations_stand_where_the_coarse_grid_is_tabled(table):
    """The made-up block has four draws on the coarse grid and none on the fine one."""
    words = str(table("A16").caption)
    quotes = table("A16").quotes
    assert (quotes["last bit smallest"].value, quotes["last bit largest"].value) == (0.0096, 0.169)
    assert quotes["last bit draws"].value == 4
    assert "one unit in the last place" in words
    assert "one unit in the last place" not in str(table("A").caption)


def test_gap_counts_seeds_that_reach_the_level(con, table):
    coverage = [v for scale, v in query(con, "b", "gap", "cp", "coverage", "gap", keys=("scale",)) if scale == "frozen"]
    assert cell(table("Bgap"), "frozen gap cp", "reached") == Count(sum(v >= 13 / 14 for v in coverage), 10)


def test_single_seed_values_come_from_the_published_table(con, table):
    t = table("Bgapsurv")
    width = [v for scale, v in query(con, "b", "gap", "or1", "width_mean", "ind", keys=("scale",)) if scale == "frozen"]
    assert cell(t, "frozen or1 width ind", "single").value == 0.49
    assert min(width) > 0.49
    assert cell(t, "frozen or1 width ind", "single").bold  # outside our range
    assert not cell(t, "frozen or1 coverage ind", "single").bold
    assert isinstance(cell(t, "frozen dak coverage gap", "single"), Absent)


def test_regret_is_median_and_worst_and_pairs_agree_with_scipy(con, table):
    final = {
        a: dict(zip_keys(query(con, "c", "main", a, "final_regret", keys=("benchmark", "seed")))) for a in ("ei", "k5")
    }
    x = np.array([v for (b, _), v in final["k5"].items() if b == "griewank"])
    shown = cell(table("C"), "griewank 5", "k5")
    assert isinstance(shown, Join)
    assert [p.value for p in shown.parts if isinstance(p, Number)] == [np.median(x), x.max()]
    d = np.array(
        [
            final["k5"][("branin", s)] - final["ei"][("branin", s)]
            for s in sorted(s for b, s in final["ei"] if b == "branin")
        ]
    )
    t = table("CpairEI")
    assert cell(t, "branin 2 k5", "difference").value == pytest.approx(hodges_lehmann(d), rel=1e-12)
    assert cell(t, "branin 2 k5", "p").p == pytest.approx(wilcoxon(d, mode="exact").pvalue, rel=1e-9)


def zip_keys(rows):
    return [(tuple(r[:-1]), r[-1]) for r in rows]


def test_inert_seeds_are_equal_action_paths(con, table):
    rows = con.execute(
        "SELECT c.keys['benchmark'], c.keys['seed'], r.arm, r.value FROM record r JOIN cell c USING (cell_id) "
        "WHERE c.block = 'main' AND c.case_name = 'c' AND r.metric = 'action' ORDER BY r.idx"
    ).fetchall()
    paths = {}
    for benchmark, seed, arm, v in rows:
        paths.setdefault((benchmark, seed, arm), []).append(v)
    for benchmark, dim in synthetic_db.BENCHMARKS.items():
        same = [paths[(benchmark, str(s), "k1")] == paths[(benchmark, str(s), "k5")] for s in range(6)]
        assert cell(table("Ckappa"), f"{benchmark} {dim}", "inert 1-5") == Count(sum(same), 6)


def test_invariance_counts_every_record_once(con, table):
    counts = con.execute(
        "SELECT f.value AS fires, s.value AS same, count(*) FROM record f JOIN record s ON f.cell_id = s.cell_id AND f.arm = s.arm AND f.idx = s.idx "
        "AND s.metric = 'same' AND f.label = s.label || '/osc/low' JOIN cell c ON c.cell_id = f.cell_id WHERE f.metric = 'fires' AND c.block = 'main' GROUP BY ALL"
    ).fetchall()
    by = {(f, s): n for f, s, n in counts}
    t = table("Cinv")
    assert cell(t, "osc/low fires", "step same").value == by[(1, 1)]
    assert cell(t, "osc/low fires", "step moved").value == by.get((1, 0), 0)
    assert cell(t, "osc/low silent", "step same").value == by[(0, 1)]
    assert cell(t, "osc/low silent", "step moved").value == by[(0, 0)]
    assert t.quotes["osc/low records"].value == sum(by.values()) == 5 * 6 * 5 * 18 * 3


def test_a_regime_is_judged_by_the_audit_and_counts_splits(con, table):
    """The learnable-shift row counts splits of energy and yacht in which the head it recommends covers more, by hand."""
    t = table("regime")
    pairs = con.execute(
        "SELECT avg(a.value - b.value) > 0 FROM record a JOIN record b USING (cell_id, metric) JOIN cell c USING (cell_id) "
        "WHERE a.arm = 'or1_nf' AND b.arm = 'cp' AND metric = 'coverage' AND a.label IS NULL AND b.label IS NULL "
        "AND c.block = 'main' AND c.keys['regime'] = 'shift' AND c.keys['dataset'] IN ('energy', 'yacht') "
        "GROUP BY c.keys['dataset'], c.keys['seed']"
    ).fetchall()
    (bold,) = [p for p in cell(t, "shift learnable", "evidence").parts if isinstance(p, Count) and p.bold]
    assert (bold.k, bold.n) == (sum(x for (x,) in pairs), len(pairs))
    outcome = con.execute(
        "SELECT outcome FROM test_result WHERE comparison = 'learnable-coverage' AND variant = 'blocked'"
    )
    says = {"greater": "for", "less": "against"}.get(outcome.fetchall()[0][0], "open")
    assert cell(t, "shift learnable", "verdict").text == says


def test_the_main_number_of_a_composite_cell_is_its_first(table):
    """A cell such as "+0.02 [+0.01, +0.15], p = 0.004" is its effect for programs, not the letter p."""
    effect = cell(table("Bfloor"), "w_obs buys coverage", "iid")
    assert effect.fields()[""] == effect.parts[0].value


def test_attainment_has_its_quartiles_over_points(con, table):
    rows = con.execute(
        "SELECT a.value / b.value FROM record a JOIN record b ON a.cell_id = b.cell_id AND a.idx = b.idx AND a.label IS NOT DISTINCT FROM b.label "
        "JOIN cell c ON c.cell_id = a.cell_id WHERE c.block = 'certificates' AND a.arm = 'global' AND b.arm = 'global' "
        "AND a.metric = 'certificate' AND b.metric = 'radius' AND a.label = 'grid97' AND c.keys['level']::DOUBLE = 0"
    ).fetchall()
    shown = cell(table("Acert"), "attainment grid iqr", "rel 0")
    assert (shown.low, shown.high) == pytest.approx(np.percentile([x for (x,) in rows], [25, 75]), rel=1e-12)
    assert cell(table("Acert"), "rho source", "rel 0").text == "closed form"
