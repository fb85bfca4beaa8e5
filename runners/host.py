"""Facts of the machine and the software that can change a number in its last digits; stored with every run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orledger import __version__
from orledger.errors import UsageError
from orledger.runners.engines import available_cpus

PACKAGES = (
    "orledger",
    "numpy",
    "scipy",
    "torch",
    "gpytorch",
    "botorch",
    "linear-operator",
    "scikit-learn",
    "statsmodels",
    "polars",
    "duckdb",
    "ray",
)


def versions() -> dict[str, str]:
    """Versions of Python and of the installed packages that make or carry numbers."""
    return {"python": platform.python_version()} | {name: v for name in PACKAGES if (v := _installed(name))}


@cache
def _installed(name: str) -> str | None:
    """The version of the package, read from its files once; None when it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def host_facts(device: str = "cpu", *, with_torch: bool = True) -> dict[str, Any]:
    """CPU model, numerical libraries, operating system, and the GPU when ``device`` is cuda."""
    import numpy  # noqa: F401  (loads the BLAS that threadpoolctl then names)
    from threadpoolctl import threadpool_info

    facts: dict[str, Any] = {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "cpus_available": available_cpus(),
        "machine": platform.machine(),
        "system": platform.system(),
        "release": platform.release(),
        "libc": " ".join(platform.libc_ver()),
    }
    if with_torch and find_spec("torch") is not None:
        import torch

        facts["torch_cpu_capability"] = torch.backends.cpu.get_cpu_capability()
        facts["torch_mkl"] = torch.backends.mkl.is_available()
        facts["torch_build"] = " ".join(line.strip(" -") for line in torch.__config__.show().splitlines()[1:5])
        if device == "cuda":
            facts["gpu"] = torch.cuda.get_device_name(0)
            facts["cuda"] = torch.version.cuda
            facts["cudnn"] = torch.backends.cudnn.version()
    wanted = ("internal_api", "version", "architecture", "threading_layer")
    facts["libraries"] = sorted(
        ({k: lib[k] for k in wanted if lib.get(k) is not None} for lib in threadpool_info()),
        key=lambda lib: (lib["internal_api"], lib.get("version", "")),
    )
    return facts


@cache
def where() -> str:
    """The machine of this process as JSON: stored with every cell, from where the cell ran.

    Two generations of processors may share one name, and get other code from the BLAS: what it chose is ``blas``, where it tells.
    """
    facts = {
        "node": platform.node(),
        "cpu": cpu_model(),
        **({"blas": chosen} if (chosen := blas_architecture()) else {}),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "orledger": __version__,
    }
    return json.dumps(facts, sort_keys=True, ensure_ascii=False)


def blas_architecture() -> str:
    """The processor whose code the BLAS of this process chose; empty where it does not tell, several where libraries disagree."""
    import numpy  # noqa: F401  (loads the BLAS that threadpoolctl then names)
    from threadpoolctl import threadpool_info

    return ", ".join(sorted({lib["architecture"] for lib in threadpool_info() if lib.get("architecture")}))


def cpu_model() -> str:
    """The processor's own name for itself, where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def git_commit() -> str | None:
    """The commit of the source tree this package runs from, with a plus sign when files differ; None outside a checkout."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None
    try:
        head = subprocess.run(
            ["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10
        )
        changed = subprocess.run(
            ["git", "-C", root, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def resolve_device(device: str) -> str:
    """Either cpu or cuda; ``auto`` takes the GPU when torch sees one, and cuda without one is an error."""
    if device == "cpu":
        return device
    present = False
    if find_spec("torch") is not None:
        import torch

        present = torch.cuda.is_available()
    if device == "cuda" and not present:
        raise UsageError(
            "--device cuda: torch sees no GPU on this machine", hint="--device cpu, or install a CUDA build of torch"
        )
    return "cuda" if present else "cpu"
