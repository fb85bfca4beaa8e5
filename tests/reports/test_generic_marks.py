"""Marks of the generic tables: who is the best, and who is better than whom."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from orledger.reports.tables.generic_tests import _p
from orledger.reports.tables.render import plain


@pytest.mark.parametrize(
    ("outcome", "better", "sign"),
    [("greater", "higher", "+"), ("less", "higher", "−"), ("greater", "lower", "−"), ("less", "lower", "+")],
)
def test_the_sign_of_a_pair_says_whether_the_row_is_better(outcome, better, sign):
    row = SimpleNamespace(p=0.01, p_holm=0.02, floor=0.001, decided=True, outcome=outcome, test_id="t", address="a/b")
    cell = _p(row, better)
    assert plain(cell).endswith(f"({sign})")
