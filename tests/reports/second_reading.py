"""What the second computation of a table needs: base records, and the exact tests by their definitions.

Nothing here reads a view, a row of the audit or a module of the package: only the tables ``cell`` and ``record``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import duckdb
import numpy as np
from scipy.stats import binomtest, rankdata

Content = tuple[float | str | None, ...]
Columns = dict[str, dict[str, Content]]  # the content of a table by column and row
WORDS: Content = ("fixed words",)  # a cell of fixed words, in which no number stands


def _key(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def read(
    con: duckdb.DuckDBPyConnection,
    where: str,
    metric: str,
    keys: str,
    label: str | None = None,
    *,
    points: bool = False,
) -> dict[tuple, np.ndarray]:
    """{(arm, *keys): values} of a metric in ``case/block``, in the order of their index; keys that are numbers as numbers."""
    picks = "".join(f", c.keys['{k}']" for k in keys.split())
    rows = con.execute(
        f"SELECT r.arm{picks}, r.value FROM record r JOIN cell c USING (cell_id) WHERE c.case_name || '/' || c.block = ?"
        f" AND r.metric = ? AND r.label IS NOT DISTINCT FROM ? AND r.idx IS {'NOT ' if points else ''}NULL AND c.state = 'done'"
        " ORDER BY c.cell_id, r.idx",
        [where, metric, label],
    ).fetchall()
    found: dict[tuple, list[float]] = {}
    for arm, *at, value in rows:
        found.setdefault((arm, *map(_key, at)), []).append(value)
    return {key: np.array(values) for key, values in found.items()}


def pooled(found: dict[tuple, np.ndarray], *keep: int) -> dict[tuple, np.ndarray]:
    """The values of several keys together, by the places ``keep`` of the key."""
    groups: dict[tuple, list[np.ndarray]] = {}
    for key in sorted(found, key=str):
        groups.setdefault(tuple(key[i] for i in keep), []).append(found[key])
    return {key: np.concatenate(parts) for key, parts in groups.items()}


def quartiles(x: np.ndarray) -> Content:
    return (np.median(x), *np.percentile(x, [25, 75]))


def variation(x: np.ndarray) -> float:
    return float(np.std(x, ddof=1) / np.mean(x))


def signed_rank(d: np.ndarray) -> float:
    """The two-sided p by the distribution of the rank sum over all signs: zeros dropped, shared ranks averaged."""
    d = d[d != 0]
    ranks = np.rint(2 * rankdata(np.abs(d))).astype(int)
    null = _null(tuple(sorted(ranks.tolist())))
    plus = int(ranks[d > 0].sum())
    return float(min(1.0, 2 * min(null[: plus + 1].sum(), null[plus:].sum())))


@functools.cache
def _null(ranks: tuple[int, ...]) -> np.ndarray:
    null = np.ones(1)
    for rank in ranks:
        step = np.zeros(rank + 1)
        step[0] += 0.5
        step[rank] += 0.5
        null = np.convolve(null, step)
    return null


def floor(d: np.ndarray) -> float:
    """The smallest p that so many non-zero differences can give: all of one sign."""
    return min(1.0, 2.0 ** (1 - np.count_nonzero(d)))


def walsh(d: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(len(d))
    return np.sort((d[first] + d[second]) / 2)


def centre(d: np.ndarray) -> float:
    return float(np.median(walsh(d)))


def shifts(d: np.ndarray) -> Content:
    """The ends of the shifts that the test does not reject: tried at every mean of two values, and between neighbours."""
    ends = np.unique(np.round(walsh(d), 13))
    between = (ends[1:] + ends[:-1]) / 2
    kept = [x for x in ends if signed_rank(np.round(d - x, 13)) > 0.05]
    for low, middle, high in zip(ends, between, ends[1:], strict=False):
        if signed_rank(d - middle) > 0.05:
            kept += [low, high]
    return (min(kept), max(kept))


def averaged(differences: Iterable[tuple[tuple, float]]) -> np.ndarray:
    """One difference for each unit: the mean over the cells that share it."""
    by: dict[tuple, list[float]] = {}
    for unit, d in differences:
        by.setdefault(unit, []).append(d)
    return np.array([np.mean(v) for v in by.values()])


def share(k: int, n: int) -> Content:
    """The two-sided exact interval of a share."""
    return tuple(binomtest(k, n).proportion_ci(0.95, "exact"))


def says(d: np.ndarray) -> str:
    """What differences say about a rule that bets on negative ones."""
    if signed_rank(d) > 0.05:
        return "open"
    return "for" if centre(d) < 0 else "against"
