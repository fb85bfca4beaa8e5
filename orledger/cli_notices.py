"""What commands that print from a database say about it: an audit that is older than the records, and changes without orledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.cli_options import warn
from orledger.errors import VerificationError

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.schema.reading import Results


def noticed(results: Results) -> str:
    """That ``results`` were changed without orledger, empty where they were not; an audit that is older is a note on standard error."""
    from orledger.reports.notices import changed, outdated

    if older := outdated(results):
        warn(older)
    return changed(results)


def fail_if(changed: str, db: Path) -> None:
    """Raises the error with exit code 6 where ``changed`` says something: what was written says it too."""
    if changed:
        raise VerificationError(f"{db}: {changed[:1].lower()}{changed[1:]}")
