"""Merging: parts computed apart become the whole, and what does not agree is named and refused."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from toy_case import compute, contents, run_toy, same, toy_plan

from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.registry.registration import register
from orledger.errors import UsageError, VerificationError
from orledger.runners.shards import part
from orledger.schema import chain, exchange, ledger, viewing
from orledger.schema.checking import check
from orledger.schema.merging import merge
from orledger.schema.opening import connect
from orledger.schema.reading import open_results
from orledger.schema.transactions import transaction

TEXT = """
[hypothesis]
id = "X"
title = "t"
mode = "exploratory"
statement = "s"
[[claim]]
id = "c"
statement = "s"
kind = "measured"
stat = "max"
case = "toy"
block = "main"
arm = "a"
metric = "m"
pair = ["seed"]
"""
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def findings(path: Path) -> list[object]:
    with closing(connect(path)) as con:
        return list(chain.verify(con))


def other_compute(job: object) -> object:
    """The toy with another result."""
    for cell, result in compute(job):  # type: ignore[arg-type]
        result.scalar("standard", "other", 1.0)
        yield cell, result


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A whole run of 12 cells, and two databases with a half each; not to be changed."""
    folder = tmp_path_factory.mktemp("parts")
    jobs = toy_plan(12)
    run_toy(folder / "whole.duckdb", jobs)
    for k in (1, 2):
        run_toy(folder / f"part{k}.duckdb", part(jobs[::-1], f"{k}/2"))
    return folder / "whole.duckdb", folder / "part1.duckdb", folder / "part2.duckdb"


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_are_a_partition_whatever_the_order(count: int) -> None:
    jobs = toy_plan(40)
    shards = [part(jobs, f"{k}/{count}") for k in range(1, count + 1)]
    assert sorted(job.id for shard in shards for job in shard) == sorted(job.id for job in jobs)
    for k, shard in enumerate(shards, start=1):
        assert {job.id for job in part(jobs[::-1], f"{k}/{count}")} == {job.id for job in shard}
        assert {job.id for job in part(toy_plan(60), f"{k}/{count}")} >= {job.id for job in shard}


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1/0", "1", "a/b", "-1/2", "1/2/3", "1/9999999"])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--shard"):
        part(toy_plan(4), text)


def test_two_shards_merged_are_the_whole(parts: tuple[Path, Path, Path], db: Path) -> None:
    whole, *halves = parts
    joined = merge(db, halves)
    assert sum(j.cells for j in joined) == 12
    assert same(db, whole)
    assert check(db).findings == ()
    assert findings(db) == []
    with closing(connect(db)) as con:
        entries = ledger.entries(con)
        heads = {h["head"] for e in entries if e.kind == "merge" for h in e.summary["histories"]}
        assert {e.branch for e in entries} == {0, 1, 2}
        assert con.execute("SELECT count(*) FROM run").fetchall() == [(2,)]
    for half in halves:
        with closing(connect(half)) as con:
            last = chain.head(con)
            assert last is not None
            assert last.hash in heads


def test_folders_and_databases_mix_and_merging_again_changes_no_cell(
    parts: tuple[Path, Path, Path], db: Path, tmp_path: Path
) -> None:
    whole, first, second = parts
    exchange.export(second, tmp_path / "corpus")
    merge(db, [tmp_path / "corpus"])
    assert merge(db, [first])[0].cells == 4
    again = merge(db, [whole, tmp_path / "corpus"])
    assert [(j.cells, j.equal) for j in again] == [(0, 12), (0, 8)]
    assert again[1].histories == 0
    assert same(db, whole)
    assert findings(db) == []


def test_a_planned_or_failed_cell_gives_way(parts: tuple[Path, Path, Path], db: Path) -> None:
    whole, _, _ = parts
    run_toy(db, toy_plan(12), fn=die_at_first)
    with closing(connect(db)) as con:
        assert con.execute("SELECT count(*) FROM cell WHERE state = 'failed'").fetchall() == [(12,)]
    merge(db, [whole])
    assert same(db, whole)
    assert findings(db) == []


def die_at_first(job: object) -> object:
    raise ZeroDivisionError
    yield


@pytest.mark.parametrize("keep_both", [False, True])
def test_a_conflict_is_named_and_refused_or_kept_apart(
    parts: tuple[Path, Path, Path], db: Path, keep_both: bool
) -> None:
    first = parts[1]
    other = db.with_name("elsewhere.duckdb")
    run_toy(other, toy_plan(12), fn=other_compute)
    shutil.copy(first, db)
    before = contents(db)
    if not keep_both:
        with pytest.raises(VerificationError, match=r"4 cells of .*elsewhere") as caught:
            merge(db, [other])
        assert "toy/main/" in str(caught.value)
        assert all(contents(db)[name].equals(before[name]) for name in before)
        assert findings(db) == []
        return
    joined = merge(db, [other], keep_both=True)
    assert (joined[0].cells, joined[0].kept_apart) == (8, 4)
    assert findings(db) == []
    assert check(db).findings == ()
    with open_results(db) as results:
        apart = results.sql("SELECT name, keys['origin'] AS origin FROM cell WHERE keys['origin'] IS NOT NULL")
        assert apart.height == 4
        assert set(apart["origin"]) == {"elsewhere"}
        assert all(name.endswith("@elsewhere") for name in apart["name"])


def test_a_source_that_was_tampered_with_is_refused(parts: tuple[Path, Path, Path], db: Path) -> None:
    _, first, second = parts
    bad = db.with_name("bad.duckdb")
    shutil.copy(second, bad)
    with closing(connect(bad, "write")) as con:
        con.execute("UPDATE record SET value = value + 1 WHERE rowid = 0")
    with pytest.raises(VerificationError, match="is not as it was recorded"):
        merge(db, [first, bad])
    assert not db.exists()
    assert sorted(p.name for p in db.parent.iterdir()) == ["bad.duckdb"]


def test_the_same_file_twice_is_refused(parts: tuple[Path, Path, Path], db: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        merge(db, [parts[1], parts[1]])
    shutil.copy(parts[1], db)
    with pytest.raises(UsageError, match="named twice"):
        merge(db, [db])


def test_registrations_are_joined_with_the_worse_of_both(db: Path, tmp_path: Path) -> None:
    """One side registered before its data, the other after: the joined registration was not before the data."""
    from click.testing import CliRunner

    from orledger.cli import main

    early, late = tmp_path / "early.duckdb", tmp_path / "late.duckdb"
    texts = [str(EXAMPLES / "demsar2006.toml"), str(EXAMPLES / "demsar2006.hypotheses.toml")]
    jobs = toy_plan(4)
    run_toy(late, part(jobs, "1/2"))
    for path in (early, late):
        assert CliRunner().invoke(main, ["register", *texts, "--db", str(path)]).exit_code == 0
    with closing(connect(late, "write")) as con:
        con.execute("UPDATE registration SET cells_done = 2")  # as if the toy belonged to the hypotheses
        for table in ("ledger", "ledger_item"):
            con.execute(f"DELETE FROM {table}")
        chain.begin(con)
    run_toy(early, part(jobs, "2/2"))
    merge(db, [early, late])
    assert findings(db) == []
    with open_results(db) as results:
        both = results.sql("SELECT hash, cells_done FROM registration ORDER BY 1")
    with open_results(early) as results:
        assert both["hash"].to_list() == results.sql("SELECT hash FROM registration ORDER BY 1")["hash"].to_list()
    assert set(both["cells_done"]) == {2}


def test_a_text_that_replaced_another_after_the_data_of_elsewhere_is_an_amendment(
    parts: tuple[Path, Path, Path], db: Path, tmp_path: Path
) -> None:
    """Two versions, both from after the 4 cells of the other file: the first comes late, and the second amends it."""
    late = tmp_path / "late.duckdb"
    first = parse_hypothesis(TEXT, "x.toml")
    with closing(connect(late, "write")) as con:
        register(con, first)
        second = register(con, parse_hypothesis(TEXT.replace('title = "t"', 'title = "u"'), "x.toml"))
        assert (second.parent, second.amendment, second.cells_done) == (first.hash, False, 0)
    merge(db, [parts[1], late])
    with open_results(db) as results:
        found = results.sql("SELECT parent, cells_done, amendment FROM registration ORDER BY parent NULLS FIRST").rows()
    assert found == [(None, 4, False), (first.hash, 4, True)]
    assert findings(db) == []


def test_two_texts_of_one_hypothesis_are_refused(db: Path, tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "another")):
        with closing(connect(tmp_path / f"{name}.duckdb", "write")) as con:
            con.execute(
                "INSERT INTO registration (hash, hypothesis, mode, statement, file, text, registered, cells_done, parent, amendment)"
                f" VALUES (sha256('{text}'), 'H1', 'registered', 's', 'f', '{text}',"
                " now()::TIMESTAMP, 0, NULL, false)"
            )
            for table in ("ledger", "ledger_item"):
                con.execute(f"DELETE FROM {table}")
            chain.begin(con)
    with pytest.raises(VerificationError, match="H1 is registered with another text"):
        merge(db, [tmp_path / "a.duckdb", tmp_path / "b.duckdb"])
    assert not db.exists()


def test_the_views_of_a_merged_database_are_those_of_the_whole(parts: tuple[Path, Path, Path], db: Path) -> None:
    merge(db, list(parts[1:]))
    with open_results(parts[0]) as whole, open_results(db) as joined:
        views = {t.name for t in whole.tables() if t.kind == "view"}
        assert views == {t.name for t in joined.tables() if t.kind == "view"} != set()
        for view in views:
            query = f'SELECT * FROM "{view}"'
            both = [r.sql(query).drop("run_id", "finished", strict=False) for r in (joined, whole)]
            assert both[0].sort(pl.all()).equals(both[1].sort(pl.all())), view  # by whom and when is each shard's own


@pytest.mark.parametrize("change", ["better = 'higher'", "unit = 'ms'"])
def test_a_metric_with_another_direction_or_unit_is_refused(
    parts: tuple[Path, Path, Path], db: Path, change: str
) -> None:
    _, first, second = parts
    other = db.with_name("other.duckdb")
    shutil.copy(second, other)
    with closing(connect(other, "write")) as con, transaction(con):
        con.execute(f"UPDATE metric SET {change}")
        chain.append(con, "catalogue", {}, {"metric": ["toy"]})
    with closing(connect(other, "write")) as con:
        viewing.refresh(con)
    with pytest.raises(VerificationError, match="with another direction or unit"):
        merge(db, [first, other])
    assert not db.exists()


def test_a_merged_history_that_is_edited_is_found(parts: tuple[Path, Path, Path], db: Path) -> None:
    merge(db, list(parts[1:]))
    with closing(connect(db, "write")) as con:
        con.execute("UPDATE ledger SET payload = '{}' WHERE branch = 2 AND sequence = 2")
        assert {f.rule for f in chain.verify(con)} == {"an entry was changed"}
        con.execute("DELETE FROM ledger WHERE branch = 1 AND kind = 'run'")
        assert "the chain is broken" in {f.rule for f in chain.verify(con)}


def test_a_table_of_the_users_own_stays_where_it_is(parts: tuple[Path, Path, Path], db: Path) -> None:
    """Whatever it is called: its name is no statement, and the source does not need one like it."""
    shutil.copy(parts[1], db)
    with closing(connect(db, "write")) as con:
        con.execute('CREATE TABLE "x; DROP TABLE record; --" AS SELECT 7 AS i')
    merge(db, [parts[2]])
    assert findings(db) == []
    with closing(connect(db)) as con:
        assert con.execute('SELECT * FROM "x; DROP TABLE record; --"').fetchall() == [(7,)]
    assert same(db, parts[0])
