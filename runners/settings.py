"""Settings as declared data: a name, a default, whether the paper gives the value, and one sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Setting:
    """One named choice that numbers depend on; ``given`` is true when the paper states the value."""

    name: str
    default: Any
    given: bool
    description: str
    choices: tuple[Any, ...] | None = None


def resolve(declared: Iterable[Setting], overrides: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Every declared setting with its value in force; an unknown name or a value of another type is an error naming ``where``."""
    known = {s.name: s for s in declared}
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
        values[name] = value
    return values
