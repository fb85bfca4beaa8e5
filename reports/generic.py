"""Any study as its generic tables and figures see it: what the audit compared, on which values, and the rows that it stored.

A subject is one metric of one block that a hypothesis compares between arms. Its values come from the database, one per
unit and arm (the mean over repetitions); every p-value, interval, rank with its interval and verdict is an audit row.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.registry.reading import registered_hypothesis
from orledger.audit.ties import equalised
from orledger.reports.absence import why_absent
from orledger.reports.audit_rows import AuditRows, TestRow
from orledger.schema.layouts import identifier, literal
from orledger.schema.selecting import equal, listed, select
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from orledger.audit.registry.hypotheses import Comparison
    from orledger.reports.source import Database
    from orledger.schema.layouts import Layout

COMPARED = ("signed_rank", "sign", "friedman", "skillings_mack", "mean_ranks")
PAIRED = ("signed_rank", "sign")
IMPORTED = "The results came in as a table: the ledger knows when, and cannot know when their author first saw them."


@dataclass(frozen=True)
class Values:
    """One value per unit and arm: ``units`` names the rows, ``arms`` the columns of ``matrix``, NaN where there is none.

    ``records`` says which records each value is the mean of: unit, arm, cell_id, label, idx.
    """

    units: tuple[str, ...]
    arms: tuple[str, ...]
    matrix: NDArray[np.float64]
    records: pl.DataFrame

    def rows(self, unit: str, arm: str | None = None) -> pl.DataFrame:
        """The records behind the value of one unit and arm; of all arms without."""
        first, n = self._places.get((unit, arm), (0, 0))
        return self.records.slice(first, n)

    @cached_property
    def _places(self) -> dict[tuple[str, str | None], tuple[int, int]]:
        """Where the records of a unit and arm, and of a unit, begin and how many they are: they are sorted by both."""
        counted = self.records.group_by("unit", "arm", maintain_order=True).len()
        found: dict[tuple[str, str | None], tuple[int, int]] = {}
        at = 0
        for unit, arm, n in counted.iter_rows():
            found[unit, arm] = (at, n)
            first, before = found.get((unit, None), (at, 0))
            found[unit, None] = (first, before + n)
            at += n
        return found

    @cached_property
    def single(self) -> bool:
        """Whether every value is that of one record, and no mean."""
        return self.records.height == int(np.isfinite(self.matrix).sum())

    def short(self) -> list[tuple[str, str, int, int]]:
        """Unit, arm, its runs and the most runs of an arm on that unit, where the arm has some and fewer than that."""
        runs = self.records.group_by("unit", "arm").agg(pl.col("cell_id").n_unique().alias("n"))
        runs = runs.with_columns(pl.col("n").max().over("unit").alias("most")).filter(pl.col("n") < pl.col("most"))
        order = {u: i for i, u in enumerate(self.units)}
        return sorted(runs.iter_rows(), key=lambda r: (order[r[0]], self.arms.index(r[1])))

    def ranks(self, better: str) -> NDArray[np.float64]:
        """Ranks within units, 1 the best, ties sharing, among the arms that have a value; NaN where there is none."""
        signed = equalised(self.matrix if better == "lower" else -self.matrix)
        unit, arm = np.nonzero(np.isfinite(signed))
        there = pl.DataFrame({"unit": unit, "value": signed[unit, arm]})
        ranks = np.full_like(signed, np.nan)
        ranks[unit, arm] = there.select(pl.col("value").rank("average").over("unit")).to_series().to_numpy()
        return ranks

    def column(self, arm: str) -> NDArray[np.float64]:
        """The values of one arm."""
        return self.matrix[:, self.arms.index(arm)]


@dataclass(frozen=True)
class Pair:
    """Two arms that the audit compared, and the row that says how; effects are first minus second."""

    first: str
    second: str
    row: TestRow


@dataclass
class Subject:
    """One metric that a hypothesis compares between ``arms``; ``repeats`` are the keys that were averaged over."""

    results: Database
    audit: AuditRows
    hypothesis: str
    layout: Layout
    metric: str
    unit: tuple[str, ...]
    repeats: tuple[str, ...]
    arms: tuple[str, ...]
    sides: dict[str, tuple[str, ...]]
    last: bool = False
    better: str = "lower"
    described: str = ""
    queries: list[str] = field(default_factory=list)
    labels: Mapping[str, str] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """The name for people of an arm, where its study gives one."""
        return self.labels.get(name, name)

    @property
    def case(self) -> str:
        """The case it belongs to."""
        return self.layout.case

    @property
    def block(self) -> str:
        """The block it belongs to."""
        return self.layout.block

    @property
    def name(self) -> str:
        """A name for files and labels: letters, digits and hyphens of the hypothesis."""
        return slug(self.hypothesis)

    def sql(self, query: str) -> pl.DataFrame:
        """The rows of ``query``, which is kept for provenance."""
        if query not in self.queries:
            self.queries.append(query)
        return self.results.sql(query)

    def column(self, key: str) -> str:
        """The column of a key in the wide views."""
        return self.layout.keys[key][0]

    def recorded(self, *, indexed: bool) -> bool:
        """Whether the catalogue has the metric, over an index or without one."""
        return self.metric in self.layout.metrics(indexed=indexed)

    def points(self, *, indexed: bool) -> str:
        """The query of what was recorded: cell_id, the keys of the unit, arm, value, and idx where it is ``indexed``."""
        metric = self.layout.number(self.metric, indexed=indexed)
        keys = [identifier(self.column(k)) for k in self.unit]
        return select(
            ["cell_id", *keys, "arm", *(["idx"] if indexed else []), f"{metric} AS value"],
            identifier(self.layout.view(indexed=indexed)),
            [f"arm IN ({listed(self.arms)})", "label IS NULL", f"{metric} IS NOT NULL"],
        )

    @cached_property
    def values(self) -> Values:
        """The means over repetitions, units in order of name, arms in order of the hypothesis file."""
        if not self.recorded(indexed=self.last):
            nothing = pl.DataFrame(
                schema=dict.fromkeys(("unit", "arm", "cell_id", "label"), pl.String) | {"idx": pl.Int64}
            )
            return Values((), self.arms, np.empty((0, len(self.arms))), nothing)
        last = "arg_max(value, idx) AS value, max(idx) AS idx" if self.last else "value, NULL::INTEGER AS idx"
        found = self.sql(
            f"SELECT {self._unit} AS unit, arm, cell_id, {last} FROM (\n{self.points(indexed=self.last)}\n)\n"
            + ("GROUP BY unit, arm, cell_id " if self.last else "")
            + "ORDER BY ALL"
        )
        rows = found.group_by("unit", "arm", maintain_order=True).agg(pl.col("value").alias("runs"))
        units = tuple(sorted(set(rows["unit"].to_list()), key=natural))
        matrix = np.full((len(units), len(self.arms)), np.nan)
        place = {u: i for i, u in enumerate(units)}
        for unit, arm, runs in rows.iter_rows():  # added up with one rounding, as the audit does: ties stay ties
            matrix[place[unit], self.arms.index(arm)] = math.fsum(runs) / len(runs)
        return Values(units, self.arms, matrix, found.drop("value").with_columns(label=pl.lit(None, pl.String)))

    def why(self, unit: str, arm: str) -> str:
        """Why an arm has no value on a unit."""
        cells = equal(self._unit, [unit])
        return why_absent(self.results, self.layout, [arm], self.metric, cells)

    @property
    def _unit(self) -> str:
        return f"concat_ws('/', {', '.join(identifier(self.column(k)) for k in self.unit)})"

    @cached_property
    def tests(self) -> tuple[TestRow, ...]:
        """The rows of the hypothesis that decide or are declared, without the naive variants beside them."""
        found: dict[str, TestRow] = {}
        for row in self.audit.tests(self.hypothesis):
            if row.comparison in self.sides:
                found.setdefault(row.comparison, row)
        return tuple(found.values())

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of arms that were tested, in order of the hypothesis file."""
        sides = ((self.sides[t.comparison], t) for t in self.tests if t.test in PAIRED)
        return tuple(Pair(arms[0], arms[1], t) for arms, t in sides)

    def pair(self, a: str, b: str) -> TestRow | None:
        """The row that compares ``a`` with ``b``, effects being a minus b; None when the audit has none."""
        if (row := self._pairs.get((a, b))) is not None:
            return row
        row = self._pairs.get((b, a))
        return row.reversed() if row is not None and row.side == "two-sided" else None

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], TestRow]:
        """The row of every tested pair; of several the first."""
        return {(p.first, p.second): p.row for p in reversed(self.pairs)}

    def of(self, *tests: str) -> tuple[TestRow, ...]:
        """The rows of the given kinds."""
        return tuple(t for t in self.tests if t.test in tests)

    def single(self, test: str, arm: str) -> TestRow | None:
        """The row of a kind that looks at one arm."""
        return next((t for t in self.of(test) if self.sides[t.comparison] == (arm,)), None)

    @cached_property
    def ranking(self) -> TestRow | None:
        """The row with mean ranks and their intervals: of the estimate, or of Friedman's test."""
        found = (*self.of("mean_ranks"), *self.of("friedman"))
        return next((t for t in found if "mean_rank_low" in t.details), None)

    @property
    def ranked_units(self) -> str:
        """How many units the mean ranks are over, and how many have none because an arm is missing there; empty without ranks."""
        if self.ranking is None:
            return ""
        units, lacking = counted(self.ranking.n, "unit"), self.unranked
        return (
            f"{units} that have every arm ({lacking} {'lacks' if lacking == 1 else 'lack'} one)" if lacking else units
        )

    @property
    def unranked(self) -> int:
        """How many units lack an arm and so have no ranks; 0 where that is not all that keeps units out of the ranking."""
        lacking = int(np.isnan(self.values.matrix).any(axis=1).sum())
        all_said = self.ranking is not None and self.ranking.n + lacking == len(self.values.units)
        return lacking if all_said else 0  # otherwise units came after the audit

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        """The arms, best mean rank first where the audit has ranks."""
        if self.ranking is None:
            return self.arms
        ranks = self.ranking.details["mean_ranks"]
        return tuple(sorted(self.arms, key=lambda a: (ranks.get(a, np.inf), a)))


def subjects(results: Database) -> list[Subject]:
    """Every metric that a hypothesis of the newest audit compares between at least two arms, with nothing left out of it.

    Which arm comes first is what the registered text says. A comparison that narrows its cells, labels, events or ratios is
    no subject: its values are not those of a plain table.
    """
    audit = AuditRows(results)
    if audit.audit_id is None:
        return []
    described = _descriptions(results)
    layouts = {(layout.case, layout.block): layout for layout in results.layouts()}
    found: dict[tuple[str, str, str, str], Subject] = {}
    query = (
        "SELECT DISTINCT r.hash, r.text, r.file FROM registration r SEMI JOIN"
        f" (SELECT registration AS hash FROM test_result WHERE audit_id = {literal(audit.audit_id)}) USING (hash) ORDER BY r.hash"
    )
    for _, text, file in results.sql(query).iter_rows():
        hypothesis = registered_hypothesis(text, file)
        for c in hypothesis.comparisons:
            row, place = audit.test(f"{hypothesis.id}/{c.id}"), _plain(c)
            if row is None or place is None:
                continue
            case, block, metric, over, last = place
            if (case, block) not in layouts:
                continue
            key = (hypothesis.id, case, block, metric)
            if key not in found and c.test in COMPARED:
                found[key] = Subject(
                    results, audit, hypothesis.id, layouts[case, block], metric, tuple(row.unit.split(", ")), over, (), {}, last, c.better,
                    described.get((case, block, metric), metric),
                )  # fmt: skip
            if key in found:
                arms = tuple(str(q.source.arm) for _, q in c.sides if q.source is not None)
                found[key].sides.setdefault(c.id, arms)
                found[key].arms = (*found[key].arms, *(a for a in arms if a not in found[key].arms))
    return [s for s in found.values() if len(s.arms) > 1]


def _plain(comparison: Comparison) -> tuple[str, str, str, tuple[str, ...], bool] | None:
    """Case, block, metric, the keys averaged over, and whether the last index counts; None for anything more special."""
    places = set()
    for _, q in comparison.sides:
        if q.source is None or q.source.arm is None or q.source.label is not None or q.over_idx not in (None, "last"):
            return None
        if any((q.where, q.divide_by, q.event, q.identical, q.refused, q.key, q.sql, q.once, q.idx)):
            return None
        if q.aggregate is not None and q.aggregate.stat != "mean":
            return None
        over = q.aggregate.over if q.aggregate is not None else ()
        places.add((q.case, q.block, q.source.metric, over, q.over_idx == "last"))
    return places.pop() if len(places) == 1 else None


def _descriptions(results: Database) -> dict[tuple[str, str, str], str]:
    rows = results.sql("SELECT case_name, block, metric, description FROM metric")
    return {(case, block, metric): text for case, block, metric, text in rows.iter_rows()}


def natural(text: str) -> list[tuple[int, float, str]]:
    """A sorting key in which numbers inside a text count as numbers."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(0, float(p), "") if i % 2 else (1, 0.0, p.lower()) for i, p in enumerate(parts)]


def slug(text: str) -> str:
    """``text`` as a name for files and labels: letters, digits, hyphens and underscores, a letter first, never empty.

    A text that loses characters gets a few digits of its hash, so that two texts never share a name.
    """
    kept = re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")
    kept = kept if kept[:1].isalpha() else f"study-{kept}".strip("-")
    return kept if kept == text else f"{kept[:40]}-{sha256(text.encode()).hexdigest()[:6]}"


__all__ = ["IMPORTED", "Pair", "Subject", "Values", "natural", "slug", "subjects"]
