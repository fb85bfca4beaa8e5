"""Which columns name a cell, and which of them are the independent unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.importing import words
from orledger.audit.importing.mapping import FILE_COLUMN
from orledger.audit.importing.suspicions import require_no_summaries, require_one_part, same_rows
from orledger.wording import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.importing.columns import Columns
    from orledger.audit.importing.inference import Guess, Wishes

MANY = 30  # more values than this make an iteration a step of a curve and not a repetition
SOME = 20  # names that a line of reasons lists


def find_keys(
    columns: Columns, rest: Sequence[str], beside: Sequence[str], wishes: Wishes, told: list[str]
) -> tuple[tuple[str, ...], str | None]:
    """The columns that name a cell, as few as tell all rows apart; and the column of steps, where the rows are a curve."""
    if wishes.keys:
        told.append(f"keys: {', '.join(wishes.keys)}, as you said")
        step = next((c for c in rest if c not in wishes.keys and words.is_one_of(c, words.INDICES)), None)
        return wishes.keys, None if columns.tell_apart([*beside, *wishes.keys]) else step
    units = [c for c in rest if words.is_one_of(c, words.UNITS) and not columns.constant(c)]
    repeats = [c for c in rest if words.is_one_of(c, words.REPEATS) and c not in units and not columns.constant(c)]
    steps = [c for c in rest if words.is_one_of(c, words.INDICES) and columns.whole(c)]
    steps += [c for c in repeats if words.plain(c) in ("iteration", "iter") and len(columns.values(c)) > MANY]
    repeats = [c for c in repeats if c not in steps]
    require_one_part(columns, repeats)
    others = [c for c in rest if c in columns.texts and c not in (*units, *repeats, *steps) and not columns.constant(c)]
    chosen = units[:1]
    idx = None
    for column, why in (
        *((c, "names a repetition") for c in sorted(repeats, key=columns.count)),
        *((c, "names a unit too") for c in units[1:]),
        *((c, "counts steps") for c in steps),
        *((c, "is needed to tell rows apart") for c in sorted(others, key=columns.count)),
    ):
        if columns.tell_apart([*beside, *chosen, *([idx] if idx else [])]):
            break
        if column in steps:
            idx = column
            told.append(f"{column}: {why}; the rows are points of curves")
            continue
        if columns.separates(column, [*beside, *chosen, *([idx] if idx else [])]):
            chosen.append(column)
            told.append(f"{column}: key, because it {why}")
    if units[:1]:
        told.insert(0, f"{units[0]}: key, because it names what is measured on, {columns.count(units[0])} of them")
    if not chosen:
        chosen = [next((c for c in others if columns.tell_apart([*beside, c])), FILE_COLUMN)]
        told.append(
            "unit: no column names what is measured on, so that the table is one unit and no test can decide anything"
            if chosen[0] == FILE_COLUMN and columns.files == 1
            else f"{chosen[0]}: key, because it tells the rows apart"
        )
    if not columns.tell_apart([*beside, *chosen, *([idx] if idx else [])]):
        raise same_rows(columns, beside, [*chosen, *([idx] if idx else [])])
    return tuple(chosen), idx


def with_unit(guess: Guess, columns: Columns, wishes: Wishes) -> Guess:
    """Which keys are the independent unit, and which only repeat a measurement on it."""
    keys = guess.mapping.keys
    repeats = tuple(k for k in keys if words.is_one_of(k, words.REPEATS))
    unit = wishes.unit or tuple(k for k in keys if k not in repeats) or keys
    guess.unit, guess.repeats = unit, tuple(k for k in keys if k not in unit)
    if guess.repeats:
        guess.reasons.append(
            f"unit: {', '.join(unit)}; {', '.join(guess.repeats)} repeats a measurement on it and is averaged before any test"
        )
    elif unit != (FILE_COLUMN,) or columns.files > 1:
        guess.reasons.append(f"unit: {', '.join(unit)}, one value per arm{_only(columns, unit)}")
    require_no_summaries(columns, unit)
    if guess.mapping.ignore:
        said = {r.partition(":")[0] for r in guess.reasons}
        why: dict[str, list[str]] = {}
        for c in guess.mapping.ignore:
            if c not in said:
                why.setdefault(columns.why_ignored(c, keys), []).append(c)
        for reason, left in why.items():
            alone = left if len(left) <= MANY else [some(left, SOME)]
            guess.reasons += [f"{c}: left out, {reason}" for c in alone]
    return guess


def _only(columns: Columns, unit: Sequence[str]) -> str:
    """What a table of repetitions cannot speak about, since it has one dataset, or names none."""
    if not all(words.is_one_of(k, words.REPEATS) for k in unit):
        return ""
    one = next((c for c in columns.names if words.is_one_of(c, words.UNITS) and columns.count(c) == 1), None)
    where = f"the one {one} ({columns.values(one)[0]})" if one else "what these were measured on"
    return f"; what is found holds for {where} and says nothing about others"
