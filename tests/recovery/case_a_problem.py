"""The Case-A certificate problem built from its definition, independently of the solver in runners/.

Unknown u on the unit square in the RKHS of the product squared-exponential kernel; rows are the Newton linearisation
-Lap + 3 u*^2 at the interior collocation grid, followed by point evaluations on the boundary.
"""

import numpy as np

LENGTH = float(np.exp(-2.311))


def truth(x, y):
    return np.sin(np.pi * x) * np.sin(np.pi * y) + 4 * np.sin(4 * np.pi * x) * np.sin(4 * np.pi * y)


def minus_laplacian(x, y):
    return 2 * np.pi**2 * np.sin(np.pi * x) * np.sin(np.pi * y) + 4 * 32 * np.pi**2 * np.sin(4 * np.pi * x) * np.sin(
        4 * np.pi * y
    )


def _se(a, b, length):
    """Kernel, second derivative and fourth derivative of the one-dimensional kernel, in the difference a - b."""
    d = (a[:, None] - b[None, :]) / length
    k = np.exp(-0.5 * d * d)
    return k, k * (d**2 - 1) / length**2, k * (d**4 - 6 * d**2 + 3) / length**4


def points(n):
    t = np.linspace(0, 1, n + 2)[1:-1]
    X, Y = np.meshgrid(t, t, indexing="ij")
    interior = np.column_stack([X.ravel(), Y.ravel()])
    s = np.linspace(0, 1, n)
    sides = [np.column_stack([np.full(n, v), s]) for v in (0.0, 1.0)]
    sides += [np.column_stack([s[1:-1], np.full(n - 2, v)]) for v in (0.0, 1.0)]
    return interior, np.vstack(sides)


def gram_problem(n=24, length=LENGTH):
    """(G, B, kxx, y, boundary mask, truth at the points): 668 rows and 144 points at n = 24."""
    C, D = points(n)
    a = 3 * truth(*C.T) ** 2

    def blocks(P, Q):
        kx, kx2, kx4 = _se(P[:, 0], Q[:, 0], length)
        ky, ky2, ky4 = _se(P[:, 1], Q[:, 1], length)
        lap = kx2 * ky + kx * ky2
        return kx * ky, lap, kx4 * ky + 2 * kx2 * ky2 + kx * ky4

    k, lap, bilap = blocks(C, C)
    CC = bilap - a[:, None] * lap - lap * a[None, :] + a[:, None] * k * a[None, :]
    k, lap, _ = blocks(C, D)
    CD = -lap + a[:, None] * k
    DD = blocks(D, D)[0]
    G = np.block([[CC, CD], [CD.T, DD]])
    e = np.linspace(0.05, 0.95, 12)
    E = np.column_stack([v.ravel() for v in np.meshgrid(e, e, indexing="ij")])
    k, lap, _ = blocks(C, E)
    B = np.vstack([-lap + a[:, None] * k, blocks(D, E)[0]])
    u = truth(*C.T)
    y = np.concatenate([minus_laplacian(*C.T) + 3 * u**3, np.zeros(len(D))])
    boundary = np.arange(len(G)) >= len(C)
    return (G + G.T) / 2, B, np.ones(len(E)), y, boundary, truth(*E.T)
