"""Records written by hand, as the builder of a table reads them: no database, no audit."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl

from orledger.reports.origin import Records
from orledger.reports.tables.render import plain
from orledger.reports.tables.values import Absent


def record(block, keys, arm, label=None, idx=None, cell=None, **metrics):
    """One row of a wide view: the metrics of an arm in the cell with ``keys``."""
    name = "/".join(map(str, keys.values()))
    return {"block": block, "keys": keys, "cell_id": cell or name, "cell": name, "computed_on": "here", "arm": arm, "label": label, "idx": idx, "metrics": metrics}  # fmt: skip


class HandSource:
    """What a builder asks of its source: rows of selections, rows of the audit by address, and reasons, which repeat the question."""

    def __init__(self, records, answers=None, audit=None):
        self.records, self.answers, self.audit = list(records), answers or {}, audit or {}
        self.cited = SimpleNamespace(tests=list)

    def rows(self, query):
        if isinstance(query, str):
            return next((frame for words, frame in self.answers.items() if words in query), pl.DataFrame())
        columns = {"cell_id": pl.String, "cell": pl.String, "computed_on": pl.String, **dict.fromkeys(query.keys, pl.Float64), "arm": pl.String, "label": pl.String}  # fmt: skip
        texts = {k for r in self.records for k, v in r["keys"].items() if isinstance(v, str)}
        columns |= {k: pl.String for k in query.keys if k in texts}
        columns |= {"idx": pl.Int64} if query.indexed else {}
        columns |= dict.fromkeys(query.metrics, pl.Float64)
        found = [
            {**{c: r[c] for c in ("cell_id", "cell", "computed_on", "arm", "label", "idx") if c in columns}, **{k: r["keys"].get(k) for k in query.keys}, **{m: r["metrics"].get(m) for m in query.metrics}}
            for r in self.records
            if r["block"] == f"{query.case}/{query.block}"
            and r["arm"] in query.arms
            and (r["idx"] is not None) == query.indexed
            and any(r["metrics"].get(m) is not None for m in query.metrics)
            and query.holds({k: str(v) for k, v in r["keys"].items()})
        ]  # fmt: skip
        frame = pl.DataFrame([{c: row[c] for c in columns} for row in found], schema=columns)
        order = [*query.keys, "arm", "label", *(["idx"] if query.indexed else []), "cell_id"]
        found = frame.sort(order, nulls_last=True).rows()
        return pl.DataFrame(
            found, schema=columns, orient="row"
        )  # polars does not know that it is sorted, as of a query

    def need(self, frame, what):
        assert not frame.is_empty(), what
        return frame

    def test(self, address):
        return self.audit.get(address, Absent(f"no {address}"))

    claim = test

    def why(self, case, block, arm, metric, label=None, keys=None):
        return " ".join(map(str, ("no", f"{case}/{block}", arm, metric, label, *(keys or {}).values())))


def shown(table, *rows):
    """What stands in the cells of ``rows`` (of all without them), by row and column; the reason of a cell that is absent."""
    return {
        r.key: {c.key: said(v) for c, v in zip(table.columns, r.cells, strict=True)}
        for r in table.rows()
        if not rows or r.key in rows
    }


def said(value):
    return value.reason if isinstance(value, Absent) else plain(value)


def bold(table):
    return {(r.key, c.key) for r in table.rows() for c, v in zip(table.columns, r.cells, strict=True) if v.bold}


def behind(value, column):
    """The values of ``column`` in the records that a cell leads to."""
    parts = [p for p in value.origin.parts if isinstance(p, Records)]
    return {x for p in parts for x in p.frame[column].to_list()}


def cell(table, row, column):
    at = [c.key for c in table.columns].index(column)
    return next(r.cells[at] for r in table.rows() if r.key == row)
