"""Python started in the folder above a checkout imports the package, not an empty namespace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_folder_above_a_checkout_is_no_trap(tmp_path: Path) -> None:
    (tmp_path / "orledger").symlink_to(ROOT)
    code = "import orledger; from orledger.audit.statistics import sign; from orledger.cli import main; print(orledger.__version__, orledger.open)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0.")
