"""Optimal Recovery: exact certificates, conditional intervals and their calibration. NumPy in, NumPy out.

Observations y = Phi theta + e with |theta| <= rho and |e| <= eta; what can be said about c . theta? Factor once, then ask
for as many functionals as needed:

>>> import numpy as np
>>> from orledger.recovery import Spectral, global_radius, local_interval, occam
>>> spec = Spectral.from_features(np.eye(2), np.array([3.0, 4.0]))
>>> occam(spec, eta=1.0).rho                                # the smallest norm that explains the data within eta
4.0
>>> points = spec.project(np.array([[0.6, 0.8], [0.8, -0.6]]))
>>> band = local_interval(spec, points, rho=5.0, eta=1.0)   # what the data allow, given the ball
>>> band.lower.round(3).tolist(), band.upper.round(3).tolist()
([4.0, -0.995], [5.0, 0.995])
>>> global_radius(spec, points, eps=5.0, eta=1.0).radius.round(3).tolist()   # what any data could leave open
[1.0, 1.0]

Data that no element explains are refused, with the margin, instead of being given a width:

>>> occam(Spectral.from_features(np.ones((2, 1)), np.array([0.0, 2.0])), eta=1.0).refused
True

Kernel form: `Spectral.from_gram(G, y)` and `spec.project(b, kxx)`. Rows that hold exactly: `exact=mask`. For tabular data
there is `CertifiedRegressor`, a scikit-learn estimator. torch tensors are accepted wherever arrays are.
"""

from typing import TYPE_CHECKING, Any

from orledger.recovery.conformal import KAPPA_CAP, KAPPA_GRID, ConformalRadius, conformal_radius
from orledger.recovery.delivery import Delivery, Substitution, guarded_delivery
from orledger.recovery.errors import EmptySetError, GramError, InputError, RecoveryError, SingularGramError
from orledger.recovery.interval import Interval, local_interval
from orledger.recovery.invariance import Invariance, flatness_bound, kappa_invariance
from orledger.recovery.kernel import KernelRecovery
from orledger.recovery.lcurve import CORNERS, lcurve_corner
from orledger.recovery.occam import Occam, occam
from orledger.recovery.primal import primal_elements
from orledger.recovery.projection import Moments, Projection
from orledger.recovery.radius import GRID97, GlobalCertificate, global_radius, radius_values
from orledger.recovery.rules import (
    CRITERIA,
    RuleChoice,
    discrepancy,
    gcv,
    log_marginal,
    matched_mu,
    minimise,
    profiled_scale,
)
from orledger.recovery.scores import covering_radius
from orledger.recovery.spectral import Spectral
from orledger.recovery.transfer import TruthCoverage, gaussian_truth_coverage, truth_coverage
from orledger.recovery.waterfill import WaterFill, pinsker_variances

if TYPE_CHECKING:
    from orledger.recovery.regression import (
        CertifiedPipeline,
        CertifiedRegressor,
        IntervalPrediction,
        certified_pipeline,
        interval_score,
        interval_scorer,
    )

__all__ = [
    "CORNERS", "CRITERIA", "GRID97", "KAPPA_CAP", "KAPPA_GRID", "CertifiedPipeline", "CertifiedRegressor", "ConformalRadius", "Delivery", "EmptySetError",
    "GlobalCertificate", "GramError", "InputError", "Interval", "IntervalPrediction", "Invariance", "KernelRecovery", "Moments", "Occam", "Projection",
    "RecoveryError", "RuleChoice", "SingularGramError", "Spectral", "Substitution", "TruthCoverage", "WaterFill",
    "certified_pipeline", "conformal_radius", "covering_radius", "discrepancy", "flatness_bound", "gaussian_truth_coverage", "gcv",
    "global_radius", "guarded_delivery", "interval_score", "interval_scorer", "kappa_invariance", "lcurve_corner", "local_interval", "log_marginal",
    "matched_mu", "minimise", "occam", "pinsker_variances", "primal_elements", "profiled_scale", "radius_values", "truth_coverage",
]  # fmt: skip


_REGRESSION = (
    "CertifiedPipeline",
    "CertifiedRegressor",
    "IntervalPrediction",
    "certified_pipeline",
    "interval_score",
    "interval_scorer",
)


def __getattr__(name: str) -> Any:
    """The regressor and its tools, loaded on first use: scikit-learn is a slow import that the numerics do not need."""
    if name in _REGRESSION:
        from orledger.recovery import regression

        return getattr(regression, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
