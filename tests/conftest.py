"""What all tests share: one numerical thread, the --slow option, and a header that says what is under test."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[_name] = "1"
for _name in [n for n in os.environ if n.startswith("ORLEDGER_")]:
    del os.environ[_name]
os.environ["ORLEDGER_SQL_SECONDS"] = (
    "600"  # no query ends because a busy machine takes long; tests of the limit set their own
)

# Databases are written through to the disk thousands of times: where there is room in memory, the tests do not wait for it.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

import secrets

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]

# Helpers are importable by name: the toy case, here and in the workers that the tests spawn, and what several tests share.
sys.path[:0] = [
    str(ROOT / "tests" / folder) for folder in ("runners/toy", "audit", "explorer", "orledger", "recovery", "reports")
]


# The fast suite draws the same examples every time; the slow one draws new ones and prints their seed. Neither fails
# because a busy machine takes long to draw or to check one.
PATIENT = {"deadline": None, "database": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("fast", derandomize=True, max_examples=50, **PATIENT)
hypothesis.settings.register_profile("slow", print_blob=True, **PATIENT)


def pytest_configure(config: pytest.Config) -> None:
    slow = config.getoption("--slow")
    hypothesis.settings.load_profile("slow" if slow else "fast")
    if slow and config.getoption("hypothesis_seed", None) is None and not hasattr(config, "workerinput"):
        config.option.hypothesis_seed = str(secrets.randbits(32))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")
    parser.addoption("--pages", action="store_true", help="also run the commands of every page of the documentation")


def pytest_report_header(config: pytest.Config) -> str:
    from orledger.runners.host import cpu_model, versions

    found = versions()
    names = ("orledger", "duckdb", "polars", "numpy", "scipy", "torch")
    return ", ".join(f"{name} {found.get(name, 'absent')}" for name in names) + f"; {cpu_model()}"


def repeating(option: object) -> list[str]:
    """The options that draw again what this run drew: its examples, and the order of its tests."""
    examples, order = getattr(option, "hypothesis_seed", None), getattr(option, "random_order_seed", "")
    found = [f"--hypothesis-seed={examples}"] if examples else []
    if getattr(option, "random_order_enabled", False):
        found.append(f"--random-order --random-order-seed={str(order).rpartition(':')[2]}")
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for words in repeating(config.option):
        terminalreporter.write_line(f"to repeat this: {words}")


# The files that take longest come first, so that no process is left with one of them when the others have finished.
LONGEST = (
    "test_auditing.py",
    "test_report.py",
    "test_cheats.py",
    "test_levels.py",
    "test_browser.py",
    "test_fuzz.py",
    "test_cli_study.py",
    "test_tables_missing.py",
    "test_hostile_files.py",
    "test_case_a_run.py",
    "test_figures.py",
    "test_merging.py",
    "test_driver.py",
    "test_opening.py",
    "test_from_frame.py",
    "test_resolution.py",
    "test_viewing.py",
    "test_tables_document.py",
    "test_verdicts_one_can_trust.py",
    "test_cli_verify.py",
    "test_engines.py",
    "test_conformal_ties.py",
    "test_chain.py",
    "test_exchange.py",
    "test_corpus_again.py",
    "test_cli.py",
    "test_against_conic.py",
    "test_cli_behaviour.py",
    "test_hostile_databases.py",
    "test_lake.py",
    "test_regressor.py",
    "test_compare.py",
    "test_front_door.py",
    "test_pages.py",
    "test_docs_commands.py",
    "test_registered_units.py",
    "test_claims.py",
    "test_docs.py",
    "test_stored_study.py",
    "test_devices.py",
    "test_cli_output.py",
    "test_drilldown.py",
    "test_tables_columns.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Of several processes (``-n``), one runs all tests of a file, for what they share; the order of the files is ours."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log) if config.option.dist == "load" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    if config.getoption("--slow"):
        return
    left_out = {"slow": "takes minutes; run with --slow"}
    if not config.getoption("--pages"):
        left_out["pages"] = "the commands of a page; run with --pages, as make docs does"
    for item in items:
        for mark in left_out.keys() & item.keywords:
            item.add_marker(pytest.mark.skip(reason=left_out[mark]))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of collected tests are no garbage: Python need not look through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # a worker ends now, and would look through everything five times more
        gc.unfreeze()


# What tools keep at the top of the tree; nothing else appears there while tests run.
KEPT_BY_TOOLS = {
    "__pycache__",
    ".coverage",
    ".hypothesis",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "build",
    "orledger.egg-info",
    "out",
}


@pytest.fixture(scope="session", autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs the tests outside the work tree: a path that is not absolute, of a test or of a mutant, ends in a folder of its own."""
    before, came_from = set(os.listdir(ROOT)), Path.cwd()
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    yield
    os.chdir(came_from)
    left = set(os.listdir(ROOT)) - before - KEPT_BY_TOOLS
    assert not left, f"a test left {sorted(left)} at the top of the work tree"


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Where a test may put its results database; nothing is there yet."""
    return tmp_path / "results.duckdb"


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """``made_once("x/y.z", make)`` is a file that the first process to ask for it has made; not to be changed.

    Each process has a copy: a command that may write locks a database, and another process could not read it meanwhile.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        path = shared / name
        finished = path.parent.with_suffix(".finished")
        with path.parent.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not finished.exists():
                shutil.rmtree(path.parent, ignore_errors=True)  # of a process that failed
                path.parent.mkdir()
                make(path)
                finished.touch()
        if shared == base:
            return path
        own = base / name
        if not own.parent.exists():
            shutil.copytree(path.parent, own.parent)
        return own

    return made


@pytest.fixture(scope="session", autouse=True)
def _new_databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], None]]:
    """Makes new databases copies of one that this process made, each with a history of its own; the real way to make one."""
    import duckdb

    from orledger.schema import chain, migrate, opening, placing
    from orledger.schema.explaining import translated
    from orledger.schema.layouts import literal
    from orledger.schema.transactions import transaction

    made = tmp_path_factory.mktemp("new") / "empty.duckdb"
    instances: list[duckdb.DuckDBPyConnection] = []

    @contextmanager
    def renewing(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to the file: a new instance of DuckDB would take ten times as long as one that is there."""
        if not instances:
            instances.append(duckdb.connect(config={**opening.WRITING, "threads": 1}))
        with instances[0].cursor() as con:
            con.execute(f"ATTACH {literal(str(path))} AS renewed; USE renewed")
            try:
                yield con
            finally:
                con.execute("USE memory; DETACH renewed")

    shipped = migrate.shipped_migrations()
    real = opening.create

    def copy(path: Path) -> None:
        if migrate.shipped_migrations() != shipped:
            return real(path)
        if not made.exists():
            real(made)
        opening._require_folder(path)
        temporary = placing.temporary_beside(path)
        try:
            shutil.copyfile(made, temporary)
            with translated(path), renewing(temporary) as con, transaction(con):
                con.execute("DELETE FROM ledger")
                chain.begin(con)
            placing.publish(temporary, path)
        finally:
            placing.discard(temporary)
        return None

    opening.create = copy
    yield real
    opening.create = real
    for con in instances:
        con.close()


@pytest.fixture(scope="session", autouse=True)
def _copies() -> Iterator[Callable[..., Any]]:
    """A copy of a database that this process looked through is not looked through again, unless somebody changes it.

    The way to make one that is looked through.
    """
    from orledger.schema import opening

    real = shutil.copy, shutil.copyfile

    def remembering(copy: Callable[..., Any]) -> Callable[..., Any]:
        def copied(source: Any, target: Any, **options: Any) -> Any:
            made = copy(source, target, **options)
            path = Path(source)
            if path.suffix == ".duckdb" and (known := opening._seen_of(path, opening.state(path))) is not None:
                opening._remember(Path(made), opening.state(Path(made)), known.version, known.studies)
            return made

        return copied

    shutil.copy, shutil.copyfile = map(remembering, real)
    yield real[0]
    shutil.copy, shutil.copyfile = real


@pytest.fixture
def really_new(_new_databases: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of how a database is made."""
    from orledger.schema import opening

    monkeypatch.setattr(opening, "create", _new_databases)


@pytest.fixture(scope="session")
def toy_db(made_once: Once) -> Path:
    """A finished toy run of 20 cells; not to be changed."""
    from toy_case import run_toy, toy_plan

    return made_once("toy/results.duckdb", lambda path: run_toy(path, toy_plan(20)))
