"""Where a printed number comes from: records, rows of the audit, or the answer of a query.

A table's builder attaches an origin to a value; ``reports.drilldown`` turns it into queries on the generated views. The
values of a column (``Sample``) know their records, so that a median of them does too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLACE = {"cell_id": pl.String, "arm": pl.String, "label": pl.String, "idx": pl.Int64}


@dataclass(frozen=True, eq=False)
class Records:
    """Records of one or more blocks: those that rows of ``frame`` stand for, and ``columns``, metrics of their view.

    Most numbers of a table are never opened: which records are theirs is worked out when somebody asks.
    """

    frame: pl.DataFrame
    columns: tuple[str, ...]

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Which cells, arms, labels and indices; rows of the frame in which all ``columns`` are null have none."""
        here = [pl.col(c).is_not_null() for c in self.columns if c in self.frame.columns]
        kept = self.frame.filter(pl.any_horizontal(here)) if here else self.frame
        parts = [pl.col(c).cast(t) if c in self.frame.columns else pl.lit(None, t).alias(c) for c, t in PLACE.items()]
        return kept.select(parts).unique(maintain_order=True)


@dataclass(frozen=True)
class AuditRow:
    """A row that the audit stored: ``table`` is test_result, claim or disposition."""

    table: str
    id: str


@dataclass(frozen=True)
class Answer:
    """The rows of a query on the generated views: cells that were counted, numbers of a publication."""

    sql: str


@dataclass(frozen=True)
class Given:
    """Something that no row of the database holds, in words: a number that a publication prints, a setting."""

    words: str


Part = Records | AuditRow | Answer | Given


@dataclass(frozen=True, eq=False)
class Origin:
    """Everything one number was computed from."""

    parts: tuple[Part, ...] = ()

    def __or__(self, other: Origin) -> Origin:
        """Both together; a part that stands in both counts once."""
        return Origin((*self.parts, *(p for p in other.parts if not any(p is q or p == q for q in self.parts))))

    def __bool__(self) -> bool:
        """True when something is known."""
        return bool(self.parts)


NOTHING = Origin()


def answered(sql: str) -> Origin:
    """The rows of a query."""
    return Origin((Answer(sql),))


class Sample(np.ndarray):
    """Numbers that know their records; what is computed from several samples comes from the records of all of them."""

    origin: Origin = NOTHING

    @classmethod
    def of(cls, values: NDArray[np.float64], origin: Origin) -> Sample:
        """``values`` with their origin."""
        found = np.asarray(values).view(cls)
        found.origin = origin
        return found

    def __array_finalize__(self, source: Any) -> None:
        """A view or a slice has the origin of its source."""
        self.origin = getattr(source, "origin", NOTHING)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """The result of plain numpy, with the origins of all inputs."""
        plain = [i.view(np.ndarray) if isinstance(i, Sample) else i for i in inputs]
        if kwargs.get("out"):
            kwargs["out"] = tuple(o.view(np.ndarray) if isinstance(o, Sample) else o for o in kwargs["out"])
        found = getattr(ufunc, method)(*plain, **kwargs)
        return Sample.of(found, origin_of(*inputs)) if isinstance(found, np.ndarray) else found


def origin_of(*sources: object) -> Origin:
    """What samples, values and rows of the audit come from, together; nothing for what does not know."""
    found = NOTHING
    for source in sources:
        known = getattr(source, "origin", NOTHING)
        found |= known if isinstance(known, Origin) else NOTHING
    return found
