"""Two synthetic databases for all report tests of a run; tests that change a database take a copy or build their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import duckdb
import pytest
import synthetic_db

from orledger import studies
from orledger.reports import notices
from orledger.reports.audit_rows import AuditRows
from orledger.reports.report.document import render_report
from orledger.reports.source import Remembering, database_hash
from orledger.reports.tables.building import build, offered
from orledger.reports.tables.table import Table
from orledger.schema.exchange import import_folder

CORPUS = Path(__file__).parents[2] / "docs" / "results" / "corpus"


@pytest.fixture(scope="session")
def synthetic(made_once):
    """A full database, not audited; read it, do not change it."""
    return synthetic_db.Adapter(
        duckdb.connect(str(made_once("synthetic/results.duckdb", synthetic_db.make_filled)), read_only=True)
    )


@pytest.fixture(scope="session")
def audited_file(made_once) -> Path:
    """The file of ``audited``, for a copy that a test may change."""
    return made_once("audited/results.duckdb", synthetic_db.make_audited)


@pytest.fixture(scope="session")
def audited(audited_file):
    """A full database with the shipped hypotheses registered before the data and audited, and hostile refusal reasons."""
    return synthetic_db.Adapter(duckdb.connect(str(audited_file), read_only=True))


def kept(where: dict[str, Table], name: str, make: Callable[[], Table]) -> Table:
    """What ``make`` returned when it was first asked for ``name``."""
    if name not in where:
        where[name] = make()
    return where[name]


class Tables(Mapping[str, Table]):
    """The tables of a database by name, each built when it is asked for: a test of one of them waits for no other."""

    def __init__(self, results: synthetic_db.Adapter) -> None:
        here, self.once = studies.present(results), Remembering(results)
        self.specs = offered(self.once, here)
        self.options = {
            "labels": studies.labels(here), "database": database_hash(results), "audit": AuditRows(self.once)
        }  # fmt: skip
        self.built: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        return kept(self.built, name, lambda: build(self.specs[name], self.once, **self.options))

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)


@pytest.fixture(scope="session")
def audited_tables(audited) -> Mapping[str, Table]:
    """Every table of the audited database by its name."""
    return Tables(audited)


@pytest.fixture(scope="session")
def report(made_once, audited) -> Path:
    """The report of the audited database, with two of its figures."""
    text = partial(render_report, audited, figures=["Aprofile", "Cinv"])
    return made_once("report/report.html", lambda path: path.write_text(text(), encoding="utf-8"))


@pytest.fixture
def past_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a database whose rows a test writes itself: the commands do not ask whether it was changed without orledger."""
    monkeypatch.setattr(notices, "changed", lambda _: "")


@pytest.fixture(scope="session")
def corpus(made_once) -> Path:
    """The reference corpus as a database; not to be changed."""
    return made_once("corpus/results.duckdb", lambda path: import_folder(CORPUS, path))
