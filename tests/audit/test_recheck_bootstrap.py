"""Rules about bootstrap intervals, repeated fractions and lists: against resampling itself and by hand."""

import numpy as np
import pytest

from orledger.audit.recheck.bootstrap import median_end_sign
from orledger.audit.recheck.counts import one_of, same_fraction
from orledger.audit.recheck.rounding import Enclosure, exactly, parse_printed
from orledger.audit.recheck.rules import CountOf, ImpossibleError


@pytest.mark.parametrize("n", [5, 6, 7, 12, 33])
def test_the_ends_of_real_bootstrap_intervals_have_the_forced_signs(n):
    """Percentile intervals of the median of differences with ties, drawn: the rule never calls one impossible."""
    generator = np.random.default_rng(n)
    for _ in range(40):
        better, tied = sorted(generator.integers(0, n + 1, 2))
        tied = tied - better
        sizes = generator.exponential(size=n)
        signs = np.r_[np.full(better, -1), np.zeros(tied), np.ones(n - better - tied)]
        values = signs * sizes
        medians = np.median(generator.choice(values, (2000, n)), axis=1)
        low, high = np.quantile(medians, [0.025, 0.975])
        counts = {"better": int(better), "worse": int(n - better - tied), "tied": int(tied)}
        assert median_end_sign(exactly(low), "low", **counts) == "always"
        assert median_end_sign(exactly(high), "high", **counts) == "always"


@pytest.mark.parametrize(
    ("end", "which", "better", "worse", "tied"),
    [
        ("+0.0001", "low", 0, 0, 6),  # six ties have no difference
        ("-0.0100", "low", 1, 6, 0),  # one loss of seven reaches no tail
        ("+0.0000", "low", 2, 5, 0),  # two losses of seven do
        ("+0.0000", "high", 2, 5, 0),
        ("-0.0100", "high", 0, 5, 2),
    ],
)
def test_an_end_with_a_sign_its_counts_exclude_is_found(end, which, better, worse, tied):
    assert median_end_sign(exactly(float(end)), which, better, worse, tied) == "never"


def test_where_the_counts_leave_the_sign_open_more_than_one_can_be():
    """One negative difference of six moves the lower end below zero or not, as its size says; above zero it never is."""
    truths = [median_end_sign(exactly(end), "low", 1, 4, 1) for end in (-1.0, 0.0, 1.0)]
    assert truths == ["always", "always", "never"]
    with pytest.raises(ImpossibleError):
        median_end_sign(exactly(0), "low", 0, 0, 0)


def test_a_fraction_printed_again_has_both_its_counts():
    assert same_fraction(CountOf(0, 7), CountOf(0, 7))[0].truth == "always"
    assert same_fraction(CountOf(0, 7), CountOf(0, 6))[0].truth == "never"
    assert same_fraction(CountOf(3, 6), CountOf(1, 2))[0].truth == "never"


def test_one_of_a_list_allows_its_members_alone():
    values = one_of([exactly(5), exactly(0.5), parse_printed("0.05")])[0].values
    assert any(v.meets(exactly(0.5)) for v in values)
    assert not any(v.meets(exactly(0.6)) for v in values)
    assert any(v.meets(Enclosure(0.045, 0.055)) for v in values)
