"""How many digits the study's tables print, against the digits that the paper prints for the same quantity."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from orledger.audit.recheck.frames import load_published
from orledger.paper.names import RULES
from orledger.paper.published import publication
from orledger.reports.tables.fitting import WIDTH, _widths
from orledger.reports.tables.table import TIGHT, PrintSize
from orledger.reports.tables.values import Join, MedianIQR, Number, Range, Value

SHOWN = {"morozov": "Morozov", "ml2": "ML-II", "gcv": "GCV", "lcurve": "L-curve"}
BY_RULE = {(None, rule): [SHOWN.get(rule, rule)] for rule in RULES}
ACCURACY = BY_RULE | {(None, "gain"): ["gain", "gain min", "gain max"], (None, "M/o"): ["M/o"]}
PAIRED = {(None, "difference"): ["median"], (None, "interval"): ["low", "high"]}
QUARTERS = ["w_int", "w_add", "w_obs"]
# Of each table: the row (None: every row) and the column, and what the paper calls the numbers there, one after the other.
PAPER = {
    "A": {("A", "column_name"): ACCURACY},
    "A16": {("A16", "column_name"): ACCURACY},
    "Astab": {
        ("Astab", "column_name"): {(row, rule): name for (_, rule), name in BY_RULE.items() for row in ("grid 24 rel 0.001", "grid 16 median")},
        ("Astab_ratio", "row_name"): {(f"{scope} ratio", None): [paper] for scope, paper in (("grid 24", "24 ratio"), ("grid 16", "16 ratio"), ("pooled", "pooled ratio"))},
    },
    "Acert": {
        ("Acert", "row_name"): {
            ("margin", None): ["max of error minus certificate"],
            ("attainment", None): ["attainment median"], ("attainment iqr", None): ["attainment q1", "attainment q3"], ("attainment worst", None): ["attainment worst"],
            ("attainment grid", None): ["attainment median"], ("attainment grid iqr", None): ["attainment q1", "attainment q3"], ("attainment grid worst", None): ["attainment worst"],
            ("global", None): ["median global certificate"], ("conditional", None): ["median conditional half"], ("gp width", None): ["GP width"],
        },
        # Without noise the paper prints a digit more.
        ("Acert", "cell"): {("rho oc", None): ["rho_oc, 1e-3"], ("eps hat", None): ["eps_hat, 1e-3"]},
        ("Acert_ratio", "row_name"): {("tightening", None): ["tightening"], ("premium", None): ["width/error"], ("gp ratio", None): ["GP over conditional"]},
        ("Acert_percent", "row_name"): {("radii", None): ["radii apart"]},
        ("Acert_coverage", "row_name"): {("coverage", None): ["raw"], ("bound", None): ["raw"]},
    },
    "Bshift": {("Bshift", "column_name"): {
        (None, "R2"): ["R2"], (None, "severity"): ["d_M"],
        **{(None, f"{arm} {ours}"): [f"{name} {word}"] for arm, name in (("cp", "split-CP"), ("triv", "constant"), ("or1", "OR"), ("or1_nf", "OR no floor"))
           for ours, word in (("coverage", "coverage"), ("width", "width"), ("score", "IS"))},
    }},
    "Barms": {("Barms", "column_name"): {
        (None, "coverage"): ["coverage"], (None, "width"): ["width", "width q1", "width q3"], (None, "score"): ["IS", "IS q1", "IS q3"], (None, "penalty"): ["penalty share"],
    }},
    "Bfloor": {
        ("Bfloor", "row_name"): {(f"share {k}", None): [f"{k} share"] for k in QUARTERS} | {(f"size {k}", None): [k] for k in QUARTERS},
    },
    "Btail": {("Btail", "column_name"): {
        (None, "median"): ["median half"], (None, "mean"): ["mean half"], (None, "max"): ["max half"], (None, "ns max"): ["ns_max"],
    }},
    "Bgap": {("Bgap", "column_name"): {
        (None, "coverage"): ["coverage", "coverage q1", "coverage q3"], (None, "width"): ["width", "width q1", "width q3"], (None, "score"): ["IS"],
    }},
    "Bgapsurv": {("Bgapsurv", "column_name"): {(None, "single"): ["single"], (None, "many"): ["median", "q1", "q3"], (None, "range"): ["min", "max"]}},
    "C": {("C", "column_name"): {(None, arm): [name, f"{name} worst"] for arm, name in (("ei", "EI"), ("ucb", "UCB"), ("k1", "OR-LCB"), ("k5", "5x"))}},
    **{name: {(name, "column_name"): PAIRED} for name in ("CpairEI", "CpairOR", "CaucEI")},
}  # fmt: skip


def styles(cell):
    """The style of every number of a cell that has one of its own, in the order of print."""
    match cell:
        case Number() | Range() | MedianIQR():
            return [cell.style] * {Number: 1, Range: 2, MedianIQR: 3}[type(cell)]
        case Join():
            return [style for part in cell.parts if isinstance(part, Value) for style in styles(part)]
        case _:
            return []


def commonest(numbers):
    """What most of them are; of several, the largest."""
    return max(Counter(numbers).items(), key=lambda item: (item[1], item[0]))[0]


@pytest.fixture(scope="module")
def paper():
    """The number of decimals and of significant digits of printed cells, by the paper's table and the name of a row, a column or both."""
    found = {}
    for row in load_published(publication()).drop_nulls("table_name").iter_rows(named=True):
        digits = re.match(r"[-+−<]*(\d[\d,]*)(?:\.(\d*))?", row["printed"])
        if digits:
            whole, decimals = digits[1].replace(",", ""), digits[2] or ""
            pair = (len(decimals), len((whole + decimals).lstrip("0")))
            for side in ("row_name", "column_name"):
                found.setdefault((row["table_name"], side, row[side]), []).append(pair)
            found[row["table_name"], "cell", f"{row['row_name']}, {row['column_name']}"] = [pair]
    return {key: (commonest([p[0] for p in pairs]), commonest([p[1] for p in pairs])) for key, pairs in found.items()}


@pytest.mark.parametrize("name", PAPER)
def test_a_number_has_as_many_digits_as_in_the_paper(audited_tables, paper, name):
    table = audited_tables[name]
    wrong = []
    for (there, side), places in PAPER[name].items():
        for (row, column), names in places.items():
            cells = [
                cell
                for r in table.rows()
                for c, cell in zip(table.columns, r.cells, strict=True)
                if row in (None, r.key) and column in (None, c.key)
            ]
            seen = {tuple((s.kind, s.digits) for s in styles(cell)) for cell in cells} - {()}
            assert seen, (row, column)
            for shown in seen:
                for (kind, digits), word in zip(shown, [*names, *names[-1:] * 2], strict=False):
                    if digits != paper[there, side, word][kind != "fixed"]:
                        wrong.append((row, column, word, kind, digits))
    assert wrong == []


def test_a_table_too_wide_for_the_usual_print_is_set_tight(audited_tables):
    usual = {n: replace(t, layout=PrintSize()) for n, t in audited_tables.items() if not t.generic}
    wide = {n for n, t in usual.items() if sum(_widths(t)) > WIDTH and all(isinstance(c.align, str) for c in t.columns)}
    assert wide
    assert {n for n in wide if audited_tables[n].layout != TIGHT} == set()
