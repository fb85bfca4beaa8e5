"""Mapping files: what the columns of someone else's table mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.studies import cases
from orledger.toml_tables import Table, TableError, parse

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Mapping:
    """How the columns of a table become records.

    ``form`` long: one number per row, its arm and metric in columns or fixed. ``form`` wide: one column per arm, and the
    metric is fixed. ``keys`` are the columns that name a cell.
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
    fixed_arm: str | None = None
    fixed_metric: str | None = None
    missing: tuple[str, ...] = ("", "NA", "NaN", "nan", "?")
    metrics: tuple[tuple[str, str, str | None, str | None], ...] = ()
    source: str = ""


def read_mapping(path: Path) -> Mapping:
    """The mapping in the TOML file at ``path``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: cannot be read as a TOML text: {error}") from error
    return parse_mapping(text, path.name)


def parse_mapping(text: str, file: str) -> Mapping:
    """The mapping in a TOML ``text``; ``file`` is the name that messages use."""
    top = parse(text, file)
    study = top.text("study")
    if study in (reserved := cases()):
        raise top.fail("study", f"a name other than {', '.join(reserved)}, which are cases of installed studies")
    form = top.choice("form", ("long", "wide"))
    shape = top.table(form)
    common = {
        "study": study,
        "block": top.text("block"),
        "form": form,
        "keys": top.texts("keys"),
        "file": file,
        "missing": _missing(top),
        "source": top.text("source", ""),
        "metrics": tuple(_metric(t) for t in top.tables("metric", [])),
    }
    if form == "wide":
        mapping = Mapping(**common, arms=shape.texts("arms"), fixed_metric=shape.text("metric"))
    else:
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
            if (getattr(mapping, column) is None) == (getattr(mapping, fixed) is None):
                raise shape.fail(column, f"the name of a column, or instead {fixed} with one name for all rows")
    shape.done()
    top.done()
    return mapping


def _missing(top: Table) -> tuple[str, ...]:
    words = top.take("missing", list, "a list of texts", list(Mapping.missing))
    if not all(isinstance(word, str) for word in words):
        raise top.fail("missing", 'a list of texts, numbers too: ["-999", ""]')
    return tuple(words)


def _metric(t: Table) -> tuple[str, str, str | None, str | None]:
    row = (t.text("name"), t.text("description"), t.choice("better", ("lower", "higher"), None), t.text("unit", None))
    t.done()
    return row
