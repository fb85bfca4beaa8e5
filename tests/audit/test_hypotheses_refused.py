"""Hypothesis files with one mistake each: the message names the table and the key, and what may stand there."""

from __future__ import annotations

import pytest
from hypothesis_text import GOOD

from orledger.audit.registry.reading import parse_hypothesis, read_hypothesis
from orledger.toml_tables import TomlError

COMPARISON = 'test = "signed_rank"\narms = ["a", "b"]\n'
CLAIM = 'kind = "never_worse"\narms = ["a", "b"]\n'


def refused(text: str) -> str:
    with pytest.raises(TomlError) as error:
        parse_hypothesis(text, "mine.toml")
    return str(error.value)


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def without_comparison(text: str) -> str:
    """``text`` with its claim alone."""
    head, _, rest = text.partition("[[comparison]]")
    claim = rest[rest.index("[[claim]]") :]
    return head + claim.replace('needs = ["c"]\n', "").replace('"c is less", ', "")


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ('unit = ["k"]\ncoarser = ["z"]', "coarser", "keys among those of unit (k)"),
        ("resolution = 0", "resolution", "a number above 0"),
        ("margin = -0.5", "margin", "a number above 0"),
        ("nominal = 1", "nominal", "a proportion between 0 and 1"),
        ("expect = 0.5", "expect", "between 0.5 and 1"),
        ("units = 0", "units", "at least 1"),
        ('refusals = "loss"', "refusals", "'worst rank' or 'bounds' with signed_rank"),
        ("where = 3", "where", "a table of conditions on keys"),
        ("where = { s = { gt = [1] } }", "where", "a text or a number"),
        ("where = { s = { gt = nan } }", "where", "a text or a number"),
        ("where = { s = { gt = true } }", "where", "a text or a number"),
        ("where = { s = [] }", "where", "texts or numbers"),
        ("where = { s = [1, inf] }", "where", "texts or numbers"),
        ("where = { s = [true] }", "where", "texts or numbers"),
        ("where = { s = true }", "where", "a text, a number, a list of them"),
        ("where = { s = -inf }", "where", "a text, a number, a list of them"),
        ("idx = { lt = 1.5 }", "idx", "a whole number"),
        ("idx = [1, 2]", "idx", "a whole number"),
        ("idx = { lt = true }", "idx", "a text or a number"),
        ("refused = true", "arm", "the arm whose refusal is meant"),
        ('sql = "SELECT 1"\nidentical = ["a"]', "identical", "to stand without key, sql and refused"),
    ],
)
def test_an_option_of_a_comparison_that_cannot_be_used_is_named(line, key, expected):
    sides = {"arm": "", "identical": 'arm = "a"'}.get(key, 'arms = ["a", "b"]')
    message = refused(changed(COMPARISON, f'test = "signed_rank"\n{sides}\n{line}\n'))
    assert message.startswith(f"mine.toml: table [comparison 1], key {key!r}: expected ")
    assert expected in message


@pytest.mark.parametrize(
    ("body", "key", "expected"),
    [
        ('test = "spearman"\narms = ["a", "b"]\nmargin = 1', "margin", "signed_rank, sign, not with spearman"),
        ('test = "friedman"\narms = ["a", "b", "d"]\nexpect = 0.7', "expect", "sign_anytime, not with friedman"),
        ('test = "sign"\narms = ["a", "b"]\nrefusals = "worst rank"', "refusals", "'loss' or 'bounds' with sign"),
        ('test = "friedman"\narms = ["a", "b"]', "arms", "at least 3 arms for friedman, found 2"),
        ('test = "mean_ranks"\narms = ["a"]', "arms", "at least 2 arms for mean_ranks, found 1"),
        ('test = "sign"\nagainst = ["b"]', "arm", "the arm that is compared"),
        ('test = "sign"\n[comparison.a]\narm = "a"\ncolour = "red"\n[comparison.b]\narm = "b"', "colour", "the keys of a quantity"),
        ('test = "sign"\narm = "a"\npairwise = { s = [1] }', "s", "at least two values"),
    ],
)  # fmt: skip
def test_a_comparison_whose_test_and_sides_do_not_fit_is_named(body, key, expected):
    message = refused(changed(COMPARISON, body + "\n"))
    assert f"key {key!r}: expected" in message
    assert expected in message


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('test = "sign"\narms = ["a", "b", "d"]', "sign compares two sides, found 3"),
        ('test = "spearman"\narms = ["a", "b"]', "spearman needs the tables x and y"),
        ('test = "median"\narms = ["a", "b"]', "median looks at one quantity, found 2"),
        ('test = "sign"\narms = ["a", "b"]\nindependent_when = {}', "expected one setting"),
        ('test = "sign"\narms = ["a", "b"]\nindependent_when = { x = "1", y = "2" }', "expected one setting"),
        ('test = "sign"\narms = ["a", "b"]\nfor_each = { s = 1 }', "[comparison 1.for_each]: expected one key with the list"),
        ('test = "sign"\narms = ["a", "b"]\nfor_each = { s = [] }', "[comparison 1.for_each]: expected one key with the list"),
        ('test = "sign"\narm = "a"\npairwise = { s = [1, 2], r = [1, 2] }', "[comparison 1.pairwise]: expected one key"),
        ('test = "sign"\narms = ["a", "b"]\nkey = "k"\nrefused = true', "expected only one of key, sql and refused"),
    ],
)  # fmt: skip
def test_the_shape_of_a_comparison_is_told_where_it_is_wrong(body, expected):
    message = refused(changed(COMPARISON, body + "\n"))
    assert "[comparison 1" in message
    assert expected in message


@pytest.mark.parametrize(
    ("body", "key", "expected"),
    [
        ('kind = "resampled"\narms = ["a", "b"]\nalong = "k"\nwithin = ["k"]\npair = ["k", "s"]\nstat = "mean"', "stat", "a measure of spread"),
        ('kind = "count"\narms = ["a", "b"]', "at_least", "a number of units"),
        ('kind = "at_most"\nlimit = 1\ncombine = "ratio"\narms = ["a", "b", "d"]', "combine", "two sides to make one value of (3 given)"),
        ('kind = "never_worse"\narms = ["a", "b"]\nunit = ["z"]', "unit", "keys among those of pair (k)"),
        ('kind = "never_worse"\narms = ["a", "b"]\nlevel = 1', "level", "between 0 and 1"),
        ('kind = "never_worse"\narms = ["a", "b"]\nrefused_as = 1', "refused_as", "at_most or at_least, not with never_worse"),
        ('kind = "at_most"\nlimit = 1\narm = "a"\ndraws = 0', "draws", "a whole number from 1 to"),
    ],
)  # fmt: skip
def test_an_option_of_a_claim_that_cannot_be_used_is_named(body, key, expected):
    message = refused(changed(CLAIM, body + "\n"))
    assert message.startswith(f"mine.toml: table [claim 1], key {key!r}: expected ")
    assert expected in message


def test_never_worse_is_about_two_sides():
    message = refused(changed(CLAIM, 'kind = "never_worse"\narms = ["a", "b", "d"]\n'))
    assert message == "mine.toml: table [claim 1]: never_worse compares two sides, found 3"


@pytest.mark.parametrize("unit", ['"split"', '["split"]'])
def test_a_unit_of_the_defaults_holds_for_claims_whether_it_is_listed_or_not(unit):
    text = changed('pair = ["k"]', f'pair = ["split", "k"]\nunit = {unit}')
    assert parse_hypothesis(text, "x.toml").claims[0].unit == ("split",)


def test_a_claim_paired_otherwise_does_without_the_unit_of_the_defaults():
    text = changed('pair = ["k"]', 'pair = ["split", "k"]\nunit = "split"')
    text = text.replace(CLAIM, CLAIM + 'pair = ["k"]\n')
    assert parse_hypothesis(text, "x.toml").claims[0].unit == ()


@pytest.mark.parametrize(
    ("defaults", "table", "key"),
    [
        ("pair = 3", "claim 1", "pair"),
        ('pair = [["k"]]', "claim 1", "pair"),
        ('pair = ["k"]\nunit = 3', "defaults", "unit"),
        ('pair = ["k"]\nunit = [["k"]]', "defaults", "unit"),
    ],
)
def test_keys_that_are_no_texts_are_named_where_there_are_only_claims(defaults, table, key):
    message = refused(without_comparison(changed('pair = ["k"]', defaults)))
    assert message.startswith(f"mine.toml: table [{table}], key {key!r}: expected a list of texts")


def test_a_corrected_text_has_the_hash_and_the_day_of_the_earlier_one():
    earlier = '[[hypothesis.earlier]]\nhash = "{}"\ndate = "{}"\nnote = "n"\n[defaults]'
    good = changed("[defaults]", earlier.format("0" * 64, "2026-01-31"))
    assert parse_hypothesis(good, "x.toml").history == ({"hash": "0" * 64, "date": "2026-01-31", "note": "n"},)
    assert "64 hexadecimal digits" in refused(changed("[defaults]", earlier.format("0" * 63, "2026-01-31")))
    assert "such as 2026-01-31" in refused(changed("[defaults]", earlier.format("0" * 64, "31.1.2026")))


def test_a_rule_has_a_condition():
    message = refused(changed('all = ["c is less", "w holds"]\n', ""))
    assert message.startswith("mine.toml: table [disposition.rule 1], key 'all': expected at least one condition")


def test_a_file_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "h.toml"
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(TomlError, match=r"h\.toml: cannot be read as a TOML text"):
        read_hypothesis(path)
    with pytest.raises(TomlError, match=r"gone\.toml: cannot be read"):
        read_hypothesis(tmp_path / "gone.toml")


def test_a_quantity_has_a_metric_a_key_or_a_query_of_its_own():
    message = refused(changed('metric = "m"\n', ""))
    assert message == "mine.toml: table [comparison 1], key 'metric': expected the name of a metric, it is missing"


def test_a_coarser_unit_of_the_defaults_is_left_out_where_it_is_no_coarser():
    text = changed('pair = ["k"]', 'pair = ["split", "k"]\nunit = ["split", "k"]\ncoarser = ["split"]')
    assert parse_hypothesis(text, "x.toml").comparisons[0].coarser == ("split",)
    alone = text.replace(COMPARISON, COMPARISON + 'unit = ["split"]\n')
    assert parse_hypothesis(alone, "x.toml").comparisons[0].coarser == ()
