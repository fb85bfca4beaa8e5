"""Every benchmark in one go: ``python -m benchmarks`` prints one table of ratios against peers measured in the same run.

    python -m benchmarks                          # everything, with the Gram form at 10,000 rows some minutes of it
    python -m benchmarks --quick                  # smaller sizes and fewer repeats
    python -m benchmarks --only recovery --json bench.json
    python -m benchmarks --markdown docs/benchmarks.md

Each script runs in a process of its own with one numerical thread, one after the other, so that none inherits another's
memory or settings, and one that breaks costs its own rows and no more. The exit code is 1 when a script failed; a missed
target is shown and is not a failure: the machine may be busy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from page import GROWTH_HEAD, page  # noqa: E402
from rows import comparison, growth_cells, table  # noqa: E402 - the scripts of this folder import each other by plain name

THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
GROWTH = "growth"


def scripts() -> list[str]:
    """Names of the benchmarks: the scripts bench_*.py without their prefix, then the growth of cost."""
    return [*sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py")), GROWTH]


def compute(name: str, quick: bool, out: Path) -> None:
    """Run one benchmark here and leave its rows in ``out`` as JSON."""
    module = importlib.import_module(name if name == GROWTH else f"bench_{name}")
    out.write_text(json.dumps(module.run(quick=quick)), encoding="utf-8")


def measure(name: str, quick: bool, timeout: float) -> tuple[list[dict[str, Any]], str | None]:
    """The rows of one benchmark, computed by a fresh process, and what went wrong if something did."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "benchmarks", "--child", name, "--json", str(out), *(["--quick"] * quick)]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **THREADS},
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [], f"no answer within {timeout:g} s"
        if done.returncode != 0 or not out.exists():
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            return [], f"exit code {done.returncode}: {' '.join(last) or 'no message'}"
        rows: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
    return [{**r, "script": name} for r in rows], None


def load() -> float | None:
    """The load of the machine over the last minute, where it is known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def facts() -> dict[str, Any]:
    """Where and with what the numbers were measured."""
    from orledger.runners.host import cpu_model, git_commit, host_facts, versions

    return {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "began": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "load": load(),
        "python": platform.python_version(),
        "threads": 1,
        "commit": git_commit(),
        "versions": versions(),
        "libraries": host_facts(with_torch=False)["libraries"],
    }


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", metavar="NAME", help=f"only this one (repeatable): {', '.join(scripts())}"
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer repeats")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write everything as JSON")
    parser.add_argument(
        "--markdown", type=Path, metavar="PATH", help="also write the tables as a page with machine and date"
    )
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds after which a script counts as failed")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [n for n in options.only or [] if n not in scripts()]:
        parser.error(f"--only {unknown[0]}: no such benchmark; one of {', '.join(scripts())}")
    return options


def main() -> int:
    """Run, print, write; the number to exit with."""
    options = parsed()
    if options.child:
        compute(options.child, options.quick, options.json)
        return 0
    began, where = time.perf_counter(), facts()
    compared: list[dict[str, Any]] = []
    grown: list[dict[str, Any]] = []
    failed = 0
    for name in options.only or scripts():
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows, error = measure(name, options.quick, options.timeout)
        if error:
            failed += 1
            compared.append({"name": name, "script": name, "error": error})
        else:
            (grown if name == GROWTH else compared).extend(rows)
    taken = time.perf_counter() - began
    where["load_end"] = load()
    if compared:
        print(comparison(compared))
    if grown:
        print(("\n" if compared else "") + table(GROWTH_HEAD, [growth_cells(r) for r in grown], right=(4, 5)))
    met = [r["met"] for r in compared if r.get("met") is not None]
    busy = "unknown" if where["load"] is None else f"{where['load']:.1f}"
    print(
        f"\n{sum(met)} of {len(met)} targets met, {failed} scripts failed, {taken:.0f} s on {where['cpu']} (load {busy})"
    )
    chosen = [word for name in options.only or () for word in ("--only", name)]
    written = ["--markdown", str(options.markdown)] if options.markdown else []
    command = shlex.join(["python", "-m", "benchmarks", *["--quick"] * options.quick, *chosen, *written])
    report = {"command": command, "quick": options.quick, "seconds": taken, "machine": where, "comparisons": compared, "growth": grown}  # fmt: skip
    for path, text in (
        (options.json, json.dumps(report, indent=2) + "\n"),
        (options.markdown, page(report)),
    ):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
