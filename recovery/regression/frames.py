"""Frames out: predictions and intervals in the caller's own library."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from orledger.recovery.array_types import Numbers


def as_frame(X: Numbers, centre: np.ndarray, intervals: np.ndarray) -> Any:
    """A frame with prediction, lower and upper (numbered when there are several outputs), in X's library.

    pandas input gives a pandas frame with the same index; polars and arrays give a polars frame.
    """
    columns = {}
    outputs = 1 if centre.ndim == 1 else centre.shape[1]
    for j in range(outputs):
        tail = "" if centre.ndim == 1 else f"_{j}"
        columns[f"prediction{tail}"] = centre.reshape(len(centre), -1)[:, j]
        edges = intervals.reshape(len(centre), 2, -1)
        columns[f"lower{tail}"], columns[f"upper{tail}"] = edges[:, 0, j], edges[:, 1, j]
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return pandas.DataFrame(columns, index=X.index)
    import polars

    return polars.DataFrame(columns)
