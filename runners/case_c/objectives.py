"""The objectives on the unit cube: botorch's test functions, their boxes, and their values at every candidate.

Ackley, Griewank and Levy are defined in every dimension. Branin (2 inputs) and Hartmann (6) are not: in a higher
dimension they are embedded, the leading coordinates carrying the function and the others doing nothing, so that the
dimension changes and the landscape does not. Below their own dimension they do not exist and are refused.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.runners.seeds import seed_of, torch_generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

# The dimension of each objective in the paper's main block.
BENCHMARKS = {"branin": 2, "hartmann": 6, "griewank": 5, "ackley": 5, "levy": 10}
FIXED_DIMENSION = {"branin": 2, "hartmann": 6}


def check_dimension(benchmark: str, dim: int, where: str) -> None:
    """Nothing, or an error that says in which dimensions ``benchmark`` exists."""
    if benchmark not in BENCHMARKS:
        raise UsageError(f"{where}: unknown benchmark {benchmark!r}", hint=f"one of {', '.join(BENCHMARKS)}")
    least = FIXED_DIMENSION.get(benchmark, 1)
    if dim < least:
        raise UsageError(f"{where}: {benchmark} has no form with {dim} inputs", hint=f"use {least} inputs or more")


@dataclass(frozen=True)
class SearchProblem:
    """What the arms of a cell share: candidates (N, d) and initial points (k, d) in the unit cube, their objective values
    (N,) and (k,), and the global minimum that regret is measured from.
    """

    candidates: torch.Tensor
    candidate_values: torch.Tensor
    initial: torch.Tensor
    initial_values: torch.Tensor
    optimum: float


def evaluate(benchmark: str, unit: torch.Tensor, box: tuple[float, float]) -> tuple[torch.Tensor, float]:
    """The values (n,) at points (n, d) of the unit cube scaled to ``box`` in every coordinate, and the global minimum.

    The minimum is the function's own, also where it lies outside the box (Branin on [-3, 3]^2): regret is then positive
    everywhere.
    """
    with warnings.catch_warnings():
        # botorch's own imports use a part of torch that torch 2.13 calls deprecated; there is nothing a user could do.
        warnings.filterwarnings("ignore", message=".*torch.jit.script.*", category=DeprecationWarning)
        from botorch.test_functions.synthetic import Ackley, Branin, Griewank, Hartmann, Levy

    dim = unit.shape[-1]
    check_dimension(benchmark, dim, "evaluate")
    active = FIXED_DIMENSION.get(benchmark, dim)
    makers: dict[str, Any] = {"hartmann": Hartmann, "griewank": Griewank, "ackley": Ackley, "levy": Levy}
    function = Branin() if benchmark == "branin" else makers[benchmark](dim=active)
    low, high = box
    function = function.to(unit)
    # Set after construction: the constructor refuses a box that leaves every minimiser out, and Branin's may.
    function.bounds = unit.new_tensor([[low] * active, [high] * active])
    return function(low + (high - low) * unit[:, :active]), float(function.optimal_value)


def make_problem(benchmark: str, dim: int, seed: int, settings: Mapping[str, Any]) -> SearchProblem:
    """The problem of a cell; every objective, dimension and seed has designs of its own, which all blocks share."""
    import torch
    from torch.quasirandom import SobolEngine

    cloud_name = (dim,) if settings["cloud"] == "one" else (benchmark, dim, seed)
    cloud_seed = seed_of("case_c", "cloud", *cloud_name)
    candidates = SobolEngine(dim, scramble=True, seed=cloud_seed).draw(settings["candidates"], dtype=torch.float64)
    if settings["initial_design"] == "sobol":
        engine = SobolEngine(dim, scramble=True, seed=seed_of("case_c", "initial", benchmark, dim, seed))
        initial = engine.draw(settings["initial"], dtype=torch.float64)
    else:
        stream = torch_generator("case_c", "initial", benchmark, dim, seed)
        initial = torch.rand(settings["initial"], dim, generator=stream, dtype=torch.float64)
    low, high = (float(v) for v in settings[f"box_{benchmark}"])
    values, optimum = evaluate(benchmark, torch.cat([candidates, initial]), (low, high))
    n = len(candidates)
    return SearchProblem(candidates, values[:n], initial, values[n:], optimum)
