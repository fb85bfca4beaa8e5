"""Which columns name a cell, and which of them are the independent unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

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
    """The columns that name a cell, as few as tell all rows apart; and the column of steps, where the rows are a curve.

    Keys that the user named are among them; where they do not suffice, others are added.
    """
    said = wishes.keys
    if said:
        told.append(f"keys: {', '.join(said)}, as you said")
        step = next((c for c in rest if c not in said and words.is_one_of(c, words.INDICES)), None)
        for idx in (None, *([step] if step else [])):
            if columns.tell_apart([*beside, *said, *([idx] if idx else [])]):
                return said, idx
    units = [c for c in rest if words.is_one_of(c, words.UNITS) and not columns.constant(c)]
    repeats = [c for c in rest if words.is_one_of(c, words.REPEATS) and c not in units and not columns.constant(c)]
    settings = [c for c in rest if words.is_one_of(c, words.SETTINGS) and not columns.constant(c)]
    steps = [c for c in rest if words.is_one_of(c, words.INDICES) and columns.whole(c)]
    steps += [c for c in repeats if words.plain(c) in ("iteration", "iter") and len(columns.values(c)) > MANY]
    repeats = [c for c in repeats if c not in steps]
    require_one_part(columns, repeats)
    others = [
        c
        for c in rest
        if c in columns.texts and c not in (*units, *repeats, *settings, *steps) and not columns.constant(c)
    ]
    first = [c for c in units[:1] if not any(words.is_one_of(k, words.UNITS) for k in said)]
    chosen = [*first, *said]
    idx = None
    for column, why in (
        *((c, "names a repetition") for c in sorted(repeats, key=columns.count)),
        *((c, "names a unit too") for c in units if c not in first),
        *((c, "names a setting") for c in settings),
        *((c, "counts steps") for c in steps),
        *((c, "is needed to tell rows apart") for c in sorted(others, key=columns.count)),
    ):
        if columns.tell_apart([*beside, *chosen, *([idx] if idx else [])]):
            break
        if column in steps:
            idx = column
            told.append(f"{column}: {why}; the rows are points of curves")
            continue
        if column not in chosen and columns.separates(column, [*beside, *chosen, *([idx] if idx else [])]):
            chosen.append(column)
            told.append(f"{column}: key, because it {why}")
    if first:
        told.insert(0, f"{units[0]}: key, because it names what is measured on, {columns.count(units[0])} of them")
    if not chosen:
        chosen = [next((c for c in others if columns.tell_apart([*beside, c])), FILE_COLUMN)]
        told.append(
            "unit: no column names what is measured on, so that the table is one unit and no test can decide anything"
            if chosen[0] == FILE_COLUMN and columns.files == 1
            else f"{chosen[0]}: key, because it tells the rows apart"
        )
    if not any(words.is_one_of(c, words.UNITS) for c in chosen):  # what is measured on comes first
        chosen = [*(c for c in chosen if c not in said), *said]
    if not columns.tell_apart([*beside, *chosen, *([idx] if idx else [])]):
        raise same_rows(columns, beside, [*chosen, *([idx] if idx else [])])
    return tuple(chosen), idx


def with_unit(guess: Guess, columns: Columns, wishes: Wishes) -> Guess:
    """Which keys are the independent unit, and which only repeat a measurement on it."""
    keys = guess.mapping.keys
    told = choose_unit(guess, columns.frame, wishes)
    unit = guess.unit
    if guess.repeats or wishes.unit or unit != (FILE_COLUMN,) or columns.files > 1:
        guess.reasons.append(told + ("" if guess.repeats else ", one value per arm") + _only(columns, unit))
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


def choose_unit(guess: Guess, rows: pl.DataFrame, wishes: Wishes) -> str:
    """Which keys are the independent unit of ``guess``, which is changed, by its keys and their values in ``rows``; in words.

    The unit is what is measured on. Settings of it, such as depths or horizons, are averaged like seeds: a claim
    about further datasets has as many units as there are datasets.
    """
    keys = guess.mapping.keys
    repeats = [k for k in keys if words.is_one_of(k, words.REPEATS)]
    settings = _settings(rows, [k for k in keys if k not in repeats])
    unit = wishes.unit or tuple(k for k in keys if k not in (*repeats, *settings)) or keys
    guess.unit, guess.repeats = unit, tuple(k for k in keys if k not in unit)
    guess.settings = tuple(k for k in settings if k not in unit)
    runs = [k for k in guess.repeats if k not in guess.settings]
    told = f"unit: {', '.join(unit)}"
    if runs:
        told += f"; {', '.join(runs)} repeats a measurement on it and is averaged before any test"
    if guess.settings:
        told += f"; {', '.join(guess.settings)} varies on the same {unit[0]} and is averaged too, so that what is found is about {unit[0]}s"
    elif settings and len(settings) < len(unit):
        of = next(k for k in unit if k not in settings)
        told += f"; {', '.join(settings)} varies on the same {of}, so that what is found holds for these and says nothing about further ones"
    return told


def _settings(rows: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """The ``keys`` that vary on what other keys name: those with numbers, and beside units that have names those with words.

    Units that are numbered may be numbered anew within each word, so that both together name one.
    """
    units = [k for k in keys if words.is_one_of(k, words.UNITS)]
    others = [k for k in keys if k not in units and k != FILE_COLUMN]
    if not units:
        return []
    return others if not any(_numbered(rows, k) for k in units) else [k for k in others if _numbered(rows, k)]


def _numbered(rows: pl.DataFrame, key: str) -> bool:
    return rows[key].drop_nulls().cast(pl.Float64, strict=False).null_count() == 0


def _only(columns: Columns, unit: Sequence[str]) -> str:
    """What a table of repetitions cannot speak about, since it has one dataset, or names none."""
    one = next((c for c in columns.names if words.is_one_of(c, words.UNITS) and columns.count(c) == 1), None)
    if any(words.is_one_of(k, words.UNITS) for k in unit) or (
        one is None and not all(words.is_one_of(k, words.REPEATS) for k in unit)
    ):
        return ""
    where = f"the one {one} ({columns.values(one)[0]})" if one else "what these were measured on"
    return f"; what is found holds for {where} and says nothing about others"
