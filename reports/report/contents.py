"""The tables and figures of a report, made once where a page and a PDF both show them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from orledger import studies
from orledger.reports.figures.drawing import draw
from orledger.reports.figures.style import house_style
from orledger.reports.generic import IMPORTED
from orledger.reports.notices import outdated
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.values import Text
from orledger.schema.materialising import Materialised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.reports.figures.figure import Drawn
    from orledger.reports.source import Planned
    from orledger.reports.tables.table import Table
    from orledger.schema.reading import Results
    from orledger.study import Study

_NOTE = Text(IMPORTED)


@dataclass
class Contents:
    """What a report of ``db`` shows: the tables and figures of ``chosen`` studies, by default those that have cells in it.

    ``planned`` lists the cells the plan asks for, so that cells whose rows are gone are named too; ``names`` are the figures
    to draw, all of them by default. ``changed`` says that rows were changed without orledger.
    """

    db: Results
    planned: Sequence[Planned] = ()
    names: Sequence[str] = ()
    chosen: Sequence[Study] | None = None
    changed: str = ""
    _drawn: list[Drawn] | None = field(default=None, init=False)

    @cached_property
    def quick(self) -> Materialised:
        """The database on a connection that holds the views it is asked for."""
        return Materialised(self.db)

    def close(self) -> None:
        """Lets go of that connection."""
        self.quick.close()
        del self.quick  # who asks again gets another

    @cached_property
    def studies(self) -> Sequence[Study]:
        """The studies that are shown."""
        return studies.present(self.db) if self.chosen is None else self.chosen

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What stands above everything else: that the database was changed without orledger, and that its audit is older than it."""
        return tuple(text for text in (self.changed, outdated(self.quick)) if text)

    @cached_property
    def tables(self) -> list[Table]:
        """The tables, in the order of the document, without what the report says once of all of them."""
        return [replace(t, notes=tuple(n for n in t.notes if n != _NOTE)) for t in self._built]

    @property
    def imported(self) -> str:
        """What is to be known of results that came in as a table; empty where no table shows such results."""
        return IMPORTED if any(_NOTE in t.notes for t in self._built) else ""

    @cached_property
    def _built(self) -> list[Table]:
        return build_tables(self.quick, self.planned, chosen=self.studies, changed=self.changed)

    def figures(self) -> Iterator[Drawn]:
        """The figures one after the other, each in the style it is saved in."""
        if self._drawn is not None:
            for drawn in self._drawn:
                with house_style():
                    yield drawn
            return
        made = []
        for drawn in draw(self.quick, self.names, self.studies):
            made.append(drawn)
            yield drawn
        self._drawn = made
