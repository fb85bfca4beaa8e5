"""What cells hold, read again: rows that no longer give the hash they were stored with, and rows that belong to no cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.schema.hashing import DATASET_COLUMNS, read_again

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from duckdb import DuckDBPyConnection

# Records read at once when cells are hashed again; a single cell may have more.
AT_ONCE = 200_000

HELD = ("record", "refusal", "fact", "dataset")  # the tables with what cells hold
# Each query lists what is wrong: a name for people, and the detail. No hash covers what these find.
ORPHANS: dict[str, str] = {
    "rows without a cell": " UNION ALL ".join(
        f"SELECT cell_id, 'in {t}' FROM {t} ANTI JOIN cell USING (cell_id) GROUP BY ALL" for t in HELD
    ),
    "rows of a cell without an outcome": " UNION ALL ".join(
        f"SELECT name, 'in {t}' FROM cell SEMI JOIN {t} USING (cell_id) WHERE state IN ('planned', 'failed')"
        for t in HELD
    ),
}


@dataclass(frozen=True)
class CheckFinding:
    """Something that is not as it should be: the rule, where, and what was seen."""

    rule: str
    where: str
    detail: str


def content_findings(con: DuckDBPyConnection, *, doubled: bool = False) -> tuple[int, list[CheckFinding]]:
    """The number of cells hashed again; those whose rows no longer give their hash, and rows that belong to no cell.

    With ``doubled`` also the cells that hold two numbers at one place: nobody changed them, and readers see one of the two.
    """
    hashed, changed, twice = _hashed(con, None)
    found = changed | {c: f for c, f in twice.items() if c not in changed} if doubled else changed
    return hashed, [*asked(con, ORPHANS), *(found[c] for c in sorted(found))]


def changed_cells(con: DuckDBPyConnection, cells: Collection[str]) -> set[str]:
    """The ids among ``cells`` whose rows no longer give their hash."""
    return set(_hashed(con, list(cells))[1])


def _hashed(
    con: DuckDBPyConnection, cells: list[str] | None
) -> tuple[int, dict[str, CheckFinding], dict[str, CheckFinding]]:
    """The number of cells hashed again, all or only ``cells``; a finding for each that gives another hash, and for each with two numbers at one place."""
    narrowed = "TRUE" if cells is None else "cell_id IN (SELECT unnest(?::VARCHAR[]))"
    given = [] if cells is None else [cells]
    settled = con.execute(
        "SELECT cell_id, name, state, reason, content_hash FROM cell"
        f" WHERE content_hash IS NOT NULL AND {narrowed} ORDER BY cell_id",
        given,
    ).fetchall()
    refusals = _grouped(con, f"SELECT cell_id, arm, reason, margin FROM refusal WHERE {narrowed}", given)
    facts = _grouped(con, f"SELECT cell_id, name, value FROM fact WHERE {narrowed}", given)
    datasets = _grouped(con, f"SELECT cell_id, {', '.join(DATASET_COLUMNS)} FROM dataset WHERE {narrowed}", given)
    waiting = {cell_id: (name, state, reason, stored) for cell_id, name, state, reason, stored in settled}
    changed: dict[str, CheckFinding] = {}
    twice: dict[str, CheckFinding] = {}

    def judge(cell_id: str, columns: dict[str, Any]) -> None:
        if (known := waiting.pop(cell_id, None)) is None:
            return  # records of a cell that has no hash, or of no cell
        name, state, reason, stored = known
        told = facts.get(cell_id, [])
        if len(dict(told)) < len(told):  # the hash is of one of each name
            changed[cell_id] = CheckFinding("the content hash differs", name, "a fact stands in it twice")
            return
        found, place = read_again(
            state,
            reason,
            columns,
            refusals.get(cell_id, []),
            dict(told),
            [dict(zip(DATASET_COLUMNS, row, strict=True)) for row in datasets.get(cell_id, [])],
        )
        if found != stored:
            changed[cell_id] = CheckFinding("the content hash differs", name, f"stored {stored}, computed {found}")
        if place is not None:
            twice[cell_id] = CheckFinding("two numbers stand at one place", name, place)

    for cell_id, columns in _records_by_cell(con) if cells is None else _records_of(con, cells):
        judge(cell_id, columns)
    for cell_id in list(waiting):
        judge(cell_id, NONE)
    return len(settled), changed, twice


COLUMNS = ("arm", "metric", "label", "idx", "value")
NONE: dict[str, Any] = {column: [] for column in COLUMNS}  # the columns of a cell without records


def _records_by_cell(con: DuckDBPyConnection) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of one cell after the other, in the order in which they are stored, a bounded number at a time.

    A cell is stored in one piece, and a range of row numbers is found without reading the rest: whatever the order of ids,
    the table is read once. Cells that stand in several pieces come last, by name.
    """
    import numpy as np

    pieces = con.execute(
        "SELECT cell_id, min(rowid), max(rowid), count(*) FROM record GROUP BY 1 ORDER BY 2"
    ).fetchall()
    whole = [(cell_id, low, high) for cell_id, low, high, count in pieces if high - low + 1 == count]
    ends = [-1, *(high for _, _, high in whole)]  # what lies between two of them is read, too
    for group in _bounded([(piece, piece[2] - before) for piece, before in zip(whole, ends, strict=False)]):
        chunk = con.execute(
            f"SELECT rowid AS place, {', '.join(COLUMNS)} FROM record WHERE rowid BETWEEN ? AND ? ORDER BY place",
            [group[0][1], group[-1][2]],
        ).fetchnumpy()
        for cell_id, low, high in group:
            start, stop = np.searchsorted(chunk["place"], (low, high + 1))
            yield cell_id, {c: chunk[c][start:stop] for c in COLUMNS}
    yield from _by_name(con, [(cell_id, count) for cell_id, low, high, count in pieces if high - low + 1 != count])


def _records_of(con: DuckDBPyConnection, cells: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of ``cells``, a bounded number at a time."""
    query = "SELECT cell_id, count(*) FROM record WHERE cell_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY 1"
    yield from _by_name(con, con.execute(query, [cells]).fetchall())


def _by_name(con: DuckDBPyConnection, sized: list[tuple[str, int]]) -> Iterator[tuple[str, dict[str, Any]]]:
    import numpy as np

    for names in _bounded(sized):
        chunk = con.execute(
            f"SELECT cell_id, {', '.join(COLUMNS)} FROM record WHERE cell_id IN (SELECT unnest(?::VARCHAR[]))", [names]
        ).fetchnumpy()
        for cell_id in names:
            mine = np.asarray(chunk["cell_id"], dtype=object) == cell_id
            yield cell_id, {c: chunk[c][mine] for c in COLUMNS}


def _bounded(sized: list[tuple[Any, int]]) -> Iterator[list[Any]]:
    """What stands in ``sized`` with a size, in groups of at most ``AT_ONCE``; a larger one stands alone."""
    group: list[Any] = []
    taken = 0
    for one, size in sized:
        if group and taken + size > AT_ONCE:
            yield group
            group, taken = [], 0
        group.append(one)
        taken += size
    if group:
        yield group


def _grouped(con: DuckDBPyConnection, query: str, given: list[list[str]]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for cell_id, *row in con.execute(query, given).fetchall():
        groups.setdefault(cell_id, []).append(tuple(row))
    return groups


def asked(con: DuckDBPyConnection, queries: dict[str, str]) -> list[CheckFinding]:
    """What ``queries`` list, each under its own name."""
    return [
        CheckFinding(rule, str(a), str(b)) for rule, query in queries.items() for a, b in con.execute(query).fetchall()
    ]
