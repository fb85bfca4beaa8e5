"""Parquet files: their rows in SQL, and the records of a database in sorted parts.

One sort of all records spills from its start to its end, and one pass over all of them for each part would cost more than all
else once there are many parts. So the records are read a fixed number of times, however many there are: to number the cells,
to count and number the names (arm, metric and label), and to write each record, as numbers, to the file of its part. The
numbers stand in the order of what they stand for, so that sorting a part compares no text. More than ``FEW``
names are written as they are.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from orledger.schema.layouts import literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

SORTED_ROWS = 4_000_000
"""Records of a part, which ends with a cell. The bytes of an export depend on it: a new part begins a new run of row groups."""

MOST_FILES = 250
"""Files that are written at once, each with a buffer. Of more parts, several share a file, and each of them reads it."""

BUFFERED_ROWS = 20_480
"""Records in the buffer of each of these files."""

FEW = 10_000
"""Most names that are numbered, and most values of an enumeration: it is faster than text, but each row group holds all of it."""

IN_ORDER = 'SELECT * FROM "{table}" ORDER BY ALL NULLS FIRST'

# Numbers of one kind stand together, and those of similar cells beside each other: they compress better than cell by cell.
RECORDS_BY_KIND = """
SELECT r.* FROM record r LEFT JOIN cell c USING (cell_id)
ORDER BY c.case_name, c.block, r.metric, c.spec, r.cell_id, r.arm, r.label NULLS FIRST, r.idx NULLS FIRST, r.value
"""

# A new part begins where the one before has its rows. Nothing but what the cells hold decides.
CELLS = """
CREATE TEMP TABLE numbered_cell AS
SELECT cell_id, row_number() OVER (ORDER BY cell_id) AS cell, (sum(n) OVER (ORDER BY cell_id) - 1)::BIGINT // ? AS part
FROM (SELECT cell_id, count(*) AS n FROM record GROUP BY cell_id) ORDER BY cell_id
"""

# An estimate: it decides how the records are sorted, and changes nothing of the result.
HOW_MANY_NAMES = "SELECT approx_count_distinct(hash(arm, metric, label)) FROM record"

NAMES = """
CREATE TEMP TABLE numbered_name AS
SELECT arm, metric, label, row_number() OVER (ORDER BY arm, metric, label NULLS FIRST) AS name
FROM (SELECT DISTINCT arm, metric, label FROM record)
"""

# Each record with the number of its cell, and of its name or the name itself.
WITH_NUMBERS = """
SELECT c.cell, n.name, r.idx, r.value, c.part // {together} AS file
FROM record r JOIN numbered_cell c ON r.cell_id = c.cell_id
JOIN numbered_name n ON r.arm = n.arm AND r.metric = n.metric AND r.label IS NOT DISTINCT FROM n.label
"""
WITH_NAMES = """
SELECT c.cell, r.arm, r.metric, r.label, r.idx, r.value, c.part // {together} AS file
FROM record r JOIN numbered_cell c ON r.cell_id = c.cell_id
"""

# The joins come before the sort: a join may leave its rows in any order.
SORTED_NUMBERS = """
SELECT c.cell_id, n.arm, n.metric, n.label, r.idx, r.value
FROM {rows} r JOIN part_cell c ON r.cell = c.cell JOIN part_name n ON r.name = n.name
ORDER BY r.cell, r.name, r.idx NULLS FIRST, r.value
"""
SORTED_NAMES = """
SELECT c.cell_id, r.arm, r.metric, r.label, r.idx, r.value
FROM {rows} r JOIN part_cell c ON r.cell = c.cell
ORDER BY r.cell, r.arm, r.metric, r.label NULLS FIRST, r.idx NULLS FIRST, r.value
"""


def by_kind(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str]) -> str:
    """The query for the rows of ``table`` with what is alike together, which compresses better; any rows have one such order."""
    if table == "record":
        return RECORDS_BY_KIND
    counts = ", ".join(f'count(DISTINCT "{column}")' for column in columns)
    [numbers] = con.execute(f'SELECT {counts} FROM "{table}"').fetchall()
    few_first = sorted(zip(numbers, range(len(columns)), columns, strict=True))
    order = ", ".join(f'"{column}" NULLS FIRST' for _, _, column in few_first)
    return f'SELECT * FROM "{table}" ORDER BY {order}'


def sorted_parts(con: duckdb.DuckDBPyConnection, folder: Path) -> list[Path]:
    """Files in ``folder`` with the records of one range of cells after the other: read in this order they are sorted as a whole."""
    con.execute(CELLS, [SORTED_ROWS])
    [(names,)] = con.execute(HOW_MANY_NAMES).fetchall()
    split, ordered = (WITH_NUMBERS, SORTED_NUMBERS) if names <= FEW else (WITH_NAMES, SORTED_NAMES)
    if names <= FEW:
        con.execute(NAMES)
        _enumerate(con, "part_name", "numbered_name", ("arm", "metric", "label"), "name")
    numbers = [n for (n,) in con.execute("SELECT DISTINCT part FROM numbered_cell ORDER BY part").fetchall()]
    together = numbers[-1] // MOST_FILES + 1
    unsorted = folder / "record.unsorted"
    con.execute(f"SET partitioned_write_max_open_files = {MOST_FILES}")
    options = f"PARTITION_BY (file), COMPRESSION snappy, ROW_GROUP_SIZE {BUFFERED_ROWS}"
    con.execute(f"COPY ({split.format(together=together)}) TO {literal(str(unsorted))} (FORMAT parquet, {options})")
    parts: list[Path] = []
    for number, following in zip(numbers, [*numbers[1:], None], strict=True):
        file = unsorted / f"file={number // together}"
        _enumerate(con, "part_cell", f"(FROM numbered_cell WHERE part = {number})", ("cell_id",), "cell")
        parts.append(folder / f"record.{len(parts):06}.part")
        rows = ordered.format(rows=rows_of(*sorted(file.iterdir())))
        con.execute(f"COPY ({rows}) TO {literal(str(parts[-1]))} (FORMAT parquet, COMPRESSION snappy)")
        if following is None or following // together != number // together:
            shutil.rmtree(file)
    shutil.rmtree(unsorted)
    return parts


def _enumerate(con: duckdb.DuckDBPyConnection, table: str, source: str, texts: tuple[str, ...], number: str) -> None:
    """Makes the ``table`` of the ``texts`` of ``source`` and their ``number``; texts with few values become enumerations."""
    con.execute(f"DROP TABLE IF EXISTS {table}")
    columns = []
    for text in texts:
        con.execute(f"DROP TYPE IF EXISTS few_{text}")
        values = f"SELECT DISTINCT {text} AS value FROM {source} WHERE {text} IS NOT NULL"
        [(count,)] = con.execute(f"SELECT count(*) FROM ({values})").fetchall()
        if 0 < count <= FEW:
            con.execute(f"CREATE TEMP TYPE few_{text} AS ENUM (SELECT value FROM ({values}) ORDER BY value)")
            columns.append(f"{text}::few_{text} AS {text}")
        else:
            columns.append(text)
    con.execute(f"CREATE TEMP TABLE {table} AS SELECT {', '.join(columns)}, {number} FROM {source}")


def rows_of(*files: Path) -> str:
    """The rows of the Parquet ``files`` in SQL, one file after the other."""
    listed = ", ".join(literal(exactly(file)) for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false)"  # a folder such as year=2026 is no column


def exactly(path: Path) -> str:
    """The pattern that matches ``path`` and no other: DuckDB takes a name with brackets, stars or question marks for one."""
    return re.sub(r"([*?[])", r"[\1]", str(path))
