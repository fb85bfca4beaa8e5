"""Stopping by validation: which epoch is kept, by whom, and that a net's choice is its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

from orledger.runners.case_b.nets import build_network, net_data, schedule_of, train_nets
from orledger.runners.case_b.peers import peers_cell
from orledger.runners.case_b.plan import SETTINGS, plan
from orledger.runners.case_b.problem import SplitRows, load_table, make_problem
from orledger.runners.case_b.run import run
from orledger.runners.case_b.stopping import Validation, hold_out
from orledger.runners.case_b.training import train
from orledger.runners.cells import Context
from orledger.runners.settings import resolve

OFFLINE = Context(offline=True)
FAIR = {
    "epochs": 24,
    "rf_trees": 5,
    "stopping": "validation",
    "validation_every": 2,
    "validation_patience": 3,
    "validation_share": 0.25,
}


@pytest.fixture(scope="module")
def settings() -> dict:
    return resolve(SETTINGS, FAIR, "x")


@pytest.fixture(scope="module")
def problems(settings: dict) -> list[SplitRows]:
    table = load_table("diabetes", settings, OFFLINE)
    return [make_problem(table, "iid", seed, 0.0, settings) for seed in (0, 1, 2)]


def test_held_out_rows_are_a_part_of_the_nets_rows(problems: list[SplitRows], settings: dict) -> None:
    data = net_data(problems[0], "dak_kl", settings)
    inner, x, y = hold_out(data, 0.25, np.random.default_rng(0))
    assert y.size == data.y.size // 4
    joined = np.vstack([np.column_stack([inner.x, inner.y]), np.column_stack([x, y])])
    whole = np.column_stack([data.x, data.y])
    assert np.array_equal(joined[np.lexsort(joined.T)], whole[np.lexsort(whole.T)])
    assert inner.kl_weight == 1 / inner.y.size
    assert hold_out(replace(data, kl_weight=0.0), 0.25, np.random.default_rng(0))[0].kl_weight == 0.0


def test_the_kept_epoch_is_the_first_best_look_before_patience_ran_out(
    problems: list[SplitRows], settings: dict
) -> None:
    """Looks recomputed one net at a time with SciPy's normal density; the kept parameters are those of the look."""
    network, dtype = build_network(10, settings)
    parts = [hold_out(net_data(p, "fit", settings), 0.25, np.random.default_rng(k)) for k, p in enumerate(problems)]
    validation = Validation([(x, y) for _, x, y in parts], settings, dtype, "cpu")
    looks: list[tuple[int, list[float], torch.Tensor]] = []

    def watch(epoch: int, trained, _prior) -> bool:
        if epoch >= settings["hint_epoch"] and epoch % 2 == 0:
            scores = []
            for i, (_, x, y) in enumerate(parts):
                mean, sd = trained.one(i).predict(x)
                scores.append(float(-norm.logpdf(y, mean, sd).mean()))
            looks.append((epoch, scores, trained.flat.clone()))
        validation(epoch, trained)
        return False

    trained = train(network, [d for d, _, _ in parts], schedule_of(settings), dtype=dtype, revise=watch)
    last = trained.flat.clone()
    for i, kept in enumerate(validation.restore(trained)):
        best, waited = None, 0
        for epoch, scores, flat in looks:
            if waited == settings["validation_patience"]:
                break
            if best is None or scores[i] < best[1]:
                best, waited = (epoch, scores[i], flat[i]), 0
            else:
                waited += 1
        assert kept.epoch == best[0]
        assert kept.score == pytest.approx(best[1], rel=1e-9)
        assert torch.equal(trained.flat[i], best[2])
    assert not torch.equal(trained.flat, last)


def test_a_nets_epoch_does_not_depend_on_its_company(problems: list[SplitRows], settings: dict) -> None:
    together = train_nets(problems, ("dak", "fit"), settings)
    for problem, nets in zip(problems, together, strict=True):
        (alone,) = train_nets([problem], ("fit",), settings)
        assert alone["fit"].kept.epoch == nets["fit"].kept.epoch
        for name, value in alone["fit"].net.p.items():
            torch.testing.assert_close(value, nets["fit"].net.p[name], rtol=1e-6, atol=1e-9)
    assert len({nets[role].kept.epoch for nets in together for role in ("dak", "fit")}) > 1


def test_fair_cells_have_ids_of_their_own_and_say_which_epoch_they_kept() -> None:
    axes = {"datasets": ["diabetes"], "regimes": ["iid"], "seeds": [0], "rel": [0.0]}
    (fair,) = plan({"settings": FAIR, "main": axes}, "x")
    (usual,) = plan({"settings": {"epochs": 24, "rf_trees": 5}, "main": axes}, "x")
    assert fair.cells[0].id != usual.cells[0].id
    assert not [name for name in usual.cells[0].settings if "validation" in name or name == "stopping"]
    ((_, result),) = run(fair.cells, OFFLINE)
    found = {(m, label): v for a, m, label, _, v in result.scalars if a == "net"}
    for role in ("dak", "dak_kl", "fit", "or2", "or2_oracle"):
        assert 6 <= found["epoch_kept", role] <= found["epochs", role] <= 24
        assert found["epoch_kept", role] % 2 == 0
    ((_, result),) = run(usual.cells, OFFLINE)
    assert not [a for a, *_ in result.scalars if a == "net"]


def test_ridge_among_the_peers_is_the_closed_form(problems: list[SplitRows], settings: dict) -> None:
    """Leave-one-out over the same penalties by hand, with the intercept unpenalised; and no peer is worse than the mean."""
    problem = problems[0]
    found = {a: v for a, m, _, _, v in peers_cell(problem, settings).scalars if m == "rmse"}
    x, y = problem.x_train - problem.x_train.mean(0), problem.y_train - problem.y_train.mean()
    errors = {}
    for penalty in np.logspace(-3, 3, 13):
        hat = x @ np.linalg.solve(x.T @ x + penalty * np.eye(10), x.T) + 1 / y.size
        errors[penalty] = np.mean(((y - hat @ y) / (1 - np.diag(hat))) ** 2)
    penalty = min(errors, key=errors.__getitem__)
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(10), x.T @ y)
    centre = (problem.x_test - problem.x_train.mean(0)) @ weights + problem.y_train.mean()
    assert found["ridge"] == pytest.approx(np.sqrt(np.mean((centre - problem.y_test) ** 2)), rel=1e-9)
    assert set(found) == {"ridge", "forest", "gp"}
    assert max(found.values()) < problem.y_test.std()
