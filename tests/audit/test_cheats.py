"""Cheats, and what the tool answers to each: through the commands where a command does it, else by the hand of somebody who
has the file and the library.
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from foreign_file import MAPPING, comparison, computed, query, run, study

import orledger
from orledger.audit.registry import registration
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.registry.registration import register
from orledger.errors import QueryRefusedError
from orledger.schema import chain, viewing
from orledger.schema.opening import connect
from orledger.schema.transactions import transaction
from orledger.study import Case, Study

LESS = comparison('test = "sign"\narms = ["a", "b"]')
GREATER = LESS.replace('"c is less"', '"c is greater"')
UNITS = {(f"d{k % 4}", k): {"a": float(k), "b": 20.0 + k} for k in range(8)}


def wrote(folder: Path, text: str, name: str = "x.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def audited(path: Path, *options: str | Path) -> dict[str, Any]:
    done = run("audit", "--db", path, "--json", *options)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)["hypotheses"][0]
    return found


@pytest.fixture(scope="module")
def computed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``UNITS``, computed here, and nothing registered; not to be changed."""
    return computed(tmp_path_factory.mktemp("eight") / "s.duckdb", UNITS)


@pytest.fixture
def eight(computed_once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(computed_once, tmp_path / "s.duckdb"))


@pytest.fixture(scope="module")
def audited_once(computed_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, audited, and supported; not to be changed."""
    folder = tmp_path_factory.mktemp("audited")
    path = Path(shutil.copy(computed_once, folder / "s.duckdb"))
    assert audited(path, "--registry", wrote(folder, LESS))["verdict"] == "supported"
    return path


@pytest.fixture(scope="module")
def planned_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Registered first, then half of eight planned cells computed; not to be changed."""
    path = tmp_path_factory.mktemp("planned") / "s.duckdb"
    assert run("register", wrote(path.parent, LESS), "--db", path).exit_code == 0
    return computed(path, dict(list(UNITS.items())[:4]), planned=4)


def by_hand(path: Path, hypothesis: str, **columns: object) -> None:
    """A registration with a proper entry of the chain, written past the command, with ``columns`` as the cheat likes them."""
    h = parse_hypothesis(hypothesis, "x.toml")
    row = {
        "hash": h.hash,
        "hypothesis": h.id,
        "mode": h.mode,
        "statement": h.statement,
        "file": "x.toml",
        "text": h.text,
    }
    with closing(connect(path, "write")) as con, transaction(con):
        last = chain.head(con)
        assert last is not None
        row |= {"registered": last.written, "cells_done": 0, "amendment": False, "reaches": ["s"], **columns}
        names = ", ".join(row)
        con.execute(f"INSERT INTO registration ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
        chain.append(con, "registration", {"hypothesis": h.id}, {"registration": [h.hash]})


def findings(path: Path) -> set[str]:
    with closing(connect(path, "read", checked=False)) as con:
        return {f.rule for f in chain.verify(con)}


def test_a_clock_that_is_set_back_dates_nothing_back(
    eight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registration has the time of the last entry, and the cells that were done by then."""

    class Yesterday(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) - timedelta(days=1)

    monkeypatch.setattr(chain, "datetime", Yesterday)
    found = audited(eight, "--registry", wrote(tmp_path, LESS))
    assert (found["known"], found["cells_done_at_registration"]) == ("registered after cells were done", 8)
    with closing(connect(eight, "read")) as con:
        first = con.execute("SELECT min(finished) FROM cell").fetchall()[0][0]
        assert con.execute("SELECT registered FROM registration").fetchall()[0][0] >= first
    assert findings(eight) == set()


@pytest.mark.parametrize("steps", [(-5,), (-60, -120), (3600, -3600), (3600, 0, -86_400, 7200, 0)])
def test_a_clock_that_steps_back_and_forth_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: tuple[int, ...]
) -> None:
    """Registered, put on record, computed, audited, computed again, with a clock of its own each time: all in good order."""
    left = [0, *steps]

    class Stepping(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # each question is a step further, and the last step is the clock
            return datetime.now(tz) + timedelta(seconds=left.pop(0) if len(left) > 1 else left[0])

    path, receipt = tmp_path / "s.duckdb", tmp_path / "r.json"
    assert run("register", wrote(tmp_path, LESS), "--db", path).exit_code == 0
    assert run("verify", "--db", path, "--write-receipt", receipt).exit_code == 0
    monkeypatch.setattr(chain, "datetime", Stepping)
    computed(path, UNITS)
    assert findings(path) == set()
    first = audited(path)
    assert (first["known"], first["cells_done_at_registration"]) == ("registered before the first cell", 0)
    assert first["receipt"] is not None
    done = run("verify", "--db", path, "--receipt", receipt)
    assert done.exit_code == 0, done.output
    assert "before any cell was computed" in done.output
    left[:] = [0, *steps]
    with orledger.study("s2", path) as log, log.cell(seed=0) as cell:
        cell.log("a", m=1.0)
    left[:] = [-86_400]
    computed(path, {("d0", 0): {"a": 3.0, "b": 20.0}})
    assert audited(path)["earlier"] != []
    assert run("verify", "--db", path, "--write-receipt", tmp_path / "later.json").exit_code == 0
    done = run("verify", "--db", path, "--receipt", receipt, "--receipt", tmp_path / "later.json")
    assert done.exit_code == 0, done.output
    with closing(connect(path, "read")) as con:
        ((registered, started, ended),) = con.execute(
            "SELECT (SELECT max(registered) FROM registration), min(finished), (SELECT max(created) FROM audit) FROM cell"
        ).fetchall()
        assert registered < started < ended
        made = con.execute("SELECT created FROM audit ORDER BY rowid").fetchall()
        assert made == sorted(made)


def test_parts_that_were_computed_with_a_slow_clock_are_merged_as_registered_before_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Behind(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) - timedelta(seconds=60)

    path, part = tmp_path / "s.duckdb", tmp_path / "part.duckdb"
    assert run("register", wrote(tmp_path, LESS), "--db", path).exit_code == 0
    shutil.copy(path, part)
    monkeypatch.setattr(chain, "datetime", Behind)
    computed(part, UNITS)
    merged = run("db", "merge", path, part)
    assert merged.exit_code == 0, merged.output
    assert findings(path) == set()
    assert audited(path)["cells_done_at_registration"] == 0


def test_a_registration_that_denies_the_cells_before_it(eight: Path) -> None:
    """Entered into the chain in good order, after the data, with the count of cells at 0."""
    by_hand(eight, LESS)
    assert findings(eight) == {"a registration came after more cells"}
    done = run("audit", "--db", eight)
    assert done.exit_code == 6
    assert "it says that 0 cells were done, and the chain had seen 8" in done.output


def test_a_second_text_beside_the_registered_one(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    assert run("register", wrote(tmp_path, LESS), "--db", path).exit_code == 0
    by_hand(path, GREATER)
    assert findings(path) == {"a hypothesis has two texts"}
    assert run("audit", "--db", path).exit_code == 6


def test_a_chain_made_anew_from_the_middle_verifies_and_does_not_fit_a_noted_head(eight: Path) -> None:
    """The registration goes in before the first cell and every later entry is hashed again; nothing inside can tell."""
    with closing(connect(eight, "read")) as con:
        noted = chain.head(con)
    assert noted is not None
    h = parse_hypothesis(LESS, "x.toml")
    with closing(connect(eight, "write")) as con, transaction(con):
        entries = con.execute("SELECT sequence, kind, written, payload FROM ledger ORDER BY 1").fetchall()
        items = con.execute("SELECT sequence, part, key, digest FROM ledger_item").fetchall()
        at = next(e[0] for e in entries if e[1] == "plan")
        con.execute("DELETE FROM ledger; DELETE FROM ledger_item")
        for sequence, kind, written, payload in entries:
            if sequence == at:
                con.execute(
                    "INSERT INTO registration (hash, hypothesis, mode, statement, file, text, registered, cells_done, amendment,"
                    " reaches) VALUES (?, 'X', 'registered', 's', 'x.toml', ?, ?, 0, false, ['s'])",
                    [h.hash, h.text, written],
                )
                chain.append(con, "registration", {}, {"registration": [h.hash]}, now=written)
            mine = [tuple(i[1:]) for i in items if i[0] == sequence]
            chain._add(con, kind, json.loads(payload), mine, written)
    assert findings(eight) == set()
    found = audited(eight)
    assert found["known"] == "registered before the first cell"
    assert found["receipt"] is None
    done = run("verify", "--db", eight, "--against", noted.hash)
    assert done.exit_code == 6
    assert "a noted head is not in the chain" in done.output


def test_a_receipt_of_another_database_does_not_serve(tmp_path: Path) -> None:
    """Nor does an entry that names its file, written after the data."""
    path, other, receipt = tmp_path / "s.duckdb", tmp_path / "other.duckdb", tmp_path / "r.json"
    file = wrote(tmp_path, LESS)
    assert run("register", file, "--db", other).exit_code == 0
    assert run("verify", "--db", other, "--write-receipt", receipt).exit_code == 0
    assert run("register", file, "--db", path).exit_code == 0
    computed(path, UNITS)
    done = run("verify", "--db", path, "--receipt", receipt)
    assert done.exit_code == 6
    assert "a noted head is not in the chain" in done.output
    with closing(connect(path, "write")) as con, transaction(con):
        chain.append(con, "receipt", {"head": "0" * 64, "cells": 0, "sha256": "1" * 64}, now=datetime(2020, 1, 1))
    assert audited(path)["receipt"] is None


def test_a_direction_that_is_flipped_after_registration(tmp_path: Path) -> None:
    """In the file it is found; by another mapping it is refused; and the verdict follows the registered text anyway."""
    assert run("register", wrote(tmp_path, LESS), "--db", tmp_path / "s.duckdb").exit_code == 0
    path = study(tmp_path)
    before = audited(path)
    mapping = (tmp_path / "s.mapping.toml").read_text(encoding="utf-8").replace('better = "lower"', 'better = "higher"')
    done = run("import", tmp_path / "s.csv", "--mapping", wrote(tmp_path, mapping, "other.toml"), "--db", path)
    again = audited(path)
    assert (again["verdict"], again["tests"][0]["wins"]) == (before["verdict"], before["tests"][0]["wins"]), done.output
    with closing(connect(path, "write")) as con:
        con.execute("UPDATE metric SET better = CASE better WHEN 'lower' THEN 'higher' ELSE 'lower' END")
    assert findings(path) == {"a row was changed"}
    assert run("audit", "--db", path).exit_code == 6


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE cell SET spec = '{\"n\": 2}' WHERE rowid = 0",
        "UPDATE cell SET keys = MAP {'dataset': 'd9', 'seed': '0'} WHERE rowid = 0",
        "DELETE FROM cell WHERE state = 'planned'",
    ],
)
def test_a_plan_that_is_changed_between_registration_and_run(planned_once: Path, tmp_path: Path, change: str) -> None:
    path = Path(shutil.copy(planned_once, tmp_path / "s.duckdb"))
    with closing(connect(path, "write")) as con:
        assert con.execute(change).fetchall()[0][0] > 0
    assert findings(path) & {"a row was changed", "a row is gone"}
    assert run("audit", "--db", path).exit_code == 6


def test_units_that_are_added_after_the_first_result(tmp_path: Path) -> None:
    """Planned by the command itself, so that nothing was changed: the verdict says so and claims no level."""
    path = tmp_path / "s.duckdb"
    assert run("register", wrote(tmp_path, LESS), "--db", path).exit_code == 0
    computed(path, UNITS)
    assert "c used more units" not in audited(path)["level"]
    computed(path, {("d9", 99): {"a": 1.0, "b": 2.0}})
    found = audited(path)
    assert "c was planned, before the first result, for 8 units and evaluated on 9" in found["remarks"]
    assert "c used more units than were fixed before the first result" in found["level"]


@pytest.mark.parametrize("way", ["text into data", "data into text"])
def test_a_registration_that_is_smuggled_in_by_a_merge(eight: Path, tmp_path: Path, way: str) -> None:
    """Made in an empty database, after the data of another were there."""
    data, text = eight, tmp_path / "text.duckdb"
    assert run("register", wrote(tmp_path, LESS), "--db", text).exit_code == 0
    out, source = (data, text) if way == "text into data" else (text, data)
    done = run("db", "merge", out, source)
    assert done.exit_code == 0, done.output
    assert findings(out) == set()
    found = audited(out)
    assert (found["known"], found["cells_done_at_registration"]) == ("registered after cells were done", 8)


def test_a_registration_from_before_the_data_stays_one_in_a_merge(tmp_path: Path) -> None:
    text, data = tmp_path / "text.duckdb", tmp_path / "data.duckdb"
    assert run("register", wrote(tmp_path, LESS), "--db", text).exit_code == 0
    shutil.copy(text, data)
    computed(data, UNITS)
    assert run("db", "merge", text, data).exit_code == 0
    assert audited(text)["known"] == "registered before the first cell"


def test_a_view_of_a_study_is_seen_through(eight: Path, tmp_path: Path) -> None:
    """The hypothesis declares a study without cells and reads one that has eight, through a view with an innocent name."""
    (tmp_path / "views").mkdir()
    sql = 'CREATE VIEW "my view" AS SELECT * FROM other_view; '.replace("other_view", "u_plain")
    wrote(tmp_path / "views", "CREATE VIEW u_plain AS SELECT seed AS k, m AS value FROM s_t;\n" + sql, "v.sql")
    with closing(connect(eight, "write")) as con:
        viewing.refresh(con, [Study("s", cases=(Case("s", "nowhere"),), views="views", path=str(tmp_path))])
        text = query('SELECT k, value FROM "my view"').replace('case = "s"', 'case = "u"')
        row = register(con, parse_hypothesis(text, "x.toml"))
    assert (row.reaches, row.cells_done) == (("s", "u"), 8)


@pytest.mark.parametrize(
    "table", ["test_result", *(pytest.param(table, marks=pytest.mark.slow) for table in ("audit", "disposition"))]
)
def test_an_earlier_look_that_is_deleted(audited_once: Path, tmp_path: Path, table: str) -> None:
    path = Path(shutil.copy(audited_once, tmp_path / "s.duckdb"))
    with closing(connect(path, "write")) as con:
        con.execute(f"DELETE FROM {table}")
    assert findings(path) == {"a row is gone"}
    assert run("audit", "--db", path).exit_code == 6


def test_a_view_that_turns_the_numbers(audited_once: Path, tmp_path: Path) -> None:
    """No record is touched; what the audit reads them through is."""
    path = Path(shutil.copy(audited_once, tmp_path / "s.duckdb"))
    with closing(connect(path, "write")) as con:
        text = con.execute("SELECT sql FROM duckdb_views() WHERE view_name = 's_t'").fetchall()[0][0]
        con.execute("DROP VIEW s_t")
        con.execute(
            text.replace(
                "max(\"value\") FILTER (WHERE (metric = 'm'))", "(-max(\"value\") FILTER (WHERE (metric = 'm')))"
            )
        )
    done = run("audit", "--db", path)
    assert done.exit_code == 6
    assert "a view was changed: s_t" in done.output
    assert run("db", "migrate", "--db", path).exit_code == 0
    assert audited(path)["verdict"] == "supported"


def test_a_function_that_turns_the_numbers(eight: Path, tmp_path: Path) -> None:
    with closing(connect(eight, "write")) as con:
        con.execute("CREATE MACRO avg(x) AS max(x)")
    done = run("audit", "--registry", wrote(tmp_path, LESS), "--db", eight)
    assert done.exit_code == 6
    assert "a function was added: avg" in done.output


def test_a_source_that_would_read_a_file_of_this_machine(eight: Path, tmp_path: Path) -> None:
    secret = wrote(tmp_path, "secret", "secret.txt")
    with closing(connect(eight, "write")) as con:
        con.execute("DROP TABLE recheck_finding")
        con.execute(f"CREATE VIEW recheck_finding AS SELECT content AS paper FROM read_text('{secret}')")
    done = run("db", "merge", tmp_path / "out.duckdb", eight)
    assert done.exit_code == 6
    assert "recheck_finding is a view, and a table is expected" in done.output
    assert not (tmp_path / "out.duckdb").exists()


MORE = "\n".join(["dataset,seed,a,b,c", *(f"d{k % 4},{k},1,2,3" for k in range(8))]) + "\n"
VOUCHED = {
    "a record": ("UPDATE record SET value = value - 5 WHERE arm = 'a'", "import", "the content hash differs|a row was changed: cell"),
    "a refusal": ("DELETE FROM refusal", "import", "the content hash differs|a row was changed: cell"),
    "an outcome taken back": ("DELETE FROM record; UPDATE cell SET state = 'planned', content_hash = NULL", "import", "a row was changed: cell"),
    "a cell taken out": ("DELETE FROM record; DELETE FROM cell", "import", "a row was changed: cell"),
    "a direction": ("UPDATE metric SET better = 'higher'", "import", "a row was changed: metric"),
    "a count of units": ("UPDATE registered SET units = 3", "merge", "a row was changed: registered"),
}  # fmt: skip


@pytest.fixture(scope="module")
def registered_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was imported, with a text registered after it; not to be changed."""
    path = study(tmp_path_factory.mktemp("vouched"))
    (path.parent / "x.toml").write_text(comparison('test = "sign"\narms = ["a", "b"]'), encoding="utf-8")
    assert run("register", path.parent / "x.toml", "--db", path).exit_code == 0
    return path


@pytest.mark.parametrize("what", VOUCHED)
def test_an_honest_command_does_not_vouch_for_what_was_edited_before_it(
    registered_study: Path, tmp_path: Path, what: str
) -> None:
    """Another column for the same cells, or a merge of the same text, enters the edited rows into the chain; as they were found."""
    edit, way, found = VOUCHED[what]
    path = Path(shutil.copy(registered_study, tmp_path / "s.duckdb"))
    (tmp_path / "more.csv").write_text(MORE, encoding="utf-8")
    (tmp_path / "more.toml").write_text(MAPPING.replace('"m"', '"further"'), encoding="utf-8")
    with duckdb.connect(str(path)) as con:
        con.execute(edit)
    words = {
        "import": ("import", tmp_path / "more.csv", "--mapping", tmp_path / "more.toml", "--db", path),
        "merge": ("db", "merge", path, registered_study),
    }
    done = run(*words[way])
    assert done.exit_code == 0, done.output
    seen = run("verify", "--db", path)
    assert seen.exit_code == 6
    assert re.search(found, seen.output)


@pytest.mark.parametrize("value", ["random()", "epoch(now())", "(SELECT count(*) FROM ledger)"])
def test_a_verdict_cannot_be_drawn_again(
    eight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """Refused when it is registered, by each way, and, where an earlier version registered it, when it is audited."""
    text = query(f"SELECT seed AS k, {value} AS value FROM s_t")
    file = wrote(tmp_path, text)
    for words in (("register", file), ("audit", "--registry", file)):
        done = run(*words, "--db", eight)
        assert done.exit_code == 7, done.output
        assert "x.toml: c: " in done.output
        assert "store what is drawn or timed as a record" in done.output
    with closing(connect(eight, "write")) as con:
        with pytest.raises(QueryRefusedError, match=r"x.toml: X: "):
            register(con, parse_hypothesis(text, "x.toml"))
        with monkeypatch.context() as earlier:
            earlier.setattr(registration, "_require_steady", lambda *_: None)
            register(con, parse_hypothesis(text, "x.toml"))
    done = run("audit", "--db", eight)
    assert done.exit_code == 7
    assert "x.toml: c: " in done.output
    steady = wrote(tmp_path, query("SELECT seed AS k, m AS value FROM s_t"), "y.toml")
    done = run("audit", "--db", eight, "--registry", steady, "--amend")
    assert done.exit_code == 0, done.output
    assert run("sql", "SELECT random()", "--db", eight).exit_code == 0
