"""Hashes: of what a cell recorded, and of texts such as the rows of a table, whatever their order and whoever asks."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

# The columns of the table dataset after its cell, all of them hashed.
DATASET_COLUMNS = ("name", "origin", "n_rows", "n_features", "target", "distinct_targets", "sha256")
# One hash for what a database holds, whatever the order in which it came: every cell with its state and content. A query, so
# that any connection can ask it.
DATABASE_HASH = """
SELECT sha256(coalesce(string_agg(
    cell_id || ':' || state || ':' || coalesce(content_hash, n_records::VARCHAR, ''), ',' ORDER BY cell_id), '')) AS hash
FROM cell
"""
# Stands for an absent index among the 32-bit ones.
NO_INDEX = -(2**62)


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
    import numpy as np  # who only reads a database waits for no arrays

    value = np.ascontiguousarray(columns["value"], dtype="<f8")
    idx = np.ma.getdata(columns["idx"]).astype("<i8")
    idx[np.ma.getmaskarray(columns["idx"])] = NO_INDEX
    texts, ranks = zip(*(_ranked(columns[name]) for name in ("arm", "metric", "label")), strict=True)
    bits = value.view("<i8")
    order = np.lexsort((bits, idx, *reversed(ranks)))
    head = {
        "state": state,
        "reason": reason,
        "rows": int(value.size),
        "texts": texts,
        "refusals": sorted([list(map(_plain, r)) for r in refusals], key=json.dumps),
        "facts": dict(facts or {}),
        "datasets": sorted([{k: _plain(v) for k, v in sorted(d.items())} for d in datasets], key=json.dumps),
    }
    digest = hashlib.sha256(HEAD.encode(head).encode())
    for column in (*ranks, idx, bits):
        digest.update(column[order].tobytes())
    return digest.hexdigest()[:32]


def _ranked(column: Any) -> tuple[list[str], np.ndarray]:
    """The distinct texts in order, and for each row the rank of its text (-1 where it is None), little-endian int32."""
    import numpy as np

    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    different = set(values)
    if len(different) == 1:  # a cell often has one metric, and no labels
        only = different.pop()
        return ([], np.full(len(values), -1, "<i4")) if only is None else ([only], np.zeros(len(values), "<i4"))
    distinct = sorted(different - {None})
    rank: dict[str | None, int] = {text: k for k, text in enumerate(distinct)}
    rank[None] = -1
    return distinct, np.array(list(map(rank.__getitem__, values)), dtype="<i4")


def _plain(value: Any) -> Any:
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
