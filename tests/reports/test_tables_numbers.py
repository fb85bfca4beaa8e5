"""Tables against values computed another way from the same made-up records (plain SQL and numpy, scipy's tests)."""

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, wilcoxon

from orledger.reports.tables.building import declared
from orledger.reports.tables.values import Absent, Count

PAPER = (
    "A A16 Astab Afloor Aport Acert Aladder Baudit Blevels Bshift Barms Bfloor Btail Babl Battr Bgap Bgapsurv C CpairEI CpairOR CaucEI Ckappa Cinv "
    "regime dictionary provenance"
)  # fmt: skip


@pytest.fixture(scope="module")
def con(audited):
    return audited.con


@pytest.fixture
def table(audited_tables):
    return audited_tables.__getitem__


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


def test_last_bit_perturbations_stand_where_the_coarse_grid_is_tabled(table):
    """The made-up block has four draws on the coarse grid and none on the fine one."""
    words = str(table("A16").caption)
    quotes = table("A16").quotes
    assert (quotes["last bit smallest"].value, quotes["last bit largest"].value) == (0.0096, 0.169)
    assert quotes["last bit draws"].value == 4
    assert "one unit in the last place" in words
    assert "one unit in the last place" not in str(table("A").caption)


def test_single_seed_values_come_from_the_published_table(con, table):
    t = table("Bgapsurv")
    width = [v for scale, v in query(con, "b", "gap", "or1", "width_mean", "ind", keys=("scale",)) if scale == "frozen"]
    assert cell(t, "frozen or1 width ind", "single").value == 0.49
    assert min(width) > 0.49
    assert cell(t, "frozen or1 width ind", "single").bold  # outside our range
    assert not cell(t, "frozen or1 coverage ind", "single").bold
    assert isinstance(cell(t, "frozen dak coverage gap", "single"), Absent)


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


def test_the_main_number_of_a_composite_cell_is_its_first(table):
    """A cell such as "+0.02 [+0.01, +0.15], p = 0.004" is its effect for programs, not the letter p."""
    effect = cell(table("Bfloor"), "w_obs buys coverage", "iid")
    assert effect.fields()[""] == effect.parts[0].value
