"""A small made-up results database that follows the catalogues of the three cases, for tests of reports.

``build(con)`` fills the tables of the core schema with cells of every block, with values from seeded generators:
plausible in sign, size and ordering, equal on every machine, and meaningless. Nothing here is evidence of anything.
Options shrink or change it; ``connect()`` gives an in-memory database and ``Adapter`` the ``.sql`` that reports read.
"""

from __future__ import annotations

import functools
import pickle
import tempfile
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import duckdb
import polars as pl
from database_copies import copied as copied
from database_copies import save as save
from synthetic_a import LEVELS as LEVELS
from synthetic_a import case_a
from synthetic_b import DATASETS, case_b
from synthetic_c import BENCHMARKS as BENCHMARKS
from synthetic_c import case_c
from synthetic_store import Store

from orledger.audit.evaluation.auditing import Audit, examine
from orledger.audit.evaluation.storing import store
from orledger.audit.registry.registration import current_registrations, register_shipped
from orledger.runners.plan import catalogue as declared
from orledger.schema import catalogue, viewing
from orledger.schema.frames import frame
from orledger.schema.layouts import Layout
from orledger.schema.reading import Results

FOUND = "found.pickle"

HOSTILE = "<script>alert('x')</script>\\input{/etc/passwd} 100% a_b & \"q\""


def connect() -> duckdb.DuckDBPyConnection:
    """An in-memory database without cells: every migration applied, and the catalogues of the three cases."""
    con = duckdb.connect()
    folder = files("orledger.schema.migrations")
    for name in sorted(p.name for p in folder.iterdir() if p.name.endswith(".sql")):
        con.sql(folder.joinpath(name).read_text(encoding="utf-8"))
    for case in "abc":
        catalogue.store(con, declared(case))
    viewing.refresh(con)
    return con


@functools.cache
def _template(options: tuple[tuple[str, object], ...]) -> duckdb.DuckDBPyConnection:
    con = connect()
    build(con, **dict(options))
    return con


def filled(**options: object) -> duckdb.DuckDBPyConnection:
    """A database in memory of one's own with what ``build`` makes; the same options are built once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        save(_template(tuple(options.items())), Path(folder) / "saved.duckdb")
        return copied(Path(folder) / "saved.duckdb")


def audit(con: duckdb.DuckDBPyConnection) -> Audit:
    """The audit of a database in memory, with the shipped hypotheses where nothing is registered; its rows are stored."""
    if not current_registrations(con):
        register_shipped(con)
    catalogue.complete_all(con, unless_known=True)
    viewing.refresh(con)
    found = examine(Results(Path("in memory"), con))
    store(con, found, datetime.now(UTC))
    return found


def make_filled(path: Path) -> None:
    """A file with a full database, not audited."""
    con = connect()
    build(con)
    save(con, path)


def make_audited(path: Path) -> None:
    """A file with the shipped hypotheses registered before the data, hostile reasons of refusals, and an audit of all that.

    What the audit found lies beside it.
    """
    con = connect()
    register_shipped(con)
    build(con, noise_stream="per_cell")
    con.execute("UPDATE refusal SET reason = ?", [HOSTILE + " | x |"])
    found = audit(con)
    save(con, path)
    path.with_name(FOUND).write_bytes(pickle.dumps(found))


class Adapter:
    """The reading interface of the reports over a plain connection."""

    path, note = Path("synthetic.duckdb"), None

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con

    def sql(self, query: str, params: object = None) -> pl.DataFrame:
        """The rows of ``query`` as a frame."""
        return frame(self.con.sql(query, params=params) if params is not None else self.con.sql(query))

    def layouts(self) -> list[Layout]:
        """The wide views of every block."""
        return viewing.read(self.con)


PUBLISHED = [
    # a few single-seed values of Table Bgapsurv
    *[
        (
            f"Bgapsurv.{arm}.{metric}.{region}",
            "Table Bgapsurv",
            "Bgapsurv",
            f"{arm} {metric} {region}",
            "single",
            "value",
            printed,
            float(printed),
            float(printed) - 0.005,
            float(printed) + 0.005,
            None,
        )
        for arm, metric, values in (
            ("cp", "coverage", ("0.58", "0.70", "0.43")),
            ("or1", "width", ("1.08", "0.49", "2.08")),
        )
        for region, printed in zip(("gap", "ind", "ext"), values, strict=True)
    ]
]


def build(
    con: duckdb.DuckDBPyConnection,
    *,
    cases: str = "abc",
    a_seeds: int = 5,
    b_seeds: int = 2,
    c_seeds: int = 6,
    gap_seeds: int = 10,
    points: int = 36,
    steps: int = 18,
    cert_levels: tuple[float, ...] = (0.0, 1e-3),
    datasets: tuple[str, ...] = tuple(DATASETS),
    published: bool = True,
    preset: str = "synthetic",
    noise_stream: str | None = None,
) -> None:
    """Fill ``con`` with cells of every block of the named cases, some settings and a few published numbers.

    With ``noise_stream`` per_cell, as in the presets, every cell of Case A has a noise draw of its own.
    """
    store = Store(con)
    if "a" in cases:
        case_a(
            store,
            seeds=a_seeds,
            points=points,
            cert_levels=cert_levels,
            settings={"noise_stream": noise_stream} if noise_stream else {},
        )
    if "b" in cases:
        case_b(store, seeds=b_seeds, points=points, gap_seeds=gap_seeds, datasets=datasets)
    if "c" in cases:
        case_c(store, seeds=c_seeds, steps=steps)
    store.flush(preset)
    for case in cases:
        con.sql(f"INSERT INTO setting VALUES ('run-1', '{case}', 'epochs', '120', true, 'Epochs of the solver.')")
        con.sql(f"INSERT INTO setting VALUES ('run-1', '{case}', 'data_dir', '\"data\"', false, 'Where data are.')")
    if published:
        con.executemany("INSERT INTO published VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", PUBLISHED)
    catalogue.complete_all(con)
    viewing.refresh(con)
