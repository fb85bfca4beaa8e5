"""orledger: run, store, audit and report worst-case certificates for Bayesian learning systems.

``orledger.open(path)`` opens a results database for reading; ``orledger.recovery`` holds the mathematics. Everything
heavy is imported on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.errors import OrledgerError

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.schema.reading import Results

__version__ = "0.2.0"
__all__ = ["OrledgerError", "__version__", "open"]


def open(path: str | Path, **options: Any) -> Results:
    """A read-only view of the results database at ``path``, answering queries with polars frames."""
    from orledger.schema.reading import open_results

    return open_results(path, **options)
