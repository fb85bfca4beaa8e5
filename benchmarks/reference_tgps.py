"""A plain dense tensor-GP solve in NumPy: the design matrix of each factor update is built and its normal equations solved.

The textbook way, kept as the yardstick for runners/case_a: the same model, the same iteration, no structure used. Unknowns are
the factors' values at the inducing points, with the inverse kernel matrix formed explicitly.
"""

from __future__ import annotations

import numpy as np


def se(a: np.ndarray, b: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """The squared-exponential kernel and its second derivative, each (len(a), len(b))."""
    d = (a[:, None] - b[None, :]) / length
    k = np.exp(-0.5 * d * d)
    return k, k * (d * d - 1) / length**2


def solve(
    f: np.ndarray,
    truth: np.ndarray,
    *,
    lam2: float,
    initial: list[np.ndarray],
    lam1: float,
    log_length: float,
    jitter: float,
    epochs: int,
    tol: float,
) -> tuple[float, float, int]:
    """(test RMSE, misfit, epochs) of one Newton solve of -Lap u + u^3 = f, f (n, n), truth on a closed square grid."""
    n, (M, R) = len(f), initial[0].shape
    length, Z, t, s = (
        float(np.exp(log_length)),
        np.linspace(0, 1, M),
        np.linspace(0, 1, n + 2)[1:-1],
        np.linspace(0, 1, n),
    )
    inverse = np.linalg.inv(se(Z, Z, length)[0] + np.exp(-jitter) * np.eye(M))
    X, Y = (a.ravel() for a in np.meshgrid(t, t, indexing="ij"))
    bx = np.concatenate([np.zeros(n), np.ones(n), s[1:-1], s[1:-1]])
    by = np.concatenate([s, s, np.zeros(n - 2), np.ones(n - 2)])
    value, second, edge = [], [], []
    for points, walls in ((X, bx), (Y, by)):
        k, k2 = se(points, Z, length)
        value.append(k @ inverse)
        second.append(k2 @ inverse)
        edge.append(se(walls, Z, length)[0] @ inverse)
    penalty = np.kron(inverse, np.eye(R))
    test = se(np.linspace(0, 1, len(truth)), Z, length)[0] @ inverse
    data, H, rmse = f.ravel(), [h.copy() for h in initial], np.inf
    epoch = 0
    while epoch < epochs:
        epoch, change = epoch + 1, 0.0
        for j in (0, 1):
            g, g2, walls = value[1 - j] @ H[1 - j], second[1 - j] @ H[1 - j], edge[1 - j] @ H[1 - j]
            u = ((value[j] @ H[j]) * g).sum(1)
            inner = 3 * (u**2)[:, None] * g - g2
            design = value[j][:, :, None] * inner[:, None, :] - second[j][:, :, None] * g[:, None, :]
            design = design.reshape(len(data), M * R)
            border = (edge[j][:, :, None] * walls[:, None, :]).reshape(len(walls), M * R)
            normal = lam2 * design.T @ design + lam1 * border.T @ border + penalty
            new = np.linalg.solve(normal, lam2 * design.T @ (data + 2 * u**3)).reshape(M, R)
            change += float(np.linalg.norm(new - H[j]) / np.linalg.norm(H[j]))
            H[j] = new
        rmse = float(np.sqrt(np.mean(((test @ H[0]) @ (test @ H[1]).T - truth) ** 2)))
        if change < tol:
            break
    g, h = value[0] @ H[0], value[1] @ H[1]
    u = (g * h).sum(1)
    residual = u**3 - ((second[0] @ H[0]) * h).sum(1) - (g * (second[1] @ H[1])).sum(1) - data
    return rmse, float(np.linalg.norm(residual)), epoch
