"""Time and memory of the commands against the number of records.

    python benchmarks/scale.py [--records 1000000 10000000] [--size 1000] [--json FILE] [--keep FOLDER [--only COMMAND...]]

A database of made-up records in cells of ``--size`` is written through the real writer, and every command runs on it in a
process of its own: seconds on the clock, processor seconds, and the most memory it held at once. The last column is the
exponent of processor time between a size and the one before it: 1 is linear. On a machine that does other things the clock
says little; processor time says what the command itself did. With ``--keep`` the databases stay, and ``--only`` takes up the
measurement where an earlier call left it: a hundred million records can be done in parts.
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
    "audit": ["audit", "--registry", "{folder}/question.toml", "--db", "{db}"],
    "report": ["report", "--no-pdf", "--out", "{folder}/report.html", "--db", "{db}"],
}  # fmt: skip

# One paired comparison over every cell, from the means of two series: what an audit of these records has to read.
QUESTION = """
[hypothesis]
id = "S1"
title = "Two arms over every cell"
mode = "registered"
statement = "The two arms differ in their mean."
[defaults]
case = "bench"
block = "write"
metric = "coverage"
pair = ["k"]
better = "higher"
[[comparison]]
id = "mean"
title = "Means of the series"
test = "sign"
arms = ["standard", "weighted"]
over_idx = "mean"
[disposition]
otherwise = "refuted"
otherwise_reason = "no difference"
[[disposition.rule]]
verdict = "supported"
reason = "they differ"
any = ["mean is less", "mean is greater"]
"""


def build(path: Path, records: int, size: int) -> tuple[float, float]:
    """Seconds on the clock and of the processor to write ``records`` in cells of ``size`` through the writer, with group commits.

    What is written stays in a log until there is enough of it, and the rest reaches the file when it is closed: closing is part of it.
    """
    from bench_write import Orledger, columns

    side = Orledger(path.parent, records // size)
    block = [columns(size, seed) for seed in range(200)]  # the values repeat: they are not what is measured
    done = sum(state == "done" for state in side.writer.states().values())  # of an earlier call that was stopped
    print(f"writing {records - done * size:,} records", flush=True)
    start, used = time.perf_counter(), time.process_time()
    for first in range(done, records // size, len(block)):
        side.store(first, block[: records // size - first])
    side.close()
    taken = time.perf_counter() - start, time.process_time() - used
    (path.parent / side.file).rename(path)
    return taken


def measured(words: list[str]) -> dict[str, Any]:
    """Seconds on the clock and of the processor, megabytes at the most, and the exit code of one command."""
    start = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "orledger", *words],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)],
    )
    _, status, used = os.wait4(pid, 0)
    return {
        "seconds": time.perf_counter() - start,
        "processor": used.ru_utime + used.ru_stime,
        "megabytes": used.ru_maxrss / 1024,
        "exit": os.waitstatus_to_exitcode(status),
    }


def run(sizes: list[int], size: int, place: Path, only: list[str] | None = None) -> list[dict[str, Any]]:
    """One row per command and number of records; the files are left in ``place``."""
    found = []
    for records in sizes:
        folder = place / str(records)
        db = folder / "scale.duckdb"
        if not db.exists():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "question.toml").write_text(QUESTION, encoding="utf-8")
            # In a process of its own: the memory of a command is never less than what the process that starts it holds.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
                seconds, used = other.submit(build, db, records, size).result()
            written = {"seconds": seconds, "processor": used, "megabytes": None, "exit": 0, "bytes": db.stat().st_size}
            found.append({"command": "writing", "records": records, **written})
            print(found[-1], flush=True)
        for what, words in COMMANDS.items():
            if only is None or what in only:
                told = measured([w.format(db=db, folder=folder) for w in words])
                found.append({"command": what, "records": records, **told})
                print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory against the number of records")
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="Also write the rows to this file")
    parser.add_argument("--keep", type=Path, help="Leave the databases in this folder, and use those that are there")
    parser.add_argument("--only", nargs="*", choices=list(COMMANDS), help="Only these commands; none: only write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = run(arguments.records, arguments.size, arguments.keep or Path(name), arguments.only)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    body = []
    for row in rows:
        smaller = [r for r in rows if r["command"] == row["command"] and r["records"] < row["records"]]
        growth = f"{exponent(smaller[-1], row):.2f}" if smaller else ""
        memory = "" if row["megabytes"] is None else f"{row['megabytes']:,.0f}"
        times = f"{row['seconds']:.1f}", f"{row['processor']:.1f}"
        body.append([row["command"], f"{row['records']:,}", *times, memory, str(row["exit"]), growth])
    header = ["command", "records", "seconds", "processor", "MB", "exit", "exponent"]
    print(table(header, body, right=(1, 2, 3, 4, 5, 6)))


def exponent(small: dict[str, Any], large: dict[str, Any]) -> float:
    """How processor time grew from one size to the next, as a power of the number of records."""
    return math.log(large["processor"] / small["processor"]) / math.log(large["records"] / small["records"])


if __name__ == "__main__":
    main()
