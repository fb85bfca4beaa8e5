"""The tables of Case C from few records written by hand: every number in them can be worked out in the head."""

from types import SimpleNamespace

import polars as pl
from hand_source import HandSource, behind, bold, cell, record, said, shown

from orledger.paper.tables.c import PAIRS, dispersions, pairs_table, table_c, words
from orledger.paper.tables.c_kappa import escape, table_cinv, table_ckappa
from orledger.reports.tables.render import plain

LADDER = ("k1", "k2", "k5")
BUDGETS = {
    "evaluations": pl.DataFrame({"evaluations": ["23", "23"], "budget": ["b2", "b1"]}),
    "UNION ALL": pl.DataFrame({"block": ["main", "budget", "budget"], "budget": ["b0", "b1", "b2"]}),
}


def run(arm, benchmark="x", seed=0, label=None, idx=None, dim=2.0, budget=None, **metrics):
    keys = {"benchmark": benchmark, "dim": dim, "seed": seed} | ({"budget": budget} if budget else {})
    return record("c/budget" if budget else "c/main", keys, arm, label, idx, **metrics)


# UCB has nothing on y, and OR-LCB 5x one of two seeds on x. Along OR-LCB 1x, osc over mean is 1/2 on x and 1/10 on y.
REGRETS = [
    run(arm, benchmark, seed, final_regret=regret + seed, auc=1.0)
    for benchmark, regret in (("x", 1.0), ("y", 5.0)) for seed in (0, 1) for arm in ("ei", "ucb", *LADDER)
    if (benchmark, arm) != ("y", "ucb") and (benchmark, arm, seed) != ("x", "k5", 1)
]  # fmt: skip
WIDTHS = [run("k1", b, seed, idx=i, osc=o, mean_c=m) for b, o, m in (("x", 1.0, 2.0), ("y", 3.0, 30.0)) for seed in (0, 1) for i in (0, 1)]  # fmt: skip


def test_the_table_of_regrets():
    t = table_c(HandSource([*REGRETS, *WIDTHS, run("ei", label="variant", final_regret=0.0)], BUDGETS))
    found = shown(t)
    assert list(found) == ["y 2", "x 2"]  # flattest first
    assert found["x 2"] == {"benchmark": "x-2D", "n": "1–2", "ei": "1.50 (2.00)", "ucb": "1.50 (2.00)", "k1": "1.50 (2.00)", "k2": "1.50 (2.00)", "k5": "1.00 (1.00)"}  # fmt: skip
    assert (found["y 2"]["n"], found["y 2"]["ucb"], found["y 2"]["k5"]) == ("2", "no c/main ucb final_regret None y 2.0", "5.50 (6.00)")  # fmt: skip
    assert bold(t) == {("x 2", "k5"), *(("y 2", arm) for arm in ("ei", *LADDER))}
    assert "after 23 evaluations, fit budget b1 or b2;" in plain(t.caption)
    assert behind(cell(t, "x 2", "k5"), "arm") == {"k5"}
    assert words([None]) == "not recorded"


def test_benchmarks_without_a_width_come_last():
    more = [run("ei", benchmark, final_regret=1.0) for benchmark in ("b", "a")]
    assert list(shown(table_c(HandSource([*REGRETS, *WIDTHS, *more], BUDGETS)))) == ["y 2", "x 2", "a 2", "b 2"]
    none = [run("k1", "z", idx=0, osc=1.0)]
    assert dispersions(HandSource([*WIDTHS, *none])) == {("y", 2.0): 0.1, ("x", 2.0): 0.5}


def test_every_pair_is_asked_of_the_audit_by_its_own_address():
    """Rows for one benchmark, then those of all; a comparison that the audit made the other way round is turned."""
    for (metric, reference), rows in PAIRS.items():
        t = pairs_table(HandSource([*REGRETS, *WIDTHS], BUDGETS), metric, reference, "Regret")
        assert list(shown(t)) == [f"{place} {arm}" for place in ("y 2", "x 2", "pooled") for arm in rows]
        for arm, (one, pooled) in rows.items():
            assert said(cell(t, f"y 2 {arm}", "difference")) == f"no {one.removeprefix('-').format('y')}"
            assert said(cell(t, f"pooled {arm}", "p")) == f"no {pooled.removeprefix('-')}"
    of_ei = PAIRS["final_regret", "ei"]
    assert {arm: pooled for arm, (_, pooled) in of_ei.items()} == {"ucb": "H4/pooled-ucb", "k1": "H4/pooled", "k2": "H4/pooled-k2", "k5": "H4/pooled-k5"}  # fmt: skip


def test_the_caption_of_pairs_says_what_the_audit_did():
    """The effect is that of plain differences; levels and families are those of all rows."""

    def row(transform, effect, alpha, family):
        return SimpleNamespace(transform=transform, effect_name=effect, interval_method="exact", alpha=alpha, family=family)  # fmt: skip

    source = HandSource([*REGRETS, *WIDTHS], BUDGETS)
    source.cited.tests = lambda: [row("none", "median", 0.05, ""), row("log10", "ratio", 0.01, "B"), row("none", "median", 0.05, "A")]  # fmt: skip
    caption = plain(pairs_table(source, "auc", "ei", "Regret").caption)
    assert "Regret paired against EI on shared seeds: median (row arm minus reference" in caption
    assert "its 95% interval (exact)" in caption
    assert "at its level 0.01 or 0.05, after Holm's correction within “A”, “B” (the p" in caption


# On seed 1 OR-LCB 5x goes its own way.
ACTIONS = [run(arm, b, seed, idx=i, action=float(i + (arm == "k5" and seed))) for b in ("x", "y") for seed in (0, 1) for i in (0, 1, 2) for arm in LADDER]  # fmt: skip


def test_the_table_of_inertness():
    flat = [run("k1", "x", label="grid", idx=0, osc=4.0, mean_c=2.0)]
    other = [run("k1", "z", idx=i, budget=b, action=1.0) for b in ("b1", "b2") for i in range(5)]
    t = table_ckappa(HandSource([*WIDTHS, *ACTIONS, *flat, *other], BUDGETS))
    found = shown(t)
    assert list(found) == ["y 2", "x 2", "b2 z 2", "b1 z 2"]
    assert [plain(g.heading) for g in t.groups] == ["fit budget b0 (main block)", "fit budget b2", "fit budget b1"]
    assert [(found[b]["dispersion"], found[b]["dispersion grid"], found[b]["escape"]) for b in ("y 2", "x 2")] == [
        ("0.10", "no c/main k1 osc grid y 2.0", "0"), ("0.50", "2.0", "0"),
    ]  # fmt: skip
    assert (found["x 2"]["inert 1-2"], found["x 2"]["ladder"], found["x 2"]["ucb"]) == ("no H4/inert-1-2/x", "no H4/inert/x", "no H4/inert-ucb/x")  # fmt: skip
    assert found["b1 z 2"]["dispersion"] == found["b1 z 2"]["escape"] == "no c/budget k1 osc None z 2.0 b1"
    assert (found["b1 z 2"]["dispersion grid"], found["b1 z 2"]["inert 2-5"]) == ("no c/budget k1 osc grid z 2.0 b1", "no CaseC/inert-b1-2-5/z")  # fmt: skip
    assert set(t.quotes) == {f"{row} ladder" for row in found}
    assert "each of the 3 steps" in plain(t.caption)  # of the main block
    assert behind(cell(t, "x 2", "dispersion"), "label") == {None}
    assert behind(cell(t, "x 2", "dispersion grid"), "label") == {"grid"}


def test_the_longest_path_of_all_benchmarks_is_quoted():
    main, lone = {"UNION ALL": BUDGETS["UNION ALL"].head(1)}, run("k1", "z", idx=0, action=1.0)
    assert "each of the 3 steps" in plain(table_ckappa(HandSource([*ACTIONS, lone], main)).caption)
    assert "each of the 1 steps" in plain(table_ckappa(HandSource([lone], main)).caption)


def test_a_width_escapes_at_the_first_step_above_the_limit():
    def first(*seeds):
        rows = [(str(s), s, i, d) for s, ds in enumerate(seeds) for i, d in enumerate(ds)]
        frame = pl.DataFrame(rows, schema={"cell_id": pl.String, "seed": pl.Int64, "idx": pl.Int64, "d": pl.Float64}, orient="row")  # fmt: skip
        return said(escape(frame.with_columns(osc=1.0, mean_c=1.0), "none"))

    assert first([0.0, 1e-6, 2e-6]) == "2"
    assert first([0.0, 1.0], [0.0, 0.0, 1.0]) == "1.5"
    assert first([1.0], [0.0], [0.0]) == "never"
    assert first([1.0], [1.0], [0.0]) == "0"
    assert first() == "none"


def step(idx, same, seed=0, pair="1-2", arm="k1", **rules):
    """What the criteria said of a step: (fires, ratio) each."""
    said = [run(arm, "x", seed, f"{pair}/{rule.replace('_', '/')}", idx, fires=f, ratio=r) for rule, (f, r) in rules.items()]  # fmt: skip
    return [run(arm, "x", seed, pair, idx, same=same), *said]


def test_the_table_of_the_criterion():
    """Of four steps the smaller multiple fires on two, and either on three; where it fired once and moved, it is refuted."""
    steps = [
        *step(0, 1, osc_low=(1, 0.5), osc_high=(0, 4.0)), *step(1, 1, osc_low=(0, 2.0), osc_high=(1, 0.75)),
        *step(2, 0, osc_low=(0, 3.0), osc_high=(0, 5.0)), *step(0, 0, seed=1, osc_low=(1, 0.9), osc_high=(1, 0.95)),
    ]  # fmt: skip
    t = table_cinv(HandSource([*ACTIONS, *steps], BUDGETS))
    found = {row: list(cells.values())[1:] for row, cells in shown(t).items()}
    assert found == {
        "osc/low fires": ["1", "1", "1", "0"], "osc/low silent": ["1", "1", "1", "0"],
        "osc fires": ["2", "1", "1", "0"], "osc silent": ["0", "1", "1", "0"],
    }  # fmt: skip
    assert bold(t) == {(f"{name} fires", key) for name in ("osc/low", "osc") for key in ("step moved", "path differs")}
    assert [plain(g.heading) for g in t.groups] == [f"criterion: oscillation, {which} multiple, 4 records" for which in ("smaller", "either")]  # fmt: skip
    assert {key: said(quote) for key, quote in t.quotes.items()} == {
        "osc/low records": "4", "osc/low counterexamples": "1", "osc/low fires share": "50.0%", "osc/low silent but same": "1/2",
        "osc/low share of invariant steps": "50.0%", "osc/low largest ratio that fires": "0.900",
        "osc records": "4", "osc counterexamples": "1", "osc fires share": "75.0%", "osc silent but same": "0/1",
        "osc share of invariant steps": "100.0%", "osc largest ratio that fires": "0.900",
    }  # fmt: skip
    assert "it fires on 50.0% of the records and on 50.0% of those on which nothing moved" in plain(t.caption)


def test_a_criterion_that_nobody_recorded_is_left_out_and_the_next_is_not():
    t = table_cinv(HandSource([*ACTIONS, *step(0, 0, sharp_low=(0, 2.0))], BUDGETS))
    assert list(shown(t)) == ["sharp fires", "sharp silent"]
    assert set(t.quotes) == {f"sharp {key}" for key in ("records", "counterexamples", "fires share", "silent but same")}
    assert "it fires on" not in plain(t.caption)


def test_paths_are_compared_by_the_smaller_multiple_where_both_are_there():
    """On seed 1 the paths of 2x and 5x differ; steps of the larger multiple, and pairs without a path, do not count."""
    steps = [*step(0, 1, seed=1, pair="2-5", arm="k2", osc_low=(1, 0.5)), *step(0, 1, pair="2-5", arm="k5", osc_low=(1, 0.5)), *step(0, 1, seed=9, osc_low=(1, 0.5))]  # fmt: skip
    lone = [run("k1", "x", 9, idx=0, action=1.0)]
    found = shown(table_cinv(HandSource([*ACTIONS, *lone, *steps], BUDGETS)))
    assert (found["osc/low fires"]["path same"], found["osc/low fires"]["path differs"]) == ("0", "1")
    assert (found["osc/low silent"]["path same"], found["osc/low silent"]["path differs"]) == ("0", "0")
