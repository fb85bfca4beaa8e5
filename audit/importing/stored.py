"""A study that the database holds already: what its catalogue leaves to ask, and the questions for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.importing import words
from orledger.audit.importing.asking import Questions, questions
from orledger.audit.importing.inference import Guess, Wishes, as_mapped
from orledger.audit.importing.mapping import MappedMetric, Mapping
from orledger.errors import UsageError
from orledger.schema.layouts import identifier, literal

if TYPE_CHECKING:
    import polars as pl

    from orledger.schema.layouts import Layout
    from orledger.schema.reading import Results

AFTER = "The questions were written when the results were there."


def ask_stored(
    results: Results, wishes: Wishes, *, compare: str = "pairs", control: str | None = None
) -> tuple[Guess, Questions]:
    """The hypothesis file for a study of ``results``, from its catalogue and its records.

    ``wishes.study`` names the study (``name`` or ``name/block``) where there are several.
    """
    layout = _chosen(results, wishes.study)
    for said in wishes.unit:
        if said not in layout.keys:
            raise UsageError(f"{layout.case} has no key {said!r}", hint=f"its keys are {', '.join(layout.keys)}")
    mapping = _mapping(results, layout, wishes)
    rows = _rows(results, layout)
    guess = as_mapped(mapping, rows, wishes)
    return guess, questions(guess, rows, compare=compare, control=control, seen=AFTER)


def _chosen(results: Results, name: str | None) -> Layout:
    """The layout of the study that was named, or of the only one with numbers."""
    used = {(c, b) for c, b in results.sql("SELECT DISTINCT case_name, block FROM all_records").rows()}
    layouts = [x for x in results.layouts() if (x.case, x.block) in used]
    found = [x for x in layouts if name in (None, x.case, f"{x.case}/{x.block}")]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{x.case}/{x.block}" for x in layouts)
    if not layouts:
        raise UsageError(f"{results.path} holds no results yet", hint="log some, or import a table")
    if not found:
        raise UsageError(f"no study {name!r} in {results.path}", hint=f"there are {listed}")
    raise UsageError(f"{results.path} holds several studies", hint=f"say which with --name: {listed}")


def _mapping(results: Results, layout: Layout, wishes: Wishes) -> Mapping:
    """The study as a mapping of long rows; the direction of a metric is as was said, the catalogue's, or that of its name."""
    names = [*layout.scalars, *(m for m in layout.indexed if m not in layout.scalars)]
    for said in wishes.metrics:
        if said not in names:
            raise UsageError(f"{layout.case} has no metric {said!r}", hint=f"its metrics are {', '.join(names)}")
    stored = dict(
        results.sql(
            f"SELECT metric, min(better) FROM metric WHERE case_name = {literal(layout.case)} AND better IS NOT NULL GROUP BY metric"
        ).rows()
    )
    known = {name: stored.get(name) or (found[0] if (found := words.direction(name)) else None) for name in names}
    directed = [name for name in names if known[name]]
    primary = wishes.metrics[0] if wishes.metrics else (directed or names)[0]
    known[primary] = wishes.better or known[primary]
    if known[primary] is None:
        raise UsageError(
            f"{results.path} does not say whether lower or higher {primary!r} is better",
            hint="say so with --better higher or --better lower"
            + ("" if len(names) == 1 else f"; --metric chooses among {', '.join(names)}"),
        )
    order = [primary, *(name for name in names if name != primary)]
    return Mapping(
        study=layout.case, block=layout.block, form="long", keys=tuple(layout.keys), file=str(results.path), arm="arm",
        metric="metric", value="value", label="label", idx=None if primary in layout.scalars else "idx",
        metrics=tuple(MappedMetric(name, name, known[name], scale=wishes.scale) for name in order),
    )  # fmt: skip


def _rows(results: Results, layout: Layout) -> pl.DataFrame:
    """Every number of the study: its keys, arm, metric, label, idx and value."""
    keys = "".join(f"keys[{literal(k)}] AS {identifier(k)}, " for k in layout.keys)
    return results.sql(
        f"SELECT {keys}arm, metric, label, idx, value FROM all_records JOIN (SELECT cell_id, keys FROM all_cells) USING (cell_id)"
        f" WHERE case_name = {literal(layout.case)} AND block = {literal(layout.block)} ORDER BY cell, cell_id, arm, metric, label, idx"
    )
