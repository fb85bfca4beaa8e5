"""The errors of the recovery package: each says which argument or set is at fault, the value seen, and what to do."""

from __future__ import annotations

from orledger.errors import OrledgerError


class RecoveryError(OrledgerError):
    """Base of everything `orledger.recovery` raises on purpose."""


class InputError(RecoveryError):
    """An argument that cannot be used: non-finite values, wrong shape, a negative bound, no data."""

    exit_code = 5


class GramError(InputError):
    """A Gram matrix that is not one: not symmetric, or with an eigenvalue below zero by more than rounding."""


class SingularGramError(GramError):
    """A numerically singular Gram matrix where full rank was asked for, or exact rows that contradict each other."""


class EmptySetError(RecoveryError):
    """No element is consistent with the data at this noise level and radius: the caller must refuse, not widen.

    `margin` is negative: eta minus the best misfit, or rho minus the Occam radius.
    """

    exit_code = 5

    def __init__(self, message: str, *, margin: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.margin = margin
