"""Cells to records: each arm's distance from the truth, which is zero."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from orledger.runners.records import CellResult
from orledger.runners.seeds import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.runners.cells import Cell, Context


def run(cells: tuple[Cell, ...], context: Context) -> Iterator[tuple[Cell, CellResult]]:  # noqa: ARG001
    """Each cell with its records, in order; a function of the specs alone."""
    for cell in cells:
        started = perf_counter()
        draws, trim = int(cell.settings["draws"]), float(cell.settings["trim"])
        stream = generator("location", cell.keys["law"], cell.keys["seed"])  # named, so equal on every worker
        y = np.sort(stream.standard_normal(draws) if cell.keys["law"] == "normal" else stream.standard_cauchy(draws))
        out = CellResult(backend="cpu/float64")
        out.scalar("mean", "error", abs(y.mean()))
        out.scalar("median", "error", abs(np.median(y)))
        cut = int(trim * draws)
        if cut == 0:
            out.refuse("trimmed", f"{draws} draws leave nothing to trim at a share of {trim:g}", trim * draws - 1)
        else:
            out.scalar("trimmed", "error", abs(y[cut:-cut].mean()))
        out.series("cell", "draw", y)
        out.seconds = perf_counter() - started
        yield cell, out
