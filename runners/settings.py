"""Settings as declared data: a name, a default, whether the work that is reproduced gives the value, and one sentence each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Setting:
    """One named choice that numbers depend on; ``given`` is true when the work that is reproduced states the value.

    ``low`` and ``high`` bound a number, ends included unless ``inside``.
    """

    name: str
    default: Any
    given: bool
    description: str
    choices: tuple[Any, ...] | None = None
    low: float | None = None
    high: float | None = None
    inside: bool = False

    @property
    def range(self) -> str:
        """The values allowed, in words: above 0, at least 1, between 0 and 1."""
        if self.high is None:
            return f"{'above' if self.inside else 'at least'} {self.low:g}"
        return f"between {self.low or 0:g} and {self.high:g}" + (", ends excluded" if self.inside else "")

    def admits(self, value: float) -> bool:
        """Whether a number is finite and within the bounds."""
        below = self.low is not None and (value <= self.low if self.inside else value < self.low)
        above = self.high is not None and (value >= self.high if self.inside else value > self.high)
        return math.isfinite(value) and not below and not above


def table_of(value: Any, where: str) -> Mapping[str, Any]:
    """``value`` when it is a table of a preset; otherwise an error that names the place."""
    if not isinstance(value, dict):
        raise UsageError(f"{where}: expected a table, found {value!r}")
    return value


def resolve(declared: Iterable[Setting], overrides: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Every declared setting with its value in force; an unknown name or a value of another type is an error naming ``where``."""
    known = {s.name: s for s in declared}
    overrides = table_of(overrides, where)
    unknown = sorted(set(overrides) - set(known))
    if unknown:
        raise UsageError(f"{where}: unknown setting {unknown[0]!r}", hint=f"known settings: {', '.join(sorted(known))}")
    values = {}
    for name, setting in known.items():
        value = overrides.get(name, setting.default)
        if isinstance(setting.default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if setting.default is not None and type(value) is not type(setting.default):
            raise UsageError(
                f"{where}.{name}: expected {type(setting.default).__name__}, found {type(value).__name__} {value!r}",
                hint=setting.description,
            )
        if setting.choices is not None and value not in setting.choices:
            raise UsageError(
                f"{where}.{name}: {value!r} is not one of {', '.join(map(repr, setting.choices))}",
                hint=setting.description,
            )
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not setting.admits(value):
            bounds = "finite" if setting.low is None else setting.range
            raise UsageError(
                f"{where}.{name}: {value!r} is out of range: it must be {bounds}", hint=setting.description
            )
        values[name] = value
    return values
