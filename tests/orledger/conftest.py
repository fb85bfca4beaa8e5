"""What the tests of the documentation run on: a small database, and a folder as the pages suppose it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import pytest
from doc_pages import ROOT, SMALL_PRESET, invoke

from orledger.audit.registry import reading, registration
from orledger.runners import plan
from orledger.study import Study

# Figures and tables that stand for all of them here; tests/reports and test_cli_study draw and build every one.
SHOWN = ("Aprofile", "Bp", "Cinv")
TABLES = ("A16", "Barms", "Bgap", "C", "Cinv")
GENERIC = ("critical", "forest")
LOAD_PRESET = plan.load_preset
ASKED = ("H3", "CaseA")


def ask_few(patch: pytest.MonkeyPatch) -> None:
    """Lets the shipped study bring two of its hypotheses: tests/audit and tests/reports audit all of them."""
    every = reading.shipped_hypotheses
    for module in (reading, registration):
        patch.setattr(module, "shipped_hypotheses", lambda chosen=None: [h for h in every(chosen) if h.id in ASKED])


@pytest.fixture(scope="session")
def small(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A database with every case, small enough to make in seconds, and an audit in it; not to be changed."""

    def make(path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            ask_few(patch)
            filled(path)

    def filled(path: Path) -> None:
        done = invoke("run", "all", "--preset", str(SMALL_PRESET), "--offline", "--engine", "serial", "--db", str(path))
        assert done.exit_code == 0, done.output
        assert invoke("audit", "--db", str(path)).exit_code == 0

    return made_once("small/results.duckdb", make)


@pytest.fixture
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two figures stand for all that are offered for any study."""
    from orledger.reports.figures import drawing as figures

    offered = figures.generic_specs.offers
    monkeypatch.setattr(
        figures.generic_specs, "offers", lambda *a: [s for s in offered(*a) if s.name.endswith(GENERIC)]
    )


def chosen_of(every, few: Sequence[str], chosen: Iterable[Study] | None = None) -> dict:
    """Of what ``every`` declares, the ``few``."""
    found = every(chosen)
    return {name: found[name] for name in found if name in few}


@pytest.fixture
def desk(small: Path, tmp_path: Path, few_figures: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the pages suppose it: results.duckdb, folders docs and data beside it, and presets that are small."""
    from orledger.reports.figures import drawing as figures
    from orledger.reports.tables import building as tables

    shutil.copy(small, tmp_path / "results.duckdb")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "data").mkdir()
    ask_few(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for module, few in ((figures, SHOWN), (tables, TABLES)):
        monkeypatch.setattr(module, "declared", partial(chosen_of, module.declared, few))
    monkeypatch.setattr(
        plan,
        "load_preset",
        lambda name, study=None: LOAD_PRESET(name if name.endswith(".toml") else str(SMALL_PRESET), study),
    )
    return tmp_path
