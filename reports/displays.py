"""Declared tables and figures against the data: every name that a study.toml gives is found in the database, or is an error."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.reports.source import Database
    from orledger.study import Study
    from orledger.study_displays import FigureDisplay, TableDisplay

METRICS = "SELECT case_name, block, metric, better, idx IS NOT NULL, description FROM metric ORDER BY ALL"
KEYS = "SELECT case_name, block, key FROM key ORDER BY case_name, block, position"
ARMS = "SELECT case_name, arm FROM arm ORDER BY case_name, position"


@dataclass(frozen=True)
class CatalogueMetric:
    """What the catalogue says of a metric."""

    name: str
    better: str | None
    indexed: bool
    description: str


@dataclass(frozen=True)
class CatalogueBlock:
    """One block of a case: its keys in order, its arms, and the metrics by name."""

    case: str
    block: str
    keys: tuple[str, ...]
    arms: tuple[str, ...]
    metrics: dict[str, CatalogueMetric]
    said: str  # file and table that ask for it

    def require(self, kind: str, name: str, known: Iterable[str]) -> None:
        """An error with a suggestion unless ``name`` is among ``known``."""
        require(self.said, kind, name, known)


def place(results: Database, study: Study, display: TableDisplay | FigureDisplay) -> CatalogueBlock:
    """Where the numbers of ``display`` are; an error that names what does not occur in the data, with the nearest name."""
    own = [c.name for c in study.cases]
    if display.case is None and len(own) != 1:
        raise UsageError(f"{display.place}: which case?", hint=f"case = one of {', '.join(own)}")
    case = display.case or own[0]
    require(display.place, "case", case, own)
    metrics = [row for row in results.sql(METRICS).iter_rows() if row[0] == case]
    wanted = display.metrics if hasattr(display, "metrics") else (display.metric,)
    for name in wanted:
        require(display.place, "metric", name, [row[2] for row in metrics])
    blocks = [b for b in dict.fromkeys(row[1] for row in metrics) if {r[2] for r in metrics if r[1] == b} >= {*wanted}]
    if display.block is not None:
        require(display.place, "block", display.block, dict.fromkeys(row[1] for row in metrics))
    elif len(blocks) != 1:
        found = f"in {', '.join(blocks)}" if blocks else "together in no block"
        raise UsageError(f"{display.place}: {', '.join(wanted)} stands {found}", hint="name one with block = ...")
    block = display.block or blocks[0]
    return CatalogueBlock(
        case,
        block,
        tuple(k for c, b, k in results.sql(KEYS).iter_rows() if (c, b) == (case, block)),
        tuple(a for c, a in results.sql(ARMS).iter_rows() if c == case),
        {m: CatalogueMetric(m, better, idx, text) for _, b, m, better, idx, text in metrics if b == block},
        display.place,
    )


def require(said: str, kind: str, name: str, known: Iterable[str]) -> None:
    """An error with a suggestion unless ``name`` is among ``known``."""
    names = list(dict.fromkeys(known))
    if name in names:
        return
    near = get_close_matches(name, names, 1)
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise UsageError(
        f"{said}: no {kind} {name!r} in the data",
        hint=(f"did you mean {near[0]!r}? " if near else "") + f"there are: {listed or 'none'}",
    )
