"""The paper's printed numbers recomputed: verdicts are found, corrupted numbers are caught, published values come out."""

import re

import polars as pl
import pytest

from orledger.audit.recheck.checking import recheck
from orledger.audit.recheck.findings import summary
from orledger.audit.recheck.frames import findings_frame, load_published
from orledger.audit.recheck.model import CheckVerdict, Publication
from orledger.audit.recheck.rules import RULES, operand_ids
from orledger.paper.published import publication as shipped

GOOD = {verdict for verdict in CheckVerdict if verdict.good}

# Rules that compute one number, so that a wrong leading digit cannot pass.
COMPUTED = {
    "same", "ratio", "difference", "total", "product", "median", "smallest", "largest", "quantile", "weighted_mean",
    "weighted_total", "recorded_level", "achieved_level", "order_statistic", "calibration_rows", "rows_in_part", "p_floor",
    "clopper_pearson", "fisher", "mcnemar", "fisher_holm", "friedman_p", "noise_budget", "numerical_slack", "inflation_law",
    "scaled_by_law", "odds_ratio", "total_share", "delivered_total", "fewer_deliveries", "power_of_ten", "count_lowest",
    "count_below", "farthest_from_one", "spearman", "signed_rank_groups",
}  # fmt: skip


@pytest.fixture(scope="module")
def publication():
    return shipped()


@pytest.fixture(scope="module")
def findings(publication):
    return recheck(publication)


def test_no_check_restates_the_number_it_checks(publication):
    """A literal that repeats the printed digits would notice every change and check nothing; 0 and 1 follow from definitions."""
    for check in publication.checks:
        if check.rule in ("same", "one_of", "same_fraction"):
            printed = [o for o in operand_ids(check) if o != check.target]
            assert printed or check.arguments["of"] in (0, 1), (check.source, check.target)


def by_target(findings, target):
    found = [f for f in findings if f.id.startswith(f"{target} ")]
    assert found, target
    return found


def corrupted(printed):
    """The string with its first non-zero digit replaced, or a fraction with one more or one fewer success."""
    fraction = re.fullmatch(r"(\d+)/(\d+)", printed)
    if fraction:
        k = int(fraction[1])
        return f"{k - 1 if k else 1}/{fraction[2]}"
    first = re.search(r"[1-9]", printed)
    if first is None:
        return printed[:-1] + "1"
    return printed[: first.start()] + str(int(first[0]) - 1) + printed[first.end() :]


def test_the_whole_paper_is_covered_with_at_least_four_hundred_entries(publication, findings):
    targets = {check.target for check in publication.checks}
    assert len(targets) >= 400
    assert len(findings) == len(publication.checks)
    tables = {n.table for n in publication.numbers.values()} - {None}
    labels = {"A", "A16", "Acert", "Afloor", "Aladder", "Aport", "Astab", "Babl", "Barms", "Battr", "Baudit", "Bfloor"}
    labels |= {"Bgap", "Bgapsurv", "Blevels", "Bshift", "Btail", "C", "CaucEI", "CpairEI", "CpairOR", "Cinv", "Ckappa"}
    assert labels <= tables
    parts = {(publication.numbers[target].table or "").partition("_")[0] for target in targets}
    assert labels <= parts


def test_rechecking_twice_gives_the_same_findings(publication, findings):
    assert recheck(publication) == findings


def test_every_finding_is_named_once_and_says_why(findings):
    assert len({f.id for f in findings}) == len(findings)
    assert all(isinstance(f.verdict, CheckVerdict) and f.why and f.place for f in findings)
    assert sum(summary(findings).values()) == len(findings)


def test_every_rule_is_used_by_some_check(publication):
    def named(value):
        if isinstance(value, dict):
            yield from ([value["rule"]] if "rule" in value else [])
            for item in value.values():
                yield from named(item)
        elif isinstance(value, list):
            for item in value:
                yield from named(item)

    used = set()
    for check in publication.checks:
        for one in (check, *check.alternatives):
            used |= {one.rule, *named(dict(one.arguments))}
    assert used == set(RULES)


@pytest.mark.parametrize("n", [3, 5, 10, 25])
def test_case_a_floors_come_out(findings, n):
    assert by_target(findings, f"case A/floor n={n}")[0].verdict == CheckVerdict.MATCHES


@pytest.mark.parametrize(
    "target",
    [
        "case C/floor n=6",
        "case C/floor n=7",
        "case B/floor n=18",
        "case B/floor n=19",
        "whole/floor n=26",
        "whole/floor n=33",
    ],
)
def test_other_floors_come_out(findings, target):
    assert by_target(findings, target)[0].verdict == CheckVerdict.MATCHES


@pytest.mark.parametrize("count", ["7/7", "6/7", "3/6", "3/7", "1/7", "0/7", "6/6"])
@pytest.mark.parametrize("end", ["low", "high"])
def test_clopper_pearson_ends_come_out(findings, count, end):
    assert by_target(findings, f"case C/CP {count} {end}")[0].verdict == CheckVerdict.MATCHES


@pytest.mark.parametrize("which", ["fit", "refusals", "fit all cells", "all rows all cells", "all"])
def test_mcnemar_comes_out(findings, which):
    assert by_target(findings, f"case B/mcnemar {which} p")[0].verdict == CheckVerdict.MATCHES


@pytest.mark.parametrize("which", ["low", "high", "Ackley", "bottom", "top", "groups"])
def test_fisher_with_holm_over_the_five_benchmarks_comes_out(findings, which):
    assert by_target(findings, f"case C/Holm {which}")[0].verdict == CheckVerdict.MATCHES


@pytest.mark.parametrize(
    "target", ["case A/chi2 24 p", "case A/chi2 pooled p", "case C/chi2 final p", "case C/chi2 AUC p"]
)
def test_friedman_p_values_come_out(findings, target):
    assert by_target(findings, target)[0].verdict in {CheckVerdict.MATCHES, CheckVerdict.WITHIN_ROUNDING}


def test_the_table_of_conformal_levels_comes_out_cell_by_cell(findings):
    rows = [f for f in findings if f.id.startswith("Blevels/")]
    assert len(rows) >= 66
    assert {f.verdict for f in rows} == {CheckVerdict.MATCHES}


def test_pooled_p_values_of_case_c_are_normal_approximations_not_exact_ones(findings):
    """Independent reason: the statistic of 33 pairs with the printed zeros dropped takes no other value near by."""
    pooled = [f for f in findings if re.match(r"C(pair|auc)\w+/pooled .*/p signed_rank$", f.id)]
    assert len(pooled) == 12
    for finding in pooled:
        assert finding.verdict == CheckVerdict.CONVENTION
        assert finding.why.startswith("fits normal approximation, zeros dropped")


def test_per_benchmark_p_values_of_case_c_are_exact(findings):
    rows = [f for f in findings if re.match(r"C(pair|auc)\w+/(?!pooled).*/p signed_rank", f.id)]
    assert len(rows) == 60
    assert {f.verdict for f in rows} <= GOOD


def test_a_mean_rank_that_no_33_blocks_can_have_is_found(findings):
    """115/33 prints as 3.48 and 115.5/33 as 3.50; the other four ranks leave exactly 115 for this arm."""
    finding = next(f for f in by_target(findings, "case C/rank final 2x") if f.rule == "share_possible")
    assert finding.verdict is CheckVerdict.IMPOSSIBLE
    assert "rounded twice" in finding.why


def test_a_ratio_of_medians_is_told_from_a_median_of_ratios(findings):
    finding = by_target(findings, "Aladder_span/2.0 / 1.01/1e-3")[0]
    assert finding.verdict == CheckVerdict.CONVENTION
    assert "median over seeds" in finding.why


def test_a_claim_that_the_printed_numbers_contradict_is_inconsistent(findings):
    finding = by_target(findings, "claim/5x never worsens a median")[0]
    assert finding.verdict == CheckVerdict.INCONSISTENT
    assert "0.26" in finding.why


def test_a_wrong_leading_digit_never_passes(publication, findings):
    """Every computed number that agrees as printed is refused once its leading digit is changed."""
    survivors, tried = [], 0
    for check, finding in zip(publication.checks, findings, strict=True):
        number = publication.numbers[check.target]
        if check.rule not in COMPUTED or check.alternatives or number.kind == "claim" or finding.verdict not in GOOD:
            continue
        if check.target in operand_ids(check):
            continue
        wrong = corrupted(number.printed)
        named = {name: publication.numbers[name] for name in (check.target, *operand_ids(check))}
        alone = Publication(named, (check,)).with_printed(check.target, wrong)
        tried += 1
        if recheck(alone)[0].verdict in GOOD:
            survivors.append((finding.id, number.printed, wrong))
    assert tried > 600
    assert survivors == []


@pytest.mark.parametrize(
    ("operand", "printed", "finding"),
    [
        ("Btail/california/shift/1/0.0/n>cap", "37", "case B/over cap total"),
        ("CpairEI/Griewank UCB/tied", "2", "CpairEI/pooled UCB/tied total"),
        ("Ckappa/Ackley-5D/ladder", "5/6", "case C/Holm Ackley fisher_holm"),
        ("A/3e-3/Morozov", "8.6e-3", "case A/slope Morozov loglog_fit"),
        ("Astab/24 3e-4/GCV", "0.482", "Astab/24 median/GCV median"),
        ("Bgapsurv/or1 width ind/single", "0.59", "Bgapsurv/or1 width ind/verdict placed"),
        ("Cinv/silent/moved", "2005", "Cinv/records total"),
        ("case A/two steps", "5", "case A/cells below oracle total_share"),
    ],
)
def test_a_wrong_operand_makes_what_depends_on_it_inconsistent(publication, findings, operand, printed, finding):
    before = next(f for f in findings if f.id == finding)
    assert before.verdict in GOOD
    assert operand in before.operands
    position = findings.index(before)
    alone = Publication(publication.numbers, (publication.checks[position],))
    after = recheck(alone.with_printed(operand, printed))[0]
    assert after.verdict == CheckVerdict.INCONSISTENT


def test_a_wrong_claim_in_words_is_caught(publication, findings):
    position = next(i for i, f in enumerate(findings) if f.id == "Bgapsurv/cp coverage gap/verdict placed")
    alone = Publication(publication.numbers, (publication.checks[position],))
    assert (
        recheck(alone.with_printed("Bgapsurv/cp coverage gap/verdict", "outside"))[0].verdict
        == CheckVerdict.INCONSISTENT
    )


def test_a_percentage_that_no_count_gives_is_impossible(publication, findings):
    position = next(i for i, f in enumerate(findings) if f.id == "case A/agree 1% share_possible")
    alone = Publication(publication.numbers, (publication.checks[position],))
    # 12/182 prints as 6.6 and 13/182 as 7.1; nothing prints as 6.8.
    assert recheck(alone.with_printed("case A/agree 1%", "6.8"))[0].verdict is CheckVerdict.IMPOSSIBLE


def test_a_p_value_that_no_convention_gives_is_inconsistent(publication, findings):
    position = next(i for i, f in enumerate(findings) if f.id == "CpairEI/Branin 2x/p signed_rank")
    alone = Publication(publication.numbers, (publication.checks[position],))
    after = recheck(alone.with_printed("CpairEI/Branin 2x/p", "0.01000"))[0]
    assert after.verdict == CheckVerdict.INCONSISTENT
    assert "exact sign test" in after.why


def test_frames_have_the_columns_of_the_database_and_no_nan(publication):
    frame = load_published(publication)
    assert frame.columns == [
        "id", "place", "table_name", "row_name", "column_name", "kind", "printed", "low", "high", "value", "meaning",
    ]  # fmt: skip
    assert frame["id"].n_unique() == frame.height == len(publication.numbers)
    numbers = frame.filter(pl.col("kind") != "claim")
    assert numbers.select(pl.col("low", "high", "value").is_null().any()).row(0) == (False, False, False)
    assert not numbers.select(pl.col("low", "high", "value").is_nan().any()).row(0)[0]
    assert numbers.filter(pl.col("low") > pl.col("value") + 1e-12).height == 0
    assert frame.filter((pl.col("kind") == "claim") & pl.col("value").is_not_null()).height == 0


def test_findings_as_a_frame_keep_every_row(publication, findings):
    frame = findings_frame(findings)
    assert frame["id"].to_list() == [f.id for f in findings]
    assert frame.schema["operands"] == pl.List(pl.String)
