"""Names of views and columns, and catalogues put together."""

from __future__ import annotations

import re

from orledger.schema import catalogue
from orledger.schema.catalogue import Arm, Catalogue, Key, Metric, merged, unknown
from orledger.schema.layouts import Layout, layouts, literal


def layout(*metrics, keys=(), case="lab", block="main", taken=()):
    found, *_ = layouts([Catalogue(case, tuple(metrics), tuple(keys))], taken)
    return found


def metric(name, idx=None, **more):
    return Metric("main", "a", name, idx=idx, **more)


# ---- layouts --------------------------------------------------------------------------------------------------------------

WIDE = Layout(
    "lab", "main", "lab_main", {"k": ("k_key", "BIGINT"), "j": ("j", "VARCHAR")}, {"m": "m_metric"}, {"s": "s"}
)


def test_a_layout_names_its_views_and_columns():
    assert (WIDE.series, WIDE.cells, WIDE.view(indexed=True), WIDE.view(indexed=False)) == (
        "lab_main_series", "lab_main_cells", "lab_main_series", "lab_main",
    )  # fmt: skip
    assert (WIDE.metrics(indexed=True), WIDE.metrics(indexed=False)) == ({"s": "s"}, {"m": "m_metric"})
    assert WIDE.key_columns == ['"k_key"', '"j"']
    assert WIDE.columns(["k", "j", "arm", "no"], "n.", {"arm"}) == [
        'n."k_key" AS "k"', 'n."j"', 'n."arm"', 'NULL::VARCHAR AS "no"',
    ]  # fmt: skip
    assert WIDE.columns(["arm"]) == ['NULL::VARCHAR AS "arm"']
    assert (WIDE.number("m", "n.", indexed=False), WIDE.number("m", indexed=True)) == ('n."m_metric"', "NULL::DOUBLE")


def test_long_decimals_get_an_exponent_and_short_ones_do_not():
    """DuckDB reads a number without an exponent as a decimal; from 16 characters on that would round once more."""
    assert (literal(0.5), literal(3), literal(10**20)) == ("0.5", "3", "1" + "0" * 20)
    assert literal(0.1234567890123) == "0.1234567890123"  # 15 characters
    assert literal(0.12345678901234) == "0.12345678901234e0"  # 16
    assert literal(1e-300) == "1e-300"


def test_columns_are_named_by_what_they_are_where_names_meet():
    found = layout(
        metric("seed"), metric("arm"), metric("error"), metric("A"), metric("a"), metric(""), metric("s"), metric("s", "i"),
        keys=[Key("main", "seed", "BIGINT", "a seed"), Key("main", "error", "VARCHAR"), Key("other", "x", "VARCHAR")],
    )  # fmt: skip
    assert found.keys == {"seed": ("seed_key", "BIGINT"), "error": ("error_key", "VARCHAR")}
    assert {m: found.scalars[m] for m in ("seed", "arm", "s")} == {"seed": "seed_metric", "arm": "arm_metric", "s": "s"}
    assert found.scalars["error"] == "error_metric"
    assert found.indexed == {"s": "s"}
    assert re.fullmatch(r"a_metric_[0-9a-f]{8}", found.scalars["a"])
    assert found.scalars["A"].lower() != found.scalars["a"].lower()
    assert found.scalars[""] == "_metric"
    assert found.comments["seed_key"] == "a seed"
    assert layout(metric("state"), metric("label")).scalars == {"state": "state", "label": "label_metric"}
    taken = layout(metric("x"), metric("x_metric"), keys=[Key("main", "x", "VARCHAR")]).scalars
    assert taken["x_metric"] == "x_metric"
    assert re.fullmatch(r"x_metric_[0-9a-f]{8}", taken["x"])  # the longer name is taken as well


def test_a_metric_says_its_unit_and_direction():
    found = layout(
        metric("m", description="what", unit="s", better="lower"), metric("n", unit="kg"), metric("o")
    ).comments
    assert found == {"m": "what; in s; lower is better", "n": "in kg", "o": ""}
    twice = layout(metric("m", description="first"), metric("m", "i", description="second"))
    assert twice.comments == {"m": "first"}


def test_a_view_whose_name_is_taken_gets_a_longer_one():
    assert layout(metric("m")).name == "lab_main"
    for taken in ("LAB_MAIN", "lab_main_series", "lab_main_cells"):
        assert re.fullmatch(r"lab_main_[0-9a-f]{8}", layout(metric("m"), taken=[taken]).name)


def test_two_blocks_that_would_share_a_name_both_get_a_longer_one():
    found = layouts([Catalogue("x", (Metric("y_z", "a", "m"),)), Catalogue("x_y", (Metric("Z", "a", "m"), Metric("w", "a", "m")))])  # fmt: skip
    assert [len(v.name) for v in found] == [len("x_y_z_12345678")] * 2 + [len("x_y_w")]


# ---- the catalogue --------------------------------------------------------------------------------------------------------

OLD = Catalogue(
    "lab", (metric("m"), metric("n")), (Key("main", "k", "DOUBLE"), Key("main", "j", "DOUBLE")), (Arm("a", "A"), Arm("b", "B")), ("s", "t", "c")
)  # fmt: skip
NEW = Catalogue(
    "lab", (metric("n", unit="s"), metric("o"), Metric("side", "a", "m")), (Key("side", "k", "DOUBLE"), Key("main", "k", "BIGINT")), (Arm("b", "BB"), Arm("c", "C"))
)  # fmt: skip


def test_merging_replaces_what_has_the_same_block_and_name():
    both = merged(OLD, NEW)
    assert [(m.block, m.metric, m.unit) for m in both.metrics] == [
        ("main", "m", None), ("main", "n", "s"), ("main", "o", None), ("side", "m", None),
    ]  # fmt: skip
    assert [(k.block, k.key, k.type) for k in both.keys] == [("main", "k", "BIGINT"), ("main", "j", "DOUBLE"), ("side", "k", "DOUBLE")]  # fmt: skip
    assert [(a.arm, a.label) for a in both.arms] == [("a", "A"), ("b", "BB"), ("c", "C")]
    assert (both.study, both.blocks) == (("s", "t", "c"), ("main", "side"))


def test_what_is_unknown_is_what_nothing_has_the_name_of():
    found = unknown(OLD, NEW)
    assert [(m.block, m.metric) for m in found.metrics] == [("main", "o"), ("side", "m")]
    assert [(k.block, k.key) for k in found.keys] == [("side", "k")]
    assert [a.arm for a in found.arms] == ["c"]
    assert (found.study, unknown(NEW, OLD).study) == (None, ("s", "t", "c"))


def test_blocks_of_an_older_file_stand_in_one_text():
    assert catalogue._blocks("main, deep", {"main", "deep"}) == ["main", "deep"]
    assert catalogue._blocks("main, deep", {"main, deep"}) == ["main, deep"]
