"""How long ``orledger --help`` takes, beside ``import torch``: best of several, alternating.

python benchmarks/bench_start.py [--repeats 7]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

COMMANDS = {
    "python -c 'pass'": [sys.executable, "-c", "pass"],
    "orledger --help": [sys.executable, "-m", "orledger", "--help"],
    "python -c 'import torch'": [sys.executable, "-c", "import torch"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Start-up time")
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - began)
    for name, seconds in best.items():
        print(f"{name:26s} {1000 * seconds:7.0f} ms")
    _, ours, torch = best.values()
    print(f"help takes {ours / torch:.3f} of the import")


if __name__ == "__main__":
    main()
