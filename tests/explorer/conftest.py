"""A small database with hostile names, an audit, and the explorer on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from explorer_db import fill
from starlette.testclient import TestClient

from orledger.explorer.app import Explorer, application


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "results.duckdb"
    fill(path)
    return path


@pytest.fixture
def client(database: Path) -> Iterator[TestClient]:
    with TestClient(
        application(Explorer(database)), base_url="http://localhost", raise_server_exceptions=False
    ) as found:
        yield found
