"""kill -9 at many random moments of a running job, and then: is everything there, whole, and the same?

    python benchmarks/kill_many.py [--kills 100] [--cells 200] [--seed 0]

Each round starts the toy case of the tests on one database, kills it with its workers' parent at a random moment, and
checks the database: no committed cell lost, none torn (counts and content hashes), no stray file. When all cells are done
the round's database is compared with an uninterrupted one, record for record, and the next one starts from nothing.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOY = Path(__file__).resolve().parents[1] / "tests" / "runners" / "toy"
sys.path.insert(0, str(TOY))


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill a run many times")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    from toy_case import run_toy, same, toy_plan

    from orledger.schema.checking import check
    from orledger.schema.reading import open_results

    chance = random.Random(arguments.seed)
    landed = {"before the file": 0, "while computing": 0, "after the end": 0}
    compared = 0
    with tempfile.TemporaryDirectory() as name:
        folder, whole = Path(name) / "killed", Path(name) / "whole.duckdb"
        run_toy(whole, toy_plan(arguments.cells))
        folder.mkdir()
        db = folder / "results.duckdb"
        committed: set[str] = set()
        for kill in range(arguments.kills):
            engine = ["serial", "processes"][kill % 2]
            command = [
                sys.executable,
                str(TOY / "toy_case.py"),
                str(db),
                "--cells",
                str(arguments.cells),
                "--engine",
                engine,
            ]
            command += ["--workers", "2", "--slow", "0.01", "--snapshot-every", "0.05", "--lines"]
            process = subprocess.Popen(command, stderr=subprocess.PIPE)
            assert process.stderr is not None
            if kill % 5:
                process.stderr.readline()  # the run has begun; one in five may die while it still starts
            time.sleep(chance.uniform(0.0, 1.5))
            ended = process.poll() is not None
            process.send_signal(signal.SIGKILL)
            said = re.findall(r"^(\d+)/\d+ cells", process.communicate()[1].decode(), re.MULTILINE)
            acknowledged = int(said[-1]) if said else 0
            if not db.exists():
                landed["before the file"] += 1
                continue
            landed["after the end" if ended else "while computing"] += 1
            report = check(db)
            assert report.findings == (), report.findings
            with open_results(db) as results:
                now = set(results.sql("SELECT cell_id FROM cell WHERE state = 'done'")["cell_id"])
            assert committed <= now, f"lost: {committed - now}"
            assert len(now) >= len(committed) + acknowledged, (
                f"{acknowledged} acknowledged, {len(now - committed)} there"
            )
            committed = now
            if len(now) == arguments.cells or kill == arguments.kills - 1:
                assert run_toy(db, toy_plan(arguments.cells)).state == "finished"
                assert same(db, whole)
                stray = {p.name for p in folder.iterdir()} - {"results.duckdb"}
                assert not stray, stray
                compared += 1
                shutil.rmtree(folder)
                folder.mkdir()
                committed = set()
    where = ", ".join(f"{count} {what}" for what, count in landed.items())
    print(
        f"{arguments.kills} kills ({where}): no cell lost, none torn; {compared} databases equal to the uninterrupted one"
    )


if __name__ == "__main__":
    main()
