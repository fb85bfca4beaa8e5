"""Scalars in the event files of TensorBoard, as one table: a row per run, tag and step, and the run's hyperparameters.

An event file is a sequence of protobuf messages, each framed by its length and two checksums. The messages come from
tensorboardX (the extra ``tensorboard``): 3.4 MB with protobuf, where TensorBoard and what it needs beside NumPy has 88.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from orledger.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMED = "events.out.tfevents."
NUMBERED = re.compile(r"([A-Za-z]+)[=_-]?(\d+)")
TENSORS = {1: ("<f4", "float_val"), 2: ("<f8", "double_val"), 3: ("<i4", "int_val"), 9: ("<i8", "int64_val")}
OWN = ("run", "metric", "step", "value")
Scalars = dict[tuple[str, int], float]


def files(folder: Path) -> list[Path]:
    """The event files in ``folder`` and the folders inside it, those of a run in the order in which they were begun."""
    return sorted(p for p in folder.rglob(f"*{NAMED}*") if p.is_file())


def read_events(folder: Path) -> pl.DataFrame:
    """Columns run, metric, step and value, one scalar to a row, with those of hyperparameters; all as text.

    The run is the folder of its file. A part of it such as seed3 or fold-0, in all runs, becomes a column of its own, and where
    several other parts are left each stands also alone, as folder1, folder2. A run that was begun again has several files: of a
    step that stands twice the later value counts.
    """
    runs: dict[str, Scalars] = {}
    said: dict[str, dict[str, str]] = {}
    for path in files(folder):
        run = path.parent.relative_to(folder).as_posix()
        runs.setdefault(run, {})
        said.setdefault(run, {})
        for scalars, hyper in _events(path):
            runs[run] |= scalars
            said[run] |= hyper
    names = _named([run for run in runs if runs[run]])
    if not names:
        raise DataError(f"{folder}: its event files hold no scalars", hint="give the folder that TensorBoard is shown")
    asked = dict.fromkeys(name for run in names for name in said[run] if name not in OWN)
    rows = [
        {**{n: said[run].get(n) for n in asked}, **names[run], "metric": tag, "step": str(step), "value": repr(value)}
        for run in names
        for (tag, step), value in runs[run].items()
    ]
    columns = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))


def _named(runs: list[str]) -> dict[str, dict[str, str]]:
    """For each run its name, and beside it the numbered parts that all runs have, such as seed3, and the other folders."""
    parts = {run: run.split("/") for run in runs}
    if len({len(p) for p in parts.values()}) != 1:
        return {run: {"run": run} for run in runs}
    columns = list(zip(*parts.values(), strict=True))
    matches = [[NUMBERED.fullmatch(part) for part in column] for column in columns]
    heads = [{m[1] if m else None for m in found} for found in matches]
    numbered = {k: str(next(iter(h))) for k, h in enumerate(heads) if len(h) == 1 and not h & {None, *OWN}}
    if len(numbered) == len(columns) or len(set(numbered.values())) < len(numbered):
        return {run: {"run": run} for run in runs}
    others = [k for k in range(len(columns)) if k not in numbered]
    names: dict[str, dict[str, str]] = {}
    for row, run in enumerate(runs):
        names[run] = {"run": "/".join(columns[k][row] for k in others)}
        if len(others) > 1:
            names[run] |= {f"folder{n}": columns[k][row] for n, k in enumerate(others, 1)}
        names[run] |= {name: m[2] for k, name in numbered.items() if (m := matches[k][row])}
    return names


def _events(path: Path) -> Iterator[tuple[Scalars, dict[str, str]]]:
    """The scalars and the hyperparameters of one event after the other."""
    try:
        from google.protobuf.message import DecodeError
        from tensorboardX.proto.event_pb2 import Event
    except ImportError as error:
        raise UsageError(
            f"{path}: an event file of TensorBoard needs the extra tensorboard",
            hint="pip install 'orledger[tensorboard]'",
        ) from error
    kinds: dict[str, str] = {}
    for data in _messages(path):
        try:
            yield from _said(Event.FromString(data), kinds)
        except (DecodeError, ValueError) as error:  # the latter for a tensor with half a number
            raise _damaged(path, "a record that is no event") from error


def _said(event: Any, kinds: dict[str, str]) -> Iterator[tuple[Scalars, dict[str, str]]]:
    """The scalars and the hyperparameters of an event that has any; ``kinds`` keeps what is known about tags."""
    found: Scalars = {}
    hyper: dict[str, str] = {}
    for value in event.summary.value:
        if value.metadata.plugin_data.plugin_name:  # said once, with the first value of a tag
            kinds[value.tag] = value.metadata.plugin_data.plugin_name
        if kinds.get(value.tag) == "hparams":
            hyper |= _hyperparameters(value.metadata.plugin_data.content)
        elif (number := _number(value, kinds.get(value.tag))) is not None:
            found[value.tag, event.step] = number
    if found or hyper:
        yield found, hyper


def _messages(path: Path) -> Iterator[bytes]:
    """The records of an event file; the last one is left out when its writer was stopped in the middle of it."""
    from tensorboardX.crc32c import crc32c

    def intact(data: bytes, mark: bytes) -> bool:
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF) == mark

    data = memoryview(path.read_bytes())
    at = 0
    while at + 12 <= len(data):
        if not intact(bytes(data[at : at + 8]), bytes(data[at + 8 : at + 12])):
            raise _damaged(path, f"a wrong checksum at byte {at}")
        (length,) = struct.unpack("<Q", data[at : at + 8])
        start, at = at + 12, at + 16 + length
        if at <= len(data):
            record = bytes(data[start : start + length])
            if not intact(record, bytes(data[at - 4 : at])):
                raise _damaged(path, f"a wrong checksum at byte {start}")
            yield record


def _number(value: Any, kind: str | None) -> float | None:
    """A scalar as older and as newer programs write it; None for anything else."""
    if value.HasField("simple_value"):
        return value.simple_value
    if kind != "scalars" or not value.HasField("tensor") or value.tensor.dtype not in TENSORS:
        return None
    number, listed = TENSORS[value.tensor.dtype]
    if value.tensor.tensor_content:
        found = np.frombuffer(value.tensor.tensor_content, dtype=number).tolist()
    else:
        found = list(getattr(value.tensor, listed))
    return found[0] if len(found) == 1 else None


def _hyperparameters(content: bytes) -> dict[str, str]:
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

    stated = HParamsPluginData.FromString(content).session_start_info.hparams
    found = {}
    for name in stated:
        of = stated[name].WhichOneof("kind")
        if of in ("number_value", "string_value", "bool_value"):
            value = getattr(stated[name], of)
            found[name] = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return found


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path}: {what}", hint="take the file out of the folder, or write the run again")
