"""What a table says that its author hardly meant: two spellings of one arm, an average among the units, rows that stand twice."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.importing import words
from orledger.audit.importing.mapping import FILE_COLUMN
from orledger.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from orledger.audit.importing.columns import Columns

ADORNED = r"^(?:\\[A-Za-z]+\s*\{|\*{1,2}|_{1,2}|\$|<\w+>)+\s*[+\-−]?[\d.]"  # **0.91**, \textbf{0.91}, $0.91$
THOUSANDS = r"^[+\-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$"
BARE = r"^[+\-−]?[\d.]"
# Numbers that are told from names by a separator of thousands: 1.200,5 and 1,200.5, 1.200.000, 1'200 and 1 200.
SEPARATED = r"^[+\-−]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+|(?:\.\d{3}){2,}|(?:,\d{3}){2,}|(?:['’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?)$"
FIGURES = r"^[+\-−]?\d[\d.,'’ \u00a0\u202f]*$"
MOST_DIFFERED = 12  # columns among which differences are looked for
ALIKE = 0.85  # share of letters in common above which two names may be one
RARE = 0.5  # the rarer spelling of one name has fewer than this share of the rows of the other


def doubtful_arms(columns: Columns, arm: str) -> list[str]:
    """A line for every two arms whose names differ by a slip, where one of them has far fewer rows or only capitals and signs differ."""
    counts = dict(columns.frame[arm].drop_nulls().value_counts().iter_rows())
    names = columns.values(arm)
    if len(names) > 200:  # pairs grow with the square, and so many arms are no list that somebody typed
        return []
    lines = []
    for pair in combinations(names, 2):
        rare, usual = sorted(pair, key=lambda n: counts[n])
        if (counts[rare] < RARE * counts[usual] or _same_letters(rare, usual)) and _alike(rare, usual):
            lines.append(
                f"{arm}: {rare!r} ({counts[rare]:,} of {columns.frame.height:,} rows) is spelt nearly like {usual!r}"
                f" ({counts[usual]:,}); where they are one arm, correct the table and begin with a new database"
            )
    return lines


def require_no_summaries(columns: Columns, unit: Sequence[str]) -> None:
    """An error where the last unit is called an average or a total: it would count as one more."""
    for key in unit:
        values = columns.values(key) if key in columns.texts else []
        if len(values) > 2 and words.sums_up(values[-1]):
            raise DataError(
                f"{columns.source}: {key} {values[-1]!r} looks like a summary of the others, and would count as one more unit",
                hint=f"take its rows out of the table; if it is a {key} like the others, give it another name",
            )


def require_bare(columns: Columns, names: Sequence[str]) -> None:
    """An error for a column of results whose numbers are in bold, formulas, or have commas after the thousands: as words they would pass
    for names, or be left out.
    """
    for name in names:
        if name not in columns.texts:
            continue
        entries = columns.frame[name].drop_nulls()
        for pattern, what, hint in (
            (
                ADORNED,
                "something around it",
                "leave the number alone, without bold type or a formula around it: what is best is computed",
            ),
            (
                THOUSANDS,
                "a comma that may separate thousands",
                f"write 1234 or 1.234, whichever it is; --ignore {name} leaves the column out",
            ),
        ):
            found = entries.str.contains(pattern)
            if not found.any() or not (found | entries.str.contains(BARE)).all():
                continue
            if pattern == ADORNED or words.is_metric(name):
                raise DataError(
                    f"{columns.source}: column {name!r} holds {entries.filter(found)[0]!r}, a number with {what}",
                    hint=hint,
                )


def require_read(columns: Columns, names: Sequence[str]) -> None:
    """An error for a column of numbers with separators of thousands, which would pass for one of names."""
    for name in names:
        if name not in columns.texts:
            continue
        entries = columns.frame[name].drop_nulls()
        separated = entries.str.contains(SEPARATED)
        if separated.any() and entries.str.contains(FIGURES).all():
            raise DataError(
                f"{columns.source}: column {name!r} holds {entries.filter(separated)[0]!r}, a number with separators of thousands,"
                " which is not read",
                hint=f"write 1234.5 or 1234,5, without separators; --ignore {name} leaves the column out",
            )


def require_one_part(columns: Columns, repeats: Sequence[str]) -> None:
    """An error where what is called a split names the training and the test data: the mean over both is no result."""
    for key in repeats:
        values = columns.values(key) if key in columns.texts else []
        if len(values) > 1 and all(words.plain(v) in words.PARTS for v in values):
            raise DataError(
                f"{columns.source}: {key} names parts of the data ({', '.join(values)}), and no repetitions to be averaged",
                hint=f"keep the rows of the part that counts, or make a column of each: {', '.join(f'{v}_acc' for v in values)}",
            )


def results_alone(columns: Columns, arms: Sequence[str]) -> list[str]:
    """``arms`` less what describes the rows or is computed from others: sizes, spreads, p-values, means and differences of others.

    What is left out is set aside with its reason.
    """
    aside = columns.set_aside
    aside |= {a: "by its name it says how far numbers scatter, and is no result" for a in arms if words.spreads(a)}
    aside |= {a: "by its name it is a p-value, and no result" for a in arms if words.plain(a) in words.P_VALUES}
    computed_from_others(columns, arms, ())
    bare = [a for a in arms if a not in aside and words.unit_of(a) is None]
    if len(bare) > 1:
        headed = [a for a in arms if words.unit_of(a) is not None]
        aside |= dict.fromkeys(headed, "by the unit in its heading it is measured beside the others")
    kept = [a for a in arms if a not in aside]
    sizes = [a for a in kept if words.counts(a) and columns.whole(a)]
    if any(not columns.whole(a) for a in kept if a not in sizes):
        aside |= dict.fromkeys(sizes, "by its name it counts something, and is no result")
    kept = [a for a in kept if a not in aside]
    for name in kept if len(kept) > 2 else ():
        if not (words.sums_up(name) or _called_difference(name)):
            continue  # nearly every column, and there may be thousands
        others = [a for a in kept if a != name and a not in aside]
        if words.sums_up(name) and _agrees(columns, name, pl.mean_horizontal(others)):
            aside[name] = "it holds the means of the others"
        elif (pair := _difference(columns, name, others)) is not None:
            aside[name] = f"it holds the differences of {pair[0]} and {pair[1]}"
    return [a for a in kept if a not in aside]


def computed_from_others(columns: Columns, names: Sequence[str], said: Collection[str]) -> list[str]:
    """``names`` less averages, ranks and spreads of others among them, by their names; those that were ``said`` stay.

    What is left out is set aside with its reason. An average whose numbers are not there themselves stays, as ``mean_test_score``
    does alone, and so does what is called by such a word and nothing else.
    """
    plain = {words.plain(n): n for n in names}
    averages = {of[1]: n for n in names if (of := words.derived(n)) and of[0] in words.AVERAGES}
    found: dict[str, str] = {}
    for n in names:
        of = words.derived(n)
        if n in said or (of is None and not words.spreads(n)):
            continue
        if of is not None and of[1] in plain:
            found[n] = f"by its name it is computed from {plain[of[1]]}, as averages, ranks and spreads are"
        elif of is not None and of[0] not in words.AVERAGES and of[1] in averages:
            found[n] = f"by its name it is computed beside {averages[of[1]]}, and is no result"
        elif words.spreads(n) and words.plain(n) not in words.SPREADS:
            found[n] = "by its name it says how far numbers scatter, and is no result"
    if len(found) < len(names):
        columns.set_aside |= found
        return [n for n in names if n not in found]
    return list(names)


def means_of(columns: Columns, metrics: Sequence[str], others: Sequence[str]) -> list[str]:
    """Those of ``metrics`` that are called a mean and hold the means of ``others``; they are set aside with the reason."""
    alone = [o for o in others if not words.sums_up(o)]
    found = [
        m for m in metrics if words.sums_up(m) and len(alone) > 1 and _agrees(columns, m, pl.mean_horizontal(alone))
    ]
    columns.set_aside |= dict.fromkeys(found, "it holds the means of the others")
    return found


def _called_difference(name: str) -> bool:
    return "Δ" in name or words.plain(name).rpartition("_")[2] in words.DIFFERENCES


def _difference(columns: Columns, name: str, others: Sequence[str]) -> tuple[str, str] | None:
    """The two of ``others`` whose differences a column holds that is called one; None where there are no such two."""
    if len(others) > MOST_DIFFERED or not _called_difference(name):
        return None
    pairs = ((a, b) for a in others for b in others if a != b)
    return next((p for p in pairs if _agrees(columns, name, pl.col(p[0]) - pl.col(p[1]))), None)


def _agrees(columns: Columns, name: str, computed: pl.Expr) -> bool:
    """Whether a column holds, to its last digit, what ``computed`` says."""
    decimals = columns.frame[name].drop_nulls().str.extract(r"[.,](\d+)", 1)
    printed = max((len(d) for d in decimals if d), default=0)
    apart = (columns.numeric[name] - columns.numeric.select(computed).to_series()).abs()
    return apart.count() > 0 and bool((apart.drop_nulls() <= 0.6 * 10.0**-printed).all())


def same_rows(columns: Columns, beside: Sequence[str], keys: Sequence[str]) -> DataError:
    """The error for rows that agree in all of ``beside`` and ``keys``: such rows, and what would tell them apart."""
    keys = [k for k in keys if k != FILE_COLUMN or columns.files > 1]
    names = [*beside, *keys]
    twice = columns.frame.group_by(names, maintain_order=True).len().filter(pl.col("len") > 1).row(0, named=True)
    where = ", ".join(str(twice[n]) for n in names)
    whole = columns.frame.unique()
    if whole.select(names).n_unique() == whole.height:
        hint = "these rows agree in all their columns: take the repeated ones out"
    else:
        telling: list[str] = []
        for c in columns.names:  # settings have few values, measurements have many
            if (
                c not in names
                and 4 * columns.count(c) <= columns.frame.height
                and columns.separates(c, [*names, *telling])
            ):
                telling.append(c)
        apart = columns.tell_apart([*names, *telling])
        given = f"{' '.join(f'--key {k}' for k in telling)} tells them apart; " if apart else ""
        hint = f"{given}where they repeat a measurement, number them in a column called seed, fold or repetition"
    return DataError(
        f"{columns.source}: several rows have the same {', '.join(names)}: {where} stands {twice['len']} times",
        hint=hint,
    )


def _same_letters(one: str, other: str) -> bool:
    """Whether two names are the same but for capitals, spaces and signs."""
    a, b = ("".join(filter(str.isalnum, n.casefold())) for n in (one, other))
    return a == b


def _alike(one: str, other: str) -> bool:
    """Whether two names differ by a slip of letters; other digits or signs (v1 and v2, SAC and SAC+) are other names."""
    a, b = ("".join(filter(str.isalpha, n.casefold())) for n in (one, other))
    if [c for c in one if c.isdigit() or c == "+"] != [c for c in other if c.isdigit() or c == "+"]:
        return False
    return bool(a) and (a == b or (min(len(a), len(b)) >= 5 and SequenceMatcher(None, a, b).ratio() >= ALIKE))
