"""Typed values and tables as HTML, Markdown, plain text and CSV: the same rows as the LaTeX table, each with its query and hash."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import quote

from orledger.reports.drilldown import NumberPlace, numbers
from orledger.reports.tables.values import tokens
from orledger.wording import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orledger.reports.tables.table import Column, Table
    from orledger.reports.tables.values import Scalar, Token, Value

MINUS = "−"
RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
SUPERSCRIPT = str.maketrans("-0123456789", RAISED)
LOWERED = str.maketrans(RAISED, "-0123456789")
PAGE_STYLE = (
    "body{font:15px/1.4 system-ui,sans-serif;margin:2rem;color:#111;background:#fff}table{border-collapse:collapse;border-block:2px solid}"
    ".caption{max-width:60rem}.scroll{overflow-x:auto}th,td{padding:.15rem .6rem;font-weight:400}thead{border-bottom:1px solid}"
    "tbody+tbody{border-top:1px solid #999}.left{text-align:left}.center{text-align:center}.right{text-align:right}"
    "th[scope=rowgroup]{text-align:left;font-style:italic}figure{margin:0}figcaption{font-size:.85em;max-width:60rem}pre{white-space:pre-wrap}"
)
# A spreadsheet runs a cell that starts like this; the apostrophe makes it text again.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


FITS = 15  # columns of numbers that stand beside each other on a printed page
LONG = 20  # letters of a name, from anybody's file, that is given room to wrap


def one_line(text: str) -> str:
    """``text`` without line breaks and control characters."""
    return re.sub(r"[\x00-\x20\x7f\u2028\u2029]+", " ", text)


def _mantissa(t: Token) -> str:
    return t.text.replace("-", MINUS)


def plain_token(t: Token, marks: Mapping[str, str]) -> str:
    """One token as plain Unicode text."""
    if t.kind == "number":
        power = "" if t.exponent is None else "·10" + str(t.exponent).translate(SUPERSCRIPT)
        return _mantissa(t) + power + t.suffix
    if t.kind == "math":
        return t.plain
    if t.kind == "table":
        return f"Table {t.text}"
    if t.kind == "absent":
        return "–" + (f"({marks[t.text]})" if t.text in marks else "")
    return one_line(t.text)


def formula(t: Token) -> str:
    """The plain form of a formula as HTML: what follows an underscore becomes a subscript, a star a subscript star."""
    text = html.escape(t.plain)
    text = re.sub(r"_(?:\{([^}]*)\}|(\w+))", lambda m: f"<sub>{m.group(1) or m.group(2)}</sub>", text)
    return re.sub(r"(?<=\w)\*", "<sub>⋆</sub>", text)


def html_token(t: Token, marks: Mapping[str, str], links: bool | str = False) -> str:
    """One token as HTML; every character that came from data is escaped. ``links``: the page has the other tables, or where they are."""
    if t.kind == "number":
        power = "" if t.exponent is None else f"·10<sup>{html.escape(str(t.exponent).replace('-', MINUS))}</sup>"
        body = html.escape(_mantissa(t)) + power + html.escape(t.suffix)
    elif t.kind == "math":
        body = f"<i>{formula(t)}</i>"
    elif t.kind == "table":
        body = f"Table {html.escape(t.text)}"
        if links:
            at = f"#table-{t.text}" if links is True else f"{links}{quote(t.text)}"
            body = f'<a href="{html.escape(at, quote=True)}">{body}</a>'
    elif t.kind == "mark":
        body = f"<sup>{html.escape(t.text)}</sup>"
    elif t.kind == "absent":
        mark = f"<sup>{html.escape(marks[t.text])}</sup>" if t.text in marks else ""
        body = f'<span class="absent" title="{html.escape(one_line(t.text), quote=True)}">–</span>{mark}'
    else:
        body = html.escape(one_line(t.text), quote=True)
    for flag, tag in ((t.mono, "code"), (t.italic, "em"), (t.bold, "strong")):
        body = f"<{tag}>{body}</{tag}>" if flag and body.strip() else body
    return body


def markdown_token(t: Token, marks: Mapping[str, str]) -> str:
    """One token as Markdown without emphasis; characters with a meaning in Markdown or HTML are escaped."""
    if t.kind == "math":
        return re.sub(r"([|*\[\]])", r"\\\1", formula(t))
    text = html.escape(plain_token(t, marks), quote=False)
    text = re.sub(r"([\\`*_{}\[\]#+!|~$])", r"\\\1", text)  # no link without brackets: parentheses may stay
    return f"<sup>{text}</sup>" if t.kind == "mark" else text


def plain(value: Value | str, marks: Mapping[str, str] | None = None) -> str:
    """A value as plain text."""
    return "".join(plain_token(t, marks or {}) for t in tokens(value))


def inline_html(value: Value | str, marks: Mapping[str, str] | None = None, *, links: bool | str = False) -> str:
    """A value as inline HTML; with ``links`` its references to tables are links inside the page, or below that address."""
    return "".join(html_token(t, marks or {}, links) for t in tokens(value))


def markdown_inline(value: Value | str, marks: Mapping[str, str] | None = None) -> str:
    """A value as inline Markdown; emphasis goes around runs of tokens, with the spaces outside it."""
    out = []
    for (bold, italic), run in itertools.groupby(tokens(value), key=lambda t: (t.bold, t.italic)):
        text = "".join(markdown_token(t, marks or {}) for t in run)
        mark = "*" * (2 * bold + italic)
        inner = text.strip(" ")
        before, after = text[: len(text) - len(text.lstrip(" "))], text[len(text.rstrip(" ")) :]
        out.append(f"{before}{mark}{inner}{mark}{after}" if mark and inner else text)
    return "".join(out)


def sort_key(value: Value) -> str:
    """What a table in a browser sorts this cell by: its main number in full, or its text."""
    scalar = next(iter(value.fields().values()), None)
    return "" if scalar is None else str(scalar)


def table_html(
    t: Table,
    *,
    provenance: bool = True,
    links: bool | str = False,
    opens: Callable[[NumberPlace], str | None] | None = None,
    anchor: bool = True,
) -> str:
    """The table as an HTML fragment: headers with scope, groups as their own bodies, notes and provenance under it.

    ``links`` makes references to other tables links, for a page that has them all, or below an address. ``opens`` gives
    the address that shows what is behind a number, or None; every number whose origin is known becomes a link to it. ``anchor``: the figure carries
    the id of the table; a page that has it on a heading says no. The caption stands outside what scrolls.
    """
    marks = t.absences()
    places = dict(numbers(t)) if opens is not None else {}
    name = html.escape(t.name, quote=True)
    lead = f"<strong>{'' if t.generic else 'Table '}{html.escape(t.called)}.</strong> "
    if t.generic and not anchor:  # the heading above it is the title
        lead = ""
    out = [
        '<figure class="ledger-table'
        + ((" generic" if len(t.columns) <= FITS else " wide") if t.generic else "")
        + '"'
        + (f' id="table-{name}">' if anchor else ">"),
        f'<p class="caption" id="caption-{name}">{lead}{inline_html(t.caption, links=links)}</p>',
        f'<div class="scroll"><table aria-labelledby="caption-{name}">',
        "<thead>",
    ]
    if t.spans:
        cells = [
            "<td></td>" if s is None else f'<th scope="colgroup" colspan="{s.width}">{inline_html(s.header)}</th>'
            for s in t.over()
        ]
        out.append("<tr>" + "".join(cells) + "</tr>")
    out.append(
        "<tr>"
        + "".join(
            f'<th scope="col" class="{c.side}{" long" if t.generic and len(plain(c.header)) > LONG else ""}">{inline_html(c.header)}</th>'
            for c in t.columns
        )
        + "</tr>"
    )
    out.append("</thead>")
    for group in t.groups:
        out.append("<tbody>")
        if group.heading is not None:
            out.append(
                f'<tr><th scope="rowgroup" colspan="{len(t.columns)}">{inline_html(group.heading, links=links)}</th></tr>'
            )
        for row in group.rows:
            cells = []
            for i, (column, cell) in enumerate(zip(t.columns, row.cells, strict=True)):
                key = html.escape(sort_key(cell), quote=True)
                body = inline_html(cell, marks, links=links)
                tag, scope = ("th", ' scope="row"') if i == 0 and body else ("td", "")  # an empty cell heads no row
                place = NumberPlace(t.name, row.key, column.key)
                target = opens(place) if opens is not None and place in places and cell.origin else None
                if target is not None:
                    body = f'<a class="n" href="{html.escape(target, quote=True)}">{body}</a>'
                side = column.side + (" long" if t.generic and len(plain(cell)) > LONG else "")
                cells.append(f'<{tag}{scope} class="{side}" data-sort="{key}">{body}</{tag}>')
            out.append("<tr>" + "".join(cells) + "</tr>")
        out.append("</tbody>")
    out.append("</table></div>")
    notes = t.footnotes()
    if notes or provenance:
        out.append("<figcaption>")
        out += [f"<p>{inline_html(note, links=links)}</p>" for note in notes]
        if provenance:
            queries = "\n\n".join(t.queries)
            out.append(
                f"<details><summary>Query and database</summary><p>Database <code>{html.escape(t.database)}</code></p>"
            )
            out.append(f"<pre><code>{html.escape(queries)}</code></pre></details>")
        out.append("</figcaption>")
    out.append("</figure>")
    return "\n".join(out) + "\n"


def page(t: Table) -> str:
    """The table as a small page of its own that needs nothing else."""
    return visible(
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>Table {html.escape(t.name)}. {html.escape(one_line(t.title))}</title>\n<style>{PAGE_STYLE}</style>\n{table_html(t)}</html>\n"
    )


def table_markdown(t: Table) -> str:
    """The table as Markdown: title, caption, a pipe table (groups as bold rows), notes, queries."""
    marks = t.absences()
    headers = [markdown_inline(c.header) for c in t.columns]
    for s in t.spans:
        for i in range(s.start, s.start + s.width):
            headers[i] = f"{markdown_inline(s.header)}: {headers[i]}"
    rules = [{"left": ":--", "center": ":-:", "right": "--:"}[c.side] for c in t.columns]
    out = [
        f"## {'' if t.generic else 'Table '}{markdown_inline(t.heading)}",
        "",
        markdown_inline(t.caption),
        "",
        _pipes(headers),
        _pipes(rules),
    ]
    for group in t.groups:
        if group.heading is not None:
            out.append(_pipes([f"**{markdown_inline(group.heading)}**", *[""] * (len(t.columns) - 1)]))
        out += [_pipes([markdown_inline(cell, marks) for cell in row.cells]) for row in group.rows]
    for note in t.footnotes():
        out += ["", markdown_inline(note)]
    out += ["", f"Database `{t.database}`"]
    for query in t.queries:
        out += ["", *(f"    {line}" for line in query.splitlines())]
    return "\n".join(out) + "\n"


def _pipes(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table_csv(t: Table) -> str:
    """The table as CSV in full precision: a header, then one line per row; what is not data stands in ``table_metadata``.

    The first columns are the heading of the group and the key of the row. A column whose cells have quartiles or a floor
    becomes ``coverage``, ``coverage_q1``, ``coverage_q3``. Absent values are empty.
    """
    names = _fields(t)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["group", "row", *(_csv(h) for h, _ in _headers(t, names))])
    for group in t.groups:
        heading = "" if group.heading is None else plain(group.heading)
        for row in group.rows:
            cells = [row.cells[i].fields().get(name) for i, parts in enumerate(names) for name in parts]
            writer.writerow([_csv(heading), _csv(row.key), *(_csv(c) for c in cells)])
    return buffer.getvalue()


def _fields(t: Table) -> list[list[str]]:
    """What the cells of every column consist of, by name."""
    names: list[list[str]] = []
    for i in range(len(t.columns)):
        fields: dict[str, None] = {}
        for row in t.rows():
            fields |= dict.fromkeys(row.cells[i].fields())
        names.append(list(fields) or [""])
    return names


def _headers(t: Table, names: list[list[str]]) -> list[tuple[str, Column]]:
    """The header of every column of the CSV, with the column of the table that it belongs to.

    Headers that names from data make equal all end in a few digits of their hash, whatever their order.
    """
    made = [
        ("_".join(x for x in (c.key, name) if x).replace(" ", "_"), c, name)
        for c, parts in zip(t.columns, names, strict=True)
        for name in parts
    ]
    taken = Counter(["group", "row", *(h for h, _, _ in made)])
    return [(f"{h}_{hashed(c.key, name)}" if taken[h] > 1 else h, c) for h, c, name in made]


def hashed(*names: str) -> str:
    """Six digits of the hash of ``names``, which tell them from others."""
    return sha256("\0".join(names).encode()).hexdigest()[:6]


def table_metadata(t: Table) -> str:
    """Where a CSV file comes from, as JSON: name, title, caption, notes, the hash of the database, and the queries.

    Where columns are about arms, it says which arm each of them is about.
    """
    arms = {_csv(h): c.arm for h, c in _headers(t, _fields(t)) if c.arm is not None}
    data = {
        "table": t.name,
        "title": t.title,
        "caption": one_line(plain(t.caption)),
        "notes": [one_line(plain(note)) for note in t.footnotes()],
        **({"arms": arms} if arms else {}),
        "database": t.database,
        "queries": list(t.queries),
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _powers(text: str) -> str:
    """``text`` with raised digits as ASCII: 10⁻³ becomes 10^-3."""
    return re.sub(f"[{RAISED}]+", lambda m: "^" + m.group().translate(LOWERED), text)


def _csv(scalar: Scalar) -> str:
    if scalar is None:
        return ""
    if isinstance(scalar, str):
        text = _powers(one_line(scalar))
        return "'" + text if text.startswith(FORMULA) else text
    return repr(scalar)
