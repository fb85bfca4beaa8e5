"""The audit report: one HTML file that needs nothing else, with every table, figure and test traceable to its query and rows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from orledger import __version__, studies
from orledger.audit.recheck.checking import recheck
from orledger.reports import jinja
from orledger.reports.drilldown import Drilldown
from orledger.reports.figures.style import svg
from orledger.reports.report.answering import Answers, answers
from orledger.reports.report.contents import Contents
from orledger.reports.report.differences import ABSENT, AGREE, APART, VERDICTS, differences, printed_by, table_lines
from orledger.reports.report.ledger import ReportFacts, gather
from orledger.reports.report.missing import declined
from orledger.reports.report.opening import Opening
from orledger.reports.report.packing import WHOLE, Pack, Query
from orledger.reports.report.templating import environment
from orledger.reports.report.wording import Names, number, ratio, registered, said
from orledger.reports.source import Remembering
from orledger.reports.tables.building import offered
from orledger.reports.tables.prose import Vocabulary, vocabulary
from orledger.reports.tables.render import inline_html, table_html
from orledger.wording import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.reports.figures.figure import Drawn
    from orledger.reports.report.differences import Difference
    from orledger.reports.source import Database, Planned
    from orledger.reports.tables.table import Table
    from orledger.schema.reading import Results
    from orledger.study import Study

MANY = 300  # tests of one hypothesis that nobody reads on paper, or twice
REFERENCE = "reference"  # the heading of tables that belong to a whole study


@dataclass(frozen=True)
class FigureView:
    """A figure as the template shows it: an image that carries its own bytes."""

    name: str
    heading: str
    words: Markup  # the caption with its formulas set
    uri: Markup
    size: tuple[int, int]  # width and height in CSS pixels, so that nothing moves when it is drawn
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class TableView:
    """A table as the template shows it."""

    name: str
    heading: str
    html: Markup
    queries: tuple[Query, ...]
    opens: str = ""  # what is said about the numbers that open


@dataclass(frozen=True)
class CaseView:
    """One case: its figures and its tables."""

    name: str
    title: str
    figures: list[FigureView]
    tables: list[TableView]


def differing(found: Iterable[Difference]) -> pl.DataFrame:
    """Differences from a publication as rows."""
    columns = ("table", "row", "column", "printed", "ours", "ratio", "verdict")
    rows = [(d.table, d.row, d.column, d.printed, number(d.ours), ratio(d.ratio), d.verdict) for d in found]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def settling(found: Iterable[Finding]) -> pl.DataFrame:
    """Findings of a recheck as rows."""
    columns = ("place", "printed", "recomputed", "verdict", "rule", "why")
    rows = [[str(getattr(f, c)) for c in columns] for f in found]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def image_uri(image: str) -> Markup:
    """An SVG as a data URI for an attribute in double quotes, with no more escapes than that needs: it stays a third smaller."""
    swapped = re.sub(r"<[^>]+>", lambda tag: tag[0].translate(str.maketrans("\"'", "'\"")), image)
    for char, code in (("%", "%25"), ("#", "%23"), ("\n", " "), ('"', "%22"), ("&", "&amp;")):
        swapped = swapped.replace(char, code)
    return Markup(f"data:image/svg+xml;charset=utf-8,{swapped}")  # noqa: S704 - escaped for its attribute here


def figure_view(pack: Pack, drawn: Drawn, words: Vocabulary) -> FigureView:
    """The figure with its SVG inside a data URI; an image keeps the identifiers of one SVG out of another's way."""
    uri = image_uri(svg(drawn.figure, drawn.heading, drawn.caption).decode("utf-8"))
    caption = Markup(inline_html(words.typed(drawn.caption), links=True))  # noqa: S704 - inline_html escapes by type
    width, height = (round(96 * float(side)) for side in drawn.figure.get_size_inches())
    queries = tuple(pack.ask(q) for q in drawn.queries)
    heading = drawn.heading if drawn.generic else f"Figure {drawn.heading}"
    return FigureView(drawn.name, heading, caption, uri, (width, height), queries)


def table_view(db: Database, table: Table, opening: Opening | None = None) -> TableView:
    """The table as escaped HTML with its queries; ``opening`` is where a report keeps what stands behind its numbers."""
    opens = None if opening is None else opening.of(table)
    html = table_html(table, provenance=False, links=True, opens=opens, anchor=opening is None)
    pack = Pack(db) if opening is None else opening.pack
    said = "" if opening is None else opening.words(table.name)
    markup = Markup(html)  # noqa: S704 - table_html escapes by type
    heading = table.heading if table.generic else f"Table {table.heading}"
    return TableView(table.name, heading, markup, tuple(pack.ask(q) for q in table.queries), said)


def headings(ledger: ReportFacts, chosen: Sequence[Study]) -> dict[str, str]:
    """The headings of the report: the cases of ``chosen`` studies, then every other case that has cells, then the reference."""
    titles = {c.name: c.title or f"Case {c.name}" for s in chosen for c in s.cases}
    return titles | {name: name for name in ledger.cases if name not in titles} | {REFERENCE: "Reference"}


def case_views(
    opening: Opening,
    contents: Contents,
    titles: Mapping[str, str],
    step: Callable[[str], None],
) -> list[CaseView]:
    """The headings in order, each with its figures and tables; one that nobody foresaw gets a heading of its own."""
    words, pack = vocabulary(contents.studies), opening.pack
    drawn: dict[str, list[FigureView]] = {}
    for figure in contents.figures():
        step(f"figure {figure.name}")
        drawn.setdefault(figure.case or REFERENCE, []).append(figure_view(pack, figure, words))
    shown: dict[str, list[TableView]] = {}
    specs = offered(pack.db, contents.studies)
    for table in contents.tables:
        if table.generic and table.name.endswith("-tests") and sum(1 for _ in table.rows()) > MANY:
            continue  # they stand under their hypothesis, and twice they are most of the page
        step(f"table {table.name}")
        shown.setdefault(specs[table.name].case or REFERENCE, []).append(table_view(pack.db, table, opening))
    known = dict(titles) | {name: name for name in (*drawn, *shown) if name not in titles}
    return [
        CaseView(name, title, drawn.get(name, []), shown.get(name, []))
        for name, title in known.items()
        if name in drawn or name in shown
    ]


def totals(ledger: ReportFacts) -> dict[str, int]:
    """Counts over all blocks, how often an arm declined, and how many entries a table lacks."""
    keys = ("planned", "done", "refused", "failed", "missing")
    counts = {k: sum(int(b[k]) for b in ledger.blocks) for k in keys}
    arms = sum(int(r["cells"]) for r in ledger.arm_refusals if declined(r["reason"]))
    return counts | {"arms": arms, "entries": sum(int(r["cells"]) for r in ledger.arm_refusals) - arms}


PAPERS = """
SELECT paper, id, place, file, line, printed, recomputed, verdict, rule, why, sentence
FROM recheck_finding
WHERE weight > 0
ORDER BY paper, weight DESC, id
"""


def stored_findings(db: Database, shown: Collection[str] = ()) -> dict[str, list[dict[str, Any]]]:
    """What `orledger recheck --into` stored and needs an explanation, by paper, the weightiest first; not a paper whose findings are all ``shown``."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in db.sql(PAPERS).iter_rows(named=True):
        found.setdefault(row["paper"], []).append(row)
    return {paper: rows for paper, rows in found.items() if any(row["id"] not in shown for row in rows)}


def heading(ledger: ReportFacts, chosen: Sequence[Study]) -> str:
    """The title of a report that was given none: the titles of its studies, and the names of cases that belong to none of them."""
    theirs = {c.name for s in chosen for c in s.cases}
    titles = [s.title or s.name for s in chosen] + [name for name in ledger.cases if name not in theirs]
    return f"Audit report: {', '.join(titles)}" if titles else "Audit report"


def tell(ledger: ReportFacts, pack: Pack, labels: Mapping[str, str]) -> dict[str, str]:
    """Give every test and claim of ``ledger`` its words and its rows; returns the titles of the hypotheses."""
    hypotheses, names = registered(ledger.registrations), Names(labels)
    for row in (*ledger.tests, *ledger.claims):
        row["query"] = pack.ask(row["units_sql"], limit=WHOLE, ordered=False)
    first: dict[int, str] = {}  # tests of the same values share a query, which the page prints once
    judged = {d["hypothesis"] for d in ledger.dispositions}
    for test in ledger.tests:
        test["said"] = said(test, hypotheses.get(test["registration"]), names)
        if test["hypothesis"] in judged:  # the others stand in tables only
            test["query_of"] = first.setdefault(test["query"].place, test["test_id"])
    return {h.id: h.title for h in hypotheses.values()}


def by_table(found: Sequence[Difference]) -> dict[str, list[Difference]]:
    """The differences of each table."""
    groups: dict[str, list[Difference]] = {}
    for difference in found:
        groups.setdefault(difference.table, []).append(difference)
    return groups


def render_report(
    db: Results,
    *,
    planned: Sequence[Planned] = (),
    title: str | None = None,
    figures: Iterable[str] = (),
    chosen: Sequence[Study] | None = None,
    contents: Contents | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> str:
    """The whole report as one HTML text, the same for a copy of the database under any name; ``step`` is told what is being made.

    ``planned`` lists the cells the plan asks for, so that cells whose rows are gone are named too; ``figures`` names the
    figures to draw, all of them by default; ``chosen`` are the studies to show, by default those that have cells here. What
    concerns printed numbers appears when one of them brings some. ``contents`` replaces these three where a PDF shows the same.
    """
    contents = contents or Contents(db, planned, tuple(figures), chosen)
    here, ledger, tables = contents.studies, gather(db), contents.tables
    step("tests and claims")
    labels, pack = studies.labels(here), Pack(Remembering(contents.quick))
    opening = Opening(pack, Drilldown(contents.quick))
    hypotheses = tell(ledger, pack, labels)
    printed = printed_by(here)
    compared, lines, checked, nearer, settled = [], [], [], 0, 0
    if printed is not None:
        step("recheck of the printed numbers")
        compared = differences(tables, printed)
        lines = table_lines(compared, tables, printed)
        checked = recheck(printed.publication)
        nearer = pack.add(differing(d for d in compared if d.verdict != APART))
        settled = pack.add(settling(f for f in checked if f.verdict.good))
    titles = headings(ledger, here)
    cases = case_views(opening, contents, titles, step)
    page = environment(labels).get_template("report.html.j2").render(
        title=heading(ledger, here) if title is None else title,
        version=__version__,
        css=jinja.asset("report.css"),
        js=jinja.asset("report.js"),
        nearer=nearer,
        settled=settled,
        pack=Markup(pack.text(**opening.data())),  # noqa: S704 - base64
        ledger=ledger,
        studies=here,
        tests=ledger.tests,
        claims=ledger.claims,
        hypotheses=hypotheses,
        case_titles=titles,
        cases=cases,
        totals=totals(ledger),
        imported=contents.imported,
        printed=printed,
        differences=compared,
        apart=by_table([d for d in compared if d.verdict == APART]),
        closer=[d for d in compared if d.verdict != APART],
        agree=sum(d.verdict == AGREE for d in compared),
        lines=lines,
        words=[v for v in VERDICTS if v != ABSENT],
        notices=contents.notices,
        said=Answers() if printed is not None else answers(ledger.tests, Names(labels)),
        reasons=printed.reasons if printed is not None else (),
        recheck=checked,
        papers=stored_findings(db, {f.id for f in checked}),
        verdicts=sorted(Counter(f.verdict for f in checked).items()),
    )  # fmt: skip
    return visible(page)
