"""A small database with hostile names, an audit, and the explorer on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from explorer_db import fill, judge
from starlette.testclient import TestClient

from orledger.explorer import site
from orledger.explorer.app import application
from orledger.explorer.site import Explorer

site.SECONDS = 600.0  # as in the conftest of all tests


@pytest.fixture(scope="session")
def filled(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The database once for all tests; read it, do not change it."""

    def make(path: Path) -> None:
        fill(path)
        judge(path)

    return made_once("explorer/results.duckdb", make)


@pytest.fixture
def database(filled: Path, tmp_path: Path) -> Path:
    """A copy of the database that a test may change."""
    return Path(shutil.copyfile(filled, tmp_path / "results.duckdb"))


@pytest.fixture(scope="session")
def client(filled: Path) -> Iterator[TestClient]:
    """The explorer on the shared database."""
    with TestClient(application(Explorer(filled)), base_url="http://localhost", raise_server_exceptions=False) as found:
        yield found
