"""Mapping files: what the columns of someone else's table mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orledger.files import require_file
from orledger.toml_tables import TomlError, TomlTable, parse

if TYPE_CHECKING:
    from pathlib import Path

FORMS = ("long", "wide", "rows")
FILE_COLUMN = "file"  # a column that every table has: the name of its file without the ending
DASHES = ("-", "--", "---", "–", "—")  # no number where numbers stand; among words a dash may be a name
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?", *DASHES)
TRUTH = {"true": "1", "false": "0"}  # whether an answer was right is a result too
VALUE = "value"  # the name of numbers of which nobody said what they are
DECIMALS = (".", ",")
SCALES = ("common", "own")


@dataclass(frozen=True)
class MappedMetric:
    """One metric: what it is, its direction and scale, and the key values to which it applies when the table does not name it.

    ``scale`` is ``common`` where differences on different units can be weighed against each other, ``own`` where every unit has
    its own scale, and None where nobody said: generated questions then judge by the values. ``where`` serves tables whose metric changes from row to row without a column that says so: area under the curve on some
    datasets, log loss on others.
    """

    name: str
    description: str
    better: str | None = None
    unit: str | None = None
    scale: str | None = None
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Mapping:
    """How the columns of a table become records.

    ``form`` long: one number per row, its arm and metric in columns or fixed. ``form`` wide: one column per arm.
    ``form`` rows: one row per arm, one column per metric. ``keys`` are the columns that name a cell. ``combined`` is the
    name of a further metric that holds that one of ``combines`` which the cell has, turned so that higher is better: what
    ranks across datasets need when the metric differs between them. ``reason_wins``: a row with a reason has no numbers,
    whatever stands in it (the last state of a run that crashed is no result). ``marked``: numbers may have a spread or a percent
    sign beside them.
    """

    study: str
    block: str
    form: str
    keys: tuple[str, ...]
    file: str
    arms: tuple[str, ...] = ()
    arm: str | None = None
    metric: str | None = None
    value: str | None = None
    label: str | None = None
    idx: str | None = None
    reason: str | None = None
    fixed_arm: str | None = None
    fixed_metric: str | None = None
    columns: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING
    decimal: str = "."
    marked: bool = False
    metrics: tuple[MappedMetric, ...] = ()
    combined: str | None = None
    combines: tuple[str, ...] = ()
    reason_wins: bool = False
    source: str = ""
    title: str | None = None

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that the table must have."""
        single = (self.arm, self.metric, self.value, self.label, self.idx, self.reason)
        return (*self.keys, *(c for c in single if c), *self.arms, *self.columns)

    def described(self, name: str) -> MappedMetric:
        """The metric called ``name``, as the mapping describes it or by its name alone."""
        if name == self.combined:
            turned = [m.name for m in self.metrics if m.better == "lower" and m.name in self.combines]
            sign = f"; the sign of {' and '.join(turned)} is changed" if turned else ""
            return MappedMetric(
                name,
                f"{' or '.join(self.combines)}, whichever the cell has, higher is better{sign}",
                "higher",
                scale="own",
            )
        return next((m for m in self.metrics if m.name == name), MappedMetric(name, name))


def read_mapping(path: Path) -> Mapping:
    """The mapping in the TOML file at ``path``."""
    require_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TomlError(f"{path}: cannot be read as a TOML text: {error}") from error
    return parse_mapping(text, path.name)


def parse_mapping(text: str, file: str) -> Mapping:
    """The mapping in a TOML ``text``; ``file`` is the name that messages use."""
    top = parse(text, file)
    form = top.choice("form", FORMS)
    shape = top.table(form)
    common: dict[str, Any] = {
        "study": _name(top, "study"),
        "block": _name(top, "block"),
        "form": form,
        "keys": top.texts("keys"),
        "file": file,
        "ignore": top.texts("ignore", ()),
        "missing": _missing(top),
        "decimal": top.choice("decimal", DECIMALS, "."),
        "marked": top.flag("marked"),
        "source": top.text("source", ""),
        "title": top.text("title", None),
        **_combined(top),
        "metrics": tuple(_metric(t) for t in top.tables("metric", [])),
        "reason": shape.text("reason", None),
        "reason_wins": shape.flag("reason_wins"),
    }
    mapping = {"wide": _wide, "rows": _rows, "long": _long}[form](shape, common)
    shape.done()
    top.done()
    _check(top, mapping)
    return mapping


def _wide(shape: TomlTable, common: dict[str, Any]) -> Mapping:
    fixed, column = shape.text("metric", None), shape.text("metric_column", None)
    if (fixed is None) == (column is None):
        raise shape.fail("metric", "the name of the metric, or instead metric_column with the column that names it")
    return Mapping(**common, arms=shape.texts("arms"), fixed_metric=fixed, metric=column)


def _rows(shape: TomlTable, common: dict[str, Any]) -> Mapping:
    mapping = Mapping(
        **common,
        arm=shape.text("arm", None),
        fixed_arm=shape.text("fixed_arm", None),
        columns=shape.texts("metrics"),
        label=shape.text("label", None),
        idx=shape.text("idx", None),
    )
    _either(shape, mapping, "arm", "fixed_arm")
    return mapping


def _long(shape: TomlTable, common: dict[str, Any]) -> Mapping:
    mapping = Mapping(
        **common,
        arm=shape.text("arm", None),
        metric=shape.text("metric", None),
        value=shape.text("value"),
        label=shape.text("label", None),
        idx=shape.text("idx", None),
        fixed_arm=shape.text("fixed_arm", None),
        fixed_metric=shape.text("fixed_metric", None),
    )
    for column, fixed in (("arm", "fixed_arm"), ("metric", "fixed_metric")):
        _either(shape, mapping, column, fixed)
    return mapping


def _either(shape: TomlTable, mapping: Mapping, column: str, fixed: str) -> None:
    if (getattr(mapping, column) is None) == (getattr(mapping, fixed) is None):
        raise shape.fail(column, f"the name of a column, or instead {fixed} with one name for all rows")


def _check(top: TomlTable, mapping: Mapping) -> None:
    """Refuses a column with two meanings, a metric described twice, and a combined metric without directions."""
    for column in mapping.needed:
        if mapping.needed.count(column) > 1 or column in mapping.ignore:
            raise TomlError(f"{top.file}: the column {column!r} is named twice; a column has one meaning")
    names = [m.name for m in mapping.metrics]
    for name in names:
        if names.count(name) > 1:
            raise TomlError(f"{top.file}: table [[metric]]: {name!r} is described twice")
    if mapping.combined is None:
        return
    if mapping.combined in names:
        raise TomlError(
            f"{top.file}: table [combined], key 'name': expected a name that no metric has, found {mapping.combined!r}"
        )
    directed = {m.name for m in mapping.metrics if m.better is not None}
    for name in mapping.combines:
        if name not in directed:
            raise TomlError(f"{top.file}: table [combined]: {name!r} needs a [[metric]] with better = lower or higher")


def _combined(top: TomlTable) -> dict[str, Any]:
    found = top.optional("combined", lambda t: {"combined": t.text("name"), "combines": t.texts("metrics")})
    return found or {}


def _name(top: TomlTable, key: str) -> str:
    """A name that can become part of a view: no slash, quotation mark or control character."""
    name: str = top.text(key)
    if re.search(r"[/\"'`;\\\x00-\x1f]", name):
        raise top.fail(key, "a name without slashes, quotation marks, semicolons and control characters")
    return name


def _missing(top: TomlTable) -> tuple[str, ...]:
    words = top.take("missing", list, "a list of texts", list(MISSING))
    if not all(isinstance(word, str) for word in words):
        raise top.fail("missing", 'a list of texts, numbers too: ["-999", ""]')
    return tuple(words)


def _metric(t: TomlTable) -> MappedMetric:
    where = t.table("where", TomlTable({}, t.file, "where"))
    metric = MappedMetric(
        t.text("name"),
        t.text("description"),
        t.choice("better", ("lower", "higher"), None),
        t.text("unit", None),
        t.choice("scale", SCALES, None),
        tuple((key, where.texts(key)) for key in where.data),
    )
    t.done()
    return metric
