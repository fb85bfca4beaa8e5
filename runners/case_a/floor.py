"""The floor block: one noise-free computation repeated in several ways, to see which of them agree bit for bit.

``python -m orledger.runners.case_a.floor`` is the freshly started interpreter of the ``new_process`` and ``threads_2`` backends: a spec as JSON
on standard input, the solves as JSON on standard output, floats in hexadecimal so that no bit is lost on the way.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.errors import OrledgerError
from orledger.runners.case_a.problem import draw, ulp_perturbed
from orledger.runners.case_a.solver import Model, Solves, solve
from orledger.runners.engines import limited_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("lam2", "rmse", "rmse_best", "misfit", "norm", "epochs", "converged", "failed")
SECONDS = 3600.0


class FreshProcessError(OrledgerError):
    """The freshly started interpreter of the floor block ended without a result."""


def repeat_solves(grid: int, backend: str, repeat: int, settings: Mapping[str, Any], device: str) -> Solves:
    """The noise-free solves of one repetition, computed the way ``backend`` says (see names.FLOOR_BACKENDS)."""
    if backend in ("new_process", "threads_2"):
        return _fresh({"grid": grid, "settings": dict(settings), "device": device}, 2 if backend == "threads_2" else 1)
    model = Model.of(settings, grid)
    data = draw(settings["forcing"], grid, 0.0, 0, "per_seed")
    values = ulp_perturbed(data.values, repeat) if backend == "ulp" else None
    precision = "float32" if backend == "float32" else "float64"
    with limited_threads(1):
        return solve(model, data, settings["lam2_grid"], values=values, precision=precision, device=device)


def fingerprint(values: np.ndarray) -> str:
    """SHA-256 of the float64 bytes of ``values``, little-endian: equal exactly when the arrays coincide bitwise."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _fresh(spec: dict[str, Any], threads: int) -> Solves:
    # Threads that spin while they wait take minutes instead of seconds when the cores are shared; the policy is read at start.
    done = subprocess.run(
        [sys.executable, "-m", "orledger.runners.case_a.floor"],
        input=json.dumps({**spec, "threads": threads}),
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise FreshProcessError(
            f"a new interpreter for the floor block ended with code {done.returncode}:\n{done.stderr[-2000:]}",
            hint="run python -m orledger.runners.case_a.floor with the spec to see it",
        )
    found = json.loads(done.stdout)
    arrays = {name: np.array([float.fromhex(v) for v in found[name]]) for name in FIELDS}
    shape = tuple(found["shape"])
    u = np.array([float.fromhex(v) for v in found["u"]]).reshape(shape)
    arrays["epochs"], arrays["failed"] = arrays["epochs"].astype(int), arrays["failed"].astype(int)
    return Solves(**{**arrays, "converged": arrays["converged"] > 0, "u": u})


def main() -> None:
    """Reads one spec, solves with its number of threads, writes the solves."""
    spec = json.load(sys.stdin)
    settings = spec["settings"]
    data = draw(settings["forcing"], spec["grid"], 0.0, 0, "per_seed")
    with limited_threads(spec["threads"]):
        solves = solve(Model.of(settings, spec["grid"]), data, settings["lam2_grid"], device=spec["device"])
    out: dict[str, Any] = {name: [float(v).hex() for v in getattr(solves, name)] for name in FIELDS}
    out["u"], out["shape"] = [float(v).hex() for v in solves.u.ravel()], list(solves.u.shape)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
