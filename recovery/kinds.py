"""What functions of this package are given of one another: an object of another kind is refused by name, in this one place."""

from __future__ import annotations

from typing import Any

from orledger.recovery.errors import InputError

MADE_BY = {
    "Spectral": ("the observations are", "a Spectral: from_gram or from_features"),
    "Projection": ("the points are", "what spec.project(...) returns"),
    "Interval": ("the intervals are", "what local_interval(...) returns"),
    "GlobalCertificate": ("the certificate is", "what global_radius(...) returns"),
}
"""The kinds by the name of their class: what a message calls the argument, and where such an object comes from."""


def require(value: Any, kind: str) -> None:
    """Nothing when `value` is of a `kind` of MADE_BY; an InputError that says what it is, and what to pass, otherwise."""
    from orledger import recovery  # when called: these classes import the modules that ask for them

    if not isinstance(value, getattr(recovery, kind)):
        what, source = MADE_BY[kind]
        seen = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise InputError(f"{what} {seen}", hint=f"pass {source}")
