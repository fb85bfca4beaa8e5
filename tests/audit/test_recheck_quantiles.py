"""Rules about quantiles of pairs, shares of regions and scores of cells, against data that were made for them."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy_names import BY_NORMAL

from orledger.audit.recheck.pvalues import signed_rank_normal
from orledger.audit.recheck.quantiles import median_of_differences, sum_of_pairs
from orledger.audit.recheck.rounding import exactly, parse_printed
from orledger.audit.recheck.rules import ImpossibleError
from orledger.audit.recheck.shares import region_shares
from orledger.paper.rules import score_of_cells

FIRST = (0.0, 1.0, 2.5, 7.0, 7.5, 11.0, 30.0)
SECOND = (-4.0, 0.5, 0.75, 2.0, 9.0, 9.5, 40.0)


def quartiles(values):
    return [exactly(q) for q in np.quantile(values, [0.25, 0.5, 0.75])]


def middle_order(values):
    """Second, middle and sixth of seven; for six the means of the two lowest, middle and highest."""
    x = sorted(values)
    if len(x) == 7:
        return [exactly(x[k]) for k in (1, 3, 5)]
    return [exactly((x[k] + x[k + 1]) / 2) for k in (0, 2, 4)]


@pytest.mark.parametrize("summary", [quartiles, middle_order])
@pytest.mark.parametrize("n", [6, 7])
def test_no_pairing_of_two_lists_breaks_the_bounds_of_their_sums(summary, n):
    first, second = FIRST[:n], SECOND[:n]
    parts = [summary(first), summary(second)]
    for paired in itertools.islice(itertools.permutations(second), 0, None, 7):
        (found,) = sum_of_pairs(summary([a + b for a, b in zip(first, paired, strict=True)]), parts)
        assert found.truth == "always", paired


def test_bounds_of_sums_are_reached_and_not_passed():
    """Equal order adds the medians; a median above both upper quartiles belongs to no pairing."""
    low, middle, high = quartiles(FIRST)
    twice = [x + x for x in (low, middle, high)]
    assert sum_of_pairs(twice, [[low, middle, high], [low, middle, high]])[0].truth == "always"
    above = [low, high + high + exactly(1), high + high + exactly(2)]
    (found,) = sum_of_pairs(above, [[low, middle, high], [low, middle, high]])
    assert found.truth == "never"
    assert "at most" in found.detail


def test_a_median_of_differences_lies_between_quartiles():
    ends = [[q[0], q[2]] for q in (quartiles(FIRST), quartiles(SECOND))]
    for paired in itertools.islice(itertools.permutations(SECOND), 0, None, 29):
        middle = exactly(float(np.median(np.subtract(FIRST, paired))))
        assert median_of_differences(middle, *ends)[0].truth == "always"
    assert median_of_differences(ends[0][1] - ends[1][0] + exactly(0.1), *ends)[0].truth == "never"


@pytest.mark.parametrize("n", [6, 7])
def test_ends_of_a_bootstrap_interval_of_a_median(n):
    """Every resample counted: 2.5 % of the medians lie at the second value of seven, and at the mean of the two lowest of six."""
    values = 2.0 ** np.arange(n)
    resamples = values[np.indices((n,) * n, dtype=np.int8).reshape(n, -1)]
    medians = np.sort(np.median(resamples, axis=0))
    low = middle_order(values)[0].low
    tail = np.searchsorted(medians, [low, low * (1 + 1e-9)], side="left") / medians.size
    assert tail[0] < 0.025 < tail[1]


def test_regions_of_one_grid_share_its_points():
    grid = np.linspace(-4, 4, 300)
    sizes = [int(np.sum(abs(grid) < 1)), int(np.sum((abs(grid) >= 1) & (abs(grid) <= 3))), int(np.sum(abs(grid) > 3))]
    counts = [(18, 20, 50, 69), (44, 47, 68, 98), (30, 31, 41, 22)]
    printed = [[parse_printed(f"{k / n:.3f}") for k in listed] for listed, n in zip(counts, sizes, strict=True)]
    for region, listed in enumerate(printed):
        for share in listed:
            assert region_shares(printed, 300, region, share)[0].values, "a share of its own region"
    half = parse_printed(f"{(2 * 40 + 1) / (2 * sizes[0]):.3f}")
    assert region_shares(printed, 300, 0, half, parts=2)[0].values
    assert not region_shares(printed, 300, 0, parse_printed("0.545"), parts=2)[0].values
    assert region_shares(printed, 300, 0, parse_printed("0.545"))[0].miss == "impossible"


def test_the_normal_approximation_is_scipys_with_zeros():
    differences = np.array([0, 0, 0.3, -0.1, 1.7, 2.2, -0.9, 4.1, 3.3, 5.0, 6.1, 7.2])
    p = stats.wilcoxon(differences, method=BY_NORMAL, correction=False).pvalue
    wins, losses = int(np.sum(differences < 0)), int(np.sum(differences > 0))
    (found,) = signed_rank_normal(len(differences), wins, losses)
    assert any(abs(value.low - p) < 1e-12 for value in found.values)
    with pytest.raises(ImpossibleError):
        signed_rank_normal(12, 7, 6)


def test_the_score_of_cells_in_which_nothing_misses():
    """Two cells of three points, half-widths w + 0.5: the interval score is twice the mean half-width."""
    cells = [np.array([1.0, 2.0, 9.0]), np.array([0.2, 0.4, 0.9])]
    means, medians = [exactly(c.mean()) for c in cells], [exactly(float(np.median(c))) for c in cells]
    width = exactly(float(np.mean([np.median(c + 0.5) for c in cells])))
    score = float(np.mean([2 * (c + 0.5).mean() for c in cells]))
    assert score_of_cells(width, means, medians, 2).middle == pytest.approx(score)
    unlisted = score_of_cells(width, means[:1], medians[:1], 2, cap=9.0)
    assert unlisted.low < score < unlisted.high
