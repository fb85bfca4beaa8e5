"""Time and memory of the commands against the number of records.

    python benchmarks/scale.py [--records 1000000 10000000] [--size 1000] [--json FILE]

A database of made-up records in cells of ``--size`` is written through the real writer, and every command runs on it in a
process of its own: seconds on the clock, and the most memory it held at once. The last column is the exponent of time
between the two sizes before it: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from rows import table

COMMANDS: dict[str, list[str]] = {
    "status": ["status", "--db", "{db}"],
    "sql, one mean per arm": ["sql", "SELECT arm, metric, avg(value) FROM record GROUP BY ALL ORDER BY ALL", "--db", "{db}"],
    "db check": ["db", "check", "--db", "{db}"],
    "verify": ["verify", "--db", "{db}"],
    "db export": ["db", "export", "{folder}/corpus", "--db", "{db}"],
    "db import": ["db", "import", "{folder}/corpus", "--db", "{folder}/imported.duckdb"],
    "sql --lake, one mean per arm": ["sql", "SELECT arm, metric, avg(value) FROM record GROUP BY ALL ORDER BY ALL", "--lake", "{folder}"],
    "audit": ["audit", "--db", "{db}"],
}  # fmt: skip


def build(path: Path, records: int, size: int) -> float:
    """Seconds to write ``records`` through the writer, in cells of ``size``, with group commits."""
    from bench_write import Orledger, columns

    side = Orledger(path.parent, records // size)
    block = [columns(size, seed) for seed in range(200)]  # the values repeat: they are not what is measured
    start = time.perf_counter()
    for first in range(0, records // size, len(block)):
        side.store(first, block[: records // size - first])
    taken = time.perf_counter() - start
    side.close()
    (path.parent / side.file).rename(path)
    return taken


def measured(words: list[str]) -> tuple[float, float, int]:
    """Seconds on the clock, megabytes at the most, and the exit code of one command."""
    start = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "orledger", *words],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)],
    )
    _, status, used = os.wait4(pid, 0)
    return time.perf_counter() - start, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def run(sizes: list[int], size: int) -> list[dict[str, Any]]:
    """One row per command and number of records."""
    found = []
    for records in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "work"
            folder.mkdir()
            db = Path(name) / "scale.duckdb"
            # In a process of its own: the memory of a command is never less than what the process that starts it holds.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
                seconds = other.submit(build, db, records, size).result()
            found.append({"command": "writing", "records": records, "seconds": seconds, "megabytes": None, "exit": 0})
            found[-1]["bytes"] = db.stat().st_size
            for what, words in COMMANDS.items():
                taken, memory, code = measured([w.format(db=db, folder=folder) for w in words])
                found.append({"command": what, "records": records, "seconds": taken, "megabytes": memory, "exit": code})
                print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory against the number of records")
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="Also write the rows to this file")
    arguments = parser.parse_args()
    rows = run(arguments.records, arguments.size)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    body = []
    for row in rows:
        smaller = [r for r in rows if r["command"] == row["command"] and r["records"] < row["records"]]
        growth = ""
        if smaller:
            growth = f"{math.log(row['seconds'] / smaller[-1]['seconds']) / math.log(row['records'] / smaller[-1]['records']):.2f}"
        memory = "" if row["megabytes"] is None else f"{row['megabytes']:,.0f}"
        body.append([row["command"], f"{row['records']:,}", f"{row['seconds']:.1f}", memory, str(row["exit"]), growth])
    print(table(["command", "records", "seconds", "MB", "exit", "exponent"], body, right=(1, 2, 3, 4, 5)))


if __name__ == "__main__":
    main()
