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
    # What is decided per run is decided on the host: a dozen small operations an epoch, which NumPy starts sooner.
    active = np.ones(batch, dtype=bool)
    converged, failed, epochs = (
        np.zeros(batch, dtype=bool),
        np.zeros(batch, dtype=np.int64),
        np.zeros(batch, dtype=np.int64),
    )
    at_inducing = [each(f, chol_t) for f in factors]
    sizes = [_norms(h) for h in at_inducing]
    best = np.full_like(sizes[0], np.inf)
    rmse = best.copy()
    for epoch in range(1, model.epochs + 1):
        change = np.zeros_like(best)
        for j in (0, 1):
            new = eqs.update(j, factors[j], factors[1 - j], weights, sides[j])
            values_new = each(new, chol_t)
            step = _norms(values_new - at_inducing[j])
            sound = (eqs.info.cpu().numpy() == 0) & (step < np.inf)  # false for what is not a number
            with np.errstate(invalid="ignore", divide="ignore"):
                change += step / sizes[j]
            if not (sound & active).all():
                failed, active = np.where(active & ~sound, epoch, failed), active & sound
                keep = torch.as_tensor(active, device=device)[:, None, None]
                new, values_new = torch.where(keep, new, factors[j]), torch.where(keep, values_new, at_inducing[j])
            factors[j], at_inducing[j], sizes[j] = new, values_new, _norms(values_new)
        epochs[active] = epoch
        error = torch.baddbmm(truth, each(factors[0], test_t).mT, each(factors[1], test_t), beta=-1)
        rmse = np.where(active, _norms(error) / model.test_points, rmse)
        best = np.minimum(best, rmse)
        stopped = active & (change < model.tol)
        converged, active = converged | stopped, active & ~stopped
        if not active.any():
            break
    value_t, second_t = tensor(ops.value.T), tensor(ops.second.T)
    (g, g2), (h, h2) = [(each(f, value_t), each(f, second_t)) for f in factors]
    u = g.mT @ h
    residual = u**3 - g2.mT @ h - g.mT @ h2 - tensor(target)
    # The product space: <g_r h_r, g_s h_s> = (eta_r . eta_s)(theta_r . theta_s), summed over r and s.
    gram = (factors[0] @ factors[0].mT) * (factors[1] @ factors[1].mT)
    results = {
        "misfit": residual.flatten(1).norm(dim=1),
        "norm": gram.sum((1, 2)).clamp(min=0).sqrt(),
        "u": u,
    }
    numbers = {name: x.double().cpu().numpy() for name, x in results.items()}
    numbers |= {"rmse": rmse.astype(float), "rmse_best": best.astype(float)}
    usable = np.logical_and.reduce([np.isfinite(x).reshape(batch, -1).all(1) for x in numbers.values()])
    return Solves(
        lam2=np.asarray(lam2, dtype=float),
        epochs=epochs,
        converged=converged,
        failed=np.where(usable, failed, np.maximum(failed, 1)),
        **numbers,
    )


def _norms(batch: torch.Tensor) -> np.ndarray:
    """The Euclidean norm of each member of a batch (B, p, q), on the host."""
    return torch.linalg.vector_norm(batch.flatten(1), dim=1).cpu().numpy()
