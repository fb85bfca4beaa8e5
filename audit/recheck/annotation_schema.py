"""The JSON schema of annotation files, built from the keys and rules that the reader itself knows."""

from __future__ import annotations

import typing
from types import UnionType
from typing import TYPE_CHECKING, Any

from orledger.audit.recheck import checking  # noqa: F401  (importing it registers the rules)
from orledger.audit.recheck.data import (
    CHECK_KEYS,
    COLUMN_KEYS,
    FILE_KEYS,
    KINDS,
    NUMBER_KEYS,
    TABLE_KEYS,
    UNCOVERED_KEYS,
)
from orledger.audit.recheck.rules import RULES, Recomputation

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT: dict[str, Any] = {"type": "string"}
_KEYS: dict[str, dict[str, Any]] = {
    "id": {**_TEXT, "description": "a name no other number has"},
    "name": {**_TEXT, "description": "the column's name; a cell is TABLE/row/column"},
    "printed": {**_TEXT, "description": "the digits as printed, k/n for a fraction, words for a claim"},
    "kind": {"enum": sorted(KINDS), "description": "what sort of number it is; counts and sums are exact"},
    "place": {**_TEXT, "description": "where it stands, in words"},
    "line": {"type": "integer", "minimum": 1, "description": "the line of the source it stands on"},
    "meaning": {**_TEXT, "description": "what it is, in words; {row} and {column} are filled in"},
    "case": {**_TEXT, "description": "the case of a study that can recompute it"},
    "metric": {**_TEXT, "description": "the metric of the study that can recompute it"},
    "arm": {**_TEXT, "description": "the arm of the study that can recompute it"},
    "range": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    "exact": {"type": "boolean", "description": "the number has no rounding"},
    "words": {**_TEXT, "description": "words that stand in a sentence that no check reads"},
    "reason": {**_TEXT, "description": "why no check reads the sentence"},
    "target": {**_TEXT, "description": "the id of the number that is recomputed"},
    "convention": {**_TEXT, "description": "this reading in words"},
    "cause": {**_TEXT, "description": "what several failing checks have in common"},
    "stated": {"type": "boolean", "description": "false when the text does not state this reading"},
    "table": {**_TEXT, "description": "the table whose rows or columns * stands for"},
    "each": {
        "description": "repeats the check: lists of words, * for all rows or columns of the table, or listed combinations",
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": {"oneOf": [{"const": "*"}, {"type": "array", "items": _TEXT, "minItems": 1}]},
            },
            {"type": "array", "items": {"type": "object", "additionalProperties": _TEXT}, "minItems": 1},
        ],
    },
}


def _object(keys: frozenset[str], required: tuple[str, ...] = (), **further: Any) -> dict[str, Any]:
    properties = {key: _KEYS[key] for key in sorted(keys) if key in _KEYS} | further
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _operand(kind: Any) -> dict[str, Any]:
    """What may stand for an operand of this type in a file."""
    if typing.get_origin(kind) in (typing.Union, UnionType):
        kind = next(option for option in typing.get_args(kind) if option is not type(None))
    if typing.get_origin(kind) is list:
        return {"type": "array", "items": _operand(typing.get_args(kind)[0])}
    literal = {str: _TEXT, bool: {"type": "boolean"}, float: {"type": "number"}}
    return literal.get(kind, {"$ref": "#/$defs/operand"})


def _reading(rules: Mapping[str, Recomputation]) -> dict[str, Any]:
    """A check or another reading of it: a rule with the operands of that rule."""
    known = sorted({name for rule in rules.values() for name in rule.types if name not in ("target", *CHECK_KEYS)})
    cases = [
        {
            "if": {"properties": {"rule": {"const": rule.name}}, "required": ["rule"]},
            "then": {
                "properties": {name: _operand(kind) for name, kind in rule.types.items() if name != "target"},
                "required": sorted(rule.required),
            },
        }
        for rule in sorted(rules.values(), key=lambda rule: rule.name)
    ]
    braces = {**_TEXT, "pattern": r"\{\w+\}"}
    rule = {"description": "the rule, or a word of each in braces", "anyOf": [{"enum": sorted(rules)}, braces]}
    properties = {key: _KEYS[key] for key in sorted(CHECK_KEYS) if key in _KEYS} | {name: {} for name in known}
    return {"type": "object", "properties": {**properties, "rule": rule}, "required": ["rule"], "allOf": cases}


def general_rules() -> dict[str, Recomputation]:
    """The rules for any paper, without those that a study brings."""
    return {name: rule for name, rule in RULES.items() if rule.home.startswith("orledger.audit.recheck")}


def annotation_schema(rules: Mapping[str, Recomputation] | None = None) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of annotation files, with every rule and its operands; by default the general rules."""
    rules = general_rules() if rules is None else rules
    closed = {"$ref": "#/$defs/reading", "unevaluatedProperties": False}
    check = {**closed, "properties": {"or": {"type": "array", "items": closed}}, "required": ["target"]}
    cells = {"type": "object", "additionalProperties": {"type": "array", "items": _TEXT}}
    columns = {"type": "array", "items": _object(COLUMN_KEYS, ("name",)), "minItems": 1}
    arms = {"type": "object", "additionalProperties": _TEXT}
    table = _object(TABLE_KEYS, ("place", "columns", "rows"), columns=columns, rows=cells, arms=arms)
    parts: dict[str, Any] = {
        "number": {"type": "array", "items": _object(NUMBER_KEYS, ("id", "printed", "meaning"))},
        "table": {"type": "object", "additionalProperties": table},
        "check": {"type": "array", "items": check},
        "uncovered": {"type": "array", "items": _object(UNCOVERED_KEYS, ("words", "reason"))},
    }
    nested = {"type": "object", "properties": {"rule": {"enum": sorted(rules)}}, "required": ["rule"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Annotations for orledger recheck",
        **_object(FILE_KEYS, **parts),
        "$defs": {
            "operand": {
                "description": "an id, ID#k or ID#n, a literal, or a computation",
                "anyOf": [_TEXT, {"type": "number"}, nested],
            },
            "reading": _reading(rules),
        },
    }
