"""How long an audit takes: the exact signed-rank test beside scipy's, and whole databases of growing size.

    python benchmarks/bench_audit.py                       # up to a million records
    python benchmarks/bench_audit.py --records 10000000    # up to ten million, about a minute to build

The databases are made up: cells of a thousand records, a score and a curve of four arms, and one comparison with three of
them over every cell.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from rows import row, seconds


def best_of(function, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def run(*, quick: bool = False) -> list[dict]:
    """The exact signed-rank test beside scipy's at a few sizes with zeros and ties; whole databases are in growth.py.

    The p-value alone is what scipy gives too; the estimate with the interval of all shifts that the test does not reject has no peer.
    """
    from scipy.stats import wilcoxon

    from orledger.audit.statistics.signedrank import signed_rank, signed_rank_p

    rows = []
    for n in (19, 33, 60, 200):
        d = np.round(np.random.default_rng(n).normal(0.3, 1, n), 1)  # one digit: zeros and ties
        rounds = 10 if quick else 50
        ours = best_of(lambda d=d: signed_rank_p(d, "two-sided"), rounds)
        theirs = best_of(lambda d=d: wilcoxon(d), rounds)
        note = f"p exact {signed_rank(d).p:.6f}, auto {wilcoxon(d).pvalue:.6f}; with estimate and interval {seconds(best_of(lambda d=d: signed_rank(d), 3))}"
        who, goal = "scipy.stats.wilcoxon, method auto", 1.0 if n == 33 else None
        rows.append(row(f"audit: p of the signed-rank test, n = {n}", ours, theirs, who, note, at_least=goal))
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
    """A made-up database of ``records`` in cells of a thousand, or of ten small cells for 0, written as a run writes it; how many it has."""
    from explorer_data import written

    cells, size = (records // 1000, 1000) if records else (10, 8)
    written(path, cells, size)
    return cells * size


def bench_databases(largest: int) -> None:
    from explorer_data import questions

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
            found = audit(path, questions())
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
