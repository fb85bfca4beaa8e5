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
with the boundary weight in them they span eleven decades, and single precision (``float32_normal``) cannot factor them.
At data weights of 5 and more it depends on the processor whether what ``float32`` rounded is still positive definite."""


@torch.inference_mode()
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
    others go on. No product mixes runs, so on a CPU a run gives the same bits alone and in any batch, as long as its arrays
    have an even number of entries (even grid side, inducing and test points, as in every preset): MKL's last bit can depend
    on whether an array starts at a multiple of 16 bytes, and in a batch an array of odd length moves the next one off it.
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
    # Arrays that an epoch reads or writes are made once: at these sizes making one costs as much as the arithmetic. Of the
    # coefficients (2, B, R, M) there are two, and of the values at the inducing points with their last step (2, 2, B, R, M):
    # an epoch reads one and writes the other.
    start = torch.stack([tensor(ops.whiten(H).T).expand(batch, -1, -1) for H in model.initial()])
    states = [start, torch.empty_like(start)]
    chol_t, test_t = (tensor(m.T).expand(2 * batch, -1, -1) for m in (ops.chol, ops.test))
    stacked = [state.flatten(0, 1) for state in states]
    moves = [torch.stack([torch.bmm(stacked[0], chol_t).view(start.shape)] * 2) for _ in states]
    views = [(move[0], move[0].flatten(0, 1), move[1], move.flatten(-2)) for move in moves]
    pairs = [tuple(state) for state in states]
    grid = np.linspace(0, 1, model.test_points)
    truth = tensor(data.forcing.solution(grid[:, None], grid[None, :])).expand(batch, -1, -1)
    at_test, error = torch.bmm(stacked[0], test_t), torch.empty_like(truth, memory_format=torch.contiguous_format)
    first_t, second, error_flat = at_test[:batch].mT, at_test[batch:], error.view(batch, -1)
    # What is decided per run is decided on the host: a dozen small operations an epoch, which NumPy starts sooner.
    active = np.ones(batch, dtype=bool)
    converged, failed, epochs = (
        np.zeros(batch, dtype=bool),
        np.zeros(batch, dtype=np.int64),
        np.zeros(batch, dtype=np.int64),
    )
    sizes = _norms(moves[0].flatten(-2))[0]
    best = np.full_like(sizes[0], np.inf)
    rmse = best.copy()
    now = 0
    for epoch in range(1, model.epochs + 1):
        before, now = now, epoch % 2
        (mine, other), (new, new_other) = pairs[before], pairs[now]
        old_values, (values_new, values_stacked, step_new, flat) = views[before][0], views[now]
        eqs.update(0, mine, other, weights, sides[0], new)
        eqs.update(1, other, new, weights, sides[1], new_other)
        torch.bmm(stacked[now], chol_t, out=values_stacked)
        torch.sub(values_new, old_values, out=step_new)
        new_sizes, steps = _norms(flat)
        with np.errstate(invalid="ignore", divide="ignore"):
            change = (steps / sizes).sum(0)
        sound = (eqs.info.cpu().numpy() == 0).all(0) & (steps < np.inf).all(0)  # false for what is not a number
        if not (sound & active).all():
            failed, active = np.where(active & ~sound, epoch, failed), active & sound
            keep = torch.as_tensor(active, device=device)[:, None, None]
            torch.where(keep, states[now], states[before], out=states[now])
            torch.where(keep, values_new, old_values, out=values_new)
            new_sizes = np.where(active, new_sizes, sizes)
        sizes = new_sizes
        epochs[active] = epoch
        torch.bmm(stacked[now], test_t, out=at_test)
        torch.baddbmm(truth, first_t, second, beta=-1, out=error)
        rmse = np.where(active, _norms(error_flat) / model.test_points, rmse)
        best = np.minimum(best, rmse)
        stopped = active & (change < model.tol)
        converged, active = converged | stopped, active & ~stopped
        if not active.any():
            break
    factors = states[now]
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
    """The Euclidean norm of each vector (q,) of a batch (..., q), on the host."""
    return torch.linalg.vector_norm(batch, dim=-1).cpu().numpy()
