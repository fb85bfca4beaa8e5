"""Tables that a study.toml declares: any keys, arms and metrics in rows and columns, bold by rank, marks by stored tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.registry.words import Outcome
from orledger.errors import UsageError
from orledger.reports.displays import place, require
from orledger.reports.generic import natural, subjects
from orledger.reports.tables import format as rules
from orledger.reports.tables.format import fixed
from orledger.reports.tables.generic import number_style
from orledger.reports.tables.summaries import absent, needing
from orledger.reports.tables.table import Column, Group, PrintSize, Row, Span, Table
from orledger.reports.tables.values import Absent, Mark, MedianIQR, Number, Text, Value, best, join
from orledger.schema.selecting import Selection
from orledger.study_displays import ARM, FORMAT, METRIC, STATISTIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from orledger.reports.audit_rows import TestRow
    from orledger.reports.displays import CatalogueBlock
    from orledger.reports.generic import Subject
    from orledger.reports.source import Database, Source
    from orledger.reports.tables.format import Style
    from orledger.reports.tables.generic_specs import Offer
    from orledger.study import Study
    from orledger.study_displays import TableDisplay

WORDS = {
    "mean": "means", "median": "medians", "min": "smallest values", "max": "largest values", "sd": "standard deviations (n - 1)",
    "quartiles": "medians and quartiles", "rank": "mean ranks among the arms, 1 the best, ties sharing", "n": "numbers of values",
}  # fmt: skip
WIDE = 7  # columns beyond which a table needs small print
Names = tuple[str, ...]  # the values of the dimensions of a row or a column


def offers(results: Database, chosen: Sequence[Study]) -> Iterator[Offer]:
    """The declared tables of ``chosen`` studies; a name that is not in the data is an error here, before anything is built."""
    for study in chosen:
        for display in study.table_displays:
            at = place(results, study, display)
            _check(results, display, at)
            yield (display.name, display.title, at.case, partial(build, display, at))


def build(display: TableDisplay, at: CatalogueBlock, source: Source) -> Table:
    """The table that ``display`` declares, from the block ``at``."""
    return Numbers(display, at, source).table()


def _check(results: Database, display: TableDisplay, at: CatalogueBlock) -> None:
    known = (*at.keys, ARM, METRIC, STATISTIC)
    for name in (*display.rows, *display.columns):
        at.require("key", name, known)
    for arm in display.arms:
        at.require("arm", arm, at.arms)
    for key, values in display.where:
        at.require("key", key, at.keys)
        query = "SELECT DISTINCT keys[?] FROM all_cells WHERE case_name = ? AND block = ? AND keys[?] IS NOT NULL"
        there = results.sql(query, [key, at.case, at.block, key]).to_series().to_list()
        for value in values:
            at.require(key, value, there)
    ranked = display.best is not None or "rank" in display.statistics
    for metric in display.metrics:
        if at.metrics[metric].indexed:
            raise UsageError(
                f"{display.place}: {metric!r} is a curve over an index", hint="declare a figure of kind trajectories"
            )
        if ranked and at.metrics[metric].better is None:
            raise UsageError(
                f"{display.place}: whether lower or higher {metric!r} is better is not known, and best and rank need it",
                hint='better = "lower" or "higher" in [[metric]] of the mapping, or better={...} of the log',
            )
    if display.marks is not None:
        at.require("arm", display.marks.against, at.arms)
        _marking(results, display, at)


def _marking(results: Database, display: TableDisplay, at: CatalogueBlock) -> Subject | None:
    """The subject whose pairs mark the arms; None before the first audit."""
    assert display.marks is not None
    found = [
        s for s in subjects(results) if (s.case, s.block) == (at.case, at.block) and s.metric == display.metrics[0]
    ]
    if display.marks.hypothesis is not None and found:
        require(display.place, "hypothesis on this metric", display.marks.hypothesis, [s.hypothesis for s in found])
        found = [s for s in found if s.hypothesis == display.marks.hypothesis]
    if len(found) > 1:
        raise UsageError(
            f"{display.place}: {len(found)} hypotheses compare arms by {display.metrics[0]!r}",
            hint=f"marks = {{ against = ..., hypothesis = one of {', '.join(s.hypothesis for s in found)} }}",
        )
    return found[0] if found else None


@dataclass
class Numbers:
    """The numbers of one declared table, by the values of its dimensions."""

    display: TableDisplay
    at: CatalogueBlock
    source: Source

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """The arms to show, as declared or as the catalogue orders them."""
        return self.display.arms or self.at.arms

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per cell and arm, with the metrics."""
        d = self.display
        where = {k: list(v) for k, v in d.where}
        frame = self.source.rows(
            Selection(self.at.case, self.at.block, self.arms, d.metrics, self.at.keys, where=where)
        )
        return self.source.need(frame, f"value of {', '.join(d.metrics)}").filter(pl.col("label").is_null())

    @cached_property
    def places(self) -> dict[Names, list[int]]:
        """The rows of ``frame`` by arm and the keys that stand in rows and columns."""
        found: dict[Names, list[int]] = {}
        for i, row in enumerate(self.frame.iter_rows(named=True)):
            found.setdefault((str(row["arm"]), *(_shown(row[k]) for k in self.keys)), []).append(i)
        return found

    def behind(self, at: dict[str, str]) -> pl.DataFrame:
        """The rows that the number at a place was computed from; a rank comes from all arms of their cells."""
        spot = (at.get(ARM, self.arms[0]), *(at[k] for k in self.keys))
        mine = self.frame[self.places.get(spot, [])].drop_nulls(at.get(METRIC, self.display.metrics[0]))
        if at.get(STATISTIC, self.display.statistics[0]) != "rank":
            return mine
        return self.frame.join(mine, on="cell_id", how="semi")

    @cached_property
    def samples(self) -> dict[Names, list[float]]:
        """All values by metric, arm and the keys that stand in rows and columns, in this order."""
        d, frame = self.display, self.frame
        found: dict[Names, list[float]] = {}
        for row in frame.iter_rows(named=True):
            spot = tuple(_shown(row[k]) for k in self.keys)
            for metric in d.metrics:
                if row[metric] is not None:
                    found.setdefault((metric, row["arm"], *spot), []).append(float(row[metric]))
        if "rank" in d.statistics:
            self.ranks = self._ranks(frame.to_dicts())
        return found

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that stand in rows or columns."""
        return tuple(k for k in (*self.display.rows, *self.display.columns) if k in self.at.keys)

    def _ranks(self, rows: list[dict[str, object]]) -> dict[Names, list[float]]:
        """The rank of every arm in every cell, by the same names as the samples."""
        found: dict[Names, list[float]] = {}
        cells: dict[str, list[dict[str, object]]] = {}
        for row in rows:
            cells.setdefault(str(row["cell_id"]), []).append(row)
        for metric in self.display.metrics:
            sign = 1.0 if self.at.metrics[metric].better == "lower" else -1.0
            for cell in cells.values():
                have = [r for r in cell if r[metric] is not None]
                ranks = pl.Series([sign * float(r[metric]) for r in have], dtype=pl.Float64).rank("average")  # type: ignore[arg-type]
                for row, rank in zip(have, ranks, strict=True):
                    spot = tuple(_shown(row[k]) for k in self.keys)
                    found.setdefault((metric, str(row["arm"]), *spot), []).append(float(rank))
        return found

    def table(self) -> Table:
        """The finished table."""
        d = self.display
        rows, columns = self._names(d.rows), self._names(d.columns)
        grid = [[self._cell(dict(zip((*d.rows, *d.columns), (*r, *c), strict=True))) for c in columns] for r in rows]
        if d.best is not None:
            grid = self._bold(grid, rows, columns)
        marked = self._marked()
        heads = [Column(key, Text(key), "l") for key in d.rows]
        body = [Column(" ".join(c), self._head(d.columns, c, marked), "r") for c in columns]
        lines = [
            Row(" / ".join(r), (*(self._label(k, v, marked) for k, v in zip(d.rows, r, strict=True)), *cells))
            for r, cells in zip(rows, grid, strict=True)
        ]
        return Table(
            caption=Text(self._caption()),
            columns=(*heads, *body),
            groups=(Group(tuple(lines)),),
            spans=tuple(self._spans(columns)),
            notes=tuple(self._notes()),
            declared=True,
            layout=PrintSize(
                "scriptsize" if len(columns) > WIDE else "footnotesize", 3.0 if len(columns) > WIDE else 4.0
            ),
        )

    def _names(self, dimensions: Sequence[str]) -> list[Names]:
        """The values of ``dimensions`` that have numbers, in order: as declared, else numbers by size and texts by name."""
        d = self.display
        given = {ARM: self.arms, METRIC: d.metrics, STATISTIC: d.statistics}
        order = {name: {v: i for i, v in enumerate(values)} for name, values in given.items()}
        place = {METRIC: 0, ARM: 1, **{k: i + 2 for i, k in enumerate(self.keys)}}
        found = {
            tuple(stat if x == STATISTIC else spot[place[x]] for x in dimensions)
            for spot, stat in product(self.samples, d.statistics)
        }

        def key(names: Names) -> list[object]:
            pairs = zip(dimensions, names, strict=True)
            return [order[x][v] if x in order else natural(v) for x, v in pairs]

        return sorted(found, key=key)

    def _score(self, at: dict[str, str]) -> float | None:
        """The number to print at a place; None where there is none."""
        x = self._sample(at)
        if not x.size:
            return None
        statistic = at.get(STATISTIC, self.display.statistics[0])
        if statistic == "sd":
            return float(np.std(x, ddof=1)) if x.size > 1 else None
        if statistic == "n":
            return float(x.size)
        if statistic in ("mean", "rank"):
            return math.fsum(x) / x.size
        return float({"min": np.min, "max": np.max}.get(statistic, np.median)(x))

    def _sample(self, at: dict[str, str]) -> NDArray[np.float64]:
        metric, arm = at.get(METRIC, self.display.metrics[0]), at.get(ARM, self.arms[0])
        spot = (metric, arm, *(at[k] for k in self.keys))
        ranked = at.get(STATISTIC, self.display.statistics[0]) == "rank"
        return np.array((self.ranks if ranked else self.samples).get(spot, []), dtype=float)

    def _cell(self, at: dict[str, str]) -> Value:
        statistic, score = at.get(STATISTIC, self.display.statistics[0]), self._score(at)
        metric = at.get(METRIC, self.display.metrics[0])
        if score is None:
            keys = {k: at[k] for k in self.keys}
            where = {k: v[0] for k, v in self.display.where if len(v) == 1}
            why = self.source.why(
                self.at.case, self.at.block, at.get(ARM, self.arms[0]), metric, keys={**(where | keys)}
            )
            return absent(needing(2, self._sample(at).size, "a standard deviation", why))
        style = self._style(metric, statistic)
        if statistic == "quartiles":
            q1, q3 = np.quantile(self._sample(at), [0.25, 0.75])
            return MedianIQR(score, float(q1), float(q3), style).of_records(self.behind(at), metric)
        return Number(score, style).of_records(self.behind(at), metric)

    def _style(self, metric: str, statistic: str) -> Style:
        if statistic == "n":
            return rules.INTEGER
        if statistic == "rank":
            return fixed(2)
        said = FORMAT.fullmatch(self.display.format)
        if said is None:
            given = max(map(len, self.samples.values())) == 1
            return number_style(
                np.array([v for s, x in self.samples.items() if s[0] == metric for v in x]), given=given
            )
        if said[2] is None:
            return rules.INTEGER
        make = {"f": fixed, "g": rules.significant, "%": rules.percent}[said[2]]
        return make(int(said[1]))

    def _bold(self, grid: list[list[Value]], rows: list[Names], columns: list[Names]) -> list[list[Value]]:
        """The grid with the best of every row or column in bold, among cells of one metric and one statistic that has a best."""
        d = self.display
        by_row = d.best == "row"
        outer, inner = (rows, columns) if by_row else (columns, rows)
        for i, one in enumerate(outer):
            kinds: dict[tuple[str, str], list[int]] = {}
            places = []
            for j, other in enumerate(inner):
                names = (*one, *other) if by_row else (*other, *one)
                at = dict(zip((*d.rows, *d.columns), names, strict=True))
                places.append(at)
                kind = (at.get(METRIC, d.metrics[0]), at.get(STATISTIC, d.statistics[0]))
                if kind[1] not in ("sd", "n"):
                    kinds.setdefault(kind, []).append(j)
            for (metric, statistic), chosen in kinds.items():
                lower = statistic == "rank" or self.at.metrics[metric].better == "lower"
                cells = [grid[i][j] if by_row else grid[j][i] for j in chosen]
                for j, cell in zip(
                    chosen, best(cells, [self._score(places[j]) for j in chosen], lower=lower), strict=True
                ):
                    grid[i if by_row else j][j if by_row else i] = cell
        return grid

    @cached_property
    def _tested(self) -> dict[str, TestRow]:
        """The row that compares each arm with the arm that ``marks`` names, effects being the arm minus the other."""
        marks = self.display.marks
        subject = None if marks is None else _marking(self.source.results, self.display, self.at)
        if marks is None or subject is None:
            return {}
        rows = {arm: subject.pair(arm, marks.against) for arm in self.arms if arm != marks.against}
        found = {arm: row for arm, row in rows.items() if row is not None}
        for row in found.values():
            self.source.cited.test(row.address)
        return found

    def _marked(self) -> dict[str, str]:
        better = self.at.metrics[self.display.metrics[0]].better or "lower"
        return {
            arm: "+" if (row.outcome == Outcome.GREATER) == (better == "higher") else "-"
            for arm, row in self._tested.items()
            if row.decided
        }

    def _label(self, dimension: str, name: str, marked: dict[str, str]) -> Value:
        text = Text(self._word(dimension, name))
        return join(text, Mark(marked[name])) if dimension == ARM and name in marked else text

    def _word(self, dimension: str, name: str) -> str:
        return self.source.labels.get(name, name) if dimension in (ARM, METRIC) else name

    def _head(self, dimensions: Sequence[str], names: Names, marked: dict[str, str]) -> Value:
        """What stands over a column: its last dimension; the others are spans."""
        return self._label(dimensions[-1], names[-1], marked)

    def _spans(self, columns: list[Names]) -> Iterator[Span]:
        """One header over neighbouring columns that share all dimensions but the last."""
        d, start = self.display, 0
        if len(d.columns) < 2:
            return
        while start < len(columns):
            end = start
            while end < len(columns) and columns[end][:-1] == columns[start][:-1]:
                end += 1
            words = ", ".join(self._word(x, v) for x, v in zip(d.columns, columns[start], strict=False))
            yield Span(len(d.rows) + start, end - start, Text(words.rpartition(", ")[0]))
            start = end

    def _caption(self) -> str:
        d = self.display
        single = max(map(len, self.samples.values())) == 1
        said = [WORDS[s] for s in d.statistics if not (single and s in ("mean", "median", "min", "max"))]
        what = f": {', '.join(said)}" if said else ""
        over = [k for k in self.at.keys if k not in (*d.rows, *d.columns, *(w for w, v in d.where if len(v) == 1))]
        lead = d.caption.rstrip(". ") or ", ".join(self.at.metrics[m].description.rstrip(". ") or m for m in d.metrics)
        directions = dict.fromkeys(
            f"{m.better} {self.source.labels.get(m.name, m.name)} is better"
            for m in map(self.at.metrics.__getitem__, d.metrics)
            if m.better
        )
        text = f"{lead}{what}" + (f" over {', '.join(over)}" if over else "")
        text += "".join(f"; {k} {', '.join(v)} only" for k, v in d.where)
        text += f"; {', '.join(directions)}" if directions else ""
        return text + (f"; the best of every {d.best} in bold." if d.best else ".")

    def _notes(self) -> Iterator[Value]:
        marks = self.display.marks
        sizes = sorted(set(map(len, self.samples.values())))
        if len(sizes) > 1 and "n" not in self.display.statistics:
            yield Text(f"Cells stand on {sizes[0]} to {sizes[-1]} values: not every arm has a number everywhere.")
        if marks is None:
            return
        if not self._tested:
            yield Text(f"No marks: the audit has no row that compares an arm with {marks.against}.")
            return
        first = next(iter(self._tested.values()))
        parts: list[Value | str] = [
            f"+ better and - worse than {self.source.labels.get(marks.against, marks.against)} at {first.alpha:g} ({first.method}); p"
            + (", Holm's correction" if first.p_holm is not None else "")
            + ": "
        ]
        for k, (arm, row) in enumerate(self._tested.items()):
            p = row.p if row.p_holm is None else row.p_holm
            parts += ["; " if k else "", f"{self.source.labels.get(arm, arm)} "]
            parts.append(Absent(row.why_absent) if p is None else Number(p, rules.P_VALUE))
        yield join(*(p for p in (*parts, ".") if p != ""))


def _shown(value: object) -> str:
    """A key as text: a whole number without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
