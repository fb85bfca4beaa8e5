"""Error rates of whole dispositions, through the commands; benchmarks/error_rates.py makes the table of the docs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
STUDIES = 60
MOST = binom.ppf(0.999, STUDIES, 0.05)  # errors that a level of 0.05 explains


def rates(name: str) -> dict[str, Any]:
    from error_rates import SCENARIOS, simulate

    return simulate(next(s for s in SCENARIOS if s.name == name), STUDIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["null", "null with ties", "informative refusals, bounds", "three looks, anytime"])
def test_the_error_rate_stays_at_its_level_where_one_is_claimed(name: str) -> None:
    found = rates(name)
    assert STUDIES * (found["lower"] + found["higher"]) <= MOST
    assert found["level not claimed"] == 0


@pytest.mark.slow
def test_whole_clusters_keep_the_level_that_units_lose() -> None:
    """With datasets that share most of their variance, units reject far too often, say so, and the coarser row does not."""
    found = rates("null, datasets ICC 0.8")
    assert found["lower"] + found["higher"] > 0.1
    assert found["level kept"] == 0
    assert STUDIES * found["coarser unit"] <= MOST


@pytest.mark.slow
def test_dropped_refusals_err_and_never_claim_a_level() -> None:
    found = rates("informative refusals, dropped")
    assert found["lower"] > 0.2
    assert found["level kept"] == 0


@pytest.mark.slow
def test_verdicts_before_and_after_further_looks_claim_no_level() -> None:
    """A first look has a third of the units that were fixed, and a later one comes after others."""
    found = rates("three looks, sign test")
    assert found["lower"] + found["higher"] > 0
    assert found["level kept"] == 0
