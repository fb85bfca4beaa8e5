"""Reading the transcription: expansion of checks, and errors that name file, entry, key and expectation."""

import pytest

from orledger.audit.recheck.checking import recheck
from orledger.audit.recheck.data import parse_publication
from orledger.audit.recheck.rounding import exactly
from orledger.errors import UsageError

TABLE = """
[table.T]
place = "Table T"
case = "a"
columns = [{ name = "x", kind = "count" }, { name = "y", meaning = "y of {row}" }]

[table.T.rows]
"r 1" = ["3", "0.50"]
"r 2" = ["4", ""]
"""

NUMBER = """
[[number]]
id = "whole"
kind = "sum"
place = "somewhere"
meaning = "a sum"
printed = "7"
"""

CHECK = """
[[check]]
target = "whole"
rule = "total"
of = ["T/r 1/x", "T/r 2/x"]
"""


def parse(text):
    return parse_publication({"t.toml": text})


def test_a_table_becomes_one_number_per_printed_cell():
    numbers = parse(TABLE).numbers
    assert list(numbers) == ["T/r 1/x", "T/r 1/y", "T/r 2/x"]
    assert numbers["T/r 1/x"].interval == exactly(3)
    assert numbers["T/r 1/y"].meaning == "y of r 1"
    assert numbers["T/r 1/y"].place == "Table T, row r 1, column y"
    assert numbers["T/r 1/y"].value == 0.5


def test_a_check_is_judged_from_its_operands():
    assert [f.verdict for f in recheck(parse(TABLE + NUMBER + CHECK))] == ["matches"]
    assert [f.verdict for f in recheck(parse(TABLE + NUMBER.replace('"7"', '"8"') + CHECK))] == ["inconsistent"]


def test_checks_repeat_over_rows_products_and_listed_combinations():
    star = '[[check]]\ntarget = "T/{row}/x"\nrule = "same"\nof = "T/{row}/x"\neach.row = "*"\ntable = "T"\n'
    assert [c.target for c in parse(TABLE + star).checks] == ["T/r 1/x", "T/r 2/x"]
    listed = '[[check]]\ntarget = "T/{a}/x"\nrule = "same"\nof = "T/{b}/x"\neach = [{ a = "r 1", b = "r 2" }]\n'
    (check,) = parse(TABLE + listed).checks
    assert (check.target, check.arguments["of"]) == ("T/r 1/x", "T/r 2/x")


def test_an_operand_may_be_a_computation_of_its_own():
    nested = '[[check]]\ntarget = "whole"\nrule = "difference"\nof = [{ rule = "product", of = ["T/r 1/x", "T/r 2/x"] }, 5]\n'
    (finding,) = recheck(parse(TABLE + NUMBER + nested))
    assert finding.verdict == "matches"
    assert finding.operands == ("T/r 1/x", "T/r 2/x")


def test_another_convention_is_named_only_when_the_first_fails():
    other = '\n[[check.or]]\nrule = "product"\nconvention = "times one"\nof = [{factor}, 1]\n'
    wrong = CHECK.replace('"T/r 2/x"', "1") + 'convention = "first and one"\n'
    (finding,) = recheck(parse(TABLE + NUMBER + wrong + other.replace("{factor}", "7")))
    assert finding.verdict == "false as printed"
    assert finding.why.startswith("true if read as times one")
    assert "first and one" in finding.why
    (finding,) = recheck(parse(TABLE + NUMBER + wrong + other.replace("{factor}", "6")))
    assert finding.verdict == "inconsistent"


def test_the_same_number_may_not_be_written_twice():
    with pytest.raises(UsageError, match=r"t\.toml: whole: key 'id'"):
        parse(NUMBER + NUMBER)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x = [", ["t.toml", "not TOML"]),
        ("[nonsense]\n", ["t.toml", "file", "nonsense"]),
        (TABLE.replace('"0.50"', '"half"'), ["table T, row r 1, column y", "printed", "half", "digits such as"]),
        (TABLE.replace('"0.50"', "0.5"), ["table T, row r 1, column y", "printed", "string"]),
        (TABLE.replace('["4", ""]', '["4"]'), ["table T", "r 2", "a list of 2 printed strings"]),
        (TABLE.replace('kind = "count"', 'kind = "tally"'), ["kind", "tally", "one of", "p-value"]),
        (TABLE.replace('name = "x"', 'nmae = "x"'), ["table T", "name"]),
        (TABLE.replace('case = "a"', 'caes = "a"'), ["table T", "caes"]),
        (NUMBER.replace('id = "whole"\n', ""), ["number at position 0", "id"]),
        (NUMBER.replace('place = "somewhere"\n', ""), ["number whole", "place"]),
        (NUMBER.replace('meaning = "a sum"\n', ""), ["number whole", "meaning"]),
        (NUMBER + CHECK.replace('rule = "total"\n', ""), ["check 1 on whole", "rule"]),
        (NUMBER + '[[check]]\nrule = "total"\n', ["check 1 on None", "target"]),
        (NUMBER + CHECK + 'each.row = "*"\n', ["check 1 on whole", "table"]),
    ],
)
def test_a_malformed_file_is_refused_with_the_file_the_entry_and_the_key(text, parts):
    with pytest.raises(UsageError) as caught:
        parse(text)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("check", "parts"),
    [
        (CHECK.replace('"total"', '"totla"'), ["rule", "totla", "total"]),
        (CHECK.replace("T/r 2/x", "T/r 9/x"), ["of", "T/r 9/x", "id of a transcribed number"]),
        (CHECK.replace("of =", "from ="), ["from", "one of of"]),
        (CHECK.replace('of = ["T/r 1/x", "T/r 2/x"]', ""), ["of", "operand of"]),
        (CHECK.replace('["T/r 1/x", "T/r 2/x"]', '"T/r 1/x"'), ["of", "a list"]),
        (CHECK.replace('"T/r 2/x"', "true"), ["of", "True"]),
        (CHECK.replace('"T/r 2/x"', "{ of = [1] }"), ["of", "a rule"]),
        ('[[check]]\ntarget = "whole"\nrule = "median"\nof = [1]\nscale = "2"\n', ["scale", "literal float"]),
        ('[[check]]\ntarget = "nowhere"\nrule = "share_possible"\nn = 3\n', ["target", "nowhere"]),
    ],
)
def test_a_check_that_cannot_be_evaluated_is_refused_by_name(check, parts):
    with pytest.raises(UsageError) as caught:
        recheck(parse(TABLE + NUMBER + check))
    assert "t.toml" in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


def test_a_target_that_does_not_exist_is_refused_whatever_the_rule():
    with pytest.raises(UsageError, match="nowhere"):
        recheck(parse(TABLE + CHECK.replace('"whole"', '"nowhere"')))
