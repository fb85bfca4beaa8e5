"""Numbers that captions quote, marks and orders of the study's tables, against plain SQL; rules for rare rows, against rows by hand."""

import numpy as np
import polars as pl
import pytest

from orledger.paper import symbols as sym
from orledger.paper.tables.a import same_in_print, seed_cv
from orledger.paper.tables.a_cert import level_header, premium
from orledger.reports.tables.format import fixed
from orledger.reports.tables.values import Count, Number

MAIN = "FROM record r JOIN cell c USING (cell_id) WHERE c.case_name = 'b' AND c.block = 'main' AND c.state = 'done' AND r.idx IS NULL"


def column(t, key):
    at = [c.key for c in t.columns].index(key)
    return {r.key: r.cells[at] for r in t.rows()}


def test_a_width_is_not_divided_by_an_error_of_zero():
    rows = pl.DataFrame({"cell_id": ["x"] * 3, "error": [0.0, 1.0, 2.0], "half": [5.0, 3.0, 4.0]})
    assert list(premium(rows)) == [2.5]  # the median of 3/1 and 4/2


def test_one_seed_has_no_dispersion():
    rows = {"grid": [24.0] * 3, "level": [0.1, 0.1, 0.2], "arm": ["gcv"] * 3, "rmse": [1.0, 3.0, 5.0]}
    (found,) = seed_cv(pl.DataFrame(rows)).iter_rows(named=True)
    assert (found["level"], found["seeds"]) == (0.1, 2)
    assert found["cv"] == pytest.approx(np.sqrt(2) / 2)


def test_a_range_of_equal_digits_is_one_number():
    a, b, c = (Number(v, fixed(1)) for v in (1.01, 1.02, 1.2))
    assert same_in_print(a, b)
    assert not same_in_print(a, c)
    assert not same_in_print(a, None)
    assert not same_in_print(None, a)


def test_only_the_level_without_noise_is_called_so():
    assert level_header(0) == sym.SIGMA_ZERO
    assert level_header(1) != sym.SIGMA_ZERO


def test_the_tail_is_counted_and_ordered_by_its_mean(audited, audited_tables):
    over, cells, tested = (
        audited.con.cursor()
        .execute(
            "SELECT sum(o.value), count_if(o.value > 0), sum(n.value) FROM "
            f"(SELECT cell_id, r.value {MAIN} AND r.arm = 'or1' AND r.metric = 'n_over_cap' AND r.label IS NULL) o JOIN "
            f"(SELECT cell_id, r.value {MAIN} AND r.arm = 'cell' AND r.metric = 'n_test') n USING (cell_id)"
        )
        .fetchone()
    )
    t = audited_tables["Btail"]
    assert t.quotes["points over cap"] == Count(over, tested)
    assert t.quotes["cells over cap"].k == cells
    means = [c.value for c in column(t, "mean").values()]
    assert len(means) == min(cells, 20)
    assert means == sorted(means, reverse=True)


def test_scores_that_are_quoted_are_medians_of_scores(audited, audited_tables):
    for arm in ("cp", "or1"):
        (score,) = (
            audited.con.cursor()
            .execute(
                f"SELECT median(r.value) {MAIN} AND c.keys['regime'] = 'iid' AND r.arm = ? AND r.metric = 'interval_score' AND r.label IS NULL",
                [arm],
            )
            .fetchone()
        )
        assert audited_tables["Barms"].quotes[f"iid {arm} score"].median == pytest.approx(score, rel=1e-12)


def test_counterexamples_are_steps_that_fired_and_moved(audited, audited_tables):
    moved, steps, largest = (
        audited.con.cursor()
        .execute(
            "SELECT count_if(f.value = 1 AND s.value = 0), count(*), max(q.value) FILTER (f.value = 1) FROM record f JOIN cell c USING (cell_id) "
            "JOIN record s ON (s.cell_id, s.arm, s.idx, s.metric, s.label || '/osc/low') = (f.cell_id, f.arm, f.idx, 'same', f.label) "
            "JOIN record q ON (q.cell_id, q.arm, q.idx, q.metric, q.label) = (f.cell_id, f.arm, f.idx, 'ratio', f.label) "
            "WHERE f.metric = 'fires' AND c.case_name = 'c' AND c.block = 'main'"
        )
        .fetchone()
    )
    t = audited_tables["Cinv"]
    assert (t.quotes["osc/low counterexamples"].value, t.quotes["osc/low records"].value) == (moved, steps)
    assert t.quotes["osc/low largest ratio that fires"].value == pytest.approx(largest, rel=1e-12)


def test_only_cells_that_can_refute_the_criterion_are_bold(audited_tables):
    bold = {(r.key, k.key) for r in audited_tables["Cinv"].rows() for k, c in zip(audited_tables["Cinv"].columns, r.cells, strict=True) if c.bold}  # fmt: skip
    assert bold == {(f"{n} fires", k) for n in ("osc/low", "osc", "sharp") for k in ("step moved", "path differs")}
