"""The audit report: one HTML file that needs nothing else, with every table, figure and test traceable to its query and rows."""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orledger import __version__, studies
from orledger.audit.recheck.checking import recheck
from orledger.reports.figures.drawing import draw
from orledger.reports.figures.style import svg
from orledger.reports.report.differences import ABSENT, AGREE, VERDICTS, differences, printed_by, table_lines
from orledger.reports.report.ledger import Ledger, Query, gather, trace
from orledger.reports.tables.building import build_tables, offered
from orledger.reports.tables.prose import Vocabulary, vocabulary
from orledger.reports.tables.render import inline_html, table_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from orledger.reports.figures.figure import Drawn
    from orledger.reports.source import Database, Planned
    from orledger.reports.tables.table import Table
    from orledger.study import Study

REFERENCE = "reference"  # the heading of tables that belong to a whole study
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
    "inconclusive": "v-mixed",
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


def environment(labels: Mapping[str, str] | None = None) -> Environment:
    """The HTML environment: everything is escaped unless our own code made it markup; ``labels`` are names for people."""
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
        "arm": lambda key: (labels or {}).get(key, key),
        "moment": moment,
        "pretty": pretty,
        "pretty_json": pretty_json,
        "tone": lambda word: TONES.get(word, "v-open"),
    }
    return env


def figure_view(db: Database, drawn: Drawn, words: Vocabulary) -> FigureView:
    """The figure with its SVG inside a data URI; an image keeps the identifiers of one SVG out of another's way."""
    image = svg(drawn.figure, drawn.title, drawn.caption)
    uri = "data:image/svg+xml;base64," + base64.b64encode(image).decode()
    caption = Markup(inline_html(words.typed(drawn.caption), links=True))  # noqa: S704 - inline_html escapes by type
    return FigureView(drawn.name, drawn.title, drawn.caption, caption, uri, tuple(trace(db, q) for q in drawn.queries))


def table_view(db: Database, table: Table) -> TableView:
    """The table as escaped HTML with its queries."""
    markup = Markup(table_html(table, provenance=False, links=True))  # noqa: S704 - table_html escapes by type
    return TableView(table.name, table.title, markup, tuple(trace(db, q) for q in table.queries))


def headings(ledger: Ledger, chosen: Sequence[Study]) -> dict[str, str]:
    """The headings of the report: the cases of ``chosen`` studies, then every other case that has cells, then the reference."""
    titles = {c.name: c.title or f"Case {c.name}" for s in chosen for c in s.cases}
    return titles | {name: name for name in ledger.cases if name not in titles} | {REFERENCE: "Reference"}


def case_views(
    db: Database,
    tables: Sequence[Table],
    figures: Iterable[str],
    chosen: Sequence[Study],
    titles: Mapping[str, str],
    step: Callable[[str], None],
) -> list[CaseView]:
    """The headings in order, each with its figures and tables; one that nobody foresaw gets a heading of its own."""
    words = vocabulary(chosen)
    drawn: dict[str, list[FigureView]] = {}
    for figure in draw(db, figures, chosen):
        step(f"figure {figure.name}")
        drawn.setdefault(figure.case or REFERENCE, []).append(figure_view(db, figure, words))
    shown: dict[str, list[TableView]] = {}
    specs = offered(db, chosen)
    for table in tables:
        step(f"table {table.name}")
        shown.setdefault(specs[table.name].case or REFERENCE, []).append(table_view(db, table))
    known = dict(titles) | {name: name for name in (*drawn, *shown) if name not in titles}
    return [
        CaseView(name, title, drawn.get(name, []), shown.get(name, []))
        for name, title in known.items()
        if name in drawn or name in shown
    ]


def totals(ledger: Ledger) -> dict[str, int]:
    """Counts over all blocks, and how often an arm declined."""
    keys = ("planned", "done", "refused", "failed", "missing")
    counts = {k: sum(int(b[k]) for b in ledger.blocks) for k in keys}
    return counts | {"arms": sum(int(r["cells"]) for r in ledger.arm_refusals)}


PAPERS = """
SELECT paper, id, place, file, line, printed, recomputed, verdict, rule, why, sentence
FROM recheck_finding
WHERE weight > 0
ORDER BY paper, weight DESC, id
"""


def stored_findings(db: Database) -> dict[str, list[dict[str, Any]]]:
    """What `orledger recheck --into` stored and needs an explanation, by paper, the weightiest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in db.sql(PAPERS).iter_rows(named=True):
        found.setdefault(row["paper"], []).append(row)
    return found


def render_report(
    db: Database,
    *,
    planned: Sequence[Planned] = (),
    title: str = "Audit report",
    figures: Iterable[str] = (),
    chosen: Sequence[Study] | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> str:
    """The whole report as one HTML text, the same for a copy of the database under any name; ``step`` is told what is being made.

    ``planned`` lists the cells the plan asks for, so that cells whose rows are gone are named too; ``figures`` names the
    figures to draw, all of them by default; ``chosen`` are the studies to show, by default those that have cells here. What
    concerns printed numbers appears when one of them brings some.
    """
    here = studies.present(db) if chosen is None else chosen
    ledger = gather(db)
    tables = build_tables(db, planned, chosen=here)
    for row in (*ledger.tests, *ledger.claims):
        row["query"] = trace(db, row["units_sql"], ordered=False)
    printed = printed_by(here)
    compared, lines, checked = [], [], []
    if printed is not None:
        step("recheck of the printed numbers")
        compared = differences(tables, printed)
        lines = table_lines(compared, tables, printed)
        checked = recheck(printed.publication)
    folder = files("orledger.templates")
    return environment(studies.labels(here)).get_template("report.html.j2").render(
        title=title,
        version=__version__,
        css=Markup(folder.joinpath("report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        js=Markup(folder.joinpath("report.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        ledger=ledger,
        studies=here,
        tests=ledger.tests,
        claims=ledger.claims,
        cases=case_views(db, tables, figures, here, headings(ledger, here), step),
        totals=totals(ledger),
        printed=printed,
        differences=compared,
        agree=sum(d.verdict == AGREE for d in compared),
        lines=lines,
        words=[v for v in VERDICTS if v != ABSENT],
        reasons=printed.reasons if printed is not None else (),
        recheck=checked,
        papers=stored_findings(db),
        verdicts=sorted(Counter(f.verdict for f in checked).items()),
    )  # fmt: skip
