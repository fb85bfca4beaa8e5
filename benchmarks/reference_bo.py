"""The optimisation loop of Case C written plainly with botorch and gpytorch: the peer that bench_case_c measures against.

One trajectory at a time: a SingleTaskGP with the kernel as a gpytorch module, torch.optim.Adam through autograd (or
scipy's L-BFGS-B through botorch's wrapper), botorch's own acquisition functions over the candidates, and the radius as
the paper computes it, on its 97-point grid. Nothing is shared between arms or steps. It records no diagnostics: only
what is needed to choose.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch
from botorch.acquisition import ExpectedImprovement, UpperConfidenceBound
from botorch.optim.fit import fit_gpytorch_mll_scipy
from gpytorch.mlls import ExactMarginalLogLikelihood

from orledger.runners.case_c.alas import alas_model, load_raw, ordered_parameters

if TYPE_CHECKING:
    from botorch.models import SingleTaskGP

    from orledger.runners.case_c.loop import LoopSpec
    from orledger.runners.case_c.objectives import SearchProblem

MUS = np.logspace(-12, 12, 97)


def fitted_model(x: torch.Tensor, y: torch.Tensor, raw: torch.Tensor, spec: LoopSpec) -> SingleTaskGP:
    """The model on (n, d) inputs and (n,) standardised targets after the budget's steps from the parameters ``raw``."""
    model = alas_model(x, y.unsqueeze(-1), spec.layout.mixtures)
    load_raw(model, raw, spec.layout)
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()
    if spec.budget.optimiser == "adam":
        optimiser = torch.optim.Adam(model.parameters(), lr=spec.budget.rate)
        for _ in range(spec.budget.steps):
            optimiser.zero_grad()
            (-mll(model(x), model.train_targets)).backward()
            optimiser.step()
    else:
        options = {"maxiter": spec.budget.steps, "gtol": spec.budget.tolerance, "ftol": 0.0}
        fit_gpytorch_mll_scipy(mll, options=options)
    return model.eval()


def grid_radius(gram: np.ndarray, cross: np.ndarray, k0: float, data: np.ndarray, eta: float) -> np.ndarray:
    """The information radius (m,) of m candidates with eps the Occam radius, both on the grid of mu."""
    w, basis = np.linalg.eigh(gram)
    w = np.maximum(w, 1e-15)
    z, beta = basis.T @ data, basis.T @ cross
    occam = max(float(np.max(MUS * ((z**2) @ (1 / (1 + np.outer(w, MUS))) - eta**2))), 0.0)
    best = np.full(cross.shape[1], np.inf)
    for mu in MUS:
        variance = k0 - ((beta**2) / (w + 1 / mu)[:, None]).sum(0)
        best = np.minimum(best, np.maximum(variance, 0.0) * (occam + mu * eta**2))
    return np.sqrt(best)


def model_radius(model: SingleTaskGP, x: torch.Tensor, y: torch.Tensor, rest: torch.Tensor) -> np.ndarray:
    """The grid radius (m,) of the candidates ``rest`` under a fitted model of ``x`` and ``y``."""
    gram = model.covar_module(x).to_dense().numpy()
    cross = model.covar_module(x, rest).to_dense().numpy()
    eta = math.sqrt(float(model.likelihood.noise) * len(y))
    return grid_radius(
        gram, cross, float(model.covar_module.outputscale), (y - model.mean_module.constant).numpy(), eta
    )


def plain_trajectory(problem: SearchProblem, spec: LoopSpec, arm: str) -> list[int]:
    """The candidates one arm chooses, from the same initial design, parameters and budget as the fast loop."""
    raw, actions = spec.raw, []
    for _ in range(spec.evaluations - len(problem.initial)):
        x = torch.cat([problem.initial, problem.candidates[actions]])
        values = torch.cat([problem.initial_values, problem.candidate_values[actions]])
        y = (values - values.mean()) / values.std()
        model = fitted_model(x, y, raw, spec)
        raw = torch.cat([p.detach().reshape(-1) for p in ordered_parameters(model)])
        keep = torch.ones(len(problem.candidates), dtype=torch.bool)
        keep[actions] = False
        rest = problem.candidates[keep]
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if arm == "ei":
                score = -ExpectedImprovement(model, best_f=y.min(), maximize=False)(rest.unsqueeze(1))
            elif arm == "ucb":
                beta = torch.tensor(spec.ucb_beta, dtype=torch.float64)
                score = -UpperConfidenceBound(model, beta=beta, maximize=False)(rest.unsqueeze(1))
            else:
                mean = model.posterior(rest.unsqueeze(1)).mean.flatten()
                score = mean - int(arm[1:]) * torch.from_numpy(model_radius(model, x, y, rest))
        actions.append(int(torch.arange(len(keep))[keep][int(score.argmin())]))
    return actions
