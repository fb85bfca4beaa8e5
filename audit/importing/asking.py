"""The hypothesis file that fits a table: an omnibus test, the comparisons asked for, and what is measured beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from orledger.audit.importing import words
from orledger.audit.importing.mapping import VALUE
from orledger.errors import UsageError
from orledger.schema.accepted import QUERIED, reserved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orledger.audit.importing.inference import Guess

UNIT, ARM = "\0unit", "\0arm"  # numbers of units and arms, under names that no key has
COMPARED = ("pairs", "control", "best")
MOST_PAIRS = (
    20_000  # Holm's correction over more of them leaves nothing to find, and a report of them is read by nobody
)
SPREAD = 10.0  # typical values of two units that differ by more than this factor are not on one scale
LEAST_PERCENTAGE, NEAR = (
    10.0,
    2.0,
)  # from where values are no shares, and how far a hundred times a share is from the rest
SEEN = (
    "The results were brought in as a table: the ledger knows when, and cannot know when their author first saw them."
)


@dataclass(frozen=True)
class Questions:
    """The text of a hypothesis file, and why it asks what it asks."""

    text: str
    reasons: tuple[str, ...]


def questions(
    guess: Guess, rows: pl.DataFrame, *, compare: str = "pairs", control: str | None = None, seen: str = SEEN
) -> Questions:
    """The hypothesis file for the deciding metric of ``guess`` on ``rows`` (from ``to_records``).

    ``compare``: all pairs, all against the ``control``, or the best (by mean rank in this table) against the rest.
    ``seen`` says what is known about who saw the results before the questions were written.
    """
    for key in (*guess.unit, *guess.repeats):
        if reserved(key, QUERIED):
            raise UsageError(
                f"the column {key!r} cannot be a key of a question: the queries behind questions use the name themselves",
                hint="rename it in the table, and in the mapping if there is one",
            )
    told: list[str] = []
    arms, matrix = _units(guess, rows)
    if len(arms) < 2:
        raise UsageError(f"one arm ({', '.join(arms)}) cannot be compared", hint="give a table with at least two arms")
    better = guess.mapping.described(guess.primary).better or "higher"
    complete = not np.isnan(matrix).any()
    test = _paired_test(guess, matrix, told)
    against = _against(arms, matrix, better, compare, control, told)
    lines = [*_head(guess, arms, better, compare, against, seen), *_defaults(guess, better)]
    deciding, over = "difference", guess.repeats
    if len(arms) > 2:
        deciding = "omnibus"
        omnibus = "friedman" if complete else "skillings_mack"
        told.append(
            f"omnibus test: {'Friedman' if complete else 'Skillings-Mack'}, because "
            + (
                "every unit has every arm"
                if complete
                else f"{(lacking := int(np.isnan(matrix).any(axis=1).sum()))} of {len(matrix)} units {'lacks' if lacking == 1 else 'lack'} an arm"
            )
        )
        lines += _comparison(
            id=deciding,
            title="All arms" if guess.primary == VALUE else f"All arms, {guess.primary}",
            test=omnibus,
            arms=arms,
            over=over,
        )
    lines += _pairs(arms, against, test, over)
    lines += _comparison(over, id="ranks", title="Mean ranks", test="mean_ranks", arms=arms)
    for arm in arms:
        lines += _comparison(over, id=f"median:{arm}", title=f"Median of {arm} over units", test="median", arm=arm)
    _uneven(guess, rows, told)
    lines += _runs(guess, arms, against, commensurable=test == "signed_rank", told=told)
    lines += _disposition(deciding, arms, guess.primary, better)
    return Questions("\n".join(lines) + "\n", tuple(told))


def _units(guess: Guess, rows: pl.DataFrame) -> tuple[list[str], np.ndarray]:
    """The arms, and a row per unit and a column per arm with the mean of the deciding metric; NaN where an arm has none."""
    kept = rows.filter((pl.col("metric") == guess.primary) & pl.col("label").is_null())
    if guess.mapping.idx is not None:  # a curve counts by its last point
        kept = kept.sort("idx").group_by([*guess.mapping.keys, "arm"], maintain_order=True).last()
    arms = kept["arm"].unique(maintain_order=True)
    units = kept.select(guess.unit).unique(maintain_order=True).with_row_index(UNIT)
    means = (
        kept.group_by(*guess.unit, "arm")
        .agg(pl.col("value").mean())
        .join(units, on=guess.unit)
        .join(pl.DataFrame({"arm": arms}).with_row_index(ARM), on="arm")
    )
    matrix = np.full((units.height, len(arms)), np.nan)
    matrix[means[UNIT].to_numpy(), means[ARM].to_numpy()] = means["value"].fill_null(float("nan")).to_numpy()
    return arms.to_list(), matrix


def _paired_test(guess: Guess, matrix: np.ndarray, told: list[str]) -> str:
    """signed_rank where differences of different units are on one scale, sign where they are not."""
    if guess.mapping.combined == guess.primary:
        told.append(
            "pairs: sign test, because units have different metrics and a signed rank would weigh one against the other"
        )
        return "sign"
    said = guess.mapping.described(guess.primary).scale
    if said == "own":
        told.append(f"pairs: sign test, because every {', '.join(guess.unit)} has its own scale, as the mapping says")
        return "sign"
    if said == "common":
        told.append("pairs: exact signed-rank test, because all units have one scale, as the mapping says")
        return "signed_rank"
    flat = matrix[np.isfinite(matrix)]
    described = guess.mapping.described(guess.primary)
    share = words.PERCENT if described.unit == words.PERCENT else words.share(guess.primary)
    if share is not None and flat.size and flat.min() >= 0 and flat.max() <= 100:
        if (apart := _shares_among_percentages(matrix)) is not None:
            told.append(
                f"pairs: sign test, because values such as {apart[0]:g} and {apart[1]:g} may be shares and percentages of one scale;"
                " write all of them alike, or say --scale common"
            )
            return "sign"
        bounded = "between 0 and 1" if flat.max() <= 1 else "between 0 and 100"
        told.append(
            f"pairs: exact signed-rank test, because {guess.primary} is bounded (from {share!r}), all values lie {bounded} and"
            " differences are on one scale"
        )
        return "signed_rank"
    measured = matrix[np.isfinite(matrix).any(axis=1)]
    if not len(measured):
        told.append("pairs: sign test, because no unit has a value")
        return "sign"
    typical = np.abs(np.nanmedian(measured, axis=1))
    low, high = typical.min(), typical.max()
    if low > 0 and high / low <= SPREAD:
        told.append("pairs: exact signed-rank test, because typical values of all units are within a factor of ten")
        return "signed_rank"
    told.append(
        f"pairs: sign test, because typical values of units go from {low:.3g} to {high:.3g} and a signed rank would weigh them by their scale"
    )
    return "sign"


def _shares_among_percentages(matrix: np.ndarray) -> tuple[float, float] | None:
    """The largest value up to 1 and the smallest above, where a hundred times the first lie among the others and nothing lies between."""
    flat = matrix[np.isfinite(matrix)]
    shares, percentages = flat[(flat > 0) & (flat <= 1)], flat[flat > 1]
    if not (len(shares) and len(percentages)) or percentages.min() < LEAST_PERCENTAGE:
        return None
    alike = 100 * np.median(shares) / np.median(percentages)
    return (float(shares.max()), float(percentages.min())) if 1 / NEAR < alike < NEAR else None


def _against(
    arms: list[str], matrix: np.ndarray, better: str, compare: str, control: str | None, told: list[str]
) -> str | None:
    """The arm that all others are compared with; None for all pairs."""
    if compare == "pairs" and control is None:
        pairs = len(arms) * (len(arms) - 1) // 2
        if pairs > MOST_PAIRS:
            raise UsageError(
                f"{len(arms)} arms make {pairs} pairs, and at most {MOST_PAIRS} are compared",
                hint="--control ARM or --best compares one arm with the rest; --arm, --key and --ignore say what the columns are",
            )
        told.append(
            f"comparisons: all {pairs} pairs, Holm's correction over them"
            if pairs > 1
            else "comparisons: the one pair of arms"
        )
        return None
    if compare == "best":
        from scipy.stats import rankdata

        whole = matrix[np.isfinite(matrix).all(axis=1)]
        if not len(whole):
            raise UsageError("no unit has every arm, so no arm is best by mean rank", hint="compare all pairs")
        ranks = rankdata(-whole if better == "higher" else whole, axis=1).mean(axis=0)
        best = arms[int(np.argmin(ranks))]
        told.append(
            f"comparisons: {best} against the rest, the best mean rank in this table: the data chose it, and p-values of a chosen arm"
            " are too small; --control ARM names one beforehand, and all pairs need no choice"
        )
        return best
    if control is None:
        raise UsageError("which arm is the control?", hint=f"--control ARM, one of {', '.join(arms)}")
    if control not in arms:
        from difflib import get_close_matches

        close = get_close_matches(control, arms, 1)
        raise UsageError(
            f"no arm {control!r}",
            hint=(f"did you mean {close[0]!r}? " if close else "") + f"arms are {', '.join(arms)}",
        )
    told.append(
        f"comparisons: every arm against {control}, Holm's correction over them"
        if len(arms) > 2
        else "comparisons: the one pair of arms"
    )
    return control


def _head(guess: Guess, arms: list[str], better: str, compare: str, against: str | None, seen: str) -> list[str]:
    among = f"{arms[0]} and {arms[1]} differ" if len(arms) == 2 else f"The {len(arms)} arms differ"
    asked = "all pairs" if against is None else f"every arm against {against}"
    by = "" if guess.primary == VALUE else f" by {guess.primary}"
    title = f"{arms[0]} and {arms[1]} compared{by}" if len(arms) == 2 else f"{len(arms)} arms compared{by}, {asked}"
    among += "" if guess.primary == VALUE else f" in {guess.primary}"
    return [
        "# Written by orledger from results. Edit it, and register it before the data where you can.",
        f"# {seen}",
        "[hypothesis]",
        f"id = {quoted(guess.mapping.study)}",
        f"title = {quoted(title + (' (chosen by the data, so that its p-values are too small)' if compare == 'best' else ''))}",
        'mode = "exploratory"',
        f"statement = {quoted(f'{among} ({better} is better).')}",
        "",
    ]


def _defaults(guess: Guess, better: str) -> list[str]:
    lines = [
        "[defaults]",
        f"case = {quoted(guess.mapping.study)}",
        f"block = {quoted(guess.mapping.block)}",
        f"metric = {quoted(guess.primary)}",
        f"pair = {listed(guess.unit)}",
        f"better = {quoted(better)}",
    ]
    if guess.mapping.idx is not None:
        lines.append('over_idx = "last"')
    return [*lines, ""]


def _pairs(arms: list[str], against: str | None, test: str, over: tuple[str, ...]) -> Iterator[str]:
    if len(arms) == 2:
        yield from _comparison(over, id="difference", title=f"{arms[0]} against {arms[1]}", test=test, arms=arms)
        return
    first = [against] if against is not None else arms[:-1]
    for arm in first:
        others = [a for a in arms if a != arm] if against is not None else arms[arms.index(arm) + 1 :]
        yield from _comparison(over, id=arm, title=arm, test=test, arm=arm, against=others, family="pairs")


def _runs(guess: Guess, arms: list[str], against: str | None, *, commensurable: bool, told: list[str]) -> Iterator[str]:
    """Estimates over single runs, where units have several: probability of improvement always, profiles on one scale only."""
    if not guess.repeats or guess.mapping.idx is not None:
        return
    keys: dict[str, Any] = {"pair": list(guess.mapping.keys), "unit": list(guess.unit)}
    if guess.settings:
        told.append(
            f"no probability of improvement: values of {', '.join(guess.settings)} are no runs of the same thing"
        )
        return
    pairs = combinations(arms, 2) if against is None else ((against, a) for a in arms if a != against)
    for a, b in pairs:
        yield from _comparison(
            id=f"improvement:{a}/{b}", title=f"Probability that a run of {a} beats one of {b}", test="improvement",
            arms=[a, b], **keys,
        )  # fmt: skip
    told.append("probability of improvement for every pair, because units have several runs")
    if not commensurable:
        told.append("no interquartile means and no profiles over units, because their values are not on one scale")
        return
    for arm in arms:
        yield from _comparison(
            id=f"iqm:{arm}", title=f"Interquartile mean of {arm}", test="interquartile_mean", arm=arm, **keys
        )
    yield from _comparison(id="profiles", title="Performance profiles", test="profile", arms=arms, **keys)


def _uneven(guess: Guess, rows: pl.DataFrame, told: list[str]) -> None:
    """Says where arms have more or fewer runs on a unit: their means are over different ones."""
    if not guess.repeats:
        return
    there = rows.filter((pl.col("metric") == guess.primary) & pl.col("label").is_null() & pl.col("value").is_not_null())
    runs = there.group_by(*guess.unit, "arm").agg(pl.struct(guess.repeats).n_unique().alias("runs"))
    uneven = runs.group_by(guess.unit).agg((pl.col("runs").max() > pl.col("runs").min()).alias("uneven"))["uneven"]
    if uneven.any():
        counts = runs["runs"].to_list()
        told.append(
            f"runs: from {min(counts)} to {max(counts)} of an arm on a unit, not the same number for all arms on"
            f" {uneven.sum()} of {len(uneven)}; each mean is over the runs that are there"
        )


def _disposition(deciding: str, arms: list[str], metric: str, better: str) -> list[str]:
    """The rule that decides: for two arms it names the better one, for more it says that they differ."""
    lines = [
        "[disposition]",
        f"needs = {listed([deciding])}",
        'otherwise = "inconclusive"',
        f"otherwise_reason = {quoted('The data show no difference between the arms; that is not evidence that there is none')}",
    ]
    if len(arms) == 2:
        lower, higher = (
            (1, 0) if better == "higher" else (0, 1)
        )  # who is better when the first arm has the lower values
        found = [
            (
                f"{arms[winner]} has the better {'values' if metric == VALUE else metric} ({better}), by more than chance alone;"
                f" the difference is {arms[0]} minus {arms[1]}",
                outcome,
            )
            for outcome, winner in (("less", lower), ("greater", higher))
        ]
    else:
        found = [("The arms differ by more than chance alone", "different")]
    for reason, outcome in found:
        lines += [
            "", "[[disposition.rule]]", 'verdict = "supported"', f"reason = {quoted(reason)}", f"any = {listed([f'{deciding} is {outcome}'])}"
        ]  # fmt: skip
    return lines


def _comparison(over: tuple[str, ...] = (), **keys: Any) -> list[str]:
    """A [[comparison]] table; values are averaged over the keys ``over`` first."""
    lines = ["[[comparison]]"]
    for key, value in keys.items():
        text = quoted(value) if isinstance(value, str) else listed(value)
        lines.append(f"{key} = {text}")
    if over:
        lines.append(f'aggregate = {{ over = {listed(over)}, stat = "mean" }}')
    return [*lines, ""]


def quoted(text: str) -> str:
    """``text`` as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def listed(texts: Iterable[str]) -> str:
    """``texts`` as a TOML list."""
    return "[" + ", ".join(quoted(t) for t in texts) + "]"
