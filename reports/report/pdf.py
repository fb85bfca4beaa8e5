"""The audit report as a PDF: the same tables, figures and dispositions, set by LaTeX."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from orledger import studies
from orledger.errors import OrledgerError
from orledger.reports.figures.drawing import draw
from orledger.reports.figures.style import save
from orledger.reports.report.differences import printed_by
from orledger.reports.report.ledger import gather
from orledger.reports.tables import latex as tex
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.prose import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orledger.reports.source import Database, Planned
    from orledger.study import Study

SECONDS = 180
# A fixed moment instead of the present one, so that two builds from one database are the same file.
ENVIRONMENT = {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}


class LatexError(OrledgerError):
    """pdflatex did not accept the document; its own last lines are in the message."""


def compile_document(folder: Path, name: str, latex: str) -> Path:
    """Run ``latex`` twice (for page references) on ``name``.tex in ``folder``, without shell escape; returns the PDF."""
    command = [latex, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
    for _ in range(2):
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
    return folder / f"{name}.pdf"


def write_pdf(
    db: Database,
    path: Path,
    *,
    latex: str,
    title: str = "Audit report",
    planned: Sequence[Planned] = (),
    figures: Iterable[str] = (),
    chosen: Sequence[Study] | None = None,
) -> Path:
    """The report of ``db`` as a PDF at ``path``, set by the program ``latex`` in a temporary folder.

    ``planned``, ``figures`` and ``chosen`` are those of ``render_report``.
    """
    here = studies.present(db) if chosen is None else chosen
    printed = printed_by(here)
    tables = build_tables(db, planned, chosen=here)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shown = []
        for drawn in draw(db, figures, here):
            save(drawn.figure, folder / f"fig_{drawn.name}.pdf")
            shown.append(drawn)
        for table in tables:
            (folder / f"{table.name}.tex").write_text(tex.table(table), encoding="utf-8")
        text = tex.environment().get_template("report.tex.j2").render(
            title=title,
            ledger=gather(db),
            tables=tables,
            figures=shown,
            reasons=printed.reasons if printed is not None else (),
            typed=vocabulary(here).typed,
        )  # fmt: skip
        (folder / "report.tex").write_text(text, encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(compile_document(folder, "report", latex).read_bytes())
    return path
