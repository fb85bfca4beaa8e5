"""Faults put into a copy of the package, one at a time: which of them does no test notice?

``python tests/mutants/run.py`` makes an installed copy in build/mutants and puts the mutants there, one after the other.
The work tree is never touched. Tests are collected once for every target and run in forks; of a mutant only those run
that execute its line. What became of a mutant is kept in out/mutants.jsonl and stands until its module changes;
survivors are tried again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import making
from bench import Bench, Clean, collect
from forks import Tell, allow_cpu, messages
from making import COPY, ROOT, SCRATCH, Mutant, copied, difference, source, toml, written
from swapping import swappable

OPTIONS = ("-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}")
OPTIONS = (*OPTIONS, f"--basetemp={SCRATCH / 'tests'}")
LOG = str(SCRATCH / "fresh.txt")


class Kept:
    """What became of mutants, in a file of lines; a mutant of a module that has changed since is unknown."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.rows = {(r["name"], r["digest"]): r for r in map(json.loads, lines)}

    def of(self, mutant: Mutant) -> dict[str, Any] | None:
        return self.rows.get((mutant.name, making.digest(mutant.module)))

    def add(self, mutant: Mutant, row: dict[str, Any]) -> None:
        row = {"name": mutant.name, "digest": making.digest(mutant.module), "folder": mutant.folder, **row}
        self.rows[row["name"], row["digest"]] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def fresh(tests: list[str], seconds: float) -> str | None:
    """The first test that fails when the copy is imported anew, in a fork that has only the packages of others."""

    def work(tell: Tell) -> None:
        class Stop:
            def pytest_runtest_logstart(self, nodeid: str) -> None:
                tell({"begins": nodeid})

            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.failed:
                    tell({"failed": report.nodeid})

        allow_cpu(20 + 5 * seconds)
        os.chdir(ROOT)
        code = collect(tests, Stop(), OPTIONS)
        if code != 0:
            tell({"failed": f"pytest ends with {code}"})

    at = "the import"
    for m in messages(work, LOG, 600):
        if "failed" in m:
            return str(m["failed"])
        if "begins" in m:
            at = m["begins"]
        elif m["ended"] != "ok":
            return str(at)
    return None


def chosen(only: tuple[str, ...], names: list[str]) -> bool:
    return not only or any(o in name for o in only for name in names)


def by_hand(only: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    """The faults of faults.toml, each in place of the text that it replaces, and the test that notices it."""
    for row in toml("faults.toml")["fault"]:
        if chosen(only, [row["name"]]):
            before = source(row["module"])
            if before.count(row["replace"]) != 1:
                times = before.count(row["replace"])
                raise click.UsageError(f"fault {row['name']!r}: its text stands {times} times in {row['module']}")
            with written(row["module"], before.replace(row["replace"], row["by"])):
                yield row["name"], fresh(row["tests"], 60)


def judge(target: dict[str, Any], wanted: list[Mutant], spend: float, until: float) -> Iterator[dict[str, Any]]:
    """What becomes of each mutant of a target: the test that notices it, or None."""
    texts = [(i, m, m.text) for i, m in enumerate(wanted)]
    inside = [(i, m, t) for i, m, t in texts if t is not None and swappable(source(m.module), t)]
    outside = [(i, m, t) for i, m, t in texts if t is not None and not swappable(source(m.module), t)]
    reached: dict[str, list[str]] = {}

    def work(tell: Tell) -> None:
        def loop(bench: Bench) -> None:
            clean: Clean = bench.measured(ROOT / "out" / "mutants-lines", making.digest_of_all)
            for module in target["modules"]:
                tests = {t for found in clean.lines.get(str(copied(module)), {}).values() for t in found}
                cheap = sorted(tests, key=lambda t: (clean.seconds[t], t))
                tell({"module": module, "tests": clean.affordable(cheap, spend)})
            tell({"cost": sum(clean.seconds.values()), "tests": len(clean.seconds)})
            for i, m, text in inside:
                if time.monotonic() > until:
                    return
                with written(m.module, text):
                    start = os.times()
                    found, tried = bench.killer(str(copied(m.module)), source(m.module), text, m.line, clean)
                    end = os.times()
                cpu = end.children_user + end.children_system - start.children_user - start.children_system
                tell({"mutant": i, "killer": found, "tried": tried, "cpu": round(cpu, 2)})

        os.chdir(ROOT)
        tests, bench = (
            toml("targets.toml")["tests"][target["tests"]],
            Bench(loop, SCRATCH, spend, target.get("ready", ())),
        )
        if code := collect(tests, bench, OPTIONS):
            raise RuntimeError(f"pytest ends with {code}")

    for m in messages(work, str(SCRATCH / "collecting.txt"), 1200):
        if "module" in m:
            reached[m["module"]] = m["tests"]
        elif "cost" in m:
            click.echo(f"  {m['tests']} tests, {m['cost']:.0f} s of processor time with their lines traced")
        elif "mutant" in m:
            yield m
        elif m["ended"] != "ok" or not reached:
            raise click.ClickException(f"{target['folder']} ended with {m['ended']}: see {SCRATCH}/collecting.txt")
    for i, m, text in outside:
        if time.monotonic() > until:
            return
        tests = reached[m.module]
        start = os.times()
        with written(m.module, text):
            found = fresh(tests, spend) if tests else None
        end = os.times()
        cpu = end.children_user + end.children_system - start.children_user - start.children_system
        yield {"mutant": i, "killer": found, "tried": len(tests), "cpu": round(cpu, 2)}


def told(rows: list[tuple[str, int, list[Mutant]]], kept: Kept) -> None:
    """Every survivor, and a line for every folder; its score is the share killed of those tried that are not equivalent."""
    same = {(e["module"], e["before"], e["after"]) for e in toml("equivalent.toml").get("equivalent", [])}
    lines: dict[str, list[int]] = {}
    for folder, total, drawn in rows:
        line = lines.setdefault(folder, [0, 0, 0, 0, 0])
        line[2] += total
        for m in drawn:
            row = kept.of(m)
            if row is None:
                continue
            line[1] += 1
            line[0] += row["killer"] is not None
            if row["killer"] is None:
                equal = (m.module, row["before"], row["after"]) in same
                line[3 if equal else 4] += 1
                if not equal:
                    click.echo(f"survived: {m.module}:{m.line} {m.operator} (tests tried: {row['tried']})")
                    click.echo(f"  - {row['before']}\n  + {row['after']}")
    click.echo(
        "| folder | killed | tried | mutants there are | equivalent | survivors | score |\n|---|---|---|---|---|---|---|"
    )
    for folder, line in lines.items():
        killed, tried, _, equal, _ = line
        score = f"{100 * killed / (tried - equal):.1f} %" if tried > equal else "none"
        click.echo(f"| {folder} | {' | '.join(map(str, line))} | {score} |")


@click.command()
@click.option("--number", default=100, show_default=True, help="Mutants drawn of a target that has many.")
@click.option("--seed", default=making.SEED, show_default=True, help="Another seed draws other mutants.")
@click.option("--whole", default=250, show_default=True, help="A target with fewer mutants than this is tried whole.")
@click.option(
    "--folder", "only", multiple=True, help="Targets whose folder or module, or faults whose name, has this in it."
)
@click.option("--faults/--no-faults", default=True, help="Also the faults that were made by hand.")
@click.option("--mutants/--no-mutants", default=True, help="Also the mutants of cosmic-ray.")
@click.option("--spend", default=20.0, show_default=True, help="Processor seconds of tests that a mutant is worth.")
@click.option("--minutes", default=600.0, show_default=True, help="No mutant begins after this time.")
@click.option(
    "--out", default=str(ROOT / "out" / "mutants.jsonl"), show_default=True, help="What became of every mutant."
)
@click.option("--again/--no-again", default=True, help="Also those that survived an earlier run.")
@click.option("--verbose", is_flag=True, help="A line for every mutant.")
def main(
    number: int,
    seed: int,
    whole: int,
    only: tuple[str, ...],
    faults: bool,
    mutants: bool,
    spend: float,
    minutes: float,
    out: str,
    again: bool,
    verbose: bool,
) -> None:
    """Counts the faults that the tests notice, and shows those that they do not."""
    until = time.monotonic() + 60 * minutes
    os.environ["PYTHONPATH"] = str(COPY)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(COPY))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = "1"
    making.make_copy()
    for name in ("numpy", "scipy.stats", "scipy.optimize", "duckdb", "polars", "jinja2"):
        __import__(name)
    if faults:
        found = list(by_hand(only))
        for name, killer in found:
            if killer is None:
                click.echo(f"survived: {name}")
        click.echo(f"by hand: {sum(k is not None for _, k in found)} of {len(found)} killed")
    kept = Kept(Path(out))
    rows: list[tuple[str, int, list[Mutant]]] = []
    for target in toml("targets.toml")["target"] if mutants else ():
        if not chosen(only, [target["folder"], *target["modules"]]):
            continue
        there = making.every(target["folder"], target["modules"], seed)
        drawn = [m for m in (there if len(there) < whole else there[:number]) if m.text is not None]
        rows.append((target["folder"], len(there), drawn))
        unknown = [m for m in drawn if kept.of(m) is None or (again and kept.of(m)["killer"] is None)]
        click.echo(f"{target['folder']}: {len(there)} mutants, {len(drawn)} drawn, {len(unknown)} to be tried")
        spent = 0.0
        for row in judge(target, unknown, spend, until) if unknown and time.monotonic() < until else ():
            mutant = unknown[row.pop("mutant")]
            before, after = difference(mutant.module, str(mutant.text))
            kept.add(mutant, {"line": mutant.line, "before": before, "after": after, **row})
            spent += row["cpu"]
            if verbose:
                click.echo(f"  {row['cpu']:6.2f} s {mutant.module}:{mutant.line} {row['killer']} | {after}")
        click.echo(f"  {spent:.0f} s of processor time")
    told(rows, kept)


if __name__ == "__main__":
    main()
