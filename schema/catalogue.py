"""The catalogue of a case: its keys with types, its arms and its metrics, as the database keeps them.

A study that declares its catalogue has it written when a run begins. What nobody declared is read off the cells and
records (``complete``), so that every study has one. The catalogue only grows: what is written again replaces the entry of
the same name, and what is not mentioned stays.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from orledger.schema import chain
from orledger.schema.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

    from duckdb import DuckDBPyConnection

T = TypeVar("T")

TYPES = ("VARCHAR", "BIGINT", "DOUBLE")
TABLES = ("metric", "key", "arm", "study")

# A key is a number in the views only when no two of its texts become the same number: 007 and 7 stay texts. It has one type
# in all blocks of its case.
KEYS_SEEN = """
WITH seen AS (SELECT block, unnest(map_entries(keys)) AS e FROM cell WHERE case_name = ?)
SELECT DISTINCT block, e.key, type FROM seen JOIN (
SELECT e.key AS name,
       CASE WHEN bool_and(coalesce(TRY_CAST(e.value AS BIGINT)::VARCHAR = e.value, false)) THEN 'BIGINT'
            WHEN bool_and(coalesce(isfinite(TRY_CAST(e.value AS DOUBLE)), false))
             AND count(DISTINCT e.value) = count(DISTINCT TRY_CAST(e.value AS DOUBLE)) THEN 'DOUBLE'
            ELSE 'VARCHAR' END AS type
FROM seen GROUP BY ALL) ON e.key = name
ORDER BY ALL"""

METRICS_SEEN = """
SELECT block, metric, idx IS NOT NULL AS indexed, bool_or(label IS NOT NULL) AS labelled, list(DISTINCT arm ORDER BY arm) AS arms
FROM record JOIN (SELECT cell_id, block FROM cell WHERE case_name = ?) USING (cell_id)
GROUP BY ALL ORDER BY ALL"""

ARMS_SEEN = """
SELECT DISTINCT arm FROM refusal WHERE cell_id IN (SELECT cell_id FROM cell WHERE case_name = ?) ORDER BY ALL"""

ARMS_LEFT = """
SELECT arm FROM record SEMI JOIN (FROM cell WHERE case_name = ?) USING (cell_id)
UNION SELECT arm FROM refusal SEMI JOIN (FROM cell WHERE case_name = ?) USING (cell_id)"""


@dataclass(frozen=True)
class Key:
    """A key of the cells of one block; ``type`` is VARCHAR, BIGINT or DOUBLE."""

    block: str
    key: str
    type: str
    description: str = ""


@dataclass(frozen=True)
class Arm:
    """An arm and its name for people."""

    arm: str
    label: str
    description: str = ""


@dataclass(frozen=True)
class Metric:
    """A metric of one block and the arms that record it; ``idx`` says what its index means, None for a scalar."""

    block: str
    arms: str
    metric: str
    label: str | None = None
    idx: str | None = None
    unit: str | None = None
    better: str | None = None
    description: str = ""


@dataclass(frozen=True)
class Catalogue:
    """What is known of one case; ``study`` is its study's name, title and citation."""

    case: str
    metrics: tuple[Metric, ...] = ()
    keys: tuple[Key, ...] = ()
    arms: tuple[Arm, ...] = ()
    study: tuple[str, str, str] | None = None

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks that the catalogue mentions, in its order."""
        return tuple(dict.fromkeys([m.block for m in self.metrics] + [k.block for k in self.keys]))


def merged(old: Catalogue, new: Catalogue) -> Catalogue:
    """``old`` with the entries of ``new``: those of the same name take the place of the old ones, the others come last."""
    return Catalogue(
        old.case,
        _replaced(old.metrics, new.metrics, lambda m: (m.block, m.metric)),
        _replaced(old.keys, new.keys, lambda k: (k.block, k.key)),
        _replaced(old.arms, new.arms, lambda a: a.arm),
        new.study or old.study,
    )


def unknown(old: Catalogue, new: Catalogue) -> Catalogue:
    """The entries of ``new`` that ``old`` has nothing of the same name for."""
    metrics, keys = {(m.block, m.metric) for m in old.metrics}, {(k.block, k.key) for k in old.keys}
    arms = {a.arm for a in old.arms}
    return Catalogue(
        new.case,
        tuple(m for m in new.metrics if (m.block, m.metric) not in metrics),
        tuple(k for k in new.keys if (k.block, k.key) not in keys),
        tuple(a for a in new.arms if a.arm not in arms),
        None if old.study else new.study,
    )


def _replaced(old: Sequence[T], new: Sequence[T], name: Callable[[T], Hashable]) -> tuple[T, ...]:
    groups: dict[Hashable, list[T]] = {}
    for entry in new:
        groups.setdefault(name(entry), []).append(entry)
    result: list[T] = []
    for entry in old:
        if name(entry) not in groups:
            result.append(entry)
        else:
            result += groups[name(entry)]
            groups[name(entry)] = []
    return (*result, *(entry for group in groups.values() for entry in group))


def read(con: DuckDBPyConnection, case: str) -> Catalogue:
    """The catalogue of ``case`` as it stands in the database."""
    return _read(con, "WHERE case_name = ?", [case])[case]


def read_all(con: DuckDBPyConnection) -> list[Catalogue]:
    """The catalogue of every case that has cells or a catalogue, in the order of their names."""
    found = _read(con, "", [])
    return [found[case] for case in sorted(found)]


def _read(con: DuckDBPyConnection, where: str, values: list[str]) -> dict[str, Catalogue]:
    """Catalogues by case. Each table is asked once for all of them: a small query costs more than its rows."""

    def rows(query: str, order: str = "") -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for case, *row in con.execute(f"{query} {where} {order}", values).fetchall():
            found.setdefault(case, []).append(tuple(row))
        return found

    blocks = {case: {b for (b,) in found} for case, found in rows("SELECT DISTINCT case_name, block FROM cell").items()}
    metrics = rows(
        "SELECT case_name, block, arms, metric, label, idx, unit, better, description FROM metric",
        "ORDER BY position NULLS LAST, block, metric, arms, label, idx",
    )
    keys = rows("SELECT case_name, block, key, type, description FROM key", "ORDER BY position")
    arms = rows("SELECT case_name, arm, label, description FROM arm", "ORDER BY position")
    studies = rows("SELECT case_name, study, title, citation FROM study")
    return {
        case: Catalogue(
            case,
            tuple(
                Metric(block, *row[1:])
                for row in metrics.get(case, ())
                for block in _blocks(row[0], blocks.get(case, ()))
            ),
            tuple(Key(*row) for row in keys.get(case, ())),
            tuple(Arm(*row) for row in arms.get(case, ())),
            studies[case][0] if case in studies else None,
        )
        for case in {**blocks, **metrics, **keys, **dict.fromkeys(values)}
    }


def _blocks(text: str, known: Collection[str]) -> Iterable[str]:
    """The blocks of a stored metric: files of schema version 3 and below list several in one text."""
    return [text] if text in known else text.split(", ")


def cases(con: DuckDBPyConnection) -> list[str]:
    """Every case that has cells or a catalogue."""
    query = " UNION ".join(f"SELECT case_name FROM {table}" for table in ("cell", "metric", "key"))
    return [row[0] for row in con.execute(f"{query} ORDER BY 1").fetchall()]


def store(con: DuckDBPyConnection, new: Catalogue, gone: Collection[str] = ()) -> None:
    """Adds ``new`` to the catalogue of its case, in one transaction with the entry of the ledger.

    Of the arms ``gone`` those that no cell of the case has are taken out of it.
    """
    with transaction(con):
        old = read(con, new.case)
        found = merged(old, new)
        if gone:
            left = {arm for (arm,) in con.execute(ARMS_LEFT, [new.case, new.case]).fetchall()}
            found = _less(found, {arm for arm in gone if arm not in left})
        if found == old:
            return
        rows = {
            "metric": [(new.case, *astuple(m), i) for i, m in enumerate(found.metrics)],
            "key": [(new.case, k.block, k.key, k.type, i, k.description) for i, k in enumerate(found.keys)],
            "arm": [(new.case, a.arm, a.label, a.description, i) for i, a in enumerate(found.arms)],
            "study": [(new.case, *found.study)] if found.study else [],
        }
        for table in TABLES:
            con.execute(f"DELETE FROM {table} WHERE case_name = ?", [new.case])
            if rows[table]:
                places = ", ".join(f"({', '.join('?' * len(rows[table][0]))})" for _ in rows[table])
                con.execute(f"INSERT INTO {table} VALUES {places}", [value for row in rows[table] for value in row])
        chain.append(con, "catalogue", {"case": new.case}, dict.fromkeys(TABLES, (new.case,)))


def _less(found: Catalogue, gone: Collection[str]) -> Catalogue:
    """``found`` without some arms, and without metrics that no other arm has."""
    metrics = [replace(m, arms=", ".join(a for a in m.arms.split(", ") if a not in gone)) for m in found.metrics]
    kept = tuple(m for m, before in zip(metrics, found.metrics, strict=True) if m.arms or not before.arms)
    return replace(found, metrics=kept, arms=tuple(a for a in found.arms if a.arm not in gone))


def complete(con: DuckDBPyConnection, case: str, *, records: bool = True) -> None:
    """Adds to the catalogue of ``case`` what its cells and ``records`` hold and nobody declared.

    A declared type that some text of the key does not fit gives way to one that all of them fit.
    """
    known = read(con, case)
    types = {(k.block, k.key): k for k in known.keys}
    keys = []
    for block, key, seen in con.execute(KEYS_SEEN, [case]).fetchall():
        declared = types.get((block, key), Key(block, key, seen))
        fits = declared.type in ("VARCHAR", seen) or (declared.type == "DOUBLE" and seen == "BIGINT")
        keys.append(declared if fits else replace(declared, type=seen))
    metrics: dict[tuple[str, str], list[Metric]] = {}
    for m in known.metrics:
        metrics.setdefault((m.block, m.metric), []).append(m)
    arms = [arm for (arm,) in con.execute(ARMS_SEEN, [case]).fetchall()] if records else []
    for block, metric, indexed, labelled, names in con.execute(METRICS_SEEN, [case]).fetchall() if records else ():
        arms += names
        same = metrics.setdefault((block, metric), [])
        alike = [i for i, m in enumerate(same) if (m.idx is not None) == indexed]
        listed = {arm for i in alike for arm in same[i].arms.split(", ")}
        if not alike:
            like = same[0] if same else Metric(block, "", metric)
            label, idx = ("label" if labelled else None), ("index" if indexed else None)
            same.append(replace(like, arms=", ".join(names), label=label, idx=idx))
        elif more := [a for a in names if a not in listed]:
            same[alike[0]] = replace(same[alike[0]], arms=", ".join([same[alike[0]].arms, *more]))
    named = {a.arm for a in known.arms}
    store(
        con,
        Catalogue(
            case,
            tuple(m for same in metrics.values() for m in same),
            tuple(keys),
            tuple(Arm(a, a) for a in sorted(set(arms) - named)),
            known.study,
        ),
    )


def complete_all(con: DuckDBPyConnection, *, unless_known: bool = False) -> None:
    """Completes the catalogue of every case that has cells; ``unless_known``: of those that have no catalogue at all."""
    known = "WHERE case_name NOT IN (SELECT case_name FROM metric)" if unless_known else ""
    for (case,) in con.execute(f"SELECT DISTINCT case_name FROM cell {known} ORDER BY 1").fetchall():
        complete(con, case)
