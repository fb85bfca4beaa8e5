"""The squared-exponential kernel in one variable, its derivatives, and the operators of a factor at its inducing points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from orledger.errors import UsageError
from orledger.runners.case_a.problem import interior


def se(a: np.ndarray, b: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The kernel and its second and fourth derivative in either argument, each (len(a), len(b)); unit variance."""
    d = (a[:, None] - b[None, :]) / length
    s = d * d
    k = np.exp(-s / 2)
    return k, k * (s - 1) / length**2, k * (s * s - 6 * s + 3) / length**4


REACH = 37.0
"""Largest distance from the middle, in lengths, for which the expansion below starts above the smallest float64."""


def se_features(x: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows phi(x) and phi''(x) (len(x), d) with phi(x) . phi(y) equal to the kernel to rounding, for x in [0, 1].

    phi_n(t) = exp(-t^2/2) t^n / sqrt(n!) with t = (x - 1/2) / length; phi_n' = sqrt(n) phi_{n-1} - sqrt(n+1) phi_{n+1}. The
    row is cut where what is left is below rounding: n follows a Poisson law of mean t^2, of which phi_n is the square root.
    """
    t = (x - 0.5) / length
    far = float(np.abs(t).max())
    if far > REACH:
        raise UsageError(
            f"log_length = {np.log(length):.3g} is too short for the feature form of the certificates",
            hint='set cert_form = "gram"; at such lengths the Gram matrix is well conditioned',
        )
    count = int(far**2 + 20 * far + 40)
    phi = np.zeros((len(x), count + 2))
    phi[:, 0] = np.exp(-t * t / 2)
    for k in range(1, count + 2):
        phi[:, k] = phi[:, k - 1] * t / np.sqrt(k)
    n = np.arange(count)
    second = np.sqrt((n + 1) * (n + 2)) * phi[:, 2:] - (2 * n + 1) * phi[:, :count]
    second[:, 2:] += np.sqrt(n[2:] * (n[2:] - 1)) * phi[:, : count - 2]
    return phi[:, :count], second / length**2


@dataclass(frozen=True)
class FactorOperators:
    """A factor's value at given points as a linear map of its whitened coefficients (rows: points, columns: M).

    With K = SE + exp(-jitter) I = L L^T on the inducing points and H the factor's values there, the conditional mean is
    k(., Z) K^-1 H = k(., Z) L^-T eta with eta = L^-1 H, and the penalty H^T K^-1 H is |eta|^2: no inverse is formed, and
    the normal matrix of a factor is never smaller than the identity.
    """

    value: np.ndarray
    second: np.ndarray
    side: np.ndarray
    test: np.ndarray
    chol: np.ndarray

    @classmethod
    def build(cls, n: int, inducing: int, log_length: float, jitter: float, test_points: int) -> FactorOperators:
        """The operators at the n collocation coordinates, the n side coordinates and the closed test grid."""
        length, Z = float(np.exp(log_length)), np.linspace(0, 1, inducing)
        chol = np.linalg.cholesky(se(Z, Z, length)[0] + np.exp(-jitter) * np.eye(inducing))

        def whitened(k: np.ndarray) -> np.ndarray:
            return np.ascontiguousarray(solve_triangular(chol, k.T, lower=True).T)

        value, second, _ = se(interior(n), Z, length)
        side, test = (se(np.linspace(0, 1, m), Z, length)[0] for m in (n, test_points))
        return cls(whitened(value), whitened(second), whitened(side), whitened(test), chol)

    def whiten(self, H: np.ndarray) -> np.ndarray:
        """Coefficients (M, R) of the factor whose values at the inducing points are H (M, R)."""
        return solve_triangular(self.chol, H, lower=True)
