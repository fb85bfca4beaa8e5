"""Tables and figures that a study.toml declares: their numbers, their marks, and every wrong name told with a suggestion."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from orledger import studies
from orledger.audit.evaluation.auditing import audit
from orledger.audit.importing.loading import import_files
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.tables import read_tables
from orledger.audit.importing.writing import draft
from orledger.audit.registry.reading import parse_hypothesis
from orledger.errors import UsageError
from orledger.reports.drilldown import Drilldown, numbers
from orledger.reports.figures.drawing import draw
from orledger.reports.report.document import render_report
from orledger.reports.tables import latex, plain_text, render, typst
from orledger.reports.tables.building import build_tables
from orledger.schema.reading import open_results
from orledger.schema.writing import Writer

ARMS = ("forest", "ridge", "net & co")
RNG = np.random.default_rng(20260701)
# datasets x seeds x arms; the second arm is worse everywhere
VALUES = np.round(RNG.uniform(0.5, 0.8, (8, 2, 1)) + np.array([0.06, 0.0, 0.08]) + RNG.normal(0, 0.01, (8, 2, 3)), 4)

ACCURACY = """
[[table]]
name = "accuracy"
title = "Accuracy by data set"
metric = "accuracy"
rows = "data set"
columns = "arm"
format = ".3f"
best = "row"
marks = { against = "ridge" }
"""
OVERVIEW = """
[[table]]
name = "overview"
metric = ["accuracy", "seconds"]
statistic = ["median", "rank", "sd", "n"]
rows = "arm"
columns = ["metric", "statistic"]
best = "column"
"""
FIGURES = """
[[figure]]
name = "cd"
title = "Critical differences"
kind = "critical"
metric = "accuracy"

[[figure]]
name = "clock"
kind = "map"
metric = "seconds"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an imported and audited table ``trial.duckdb``."""
    place = tmp_path_factory.mktemp("declared")
    lines = ["data set,method,seed,accuracy,seconds"]
    for i, j, k in np.ndindex(VALUES.shape):
        seconds = "" if (i, k) == (7, 2) else 1 + k
        lines.append(f"d{i},{ARMS[k]},{j},{VALUES[i, j, k]},{seconds}")
    table = place / "trial.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    drawn = draft(read_tables([table]), table.name)
    with Writer(place / "trial.duckdb") as writer:
        import_files(writer, [table], parse_mapping(drawn.mapping_text, "trial.mapping.toml"))
    audit(place / "trial.duckdb", [parse_hypothesis(drawn.questions.text, "trial.hypotheses.toml")])
    return place


def declared(tmp_path: Path, text: str) -> studies.Study:
    (tmp_path / "study.toml").write_text(
        f'name = "trial"\ntitle = "Trial"\n[labels]\nforest = "Random forest"\n{text}', encoding="utf-8"
    )
    return studies.from_folder(tmp_path)


def cells(folder: Path, study: studies.Study, name: str) -> list[dict[str, str]]:
    with open_results(folder / "trial.duckdb") as results:
        (table,) = build_tables(results, names=[name], chosen=[study])
    return list(csv.DictReader(io.StringIO(render.table_csv(table))))


def test_rows_columns_statistic_and_best(folder: Path, tmp_path: Path) -> None:
    found = cells(folder, declared(tmp_path, ACCURACY), "accuracy")
    means = VALUES.mean(axis=1)
    columns = sorted(found[0], key=list(found[0]).index)[-3:]  # arms in order of name, as nothing else was asked for
    assert [c[:3] for c in columns] == ["for", "net", "rid"]
    assert [row["row"] for row in found] == [f"d{i}" for i in range(8)]
    for i, row in enumerate(found):
        assert [float(row[c]) for c in columns] == pytest.approx(means[i, [0, 2, 1]], rel=1e-12)


def test_bold_and_marks_follow_the_numbers_and_the_stored_tests(folder: Path, tmp_path: Path) -> None:
    study = declared(tmp_path, ACCURACY)
    with open_results(folder / "trial.duckdb") as results:
        (table,) = build_tables(results, names=["accuracy"], chosen=[study])
    means = VALUES.mean(axis=1)
    names = [c.key for c in table.columns[1:]]
    for i, row in enumerate(table.rows()):
        assert names[[c.bold for c in row.cells[1:]].index(True)] == ARMS[int(np.argmax(means[i]))]
    # Both arms beat ridge on all eight data sets: the smallest two-sided p is 2/2^8, and three pairs are corrected for.
    p = wilcoxon(means[:, 0] - means[:, 1], method="exact").pvalue
    assert p == pytest.approx(2 / 2**8)
    heads = [render.plain(c.header) for c in table.columns]
    assert {"Random forest+", "net & co+", "ridge"} <= set(heads)
    note = render.plain(table.notes[0])
    assert f"{3 * p:.3f}" in note
    assert "ridge" in note


def test_several_metrics_and_statistics(folder: Path, tmp_path: Path) -> None:
    found = {row["arm"]: row for row in cells(folder, declared(tmp_path, OVERVIEW), "overview")}
    ranks = rankdata(-VALUES, axis=2).mean(axis=(0, 1))
    for k, name in enumerate(("Random forest", "ridge", "net & co")):
        own = VALUES[:, :, k].ravel()
        row = found[name]
        assert float(row["accuracy_median"]) == pytest.approx(np.median(own))
        assert float(row["accuracy_sd"]) == pytest.approx(np.std(own, ddof=1))
        assert float(row["accuracy_rank"]) == pytest.approx(ranks[k])
        assert int(row["seconds_n"]) == (14 if k == 2 else 16)


def test_every_number_opens_to_its_records(folder: Path, tmp_path: Path) -> None:
    """The median, the spread and the count follow from the rows that open; a rank opens to all arms of the cells."""
    with open_results(folder / "trial.duckdb") as results:
        (table,) = build_tables(results, chosen=[declared(tmp_path, OVERVIEW)], names=["overview"])
        opener = Drilldown(results)
        for place, value in numbers(table):
            behind = opener.behind(value)
            assert behind is not None, place
            metric, statistic = place.column.split()
            own = results.sql(behind.queries[0].sql)[metric].to_numpy()
            expected = {"median": np.median(own), "sd": np.std(own, ddof=1), "n": own.size}.get(statistic)
            if expected is not None:
                assert value.value == pytest.approx(expected), place
            else:
                there = 48 if metric == "accuracy" else 42 if place.row == "net & co" else 46
                assert own.size == there, place  # the arms of the cells in which this one has a value


def test_every_format_and_the_report_hold_what_is_declared(folder: Path, tmp_path: Path) -> None:
    study = declared(tmp_path, ACCURACY + OVERVIEW + FIGURES)
    with open_results(folder / "trial.duckdb") as results:
        built = {t.name: t for t in build_tables(results, chosen=[study])}
        assert list(built)[:2] == ["accuracy", "overview"]
        assert "trial-summary" in built  # the generic ones stay
        table = built["accuracy"]
        for text in (latex.table(table), render.table_html(table), plain_text.table(table), typst.table(table)):
            assert "Random forest" in text
        assert r"net \& co" in latex.table(table)
        drawn = {d.name: d for d in draw(results, ["cd", "clock", "trial-forest"], [study])}
        assert not any(d.absent for d in drawn.values())
        assert "Random forest" in latex.table(built["trial-summary"])
        ticks = [t.get_text() for t in drawn["trial-forest"].figure.axes[0].get_yticklabels()]
        assert any("Random forest" in t for t in ticks)
        page = render_report(results, title="Trial", chosen=[study])
    for name in ("table-accuracy", "table-overview", "cd", "clock"):
        assert name in page


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('metric = "accuracy"', 'metric = "acuracy"'), "did you mean 'accuracy'"),
        (('"data set"', '"dataset"'), "did you mean 'data set'"),
        (('"ridge"', '"rigde"'), "did you mean 'ridge'"),
        (('best = "row"', 'arms = ["forrest", "ridge"]'), "did you mean 'forest'"),
        (('best = "row"', 'where = { "data set" = "d9" }'), "no data set 'd9'"),
        (('best = "row"', 'best = "table"'), "one of row, column"),
        ((".3f", "%.3f"), "decimals"),
        (('columns = "arm"', 'columns = "seed"'), '"arm" in rows or columns'),
        (('best = "row"', 'bset = "row"'), "bset"),
        (('metric = "accuracy"', 'metric = ["accuracy", "seconds"]'), '"metric" among rows or columns'),
    ],
)
def test_a_wrong_name_is_told_before_anything_is_written(
    folder: Path, tmp_path: Path, change: tuple[str, str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as told:
        cells(folder, declared(tmp_path, ACCURACY.replace(*change)), "accuracy")
    assert "study.toml" in str(told.value)
    assert "table 1" in str(told.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('kind = "critical"', 'kind = "critcal"'), "one of critical"),
        (('metric = "accuracy"', 'metric = "secnods"'), "did you mean 'seconds'"),
        (('metric = "accuracy"', 'metric = "seconds"'), "compares no arms by 'seconds'"),
        (('kind = "critical"', 'kind = "against"'), "key on the horizontal axis"),
        (('name = "clock"', 'name = "CD"'), "no other"),
    ],
)
def test_a_wrong_figure_is_told_too(folder: Path, tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    study_text = FIGURES.replace(*change)
    with open_results(folder / "trial.duckdb") as results, pytest.raises(UsageError, match=problem):
        list(draw(results, chosen=[declared(tmp_path, study_text)]))


def test_a_case_without_a_package_cannot_be_run(tmp_path: Path) -> None:
    from orledger.runners.plan import planner

    with pytest.raises(UsageError, match="come in as a table"):
        planner("trial", declared(tmp_path, ACCURACY))
