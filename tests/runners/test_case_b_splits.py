"""Splits: Table Blevels, disjointness, what each regime may depend on."""

from __future__ import annotations

import numpy as np
import pytest

from orledger.errors import UsageError
from orledger.runners.case_b.names import REGIMES
from orledger.runners.case_b.severity import box_fraction, severities
from orledger.runners.case_b.splits import calibration_size, make_split, order_statistic, train_size

# Table Blevels of the paper: n of the table, regime, n_tr, n_te, n_c, k, recorded and achieved level as printed.
LEVELS = [
    ("california", 1500, "iid", 1200, 300, 300, 285, "300/301=0.9967", "286/301=0.9502"),
    ("california", 1500, "shift", 1050, 450, 262, 249, "262/263=0.9962", "250/263=0.9506"),
    ("concrete", 1030, "iid", 824, 206, 206, 196, "206/207=0.9952", "197/207=0.9517"),
    ("concrete", 1030, "shift", 721, 309, 180, 171, "180/181=0.9945", "172/181=0.9503"),
    ("diabetes", 442, "iid", 353, 89, 88, 84, "88/89=0.9888", "85/89=0.9551"),
    ("diabetes", 442, "shift", 309, 133, 77, 74, "77/78=0.9872", "75/78=0.9615"),
    ("diabetes", 442, "shiftcol", 309, 133, 77, 74, "77/78=0.9872", "75/78=0.9615"),
    ("energy", 768, "iid", 614, 154, 153, 146, "153/154=0.9935", "147/154=0.9545"),
    ("energy", 768, "shift", 537, 231, 134, 128, "134/135=0.9926", "129/135=0.9556"),
    ("yacht", 308, "iid", 246, 62, 61, 58, "61/62=0.9839", "59/62=0.9516"),
    ("yacht", 308, "shift", 215, 93, 53, 51, "53/54=0.9815", "52/54=0.9630"),
]


def table(n: int, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(n)
    X = g.standard_normal((n, d))
    return X, X @ np.arange(d) + 0.1 * g.standard_normal(n)


@pytest.mark.parametrize(("name", "n", "regime", "n_tr", "n_te", "n_c", "k", "recorded", "achieved"), LEVELS)
def test_every_row_of_table_blevels(
    name: str, n: int, regime: str, n_tr: int, n_te: int, n_c: int, k: int, recorded: str, achieved: str
) -> None:
    split = make_split(*table(n), regime, np.random.default_rng(0))
    assert (split.train.size, split.test.size, split.cal.size) == (n_tr, n_te, n_c)
    found = order_statistic(split.cal.size)
    assert found == k
    assert f"{n_c}/{n_c + 1}={n_c / (n_c + 1):.4f}" == recorded
    assert f"{k + 1}/{n_c + 1}={(k + 1) / (n_c + 1):.4f}" == achieved


def test_sizes_by_hand() -> None:
    assert (train_size(10, "iid"), train_size(10, "shift"), calibration_size(20), calibration_size(100)) == (
        8,
        7,
        8,
        25,
    )
    assert order_statistic(13) == 12  # the gap task: ceil(0.95 * 14) - 1 = 13 does not exist among 13 scores
    assert order_statistic(19) == 18  # 0.95 * 20 is 19 exactly; floating point says 19.000000000000004 or 19


@pytest.mark.parametrize("regime", REGIMES)
def test_rows_are_used_once(regime: str) -> None:
    X, y = table(200)
    split = make_split(X, y, regime, np.random.default_rng(3))
    used = np.concatenate([split.fit, split.cal, split.test])
    assert np.unique(used).size == used.size
    assert used.size == (180 if regime == "wide" else 200)


@pytest.mark.parametrize("regime", ["iid", "shift", "shiftcol"])
def test_labels_do_not_move_the_rows(regime: str) -> None:
    X, y = table(150)
    one, two = (make_split(X, v, regime, np.random.default_rng(3)) for v in (y, -(y**3)))
    assert np.array_equal(one.train, two.train)
    assert np.array_equal(one.test, two.test)


def test_wide_depends_on_the_scouts_labels_alone() -> None:
    """Changing the label of a row that is used cannot change the split: only set-aside rows choose the direction."""
    X, y = table(150)
    one = make_split(X, y, "wide", np.random.default_rng(3))
    used = np.concatenate([one.train, one.test])
    changed = y.copy()
    changed[used] = np.random.default_rng(9).standard_normal(used.size)
    two = make_split(X, changed, "wide", np.random.default_rng(3))
    assert np.array_equal(one.train, two.train)
    assert np.array_equal(one.test, two.test)


def test_shift_is_a_rank_split_and_wide_tests_both_tails() -> None:
    X, y = table(400)
    for end in ("low", "high"):
        split = make_split(X, y, "shiftcol", np.random.default_rng(0), train_end=end, column=2)
        train, test = X[split.train, 2], X[split.test, 2]
        assert train.max() < test.min() if end == "low" else train.min() > test.max()
    wide = make_split(X, y, "wide", np.random.default_rng(0))
    assert y[wide.test].std() > 1.3 * y[wide.train].std()
    shift = make_split(X, y, "shift", np.random.default_rng(0))
    assert severities(X[shift.train], X[shift.test])["centroid"] > 1.0


def test_unknown_column_is_named() -> None:
    with pytest.raises(UsageError, match="shiftcol_column is 9"):
        make_split(*table(50), "shiftcol", np.random.default_rng(0), column=9)


def test_severity_by_hand() -> None:
    """Unit covariance, test rows moved by 3 along one axis: centroid distance 3; a duplicated column changes nothing."""
    g = np.random.default_rng(4)
    train = g.standard_normal((4000, 2))
    train = (train - train.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(train, rowvar=False))).T
    found = severities(train, train + np.array([3.0, 0.0]))
    assert found["centroid"] == pytest.approx(3.0, rel=1e-9)
    assert found["ratio"] > 2
    doubled = severities(np.hstack([train, train[:, :1]]), np.hstack([train, train[:, :1]]) + np.array([3.0, 0.0, 3.0]))
    assert doubled["centroid"] == pytest.approx(3.0, rel=1e-6)
    assert box_fraction(train, train) == 1.0
    assert box_fraction(np.zeros((2, 1)), np.array([[0.0], [1.0]])) == 0.5
