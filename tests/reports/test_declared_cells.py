"""Tables that a study declares, cell by cell, from records small enough to be written down."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest
from hand_made import Told, row
from hand_source import HandSource, behind, bold, cell, record, shown

from orledger.errors import UsageError
from orledger.reports.displays import CatalogueBlock, CatalogueMetric
from orledger.reports.tables import declared
from orledger.reports.tables.declared import Numbers, _check, _marking, build, offers
from orledger.reports.tables.render import plain
from orledger.reports.tables.table import PrintSize
from orledger.study_displays import Marks, TableDisplay

METRICS = {
    "acc": CatalogueMetric("acc", "higher", False, "Accuracy."),
    "sec": CatalogueMetric("sec", "lower", False, ""),
    "loss": CatalogueMetric("loss", None, False, "Loss"),
    "curve": CatalogueMetric("curve", "lower", True, ""),
}
AT = CatalogueBlock("t", "main", ("set", "seed"), ("b", "a", "c"), METRICS, "study.toml: table [table 1]")
# accuracy by set and arm, one number a seed; c failed once, and altogether on set 10; sec is 100 times as large
ACC = {
    (9, "b"): [1.0, 2.0, 4.0], (9, "a"): [1.0, 5.0, 3.0], (9, "c"): [0.5, None, 6.0],
    (10, "b"): [0.25, 0.75], (10, "a"): [0.5, 0.25],
}  # fmt: skip


def source(records=(), **about):
    made = [
        record("t/main", {"set": s, "seed": k}, arm, acc=v, sec=100 * v)
        for (s, arm), values in ACC.items()
        for k, v in enumerate(values)
        if v is not None
    ]
    made.append(record("t/main", {"set": 9, "seed": 0}, "b", label="of a part", acc=77.0))
    found = HandSource([*made, *records])
    found.labels, found.results = {"a": "Alpha", "acc": "accuracy"}, None
    found.cited = SimpleNamespace(test=about.get("cited", []).append)
    return found


def display(rows=("set",), columns=("arm",), metrics=("acc",), **about):
    return TableDisplay("name", "title", metrics, rows, columns, place="study.toml: table [table 1]", **about)


def table(*args, records=(), **about):
    return build(display(*args, **about), AT, source(records))


def heads(found):
    return [(c.key, plain(c.header), c.align) for c in found.columns]


def test_keys_stand_by_size_and_arms_as_the_catalogue_or_the_study_orders_them():
    """The mean of all seeds of a set; a record of a part is none of the whole."""
    found = table()
    assert heads(found) == [("set", "set", "l"), ("b", "b", "r"), ("a", "Alpha", "r"), ("c", "c", "r")]
    assert [(r.key, plain(r.cells[0])) for r in found.rows()] == [("9", "9"), ("10", "10")]
    assert shown(found) == {
        "9": {"set": "9", "b": "2.333", "a": "3.000", "c": "3.250"},
        "10": {"set": "10", "b": "0.500", "a": "0.375", "c": "no t/main c acc None 10"},
    }
    assert list(shown(table(arms=("c", "b")))["9"]) == ["set", "c", "b"]


def test_every_table_of_every_study_is_offered_and_checked(monkeypatch):
    checked = []
    monkeypatch.setattr(declared, "place", lambda _results, _study, _display: AT)
    monkeypatch.setattr(declared, "_check", lambda _results, shown, at: checked.append((shown.name, at)))
    studies = [
        SimpleNamespace(table_displays=tuple(replace(display(), name=n) for n in names)) for names in ("xy", "z")
    ]
    found = list(offers(None, studies))
    assert [(name, title, case) for name, title, case, _ in found] == [(n, "title", "t") for n in "xyz"]
    assert checked == [(n, AT) for n in "xyz"]
    assert shown(found[2][3](source())) == shown(table())


def test_one_arm_need_not_stand_in_rows_or_columns():
    found = table(("set",), ("metric",), ("acc", "sec"), arms=("a",))
    assert shown(found) == {
        "9": {"set": "9", "acc": "3.000", "sec": "300.0"},
        "10": {"set": "10", "acc": "0.375", "sec": "37.5"},
    }
    assert behind(cell(found, "9", "acc"), "acc") == {1.0, 5.0, 3.0}
    assert shown(table(("set",), ("seed",), arms=("b",)))["10"]["2"] == "no t/main b acc None 10 2"


def test_a_number_leads_to_its_records():
    found = table()
    assert behind(cell(found, "9", "b"), "acc") == {1.0, 2.0, 4.0}
    assert behind(cell(found, "9", "c"), "acc") == {0.5, 6.0}
    ranked = table(("arm",), ("set",), statistics=("rank",))
    assert behind(cell(ranked, "c", "9"), "acc") == {1.0, 0.5, 4.0, 3.0, 6.0}  # all arms of seeds 0 and 2
    both = table(("arm",), ("metric", "statistic"), ("acc", "sec"), statistics=("n", "median"))
    assert behind(cell(both, "c", "sec median"), "sec") == {50.0, 600.0}


def test_every_statistic_of_three_values():
    """1, 2 and 4: quartiles 1.5 and 3, squares about the mean 14/3 over two. Ranks of b beside a and c: 2.5 of 1, 1, 2 of 2, 2 of 3."""
    names = ("mean", "median", "min", "max", "sd", "quartiles", "rank", "n")
    found = shown(table(("arm",), ("statistic",), statistics=names, where=(("set", ("9",)),)))["b"]
    # seed 0: 1, 1, 0.5: b and a share 1.5; seed 1: 2, 5: b is second; seed 2: 4, 3, 6: b is second
    assert found == {
        "arm": "b", "mean": "2.333", "median": "2.000", "min": "1.000", "max": "4.000", "sd": "1.528",
        "quartiles": "2.000 [1.500, 3.000]", "rank": "1.83", "n": "3",
    }  # fmt: skip


def test_ranks_go_up_where_lower_is_better():
    """Of seconds, 100 times the accuracy: the order of every cell is turned round."""
    found = shown(table(("arm",), ("metric",), ("acc", "sec"), statistics=("rank",), where=(("set", ("9",)),)))
    # a: 1.5, 1, 3 of 3 by accuracy, and 2.5, 2, 1 of 3 by seconds
    assert (found["a"]["acc"], found["a"]["sec"]) == ("1.83", "1.83")
    assert (found["c"]["acc"], found["c"]["sec"]) == ("2.00", "2.00")  # 3 and 1; 1 and 3
    assert (found["b"]["acc"], found["b"]["sec"]) == ("1.83", "1.83")
    ten = shown(
        table(("arm",), ("metric",), ("acc", "sec"), statistics=("rank",), where=(("set", ("10",)), ("seed", ("0",))))
    )
    assert ten == {"b": {"arm": "b", "acc": "2.00", "sec": "1.00"}, "a": {"arm": "Alpha", "acc": "1.00", "sec": "2.00"}}


def test_one_value_has_no_standard_deviation():
    found = table(("set", "seed"), ("arm",), statistics=("sd",))
    assert shown(found, "9 / 0")["9 / 0"]["b"] == "1 of the 2 values that a standard deviation needs"
    assert shown(found, "9 / 1")["9 / 1"]["c"] == "no t/main c acc None 9 1"
    assert shown(table(statistics=("sd",)))["10"]["b"] == "0.354"


def test_the_reason_of_an_absent_number_names_what_was_asked_for():
    """The keys of its place and those with one wanted value, not those with several."""
    only = table(where=(("set", ("10", "9")), ("seed", ("0",))))
    assert shown(only)["10"]["c"] == "no t/main c acc None 0 10"
    both = table(("set",), ("arm", "metric"), ("acc", "sec"))
    assert shown(both)["10"]["c sec"] == "no t/main c sec None 10"


@pytest.mark.parametrize(
    ("form", "printed"), [("", "2.333"), (".1f", "2.3"), (".2g", "2.3"), (".1%", "233.3%"), ("d", "2"), (".0f", "2")]
)
def test_numbers_have_the_format_that_is_declared(form, printed):
    found = shown(
        table(("arm",), ("statistic",), statistics=("mean", "n", "rank"), format=form, where=(("set", ("9",)),))
    )["b"]
    assert (found["mean"], found["n"], found["rank"]) == (printed, "3", "1.83")


def test_decimals_without_a_format_follow_the_numbers_of_their_own_metric():
    found = shown(table(("arm",), ("metric",), ("acc", "sec"), where=(("set", ("9",)),)))["b"]
    assert (found["acc"], found["sec"]) == ("2.333", "233.3")


def test_the_best_of_a_row_or_a_column_is_bold_among_numbers_of_one_kind():
    """Accuracy goes up, seconds go down, ranks go down; spreads and counts have no best."""
    assert bold(table(best="row")) == {("9", "c"), ("10", "b")}
    assert bold(table(best="column")) == {("9", "b"), ("9", "a"), ("9", "c")}
    assert bold(table()) == set()
    names, metrics = ("mean", "rank", "sd", "n"), ("acc", "sec")
    wide = table(("arm",), ("metric", "statistic"), metrics, statistics=names, best="column", where=(("set", ("10",)),))
    assert bold(wide) == {("b", "acc mean"), ("a", "sec mean"), *((x, f"{m} rank") for x in "ba" for m in metrics)}
    high = table(("metric", "statistic"), ("arm",), metrics, statistics=names, best="row", where=(("set", ("10",)),))
    assert bold(high) == {
        ("acc / mean", "b"),
        ("sec / mean", "a"),
        *((f"{m} / rank", x) for x in "ba" for m in metrics),
    }
    across = table(
        ("arm",), ("metric", "statistic"), metrics, statistics=("min", "max"), best="row", where=(("set", ("10",)),)
    )
    assert len(bold(across)) == 8  # each number is alone of its kind in a row


def test_one_header_stands_over_columns_that_share_all_but_the_last_dimension():
    assert table().spans == ()
    found = table(("set",), ("metric", "arm"), ("acc", "sec"))
    assert [(s.start, s.width, plain(s.header)) for s in found.spans] == [(1, 3, "accuracy"), (4, 3, "sec")]
    two = table(("arm",), ("set", "metric", "statistic"), ("acc", "sec"), statistics=("min", "n"))
    spans = [(s.start, s.width, plain(s.header)) for s in two.spans]
    assert spans == [(1, 2, "9, accuracy"), (3, 2, "9, sec"), (5, 2, "10, accuracy"), (7, 2, "10, sec")]
    assert heads(two)[1:3] == [("9 acc min", "min", "r"), ("9 acc n", "n", "r")]
    labelled = table(("seed",), ("set", "arm"))
    assert [plain(s.header) for s in labelled.spans] == ["9", "10"]
    assert [h for _, h, _ in heads(labelled)[1:]] == ["b", "Alpha", "c", "b", "Alpha"]
    deep = table(("seed", "set"), ("metric", "arm"), ("acc", "sec"))
    assert [s.start for s in deep.spans] == [2, 5]


def test_more_than_seven_columns_are_small():
    seven = table(("arm",), ("statistic",), statistics=("mean", "median", "min", "max", "sd", "rank", "n"))
    eight = table(("arm",), ("statistic",), statistics=("mean", "median", "min", "max", "sd", "quartiles", "rank", "n"))
    assert (seven.layout, eight.layout) == (PrintSize("footnotesize", 4.0), PrintSize("scriptsize", 3.0))


def caption(*args, **about):
    return plain(table(*args, **about).caption)


def test_a_caption_says_what_over_what_and_of_what():
    assert caption() == "Accuracy: means over seed; higher accuracy is better."
    assert (
        caption(caption="Words. ", best="row")
        == "Words: means over seed; higher accuracy is better; the best of every row in bold."
    )
    both = caption(("arm",), ("metric", "statistic"), ("acc", "sec"), statistics=("sd", "n"))
    assert both == (
        "Accuracy, sec: standard deviations (n - 1), numbers of values over set, seed; higher accuracy is better, lower sec is better."
    )
    assert (
        caption(where=(("seed", ("0",)), ("set", ("9", "10"))))
        == "Accuracy; seed 0 only; set 9, 10 only; higher accuracy is better."
    )
    assert caption(("set", "seed")) == "Accuracy; higher accuracy is better."  # a mean of one number is that number
    assert caption(("set", "seed"), statistics=("rank",), columns=("arm",)).startswith(
        "Accuracy: mean ranks among the arms"
    )


def notes(found):
    return [plain(n) for n in found.notes]


def test_numbers_of_different_size_are_said():
    assert notes(table()) == ["Cells stand on 2 to 3 values: not every arm has a number everywhere."]
    assert notes(table(("arm",), ("statistic",), statistics=("mean", "n"))) == []
    assert notes(table(("set", "seed"))) == []
    more = [record("t/main", {"set": 11, "seed": 0}, "a", acc=1.0)]
    assert notes(table(records=more)) == ["Cells stand on 1 to 3 values: not every arm has a number everywhere."]


class Subject(Told):
    """Pairs by hand, for a case, a block and a metric."""

    def __init__(self, pairs, hypothesis="H", metric="acc", case="t", block="main"):
        super().__init__("bac", pairs)
        self.hypothesis, self.metric = hypothesis, metric
        self.layout = SimpleNamespace(case=case, block=block)
        self.pairs_of = pairs

    def pair(self, a, b):
        return self.pairs_of.get((a, b))


PLUS = row(outcome="greater", p=0.01, alpha=0.04, method="exact", p_holm=0.03)
MINUS = row(outcome="less", p=0.02, alpha=0.01)
OPEN = row(outcome="undecided", p=0.5)


@pytest.fixture
def marked(monkeypatch):
    """A table of `metric` with the marks of these pairs against c, and the addresses of the rows that it cites."""

    def made(pairs, metric="acc", **about):
        cited = []
        monkeypatch.setattr(declared, "subjects", lambda _: [Subject(pairs, metric=metric)])
        found = build(display(metrics=(metric,), marks=Marks("c"), **about), AT, source(cited=cited))
        return found, cited

    return made


@pytest.mark.parametrize(("metric", "marks"), [("acc", ["b-", "Alpha+", "c"]), ("sec", ["b+", "Alpha-", "c"])])
def test_arms_are_marked_by_the_rows_that_compare_them(marked, metric, marks):
    found, cited = marked({("b", "c"): MINUS, ("a", "c"): PLUS}, metric)
    assert [h for _, h, _ in heads(found)[1:]] == marks
    assert cited == [MINUS.address, PLUS.address]
    side, _ = marked({("b", "c"): MINUS, ("a", "c"): PLUS}, metric, rows=("arm",), columns=("set",))
    assert [plain(r.cells[0]) for r in side.rows()] == marks


def test_of_several_metrics_the_first_is_the_one_whose_tests_mark(monkeypatch):
    """Accuracy goes up, seconds go down: the greater arm is the better one."""
    pairs = {("b", "c"): MINUS, ("a", "c"): PLUS}
    found = [Subject(pairs), Subject({}, metric="sec"), Subject({}, "G", metric="sec")]
    monkeypatch.setattr(declared, "subjects", lambda _: found)
    both = display(("set", "metric"), ("arm",), ("acc", "sec"), marks=Marks("c"))
    assert [h for _, h, _ in heads(build(both, AT, source()))[2:]] == ["b-", "Alpha+", "c"]
    with pytest.raises(UsageError, match="2 hypotheses compare arms by 'sec'"):
        _marking(None, replace(both, metrics=("sec", "acc")), AT)


def test_a_note_says_what_the_marks_mean_and_each_p(marked):
    """Corrected where the first is; a row that decided nothing marks nothing."""
    _, note = notes(marked({("b", "c"): OPEN, ("a", "c"): replace(OPEN, p=None)})[0])
    assert note == f"+ better and - worse than c at 0.05 (exact); p: b 0.50; Alpha {said_of(replace(OPEN, p=None))}."
    found, _ = marked({("a", "c"): PLUS, ("b", "c"): OPEN})
    assert [h for _, h, _ in heads(found)[1:]] == ["b", "Alpha+", "c"]
    only, _ = marked({("a", "c"): PLUS})
    assert notes(only)[-1] == "+ better and - worse than c at 0.04 (exact); p, Holm's correction: Alpha 0.030."


def said_of(r):
    return plain(declared.Absent(r.why_absent))


def test_without_a_row_there_are_no_marks_and_the_note_says_so(marked, monkeypatch):
    found, cited = marked({})
    assert notes(found)[-1] == "No marks: the audit has no row that compares an arm with c."
    assert cited == []
    monkeypatch.setattr(declared, "subjects", lambda _: [])
    assert notes(build(display(marks=Marks("c")), AT, source()))[-1].startswith("No marks")


def test_the_subject_of_the_marks_is_that_of_the_place_and_the_metric(monkeypatch):
    found = [
        Subject({}, "H1"), Subject({}, "H2"), Subject({}, "H3", metric="sec"), Subject({}, "H4", case="u"), Subject({}, "H5", block="x"),
    ]  # fmt: skip
    monkeypatch.setattr(declared, "subjects", lambda _: found)
    assert _marking(None, display(marks=Marks("c", "H2")), AT).hypothesis == "H2"
    assert _marking(None, display(metrics=("sec",), marks=Marks("c")), AT).hypothesis == "H3"
    assert _marking(None, display(metrics=("loss",), marks=Marks("c", "H9")), AT) is None
    with pytest.raises(UsageError, match="no hypothesis on this metric 'H4'"):
        _marking(None, display(marks=Marks("c", "H4")), AT)
    with pytest.raises(UsageError, match=r"table 1\]: 2 hypotheses compare arms by 'acc'"):
        _marking(None, display(marks=Marks("c")), AT)


def test_what_cannot_be_a_table_is_told():
    known = SimpleNamespace(
        sql=lambda _, params: pl.DataFrame({"k": ["9", "10"] if params == ["set", "t", "main", "set"] else []})
    )
    _check(known, display(where=(("set", ("9", "10")),), best="row"), AT)
    _check(known, display(metrics=("loss",)), AT)  # which end is better matters to bold and to ranks alone
    _check(known, display(metrics=("loss",), statistics=("mean", "n")), AT)
    for wrong, words in (
        ({"rows": ("sett",)}, "no key 'sett'"),
        ({"columns": ("arms",)}, "no key 'arms'"),
        ({"arms": ("b", "d")}, "no arm 'd'"),
        ({"where": (("metric", ("acc",)),)}, "no key 'metric'"),
        ({"where": (("set", ("9", "11")),)}, "no set '11'"),
        ({"metrics": ("curve",)}, "'curve' is a curve over an index"),
        ({"metrics": ("loss",), "best": "row"}, "higher 'loss' is better is not known"),
        ({"metrics": ("loss",), "statistics": ("rank",)}, "higher 'loss' is better is not known"),
        ({"marks": Marks("d")}, "no arm 'd'"),
    ):
        with pytest.raises(UsageError, match=words):
            _check(known, display(**wrong), AT)


def test_a_key_that_is_a_whole_number_has_no_point():
    at = replace(AT, keys=("x",))
    records = [record("t/main", {"x": v}, "b", acc=1.0) for v in (0.5, 2.0, 10.0)]
    made = HandSource(records)
    made.labels = {}
    assert [r.key for r in Numbers(display(("x",)), at, made).table().rows()] == ["0.5", "2", "10"]
