"""The files of a study: report, tables and figures in one folder, from the database alone."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.wording import counted, sized

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orledger.study import Study


@dataclass(frozen=True)
class Written:
    """A file or folder that was written, and how much it is."""

    path: Path
    files: int
    bytes: int

    @property
    def line(self) -> str:
        """One line for people."""
        size = counted(self.files, "file") if self.path.is_dir() else sized(self.bytes)
        return f"{self.path}: {size}"


TABLE_FORMATS = ("tex", "csv", "md", "html", "typ", "txt")


def check_declared(db: Path, declared: Study) -> None:
    """Raises UsageError when a table or figure of ``declared`` names what the database does not have."""
    from orledger.reports.figures.declared import check
    from orledger.reports.tables.declared import offers
    from orledger.schema.reading import open_results

    with open_results(db) as results:
        list(offers(results, [declared]))
        for figure in declared.figure_displays:
            check(results, declared, figure)


def write_study(
    db: Path,
    folder: Path,
    *,
    title: str | None,
    width: str = "two",
    pdf: bool | None = None,
    declared: Study | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> list[Written]:
    """Writes report.html (and report.pdf where LaTeX is installed), tables/ and figures/ into ``folder``.

    ``step`` is told what is being made. ``declared`` is a study that is not installed and has tables, figures and labels for this database.
    """
    from orledger import studies
    from orledger.cli_output import check_folder, filling, write_file, writing_to
    from orledger.errors import UsageError
    from orledger.reports.figures.drawing import draw, write_figures
    from orledger.reports.figures.style import COLUMN_WIDTH
    from orledger.reports.report.contents import Contents
    from orledger.reports.report.document import render_report
    from orledger.reports.report.pdf import write_pdf
    from orledger.reports.source import database_hash
    from orledger.reports.tables.writing import write_tables
    from orledger.schema.reading import open_results

    latex = shutil.which("pdflatex")
    if pdf and latex is None:
        raise UsageError(
            "a PDF needs pdflatex, and it is not installed", hint="install a TeX distribution, or --no-pdf"
        )
    check_folder(folder)
    with open_results(db) as results:
        chosen = studies.present(results, () if declared is None else (declared,))
        contents = Contents(results, chosen=chosen)
        step("tables")
        with filling(folder / "tables") as inside:
            tables = write_tables(contents.tables, inside, TABLE_FORMATS, database_hash(results))
        made = contents.figures() if width == "two" else draw(contents.quick, chosen=chosen, width=COLUMN_WIDTH)
        with filling(folder / "figures") as inside:
            figures = write_figures(results, inside, progress=step, made=made)
        step("report")
        write_file(folder / "report.html", render_report(results, title=title, contents=contents, step=step))
        files = [folder / "report.html"]
        if latex is not None and pdf is not False:
            step("PDF")
            with writing_to(folder / "report.pdf"):
                files.append(write_pdf(results, folder / "report.pdf", title=title, latex=latex, contents=contents))
        contents.close()
    sizes = {folder / "tables": tables, folder / "figures": figures}
    sizes = {place: [place / p.name for p in made] for place, made in sizes.items()} | {f: [f] for f in files}
    return [Written(path, len(made), sum(p.stat().st_size for p in made)) for path, made in sizes.items()]
