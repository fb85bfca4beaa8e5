"""Views held in memory: the same answers, only where they are small, and a clear word where memory ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from orledger.errors import DatabaseError, QueryRefusedError
from orledger.schema import materialising
from orledger.schema.materialising import Materialised
from orledger.schema.reading import open_results
from orledger.schema.sandbox import Limits, run_query, sandbox_config

HELD = "SELECT table_name FROM duckdb_tables() WHERE temporary"
LARGE = "SELECT list(a.range ORDER BY hash(a.range)) FROM range(20000000) a"


@pytest.mark.parametrize(("most", "held"), [(10**6, True), (0, False)])
def test_views_of_a_small_database_are_held_and_those_of_a_large_one_stay_views(
    toy_db: Path, monkeypatch: pytest.MonkeyPatch, most: int, held: bool
) -> None:
    monkeypatch.setattr(materialising, "MOST", most)
    with open_results(toy_db) as results:
        view = results.layouts()[0].name
        query = f'SELECT * FROM "{view}" ORDER BY ALL'
        quick = Materialised(results)
        assert quick.rows(HELD) == []
        assert quick.sql(query).equals(results.sql(query))
        assert quick.stored(query, 5)[0].equals(results.stored(query, 5)[0])
        assert ([r["table_name"] for r in quick.rows(HELD)] == [view]) is held


def test_a_query_that_needs_more_memory_says_so(toy_db: Path) -> None:
    limits = Limits(seconds=60.0, rows=10, memory_mb=64)
    with (
        open_results(toy_db, **sandbox_config(limits)) as results,
        pytest.raises(QueryRefusedError, match=r"more memory than 64 MB(.|\n)*ORLEDGER_SQL_MEMORY_MB"),
    ):
        run_query(results, LARGE, limits=limits)


def test_a_reader_that_needs_more_memory_says_so(toy_db: Path) -> None:
    with (
        open_results(toy_db, memory_limit="64MB", temp_directory="") as results,
        pytest.raises(DatabaseError, match=r"more memory(.|\n)*ORLEDGER_MEMORY_MB"),
    ):
        results.rows(LARGE)
