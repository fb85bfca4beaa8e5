"""The records of two databases side by side, a range of cells at a time: never more than a bounded number of them is held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.reports.source import Database

AT_ONCE = 4_000_000  # records of both sides together; a single cell may have more
TOLERANCES = (0.01, 0.05, 0.20)
KEY = ["cell_id", "arm", "metric", "label", "idx"]
BY = ["case", "block", "arm", "metric"]
COUNT = "SELECT count(*) AS n FROM all_records"
RECORDS = """
SELECT cell_id, arm, metric, coalesce(label, '') AS label, coalesce(idx, -1) AS idx, value FROM all_records
WHERE cell_id >= $low AND ($high IS NULL OR cell_id < $high)
"""


@dataclass(frozen=True)
class RecordComparison:
    """What became of the records that both sides have, and how many stand on one side only; see ``Comparison``."""

    records: pl.DataFrame
    rules: pl.DataFrame
    paths: pl.DataFrame
    unmatched: int


def compare_records(
    left: Database, right: Database, left_cells: pl.DataFrame, right_cells: pl.DataFrame
) -> RecordComparison:
    """The records of the cells that both sides have done, matched by arm, metric, label and index.

    Everything is added up range by range. What stays is per arm and metric, per trajectory, and the ratio of each scalar that
    moved, which the median needs.
    """
    done = [cells.filter(pl.col("state") == "done") for cells in (left_cells, right_cells)]
    shared = done[0].join(done[1].select("cell_id"), on="cell_id", how="semi")
    everything = sum(int(side.sql(COUNT)["n"][0]) for side in (left, right))
    parts: list[tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]] = []
    pairs = 0
    for low, high in _ranges(pl.concat(d.select("cell_id", "n_records") for d in done)):
        asked = {"low": low, "high": high}
        matched = _matched(left.sql(RECORDS, asked), right.sql(RECORDS, asked), shared)
        pairs += len(matched)
        parts.append((_summary(matched), _ratios(matched), _paths(matched)))
    summaries, ratios, paths = (pl.concat(frames) for frames in zip(*parts, strict=True))
    return RecordComparison(
        records=summaries.group_by(BY).agg(pl.col(SUMMED).sum(), pl.col(LARGEST).max()).sort(BY),
        rules=_rules(ratios),
        paths=paths.sort("first_difference", "cell", "arm", nulls_last=True),
        unmatched=everything - 2 * pairs,
    )


def _ranges(cells: pl.DataFrame) -> Iterator[tuple[str, str | None]]:
    """Ranges of cell ids, from one up to but without the next, that hold about ``AT_ONCE`` records and together all ids."""
    sizes = cells.group_by("cell_id").agg(pl.col("n_records").sum()).sort("cell_id")
    number = sizes["n_records"].cum_sum() // AT_ONCE
    starts = sizes.filter(number != number.shift(1, fill_value=0))["cell_id"].to_list()
    yield from zip(["", *starts], [*starts, None], strict=True)


def _matched(left: pl.DataFrame, right: pl.DataFrame, shared: pl.DataFrame) -> pl.DataFrame:
    """Records present on both sides with their differences; the ratio is the larger over the smaller, where signs agree."""
    a, b = pl.col("value"), pl.col("value_right")
    scale = pl.max_horizontal(a.abs(), b.abs())
    return (
        left.join(right, on=KEY, how="inner")
        .join(shared.select("cell_id", pl.col("case_name").alias("case"), "block", "name"), on="cell_id")
        .with_columns(
            (a == b).alias("same"),
            (a - b).abs().alias("difference"),
            pl.when(scale > 0).then((a - b).abs() / scale).otherwise(0.0).alias("relative"),
            pl.when((a * b) > 0).then(scale / pl.min_horizontal(a.abs(), b.abs())).otherwise(None).alias("ratio"),
            pl.when((a * b) > 0).then(b / a).otherwise(None).alias("signed"),
        )
    )


SUMMED = ["n", "bitwise", *(f"within_{round(100 * t)}" for t in TOLERANCES)]
LARGEST = ["worst_ratio", "worst_difference"]


def _summary(matched: pl.DataFrame) -> pl.DataFrame:
    return matched.group_by(BY).agg(
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("same").sum().cast(pl.Int64).alias("bitwise"),
        *((pl.col("relative") <= t).sum().cast(pl.Int64).alias(f"within_{round(100 * t)}") for t in TOLERANCES),
        pl.col("ratio").max().alias("worst_ratio"),
        pl.col("difference").max().alias("worst_difference"),
    )


def _ratios(matched: pl.DataFrame) -> pl.DataFrame:
    """For every scalar of an arm, right over left: how many are 1, the others, and the worst in either direction."""
    scalars = matched.filter((pl.col("idx") == -1) & pl.col("signed").is_not_null())
    return scalars.group_by(BY).agg(
        (pl.col("signed") == 1).sum().cast(pl.Int64).alias("ones"),
        pl.col("signed").filter(pl.col("signed") != 1).alias("moved"),
        pl.col("ratio").max().alias("worst"),
    )


def _rules(ratios: pl.DataFrame) -> pl.DataFrame:
    """Right over left for every scalar of an arm: median, range, and the worst disagreement in either direction."""
    found: list[dict[str, Any]] = []
    for group in ratios.sort(BY).partition_by(BY, maintain_order=True):
        moved = np.sort(np.concatenate([m.to_numpy() for m in group["moved"]]))
        ones = int(group["ones"].sum())
        ends = [*moved[:1], *moved[-1:], *([1.0] if ones else [])]
        found.append(
            {
                **dict(zip(BY, group.select(BY).row(0), strict=True)),
                "n": ones + moved.size,
                "median_ratio": _median(moved, ones),
                "low": float(min(ends)),
                "high": float(max(ends)),
                "worst": group["worst"].max(),
            }
        )
    numbers = dict.fromkeys(("median_ratio", "low", "high", "worst"), pl.Float64)
    return pl.DataFrame(found, schema={**dict.fromkeys(BY, pl.String), "n": pl.Int64, **numbers})


def _median(moved: Sequence[float] | np.ndarray, ones: int) -> float:
    """The median of the sorted ``moved`` and as many times 1 as ``ones`` says."""
    below, n = int(np.searchsorted(moved, 1.0)), len(moved) + ones

    def ranked(k: int) -> float:
        return float(moved[k] if k < below else 1.0 if k < below + ones else moved[k - ones])

    return (ranked((n - 1) // 2) + ranked(n // 2)) / 2


def _paths(matched: pl.DataFrame) -> pl.DataFrame:
    """For every trajectory on both sides, how many steps it has and the first step whose action differs (null: none)."""
    actions = matched.filter((pl.col("metric") == "action") & (pl.col("idx") >= 0))
    return (
        actions.group_by("name", "arm")
        .agg(pl.len().alias("steps"), pl.col("idx").filter(~pl.col("same")).min().alias("first_difference"))
        .rename({"name": "cell"})
    )
