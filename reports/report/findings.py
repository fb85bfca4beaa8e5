"""What reproduces and what does not: a short document, generated from the database, the printed numbers and a list of known gaps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.audit.recheck.checking import recheck
from orledger.audit.recheck.findings import paragraph, summary
from orledger.audit.recheck.model import CheckVerdict
from orledger.errors import UsageError
from orledger.reports.jinja import environment
from orledger.reports.notices import outdated
from orledger.reports.report.differences import ABSENT, VERDICTS, differences, printed_by, table_lines
from orledger.reports.report.ledger import ReportFacts, gather
from orledger.reports.report.wording import Names, headline, number
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.render import markdown_inline
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.reports.report.differences import Printed
    from orledger.reports.source import Database, Planned
    from orledger.study import Study


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
        if finding.verdict is CheckVerdict.CONVENTION:
            groups.setdefault(finding.convention or "", []).append(finding)
    found = [
        Convention(name, tuple(f.printed for f in group), tuple(dict.fromkeys(paragraph(f.place) for f in group)))
        for name, group in groups.items()
    ]
    return sorted(found, key=lambda c: (-len(c.printed), c.name))


def short(value: Any) -> str:
    """A number for a sentence: three significant digits, whole numbers whole."""
    return number(value if value is None or float(value).is_integer() else float(f"{value:.3g}"))


def smaller(ledger: ReportFacts, printed: Printed) -> str:
    """That no run here followed the publication's protocol, and which preset was run instead; empty where one did, or where none is known."""
    presets = sorted({run["preset"] for run in ledger.runs})
    if not printed.preset or not presets or printed.preset in presets:
        return ""
    cells = counted(sum(b["done"] for b in ledger.blocks), "cell")
    return (
        f"Computed with preset {' and '.join(presets)}: {cells}, which are fewer, smaller or others than those of the publication's protocol (preset {printed.preset})."
        " That a number differs below says nothing about the publication, and agreement is no reproduction."
    )


def findings(
    db: Database, planned: Sequence[Planned] = (), chosen: Sequence[Study] | None = None, changed: str = ""
) -> str:
    """The document as Markdown; it names the database by its content, so that a copy under another name gives the same bytes.

    It begins with what ``changed`` says of the whole database, an audit that is older than the records, and another preset than the publication's.
    """
    here = studies.present(db) if chosen is None else chosen
    printed = printed_by(here)
    if printed is None:
        raise UsageError(
            "no study in this database brings printed numbers to compare with",
            hint="orledger report shows everything else",
        )
    ledger: ReportFacts = gather(db)
    tables = build_tables(db, planned, chosen=here)
    found = differences(tables, printed)
    checked = recheck(printed.publication)
    labels = studies.labels(here)
    env = environment(html=False)
    names = Names(labels)
    env.filters |= {
        "text": markdown_inline,
        "short": short,
        "arm": lambda key: labels.get(key, key),
        "headline": headline,
        "named": names.within,
    }
    return env.get_template("findings.md.j2").render(
        ledger=ledger,
        notices=[text for text in (changed, outdated(db), smaller(ledger, printed)) if text],
        conclusions=printed.conclusions,
        reasons=printed.reasons,
        lines=table_lines(found, tables, printed),
        verdicts=[v for v in VERDICTS if v != ABSENT],
        counts=Counter(d.verdict for d in found),
        checked=summary(checked),
        inconsistent=[f for f in checked if f.verdict.severity > CheckVerdict.CONVENTION.severity],
        conventions=conventions(checked),
    )  # fmt: skip
