"""Values pinned at a bound: they say "no more" or "no less" and are not read as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Bound:
    """A value that says "no more" or "no less" rather than "this": ``at`` a grid's end, or ``below`` or ``above`` a limit."""

    at: float | None = None
    below: float | None = None
    above: float | None = None

    def marks(self, values: ArrayLike) -> NDArray[np.bool_]:
        """True where a value is pinned and must be read as a bound, shape of ``values``."""
        x = np.asarray(values, dtype=float)
        marked = np.zeros(x.shape, dtype=bool)
        if self.at is not None:
            marked |= np.isclose(x, self.at, rtol=1e-12, atol=0)
        if self.below is not None:
            marked |= x < self.below
        if self.above is not None:
            marked |= x > self.above
        return marked
