"""The cells that the runs of a database planned, rebuilt from the settings stored with each run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.reports.source import Database, Planned


def expected_cells(results: Database, warn: Callable[[str], object] = lambda _: None) -> list[Planned]:
    """Every cell that a stored run asked for, once.

    Plans are pure functions of the settings, so this finds cells whose rows were removed and not only those that are
    marked as planned. A database made by another version may hold settings that make no plan here; ``warn`` is told, and
    tables then count the cells that are in the database and the holes between them.
    """
    from orledger.errors import OrledgerError
    from orledger.reports.source import Planned
    from orledger.runners.plan import Preset, make_plan
    from orledger.studies import cases

    found: dict[str, Planned] = {}
    known = cases()
    for name, text in results.sql("SELECT DISTINCT preset, settings FROM run ORDER BY ALL").iter_rows():
        try:
            tables = {case: table for case, table in json.loads(text).items() if case in known}
            jobs = make_plan(Preset(name=name, path=name, title="", tables=tables), list(tables))
        except (OrledgerError, ValueError, TypeError, AttributeError, KeyError) as error:
            warn(f"what the run of preset {name!r} planned cannot be rebuilt: {error}")
            continue
        for job in jobs:
            for cell in job.cells:
                keys = {k: str(v) for k, v in cell.keys.items()}
                found[cell.id] = Planned(cell.id, cell.case, cell.block, cell.name, keys)
    return list(found.values())
