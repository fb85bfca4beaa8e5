"""Origins, headings, orders, reasons and quoted numbers of the study's tables, one table at a time."""

import re

import polars as pl
import pytest

from orledger.paper.names import RULES
from orledger.paper.tables.a import missing_dispersion, summary_rows
from orledger.paper.tables.b_gap import single_seed
from orledger.paper.tables.c import pair_row
from orledger.reports.origin import Answer, Records
from orledger.reports.tables.render import plain
from orledger.reports.tables.table import PrintSize
from orledger.reports.tables.values import Absent, Join, MedianIQR, Number, Range, Text

TABLES = ["A", "A16", "Astab", "Acert", "Bshift", "Barms", "Bfloor", "Btail", "Bgap", "Bgapsurv", "C", "CpairEI", "CpairOR", "CaucEI", "Ckappa", "Cinv"]  # fmt: skip
OVER = {
    "Bshift": [[f"{arm} {what}" for what in ("coverage", "width", "score")] for arm in ("cp", "triv", "or1", "or1_nf")],
    "Ckappa": [["dispersion", "dispersion grid"], ["inert 1-2", "inert 2-5", "inert 1-5", "ladder", "ladder interval"]],
    "Cinv": [["step same", "step moved"], ["path same", "path differs"]],
}
# Digits of numbers that the paper does not print, or not twice in one way: those of the columns they belong to, a percentage
# with one decimal, and extremes with the digits of the largest (135 and 61896 stand in the paper).
QUOTED = {
    r"gain \w+ median": "significant 2", r"gain \w+ cell": "significant 3", r"last bit (small|larg)est": "scientific 2", r"Morozov minus \w+ dex": "fixed 3",
    r"(pooled|grid \d+) median \w+": "fixed 3", r"largest half-width": "significant 5", r".* fires share": "fixed 1", r".* share of invariant steps": "fixed 1",
    r".* largest ratio that fires": "fixed 3", r"\w+ w_\w+ buys coverage": "fixed 3 fixed 3", r"\w+ w_\w+ buys (width|score)": "fixed 3 fixed 2",
}  # fmt: skip
CELLS = {
    ("Acert", "delta"): "scientific 3 fixed 4",
    ("Acert", "conditional coverage"): "fixed 4",
    ("Acert", "gp coverage"): "fixed 4",
    ("Ckappa", "dispersion"): "significant 2",
    ("Ckappa", "dispersion grid"): "significant 2",
    ("Ckappa", "ladder interval"): "fixed 2",
}


def shown(cell):
    match cell:
        case Number() | Range() | MedianIQR():
            return [f"{cell.style.kind} {cell.style.digits}"]
        case Join():
            return [style for part in cell.parts if not isinstance(part, str) for style in shown(part)]
        case _:
            return []


def column(t, key):
    at = [c.key for c in t.columns].index(key)
    return {r.key: r.cells[at] for r in t.rows()}


def one(audited, query, *values):
    return audited.con.cursor().execute(query, values).fetchall()


@pytest.mark.parametrize("name", TABLES)
def test_origins_headings_and_digits_of_a_table(audited_tables, name):
    t = audited_tables[name]
    for row in t.rows():
        for col, cell in zip(t.columns, row.cells, strict=True):
            for part in cell.origin.parts:
                assert not isinstance(part, Records) or set(part.columns) <= set(part.frame.columns), (row.key, col.key)
            wanted = CELLS.get((name, row.key), CELLS.get((name, col.key)))
            assert not shown(cell) or wanted is None or " ".join(shown(cell)) == wanted, (row.key, col.key)
    under = [[c.key for c in t.columns[s.start : s.start + s.width]] for s in t.spans]
    assert under == OVER.get(name, [])
    assert all(s.start + s.width <= len(t.columns) for s in t.spans)
    for key, quote in t.quotes.items():
        wanted = [style for pattern, style in QUOTED.items() if re.fullmatch(pattern, key)]
        assert not wanted or not shown(quote) or [" ".join(shown(quote))] == wanted, key
    first = column(t, t.columns[0].key).values()
    assert all(c.mono == (name in ("Bshift", "Btail")) for c in first if isinstance(c, Text))


def test_quotes_are_cells_of_their_table(audited_tables):
    t = audited_tables["Barms"]
    for key, cell in column(t, "coverage").items():
        assert t.quotes[f"{key} coverage"] == cell
    t = audited_tables["Astab"]
    for rule in RULES:
        if rule != "morozov":
            assert t.quotes[f"p against {rule}"] == column(t, rule)["p"]
        assert t.quotes[f"pooled median {rule}"].value == column(t, rule)["pooled median"].value
    assert audited_tables["Acert"].layout == PrintSize()  # three columns


def test_quotes_of_the_tail_are_counts(audited, audited_tables):
    quotes = audited_tables["Btail"].quotes
    query = """SELECT count(*), count_if(w.value > 20), count_if(o.value > 0 AND c.keys['regime'] <> 'iid'), sum(g.value), max(m.value) FROM cell c
        JOIN record o ON o.cell_id = c.cell_id AND (o.arm, o.metric) = ('or1', 'n_over_cap') AND o.label IS NULL
        LEFT JOIN record w ON w.cell_id = c.cell_id AND (w.arm, w.metric) = ('or1', 'width_median') AND w.label IS NULL
        LEFT JOIN record g ON g.cell_id = c.cell_id AND (g.arm, g.metric) = ('or1', 'n_guard') AND g.label IS NULL
        LEFT JOIN record m ON m.cell_id = c.cell_id AND (m.arm, m.metric) = ('or1_int', 'width_max') AND m.label IS NULL
        WHERE (c.case_name, c.block, c.state) = ('b', 'main', 'done')"""
    ((cells, wide, shifted, guarded, largest),) = one(audited, query)
    assert (quotes["blow ups"].n, quotes["blow ups"].k) == (cells, wide)
    assert quotes["shift cells over cap"].value == shifted
    assert quotes["guarded points"].value == (guarded or 0)
    assert quotes["largest half-width"].value == pytest.approx(largest, rel=1e-12)


def test_a_printed_value_is_bold_outside_the_range_of_our_seeds(audited_tables):
    t = audited_tables["Bgapsurv"]
    seen = set()
    for key, single in column(t, "single").items():
        if isinstance(single, Number):
            limits = column(t, "range")[key]
            seen.add(outside := single.value < limits.low or single.value > limits.high)
            assert single.bold == outside
    assert True in seen


def test_single_seed_values_are_the_same_from_the_database_and_from_the_transcription(audited):
    class Source:
        def __init__(self, rows):
            self.rows = rows

    def asked(sql):
        return pl.DataFrame(one(audited, sql), schema=["row_name", "printed", "value"], orient="row")

    empty = single_seed(Source(lambda sql: asked(sql).head(0)))
    assert "cp coverage gap" in empty
    assert {len(k.split()) for k in empty} == {3}
    found = single_seed(Source(asked))
    assert found.items() <= empty.items()


def test_the_caption_says_what_was_reached(audited_tables):
    caption = plain(audited_tables["Bgap"].caption)
    assert (
        "Reached: seeds on which the band covers at least 13/14, the level that 13 calibration rows can achieve."
        in caption
    )


def test_benchmarks_stand_from_flat_to_rough(audited, audited_tables):
    order = [
        f"{b} {float(d):g}"
        for b, d in one(
            audited,
            """SELECT c.keys['benchmark'] AS b, c.keys['dim'] AS d FROM record o JOIN cell c USING (cell_id)
            JOIN record m ON (m.cell_id, m.arm, m.idx, m.metric) = (o.cell_id, o.arm, o.idx, 'mean_c') AND m.label IS NULL
            WHERE (c.case_name, c.block, o.arm, o.metric) = ('c', 'main', 'k1', 'osc') AND o.label IS NULL
            GROUP BY ALL ORDER BY median(o.value / m.value)""",
        )
    ]
    assert [r.key for r in audited_tables["C"].rows()] == order
    assert [r.key for r in audited_tables["Ckappa"].groups[0].rows] == order
    assert [r.key for r in audited_tables["CpairEI"].rows()][: 4 * len(order) : 4] == [f"{b} ucb" for b in order]


def test_the_longest_path_is_quoted_and_budgets_descend(audited, audited_tables):
    t = audited_tables["Ckappa"]
    ((steps,),) = one(
        audited,
        """SELECT max(n) FROM (SELECT count(*) AS n FROM record JOIN cell c USING (cell_id)
        WHERE (c.case_name, c.block, metric) = ('c', 'main', 'action') AND label IS NULL GROUP BY cell_id, arm)""",
    )
    assert f"each of the {steps} steps" in plain(t.caption)
    budgets = [plain(g.heading) for g in t.groups[1:]]
    assert budgets == sorted(budgets, reverse=True)


def test_the_cells_of_the_criterion_lead_to_as_many_steps(audited, audited_tables):
    t = audited_tables["Cinv"]
    for row in t.groups[0].rows:
        for cell in row.cells[1:]:
            (part,) = (p for p in cell.origin.parts if isinstance(p, Answer))
            ((found,),) = one(audited, f"SELECT count(*) FROM ({part.sql})")
            assert found == cell.value


def test_a_dispersion_that_is_absent_says_why():
    frame = pl.DataFrame({"arm": ["gcv"], "rmse": [1.0]})

    class Source:
        def why(self, *_, **__):
            return "refused"

    why = missing_dispersion(Source(), frame)
    assert why("gcv") == "1 of the 2 values that a dispersion needs"
    assert missing_dispersion(Source(), pl.concat([frame, frame]))("gcv") == why("gcv")
    assert why("ml2") == "refused"


def test_ratios_to_a_dispersion_of_zero_or_none_say_why():
    def ratios(**cv):
        table = pl.DataFrame({"arm": list(cv), "cv": list(cv.values())}, schema={"arm": pl.String, "cv": pl.Float64})
        rows = table.with_columns(rmse=1.0)
        quotes = {}
        _, row = summary_rows(table, "all", quotes, lambda rule: f"no {rule}", rows)
        assert set(quotes) == {f"all median {rule}" for rule in cv}
        return dict(zip(RULES, row.cells[1:], strict=True))

    assert ratios(morozov=0.0, gcv=1.0)["gcv"] == Absent("Morozov's is 0")
    assert ratios(gcv=1.0)["gcv"] == Absent("no morozov")
    assert ratios(morozov=2.0, gcv=1.0)["gcv"].value == 0.5
    assert ratios(morozov=2.0)["gcv"] == Absent("no gcv")
    assert ratios(morozov=1.0)["gcv"] == Absent("no gcv")


def test_a_comparison_that_was_not_made_has_no_counts():
    row = pair_row("branin 2 k1", Text("Branin"), "k1", Absent("not declared"), {})
    assert row.cells[5] == Absent("not declared")
