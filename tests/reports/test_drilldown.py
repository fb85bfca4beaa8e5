"""A number opens to exactly the rows it was computed from, as a query on the generated views."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import polars as pl
import pytest
import synthetic_db

from orledger.reports import drilldown
from orledger.reports.drilldown import Drilldown, NumberPlace
from orledger.reports.narrowing import HeldRows
from orledger.reports.origin import NOTHING, Origin, Records, Sample, origin_of
from orledger.reports.tables import format as rules
from orledger.reports.tables.render import table_html
from orledger.reports.tables.table import Table, TableError
from orledger.reports.tables.values import MedianIQR, Number, join
from orledger.schema.layouts import literal


@pytest.fixture(scope="module")
def tables(audited_tables: Mapping[str, Table]) -> list[Table]:
    return [*audited_tables.values()]


# Tables whose columns are plain statistics of one metric: column, metric, statistic.
PLAIN = {
    "A": [("morozov", "rmse", np.median), ("oracle", "rmse", np.median)],
    "Bshift": [("cp coverage", "coverage", np.mean), ("or1 score", "interval_score", np.mean)],
    "Barms": [("coverage", "coverage", np.mean), ("width", "width_median", np.median)],
    "Bgap": [("coverage", "coverage", np.median)],
}


@pytest.mark.parametrize("name", PLAIN)
def test_printed_statistics_follow_from_the_rows_that_open(
    audited: synthetic_db.Adapter, tables: list[Table], name: str
) -> None:
    """The answer of the query gives the printed number back, by the statistic that the caption names."""
    opener, table, seen = Drilldown(audited), next(t for t in tables if t.name == name), 0
    for column, metric, statistic in PLAIN[name]:
        for row in table.rows():
            value = drilldown.cell_at(table, row.key, column)
            if value is None or not isinstance(value, Number | MedianIQR):
                continue
            found = opener.behind(value)
            assert found is not None
            (query,) = found.queries
            shown = value.value if isinstance(value, Number) else value.median
            assert shown == pytest.approx(statistic(audited.sql(query.sql)[metric].to_numpy()), rel=1e-12)
            seen += 1
    assert seen > 4


def test_rows_are_those_that_the_number_was_computed_from(audited: synthetic_db.Adapter, tables: list[Table]) -> None:
    opener = Drilldown(audited)
    for table in tables:
        for place, value in list(drilldown.numbers(table))[::47]:
            for part in (p for p in value.origin.parts if isinstance(p, Records)):
                opened = list(opener._records(part))
                answers = [audited.sql(q.sql) for q in opened]
                assert [None if q.rows is None else q.rows.rows() for q in opened] == [a.rows() for a in answers], place
                keys = ["cell_id", "arm", "label"]
                found = pl.concat([a.select(pl.col(keys).cast(pl.String)) for a in answers]).unique()
                wanted = part.rows.select(keys).unique()
                assert found.join(wanted, on=keys, how="anti", nulls_equal=True).is_empty(), place
                assert found.height == wanted.height, place


def test_every_number_of_every_table_knows_its_origin(tables: list[Table]) -> None:
    unknown = [place for table in tables for place, value in drilldown.numbers(table) if not value.origin]
    assert unknown == []
    assert sum(1 for table in tables for _ in drilldown.numbers(table)) > 1000


def test_counts_of_steps_are_the_rows_that_open(audited: synthetic_db.Adapter, tables: list[Table]) -> None:
    """Table Cinv counts in Python; its queries count the same steps and trajectories in SQL."""
    opener, table = Drilldown(audited), next(t for t in tables if t.name == "Cinv")
    for place, value in list(drilldown.numbers(table))[::4]:
        found = opener.behind(value)
        assert found is not None
        assert isinstance(value, Number)
        assert audited.sql(found.queries[0].sql).height == value.value, place


def selecting(rows: pl.DataFrame, wanted: pl.DataFrame) -> list[str]:
    """The conditions on ``d`` and ``s`` that select ``wanted``."""
    within = HeldRows(rows, ("arm", "label"), ("d", "s"))
    return within.conditions(within.positions(wanted.rows()), wanted.rows())


def test_conditions_select_nothing_else() -> None:
    """Every subset of a small block is selected by its conditions, in DuckDB, and by keys where keys can."""
    import duckdb

    cells = [(f"c{i}", d, s) for i, (d, s) in enumerate(product(("x", "it's"), (1, 2)))]
    rows = pl.DataFrame(
        [(c, d, s, arm, None) for c, d, s in cells for arm in ("p", "q")],
        schema={"cell_id": pl.String, "d": pl.String, "s": pl.Int64, "arm": pl.String, "label": pl.String},
        orient="row",
    )
    con = duckdb.connect()
    con.execute("CREATE TABLE rows (cell_id VARCHAR, d VARCHAR, s BIGINT, arm VARCHAR, label VARCHAR)")
    con.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", rows.rows())
    for mask in range(1, 2**8):
        wanted = rows.filter(pl.Series([bool(mask >> i & 1) for i in range(8)])).select("cell_id", "arm", "label")
        within = rows.filter(pl.col("arm").is_in(wanted["arm"].unique().to_list()))
        conditions = selecting(within, wanted)
        arms = ", ".join(literal(a) for a in wanted["arm"].unique())
        asked = " AND ".join([*conditions, f"arm IN ({arms})"])
        found = con.sql(f"SELECT cell_id, arm FROM rows WHERE {asked}").fetchall()
        assert sorted(found) == sorted(wanted.select("cell_id", "arm").rows()), conditions
    one = rows.filter((pl.col("d") == "it's") & (pl.col("arm") == "p"))
    assert selecting(rows.filter(pl.col("arm") == "p"), one.select("cell_id", "arm", "label")) == ["\"d\" = 'it''s'"]


def test_records_that_the_views_do_not_have_are_a_defect() -> None:
    rows = pl.DataFrame({"cell_id": ["a"], "arm": ["x"], "label": ["l"]})
    wanted = pl.DataFrame({"cell_id": ["b"], "arm": ["x"], "label": ["l"]})
    with pytest.raises(TableError, match="1 of 1 records"):
        HeldRows(rows, ("arm", "label"), ()).positions(wanted.rows())


def test_samples_carry_their_records_through_arithmetic() -> None:
    frame = pl.DataFrame({"cell_id": ["a", "b"], "arm": ["x", "x"], "v": [1.0, 3.0], "w": [None, 2.0]})
    v = Sample.of(frame["v"].to_numpy(), Origin((Records(frame, ("v",)),)))
    w = Sample.of(frame["w"].drop_nulls().to_numpy(), Origin((Records(frame, ("w",)),)))
    assert [p.columns for p in origin_of(v / w).parts] == [("v",), ("w",)]
    assert origin_of(w).parts[0].rows["cell_id"].to_list() == ["b"]  # the null is no record
    assert len(origin_of(np.abs(v - v)).parts) == 1
    assert float(np.median(v)) == 2.0
    assert float(v.mean()) == 2.0
    cell = join(Number(1.0, rules.INTEGER).of(v), " of ", Number(2.0, rules.INTEGER).of(w)).strong()
    assert len(cell.origin.parts) == 2
    assert Number(1.0, rules.INTEGER) == Number(1.0, rules.INTEGER).of(v), "the origin is no part of the value"
    assert not NOTHING


def test_numbers_become_links_where_the_page_can_open_them(tables: list[Table]) -> None:
    table = next(t for t in tables if t.name == "Barms")
    text = table_html(table, opens=drilldown.address)
    place = next(p for p, v in drilldown.numbers(table) if v.origin)
    assert drilldown.address(place).replace("&", "&amp;") in text
    assert 'class="n"' not in table_html(table)
    assert drilldown.cell_at(table, place.row, place.column) is not None
    assert drilldown.cell_at(table, "nobody", place.column) is None
    hostile = drilldown.address(NumberPlace("<t>", "a&b", "c d"))
    assert hostile == "/number?table=%3Ct%3E&row=a%26b&column=c+d"
