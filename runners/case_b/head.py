"""The OR head: certified intervals on the frozen features of a trained net, with a calibrated radius.

Feature columns are divided by their standard deviation on the conditioning rows (dead columns dropped, or clamped as in
the defect the ablation studies); there is no intercept. The noise budget is eta = sigma sqrt(n) with the net's own
noise level. When eta is below the best achievable misfit the consistent set is empty and the head refuses.
All mathematics is orledger.recovery's; this module only decides what goes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orledger.recovery import (
    ConformalRadius,
    Delivery,
    GlobalCertificate,
    Interval,
    Occam,
    Projection,
    Spectral,
    conformal_radius,
    global_radius,
    guarded_delivery,
    local_interval,
    occam,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Scale:
    """What is done to raw feature columns: which are kept, and what each kept one is divided by."""

    keep: np.ndarray  # (columns,) boolean
    divisor: np.ndarray  # (kept,)
    dead: int

    def apply(self, phi: np.ndarray) -> np.ndarray:
        """Scaled columns (n, kept) of raw features (n, columns)."""
        return phi[:, self.keep] / self.divisor


def feature_scale(phi: np.ndarray, dead_sd: float, rule: str = "drop") -> Scale:
    """The scale of conditioning rows phi (n, columns): ``drop`` removes dead columns, ``clamp`` divides them by dead_sd."""
    sd = phi.std(axis=0)
    dead = sd < dead_sd
    keep = ~dead if rule == "drop" else np.ones_like(dead)
    return Scale(keep, np.maximum(sd, dead_sd)[keep], int(dead.sum()))


@dataclass(frozen=True)
class RecoveryHead:
    """The observations of the head in spectral form, and whether anything is consistent with them at all."""

    scale: Scale
    spec: Spectral
    occ: Occam
    eta: float
    sigma: float
    y_max: float
    norm_median: float

    @property
    def columns(self) -> int:
        """Feature columns after scaling."""
        return int(self.scale.divisor.size)

    @property
    def nullity(self) -> int:
        """Columns minus numerical rank."""
        return self.columns - len(self.spec.s2)

    @property
    def refusal(self) -> str | None:
        """Why no band can be delivered, or None."""
        if self.occ.refused:
            return f"empty consistent set: {self.occ.reason}"
        if not self.occ.rho > 0:
            return "the Occam radius is zero: the targets lie within the noise budget of the zero function"
        return None

    @property
    def pinv_norm(self) -> float:
        """Norm of the least-squares coefficients."""
        return float(np.sqrt(np.sum(self.spec.yt**2 / self.spec.s2)))

    def project(self, phi: np.ndarray) -> Projection:
        """The functionals of raw feature rows (n, columns)."""
        return self.spec.project(self.scale.apply(phi))


def build_head(phi: np.ndarray, y: np.ndarray, sigma: float, dead_sd: float, rule: str = "drop") -> RecoveryHead:
    """The head conditioned on raw features phi (n, columns) and targets y (n,), with noise level sigma."""
    scale = feature_scale(phi, dead_sd, rule)
    scaled = scale.apply(phi)
    spec = Spectral.from_features(scaled, y)
    eta = float(sigma * np.sqrt(y.size))
    norm = float(np.median(np.linalg.norm(scaled, axis=1)))
    return RecoveryHead(scale, spec, occam(spec, eta), eta, float(sigma), float(np.abs(y).max()), norm)


def calibrate(head: RecoveryHead, phi_cal: np.ndarray, y_cal: np.ndarray, method: str) -> ConformalRadius:
    """The conformal inflation of the Occam radius, and its additive floor, by the exact score or on the paper's grid.

    Both take the maximum over the calibration rows of the pure interval's score (no noise allowance), so the level is
    n_c / (n_c + 1). On the grid the floor is always evaluated, as in the paper; it is zero when the grid covers.
    """
    floor = "always" if method == "grid" else "auto"
    return conformal_radius(head.spec, head.project(phi_cal), y_cal, head.eta, head.occ.rho, method=method, floor=floor)


@dataclass(frozen=True)
class Delivered:
    """Intervals at test points: as computed, as delivered after the guard, and the global certificate beside them."""

    interval: Interval
    delivery: Delivery
    certificate: GlobalCertificate
    projection: Projection
    null_share: np.ndarray
    norm_ratio: float

    @property
    def worst_ratio(self) -> float:
        """Largest conditional half-width over global radius; Theorem 2(d) keeps it at or below 1."""
        radius = np.asarray(self.certificate.radius)
        positive = radius > 0
        return float((np.asarray(self.interval.half)[positive] / radius[positive]).max(initial=0.0))


def deliver(head: RecoveryHead, phi_test: np.ndarray, kappa: float, settings: Mapping[str, Any]) -> Delivered:
    """The guarded intervals at raw test features (n, columns) for radius kappa times the Occam radius.

    The guard's ridge value is the Occam solution's, the feasible element of smallest norm.
    """
    projection = head.project(phi_test)
    rho = kappa * head.occ.rho
    interval = local_interval(head.spec, projection, rho, head.eta, occ=head.occ)
    certificate = global_radius(head.spec, projection, rho, head.eta)
    delivery = guarded_delivery(
        interval,
        certificate,
        projection,
        interval.centre,
        head.y_max,
        gap_tol=settings["gap_tolerance"],
        drift_factor=settings["guard_factor"],
    )
    null_share, ratio = exposure(head, projection)
    return Delivered(interval, delivery, certificate, projection, null_share, ratio)


def exposure(head: RecoveryHead, projection: Projection) -> tuple[np.ndarray, float]:
    """Null-space shares of the test functionals, and their median norm over that of the conditioning rows."""
    norms = np.sqrt(np.asarray(projection.norm2))
    return np.asarray(projection.null_share), float(np.median(norms) / head.norm_median)
