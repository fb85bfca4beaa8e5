"""The records of one cell, collected column by column; the only way for a number to leave a runner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.errors import DataError, OrledgerError
from orledger.schema import accepted
from orledger.schema.accepted import BEYOND, LARGEST, label_text, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class NonFiniteRecordError(OrledgerError):
    """A runner tried to store NaN or infinity; what is not a number is a refusal or is absent."""


@dataclass
class CellResult:
    """Everything one cell has to say: numbers, refusals, short texts, and the data it read.

    ``state`` is ``done``, or ``refused`` when the whole cell declined (``reason`` then says why and what to do).
    """

    state: str = "done"
    reason: str | None = None
    seconds: float = 0.0
    backend: str = "cpu/float64"
    scalars: list[tuple[str, str, str | None, int | None, float]] = field(default_factory=list)
    blocks: list[tuple[str, str, str | None, np.ndarray, np.ndarray]] = field(default_factory=list)
    refusals: list[tuple[str, str, float | None]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    datasets: list[dict[str, Any]] = field(default_factory=list)
    _places: dict[tuple[str, str, str | None], set[int | None]] = field(default_factory=dict, repr=False)

    def scalar(
        self, arm: str, metric: str, value: float, *, label: str | float | None = None, idx: int | None = None
    ) -> None:
        """One number: ``metric`` of ``arm``, with an optional label (``kappa=1-2``) and index (a step, a point)."""
        arm, metric, label, idx = (
            accepted.text(arm, "the arm"),
            accepted.text(metric, "the metric"),
            label_text(label),
            whole(idx),
        )
        number = float(value)
        if not np.isfinite(number):
            raise NonFiniteRecordError(
                f"{metric} of arm {arm} (label {label}, index {idx}) is {number!r}",
                hint="leave the number out and record a refusal, or a flag that says why it is absent",
            )
        if abs(number) > LARGEST:
            raise DataError(f"{metric} of arm {arm} (label {label}, index {idx}) is {number!r}, {BEYOND}")
        self._claim(arm, metric, label, [idx])
        self.scalars.append((arm, metric, label, idx, number))

    def series(
        self,
        arm: str,
        metric: str,
        values: ArrayLike,
        *,
        label: str | float | None = None,
        idx: Sequence[int] | np.ndarray | None = None,
    ) -> None:
        """A vector of numbers, one per index; ``idx`` defaults to 0, 1, 2, ... Absent points are left out of both."""
        arm, metric, label = accepted.text(arm, "the arm"), accepted.text(metric, "the metric"), label_text(label)
        v = np.ascontiguousarray(np.asarray(values, dtype=np.float64).ravel())
        i = np.arange(v.size, dtype=np.int32) if idx is None else _whole(idx)
        if i.size != v.size:
            raise OrledgerError(f"{metric} of arm {arm}: {v.size} values for {i.size} indices")
        if not np.isfinite(v).all():
            bad = int(i[np.flatnonzero(~np.isfinite(v))[0]])
            raise NonFiniteRecordError(
                f"{metric} of arm {arm} (label {label}) is not finite at index {bad}",
                hint="leave the index out and record why, or record a refusal",
            )
        if (large := np.flatnonzero(np.abs(v) > LARGEST)).size:
            at = large[0]
            raise DataError(f"{metric} of arm {arm} (label {label}) is {v[at]!r} at index {i[at]}, {BEYOND}")
        self._claim(arm, metric, label, i.tolist())
        self.blocks.append((arm, metric, label, i, v))

    def _claim(self, arm: str, metric: str, label: str | None, places: Sequence[int | None]) -> None:
        """Takes the places of numbers; a place holds one number, and a second one would hide the first from readers."""
        taken = self._places.setdefault((arm, metric, label), set())
        new = set(places)
        if len(new) != len(places) or not taken.isdisjoint(new):
            raise OrledgerError(
                f"{metric} of arm {arm} (label {label}) is recorded twice at one index",
                hint="give the second number a label or an index of its own",
            )
        taken |= new

    def refuse(self, arm: str, reason: str, margin: float | None = None) -> None:
        """``arm`` declined to answer in this cell; its numbers are absent, never zero."""
        arm, reason = accepted.text(arm, "the arm"), accepted.text(reason, f"the reason of {arm!r}", most=None)
        self.refusals.append((arm, reason, None if margin is None else float(margin)))

    def fact(self, name: str, text: object) -> None:
        """A short text that belongs to the cell: a hash, a chosen method, the name of a column; a number becomes its text."""
        self.facts[accepted.text(name, "the name of a fact")] = str(text)

    def columns(self) -> dict[str, np.ndarray]:
        """The records as five equally long columns: arm, metric, label, idx (masked), value."""
        n = len(self.scalars) + sum(v.size for *_, v in self.blocks)
        arm, metric, label = (np.empty(n, dtype=object) for _ in range(3))
        idx, unset = np.zeros(n, dtype=np.int32), np.ones(n, dtype=bool)
        value = np.empty(n, dtype=np.float64)
        for k, (a, m, lab, i, v) in enumerate(self.scalars):
            arm[k], metric[k], label[k], value[k] = a, m, lab, v
            if i is not None:
                idx[k], unset[k] = i, False
        k = len(self.scalars)
        for a, m, lab, ii, vv in self.blocks:
            s = slice(k, k + vv.size)
            arm[s], metric[s], label[s], value[s] = a, m, lab, vv
            idx[s], unset[s] = ii, False
            k += vv.size
        return {"arm": arm, "metric": metric, "label": label, "idx": np.ma.array(idx, mask=unset), "value": value}


def _whole(idx: Sequence[int] | np.ndarray) -> np.ndarray:
    """Indices as 32-bit whole numbers."""
    given = np.asarray(idx).ravel()
    if given.dtype.kind not in "iu":
        given = np.array([whole(i) for i in given.tolist()], dtype=np.int64)
    for end in (given.min(), given.max()) if given.size else ():
        whole(end)
    return given.astype(np.int32)
