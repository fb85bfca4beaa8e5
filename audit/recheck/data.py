"""Printed numbers and the checks on them, read from TOML files of annotations.

A file holds tables (`[table.NAME]` with columns and rows of printed strings), single numbers (`[[number]]`), checks
(`[[check]]`: a target, a rule, the rule's operands) and sentences that no check reads (`[[uncovered]]`: words of it, the
reason). An operand is the id of a printed number, or a literal for a constant of the protocol; `ID#k` and `ID#n` take the
numerator and the denominator of a printed fraction.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from typing import TYPE_CHECKING, Any

from orledger.audit.recheck.model import Check, Publication, Published, malformed
from orledger.audit.recheck.rounding import counts_of, parse_printed
from orledger.errors import UsageError
from orledger.toml_tables import require_shallow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

KINDS = frozenset(
    {"value", "count", "ratio", "percentage", "p-value", "interval end", "share", "slope", "sum", "claim"}
)
EXACT_KINDS = frozenset({"count", "sum"})
NUMBER_KEYS = frozenset(
    {"id", "printed", "kind", "place", "meaning", "case", "metric", "arm", "range", "exact", "line"}
)
COLUMN_KEYS = frozenset({"name", "kind", "meaning", "metric", "arm", "range", "exact"})
TABLE_KEYS = frozenset({"place", "case", "meaning", "metric", "arms", "columns", "rows"})
CHECK_KEYS = frozenset({"target", "rule", "convention", "each", "table", "or", "stated", "cause"})
UNCOVERED_KEYS = frozenset({"words", "reason"})
FILE_KEYS = frozenset({"place", "case", "table", "number", "check", "uncovered"})


def _require(file: str, entry: str, table: Mapping[str, Any], key: str, kind: type, expected: str) -> Any:
    value = table.get(key)
    if not isinstance(value, kind):
        raise malformed(file, entry, key, value, expected)
    return value


def _reject_unknown(file: str, entry: str, table: Mapping[str, Any], known: frozenset[str]) -> None:
    for key in table:
        if key not in known:
            raise malformed(file, entry, key, table[key], f"one of the keys {', '.join(sorted(known))}")


def _number(file: str, entry: str, spec: Mapping[str, Any], **where: Any) -> Published:
    printed = _require(file, entry, spec, "printed", str, "the printed digits as a string")
    kind = spec.get("kind", "value")
    if kind not in KINDS:
        raise malformed(file, entry, "kind", kind, f"one of {', '.join(sorted(KINDS))}")
    low, high = spec.get("range", (0.0, 1.0) if kind in ("p-value", "share") else (-math.inf, math.inf))
    exact = bool(spec.get("exact", kind in EXACT_KINDS))
    interval = None
    if kind != "claim":
        try:
            interval = parse_printed(printed, exact=exact, bounds=(low, high))
        except UsageError as error:
            raise malformed(file, entry, "printed", printed, str(error.hint)) from error
    return Published(
        kind=kind,
        printed=printed,
        interval=interval,
        metric=spec.get("metric"),
        arm=spec.get("arm"),
        exact=exact or counts_of(printed) is not None,
        bounds=(low, high),
        **where,
    )


def _table_numbers(file: str, name: str, table: Mapping[str, Any]) -> Iterator[Published]:
    entry = f"table {name}"
    _reject_unknown(file, entry, table, TABLE_KEYS)
    place = _require(file, entry, table, "place", str, "words that say where the table stands")
    columns = _require(file, entry, table, "columns", list, "a list of columns")
    rows = _require(file, entry, table, "rows", dict, "a table of rows: name = [printed, ...]")
    arms = table.get("arms", {})
    for column in columns:
        _require(file, entry, column, "name", str, "the column's name")
        _reject_unknown(file, f"{entry}, column {column['name']}", column, COLUMN_KEYS)
    for row, cells in rows.items():
        if not isinstance(cells, list) or len(cells) != len(columns):
            raise malformed(
                file, entry, row, cells, f"a list of {len(columns)} printed strings, '' where none is printed"
            )
        for column, printed in zip(columns, cells, strict=True):
            if printed == "":
                continue
            words = {"row": row, "column": column["name"]}
            spec = {**column, "printed": printed, "arm": column.get("arm", arms.get(row))}
            spec.setdefault("metric", table.get("metric"))
            yield _number(
                file,
                f"{entry}, row {row}, column {column['name']}",
                spec,
                id=f"{name}/{row}/{column['name']}",
                place=f"{place}, row {row}, column {column['name']}",
                table=name,
                row=row,
                column=column["name"],
                meaning=_fill(column.get("meaning", table.get("meaning", "{column}, {row}")), words),
                case=table.get("case"),
            )


def _place(file: str, entry: str, spec: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Where a single number stands: the file's place, then its own."""
    parts = [part for part in (content.get("place"), spec.get("place")) if part]
    return ", ".join(parts) or _require(file, entry, spec, "place", str, "words that say where the number stands")


def _single_numbers(file: str, content: Mapping[str, Any]) -> Iterator[Published]:
    for position, spec in enumerate(content.get("number", [])):
        entry = f"number {spec.get('id', f'at position {position}')}"
        _reject_unknown(file, entry, spec, NUMBER_KEYS)
        yield _number(
            file,
            entry,
            spec,
            id=_require(file, entry, spec, "id", str, "a name no other number has"),
            place=_place(file, entry, spec, content),
            table=None,
            row=None,
            column=None,
            meaning=_require(file, entry, spec, "meaning", str, "what the number is, in words"),
            case=spec.get("case", content.get("case")),
            line=_line(file, entry, spec),
        )


def _line(file: str, entry: str, spec: Mapping[str, Any]) -> int | None:
    """The line of the source that a number stands on, where the annotation says so."""
    line = spec.get("line")
    if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
        raise malformed(file, entry, "line", line, "the line of the source, a whole number from 1")
    return line


def _fill(value: Any, words: Mapping[str, str]) -> Any:
    """The value with every {word} replaced, through lists and tables."""
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace("{" + word + "}", text)
        return value
    if isinstance(value, list):
        return [_fill(item, words) for item in value]
    if isinstance(value, dict):
        return {key: _fill(item, words) for key, item in value.items()}
    return value


def _bindings(file: str, entry: str, check: Mapping[str, Any], tables: Mapping[str, Any]) -> list[dict[str, str]]:
    """The replacements a check is repeated for: a product of lists, or the listed combinations; "*" is a whole table."""
    each = check.get("each")
    if each is None:
        return [{}]
    if isinstance(each, list):
        return [dict(item) for item in each]
    choices = []
    for word, values in each.items():
        if values == "*":
            table = tables.get(check.get("table", ""))
            if table is None:
                raise malformed(file, entry, "table", check.get("table"), "the name of a table of this file, for '*'")
            values = list(table["rows"]) if word == "row" else [column["name"] for column in table["columns"]]
        choices.append([(word, value) for value in values])
    return [dict(combination) for combination in itertools.product(*choices)]


def _checks(file: str, content: Mapping[str, Any]) -> Iterator[Check]:
    for position, raw in enumerate(content.get("check", [])):
        entry = f"check {position + 1} on {raw.get('target')}"
        _require(file, entry, raw, "target", str, "the id of the number to recompute")
        for words in _bindings(file, entry, raw, content.get("table", {})):
            yield _check(file, entry, _fill({key: raw[key] for key in raw if key != "each"}, words))


def _check(file: str, entry: str, spec: Mapping[str, Any]) -> Check:
    others = [{"target": spec["target"], **other} for other in spec.get("or", [])]
    return Check(
        target=spec["target"],
        rule=_require(file, entry, spec, "rule", str, "the name of a rule"),
        arguments={key: value for key, value in spec.items() if key not in CHECK_KEYS},
        source=f"{file}: {entry}",
        convention=spec.get("convention", ""),
        alternatives=tuple(_check(file, entry, other) for other in others),
        stated=spec.get("stated", True) is not False,
        cause=spec.get("cause", ""),
    )


def _reasons(file: str, content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Sentences that no annotation reads, by words that stand in them, each with the reason."""
    for position, spec in enumerate(content.get("uncovered", [])):
        entry = f"uncovered {position + 1}"
        _reject_unknown(file, entry, spec, UNCOVERED_KEYS)
        words = _require(file, entry, spec, "words", str, "words that stand in the sentence")
        yield words, _require(file, entry, spec, "reason", str, "why no check reads the sentence")


def parse_publication(texts: Mapping[str, str]) -> Publication:
    """The publication written in the given TOML texts, by file name."""
    numbers: dict[str, Published] = {}
    checks: list[Check] = []
    reasons: list[tuple[str, str]] = []
    for file, text in texts.items():
        require_shallow(text, file)
        try:
            content = tomllib.loads(text.removeprefix("\ufeff"))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{file}: not TOML: {error}", hint="correct the file at the line named") from error
        _reject_unknown(file, "file", content, FILE_KEYS)
        found = [p for name, table in content.get("table", {}).items() for p in _table_numbers(file, name, table)]
        for number in [*found, *_single_numbers(file, content)]:
            if number.id in numbers:
                raise malformed(file, number.id, "id", number.id, "a name no other number has")
            numbers[number.id] = number
        checks.extend(_checks(file, content))
        reasons.extend(_reasons(file, content))
    return Publication(numbers, tuple(checks), tuple(reasons))


def load_publication(folder: Traversable) -> Publication:
    """The publication as annotated in the TOML files of a folder."""
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return parse_publication({item.name: item.read_text(encoding="utf-8") for item in files})
