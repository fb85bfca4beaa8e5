"""The benchmark command: rows and targets, the table, failures that are reported, and fitted exponents."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def path(monkeypatch):
    """The scripts put their folder on the path; a test leaves the path as it was."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])


def test_a_target_is_met_when_both_bounds_hold():
    row = load("rows").row
    assert row("x", 2.0, 6.0, "peer")["ratio"] == 3.0
    assert row("x", 2.0, 6.0, "peer")["met"] is None
    assert row("x", 2.0, 6.0, "peer", at_least=3)["met"] is True
    assert row("x", 2.0, 5.9, "peer", at_least=3)["met"] is False
    both = row("x", 2.0, 6.0, "peer", at_least=3, at_most=1.9)
    assert (both["met"], both["target"]) == (False, ">= 3x, <= 1.9 s")


def test_the_table_aligns_and_says_what_was_missed():
    rows = load("rows")
    found = [
        rows.row("fast", 0.002, 1.0, "slow peer", "a note", at_least=2),
        rows.row("slow", 1.0, 0.5, "fast peer", at_least=1),
        {"name": "broken", "error": "exit code 1: ValueError"},
    ]
    head, rule, *lines = rows.comparison(found).splitlines()
    assert len(rule.split()[0]) == len("measurement")
    assert "2 ms" in lines[0]
    assert "500x" in lines[0]
    assert ">= 2x: met" in lines[0]
    assert ">= 1x: MISSED" in lines[1]
    assert "exit code 1: ValueError" in lines[2]
    assert lines[0].index("slow peer") == lines[1].index("fast peer") == head.index("peer is")
    assert any("fast: a note" in line for line in lines)


def test_every_script_can_be_run_quickly():
    """Each bench_*.py, and growth.py, has a ``run`` with a keyword ``quick``."""
    for path in [*FOLDER.glob("bench_*.py"), FOLDER / "growth.py"]:
        functions = {n.name: n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}
        assert "run" in functions, path.name
        assert [a.arg for a in functions["run"].args.kwonlyargs] == ["quick"], path.name


def test_a_script_that_breaks_is_reported_and_the_rest_goes_on(monkeypatch, capsys, tmp_path):
    command = load("__main__")
    good = [load("rows").row("good", 1.0, 2.0, "peer")]
    monkeypatch.setattr(command, "scripts", lambda: ["absent", "good"])
    real = command.measure
    monkeypatch.setattr(command, "measure", lambda name, *a: (good, None) if name == "good" else real(name, *a))
    out = tmp_path / "new" / "bench.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--json", str(out)])
    assert command.main() == 1
    printed = capsys.readouterr().out
    assert "ModuleNotFoundError" in printed
    assert "2x" in printed
    assert "1 scripts failed" in printed
    report = json.loads(out.read_text())
    assert [r["name"] for r in report["comparisons"]] == ["absent", "good"]
    assert "bench_absent" in report["comparisons"][0]["error"]


def test_the_command_runs_one_benchmark_and_writes_it_as_json(tmp_path, root):
    out = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "audit", "--json", str(out)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text())
    assert report["machine"]["threads"] == 1
    for row in report["comparisons"]:
        assert row["script"] == "audit"
        assert row["ratio"] == pytest.approx(row["peer_seconds"] / row["ours_seconds"])
        assert row["name"] in done.stdout


def test_an_unknown_benchmark_is_refused_with_the_names_there_are(root):
    command = [sys.executable, "-m", "benchmarks", "--only", "nothing"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "recovery" in done.stderr


def test_the_exponent_of_a_power_law_is_found():
    """Times 3 n^2 exactly, and the same with a known disturbance of one point."""
    growth = load("growth")
    sizes = [10, 20, 40, 80]
    exact = growth.fitted("x", "n", sizes, [3.0 * n**2 for n in sizes], "")
    assert exact["exponent"] == pytest.approx(2.0)
    assert exact["last"] == pytest.approx(2.0)
    assert exact["se"] == pytest.approx(0.0, abs=1e-10)
    bent = growth.fitted("x", "n", sizes, [3.0 * n**2 * (2.0 if n == 80 else 1.0) for n in sizes], "")
    # log2 residuals of y = (0, 2, 4, 7): slope 2.3, residuals (.2, -.1, -.4, .3), sum of squares 0.3, Sxx 5.
    assert bent["exponent"] == pytest.approx(2.3)
    assert bent["se"] == pytest.approx(np.sqrt(0.3 / 2 / 5))


def test_the_gpu_check_says_when_there_is_nothing_to_check(tmp_path, root):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    out = tmp_path / "gpu"
    command = [sys.executable, "benchmarks/gpu_check.py", "--out", str(out)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no GPU" in done.stdout
    assert not out.exists()


def test_the_gram_form_of_the_gpu_check_agrees_on_a_pretended_device(capsys):
    """The code that a GPU would run, under the guard against tensors left on the CPU; edges that moved are noticed."""
    from pretended_device import pretended

    gram = load("gpu_gram")
    with pretended() as device:
        assert gram.check(device, n=12, m=2, block=7)
    assert "Gram form of 12 rows in blocks of 7, 2 intervals" in capsys.readouterr().out
    edges = gram.answered("cpu", 12, 2, block=7).edges
    assert gram.excess(edges, edges) == 0
    assert gram.excess(edges, edges._replace(lower=edges.lower - 1e-3)) > 1
