"""The optimisation loop of a cell: several arms from one initial design, sharing every step on which their data agree.

An arm's state is the path of candidates it has taken. Arms on the same path have the same data, the same warm start and
so the same fit, posterior and widths: the step is computed once and each arm reads its own choice from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from orledger.runners.case_c.acquisition import (
    expected_improvement,
    log_expected_improvement,
    lower_bound,
    posterior,
)
from orledger.runners.case_c.fitting import Fit, fit
from orledger.runners.case_c.kernel import Pairs, ParameterLayout, constrain, cross, gram, log_distance
from orledger.runners.case_c.ladder import KAPPAS, Ladder, climb
from orledger.runners.case_c.schedule import AmplitudeSearch, ShapeWidth, shape_width
from orledger.runners.case_c.widths import Widths, certified_widths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.runners.case_c.budgets import Budget
    from orledger.runners.case_c.objectives import SearchProblem

FLOOR_ARMS = {f"k{kappa}": kappa for kappa in KAPPAS}
ARMS = ("ei", "ucb", *FLOOR_ARMS)


@dataclass(frozen=True)
class LoopSpec:
    """What the loop needs besides the problem: the starting parameters, the fit budget and the acquisition settings."""

    layout: ParameterLayout
    raw: torch.Tensor
    budget: Budget
    evaluations: int
    ucb_beta: float
    remove_evaluated: bool
    centre_on_mean: bool
    ddof: int
    ladder: bool = True
    schedule: AmplitudeSearch | None = None
    log_ei: bool = False


@dataclass(frozen=True)
class Step:
    """One acquisition: the fit, the widths over the remaining candidates, and the candidate each arm would choose."""

    fit: Fit
    sigma_hat: float
    widths: Widths
    nn_distance: float
    choice: dict[str, int]
    ladder: Ladder | None
    shape: ShapeWidth | None


@dataclass
class Trajectory:
    """One arm's path: chosen candidates and objective values per step, and the steps they were chosen at."""

    actions: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class Slabs:
    """Differences, log distances (d, N) and squared distances (N,) of observed points to all candidates, computed once."""

    def __init__(self, problem: SearchProblem, device: str) -> None:
        self.initial = problem.initial.to(device)
        self.candidates = problem.candidates.to(device)
        self.columns = self.candidates.T.contiguous()
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}

    def point(self, index: int) -> torch.Tensor:
        """The point (d,): a candidate for index >= 0, an initial point for -1, -2, ..."""
        return self.candidates[index] if index >= 0 else self.initial[-1 - index]

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if index not in self._kept:
            difference = self.point(index).unsqueeze(-1) - self.columns
            self._kept[index] = (difference, log_distance(difference), difference.square().sum(0))
        return self._kept[index]


def run_arms(
    problem: SearchProblem, spec: LoopSpec, arms: Sequence[str] = ARMS, *, device: str = "cpu", share: bool = True
) -> dict[str, Trajectory]:
    """The trajectory of every arm; ``share=False`` computes each arm on its own and gives the same numbers."""
    with torch.inference_mode():
        slabs = Slabs(problem, device)
        start = tuple(-1 - i for i in range(len(problem.initial)))
        trajectories = {arm: Trajectory() for arm in arms}
        warm = dict.fromkeys(arms, spec.raw.to(device))
        for _ in range(spec.evaluations - len(start)):
            done: dict[tuple[int, ...] | str, Step] = {}
            for arm, trajectory in trajectories.items():
                path = (*start, *trajectory.actions)
                key = path if share else arm
                if key not in done:
                    done[key] = take_step(problem, spec, slabs, path, warm[arm])
                step = done[key]
                warm[arm] = step.fit.raw
                trajectory.steps.append(step)
                trajectory.actions.append(step.choice[arm])
                trajectory.values.append(float(problem.candidate_values[step.choice[arm]]))
    return trajectories


def take_step(problem: SearchProblem, spec: LoopSpec, slabs: Slabs, path: tuple[int, ...], warm: torch.Tensor) -> Step:
    """The step after ``path`` (initial points as -1, -2, ..., then candidates), fitted from the parameters ``warm``."""
    n = len(path)
    taken = [i for i in path if i >= 0]
    raw_y = torch.cat([problem.initial_values, problem.candidate_values[taken]])
    y = ((raw_y - raw_y.mean()) / raw_y.std(correction=spec.ddof)).to(warm.device)
    pairs = Pairs.of(torch.stack([slabs.point(i) for i in path]))
    fitted = fit(warm, spec.layout, pairs, y, spec.budget)
    p = constrain(fitted.raw, spec.layout)

    difference, log, squared = zip(*(slabs[i] for i in path), strict=True)
    keep = np.ones(len(problem.candidates), dtype=bool)
    if spec.remove_evaluated:
        keep[taken] = False
    left = np.flatnonzero(keep)
    g = gram(p, pairs)
    b = cross(p, difference, log)[:, torch.from_numpy(left).to(warm.device)]
    post = posterior(p, g, b, y)
    mean = post.mean.cpu().numpy()
    sigma_hat = float(p.noise) ** 0.5
    centred = y - p.mean if spec.centre_on_mean else y
    widths = certified_widths(
        g.cpu().numpy(),
        b.cpu().numpy(),
        float(p.output),
        centred.cpu().numpy(),
        sigma_hat * n**0.5,
        grid=spec.ladder,
    )
    nearest = torch.stack(squared).amin(0).sqrt_().cpu().numpy()[left]
    improvement = log_expected_improvement if spec.log_ei else expected_improvement
    choice = {
        "ei": int(left[int(improvement(post, float(y.min())).argmax())]),
        "ucb": int(left[int(lower_bound(post, spec.ucb_beta).argmin())]),
    }
    for arm, kappa in FLOOR_ARMS.items():
        choice[arm] = int(left[np.argmin(mean - kappa * widths.radius)])
    shape = None
    if spec.schedule is not None:
        shape = shape_width(mean, widths.radius, nearest, left, spec.schedule)
        choice["shape"] = int(left[np.argmin(mean - shape.width)])
    return Step(
        fit=fitted,
        sigma_hat=sigma_hat,
        widths=widths,
        nn_distance=float(np.median(nearest)),
        choice=choice,
        ladder=climb(mean, widths.radius, left) if spec.ladder else None,
        shape=shape,
    )
