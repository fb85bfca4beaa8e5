"""Rows of an audit, a subject and a table made by hand, for tests of what is said and drawn of them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from orledger.reports.audit_rows import TestRow
from orledger.reports.generic import Pair, Subject, Values
from orledger.reports.report.wording import Said
from orledger.reports.tables.format import fixed
from orledger.reports.tables.table import Column, Group, PrintSize, Row, Table, arm_columns
from orledger.reports.tables.values import Number, Text

# A row of a report's ledger: a comparison of two arms that could not have been shown.
ROW = {
    "test_id": "t", "hypothesis": "h", "variant": "declared", "unit": "dataset", "n": 5, "wins": 1, "losses": 4, "draws": 0, "p": 0.125, "p_holm": 0.375, "family_size": 3,
    "floor": 0.0625, "alpha": 0.05, "effect": -0.00825, "low": -0.01, "high": 0.003, "level": 1 - 2 / 32, "effect_name": "Hodges-Lehmann median of differences",
    "outcome": "untestable", "test": "signed_rank", "transform": "none", "details": {}, "side": "two-sided", "dropped": [], "untestable": "too few units",
    "n_nonzero": 5, "interval_ends": "[]", "margin": None, "p_equivalent": None, "p_noninferior": None, "equivalent": None, "noninferior": None,
    "said": Said("not testable", "", ("baseline", "forest")),
}  # fmt: skip

BLANK = dict.fromkeys((f.name for f in fields(TestRow)), None)


def row(**changes: object) -> TestRow:
    """A signed-rank row of ten units that decided nothing."""
    plain = {
        "test_id": "t", "hypothesis": "H", "test": "signed_rank", "transform": "none", "side": "two-sided", "variant": "declared", "independent": True,
        "outcome": "undecided", "alpha": 0.05, "p": 0.2, "n": 10, "n_nonzero": 10, "effect": 0.1, "effect_name": "median", "low": -0.1, "high": 0.3,
        "level": 0.95, "interval_method": "exact", "interval_ends": "[]", "bounded": 0, "details": {}, "wins": 6, "losses": 4, "draws": 0, "method": "exact",
    }  # fmt: skip
    return TestRow(**{**BLANK, **plain, "comparison": "c", **changes})


class Told(Subject):
    """A subject whose rows are given by hand."""

    def __init__(self, arms: str, pairs: dict[str, TestRow], ranks: TestRow | None = None) -> None:
        self.arms, self.metric, self.better, self.labels, self.queries = tuple(arms), "m", "higher", {}, []
        self.pairs = tuple(Pair(a, b, r) for (a, b), r in pairs.items())
        self.tests = (*(p.row for p in self.pairs), *([ranks] if ranks else []))
        self.ordered, self.ranking, self.hypothesis = tuple(arms), ranks, "H"
        self.values = Values(("u", "v"), tuple(arms), np.arange(2.0 * len(arms)).reshape(2, -1), None)
        self.unit = ("dataset",)


def ranked(low: float = 1.0) -> TestRow:
    found = {"mean_ranks": {}, "mean_rank_low": {}, "mean_rank_high": {}}
    for k, arm in enumerate("abc", 1):
        for part, shift in (("mean_ranks", 0), ("mean_rank_low", -low), ("mean_rank_high", low)):
            found[part][arm] = k + shift
    return row(test="mean_ranks", p=None, details=found)


LONG = "Gradient-boosted decision trees with monotone constraints, early stopping and a name of variant"


def made(arms: list[str], units: list[str]) -> Table:
    rows = [
        Row(u, (Text(u), *(Number(0.001 * (i + j), fixed(3)) for j in range(len(arms))))) for i, u in enumerate(units)
    ]
    heads = arm_columns(Column("unit", Text("dataset"), "l"), [(a, a) for a in arms])
    return Table(
        Text("Cells."),
        heads,
        (Group(tuple(rows)),),
        layout=PrintSize("scriptsize", 3.0),
        name="t",
        title="Results",
        generic=True,
    )
