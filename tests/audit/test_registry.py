"""Hypothesis files: what they may say, what is refused and how, and that the shipped ones ask for what is recorded."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from hypothesis_text import GOOD

from orledger.audit.registry.quantities import RecordSource, Surface, units_sql
from orledger.audit.registry.reading import parse_hypothesis, shipped_hypotheses
from orledger.schema.catalogue import Catalogue, Metric
from orledger.schema.layouts import layouts
from orledger.toml_tables import TomlError


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_a_good_file():
    h = parse_hypothesis(GOOD, "x.toml")
    assert h.id == "X"
    assert {q.case for q in h.quantities} == {"t"}
    assert [n for n, _ in h.comparisons[0].sides] == ["a", "b"]
    assert h.comparisons[0].unit == ("k",)
    assert not h.comparisons[0].nested
    assert h.rules[0].all[1].value == "holds"


@pytest.mark.parametrize(
    ("text", "table", "key", "expected"),
    [
        (changed('mode = "registered"', 'mode = "maybe"'), "hypothesis", "mode", "registered, exploratory"),
        (changed('mode = "registered"\n', ""), "hypothesis", "mode", "it is missing"),
        (changed('test = "signed_rank"', 'test = "t-test"'), "comparison 1", "test", "signed_rank"),
        (changed('test = "signed_rank"', 'test = "signed_rank"\ntset = 1'), "comparison 1", "tset", "known keys"),
        (changed('metric = "m"', "metric = 3"), "comparison 1", "metric", "a text"),
        (changed('pair = ["k"]', "pair = []"), "comparison 1", "pair", "not empty"),
        (changed('arms = ["a", "b"]\n\n[[claim]]', 'arms = ["a", "b"]\nunit = ["seed"]\n\n[[claim]]'), "comparison 1", "unit", "keys among those of pair"),
        (changed('arms = ["a", "b"]\n\n[[claim]]', 'arms = ["a", "b"]\nwhere = { level = { above = 0 } }\n\n[[claim]]'), "comparison 1", "where", "one of eq, ne"),
        (changed('arms = ["a", "b"]\n\n[[claim]]', 'arms = ["a", "b"]\nalpha = 2\n\n[[claim]]'), "comparison 1", "alpha", "between 0 and 1"),
        (changed('arms = ["a", "b"]\n\n[[claim]]', 'arms = ["a", "b"]\naggregate = { over = "seed", stat = "variance" }\n\n[[claim]]'), "comparison 1.aggregate", "stat", "cv"),
        (changed('kind = "never_worse"', 'kind = "always_better"'), "claim 1", "kind", "never_worse"),
        (changed('kind = "never_worse"', 'kind = "at_most"'), "claim 1", "limit", "needs it"),
        (changed('all = ["c is less", "w holds"]', 'all = ["d is less"]'), "disposition.rule 1", "all", "names nothing"),
        (changed('all = ["c is less", "w holds"]', 'all = ["c is smaller"]'), "disposition.rule 1", "all", "less, greater"),
        (changed('verdict = "supported"', 'verdict = "proved"'), "disposition.rule 1", "verdict", "supported, refuted"),
        (changed('needs = ["c"]', 'needs = ["z"]'), "disposition", "needs", "'z' is none"),
        (changed('otherwise = "refuted"\n', ""), "disposition", "otherwise", "it is missing"),
        (changed('case = "t"', 'case = "t"\nkolor = "red"'), "defaults", "kolor", "known keys"),
        (changed('case = "t"', 'case = "t"\nonce = { over = ["k"], where = {} }'), "comparison 1.once", "where", "change nothing"),
        (changed('case = "t"', 'case = "t"\nonce = { where = { k = 0 } }'), "comparison 1.once", "over", "it is missing"),
    ],
)  # fmt: skip
def test_mistakes_are_named(text, table, key, expected):
    """Every message names the file, the table, the key, and what was expected."""
    with pytest.raises(TomlError) as error:
        parse_hypothesis(text, "mine.toml")
    message = str(error.value)
    assert "mine.toml" in message
    assert f"[{table}]" in message
    assert repr(key) in message
    assert expected in message


def test_an_unknown_key_that_is_nearly_a_known_one_is_suggested():
    with pytest.raises(TomlError, match="key 'pairs': expected one of the known keys") as error:
        parse_hypothesis(changed('pair = ["k"]', 'pairs = ["k"]\npair = ["k"]'), "mine.toml")
    assert error.value.hint == "did you mean 'pair'?"


FLOOR = """
[[claim]]
id = "floor"
statement = "s"
kind = "measured"
arm = "a"
{}
[disposition]
"""


@pytest.mark.parametrize(
    ("comparison", "claim", "fits"),
    [
        ("where = { k = 1 }", "where = { k = 1 }", True),
        ("where = { k = 1, z = 2 }", 'where = { k = 1 }\npair = ["k", "repeat"]', True),
        ("where = { z = 2 }", 'pair = ["repeat"]', True),
        ("", "", False),
        ("where = { k = 1 }", "where = { k = 2 }", False),
        ("where = { k = 1 }", "", False),
        ("where = { k = [1, 2] }", "where = { k = [1, 2] }", False),
    ],
)
def test_a_floor_is_measured_where_the_comparison_looks(comparison, claim, fits):
    """One number for several grids would give each of them the floor of the worst."""
    text = changed('test = "signed_rank"', f'test = "signed_rank"\nnoise = "floor"\n{comparison}')
    text = text.replace("[disposition]\n", FLOOR.format(claim), 1)
    if fits:
        assert parse_hypothesis(text, "mine.toml").comparisons[0].noise == "floor"
    else:
        with pytest.raises(TomlError, match=r"key 'noise': expected a claim about the same k"):
            parse_hypothesis(text, "mine.toml")
        assert parse_hypothesis(text, "mine.toml", stored=True).comparisons[0].noise is None


def test_a_floor_is_a_claim():
    with pytest.raises(TomlError, match="key 'noise': expected the id of a claim, found 'c'"):
        parse_hypothesis(changed('test = "signed_rank"', 'test = "signed_rank"\nnoise = "c"'), "mine.toml")


def test_broken_toml_names_the_line():
    with pytest.raises(TomlError, match=r"mine\.toml: not valid TOML.*line 3"):
        parse_hypothesis('[hypothesis]\nid = "X"\ntitle = \n', "mine.toml")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('arms = ["a", "b"]\n\n[[claim]]', 'arms = ["a"]\n\n[[claim]]', "compares two sides"),
        ('test = "signed_rank"', 'test = "friedman"', "at least 3 arms"),
        ('test = "signed_rank"', 'test = "spearman"', "needs the tables x and y"),
        ('id = "w"', 'id = "c"', "used once"),
    ],
)
def test_shapes_that_cannot_be(old, new, expected):
    with pytest.raises(TomlError, match=expected):
        parse_hypothesis(changed(old, new), "mine.toml")


def test_one_table_can_stand_for_many_comparisons():
    text = changed(
        'arms = ["a", "b"]\n\n[[claim]]', 'arm = "a"\nagainst = ["b", "c"]\nfor_each = { level = [1, 2] }\n\n[[claim]]'
    )
    h = parse_hypothesis(
        text.replace("c is less", "c/1/b is less").replace('needs = ["c"]', 'needs = ["c/2/c"]'), "x.toml"
    )
    assert [c.id for c in h.comparisons] == ["c/1/b", "c/1/c", "c/2/b", "c/2/c"]
    assert dict(h.comparisons[3].sides[1][1].where)["level"].values == (2,)


def test_one_table_can_stand_for_every_combination_of_keys_arms_and_labels():
    text = changed(
        'test = "signed_rank"\narms = ["a", "b"]',
        'test = "proportion"\nevent = { gt = 0 }\nfor_each = { level = [1, 2], label = ["in", "out"], arm = ["a", "b"] }',
    )
    h = parse_hypothesis(
        text.replace("c is less", "c/1/in/a is less").replace('needs = ["c"]', 'needs = ["c/2/out/b"]'), "x.toml"
    )
    assert [c.id for c in h.comparisons] == [f"c/{k}/{r}/{a}" for k in (1, 2) for r in ("in", "out") for a in "ab"]
    ((_, last),) = h.comparisons[-1].sides
    assert (last.source.arm, last.source.label, dict(last.where)["level"].values) == ("b", "out", (2,))
    assert {"arm", "label"}.isdisjoint(dict(last.where))  # they choose the record, and are no keys of its cell


def test_pairwise_makes_every_pair():
    text = changed(
        'test = "signed_rank"\narms = ["a", "b"]',
        'test = "fisher"\narm = "a"\nevent = { gt = 0 }\npairwise = { b = ["u", "v", "w"] }',
    )
    h = parse_hypothesis(
        text.replace("c is less", "c/u-v is less").replace('needs = ["c"]', "needs = []").replace("needs = []\n", ""),
        "x.toml",
    )
    assert [c.id for c in h.comparisons] == ["c/u-v", "c/u-w", "c/v-w"]


def test_values_are_quoted():
    text = changed('metric = "m"', 'metric = "m\'; DROP TABLE record; --"')
    q = parse_hypothesis(text, "x.toml").comparisons[0].sides[0][1]
    found = layouts([Catalogue(q.case, (Metric(q.block, "a", q.source.metric),))])
    query = units_sql(Surface({(q.case, q.block): found[0]}), q, ("k",))
    assert '"m\'; DROP TABLE record; --" IS NOT NULL' in query
    assert "DROP" not in query.replace('"m\'; DROP TABLE record; --"', "")


def test_only_queries_are_accepted_as_sql():
    with pytest.raises(TomlError, match="begins with SELECT"):
        parse_hypothesis(
            changed('arms = ["a", "b"]\n\n[disp', 'a = { sql = "DELETE FROM record" }\nb = { arm = "b" }\n\n[disp'),
            "x.toml",
        )


# ---- the hypotheses that ship ---------------------------------------------------------------------------------------------


def catalogue(case: str) -> set[tuple[str, str, str, bool, bool]]:
    """(block, arm, metric, labelled, indexed) of everything a case records."""
    data = tomllib.loads(files(f"orledger.runners.case_{case}").joinpath("catalog.toml").read_text(encoding="utf-8"))
    found = set()
    for entry in data["metric"]:
        for block in entry["blocks"]:
            for arm in entry["arms"]:
                for metric in entry["metrics"]:
                    found.add((block, arm, metric, "label" in entry, "idx" in entry))
    return found


def test_shipped_hypotheses_are_the_papers():
    deciding = [h for h in shipped_hypotheses() if h.decides]
    assert [h.id for h in deciding] == ["H1", "H2", "H3", "H4", "H5"]
    assert [h.mode for h in deciding] == ["registered"] * 4 + ["exploratory"]


def test_a_file_without_a_disposition_describes():
    """Shipped descriptions are exploratory, one per case; a registered file must say what follows from its tests."""
    describing = [h for h in shipped_hypotheses() if not h.decides]
    assert [(h.id, h.mode, h.studies) for h in describing] == [
        ("CaseA", "exploratory", ("a",)),
        ("CaseB", "exploratory", ("b",)),
        ("CaseC", "exploratory", ("c",)),
    ]
    registered = describing[0].text.replace('mode = "exploratory"', 'mode = "registered"')
    with pytest.raises(TomlError, match=r"key 'mode': expected exploratory in a file without a table \[disposition\]"):
        parse_hypothesis(registered, "x.toml")


@pytest.mark.parametrize("h", shipped_hypotheses(), ids=lambda h: h.id)
def test_shipped_hypotheses_ask_for_what_is_recorded(h):
    """Every arm, metric, label and index a shipped file asks for stands in the catalogue of its case."""
    known = {case: catalogue(case) for case in "abc"}
    for item in (*h.comparisons, *h.claims):
        for _, q in item.sides:
            if q.source is None:
                continue
            sources = [RecordSource(a, q.source.metric, q.source.label) for a in q.identical] or [q.source]
            for s in (*sources, *([q.divide_by] if q.divide_by else [])):
                match = [e for e in known[q.case] if e[0] == q.block and e[2] == s.metric and s.arm in (e[1], None)]
                assert match, f"{h.id} {item.id}: {q.block}/{s.arm}/{s.metric} is not recorded"
                assert any((s.label is None or e[3]) and (not q.is_series or e[4]) for e in match), f"{h.id} {item.id}"


@pytest.mark.parametrize("h", shipped_hypotheses(), ids=lambda h: h.id)
def test_every_rule_can_be_reached_by_some_outcome(h):
    """No shipped rule asks for two outcomes of one comparison at once."""
    for rule in h.rules:
        wanted = {}
        for term in rule.all:
            assert wanted.setdefault(term.id, term.value) == term.value
        assert not {(t.id, t.value) for t in rule.all} & {(t.id, t.value) for t in rule.none}
