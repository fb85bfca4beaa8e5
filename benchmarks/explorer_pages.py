"""The pages of the explorer that are measured, each beside the requests to datasette that show the same.

Datasette shows a table, a row, or the answer of one query. A page that puts several answers together stands beside as many
requests, one after the other on one connection; its queries are written by hand here, which a reader of datasette would have
to do. SQLite has no median, so datasette is asked for less on the metric page. Whatever one request can show is one request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, urlencode

from explorer_data import ARMS, SEEDS, cell_name

from orledger.reports.tables.generic import PART

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = "SELECT arm, metric, count(*) AS n, avg(value) AS mean FROM record GROUP BY arm, metric ORDER BY arm, metric"
CELLS = 500  # that are done
STATES = "SELECT case_name, block, state, count(*), sum(n_records) FROM cell GROUP BY case_name, block, state"
VERDICTS = "SELECT * FROM disposition WHERE audit_id = (SELECT audit_id FROM audit ORDER BY created DESC LIMIT 1) ORDER BY hypothesis"
LATEST_RUN = "SELECT run_id, preset, engine, jobs, device, state, started, ended FROM run ORDER BY started DESC LIMIT 1"
REFUSALS = "SELECT case_name, block, arm, reason, count(*) FROM refusal JOIN cell USING (cell_id) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3"
UNFINISHED = "SELECT case_name, block, state, error, count(*) FROM cell WHERE state <> 'done' GROUP BY 1, 2, 3, 4"
FAILURES = "SELECT cell_id, name, error FROM cell WHERE state = 'failed' ORDER BY finished DESC LIMIT 20"
LATEST = "SELECT cell_id, name, state, seconds FROM cell WHERE finished IS NOT NULL ORDER BY finished DESC LIMIT 12"
SCALARS = " WHERE metric = 'error' AND idx IS NULL"
GROUPED = (
    "SELECT dataset, arm, count(*), avg(value), min(value), max(value) FROM record JOIN cell USING (cell_id)"
    f"{SCALARS} GROUP BY dataset, arm ORDER BY dataset, arm"
)
SUMMARY = "SELECT arm, metric, count(*), min(value), avg(value), max(value) FROM record WHERE cell_id = '{}' GROUP BY arm, metric"
NEAR = (
    "SELECT b.cell_id, b.dataset, b.seed, b.state FROM cell a JOIN cell b ON (a.dataset = b.dataset) + (a.seed = b.seed) = 1"
    " WHERE a.cell_id = '{}' ORDER BY b.dataset, b.seed LIMIT 48"
)
STORED = {
    "disposition": "SELECT * FROM disposition WHERE hypothesis = 'lower'",
    "test_result": "SELECT * FROM test_result WHERE hypothesis = 'lower'",
    "claim": "SELECT * FROM claim WHERE hypothesis = 'lower'",
    "registration": "SELECT * FROM registration WHERE hypothesis = 'lower'",
}
UNITS = (
    "SELECT arm, cell_id, name, dataset, seed, value FROM record JOIN cell USING (cell_id)"
    f"{SCALARS} AND arm IN ('ours', 'theirs') ORDER BY dataset, seed, arm"
)
WIDE = (
    "SELECT dataset, seed, {} FROM record JOIN cell USING (cell_id)"
    f"{SCALARS} GROUP BY dataset, seed ORDER BY dataset, seed LIMIT 40"
).format(", ".join(f"max(value) FILTER (WHERE arm = '{a}') AS {a}" for a in ("ours", "theirs", "baseline", "oracle")))
ONE = (
    "SELECT c.cell_id, c.name, c.dataset, c.seed, r.arm, r.value FROM record r JOIN cell c USING (cell_id)"
    f"{SCALARS} AND c.dataset = '{{}}' AND c.seed = {{}} AND r.arm {{}}"
)


@dataclass(frozen=True)
class Measured:
    """A page: its address for the question number ``k``, and the addresses at datasette that show the same."""

    name: str
    ours: Callable[[int], str]
    theirs: Callable[[int], list[str]]


def question(sql: str) -> str:
    """The address at datasette that answers ``sql``."""
    return f"/bench?sql={quote_plus(sql)}"


def questions(*queries: str) -> list[str]:
    """The addresses at datasette that answer the queries."""
    return [question(q) for q in queries]


def again(address: str) -> Callable[[int], str]:
    """The same page under an address of its own for each ``k``, so that it is made anew: nothing reads the parameter."""
    return lambda k: f"{address}{'&' if '?' in address else '?'}anew={k}"


def pages(test: str) -> list[Measured]:
    """Every page; where there are many of a kind, each ``k`` asks for another one. ``test`` is the address of a test."""

    def one(k: int) -> list[str]:
        cell = cell_name(k)
        return [f"/bench/cell/{cell}", *questions(SUMMARY.format(cell), NEAR.format(cell))]

    def behind(k: int) -> list[str]:
        k %= CELLS
        place = (f"d{k // SEEDS:03d}", k % SEEDS)
        return questions(ONE.format(*place, "= 'ours'"), ONE.format(*place, "<> 'ours'"))

    def filtered(k: int) -> str:
        chosen = {
            "case": "bench",
            "block": "main",
            "key.dataset": f"d{k % (CELLS // SEEDS):03d}",
            "order": "key.seed",
            "down": "1",
        }
        return "/cells?" + urlencode(chosen)

    def number(k: int) -> str:
        k %= CELLS
        part = f"-{k // PART + 1}" if CELLS > PART else ""
        table, row = f"lower-results{part}", f"d{k // SEEDS:03d}/{k % SEEDS}"
        return "/number?" + urlencode({"table": table, "row": row, "column": ARMS[0]})

    return [
        Measured("overview", again("/"), lambda _: questions(STATES, VERDICTS, LATEST_RUN, REFUSALS, UNFINISHED)),
        Measured("run", again("/run"), lambda _: questions(LATEST_RUN, STATES, FAILURES, REFUSALS, LATEST)),
        Measured("cells", again("/cells"), lambda _: ["/bench/cell"]),
        Measured("cells, filtered and sorted", filtered, lambda k: [f"/bench/cell?dataset=d{k:03d}&_sort_desc=seed"]),
        Measured("a cell", lambda k: f"/cell/{cell_name(k * SEEDS % CELLS)}", lambda k: one(k * SEEDS % CELLS)),
        Measured(
            "metric by key", again("/metric?metric=bench/main/error&group=dataset"), lambda _: [question(GROUPED)]
        ),
        Measured("hypothesis", again("/hypothesis/lower"), lambda _: questions(*STORED.values())),
        Measured("a test with its units", again(test), lambda _: questions(STORED["test_result"], UNITS)),
        Measured("table", again("/table/lower-results-1"), lambda _: [question(WIDE)]),
        Measured("number", number, behind),
        Measured("SQL over all records", again(f"/sql?q={quote_plus(ALL)}"), lambda _: [question(ALL)]),
    ]


def others() -> list[Measured]:
    """Further pages, which nothing at datasette stands beside: memory is watched over them too."""
    rows = quote_plus("SELECT * FROM bench_main WHERE seed = 1 LIMIT 1000")

    def nobody(_: int) -> list[str]:
        return []

    return [
        Measured("values beside cells", again("/cells?case=bench&block=main&metric=error&order=arm.ours"), nobody),
        Measured("series of a cell", lambda k: f"/cell/{cell_name(k % CELLS)}?series=curve", nobody),
        Measured("tables and figures", again("/tables"), nobody),
        Measured("a figure", again("/figure/lower-differences"), nobody),
        Measured("recheck", again("/recheck"), nobody),
        Measured("SQL without a query", again("/sql"), nobody),
        Measured("a query with a mistake", again("/sql?q=SELECT+nothing"), nobody),
        Measured("a download", again(f"/query.csv?q={rows}"), nobody),
        Measured("a part of a run", again("/run?part=1"), nobody),
    ]
