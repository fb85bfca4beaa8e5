"""The copy of the package that is changed, and the mutants that cosmic-ray can make of a module."""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB, use_db

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRATCH = ROOT / "build" / "mutants"
COPY = SCRATCH / "site"
SEED = 20


@dataclass(frozen=True)
class Mutant:
    """One change of a module: the operator of cosmic-ray, its place, and which of its occurrences it is."""

    folder: str
    module: str
    line: int
    operator: str
    occurrence: int
    arguments: tuple[tuple[str, Any], ...]

    @property
    def name(self) -> str:
        return f"{self.module} {self.operator} {self.occurrence} {dict(self.arguments)}"

    def rank(self, seed: int) -> str:
        """Its place in the draw: the same whatever else is in the draw."""
        return hashlib.sha256(f"{seed} {self.name}".encode()).hexdigest()

    @functools.cached_property
    def text(self) -> str | None:
        """The module with the change; None when there is none, or when it is no Python."""
        operator = get_operator(self.operator)(**dict(self.arguments))
        found = mutate_code(source(self.module), operator, self.occurrence)
        try:
            same = found is None or ast.dump(ast.parse(found)) == _dumped(self.module)
        except SyntaxError:
            return None
        return None if same else str(found)


def toml(name: str) -> Any:
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))


def _digest_under(*folders: Path) -> str:
    """Of the names and contents of all files in the folders, whatever Python compiled of them aside."""
    found = hashlib.sha256()
    for path in sorted(p for f in folders for p in f.rglob("*") if p.is_file() and p.suffix != ".pyc"):
        found.update(f"{path}\x1f".encode() + path.read_bytes())
    return found.hexdigest()


def make_copy() -> None:
    """Installs the package as it stands, or leaves a copy of it that is there and untouched.

    The folders map to one import name only when installed."""
    settings = ROOT / "pyproject.toml"
    folders = set(tomllib.loads(settings.read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"].values())
    stamp = SCRATCH.with_suffix(".stamp")
    wanted = _digest_under(*(ROOT / f for f in folders)) + settings.read_text(encoding="utf-8")
    if COPY.is_dir() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted + _digest_under(COPY):
        for place in SCRATCH.iterdir():
            shutil.rmtree(place) if place.is_dir() and place != COPY else place.is_file() and place.unlink()
    else:
        _install()
        stamp.write_text(wanted + _digest_under(COPY), encoding="utf-8")


def _install() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(COPY), str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)
    code = "import orledger.audit; print(orledger.audit.__file__)"
    found = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout
    if not Path(found.strip()).is_relative_to(COPY):
        raise click.ClickException(f"the tests would import {found.strip()}, and not the copy in {COPY}")


def copied(module: str) -> Path:
    """Where the copy keeps a file of the repository."""
    path = COPY / "orledger" / module.removeprefix("orledger/").replace("docs/examples/", "examples/")
    if not path.is_file():
        raise click.UsageError(f"{module}: {path} does not exist")
    return path


@functools.cache
def source(module: str) -> str:
    return copied(module).read_text(encoding="utf-8")


@functools.cache
def _dumped(module: str) -> str:
    return ast.dump(ast.parse(source(module)))


@functools.cache
def digest(module: str) -> str:
    return hashlib.sha256(source(module).encode()).hexdigest()[:16]


@functools.cache
def digest_of_all(tests: str) -> str:
    """Of the whole package as installed, of a file of tests and of what tests share."""
    shared = [p for p in sorted((ROOT / "tests").rglob("*.py")) if not p.name.startswith("test_")]
    files = [*sorted(p for p in (COPY / "orledger").rglob("*") if p.suffix != ".pyc"), *shared, ROOT / tests]
    found = hashlib.sha256()
    for path in files:
        if path.is_file() and HERE not in path.parents:
            found.update(path.read_bytes())
    return found.hexdigest()[:24]


@contextmanager
def written(module: str, text: str) -> Iterator[None]:
    """The copy has ``text`` for its file meanwhile, which processes that tests start read; its times stay old."""
    path, before = copied(module), source(module)
    times = path.stat()
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def difference(module: str, text: str) -> tuple[str, str]:
    """The lines that a mutant takes away and those it puts there, without the space around them."""
    changed = list(difflib.ndiff(source(module).splitlines(), text.splitlines()))
    gone, come = ([c[2:].strip() for c in changed if c.startswith(sign)] for sign in "-+")
    return "\n".join(gone), "\n".join(come)


def every(folder: str, modules: list[str], seed: int = SEED) -> list[Mutant]:
    """All mutants of these modules that are worth making, in the order of the draw that the seed gives."""
    wanted, found = set(toml("targets.toml")["operators"]), []
    for module in modules:
        with tempfile.TemporaryDirectory() as place, use_db(str(Path(place) / "session"), WorkDB.Mode.create) as db:
            init([copied(module)], db, {})
            specs = [item.mutations[0] for item in db.work_items]
        code = source(module).splitlines()
        for s in specs:
            line = s.start_pos[0]
            # What only types read, and the length that a zip asserts, change nothing that runs.
            head = code[line - 1].lstrip().startswith(("def ", "class ", "@", "if TYPE_CHECKING"))
            head |= code[line - 1][: s.start_pos[1]].endswith("strict=")
            before, rest = code[line - 1][: s.start_pos[1]].rstrip(), code[line - 1][s.start_pos[1] :]
            head |= rest.startswith("*") and (not before or before[-1] in "([{,=")  # unpacking, and no product
            if s.operator_name.removeprefix("core/") in wanted and not head:
                arguments = tuple(sorted((s.operator_args or {}).items()))
                found.append(Mutant(folder, module, line, s.operator_name, s.occurrence, arguments))
    return sorted(found, key=lambda m: m.rank(seed))
