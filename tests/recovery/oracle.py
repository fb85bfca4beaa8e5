"""Intervals, Occam radii and power functions in 800-bit arithmetic (python-flint): the reference where float64 gives out.

The data and the points are the given float64 numbers, taken exactly; the kernel between them is evaluated in 800 bits, so
the answer is the one the kernel means, not the one its rounded Gram matrix happens to have.
"""

from dataclasses import dataclass

import flint
import numpy as np

BITS = 800


def _arb(v):
    return flint.arb(float(v))


def squared_exponential(length):
    """The kernel exp(-(a - b)^2 / (2 length^2)) of two floats, in 800 bits."""
    return lambda a, b: (-((_arb(a) - _arb(b)) ** 2) / (2 * _arb(length) ** 2)).exp()


def squared_norm(kernel, x, weights):
    """|sum_i weights_i kernel(x_i, .)|^2 of floats, summed in 800 bits and rounded once."""
    flint.ctx.prec = BITS
    terms = (
        _arb(u) * _arb(v) * kernel(a, b)
        for a, u in zip(x, weights, strict=True)
        for b, v in zip(x, weights, strict=True)
    )
    return float(sum(terms, _arb(0)).mid())


@dataclass
class Oracle:
    """The problem of rows and data y with inner products `b` and squared norm `k` of one functional, in 800 bits."""

    G: list
    y: list
    b: list
    k: object
    exact: object = ()

    @classmethod
    def of_kernel(cls, kernel, x, y, point, exact=()):
        """`exact`: numbers of the rows that carry no noise."""
        flint.ctx.prec = BITS
        G = [[kernel(a, b) for b in x] for a in x]
        return cls(G, [_arb(v) for v in y], [kernel(a, point) for a in x], kernel(point, point), exact)

    @classmethod
    def of_features(cls, Phi, y, c, exact=()):
        flint.ctx.prec = BITS
        rows, c = [[_arb(v) for v in row] for row in Phi], [_arb(v) for v in c]

        def dot(u, v):
            return sum((p * q for p, q in zip(u, v, strict=True)), _arb(0))

        G = [[dot(p, q) for q in rows] for p in rows]
        return cls(G, [_arb(v) for v in y], [dot(p, c) for p in rows], dot(c, c), exact)

    def weights(self, mu):
        """The rows' weights (G + nu)^-1 b and (G + nu)^-1 y at nu = 1/mu on the noisy rows; mu = None is nu = 0."""
        n = len(self.y)
        nu = 1 / mu if mu is not None else _arb(0)
        A = flint.arb_mat(
            [[self.G[i][j] + (nu if i == j and i not in self.exact else 0) for j in range(n)] for i in range(n)]
        )
        rhs = flint.arb_mat([[self.b[i], self.y[i]] for i in range(n)])
        sol = A.solve(rhs)
        return [sol[i, 0] for i in range(n)], [sol[i, 1] for i in range(n)]

    def moments(self, mu):
        """(V, m, y^T (G + nu)^-1 y) at nu = 1/mu; mu = None is the limit nu = 0 of a matrix of full rank."""
        w, a = self.weights(mu)
        bw = sum((p * q for p, q in zip(self.b, w, strict=True)), _arb(0))
        m = sum((p * q for p, q in zip(self.b, a, strict=True)), _arb(0))
        ya = sum((p * q for p, q in zip(self.y, a, strict=True)), _arb(0))
        return self.k - bw, m, ya

    def occam(self, eta):
        """The smallest norm within eta of the data."""
        if eta == 0:
            return float((self.moments(None)[2]).sqrt().mid())
        best = -_search(lambda t: -(self.moments(t.exp())[2] - t.exp() * _arb(eta) ** 2))
        return float(best.sqrt().mid()) if best > 0 else 0.0

    def radius(self, eps, eta):
        """The global radius over |u| <= eps, |noise| <= eta > 0."""
        found = _search(lambda t: self.moments(t.exp())[0] * (_arb(eps) ** 2 + t.exp() * _arb(eta) ** 2))
        return float(found.sqrt().mid())

    def interval(self, rho, eta):
        """(lower, upper) as floats over |u| <= rho, |data misfit| <= eta; None when the set is empty."""
        rho2, eta2 = _arb(rho) ** 2, _arb(eta) ** 2
        if eta == 0:
            V, m, ya = self.moments(None)
            if not rho2 > ya:
                return None
            half = (V * (rho2 - ya)).sqrt()
            return float((m - half).mid()), float((m + half).mid())
        edges = []
        for sign in (1, -1):

            def dual(t, sign=sign):
                V, m, ya = self.moments(t.exp())
                room = rho2 + t.exp() * eta2 - ya
                if not room > 0:
                    raise ValueError
                return sign * m + (V * room).sqrt()

            try:
                edges.append(sign * _search(dual))
            except ValueError:
                return None
        return float(edges[1].mid()), float(edges[0].mid())


def _search(f, lo=-40.0, hi=160.0, rounds=75):
    """The minimum of a quasi-convex f over t in [lo, hi]: the best of a coarse grid, then golden section around it."""
    grid = np.linspace(lo, hi, 51)
    values = [float(f(_arb(t)).mid()) for t in grid]
    i = int(np.argmin(values))
    a, b = _arb(grid[max(i - 1, 0)]), _arb(grid[min(i + 1, len(grid) - 1)])
    g = (_arb(5).sqrt() - 1) / 2
    c, d = b - g * (b - a), a + g * (b - a)
    fc, fd = f(c), f(d)
    for _ in range(rounds):
        a, b = a.mid(), b.mid()
        if fc.mid() < fd.mid():
            b, d, fd = d, c, fc
            c = b - g * (b - a)
            fc = f(c.mid())
        else:
            a, c, fc = c, d, fd
            d = a + g * (b - a)
            fd = f(d.mid())
    return fc if fc.mid() < fd.mid() else fd
