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


class ProductsError(InputError):
    """Inner products b and a squared norm kxx that no functional has: point, how much of kxx b explains, and kxx.

    hidden: b explains too much only once directions count that rounding hides in the Gram matrix.
    """

    def __init__(self, point: int, share: float, kxx: float, *, hidden: bool = False) -> None:
        where = ", in directions that rounding hides in this Gram matrix" if hidden else ""
        super().__init__(
            f"point {point}: b explains {share:.6g} times kxx = {kxx:.6g}{where}, so these are not inner products with the rows "
            "of this Gram matrix",
            hint="check the order of rows, the scaling, and that kxx is the squared norm of the same functional",
        )
        self.point, self.share, self.kxx = point, share, kxx


class EmptySetError(RecoveryError):
    """No element is consistent with the data at this noise level and radius: the caller must refuse, not widen.

    `margin` is negative: eta minus the best misfit, or rho minus the Occam radius.
    """

    exit_code = 5

    def __init__(self, message: str, *, margin: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.margin = margin
