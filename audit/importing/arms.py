"""Which column of a table names the arms, or whether each column is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.importing import words
from orledger.audit.importing.mapping import FILE_COLUMN
from orledger.errors import DataError
from orledger.wording import some

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from orledger.audit.importing.columns import Columns


def arm_by_name(columns: Columns, left: Sequence[str], taken: Collection[str]) -> str | None:
    """The column whose name is a word for arms, or each file where there are several; ``taken`` columns have another part."""
    free = [c for c in left if c not in taken and not columns.constant(c)]
    for word in words.ARMS:
        for c in free:
            if words.plain(c) == word and (c in columns.texts or (columns.whole(c) and word != "run")):
                return c  # arms may be numbered; a numbered run is a repetition
    if columns.files > 1 and FILE_COLUMN in free:
        return FILE_COLUMN
    return None


def arm_by_shape(columns: Columns, left: Sequence[str], keys: Collection[str]) -> str | None:
    """The one text column that is neither a key nor a unit nor a repetition."""
    others = [
        c for c in left
        if c in columns.texts and c not in keys and not columns.constant(c) and not words.is_one_of(c, (*words.UNITS, *words.REPEATS))
    ]  # fmt: skip
    return others[0] if len(others) == 1 else None


def looks_wide(columns: Columns, left: Sequence[str], keys: Collection[str]) -> bool:
    """Several columns of numbers whose names are not those of things measured, and text that names the rows.

    What was measured in different units is no list of arms, and what is computed from another column says nothing about it.
    """
    numbers = [
        c for c in left
        if c in columns.numbers and c not in keys and not words.is_one_of(c, (*words.KEYS, *words.INDICES))
    ]  # fmt: skip
    plain = {words.plain(c) for c in numbers}
    numbers = [c for c in numbers if not ((of := words.derived(c)) and of[1] in plain)]
    units = {unit for c in numbers if (unit := words.unit_of(c))}
    if len(units) > 1 or (units and sum(words.unit_of(c) is None for c in numbers) == 1):
        return False
    measured = [c for c in numbers if words.is_metric(c)]
    return len(numbers) >= 2 and len(measured) <= len(numbers) / 2


def arm_reason(columns: Columns, arm: str, said: str | None) -> str:
    """Why ``arm`` is taken for the column of the arms; ``said`` is the one that the user named."""
    if arm == said:
        return f"{arm}: names the arms, as you said"
    why = (
        "each file is one"
        if arm == FILE_COLUMN
        else "by its name"
        if words.is_one_of(arm, words.ARMS)
        else "the only text left"
    )
    return f"{arm}: names the arms ({some(columns.values(arm), 6)}), {why}"


def which_arm(columns: Columns, left: Sequence[str], keys: Collection[str] = ()) -> DataError:
    """The error that asks for the column, or says that there is nothing to compare; ``keys`` are those that the user named."""
    alone = next((c for c in left if words.is_one_of(c, words.ARMS) and columns.count(c) == 1), None)
    if alone is not None:
        return DataError(
            f"{columns.source}: {alone} has one value, {columns.values(alone)[0]!r}, so there is nothing to compare",
            hint="give a table with at least two arms (methods, models, algorithms), or one file for each",
        )
    texts = [c for c in left if c in columns.texts and c not in keys and not columns.constant(c)]
    said = [c for c in keys if c in columns.texts and not words.is_one_of(c, (*words.UNITS, *words.REPEATS))]
    if said and not texts:
        one = next((c for c in said if words.is_one_of(c, words.ARMS)), None)
        return DataError(
            f"{columns.source}: no column is left that names the arms (methods, models, algorithms): {', '.join(keys)} are keys, as you said",
            hint=f"leave out --key {one}: it names the arms"
            if one
            else f"leave out the --key that names them, one of {', '.join(said)}",
        )
    if all(words.is_one_of(c, (*words.UNITS, *words.REPEATS)) for c in texts):
        return DataError(
            f"{columns.source}: no column names arms (methods, models, algorithms), so there is nothing to compare",
            hint="--arm COLUMN says which does; where each file holds the results of one arm, give several files",
        )
    return DataError(
        f"{columns.source}: cannot tell which column names the arms (methods, models, algorithms)",
        hint=f"say so with --arm COLUMN; columns with words are {', '.join(texts)}",
    )


def either_arms(columns: Columns, texts: Sequence[str], numbers: Sequence[str]) -> DataError:
    """The error for a table in which one of several columns may name the arms, or every column of numbers may be one."""
    return DataError(
        f"{columns.source}: does {' or '.join(texts)} name the arms (methods, models, algorithms), or is each of {some(numbers, 5)} one?",
        hint=f"--arm COLUMN says which column names them; where columns are arms, {' '.join(f'--key {c}' for c in texts)} says what the rows are",
    )
