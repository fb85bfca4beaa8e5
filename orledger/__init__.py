"""orledger: results in a ledger, audited and reported.

``orledger.open(path)`` opens a results database: records, audit, tables, figures and report. ``orledger.study(name)`` writes
one from a loop of one's own, ``orledger.study_from(frame)`` makes one of a frame in one call, and ``orledger.run_grid``
runs a grid of cells on the engines. ``orledger.recovery`` holds the
mathematics of Optimal Recovery. Everything heavy is imported on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from os.path import exists
from typing import TYPE_CHECKING, Any

# Python that is started in a checkout finds this folder before the package that is installed, and must find the rest of the
# same checkout, not that of another one.
if (_checkout := __file__.rpartition("orledger")[0]) and exists(f"{_checkout}pyproject.toml"):
    __path__ = [*__path__, _checkout]

from orledger import study
from orledger.errors import OrledgerError

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.from_frame import study_from
    from orledger.grid import run_grid
    from orledger.opened import Opened

__version__ = "0.2.0"
__all__ = ["OrledgerError", "__version__", "open", "run_grid", "study", "study_from"]


def open(path: str | Path, **options: Any) -> Opened:
    """The results database at ``path``, read-only, answering queries with polars frames."""
    from orledger.opened import open_database

    return open_database(path, **options)


def __getattr__(name: str) -> Any:
    if name == "run_grid":
        from orledger.grid import run_grid

        return run_grid
    if name == "study_from":
        from orledger.from_frame import study_from

        return study_from
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
