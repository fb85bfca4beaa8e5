"""The Gram form at 10,000 rows in blocks, on a GPU and on the CPU: the part of ``make gpu-check`` without a database.

    python benchmarks/gpu_gram.py [--rows 10000] [--device cuda]

Each edge is valid on its own device up to its allowance for floating point and its duality gap; two devices must agree within the
sum of both. The exit code is 1 when they do not. ``--device cpu`` checks the check itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import NamedTuple

import numpy as np
import torch

from orledger.recovery import KernelRecovery
from orledger.recovery.kernel import BLOCK, Edges

ROWS, POINTS, LENGTH, NOISE = 10_000, 1000, 0.15, 0.1


class Answer(NamedTuple):
    """What one device gave: the Occam radius, the intervals on the CPU, seconds on the clock, and peak memory of a GPU in GB."""

    least: float
    edges: Edges
    seconds: float
    memory: float | None


def kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Matern 3/2 with a length of LENGTH: (len(a), len(b)); distances from differences, the same on every device."""
    r = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist") * (np.sqrt(3) / LENGTH)
    return (1 + r) * torch.exp(-r)


def problem(n: int, m: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows (n, 2), noisy values (n,) and points (m, 2), drawn on the CPU."""
    rng = np.random.default_rng(0)
    X, points = rng.random((n, 2)), rng.random((m, 2))
    y = np.sin(6 * X[:, 0]) * np.cos(5 * X[:, 1]) + NOISE * rng.standard_normal(n)
    return torch.as_tensor(X), torch.as_tensor(y), torch.as_tensor(points)


def answered(device: str, n: int, m: int, *, block: int = BLOCK, rho: float | None = None) -> Answer:
    """The intervals at m points for n rows, of norm rho or of twice the Occam radius."""
    X, y, points = (v.to(device) for v in problem(n, m))
    eta = NOISE * n**0.5
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    fitted = KernelRecovery.fit(kernel, X, y, diagonal=lambda x: x[:, 0] * 0 + 1, block=block)
    least = fitted.occam(eta).rho
    edges = Edges(*(v.cpu() for v in fitted.intervals(points, 2 * least if rho is None else rho, eta)))
    seconds = time.perf_counter() - start  # the copies to the CPU waited for the device
    return Answer(least, edges, seconds, torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None)


def excess(a: Edges, b: Edges) -> float:
    """The largest difference of two edges over what allowances and gaps permit; at most 1 when the two agree."""
    allowed = sum(e.delta_num + e.gap_rel * (e.upper - e.lower) / 2 for e in (a, b))
    apart = torch.maximum((a.lower - b.lower).abs(), (a.upper - b.upper).abs())
    return float((apart / allowed).max())


def check(device: str, n: int = ROWS, m: int = POINTS, *, block: int = BLOCK) -> bool:
    """Whether the device and the CPU agree; prints what was found."""
    here = answered("cpu", n, m, block=block)
    there = answered(device, n, m, block=block, rho=2 * here.least)
    apart, half = excess(here.edges, there.edges), (here.edges.upper - here.edges.lower) / 2
    moved = float(((here.edges.lower - there.edges.lower).abs() / half).max())
    held = "" if there.memory is None else f", {there.memory:.2f} GB at most on the device"
    print(
        f"Gram form of {n:,} rows in blocks of {block:,}, {m:,} intervals: {there.seconds:.1f} s on {device}{held}; "
        f"{here.seconds:.1f} s on the CPU with {torch.get_num_threads()} thread(s).\n"
        f"Edges differ by at most {moved:.2g} of their half-width, {apart:.2g} of what rounding allows; Occam radius "
        f"{here.least:.12g} on the CPU, {there.least:.12g} on {device}."
    )
    return apart <= 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU that torch can use on this machine: nothing was run")
        sys.exit(0)
    sys.exit(0 if check(options.device, options.rows) else 1)
