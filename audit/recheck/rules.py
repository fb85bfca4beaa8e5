"""The registry of recheck rules: a rule's signature says which operands it needs, and they are resolved by type.

`Interval` takes a printed number or a literal, `int` an exact count or a literal, `CountOf` a printed fraction k/n,
`Words` a claim's printed words, `str` an option; lists of these, and lists of lists of intervals, likewise. A parameter
named `target` receives the interval of the number being rechecked, which some searches need as their window. An operand
may itself be a computation, {rule = "total", of = [...]}.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import FunctionType, UnionType
from typing import Any, Literal, NamedTuple, NewType, TypeVar

from orledger.audit.recheck.model import Check, CheckVerdict, Published, malformed
from orledger.audit.recheck.rounding import Enclosure, counts_of, exactly

Truth = Literal["always", "sometimes", "never"]
Words = NewType("Words", str)


class CountOf(NamedTuple):
    """A printed fraction of counts, k of n."""

    k: int
    n: int


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What one convention makes of the operands.

    `values` is the set of values it allows: one interval for a computation, several for an enumeration; `listed` says
    that `values` is only the part of an enumeration around the printed number. A claim has a `truth` instead: whether
    it holds for all, some or none of the numbers that print as the operands do. `excuse` is the verdict when this
    candidate fits and the first one does not (None leaves it to the check), `miss` when it is the first and nothing fits.
    """

    convention: str
    values: tuple[Enclosure, ...] = ()
    truth: Truth | None = None
    detail: str = ""
    listed: bool = False
    excuse: CheckVerdict | None = None
    miss: CheckVerdict = CheckVerdict.INCONSISTENT
    stated: bool = True


class ImpossibleError(Exception):
    """No data whatsoever give the printed operands: counts that do not add up, a share above one."""


class UnusableError(Exception):
    """A printed operand is not of the kind its rule needs: a count that is no whole number, a share that is no k/n."""


@dataclass(frozen=True, slots=True)
class Recomputation:
    """A named recomputation with the types of its operands; `home` is the module it comes from."""

    name: str
    compute: Callable[..., Iterable[Recomputed]]
    types: Mapping[str, Any]
    required: frozenset[str] = field(default_factory=frozenset)
    home: str = ""


RULES: dict[str, Recomputation] = {}
F = TypeVar("F", bound=FunctionType | Callable[..., Any])


def rule(function: F) -> F:
    """Register the function as a rule under its own name; its result may be an interval, a truth, or candidates."""
    # Only operand types are resolved: a return type may name what is imported for type checkers alone.
    stub = FunctionType(function.__code__, function.__globals__)
    stub.__annotations__ = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    types = typing.get_type_hints(stub)
    parameters = inspect.signature(function).parameters
    required = frozenset(name for name, p in parameters.items() if p.default is inspect.Parameter.empty)

    def compute(**operands: Any) -> Iterable[Recomputed]:
        result = function(**operands)
        if isinstance(result, Enclosure):
            return [Recomputed("", (result,))]
        if isinstance(result, str):
            return [Recomputed("", truth=typing.cast(Truth, result))]
        return typing.cast(Iterable[Recomputed], result)

    RULES[function.__name__] = Recomputation(
        function.__name__, compute, types, required - {"target"}, function.__module__
    )
    return function


def candidates(check: Check, numbers: Mapping[str, Published]) -> Iterable[Recomputed]:
    """What the check's rule, and then each of its alternatives, makes of the operands; lazily, in order."""
    found = RULES.get(check.rule)
    if found is None:
        raise malformed(check.source, "check", "rule", check.rule, f"one of {', '.join(sorted(RULES))}")
    target = _find(check, "target", check.target, numbers)
    for key in check.arguments:
        if key not in found.types or key == "target":
            raise malformed(check.source, check.rule, key, check.arguments[key], f"one of {', '.join(found.types)}")
    for key in sorted(found.required):
        if key not in check.arguments:
            raise malformed(check.source, check.rule, key, None, f"the operand {key} of rule {check.rule}")
    operands = {key: _resolve(check, key, found.types[key], value, numbers) for key, value in check.arguments.items()}
    if "target" in found.types:
        operands["target"] = target.interval
    for result in found.compute(**operands):
        name = ", ".join(part for part in (check.convention, result.convention) if part) or check.rule.replace("_", " ")
        yield replace(result, convention=name, stated=check.stated)
    for other in check.alternatives:
        for reading in candidates(other, numbers):
            # What the text does not say is one convention among others; what it says and is false stays false.
            excuse = CheckVerdict.FALSE if check.stated else CheckVerdict.CONVENTION
            yield replace(reading, excuse=reading.excuse or excuse)


def operand_ids(check: Check) -> tuple[str, ...]:
    """The ids of the printed numbers a check reads, each once, in order of appearance."""

    def walk(value: Any) -> Iterable[str]:
        if isinstance(value, str):
            yield value.partition("#")[0]
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)
        elif isinstance(value, dict):
            for name, item in value.items():
                if name != "rule" and RULES[value["rule"]].types.get(name) is not str:
                    yield from walk(item)

    found: dict[str, None] = {}
    for one in (check, *check.alternatives):
        types = RULES[one.rule].types if one.rule in RULES else {}
        for key, value in one.arguments.items():
            if types.get(key) is not str:
                found.update(dict.fromkeys(walk(value)))
    return tuple(found)


def _find(check: Check, key: str, name: str, numbers: Mapping[str, Published]) -> Published:
    number = numbers.get(name)
    if number is None:
        raise malformed(check.source, check.rule, key, name, "the id of a transcribed number")
    return number


def _resolve(check: Check, key: str, kind: Any, value: Any, numbers: Mapping[str, Published]) -> Any:
    if typing.get_origin(kind) in (typing.Union, UnionType):
        kind = next(option for option in typing.get_args(kind) if option is not type(None))
    if typing.get_origin(kind) is list:
        if not isinstance(value, list):
            raise malformed(check.source, check.rule, key, value, "a list")
        return [_resolve(check, key, typing.get_args(kind)[0], item, numbers) for item in value]
    if kind in (str, bool, float):
        if not isinstance(value, (int, float) if kind is float else kind):
            raise malformed(check.source, check.rule, key, value, f"a literal {kind.__name__}")
        return value
    if isinstance(value, str):
        return _operand(check, key, kind, value, numbers)
    if isinstance(value, dict):
        return _as_kind(check, key, kind, value, _nested(check, key, value, numbers))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if kind is int and value == int(value):
            return int(value)
        if kind is Enclosure:
            return exactly(value)
    raise malformed(check.source, check.rule, key, value, f"the id of a printed number or a literal ({kind.__name__})")


def _operand(check: Check, key: str, kind: Any, value: str, numbers: Mapping[str, Published]) -> Any:
    name, _, part = value.partition("#")
    number = _find(check, key, name, numbers)
    if kind is Words:
        return Words(number.printed)
    # The unreduced printed parts: 6/6 is six of six, not one of one.
    printed = counts_of(number.printed)
    if kind is CountOf:
        if printed is None:
            raise UnusableError(f"{name} is printed as {number.printed}, and {check.rule} needs a fraction k/n")
        if printed[0] > printed[1]:
            raise ImpossibleError(f"{name} is printed as {number.printed}: more than all of them")
        return CountOf(*printed)
    interval = number.interval
    if part:
        if printed is None or part not in ("k", "n"):
            raise UnusableError(
                f"{value}: {name} is printed as {number.printed}, not as a fraction; #k and #n name its parts"
            )
        interval = exactly(printed[0] if part == "k" else printed[1])
    if interval is None:
        raise malformed(check.source, check.rule, key, value, "a number, not a claim in words")
    return _as_kind(check, key, kind, value, interval)


def _as_kind(check: Check, key: str, kind: Any, value: Any, interval: Enclosure) -> Any:
    """The interval, or the whole number it is when the operand is a count."""
    if kind is Enclosure:
        return replace(interval, name=value) if isinstance(value, str) else interval
    if kind is not int or not interval.exact or interval.low != int(interval.low):
        raise UnusableError(
            f"{check.rule} needs a whole number for {key}, and {value} is {interval.low:g} to {interval.high:g}"
        )
    return int(interval.low)


def _nested(check: Check, key: str, value: Mapping[str, Any], numbers: Mapping[str, Published]) -> Enclosure:
    """The value of an operand written as a computation of its own: {rule = ..., operands ...}."""
    if not isinstance(value.get("rule"), str):
        raise malformed(check.source, check.rule, key, dict(value), "a table with a rule and its operands")
    arguments = {name: part for name, part in value.items() if name != "rule"}
    inner = Check(check.target, value["rule"], arguments, check.source)
    first = next(iter(candidates(inner, numbers)))
    if len(first.values) != 1:
        raise malformed(check.source, check.rule, key, dict(value), "a rule that computes one number")
    return first.values[0]


def as_fraction(count: CountOf) -> Fraction:
    """The share k/n of a count."""
    return Fraction(count.k, count.n)
