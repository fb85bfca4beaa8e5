"""Generated views as temporary tables, for a reader that asks a database many questions: planning a view costs more than its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.schema.explaining import translated
from orledger.schema.layouts import identifier
from orledger.schema.reading import Results
from orledger.schema.viewing import read

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 5_000_000  # records of a database whose views are held in memory; with more, a query reads what it needs


def materialised(results: Results, queries: Iterable[str]) -> Results:
    """The same database on a connection of its own, on which the views that ``queries`` name are temporary tables.

    A temporary table comes before a view of the same name, so every query means what it meant before. They are gone when
    the connection is closed; nothing is written to the file. The views of a database of more than ``MOST`` records stay views.
    """
    con = results.con.cursor()
    asked = "\n".join(queries)
    if results.sql("SELECT count(*) FROM record").item() <= MOST:
        for layout in read(results.con):
            for view in (layout.name, layout.series, f"{layout.name}_cells"):
                if view and identifier(view) in asked:
                    with translated(results.path, read_only=True):
                        con.execute(f"CREATE TEMP TABLE {identifier(view)} AS SELECT * FROM {identifier(view)}")
    return Results(results.path, con, results.note)
