"""Numbers printed in the paper, transcribed as data, with the checks on them."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from orledger.audit.recheck.data import load_publication
from orledger.paper import rules  # noqa: F401  (importing it registers the rules of the protocol)

if TYPE_CHECKING:
    from orledger.audit.recheck.model import Publication


@cache
def publication() -> Publication:
    """The transcription that ships with the package."""
    return load_publication(resources.files(__name__))
