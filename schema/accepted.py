"""What may be written: names of keys that queries can use, texts and indices that are stored as they are hashed, numbers that can be added up."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from orledger.errors import DataError, UsageError
from orledger.schema.hashing import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

RECORD = ("arm", "metric", "label", "idx", "value", "reason")  # what a record has beside its keys
# Columns that the queries behind a quantity have beside the keys.
QUERIED = ("value", "points", "cell_id", "side", "state", "reason", "refusal", "n")
IN_ANY_CASE = ("value", "cell_id", "state", "reason")  # SQL takes Value for value, and queries then find no value

MOST_CHARACTERS = 10_000  # of the name of an arm, a metric, or a value of a key
LARGEST = 1e300  # differences and sums of larger numbers leave the range of float64
BEYOND = f"beyond {LARGEST:g}, where sums overflow"
INDICES = range(-(2**31), 2**31)  # the column idx holds 32 bits


def reserved(name: str, names: Collection[str]) -> bool:
    """Whether a key cannot have this name because it is one of ``names``."""
    return name in names or (name.lower() in IN_ANY_CASE and name.lower() in names)


def alike(names: Iterable[str]) -> tuple[str, str] | None:
    """Two of ``names`` that differ only in case: SQL takes one for the other."""
    seen: dict[str, str] = {}
    for name in names:
        if seen.setdefault(name.lower(), name) != name:
            return seen[name.lower()], name
    return None


def check_keys(names: Collection[str], known: Iterable[str] = ()) -> None:
    """Raises UsageError where a study whose cells have these keys could not be asked; ``known`` are keys of its other cells."""
    for name in names:
        text(name, "the name of a key")
        if reserved(name, (*RECORD, *QUERIED)):
            own = ", ".join(dict.fromkeys((*RECORD, *QUERIED)))
            raise UsageError(
                f"{name!r} cannot be a key: records and the queries behind questions use {own} themselves",
                hint="give the key another name",
            )
    if (pair := alike((*known, *names))) is not None:
        raise UsageError(
            f"the keys {pair[0]!r} and {pair[1]!r} differ only in case", hint="write both alike, or rename one"
        )


def text(value: Any, what: str, *, most: int | None = MOST_CHARACTERS) -> str:
    """``value``, which must be a text that can be stored and is not empty; ``what`` it is, for messages."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is {value!r}, a {type(value).__name__} and not a text", hint="give a text")
    if not value:
        raise UsageError(f"{what} is empty", hint="give a text")
    if most is not None and len(value) > most:
        raise UsageError(f"{what} has {len(value):,} characters; at most {most:,} are a name", hint="shorten it")
    return _storable(value, what)


def key_text(value: Any, what: str) -> str:
    """The text of a key's value: a text as it is, anything else that JSON knows as JSON."""
    if isinstance(value, str):
        return _storable(value, what)
    try:
        return _storable(json.dumps(value, default=_plain), what)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{what} is {value!r}, a {type(value).__name__}", hint="give a text, a number or a truth value"
        ) from error


def label_text(value: Any) -> str | None:
    """The text of a label: a text as it is, a number as its text; None for none."""
    if value is None:
        return None
    value = plain(value)
    if isinstance(value, str):
        return _storable(value, "the label")
    if isinstance(value, (bool, int)) or (isinstance(value, float) and isfinite(value)):
        return json.dumps(value)
    raise UsageError(f"the label is {value!r}, a {type(value).__name__}", hint="give a text or a finite number")


def whole(value: Any) -> int | None:
    """An index: a whole number of 32 bits; None for none."""
    if value is None:
        return None
    number = plain(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool):
        raise DataError(
            f"the index is {value!r}, not a whole number",
            hint="idx counts steps or points; put other things into label or the keys",
        )
    if number not in INDICES:
        raise DataError(f"the index {value!r} is beyond 32 bits", hint="idx counts steps or points; use label or a key")
    return number


def _plain(value: Any) -> Any:
    found = plain(value)
    if found is value:
        raise TypeError
    return found


def _storable(value: str, what: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{what} is {value!r}, which UTF-8 cannot hold: {error.reason}", hint="give another text"
        ) from error
    return str.__str__(value)
