"""Which test fits the scale of a metric, in whatever unit it is measured; headings with units; columns computed from others."""

from __future__ import annotations

import polars as pl
import pytest

from orledger.audit.importing import words
from orledger.audit.importing.inference import Wishes
from orledger.audit.importing.tables import stacked
from orledger.audit.importing.writing import draft
from orledger.errors import DataError, OrledgerError, UsageError

DATASETS = [f"d{k}" for k in range(11)]
LAUF = "Datensatz;Verfahren;Lauf;Genauigkeit [%];Laufzeit (s)\n" + "".join(
    f"{d};{m};{r};{60 + i + 3 * j},{r};{1 + i},{j}{r}\n"
    for i, d in enumerate(DATASETS) for j, m in enumerate(("Baum", "Netz", "Wald")) for r in (1, 2)
)  # fmt: skip


def drawn(table: str, separator: str = ",", told: list[str] | None = None, **wishes):
    frame = stacked([("t.csv", pl.read_csv(table.encode(), infer_schema=False, separator=separator))])
    return draft(frame, "t.csv", Wishes(**wishes), told=told)


def paired(name: str, factor: float, **wishes):
    """Two methods on eleven datasets; the values double from one dataset to the next, from 0.05 to 51.2 times ``factor``."""
    rows = "".join(
        f"{d},{m},{factor * 0.05 * 2**i * (1 + j / 10)!r}\n" for i, d in enumerate(DATASETS) for j, m in enumerate("ab")
    )
    made = drawn(f"dataset,method,{name}\n{rows}", **wishes)
    return made.questions.text, next(r for r in made.reasons if r.startswith("pairs: "))


@pytest.mark.parametrize("name", ["seconds", "rmse", "loss", "train_time"])
@pytest.mark.parametrize("factor", [1, 1000, 0.001])
def test_the_unit_of_measurement_does_not_choose_the_test(name, factor):
    asked, why = paired(name, factor)
    # the medians of two values that differ by a tenth: 0.0525 in the first dataset, 1024 times as much in the last
    low, high = 0.0525 * factor, 0.0525 * factor * 1024
    assert why == (
        f"pairs: sign test, because typical values of units go from {low:.3g} to {high:.3g} and a signed rank would weigh them by"
        " their scale"
    )
    assert 'test = "sign"' in asked
    assert 'test = "signed_rank"' in paired(name, factor, scale="common")[0]


@pytest.mark.parametrize(
    ("name", "word"), [("accuracy", "accuracy"), ("error [%]", "%"), ("error_rate", "rate"), ("test_auc", "auc")]
)
def test_shares_and_percentages_are_on_one_scale_by_name(name, word):
    asked, why = paired(name, 1)
    assert why == (
        f"pairs: exact signed-rank test, because {name} is bounded (from {word!r}), all values lie between 0 and 100 and differences"
        " are on one scale"
    )
    assert 'test = "signed_rank"' in asked
    assert 'test = "sign"' in paired(name, 10)[0]  # up to 563, and no percentage
    assert 'test = "sign"' in paired(name, 1, scale="own")[0]


def test_percent_signs_say_it_too():
    rows = "".join(f"{d},{m},{2**k / 20 + j / 100}%\n" for k, d in enumerate(DATASETS) for j, m in enumerate("ab"))
    assert 'test = "signed_rank"' in drawn(f"dataset,method,quality\n{rows}", better="higher").questions.text
    assert 'test = "sign"' in drawn(f"dataset,method,quality\n{rows}".replace("%", ""), better="higher").questions.text
    wide = "".join(f"{d},{2**k / 20}%,{2**k / 25}%\n" for k, d in enumerate(DATASETS))
    assert 'test = "signed_rank"' in drawn(f"dataset,a,b\n{wide}", better="higher").questions.text


@pytest.mark.parametrize("keys", [(), ("Lauf",), ("Datensatz", "Lauf")])
def test_columns_in_different_units_are_metrics_and_the_words_stay_the_arm(keys):
    made = drawn(LAUF, ";", keys=keys, better="higher")
    mapping = made.guess.mapping
    assert (mapping.arm, mapping.columns) == ("Verfahren", ("Genauigkeit [%]", "Laufzeit (s)"))
    assert (made.guess.unit, made.guess.repeats, made.guess.primary) == (("Datensatz",), ("Lauf",), "Genauigkeit [%]")
    assert {m.name: (m.better, m.unit) for m in mapping.metrics} == {
        "Genauigkeit [%]": ("higher", "%"), "Laufzeit (s)": (None, None),
    }  # fmt: skip


def test_the_arms_among_the_keys_leave_nothing_to_compare():
    with pytest.raises(DataError, match="no column is left that names the arms") as refused:
        drawn(LAUF, ";", keys=("Verfahren", "Datensatz", "Lauf"), better="higher")
    assert refused.value.hint == "leave out --key Verfahren: it names the arms"


def test_advice_about_rows_names_what_is_missing_and_is_advice_that_works():
    rows = "".join(
        f"{m},{d},{n},0.{i}{j}{n}\n" for i, d in enumerate("uvwx") for j, m in enumerate("ab") for n in (1, 2)
    )
    with pytest.raises(DataError, match="a, u stands 2 times") as refused:
        drawn(f"method,dataset,depth,acc\n{rows}")
    assert refused.value.hint.startswith("--key depth tells them apart; ")
    assert drawn(f"method,dataset,depth,acc\n{rows}", keys=("depth",)).guess.mapping.keys == ("dataset", "depth")


def test_what_is_measured_on_comes_before_a_key_that_was_named():
    rows = "".join(
        f"{m},{d},{n},0.{i}{j}{n}\n" for i, d in enumerate("uvwx") for j, m in enumerate("ab") for n in (1, 2)
    )
    made = drawn(f"metoda,zbior,proba,acc\n{rows}", arm="metoda", keys=("proba",))
    assert made.guess.mapping.keys == ("zbior", "proba")


def test_rows_that_stand_twice_are_said_to_agree_with_and_without_keys():
    table = "dataset,method,acc\nu,a,0.5\nu,b,0.6\nv,a,0.7\nv,b,0.8\nu,a,0.5\n"
    for keys in ((), ("dataset",)):
        with pytest.raises(DataError, match="a, u stands 2 times") as refused:
            drawn(table, keys=keys)
        assert refused.value.hint == "these rows agree in all their columns: take the repeated ones out"


def test_what_was_understood_is_told_when_a_question_is_open():
    told: list[str] = []
    with pytest.raises(UsageError, match="lower or higher"):
        drawn(LAUF, ";", told=told)
    assert told[:3] == [
        "Datensatz: key, because it names what is measured on, 11 of them",
        "numbers: with decimal commas, such as 60,1",
        "Verfahren: names the arms (Baum, Netz, Wald), by its name",
    ]


def test_units_of_headings():
    assert [words.unit_of(n) for n in ("acc [%]", "time (s)", "size (MB)", "ViT (B)", "ours [12]", "acc")] == [
        "%", "s", "mb", None, None, None,
    ]  # fmt: skip
    assert words.is_cost("Laufzeit (s)")
    assert not words.is_cost("Genauigkeit [%]")
    beside = drawn("dataset,A,B,time (s)\nu,0.5,0.6,1.5\nv,0.7,0.8,2.5\n", better="higher")
    assert beside.guess.mapping.arms == ("A", "B")
    assert "time (s): left out, by the unit in its heading it is measured beside the others" in beside.reasons


def test_ranks_averages_and_spreads_of_other_columns_are_left_out():
    wide = drawn("dataset,A,B,A_rank,B_rank\nu,0.5,0.6,2,1\nv,0.9,0.8,1,2\nw,0.1,0.2,2,1\n", better="higher")
    assert wide.guess.mapping.arms == ("A", "B")
    why = "left out, by its name it is computed from A, as averages, ranks and spreads are"
    assert f"A_rank: {why}" in wide.reasons
    rows = "u,a,0.50,0.51,0.01\nu,b,0.60,0.62,0.02\nv,a,0.70,0.73,0.03\nv,b,0.80,0.84,0.04\n"
    made = drawn(f"dataset,method,accuracy,avg_accuracy,accuracy_std\n{rows}")
    assert made.guess.mapping.columns == ("accuracy",)
    assert (
        "avg_accuracy: left out, by its name it is computed from accuracy, as averages, ranks and spreads are"
        in made.reasons
    )
    sklearn = drawn(f"dataset,method,rank_test_score,mean_test_score,std_test_score\n{rows}")
    assert sklearn.guess.mapping.columns == ("mean_test_score",)
    assert (
        "std_test_score: left out, by its name it is computed beside mean_test_score, and is no result"
        in sklearn.reasons
    )
    named = drawn(f"dataset,method,accuracy,avg_accuracy,accuracy_std\n{rows}", metrics=("avg_accuracy",))
    assert (named.guess.mapping.columns, named.guess.primary) == (("accuracy", "avg_accuracy"), "avg_accuracy")


def test_metrics_that_are_called_so_stay():
    rows = "u,a,0.51,0.21,0.01\nu,b,0.60,0.12,0.02\nv,a,0.79,0.63,0.03\nv,b,0.80,0.34,0.04\n"
    for columns in (
        "rank,std,loss",
        "mean_rank,mrr,loss",
        "correlation,rank_correlation,loss",
        "mean_error,median_error,loss",
    ):
        assert drawn(f"dataset,method,{columns}\n{rows}").guess.mapping.columns == tuple(columns.split(","))


def test_a_leaderboard_of_whole_numbers():
    games = "Pong,Breakout,Asterix,Qbert"
    made = drawn(f"agent,{games}\nDQN,18,300,4100,9000\nPPO,20,250,5200,12000\nSAC,19,90,2800,700\n", better="higher")
    assert (made.guess.mapping.arm, made.guess.unit) == ("agent", ("dataset",))
    assert made.guess.mapping.columns == ("value",)
    with pytest.raises(OrledgerError, match="no column looks like a result"):  # ranks of the rows are no scores
        drawn(f"agent,{games}\nDQN,1,2,3,1\nPPO,2,1,1,3\nSAC,3,3,2,2\n", better="higher")


@pytest.mark.parametrize("number", ["1.200,5", "1,200.5", "1.200.000", "1'200.5", "1 200,5"])
def test_separators_of_thousands_are_named(number):
    table = f"dataset;A;B\nu;{number};900\nv;800,5;700\n"
    with pytest.raises(DataError, match="a number with separators of thousands, which is not read") as refused:
        drawn(table, ";", better="higher")
    assert f"column 'A' holds {number!r}" in refused.value.message
