"""The findings of a recheck for a review: a page of HTML, and summaries in Markdown and LaTeX, grouped by cause."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orledger.audit.recheck.findings import Finding, grouped, summary
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


def _environment(*, autoescape: bool) -> Environment:
    return Environment(
        loader=PackageLoader("orledger.templates", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=autoescape,  # noqa: S701 - off for Markdown alone, where every text goes through its own filter
        keep_trailing_newline=True,
    )


def html(rechecked: Rechecked) -> str:
    """The page; every text of the paper is escaped."""
    css = Markup(files("orledger.templates").joinpath("report.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file
    return visible(_environment(autoescape=True).get_template("recheck.html.j2").render(rechecked.shown(), css=css))


def markdown(rechecked: Rechecked) -> str:
    """The summary in Markdown; every text of the paper goes through the filter `text`."""
    env = _environment(autoescape=False)
    env.filters["text"] = markdown_inline
    return visible(env.get_template("recheck.md.j2").render(rechecked.shown()))


def tex(rechecked: Rechecked) -> str:
    """The summary as a piece of LaTeX, to be put into a review; every text of the paper is escaped."""
    return latex.fill("recheck.tex.j2", **rechecked.shown())
