"""The audit report: one HTML file that needs nothing else, with every number traceable to its query and rows."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orledger import __version__
from orledger.audit.recheck.checking import recheck
from orledger.paper.conclusions import reasons
from orledger.paper.names import ARMS
from orledger.paper.published import publication
from orledger.reports.figures.drawing import draw
from orledger.reports.figures.style import METADATA
from orledger.reports.report.differences import ABSENT, AGREE, VERDICTS, differences, table_lines
from orledger.reports.report.ledger import Ledger, Query, gather, trace
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.prose import typed
from orledger.reports.tables.render import inline_html, table_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from orledger.reports.figures.figure import Drawn
    from orledger.reports.source import Database, Planned
    from orledger.reports.tables.table import Table

CASE_TITLES = {
    "a": "Case A: the tensor-GP solver",
    "b": "Case B: the deep-kernel network",
    "c": "Case C: Bayesian optimisation",
}
REFERENCE = "reference"
TONES = {
    "supported": "v-good",
    "holds": "v-good",
    "matches": "v-good",
    "matches within rounding": "v-good",
    AGREE: "v-good",
    "attainable": "v-good",
    "refuted": "v-bad",
    "fails": "v-bad",
    "inconsistent": "v-bad",
    "impossible": "v-bad",
    "false as printed": "v-bad",
    "could not be checked": "v-mixed",
    "partially refuted": "v-mixed",
    "another convention": "v-mixed",
}


@dataclass(frozen=True)
class FigureView:
    """A figure as the template shows it: an image that carries its own bytes."""

    name: str
    title: str
    caption: str
    words: Markup  # the caption with its formulas set
    uri: str
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class TableView:
    """A table as the template shows it."""

    name: str
    title: str
    html: Markup
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class CaseView:
    """One case: its figures and its tables."""

    name: str
    title: str
    figures: list[FigureView]
    tables: list[TableView]


def number(value: Any) -> str:
    """A value of a trace for people: six significant digits, thousands unbroken, nothing for what is absent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else f"{value:.6g}"
    return str(value)


def slug(text: str) -> str:
    """``text`` as an HTML id."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def moment(when: datetime | None) -> str:
    """A UTC time to the second."""
    return "" if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def pretty(value: Any) -> str:
    """Data as indented JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True, default=str)


def pretty_json(text: str | None) -> str:
    """JSON text, indented; text that is not JSON as it is."""
    try:
        return pretty(json.loads(text or "null"))
    except ValueError:
        return text or ""


def environment() -> Environment:
    """The HTML environment: everything is escaped unless our own code made it markup."""
    env = Environment(
        loader=PackageLoader("orledger.templates", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "cell": number,
        "short": lambda value: "" if value is None else f"{value:.3g}",
        "headline": lambda reason: reason.split(" (")[0].split(": ")[0],
        "slug": slug,
        "arm": lambda key: ARMS.get(key, key),
        "moment": moment,
        "pretty": pretty,
        "pretty_json": pretty_json,
        "tone": lambda word: TONES.get(word, "v-open"),
    }
    return env


def figure_view(db: Database, drawn: Drawn) -> FigureView:
    """The figure with its SVG inside a data URI; an image keeps the identifiers of one SVG out of another's way."""
    buffer = io.BytesIO()
    drawn.figure.savefig(buffer, format="svg", metadata=METADATA["svg"])
    uri = "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
    words = Markup(inline_html(typed(drawn.caption), links=True))  # noqa: S704 - inline_html escapes by type
    return FigureView(drawn.name, drawn.title, drawn.caption, words, uri, tuple(trace(db, q) for q in drawn.queries))


def table_view(db: Database, table: Table) -> TableView:
    """The table as escaped HTML with its queries."""
    markup = Markup(table_html(table, provenance=False, links=True))  # noqa: S704 - table_html escapes by type
    return TableView(table.name, table.title, markup, tuple(trace(db, q) for q in table.queries))


def case_of(table: Table) -> str:
    """The case a table belongs to, by the first letter of its name; reference tables belong to none."""
    return table.name[0].lower() if table.name[:1] in "ABC" and table.name[:1].isupper() else REFERENCE


def case_views(
    db: Database, tables: list[Table], figures: Iterable[str], step: Callable[[str], None]
) -> list[CaseView]:
    """The cases in order, each with what it shows; the reference tables come last."""
    drawn: dict[str, list[FigureView]] = {}
    for figure in draw(db, figures):
        step(f"figure {figure.name}")
        case = figure.name[0].lower()
        drawn.setdefault(case, []).append(figure_view(db, figure))
    views = []
    for name in (*CASE_TITLES, REFERENCE):
        mine = [t for t in tables if case_of(t) == name]
        shown = []
        for table in mine:
            step(f"table {table.name}")
            shown.append(table_view(db, table))
        views.append(CaseView(name, CASE_TITLES.get(name, "Reference"), drawn.get(name, []), shown))
    return views


def totals(ledger: Ledger) -> dict[str, int]:
    """Counts over all blocks, and how often an arm declined."""
    keys = ("planned", "done", "refused", "failed", "missing")
    counts = {k: sum(int(b[k]) for b in ledger.blocks) for k in keys}
    return counts | {"arms": sum(int(r["cells"]) for r in ledger.arm_refusals)}


def render_report(
    db: Database,
    *,
    planned: Sequence[Planned] = (),
    title: str = "Audit report",
    figures: Iterable[str] = (),
    step: Callable[[str], None] = lambda _: None,
) -> str:
    """The whole report as one HTML text, the same for a copy of the database under any name; ``step`` is told what is being made.

    ``planned`` lists the cells the plan asks for, so that cells whose rows are gone are named too; ``figures`` names the
    figures to draw, all of them by default.
    """
    ledger = gather(db)
    tables = build_tables(db, planned)
    for row in (*ledger.tests, *ledger.claims):
        row["query"] = trace(db, row["units_sql"], ordered=False)
    step("recheck of the paper")
    findings = recheck(publication())
    compared = differences(tables)
    counts = Counter(f.verdict for f in findings)
    folder = files("orledger.templates")
    return environment().get_template("report.html.j2").render(
        title=title,
        version=__version__,
        css=Markup(folder.joinpath("report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        js=Markup(folder.joinpath("report.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        ledger=ledger,
        tests=ledger.tests,
        claims=ledger.claims,
        cases=case_views(db, tables, figures, step),
        totals=totals(ledger),
        differences=compared,
        agree=sum(d.verdict == AGREE for d in compared),
        lines=table_lines(compared),
        words=[v for v in VERDICTS if v != ABSENT],
        reasons=reasons(),
        recheck=findings,
        verdicts=sorted(counts.items()),
    )  # fmt: skip
