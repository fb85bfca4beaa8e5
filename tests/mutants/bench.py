"""Tests that are collected once and then run in forks: all of them clean, with what each executes, and few per mutant."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

import coverage
import hypothesis
import pytest
from forks import Tell, allow_cpu, messages
from swapping import in_memory, statement, swap

WARM = ("orledger", "scipy", "sklearn", "statsmodels", "jinja2", "matplotlib", "torch", "numpy")


@dataclass
class Clean:
    """What the tests do without a mutant: processor seconds and lines, of each test with all that its fixtures do."""

    seconds: dict[str, float] = field(default_factory=dict)
    shares: dict[str, dict[str, float]] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)

    def add(self, told: list[Any]) -> None:
        """What a file of tests told; what a shared fixture executes counts for every test that uses it."""
        users: dict[str, set[str]] = {}
        for m in told:
            for context in m.get("seconds", ()):
                users.setdefault(context, set()).add(m["test"])
        for m in told:
            if "test" in m:
                self.shares[m["test"]] = m["seconds"]
                self.seconds[m["test"]] = sum(m["seconds"].values())
            elif "path" in m:
                here = self.lines.setdefault(m["path"], {})
                for line, contexts in m["lines"]:
                    here.setdefault(line, set()).update(t for c in contexts for t in users.get(c, ()))
            elif "modules" in m:
                self.modules.update(m["modules"])

    def affordable(self, tests: Iterable[str], seconds: float) -> list[str]:
        """As many of the tests, in their order, as can be had; a fixture that several share is paid once."""
        chosen, paid, total = [], set(), 0.0
        for test in tests:
            cost = sum(s for context, s in self.shares[test].items() if context not in paid)
            if total + cost <= seconds:
                total += cost
                chosen.append(test)
                paid.update(self.shares[test])
        return chosen

    def covering(self, path: str, wanted: range) -> set[str]:
        """The tests that execute one of these lines."""
        here = self.lines.get(path, {})
        return {test for line in wanted for test in here.get(line, ())}


class Watch:
    """Measures every test, and every fixture that tests share, as a context of its own."""

    def __init__(self, cover: coverage.Coverage) -> None:
        self.cover = cover
        self.stack: list[str] = []
        self.seconds: Counter[str] = Counter()
        self.uses: dict[str, set[str]] = {}
        self.failed: list[str] = []
        self.since = time.process_time()

    def _to(self, context: str | None) -> None:
        now = time.process_time()
        if self.stack:
            self.seconds[self.stack[-1]] += now - self.since
        self.since = now
        if context is None:
            self.stack.pop()
        else:
            self.stack.append(context)
        self.cover.switch_context(self.stack[-1] if self.stack else "")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._to(item.nodeid)
        try:
            return (yield)
        finally:
            self._to(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        if fixturedef.scope == "function":
            return (yield)
        self._to(f"fixture {fixturedef.baseid} {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self._to(None)

    def pytest_runtest_teardown(self, item: Any) -> None:
        known = item._fixtureinfo.name2fixturedefs
        shared = {f"fixture {d[-1].baseid} {n}" for n, d in known.items() if d[-1].scope != "function"}
        self.uses.setdefault(item.nodeid, set()).update(shared)

    def watched(self, kept: Callable[..., Any]) -> Callable[..., Any]:
        """``kept`` of a conftest, with what it makes on demand as a context that belongs to every test that asks for it."""

        def made(where: dict[str, Any], name: str, make: Callable[[], Any]) -> Any:
            self.uses.setdefault(next(c for c in self.stack if not c.startswith("fixture ")), set()).add(
                f"fixture {name}"
            )
            self._to(f"fixture {name}")
            try:
                return kept(where, name, make)
            finally:
                self._to(None)

        return made

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


class Ready:
    """Shared files that mutants of a target have no part in: made once in a fork, and found by all others."""

    def __init__(self, names: Sequence[str], folder: Path) -> None:
        self.places = {name: folder / name for name in names}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        place = self.places.get(fixturedef.argname)
        if place is not None and place.exists():
            fixturedef.func = lambda **_: place
        value = yield
        if place is not None and not place.exists():
            shutil.copyfile(value, place)
        return value


def run_items(items: Sequence[pytest.Item]) -> None:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _measure(items: Sequence[pytest.Item], folder: Path, tell: Tell) -> None:
    cover = coverage.Coverage(data_file=None, include=[str(folder / "*")], config_file=False, branch=False)
    watch = Watch(cover)
    for plugin in items[0].config.pluginmanager.get_plugins():
        if hasattr(plugin, "kept"):  # what a conftest makes when a test first asks for it
            plugin.kept = watch.watched(plugin.kept)
    items[0].config.pluginmanager.register(watch)
    cover.start()
    cover.switch_context("")
    run_items(items)
    cover.stop()
    data = cover.get_data()
    for test in watch.seconds:
        if not test.startswith("fixture "):
            mine = watch.uses.get(test, set())
            tell({"test": test, "seconds": {c: watch.seconds[c] for c in (test, *sorted(mine))}})
    for path in data.measured_files():
        tell({"path": path, "lines": sorted((k, v) for k, v in data.contexts_by_lineno(path).items())})
    tell({"failed": watch.failed, "modules": sorted(sys.modules)})


class Bench:
    """A plugin that collects tests and then, in place of running them, lets ``work`` run them in forks."""

    def __init__(self, work: Any, scratch: Path, seconds: float, ready: Sequence[str] = ()) -> None:
        self.work = work
        self.ready = Ready(ready, scratch)
        self.log = str(scratch / "log.txt")
        self.folder = scratch
        self.seconds = seconds
        self.items: dict[str, pytest.Item] = {}
        self.kills: dict[str, Counter[str]] = {}
        self.sound: dict[str, bool] = {}
        self.held: dict[str, list[FunctionType]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        # A property that fails is enough; the smallest example is not looked for.
        phases = [p for p in hypothesis.Phase if p.name not in ("shrink", "explain")]
        hypothesis.settings.register_profile("mutants", derandomize=True, deadline=None, database=None, phases=phases)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        self.items = {i.nodeid: i for i in session.items if not i.get_closest_marker("skip")}
        for plugin in session.config.pluginmanager.get_plugins():  # what a conftest makes once for all forks
            getattr(plugin, "before_forks", lambda: None)()
        session.config.pluginmanager.register(self.ready)
        for name, place in self.ready.places.items():
            using = [i for i in self.items.values() if name in getattr(i, "fixturenames", ())][:1]
            for m in messages(lambda _, using=using: run_items(using), self.log, 600):
                if m["ended"] != "ok" or not place.exists():
                    raise session.Interrupted(f"{name} could not be made: see {self.log}")
        self.work(self)
        return True

    def measured(self, cache: Path, key: Callable[[str], str]) -> Clean:
        """All tests run once without a mutant, file by file. What they import late is imported here, for later forks."""
        clean = Clean()
        for name in sorted({i.partition("::")[0] for i in self.items}):
            place = cache / f"{key(name)}.json"
            if not place.exists():
                told = list(self._file(name))
                cache.mkdir(parents=True, exist_ok=True)
                place.write_text(json.dumps(told), encoding="utf-8")
            clean.add(json.loads(place.read_text(encoding="utf-8")))
        for module in sorted(clean.modules):
            if module.partition(".")[0] in WARM and not module.startswith("orledger.paper.published"):
                __import__(module)
        # Looked for once and kept from the collector, so that forks share the pages of the parent.
        self.held = in_memory(str(self.folder))
        gc.collect()
        gc.freeze()
        return clean

    def _file(self, name: str) -> Iterator[Any]:
        mine = [i for n, i in self.items.items() if n.partition("::")[0] == name]
        for m in messages(lambda tell: _measure(mine, self.folder, tell), self.log, 1200):
            if m.get("ended", "ok") != "ok":
                raise RuntimeError(f"{name} ended with {m['ended']} without a mutant: see {self.log}")
            if m.get("failed"):
                raise RuntimeError(f"without a mutant fails {m['failed'][0]}: see {self.log}")
            yield m

    def _first_failure(self, chosen: Sequence[pytest.Item], clean: Clean, mutant: tuple[str, str] | None) -> str | None:
        """The first of the tests that fails with the mutant (a path and its text), in a fork; None when all pass."""

        def work(tell: Tell) -> None:
            class Stop:
                def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                    if report.failed:
                        tell({"failed": report.nodeid})
                        sys.stdout.flush()
                        os._exit(0)

            if mutant and not swap(self.held.get(mutant[0], ()), *mutant):
                raise RuntimeError(f"{mutant[0]}: no function of it is in memory")
            chosen[0].config.pluginmanager.register(Stop())
            for item, following in zip(chosen, [*chosen[1:], None], strict=True):
                tell({"begins": item.nodeid})
                allow_cpu(3 + 5 * clean.seconds[item.nodeid])
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

        at = ""
        for m in messages(work, self.log, 300):
            if "begins" in m:
                at = m["begins"]
            elif "failed" in m:
                return str(m["failed"])
            elif m["ended"] != "ok":
                if not at:
                    raise RuntimeError(f"no test began: see {self.log}")
                return at
        return None

    def killer(self, path: str, before: str, after: str, line: int, clean: Clean) -> tuple[str | None, int]:
        """The test that notices the mutant, and how many execute its line; cheap tests and earlier killers go first."""
        kills = self.kills.setdefault(path, Counter())
        cost = clean.seconds
        reached = clean.covering(path, statement(before, line))
        order = sorted(reached, key=lambda t: (-kills[t] / (0.05 + cost[t]), cost[t], t))
        chosen = [self.items[t] for t in clean.affordable(order, self.seconds)]
        found = self._first_failure(chosen, clean, (path, after)) if chosen else None
        if found is not None:
            kills[found] += 1
            if found not in self.sound:
                self.sound[found] = self._first_failure([self.items[found]], clean, None) is None
            if not self.sound[found]:
                raise RuntimeError(f"{found} fails alone without a mutant")
        return found, len(chosen)


def collect(tests: Iterable[str], bench: Bench | None, options: Sequence[str]) -> int:
    """Runs pytest in this process on ``tests``, with the bench in place of its loop."""
    plugins = [bench] if bench else []
    return int(pytest.main([*options, *tests], plugins=plugins))
