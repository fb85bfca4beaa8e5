"""Which numbers of a table are results, and which are not: failures, spreads, means of others, numbers that no arm differs in."""

from __future__ import annotations

import polars as pl
from test_inference import guess

from orledger.audit.importing.inference import Wishes
from orledger.audit.importing.mapping import parse_mapping
from orledger.audit.importing.records import to_records, unstored_reasons
from orledger.audit.importing.tables import stacked
from orledger.audit.importing.writing import draft


def test_a_status_says_why_numbers_are_missing_where_some_run_did_not_end_well():
    """A status is read as a reason; one that says the same good news everywhere is left out, and a reason by name goes before."""

    def text(*status: str, more: str = "") -> str:
        rows = zip(("a,x,0.5", "a,y,0.6", "b,x,", "b,y,0.7"), status, ("", "", more and ",OOM", ""), strict=True)
        return f"dataset,method,accuracy,status{more}\n" + "\n".join(
            f"{r},{s}{m or (more and ',')}" for r, s, m in rows
        )

    mixed = ("ok", "Success", "out of memory", "ok")
    crashed = guess(text(*mixed))
    assert crashed.mapping.reason == "status"
    assert "status: says why a number is missing, by its name" in crashed.reasons
    assert guess(text(*["ok"] * 4)).mapping.reason is None
    assert guess(text(*mixed, more=",error")).mapping.reason == "error"
    table = stacked([("t.csv", pl.read_csv(text(*mixed).encode(), infer_schema=False))])
    rows = to_records(table, crashed.mapping)
    assert rows.filter(pl.col("value").is_null())["reason"].to_list() == ["out of memory"]
    assert unstored_reasons(table, crashed.mapping) == 0


def test_a_number_that_is_the_same_for_every_arm_is_no_result():
    rows = [f"{d},{m},0.{k + 1}{i},0.{k + 3}" for k, d in enumerate("abc") for i, m in enumerate(("x", "y", "z"))]
    found = guess("dataset,method,accuracy,accuracy_max\n" + "\n".join(rows))
    assert [m.name for m in found.mapping.metrics] == ["accuracy"]
    assert "accuracy_max: left out, it is the same for every method" in found.reasons


def test_a_word_among_numbers_is_a_refusal_with_its_reason_and_leaves_no_arm_out():
    text = "dataset,ours,old\nu,0.5,0.4\nv,OOM,0.3\nw,0.7,—\nx,0.6,timeout\n"
    table = stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False))])
    drawn = draft(table, "t.csv", Wishes(better="higher"))
    assert "ours: no number where OOM stands, which is kept as the reason" in drawn.reasons
    mapping = parse_mapping(drawn.mapping_text, "m")
    assert mapping.arms == ("ours", "old")
    absent = to_records(table, mapping).filter(pl.col("value").is_null())
    assert dict(absent.select("dataset", "reason").iter_rows()) == {"v": "OOM", "w": "missing in t.csv", "x": "timeout"}
    # ids and versions are names, and a column of words with a number or two is one of words
    ids = guess("dataset,method,acc\n1461,a,0.5\niris,a,0.6\n1461,b,0.7\niris,b,0.8\n40,a,0.1\n40,b,0.2\n")
    assert ids.mapping.keys == ("dataset",)
    ids = guess("openml,method,acc\n1461,a,0.5\niris,a,0.6\n1461,b,0.7\niris,b,0.8\n40,a,0.1\n40,b,0.2\n")
    assert (ids.mapping.keys, ids.mapping.columns) == (("openml",), ("acc",))
    spread = guess("dataset,ours,old\nu,50 ± 1,40 ± 2\nv,OOM,30 ± 3\nw,60 ± 2,20 ± 1\n", wishes=Wishes(better="higher"))
    assert spread.mapping.arms == ("ours", "old")


def test_a_number_beside_a_failure_is_no_result_and_one_beside_another_end_is():
    rows = [(d, m, s) for d in "uvw" for m in "ab" for s in (0, 1)]

    def records(end: str) -> tuple[list[str], int]:
        text = "dataset,method,seed,status,acc\n" + "".join(
            f"{d},{m},{s},{end if (d, m) == ('u', 'b') else 'ok'},0.{ord(d) % 7 + s}\n" for d, m, s in rows
        )
        table = stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False))])
        drawn = draft(table, "t.csv")
        found = to_records(table, parse_mapping(drawn.mapping_text, "m"))
        return [r for r in drawn.reasons if r.startswith("status")], found["value"].null_count()

    assert records("crashed") == (
        ["status: says why a number is missing, by its name; a number beside crashed is no result"],
        2,
    )
    assert records("early stopping")[1] == 0


def test_metrics_that_share_out_the_datasets_leave_a_score_of_the_table_alone():
    text = "framework,task,fold,auc,logloss,score\n" + "".join(
        f"{f},{t},{k},{v if t == 'bin' else ''},{v if t == 'multi' else ''},{v + 0.01:.2f}\n"
        for t in ("bin", "multi") for k in (0, 1) for f, v in (("x", 0.5 + k / 10), ("y", 0.6 + k / 20))
    )  # fmt: skip
    drawn = draft(stacked([("t.csv", pl.read_csv(text.encode(), infer_schema=False))]), "t.csv")
    mapping = parse_mapping(drawn.mapping_text, "m")  # a name that a metric has would be refused here
    assert (mapping.combined, drawn.guess.primary) == ("combined", "combined")
    assert "score" in mapping.columns


def test_a_spread_has_no_direction_and_does_not_decide():
    text = "dataset,method,acc_std,acc_mean\n" + "".join(
        f"{d},{m},0.0{i + j + 1},0.{5 + i}{j}\n" for i, d in enumerate("uvw") for j, m in enumerate("ab")
    )
    found = guess(text)
    assert found.primary == "acc_mean"
    assert {m.name: m.better for m in found.mapping.metrics} == {"acc_mean": "higher"}
    assert "acc_std: left out, by its name it is computed beside acc_mean, and is no result" in found.reasons
