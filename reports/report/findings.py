"""What reproduces and what does not: a short document, generated from the database, the paper's numbers and a list of known gaps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from orledger.audit.recheck.checking import recheck
from orledger.audit.recheck.findings import summary
from orledger.audit.recheck.model import Verdict
from orledger.paper.conclusions import paper, reasons
from orledger.paper.names import ARMS
from orledger.paper.published import publication
from orledger.reports.report.differences import ABSENT, VERDICTS, differences, table_lines
from orledger.reports.report.document import number
from orledger.reports.report.ledger import Ledger, gather
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.render import markdown_inline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.reports.source import Database, Planned


@dataclass(frozen=True)
class Convention:
    """Printed numbers that fit one and the same reading, which is not the one stated or usual."""

    name: str
    printed: tuple[str, ...]
    places: tuple[str, ...]


def conventions(checked: Sequence[Finding]) -> list[Convention]:
    """The numbers whose check needed another convention, by convention, the most frequent first."""
    groups: dict[str, list[Finding]] = {}
    for finding in checked:
        if finding.verdict is Verdict.CONVENTION:
            groups.setdefault(finding.convention or "", []).append(finding)
    found = [
        Convention(name, tuple(f.printed for f in group), tuple(dict.fromkeys(_paragraph(f.place) for f in group)))
        for name, group in groups.items()
    ]
    return sorted(found, key=lambda c: (-len(c.printed), c.name))


def _paragraph(place: str) -> str:
    """The table or paragraph of a place, without its row, column and title."""
    return place.split(", row ")[0].split(" (")[0]


def short(value: Any) -> str:
    """A number for a sentence: three significant digits, whole numbers whole."""
    return number(value if value is None or float(value).is_integer() else float(f"{value:.3g}"))


def findings(db: Database, planned: Sequence[Planned] = ()) -> str:
    """The document as Markdown; it names the database by its content, so that a copy under another name gives the same bytes."""
    ledger: Ledger = gather(db)
    found = differences(build_tables(db, planned))
    checked = recheck(publication())
    env = Environment(
        loader=PackageLoader("orledger.templates", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - Markdown: every text goes through its own escape filter
        keep_trailing_newline=True,
    )
    env.filters |= {"text": markdown_inline, "short": short, "arm": lambda key: ARMS.get(key, key)}
    return env.get_template("findings.md.j2").render(
        ledger=ledger,
        paper=paper()["hypothesis"],
        reasons=reasons(),
        lines=table_lines(found),
        verdicts=[v for v in VERDICTS if v != ABSENT],
        counts=Counter(d.verdict for d in found),
        checked=summary(checked),
        inconsistent=[f for f in checked if f.verdict.severity > Verdict.CONVENTION.severity],
        conventions=conventions(checked),
    )  # fmt: skip
