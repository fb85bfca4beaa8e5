"""What a table of results seems to mean: keys, arms, metrics and their directions, each with the reason for taking it so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing import words
from orledger.audit.importing.arms import arm_by_name, arm_by_shape, arm_reason, either_arms, looks_wide, which_arm
from orledger.audit.importing.columns import Columns, describe
from orledger.audit.importing.exports import UNFINISHED
from orledger.audit.importing.keys import SOME, choose_unit, find_keys, with_unit
from orledger.audit.importing.mapping import FILE_COLUMN, MISSING, VALUE, MappedMetric, Mapping
from orledger.audit.importing.marked import marked_results, number, spreads
from orledger.audit.importing.reasons import failures, reason_column
from orledger.audit.importing.suspicions import (
    computed_from_others,
    doubtful_arms,
    means_of,
    require_bare,
    require_read,
    results_alone,
)
from orledger.errors import DataError, UsageError
from orledger.wording import some

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_UNTOLD = 100  # more numbers than this whose names say no direction are features or settings, and no results
COMBINED = ("score", "combined", "combined_score", "combined_metric")  # names for one metric made of several


@dataclass(frozen=True)
class Wishes:
    """What the user said; None and () leave it to the table."""

    study: str | None = None
    arm: str | None = None
    keys: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    better: str | None = None
    unit: tuple[str, ...] = ()
    scale: str | None = None


@dataclass
class Guess:
    """A mapping, the metric that decides, the keys of the independent unit, those of its repetitions, and the reasons for all."""

    mapping: Mapping
    primary: str
    unit: tuple[str, ...]
    repeats: tuple[str, ...]
    reasons: list[str] = field(default_factory=list)
    settings: tuple[str, ...] = ()  # those of the repeats that are no runs of the same thing


def infer(table: pl.DataFrame, name: str, wishes: Wishes | None = None, told: list[str] | None = None) -> Guess:
    """What ``table`` (from ``read_tables``) seems to hold; a question that it cannot answer is an error that asks it.

    ``told`` is filled with what was understood, and holds it also when an error asks for the rest.
    """
    told = [] if told is None else told
    wishes = wishes or Wishes()
    named = {*wishes.keys, *wishes.ignore, *([wishes.arm] if wishes.arm else [])}
    columns = describe(table, named)
    for said in (wishes.arm, *wishes.keys, *wishes.unit):
        columns.require(said)
    free = [c for c in columns.names if c not in wishes.ignore]
    marked = marked_results(columns, free, {*wishes.keys, *([wishes.arm] if wishes.arm else [])})
    if marked:
        texts = {c: pl.col(c).cast(pl.String).str.strip_chars() for c in marked}
        wordy = columns.wordy
        bare = (pl.when(~t.is_in(wordy.get(c, []))).then(number(t)).alias(c) for c, t in texts.items())
        columns = replace(describe(table.with_columns(bare), named), wordy=wordy)
    told += [f"numbers: with decimal commas, such as {columns.comma}"] if columns.comma else []
    told += [f"{c}: left out, as you said" for c in wishes.ignore]
    told += [
        f"{c}: no number where {' or '.join(found)} stands, which is kept as the reason"
        for c, found in columns.wordy.items()
    ]
    reason = reason_column(columns, {wishes.arm, *wishes.keys, *wishes.ignore})
    ended = failures(columns, reason)
    if reason is not None:
        told.append(
            f"{reason}: says why a number is missing, by its name"
            + (f"; a number beside {' or '.join(ended)} is no result" if ended else "")
        )
    left = [c for c in columns.names if c not in (*wishes.ignore, reason)]
    require_bare(columns, [c for c in left if c not in named])
    start = Mapping(
        study=wishes.study or _study(name), block="main", form="rows", keys=(), file="", reason=reason,
        reason_wins=reason == UNFINISHED or bool(ended), decimal="," if columns.comma else ".", marked=bool(marked),
        missing=(*MISSING, *sorted({w for found in columns.wordy.values() for w in found})),
    )  # fmt: skip
    metric = next((c for c in left if c in columns.texts and words.is_one_of(c, words.METRICS)), None)
    value = next((c for c in left if c in columns.numbers and words.is_one_of(c, words.VALUES)), None)
    if metric and value and not wishes.metrics:
        guess = _long(columns, left, start, wishes, told, metric, value)
    else:
        arm = wishes.arm or arm_by_name(columns, left, (*wishes.keys, *wishes.metrics))
        if arm is None:
            require_read(columns, [c for c in left if c not in named])
        if arm is None and looks_wide(columns, left, wishes.keys):
            guess = _wide(columns, left, start, wishes, told)
        else:
            guess = _rows(columns, left, start, wishes, told, arm)
    further = tuple(
        c for c in wishes.ignore if c not in guess.mapping.ignore
    )  # what was taken out of the table beforehand
    guess.mapping = replace(guess.mapping, ignore=(*guess.mapping.ignore, *further))
    guess = _directed(guess, wishes)
    percent = {c for c, example in marked.items() if words.PERCENT in example}
    percent |= {c for c in columns.names if words.unit_of(c) == words.PERCENT}
    arms = guess.mapping.form == "wide" and percent >= {*guess.mapping.arms}
    described = (replace(m, unit=words.PERCENT) if arms or m.name in percent else m for m in guess.mapping.metrics)
    guess.mapping = replace(guess.mapping, metrics=tuple(described))
    return _with_marks(guess, marked) if marked else guess


def as_mapped(mapping: Mapping, rows: pl.DataFrame, wishes: Wishes | None = None) -> Guess:
    """What a mapping that somebody wrote leaves to ask of ``rows``: the metric that decides, and the keys of the independent unit."""
    wishes = wishes or Wishes()
    directed = [m.name for m in mapping.metrics if m.better is not None]
    primary = next((m for m in (*wishes.metrics, *([mapping.combined] if mapping.combined else []), *directed)), None)
    if primary is None or (primary != mapping.combined and primary not in directed):
        raise UsageError(
            f"{mapping.file}: " + ("no metric has a direction" if primary is None else f"{primary!r} has no direction"),
            hint='give the metric that decides a [[metric]] table with better = "lower" or "higher"',
        )
    told = [
        f"keys, arms and metrics: as {mapping.file} says",
        f"{primary}: decides; {mapping.described(primary).better} is better",
    ]
    guess = Guess(mapping, primary, (), (), told)
    told.append(choose_unit(guess, rows, wishes))
    return guess


def _long(
    columns: Columns, left: list[str], start: Mapping, wishes: Wishes, told: list[str], metric: str, value: str
) -> Guess:
    told.append(f"{value}: the numbers, one to a row, because {metric} names what each of them is")
    rest = [c for c in left if c not in (metric, value)]
    arm = wishes.arm or arm_by_name(columns, rest, (*wishes.keys, *wishes.metrics))
    if arm is None:
        raise which_arm(columns, rest, wishes.keys)
    told += [arm_reason(columns, arm, wishes.arm), *doubtful_arms(columns, arm)]
    keys, idx = find_keys(columns, [c for c in rest if c != arm], [arm, metric], wishes, told)
    names = columns.values(metric)
    mapping = replace(
        start, form="long", keys=keys, arm=arm, metric=metric, value=value, idx=idx,
        metrics=tuple(MappedMetric(n, n) for n in names), ignore=_ignored(columns, (*keys, arm, metric, value, idx, start.reason)),
    )  # fmt: skip
    return with_unit(Guess(mapping, names[0], (), (), told), columns, wishes)


def _wide(columns: Columns, left: list[str], start: Mapping, wishes: Wishes, told: list[str]) -> Guess:
    named = [c for c in left if c in wishes.keys or words.is_one_of(c, words.KEYS)]
    arms = [c for c in left if c in columns.numbers and c not in named and c != FILE_COLUMN]
    arms = results_alone(columns, arms)
    told.append(f"arms: {some(arms, SOME)}, one column each, because no column names arms and these hold numbers")
    spread = {*arms, *columns.set_aside}
    keys, _ = find_keys(columns, [c for c in left if c not in spread], [], wishes, told)
    if len(keys) > 1 and not named:
        raise either_arms(columns, keys, arms)
    measure = wishes.metrics[0] if wishes.metrics else VALUE
    mapping = replace(
        start, form="wide", keys=keys, arms=tuple(arms), fixed_metric=measure, metrics=(MappedMetric(measure, measure),),
        ignore=_ignored(columns, (*keys, *arms, start.reason)),
    )  # fmt: skip
    return with_unit(Guess(mapping, measure, (), (), told), columns, wishes)


def _rows(columns: Columns, left: list[str], start: Mapping, wishes: Wishes, told: list[str], arm: str | None) -> Guess:
    if arm is None:
        arm = arm_by_shape(columns, left, wishes.keys)
        if arm is None:
            raise which_arm(columns, left, wishes.keys)
    told += [arm_reason(columns, arm, wishes.arm), *doubtful_arms(columns, arm)]
    rest = [c for c in left if c != arm]
    called = None
    if len(wishes.metrics) == 1 and wishes.metrics[0] not in columns.names and VALUE in columns.numbers:
        called, wishes = wishes.metrics[0], replace(wishes, metrics=(VALUE,))
    for said in wishes.metrics:
        columns.require(said)
    metrics = [
        c for c in rest
        if c in wishes.metrics or (
            c in columns.numbers and c not in wishes.keys and not columns.constant(c)
            and not words.is_one_of(c, (*words.KEYS, *words.INDICES))
            and (words.is_metric(c) or words.is_one_of(c, words.VALUES) or not columns.whole(c))
        )
    ]  # fmt: skip
    if not metrics:
        require_read(columns, [c for c in rest if c not in wishes.keys])
        same = [c for c in rest if c in columns.numbers and columns.constant(c)]
        raise DataError(
            f"{columns.source}: no column looks like a result"
            + (
                f"; {', '.join(same)} {'has' if len(same) == 1 else 'have'} the same number in every row"
                if same
                else ""
            ),
            hint=f"name it with --metric COLUMN; columns are {', '.join(c for c in rest if c != FILE_COLUMN)}",
        )
    measured = set(metrics)
    metrics = computed_from_others(columns, metrics, wishes.metrics)
    untold = [m for m in metrics if m not in wishes.metrics and words.direction(m) is None]
    if MOST_UNTOLD < len(untold) < len(metrics):
        columns.set_aside |= dict.fromkeys(
            untold, "no direction is said by the name, and so many columns are no results (--metric takes one in)"
        )
        metrics = [m for m in metrics if m not in set(untold)]
    keys, idx = find_keys(columns, [c for c in rest if c not in measured], [arm], wishes, told)
    metrics = _without_copies(columns, metrics, told) if not wishes.metrics else metrics
    means = means_of(
        columns, [m for m in metrics if m not in wishes.metrics], [m for m in metrics if not words.is_cost(m)]
    )
    metrics = [m for m in metrics if m not in means]
    alike = [m for m in metrics if m not in wishes.metrics and keys and columns.shared(m, keys)]
    if len(alike) < len(metrics):
        columns.set_aside |= dict.fromkeys(alike, f"it is the same for every {arm}")
        metrics = [m for m in metrics if m not in alike]
    parts = _complementary(columns, metrics, keys)
    mapping = replace(
        start, form="rows", keys=keys, arm=arm, columns=tuple(metrics), idx=idx,
        metrics=tuple(MappedMetric(m, m) for m in metrics), ignore=_ignored(columns, (*keys, arm, *metrics, idx, start.reason)),
    )  # fmt: skip
    usual = [m for word in words.DECIDING for m in metrics if words.plain(m) == word]
    telling = sorted((m for m in metrics if words.direction(m)), key=words.trained)
    primary = next(
        (m for m in (*wishes.metrics, *usual, *telling, *metrics) if m in wishes.metrics or not words.is_cost(m)),
        metrics[0],
    )
    if parts and not wishes.metrics:
        primary = next(n for n in COMBINED if n not in metrics)
        mapping = replace(mapping, combined=primary, combines=parts)
        told.append(
            f"{primary}: {' or '.join(parts)}, whichever a {keys[0]} has, turned so that higher is better, because no {keys[0]} has both"
        )
    if called is not None:
        mapping = replace(
            mapping, form="long", columns=(), value=VALUE, fixed_metric=called, metrics=(MappedMetric(called, called),)
        )
        primary = called
    return with_unit(Guess(mapping, primary, (), (), told), columns, wishes)


def _directed(guess: Guess, wishes: Wishes) -> Guess:
    """``guess`` with the direction of every metric that says one; the deciding metric must have one."""
    described, untold = [], []
    for m in guess.mapping.metrics:
        found = words.direction(m.name)
        # What was said is about the metrics that were named: a column beside them may be a cost.
        asked = m.name == guess.primary or (found is None and m.name in wishes.metrics)
        better = wishes.better if wishes.better and asked else found and found[0]
        why = (
            "as you said"
            if better is not None and (found is None or better != found[0])
            else f"from the word {found[1]!r}"
            if found
            else ""
        )
        if better is not None:
            guess.reasons.append(f"{m.name}: {better} is better, {why}")
        elif m.name != guess.primary:
            untold.append(m.name)
        described.append(replace(m, better=better, scale=wishes.scale if m.name == guess.primary else None))
    if untold:
        one = len(untold) == 1
        guess.reasons.append(
            f"{some(untold, SOME)}: stored and not tested, {'its name does' if one else 'their names do'} not say whether lower or higher"
            " is better"
        )
    guess.mapping = replace(guess.mapping, metrics=tuple(described))
    if guess.mapping.described(guess.primary).better is None:
        raise UsageError(
            f"the table does not say whether lower or higher {guess.primary!r} is better",
            hint="say so with --better higher or --better lower"
            + ("; --metric NAME gives the numbers a name" if guess.primary == VALUE else ""),
        )
    decides = [m.name for m in described if m.better and m.name != guess.primary]
    if decides:
        guess.reasons.append(
            f"{guess.primary}: decides; {', '.join(decides)} {'is' if len(decides) == 1 else 'are'} described and not tested (--metric chooses)"
        )
    return guess


def _with_marks(guess: Guess, marked: dict[str, str]) -> Guess:
    """``guess`` for a table whose numbers have something beside them: that becomes a metric of its own, which nobody tests."""
    stored = spreads([m.name for m in guess.mapping.metrics], list(marked.values()))
    names = some([m.name for m in stored], 5)
    told = f"; what stands beside them is stored as {names} and not tested" if stored else ""
    example = next(iter(marked.values()))
    guess.reasons.insert(
        0, f"{some(list(marked), 5)}: numbers with a mark, such as {example!r}; the number is the result{told}"
    )
    guess.mapping = replace(guess.mapping, metrics=(*guess.mapping.metrics, *stored))
    return guess


def _without_copies(columns: Columns, metrics: list[str], told: list[str]) -> list[str]:
    """``metrics`` less a column that repeats, row by row, one or another of the rest."""
    for c in metrics:
        others = [m for m in metrics if m != c]
        if words.is_one_of(c, words.VALUES) and len(others) > 1 and columns.copies(c, others):
            told.append(f"{c}: left out, it repeats {' or '.join(columns.copied(c, others))} of its row")
            return others
    return metrics


def _complementary(columns: Columns, metrics: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """Metrics of which every value of the first key has exactly one, for all that have a direction; () when there are none."""
    partial = [m for m in metrics if words.direction(m) and columns.partial(m, keys[0])]
    return tuple(partial) if len(partial) > 1 and columns.share_out(partial, keys[0]) else ()


def _ignored(columns: Columns, used: Sequence[str | None]) -> tuple[str, ...]:
    taken = {*used, FILE_COLUMN}
    return tuple(c for c in columns.names if c and c not in taken)


def _study(name: str) -> str:
    stem = name.rpartition(".")[0] or name
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in stem) or "study"
