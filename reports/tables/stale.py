"""Which numbers of a paper are no longer those of the database: definitions, uses and table files against what would be written now."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orledger.errors import UsageError
from orledger.reports.tables.latex import remark
from orledger.reports.tables.numbers import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from orledger.reports.tables.numbers import NumberMacro

DEFINITION = re.compile(
    rf"\\(?:re)?(?:newcommand|providecommand)\*?\s*\{{?\\({PREFIX}[A-Za-z]+)\}}?\s*\{{|\\def\s*\\({PREFIX}[A-Za-z]+)\s*\{{"
)
USE = re.compile(rf"\\({PREFIX}[A-Z][A-Za-z]*)")
PLACED = re.compile(rf"^% (table .*)\n(?:% .*\n)*\\newcommand{{\\({PREFIX}[A-Za-z]+)}}", re.MULTILINE)
INPUT = re.compile(r"\\(?:input|include)\s*\{([^}]+)\}")
TABLE_HEAD = re.compile(r"\A% orledger table ([\w-]+)\n% database ([0-9a-f]+)")


@dataclass(frozen=True)
class Stale:
    """A number or a table file that differs from the database, or a name that means another number: what the manuscript has, and what there is now."""

    name: str
    file: str
    written: str
    current: str


@dataclass(frozen=True)
class StaleCheck:
    """What a check of a paper found; ``clean`` when nothing that it prints is stale, undefined or missing."""

    used: tuple[str, ...]
    stale: tuple[Stale, ...] = ()
    undefined: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    moved: tuple[Stale, ...] = ()
    missing_files: tuple[str, ...] = ()
    files: tuple[str, ...] = field(default=())
    tables: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """True when the manuscript holds no macro and no table of a database, so that nothing in it was checked."""
        return not self.used and not self.tables

    @property
    def clean(self) -> bool:
        """True when everything the manuscript prints is what the database says."""
        return not (self.stale or self.undefined or self.unwritten or self.moved)


def read_sources(paper: Path) -> tuple[dict[Path, str], list[str]]:
    """The text of ``paper`` and of every file it inputs (paths relative to it), and the names of those that are absent."""
    if not paper.is_file():
        raise UsageError(f"no paper at {paper}", hint="give the main .tex file")
    texts: dict[Path, str] = {}
    missing: list[str] = []
    todo = [paper]
    while todo:
        path = todo.pop(0)
        if path in texts:
            continue
        texts[path] = path.read_text(encoding="utf-8", errors="replace")
        for name in INPUT.findall(_without_comments(texts[path])):
            target = paper.parent / name.strip()
            target = target if target.suffix else target.with_suffix(".tex")
            if target.is_file():
                todo.append(target)
            else:
                missing.append(name.strip())
    return texts, missing


def definitions(text: str) -> dict[str, str]:
    """The bodies of the macros that ``text`` defines."""
    found = {}
    for match in DEFINITION.finditer(text):
        depth, at = 1, match.end()
        while at < len(text) and depth:
            if text[at] == "\\":
                at += 1
            else:
                depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        found[match.group(1) or match.group(2)] = text[match.end() : at - 1]
    return found


def check(paper: Path, current: Iterable[NumberMacro], tables: Mapping[str, str], database: str) -> StaleCheck:
    """Compare ``paper`` with the macros and the table files that the database gives now.

    ``tables`` maps a table's name to the LaTeX that would be written; a table file whose content differs is stale.
    """
    current = list(current)
    places = {m.name: m.place for m in current}
    now = {m.name: m.body for m in current} | {f"{PREFIX}Database": rf"\texttt{{{database[:16]}}}"}
    texts, missing = read_sources(paper)
    stale: list[Stale] = []
    moved: list[Stale] = []
    defined: set[str] = set()
    used: dict[str, None] = {}
    input_tables: list[str] = []
    for path, text in texts.items():
        head = TABLE_HEAD.match(text)
        if head:
            input_tables.append(head.group(1))
            if head.group(1) in tables and tables[head.group(1)] != text:
                stale.append(
                    Stale(
                        f"table {head.group(1)}",
                        str(path),
                        f"database {head.group(2)[:16]}",
                        f"database {database[:16]}",
                    )
                )
            continue
        moved += [
            Stale(name, str(path), place, places[name])
            for place, name in PLACED.findall(text)
            if name in places and _ascii(place) != _ascii(remark(places[name])[2:])
        ]
        bare = _without_comments(text)
        here = definitions(bare)
        defined |= set(here)
        stale += [Stale(n, str(path), b, now[n]) for n, b in here.items() if n in now and now[n] != b]
        rest = DEFINITION.sub("", bare)
        used |= dict.fromkeys(USE.findall(rest))
    undefined = tuple(n for n in used if n not in now)
    unwritten = tuple(n for n in used if n in now and n not in defined)
    # A definition that the database no longer has matters only where it is printed, and is then undefined above.
    unused = tuple(n for n in now if n not in used)
    return StaleCheck(
        tuple(used),
        tuple(stale),
        undefined,
        unwritten,
        unused,
        tuple(m for m in moved if m.name in used),
        tuple(missing),
        tuple(str(p) for p in texts),
        tuple(input_tables),
    )


def _ascii(text: str) -> str:
    """``text`` as files of earlier versions have it."""
    return re.sub(r"[^\x20-\x7e]", "?", text)


def _without_comments(text: str) -> str:
    return re.sub(r"(?<!\\)((?:\\\\)*)%.*", r"\1", text)
