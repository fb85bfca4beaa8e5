"""The audit report as a PDF: the same tables, figures and dispositions, set by LaTeX."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.audit.registry.words import Outcome, Variant
from orledger.errors import OrledgerError
from orledger.reports.figures.drawing import save_pages
from orledger.reports.report.answering import Answers, answers
from orledger.reports.report.contents import Contents
from orledger.reports.report.differences import printed_by
from orledger.reports.report.document import MANY, REFERENCE, heading, headings
from orledger.reports.report.ledger import gather
from orledger.reports.report.wording import Names, claimed, headline, registered, said
from orledger.reports.tables import latex as tex
from orledger.reports.tables.building import offered
from orledger.reports.tables.prose import vocabulary
from orledger.schema import placing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orledger.reports.figures.figure import Drawn
    from orledger.reports.source import Planned
    from orledger.reports.tables.building import TableSpec
    from orledger.reports.tables.table import Table
    from orledger.schema.reading import Results
    from orledger.study import Study

SECONDS = 180
SAID = ("-tests", "-dispositions")  # generic tables of what the findings and the appendix have
SEVERAL = ("mean_ranks", "profile")  # of which a row holds several numbers, in tables and figures, and no single one
PRINTED = 100  # of the tests of a hypothesis that has too many; the page in HTML has all
WIDE = 6.5  # inches of text
# A fixed moment instead of the present one, so that two builds from one database are the same file.
ENVIRONMENT = {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}


class LatexError(OrledgerError):
    """pdflatex did not accept the document; its own last lines are in the message."""


def compile_document(folder: Path, name: str, latex: str) -> Path:
    """Run ``latex`` on ``name``.tex in ``folder`` until its page references settle, at most four times, without shell escape; returns the PDF."""
    command = [latex, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
    for run in range(4):
        try:
            done = subprocess.run(
                command, cwd=folder, env=os.environ | ENVIRONMENT, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise LatexError(f"pdflatex did not finish {name}.tex in {SECONDS} s") from error
        if done.returncode:
            tail = "\n".join(done.stdout.decode(errors="replace").splitlines()[-15:])
            raise LatexError(
                f"pdflatex failed on {name}.tex:\n{tail}", hint="the HTML report does not need LaTeX: --no-pdf"
            )
        if run and b"Rerun to get" not in done.stdout:
            break
    return folder / f"{name}.pdf"


@dataclass(frozen=True)
class PdfSection:
    """A section of the document: a case with its figures and its tables."""

    title: str
    figures: list[Drawn]
    tables: list[Table]


@dataclass(frozen=True)
class TestedComparison:
    """A comparison in the appendix: the row that decides first, then the same comparison with other units."""

    hypothesis: str
    title: str
    rows: list[dict[str, Any]]


def compared(tests: Iterable[dict[str, Any]]) -> list[TestedComparison]:
    """The tests by comparison, in the order of ``tests``."""
    found: dict[tuple[str, str], TestedComparison] = {}
    for test in tests:
        key = (test["hypothesis"], test["comparison"])
        found.setdefault(key, TestedComparison(test["hypothesis"], test["title"], [])).rows.append(test)
    for comparison in found.values():
        comparison.rows.sort(key=lambda t: (t["variant"] not in (Variant.DECLARED, Variant.BLOCKED), t["variant"]))
    return list(found.values())


def fewer(tests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tests that are printed: of a hypothesis with very many those with the smallest p, or of the rarest kinds, in the order of ``tests``."""
    kept: set[str] = set()
    kinds = Counter(t["test"] for t in tests)
    for hypothesis in dict.fromkeys(t["hypothesis"] for t in tests):
        own = [t for t in tests if t["hypothesis"] == hypothesis]
        if len(own) > MANY:
            own = sorted(own, key=lambda t: (2.0 if t["p"] is None else t["p"], kinds[t["test"]]))[:PRINTED]
        kept |= {t["test_id"] for t in own}
    return [t for t in tests if t["test_id"] in kept]


def parts(
    titles: Mapping[str, str], figures: Sequence[Drawn], tables: Sequence[Table], specs: Mapping[str, TableSpec]
) -> list[PdfSection]:
    """The sections in the order of ``titles``; a case that nobody foresaw comes last."""
    drawn: dict[str, list[Drawn]] = {}
    for figure in figures:
        drawn.setdefault(figure.case or REFERENCE, []).append(figure)
    tabled: dict[str, list[Table]] = {}
    for table in tables:
        if not (table.generic and table.name.endswith(SAID)):
            tabled.setdefault(specs[table.name].case or REFERENCE, []).append(table)
    known = dict(titles) | {name: name for name in (*drawn, *tabled) if name not in titles}
    return [
        PdfSection(
            title, drawn.get(name, []), sorted(tabled.get(name, []), key=tex.is_long)
        )  # long ones let no float pass
        for name, title in known.items()
        if name in drawn or name in tabled
    ]


def write_pdf(
    db: Results,
    path: Path,
    *,
    latex: str,
    title: str | None = None,
    planned: Sequence[Planned] = (),
    figures: Iterable[str] = (),
    chosen: Sequence[Study] | None = None,
    contents: Contents | None = None,
) -> Path:
    """The report of ``db`` as a PDF at ``path``, set by the program ``latex`` in a temporary folder.

    ``planned``, ``figures``, ``chosen`` and ``contents`` are those of ``render_report``.
    """
    contents = contents or Contents(db, planned, tuple(figures), chosen)
    here, tables = contents.studies, contents.tables
    printed, ledger, names = printed_by(here), gather(db), Names(studies.labels(here))
    hypotheses = registered(ledger.registrations)
    for test in ledger.tests:
        test["said"] = said(test, hypotheses.get(test["registration"]), names)
    titles = headings(ledger, here)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shown = save_pages(contents.figures(), folder / "figures.pdf")
        for table in tables:
            (folder / f"{table.name}.tex").write_text(tex.table(table, WIDE, longtable=True), encoding="utf-8")
        environment = tex.environment()
        environment.filters |= {"named": names.within, "headline": headline, "claimed": claimed}
        tested = [t for t in ledger.tests if t["p"] is not None or t["outcome"] != Outcome.MEASURED]
        measured = [t for t in ledger.tests if t["p"] is None and t["outcome"] == Outcome.MEASURED]
        measured = [t for t in measured if t["effect"] is not None or t["test"] not in SEVERAL]
        text = environment.get_template("report.tex.j2").render(
            title=heading(ledger, here) if title is None else title,
            ledger=ledger,
            tested=compared(fewer(tested)),
            untold=len(tested) - len(fewer(tested)),
            measured=fewer(measured),
            unmeasured=len(measured) - len(fewer(measured)),
            imported=contents.imported,
            several=len({t["hypothesis"] for t in ledger.tests}) > 1,
            registered_alike=len({(d["known"], d["receipt"]) for d in ledger.dispositions}) == 1,
            hypotheses={h.id: h.title for h in hypotheses.values()},
            titles=titles,
            parts=parts(titles, shown, tables, offered(db, here)),
            pages={drawn.name: page for page, drawn in enumerate(shown, start=1)},
            notices=contents.notices,
            said=Answers() if printed is not None else answers(ledger.tests, names),
            reasons=printed.reasons if printed is not None else (),
            is_long=tex.is_long,
            typed=vocabulary(here).typed,
        )  # fmt: skip
        (folder / "report.tex").write_text(text, encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        made, part = compile_document(folder, "report", latex).read_bytes(), placing.temporary_beside(path)
        try:
            part.write_bytes(made)
            part.replace(path)  # the whole file or none
        finally:
            placing.discard(part)
    return path
