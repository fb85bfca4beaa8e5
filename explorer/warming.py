"""Makes in the background what the first reader would have to wait for: templates, and the tables of the studies."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from orledger.errors import OrledgerError

if TYPE_CHECKING:
    from orledger.explorer.mirror import Copied
    from orledger.explorer.site import Explorer

FIRST = 20.0  # seconds to wait for a first reader, who goes before


class Warming(threading.Thread):
    """Begins when the first page was answered. While a run writes nothing is built: each snapshot would want it anew."""

    def __init__(self, x: Explorer) -> None:
        super().__init__(name="warming", daemon=True)
        self.answered = threading.Event()
        self._x, self._over = x, threading.Event()
        self._reading: Copied | None = None

    def run(self) -> None:
        """Builds every table of the state at hand; what fails is left to the page, which says why."""
        self.answered.wait(FIRST)
        try:
            with self._x.mirror.results() as results:
                if results.note is not None or self._over.is_set():
                    return
                self._reading = results
                for name in self._x.env.list_templates(filter_func=lambda n: n.startswith("explorer")):
                    self._x.env.get_template(name)
                self._build(results)
        except OrledgerError:
            return
        finally:
            self._reading = None

    def _build(self, results: Copied) -> None:
        from orledger.explorer import tables

        for name, *_ in tables.listed(results)["tables"]:
            if self._over.is_set():
                return
            tables.table(results, name)

    def end(self) -> None:
        """Stops at the next table; a query that is running is interrupted."""
        self._over.set()
        self.answered.set()
        if (reading := self._reading) is not None:
            reading.con.interrupt()
        if self.is_alive():
            self.join(5)
