"""Certified widths at the candidates: the information radius, exact and on the paper's mu grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orledger.recovery import GRID97, Spectral, global_radius, occam


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
    certificate = global_radius(spectral, projection, rho, eta)
    # At mu = 0 the radius is eps sqrt(k(x, x)), the same number at every candidate. Reassembled from its spectral parts
    # it would differ in the last digit from candidate to candidate, and a flat width would seem to oscillate.
    radius = np.where(certificate.at_lower, rho * np.sqrt(kxx), certificate.radius)
    on_grid = None
    if grid:
        # The radius of method "grid97" alone: minimising before the root spares its certificate parts and most of its time.
        mus = np.logspace(*GRID97)
        on_grid = np.sqrt((projection.V(mus) * (rho**2 + mus * eta**2)).min(1))
    return Widths(rho, radius, on_grid)
