"""Figures of ranks and runs for any study: critical differences, mean ranks, performance profiles, probability of improvement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports import cautions
from orledger.reports.figures.generic import MANY_PAIRS, pair_names, pair_size
from orledger.reports.figures.generic_choice import leading
from orledger.reports.figures.generic_looks import beside, curve_looks, other_arms, shown
from orledger.reports.figures.style import BLACK, BLUE, GREY, RED
from orledger.reports.generic import Pair
from orledger.wording import some

if TYPE_CHECKING:
    from orledger.reports.figures.figure import Canvas
    from orledger.reports.generic import Subject

TICKS = 12  # numbers on the axis of ranks that do not touch


def cliques(subject: Subject) -> list[tuple[str, ...]]:
    """Maximal runs of arms, neighbours in mean rank, among which the audit found no difference in any pair."""
    arms = subject.ordered
    found: list[tuple[str, ...]] = []
    for i in range(len(arms)):
        j = i
        while j + 1 < len(arms) and all(cautions.undecided(subject, a, arms[j + 1]) for a in arms[i : j + 1]):
            j += 1
        if j > i and not any(set(arms[i : j + 1]) <= set(c) for c in found):
            found.append(arms[i : j + 1])
    return found


def draw_critical(canvas: Canvas, subject: Subject) -> str:
    """Arms on the axis of mean ranks, joined by a bar where no pair among them differs after the correction."""
    ranking = subject.ranking
    arms = subject.ordered
    k = len(arms)
    bars = cliques(subject)
    half = -(-k // 2)
    short, long = beside(subject)
    size = 5.5 if long else 7.5
    (ax,) = canvas.axes(1, 1, height=1.0 + 0.17 * len(bars) + 0.24 * half)
    if ranking is None:
        canvas.nothing(ax, "the audit has no mean ranks")
        return "Mean ranks and groups."
    ranks = ranking.details["mean_ranks"]
    ax.set_axis_off()
    room = k * (1.0 if long else 0.28)  # for the names on either side
    ax.set_xlim(0.4 - room, k + 0.6 + room)
    depth = 0.6 + 0.32 * len(bars)
    ax.set_ylim(-(depth + 0.55 * half + 0.1), 0.9)
    ax.plot([1, k], [0, 0], color=BLACK, linewidth=0.9)
    every = -(-k // TICKS)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, 0.14], color=BLACK, linewidth=0.9)
        if (tick - 1) % every == 0:
            ax.text(tick, 0.24, str(tick), ha="center", va="bottom", fontsize=7)
    for i, arm in enumerate(arms):
        left = i < half
        level = -(depth + 0.55 * (i if left else k - 1 - i))
        end = 1 - 0.01 * k - 0.2 if left else k + 0.01 * k + 0.2
        ax.plot([ranks[arm], ranks[arm], end], [0, level, level], color=BLACK, linewidth=0.7)
        side, sign = ("right", -1) if left else ("left", 1)
        for text, away in ((f"{ranks[arm]:.2f}", 2), (short[arm], 2 + 3.6 * size)):
            offset = (away * sign, 0)
            ax.annotate(text, (end, level), offset, textcoords="offset points", ha=side, va="center", fontsize=size)
    reach = 0.017 * k  # a bar over arms of nearly one rank is still seen
    for b, group in enumerate(bars):
        y = -(0.3 + 0.32 * b)
        ax.plot(
            [ranks[group[0]] - reach, ranks[group[-1]] + reach], [y, y], color=BLUE, linewidth=3, solid_capstyle="butt"
        )
    test = subject.pairs[0].row if subject.pairs else None
    how = "no pairs were tested"
    if test:
        corrected = "Holm's correction" if test.p_holm is not None else "no correction"
        how = f"{test.test.replace('_', ' ')} tests at {test.alpha:g}, {corrected}"
    return (
        f"Mean ranks by {subject.metric} over {subject.ranked_units}, the best on the left. A bar joins arms among which no difference was"
        f" found in any pair ({how}): that does not say that there is none.{cautions.hopeless(subject)}{_apart(subject, bars)}{cautions.uncompared(subject)}"
    )


def _apart(subject: Subject, bars: list[tuple[str, ...]]) -> str:
    """Names the pairs that no bar joins although no difference was found: an arm between them differs from one of the two."""
    arms = subject.ordered
    pairs = ((a, b) for i, a in enumerate(arms) for b in arms[i + 1 :])
    found = [
        f"{subject.label(a)} and {subject.label(b)}"
        for a, b in pairs
        if cautions.undecided(subject, a, b) and not any({a, b} <= {*bar} for bar in bars)
    ]
    return f" No bar can show that none was found here either: {some(found, cautions.NAMED, '; ')}." if found else ""


def draw_ranks(canvas: Canvas, subject: Subject) -> str:
    """Mean ranks with their stored intervals."""
    ranking = subject.ranking
    arms = subject.ordered
    (ax,) = canvas.axes(1, 1, height=min(8.5, 1.0 + 0.22 * max(len(arms), 3)))
    if ranking is None:
        canvas.nothing(ax, "the audit has no mean ranks")
        return "Mean ranks."
    d, (short, long) = ranking.details, beside(subject)
    for i, arm in enumerate(arms):
        y = len(arms) - 1 - i
        ax.plot(
            [d["mean_rank_low"][arm], d["mean_rank_high"][arm]],
            [y, y],
            color=BLUE,
            linewidth=1.6,
            solid_capstyle="butt",
        )
        ax.plot([d["mean_ranks"][arm]], [y], "o", color=BLUE, markersize=4.5)
    ax.set_yticks(range(len(arms)), [short[a] for a in reversed(arms)], fontsize=5.5 if long else 7)
    ax.set_ylim(-0.6, len(arms) - 0.4)
    ax.set_xlabel("mean rank (1 is best)")
    method = ranking.interval_method or d.get("mean_rank_interval", "")
    return (
        f"Mean ranks by {subject.metric} over {subject.ranked_units} with {ranking.level or 0.95:.0%} intervals ({method}), about further"
        f" units like these.{cautions.flat_ranks(subject)}"
    )


def draw_profiles(canvas: Canvas, subject: Subject) -> str:
    """The share of runs beyond each threshold, with stratified bootstrap bands, for every arm."""
    found = subject.of("profile")
    (ax,) = canvas.axes(1, 1, height=3.0)
    if not found:
        canvas.nothing(ax, "the audit has no profiles: they need several runs per unit, all on one scale")
        return "Performance profiles."
    row = found[0]
    d = row.details
    arms = [a for a in subject.ordered if a in d["share"]]
    for arm, look in reversed(curve_looks(subject, arms).items()):  # the best on top
        ax.plot(d["thresholds"], d["share"][arm], color=look.colour, linestyle=look.line, label=look.name or None)
        if look.marker:
            ax.fill_between(d["thresholds"], d["low"][arm], d["high"][arm], color=look.colour, alpha=0.15, linewidth=0)
    ax.set_xlabel(shown(subject.metric))
    ax.set_ylabel(row.effect_name)
    ax.set_ylim(0, 1)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), reverse=True, labelspacing=0.6)
    return (
        f"Performance profiles: {row.effect_name} of {subject.metric}, averaged over {row.n} units, with {row.level or 0.95:.0%} bands"
        f" ({row.method}). They speak about new runs on these units.{cautions.few_runs([row])}{other_arms(subject, arms)}"
    )


def draw_improvement(canvas: Canvas, subject: Subject) -> str:
    """The probability that a run of the first arm is better than one of the second, with its interval, for every pair."""
    rows = subject.of("improvement")
    sides = [subject.sides[row.comparison] for row in rows]
    pairs, chosen = leading(subject, [Pair(a, b, row) for (a, b), row in zip(sides, rows, strict=True)])
    if len(pairs) > MANY_PAIRS:
        pairs.sort(key=lambda p: 0.0 if p.row.effect is None else -p.row.effect)
    names, pitch = pair_names(subject, pairs, "over")
    (ax,) = canvas.axes(1, 1, height=1.1 + pitch * max(len(pairs), 2))
    rows = tuple(p.row for p in pairs)
    if not rows:
        canvas.nothing(ax, "the audit has no probabilities of improvement: they need several runs per unit")
        return "Probability of improvement."
    ax.axvline(0.5, color=BLACK, linewidth=0.6)
    for i, row in enumerate(rows):
        y = len(rows) - 1 - i
        if row.effect is None or row.low is None or row.high is None:
            continue
        colour = BLUE if row.low > 0.5 else RED if row.high < 0.5 else GREY
        ax.plot([row.low, row.high], [y, y], color=colour, linewidth=1.5, solid_capstyle="butt")
        ax.plot([row.effect], [y], "o", color=colour, markersize=4)
    ax.set_yticks(range(len(rows)), names[::-1], fontsize=pair_size(names))
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel("probability of improvement")
    return (
        f"Probability that a run of the first arm has the better {subject.metric} than a run of the second, averaged over {rows[0].n} units,"
        f" with {rows[0].level or 0.95:.0%} intervals ({rows[0].method}); grey where the interval contains 0.5. They speak about new runs on these"
        f" units.{cautions.few_runs(rows)}{chosen}"
    )
