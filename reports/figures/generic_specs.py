"""Which generic figures a database has: those that say something about a subject, and no empty ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from orledger.reports.figures.figure import Canvas, FigureSpec
from orledger.reports.figures.generic import draw_differences, draw_forest, draw_heat, draw_slopes
from orledger.reports.figures.generic_curves import draw_against, draw_trajectories, has_trajectories, numeric_keys
from orledger.reports.figures.generic_ranks import draw_critical, draw_improvement, draw_profiles, draw_ranks
from orledger.reports.generic import slug
from orledger.reports.tables.generic_specs import generic_subjects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orledger.reports.generic import Subject
    from orledger.reports.source import Database
    from orledger.study import Study

Draw = Callable[[Canvas, "Subject"], str]


def offers(results: Database, chosen: Iterable[Study]) -> list[FigureSpec]:
    """The generic figures of every subject that no study of ``chosen`` draws itself."""
    return [spec for s in generic_subjects(results, chosen) for spec in _of(s)]


def _of(subject: Subject) -> Iterator[FigureSpec]:
    def spec(suffix: str, title: str, draw: Draw) -> FigureSpec:
        return FigureSpec(f"{subject.name}-{suffix}", subject.case, title, partial(drawn, draw, subject), generic=True)

    if subject.ranking is not None and len(subject.arms) > 2:
        yield spec("critical", f"Critical differences, {subject.metric}", draw_critical)
        yield spec("ranks", f"Mean ranks, {subject.metric}", draw_ranks)
    if subject.pairs:
        yield spec("forest", f"Effects, {subject.metric}", draw_forest)
        yield spec("differences", f"Differences by unit, {subject.metric}", draw_differences)
        yield spec("slopes", f"Paired values, {subject.metric}", draw_slopes)
    if len(subject.arms) > 2:
        yield spec("map", f"Ranks by unit, {subject.metric}", draw_heat)
    if subject.of("improvement"):
        yield spec("improvement", f"Probability of improvement, {subject.metric}", draw_improvement)
    if subject.of("profile"):
        yield spec("profiles", f"Performance profiles, {subject.metric}", draw_profiles)
    for key in numeric_keys(subject):
        yield spec(f"against-{slug(key)}", f"{subject.metric} against {key}", partial(against, key))
    if has_trajectories(subject):
        yield spec("trajectories", f"Trajectories of {subject.metric}", draw_trajectories)


def against(key: str, canvas: Canvas, subject: Subject) -> str:
    """The figure of the metric against ``key``, the key first so that it can be fixed."""
    return draw_against(canvas, subject, key)


def drawn(draw: Draw, subject: Subject, canvas: Canvas) -> str:
    """The caption of a drawn figure; the queries and audit rows of the subject become those of the canvas."""
    caption = draw(canvas, subject)
    canvas.cited.rows.update({t.address: t for t in subject.tests})
    canvas.queries += [q for q in subject.queries if q not in canvas.queries]
    return caption
