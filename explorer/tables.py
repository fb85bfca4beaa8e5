"""Pages of tables and figures as in the report, and of one number with exactly the rows behind it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from orledger import studies
from orledger.explorer.cell import without_empty_labels
from orledger.reports.drilldown import Drilldown, NumberPlace, address, cell_at, command
from orledger.reports.figures import drawing
from orledger.reports.figures.style import house_style, svg
from orledger.reports.tables.building import build, offered
from orledger.reports.tables.prose import vocabulary
from orledger.reports.tables.render import inline_html, table_html
from orledger.schema.sandbox import first_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.explorer.mirror import Copied
    from orledger.reports.drilldown import OpenedNumber
    from orledger.reports.tables.building import TableSpec
    from orledger.reports.tables.table import Table

ROWS = 500  # rows behind a number that its page shows; the query gives all
DRAWING = threading.Lock()  # matplotlib's settings belong to the process


@dataclass(frozen=True)
class Shown:
    """A query behind a number with the head of its answer."""

    opened: OpenedNumber
    columns: list[str]
    rows: list[tuple[Any, ...]]
    total: int
    command: str


def listed(results: Copied) -> dict[str, Any]:
    """The names and titles of all tables and figures of the studies at hand, generic ones included."""
    return results.remember(("listed",), lambda: _listed(results))


def _listed(results: Copied) -> dict[str, Any]:
    here = studies.present(results)
    return {
        "tables": [(t.name, t.title, t.case) for t in specs(results).values()],
        "figures": [(f.name, f.title, f.case) for f in drawing.select(results, chosen=here)],
    }


def specs(results: Copied) -> dict[str, TableSpec]:
    """How each table is built."""
    return results.own.get("specs", lambda: offered(results, studies.present(results)))


def table(results: Copied, name: str) -> Table | None:
    """The table called ``name``; None when there is none. It is built once for each state of the database."""

    def make() -> Table | None:
        spec = specs(results).get(name)
        return None if spec is None else build(spec, results, labels=studies.labels(studies.present(results)))

    known = any(name == found for found, *_ in listed(results)["tables"])
    return results.remember(("table", name), make) if known else None


def table_page(results: Copied, name: str) -> dict[str, Any] | None:
    """A table whose numbers are links to what is behind them, with its queries; None when there is none."""
    found = table(results, name)
    if found is None:
        return None
    html = results.remember(("html", name), lambda: table_html(found, provenance=False, links="/table/", opens=address))
    markup = Markup(html)  # noqa: S704 - escaped by type
    return {"table": found, "markup": markup}


def number_page(results: Copied, asked: Mapping[str, str]) -> dict[str, Any] | None:
    """One number of a table with the rows behind it and the queries that give them; None when there is no such number."""
    place = NumberPlace(asked.get("table", ""), asked.get("row", ""), asked.get("column", ""))
    found = table(results, place.table)
    value = None if found is None else cell_at(found, place.row, place.column)
    if found is None or value is None:
        return None

    behind = Drilldown(results, results.opened.get).behind(value)
    shown = []
    for opened in behind.queries if behind else ():
        if opened.rows is None:
            columns, rows, total = first_rows(results, opened.sql, ROWS)
        else:
            columns, rows, total = opened.rows.columns, opened.rows.head(ROWS).rows(), opened.rows.height
        columns, rows = without_empty_labels(columns, rows)
        shown.append(Shown(opened, columns, rows, total, command(opened.sql, str(results.path))))
    absences = results.remember(("absences", place.table), found.absences)
    markup = Markup(inline_html(value, absences))  # noqa: S704 - inline_html escapes by type
    header = next(c.header for c in found.columns if c.key == place.column)
    return {
        "place": place,
        "table": found,
        "value": markup,
        "header": Markup(inline_html(header)),  # noqa: S704 - inline_html escapes by type
        "behind": behind,
        "shown": shown,
        "full": {k or "value": v for k, v in value.fields().items()},
    }


def figure(results: Copied, name: str) -> tuple[bytes, dict[str, Any]] | None:
    """The figure called ``name`` as SVG, and what its page says of it; None when there is none."""

    def make() -> tuple[bytes, dict[str, Any]] | None:
        spec = next((f for f in drawing.select(results) if f.name == name), None)
        if spec is None:
            return None
        with DRAWING, house_style():
            drawn = spec.render(results)
            image = svg(drawn.figure, drawn.title, drawn.caption)
        caption = Markup(inline_html(vocabulary(studies.present(results)).typed(drawn.caption)))  # noqa: S704 - inline_html escapes by type
        about = {"name": name, "title": drawn.title, "caption": caption, "queries": tuple(drawn.queries)}
        return image, about

    known = any(name == found for found, *_ in listed(results)["figures"])
    return results.remember(("figure", name), make) if known else None
