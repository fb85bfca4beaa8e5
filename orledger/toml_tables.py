"""Reading TOML by declared keys, so that every mistake is reported with file, table, key and what was expected."""

from __future__ import annotations

import math
import reprlib
import sys
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.resources.abc import Traversable

_REQUIRED: Any = object()
Made = TypeVar("Made")

MOST = sys.float_info.max
LONGEST = (
    1_000_000  # characters; what takes the parsers of TOML and SQL seconds is no longer a file that somebody wrote
)

# What was found, in a message: dotted keys can nest deeper than Python's own repr can follow.
SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxstring, SHORT.maxother, SHORT.maxlong = 4, 200, 200, 60
SHORT.maxlist = SHORT.maxdict = 20


class TomlError(UsageError):
    """A registry or mapping file that does not say what it must."""


def read_text(file: Traversable, name: str = "") -> str:
    """The text of ``file``; UsageError, under ``name`` or its own, for one that cannot be read or is no text in UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name or file}: cannot be read as a text: {error}", hint="give a text in UTF-8") from error


@dataclass
class TomlTable:
    """One TOML table with the place it stands at; keys are taken out one by one and ``done`` refuses what is left."""

    data: dict[str, Any]
    file: str
    place: str = ""
    seen: set[str] = field(default_factory=set)

    def fail(self, key: str, expected: str) -> TomlError:
        """An error about ``key`` of this table; the caller raises it."""
        found = f"found {SHORT.repr(self.data[key])}" if key in self.data else "it is missing"
        table = f"table [{self.place}]" if self.place else "the top of the file"
        return TomlError(f"{self.file}: {table}, key {key!r}: expected {expected}, {found}")

    def take(self, key: str, kinds: type | tuple[type, ...], expected: str, default: Any = _REQUIRED) -> Any:
        """The value of ``key`` if it is one of ``kinds``; ``default`` when absent; an error otherwise."""
        self.seen.add(key)
        if key not in self.data:
            if default is _REQUIRED:
                raise self.fail(key, expected)
            return default
        value = self.data[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in _tuple(kinds)):
            raise self.fail(key, expected)
        return value

    def text(self, key: str, default: Any = _REQUIRED) -> Any:
        """A non-empty text."""
        value = self.take(key, str, "a text", default)
        if key in self.data and value == "":
            raise self.fail(key, "a text that is not empty")
        return value

    def number(self, key: str, default: Any = _REQUIRED) -> Any:
        """A finite number, as float."""
        value = self.take(key, (int, float), "a number", default)
        if not isinstance(value, (int, float)):
            return value
        if isinstance(value, float) and not math.isfinite(value):
            raise self.fail(key, "a finite number")
        if abs(value) > MOST:
            raise self.fail(key, f"a number of at most {MOST:g}")
        return float(value)

    def integer(self, key: str, default: Any = _REQUIRED) -> Any:
        """A whole number."""
        return self.take(key, int, "a whole number", default)

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value: bool = self.take(key, bool, "true or false", default)
        return value

    def choice(self, key: str, options: Sequence[str], default: Any = _REQUIRED) -> Any:
        """One of ``options``."""
        value = self.take(key, str, f"one of {', '.join(options)}", default)
        if value is not default and value not in options:
            raise self.fail(key, f"one of {', '.join(options)}")
        return value

    def texts(self, key: str, default: Any = _REQUIRED) -> Any:
        """A list of texts, as a tuple; a single text counts as a list of one."""
        value = self.take(key, (list, str), "a list of texts", default)
        if key not in self.data:
            return value
        items = [value] if isinstance(value, str) else value
        if not items or not all(isinstance(v, str) and v for v in items):
            raise self.fail(key, "a list of texts that is not empty")
        return tuple(items)

    def table(self, key: str, default: Any = _REQUIRED) -> Any:
        """A table inside this one, ready to be read in the same way."""
        value = self.take(key, dict, "a table", default)
        return (
            TomlTable(value, self.file, f"{self.place}.{key}" if self.place else key)
            if isinstance(value, dict)
            else value
        )

    def optional(self, key: str, make: Callable[[TomlTable], Made]) -> Made | None:
        """What ``make`` reads from a table inside this one, every key of it; None where the table is absent."""
        inner = self.table(key, None)
        if inner is None:
            return None
        made = make(inner)
        inner.done()
        return made

    def tables(self, key: str, default: Any = _REQUIRED) -> Any:
        """A list of tables, numbered from 1 in messages."""
        value = self.take(key, list, "a list of tables", default)
        if value is default and key not in self.data:
            return value
        if not all(isinstance(v, dict) for v in value):
            raise self.fail(key, "a list of tables")
        prefix = f"{self.place}." if self.place else ""
        return [TomlTable(v, self.file, f"{prefix}{key} {i}") for i, v in enumerate(value, 1)]

    def done(self) -> None:
        """Refuses keys that nobody asked for: a misspelt key would otherwise be ignored in silence."""
        for key in self.data:
            if key not in self.seen:
                refused = self.fail(key, f"one of the known keys ({', '.join(sorted(self.seen))})")
                close = get_close_matches(key, sorted(self.seen), 1)
                raise TomlError(refused.message, hint=f"did you mean {close[0]!r}?") if close else refused


def parse(text: str, file: str) -> TomlTable:
    """The top table of a TOML text; a syntax error names the file and the line."""
    if len(text) > LONGEST:
        raise TomlError(f"{file}: {len(text):,} characters, and a file of this kind has at most {LONGEST:,}")
    try:
        return TomlTable(tomllib.loads(text.removeprefix("\ufeff")), file)  # as editors of Windows begin a file
    except RecursionError as error:
        raise TomlError(f"{file}: tables or lists are nested too deeply to be read") from error
    except ValueError as error:  # a syntax error, or a whole number with thousands of digits
        raise TomlError(f"{file}: not valid TOML: {error}") from error


def _tuple(kinds: type | tuple[type, ...]) -> tuple[type, ...]:
    return kinds if isinstance(kinds, tuple) else (kinds,)
