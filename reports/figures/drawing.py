"""All figures of the studies at hand, by name, and the function that writes them."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from orledger import studies
from orledger.errors import Note, UsageError
from orledger.reports.audit_rows import AuditRows
from orledger.reports.figures import declared as declarations
from orledger.reports.figures import generic_specs
from orledger.reports.figures.style import METADATA, TEXT_WIDTH, house_style, laid_out, outlines_only, save, unset
from orledger.reports.source import Remembering
from orledger.reports.tables.render import markdown_inline
from orledger.wording import one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from orledger.reports.figures.figure import Drawn, FigureSpec
    from orledger.reports.source import Database
    from orledger.study import Study

FORMATS = ("svg", "pdf", "png")


def declared(chosen: Iterable[Study] | None = None) -> dict[str, FigureSpec]:
    """The figures of ``chosen`` studies (all installed ones by default) by name, in the order of the document."""
    found: dict[str, FigureSpec] = {}
    for study in studies.installed() if chosen is None else chosen:
        for module in study.modules("figures"):
            for spec in module.FIGURES:
                found.setdefault(spec.name, spec)
    return found


def select(db: Database, names: Iterable[str] = (), chosen: Sequence[Study] | None = None) -> list[FigureSpec]:
    """The figures called ``names``, of any installed study, or all of the studies that have cells in the database.

    Case does not matter; an unknown name is an error that lists the known ones.
    """
    asked = list(names)
    here = studies.present(db) if chosen is None else chosen
    generic = {spec.name: spec for spec in (*declarations.offers(db, here), *generic_specs.offers(db, here))}
    if not asked:
        return list({**generic, **declared(here)}.values())
    known = {**generic, **declared(chosen)}
    by_name = {name.lower(): spec for name, spec in known.items()}
    unknown = [n for n in asked if n.lower() not in by_name]
    if unknown:
        raise UsageError(f"unknown figure {unknown[0]!r}", hint=one_of(unknown[0], list(known)))
    return [by_name[n.lower()] for n in asked]


def draw(
    db: Database,
    names: Iterable[str] = (),
    chosen: Sequence[Study] | None = None,
    *,
    width: float = TEXT_WIDTH,
    style: str = "print",
) -> Iterator[Drawn]:
    """The chosen figures drawn from ``db``, one after the other, ``width`` inches wide."""
    once = Remembering(db)  # figures of one block ask the same questions
    audit = AuditRows(once)
    for spec in select(once, names, chosen):
        with house_style(style):
            yield spec.render(once, audit, width)


def save_pages(figures: Iterable[Drawn], path: Path) -> list[Drawn]:
    """Write ``figures`` as the pages of one PDF, whose fonts are embedded once; returns them in the order of their pages."""
    from matplotlib.backends.backend_pdf import PdfPages

    shown, buffer = [], io.BytesIO()  # in memory first, as in ``save``
    with house_style(), laid_out(), outlines_only(), PdfPages(buffer, metadata=METADATA["pdf"]) as pages:
        for drawn in figures:
            pages.savefig(drawn.figure)
            shown.append(drawn)
    path.write_bytes(buffer.getvalue())
    return shown


def write_figures(
    db: Database,
    folder: Path,
    names: Iterable[str] = (),
    formats: Iterable[str] = FORMATS,
    chosen: Sequence[Study] | None = None,
    *,
    width: float = TEXT_WIDTH,
    dpi: float | None = None,
    style: str = "print",
    progress: Callable[[str], None] | None = None,
    made: Iterable[Drawn] | None = None,
) -> list[Path]:
    """Write the chosen figures into ``folder`` as ``<name>.<format>`` with captions in ``captions.md``; returns the paths.

    ``width`` is in inches: ``COLUMN_WIDTH`` for one column of a two-column page, ``TEXT_WIDTH`` for both. ``progress`` is told the name of every figure when its files are written.
    ``made`` are the figures where a report draws the same ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths, captions = [], []
    boxes: set[str] = set()
    wanted = list(formats)
    for drawn in draw(db, names, chosen, width=width, style=style) if made is None else made:
        said = f"{drawn.caption} {drawn.cited}".rstrip()
        with house_style(style):
            for suffix in wanted:
                path = folder / f"fig_{drawn.name}.{suffix}"
                save(drawn.figure, path, title=drawn.heading, description=said, dpi=dpi)
                paths.append(path)
            boxes |= unset(drawn.figure)
        title, text = markdown_inline(f"{drawn.name}. {drawn.title}."), markdown_inline(said)
        captions.append(f"**{title}** {text}".rstrip() + "\n")
        if progress is not None:
            progress(drawn.name)
    (folder / "captions.md").write_text("\n".join(captions), encoding="utf-8")
    if boxes and {*wanted} - {"svg"}:
        warnings.warn(
            f"the font of the figures has no {''.join(sorted(boxes))}: PNG and PDF show boxes there; an SVG shows them in a browser",
            Note,
            stacklevel=2,
        )
    return paths
