"""Generated views as temporary tables, for a reader that asks a database many questions: planning a view costs more than its rows."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from orledger.schema.explaining import translated
from orledger.schema.layouts import identifier
from orledger.schema.reading import Results
from orledger.schema.viewing import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

MOST = 5_000_000  # records of a database whose views are held in memory; with more, a query reads what it needs


class Materialised(Results):
    """The same database on a connection of its own, on which a view becomes a temporary table when a query first names it.

    A temporary table comes before a view of the same name, so every query means what it meant before. They are gone when
    the connection is closed; nothing is written to the file. The views of a database of more than ``MOST`` records stay views.
    """

    def __init__(self, results: Results) -> None:
        super().__init__(results.path, results.con.cursor(), results.note)
        self._held: set[str] = set()

    def sql(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> pl.DataFrame:
        """As in ``Results``."""
        self._hold(query)
        return super().sql(query, params)

    def stored(self, query: str, most: int) -> tuple[pl.DataFrame, int]:
        """As in ``Results``."""
        self._hold(query)
        return super().stored(query, most)

    def rows(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """As in ``Results``."""
        self._hold(query)
        return super().rows(query, params)

    @cached_property
    def _named(self) -> re.Pattern[str] | None:
        """Finds the names of views that may be held; None where none may."""
        if super().sql("SELECT count(*) FROM record").item() > MOST:
            return None
        views = [view for x in read(self.con) for view in (x.name, x.series, f"{x.name}_cells") if view]
        return re.compile(rf"\b({'|'.join(map(re.escape, views))})\b") if views else None

    def _hold(self, query: str) -> None:
        named = set(self._named.findall(query)) - self._held if self._named else set()
        for view in sorted(named):
            with translated(self.path, read_only=True):
                self.con.execute(f"CREATE TEMP TABLE {identifier(view)} AS SELECT * FROM {identifier(view)}")
        self._held |= named
