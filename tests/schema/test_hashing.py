"""The hashes by their definition: stored ones must be found again by every later version."""

from __future__ import annotations

import hashlib
import json
import struct
from datetime import datetime
from itertools import permutations

import numpy as np
import pytest

from orledger.schema.hashing import canonical, content_hash, texts_digest

# arm, metric, label, idx, value
ROWS = [
    ("b", "rmse", "x", 3, 0.5),
    ("a", "rmse", None, None, -0.0),
    ("b", "nll", None, 0, 7.0),
    ("b", "nll", None, 0, 2.0),
]


def columns(rows):
    texts = {n: np.array([r[i] for r in rows], dtype=object) for i, n in enumerate(("arm", "metric", "label"))}
    idx = np.ma.array([r[3] or 0 for r in rows], mask=[r[3] is None for r in rows], dtype=np.int32)
    return {**texts, "idx": idx, "value": np.array([r[4] for r in rows])}


def expected(rows, state="done", reason=None, refusals=(), facts=None, datasets=()):
    """The definition, row by row: ranks of texts, indices with a sign for none, bits of doubles, sorted and packed."""
    texts = [sorted({r[i] for r in rows} - {None}) for i in range(3)]
    bits = [struct.unpack("<q", struct.pack("<d", r[4]))[0] for r in rows]
    ranks = [tuple(-1 if r[i] is None else texts[i].index(r[i]) for i in range(3)) for r in rows]
    index = [-(2**62) if r[3] is None else r[3] for r in rows]
    found = sorted((*rank, i, b) for rank, i, b in zip(ranks, index, bits, strict=True))
    head = {"state": state, "reason": reason, "rows": len(rows), "texts": texts, "refusals": refusals, "facts": facts or {}, "datasets": datasets}  # fmt: skip
    digest = hashlib.sha256(json.dumps(head, sort_keys=True, ensure_ascii=False).encode())
    for column, kind in zip(zip(*found, strict=True), "iiiqq", strict=True):
        digest.update(struct.pack(f"<{len(column)}{kind}", *column))
    return digest.hexdigest()[:32]


def test_the_hash_of_a_cell_is_as_it_is_defined():
    want = expected(ROWS, "done", "é", [["x", "r", None]], {"f": "v"}, [{"name": "d", "n_rows": 3}])
    for order in permutations(ROWS):
        found = content_hash(
            "done", "é", columns(order), [("x", "r", None)], {"f": "v"}, [{"n_rows": np.int64(3), "name": "d"}]
        )
        assert found == want


@pytest.mark.parametrize("rows", [ROWS[:1], ROWS[1:2], ROWS[2:], [("a", "m", "l", 1, 1.0)] * 2])
def test_one_text_and_no_text_are_hashed_in_the_same_way(rows):
    assert content_hash("done", None, columns(rows)) == expected(rows)
    listed = {**columns(rows), "label": [r[2] for r in rows]}
    assert content_hash("done", None, listed) == expected(rows)


def test_the_canonical_text_is_sorted_and_tight():
    assert canonical({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'
    assert canonical([datetime(2026, 1, 2, 3, 4, 5)]) == '["2026-01-02T03:04:05.000000"]'
    assert canonical([1 + 2j]) == '["(1+2j)"]'
    assert texts_digest(["b", "a"]) == hashlib.sha256(b"a\nb").hexdigest() == texts_digest(iter(["a", "b"]))
