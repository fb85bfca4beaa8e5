"""The files that ``orledger init`` puts next to a table: the mapping as inferred, and the questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.importing.asking import Questions, listed, questions, quoted
from orledger.audit.importing.folders import bare_name
from orledger.audit.importing.inference import Guess, Wishes, as_mapped, infer
from orledger.audit.importing.mapping import MISSING
from orledger.audit.importing.records import to_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from orledger.audit.importing.mapping import MappedMetric, Mapping


@dataclass(frozen=True)
class Draft:
    """What was understood of a table, and the two texts that say so."""

    guess: Guess
    questions: Questions
    mapping_text: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that was inferred, with its reason."""
        return (*self.guess.reasons, *self.questions.reasons)


def draft(
    table: pl.DataFrame,
    name: str,
    wishes: Wishes | None = None,
    *,
    mapping: Mapping | None = None,
    compare: str = "pairs",
    control: str | None = None,
    told: list[str] | None = None,
) -> Draft:
    """The mapping and the hypothesis file for ``table`` (from ``read_tables``); ``name`` is that of the file.

    With a ``mapping`` nothing is inferred but which metric decides and which keys repeat a measurement. ``told`` is filled with what
    was understood, for when an error asks for the rest.
    """
    if mapping is None:
        guess = infer(table, name, wishes, told)
        rows = to_records(table, guess.mapping)
    else:
        rows = to_records(table, mapping)
        guess = as_mapped(mapping, rows, wishes)
    asked = questions(guess, rows, compare=compare, control=control)
    return Draft(guess, asked, mapping_text(guess.mapping, (*guess.reasons, *asked.reasons)))


def stem(paths: Sequence[Path]) -> Path:
    """Where the files of a study stand, without their endings: beside its table, under its name, or under the name of the folder
    that several tables are in.
    """
    folder = paths[0].parent
    return folder / folder.resolve().name if len(paths) > 1 else folder / bare_name(paths[0])


def beside(paths: Sequence[Path]) -> tuple[Path, Path]:
    """Where the mapping and the hypothesis file of the tables at ``paths`` stand."""
    place = stem(paths)
    return place.with_name(f"{place.name}.mapping.toml"), place.with_name(f"{place.name}.hypotheses.toml")


def mapping_text(mapping: Mapping, reasons: tuple[str, ...] = ()) -> str:
    """``mapping`` as the text of a mapping file, with the reasons on top."""
    lines = ["# What the columns of the table mean, as inferred:", *(f"#   {_comment(r)}" for r in reasons)]
    lines += [
        f"study = {quoted(mapping.study)}",
        f"block = {quoted(mapping.block)}",
        f"form = {quoted(mapping.form)}",
        f"keys = {listed(mapping.keys)}",
    ]
    if mapping.ignore:
        lines.append(f"ignore = {listed(mapping.ignore)}")
    if mapping.decimal != ".":
        lines.append(f"decimal = {quoted(mapping.decimal)}")
    if mapping.missing != MISSING:
        lines.append(f"missing = {listed(mapping.missing)}")
    if mapping.marked:
        lines.append("marked = true")
    lines += ["", f"[{mapping.form}]", *_shape(mapping)]
    if mapping.combined is not None:
        lines += ["", "[combined]", f"name = {quoted(mapping.combined)}", f"metrics = {listed(mapping.combines)}"]
    for metric in mapping.metrics:
        lines += ["", *_metric(metric)]
    return "\n".join(lines) + "\n"


def _shape(mapping: Mapping) -> list[str]:
    wide = mapping.form == "wide"
    entries: dict[str, str | tuple[str, ...] | None] = {
        "arm": mapping.arm,
        "fixed_arm": mapping.fixed_arm,
        "arms": mapping.arms,
        "metric": mapping.fixed_metric if wide else mapping.metric,
        "metric_column": mapping.metric if wide else None,
        "fixed_metric": None if wide else mapping.fixed_metric,
        "metrics": mapping.columns,
        "value": mapping.value,
        "label": mapping.label,
        "idx": mapping.idx,
        "reason": mapping.reason,
    }
    lines = [f"{k} = {quoted(v) if isinstance(v, str) else listed(v)}" for k, v in entries.items() if v]
    return [*lines, *(["reason_wins = true"] if mapping.reason_wins else [])]


def _metric(metric: MappedMetric) -> list[str]:
    lines = ["[[metric]]", f"name = {quoted(metric.name)}", f"description = {quoted(metric.description)}"]
    lines += [f"better = {quoted(metric.better)}"] if metric.better else []
    lines += [f"scale = {quoted(metric.scale)}"] if metric.scale else []
    return lines + ([f"unit = {quoted(metric.unit)}"] if metric.unit else [])


def _comment(text: str) -> str:
    """``text`` on one line, without characters that a TOML comment may not hold."""
    return "".join(c if c.isprintable() else " " for c in text)
