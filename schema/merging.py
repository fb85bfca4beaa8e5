"""Joining databases that were filled apart: cells by id, equal ones once, conflicting ones named, histories side by side."""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orledger.errors import UsageError, VerificationError
from orledger.schema import catalogue, chain, exchange, ledger, migrate, opening, placing, viewing
from orledger.schema.objects import shipped_tables
from orledger.schema.transactions import transaction
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from orledger.schema.catalogue import Catalogue

NAMED = 20  # conflicts named one by one in a message
CELL_TABLES = ("record", "refusal", "fact", "dataset")
# Audits speak about the data of their own file: they stay in it, and in its history.
NOT_JOINED = ("audit", "test_result", "claim", "disposition", "migration", "ledger", "ledger_item")
OWN_RULES = ("cell", "run", "setting", "registration", *catalogue.TABLES, *CELL_TABLES, *NOT_JOINED)


@dataclass(frozen=True)
class Joined:
    """What one source brought: cells with an outcome, cells only planned, cells that were there already, cells kept apart,
    registrations, histories.
    """

    source: str
    cells: int
    planned: int
    equal: int
    kept_apart: int
    registrations: int
    histories: int


def merge(out: Path, sources: Sequence[Path], *, keep_both: bool = False) -> list[Joined]:
    """What each of ``sources`` (databases or exported folders) brought to the database at ``out``, made if need be.

    Everything or nothing. Sources are verified first. A cell that two of them computed with different results is a conflict
    and refused by name; with ``keep_both`` the later one stands apart, with its origin among its keys.
    """
    if not sources:
        raise UsageError("nothing to merge", hint="name databases or exported folders after the one to merge into")
    for k, path in enumerate(sources):
        if not path.exists():
            raise UsageError(f"no database and no folder at {path}")
        if (out.exists() and out.samefile(path)) or any(path.samefile(other) for other in sources[:k]):
            raise UsageError(f"{path} is named twice", hint="a database is not merged with itself")
    with ExitStack() as stack:
        files = [stack.enter_context(_verified(path, out)) for path in sources]
        con = stack.enter_context(opening.writing(out))
        names = [f"source_{k}" for k in range(len(files))]
        for name, (file, _) in zip(names, files, strict=True):
            con.execute(f"ATTACH '{str(file).replace(chr(39), chr(39) * 2)}' AS {name} (READ_ONLY)")
            stack.callback(con.execute, f"DETACH {name}")
            _require_tables(con, name, file)
        with transaction(con):
            joined = []
            for name, path, (_, described) in zip(names, sources, files, strict=True):
                _catalogues(con, name, path, described)
                joined.append(_join(con, name, path, keep_both=keep_both))
            viewing.refresh(con)
    return joined


def _require_tables(con: DuckDBPyConnection, source: str, file: Path) -> None:
    """Refuses a source with a view where a table should be: it could read a file of this machine into the result."""
    found = con.execute(
        "SELECT view_name FROM system.main.duckdb_views() WHERE database_name = ? AND schema_name = 'main' AND view_name IN (SELECT table_name FROM"
        " system.main.duckdb_tables() WHERE database_name = current_database()) ORDER BY 1",
        [source],
    ).fetchall()
    if found:
        raise VerificationError(f"{file}: {found[0][0]} is a view, and a table is expected", hint=exchange.ANOTHER)


@contextmanager
def _verified(path: Path, out: Path) -> Iterator[tuple[Path, list[Catalogue]]]:
    """The database behind ``path`` and its catalogues, once everything in it is as it was recorded.

    A folder becomes a temporary database.
    """
    beside = placing.temporary_beside(out.absolute().with_name(f"{out.name}.merge"))
    with tempfile.TemporaryDirectory(prefix=f"{beside.name}-", dir=beside.parent) as folder:
        file = path
        if path.is_dir():
            file = Path(folder) / "source.duckdb"
            exchange.import_folder(path, file)
        with closing(opening.connect(file)) as con:
            findings = chain.verify(con)
            described = catalogue.read_all(con)
        if findings:
            first = findings[0]
            raise VerificationError(
                f"{path} is not as it was recorded: {counted(len(findings), 'finding')}, the first: {first.rule}: {first.where}",
                hint=f"orledger verify --db {path} lists them",
            )
        yield file, described


def _join(con: DuckDBPyConnection, source: str, path: Path, *, keep_both: bool) -> Joined:
    origin = path.name.removesuffix(".duckdb")
    settled, planned, equal = _compare(con, source)
    taken = sorted([*settled, *planned])
    conflicts = _conflicts(con, source)
    if conflicts and not keep_both:
        names = "".join(f"\n  {name} ({cell_id})" for cell_id, name in conflicts[:NAMED])
        more = f"\n  and {len(conflicts) - NAMED} more" if len(conflicts) > NAMED else ""
        raise VerificationError(
            f"{counted(len(conflicts), 'cell')} of {path} {'was' if len(conflicts) == 1 else 'were'} computed with other results:{names}{more}",
            hint="orledger compare shows what differs; --keep-both keeps them apart, with their origin",
        )
    registrations = _registrations(con, source, path)
    _take(con, source, taken)
    registrations += [key for key in _recounted(con) if key not in registrations]
    apart = [_keep_apart(con, source, cell_id, origin) for cell_id, _ in conflicts]
    runs = _runs(con, source)
    others = _others(con, source)
    histories = _histories(con, source)
    kept = {"plan": [*taken, *apart], "cell": [*taken, *apart], "registration": registrations, **runs, **others}
    counts = {"cells": len(settled), "planned": len(planned), "equal": equal, "kept_apart": len(apart)}
    chain.append(con, "merge", {"from": path.name, **counts, "histories": histories}, kept)
    return Joined(str(path), len(settled), len(planned), equal, len(apart), len(registrations), len(histories))


RANK = "CASE {}.state WHEN 'planned' THEN 0 WHEN 'failed' THEN 1 ELSE 2 END"


def _compare(con: DuckDBPyConnection, source: str) -> tuple[list[str], list[str], int]:
    """The ids of the cells that the source knows better, with an outcome and without, and how many outcomes are equal on both sides."""
    better = con.execute(
        f"SELECT s.cell_id, s.state = 'planned' FROM {source}.cell s LEFT JOIN cell o USING (cell_id)"
        f" WHERE o.cell_id IS NULL OR {RANK.format('s')} > {RANK.format('o')} ORDER BY 1"
    ).fetchall()
    equal = con.execute(
        f"SELECT count(*) FROM {source}.cell s JOIN cell o USING (cell_id)"
        " WHERE s.content_hash = o.content_hash AND s.state = o.state"
    ).fetchall()[0][0]
    return [i for i, planned in better if not planned], [i for i, planned in better if planned], int(equal)


def _conflicts(con: DuckDBPyConnection, source: str) -> list[tuple[str, str]]:
    return con.execute(
        f"SELECT s.cell_id, s.name FROM {source}.cell s JOIN cell o USING (cell_id)"
        " WHERE s.content_hash <> o.content_hash OR (s.content_hash = o.content_hash AND s.state <> o.state) ORDER BY 2, 1"
    ).fetchall()


def _take(con: DuckDBPyConnection, source: str, cells: list[str]) -> None:
    """Brings the cells from the source, with all their rows; a planned or failed one of ours gives way."""
    outcome = [c for c in ledger.columns(con, "cell") if c not in ("cell_id", *ledger.PLANNED)]
    changes = ", ".join(f"{c} = s.{c}" for c in outcome)
    chosen = "IN (SELECT unnest(?::VARCHAR[]))"
    con.execute(
        f"UPDATE cell SET {changes} FROM {source}.cell s WHERE cell.cell_id = s.cell_id AND s.cell_id {chosen}", [cells]
    )
    con.execute(
        f"INSERT INTO cell BY NAME SELECT * FROM {source}.cell s WHERE cell_id {chosen}"
        " AND cell_id NOT IN (SELECT cell_id FROM cell)",
        [cells],
    )
    for table in CELL_TABLES:
        con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {source}.{table} WHERE cell_id {chosen}", [cells])


def _keep_apart(con: DuckDBPyConnection, source: str, cell_id: str, origin: str) -> str:
    """The id under which a cell of the source stands beside ours: its origin is among its keys, and in its name."""
    other = hashlib.sha256(f"{cell_id}@{origin}".encode()).hexdigest()[:24]
    con.execute(
        f"INSERT INTO cell BY NAME SELECT * REPLACE ($other AS cell_id, name || '@' || $origin AS name,"
        " map_concat(keys, MAP {'origin': $origin}) AS keys, hash_version || '@' || $origin AS hash_version)"
        f" FROM {source}.cell WHERE cell_id = $cell",
        {"other": other, "origin": origin, "cell": cell_id},
    )
    for table in CELL_TABLES:
        con.execute(
            f"INSERT INTO {table} BY NAME SELECT * REPLACE (? AS cell_id) FROM {source}.{table} WHERE cell_id = ?",
            [other, cell_id],
        )
    return other


def _registrations(con: DuckDBPyConnection, source: str, path: Path) -> list[str]:
    """The hashes of the registrations that are new or changed by the source.

    The same text registered on both sides keeps its earliest time, and the larger number of cells that were done by then:
    it was registered before the data only if it was so on both sides.
    """
    shared = con.execute(
        f"SELECT o.hash FROM registration o JOIN {source}.registration s USING (hash) WHERE s.registered < o.registered"
        " OR s.cells_done > o.cells_done OR s.amendment > o.amendment"
    ).fetchall()
    con.execute(
        "UPDATE registration SET registered = least(registration.registered, s.registered),"
        " cells_done = greatest(registration.cells_done, s.cells_done), amendment = registration.amendment OR s.amendment"
        f" FROM {source}.registration s WHERE registration.hash = s.hash"
    )
    new = con.execute(
        f"INSERT INTO registration BY NAME SELECT * FROM {source}.registration s"
        " WHERE hash NOT IN (SELECT hash FROM registration) RETURNING hash"
    ).fetchall()
    forked = con.execute(
        "SELECT hypothesis, list(hash[1:12] ORDER BY registered) FROM registration r"
        " WHERE NOT EXISTS (SELECT 1 FROM registration s WHERE s.parent = r.hash) GROUP BY 1 HAVING count(*) > 1 ORDER BY 1"
    ).fetchall()
    if forked:
        name, hashes = forked[0]
        raise VerificationError(
            f"{path}: {name} is registered with another text there ({', '.join(hashes)})",
            hint="one text has to replace the other: register both, in one order, in both databases before they are merged",
        )
    return [row[0] for row in (*shared, *new)]


def _recounted(con: DuckDBPyConnection) -> list[str]:
    """The hashes of registrations that say less than the joined data: cells were finished before their time.

    A text that was registered where there were no data has still come after those that were there elsewhere.
    """
    rows = con.execute(
        "UPDATE registration SET cells_done = n, amendment = amendment OR parent IS NOT NULL FROM"
        " (SELECT r.hash AS key, count(*) AS n FROM registration r JOIN cell c ON list_contains(r.reaches, c.case_name)"
        " AND c.state IN ('done', 'refused') AND c.finished <= r.registered GROUP BY r.hash) WHERE hash = key AND n > cells_done"
        " RETURNING hash"
    ).fetchall()
    return [row[0] for row in rows]


def _runs(con: DuckDBPyConnection, source: str) -> dict[str, list[str]]:
    """The runs that are new or have ended since, with their settings."""
    ended = con.execute(
        f"SELECT o.run_id FROM run o JOIN {source}.run s USING (run_id) WHERE o.ended IS NULL AND s.ended IS NOT NULL"
    ).fetchall()
    con.execute(
        f"UPDATE run SET ended = s.ended, state = s.state FROM {source}.run s"
        " WHERE run.run_id = s.run_id AND run.ended IS NULL AND s.ended IS NOT NULL"
    )
    new = con.execute(
        f"INSERT INTO run BY NAME SELECT * FROM {source}.run WHERE run_id NOT IN (SELECT run_id FROM run) RETURNING run_id"
    ).fetchall()
    ids = [row[0] for row in new]
    con.execute(
        f"INSERT INTO setting BY NAME SELECT * FROM {source}.setting WHERE run_id IN (SELECT unnest(?::VARCHAR[]))",
        [ids],
    )
    return {"run": [*ids, *(row[0] for row in ended)], "setting": ids}


def _catalogues(con: DuckDBPyConnection, source: str, path: Path, described: Sequence[Catalogue]) -> None:
    """Adds what the source says about its cases to what is known of them."""
    clash = con.execute(
        # A metric may have several entries, one per group of arms or labels: each has to agree with one of those known.
        f"SELECT DISTINCT s.case_name || '/' || s.metric FROM {source}.metric s"
        " SEMI JOIN metric o USING (case_name, block, metric)"
        " WHERE NOT EXISTS (SELECT 1 FROM metric k WHERE (k.case_name, k.block, k.metric) = (s.case_name, s.block, s.metric)"
        " AND k.better IS NOT DISTINCT FROM s.better AND k.unit IS NOT DISTINCT FROM s.unit) ORDER BY 1"
    ).fetchall()
    if clash:
        raise VerificationError(
            f"{path}: the catalogue describes {clash[0][0]} with another direction or unit",
            hint="both databases have to mean the same by a metric; compare their tables metric",
        )
    for one in described:
        catalogue.store(con, one)


def _others(con: DuckDBPyConnection, source: str) -> dict[str, list[str]]:
    """The keys, by table, of all else the source holds: rows that are not there yet are added."""
    kept: dict[str, list[str]] = {}
    # Only tables that the package makes: a table of the user's own stays where it is.
    for table in sorted(shipped_tables(migrate.schema_version(con))):
        if table not in OWN_RULES:
            con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {source}.{table} EXCEPT SELECT * FROM {table}")
            if table in ledger.PARTS:
                key = ledger.PARTS[table].key
                found = con.execute(f"SELECT DISTINCT {key} FROM {source}.{table} ORDER BY 1").fetchall()
                kept[table] = [row[0] for row in found]
    return kept


def _histories(con: DuckDBPyConnection, source: str) -> list[dict[str, object]]:
    """Copies the branches of the source that are not here yet; for each its branch here, last hash and length."""
    known = {e.hash for e in ledger.entries(con)}
    highest = con.execute("SELECT coalesce(max(branch), 0) FROM ledger").fetchall()[0][0]
    found = con.execute(
        f"SELECT branch, arg_max(hash, sequence), count(*) FROM {source}.ledger GROUP BY 1 ORDER BY 1"
    ).fetchall()
    histories: list[dict[str, object]] = []
    for branch, head, length in found:
        if head in known:
            continue
        highest += 1
        for table in ("ledger", "ledger_item"):
            con.execute(
                f"INSERT INTO {table} BY NAME SELECT * REPLACE (?::INTEGER AS branch) FROM {source}.{table} WHERE branch = ?",
                [highest, branch],
            )
        histories.append({"branch": highest, "head": head, "entries": length})
    return histories
