"""The Gram form and the smoke cases on a GPU and on the CPU, side by side: ``make gpu-check``.

    python benchmarks/gpu_check.py [--out out/gpu] [--preset smoke] [--rows 10000] [--device cuda]

First benchmarks/gpu_gram.py, whose answers must agree within rounding. Then writes OUT/cuda.duckdb and OUT/cpu.duckdb, then compares them with ``orledger compare`` as text and as OUT/compare.html.
Numbers of two devices differ in their last digits and trajectories may part where two candidates are nearly tied; the
comparison shows how far, and is not judged here. A second call resumes: what is computed stays. Without a GPU it says so and
ends with exit code 0; it is 1 when the Gram form disagrees, or a run or the comparison failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path


def orledger(*arguments: str) -> bool:
    """Run the command line of this interpreter's orledger, showing the command; whether it succeeded."""
    print("\n$ orledger " + " ".join(arguments), flush=True)
    return subprocess.run([sys.executable, "-m", "orledger", *arguments], check=False).returncode == 0


def main() -> int:
    """The number to exit with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/gpu"), help="folder for the databases and the comparison")
    parser.add_argument("--preset", default="smoke", help="a preset that ships, or a path to a .toml file")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of the Gram form")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu checks the check itself")
    options = parser.parse_args()
    import torch

    if options.device == "cuda":
        if not torch.cuda.is_available():
            built = (
                f"torch {torch.__version__} is built for CUDA {torch.version.cuda}"
                if torch.version.cuda
                else f"torch {torch.__version__} is built without CUDA"
            )
            print(f"no GPU that torch can use on this machine ({built}): nothing to check, nothing was run")
            return 0
        print(f"{torch.cuda.get_device_name(0)}, CUDA {torch.version.cuda}, torch {torch.__version__}")
    script = [sys.executable, str(Path(__file__).with_name("gpu_gram.py")), "--rows", str(options.rows)]
    if subprocess.run([*script, "--device", options.device], check=False).returncode:
        print("the Gram form failed: see above", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    there, here = options.out / "cuda.duckdb", options.out / "cpu.duckdb"
    for path, device in ((there, options.device), (here, "cpu")):
        if not orledger("run", "all", "--preset", options.preset, "--offline", "--device", device, "--db", str(path)):
            print(f"the run on {device} failed: see above", file=sys.stderr)
            return 1
    page = options.out / "compare.html"
    if not orledger("compare", str(here), str(there), "--html", str(page)):
        return 1
    print(f"\nthe comparison, for a browser: {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
