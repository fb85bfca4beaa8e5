"""Verdicts through the real commands: names, families, margins, units, refusals, looks, and what a registration is worth."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
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


ASKED: dict[str, str] = {}


def asked(name: str, text: str) -> str:
    """The id under which ``text`` is registered and audited once, with all others that a test asks about the same units."""
    assert name not in ASKED
    ASKED[name] = text.replace('id = "X"', f'id = "{name}"')
    return name


@pytest.fixture(scope="module")
def judged(made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What one audit of a copy of ``made`` says about every text that was ``asked``, by its id."""
    folder = tmp_path_factory.mktemp("judged")
    shutil.copy(made, folder / "copy.duckdb")
    words: list[object] = []
    for name, text in ASKED.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        words += ["--registry", folder / f"{name}.toml"]
    done = run("audit", *words, "--db", folder / "copy.duckdb", "--json")
    assert done.exit_code == 0, done.output
    found = {h["id"]: h for h in json.loads(done.output)["hypotheses"]}
    assert set(found) == set(ASKED)
    return found


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
    assert path.read_bytes() == made.read_bytes()


ELSEWHERE = asked(
    "elsewhere",
    comparison(SIGN + '\ncase = "elsewhere"').replace("[disposition]", '[disposition]\nneeds = ["c"]'),
)


def test_a_case_without_cells_is_not_enough_data(judged):
    assert judged[ELSEWHERE]["verdict"] == "not enough data"


SUPPORTED = rule("supported", 'all = ["c is less"]')
SMALLEST = '[[claim]]\nid = "w"\nstatement = "s"\nkind = "measured"\nstat = "min"\npair = ["dataset", "seed", "arm"]\n'
ARM = asked("arm", ruled(compared(SIGN) + SMALLEST, SUPPORTED))


def test_the_arm_of_a_record_may_name_a_unit(judged):
    """Eight units of a and b, and c is missing in one: 23 records of three arms, each a unit of its own."""
    assert judged[ARM]["claims"][0]["n"] == 23


UNDECIDED = asked("undecided", ruled(compared(SIGN + "\nwhere = { seed = { gt = 5 } }"), SUPPORTED))


def test_undecided_can_be_inconclusive_and_never_support(judged):
    assert judged[UNDECIDED]["verdict"] == "inconclusive"


WORSE = '[[claim]]\nid = "w"\nstatement = "s"\nkind = "never_worse"\narms = ["b", "a"]\n'
REFUTED = rule("refuted", 'any = ["w fails"]')
MASKED = ruled(
    compared('test = "sign"\narms = ["b", "a"]\nwhere = { seed = { gt = 5 } }') + WORSE,
    rule("supported", 'all = ["c is less", "w holds"]') + REFUTED,
).replace("[disposition]", '[disposition]\nneeds = ["c"]')
FAILED, UNRULED = asked("failed", MASKED), asked("unruled", MASKED.replace(REFUTED, ""))


def test_a_failed_claim_is_not_masked_by_an_untestable_test(judged):
    """Two units cannot be tested; b is worse than a in both, which is enough to say that it is not never worse."""
    found = judged[FAILED]
    assert (found["verdict"], found["tests"][0]["outcome"]) == ("refuted", "untestable")
    assert judged[UNRULED]["verdict"] != "not testable at this n"


FAMILY = asked(
    "family",
    ruled(
        compared(SIGN + '\nfamily = "f"')
        + compared('test = "sign"\narms = ["a", "c"]\nfamily = "f"', "d")
        + compared('test = "sign"\narms = ["a", "b"]\ncase = "elsewhere"\nfamily = "f"', "e"),
        SUPPORTED,
    ),
)


def test_a_family_is_what_was_registered(judged):
    """A member without data counts: p = 2^-7 of eight equal signs becomes 3 x 2^-7 among three."""
    found = {t["id"]: t for t in judged[FAMILY]["tests"] if t["variant"] == "declared"}
    assert found["c"]["p_holm"] == 3 * 2.0**-7
    assert found["e"]["outcome"] == "missing"


LACKING = asked(
    "lacking",
    ruled(
        compared(SIGN + "\nwhere = { seed = { gt = 5 } }") + compared('test = "sign"\narms = ["b", "b"]', "d"),
        SUPPORTED,
    ),
)


def test_not_testable_says_whether_units_lack_or_tie(judged):
    why = {t["id"]: t["untestable"] for t in judged[LACKING]["tests"] if t["variant"] == "declared"}
    assert why == {"c": "too few units", "d": "too many units tie"}


NOT_WORSE = ruled(compared(RANK + "\nmargin = 0.5"), rule("supported", 'all = ["c is noninferior"]'))
BETTER, WORSE_ARM = asked("better", NOT_WORSE), asked("worse", NOT_WORSE.replace('["a", "b"]', '["b", "a"]'))


def test_not_inferior_is_shown_and_not_assumed(judged):
    """a is lower everywhere, so it is not inferior by any margin; b against a is neither, and says inconclusive."""
    good = judged[BETTER]
    assert good["verdict"] == "supported"
    assert good["tests"][0]["margin"]["noninferior"] == 2.0**-8
    assert good["tests"][0]["posterior"]["below"] > 0.9
    assert judged[WORSE_ARM]["verdict"] == "inconclusive"


COARSER = asked("coarser", ruled(compared(RANK), SUPPORTED))


def test_every_verdict_shows_the_coarser_unit_and_its_population(judged):
    """Eight units are four datasets: flipped whole, their floor is 2^-3, and nothing can be decided."""
    found = judged[COARSER]
    coarser = next(t for t in found["tests"] if t["variant"] == "coarser")
    assert (found["verdict"], coarser["n"], coarser["p"], coarser["outcome"]) == ("supported", 4, 0.125, "untestable")
    assert found["coarser_verdict"] == "not testable at this n"
    assert "not other values of dataset" in found["population"]


def refusing(policy: str, test: str) -> str:
    body = compared(f'test = "{test}"\narms = ["c", "b"]\nrefusals = "{policy}"')
    return asked(f"{test} {policy}", ruled(body, SUPPORTED))


POLICIES = {
    refusing("drop", "sign"): (7, 7),
    refusing("loss", "sign"): (8, 7),
    refusing("worst rank", "signed_rank"): (8, 7),
    refusing("bounds", "sign"): (8, 7),
    refusing("bounds", "signed_rank"): (8, 7),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_refusal_counts_as_declared(judged, name):
    """c is missing in one of eight units, and lower than b in the others."""
    (found, *_) = judged[name]["tests"]
    assert (found["n"], found["wins"]) == POLICIES[name]


def test_bounds_decide_only_what_both_decide(judged):
    """Seven wins and a refusal: 2^-7 when it is won, 0.07 when it is lost, so nothing is decided."""
    (found, *_) = judged["sign bounds"]["tests"]
    assert (found["p"], found["outcome"]) == (pytest.approx(18 / 256), "undecided")


def test_the_interval_of_bounds_holds_both(judged):
    """c is 0.5 below b in seven units and refuses in one: as large as those, and on either side."""
    both, worst = (judged[f"signed_rank {policy}"]["tests"][0] for policy in ("bounds", "worst rank"))
    assert both["low"] <= worst["low"]
    assert both["high"] >= worst["high"]
    assert both["low"] <= -0.5 <= both["high"]


FEW = SIGN + '\nwhere = { dataset = "d0" }'
LEANING = asked(
    "leaning",
    ruled(compared(SIGN) + compared(FEW, "d"), rule("supported", 'all = ["c is less"]\nnone = ["d is greater"]')),
)


def test_a_rule_that_leans_on_what_nobody_knows_says_so(judged):
    """Supported as long as d is not greater; and d has too few units to be anything."""
    found = judged[LEANING]
    assert found["verdict"] == "supported"
    assert "Nothing is known of d untestable (n = 2" in found["reason"]


NOBODY = compared(FEW) + compared(SIGN + '\nwhere = { dataset = "d0", seed = 1 }', "d")
UNKNOWN = {
    otherwise: (
        asked(f"weak {otherwise}", ruled(compared(FEW), SUPPORTED, otherwise)),
        asked(f"none {otherwise}", ruled(NOBODY, rule("refuted", 'any = ["c is greater", "d is greater"]'), otherwise)),
        asked(
            f"known {otherwise}",
            ruled(
                compared(FEW) + compared(SIGN, "e"), rule("supported", 'any = ["c is less", "e is greater"]'), otherwise
            ),
        ),
    )
    for otherwise in ("supported", "refuted", "partially refuted")
}


@pytest.mark.parametrize("otherwise", UNKNOWN)
def test_nothing_known_neither_supports_nor_refutes(judged, otherwise):
    """Without needs, the declared otherwise would decide on two units that could not, or on none at all."""
    found = [judged[name]["verdict"] for name in UNKNOWN[otherwise]]
    assert found == ["not testable at this n", "not enough data", otherwise]


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


TWELVE = asked("twelve", ruled(compared(SIGN + "\nunits = 12"), SUPPORTED))


def test_other_unit_counts_than_registered_are_said(judged):
    assert "c was registered for 12 units and evaluated on 8" in judged[TWELVE]["remarks"]


def test_imported_results_are_never_registered_before(tmp_path):
    (tmp_path / "x.toml").write_text(comparison(SIGN), encoding="utf-8")
    assert run("register", tmp_path / "x.toml", "--db", tmp_path / "s.duckdb").exit_code == 0
    path = study(tmp_path)
    found = json.loads(run("audit", "--db", path, "--json").output)["hypotheses"][0]
    assert found["known"].startswith("imported results: when they were first seen is not known")
    with closing(connect(path, "read")) as con:
        assert con.execute("SELECT after_data, known FROM disposition").fetchone() == (False, found["known"])


EVERYWHERE = asked(
    "everywhere",
    comparison(SIGN)
    .replace('case = "s"', 'case = "other"')
    .replace(
        "[disposition]",
        '[[claim]]\nid = "w"\nstatement = "s"\nkind = "measured"\nstat = "max"\npair = ["k"]\n'
        "sql = 'SELECT 1 AS k, avg(value) AS value FROM record'\n[disposition]",
    ),
)


def test_a_query_that_reads_another_study_counts_its_cells(judged):
    """Declares a study without cells and reads one that has eight: registered after eight cells."""
    found = judged[EVERYWHERE]
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


# One that is evaluated all the same when asked, and one that is not; tests/schema/test_chain.py has all of them and more.
FAST = ("the text of a hypothesis", "an edited record")


@pytest.fixture(scope="module")
def once_audited(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited")
    audited(made, folder, comparison(SIGN))
    return folder / "copy.duckdb"


@pytest.mark.parametrize(
    "cheat", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in CHEATS]
)
def test_no_verdict_on_a_database_that_was_meddled_with(once_audited, tmp_path, cheat):
    path = tmp_path / "copy.duckdb"
    shutil.copy(once_audited, path)
    with duckdb.connect(str(path)) as con:
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


CORRECTED = asked(
    "corrected",
    comparison(SIGN).replace(
        "[defaults]",
        '[[hypothesis.earlier]]\nhash = "' + "a" * 64 + '"\ndate = "2026-01-31"\nnote = "ties count once"\n[defaults]',
    ),
)


def test_a_corrected_text_is_an_amendment_also_in_a_new_database(judged):
    found = judged[CORRECTED]
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
