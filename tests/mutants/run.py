"""Faults put into a copy of the package, one at a time: which of them does no test notice?

``python tests/mutants/run.py`` makes an installed copy in build/mutants, changes it there, and runs the tests that
targets.toml names for the changed module against it. The work tree is never touched. First come the faults of
faults.toml, made by hand; then a sample of cosmic-ray's mutants of every target, drawn with a fixed seed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COPY = ROOT / "build" / "mutants"
PACKAGE = COPY / "orledger"
SEED = 20


@dataclass(frozen=True)
class Target:
    """Modules of one folder, by their paths in the repository, and the tests that must notice a change of them."""

    folder: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Mutant:
    """A change of one module and what became of it."""

    folder: str
    module: str
    line: int
    operator: str
    killed: bool
    diff: str


def targets() -> list[Target]:
    rows = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))["target"]
    return [Target(r["folder"], tuple(r["modules"]), tuple(r["tests"])) for r in rows]


def operators() -> frozenset[str]:
    """The names of the mutations that are made; the others only make code that does not run."""
    return frozenset(tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))["operators"])


def make_copy() -> None:
    """Installs the package as it stands into build/mutants; the folders map to one import name only when installed."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(COPY), str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)
    code = "import orledger.audit; print(orledger.audit.__file__)"
    found = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout
    if not Path(found.strip()).is_relative_to(COPY):
        raise click.ClickException(f"the tests would import {found.strip()}, and not the copy in {COPY}")


def copied(module: str) -> Path:
    """Where the copy keeps a module of the repository."""
    path = PACKAGE / module.removeprefix("orledger/")
    if not path.is_file():
        raise click.UsageError(f"{module}: {path} does not exist")
    return path


def command(tests: Sequence[str]) -> str:
    # Without -P the package of the work tree, in the current folder, would be found before the copy.
    return f"{sys.executable} -P -m pytest -x -q -p no:cacheprovider --rootdir {ROOT} {' '.join(str(ROOT / t) for t in tests)}"


def noticed(tests: Sequence[str], seconds: float) -> bool:
    outcome, _ = run_tests(command(tests), seconds)
    return bool(outcome != TestOutcome.SURVIVED)


def by_hand(seconds: float, only: str) -> Iterator[Mutant]:
    """The faults of faults.toml, each in place of the text that it replaces."""
    for row in tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["fault"]:
        if only not in row["name"]:
            continue
        path = copied(row["module"])
        before = path.read_text(encoding="utf-8")
        if before.count(row["replace"]) != 1:
            raise click.UsageError(
                f"fault {row['name']!r}: its text stands {before.count(row['replace'])} times in {path}"
            )
        path.write_text(before.replace(row["replace"], row["by"]), encoding="utf-8")
        try:
            killed = noticed(row["tests"], seconds)
        finally:
            path.write_text(before, encoding="utf-8")
        line = before[: before.index(row["replace"])].count("\n") + 1
        yield Mutant("by hand", row["module"], line, row["name"], killed, f"-{row['replace']}\n+{row['by']}")


def every(target: Target) -> list[tuple[str, MutationSpec]]:
    """All mutants of a target that are worth making, module by module."""
    wanted, found = operators(), []
    for module in target.modules:
        with tempfile.TemporaryDirectory() as folder, use_db(str(Path(folder) / "session"), WorkDB.Mode.create) as db:
            init([copied(module)], db, {})
            specs = [item.mutations[0] for item in db.work_items]
        code = copied(module).read_text(encoding="utf-8").splitlines()
        names = [s for s in specs if s.operator_name.removeprefix("core/") in wanted]
        found += [
            (module, s) for s in names if not code[s.start_pos[0] - 1].lstrip().startswith(("def ", "class ", "@"))
        ]
    return sorted(found, key=lambda f: (f[0], f[1].start_pos, f[1].operator_name, f[1].occurrence))


def sampled(target: Target, number: int, seconds: float) -> Iterator[Mutant | int]:
    """First how many mutants the target has, then ``number`` of them, drawn with the fixed seed."""
    found = every(target)
    yield len(found)
    if noticed(target.tests, 10 * seconds):
        raise click.ClickException(f"{target.folder}: its tests fail without any change")
    for module, spec in random.Random(SEED).sample(found, min(number, len(found))):
        result = mutate_and_test([spec], command(target.tests), seconds)
        yield Mutant(
            target.folder, module, spec.start_pos[0], spec.operator_name, bool(result.is_killed), str(result.diff)
        )


@click.command()
@click.option(
    "--number", default=40, show_default=True, help="Mutants of every target; 0 for the faults by hand alone."
)
@click.option("--folder", "only", default="", help="Targets whose folder, or faults whose name, has this in it.")
@click.option("--seconds", default=120.0, show_default=True, help="A mutant that runs longer than this is killed.")
@click.option(
    "--out", default=str(ROOT / "out" / "mutants.json"), show_default=True, help="Where every mutant is kept."
)
def main(number: int, only: str, seconds: float, out: str) -> None:
    """Counts the faults that the tests notice, and shows those that they do not."""
    os.environ["PYTHONPATH"] = str(COPY)
    make_copy()
    kept: list[Mutant] = []

    def tell(mutant: Mutant) -> None:
        kept.append(mutant)
        if not mutant.killed:
            click.echo(f"survived: {mutant.module}:{mutant.line} {mutant.operator}\n{mutant.diff}")

    for mutant in by_hand(seconds, only):
        tell(mutant)
    totals = {"by hand": len(kept)}
    for target in targets() if number else ():
        if only in target.folder:
            made = sampled(target, number, seconds)
            totals[target.folder] = totals.get(target.folder, 0) + int(str(next(made)))
            for mutant in made:
                assert isinstance(mutant, Mutant)
                tell(mutant)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps([vars(m) for m in kept], indent=1), encoding="utf-8")
    for folder, total in totals.items():
        mine = [m for m in kept if m.folder == folder]
        click.echo(f"{folder}: {sum(m.killed for m in mine)} of {len(mine)} killed, of {total} that there are")


if __name__ == "__main__":
    main()
