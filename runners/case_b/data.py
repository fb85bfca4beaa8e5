"""The five tables of Case B: from a data directory, the cache, or a download, each with its origin and its hash.

A table is plain CSV with a header on disk; nothing is unpickled from a path a user gave. A table that cannot be found
raises ``DatasetAbsentError``, whose message says which file to put where.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from orledger.audit.datasets.origins import user_file
from orledger.errors import DataError


class DatasetAbsentError(DataError):
    """A dataset is neither in the data directory nor in the cache, and could not be downloaded."""


@dataclass(frozen=True)
class DataSource:
    """Where a table comes from: its public origin, the target column (normalised name), columns to drop."""

    name: str
    origin: str
    target: str
    drop: tuple[str, ...] = ()
    data_id: int | None = None  # OpenML
    bundled: bool = False  # ships with scikit-learn


SOURCES = {
    s.name: s
    for s in (
        DataSource("diabetes", "scikit-learn load_diabetes", "target", bundled=True),
        DataSource("concrete", "OpenML 44959", "strength", data_id=44959),
        DataSource("energy", "OpenML 44960", "heating_load", drop=("cooling_load",), data_id=44960),
        DataSource("yacht", "OpenML 42370", "residuary_resistance", data_id=42370),
        DataSource("california", "scikit-learn fetch_california_housing", "medhouseval"),
    )
}


@dataclass(frozen=True)
class DataTable:
    """A loaded table: features X (n, d), target y (n,), where the bytes came from, and the hash of both as float64."""

    name: str
    X: np.ndarray
    y: np.ndarray
    features: tuple[str, ...]
    target: str
    origin: str

    @property
    def sha256(self) -> str:
        """Hash of features and target as little-endian float64, row by row, target last."""
        rows = np.ascontiguousarray(np.column_stack([self.X, self.y]), dtype="<f8")
        return hashlib.sha256(rows.tobytes()).hexdigest()

    def description(self) -> dict[str, str | int]:
        """The row of the ``dataset`` table that describes this one."""
        return {
            "name": self.name,
            "origin": self.origin,
            "n_rows": int(self.y.size),
            "n_features": int(self.X.shape[1]),
            "target": self.target,
            "distinct_targets": int(np.unique(self.y).size),
            "sha256": self.sha256,
        }


def default_cache() -> Path:
    """The platform's cache folder for orledger: XDG_CACHE_HOME, ~/Library/Caches or LOCALAPPDATA."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "orledger" / "datasets"


def _normal(name: str) -> str:
    return name.strip().lower().replace(".", "_").replace(" ", "_")


def _assemble(source: DataSource, names: list[str], rows: np.ndarray, origin: str) -> DataTable:
    """The table of ``source`` from named columns: target taken by name, dropped columns removed, the rest are features."""
    normal = [_normal(n) for n in names]
    if source.target not in normal:
        raise DataError(
            f"{source.name}: no column {source.target!r} in {origin}",
            hint=f"the header found is {', '.join(names)}",
        )
    at = normal.index(source.target)
    keep = [j for j, n in enumerate(normal) if j != at and n not in source.drop]
    return DataTable(
        source.name,
        np.ascontiguousarray(rows[:, keep]),
        rows[:, at].copy(),
        tuple(names[j] for j in keep),
        names[at],
        origin,
    )


def read_csv(source: DataSource, path: Path, origin: str) -> DataTable:
    """The table in the CSV file at ``path`` (a header line, then numbers)."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as a CSV text: {error}") from error
    with io.StringIO(text, newline="") as handle:
        reader = csv.reader(handle)
        try:
            names, *lines = list(reader) or [[]]
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: cannot be read as CSV: {error}") from error
        rows = []
        for line, cells in enumerate(lines, start=2):
            if len(cells) != len(names):
                raise DataError(f"{path}, line {line}: {len(cells)} cells under a header of {len(names)}")
            for name, cell in zip(names, cells, strict=True):
                try:
                    float(cell)
                except ValueError:
                    raise DataError(
                        f"{path}, line {line}, column {name}: {cell!r:.60} is not a number",
                        hint="categorical columns cannot be used: encode features, and choose a numeric target",
                    ) from None
            rows.append([float(c) for c in cells])
    if not rows:
        raise DataError(f"{path} holds no rows")
    return _assemble(source, names, np.array(rows), origin)


def _cache_paths(source: DataSource, cache_dir: str | None) -> tuple[Path, Path]:
    folder = Path(cache_dir) if cache_dir else default_cache()
    return folder / f"{source.name}.csv", folder / f"{source.name}.json"


def _read_cache(source: DataSource, cache_dir: str | None) -> DataTable | None:
    path, note = _cache_paths(source, cache_dir)
    if not (path.is_file() and note.is_file()):
        return None
    again = f"delete {path} and {note}, and fetch it again"
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        origin, sha256 = str(known["origin"]), str(known["sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{note} is damaged: {type(error).__name__}: {error}", hint=again) from error
    table = read_csv(source, path, origin)
    if table.sha256 != sha256:
        raise DataError(f"{path} has changed since it was downloaded", hint=f"delete {path} and fetch it again")
    return table


def _write_cache(table: DataTable, source: DataSource, cache_dir: str | None) -> None:
    path, note = _cache_paths(source, cache_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join([*table.features, table.target])]
    lines += [",".join(repr(float(v)) for v in row) for row in np.column_stack([table.X, table.y])]
    for target, text in (
        (path, "\n".join(lines) + "\n"),
        (note, json.dumps({"origin": table.origin, "sha256": table.sha256})),
    ):
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(target)  # a reader sees the old file or the whole new one


def download(source: DataSource) -> DataTable:
    """The table from its public origin; scikit-learn's own files go to a folder that is removed afterwards."""
    from sklearn.datasets import fetch_california_housing, fetch_openml

    with tempfile.TemporaryDirectory(prefix="orledger-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # its retries; the failure itself is reported by the caller
        if source.data_id is not None:
            bunch = fetch_openml(
                data_id=source.data_id, target_column=None, as_frame=False, parser="liac-arff", data_home=folder
            )
            return _assemble(source, list(bunch.feature_names), np.asarray(bunch.data, dtype=float), source.origin)
        bunch = fetch_california_housing(data_home=folder)
        names = [*bunch.feature_names, "MedHouseVal"]
        return _assemble(source, names, np.column_stack([bunch.data, bunch.target]), source.origin)


def _bundled(source: DataSource) -> DataTable:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes()
    return _assemble(
        source, [*bunch.feature_names, "target"], np.column_stack([bunch.data, bunch.target]), source.origin
    )


def locate(name: str, data_dir: str | None, cache_dir: str | None) -> str:
    """Where ``load`` would take the table from: data directory, scikit-learn, cache, or download."""
    source = source_of(name)
    if data_dir and (Path(data_dir) / f"{name}.csv").is_file():
        return "data directory"
    if source.bundled:
        return "scikit-learn"
    return "cache" if all(p.is_file() for p in _cache_paths(source, cache_dir)) else "download"


def source_of(name: str) -> DataSource:
    """The declared source of dataset ``name``."""
    if name not in SOURCES:
        raise DataError(f"unknown dataset {name!r}", hint=f"one of {', '.join(SOURCES)}")
    return SOURCES[name]


def load(name: str, data_dir: str | None = None, cache_dir: str | None = None, *, offline: bool = False) -> DataTable:
    """The whole table called ``name``: from the data directory, else scikit-learn, else the cache, else downloaded.

    A failed download is remembered for the life of the process, so that forty cells do not wait for the same time-out.
    """
    found = _load(name, data_dir, cache_dir, offline)
    if isinstance(found, DataTable):
        return found
    raise DatasetAbsentError(
        f"dataset {name} is not available: {found}",
        hint=f"put {name}.csv (header, then numbers, target column {SOURCES[name].target}) in a folder and pass it as "
        f"--data-dir, or run `orledger datasets fetch {name}` on a machine with internet",
    )


@lru_cache(maxsize=64)
def _load(name: str, data_dir: str | None, cache_dir: str | None, offline: bool) -> DataTable | str:
    source = source_of(name)
    if data_dir:
        path = Path(data_dir) / f"{name}.csv"
        if path.is_file():
            return read_csv(source, path, user_file(path.name, source.origin))
    if source.bundled:
        return _bundled(source)
    cached = _read_cache(source, cache_dir)
    if cached is not None:
        return cached
    looked = "not in the data directory" if data_dir else "no data directory given"
    if offline:
        return f"{looked}, not in the cache, and downloads are off"
    try:
        table = download(source)
    except (OSError, ValueError) as error:  # URLError is an OSError; a truncated download is a ValueError
        return f"{looked}, not in the cache, and the download from {source.origin} failed ({error})"
    _write_cache(table, source, cache_dir)
    return table


def subsample(table: DataTable, rows: int, seed: int) -> DataTable:
    """``rows`` rows of ``table`` in the order drawn without replacement by NumPy's default generator of ``seed``."""
    if rows >= table.y.size:
        return table
    # The published subsample is default_rng(0).choice: a named stream would give other rows.
    picked = np.random.default_rng(seed).choice(table.y.size, rows, replace=False)
    origin = f"{table.origin}, {rows} of {table.y.size} rows"
    return DataTable(table.name, table.X[picked], table.y[picked], table.features, table.target, origin)
