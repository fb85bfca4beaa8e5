"""Conditions that select some rows of an answer and no others: the WHERE of the query behind a number.

A report asks this a thousand times about the same few answers, so an answer is taken apart once and looked up after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.reports.origin import PLACE
from orledger.reports.tables.table import TableError
from orledger.schema.layouts import identifier, literal
from orledger.schema.selecting import equal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import polars as pl
    from numpy.typing import NDArray

LISTED = 24  # values of a key that a condition names one by one; beyond that the cells are listed


@dataclass(frozen=True)
class ColumnIndex:
    """The distinct values of a column, for each row the place of its value among them, and where the rows of each value are."""

    known: list[Any]
    codes: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, values: Sequence[Any]) -> ColumnIndex:
        """The index of a column."""
        known: dict[Any, int] = {}
        codes = np.array([known.setdefault(v, len(known)) for v in values], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(known)))])
        return cls(list(known), codes, np.argsort(codes, kind="stable"), starts)

    def having(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows that have one of these values."""
        return np.concatenate([self.rows[self.starts[i] : self.starts[i + 1]] for i in places])

    def count(self, places: NDArray[np.int64]) -> int:
        """How many rows have one of these values."""
        return int((self.starts[places + 1] - self.starts[places]).sum())


@dataclass
class HeldRows:
    """An answer to select from: its columns are cell_id, ``places`` (arm, label, and idx of a series), ``keys`` and others."""

    rows: pl.DataFrame
    places: tuple[str, ...]
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        """The rows in the order in which a query for some of them asks for them."""
        self.order = (*self.keys, *self.places, "cell_id")
        self.rows = self.rows.sort(self.order, nulls_last=True)

    def __len__(self) -> int:
        """How many rows there are to select from."""
        return self.rows.height

    @cached_property
    def _index(self) -> dict[tuple[Any, ...], list[int]]:
        found: dict[tuple[Any, ...], list[int]] = {}
        for i, row in enumerate(self.rows.select("cell_id", *self.places).iter_rows()):
            found.setdefault(row, []).append(i)
        return found

    @cached_property
    def _values(self) -> dict[str, ColumnIndex]:
        """The index of every key, and of cell_id."""
        return {column: ColumnIndex.of(self.rows[column].to_list()) for column in ("cell_id", *self.keys)}

    def positions(self, wanted: Sequence[tuple[Any, ...]]) -> list[int]:
        """Where the rows ``wanted``, each a cell_id and its places, stand; it is a defect when one is not there."""
        at = sorted(i for row in wanted for i in self._index.get(row, ()))
        if len(at) != len(wanted):
            raise TableError(f"{len(wanted) - len(at)} of {len(wanted)} records behind a number are not in the views")
        return at

    def conditions(self, at: Sequence[int], wanted: Sequence[tuple[Any, ...]]) -> list[str]:
        """What selects the rows at these positions and nothing else: as few keys as will do, or cells, or row by row."""
        places = {column: np.unique(index.codes[at]) for column, index in self._values.items()}
        values = {column: [index.known[i] for i in places[column]] for column, index in self._values.items()}
        narrow: dict[str, list[Any]] = {}
        for key in self.keys:
            found = values[key]
            if None not in found and len(found) <= LISTED and len(found) < len(self._values[key].known):
                narrow[key] = sorted(found)

        def selects(chosen: Collection[str]) -> bool:
            """Whether the values of these columns are met by no other row; the rarest are looked up, the others checked."""
            hit = None
            for key in sorted(chosen, key=lambda k: self._values[k].count(places[k])):
                index = self._values[key]
                hit = index.having(places[key]) if hit is None else hit[np.isin(index.codes[hit], places[key])]
            return (len(self) if hit is None else hit.size) == len(at)

        if selects(narrow):
            for key in sorted(narrow, key=lambda k: -len(narrow[k])):  # a long list is the first to go
                fewer = {k: v for k, v in narrow.items() if k != key}
                narrow = fewer if selects(fewer) else narrow
            return [_equal(key, found) for key, found in narrow.items()]
        return [_equal("cell_id", sorted(values["cell_id"]))] if selects(["cell_id"]) else [self._listed(wanted)]

    def _listed(self, wanted: Sequence[tuple[Any, ...]]) -> str:
        """The rows one by one: the last resort, where arms, labels and indices differ from cell to cell."""
        rows = ["(" + ", ".join("''" if v is None else literal(v) for v in row) + ")" for row in wanted]
        names = ", ".join("coalesce(label, '')" if c == "label" else c for c in ("cell_id", *self.places))
        return f"({names}) IN ({', '.join(rows)})"


def common(wanted: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> str:
    """The condition on arm, label, index and metrics that all rows meet; other cells may have rows that meet it too."""
    found = [_equal("arm", sorted({row[1] for row in wanted}))]
    labels = {row[2] for row in wanted}
    some = _equal("label", sorted(labels - {None})) if labels - {None} else ""
    none = "label IS NULL" if None in labels else ""
    found.append(f"({some} OR {none})" if some and none else some or none)
    indices = {row[3] for row in wanted if len(row) > len(("cell_id", "arm", "label"))}
    if indices and len(indices) <= LISTED:
        found.append(_equal("idx", sorted(indices)))
    if columns:
        listed = ", ".join(map(identifier, columns))
        found.append(f"coalesce({listed}) IS NOT NULL" if len(columns) > 1 else f"{listed} IS NOT NULL")
    return " AND ".join(found)


def _equal(column: str, values: Sequence[object]) -> str:
    return equal(column if column in PLACE else identifier(column), values)
