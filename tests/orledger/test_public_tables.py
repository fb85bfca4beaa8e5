"""Three public tables of results, each from CSV to report in one command and checked against scipy.

The tables are other people's and are not shipped. Put copies into a folder and name it in PUBLIC_RESULT_TABLES:

- ``results_small-8c1h.csv``: reports/old/input of openml/automlbenchmark at dfe8d218 (MIT), AutoML with failures and mixed metrics;
- ``results-uea.csv``: results/ of hfawaz/dl-4-tsc at e0233efd (GPL 3), nine networks on 85 time-series datasets, ten runs each;
- ``dopamine/*.json``: baselines/atari/data of google/dopamine at 5873f549 (Apache 2.0), returns of agents on 60 games, five seeds
  each (files without an underscore and without .vg. in their names).
"""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest, friedmanchisquare, mannwhitneyu, rankdata

from orledger.audit.statistics.counts import holm
from orledger.cli import main
from orledger.schema.reading import open_results

FOLDER = Path(os.environ.get("PUBLIC_RESULT_TABLES", "/nonexistent"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="PUBLIC_RESULT_TABLES names no folder with the tables"),
]


def study(table: Path) -> Path:
    """The database that ``orledger study`` made from ``table``; the report is beside it."""
    done = CliRunner().invoke(main, ["study", str(table), "--no-pdf"])
    assert done.exit_code == 0, done.output
    report = table.with_name(f"{table.stem}-report")
    assert (report / "report.html").stat().st_size > 100_000
    assert len(list((report / "figures").glob("*.svg"))) >= 7
    return table.with_suffix(".duckdb")


def copied(name: str, digest: str, folder: Path) -> Path:
    """A copy of the table ``name``, after its hash was checked."""
    assert sha256((FOLDER / name).read_bytes()).hexdigest().startswith(digest)
    return Path(shutil.copy(FOLDER / name, folder))


def rows(db: Path, test: str) -> dict[str, dict]:
    with open_results(db) as results:
        found = results.sql("SELECT * FROM test_result WHERE test = ?", [test])
    return {r["comparison"]: r for r in found.to_dicts()}


def means(table: pl.DataFrame, unit: str, arm: str, value: str) -> pl.DataFrame:
    """Units by arms, the mean of the runs, rounded once so that ties are ties."""
    runs = table.drop_nulls(value).group_by(unit, arm, maintain_order=True).agg(pl.col(value).alias("runs"))
    mean = pl.Series(value, [math.fsum(r) / len(r) for r in runs["runs"].to_list()])
    return runs.with_columns(mean).pivot(arm, index=unit, values=value).sort(unit)


def test_networks_on_85_datasets(tmp_path):
    path = copied("results-uea.csv", "bd8d11c1bf2e5739", tmp_path)
    db = study(path)
    table = means(pl.read_csv(path), "dataset_name", "classifier_name", "accuracy")
    arms, x = table.columns[1:], table.drop("dataset_name").to_numpy()
    assert rows(db, "friedman")["omnibus"]["statistic"] == pytest.approx(friedmanchisquare(*x.T).statistic, rel=1e-9)
    ranks = dict(zip(arms, rankdata(-x, axis=1).mean(axis=0), strict=True))
    stored = json.loads(rows(db, "mean_ranks")["ranks"]["details"])["mean_ranks"]
    assert stored == pytest.approx(ranks, abs=1e-12)
    # The paper of the table (Fawaz et al. 2019) ranks ResNet first and FCN second, and MCNN and t-LeNet last.
    order = sorted(stored, key=stored.get)
    assert (order[:2], order[-2:]) == (["resnet", "fcn"], ["mcnn", "tlenet"])
    pair = rows(db, "signed_rank")["fcn/resnet"]
    assert (pair["outcome"], pair["n"]) == ("less", 85)


def test_automl_with_failures_and_mixed_metrics(tmp_path):
    path = copied("results_small-8c1h.csv", "f2e1521f302954ca", tmp_path)
    db = study(path)
    table = pl.read_csv(path, infer_schema_length=None)
    with open_results(db) as results:
        refused = results.sql("SELECT count(*) FROM (SELECT DISTINCT cell_id, arm FROM refusal)").item()
        reasons = results.sql("SELECT DISTINCT reason FROM refusal").to_series().to_list()
        stored = results.sql("SELECT count(*) FROM record WHERE metric = 'score'").item()
    assert stored == table["result"].count()
    assert refused == table.height - table["result"].count()
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
    corrected = dict(zip(expected, holm(list(expected.values())), strict=True))
    assert {k: v["p_holm"] for k, v in found.items()} == pytest.approx(corrected, rel=1e-9)


def test_returns_over_games_and_seeds(tmp_path):
    path = tmp_path / "atari.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["game", "agent", "seed", "return"])
        for file in sorted((FOLDER / "dopamine").glob("*.json")):
            points = json.loads(file.read_text(encoding="utf-8"))
            last = max(p["Iteration"] for p in points)
            seeds: dict[str, int] = {}
            for p in (p for p in points if p["Iteration"] == last):
                seeds[p["Agent"]] = seeds.get(p["Agent"], 0) + 1
                writer.writerow([file.stem, p["Agent"], seeds[p["Agent"]], p["Value"]])
    db = study(path)
    table = pl.read_csv(path)
    wide = means(table, "game", "agent", "return")
    x = wide.drop("game").to_numpy()
    assert x.shape == (60, 6)
    assert rows(db, "friedman")["omnibus"]["statistic"] == pytest.approx(friedmanchisquare(*x.T).statistic, rel=1e-9)
    for name, row in rows(db, "improvement").items():
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
