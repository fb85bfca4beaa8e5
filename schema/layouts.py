"""A layout: the names of the wide views of one block, the columns of its keys and metrics, and the pieces of a query on them."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from orledger.schema.catalogue import Catalogue, Key, Metric

# Columns that every block has; keys of these names get longer ones, and metrics where they would stand beside each other.
FIXED = {
    "cell_id": "The cell",
    "cell": "Name of the cell for people",
    "computed_on": "Device and floating-point type that computed the cell",
    "arm": "Method, rule or object the numbers belong to",
    "label": "A second, named index; NULL when there is none",
    "idx": "Point, step or grid position",
    "refused": "Why the arm declined to answer; NULL when it did answer. On the row without label",
    "refused_by": "By how much the condition was missed, where that is a number",
    "state": "planned, done, refused (see reason) or failed (see error)",
    "reason": "Why the whole cell was refused",
    "error": "Traceback of a failed cell",
    "seconds": "Seconds the cell took",
    "settings": "What else the numbers depend on, as JSON",
}
OF_CELLS = {"state", "reason", "error", "seconds", "settings"}  # in the view of cells alone, which has no metrics

DECIMAL = 16  # characters up to which a decimal becomes the same DOUBLE


@dataclass(frozen=True)
class Layout:
    """The views of one block: their names, and the column of every key and metric.

    ``name`` is the view of arms, ``series`` that of indexed metrics, ``cells`` that of cells.
    """

    case: str
    block: str
    name: str
    keys: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # key: (column, type)
    scalars: Mapping[str, str] = field(default_factory=dict)  # metric: column
    indexed: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)  # by column

    @property
    def series(self) -> str:
        """The view with one row per cell, arm, label and index."""
        return f"{self.name}_series"

    @property
    def cells(self) -> str:
        """The view with one row per planned cell."""
        return f"{self.name}_cells"

    def view(self, *, indexed: bool) -> str:
        """The view that holds the metrics, with or without an index."""
        return self.series if indexed else self.name

    def metrics(self, *, indexed: bool) -> Mapping[str, str]:
        """The column of every metric, with or without an index."""
        return self.indexed if indexed else self.scalars

    @property
    def key_columns(self) -> list[str]:
        """The columns of all keys, quoted."""
        return [identifier(column) for column, _ in self.keys.values()]

    def columns(self, keys: Iterable[str], alias: str = "", own: Collection[str] = ()) -> list[str]:
        """One column per key, under the name of the key; NULL for a key that no cell has.

        ``alias`` ends in a dot. ``own`` are columns of the view that count as keys where no key has their name.
        """
        found = []
        for key in keys:
            column = self.keys[key][0] if key in self.keys else key if key in own else None
            if column is None:
                found.append(f"NULL::VARCHAR AS {identifier(key)}")
            else:
                found.append(f"{alias}{identifier(column)}" + ("" if column == key else f" AS {identifier(key)}"))
        return found

    def number(self, metric: str, alias: str = "", *, indexed: bool) -> str:
        """The column of ``metric``; NULL for one that no cell has."""
        column = self.metrics(indexed=indexed).get(metric)
        return "NULL::DOUBLE" if column is None else alias + identifier(column)


def literal(value: object) -> str:
    """``value`` as an SQL literal: a text, or a number that is read back as the same one.

    A number with an exponent is a DOUBLE; without one it is read as a decimal and rounded once more, so a long one gets one.
    """
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    text = repr(value)
    return text if not isinstance(value, float) or "e" in text or len(text) < DECIMAL else f"{text}e0"


def identifier(name: str) -> str:
    """``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def layouts(found: Iterable[Catalogue], tables: Iterable[str] = ()) -> list[Layout]:
    """The views of every block of the catalogues ``found``; ``tables`` are names that are taken."""
    found = list(found)
    blocks = [(c, block) for c in found for block in c.blocks]
    taken = {t.lower() for t in tables}
    plain = {(c.case, block): f"{c.case}_{block}" for c, block in blocks}
    counts = Counter(name for base in plain.values() for name in _view_names(base))
    result = []
    for c, block in blocks:
        base = plain[c.case, block]
        if any(counts[name] > 1 or name in taken for name in _view_names(base)):
            base = f"{base}_{_digest(c.case, block)}"
        keys = [k for k in c.keys if k.block == block]
        metrics = [m for m in c.metrics if m.block == block]
        result.append(_layout(c.case, block, base, keys, metrics))
    return result


def _view_names(base: str) -> list[str]:
    return [base.lower(), f"{base}_series".lower(), f"{base}_cells".lower()]


def _layout(case: str, block: str, base: str, keys: Sequence[Key], metrics: Sequence[Metric]) -> Layout:
    named = [("key", k.key) for k in keys] + list(dict.fromkeys(("metric", m.metric) for m in metrics))
    columns = _columns(named)
    comments = {columns["key", k.key]: k.description for k in keys}
    for m in metrics:
        text = "; ".join(
            t for t in (m.description, m.unit and f"in {m.unit}", m.better and f"{m.better} is better") if t
        )
        comments.setdefault(columns["metric", m.metric], text)
    return Layout(
        case,
        block,
        base,
        {k.key: (columns["key", k.key], k.type) for k in keys},
        {m.metric: columns["metric", m.metric] for m in metrics if m.idx is None},
        {m.metric: columns["metric", m.metric] for m in metrics if m.idx is not None},
        comments,
    )


def _columns(named: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The column of every (kind, name): the name itself, or with its kind, or with its kind and a digest of it."""
    counts = Counter(name.lower() for _, name in named)
    longer = Counter(f"{name}_{kind}".lower() for kind, name in named)
    columns = {}
    for kind, name in named:
        long = f"{name}_{kind}"
        fixed = name.lower() in FIXED and not (kind == "metric" and name.lower() in OF_CELLS)
        if name and counts[name.lower()] == 1 and not fixed:
            columns[kind, name] = name
        elif longer[long.lower()] == 1 and long.lower() not in counts:
            columns[kind, name] = long
        else:
            columns[kind, name] = f"{long}_{_digest(kind, name)}"
    return columns


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:8]
