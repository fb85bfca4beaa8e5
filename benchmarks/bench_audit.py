"""How long an audit takes: the exact signed-rank test beside scipy's, and whole databases of growing size.

    python benchmarks/bench_audit.py                       # up to a million records
    python benchmarks/bench_audit.py --records 10000000    # up to ten million, about a minute to build

The databases are made up: every cell carries the scalars and series that the shipped hypotheses ask for, with ever longer
series of points and steps, so that the number of records grows and the number of comparisons stays.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reports"))
sys.path.insert(0, str(Path(__file__).parent))
from rows import row


def best_of(function, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def run(*, quick: bool = False) -> list[dict]:
    """The exact signed-rank test beside scipy's at a few sizes with zeros and ties; whole databases are in growth.py."""
    from scipy.stats import wilcoxon

    from orledger.audit.statistics.signedrank import signed_rank

    rows = []
    for n in (19, 33, 60, 200):
        d = np.round(np.random.default_rng(n).normal(0.3, 1, n), 1)  # one digit: zeros and ties
        rounds = 10 if quick else 50
        ours, theirs = best_of(lambda d=d: signed_rank(d), rounds), best_of(lambda d=d: wilcoxon(d), rounds)
        note = f"p exact {signed_rank(d).p:.6f}, auto {wilcoxon(d).pvalue:.6f}"
        who, goal = "scipy.stats.wilcoxon, method auto", 1.0 if n == 33 else None
        rows.append(row(f"audit: signed-rank test, n = {n}", ours, theirs, who, note, at_least=goal))
    return rows


def bench_signed_rank(rounds: int) -> None:
    from scipy.stats import wilcoxon

    from orledger.audit.statistics.signedrank import signed_rank

    print(f"{'n':>4} {'exact, ms':>10} {'scipy auto, ms':>15} {'p exact':>10} {'p auto':>10}")
    for n in (10, 19, 33, 60, 200):
        d = np.round(np.random.default_rng(n).normal(0.3, 1, n), 1)  # one digit: zeros and ties
        ours, theirs = best_of(lambda d=d: signed_rank(d), rounds), best_of(lambda d=d: wilcoxon(d), rounds)
        print(f"{n:>4} {ours * 1e3:>10.3f} {theirs * 1e3:>15.3f} {signed_rank(d).p:>10.6f} {wilcoxon(d).pvalue:>10.6f}")


def build(path: Path, records: int) -> int:
    """The made-up database of the report tests, its points and steps repeated until it holds ``records``."""
    import synthetic_db

    from orledger.schema.opening import connect

    con = connect(path, "write")
    synthetic_db.build(con)
    have = con.execute("SELECT count(*) FROM record").fetchall()[0][0]
    series = con.execute("SELECT count(*) FROM record WHERE idx IS NOT NULL").fetchall()[0][0]
    copies = max(0, -(-(records - have) // series))
    con.execute(
        "INSERT INTO record SELECT cell_id, arm, metric, label, idx + 10000 * (k + 1)::INTEGER, value"
        " FROM record, range(?) t(k) WHERE idx IS NOT NULL",
        [copies],
    )
    con.execute("CHECKPOINT")
    total = con.execute("SELECT count(*) FROM record").fetchall()[0][0]
    con.close()
    return total


def bench_databases(largest: int) -> None:
    from orledger.audit.evaluation.auditing import audit

    sizes = [n for n in (320_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000) if n <= largest]
    print(f"\n{'records':>12} {'build, s':>9} {'audit, s':>9} {'CPU, s':>8} {'tests':>6}")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bench.duckdb"
            start = time.perf_counter()
            total = build(path, size)
            built = time.perf_counter() - start
            start, cpu = time.perf_counter(), time.process_time()
            found = audit(path)
            taken, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(f"{total:>12,} {built:>9.1f} {taken:>9.1f} {cpu:>8.1f} {sum(len(f.tests) for f in found.findings):>6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000, help="size of the largest database")
    parser.add_argument("--rounds", type=int, default=50, help="repetitions of each small timing; the best counts")
    options = parser.parse_args()
    bench_signed_rank(options.rounds)
    bench_databases(options.records)


if __name__ == "__main__":
    main()
