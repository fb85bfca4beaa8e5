"""The hash chain: every way of changing what was stored is found, and named."""

from __future__ import annotations

import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest
from toy_case import run_toy, toy_plan

from orledger.schema import chain, exchange, ledger, migrate, objects
from orledger.schema.hashing import canonical
from orledger.schema.opening import connect
from orledger.schema.transactions import transaction

TEXT = "first text"
COLUMNS = "(hash, hypothesis, mode, statement, file, text, registered, cells_done, parent, amendment)"


def register(con: duckdb.DuckDBPyConnection, text: str, parent: str | None = None) -> str:
    """A registration stored as the audit stores one."""
    found = sha256(text.encode()).hexdigest()
    row = [found, "H1", "registered", "s", "h1.toml", text, datetime.now(UTC).replace(tzinfo=None), 0, parent, False]
    with transaction(con):
        con.execute(f"INSERT INTO registration {COLUMNS} VALUES ({', '.join('?' * 10)})", row)
        chain.append(con, "registration", {"hash": found}, {"registration": [found]})
    return found


@pytest.fixture(scope="module")
def registered_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions of a hypothesis, then a toy run; not to be changed."""
    path = tmp_path_factory.mktemp("chain") / "results.duckdb"

    def both(con: duckdb.DuckDBPyConnection) -> None:
        register(con, "second text", register(con, TEXT))

    run_toy(path, toy_plan(6), register=both)
    return path


def test_an_honest_run_has_nothing_to_hide(registered_db: Path) -> None:
    with closing(connect(registered_db)) as con:
        assert chain.verify(con) == []
        kinds = [e.kind for e in ledger.entries(con)]
        last = chain.head(con)
        assert last is not None
        assert last.summary["state"] == "finished"
    assert kinds[0] == "genesis"
    assert kinds.index("plan") < kinds.index("registration") < kinds.index("run") < kinds.index("cells")
    assert kinds.count("registration") == 2


CHEATS = {
    "the text of a hypothesis": (
        "UPDATE registration SET text = 'what I found' WHERE parent IS NULL",
        "the text of a registration was changed",
    ),
    "text and hash of a hypothesis": (
        f"UPDATE registration SET text = 'x', hash = '{sha256(b'x').hexdigest()}' WHERE parent IS NOT NULL",
        "a row is not in the chain",
    ),
    "a back-dated registration": (
        "UPDATE registration SET registered = registered - INTERVAL 1 YEAR",
        "a row was changed",
    ),
    "a deleted parent": ("DELETE FROM registration WHERE parent IS NULL", "a registration lost its parent"),
    "a deleted registration": ("DELETE FROM registration WHERE parent IS NOT NULL", "a row is gone"),
    "an edited record": ("UPDATE record SET value = value + 1e-15 WHERE rowid = 17", "the content hash differs"),
    "an edited record with its hash": (
        "UPDATE cell SET content_hash = 'f' || content_hash[2:] WHERE rowid = 0",
        "a row was changed",
    ),
    "a deleted record": ("DELETE FROM record WHERE rowid = 3", "the content hash differs"),
    "records of no cell": (
        "INSERT INTO record VALUES ('nobody', 'a', 'm', NULL, NULL, 1.0)",
        "rows without a cell",
    ),
    "a relabelled cell": ("UPDATE cell SET keys = MAP {'seed': '99'} WHERE rowid = 0", "a row was changed"),
    "a cell set back to planned": ("UPDATE cell SET state = 'planned' WHERE rowid = 0", "a row is gone"),
    "a refused cell invented": ("UPDATE cell SET state = 'refused' WHERE rowid = 0", "a row was changed"),
    "a back-dated cell": ("UPDATE cell SET finished = finished - INTERVAL 1 DAY WHERE rowid = 0", "a row was changed"),
    "a cell of nobody's plan": (
        "INSERT INTO cell (cell_id, case_name, block, name, keys, spec, hash_version, state)"
        " VALUES ('x', 'toy', 'main', 'toy/x', MAP {}, '{}', '1', 'planned')",
        "a row is not in the chain",
    ),
    "a verdict written by hand": (
        "INSERT INTO disposition VALUES ('d', 'a', 'r', 'H1', 'registered', 's', 'supported', 'so', 1, [], [], false, false, '', '', NULL, '', '', '[]', '[]', NULL)",
        "a row is not in the chain",
    ),
    "an edited run": ("UPDATE run SET preset = 'other'", "a row was changed"),
    "an edited entry": ("UPDATE ledger SET payload = '{}' WHERE kind = 'plan'", "an entry was changed"),
    "an entry that is not JSON": ("UPDATE ledger SET payload = '[' WHERE kind = 'plan'", "an entry was changed"),
    "an entry taken out": ("DELETE FROM ledger WHERE kind = 'registration'", "the chain is broken"),
    "an edited item": ("UPDATE ledger_item SET digest = 'x' WHERE part = 'plan'", "an entry was changed"),
    "items taken out": ("DELETE FROM ledger_item WHERE part = 'plan'", "an entry was changed"),
    "a time that goes back": (
        "UPDATE ledger SET written = written - INTERVAL 1 HOUR WHERE sequence = 4",
        "a time goes back",
    ),
    "no chain at all": ("DELETE FROM ledger", "the chain is broken"),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_every_cheat_is_found_and_named(registered_db: Path, db: Path, cheat: str) -> None:
    statement, rule = CHEATS[cheat]
    shutil.copy(registered_db, db)
    with closing(connect(db, "write")) as con:
        before = con.execute(f"EXPLAIN {statement}").fetchall()
        assert before
        changed = con.execute(statement).fetchall()[0][0]
        assert changed > 0, "the cheat did nothing"
        assert rule in {f.rule for f in chain.verify(con)}


def test_a_clock_set_back_does_not_hide_a_late_registration(db: Path) -> None:
    """Registering after the data with an earlier time: the chain knows what was written before."""
    run_toy(db, toy_plan(2))
    with closing(connect(db, "write")) as con:
        early = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=30)
        row = [sha256(b"late").hexdigest(), "H1", "registered", "s", "h", "late", early, 0, None, False]
        with transaction(con):
            con.execute(f"INSERT INTO registration {COLUMNS} VALUES ({', '.join('?' * 10)})", row)
            entry = chain.append(con, "registration", {}, {"registration": row[:1]}, now=early)
        assert entry.written > early
        assert {f.rule for f in chain.verify(con)} == {"a time does not fit the chain"}


def test_a_rewritten_chain_is_consistent_and_its_old_head_is_not_in_it(registered_db: Path, db: Path) -> None:
    """What the chain cannot do by itself: only a head that was noted elsewhere finds a chain that was made anew."""
    shutil.copy(registered_db, db)
    with closing(connect(db, "write")) as con:
        noted = chain.head(con)
        assert noted is not None
        con.execute("UPDATE registration SET file = 'other.toml'")
        for table in ("ledger", "ledger_item"):
            con.execute(f"DELETE FROM {table}")
        chain.begin(con)
        assert chain.verify(con) == []
        assert noted.hash not in {e.hash for e in ledger.entries(con)}


def test_a_failed_transaction_leaves_no_entry(db: Path) -> None:
    with closing(connect(db, "write")) as con:
        before = chain.head(con)
        with pytest.raises(duckdb.ConstraintException), transaction(con):
            assert register(con, TEXT) != register(con, TEXT)  # the second one breaks the primary key
        assert chain.head(con) == before
        assert con.execute("SELECT count(*) FROM registration").fetchall() == [(0,)]


def test_a_database_of_an_earlier_version_begins_a_chain_that_says_so(db: Path, toy_db: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(db)) as con:
        migrate.migrate(con, migrate.shipped_migrations()[:2])
        con.execute(f"ATTACH '{toy_db}' AS toy (READ_ONLY)")
        for table in ("run", "cell", "record", "refusal", "fact", "dataset", "metric"):
            held = ", ".join(c[0] for c in con.execute(f"SELECT * FROM {table} LIMIT 0").description or ())
            con.execute(f"INSERT INTO {table} ({held}) SELECT {held} FROM toy.{table}")
        con.execute("DETACH toy")
    with closing(connect(db, "write")) as con:
        first = ledger.entries(con)[0]
        assert first.summary["note"] == chain.BEFORE
        assert first.summary["rows"]["cell"] == 20
        assert chain.verify(con) == []
        con.execute("UPDATE cell SET finished = finished - INTERVAL 1 DAY WHERE rowid = 0")
        assert {f.rule for f in chain.verify(con)} == {"a row was changed"}


def test_a_migration_renews_what_it_changes_and_nothing_that_disagreed_before(
    registered_db: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(registered_db, db)
    with closing(connect(db, "write")) as con:
        con.execute("UPDATE run SET preset = 'cheat'")
        number = len(migrate.shipped_migrations()) + 1
        text = "ALTER TABLE cell ADD COLUMN later VARCHAR; UPDATE registration SET file = upper(file);"
        later = [*migrate.shipped_migrations(), migrate.SqlFile("x.sql", text, number)]
        monkeypatch.setattr(migrate, "shipped_migrations", lambda: later)
        monkeypatch.setattr(objects, "shipped_tables", objects.shipped_tables.__wrapped__)  # which remembers no version
        migrate.migrate(con)
        found = chain.verify(con)
        assert [f.rule for f in found] == ["a row was changed"]
        assert found[0].where.startswith("run ")
        last = chain.head(con)
        assert last is not None
        assert last.summary == {"file": "x.sql"}


def test_export_and_import_carry_the_chain(registered_db: Path, tmp_path: Path) -> None:
    exchange.export(registered_db, tmp_path / "out")
    exchange.import_folder(tmp_path / "out", tmp_path / "new.duckdb")
    with closing(connect(registered_db)) as old, closing(connect(tmp_path / "new.duckdb")) as new:
        assert chain.head(old) == chain.head(new)
        assert chain.verify(new) == []


def test_the_hash_of_an_entry_is_what_the_manual_says(registered_db: Path) -> None:
    """Recomputed here from the columns alone, with nothing of the module's own."""
    with closing(connect(registered_db)) as con:
        rows = con.execute(
            "SELECT sequence, kind, strftime(written, '%Y-%m-%dT%H:%M:%S.%f'), payload, subject, previous, hash FROM ledger"
            " ORDER BY sequence"
        ).fetchall()
    previous = ""
    for *parts, stored in rows:
        assert parts[-1] == previous
        assert sha256(canonical([1, *parts]).encode()).hexdigest() == stored
        previous = stored
