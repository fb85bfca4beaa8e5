"""Relations that papers seldom print: tests in tables, changes of shares, zeros and ones, columns that say too little."""

from __future__ import annotations

import pytest
from scipy import stats

from orledger.audit.recheck.automatic import derived, repeats, symmetry
from orledger.audit.recheck.automatic.checking import recheck_document, tried
from orledger.audit.recheck.automatic.granularity import debit, grimmer
from orledger.audit.recheck.automatic.reported import decides_otherwise, p_value
from orledger.audit.recheck.reading.numbers import PrintedNumber, read_number
from orledger.audit.recheck.reading.opening import read_document
from orledger.audit.recheck.rounding import parse_printed

HUGE = "9" + ",999" * 110  # a number that double precision does not hold


@pytest.fixture
def found(tmp_path):
    """The verdicts of every relation in a text, by rule and what was printed."""

    def recheck(text: str, name: str = "paper.md") -> list[tuple[str, str, str]]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        findings = recheck_document(read_document(tmp_path / name))
        assert sum(tried(findings).values()) == len(findings)
        return [(f.rule, f.printed, f.verdict.value) for f in findings]

    return recheck


def table(*rows: str) -> str:
    head, *body = ("| " + row.replace(",", " | ") + " |" for row in rows)
    return "\n".join([head, "|---" * (rows[0].count(",") + 1) + "|", *body]) + "\n"


def number(text: str) -> PrintedNumber:
    read = read_number(text)
    assert read is not None
    return read


def test_a_column_of_z_is_held_against_its_p(found):
    assert f"{2 * stats.norm.sf(1.96):.3f}" == "0.050"
    assert found(table("arm,z,p-value", "a,1.96,0.050", "b,2.58,0.10", "c,-,0.10")) == [
        ("reported test", "0.050", "matches"),
        ("reported test", "0.10", "inconsistent"),
    ]


def test_a_column_of_t_needs_its_degrees_of_freedom(found):
    assert f"{2 * stats.t.sf(2.20, 28):.3f}" == "0.036"
    rows = table("arm,t,df,p", "a,2.20,28,0.036", "b,2.20,28,0.36", "c,2.20,0,0.03", "d,2.20,-,0.36")
    assert found(rows) == [
        ("reported test", "0.036", "matches"),
        ("reported test", "0.36", "inconsistent"),
        ("reported test", "0.03", "impossible"),
    ]
    assert found(table("arm,t,p", "a,2.20,0.9", "b,2.20,0.8")) == []


def test_a_column_of_correlations_takes_its_degrees_of_freedom_from_the_caption(found):
    def correlations(caption: str) -> str:
        cells = "".join(
            f"<tr><td>{a}</td><td>{r}</td><td>{p}</td></tr>" for a, r, p in (("x", 0.52, 0.003), ("y", 0.10, 0.02))
        )
        head = "<tr><th>pair</th><th>r</th><th>p</th></tr>"
        return f"<table><caption>{caption}</caption>{head}{cells}</table>"  # fmt: skip

    t = 0.52 * (28 / (1 - 0.52**2)) ** 0.5
    assert f"{2 * stats.t.sf(t, 28):.3f}" == "0.003"
    expected = [("reported test", "0.003", "matches"), ("reported test", "0.02", "inconsistent")]
    assert found(correlations("Correlations, N = 30."), "a.html") == expected
    assert found(correlations("Correlations, N = 30 and N = 40."), "b.html") == []
    assert found(correlations("Correlations, N = 2."), "c.html") == []


def test_a_perfect_correlation_leaves_no_chance():
    assert p_value("r", 1.0, (10,)) == p_value("r", -1.0, (10,)) == 0.0


@pytest.mark.parametrize(
    ("p", "possible", "otherwise"),
    [("0.03", (0.2, 0.3), True), ("0.2", (0.01, 0.02), True), ("> 0.01", (0.001, 0.002), False), ("< 0.1", (0.2, 0.3), False)],
)  # fmt: skip
def test_a_p_that_is_bounded_beyond_the_level_decides_nothing(p, possible, otherwise):
    assert decides_otherwise(number(p), possible) is otherwise


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("It rose from 0.50 to 0.60 (a 20% increase).", "matches"),
        ("It rose from 0.50 to 0.60 (a 10% increase).", "another convention"),
        ("It rose from 0.50 to 0.60 (a 13% increase).", "inconsistent"),
    ],
)
def test_a_change_of_shares_may_be_said_in_points(found, text, verdict):
    assert [v for rule, _, v in found(text) if rule == "change"] == [verdict]


@pytest.mark.parametrize(
    "text",
    [
        "It rose from 50% to 60 (a 10% increase).",  # a share and something else
        "It rose from 0 to 5 (a 10% increase).",  # relative to nothing
        "We saw 3 wins and 2 losses in 8 cells.",  # ties that are not mentioned
        "The level is 95% [1.5, 2.5].",  # no estimate
        "It is 3/0 = 4.",  # no value
        f"It fell from {HUGE} to 10 (a 20% reduction).",  # beyond all size
        f"It is 2 × {HUGE} = 5.",
        f"It was 0.5 (95% CI: 3 to {HUGE}).",
        table("arm,rank,v", "a,2,1", "b,1,2"),  # too few ranks
        table("arm,rank,v", "a,9,1", "b,8,1", "c,7,1", "d,6,1"),  # ranks of something else
        table("arm,n (%)", "a,0 (0%)", "b,0 (0%)"),  # any total
        table("arm,n (%)", "a,5 (50%)", "b,7 (3%)", "c,9 (31%)"),  # no total
    ],
)
def test_what_says_too_little_is_not_judged(found, text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 10/3 ≈ 3.4 in all.", ("equation", "10/3 ≈ 3.4", "matches")),
        ("It is 10/3 ≈ 4 in all.", ("equation", "10/3 ≈ 4", "inconsistent")),
        ("We saw 3 wins and 2 losses in 4 cells.", ("wins, losses and ties", "3 wins and 2 losses in 4 cells", "impossible")),
        ("The answers were binary, M = 0.50 (SD = 0.51, n = 20).", ("DEBIT", "M = 0.50 (SD = 0.51, n = 20)", "attainable")),
        ("The answers were binary, M = 0.50 (SD = 0.50, n = 20).", ("DEBIT", "M = 0.50 (SD = 0.50, n = 20)", "another convention")),
        ("The number of visits was M = 4.93 (SD = 1.31, n = 28).", ("GRIMMER", "M = 4.93 (SD = 1.31, n = 28)", "another convention")),
        ("The number of visits was M = 4.64 (SD = 1.40, n = 28).", ("GRIMMER", "M = 4.64 (SD = 1.40, n = 28)", "impossible")),
        ("The answers were binary, M = 0.50 (SD = 0.40, n = 20).", ("DEBIT", "M = 0.50 (SD = 0.40, n = 20)", "impossible")),
    ],
)  # fmt: skip
def test_one_relation_is_judged(found, text, expected):
    assert found(text) == [expected]


def test_a_share_that_no_smaller_sample_gives_is_impossible(found):
    """Of 33 to 40, none has a count that prints as 12.4%; the others are multiples of 2.5%."""
    assert not any(f"{100 * k / n:.1f}" == "12.4" for n in range(33, 41) for k in range(n + 1))
    shares = ["2.5", "12.5", "22.5", "37.5", "42.5", "57.5", "62.5", "87.5", "97.5", "12.4"]
    rows = [f"{chr(97 + k)},{share}" for k, share in enumerate(shares)]
    verdicts = [
        verdict for rule, _, verdict in found(table("arm,share in % (n = 40)", *rows)) if rule == "share possible"
    ]
    assert verdicts == ["attainable"] * 9 + ["impossible"]


def test_one_value_has_no_standard_deviation():
    assert not grimmer(parse_printed("3"), parse_printed("1.0"), 1)
    assert not debit(parse_printed("0.5"), parse_printed("0.5"), 1)


def test_shares_above_one_are_of_no_zeros_and_ones():
    assert debit(parse_printed("1.0"), parse_printed("0.0"), 3)  # all ones; four of three is no candidate
    assert not debit(parse_printed("2.0"), parse_printed("0.0"), 3)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [("3", "3.0", False), ("-3", "3", False), ("3", "30", True), ("3", "31", False), ("0", "0", True), ("0", "1", False)],
)  # fmt: skip
def test_numbers_are_alike_within_a_factor_of_ten(a, b, same):
    assert repeats.alike(number(a), number(b)) is same


def test_the_middle_of_an_interval_that_reaches_zero_has_no_logarithm():
    assert symmetry.middle(number("0.0"), number("2.0"), "log") is None
    between = symmetry.middle(number("1.0"), number("4.0"), "linear")
    assert between is not None
    assert (between.low, between.high) == pytest.approx((2.45, 2.55))


def test_estimates_a_little_off_the_middle_are_no_mistakes_and_those_far_off_are(found):
    rows = [f"a{k},{k + 5}.50 [{k}.00; {k + 11}.00]" for k in range(8)]
    near = table("arm,estimate", *rows, "b,5.90 [0.00; 11.00]")
    far = table("arm,estimate", *rows, "b,9.50 [0.00; 11.00]")
    negative = table(
        "arm,estimate", *(f"a{k},-{k + 5}.50 [-{k + 11}.00; -{k}.00]" for k in range(8)), "b,-9.50 [-11.00; 0.00]"
    )

    def middles(text: str) -> list[str]:
        return [verdict for rule, _, verdict in found(text.replace(";", ",")) if "middle" in rule]

    assert middles(near) == ["matches"] * 8
    assert middles(far) == middles(negative) == ["matches"] * 8 + ["inconsistent"]


def line(*values: str) -> derived.Line:
    return {i: (number(value), str(i)) for i, value in enumerate(values)}


def test_a_column_that_never_varies_follows_from_nothing():
    lines = {
        0: line("1.5", "2.5", "3.5", "4.5"),
        1: line("2.5", "1.5", "0.5", "-0.5"),
        2: line("4.0", "4.0", "4.0", "4.0"),
    }
    assert all(relation.c != 2 for relation in derived.relations(lines, frozenset({2})))


def test_most_rows_must_fit_before_a_column_follows_from_others():
    """The sum of the first two in four rows of eight: a quantity of its own."""
    a, b = [str(k * k + 0.5) for k in range(8)], [str(3 * k + 0.25) for k in range(8)]
    sums = [float(x) + float(y) for x, y in zip(a, b, strict=True)]
    whole = {0: line(*a), 1: line(*b), 2: line(*(f"{s:.2f}" for s in sums))}
    half = {0: line(*a), 1: line(*b), 2: line(*(f"{s + 7 * (k % 2):.2f}" for k, s in enumerate(sums)))}
    assert [{r.a, r.b, r.c} for r in derived.relations(whole)] == [{0, 1, 2}]
    assert derived.relations(half) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The effect, 95% CI 4 [1, 7], is clear.", ["matches"]),  # of a confidence interval, and not once more
        ("The name x4 [1, 2] is none.", []),
        (table("arm,95% CI,p", "a,[1; 7],0.01", "b,[1; 7],-", "c,-,0.01").replace(";", ","), ["matches", "matches", "matches"]),
    ],
)  # fmt: skip
def test_an_interval_is_judged_once(found, text, expected):
    assert [verdict for rule, _, verdict in found(text) if rule.startswith("interval")] == expected


def test_rows_without_a_mean_or_its_n_are_left_out(found):
    good = ("a,3.50,1.10,20", "b,2.25,0.85,20", "c,4.10,1.55,20")
    rows = table("The number of answers,mean,SD,n", *good, "d,-,1.10,20", "e,3.50,1.10,-", "f,3.50,1.10,1")
    assert [printed for rule, printed, _ in found(rows) if rule in ("GRIM", "GRIMMER")] == ["3.50", "2.25", "4.10"]


def test_a_count_that_two_forms_reach_is_judged_once(found):
    """30% (12 of 40) and 12 of 40 (30%) in one: the 12 belongs to both."""
    assert [verdict for rule, _, verdict in found("It was 30% (12 of 40, 30%) in all.") if "share" in rule] == [
        "matches"
    ]


def test_a_cell_that_differs_from_two_tables_is_named_once(found):
    def one(estimate: str) -> str:
        rows = [f"row{k},0.{k}5 [0.{k}1; 0.{k}9]" for k in range(1, 8)]
        return table("arm,estimate", *rows, f"last,{estimate} [0.81; 0.89]").replace(";", ",")

    verdicts = [v for rule, _, v in found("\n".join(["A.\n", one("0.85"), "B.\n", one("0.85"), "C.\n", one("0.84")])) if rule == "same interval"]  # fmt: skip
    assert verdicts.count("inconsistent") == 1
    assert verdicts.count("matches") == 8 + 7 + 7


def test_digits_that_share_nothing_but_an_edge_do_not_follow():
    """A count and 0.5 add up to a number known to 0.05, and one that is 0.1 larger is known to 0.05: they touch and do not meet."""
    a, b = [k * k for k in range(1, 9)], [3 * k + 0.5 for k in range(8)]
    counts, halves = line(*map(str, a)), line(*map(str, b))

    def found(*off: float) -> list[derived.DerivedLine]:
        return derived.relations(
            {0: counts, 1: halves, 2: line(*(f"{x + y + z:.1f}" for x, y, z in zip(a, b, off, strict=True)))}
        )

    assert [{r.a, r.b, r.c} for r in found(*[0.0] * 8)] == [{0, 1, 2}]
    assert [r for r in found(*[0.1] * 8) if r.c == 2] == []
