"""Reading one quantity of a hypothesis file: which records, in which cells, reduced how."""

from __future__ import annotations

import re
from typing import Any

from orledger.audit.registry.hypotheses import STATS
from orledger.audit.registry.quantities import REDUCERS, Aggregate, Once, Quantity, RecordSource
from orledger.audit.statistics.bound import Bound
from orledger.schema.selecting import OPERATORS, Condition
from orledger.toml_tables import MOST, TomlError, TomlTable

QUANTITY_KEYS = (
    "case", "block", "arm", "metric", "label", "where", "over_idx", "idx", "divide_by", "event", "identical", "refused",
    "key", "sql", "aggregate", "bound", "once",
)  # fmt: skip


def read_quantity(t: TomlTable, changes: dict[str, Any], where: dict[str, Any] | None = None) -> Quantity:
    """The quantity of table ``t`` with ``changes``; conditions on keys add up, everything else is replaced."""
    t.seen.update(QUANTITY_KEYS)
    for data in (t.data, changes):
        if not isinstance(data.get("where", {}), dict):
            raise t.fail("where", "a table of conditions on keys, such as { seed = 0 }")
    conditions = {**t.data.get("where", {}), **changes.get("where", {}), **(where or {})}
    q = TomlTable({**only(t.data, QUANTITY_KEYS), **changes, "where": conditions}, t.file, t.place)
    arm, metric, label = q.text("arm", None), q.text("metric", None), q.text("label", None)
    identical, refused = q.texts("identical", ()), q.flag("refused")
    key, sql = q.text("key", None), q.text("sql", None)
    if sum(v is not None for v in (key, sql)) + refused > 1:
        raise TomlError(f"{q.file}: table [{q.place}]: expected only one of key, sql and refused")
    if key is None and sql is None and not refused and metric is None:
        raise q.fail("metric", "the name of a metric")
    if identical and (key is not None or sql is not None or refused):
        raise q.fail("identical", "to stand without key, sql and refused")
    if refused and arm is None:
        raise q.fail("arm", "the arm whose refusal is meant")
    if sql is not None and not re.match(r"(?is)\s*(select|with|from)\b", sql):
        raise q.fail("sql", "a query that begins with SELECT, WITH or FROM")
    return Quantity(
        case=q.text("case"),
        block=q.text("block"),
        source=RecordSource(arm, metric, label) if metric is not None and key is None and sql is None else None,
        where=_conditions(q),
        over_idx=q.choice("over_idx", tuple(REDUCERS), None),
        idx=_index(q),
        divide_by=q.optional("divide_by", lambda d: _divisor(d, arm, metric, label)),
        event=_condition(q, "event", q.data["event"]) if "event" in q.data else None,
        identical=identical,
        refused=arm if refused else None,
        key=key,
        sql=sql,
        aggregate=q.optional("aggregate", lambda a: Aggregate(a.texts("over"), a.choice("stat", STATS))),
        bound=q.optional("bound", lambda b: Bound(*(b.number(end, None) for end in ("at", "below", "above")))),
        once=q.optional("once", _once),
    )


def _conditions(t: TomlTable) -> tuple[tuple[str, Condition], ...]:
    return tuple((k, _condition(t, "where", v)) for k, v in t.table("where").data.items())


def _condition(t: TomlTable, key: str, value: Any) -> Condition:
    if isinstance(value, dict):
        if len(value) != 1 or next(iter(value)) not in OPERATORS:
            raise t.fail(key, f"one of {', '.join(OPERATORS)} with a value")
        operator, constant = next(iter(value.items()))
        if not _constant(constant):
            raise t.fail(key, "a text or a number to compare with")
        return Condition(operator, (constant,))
    if isinstance(value, list):
        if not value or not all(map(_constant, value)):
            raise t.fail(key, "texts or numbers")
        return Condition("in", tuple(value))
    if not _constant(value):
        raise t.fail(key, "a text, a number, a list of them, or a comparison such as { gt = 0 }")
    return Condition("eq", (value,))


def _constant(value: Any) -> bool:
    """Whether a value of a file can be compared with: a text or a finite number, and neither true nor false."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str) or (number and abs(value) <= MOST)


def _index(t: TomlTable) -> tuple[str, int] | None:
    if "idx" not in t.data:
        return None
    condition = _condition(t, "idx", t.data["idx"])
    if condition.operator == "in" or not isinstance(condition.values[0], int):
        raise t.fail("idx", "a whole number, or a comparison such as { lt = 6 }")
    return condition.operator, condition.values[0]


def _divisor(t: TomlTable, arm: str | None, metric: str | None, label: str | None) -> RecordSource:
    own = "arm" in t.data  # another arm has labels of its own
    return RecordSource(t.text("arm", arm), t.text("metric", metric), t.text("label", None if own else label))


def _once(t: TomlTable) -> Once:
    found = Once(t.texts("over"), _conditions(t))
    if not found.where:
        raise t.fail("where", "the cells in which the keys of over change nothing, such as { level = 0 }")
    return found


def only(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The entries of ``data`` whose key is in ``keys``."""
    return {k: v for k, v in data.items() if k in keys}
