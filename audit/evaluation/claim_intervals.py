"""How sure a claim about a mean, a share or a count is: an exact binomial or a blocked bootstrap interval, or a word that it is bare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orledger.audit.evaluation.predicates import combined, groups
from orledger.audit.registry.words import ClaimState, Clearly
from orledger.audit.statistics.counts import clopper_pearson
from orledger.audit.statistics.intervals import ends_of_draws
from orledger.audit.ties import step_of

if TYPE_CHECKING:
    from orledger.audit.evaluation.pairing import Matched
    from orledger.audit.registry.hypotheses import Claim

DRAWS = 2000
RESAMPLED = ("mean", "median", "share")
COUNTED = ("never_worse", "count")
OF_COUNTS = "Clopper-Pearson for the share of units"
NO_NUMBER = "bare: there is no number"


@dataclass(frozen=True)
class ClaimInterval:
    """The interval of the number a claim looks at; ``low`` and ``high`` are None for a bare number, and ``method`` says why."""

    low: float | None
    high: float | None
    level: float | None
    method: str

    def words(self, claim: Claim) -> str:
        """The interval behind what was observed; a statistic over units that has none is said to be bare, and why."""
        if self.low is None:
            told = claim.stat in RESAMPLED and self.method != NO_NUMBER
            return f" ({self.method})" if told else ""
        of = "share of units in " if self.method == OF_COUNTS else ""
        return f" ({of}[{self.low:.4g}, {self.high:.4g}])"

    def clearly(self, claim: Claim, state: ClaimState) -> tuple[Clearly, ...]:
        """Whether the whole interval lies on the side of the limit that the state says."""
        if self.low is None or self.high is None or claim.limit is None or claim.kind not in ("at_most", "at_least"):
            return ()
        below, above = self.high <= claim.limit, self.low >= claim.limit
        good, bad = (below, above) if claim.kind == "at_most" else (above, below)
        if good and state == ClaimState.HOLDS:
            return (Clearly.HOLDS,)
        return (Clearly.FAILS,) if bad and state == ClaimState.FAILS else ()


BARE = ClaimInterval(None, None, None, "bare: there is nothing to look at")


def claim_interval(claim: Claim, m: Matched, value: float | None) -> ClaimInterval:
    """The interval of ``value``, what ``claim`` found in ``m``: exact for counts of units, resampled for statistics over units."""
    known = value is not None and np.isfinite(value)
    if value is not None and known and claim.kind in COUNTED and (not claim.unit or claim.unit == claim.pair):
        found = clopper_pearson(round(value), m.matrix.shape[0], claim.level)
        return ClaimInterval(found.low, found.high, claim.level, OF_COUNTS)
    if claim.kind not in ("at_most", "at_least", "measured") or claim.stat not in RESAMPLED:
        return ClaimInterval(None, None, None, "bare: it is about these units and no population")
    if not known:
        return ClaimInterval(None, None, None, NO_NUMBER)
    if not claim.unit:
        return ClaimInterval(None, None, None, "bare: no independent unit is declared")
    return _bootstrap(claim, m)


def _bootstrap(claim: Claim, m: Matched) -> ClaimInterval:
    """Whole units drawn with replacement inside every group; of groups, the extreme one counts, as in the claim.

    The largest of several observed values lies above the largest true one more often than not. So the end on the side of the rest is
    that of every group at its share of the level (Bonferroni), and the end beyond the extreme that of one group.
    With few units the interval is too short: two or three seeds do not show how seeds vary. Its method says how many.
    """
    values = combined(claim, m)
    step = step_of(np.nan_to_num(values)) ** 16  # a sum of any number of values stays below the largest number
    values = values * step
    rng = np.random.default_rng(claim.seed)
    labels = np.array(["\x1f".join(map(str, row)) for row in m.units.select(claim.unit).iter_rows()])
    columns, fewest = [], m.matrix.shape[0]
    for _, rows in groups(claim, m):
        blocks = [rows[labels[rows] == name] for name in sorted(set(labels[rows].tolist()))]
        fewest = min(fewest, len(blocks))
        if len(blocks) < 2:
            return ClaimInterval(None, None, None, "bare: a group has a single independent unit")
        picks = rng.integers(len(blocks), size=(DRAWS, len(blocks)))
        if claim.stat == "median":
            if len({b.size for b in blocks}) == 1:
                drawn = values[np.stack(blocks)][picks].reshape(DRAWS, -1)
                columns.append(np.median(drawn, axis=1).tolist())
            else:
                columns.append([float(np.median(values[np.concatenate([blocks[i] for i in p])])) for p in picks])
            continue
        size = [m.points[b, 0].sum() if claim.stat == "share" else b.size for b in blocks]
        sums, sizes = np.array([values[b].sum() for b in blocks]), np.array(size, dtype=float)
        columns.append((sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)).tolist())
    table = np.asarray(columns)
    outside = (1 - claim.level) / 2
    if claim.kind == "at_least":
        low, high = (end.min() for end in ends_of_draws(table, outside, 1 - outside / len(columns), axis=1))
    else:
        low, high = (end.max() for end in ends_of_draws(table, outside / len(columns), 1 - outside, axis=1))
    method = f"bootstrap of whole units ({', '.join(claim.unit)}), {DRAWS} draws, at least {fewest} units to a group"
    if len(columns) > 1:
        method += f", of the {'smallest' if claim.kind == 'at_least' else 'largest'} of {len(columns)} groups"
    return ClaimInterval(float(low) / step, float(high) / step, claim.level, method)
