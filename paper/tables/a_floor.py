"""Tables of Case A about the machine: the floor under repeated computations, and the same cells on two backends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.names import RULES
from orledger.paper.prose import prose
from orledger.paper.tables.a import DEPLOYABLE, medians_by_rule, seed_cv, selected
from orledger.reports.source import NothingToShowError
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, Row, Table
from orledger.reports.tables.values import Blank, Count, Number, Text, Value
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.reports.source import Source


REFERENCE = "same_process"  # the way of repeating whose first run the others are set against
WAYS = {
    "same_process": "same process",
    "new_process": "new process each time",
    "threads_1": "1 thread, set explicitly",
    "threads_2": "2 threads",
    "float32": "single precision",
    "ulp": "data moved by one last bit",
}


def with_backend(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with the column ``where``: the backend that the cell's keys name, or the one that computed it."""
    return frame.with_columns(pl.coalesce("backend", "computed_on").alias("where"))


@table("Afloor", "Case A: the run-to-run floor", case="a")
def table_afloor(source: Source) -> Table:
    """Table Afloor: dispersion of repeated identical computations at each weight, and each rule's dispersion over its own floor."""
    frame = source.rows(
        Selection("a", "floor", ["solve"], ["lam2", "rmse"], ["grid", "backend", "repeat"], indexed=True)
    )
    frame = with_backend(source.need(frame.drop_nulls(["lam2", "rmse"]), "finished cells of a/floor"))
    weights = sorted(frame["lam2"].unique().to_list(), reverse=True)
    groups = []
    floors: dict[float, dict[float, Number]] = {}
    for grid in sorted(frame["grid"].unique().to_list(), reverse=True):
        part = frame.filter(pl.col("grid") == grid)
        backends = sorted(part["where"].unique().to_list(), key=lambda b: (b != REFERENCE, b))
        first = part.filter(pl.col("where") == backends[0]).sort("repeat", "cell_id")["cell_id"][0]
        rows = []
        for b in backends:
            runs = part.filter((pl.col("where") == b) | (pl.col("cell_id") == first))
            rows.append(
                floor_row(
                    source, f"grid {grid:g} {b}", Text(WAYS[b]) if b in WAYS else Text(b, mono=True), runs, weights
                )[0]
            )
        row, floors[grid] = floor_row(source, f"grid {grid:g} all", Text("all together"), part, weights)
        heading = prose("{{ grid }} collocation, noise-free", grid=sym.collocation(int(grid)))
        groups.append(Group((*rows, row), heading))
    quotes: dict[str, Value] = {}
    normalised = own_floor_rows(source, floors, weights, quotes)
    if normalised:
        groups.append(
            Group(
                tuple(normalised),
                prose("median dispersion of {{ table('Astab') }} over the floor at the rule's own median weight"),
            )
        )
    caption = prose(
        """The floor under every dispersion: the noise-free solve has one answer, so the spread of its repetitions is the solver's and the
        machine's. Coefficient of variation of test RMSE at each fixed {{ sym.lambda2 }}, over the repetitions of each way of
        repeating together with one reference run, and over all runs; a plain 0 says that they agree bit for bit. Ways of repeating:
        in one process or in a freshly started one, with one or two threads for the linear algebra, in single instead of double
        precision, and with every datum moved at random to a neighbouring number of double precision (its last bit). Curves:
        distinct RMSE curves out of runs.
        {% if norm %}Last block: each rule's median dispersion across noise seeds on the finer grid, divided by the floor at that
        weight and set in its column.{% endif %}""",
        norm=bool(normalised),
    )  # fmt: skip
    columns = (
        Column("repetition", Text("repetition"), "l"), Column("curves", Text("curves"), "r"),
        *(Column(f"lam2 {w:g}", s.power_of_ten(w) if w >= 1 else Number(w, rules.SHORT)) for w in weights),
    )  # fmt: skip
    return Table(caption, columns, tuple(groups), quotes=quotes)


def floor_row(
    source: Source, key: str, label: Value, part: pl.DataFrame, weights: list[float]
) -> tuple[Row, dict[float, Number]]:
    """The dispersion at every weight over the runs of ``part``, and how many distinct curves they are."""
    cells: list[Value] = []
    floors: dict[float, Number] = {}
    for w in weights:
        x = s.values(part.filter(pl.col("lam2") == w), "rmse", "rmse", "lam2")
        if x.size < 2:
            why = source.why("a", "floor", "solve", "rmse", keys={"grid": float(part["grid"][0])})
            cells.append(s.absent(s.needing(2, x.size, "a dispersion", why)))
            continue
        cv = s.cv(x)
        floors[w] = Number(cv, rules.fixed(3)).of(x)
        cells.append(floors[w])
    curves = part.sort("idx").group_by("cell_id").agg(pl.col("rmse"))
    distinct = len({tuple(c) for c in curves["rmse"].to_list()})
    return Row(key, (label, Count(distinct, curves.height).of_records(part, "rmse"), *cells)), floors


def own_floor_rows(
    source: Source, floors: dict[float, dict[float, Number]], weights: list[float], quotes: dict[str, Value]
) -> list[Row]:
    """One row per rule: its median dispersion at the finer grid over the floor at its median selected weight, in that weight's column."""
    grid = max(floors)
    frame = selected(source, (int(grid),)).filter(pl.col("level") > 0)
    med = medians_by_rule(seed_cv(frame)) if not frame.is_empty() else {}
    rows = []
    for rule, label in RULES.items():
        mine = frame.filter(pl.col("arm") == rule)
        if med.get(rule) is None or mine.is_empty():
            continue
        index = mine["lam2_index"].median()
        chosen = s.values(mine, "lam2")
        weight = float(chosen[np.argmin(np.abs(s.values(mine, "lam2_index") - index))])
        cells: list[Value] = [Blank() for _ in weights]
        if weight in weights:
            floor = floors[grid].get(weight)
            at = weights.index(weight)
            if floor is not None and floor.value:
                share = Number(s.known(med[rule]) / floor.value, rules.significant(3))
                cells[at] = share.of(floor).of_records(mine, "rmse", "lam2", "lam2_index")
                quotes[f"{rule} over own floor"] = cells[at]
            else:
                none = source.why("a", "floor", "solve", "rmse", keys={"grid": grid})
                cells[at] = s.absent(
                    "the floor at this weight is 0" if floor is not None else s.needing(2, 1, "a floor", none)
                )
        rows.append(Row(f"own floor {rule}", (Text(label), Blank(), *cells)))
    return rows


@table("Aport", "Case A: the same cells on two backends", case="a")
def table_aport(source: Source) -> Table:
    """Table Aport: the selected model's RMSE on another backend over that on the reference backend, per rule."""
    keys = ["grid", "level", "seed", "backend"]
    frame = source.rows(Selection("a", "portability", list(RULES), ["rmse"], keys)).filter(pl.col("label").is_null())
    frame = with_backend(source.need(frame, "finished cells of a/portability"))
    solves = with_backend(source.rows(Selection("a", "portability", ["solve"], ["rmse", "misfit"], keys, indexed=True)))
    backends = sorted(frame["where"].unique().to_list(), key=lambda b: ("float64" not in b, b))
    if len(backends) < 2:
        raise NothingToShowError(f"a/portability was computed on one backend only ({backends[0]})")
    on = ["grid", "level", "seed"]
    groups, quotes = [], {}
    for other in backends[1:]:
        ratios = {}
        for rule in RULES:
            mine = frame.filter(pl.col("arm") == rule)
            pair = s.paired(mine.with_columns(pl.col("where").alias("arm")), on, "rmse", other, backends[0])
            rows = mine.filter(pl.col("where").is_in([other, backends[0]])).join(pair, on=on, how="semi")
            ratios[rule] = s.known_sample(pair["first"] / pair["second"], rows, "rmse")
        both = s.paired(solves.with_columns(pl.col("where").alias("arm")), [*on, "idx"], "rmse", other, backends[0])
        relative = np.abs((both["first"] / both["second"]).to_numpy() - 1)
        for limit in (0.01, 0.05, 0.2):
            if relative.size:
                quotes[f"{other} pairs within {limit:.0%}"] = Number(
                    float(np.mean(relative <= limit)), rules.percent(1)
                )
        groups.append(Group(portability_rows(source, ratios, other), Text(f"{other} over {backends[0]}")))
    caption = portability_caption([q for k, q in quotes.items() if k.startswith(backends[1])], backends[1])
    return Table(caption, PORT_COLUMNS, tuple(groups), quotes=quotes)


PORT_COLUMNS = (
    Column("rule", Text("rule"), "l"), Column("n", sym.N, "r"), Column("ratio", Text("median ratio")),
    Column("range", Text("range over cells")), Column("worst", Text("worst disagreement")),
)  # fmt: skip


def portability_caption(shares: list[Value], other: str) -> Value:
    """The caption of a portability table; ``shares`` are the fractions of matched solves that agree to 1, 5 and 20%."""
    return prose(
        """The same noisy cells, with the same noise draws and weights, computed on two backends: per-cell ratio of the test RMSE that
        each rule ends with, so that 1 is exact reproduction; worst disagreement is the largest ratio read in either direction. Bold:
        the rule without test data that moves least.{% if shares|length == 3 %} Of the matched single solves on {{ other }},
        {{ shares[0] }} agree to 1%, {{ shares[1] }} to 5% and {{ shares[2] }} to 20%.{% endif %}""",
        shares=shares, other=Text(other, mono=True),
    )  # fmt: skip


def portability_rows(source: Source, ratios: Mapping[str, np.ndarray], scope: str) -> tuple[Row, ...]:
    """One row per rule from the ratios of its matched cells."""
    worst = {r: float(np.maximum(x, 1 / x).max()) if x.size else None for r, x in ratios.items()}
    least = min((w for r, w in worst.items() if w is not None and r in DEPLOYABLE), default=None)
    rows = []
    for rule, x in ratios.items():
        label = Text(RULES.get(rule, rule))
        if not x.size:
            none = s.absent(source.why("a", "portability", rule, "rmse"))
            rows.append(Row(f"{scope} {rule}", (label, Number(0, rules.INTEGER), *[none] * 3)))
            continue
        strong = rule in DEPLOYABLE and worst[rule] == least
        cells = (
            label, Number(x.size, rules.INTEGER).of(x), Number(float(np.median(x)), rules.fixed(3)).of(x), s.spread(x, rules.significant(4)),
            Number(s.known(worst[rule]), rules.significant(3).times()).of(x),
        )  # fmt: skip
        rows.append(Row(f"{scope} {rule}", (cells[0].strong(strong), cells[1], *(c.strong(strong) for c in cells[2:]))))
    return tuple(rows)
