"""A frame of results from Python becomes a study in one call: inferred, imported, audited and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from orledger.errors import UsageError
from orledger.opened import open_database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.opened import Opened


def study_from(
    frame: Any,
    name: str = "study",
    db: str | Path | None = None,
    *,
    arm: str | None = None,
    keys: Sequence[str] = (),
    metrics: Sequence[str] = (),
    better: str | None = None,
    unit: Sequence[str] = (),
    scale: str | None = None,
    ignore: Sequence[str] = (),
    control: str | None = None,
    best: bool = False,
    replace: bool = False,
    amend: bool = False,
) -> Opened:
    """The study ``name`` in the database ``db`` (``<name>.duckdb`` by default), with what ``frame`` holds added to it and audited.

    ``frame`` is a polars or pandas frame, a mapping of columns or a list of rows, in one of the shapes that ``orledger study``
    takes. The other arguments say what the frame does not: they are the options of that command. ``reasons`` of what is returned
    says what was taken for what, and why.
    """
    from orledger.audit.evaluation.auditing import audit
    from orledger.audit.importing.inference import Wishes
    from orledger.audit.importing.loading import import_frame
    from orledger.audit.importing.mapping import parse_mapping
    from orledger.audit.importing.repeated import Beforehand
    from orledger.audit.importing.tables import stacked
    from orledger.audit.importing.writing import draft
    from orledger.audit.registry.reading import parse_hypothesis
    from orledger.schema.opening import writing
    from orledger.schema.writing import Writer

    if best and control is not None:
        raise UsageError("best and control contradict each other", hint="leave one of them out")
    table = as_polars(frame)
    wishes = Wishes(name, arm, tuple(keys), tuple(metrics), tuple(ignore), better, tuple(unit), scale)
    compare = "best" if best else "control" if control is not None else "pairs"
    drawn = draft(
        stacked([(name, table)], ignore, said=Beforehand(wishes.metrics)),
        name,
        wishes,
        compare=compare,
        control=control,
    )
    mapping = parse_mapping(drawn.mapping_text, f"{name}.mapping.toml")
    hypothesis = parse_hypothesis(drawn.questions.text, f"{name}.hypotheses.toml")
    path = Path(f"{name}.duckdb" if db is None else db)
    # A database that was not there appears only when the import went well.
    with writing(path) as con, Writer(path, con=con) as writer:
        found = import_frame(writer, table, mapping, name, replace=replace)
    audit(path, [hypothesis], amend=amend)
    opened = open_database(path)
    opened.reasons = (*drawn.reasons, *found.notes)
    return opened


def as_polars(frame: Any) -> pl.DataFrame:
    """``frame`` as a polars frame; of a pandas frame, an index that has a name is a column too, and so is one of words."""
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if hasattr(frame, "reset_index") and hasattr(
        frame, "columns"
    ):  # pandas, which need not be imported to be recognised
        if any(n is not None for n in frame.index.names):
            frame = frame.reset_index()
        elif all(isinstance(label, str) for label in frame.index) and "" not in frame.columns:
            frame = frame.rename_axis("").reset_index()
        if any(isinstance(c, tuple) for c in frame.columns):
            raise UsageError("the frame has columns of several levels", hint="join the levels into one name each")
        columns = {str(c): [None if _missing(v) else v for v in frame[c].tolist()] for c in frame.columns}
        if len(columns) != len(frame.columns):
            raise UsageError("two columns of the frame have the same name", hint="give each its own")
        return pl.DataFrame(columns, strict=False)
    try:
        return pl.DataFrame(frame, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            f"a {type(frame).__name__} is not a table: {error}", hint="give a polars or pandas frame, or a list of rows"
        ) from error


def _missing(value: Any) -> bool:
    """Whether pandas means nothing by ``value``: None, NaN, NaT and NA are what is not equal to itself or is called so."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
