"""Certified widths at the candidates: the information radius, exact and on the paper's mu grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.recovery import GRID97, Projection, Spectral, global_radius, occam

# Candidates per pass over the mu grid: larger temporaries go back to the system after each use, and the page faults of
# asking for them again take ten times as long as the arithmetic.
BLOCK = 512


@dataclass(frozen=True)
class Widths:
    """The Occam radius used as eps, the exact radius (m,), and the radius on the 97-point grid (m,) when asked for."""

    rho: float
    radius: np.ndarray
    on_grid: np.ndarray | None


def certified_widths(
    gram: np.ndarray, cross: np.ndarray, output: float, y: np.ndarray, eta: float, *, grid: bool = False
) -> Widths:
    """The widths of m candidates from the Gram matrix (n, n), cross-covariances (n, m), k(x, x) and centred data (n,).

    eps is the Occam radius of the data at noise level ``eta``; data that no element explains raise EmptySetError.
    """
    spectral = Spectral.from_gram(gram, y)
    rho = occam(spectral, eta).require().rho
    kxx = np.full(cross.shape[1], output)
    projection = spectral.project(cross, kxx)
    radius = np.asarray(global_radius(spectral, projection, rho, eta).radius)
    return Widths(rho, radius, _on_grid(projection, rho, eta) if grid else None)


def _on_grid(projection: Projection, eps: float, eta: float) -> np.ndarray:
    """The radius (m,) of method "grid97" alone: minimised before the root, and without the parts of its certificate."""
    mus = np.logspace(*GRID97)
    factor = eps**2 + mus * eta**2
    least = np.empty(len(projection))
    for start in range(0, len(projection), BLOCK):
        part = slice(start, start + BLOCK)
        least[part] = (projection[part].V(mus) * factor).min(1)
    return np.sqrt(least)
