"""Hashes: of what a cell recorded, and of texts such as the rows of a table, whatever their order and whoever asks."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from orledger.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

# The columns of the table dataset after its cell, all of them hashed.
DATASET_COLUMNS = ("name", "origin", "n_rows", "n_features", "target", "distinct_targets", "sha256")
COUNTS = ("n_rows", "n_features", "distinct_targets")  # of them, the numbers
# One hash for what a database holds, whatever the order in which it came: every cell with its state and content. A query, so
# that any connection can ask it.
DATABASE_HASH = """
SELECT sha256(coalesce(string_agg(
    cell_id || ':' || state || ':' || coalesce(content_hash, n_records::VARCHAR, ''), ',' ORDER BY cell_id), '')) AS hash
FROM cell
"""
# Stands for an absent index among the 32-bit ones.
NO_INDEX = -(2**62)
PLACE = ("arm", "metric", "label")
ALIKE = 256  # rows of a cell up to which its texts are remembered for the next one


def content_hash(
    state: str,
    reason: str | None,
    columns: Mapping[str, Any],
    refusals: Sequence[Sequence[Any]] = (),
    facts: Mapping[str, str] | None = None,
    datasets: Sequence[Mapping[str, Any]] = (),
) -> str:
    """32 hexadecimal digits of a SHA-256 over the cell's rows, sorted first, with doubles hashed bit by bit.

    ``columns`` holds ``arm``, ``metric``, ``label``, ``idx`` and ``value``, equally long; labels may be None and
    indices masked. Text is replaced by its rank among the cell's distinct texts, which are hashed too: that makes
    sorting and hashing work on whole arrays.
    """
    return read_again(state, reason, columns, refusals, facts, datasets)[0]


def read_again(
    state: str,
    reason: str | None,
    columns: Mapping[str, Any],
    refusals: Sequence[Sequence[Any]] = (),
    facts: Mapping[str, str] | None = None,
    datasets: Sequence[Mapping[str, Any]] = (),
) -> tuple[str, str | None]:
    """The content hash, and a place (arm, metric, label, index) that holds two numbers; None where each holds one."""
    import numpy as np  # who only reads a database waits for no arrays

    value = np.ascontiguousarray(columns["value"], dtype="<f8")
    if value.size and np.ma.getdata(columns["idx"]).dtype.kind not in "iu":
        raise DataError("an index that is no whole number would be stored as another one than the one that is hashed")
    idx = np.ma.getdata(columns["idx"]).astype("<i8")
    idx[np.ma.getmaskarray(columns["idx"])] = NO_INDEX
    places = [tuple(c.tolist() if isinstance(c := columns[name], np.ndarray) else c) for name in PLACE]
    ranked = _remembered if value.size <= ALIKE else _ranked
    texts, ranks, order = ranked(*places)
    bits = value.view("<i8")
    apart = order is not None  # by their texts alone
    if order is None:
        order = np.lexsort((bits, idx, *reversed(ranks)))
        ranks = tuple(column[order] for column in ranks)
    _require_stored_alike(reason, refusals, facts or {}, datasets)
    head = {
        "state": state,
        "reason": reason,
        "rows": int(value.size),
        "texts": texts,
        "refusals": sorted([list(map(plain, r)) for r in refusals], key=json.dumps),
        "facts": dict(facts or {}),
        "datasets": sorted([{k: plain(v) for k, v in sorted(d.items())} for d in datasets], key=json.dumps),
    }
    try:
        digest = hashlib.sha256(HEAD.encode(head).encode())
    except UnicodeEncodeError as error:
        raise DataError(f"{error.object[error.start]!r} cannot be stored: {error.reason}") from error
    idx = idx[order]
    for column in (*ranks, idx, bits[order]):
        digest.update(column.tobytes())
    return digest.hexdigest()[:32], None if apart else _doubled(texts, (*ranks, idx))


def _doubled(texts: Sequence[Sequence[str]], places: Sequence[np.ndarray]) -> str | None:
    """The first of sorted ``places``, ranks of texts and an index, that is that of the row before it."""
    import numpy as np

    again = np.flatnonzero(np.logical_and.reduce([column[1:] == column[:-1] for column in places]))
    if not again.size:
        return None
    *ranks, index = (int(column[again[0]]) for column in places)
    said = [known[rank] for known, rank in zip(texts, ranks, strict=True) if rank >= 0]
    return "/".join([*said, *([] if index == NO_INDEX else [str(index)])])


def _require_stored_alike(
    reason: Any, refusals: Sequence[Sequence[Any]], facts: Mapping[Any, Any], datasets: Sequence[Mapping[str, Any]]
) -> None:
    """Raises DataError for what a column would store as something else, as a text column stores 3: its hash would not be found again."""
    _require_texts("the reason of a cell", [reason])
    _require_texts("an arm or reason of a refusal", [x for r in refusals for x in r[:2]])
    _require_texts("a fact", [x for fact in facts.items() for x in fact])
    _require_texts("a dataset", [d.get(c) for d in datasets for c in DATASET_COLUMNS if c not in COUNTS])
    margins = [plain(r[2]) for r in refusals]
    counts = [plain(d.get(c)) for d in datasets for c in COUNTS]
    for what, values, kind in (("a margin", margins, float), ("a count of a dataset", counts, int)):
        for value in values:
            if value is not None and type(value) is not kind:
                raise DataError(f"{what} is {value!r}, and would be stored as a {kind.__name__}")


def _require_texts(what: str, values: Iterable[Any]) -> None:
    for value in values:
        if not isinstance(value, str) and value is not None:
            raise DataError(f"{what} is {value!r}, a {type(value).__name__}, and would be stored as a text")


def _ranked(
    *columns: tuple[str | None, ...],
) -> tuple[tuple[list[str], ...], tuple[np.ndarray, ...], np.ndarray | None]:
    """Of columns of texts: the distinct ones of each in order, for each row the ranks of its texts, and the order of the rows.

    Ranks are little-endian int32, -1 where a text is None. Where no two rows have the same texts these alone give the order,
    and the ranks stand in it; else the order is None.
    """
    import numpy as np

    texts, ranks = [], []
    for values in columns:
        found = {v for v in values if v is not None}
        _require_texts("an arm, metric or label", found)
        distinct = sorted(found)
        rank: dict[str | None, int] = {text: k for k, text in enumerate(distinct)}
        rank[None] = -1
        texts.append(distinct)
        ranks.append(np.array([rank[v] for v in values], dtype="<i4"))
    if len(set(zip(*columns, strict=True))) < len(columns[0]):
        return tuple(texts), tuple(ranks), None
    order = np.lexsort(tuple(reversed(ranks)))
    return tuple(texts), tuple(column[order] for column in ranks), order


# The cells of a study mostly have the same arms and metrics as the one before.
_remembered = lru_cache(64)(_ranked)


def plain(value: Any) -> Any:
    """``value``, a scalar of NumPy as one of Python."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def canonical(value: Any) -> str:
    """The one JSON text of ``value``: sorted keys, no spaces, times in ISO format."""
    return CANONICAL.encode(value)


def texts_digest(texts: Iterable[str]) -> str:
    """64 hexadecimal digits of a SHA-256 over ``texts`` in any order."""
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()


def _text(value: object) -> str:
    return value.isoformat(timespec="microseconds") if isinstance(value, datetime) else str(value)


# Made once: json.dumps makes one for every call that does not take its defaults.
HEAD = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_text)
