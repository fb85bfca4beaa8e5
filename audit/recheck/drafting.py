"""A first file of annotations for a paper: every number with its place, and those that no relation reaches named as such."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from orledger.audit.recheck.inventory import instances, reached
from orledger.audit.recheck.reading.numbers import normal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.inventory import Instance
    from orledger.audit.recheck.reading.document import Document, Grid

_HEAD = """# Annotations of {name}: which number is which, and what must hold between them.
# Written by `orledger recheck init`; change every meaning to what the number is, then add checks such as
#
#   [[check]]
#   target = "{example}"
#   rule = "difference"
#   of = ["another id", "a third id"]
#
# {covered} of {all} numbers are in a relation that is checked without annotation; the others are marked UNCOVERED.

"""


def draft(document: Document, findings: Iterable[Finding]) -> str:
    """The TOML text of a draft: tables as tables, numbers of the text one by one."""
    known = reached(findings)
    everything = list(instances(document))
    text = [i for i in everything if i.group[0] == "sentence"]
    names = _ids(text)
    covered = sum(i.id in known for i in everything)
    parts = [
        _HEAD.format(
            name=document.name, covered=covered, all=len(everything), example=names[0] if names else "table/row/column"
        ),
        f"place = {_quoted(document.name)}\n",
    ]
    if text:
        parts.append("number = [\n")
        sentence = ""
        for instance, name in zip(text, names, strict=True):
            if instance.sentence != sentence:
                sentence = instance.sentence
                parts.append(f"  # {instance.file}:{instance.line}: {_comment(sentence)}\n")
            mark = "" if instance.id in known else "  # UNCOVERED"
            parts.append(f"  {_number(instance, name)},{mark}\n")
        parts.append("]\n")
    parts.extend(_table(grid, known) for grid in document.grids)
    return "".join(parts)


def _ids(text: list[Instance]) -> list[str]:
    """An id per number: its section and line, numbered where several share them."""
    seen: Counter[str] = Counter()
    found = []
    for instance in text:
        base = f"{_slug(instance.section) or 'text'}/{instance.line}"
        seen[base] += 1
        found.append(f"{base}/{seen[base]}")
    return found


def _slug(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-").lower()[:40]


def _comment(sentence: str) -> str:
    words = re.sub(r"[\x00-\x1f\x7f]+", " ", sentence)
    return words if len(words) <= 300 else words[:297] + "..."


def _quoted(text: str) -> str:
    """A TOML basic string; JSON escapes are TOML escapes."""
    return json.dumps(text, ensure_ascii=True)


def printed_form(instance_text: str) -> str:
    """The digits as annotations write them: no grouping, exponents as e, no sign of relation."""
    text = normal(instance_text).lstrip("<>=≤≥≈~+ ").rstrip("% ")
    power = re.search(r"\s*[×x·*]?\s*10\s*\^\s*\{?\s*([-+]?\s*\d+)\s*\}?$", text)
    if power:
        mantissa = text[: power.start()].strip() or "1"
        text = f"{mantissa}e{int(power[1].replace(' ', ''))}"
    text = re.sub(r"[,\u2009\u202f\u00a0\u2007 ]", "", text)
    return "0" + text if text.startswith(".") else text.replace("-.", "-0.")


def _kind(instance: Instance) -> str:
    before = normal(instance.sentence)[max(0, instance.number.start - 3) : instance.number.start + 1]
    if re.search(r"(?<![A-Za-z])[pP]\s*[<>=≤≥]?$", before.rstrip()):
        return "p-value"
    if instance.number.percent:
        return "percentage"
    return "count" if instance.number.whole and instance.number.value >= 0 else "value"


def _number(instance: Instance, name: str) -> str:
    fields = {
        "id": name,
        "printed": printed_form(instance.number.text),
        "kind": _kind(instance),
        "place": f"{instance.section}, line {instance.line}",
        "meaning": "to be named",
    }
    return "{ " + ", ".join(f"{key} = {_quoted(value)}" for key, value in fields.items()) + " }"


def _table(grid: Grid, known: set[str]) -> str:
    """A table as `[table.NAME]`: cells with one number each; others stay empty and are named in a comment."""
    columns = [j for j in range(grid.width) if any(_cell(grid, i, j) for i in range(len(grid.rows)))]
    if not columns:
        return ""
    names = _unique([grid.heading(j) or f"column {j + 1}" for j in columns])
    rows = _unique([grid.label(i) or f"row {i + 1}" for i in range(len(grid.rows))])
    key = _quoted(grid.name)
    lines = [f"\n[table.{key}]  # {grid.file}:{grid.line}\nplace = {_quoted(grid.place)}\ncolumns = [\n"]
    lines += [f"  {{ name = {_quoted(name)} }},\n" for name in names]
    lines.append(f"]\n[table.{key}.rows]\n")
    for i, name in enumerate(rows):
        cells = [_cell(grid, i, j) for j in columns]
        if any(cells):
            bare = sum(bool(c) and grid.key(i, j) not in known for c, j in zip(cells, columns, strict=True))
            mark = f"  # {bare} UNCOVERED" if bare else ""
            lines.append(f"{_quoted(name)} = [{', '.join(_quoted(c) for c in cells)}]{mark}\n")
    return "".join(lines)


def _cell(grid: Grid, row: int, column: int) -> str:
    cell = grid.rows[row][column]
    entry = cell.entry
    if cell.repeated:
        return ""
    if entry.counts is not None and entry.main is None:
        return f"{entry.counts[0]}/{entry.counts[1]}"
    return printed_form(entry.main.text) if entry.main is not None else ""


def _unique(names: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
