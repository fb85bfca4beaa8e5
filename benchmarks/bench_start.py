"""How long ``orledger --help`` takes, beside ``import torch``: best of several, alternating.

python benchmarks/bench_start.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from rows import row, show

COMMANDS = {
    "python -c 'pass'": [sys.executable, "-c", "pass"],
    "orledger --help": [sys.executable, "-m", "orledger", "--help"],
    "python -c 'import torch'": [sys.executable, "-c", "import torch"],
}


def measure(repeats: int) -> dict[str, float]:
    """The shortest seconds of each command."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def run(*, quick: bool = False) -> list[dict]:
    """The help text beside the import that it must not wait for."""
    bare, ours, torch = measure(3 if quick else 7).values()
    note = f"of which {1000 * bare:.0f} ms are the start of Python itself"
    return [row("start: orledger --help", ours, torch, "python -c 'import torch'", note, at_least=3)]


if __name__ == "__main__":
    show(run())
