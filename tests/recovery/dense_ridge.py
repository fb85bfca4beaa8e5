"""The regressor's head once more, from dense normal equations, refits and densities: slow, and without a singular value decomposition."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm


@dataclass
class Dense:
    """Columns A (n, d) as the fit sees them, centred responses y (n,) and whole weights w (n,)."""

    A: np.ndarray
    y: np.ndarray
    w: np.ndarray
    mean: float

    @classmethod
    def of(cls, X, y, w=None, columns="standardized"):
        w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
        mean = np.average(y, weights=w)
        A = X if columns == "raw" else X - np.average(X, axis=0, weights=w)
        if columns == "standardized":
            A = A / np.sqrt(np.average(A**2, axis=0, weights=w))
        return cls(A, y - mean, w, mean)

    @property
    def n(self):
        return self.w.sum()

    @property
    def gram(self):
        return (self.A.T * self.w) @ self.A

    def squares(self):
        """The squared singular values that are not zero, increasing."""
        found = np.linalg.eigvalsh(self.gram)
        return found[found > 1e-13 * found[-1]]

    def inverse(self, mu):
        """(I + mu A'WA)^-1."""
        return np.linalg.inv(np.eye(self.A.shape[1]) + mu * self.gram)

    def coef(self, mu):
        if np.isinf(mu):
            root = np.sqrt(self.w)
            return np.linalg.pinv(self.A * root[:, None]) @ (self.y * root)
        return mu * self.inverse(mu) @ (self.A.T @ (self.w * self.y))

    def misfit(self, mu):
        return np.sqrt((self.w * (self.y - self.A @ self.coef(mu)) ** 2).sum())

    def used(self, mu):
        """The degrees of freedom: the trace of the hat matrix."""
        if np.isinf(mu):
            return len(self.squares())
        return np.trace(mu * self.inverse(mu) @ self.gram)

    def nodes(self):
        """Zero, then four nugget sizes per e-fold, from 7 e-folds beyond either end of the spectrum, no more than 30 below its top."""
        low, high = self.squares()[[0, -1]]
        first, last = np.exp(-7) / high, min(np.exp(7) / low, np.exp(30) / high)
        return np.array([0.0, *np.geomspace(first, last, int(4 * np.log(last / first)))])

    def leverage(self, mu):
        """What one copy of a row adds to its own prediction, its part in the mean included, at most 1 - 1e-9."""
        return np.minimum(mu * np.einsum("ij,jk,ik->i", self.A, self.inverse(mu), self.A) + 1 / self.n, 1 - 1e-9)

    def left_out(self, mu):
        """The residual of each row when one copy of it is left out of the fit, by fitting again: intercept free, columns as they are."""
        B = np.column_stack([np.ones(len(self.y)), self.A])
        penalty = np.diag([0.0] + [1 / mu] * self.A.shape[1])
        found = []
        for i in range(len(self.y)):
            w = self.w - (np.arange(len(self.y)) == i)
            found.append(self.y[i] - B[i] @ np.linalg.solve((B.T * w) @ B + penalty, B.T @ (w * self.y)))
        return np.array(found)

    def errors(self, mu):
        """The same by the formula of leverages."""
        return (self.y - self.A @ self.coef(mu)) / (1 - self.leverage(mu))

    def generalised(self, mu):
        return self.n * self.misfit(mu) ** 2 / max(self.n - 1 - self.used(mu), 1e-9) ** 2

    def spread2(self, mu, Z, unseen=0.0):
        """1 + mu V(mu) at rows Z."""
        return 1 + mu * (np.einsum("ij,jk,ik->i", Z, self.inverse(mu), Z) + unseen)

    def occam(self, eta):
        """The multiplier at which the misfit is eta, up to a hundred times the last node."""
        low, high = np.log(self.nodes()[1] / 1e6), np.log(self.nodes()[-1] * 100)
        return np.exp(brentq(lambda t: self.misfit(np.exp(t)) - eta, low, high, xtol=1e-14, rtol=1e-14))

    def deviance(self, error, shape, share):
        """Minus twice the log likelihood per row of normal errors with variances proportional to 1 + share * shape."""
        variance = 1 + share * shape
        variance = variance * np.average(error**2 / variance, weights=self.w)
        return -2 * np.average(norm.logpdf(error, scale=np.sqrt(variance)), weights=self.w)

    def logs(self, mu, share, unseen=0.0):
        """Logarithms of the sizes of studentised leave-one-out errors, a residual near zero counted as 0.05 of their size."""
        h = self.leverage(mu)
        typical = self.misfit(mu) / np.sqrt(max(self.n - 1 - self.used(mu), 1e-3))
        return np.log(np.abs(self.errors(mu)) / (typical * np.sqrt(1 + share * (h / (1 - h) + mu * unseen))) + 0.05)
