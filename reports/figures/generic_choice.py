"""Which pairs of many a figure shows, and the words that say so: the 780 pairs of forty arms are no figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.reports.generic import Pair, Subject

ROWS = 30  # pairs below one another, each with its two names


def first(subject: Subject, count: int) -> list[Pair]:
    """The pairs to draw: smallest corrected p first; of equal ones the smaller p by itself, then the larger effect."""
    return sorted(subject.pairs, key=_strength)[:count]


def left_out(subject: Subject, drawn: int) -> str:
    """Says that a figure shows some pairs of many, and by what they were chosen."""
    return (
        f" Of {len(subject.pairs)} pairs the {drawn} with the smallest p; the table of pairs has all."
        if drawn < len(subject.pairs)
        else ""
    )


def leading(subject: Subject, pairs: Sequence[Pair]) -> tuple[list[Pair], str]:
    """The pairs that fit below one another, and what to say of those left out.

    Of too many they are those of the arm with the best mean rank, with the arms that come next; without ranks, the smallest p.
    """
    if len(pairs) <= ROWS:
        return list(pairs), ""
    best, place = subject.ordered[0], {arm: i for i, arm in enumerate(subject.ordered)}
    near = {place[p.second if p.first == best else p.first]: p for p in pairs if best in (p.first, p.second)}
    if subject.ranking is not None and len(near) > 1:
        chosen = [near[i] for i in sorted(near)[:ROWS]]
        whom = f"the first {len(chosen)} of the arms that follow it" if len(near) > ROWS else "the others"
        how = f"those of {subject.label(best)}, which has the best mean rank, with {whom}"
    else:
        chosen = sorted(pairs, key=_strength)[:ROWS]
        how = f"the {len(chosen)} with the smallest p"
    return chosen, f" Of {len(pairs)} pairs {how}; the audit has all."


def _strength(p: Pair) -> tuple[float, float, float]:
    alone = 2.0 if p.row.p is None else p.row.p
    return (alone if p.row.p_holm is None else p.row.p_holm, alone, -abs(p.row.effect or 0.0))
