"""The explorer on 1,000,000 records in 500 cells: every page beside datasette on the same rows in SQLite, in the same run.

    python benchmarks/bench_explorer.py [--cells 500] [--size 2000] [--requests 10000] [--parts pages crowd memory run start]

Both servers run in processes of their own and answer in turns over one kept connection each, so that whatever else the
machine does slows both alike. Shown is the median time from asking to the last byte; where there are many pages of a kind each
request asks for another one, and the others are made anew. ``explorer_pages`` says what stands beside each page. Then: the time
from the command to the first page, fifty clients at once, the memory of the server over many requests, and a run with and
without an explorer that looks at it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
from explorer_data import duckdb_file, sqlite_file
from explorer_pages import others, pages
from rows import row, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from explorer_pages import Measured

LIMIT = 0.2  # seconds that a page may take at the median
CLIENTS = 50
KINDS = 100  # questions of one kind that there are at most
RUN = 600  # cells of the run that is looked at
LOOKS = 2.0  # seconds between two looks of an open page at a run
NEW = 3  # states of the database for which first answers are measured
PARTS = ("pages", "start", "crowd", "memory", "run")


class Server:
    """A server in a process of its own."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        began = time.perf_counter()
        while True:
            try:
                self.connection = self.connect()
                self.get("/")
                self.started = time.perf_counter() - began  # from the command to the last byte of the first page
                self.used = self.processor()  # for the same
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{command[1:4]} ended with {self.process.returncode}") from None
                time.sleep(0.02)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def read(self, address: str) -> str:
        """The page at ``address``."""
        connection = self.connect()
        connection.request("GET", address)
        found = connection.getresponse().read().decode()
        connection.close()
        return found

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

    def family(self) -> list[int]:
        """The server, and the processes that it started."""
        found = [self.process.pid]
        for process in found:
            for task in Path(f"/proc/{process}/task").glob("*/children"):
                found += map(int, task.read_text().split())
        return found

    def processor(self) -> float:
        """Seconds of processor that the server and its processes have used; 0 where the system does not say."""
        used = 0
        for process in self.family():
            status = Path(f"/proc/{process}/stat")
            fields = status.read_text().rpartition(")")[2].split() if status.exists() else ["0"] * 13
            used += int(fields[11]) + int(fields[12])
        return used / os.sysconf("SC_CLK_TCK")

    def settle(self) -> None:
        """Waits until the server does nothing: what it builds in the background after its start is done."""
        before = -1.0
        while self.processor() > before + 0.02:
            before = self.processor()
            time.sleep(1.0)

    def memory(self) -> dict[str, float]:
        """Resident memory of the server and of its processes, in MiB; 0 where the system does not say."""
        found = {}
        for process in self.family():
            status = Path(f"/proc/{process}/status")
            lines = status.read_text().splitlines() if status.exists() else []
            size = sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
            name = "server" if process == self.process.pid else "queries"
            found[name] = found.get(name, 0.0) + size
        return found

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def explorer(path: Path, port: int) -> Server:
    """The explorer on the database at ``path``."""
    command = [sys.executable, "-m", "orledger", "serve", "--db", str(path), "--port", str(port), "--no-open"]
    return Server(command, port)


def ports(offset: int = 0) -> int:
    """A port that other runs of this benchmark are unlikely to have."""
    return 20000 + os.getpid() % 10000 + offset


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Server, Server]]:
    """The explorer and datasette on the files in ``folder``."""
    ours = explorer(folder / "bench.duckdb", ports())
    settings = ["--setting", "sql_time_limit_ms", "60000"]
    command = [sys.executable, "-m", "datasette", "serve", str(folder / "bench.db"), "-p", str(ports(1)), *settings]
    try:
        peer = Server(command, ports(1))
        try:
            yield ours, peer
        finally:
            peer.close()
    finally:
        ours.close()


def measured(ours: Server) -> list[Measured]:
    """The pages to ask for; the address of the first test is read from the page of its hypothesis."""
    found = re.search(r'href="(/test/[^"#]+)"', ours.read("/hypothesis/lower"))
    assert found is not None
    return pages(found.group(1))


def compare(ours: Server, peer: Server, database: Path, repeats: int) -> list[dict[str, Any]]:
    """Every page beside its counterpart, in turns. In the notes: processor time, first answers of a new state, and answers that were kept."""
    rows = []
    ours.settle()
    for page in measured(ours):
        new = []
        for _ in range(NEW):  # a file that was touched is a new state: nothing that was kept is used
            os.utime(database)
            time.sleep(0.6)
            ours.get("/recheck")  # takes the copy, which is no part of the page
            new.append(ours.get(page.ours(KINDS - 1))[0])
        statuses = {ours.get(page.ours(0))[1], *(peer.get(a)[1] for a in page.theirs(0))}
        assert statuses == {200}, (page.name, statuses)
        before = [s.processor() for s in (ours, peer)]
        times = []
        for k in range(1, repeats + 1):
            mine = ours.get(page.ours(k))[0]
            times.append((mine, sum(peer.get(a)[0] for a in page.theirs(k))))
        used = [(s.processor() - b) / repeats for s, b in zip((ours, peer), before, strict=True)]
        a, b = (statistics.median(t[k] for t in times) for k in (0, 1))
        again = statistics.median(ours.get(page.ours(0))[0] for _ in range(repeats))
        asked = len(page.theirs(0))
        note = (
            f"datasette: {asked} request{'s' * (asked > 1)}; processor time {used[0] * 1e3:.1f} ms beside {used[1] * 1e3:.1f} ms;"
            f" first of a new state {statistics.median(new) * 1e3:.0f} ms; asked again {again * 1e3:.1f} ms"
        )
        rows.append(row(f"explorer, {page.name}", a, b, "datasette", note, at_least=1.0, at_most=LIMIT))
    return rows


def start(databases: Sequence[Path], repeats: int) -> list[dict[str, Any]]:
    """Seconds from the command to the last byte of the first page, for each database."""
    rows = []
    for path in databases:
        taken, used = [], []
        for k in range(repeats):
            server = explorer(path, ports(2 + k))
            taken.append(server.started)
            used.append(server.used)
            server.close()
        size = f"{path.name}, {path.stat().st_size / 2**20:.0f} MiB"
        note = (
            f"{size}; {', '.join(f'{t:.2f}' for t in taken)} s; processor time {', '.join(f'{t:.2f}' for t in used)} s"
        )
        seconds = statistics.median(taken)
        rows.append(row("explorer, from the command to the first page", seconds, seconds, "itself", note, at_most=1.0))
    return rows


def crowd(ours: Server) -> dict[str, Any]:
    """Fifty clients at once, each asking for every page: seconds for all answers, the slowest, and that none is an error."""
    asked = measured(ours)

    def client(number: int) -> list[tuple[float, int]]:
        connection = ours.connect()
        found = []
        for place in range(len(asked)):  # each begins with another page
            page = asked[(number + place) % len(asked)]
            found.append(ours.get(page.ours(number), connection))
        connection.close()
        return found

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = [a for found in pool.map(client, range(CLIENTS)) for a in found]
    seconds = time.perf_counter() - began
    wrong = sum(status != 200 for _, status in answers)
    slowest = max(taken for taken, _ in answers)
    note = f"{len(answers)} answers, {wrong} errors, the slowest after {slowest:.2f} s"
    return row(f"explorer, {CLIENTS} clients at once", seconds, seconds, "itself: see the errors in the notes", note)


def growth(ours: Server, requests: int) -> dict[str, Any]:
    """The memory of the server and of its processes over many requests to all pages, each under an address of its own."""
    asked = [*measured(ours), *others()]
    marks: dict[int, dict[str, float]] = {}
    began = time.perf_counter()
    for k in range(requests + 1):
        if k and k % (requests // 10) == 0:
            marks[k] = ours.memory()
        page = asked[k % len(asked)]
        address = page.ours(k // len(asked))
        status = ours.get(f"{address}{'&' if '?' in address else '?'}visit={k}")[1]  # no address twice
        assert status == 200, (page.name, k, status)
    seconds = (time.perf_counter() - began) / (requests + 1)
    parts = []
    for name in ("server", "queries"):
        sizes = [m.get(name, 0.0) for m in marks.values()]
        halves = [statistics.fmean(half) for half in (sizes[1:5], sizes[6:10])]
        parts.append(
            f"{name} after each {requests // 10:,}: {', '.join(f'{s:.0f}' for s in sizes)} MiB,"
            f" second half over first {halves[1] / halves[0] - 1:+.1%}"
        )
    kinds = f"{len(asked)} kinds of pages; "
    return row(
        "explorer, a request of many", seconds, seconds, "itself: see the memory in the notes", kinds + "; ".join(parts)
    )


def disturbance(folder: Path, pairs: int) -> dict[str, Any]:
    """A run that publishes snapshots, alone and with an explorer whose page asks every two seconds, in pairs of changing order.

    The explorer has answered before the run starts: what its start costs is no part of the question. Compared within
    each pair: seconds of the clock, and seconds of processor that the process of the run used.
    """
    ratios: dict[str, list[float]] = {"seconds": [], "processor": []}
    times: dict[bool, list[float]] = {False: [], True: []}
    for pair in range(pairs):
        found = {
            w: looked_at(folder / f"run{pair}{w}.duckdb", watched=w, port=ports(10 + pair)) for w in ORDERS[pair % 2]
        }
        for name, kept in ratios.items():
            kept.append(found[True][name] / found[False][name])
        for watched, kept in times.items():
            kept.append(found[watched]["seconds"])
    alone, seen = (statistics.median(times[w]) for w in (False, True))
    said = [f"{name} {statistics.median(r):.3f} ({min(r):.3f} to {max(r):.3f})" for name, r in ratios.items()]
    note = f"with the explorer over without, median (range) of {pairs} pairs: {', '.join(said)}"
    return row("a run beside the explorer", seen, alone, "the same run alone", note)


ORDERS = ((False, True), (True, False))


def looked_at(path: Path, *, watched: bool, port: int) -> dict[str, float]:
    """Seconds of clock and processor of one run."""
    command = [sys.executable, str(Path(__file__).with_name("explorer_run.py")), str(path)]
    subprocess.run([*command, "1"], check=True, stdout=subprocess.DEVNULL)  # one cell: there is something to look at
    watcher = explorer(path, port) if watched else None
    if watcher is not None:
        watcher.get("/run")
    run = subprocess.Popen([*command, str(RUN)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    while run.poll() is None:
        if watcher is not None:
            watcher.get("/run?part=1")
        try:
            run.wait(timeout=LOOKS)
        except subprocess.TimeoutExpired:
            continue
    if watcher is not None:
        watcher.close()
    found: dict[str, float] = json.loads(run.stdout.read())
    return found


def run(
    cells: int = 500,
    size: int = 2000,
    requests: int = 10_000,
    repeats: int = 15,
    parts: Sequence[str] = PARTS,
    also: Sequence[Path] = (),
    *,
    quick: bool = False,
) -> list[dict[str, Any]]:
    """The rows of the chosen ``parts``; ``quick`` has a tenth of the records and requests. ``also`` are databases to start on."""
    if quick:
        size, requests, repeats = size // 10, requests // 10, 5
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "bench.duckdb"
        if set(parts) - {"run"}:
            duckdb_file(database, cells, size)
        if "start" in parts:
            rows += start([database, *also], 1 if quick else 5)
        if set(parts) & {"pages", "crowd", "memory"}:
            sqlite_file(folder / "bench.db", database)
            with servers(folder) as (ours, peer):
                if "pages" in parts:
                    rows += compare(ours, peer, database, repeats)
                if "crowd" in parts:
                    rows.append(crowd(ours))
                if "memory" in parts:
                    rows.append(growth(ours, requests))
        if "run" in parts:
            rows.append(disturbance(folder, 1 if quick else 5))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="The explorer beside datasette")
    parser.add_argument("--cells", type=int, default=500)
    parser.add_argument("--size", type=int, default=2000, help="Records in a cell")
    parser.add_argument("--requests", type=int, default=10_000, help="Requests over which memory is watched")
    parser.add_argument("--repeats", type=int, default=15, help="Answers of which the median is shown")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="Further databases to measure the start on")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    size = (given.cells, given.size, given.requests, given.repeats)
    show(run(*size, given.parts, given.also, quick=given.quick))


if __name__ == "__main__":
    main()
