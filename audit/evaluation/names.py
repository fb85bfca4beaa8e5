"""Names in a hypothesis that occur nowhere in the data or the catalogue: found before anything is evaluated, with suggestions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from orledger.audit.registry.quantities import OF_RECORDS
from orledger.errors import UsageError
from orledger.wording import some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orledger.audit.registry.hypotheses import Claim, Comparison, Hypothesis
    from orledger.audit.registry.quantities import Quantity
    from orledger.schema.reading import Results
    from orledger.schema.selecting import Condition

LISTED = 12  # names that a message offers


class UnknownNameError(UsageError):
    """A hypothesis names an arm, metric, key, block, case or value that its data do not have."""


@dataclass(frozen=True)
class CaseNames:
    """What one case has: by block, the keys of its cells with their values; its arms and metrics; whether it was imported."""

    blocks: frozenset[str]
    arms: frozenset[str]
    metrics: frozenset[str]
    keys: dict[str, dict[str, frozenset[str]]]
    imported: bool


def check_names(results: Results, hypotheses: Iterable[Hypothesis]) -> None:
    """Raises for the first name that does not occur, if the case it belongs to has any cells; without cells nothing can be known."""
    cases = set(results.sql("SELECT DISTINCT case_name FROM all_cells")["case_name"].to_list())
    known: dict[str, CaseNames] = {}
    for h in hypotheses:
        parts: tuple[Comparison | Claim, ...] = (*h.comparisons, *h.claims)
        for part in parts:
            for _, q in part.sides:
                place = f"{h.file}: {part.id}"
                if q.case not in cases:
                    if near := get_close_matches(q.case, sorted(cases), n=1):
                        raise _unknown(place, "case", q.case, sorted(cases), near)
                    continue
                if q.case not in known:
                    known[q.case] = _known(results, q.case)
                for kind, name, names, required in _named(q, part.pair, known[q.case]):
                    if name in names:
                        continue
                    near = get_close_matches(name, names, n=3, cutoff=0.6)
                    if required or _misspelt(name, names):
                        raise _unknown(place, kind, name, names, near)


def _misspelt(name: str, names: list[str]) -> bool:
    """Whether ``name`` looks like one of ``names`` with a slip in it; another number at the end is another name."""
    near = get_close_matches(name, names, n=1, cutoff=0.9)
    return bool(near) and re.sub(r"\d", "", near[0]) != re.sub(r"\d", "", name)


def _unknown(place: str, kind: str, name: str, names: list[str], near: list[str]) -> UnknownNameError:
    offered = f"did you mean {' or '.join(near)}? " if near else ""
    hint = f"{offered}there are: {some(names, LISTED)}"
    return UnknownNameError(f"{place}: no {kind} {name!r} occurs in the data", hint=hint)


def _named(q: Quantity, pair: tuple[str, ...], known: CaseNames) -> Iterator[tuple[str, str, list[str], bool]]:
    """Kind, name, the names there are, and whether it must be one of them, for everything that ``q`` names.

    A value of a key may belong to a part of the plan that was not run: unless the study was imported whole, it is a mistake
    only when it looks like one.
    """
    yield "block", q.block, sorted(known.blocks), True
    if q.sql is not None or q.block not in known.keys:
        return
    arms = [a for s in (q.source, q.divide_by) if s is not None and s.arm for a in [s.arm]]
    for arm in (*arms, *q.identical, *([q.refused] if q.refused else [])):
        yield "arm", arm, sorted(known.arms), True
    for source in (q.source, q.divide_by):
        if source is not None:
            yield "metric", source.metric, sorted(known.metrics), True
    keys = known.keys[q.block]
    over = (*(q.aggregate.over if q.aggregate else ()), *(q.once.over if q.once else ()))
    conditions = (*q.where, *(q.once.where if q.once else ()))
    of_records = OF_RECORDS if q.source is not None else set()  # the arm or the label of a record may name a unit
    for key in (*pair, *over):
        yield "key", key, sorted({*keys, *of_records}), True
    for key in (*(k for k, _ in conditions), *([q.key] if q.key else [])):
        yield "key", key, sorted(keys), True
    for key, condition in q.where:
        for value in _texts(condition):
            yield f"value of {key}", value, sorted(keys.get(key, ())), known.imported


def _texts(condition: Condition) -> list[str]:
    """The texts that a key must equal; numbers are compared as numbers and may be any."""
    return [v for v in condition.values if isinstance(v, str)] if condition.operator in ("eq", "in") else []


def _known(results: Results, case: str) -> CaseNames:
    cells = results.sql(
        "SELECT DISTINCT block, e.key AS key, e.value AS value FROM"
        " (SELECT block, unnest(map_entries(keys)) AS e FROM all_cells WHERE case_name = ?)",
        [case],
    )
    blocks = results.sql(
        "SELECT block, bool_or(imported) AS imported FROM all_cells WHERE case_name = ? GROUP BY 1",
        [case],
    )
    named = results.sql("SELECT DISTINCT arm, metric FROM all_records WHERE case_name = ?", [case])
    refused = results.sql("SELECT DISTINCT arm FROM all_refusals WHERE case_name = ?", [case])
    arms = results.sql("SELECT arm FROM arm WHERE case_name = ?", [case])["arm"].to_list()
    described = results.sql("SELECT block, key FROM key WHERE case_name = ?", [case])
    catalogue = results.sql("SELECT DISTINCT block, arms, metric FROM metric WHERE case_name = ?", [case])
    keys: dict[str, dict[str, set[str]]] = {b: {} for b in blocks["block"].to_list()}
    for block, key, value in cells.iter_rows():
        keys[block].setdefault(key, set()).add(value)
    for block, key in described.iter_rows():
        keys.setdefault(block, {}).setdefault(key, set())
    listed = [*arms] + [a for text in catalogue["arms"].to_list() for a in (text or "").split(", ") if a]
    return CaseNames(
        blocks=frozenset((*keys, *(b for text in catalogue["block"].to_list() for b in text.split(", ")))),
        arms=frozenset((*named["arm"].to_list(), *refused["arm"].to_list(), *listed)),
        metrics=frozenset((*named["metric"].to_list(), *catalogue["metric"].to_list())),
        keys={b: {k: frozenset(v) for k, v in found.items()} for b, found in keys.items()},
        imported=bool(blocks["imported"].any()),
    )
