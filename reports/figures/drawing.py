"""All figures of the report, by name, and the function that writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.errors import UsageError
from orledger.paper.figures import a as figures_a
from orledger.paper.figures import b as figures_b
from orledger.paper.figures import b_width as figures_b_width
from orledger.paper.figures import c as figures_c
from orledger.paper.figures import certificates as figures_certificates
from orledger.paper.figures import gap as figures_gap
from orledger.paper.figures import ladder as figures_ladder
from orledger.reports.audit_rows import AuditRows
from orledger.reports.figures.style import house_style, save
from orledger.reports.source import Remembering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from orledger.reports.figures.figure import Drawn, FigureSpec
    from orledger.reports.source import Database

FIGURES: dict[str, FigureSpec] = {
    spec.name: spec
    for module in (
        figures_a,
        figures_certificates,
        figures_ladder,
        figures_gap,
        figures_b,
        figures_b_width,
        figures_c,
    )
    for spec in module.FIGURES
}
FORMATS = ("svg", "pdf", "png")


def chosen(names: Iterable[str] = ()) -> list[FigureSpec]:
    """The figures called ``names``, or all of them; an unknown name is an error that lists the known ones."""
    wanted = list(names)
    unknown = [n for n in wanted if n not in FIGURES]
    if unknown:
        raise UsageError(f"unknown figure {unknown[0]!r}", hint=f"one of {', '.join(FIGURES)}")
    return [FIGURES[n] for n in wanted] if wanted else list(FIGURES.values())


def draw(db: Database, names: Iterable[str] = ()) -> Iterator[Drawn]:
    """The chosen figures drawn from ``db``, one after the other."""
    once = Remembering(db)  # figures of one block ask the same questions
    audit = AuditRows(once)
    for spec in chosen(names):
        with house_style():
            yield spec.render(once, audit)


def write_figures(
    db: Database, folder: Path, names: Iterable[str] = (), formats: Iterable[str] = FORMATS
) -> list[Path]:
    """Write the chosen figures into ``folder`` as ``<name>.<format>`` with captions in ``captions.md``; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths, captions = [], []
    for drawn in draw(db, names):
        with house_style():
            for suffix in formats:
                path = folder / f"fig_{drawn.name}.{suffix}"
                save(drawn.figure, path)
                paths.append(path)
        captions.append(f"**{drawn.name}. {drawn.title}.** {drawn.caption}\n")
    (folder / "captions.md").write_text("\n".join(captions), encoding="utf-8")
    return paths
