"""The tensor-GP solver: alternating closed-form updates of the two factors, for a whole grid of data-fit weights at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from orledger.errors import UsageError
from orledger.runners.case_a.kernel import FactorOperators
from orledger.runners.case_a.normal import NormalEquations, Precision, each

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from orledger.runners.case_a.problem import Data


@dataclass(frozen=True)
class Model:
    """Everything a solve depends on besides its data and weights; names as in the settings of the plan."""

    n: int
    inducing: int
    rank: int
    log_length: float
    jitter: float
    lam1: float
    epochs: int
    tol: float
    linearisation: str
    test_points: int
    init_seed: int

    @classmethod
    def of(cls, settings: Mapping[str, Any], n: int) -> Model:
        """The model that a cell's settings describe on an n x n grid."""
        names = [f for f in cls.__dataclass_fields__ if f != "n"]
        return cls(n=n, **{name: settings[name] for name in names})

    def initial(self) -> list[np.ndarray]:
        """Values of both factors at the inducing points, each (M, R), uniform on [0, 1).

        The legacy Mersenne Twister: the source seeds NumPy's global generator, and where the iteration ends depends on it.
        """
        rng = np.random.RandomState(self.init_seed)
        return [rng.random_sample((self.inducing, self.rank)) for _ in range(2)]


@dataclass(frozen=True)
class Solves:
    """One batch of solves; arrays have one entry per weight.

    u: (B, n, n) final iterate at the collocation points; failed: epoch at which a run stopped being a number or its normal
    matrix stopped being positive definite, 0 for a run that is fine. The numbers of a failed run must not be used.
    """

    lam2: np.ndarray
    rmse: np.ndarray
    rmse_best: np.ndarray
    misfit: np.ndarray
    norm: np.ndarray
    epochs: np.ndarray
    converged: np.ndarray
    failed: np.ndarray
    u: np.ndarray

    @property
    def ok(self) -> np.ndarray:
        """Positions of the runs whose numbers may be used."""
        return np.flatnonzero(self.failed == 0)


PRECISIONS = {
    "float64": Precision(),
    "float32": Precision(torch.float32, torch.float64),
    "float32_normal": Precision(torch.float32, torch.float32),
}
"""``float32`` keeps factors and evaluations in single precision and forms and factors the normal equations in double:
with the boundary weight in them they span eleven decades, and single precision (``float32_normal``) cannot factor them."""


def solve(
    model: Model,
    data: Data,
    lam2: list[float],
    *,
    values: np.ndarray | None = None,
    precision: str = "float64",
    device: str = "cpu",
) -> Solves:
    """The solves of one forcing at every weight in ``lam2``, run in lockstep.

    values: the noisy forcing (n, n), by default ``data.values``. A run that has met the stop criterion is frozen while the
    others go on. No product mixes runs, so on a CPU a run gives the same bits alone and in any batch.
    """
    if precision not in PRECISIONS:
        raise UsageError(f"unknown precision {precision!r}", hint=f"one of {', '.join(PRECISIONS)}")
    kinds = PRECISIONS[precision]
    ops = FactorOperators.build(model.n, model.inducing, model.log_length, model.jitter, model.test_points)
    batch = len(lam2)
    eqs = NormalEquations(
        ops, model.rank, model.lam1, batch, linearisation=model.linearisation, precision=kinds, device=device
    )

    def tensor(x: np.ndarray, dtype: torch.dtype = kinds.state) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(x), dtype=dtype, device=device)

    target = np.ascontiguousarray(data.values if values is None else values)
    sides = [tensor(target, kinds.normal), tensor(target.T, kinds.normal)]
    weights = tensor(np.asarray(lam2, dtype=float), kinds.normal)[:, None, None]
    factors = [tensor(ops.whiten(H).T).expand(batch, -1, -1).contiguous() for H in model.initial()]
    chol_t, test_t = tensor(ops.chol.T), tensor(ops.test.T)
    grid = np.linspace(0, 1, model.test_points)
    truth = tensor(data.forcing.solution(grid[:, None], grid[None, :])).expand(batch, -1, -1)
    active = torch.ones(batch, dtype=torch.bool, device=device)
    converged, failed = torch.zeros_like(active), torch.zeros(batch, dtype=torch.int64, device=device)
    epochs, best = torch.zeros_like(failed), torch.full((batch,), torch.inf, dtype=kinds.state, device=device)
    rmse = best.clone()
    at_inducing = [each(f, chol_t) for f in factors]
    for epoch in range(1, model.epochs + 1):
        change = torch.zeros(batch, dtype=kinds.state, device=device)
        for j in (0, 1):
            new = eqs.update(j, factors[j], factors[1 - j], weights, sides[j])
            values_new = each(new, chol_t)
            step = (values_new - at_inducing[j]).flatten(1).norm(dim=1)
            sound = (eqs.info == 0) & (step < torch.inf)  # false for what is not a number
            if not bool((sound & active).all()):
                failed, active = torch.where(active & ~sound, epoch, failed), active & sound
                keep = active[:, None, None]
                new, values_new = torch.where(keep, new, factors[j]), torch.where(keep, values_new, at_inducing[j])
            change += step / at_inducing[j].flatten(1).norm(dim=1)
            factors[j], at_inducing[j] = new, values_new
        epochs = torch.where(active, epoch, epochs)
        error = torch.baddbmm(truth, each(factors[0], test_t).mT, each(factors[1], test_t), beta=-1)
        rmse = torch.where(active, error.flatten(1).norm(dim=1) / model.test_points, rmse)
        best = torch.minimum(best, rmse)
        stopped = active & (change < model.tol)
        converged, active = converged | stopped, active & ~stopped
        if not bool(active.any()):
            break
    value_t, second_t = tensor(ops.value.T), tensor(ops.second.T)
    (g, g2), (h, h2) = [(each(f, value_t), each(f, second_t)) for f in factors]
    u = g.mT @ h
    residual = u**3 - g2.mT @ h - g.mT @ h2 - tensor(target)
    # The product space: <g_r h_r, g_s h_s> = (eta_r . eta_s)(theta_r . theta_s), summed over r and s.
    gram = (factors[0] @ factors[0].mT) * (factors[1] @ factors[1].mT)
    results = {
        "rmse": rmse,
        "rmse_best": best,
        "misfit": residual.flatten(1).norm(dim=1),
        "norm": gram.sum((1, 2)).clamp(min=0).sqrt(),
        "u": u,
    }
    numbers = {name: x.double().cpu().numpy() for name, x in results.items()}
    usable = np.logical_and.reduce([np.isfinite(x).reshape(batch, -1).all(1) for x in numbers.values()])
    broken = failed.cpu().numpy()
    return Solves(
        lam2=np.asarray(lam2, dtype=float),
        epochs=epochs.cpu().numpy(),
        converged=converged.cpu().numpy(),
        failed=np.where(usable, broken, np.maximum(broken, 1)),
        **numbers,
    )
