"""Errors of the regressor that are also the ValueErrors scikit-learn expects."""

from __future__ import annotations

from orledger.recovery.errors import InputError


class ParameterError(InputError, ValueError):
    """A constructor setting or an argument of a method that cannot be used."""


class NotCalibratedError(InputError, ValueError):
    """An interval for a new observation was asked of a model that has not been calibrated."""


class ZeroNoiseWarning(UserWarning):
    """The noise level was estimated as zero: every row is then taken as exact."""


class LevelWarning(UserWarning):
    """The calibration rows are too few for the level asked for; the level achieved is reported instead."""


class DroppedColumnWarning(UserWarning):
    """Columns that are not constant vary by so few rounding units of their size that they are left out."""
