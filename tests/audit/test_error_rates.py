"""Error rates of whole dispositions, through the audit of simulated studies; benchmarks/error_rates.py makes the table of the docs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
STUDIES = 60


@pytest.mark.slow
@pytest.mark.parametrize("name", ["null", "null with ties", "informative refusals, bounds", "three looks, anytime"])
def test_the_error_rate_stays_at_its_level_where_one_is_claimed(name):
    from error_rates import SCENARIOS, simulate

    found = simulate(next(s for s in SCENARIOS if s.name == name), STUDIES)
    assert STUDIES * (found["less"] + found["greater"]) <= binom.ppf(0.999, STUDIES, 0.05)


@pytest.mark.slow
def test_whole_clusters_keep_the_level_that_units_lose():
    """With datasets that share most of their variance, units reject far too often, and the coarser row does not."""
    from error_rates import SCENARIOS, simulate

    found = simulate(next(s for s in SCENARIOS if s.name.endswith("0.8")), STUDIES)
    assert found["less"] + found["greater"] > 0.1
    assert STUDIES * found["decided at the coarser unit"] <= binom.ppf(0.999, STUDIES, 0.05)
