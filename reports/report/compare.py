"""Two databases side by side: what coincides bitwise, what moved and by how much, and where two trajectories part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from orledger.reports.report.compare_records import compare_records

if TYPE_CHECKING:
    from orledger.reports.source import Database

# A cell of before does not name the code that its BLAS chose; its run does, if its cells were computed on the machine of the run.
CELLS = """
SELECT a.cell_id, a.case_name, a.block, a.cell AS name, a.state, a.n_records, a.content_hash, a.cpu, a.node, coalesce(
    CASE WHEN json_valid(c.host) THEN json_extract_string(c.host, '$.blas') END,
    CASE WHEN json_valid(r.host) AND r.engine <> 'ray' THEN nullif(array_to_string(list_sort(list_distinct(
        json_extract_string(r.host, '$.libraries[*].architecture'))), ', '), '') END) AS blas
FROM all_cells a JOIN cell c ON c.cell_id = a.cell_id LEFT JOIN run r ON r.run_id = c.run_id
ORDER BY a.cell_id
"""
FRAMES = ("cells", "hosts", "differing", "records", "rules", "paths")
ACROSS, SAME, UNKNOWN = "across CPU kinds", "on one CPU kind", "CPU unknown"


@dataclass(frozen=True)
class DatabaseComparison:
    """What two databases have in common and where they differ; frames are sorted, so equal inputs give equal text."""

    left: str
    right: str
    cells: pl.DataFrame  # case, block, both, bitwise, only_left, only_right
    records: (
        pl.DataFrame
    )  # case, block, arm, metric, n, bitwise, within_1, within_5, within_20, worst_ratio, worst_difference
    rules: pl.DataFrame  # case, block, arm, metric, n, median_ratio, low, high, worst
    paths: pl.DataFrame  # cell, arm, steps, first_difference
    hosts: pl.DataFrame  # left_cpu, right_cpu, mark, both, bitwise, differ
    differing: pl.DataFrame  # cell, mark, left_cpu, right_cpu, left_node, right_node
    unmatched: int  # records of one side without a counterpart on the other

    @property
    def identical(self) -> bool:
        """True when both hold the same cells and every record coincides bitwise."""
        return (
            not self.unmatched
            and not self.records.filter(pl.col("bitwise") < pl.col("n")).height
            and not self.cells.filter((pl.col("only_left") > 0) | (pl.col("only_right") > 0)).height
        )


def _cells(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    both = left.join(right, on="cell_id", how="full", coalesce=True, suffix="_right")
    return (
        both.with_columns(
            pl.coalesce("case_name", "case_name_right").alias("case"), pl.coalesce("block", "block_right").alias("of")
        )
        .group_by("case", "of")
        .agg(
            (pl.col("name").is_not_null() & pl.col("name_right").is_not_null()).sum().alias("both"),
            (pl.col("content_hash") == pl.col("content_hash_right")).sum().alias("bitwise"),
            pl.col("name_right").is_null().sum().alias("only_left"),
            pl.col("name").is_null().sum().alias("only_right"),
        )
        .rename({"of": "block"})
        .sort("case", "block")
    )


def _marked(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    """The cells that both sides settled, with the machines that did, marked by whether the kind of CPU is the same.

    A kind is a name, and the code that the BLAS chose for it where both sides know that.
    """
    cpus = pl.col("cpu"), pl.col("cpu_right")
    named = [
        pl.concat_str([cpu, pl.col(blas)], separator=", ")
        for cpu, blas in zip(cpus, ("blas", "blas_right"), strict=True)
    ]
    other = (pl.col("blas") != pl.col("blas_right")).fill_null(False)
    return (
        left.join(right, on="cell_id", how="inner", suffix="_right")
        .filter(pl.col("content_hash").is_not_null() & pl.col("content_hash_right").is_not_null())
        .with_columns(
            (pl.col("content_hash") == pl.col("content_hash_right")).alias("same"),
            pl.when(cpus[0].is_null() | cpus[1].is_null())
            .then(pl.lit(UNKNOWN))
            .when((cpus[0] == cpus[1]) & ~other)
            .then(pl.lit(SAME))
            .otherwise(pl.lit(ACROSS))
            .alias("mark"),
            *(
                pl.coalesce(known, cpu).alias(c)
                for known, cpu, c in zip(named, cpus, ("left_cpu", "right_cpu"), strict=True)
            ),
        )
        .rename({"name": "cell", "node": "left_node", "node_right": "right_node"})
    )


def _hosts(marked: pl.DataFrame) -> pl.DataFrame:
    """For every pair of CPU kinds, how many cells they both computed and how many of them differ."""
    return (
        marked.group_by("left_cpu", "right_cpu", "mark")
        .agg(pl.len().alias("both"), pl.col("same").sum().alias("bitwise"), (~pl.col("same")).sum().alias("differ"))
        .sort("differ", "left_cpu", "right_cpu", descending=[True, False, False], nulls_last=True)
    )


def _differing(marked: pl.DataFrame) -> pl.DataFrame:
    """The cells whose content differs, those computed on other kinds of CPU first."""
    rank = pl.col("mark").replace_strict({ACROSS: 0, UNKNOWN: 1, SAME: 2}, return_dtype=pl.Int8)
    columns = ("cell", "mark", "left_cpu", "right_cpu", "left_node", "right_node")
    return marked.filter(~pl.col("same")).sort(rank, "cell").select(columns)


def compare(left: Database, right: Database, names: tuple[str, str] = ("left", "right")) -> DatabaseComparison:
    """The comparison of two databases, cells matched by their ids and records by arm, metric, label and index."""
    cells = left.sql(CELLS), right.sql(CELLS)
    marked = _marked(*cells)
    found = compare_records(left, right, *cells)
    return DatabaseComparison(
        left=names[0],
        right=names[1],
        cells=_cells(*cells),
        records=found.records,
        rules=found.rules,
        paths=found.paths,
        hosts=_hosts(marked),
        differing=_differing(marked),
        unmatched=found.unmatched,
    )
