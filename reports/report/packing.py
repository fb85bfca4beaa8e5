"""The rows that a report carries: the answers of its queries, each once, compressed, unpacked by the page when one is opened."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from orledger.errors import QueryRefusedError
from orledger.schema.sandbox import QueryStoppedError
from orledger.wording import counted, visible

if TYPE_CHECKING:
    import polars as pl

    from orledger.reports.source import Database

HEAD = 24  # rows that are carried of an answer that is not carried whole
WHOLE = 180  # rows up to which the answer of a test, a claim or a number is carried whole
DIGITS = 6  # significant digits of a number in a carried row


# What the rows of a table of the audit are called; rows of a view are rows of that view.
AUDITED = {"test_result": "test", "claim": "claim", "disposition": "verdict", "all_refusals": "missing result"}


@dataclass(frozen=True)
class Query:
    """A query of the report: its text, and where the page finds its rows."""

    sql: str
    place: int
    total: int

    @property
    def label(self) -> str:
        """What a reader finds who opens it: 15 tests of the audit, 120 rows of mine_main."""
        found = re.search(r'\bFROM\s+(?:"([^"]+)"|(\w+))', self.sql)
        source = (found[1] or found[2]) if found else ""
        if source in AUDITED:
            return f"{counted(self.total, AUDITED[source])} of the audit"
        return f"{counted(self.total, 'row')}" + (f" of {source}" if source else "")


@dataclass
class Pack:
    """The answers of queries on ``db``, numbered from 0 in the order in which they were first asked for."""

    db: Database
    answers: list[dict[str, Any]] = field(default_factory=list)
    queries: dict[tuple[str, int], Query] = field(default_factory=dict)
    cells: dict[str, int] = field(default_factory=dict)

    def ask(self, sql: str, *, limit: int = HEAD, ordered: bool = True, rows: pl.DataFrame | None = None) -> Query:
        """The query with the place of its answer: all rows up to ``limit`` of them, and of a longer one the first few.

        A query that leaves the order of its rows to the database (``ordered`` false) is carried sorted, the same in every
        build; such are the queries that the audit stored, and whatever stands in the file runs under limits. One that no longer runs carries its error, and one that had to be stopped ends the report.
        ``rows`` is the answer, where somebody has read it already.
        """
        if (sql, limit) not in self.queries:
            self.queries[sql, limit] = self._answer(sql, limit, ordered, rows)
        return self.queries[sql, limit]

    def _answer(self, sql: str, limit: int, ordered: bool, rows: pl.DataFrame | None) -> Query:
        try:
            if rows is None and not ordered:
                rows, total = self.db.stored(sql, limit)
            else:
                rows = self.db.sql(sql) if rows is None else rows
                total = len(rows)
        except QueryStoppedError:
            raise
        except QueryRefusedError as error:
            self.answers.append({"error": str(error)})
            return Query(sql, len(self.answers) - 1, 0)
        return Query(sql, self.add(rows if total <= limit else rows.head(HEAD), total), total)

    def add(self, frame: pl.DataFrame, total: int | None = None) -> int:
        """The place of the rows of ``frame``: all there are, or the first of ``total``."""
        cells = frame.columns.index("cell_id") if "cell_id" in frame.columns else -1
        rows = [[self._value(v, i == cells) for i, v in enumerate(row)] for row in frame.iter_rows()]
        self.answers.append(
            {"columns": frame.columns, "rows": rows, "total": len(rows) if total is None else total, "cell": cells}
        )
        return len(self.answers) - 1

    def _value(self, value: Any, is_cell: bool) -> Any:
        """A value as JSON; the long identifiers of cells are numbers of a list that is carried once."""
        if is_cell and isinstance(value, str):
            return self.cells.setdefault(value, len(self.cells))
        if value is None or isinstance(value, (str, int)):  # most values; a union of types is slower
            return value
        if isinstance(value, float):
            return float(f"{value:.{DIGITS}g}") if value - value == 0 else str(value)
        if isinstance(value, datetime | date | Decimal):
            return str(value)
        return json.dumps(value, ensure_ascii=False, default=str)

    def text(self, **more: Any) -> str:
        """Everything carried, as base64 of gzipped JSON; the same bytes for the same answers."""
        data = {"cells": list(self.cells), "answers": self.answers, **more}
        packed = visible(json.dumps(data, ensure_ascii=False, separators=(",", ":"))).encode()
        return base64.b64encode(gzip.compress(packed, 9, mtime=0)).decode()
