"""Annotations whose digits do not allow a check: each is a finding of its own, with the reason, and ends none of the others."""

from __future__ import annotations

import pytest
from scipy import stats

from orledger.audit.recheck.checking import recheck
from orledger.audit.recheck.findings import Finding
from orledger.audit.recheck.locating import locate, placed
from orledger.audit.recheck.model import Check, CheckVerdict, Publication, Published
from orledger.audit.recheck.reading.opening import read_document
from orledger.audit.recheck.relations import Relation, annotated_relations
from orledger.audit.recheck.rounding import counts_of, parse_printed
from orledger.errors import UsageError


def published(name: str, printed: str, kind: str = "value") -> Published:
    exact = kind == "count" or counts_of(printed) is not None
    interval = None if kind == "claim" else parse_printed(printed, exact=exact)
    return Published(name, "text", None, None, None, kind, printed, interval, "a number", exact=exact)


def checked(numbers: dict[str, str], rule: str, *, words: tuple[str, ...] = (), **arguments: object) -> Finding:
    """What the one check of the number ``x`` finds."""
    given = {n: published(n, printed, "claim" if n in words else "value") for n, printed in numbers.items()}
    (finding,) = recheck(Publication(given, (Check("x", rule, arguments, "notes.toml"),)))
    return finding


@pytest.mark.parametrize(
    ("numbers", "rule", "arguments", "verdict", "why"),
    [
        ({"x": "1", "a": "0.5"}, "count_full", {"of": ["a"]}, "could not be checked", "a is printed as 0.5, and count_full needs a fraction k/n"),
        ({"x": "1", "a": "7/6"}, "count_full", {"of": ["a"]}, "impossible", "a is printed as 7/6: more than all of them"),
        ({"x": "1", "a": "0.5"}, "same", {"of": "a#k"}, "could not be checked", "not as a fraction; #k and #n name its parts"),
        ({"x": "1", "a": "1/2"}, "same", {"of": "a#m"}, "could not be checked", "not as a fraction; #k and #n name its parts"),
        ({"x": "0.5"}, "p_floor", {"n": 3, "ties": 4}, "impossible", "4 ties among 3 pairs"),
        ({"x": "0.5", "a": "1.2"}, "spearman_p", {"rho": "a", "n": 8}, "impossible", "a rank correlation of 1.2 is beyond one"),
        ({"x": "0.5", "a": "0.2"}, "spearman_p", {"rho": "a", "n": 2}, "could not be checked", "needs 3 pairs, and there are 2"),
    ],
)  # fmt: skip
def test_digits_that_do_not_allow_a_check_are_told(numbers, rule, arguments, verdict, why):
    found = checked(numbers, rule, **arguments)
    assert found.verdict.value == verdict
    assert why in found.why


@pytest.mark.parametrize(
    ("numbers", "rule", "arguments", "expected"),
    [
        ({"x": "1"}, "count_full", {"of": [3]}, "the id of a printed number or a literal"),
        ({"x": "1", "a": "better"}, "same", {"of": "a"}, "a number, not a claim in words"),
        ({"x": "1"}, "same", {"of": {"rule": "signed_rank", "n": 5, "wins": 3}}, "a rule that computes one number"),
    ],
)
def test_annotations_that_cannot_be_used_are_named(numbers, rule, arguments, expected):
    with pytest.raises(UsageError) as error:
        checked(numbers, rule, words=("a",), **arguments)
    assert str(error.value).startswith(f"notes.toml: {rule}: key 'of': ")
    assert error.value.hint is not None
    assert expected in error.value.hint


@pytest.mark.parametrize(
    ("rho", "n", "p", "verdict"),
    [
        (
            "0.00",
            20,
            "1.00",
            "matches within rounding",
        ),  # p is largest at zero, inside the digits, and not at their ends
        ("0.00", 20, "0.97", "inconsistent"),
        ("1.00", 8, "0.000", "matches"),
        ("-1.0", 8, "0.0", "matches"),
    ],
)
def test_a_p_of_a_printed_correlation_is_looked_for_over_all_its_digits(rho, n, p, verdict):
    """At 0.005 of 20 pairs p is 0.983, so the digits 0.00 allow 0.983 to 1."""
    assert 2 * stats.t.sf(0.005 * (18 / (1 - 0.005**2)) ** 0.5, 18) == pytest.approx(0.9833, abs=1e-4)
    assert checked({"x": p, "rho": rho}, "spearman_p", rho="rho", n=n).verdict.value == verdict


def test_words_have_no_digits_to_hold_a_number_against():
    found = checked({"x": "so", "a": "1.5"}, "same", words=("x",), of="a")
    assert (found.verdict, found.recomputed, found.low) == (CheckVerdict.INCONSISTENT, "no value", None)


@pytest.mark.parametrize(("count", "verdict"), [(2, "matches"), (1, "inconsistent")])
def test_improvements_are_counted(count, verdict):
    found = checked(
        {"x": "so", "a": "1.0", "b": "2.0", "c": "1.5", "d": "3.0"}, "improves_exactly", words=("x",), of=["a", "b"], than=["c", "d"], count=count
    )  # fmt: skip
    assert found.verdict.value == verdict


@pytest.mark.parametrize(
    ("reached", "verdict"),
    [
        (
            "3/5",
            "matches",
        ),  # 3 of 5 reach 2: two values below, so the median (third) reaches it and the lower quartile does not
        ("4/5", "inconsistent"),
    ],
)
def test_a_count_agrees_with_quartiles(reached, verdict):
    numbers = {"x": reached, "low": "1.0", "median": "3.0", "high": "4.0"}
    found = checked(numbers, "count_fits_quartiles", reached="x", level=2, median="median", quartiles=["low", "high"])
    assert found.verdict.value == verdict


def test_a_quartile_between_a_value_below_and_one_above_decides_nothing():
    """Of 4 values the lower quartile lies between the first and the second; one of them is below the level."""
    numbers = {"x": "3/4", "low": "1.0", "median": "3.0", "high": "4.0"}
    found = checked(numbers, "count_fits_quartiles", reached="x", level=2, median="median", quartiles=["low", "high"])
    assert found.verdict is CheckVerdict.MATCHES


def test_a_number_of_an_unusable_check_is_only_bounded():
    numbers = {n: published(n, printed) for n, printed in {"x": "1", "a": "0.5"}.items()}
    relations = annotated_relations(Publication(numbers, (Check("x", "count_full", {"of": ["a"]}, "n.toml"),)))
    assert relations == {"x": Relation.BOUNDED, "a": Relation.BOUNDED}


def test_a_claim_in_words_stands_where_its_first_printed_operand_does(tmp_path):
    (tmp_path / "paper.md").write_text("We had 37 runs.\n\nNothing else is said.\n")
    document = read_document(tmp_path / "paper.md")
    numbers = {"x": published("x", "growing forever", "claim"), "a": published("a", "37"), "b": published("b", "99")}
    checks = (Check("x", "below", {"of": ["a"], "than": ["b"]}, "n.toml"), Check("b", "same", {"of": "b"}, "n.toml"))
    publication = Publication(numbers, checks)
    where = locate(publication, document)
    assert set(where) == {"a"}
    claim, other = placed(recheck(publication), publication, where)
    assert (claim.file, claim.line) == ("paper.md", 1)
    assert (other.file, other.line) == ("", None)  # nowhere in the paper
