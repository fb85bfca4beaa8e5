"""Columns that are repetitions of one measurement, a seed or a fold each: ``seed0``, ``fold0_acc``, ``split0_test_score``, ``acc_0``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing import words
from orledger.audit.importing.mapping import MISSING, VALUE
from orledger.audit.importing.marked import PERCENT, SPREAD
from orledger.errors import DataError
from orledger.wording import some

if TYPE_CHECKING:
    from collections.abc import Sequence

LISTED = 8  # columns that a line names
BARE = "repetition"  # the key of columns that have a number and no word for it
# Words that mean repetitions only where columns are numbered from 0 or 1: split80 is a share, iter500 a step.
COUNTED = (BARE, "s", "split", "iteration", "iter")
BETWEEN = r"[\s_.:#/|-]"
NUMBERED = re.compile(r"([A-Za-z_]*[A-Za-z])[\s_.:#-]*(\d+)")
_WORDS = "|".join(sorted(words.REPEATS, key=len, reverse=True)).replace("_", r"[\s_-]?")
REPEATED = re.compile(
    rf"(?<![A-Za-z0-9])[\[(]?(?:({_WORDS})[\s_.:#-]*|(s)(?=\d))(\d+)[\])]?(?![A-Za-z0-9])", re.IGNORECASE
)
NUMBER_LAST = re.compile(rf"(?P<base>.*(?:[A-Za-z]{BETWEEN}*|[A-Za-z]\d{BETWEEN}))(?P<number>\d+)")
NUMBER_FIRST = re.compile(rf"(?P<number>\d+){BETWEEN}+(?P<base>.*)")
# Metrics whose bare number from 1 is a rank or a length of n-grams, and those whose number from 0 may be that of a class.
AT_RANK = ("recall", "precision", "ndcg", "map", "mrr", "hit", "hits", "pass", "success", "bleu", "rouge")
OF_CLASS = ("f1", "precision", "recall", "sensitivity", "specificity", "auc", "auroc", "iou")


@dataclass(frozen=True)
class Repeated:
    """A column that repeats ``base`` (empty where its name says nothing else): the words for the repetition and its numbers.

    ``bare`` where a metric has a number and no word for it.
    """

    words: tuple[str, ...]
    numbers: tuple[str, ...]
    base: str
    bare: bool = False


@dataclass(frozen=True)
class Beforehand:
    """What was said about a table beforehand: names that are ``metrics``, and whether it is ``turned``, as a mapping knows."""

    metrics: tuple[str, ...] = ()
    turned: bool | None = None


NOTHING = Beforehand()


def repetitions(table: pl.DataFrame, name: str, said: Beforehand = NOTHING) -> tuple[pl.DataFrame, str] | None:
    """A column per seed or fold, of one metric or of several, becomes a row per seed or fold and a column per metric.

    A column that is said to be a metric stays one. Where numbers may be something else, as in ``acc_1`` and ``acc_2``, an error
    asks, unless a metric that was named answers it.
    """
    groups = _groups(table)
    spread = {c: r for group in groups.values() for c, r in group.items()}
    if len({r.words for r in spread.values()}) != 1 or not _meant(table, groups, name, said):
        return None
    (kinds, *_) = (r.words for r in spread.values())
    if "" in groups and (VALUE in table.columns or _odd(table, spread)):
        return None
    keys = ["seed" if word == "s" else word for word in kinds]
    if set(keys) & {*table.columns, *groups}:
        return None
    left = _beside(table, groups, keys, said)
    kept = [c for c in table.columns if c not in spread and c not in left]
    if {*groups} & {*kept}:
        return None
    return _rows(table, kept, keys, groups), _told(groups, keys, left)


def _groups(table: pl.DataFrame) -> dict[str, dict[str, Repeated]]:
    """The columns that repeat something, by what they repeat; only those that are numbered as repetitions are."""
    found: dict[str, dict[str, Repeated]] = {}
    for column in table.columns:
        if (repeated := _repeated(column)) is not None:
            found.setdefault(repeated.base, {})[column] = repeated
    return {
        base: group for base, group in found.items()
        if _counts(base, group) and not (_bare(group) and base in table.columns)
        and numeric(pl.concat([table[c].cast(pl.String, strict=False).alias("") for c in group]))
    }  # fmt: skip


def _rows(
    table: pl.DataFrame, kept: Sequence[str], keys: Sequence[str], groups: dict[str, dict[str, Repeated]]
) -> pl.DataFrame:
    """The rows of every repetition below each other, in the order of the columns."""
    alike = {base: len({table.schema[c] for c in group}) == 1 for base, group in groups.items()}
    parts = []
    for numbers in dict.fromkeys(r.numbers for group in groups.values() for r in group.values()):
        at = {base: next((c for c, r in group.items() if r.numbers == numbers), None) for base, group in groups.items()}
        of = (
            pl.lit(None) if c is None else pl.col(c) if alike[b] else pl.col(c).cast(pl.String) for b, c in at.items()
        )
        run = (pl.lit(n).alias(key) for key, n in zip(keys, numbers, strict=True))
        parts.append(table.select(*kept, *run, *(x.alias(base or VALUE) for x, base in zip(of, at, strict=True))))
    return pl.concat(parts, how="vertical_relaxed")


def _told(groups: dict[str, dict[str, Repeated]], keys: Sequence[str], left: dict[str, str]) -> str:
    of = "" if {*groups} == {""} else f" of {some([base or VALUE for base in groups], LISTED)}"
    columns = some([c for group in groups.values() for c in group], LISTED)
    told = f"a column per {' and '.join(keys)}{of} ({columns}), so that each row repeats one measurement"
    for why in dict.fromkeys(left.values()):
        told += f"; left out{why}: {', '.join(c for c in left if left[c] == why)}"
    return told


def _beside(
    table: pl.DataFrame, groups: dict[str, dict[str, Repeated]], keys: Sequence[str], said: Beforehand
) -> dict[str, str]:
    """The other columns of numbers that are no part of a repetition, each with the reason; metrics that were named stay."""
    computed, once = ", computed from them", f", not measured for every {keys[0]} (--metric takes one in)"
    left: dict[str, str] = {}
    bases = {words.plain(base) for base in groups}
    spread = {c for group in groups.values() for c in group}
    for c in table.columns:
        if c in spread or c in said.metrics or not numeric(table[c]):
            continue
        of = words.derived(c)
        if c in groups and not _is_mean(table, c, groups[c]):
            continue
        if (of is not None and (of[1] in bases or bases == {""})) or summary(c) or c in groups:
            left[c] = computed
        elif words.is_metric(c):
            left[c] = once
    return left


def _is_mean(table: pl.DataFrame, column: str, group: dict[str, Repeated]) -> bool:
    """Whether a column that is called by what is repeated holds the means of the repetitions, to its last digit."""
    x = table.select(pl.col(column, *group).cast(pl.String).str.strip_chars())
    printed = max((len(d) for d in x[column].str.extract(r"\.(\d+)$", 1).drop_nulls()), default=0)
    numbers = x.select(pl.all().cast(pl.Float64, strict=False))
    apart = (numbers[column] - numbers.select(pl.mean_horizontal(*group)).to_series()).abs().drop_nulls()
    return bool(len(apart)) and bool((apart <= 0.6 * 10.0**-printed).all())


def _meant(table: pl.DataFrame, groups: dict[str, dict[str, Repeated]], name: str, said: Beforehand) -> bool:
    """Whether the columns are meant as repetitions, by the metrics that were named; an error that asks where nothing says."""
    if said.turned is not None:
        return said.turned
    columns = [c for group in groups.values() for c in group]
    there = [m for m in said.metrics if m in table.columns]
    if any(m in columns for m in there) or (there and "" not in groups and not {*said.metrics} & {*groups}):
        return False
    beside = [d[1] for c in table.columns if c not in columns and (d := words.derived(c))]
    unsure = {b: group for b, group in groups.items() if _doubtful(b, group) and words.plain(b) not in beside}
    if unsure and said.metrics:
        return any(m in base for base in unsure for m in said.metrics if m not in there)
    for base, group in unsure.items():
        first, *_ = group
        raise DataError(
            f"{name}: {some(list(group), LISTED)} may repeat one measurement (a seed or a fold each), or be metrics of their own",
            hint=f"--metric {base} says that they repeat it, --metric {first} that each is a metric; so does a heading such as"
            f" fold1_{base}",
        )
    return True


def _repeated(column: str) -> Repeated | None:
    """What a column repeats by its name; None where its name speaks of no repetition."""
    name = column.strip()
    if (alone := number_of(name)) is not None:
        return Repeated((alone[0],), (alone[1],), "")
    if found := list(REPEATED.finditer(name)):
        kinds = tuple(words.plain(m[1] or m[2]) for m in found)
        parts = re.split(r"[\s_.:#/|@-]*\0[\s_.:#/|@-]*", REPEATED.sub("\0", name))
        base = re.sub(r"^\((.*)\)$", r"\1", "_".join(p for p in parts if p))
        return Repeated(kinds, tuple(m[3] for m in found), base) if base else None
    for pattern, end in ((NUMBER_LAST, -1), (NUMBER_FIRST, 0)):
        match = pattern.fullmatch(name)
        base = re.sub(rf"{BETWEEN}+$", "", match["base"]) if match else ""
        if match and words.plain(base).split("_")[end] in (*words.LOWER, *words.HIGHER):
            return Repeated((BARE,), (match["number"],), base, bare=True)
    return None


def number_of(column: str) -> tuple[str, str] | None:
    """What kind of repetition a column is that is called by nothing else, and its number; None for another name."""
    match = NUMBERED.fullmatch(column.strip())
    if match and (words.is_one_of(match[1], words.REPEATS) or match[1] == "s"):
        return words.plain(match[1]), match[2]
    return (BARE, column) if column.isdecimal() else None


def _counts(base: str, group: dict[str, Repeated]) -> bool:
    """Whether several columns are numbered as repetitions are: from 0 or 1 on where the word alone does not say so."""
    kinds = {word for r in group.values() for word in r.words}
    if len(group) < 2 or len({r.numbers for r in group.values()}) < len(group):
        return False
    if not kinds & {*COUNTED}:
        return True
    numbers = _numbers(group)
    counted = numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return counted and not (_bare(group) and numbers[0] == 1 and _last(base) in AT_RANK)


def _bare(group: dict[str, Repeated]) -> bool:
    return all(r.bare for r in group.values())


def _doubtful(base: str, group: dict[str, Repeated]) -> bool:
    """Whether the bare numbers of a metric may count something else: classes from 0 on, ranks or horizons from 1 on; and s subjects."""
    bare = _bare(group) and (_numbers(group)[0] == 1 or _last(base) in OF_CLASS)
    return bool(base) and (bare or all("s" in r.words for r in group.values()))


def _numbers(group: dict[str, Repeated]) -> list[int]:
    return sorted({int(n) for r in group.values() for n in r.numbers})


def _last(base: str) -> str:
    return words.plain(base).rpartition("_")[2]


def _odd(table: pl.DataFrame, spread: dict[str, Repeated]) -> bool:
    """Whether columns that are numbered and say nothing else may be something else: systems, or measurements as those beside them."""
    others = [c for c in table.columns if c not in spread]
    if any(r.words == ("s",) for r in spread.values()) and not any(words.is_one_of(c, words.ARMS) for c in others):
        return True
    return any(numeric(table[c]) and words.is_metric(c) and not summary(c) and words.derived(c) is None for c in others)


def summary(name: str) -> bool:
    """Whether a name is that of an average, a total or a spread and of nothing else."""
    return words.sums_up(name) or words.plain(name) in words.SPREADS


def rest(table: pl.DataFrame, used: Sequence[str]) -> str:
    """What a line says of the columns of ``table`` that are not ``used``."""
    left = [c for c in table.columns if c not in used]
    return f"; left out: {', '.join(left)}" if left else ""


def numeric(column: pl.Series) -> bool:
    """Whether a column holds numbers, with or without a spread or a percent sign, and at least one of them."""
    if column.dtype.is_numeric():
        return column.null_count() < len(column)
    if column.dtype != pl.String:
        return False
    text = column.str.strip_chars()
    there = text.filter(~text.is_in(MISSING)).drop_nulls()
    number = (
        there.cast(pl.Float64, strict=False).is_not_null() | there.str.contains(SPREAD) | there.str.contains(PERCENT)
    )
    return bool(len(there)) and bool(2 * number.sum() > len(there))
