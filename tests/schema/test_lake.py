"""A lake of exported corpora answers as the merged database does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from toy_case import compute, run_toy, toy_plan

from orledger.cli import main
from orledger.errors import QueryRefusedError, UsageError, VerificationError
from orledger.runners.shards import part
from orledger.schema import exchange
from orledger.schema.lake import open_lake
from orledger.schema.reading import Results, open_results
from orledger.schema.sandbox import Limits, run_query, sandbox_config

LIMITS = Limits(seconds=10)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with the corpora of two shards, and the whole as a database; not to be changed."""
    folder = tmp_path_factory.mktemp("lake")
    jobs = toy_plan(12)
    run_toy(folder / "whole.duckdb", jobs)
    for k in (1, 2):
        run_toy(folder / f"{k}.duckdb", part(jobs, f"{k}/2"))
        exchange.export(folder / f"{k}.duckdb", folder / "lake" / "2026" / f"part{k}")
    return folder / "lake", folder / "whole.duckdb"


def test_a_lake_answers_as_the_whole_does(lake: tuple[Path, Path]) -> None:
    folder, database = lake
    with open_lake(folder) as many, open_results(database) as one:
        views = {t.name for t in one.tables() if t.kind == "view"}
        assert views
        for query in (
            "SELECT * FROM record ORDER BY ALL",
            "SELECT cell_id, name, keys::VARCHAR, state, content_hash FROM cell ORDER BY ALL",
            "SELECT * FROM refusal ORDER BY ALL",
            *(f'SELECT * FROM "{view}" ORDER BY ALL' for view in sorted(views)),
        ):
            found, whole = (r.sql(query).drop("corpus", "run_id", "finished", strict=False) for r in (many, one))
            assert found.sort(pl.all()).equals(whole.sort(pl.all())), query  # by whom and when is each shard's own
        assert set(many.sql("SELECT DISTINCT corpus FROM cell")["corpus"]) == {"2026/part1", "2026/part2"}
        assert many.records().equals(one.records())


def test_a_cell_in_two_corpora_counts_once_and_a_conflict_is_named(lake: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(lake[0], tmp_path / "lake")
    exchange.export(lake[1], tmp_path / "lake" / "whole")
    with open_lake(tmp_path / "lake") as many, open_results(lake[1]) as one:
        query = "SELECT count(*) AS n, sum(value) AS s FROM record"
        assert many.sql(query)["n"][0] == one.sql(query)["n"][0]

    def other(job: object) -> object:
        for cell, result in compute(job):  # type: ignore[arg-type]
            result.scalar("standard", "other", 1.0)
            yield cell, result

    run_toy(tmp_path / "other.duckdb", toy_plan(2), fn=other)
    exchange.export(tmp_path / "other.duckdb", tmp_path / "lake" / "other")
    with pytest.raises(VerificationError, match=r"2 cells .* with other results") as caught:
        open_lake(tmp_path / "lake")
    assert "other, whole" in str(caught.value)


@pytest.fixture(scope="module")
def confined(lake: tuple[Path, Path]) -> Iterator[Results]:
    """The lake, opened as it is for a query of a user."""
    with open_lake(lake[0], **sandbox_config(LIMITS)) as many:
        yield many


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "COPY (SELECT 1) TO '{lake}/evil.csv'",
        "ATTACH '{lake}/evil.duckdb'",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "CREATE TABLE evil AS SELECT 1",
        "DROP VIEW record",
        "INSTALL httpfs",
    ],
)
def test_a_query_sees_the_lake_and_nothing_else(lake: tuple[Path, Path], confined: Results, statement: str) -> None:
    before = sorted(lake[0].rglob("*"))
    with pytest.raises(QueryRefusedError):
        run_query(confined, statement.format(lake=lake[0]), limits=LIMITS)
    assert sorted(lake[0].rglob("*")) == before


def test_a_lake_on_the_command_line(lake: tuple[Path, Path], tmp_path: Path) -> None:
    done = run("sql", "SELECT count(*) AS n FROM cell", "--lake", lake[0], "--format", "csv")
    assert (done.exit_code, done.output) == (0, "n\n12\n")
    assert run("sql", "--tables", "--lake", lake[0]).exit_code == 0
    assert run("sql", "SELECT 1", "--lake", tmp_path).exit_code == 2
    assert run("sql", "DELETE FROM cell", "--lake", lake[0]).exit_code == 7


def test_a_damaged_corpus_is_named(lake: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(lake[0], tmp_path / "lake")
    manifest = tmp_path / "lake" / "2026" / "part1" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"schema_version": ', '"schema_version": 9'))
    with pytest.raises(UsageError, match="has schema version 9"):
        open_lake(tmp_path / "lake")
    manifest.write_text("[")
    with pytest.raises(VerificationError, match="is damaged"):
        open_lake(tmp_path / "lake")


def test_an_older_corpus_is_read_where_its_tables_have_the_columns(lake: tuple[Path, Path], tmp_path: Path) -> None:
    """What a later schema added counts as empty; a column that is missing is named."""
    shutil.copytree(lake[0], tmp_path / "lake")
    for part_ in ("part1", "part2"):
        corpus = tmp_path / "lake" / "2026" / part_
        manifest = json.loads((corpus / "manifest.json").read_text())
        manifest["schema_version"] = 8
        del manifest["tables"]["registered"]
        (corpus / "registered.parquet").unlink()
        (corpus / "manifest.json").write_text(json.dumps(manifest))
    with open_lake(tmp_path / "lake") as many:
        assert many.sql("SELECT count(*) FROM cell").item() == 12
        assert many.sql("SELECT count(*) FROM registered").item() == 0
    manifest["tables"]["cell"]["columns"].remove("host")
    (corpus / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match="whose table cell has no host"):
        open_lake(tmp_path / "lake")


def test_a_folder_whose_name_is_a_pattern_is_itself(lake: tuple[Path, Path], tmp_path: Path) -> None:
    """x[1] matches x1, and is another corpus: both are read, and importing one brings in its own rows."""
    top = tmp_path / "la[k]e?"
    shutil.copytree(lake[0] / "2026" / "part1", top / "x[1]")
    shutil.copytree(lake[0] / "2026" / "part2", top / "x1")
    with open_lake(top) as many, open_results(lake[1]) as one:
        query = "SELECT cell_id FROM record ORDER BY ALL"
        assert many.sql(query).equals(one.sql(query))
        assert set(many.sql("SELECT DISTINCT corpus FROM cell")["corpus"]) == {"x[1]", "x1"}
    exchange.import_folder(top / "x[1]", tmp_path / "back.duckdb")
    with open_results(tmp_path / "back.duckdb") as back, open_lake(lake[0] / "2026" / "part1") as part1:
        ids = "SELECT cell_id FROM cell ORDER BY 1"
        assert back.sql(ids).equals(part1.sql(ids))
