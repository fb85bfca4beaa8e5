"""The claims that ship, on small databases where the answer can be counted by hand."""

from __future__ import annotations

import pytest

from orledger.audit.evaluation.claims import check
from orledger.audit.evaluation.comparisons import evaluate
from orledger.audit.evaluation.units import UnitReader
from orledger.audit.registry.reading import shipped_hypotheses

SHIPPED = {h.id: h for h in shipped_hypotheses()}


def claim(db, hypothesis, name):
    return check(UnitReader(db.results), {c.id: c for c in SHIPPED[hypothesis].claims}[name])


def steps(arm, actions, fires, same, criterion="osc"):
    """Records of one arm: its actions, and at every step whether the criterion fired (at the smaller multiple) and was right."""
    rows = [(arm, "action", float(v), None, i) for i, v in enumerate(actions)]
    rows += [(arm, "fires", float(v), f"1-2/{criterion}/low", i) for i, v in enumerate(fires)]
    rows += [(arm, "fires", 0.0, f"1-2/{criterion}/high", i) for i in range(len(fires))]
    return rows + [(arm, "same", float(v), "1-2", i) for i, v in enumerate(same)]


def test_a_choice_met_by_two_arms_is_one_record(db):
    """Both arms take 4, 7 and part at the third step: four choices after distinct pasts, of which the last two differ."""
    k1 = steps("k1", (4, 7, 1, 2), (1, 1, 0, 0), (1, 1, 1, 0))
    k2 = steps("k2", (4, 7, 3, 2), (1, 1, 0, 1), (1, 1, 1, 0))
    db.cell({"benchmark": "branin", "seed": 0}, k1 + k2, case="c")
    for name in ("no-counterexample", "no-counterexample-anywhere"):
        r = claim(db, "H4", name)
        assert (r.state, r.value) == ("fails", 1.0)  # k2 at its last step: fired, and the choice was another
        assert r.observed == "1 in 5 records"  # steps 0, 1, 2 shared, step 3 after 4,7,1 and after 4,7,3


def test_the_two_forms_of_the_criterion_are_two_claims(db):
    wrong = steps("k1", (1, 2), (1, 1), (0, 1), criterion="sharp")
    right = [r for r in steps("k1", (1, 2), (0, 1), (0, 1)) if r[1] == "fires"]
    db.cell({"benchmark": "levy", "seed": 0}, wrong + right, case="c")
    assert claim(db, "H4", "no-counterexample").observed == "0 in 2 records"
    assert claim(db, "H4", "no-counterexample-sharp").observed == "1 in 2 records"


def test_shares_of_records_are_pooled_over_cells(db):
    """One cell silent once and the same, one silent four times and never the same: 1 of 5, not the mean of 1 and 0."""
    db.cell({"benchmark": "levy", "seed": 0}, steps("k1", range(5), (1, 1, 1, 1, 0), (1, 1, 1, 1, 1)), case="c")
    db.cell({"benchmark": "levy", "seed": 1}, steps("k1", range(5), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0)), case="c")
    assert claim(db, "H4", "silent-and-same").value == 1 / 5
    assert claim(db, "H4", "fires").value == 5 / 10
    assert claim(db, "H4", "conservatism").value == 5 / 6


def test_benchmarks_of_equal_dispersion_are_not_averaged(db):
    """Griewank without dispersion moves on every seed, Ackley with some on none: the graded claim fails on that pair."""
    for name, osc, inert in (
        ("griewank", 0.0, False),
        ("levy", 0.0, True),
        ("ackley", 0.1, True),
        ("branin", 0.5, False),
    ):
        for seed in (0, 1):
            rows = [(arm, "action", 1.0, None, 0) for arm in ("k1", "k2")] + [
                ("k5", "action", 1.0 if inert else 2.0, None, 0)
            ]
            rows += [("k1", "osc", osc, None, 0), ("k1", "mean_c", 1.0, None, 0)]
            db.cell({"benchmark": name, "seed": seed}, rows, case="c")
    r = claim(db, "H4", "graded-by-dispersion")
    assert (r.state, r.counterexamples) == ("fails", ("value: griewank/1 0, ackley/3 1",))


@pytest.mark.parametrize("name", ["repeatable", "bitwise"])
def test_every_repetition_of_a_trajectory_is_looked_at(db, name):
    metric = "identical" if name == "repeatable" else "bitwise"
    for variant, value in (("again", 1.0), ("process", 0.0), ("perturb-1e-12", 0.0)):
        keys = {"benchmark": "levy", "seed": 0, "variant": variant}
        db.cell(keys, [("k1", metric, value)], case="c", block="determinism")
    r = claim(db, "H4", name)
    assert (r.state, r.n, r.counterexamples) == ("fails", 2, ("levy/0/k1/process: 0",))


def certificate(db, level, seed, error, width):
    rows = [("point", "error", error, None, i) for i in range(4)] + [
        ("global", "certificate", width, None, i) for i in range(4)
    ]
    db.cell({"grid": 24, "level": level, "seed": seed}, rows, case="a", block="certificates")


def test_noise_free_cells_count_once(db):
    """Three seeds of a noise-free cell are one computation of four points; with noise every seed counts."""
    for seed in range(3):
        certificate(db, 0.0, seed, 0.5, 1.0)
        certificate(db, 0.01, seed, 0.5, 1.0)
    assert claim(db, "H2", "global-valid").observed == "0 in 16 records"
    coverage = {c.id: c for c in SHIPPED["H2"].comparisons}
    assert evaluate(UnitReader(db.results), coverage["global-coverage/0.0"])[0].result.n == 4
    assert evaluate(UnitReader(db.results), coverage["global-coverage/0.01"])[0].result.n == 12


def test_an_error_outside_a_certificate_of_zero_width_is_a_violation(db):
    certificate(db, 0.01, 0, 0.5, 0.0)
    r = claim(db, "H2", "global-valid")
    assert (r.state, r.value) == ("fails", 4.0)


def test_saturated_cells_enter_as_bounds(db):
    """Ten cells, six of them pinned at the end of the grid: all ten are compared and six are counted as bounds."""
    for i, dataset in enumerate(("diabetes", "concrete", "energy", "yacht", "california")):
        for seed in (0, 1):
            keys = {"dataset": dataset, "regime": "iid", "seed": seed, "rel": 0.0}
            db.cell(keys, [("cell", "r2", 0.1 * i), ("or1", "kappa", 40.0 if i < 3 else 2.0 + i)], case="b")
    predicts = {c.id: c for c in SHIPPED["H5"].comparisons}["audit-predicts"]
    blocked, naive, *_ = evaluate(UnitReader(db.results), predicts)
    assert (blocked.result.n, naive.result.n, naive.bounded) == (5, 10, 6)


def test_without_data_under_shift_nothing_is_decided_about_training():
    """The refuting rule of H3 rests on the shifted comparisons as well: they are needed."""
    h = SHIPPED["H3"]
    refuting = next(r for r in h.rules if r.verdict == "refuted")
    assert {t.id for t in refuting.none} <= set(h.needs)
