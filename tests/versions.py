"""The tests on another interpreter or with the oldest dependencies that pyproject.toml allows.

``python tests/versions.py python3.13`` makes an environment in build/versions, installs the package into it with the versions
of constraints.txt, and runs the tests of audit/, recovery/ and schema/, which need no torch; ``--whole`` installs every extra
and runs all tests, ``--lowest`` takes the versions of constraints-lowest.txt.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
NEEDED = (
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "setuptools",
    "pyyaml",
    "httpx2",
    "mpmath",
    "python-flint",
    "pytikhonov",
    "jsonschema",
)
FOLDERS = ("tests/audit", "tests/recovery", "tests/schema")


@click.command()
@click.argument("python", default="python3")
@click.option("--lowest", is_flag=True, help="The oldest versions that are allowed, instead of those that were tested.")
@click.option("--whole", is_flag=True, help="All tests, with every extra: torch may come with gigabytes for GPUs.")
@click.option("--processes", default=2, show_default=True, help="How many share the tests.")
def main(python: str, lowest: bool, whole: bool, processes: int) -> None:
    """Runs the tests on PYTHON."""
    if whole and lowest:
        raise click.UsageError("--whole needs the versions that were tested: leave out --lowest")
    name = f"{Path(python).name}{'-lowest' if lowest else ''}"
    place = ROOT / "build" / "versions" / name
    subprocess.run([python, "-m", "venv", "--clear", str(place)], check=True)
    versions = ROOT / ("constraints-lowest.txt" if lowest else "constraints.txt")
    extras = "serve,sign" if lowest else "serve,sign,stores"
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "-c", str(versions)]
    wanted = [f"{ROOT}[all,dev]"] if whole else [*NEEDED, f"{ROOT}[{extras}]"]
    subprocess.run([*pip, *wanted], check=True)
    tests = [
        str(place / "bin" / "python"),
        "-P",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        str(processes),
        "--dist",
        "loadfile",
        "--rootdir",
        str(ROOT),
    ]
    done = subprocess.run(
        [*tests, *(str(ROOT / f) for f in (["tests"] if whole else FOLDERS))],
        cwd=place,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
