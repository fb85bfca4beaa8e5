"""Who may import whom: the arrows of the design, read from the source, imports inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What everybody may know of the front door.
SHARED = {
    "orledger.errors",
    "orledger.files",
    "orledger.toml_tables",
    "orledger.wording",
    "orledger.study",
    "orledger.study_displays",
    "orledger.studies",
    "orledger.__version__",
}

# folder -> what else of ours it may import. The front door may import everything.
MAY_IMPORT = {
    "recovery": {*SHARED, "orledger.recovery"},
    "schema": {*SHARED, "orledger.schema"},
    "audit": {*SHARED, "orledger.audit", "orledger.schema"},
    "runners": {*SHARED, "orledger.runners", "orledger.recovery", "orledger.schema", "orledger.audit.datasets"},
    "reports": {*SHARED, "orledger.reports", "orledger.audit", "orledger.schema", "orledger.templates"},
    "explorer": {
        *SHARED,
        "orledger.explorer",
        "orledger.reports",
        "orledger.audit",
        "orledger.schema",
        "orledger.templates",
    },
    "paper": {*SHARED, "orledger.paper", "orledger.runners", "orledger.audit", "orledger.reports", "orledger.schema"},
}

# package -> the only folders that import it when they run. Types are nobody's business.
ONLY_IN = {
    "duckdb": {"schema"},
    "matplotlib": {"reports", "paper"},
    "jinja2": {"reports", "paper", "explorer"},
    "torch": {"runners"},
    "gpytorch": {"runners"},
    "botorch": {"runners"},
    "ray": {"runners"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for folder in (*MAY_IMPORT, "orledger"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield folder, path


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path, *, at_run_time: bool) -> list[tuple[int, str]]:
    """(line, dotted name) of every import; with ``at_run_time`` those under TYPE_CHECKING are left out."""
    return list(_imports(parsed(path), path, at_run_time=at_run_time))


def _imports(tree: ast.Module, path: Path, *, at_run_time: bool) -> Iterator[tuple[int, str]]:
    skipped: set[ast.AST] = set()
    if at_run_time:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                for child in node.body:
                    skipped.update(ast.walk(child))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def within(name: str, allowed: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in allowed)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_the_design_allows(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for where, path in modules()
        if where == folder
        for line, name in imports(path, at_run_time=False)
        if name.split(".")[0] == "orledger" and not within(name, MAY_IMPORT[folder])
    ]
    assert found == []


@pytest.mark.parametrize("package", ONLY_IN)
def test_a_heavy_package_is_imported_in_its_folder_only(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for where, path in modules()
        if where not in ONLY_IN[package]
        for line, name in imports(path, at_run_time=True)
        if name.split(".")[0] == package
    ]
    assert found == []


def private(name: str) -> bool:
    """Whether a dotted name passes through what another package keeps to itself."""
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def test_no_private_name_of_another_package() -> None:
    """They change without notice; types included."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for _, path in modules()
        for line, name in imports(path, at_run_time=False)
        if name.split(".")[0] != "orledger" and private(name)
    ]
    assert found == []
    assert private("polars._typing.PolarsDataType")
    assert not private("__future__.annotations")


def test_the_rules_catch_what_they_are_for(tmp_path: Path) -> None:
    """A lazy import inside a function is seen, and one under TYPE_CHECKING is not a run-time import."""
    path = tmp_path / "sample.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ndef f():\n    from orledger.audit.statistics import floors\n    import duckdb\n"
    )
    assert (6, "duckdb") in imports(path, at_run_time=True)
    assert (5, "orledger.audit.statistics.floors") in imports(path, at_run_time=True)
    assert "torch" not in [name for _, name in imports(path, at_run_time=True)]
    assert "torch" in [name for _, name in imports(path, at_run_time=False)]
    assert not within("orledger.auditor", {"orledger.audit"})


def test_one_name_stands_for_one_thing() -> None:
    """A reader who meets the name of a class knows which one is meant."""
    found: dict[str, list[str]] = {}
    for _, path in modules():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert "Table" in found
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_every_folder_that_installs_is_listed(root: Path) -> None:
    """A subpackage missing from the list works when installed editable and is absent from the wheel."""
    import tomllib

    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    on_disk = {path.parent.relative_to(root).as_posix() for _, path in modules()}
    on_disk |= {p.parent.relative_to(root).as_posix() for p in (root / "templates").rglob("__init__.py")}
    assert set(settings["package-dir"].values()) == on_disk | {"docs/examples"}
    assert set(settings["packages"]) == set(settings["package-dir"])
