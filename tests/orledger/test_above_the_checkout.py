"""Wherever Python is started, `import orledger` is the whole package of one checkout: no empty namespace, and no mixture of two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import orledger, orledger.schema, orledger.audit.statistics, orledger.cli, orledger.templates, orledger.paper
print(orledger.__version__, orledger.open)
print(*(m.__file__ for m in (orledger.cli, orledger.schema, orledger.audit.statistics, orledger.templates, orledger.paper)), sep="\\n")
"""


@pytest.mark.parametrize("place", ["..", ".", "orledger", "tests", "docs", "reports"])
def test_no_folder_of_a_checkout_is_a_trap(tmp_path: Path, place: str) -> None:
    """A second checkout beside the one that is installed: what is imported is all of one of them."""
    other = tmp_path / "orledger"
    other.mkdir()
    for entry in ROOT.iterdir():
        if not entry.name.startswith("."):
            (other / entry.name).symlink_to(entry)
    done = subprocess.run([sys.executable, "-c", CODE], cwd=other / place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    version, *files = done.stdout.splitlines()
    assert version.startswith("0.")
    roots = {str(other) if file.startswith(str(other)) else str(ROOT) for file in files}
    assert len(roots) == 1, files
