"""Six rows and five points of a kernel that float64 resolves well, with errors of the Gram matrix in round numbers."""

import numpy as np

from orledger.recovery import Spectral
from orledger.recovery.attainable import GramRounding

EPS = 2.0**-52
OWN = 8 * EPS
"""What rounding can hide in a functional, in units of its squared norm."""


def kernel(a, b, length):
    return np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / length**2)


class Problem:
    """Six rows and five points of a kernel that float64 resolves well, some rows exact, with errors in round numbers."""

    def __init__(self, exact=(), noisy_error=1e-5, exact_error=3e-6):
        rng = np.random.default_rng(3)
        x, at = np.linspace(0, 1, 6), rng.random(5) * 1.4
        self.G, self.b, self.k = kernel(x, x, 0.25), kernel(x, at, 0.25), np.linspace(1.0, 1.4, 5)
        self.mask = np.isin(np.arange(6), exact)
        self.y = np.sin(4 * x) + 0.3
        self.spec = Spectral.from_gram(self.G, self.y, exact=list(exact) or None)
        self.spec.__dict__["delta"] = np.where(self.mask, exact_error, noisy_error) * np.linspace(0.5, 1, 6)
        self.noisy = self.spec.delta[~self.mask].max()
        self.exact = self.spec.delta[self.mask].max() if exact else 0.0
        self.proj = self.spec.project(self.b, self.k)
        self.error = GramRounding(self.proj, "exact")
        self.coords, self.null = rng.standard_normal((5, 6 - len(exact))), rng.standard_normal(5)

    def rows(self, w):
        """The multiples (points, 6) of all rows that `w` has."""
        a = np.zeros((5, 6))
        a[:, ~self.mask] = w.noisy @ self.spec.basis.T
        if w.exact is not None:
            a[:, self.mask] = w.exact
        return a
