"""Rare turns of an audit, each from objects written by hand: words of a line, plans that name no units, names with a slip."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis_text import comparison, framed
from test_deciding import C, R, rule

from orledger.audit.datasets.gate import audit_table
from orledger.audit.datasets.origins import Trust, trust, user_file
from orledger.audit.evaluation.comparisons import Evaluation
from orledger.audit.evaluation.dispositions import Decision
from orledger.audit.evaluation.levels import level_words
from orledger.audit.evaluation.names import UnknownNameError, _misspelt, check_names
from orledger.audit.evaluation.planned import Fixed, planned_units
from orledger.audit.evaluation.summary import test_line as line_of
from orledger.audit.evaluation.units import UnitReader, load_units
from orledger.audit.registry.hypotheses import Hypothesis
from orledger.audit.registry.quantities import Quantity, RecordSource
from orledger.audit.registry.reading import parse_hypothesis
from orledger.audit.registry.words import Outcome, Refusals, Registered, Variant, Verdict
from orledger.audit.statistics import powers
from orledger.audit.statistics.powers import units_for


def evaluated(**fields) -> Evaluation:
    result = replace(R, **{k: fields.pop(k) for k in ("e_value", "method") if k in fields})
    asked = replace(C, sides=tuple((a, Quantity("t", "main", RecordSource(a, "m"))) for a in "ab"), **fields)
    return Evaluation(asked, Variant.DECLARED, True, result, Outcome.LESS, 0, "", fixed=Fixed(6, "", early=True))


def test_the_line_of_an_anytime_test_has_its_evidence():
    assert line_of(evaluated(e_value=12.345)).endswith(", e = 12.3")


def words_of(e: Evaluation) -> str:
    rules = (rule("supported", ["c less"]),)
    h = Hypothesis("H", "t", "s", "registered", (e.comparison,), (), (), rules, Verdict.INCONCLUSIVE, "", "f", "")
    return level_words(h, Decision(Verdict.SUPPORTED, "", 1, ("c",)), {"c": e}, {}, Registered.BEFORE, 0)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "the level of 0.05 is kept"),
        ({"refusals": Refusals.WORST}, "In c a refusal is a loss, so that an arm can be worse by refusing alone"),
        ({"method": "normal approximation"}, "The p of c is an approximation"),
    ],
)
def test_why_a_level_is_not_claimed_is_said(fields, reason):
    assert reason in words_of(evaluated(**fields))


@pytest.mark.parametrize(
    ("name", "names", "slip"),
    [
        ("tolunene", ["toluene", "benzene"], True),
        ("hyperparameter3", ["hyperparameter1", "hyperparameter2"], False),  # another number is another name
        ("water", ["toluene", "benzene"], False),
        ("water", [], False),
    ],
)
def test_a_value_looks_like_another_with_a_slip_in_it_or_does_not(name, names, slip):
    assert _misspelt(name, names) is slip


def test_units_of_a_query_of_its_own_are_in_no_plan():
    """A plan names cells, and neither what a query makes of them nor the arms of their records."""
    early = pl.DataFrame({"cell_id": ["c"]})
    ledger = SimpleNamespace(recall=lambda *_: early, surface=SimpleNamespace(layout=lambda _: None))
    asked = comparison('test = "sign"\na = { sql = "SELECT 1" }\nb = { sql = "SELECT 2" }\n')
    assert planned_units(ledger, asked) is None


def test_no_number_of_units_shows_what_is_not_there(monkeypatch):
    monkeypatch.setattr(powers, "MOST", 8)
    units_for.cache_clear()
    assert units_for("signed_rank", 0.5, 0.05) is None
    units_for.cache_clear()


def test_numbers_without_an_index_have_none_below_six(db):
    """The block has no series at all: a condition on the index of a number holds for none of them."""
    db.cell({"split": 0, "rel": 0}, [("a", "m", 1.0), ("b", "m", 2.0)])
    plain, indexed = (comparison(f'test = "sign"\narms = ["a", "b"]\n{idx}\n') for idx in ("", "idx = { lt = 6 }"))
    found = [load_units(UnitReader(db.results), c.sides[0][1], ("split", "rel")) for c in (plain, indexed)]
    assert [len(units.values) for units in found] == [1, 0]
    assert [len(units.absent) for units in found] == [0, 1]


def test_features_that_are_no_numbers_are_named():
    y = np.arange(100.0)
    found = audit_table(np.full((100, 2), "x"), y)
    assert found.problems == ("the features are not numbers (type <U1)",)
    assert not found.r2


def test_a_file_of_the_user_is_known_by_its_origin():
    assert trust(user_file("mine.csv", "UCI")) is Trust.UNCHECKED
    assert trust("UCI, as downloaded") is Trust.SOURCE


def test_a_value_of_a_part_of_the_plan_that_was_not_run_is_no_mistake(db):
    db.cell({"split": "toluene", "rel": 0}, [("a", "m", 1.0), ("b", "m", 2.0)])
    body = '[[comparison]]\nid = "c"\ntitle = "t"\ntest = "sign"\narms = ["a", "b"]\nwhere = {{ split = "{}" }}\n'
    water, slip = (
        parse_hypothesis(framed(body.format(v), ("split", "rel"), "c is less"), "x.toml") for v in ("water", "tolunene")
    )
    check_names(db.results, [water])
    with pytest.raises(UnknownNameError, match="no value of split 'tolunene' occurs in the data"):
        check_names(db.results, [slip])
