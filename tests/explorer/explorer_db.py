"""A small database with hostile names for the explorer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orledger.schema.outcomes import Outcome, PlannedCell
from orledger.schema.writing import Writer

HOSTILE = "<script>alert(1)</script>'\";--"


def fill(path: Path, cells: int = 6) -> None:
    """``cells`` done cells of a study with two arms, one that failed with a traceback, and one that is only planned."""
    with Writer(path) as writer:
        names = [f"c{i}" for i in range(cells + 2)]
        writer.plan(
            [
                PlannedCell(
                    n, "mine", "main", f"mine/{n}", {"dataset": HOSTILE if i % 2 else "plain", "seed": i}, "{}", "1", n
                )
                for i, n in enumerate(names)
            ]
        )
        for i, name in enumerate(names[:cells]):
            columns = {
                "arm": np.array(["x", HOSTILE], dtype=object),
                "metric": np.array(["error", "error"], dtype=object),
                "label": np.array([None, None], dtype=object),
                "idx": np.ma.masked_all(2, dtype=np.int32),
                "value": np.array([float(i), float(i) + 1]),
            }
            writer.store(name, Outcome("done", columns=columns, refusals=[("y", HOSTILE, -0.5)], seconds=0.1))
        writer.store(names[cells], Outcome("failed", error=f"Traceback\nValueError: {HOSTILE}"))
