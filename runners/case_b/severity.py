"""How far the test rows are from the training rows, under each named definition; the paper does not give its own."""

from __future__ import annotations

import numpy as np


def mahalanobis(x: np.ndarray, centre: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Mahalanobis distances (n,) of rows x (n, d); directions without variance are left out (pseudo-inverse)."""
    values, vectors = np.linalg.eigh(covariance)
    keep = values > values.max() * 1e-10
    return np.linalg.norm(((x - centre) @ vectors[:, keep]) / np.sqrt(values[keep]), axis=1)


def severities(x_train: np.ndarray, x_test: np.ndarray) -> dict[str, float]:
    """Shift severity under three definitions, all with the training mean and covariance.

    ``centroid``: distance of the test mean. ``median_test``: median test distance over the square root of the number
    of columns. ``ratio``: median test distance over median training distance.
    """
    centre, covariance = x_train.mean(axis=0), np.atleast_2d(np.cov(x_train, rowvar=False))
    test = mahalanobis(x_test, centre, covariance)
    train = mahalanobis(x_train, centre, covariance)
    return {
        "centroid": float(mahalanobis(x_test.mean(axis=0, keepdims=True), centre, covariance)[0]),
        "median_test": float(np.median(test) / np.sqrt(x_train.shape[1])),
        "ratio": float(np.median(test) / np.median(train)),
    }


def box_fraction(x_train: np.ndarray, x_test: np.ndarray) -> float:
    """Fraction of test rows inside the smallest box that holds the training rows."""
    inside = (x_test >= x_train.min(axis=0)) & (x_test <= x_train.max(axis=0))
    return float(inside.all(axis=1).mean())
