"""The reference corpus audited again: every row of its newest audit comes out as it was stored."""

from __future__ import annotations

import json

import pytest

from orledger.audit.evaluation.auditing import examine
from orledger.audit.evaluation.storing import _rows
from orledger.schema.reading import open_results

KEYS = {"test_result": "test_id", "claim": "claim_id", "disposition": "disposition_id"}
# What another machine or another audit of the same data may say differently.
ELSEWHERE = {"versions", "earlier", "remarks"}
JSON = {"quantities", "dropped", "details", "counterexamples"}


@pytest.fixture(scope="module")
def again(corpus):
    """The corpus, and what its registrations come to now."""
    with open_results(corpus) as results:
        yield results, examine(results)


def same_json(stored, now):
    if isinstance(stored, dict) and isinstance(now, dict):
        return stored.keys() == now.keys() and all(same_json(stored[k], now[k]) for k in stored)
    if isinstance(stored, list) and isinstance(now, list):
        return len(stored) == len(now) and all(map(same_json, stored, now))
    if isinstance(stored, int | float) and isinstance(now, int | float):
        return now == pytest.approx(stored, rel=1e-9, abs=1e-300)
    return stored == now


@pytest.mark.parametrize("table", KEYS)
def test_every_row_is_the_one_that_was_stored(again, table):
    results, found = again
    newest = results.sql("SELECT audit_id FROM audit ORDER BY created DESC, audit_id LIMIT 1").item()
    assert found.audit_id == newest
    frame = results.sql(f"SELECT * FROM {table} WHERE audit_id = ?", [newest])
    stored = {row[KEYS[table]]: row for row in frame.iter_rows(named=True)}
    now = {row[KEYS[table]]: row for f in found.findings for name, row in _rows(found.audit_id, f) if name == table}
    assert stored.keys() == now.keys()
    assert stored
    differing = [
        (key, column, stored[key][column], value)
        for key, row in now.items()
        for column, value in row.items()
        if column not in ELSEWHERE
        and not same_json(*(json.loads(v) if column in JSON else v for v in (stored[key][column], value)))
    ]
    assert differing == []
