"""The writer: a cell whole or not at all, replaced as a whole, finite always."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from orledger.errors import DatabaseError, DataError
from orledger.schema.checking import check
from orledger.schema.hashing import content_hash
from orledger.schema.reading import open_results
from orledger.schema.writing import CellOutcome, PlannedCell, Writer

DATASET = {
    "name": "d",
    "origin": "o",
    "n_rows": 1,
    "n_features": 1,
    "target": "y",
    "distinct_targets": 1,
    "sha256": "0",
}


def columns(values: list[float], label: str | None = None) -> dict[str, np.ndarray]:
    n = len(values)
    labels = np.empty(n, dtype=object)
    labels[:] = label
    return {
        "arm": np.array(["standard"] * n, dtype=object),
        "metric": np.array(["rmse"] * n, dtype=object),
        "label": labels,
        "idx": np.ma.array(np.arange(n, dtype=np.int32), mask=[k == 0 for k in range(n)]),
        "value": np.array(values, dtype=np.float64),
    }


def planned(*names: str) -> list[PlannedCell]:
    keys = {"seed": 3, "level": 0.25, "dataset": "diabetes", "deep": True}
    return [PlannedCell(name, "toy", "main", f"toy/{name}", keys, "{}", "1", "job") for name in names]


def test_planning_twice_keeps_what_is_there(db: Path) -> None:
    with Writer(db) as writer:
        assert writer.plan(planned("a", "b")) == 2
        writer.store("a", CellOutcome("done", columns=columns([1.0])))
        assert writer.plan(planned("a", "b", "c")) == 1
        assert writer.states() == {"a": "done", "b": "planned", "c": "planned"}
    with open_results(db) as results:
        row = results.sql(
            "SELECT keys['seed']::INTEGER AS s, keys['level'] AS l, keys['dataset'] AS d, keys['deep'] AS t FROM cell"
        ).row(0)
        assert row == (3, "0.25", "diabetes", "true")


def test_values_come_back_bit_for_bit(db: Path) -> None:
    values = [0.1, -0.0, 5e-324, 1.7976931348623157e308, np.nextafter(1.0, 2.0), -1 / 3]
    with Writer(db) as writer:
        writer.plan(planned("a"))
        writer.store(
            "a",
            CellOutcome("done", columns=columns(values, "m=1.05"), refusals=[("shy", "no", 0.1), ("mute", "no", None)]),
        )
    with open_results(db) as results:
        frame = results.records(metric="rmse").sort("idx", nulls_last=False)
        assert frame["value"].to_numpy().tobytes() == np.array(values).tobytes()
        assert frame["idx"].to_list() == [None, 1, 2, 3, 4, 5]
        assert set(frame["label"]) == {"m=1.05"}
        assert results.sql("SELECT arm, margin FROM refusal ORDER BY arm").rows() == [("mute", None), ("shy", 0.1)]


def test_a_retried_cell_replaces_all_its_rows(db: Path) -> None:
    with Writer(db) as writer:
        writer.plan(planned("a", "b"))
        for cell in ("a", "b"):
            writer.store(
                cell,
                CellOutcome(
                    "done",
                    columns=columns([1, 2, 3]),
                    refusals=[("x", "y", None)],
                    facts={"k": "v"},
                    datasets=[DATASET],
                ),
            )
        writer.store("a", CellOutcome("failed", error="Traceback"))
        writer.store("a", CellOutcome("done", columns=columns([9.0])))
    assert check(db).findings == ()
    with open_results(db) as results:
        counts = results.sql(
            "SELECT c.cell_id, (SELECT count(*) FROM record r WHERE r.cell_id = c.cell_id) AS records,"
            " (SELECT count(*) FROM refusal r WHERE r.cell_id = c.cell_id) AS refusals,"
            " (SELECT count(*) FROM fact r WHERE r.cell_id = c.cell_id) AS facts,"
            " (SELECT count(*) FROM dataset r WHERE r.cell_id = c.cell_id) AS datasets, c.error FROM cell c ORDER BY 1"
        )
        assert counts.rows() == [("a", 1, 0, 0, 0, None), ("b", 3, 1, 1, 1, None)]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_rolls_the_cell_back(db: Path, bad: float) -> None:
    with Writer(db) as writer:
        writer.plan(planned("a"))
        with pytest.raises(DatabaseError, match="a row was refused"):
            writer.store("a", CellOutcome("done", columns=columns([1.0, bad]), facts={"k": "v"}))
        assert writer.states() == {"a": "planned"}
        writer.store("a", CellOutcome("done", columns=columns([1.0])))
    assert check(db).findings == ()
    with open_results(db) as results:
        assert results.sql("SELECT count(*) AS n FROM fact")["n"][0] == 0


def test_a_cell_that_was_not_planned_is_refused(db: Path) -> None:
    with Writer(db) as writer, pytest.raises(DatabaseError, match="not planned"):
        writer.store("ghost", CellOutcome("done", columns=columns([1.0])))


def test_a_run_that_was_killed_is_marked_by_the_next(db: Path) -> None:
    facts = {
        "preset": "p",
        "settings": {},
        "versions": {},
        "host": {},
        "device": "cpu",
        "engine": "serial",
        "jobs": 1,
        "threads": 1,
    }
    with Writer(db) as writer:
        writer.begin_run("first", **facts)
    with Writer(db) as writer:
        writer.begin_run("second", **facts)
        writer.end_run("second", "finished")
    with open_results(db) as results:
        assert results.sql("SELECT run_id, state FROM run ORDER BY 1").rows() == [
            ("first", "interrupted"),
            ("second", "finished"),
        ]


def test_the_content_hash_ignores_order_and_nothing_else() -> None:
    base = columns([1.0, 2.0, 3.0, -0.0])
    turned = {name: column[::-1] for name, column in base.items()}
    first = content_hash("done", None, base, [("a", "r", None), ("b", "r", 1.0)], {"x": "1", "y": "2"})
    assert first == content_hash("done", None, turned, [("b", "r", 1.0), ("a", "r", None)], {"y": "2", "x": "1"})
    changed = {
        "value": {**base, "value": np.array([1.0, 2.0, 3.0, 0.0])},
        "arm": {**base, "arm": np.array(["standard"] * 3 + ["other"], dtype=object)},
        "label": {**base, "label": np.array([None, None, None, "x"], dtype=object)},
        "idx": {**base, "idx": np.ma.array([0, 1, 2, 3], mask=[False] * 4, dtype=np.int32)},
    }
    hashes = {
        first,
        *(
            content_hash("done", None, c, [("a", "r", None), ("b", "r", 1.0)], {"x": "1", "y": "2"})
            for c in changed.values()
        ),
    }
    hashes.add(content_hash("refused", None, base, [("a", "r", None), ("b", "r", 1.0)], {"x": "1", "y": "2"}))
    hashes.add(content_hash("done", None, base, [("a", "r", None)], {"x": "1", "y": "2"}))
    hashes.add(content_hash("done", None, base, [("a", "r", None), ("b", "r", 1.0)], {"x": "1"}))
    assert len(hashes) == 8


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE record SET value = value + 1e-15 WHERE rowid = 17", "the content hash differs"),
        ("DELETE FROM record WHERE rowid = 3", "the number of records differs"),
        ("UPDATE fact SET value = 'x' WHERE rowid = 0", "the content hash differs"),
        ("INSERT INTO record VALUES ('nobody', 'a', 'm', NULL, NULL, 1.0)", "rows without a cell"),
        ("UPDATE cell SET content_hash = NULL WHERE rowid = 0", "a settled cell lacks its time, hash, reason or error"),
        ("UPDATE cell SET run_id = 'ghost' WHERE rowid = 0", "a cell names a run that is not there"),
        ("UPDATE migration SET sha256 = 'x' WHERE number = 1", "a migration was applied from another text"),
        (
            "DELETE FROM metric WHERE metric = 'draw'",
            "a metric is not in the dictionary",
        ),
    ],
)
def test_check_finds_what_was_tampered_with(toy_db: Path, db: Path, statement: str, rule: str) -> None:
    shutil.copy(toy_db, db)
    with Writer(db) as writer:
        writer.con.execute(statement)
    assert rule in {finding.rule for finding in check(db).findings}


@pytest.mark.parametrize("again", [False, True])
def test_a_cell_that_cannot_be_stored_whole_leaves_everything_as_it_was(
    db: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """The last step fails: rows that were written before it are not there, and rows that it would replace still are."""

    def rows(writer: Writer) -> dict[str, list[tuple[object, ...]]]:
        tables = ("cell", "record", "refusal", "fact", "dataset", "ledger", "ledger_item")
        return {t: writer.con.execute(f"SELECT * FROM {t} ORDER BY ALL").fetchall() for t in tables}

    data = {
        "name": "d",
        "origin": "o",
        "n_rows": 1,
        "n_features": 1,
        "target": "t",
        "distinct_targets": 1,
        "sha256": "0",
    }
    with Writer(db) as writer:
        writer.plan(planned("a", "b"))
        if again:
            old = CellOutcome("done", columns=columns([1.0]), refusals=[("shy", "no", None)], facts={"k": "v"})
            writer.store_many([("a", old), ("b", old)])
        before, states = rows(writer), writer.states()

        def full(*_: object, **__: object) -> None:
            raise RuntimeError("the disk is full")

        new = CellOutcome(
            "done", columns=columns([2.0, 3.0]), refusals=[("mute", "no", 0.5)], facts={"k": "w"}, datasets=[data]
        )
        with monkeypatch.context() as patched:
            patched.setattr("orledger.schema.chain.append", full)
            with pytest.raises(RuntimeError, match="disk is full"):
                writer.store_many([("a", new), ("b", new)])
        assert rows(writer) == before
        assert writer.states() == states
        writer.store_many([("a", new), ("b", new)])
        assert rows(writer) != before
    assert check(db).findings == ()


def test_the_content_hash_knows_the_datasets() -> None:
    """Whatever a dataset says about itself changes the hash of a cell that used it; their order does not."""
    base = columns([1.0])
    one = {
        "name": "d",
        "origin": "o",
        "n_rows": 5,
        "n_features": 2,
        "target": "t",
        "distinct_targets": 4,
        "sha256": "0",
    }
    two = {**one, "name": "e"}
    first = content_hash("done", None, base, datasets=[one, two])
    assert first == content_hash("done", None, base, datasets=[two, one])
    others = [
        [],
        [one],
        [one, one, two],
        *([{**one, key: 9 if isinstance(v, int) else "x"}, two] for key, v in one.items()),
    ]
    assert len({first, *(content_hash("done", None, base, datasets=d) for d in others)}) == 1 + len(others)


def one_row(**changed: object) -> dict[str, np.ndarray]:
    """Columns of one row, some of them of another type."""
    made = {name: np.array([value], dtype=object) for name, value in changed.items() if name != "idx"}
    return {**columns([1.0]), **made, **({"idx": np.ma.array(changed["idx"])} if "idx" in changed else {})}


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (CellOutcome("done", columns=one_row(arm=5)), "an arm, metric or label is 5, a int"),
        (CellOutcome("done", columns=one_row(metric=0.5)), "an arm, metric or label is 0.5"),
        (CellOutcome("done", columns=one_row(label=3)), "an arm, metric or label is 3"),
        (CellOutcome("done", columns=one_row(idx=[1.5])), "an index that is no whole number"),
        (CellOutcome("done", columns=one_row(arm="\ud800")), "cannot be stored"),
        (CellOutcome("done", columns=columns([1.0]), refusals=[(5, "r", None)]), "of a refusal is 5"),  # type: ignore[list-item]
        (CellOutcome("done", columns=columns([1.0]), refusals=[("b", 5, None)]), "of a refusal is 5"),  # type: ignore[list-item]
        (CellOutcome("done", columns=columns([1.0]), refusals=[("b", "r", 1)]), "a margin is 1"),
        (CellOutcome("done", columns=columns([1.0]), facts={"n": 5}), "a fact is 5"),  # type: ignore[dict-item]
        (CellOutcome("refused", reason=5), "the reason of a cell is 5"),  # type: ignore[arg-type]
        (CellOutcome("done", datasets=[DATASET | {"n_rows": 1.0}]), "a count of a dataset is 1.0"),
        (CellOutcome("done", datasets=[DATASET | {"target": 4}]), "a dataset is 4"),
    ],
)
def test_what_would_be_stored_as_something_else_than_is_hashed_is_refused(
    db: Path, outcome: CellOutcome, message: str
) -> None:
    with Writer(db) as writer:
        writer.plan(planned("a"))
        with pytest.raises(DataError, match=f"the cell a: .*{message}"):
            writer.store("a", outcome)
        writer.store(
            "a", CellOutcome("done", columns=columns([1.0]), refusals=[("b", "r", np.float64(1))], datasets=[DATASET])
        )  # type: ignore[arg-type]
    assert check(db).findings == ()


def test_two_numbers_at_one_place_are_noticed(db: Path) -> None:
    with Writer(db) as writer:
        writer.plan(planned("a", "b"))
        twice = columns([1.0, 2.0, 3.0, 4.0]) | {"idx": np.ma.array([1, 1, 0, 0], mask=[0, 0, 0, 1], dtype=np.int32)}
        writer.store("a", CellOutcome("done", columns=twice))
        writer.store("b", CellOutcome("done", columns=columns([1.0, 2.0, 3.0])))
    found = [(f.rule, f.where, f.detail) for f in check(db).findings]
    assert found == [("two numbers stand at one place", "toy/a", "standard/rmse/1")]
