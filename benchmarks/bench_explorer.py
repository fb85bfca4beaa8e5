"""The explorer on 1,000,000 records in 500 cells: every page beside datasette on the same rows in SQLite, in the same run.

    python benchmarks/bench_explorer.py [--cells 500] [--size 2000] [--requests 10000]

Both servers run in processes of their own and answer in turns over one kept connection each, so that whatever else the
machine does slows both alike. Shown is the median time from asking to the last byte of a page that is made anew; pages that
datasette has no counterpart for stand beside the question it would be asked on its SQL page. Then: fifty clients at once, the memory of the
server over many requests, and a run with and without an explorer that looks at it.
"""

from __future__ import annotations

import argparse
import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

sys.path.insert(0, str(Path(__file__).parent))
from explorer_data import cell_name, duckdb_file, sqlite_file
from rows import row, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIMIT = 0.2  # seconds that a page may take at the median
CLIENTS = 50
RUN = 600  # cells of the run that is looked at
PARTS = ("pages", "crowd", "memory", "run")
GROUPED = (
    "SELECT dataset, arm, count(*), avg(value), min(value), max(value) FROM record JOIN cell USING (cell_id)"
    " WHERE metric = 'error' AND idx IS NULL GROUP BY dataset, arm ORDER BY dataset, arm"
)
ALL = "SELECT arm, metric, count(*) AS n, avg(value) AS mean FROM record GROUP BY arm, metric ORDER BY arm, metric"
PROGRESS = "SELECT state, count(*) FROM cell GROUP BY state"
PAIRED = (
    "SELECT a.cell_id, c.dataset, c.seed, a.value, b.value FROM record a JOIN record b USING (cell_id) JOIN cell c USING (cell_id)"
    " WHERE a.metric = 'error' AND a.idx IS NULL AND a.arm = 'ours' AND b.metric = 'error' AND b.idx IS NULL AND b.arm = 'theirs'"
)
ONE = (
    "SELECT c.*, r.arm, r.value FROM record r JOIN cell c USING (cell_id) WHERE c.dataset = 'd007' AND c.seed = 3"
    " AND r.metric = 'error' AND r.idx IS NULL"
)


def question(sql: str) -> str:
    """The address at datasette that answers ``sql``."""
    return f"/bench?sql={quote_plus(sql)}"


def pages() -> dict[str, tuple[str, str]]:
    """Every page of the explorer with its counterpart."""
    cell = cell_name(37)
    return {
        "overview": ("/", "/bench"),
        "run": ("/run", question(PROGRESS)),
        "cells": ("/cells", "/bench/cell"),
        "cells, filtered and sorted": (
            "/cells?case=bench&block=main&key.dataset=d007&order=key.seed&down=1",
            "/bench/cell?dataset=d007&_sort_desc=seed",
        ),
        "a cell": (f"/cell/{cell}", f"/bench/record?cell_id={cell}"),
        "metric by key": ("/metric?metric=bench/main/error&group=dataset", question(GROUPED)),
        "hypothesis": ("/hypothesis/lower", question(PAIRED)),
        "table": ("/table/lower-results-1", question(GROUPED)),
        "number": (f"/number?table=lower-results-1&row={quote('d007/3')}&column=arm+1", question(ONE)),
        "SQL over all records": (f"/sql?q={quote_plus(ALL)}", question(ALL)),
    }


class Server:
    """A server in a process of its own."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                self.connection = self.connect()
                self.get("/")
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{command[1:4]} ended with {self.process.returncode}") from None
                time.sleep(0.2)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def get(self, address: str, connection: http.client.HTTPConnection | None = None) -> tuple[float, int]:
        """Seconds to the last byte, and the status; a connection that the server let go of while idle is made anew."""
        used = connection or self.connection
        for _ in range(2):
            began = time.perf_counter()
            try:
                used.request("GET", address)
                answer = used.getresponse()
                answer.read()
                return time.perf_counter() - began, answer.status
            except http.client.RemoteDisconnected:
                used.close()
        raise ConnectionError(address)

    def processor(self) -> float:
        """Seconds of processor that the server has used; 0 where the system does not say."""
        status = Path(f"/proc/{self.process.pid}/stat")
        fields = status.read_text().rpartition(")")[2].split() if status.exists() else ["0"] * 13
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory in MiB; 0 where the system does not say."""
        status = Path(f"/proc/{self.process.pid}/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Server, Server]]:
    """The explorer and datasette on the files in ``folder``."""
    ports = 20000 + os.getpid() % 10000
    ours = Server(
        [sys.executable, "-m", "orledger", "serve", "--db", str(folder / "bench.duckdb"), "--port", str(ports), "--no-open"],
        ports,
    )  # fmt: skip
    settings = ["--setting", "sql_time_limit_ms", "60000"]
    command = [sys.executable, "-m", "datasette", "serve", str(folder / "bench.db"), "-p", str(ports + 1), *settings]
    try:
        peer = Server(command, ports + 1)
        try:
            yield ours, peer
        finally:
            peer.close()
    finally:
        ours.close()


def compare(ours: Server, peer: Server, repeats: int) -> list[dict[str, Any]]:
    """Every page beside its counterpart, in turns, made anew each time: a parameter that no page reads tells the addresses apart.

    What a page takes that is asked for again, and kept by the explorer, stands in the notes, as do first answers.
    """
    rows = []
    for name, (mine, theirs) in pages().items():
        first = [ours.get(mine), peer.get(theirs)]
        assert [status for _, status in first] == [200, 200], (name, first)
        joint = "&" if "?" in mine else "?"
        before = [s.processor() for s in (ours, peer)]
        times = [(ours.get(f"{mine}{joint}anew={k}")[0], peer.get(theirs)[0]) for k in range(repeats)]
        used = [(s.processor() - b) / repeats for s, b in zip((ours, peer), before, strict=True)]
        a, b = (statistics.median(t[k] for t in times) for k in (0, 1))
        again = statistics.median(ours.get(mine)[0] for _ in range(repeats))
        note = (
            f"processor time {used[0] * 1e3:.0f} ms beside {used[1] * 1e3:.0f} ms; first answers {first[0][0] * 1e3:.0f} ms"
            f" beside {first[1][0] * 1e3:.0f} ms; asked again {again * 1e3:.1f} ms"
        )
        rows.append(row(f"explorer, {name}", a, b, "datasette", note, at_least=1.0, at_most=LIMIT))
    return rows


def crowd(ours: Server) -> dict[str, Any]:
    """Fifty clients at once, each asking for every page: seconds for all answers, and that none is an error."""

    def client(number: int) -> list[int]:
        connection = ours.connect()
        found = []
        for mine, _ in pages().values():
            joint = "&" if "?" in mine else "?"
            found.append(ours.get(f"{mine}{joint}client={number}", connection)[1])
        connection.close()
        return found

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        statuses = [s for found in pool.map(client, range(CLIENTS)) for s in found]
    seconds = time.perf_counter() - began
    wrong = sum(s != 200 for s in statuses)
    note = f"{len(statuses)} answers, {wrong} errors"
    return row(f"explorer, {CLIENTS} clients at once", seconds, seconds, "itself: see the errors in the notes", note)


def growth(ours: Server, requests: int) -> dict[str, Any]:
    """The memory of the server over many requests: after a tenth of them beside after all."""
    addresses = [mine for mine, _ in pages().values()]
    marks: dict[int, float] = {}
    began = time.perf_counter()
    for k in range(requests + 1):
        if k in (requests // 10, requests // 2, requests):
            marks[k] = ours.memory()
        ours.get(addresses[k % len(addresses)])
    seconds = (time.perf_counter() - began) / (requests + 1)
    first, *_, last = marks.values()
    note = "; ".join(f"{m:.0f} MiB after {n:,} requests" for n, m in marks.items()) + f": {last / first - 1:+.1%}"
    return row("explorer, a request of many", seconds, seconds, "itself: see the memory in the notes", note)


def disturbance(folder: Path, repeats: int) -> dict[str, Any]:
    """A run that publishes snapshots, alone and with an explorer whose page asks every two seconds; medians, in turns.

    The explorer is up before the run starts: what its start costs is no part of the question.
    """
    times: dict[bool, list[float]] = {False: [], True: []}
    for k in range(repeats * 2):
        watched = bool(k % 2)
        path = folder / f"run{k}.duckdb"
        command = [sys.executable, str(Path(__file__).with_name("explorer_run.py")), str(path)]
        subprocess.run(
            [*command, "1"], check=True, stdout=subprocess.DEVNULL
        )  # one cell: there is something to look at
        watcher = None
        if watched:
            port = 30000 + os.getpid() % 10000 + k
            watcher = Server(
                [sys.executable, "-m", "orledger", "serve", "--db", str(path), "--port", str(port), "--no-open"], port
            )
        run = subprocess.Popen([*command, str(RUN)], stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None
        while run.poll() is None:
            if watcher is not None:
                watcher.get("/run?part=1")
            try:
                run.wait(timeout=2)
            except subprocess.TimeoutExpired:
                continue
        times[watched].append(float(run.stdout.read()))
        if watcher is not None:
            watcher.close()
    alone, seen = (statistics.median(times[w]) for w in (False, True))
    note = f"time with the explorer over time without: {seen / alone:.3f}; {repeats} runs each, in turns"
    return row("a run beside the explorer", seen, alone, "the same run alone", note)


def run(
    cells: int = 500,
    size: int = 2000,
    requests: int = 10_000,
    repeats: int = 15,
    parts: Sequence[str] = PARTS,
    *,
    quick: bool = False,
) -> list[dict[str, Any]]:
    """The rows of the chosen ``parts``; ``quick`` has a tenth of the records and requests."""
    if quick:
        size, requests, repeats = size // 10, requests // 10, 5
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if set(parts) & {"pages", "crowd", "memory"}:
            duckdb_file(folder / "bench.duckdb", cells, size)
            sqlite_file(folder / "bench.db", cells, size)
            with servers(folder) as (ours, peer):
                if "pages" in parts:
                    rows += compare(ours, peer, repeats)
                if "crowd" in parts:
                    rows.append(crowd(ours))
                if "memory" in parts:
                    rows.append(growth(ours, requests))
        if "run" in parts:
            rows.append(disturbance(folder, 1 if quick else 3))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="The explorer beside datasette")
    parser.add_argument("--cells", type=int, default=500)
    parser.add_argument("--size", type=int, default=2000, help="Records in a cell")
    parser.add_argument("--requests", type=int, default=10_000, help="Requests over which memory is watched")
    parser.add_argument("--repeats", type=int, default=15, help="Answers of which the median is shown")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    show(run(given.cells, given.size, given.requests, given.repeats, given.parts, quick=given.quick))


if __name__ == "__main__":
    main()
