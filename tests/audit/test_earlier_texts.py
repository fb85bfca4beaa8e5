"""The versions of the shipped hypotheses before their rules were amended: there, whole, and still readable."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

import numpy as np
import pytest

from orledger.audit.registry.reading import parse_hypothesis, shipped_hypotheses
from orledger.audit.statistics.friedman import friedman
from orledger.audit.statistics.skillings_mack import skillings_mack
from orledger.audit.statistics.spearman import spearman
from orledger.errors import DataError

EARLIER = files("orledger.paper.hypotheses").joinpath("earlier")
DECIDING = [h for h in shipped_hypotheses() if h.decides]


@pytest.mark.parametrize("h", DECIDING, ids=lambda h: h.id)
def test_every_earlier_text_is_shipped_under_its_hash_and_can_be_evaluated(h):
    number = h.id.lower()
    texts = [
        e.read_text(encoding="utf-8")
        for e in sorted(EARLIER.iterdir(), key=lambda e: e.name)
        if e.name.startswith(number)
    ]
    assert [sha256(t.encode()).hexdigest() for t in texts] == [c["hash"] for c in h.history]
    assert h.history
    for text in texts:
        assert parse_hypothesis(text, "earlier.toml", stored=True).id == h.id


def test_undecided_supports_and_refutes_nothing():
    """No rule of a shipped hypothesis gives a verdict for or against it because a test is undecided."""
    for h in DECIDING:
        for rule in h.rules:
            if any(t.value == "undecided" for t in (*rule.all, *rule.any)):
                assert rule.verdict == "inconclusive", h.id


def test_rank_tests_refuse_what_is_not_a_number():
    with pytest.raises(DataError, match="NaN"):
        friedman([[1, 2, 3], [1, np.nan, 3]])
    with pytest.raises(DataError, match="NaN"):
        spearman([1, 2, np.nan], [1, 2, 3])


def test_a_perfect_order_of_ten_has_the_probability_of_one_order():
    x = np.arange(10.0)
    assert spearman(x, x).p == pytest.approx(2 / 3628800)
    assert spearman(x, -x, "greater").p == 1.0
    assert spearman(x, -x, "less").p == spearman(x, -x, "less").floor == pytest.approx(1 / 3628800)


def test_a_perfect_order_with_ties_has_the_probability_of_the_orders_that_agree():
    """Two groups of five: of the 252 ways to choose five of ten, one agrees and one opposes."""
    x = np.repeat([1.0, 2.0], 5)
    assert spearman(x, x).p == spearman(x, x).floor == pytest.approx(2 / 252)
    assert spearman(x, x, "greater").p == pytest.approx(1 / 252)
    # The five larger of y are five of the six larger of x: 6 of 252 choices, and Student's approximation says 0.002.
    nearly = spearman(np.repeat([1.0, 2.0], [4, 6]), x, "greater")
    assert nearly.statistic < 1
    assert nearly.p == pytest.approx(6 / 252)


def test_the_floor_of_skillings_mack_without_gaps_is_that_of_friedmans_statistic():
    from scipy.stats import chi2

    values = np.array([[1.0, 2, 3], [2, 1, 3], [1, 3, 2], [1, 2, 3]])
    assert skillings_mack(values).floor == pytest.approx(chi2.sf(4 * 2, 2))  # n (k - 1) when all blocks agree
    assert skillings_mack(values).p >= skillings_mack(values).floor
