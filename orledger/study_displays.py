"""The tables and figures that a ``study.toml`` declares: what stands in rows and columns, which numbers, and which tests mark them.

Reading checks the form; whether the names occur in the data is checked against a database, by ``orledger.reports``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.toml_tables import TomlTable

STATISTICS = ("mean", "median", "min", "max", "sd", "quartiles", "rank", "n")
KINDS = (
    "critical", "ranks", "forest", "differences", "slopes", "map", "improvement", "profiles", "against", "trajectories",
)  # fmt: skip
ARM, METRIC, STATISTIC = "arm", "metric", "statistic"  # what rows and columns may hold beside keys
FORMAT = re.compile(r"\.([0-9])([fg%])|d")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True)
class Marks:
    """Every arm is marked by the audit's row that compares it with ``against``; ``hypothesis`` says whose row, where several do."""

    against: str
    hypothesis: str | None = None


@dataclass(frozen=True)
class TableDisplay:
    """A table of numbers: ``rows`` and ``columns`` hold keys, ``arm``, ``metric`` and ``statistic``; all other keys are summed up.

    ``where`` narrows the cells, ``arms`` chooses and orders the arms, ``best`` is what competes for bold (``row``, ``column``).
    """

    name: str
    title: str
    metrics: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    statistics: tuple[str, ...] = ("mean",)
    case: str | None = None
    block: str | None = None
    arms: tuple[str, ...] = ()
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    format: str = ""
    best: str | None = None
    marks: Marks | None = None
    caption: str = ""
    place: str = ""  # file and table, for messages


@dataclass(frozen=True)
class FigureDisplay:
    """A figure by its kind and metric; ``key`` is the axis of kind ``against``, ``hypothesis`` says whose tests are drawn."""

    name: str
    title: str
    kind: str
    metric: str
    case: str | None = None
    block: str | None = None
    hypothesis: str | None = None
    key: str | None = None
    place: str = ""


def read_tables(tables: Sequence[TomlTable]) -> tuple[TableDisplay, ...]:
    """The ``[[table]]`` entries of a study file."""
    return tuple(_table(t) for t in _once(tables))


def read_figures(tables: Sequence[TomlTable]) -> tuple[FigureDisplay, ...]:
    """The ``[[figure]]`` entries of a study file."""
    return tuple(_figure(t) for t in _once(tables))


def _table(t: TomlTable) -> TableDisplay:
    where = t.optional("where", lambda w: tuple((key, w.texts(key)) for key in w.data))
    found = TableDisplay(
        name=t.text("name"),
        title=t.text("title", "") or t.text("name"),
        metrics=t.texts("metric"),
        rows=t.texts("rows"),
        columns=t.texts("columns"),
        statistics=t.texts("statistic", ("mean",)),
        case=t.text("case", None),
        block=t.text("block", None),
        arms=t.texts("arms", ()),
        where=where or (),
        format=t.text("format", ""),
        best=t.choice("best", ("row", "column"), None),
        marks=t.optional("marks", lambda m: Marks(m.text("against"), m.text("hypothesis", None))),
        caption=t.text("caption", ""),
        place=f"{t.file}: table [{t.place}]",
    )
    for statistic in found.statistics:
        if statistic not in STATISTICS:
            raise t.fail("statistic", f"one or more of {', '.join(STATISTICS)}")
    if found.format and not FORMAT.fullmatch(found.format):
        raise t.fail("format", "such as .3f (decimals), .3g (significant digits), .1% (percent) or d (whole)")
    _check_places(t, found)
    t.done()
    return found


def _check_places(t: TomlTable, found: TableDisplay) -> None:
    """Refuses a dimension that stands twice, and one with several values that stands nowhere."""
    for key in ("rows", "columns"):
        own = getattr(found, key)
        other = found.columns if key == "rows" else found.rows
        if len(set(own)) < len(own) or set(own) & set(other):
            raise t.fail(key, "every key once, in rows or in columns")
    placed = (*found.rows, *found.columns)
    for name, key, values in ((METRIC, "metric", found.metrics), (STATISTIC, "statistic", found.statistics)):
        if len(values) > 1 and name not in placed:
            raise t.fail(key, f'one, or "{name}" among rows or columns, since there are {len(values)}')
    if ARM not in placed and len(found.arms) != 1:
        raise t.fail("rows", '"arm" in rows or columns, or one name in arms')
    if found.marks is not None and ARM not in placed:
        raise t.fail("marks", 'a table with "arm" in rows or columns: arms are what is marked')


def _figure(t: TomlTable) -> FigureDisplay:
    found = FigureDisplay(
        name=t.text("name"),
        title=t.text("title", "") or t.text("name"),
        kind=t.choice("kind", KINDS),
        metric=t.text("metric"),
        case=t.text("case", None),
        block=t.text("block", None),
        hypothesis=t.text("hypothesis", None),
        key=t.text("key", None),
        place=f"{t.file}: table [{t.place}]",
    )
    if (found.key is None) == (found.kind == "against"):
        raise t.fail("key", "the key on the horizontal axis, for kind against and for no other")
    t.done()
    return found


def _once(tables: Sequence[TomlTable]) -> Sequence[TomlTable]:
    """``tables``, after a check that their names can be names of files and that none stands twice."""
    seen: set[str] = set()
    for t in tables:
        name = t.text("name")
        if not NAME.fullmatch(name):
            raise t.fail("name", "letters, digits and hyphens, a letter first")
        if name.lower() in seen:
            raise t.fail("name", "a name that no other table or figure of its kind has")
        seen.add(name.lower())
    return tables
