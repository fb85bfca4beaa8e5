"""What is said above everything that is printed from a database: its newest audit saw other records or hypotheses, or it was changed without orledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.reports.audit_rows import AuditRows
from orledger.schema import chain
from orledger.wording import counted

if TYPE_CHECKING:
    from orledger.reports.source import Database
    from orledger.schema.reading import Results


def outdated(db: Database) -> str:
    """That the newest audit is older than the records or the hypotheses; empty where it saw both, or where there is none.

    It is read from the hashes that cells and texts are stored with: what cells hold is not read.
    """
    audit = AuditRows(db)
    said = []
    if audit.stale:
        said.append(
            f"The newest audit is older than the records: it {audit.stale.removeprefix('the newest audit ')}. Its verdicts, p-values and intervals do not speak about the"
            " records of today; orledger audit makes new ones."
        )
    if audit.unjudged:
        said.append(
            f"Registered or amended after the newest audit, which did not judge the text of today: {', '.join(audit.unjudged)};"
            " orledger audit judges it."
        )
    return " ".join(said)


def changed(results: Results) -> str:
    """That rows were changed without orledger, and one of them; empty where every row is as the chain recorded it.

    Everything is read and hashed again, as an audit does before it gives verdicts.
    """
    found = chain.verify(results.con, checked=True)
    if not found:
        return ""
    first, more = found[0], f", and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"This database was changed without orledger ({counted(len(found), 'finding')}: {first.rule}: {first.where},"
        f" {first.detail}{more}). No number or verdict here can be relied on; orledger verify lists everything."
    )
