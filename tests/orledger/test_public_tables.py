"""Three public tables of results, each from CSV to report in one command and checked against scipy and what was published.

``public/README.md`` says where they come from and under which licences.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest, friedmanchisquare, mannwhitneyu, rankdata, wilcoxon
from statsmodels.stats.multitest import multipletests

from orledger.audit.evaluation.auditing import audit
from orledger.audit.importing.loading import import_files
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.tables import expand, read_tables
from orledger.audit.importing.writing import draft
from orledger.audit.registry.reading import parse_hypothesis
from orledger.cli import main
from orledger.schema.reading import open_results
from orledger.schema.writing import Writer

PUBLIC = Path(__file__).with_name("public")
TABLES = ("aeon", "amlb_small-8c1h.csv", "dopamine_atari.csv")


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The audited database of a public table, by the table's name, as ``orledger study`` makes it before it writes."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            db = tmp_path_factory.mktemp("public") / "study.duckdb"
            paths = expand([PUBLIC / name])
            drawn = draft(read_tables(paths), f"{name.partition('.')[0]}.csv")
            with Writer(db) as writer:
                import_files(writer, paths, parse_mapping(drawn.mapping_text, "mapping.toml"))
            audit(db, [parse_hypothesis(drawn.questions.text, "hypotheses.toml")])
            made[name] = db
        return made[name]

    return make


def rows(db: Path, test: str) -> dict[str, dict]:
    with open_results(db) as results:
        found = results.sql("SELECT * FROM test_result WHERE test = ?", [test])
    return {r["comparison"]: r for r in found.to_dicts()}


def means(table: pl.DataFrame, unit: str, arm: str, value: str) -> pl.DataFrame:
    """Units by arms, the mean of the runs, rounded once so that ties are ties."""
    runs = table.drop_nulls(value).group_by(unit, arm, maintain_order=True).agg(pl.col(value).alias("runs"))
    mean = pl.Series(value, [math.fsum(r) / len(r) for r in runs["runs"].to_list()])
    return runs.with_columns(mean).pivot(arm, index=unit, values=value).sort(unit)


def corrected(p: dict[str, float]) -> dict[str, float]:
    """Holm's correction by statsmodels."""
    return dict(zip(p, multipletests(list(p.values()), method="holm")[1], strict=True))


@pytest.mark.slow
def test_classifiers_on_112_datasets_one_file_each(audited):
    db = audited("aeon")
    x, arms = [], ("FreshPRINCE", "HC2", "InceptionTime", "WEASEL-2.0")
    for arm in arms:
        with (PUBLIC / "aeon" / f"{arm}_accuracy.csv").open(encoding="utf-8") as file:
            lines = list(csv.reader(file))[1:]
        x.append({line[0]: math.fsum(map(float, line[1:])) / 10 for line in lines})
    matrix = np.array([[column[d] for column in x] for d in x[0]])
    assert matrix.shape == (112, 4)
    omnibus = rows(db, "friedman")["omnibus"]
    assert omnibus["statistic"] == pytest.approx(friedmanchisquare(*matrix.T).statistic, rel=1e-9)
    stored = json.loads(rows(db, "mean_ranks")["ranks"]["details"])["mean_ranks"]
    assert stored == pytest.approx(dict(zip(arms, rankdata(-matrix, axis=1).mean(axis=0), strict=True)), abs=1e-12)
    pairs = rows(db, "signed_rank")
    assert {r["n"] for r in pairs.values()} == {112}
    for name, row in pairs.items():
        a, b = (matrix[:, arms.index(arm)] for arm in name.split("/"))
        normal = wilcoxon(a - b, method="asymptotic").pvalue  # ours is exact: close in the middle, not in the tail
        if row["p"] > 1e-3:
            assert row["p"] == pytest.approx(normal, rel=0.05)
        wins = int((a > b).sum()), int((a < b).sum()), int((a == b).sum())
        assert (row["wins"], row["losses"], row["draws"]) == wins
    # Middlehurst, Schaefer and Bagnall (2024) find HC2 ahead of all others on these datasets, and FreshPRINCE behind the rest.
    order = sorted(stored, key=stored.__getitem__)
    assert (order[0], order[-1]) == ("HC2", "FreshPRINCE")
    for row in (r for name, r in pairs.items() if "HC2" in name.split("/")):
        assert row["outcome"] in ("less", "greater")
        assert row["p_holm"] < 0.05


def test_automl_with_failures_and_mixed_metrics(audited):
    db = audited("amlb_small-8c1h.csv")
    table = pl.read_csv(PUBLIC / "amlb_small-8c1h.csv", infer_schema_length=None)
    with open_results(db) as results:
        refused = results.sql("SELECT count(*) FROM (SELECT DISTINCT cell_id, arm FROM refusal)").item()
        reasons = results.sql("SELECT DISTINCT reason FROM refusal").to_series().to_list()
        stored = results.sql("SELECT count(*) FROM record WHERE metric = 'score'").item()
    assert stored == table["result"].count()
    assert refused == table.height - table["result"].count() > 0
    assert any("Oboe could not produce any model" in r for r in reasons)
    turned = table.with_columns(
        score=pl.when(pl.col("logloss").is_not_null()).then(-pl.col("logloss")).otherwise(pl.col("auc"))
    )
    wide = means(turned, "task", "framework", "score")
    found = rows(db, "sign")
    expected = {}
    for a, b in combinations(["autosklearn", "H2OAutoML", "TPOT", "oboe", "AutoWEKA"], 2):
        d = (wide[a] - wide[b]).drop_nulls().to_numpy()
        expected[f"{a}/{b}"] = binomtest(int((d > 0).sum()), int((d != 0).sum())).pvalue
    assert {k: v["p"] for k, v in found.items()} == pytest.approx(expected, rel=1e-9)
    assert {k: v["p_holm"] for k, v in found.items()} == pytest.approx(corrected(expected), rel=1e-9)


@pytest.mark.slow
def test_returns_over_games_and_seeds(audited):
    db = audited("dopamine_atari.csv")
    table = pl.read_csv(PUBLIC / "dopamine_atari.csv")
    wide = means(table, "game", "agent", "return")
    x = wide.drop("game").to_numpy()
    assert x.shape == (60, 6)
    assert rows(db, "friedman")["omnibus"]["statistic"] == pytest.approx(friedmanchisquare(*x.T).statistic, rel=1e-9)
    improvements = rows(db, "improvement")
    assert len(improvements) == 15
    for name, row in improvements.items():
        a, b = name.removeprefix("improvement:").split("/")
        shares = []
        for game in wide["game"]:
            at = table.filter(pl.col("game") == game)
            u, v = (at.filter(pl.col("agent") == agent)["return"].to_numpy() for agent in (a, b))
            shares.append(mannwhitneyu(u, v).statistic / (u.size * v.size))
        assert row["effect"] == pytest.approx(np.mean(shares), abs=1e-12)
        assert row["low"] <= row["effect"] <= row["high"]
    # Rainbow was published as an improvement over C51 and DQN on this benchmark, and C51 as one over DQN.
    found = rows(db, "sign")
    assert [found[k]["outcome"] for k in ("DQN/Rainbow", "C51/Rainbow", "DQN/C51")] == ["less", "less", "less"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_one_command_ends_in_a_report(name, tmp_path):
    source, table = PUBLIC / name, tmp_path / name
    shutil.copytree(source, table) if source.is_dir() else shutil.copy(source, table)
    done = CliRunner().invoke(main, ["study", str(table), "--no-pdf"])
    assert done.exit_code == 0, done.output
    report = (table / "aeon-report") if table.is_dir() else table.with_name(f"{table.stem}-report")
    assert (report / "report.html").stat().st_size > 100_000
    assert len(list((report / "figures").glob("*.svg"))) >= 7
