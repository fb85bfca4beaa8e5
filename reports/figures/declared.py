"""Figures that a study.toml declares: a generic kind, a metric, and whose tests are drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from orledger.errors import UsageError
from orledger.reports.audit_rows import AuditRows
from orledger.reports.displays import place, require
from orledger.reports.figures.figure import FigureSpec
from orledger.reports.figures.generic import draw_differences, draw_forest, draw_heat, draw_slopes
from orledger.reports.figures.generic_curves import draw_trajectories
from orledger.reports.figures.generic_ranks import draw_critical, draw_improvement, draw_profiles, draw_ranks
from orledger.reports.figures.generic_specs import Draw, against, drawn
from orledger.reports.generic import Subject, subjects
from orledger.studies import labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.reports.displays import CatalogueBlock
    from orledger.reports.source import Database
    from orledger.study import Study
    from orledger.study_displays import FigureDisplay

DRAWN: dict[str, Draw] = {
    "critical": draw_critical,
    "ranks": draw_ranks,
    "forest": draw_forest,
    "differences": draw_differences,
    "slopes": draw_slopes,
    "map": draw_heat,
    "improvement": draw_improvement,
    "profiles": draw_profiles,
    "trajectories": draw_trajectories,
}
OF_VALUES = ("map", "against", "trajectories")  # kinds that need no test


def offers(results: Database, chosen: Sequence[Study]) -> Iterator[FigureSpec]:
    """The declared figures of ``chosen`` studies; a name that is not in the data is an error here, before anything is drawn."""
    for study in chosen:
        for display in study.figure_displays:
            at = check(results, study, display)
            subject = replace(_subject(results, display, at), labels=labels(chosen))
            draw = partial(against, display.key) if display.key is not None else DRAWN[display.kind]
            yield FigureSpec(display.name, at.case, display.title, partial(drawn, draw, subject))


def check(results: Database, study: Study, display: FigureDisplay) -> CatalogueBlock:
    """Where the numbers of ``display`` are, after its names were found in the data."""
    at = place(results, study, display)
    if display.key is not None:
        at.require("key", display.key, at.keys)
    return at


def _subject(results: Database, display: FigureDisplay, at: CatalogueBlock) -> Subject:
    """What the audit compared by the metric; for kinds that show values only, the values of all arms where it compared nothing."""
    audited = [s for s in subjects(results) if (s.case, s.block) == (at.case, at.block)]
    found = [s for s in audited if s.metric == display.metric]
    if display.hypothesis is not None:
        require(display.place, "hypothesis on this metric", display.hypothesis, [s.hypothesis for s in found])
        found = [s for s in found if s.hypothesis == display.hypothesis]
    if len(found) > 1:
        raise UsageError(
            f"{display.place}: {len(found)} hypotheses compare arms by {display.metric!r}",
            hint=f"hypothesis = one of {', '.join(s.hypothesis for s in found)}",
        )
    if found:
        return found[0]
    if display.kind not in OF_VALUES:
        compared = dict.fromkeys(s.metric for s in audited)
        raise UsageError(
            f"{display.place}: the audit compares no arms by {display.metric!r}, and kind {display.kind} shows tests",
            hint=f"it compares them by {', '.join(compared)}" if compared else "orledger audit compares them",
        )
    metric = at.metrics[display.metric]
    layout = next(found for found in results.layouts() if (found.case, found.block) == (at.case, at.block))
    return Subject(
        results, AuditRows(results), at.case, layout, metric.name, at.keys, (), at.arms, {},
        metric.indexed, metric.better or "lower", metric.description,
    )  # fmt: skip
