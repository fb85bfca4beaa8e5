"""Optimal Recovery: exact certificates, conditional intervals and their calibration. NumPy in, NumPy out.

>>> import numpy as np
>>> from orledger.recovery import Spectral, local_interval, occam
>>> spec = Spectral.from_features(np.eye(2), np.array([3.0, 4.0]))
>>> proj = spec.project(np.array([[1.0, 0.0]]))
>>> occam(spec, eta=1.0).rho
4.0
"""

from orledger.recovery.errors import EmptySetError, GramError, InputError, RecoveryError, SingularGramError
from orledger.recovery.interval import Interval, local_interval
from orledger.recovery.occam import Occam, occam
from orledger.recovery.projection import Moments, Projection
from orledger.recovery.radius import GRID97, GlobalCertificate, global_radius, radius_values
from orledger.recovery.spectral import Spectral
