"""What reproduces and what does not: a short document, generated from the database, the paper's numbers and a list of known gaps."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from orledger.audit.recheck import CONVENTION, INCONSISTENT, recheck, summary
from orledger.reports.differences import ABSENT, AGREE, VERDICTS, Difference, differences
from orledger.reports.ledger import Ledger, gather
from orledger.reports.render import markdown_inline
from orledger.reports.report import number
from orledger.reports.tables import TABLES, build_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.audit.recheck import Finding
    from orledger.reports.source import Database, Planned

FARTHEST = 3  # differences that a table's line names


@dataclass(frozen=True)
class TableLine:
    """How one table compares with the paper's: counts by verdict, the cells farthest apart, and the numbers of known reasons."""

    name: str
    title: str
    counts: Mapping[str, int]
    total: int
    farthest: tuple[Difference, ...]
    reasons: tuple[int, ...]


@dataclass(frozen=True)
class Convention:
    """Printed numbers that fit one and the same reading, which is not the one stated or usual."""

    name: str
    printed: tuple[str, ...]
    places: tuple[str, ...]


@cache
def paper() -> Mapping[str, Any]:
    """The paper's own conclusions in our words, and the known reasons for differences."""
    return tomllib.loads(files("orledger.reports").joinpath("paper.toml").read_text(encoding="utf-8"))


def table_lines(found: Sequence[Difference]) -> list[TableLine]:
    """One line per table that has counterparts in the paper, in the order of the tables."""
    lines = []
    for name, (_, _, title) in TABLES.items():
        mine = [d for d in found if d.table == name and d.verdict != ABSENT]
        if not mine:
            continue
        apart = sorted(
            (d for d in mine if d.ratio is not None and d.ratio > 0 and d.verdict != AGREE),
            key=lambda d: -max(d.ratio or 1, 1 / (d.ratio or 1)),
        )
        reasons = tuple(i for i, gap in enumerate(paper()["gap"], start=1) if name in gap["tables"])
        lines.append(
            TableLine(name, title, Counter(d.verdict for d in mine), len(mine), tuple(apart[:FARTHEST]), reasons)
        )
    return lines


def conventions(checked: Sequence[Finding]) -> list[Convention]:
    """The numbers whose check needed another convention, by convention, the most frequent first."""
    groups: dict[str, list[Finding]] = {}
    for finding in checked:
        if finding.verdict == CONVENTION:
            groups.setdefault(finding.convention or "", []).append(finding)
    found = [
        Convention(name, tuple(f.printed for f in group), tuple(dict.fromkeys(_paragraph(f.place) for f in group)))
        for name, group in groups.items()
    ]
    return sorted(found, key=lambda c: (-len(c.printed), c.name))


def _paragraph(place: str) -> str:
    """The table or paragraph of a place, without its row, column and title."""
    return place.split(", row ")[0].split(" (")[0]


def short(value: Any) -> str:
    """A number for a sentence: three significant digits, whole numbers whole."""
    return number(value if value is None or float(value).is_integer() else float(f"{value:.3g}"))


def findings(db: Database, database: str, planned: Sequence[Planned] = ()) -> str:
    """The document as Markdown."""
    ledger: Ledger = gather(db)
    found = differences(build_tables(db, planned))
    checked = recheck()
    env = Environment(
        loader=PackageLoader("orledger.templates", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - Markdown: every text goes through its own escape filter
        keep_trailing_newline=True,
    )
    env.filters |= {"text": markdown_inline, "short": short}
    return env.get_template("findings.md.j2").render(
        database=database,
        ledger=ledger,
        paper=paper()["hypothesis"],
        gaps=[gap["reason"] for gap in paper()["gap"]],
        lines=table_lines(found),
        verdicts=[v for v in VERDICTS if v != ABSENT],
        counts=Counter(d.verdict for d in found),
        checked=summary(checked),
        inconsistent=[f for f in checked if f.verdict == INCONSISTENT],
        conventions=conventions(checked),
    )  # fmt: skip
