"""The findings of a recheck for a review: a page of HTML, and summaries in Markdown and LaTeX, grouped by cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.findings import Finding, grouped, summary
from orledger.audit.recheck.model import CheckVerdict
from orledger.reports.jinja import asset, environment
from orledger.reports.report.templating import TONES, judged
from orledger.reports.tables import latex
from orledger.reports.tables.render import markdown_inline
from orledger.wording import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Rechecked:
    """What is shown: the name of the paper, every finding, how many relations of each kind were tried, and what was not read."""

    name: str
    findings: Sequence[Finding]
    tried: Mapping[str, int]
    notes: Sequence[str] = ()

    def shown(self) -> dict[str, object]:
        """The values of the templates."""
        return {
            "name": self.name,
            "groups": grouped(self.findings),
            "counts": {verdict: n for verdict, n in summary(self.findings).items() if n},
            "total": len(self.findings),
            "tried": dict(self.tried),
            "notes": list(self.notes),
        }


def html(rechecked: Rechecked) -> str:
    """The page; every text of the paper is escaped."""
    env = environment(html=True)
    env.filters |= {"tone": lambda word: TONES.get(word, "v-open"), "judged": judged}  # shared.html.j2 names both
    page = env.get_template("recheck.html.j2")
    seen = {f.verdict for f in rechecked.findings}
    meanings = {verdict.value: verdict.meaning for verdict in CheckVerdict if verdict in seen}
    css = {"css": asset("report.css"), "own_css": asset("recheck.css")}
    return visible(page.render(rechecked.shown() | css, meanings=meanings))


def markdown(rechecked: Rechecked) -> str:
    """The summary in Markdown; every text of the paper goes through the filter `text`."""
    env = environment(html=False)
    env.filters["text"] = markdown_inline
    return visible(env.get_template("recheck.md.j2").render(rechecked.shown()))


def tex(rechecked: Rechecked) -> str:
    """The summary as a piece of LaTeX, to be put into a review; every text of the paper is escaped."""
    return latex.fill("recheck.tex.j2", **rechecked.shown())
