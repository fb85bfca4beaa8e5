"""The predicates behind claims: "never worse", "ordering intact", "monotone", "n of m", "no counterexample"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.evaluation.pairing import Matched, unit_name
from orledger.audit.statistics.dispersion import statistic
from orledger.audit.statistics.resampling import resample_backends
from orledger.audit.ties import ULPS, difference
from orledger.errors import DataError
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from orledger.audit.registry.hypotheses import Claim
    from orledger.audit.registry.quantities import Quantity

# Whether it holds (or the state "measured" or "missing"), what was observed, as a number, and the units against it.
Found = tuple["bool | str", str, "float | None", list[str]]


def _never_worse(claim: Claim, m: Matched, names: list[str]) -> Found:
    excess = difference(m.matrix[:, 0], m.matrix[:, 1])
    if claim.better == "higher":
        excess = -excess
    worse = excess > claim.tolerance + _rounding(m.matrix)
    against = [
        f"{_name(m, i)}: {m.matrix[i, 0]:.6g} against {m.matrix[i, 1]:.6g}" for i in np.flatnonzero(worse).tolist()
    ]
    return (
        not worse.any(),
        f"{names[0]} is worse than {names[1]} in {worse.sum()} of {worse.size} units",
        float(worse.sum()),
        against,
    )


def _limit(claim: Claim, m: Matched, names: list[str]) -> Found:
    assert claim.limit is not None
    values = combined(claim, m)
    labels, found = [], []
    rounding = _rounding(m.matrix if claim.combine == "difference" else values[:, None])
    if claim.stat is None:
        labels, found = [_name(m, i) for i in range(values.size)], values.tolist()
    else:
        parts = list(groups(claim, m))
        labels = [label for label, _ in parts]
        found = [reduced(claim.stat, values, m, rows) for _, rows in parts]
        # Every value off by its own rounding: one huge number in a group leaves no room to the median of the others.
        moved = [reduced(claim.stat, values + rounding, m, rows) for _, rows in parts]
        shifts = [abs(a - b) for a, b in zip(moved, found, strict=True)]
        rounding = np.array([shift if np.isfinite(shift) else 0.0 for shift in shifts])
    x = np.asarray(found)
    below = claim.kind == "at_most"
    # Sums, means and differences of numbers with few digits reach a limit by rounding alone; a value as recorded is held to the letter.
    made = claim.stat in ("sum", "mean", "share") or claim.combine == "difference"
    slack = claim.tolerance + (rounding if made else 0.0)
    # What is not a number is not within the limit either.
    bad = ~(x <= claim.limit + slack) if below else ~(x >= claim.limit - slack)
    extreme = float(x.max() if below else x.min())
    what = f"{claim.stat} of {_what(claim, names)}" if claim.stat else _what(claim, names)
    observed = f"{'largest' if below else 'smallest'} {what} is {extreme:.6g}, limit {claim.limit:.6g}"
    if x.size == 1:
        observed = f"{what} is {extreme:.6g}, limit {claim.limit:.6g}"
    return not bad.any(), observed, extreme, [f"{labels[i]}: {x[i]:.6g}" for i in np.flatnonzero(bad)]


def _ordering(claim: Claim, m: Matched, names: list[str]) -> Found:
    assert claim.stat is not None
    against, shown = [], ""
    for label, rows in groups(claim, m):
        x = np.array([statistic(claim.stat, m.matrix[rows, j]) for j in range(len(names))])
        step = np.diff(x) if claim.direction == "increasing" else -np.diff(x)
        slack = _rounding(np.stack([x[:-1], x[1:]], axis=-1))
        good = (step > slack).all() if claim.strict else (step >= -claim.tolerance - slack).all()
        text = ", ".join(f"{n} {v:.4g}" for n, v in zip(names, x, strict=True))
        shown = shown or text
        if not good:
            against.append(f"{label}: {text}" if claim.within else text)
    return not against, f"{claim.stat}: {shown}", None, against


def _best(claim: Claim, m: Matched, names: list[str]) -> Found:
    assert claim.stat is not None
    against, shown, count = [], "", 0
    for label, rows in groups(claim, m):
        x = np.array([statistic(claim.stat, m.matrix[rows, j]) for j in range(len(names))])
        others = x[1:].min() if claim.better == "lower" else x[1:].max()
        lead = others - x[0] if claim.better == "lower" else x[0] - others
        text = ", ".join(f"{n} {v:.4g}" for n, v in zip(names, x, strict=True))
        shown, count = shown or text, count + 1
        slack = float(_rounding(np.array([x[0], others])))
        if not (lead > slack if claim.strict else lead >= -claim.tolerance - slack):
            against.append(f"{label}: {text}" if claim.within else text)
    observed = (
        f"{claim.stat}: {shown}" if count == 1 else f"{names[0]} is best in {count - len(against)} of {count} groups"
    )
    return not against, observed, float(count - len(against)), against


def _monotone(claim: Claim, m: Matched, names: list[str]) -> Found:
    """Every pair at strictly different places along the key is compared, in each group ``within``.

    Units at the same place are reduced by ``stat`` where one is declared; without it each of them is held against all
    units at other places, so that a violation cannot hide in the mean of a tie.
    """
    against, shown, pairs = [], [], 0
    for label, rows in groups(claim, m):
        place = _places(claim, m, rows)
        if claim.stat:
            points = [(p, rows[place == p]) for p in np.unique(place)]
            called = [f"{claim.along} {m.units[claim.along or ''][int(r[0])]}" for _, r in points]
        else:
            points = [(place[i], rows[[i]]) for i in np.argsort(place, kind="stable")]
            called = [_name(m, int(r[0])) for _, r in points]
        at = np.array([p for p, _ in points])
        earlier = at[:, None] < at[None, :]
        pairs += int(earlier.sum()) * len(names)
        for j, name in enumerate(names):
            x = np.array([reduced(claim.stat or "mean", m.matrix[:, j], m, r) for _, r in points])
            step = x[None, :] - x[:, None] if claim.direction == "increasing" else x[:, None] - x[None, :]
            slack = _rounding(
                np.stack([np.broadcast_to(x[:, None], step.shape), np.broadcast_to(x, step.shape)], axis=-1)
            )
            good = step > slack if claim.strict else step >= -claim.tolerance - slack
            bad = np.argwhere(earlier & ~good).tolist()
            against += [f"{name}: {called[i]} {x[i]:.4g}, {called[k]} {x[k]:.4g}" for i, k in bad]
            steps = ["/".join(f"{v:.4g}" for v in x[at == p]) for p in np.unique(at)]
            shown.append(f"{name}{f' in {label}' if claim.within else ''}: {' '.join(steps)}")
    if not pairs:
        return "missing", f"all units stand at one place along {claim.along}", None, []
    observed = f"{len(against)} of {pairs} pairs turn; {'; '.join(shown)}"
    return not against, observed, float(len(against)), against


def _places(claim: Claim, m: Matched, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where each of ``rows`` stands along the key of the claim: its place in the order given, or its value as a number."""
    assert claim.along is not None
    key = m.units[claim.along]
    if claim.order:
        return np.array([claim.order.index(key[int(i)]) for i in rows], dtype=float)
    try:
        return np.array([float(key[int(i)]) for i in rows])
    except (TypeError, ValueError) as error:
        raise DataError(
            f"claim {claim.id}: the key {claim.along!r} has values that are no numbers",
            hint="give their order: order = [...]",
        ) from error


def _count(claim: Claim, m: Matched, names: list[str]) -> Found:
    x = m.matrix
    if x.shape[1] == 2:
        lead = difference(x[:, 1], x[:, 0]) if claim.better == "lower" else difference(x[:, 0], x[:, 1])
        hits = lead > _rounding(x)
        what = f"{names[0]} better than {names[1]}"
    else:
        hits, what = x[:, 0] != 0, "true"
    k, n = int(hits.sum()), hits.size
    # A share is compared as a share: 0.55 of 100 units is more than 55 in doubles, and 55 / 100 is 0.55.
    enough = claim.at_least is None or (k / n if claim.at_least < 1 else k) >= claim.at_least
    few = claim.at_most is None or (k / n if claim.at_most < 1 else k) <= claim.at_most
    holds = enough and few
    against = [_name(m, i) for i in np.flatnonzero(~hits if claim.at_least is not None else hits).tolist()]
    return holds, f"{what} in {k} of {counted(n, 'unit')}", float(k), [] if holds else against


def _none(claim: Claim, m: Matched, _names: list[str]) -> Found:
    counts = np.column_stack(
        [_occurrences(q, x, n) for (_, q), x, n in zip(claim.sides, m.matrix.T, m.points.T, strict=True)]
    )
    total, points = float(counts.sum()), int(m.points.sum())
    shown = m.matrix[:, 0] if m.matrix.shape[1] == 1 else counts.sum(axis=1)
    against = [f"{_name(m, i)}: {shown[i]:.6g}" for i in np.flatnonzero(counts.sum(axis=1)).tolist()]
    return total == 0, f"{total:.6g} in {counted(points, 'record')}", total, against


def _occurrences(quantity: Quantity, values: NDArray[np.float64], points: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often what must not occur did, in each of ``values`` (n,): once where one is not zero, whatever it is.

    What counts records, such as the sum of an event over a series, may be more than one of its ``points`` (n,).
    """
    gathered = {quantity.over_idx, quantity.aggregate.stat if quantity.aggregate else None}
    counting = quantity.event is not None or quantity.sql is not None or bool(gathered & {"sum", "count"})
    counts = counting & (values == np.rint(values)) & (values > 1) & (values <= points)
    found: NDArray[np.int64] = np.where(counts, values, values != 0).astype(np.int64)
    return found


def _measured(claim: Claim, m: Matched, names: list[str]) -> Found:
    values = combined(claim, m)
    stat = claim.stat or "median"
    parts = [(label, rows, reduced(stat, values, m, rows)) for label, rows in groups(claim, m)]
    known = [v for _, _, v in parts if not np.isnan(v)]
    if not known:
        return "missing", f"{stat} is not defined for these values", None, []
    texts = []
    for label, rows, v in parts:
        number = "undefined" if np.isnan(v) else f"{v:{'.4g' if claim.within else '.6g'}}"
        counts = f" ({values[rows].sum():.6g} of {m.points[rows, 0].sum()})" if stat == "share" else ""
        texts.append(f"{label + ' ' if claim.within else ''}{number}{counts}")
    what = "share of records" if stat == "share" else f"{stat} of {_what(claim, names)}"
    return "measured", f"{what}: {', '.join(texts)}", max(known), []


def _resampled(claim: Claim, m: Matched, names: list[str]) -> Found:
    """The first side keeps the lowest median spread over groups when every cell is drawn from a random backend (``along``)."""
    assert claim.along is not None
    assert claim.stat is not None
    rest = [k for k in m.keys if k not in (*claim.within, claim.along)]
    backends, groups, cells = (
        [unit_name(r) for r in m.units.select(keys).iter_rows()] for keys in ([claim.along], claim.within, rest)
    )
    found = {key: row for row, key in zip(m.matrix, zip(backends, groups, cells, strict=True), strict=True)}
    b, g, s = sorted(set(backends)), sorted(set(groups)), sorted(set(cells))
    if len(b) < 2 or len(s) < 2 or len(found) < len(b) * len(g) * len(s):
        return "missing", "needs every cell on at least two backends and two cells to a group", None, []
    values = np.array([[[found[i, j, k] for k in s] for j in g] for i in b])
    r = resample_backends(values, np.random.default_rng(claim.seed), draws=claim.draws, measure=claim.stat)
    share = float(r.lowest[0])
    observed = (
        f"{names[0]} lowest in {round(share * r.draws)} of {r.draws} draws, its median {claim.stat} in"
        f" [{r.low[0]:.4g}, {r.high[0]:.4g}]"
    )
    others = [
        f"{n}: lowest in {round(v * r.draws)} draws" for n, v in zip(names[1:], r.lowest[1:], strict=True) if v > 0
    ]
    return share >= (1.0 if claim.at_least is None else claim.at_least), observed, share, others


PREDICATES = {
    "never_worse": _never_worse,
    "at_most": _limit,
    "at_least": _limit,
    "ordering": _ordering,
    "best": _best,
    "monotone": _monotone,
    "count": _count,
    "none": _none,
    "resampled": _resampled,
    "measured": _measured,
}


def _rounding(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Up to which difference the numbers of each row of ``values`` (..., k) are equal: what rounding leaves of printed ties."""
    size = np.abs(values).max(axis=-1)
    found: NDArray[np.float64] = np.where(np.isfinite(size), ULPS * size, 0.0)
    return found


def reduced(stat: str, values: NDArray[np.float64], m: Matched, rows: NDArray[np.int64]) -> float:
    """``stat`` of ``values`` at ``rows``; a share is their sum over the number of records behind them, NaN without any."""
    if stat != "share":
        return statistic(stat, values[rows])
    records = int(m.points[rows, 0].sum())
    return float(values[rows].sum()) / records if records else float("nan")


def combined(claim: Claim, m: Matched) -> NDArray[np.float64]:
    """One value per unit: the first side, or the declared ratio or difference of two."""
    x = m.matrix
    if claim.combine is None:
        return x[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return x[:, 0] / x[:, 1] if claim.combine == "ratio" else difference(x[:, 0], x[:, 1])


def _what(claim: Claim, names: list[str]) -> str:
    if claim.combine is None:
        quantity = claim.sides[0][1]
        if quantity.source is None:
            return names[0]
        metric, gathered = quantity.source.metric, quantity.aggregate
        if gathered is not None:  # the spread over seeds of a loss is no loss
            metric = f"{gathered.stat} over {', '.join(gathered.over)} of {metric}"
        return metric if names[0] == "value" else f"{names[0]} {metric}"
    return f"{names[0]}/{names[1]}" if claim.combine == "ratio" else f"{names[0]} minus {names[1]}"


def groups(claim: Claim, m: Matched) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Name and row numbers of every group of units that agree in the keys ``within``; one group when there are none."""
    if not claim.within:
        yield "all", np.arange(m.matrix.shape[0])
        return
    labels = np.array([unit_name(r) for r in m.units.select(claim.within).iter_rows()])
    for label in sorted(set(labels.tolist())):
        yield label, np.flatnonzero(labels == label)


def _name(m: Matched, i: int) -> str:
    return unit_name(m.units.row(int(i)))
