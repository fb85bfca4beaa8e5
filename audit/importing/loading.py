"""Results made elsewhere become cells and records of a study; what the study already holds is added to, never lost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.audit.importing.catalogue import store_catalogue
from orledger.audit.importing.folders import digest
from orledger.audit.importing.merging import Change, Merged, left_behind, merge, read_study
from orledger.audit.importing.records import cell_names, rounded, to_records, unstored_reasons
from orledger.audit.importing.repeated import Beforehand
from orledger.audit.importing.tables import SOURCE, read_tables, stacked
from orledger.errors import DataError
from orledger.schema.writing import CellOutcome, PlannedCell
from orledger.wording import counted, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from orledger.audit.importing.mapping import Mapping
    from orledger.audit.importing.merging import Stored
    from orledger.schema.writing import Writer

HASH_VERSION = "import-2"
SPEC = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
IDENTIFIED = "\0cell"  # the identity of a cell beside its keys, under a name that no key has
NAMED = 5  # changed values that a refusal names


@dataclass(frozen=True)
class Imported:
    """What an import did, in counts: cells new, added to and left as they were; records and missing entries stored."""

    study: str
    cells: int
    extended: int
    known: int
    records: int
    missing: int
    replaced: int
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def told(self) -> str:
        """One line for people."""
        parts = [f"{self.study}: {counted(self.cells, 'cell')} and {counted(self.records, 'record')} stored"]
        if self.extended:
            parts.append(
                f"{counted(self.extended, 'cell')} that {'was' if self.extended == 1 else 'were'} there changed or grew"
            )
        if self.known:
            parts.append(f"{counted(self.known, 'cell')} {'was' if self.known == 1 else 'were'} there already")
        if self.missing:
            entries = "entry" if self.missing == 1 else "entries"
            parts.append(f"{self.missing} {entries} missing in the file and kept as refusal{'s' * (self.missing > 1)}")
        if self.replaced:
            parts.append(f"{counted(self.replaced, 'value')} replaced; what was there is in the table fact")
        return ", ".join(parts)


def import_files(writer: Writer, paths: Sequence[Path], mapping: Mapping, *, replace: bool = False) -> Imported:
    """Stores the tables at ``paths`` as (a part of) a study."""
    digests = {p.name: digest(p) for p in paths}
    table, *_ = mapped_tables(paths, mapping)
    return _import(writer, table, mapping, digests, replace=replace, files=True)


def import_frame(
    writer: Writer, table: pl.DataFrame, mapping: Mapping, name: str = "frame", *, replace: bool = False
) -> Imported:
    """Stores a polars frame as (a part of) a study; ``name`` takes the place of the name of a file."""
    digest = sha256(table.write_csv().encode()).hexdigest()
    found, *_ = _as_mapped(mapping, lambda ignore, said: stacked([(name, table)], ignore, strict=False, said=said))
    return _import(writer, found, mapping, {name: digest}, replace=replace, files=False)


def mapped_tables(paths: Sequence[Path], mapping: Mapping) -> tuple[pl.DataFrame, tuple[str, ...], Beforehand]:
    """The tables at ``paths`` as ``mapping`` speaks about them, with the columns that were left out and how they were read."""
    return _as_mapped(mapping, lambda ignore, said: read_tables(paths, ignore, strict=False, said=said))


def _as_mapped(
    mapping: Mapping, read: Callable[[Sequence[str], Beforehand], pl.DataFrame]
) -> tuple[pl.DataFrame, tuple[str, ...], Beforehand]:
    """The table that ``mapping`` speaks about: as it stands, or turned round without the columns that it ignores, or else with them.

    So a mapping keeps its meaning, whichever tables are turned by now.
    """
    turned = Beforehand(mapping.needed, turned=True)
    for ignore, said in ((mapping.ignore, Beforehand(turned=False)), (mapping.ignore, turned)):
        table = read(ignore, said)
        if set(mapping.needed) <= set(table.columns):
            return table, ignore, said
    return read((), turned), (), turned


def _import(
    writer: Writer, table: pl.DataFrame, mapping: Mapping, digests: dict[str, str], *, replace: bool, files: bool
) -> Imported:
    """Adds rows, arms and metrics to what the study has; the same table again changes nothing.

    A value that differs from the one stored, or stands where an entry was missing before, is refused by name. With
    ``replace`` it takes its place, and the fact ``replaced`` of the cell keeps what was there. So it does of arms that
    earlier ``files`` of the same names had and these no longer have; frames have no names that say so.
    """
    rows = to_records(table, mapping)
    keys = list(mapping.keys)
    stored = read_study(writer.con, mapping)
    cells = rows.select(keys).unique(maintain_order=True)
    specs = [_spec(mapping, key) for key in cells.iter_rows()]
    ids = [stored.ids.get(key) or _id(spec) for key, spec in zip(cells.iter_rows(), specs, strict=True)]
    identified = cells.with_columns(pl.Series(IDENTIFIED, ids, dtype=pl.String))
    rows = rows.join(identified, on=keys, how="left").drop(keys).rename({IDENTIFIED: "cell_id"})
    behind = left_behind(stored, rows, digests if files else ())
    merged = merge(stored, rows, behind if replace else behind.clear())
    if merged.changes and not replace:
        raise _refused(mapping, merged.changes, dict(zip(ids, cell_names(mapping, cells.rows()), strict=True)))
    new = sum(identity not in stored.known for identity in ids)
    with writer.transaction():
        key_rows = cells.rows()
        writer.plan(_planned(mapping, list(zip(ids, cell_names(mapping, key_rows), key_rows, specs, strict=True))))
        writer.store_many(_outcomes(merged, digests))
        store_catalogue(writer, mapping, rows, set(behind["arm"]) if replace else set())
    remarks, inexact = unstored_reasons(table, mapping), rounded(table, mapping)
    return Imported(
        study=mapping.study,
        cells=new,
        extended=len(merged.touched) - new,
        known=len(ids) - len(merged.touched),
        records=merged.added,
        missing=merged.missing,
        replaced=len(merged.changes),
        metrics=tuple(rows["metric"].unique(maintain_order=True)),
        notes=(
            *(
                [
                    f"{counted(remarks, 'row')} with a reason beside the values: the values are stored, the reasons are not"
                ]
                * (remarks > 0)
            ),
            *(
                f"{counted(len(inexact), 'whole number')} beyond 2^53 {'is' if len(inexact) == 1 else 'are'} rounded to float64: {said} is stored as {stored}"
                for said, stored in inexact[:1]
            ),
            *(_left(behind, stored, ids, digests, replaced=replace) if files else ()),
        ),
    )


def _left(
    behind: pl.DataFrame, stored: Stored, ids: Sequence[str], digests: dict[str, str], *, replaced: bool
) -> Iterator[str]:
    """What the study has from files of these names and they no longer say: arms, which ``replaced`` took out, and cells."""
    files = ", ".join(digests)
    for arm, n in behind.group_by("arm").len().sort("arm").iter_rows():
        where = f"the arm {arm!r} ({counted(n, 'cell')}) is no longer in {files}"
        yield (
            f"{where}; it was taken out, and the table fact keeps what it had"
            if replaced
            else (f"{where} and stays in the study; --replace takes it out and keeps a trace")
        )
    here = set(ids)
    gone = [
        cell
        for cell, known in stored.facts.items()
        if cell not in here and {v for k, v in known.items() if k.startswith("file ")} == set(digests)
    ]
    if gone:
        yield f"{counted(len(gone), 'cell')} of the study no longer in {files} stay{'s' * (len(gone) == 1)}; a new --db begins without"


def _id(spec: str) -> str:
    return sha256(spec.encode()).hexdigest()[:24]


def _spec(mapping: Mapping, key: Sequence[str]) -> str:
    keys = dict(zip(mapping.keys, key, strict=True))
    spec = {"case": mapping.study, "block": mapping.block, "keys": keys, "settings": {}, "hash_version": HASH_VERSION}
    return SPEC.encode(spec)


def _planned(mapping: Mapping, cells: Sequence[tuple[str, str, Sequence[str], str]]) -> list[PlannedCell]:
    """A planned cell for each id, name, key and spec."""
    return [
        PlannedCell(
            cell_id=identity,
            case=mapping.study,
            block=mapping.block,
            name=name,
            keys=dict(zip(mapping.keys, key, strict=True)),
            spec=spec,
            hash_version=HASH_VERSION,
        )
        for identity, name, key, spec in cells
    ]


def _outcomes(merged: Merged, digests: dict[str, str]) -> Iterator[tuple[str, CellOutcome]]:
    """What each touched cell holds from now on, with the files that its numbers came from among its facts."""
    records = merged.records.sort("cell_id", maintain_order=True)
    texts = {c: records[c].to_numpy() for c in ("arm", "metric", "label")}
    idx = np.ma.array(records["idx"].fill_null(0).to_numpy(), mask=records["idx"].is_null().to_numpy())
    absent: dict[int, np.ma.MaskedArray] = {}  # slices of a masked array cost more than all the rest
    bare = bool(np.ma.getmaskarray(idx).all())
    value = records["value"].to_numpy()
    bounds = records.group_by("cell_id", maintain_order=True).len()
    ends = np.cumsum(bounds["len"].to_numpy())
    slices = {c: slice(e - n, e) for c, n, e in zip(bounds["cell_id"], bounds["len"], ends.tolist(), strict=True)}
    for cell in merged.touched:
        part = slices.get(cell, slice(0, 0))
        facts = dict(merged.facts.get(cell, {}))
        for name in merged.files.get(cell, ()):
            facts[f"file {digests[name][:12]}"] = name
        columns = {c: v[part] for c, v in texts.items()}
        n = part.stop - part.start
        if bare and n not in absent:
            absent[n] = np.ma.masked_all(n, dtype=np.int32)
        steps = absent[n] if bare else idx[part]
        yield (
            cell,
            CellOutcome(
                "done",
                columns={**columns, "idx": steps, "value": value[part]},
                refusals=[(arm, reason, None) for arm, reason in merged.refusals.get(cell, ())],
                facts=facts,
            ),
        )


def _refused(mapping: Mapping, changes: Sequence[Change], names: dict[str, str]) -> DataError:
    listed = [
        f"{names[c.cell_id]}: {c.metric} of {c.arm}{c.where()} is {c.before_text()} in the study and {c.after_text()} in {c.source}"
        for c in changes
    ]
    return DataError(
        f"{counted(len(changes), 'value')} of {mapping.study}/{mapping.block} would change, and nothing was stored: {some(listed, NAMED, '; ')}",
        hint="--replace puts them in place of the old ones and keeps a trace; another block name keeps both",
    )


__all__ = ["HASH_VERSION", "SOURCE", "Imported", "import_files", "import_frame"]
