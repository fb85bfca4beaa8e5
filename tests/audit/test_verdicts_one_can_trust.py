"""Verdicts through the real commands: names, families, margins, units, refusals, looks, and what a registration is worth."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from foreign_file import HEAD, comparison, run, study

from orledger.schema.opening import connect

if TYPE_CHECKING:
    from pathlib import Path

SIGN = 'test = "sign"\narms = ["a", "b"]'
RANK = 'test = "signed_rank"\narms = ["a", "b"]'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight units in four datasets; a is lower than b everywhere; c is missing in one unit."""
    return study(tmp_path_factory.mktemp("study"))


def audited(made: Path, folder: Path, text: str, *options: str) -> dict:
    """What the audit of a copy of ``made`` says about the hypothesis in ``text``."""
    path = folder / "copy.duckdb"
    if not path.exists():
        shutil.copy(made, path)
    (folder / "x.toml").write_text(text, encoding="utf-8")
    done = run("audit", "--registry", folder / "x.toml", "--db", path, "--json", *options)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)["hypotheses"][0]


def ruled(body: str, rules: str, otherwise: str = "inconclusive") -> str:
    return f'{HEAD}\n{body}\n[disposition]\notherwise = "{otherwise}"\notherwise_reason = "r"\n{rules}'


def rule(verdict: str, condition: str) -> str:
    return f'[[disposition.rule]]\nverdict = "{verdict}"\nreason = "r"\n{condition}\n'


def compared(body: str, name: str = "c") -> str:
    return f'[[comparison]]\nid = "{name}"\ntitle = "t"\n{body}\n'


@pytest.mark.parametrize(
    ("body", "word", "offer"),
    [
        (SIGN.replace('"b"', '"bb"'), "no arm 'bb'", "did you mean b?"),
        (SIGN + '\nmetric = "mm"', "no metric 'mm'", "did you mean m?"),
        (SIGN + '\npair = ["dataste", "seed"]', "no key 'dataste'", "did you mean dataset?"),
        (SIGN + '\nwhere = { dataset = "d9" }', "no value of dataset 'd9'", "d0"),
        (SIGN + '\nwhere = { sed = 1 }', "no key 'sed'", "did you mean seed?"),
        (SIGN + '\nblock = "tt"', "no block 'tt'", "did you mean t?"),
        (SIGN + '\ncase = "ss"', "no case 'ss'", "did you mean s?"),
        (SIGN + '\naggregate = { over = ["seeds"], stat = "mean" }\npair = ["dataset"]', "no key 'seeds'", "seed"),
    ],
)  # fmt: skip
def test_a_name_that_does_not_occur_is_an_error_before_anything_is_stored(made, tmp_path, body, word, offer):
    path = tmp_path / "copy.duckdb"
    shutil.copy(made, path)
    (tmp_path / "x.toml").write_text(comparison(body), encoding="utf-8")
    done = run("audit", "--registry", tmp_path / "x.toml", "--db", path)
    assert done.exit_code == 2
    assert word in done.output
    assert offer in done.output
    with closing(connect(path, "read")) as con:
        assert con.execute("SELECT count(*) FROM registration").fetchone() == (0,)


def test_a_case_without_cells_is_not_enough_data(made, tmp_path):
    text = comparison(SIGN + '\ncase = "elsewhere"').replace("[disposition]", '[disposition]\nneeds = ["c"]')
    assert audited(made, tmp_path, text)["verdict"] == "not enough data"


def test_the_arm_of_a_record_may_name_a_unit(made, tmp_path):
    """Eight units of a and b, and c is missing in one: 23 records of three arms, each a unit of its own."""
    claim = '[[claim]]\nid = "w"\nstatement = "s"\nkind = "measured"\nstat = "min"\npair = ["dataset", "seed", "arm"]\n'
    text = ruled(compared(SIGN) + claim, rule("supported", 'all = ["c is less"]'))
    assert audited(made, tmp_path, text)["claims"][0]["n"] == 23


def test_undecided_can_be_inconclusive_and_never_support(made, tmp_path):
    body = compared('test = "sign"\narms = ["a", "b"]\nwhere = { seed = { gt = 5 } }')
    found = audited(made, tmp_path, ruled(body, rule("supported", 'all = ["c is less"]')))
    assert found["verdict"] == "inconclusive"


def test_a_failed_claim_is_not_masked_by_an_untestable_test(made, tmp_path):
    """Two units cannot be tested; b is worse than a in both, which is enough to say that it is not never worse."""
    claim = '[[claim]]\nid = "w"\nstatement = "s"\nkind = "never_worse"\narms = ["b", "a"]\n'
    body = compared('test = "sign"\narms = ["b", "a"]\nwhere = { seed = { gt = 5 } }') + claim
    rules = rule("supported", 'all = ["c is less", "w holds"]') + rule("refuted", 'any = ["w fails"]')
    text = ruled(body, rules).replace("[disposition]", '[disposition]\nneeds = ["c"]')
    found = audited(made, tmp_path, text)
    assert (found["verdict"], found["tests"][0]["outcome"]) == ("refuted", "untestable")
    without = text.replace(rule("refuted", 'any = ["w fails"]'), "")
    again = audited(made, tmp_path, without.replace('id = "X"', 'id = "Y"').replace('"c is less"', '"c is less"'))
    assert again["verdict"] != "not testable at this n"


def test_a_family_is_what_was_registered(made, tmp_path):
    """A member without data counts: p = 2^-7 of eight equal signs becomes 3 x 2^-7 among three."""
    body = compared(SIGN + '\nfamily = "f"') + compared('test = "sign"\narms = ["a", "c"]\nfamily = "f"', "d")
    body += compared('test = "sign"\narms = ["a", "b"]\ncase = "elsewhere"\nfamily = "f"', "e")
    tests = audited(made, tmp_path, ruled(body, rule("supported", 'all = ["c is less"]')))["tests"]
    found = {t["id"]: t for t in tests if t["variant"] == "declared"}
    assert found["c"]["p_holm"] == 3 * 2.0**-7
    assert found["e"]["outcome"] == "missing"


def test_not_testable_says_whether_units_lack_or_tie(made, tmp_path):
    few = compared('test = "sign"\narms = ["a", "b"]\nwhere = { seed = { gt = 5 } }')
    tied = compared('test = "sign"\narms = ["b", "b"]', "d")
    found = audited(made, tmp_path, ruled(few + tied, rule("supported", 'all = ["c is less"]')))
    why = {t["id"]: t["untestable"] for t in found["tests"] if t["variant"] == "declared"}
    assert why == {"c": "too few units", "d": "too many units tie"}


def test_not_inferior_is_shown_and_not_assumed(made, tmp_path):
    """a is lower everywhere, so it is not inferior by any margin; b against a is neither, and says inconclusive."""
    rules = rule("supported", 'all = ["c is noninferior"]')
    good = audited(made, tmp_path, ruled(compared(RANK + "\nmargin = 0.5"), rules))
    assert good["verdict"] == "supported"
    assert good["tests"][0]["margin"]["noninferior"] == 2.0**-8
    assert good["tests"][0]["posterior"]["below"] > 0.9
    bad = ruled(compared('test = "signed_rank"\narms = ["b", "a"]\nmargin = 0.5'), rules).replace(
        'id = "X"', 'id = "Y"'
    )
    (tmp_path / "y").mkdir()
    assert audited(made, tmp_path / "y", bad)["verdict"] == "inconclusive"


def test_every_verdict_shows_the_coarser_unit_and_its_population(made, tmp_path):
    """Eight units are four datasets: flipped whole, their floor is 2^-3, and nothing can be decided."""
    found = audited(made, tmp_path, ruled(compared(RANK), rule("supported", 'all = ["c is less"]')))
    coarser = next(t for t in found["tests"] if t["variant"] == "coarser")
    assert (found["verdict"], coarser["n"], coarser["p"], coarser["outcome"]) == ("supported", 4, 0.125, "untestable")
    assert found["coarser_verdict"] == "not testable at this n"
    assert "not other values of dataset" in found["population"]


@pytest.mark.parametrize(
    ("policy", "test", "n", "wins"),
    [("drop", "sign", 7, 7), ("loss", "sign", 8, 7), ("worst rank", "signed_rank", 8, 7), ("bounds", "sign", 8, 7)],
)
def test_a_refusal_counts_as_declared(made, tmp_path, policy, test, n, wins):
    """c is missing in one of eight units, and lower than b in the others."""
    body = compared(f'test = "{test}"\narms = ["c", "b"]\nrefusals = "{policy}"')
    (found, *_) = audited(made, tmp_path, ruled(body, rule("supported", 'all = ["c is less"]')))["tests"]
    assert (found["n"], found["wins"]) == (n, wins)


def test_bounds_decide_only_what_both_decide(made, tmp_path):
    """Seven wins and a refusal: 2^-7 when it is won, 0.07 when it is lost, so nothing is decided."""
    body = compared('test = "sign"\narms = ["c", "b"]\nrefusals = "bounds"')
    (found, *_) = audited(made, tmp_path, ruled(body, rule("supported", 'all = ["c is less"]')))["tests"]
    assert (found["p"], found["outcome"]) == (pytest.approx(18 / 256), "undecided")


def test_the_interval_of_bounds_holds_both(made, tmp_path):
    """c is 0.5 below b in seven units and refuses in one: as large as those, and on either side."""
    body = compared('test = "signed_rank"\narms = ["c", "b"]\nrefusals = "{}"')
    found = {}
    for policy in ("bounds", "worst rank"):
        text = ruled(body.format(policy), rule("supported", 'all = ["c is less"]')).replace(
            'id = "X"', f'id = "{policy}"'
        )
        path = tmp_path / policy.replace(" ", "-")
        path.mkdir()
        found[policy] = audited(made, path, text)["tests"][0]
    both, worst = found["bounds"], found["worst rank"]
    assert both["low"] <= worst["low"]
    assert both["high"] >= worst["high"]
    assert both["low"] <= -0.5 <= both["high"]


def test_a_rule_that_leans_on_what_nobody_knows_says_so(made, tmp_path):
    """Supported as long as d is not greater; and d has too few units to be anything."""
    few = 'test = "sign"\narms = ["a", "b"]\nwhere = { dataset = "d0" }'
    text = ruled(compared(SIGN) + compared(few, "d"), rule("supported", 'all = ["c is less"]\nnone = ["d is greater"]'))
    found = audited(made, tmp_path, text)
    assert found["verdict"] == "supported"
    assert "Nothing is known of d untestable (n = 2" in found["reason"]


@pytest.mark.parametrize("otherwise", ["supported", "refuted", "partially refuted"])
def test_nothing_known_neither_supports_nor_refutes(made, tmp_path, otherwise):
    """Without needs, the declared otherwise would decide on two units that could not, or on none at all."""
    few = compared('test = "sign"\narms = ["a", "b"]\nwhere = { dataset = "d0" }')
    none = compared('test = "sign"\narms = ["a", "b"]\nwhere = { dataset = "d0", seed = 1 }', "d")
    weak = audited(made, tmp_path, ruled(few, rule("supported", 'all = ["c is less"]'), otherwise))
    assert weak["verdict"] == "not testable at this n"
    text = ruled(few + none, rule("refuted", 'any = ["c is greater", "d is greater"]'), otherwise)
    assert audited(made, tmp_path, text, "--amend")["verdict"] == "not enough data"
    known = ruled(few + compared(SIGN, "e"), rule("supported", 'any = ["c is less", "e is greater"]'), otherwise)
    assert audited(made, tmp_path, known, "--amend")["verdict"] == otherwise


def test_looking_again_is_counted(made, tmp_path):
    """More rows between two audits: the second one says that there was a first."""
    path = study(tmp_path, rows=6)
    text = ruled(compared(SIGN + "\nunits = 6"), rule("supported", 'all = ["c is less"]'))
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    assert run("audit", "--registry", tmp_path / "x.toml", "--db", path).exit_code == 0
    more = (tmp_path / "s.mapping.toml").read_text(encoding="utf-8").replace('block = "t"', 'block = "later"')
    (tmp_path / "more.toml").write_text(more, encoding="utf-8")
    assert run("import", tmp_path / "s.csv", "--mapping", tmp_path / "more.toml", "--db", path).exit_code == 0
    found = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"][0]
    assert [look["cells"] for look in found["earlier"]] == [6]
    assert any("audited 1 time before" in r for r in found["remarks"])
    again = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"][0]
    assert again["earlier"] == found["earlier"]


def test_other_unit_counts_than_registered_are_said(made, tmp_path):
    found = audited(made, tmp_path, ruled(compared(SIGN + "\nunits = 12"), rule("supported", 'all = ["c is less"]')))
    assert "c was registered for 12 units and evaluated on 8" in found["remarks"]


def test_imported_results_are_never_registered_before(tmp_path):
    (tmp_path / "x.toml").write_text(comparison(SIGN), encoding="utf-8")
    assert run("register", tmp_path / "x.toml", "--db", tmp_path / "s.duckdb").exit_code == 0
    path = study(tmp_path)
    found = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"][0]
    assert found["known"].startswith("imported results: when they were first seen is not known")
    with closing(connect(path, "read")) as con:
        assert con.execute("SELECT after_data, known FROM disposition").fetchone() == (False, found["known"])


def test_a_query_that_reads_another_study_counts_its_cells(made, tmp_path):
    """Declares a study without cells and reads one that has eight: registered after eight cells."""
    text = comparison(SIGN).replace('case = "s"', 'case = "other"')
    claim = (
        '[[claim]]\nid = "w"\nstatement = "s"\nkind = "measured"\nstat = "max"\npair = ["k"]\n'
        "sql = 'SELECT 1 AS k, avg(value) AS value FROM record'\n[disposition]"
    )
    found = audited(made, tmp_path, text.replace("[disposition]", claim))
    assert (found["cells_done_at_registration"], found["known"]) == (8, "registered after cells were done")


CHEATS = {
    "the text of a hypothesis": "UPDATE registration SET text = replace(text, 'is less', 'is greater')",
    "a back-dated registration": "UPDATE registration SET registered = registered - INTERVAL 1 YEAR",
    "an edited record": "UPDATE record SET value = value - 1 WHERE arm = 'a'",
    "a deleted parent": "UPDATE registration SET parent = repeat('0', 64)",
    "a verdict written by hand": "UPDATE disposition SET verdict = 'refuted'",
    "a registration past the ledger": "INSERT INTO registration SELECT repeat('1', 64), 'Z', mode, statement, file, text,"
    " registered, 0, NULL, false, '[]', [] FROM registration",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_no_verdict_on_a_database_that_was_meddled_with(made, tmp_path, cheat):
    audited(made, tmp_path, comparison(SIGN))
    path = tmp_path / "copy.duckdb"
    with closing(connect(path, "write")) as con:
        assert con.execute(CHEATS[cheat]).fetchall()[0][0] > 0
    done = run("audit", "--db", path)
    assert done.exit_code == 6, done.output
    assert "gets no verdict" in done.output
    marked = run("audit", "--db", path, "--unverified")
    if "text" not in cheat and "past" not in cheat:  # a text that lost its hash is not evaluated at all
        assert marked.exit_code == 0, marked.output
        assert "is not as it was recorded" in marked.output
    else:
        assert marked.exit_code == 6


def test_a_corrected_text_is_an_amendment_also_in_a_new_database(made, tmp_path):
    earlier = (
        '[[hypothesis.earlier]]\nhash = "' + "a" * 64 + '"\ndate = "2026-01-31"\nnote = "ties count once"\n[defaults]'
    )
    found = audited(made, tmp_path, comparison(SIGN).replace("[defaults]", earlier))
    assert found["known"] == "amended after results had been seen"
    assert "the text was corrected on 2026-01-31 after results had been seen: ties count once" in found["remarks"]


def test_power_knows_the_family_and_the_effect(made, tmp_path):
    body = compared(SIGN + '\nfamily = "f"') + compared(
        'test = "sign"\narms = ["a", "c"]\nfamily = "f"\nexpect = 0.9', "d"
    )
    (tmp_path / "x.toml").write_text(ruled(body, rule("supported", 'all = ["c is less"]')), encoding="utf-8")
    done = run("audit", "--power", "--effect", "0.8", "--registry", tmp_path / "x.toml", "--db", made, "--json")
    first, second = json.loads(done.output)
    assert (first["family"], first["needed"], first["planned"]) == (2, 7, 8)  # 2^(1-7) is below 0.05 / 2
    assert (first["effect"], second["effect"]) == (0.8, 0.9)
    assert first["power"] == pytest.approx(0.8**8 + 0.2**8, abs=1e-3)
    assert first["n_for_power"] > second["n_for_power"] > 8


def test_several_files_in_one_audit_are_registered_one_after_the_other(made, tmp_path):
    """The time of each lies between the entries of the chain around it."""
    for name in "XYZ":
        (tmp_path / f"{name}.toml").write_text(comparison(SIGN).replace('id = "X"', f'id = "{name}"'), encoding="utf-8")
    shutil.copy(made, tmp_path / "copy.duckdb")
    files = [word for name in "XYZ" for word in ("--registry", tmp_path / f"{name}.toml")]
    assert run("audit", *files, "--db", tmp_path / "copy.duckdb").exit_code == 0
    assert run("verify", "--db", tmp_path / "copy.duckdb").exit_code == 0
