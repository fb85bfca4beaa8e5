"""Reference tables: which tool for which data with the evidence of this database, the dictionary, and what is classical."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.prose import prose
from orledger.paper.tables.a import medians_by_rule, seed_cv, selected, table_a
from orledger.paper.tables.a_floor import REFERENCE, with_backend
from orledger.paper.tables.b import KEYS, arms_frame
from orledger.paper.tables.c_kappa import PAIRS, paths, table_cinv
from orledger.reports.source import NothingToShowError
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, Layout, Row, Table
from orledger.reports.tables.values import Absent, Count, Number, Text, Value, join

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.reports.source import Source

LEARNABLE = 0.95  # audit score from which a target counts as learnable
Evidence = tuple[Value, Count]  # a sentence, and the count in it (in bold there) that decides about the recommendation


def no_calibration(source: Source) -> Evidence:
    """Morozov's gain and dispersion where no exchangeable data exist."""
    quotes = table_a(source).quotes
    wins = quotes.get("Morozov wins over released")
    if not isinstance(wins, Count):
        raise NothingToShowError("the database has no noisy cell with both rules")
    med = medians_by_rule(seed_cv(selected(source, (24, 16)).filter(pl.col("level") > 0)))
    text = prose(
        """Morozov beats the released weight in {{ wins }} noisy cells (p {{ p }}), median gain {{ low }} to {{ high }} by level
        {%- if a and b %}; its median dispersion over seeds is {{ a }} against {{ b }}{% endif %} ({{ table('A') }}, {{ table('Astab') }}).""",
        wins=wins.strong(), p=quotes["Morozov minus released p"], low=quotes["gain smallest median"], high=quotes["gain largest median"],
        a=med.get("morozov") and Number(s.known(med["morozov"]), rules.fixed(3)),
        b=med.get("released") and Number(s.known(med["released"]), rules.fixed(3)),
    )  # fmt: skip
    return text, wins


def score_wins(frame: pl.DataFrame, first: str, second: str, metric: str = "interval_score") -> Count:
    """In how many cells that both delivered ``first`` has the lower (coverage: higher) value."""
    pair = s.paired(frame, KEYS, metric, first, second)
    if pair.is_empty():
        raise NothingToShowError(f"no cell in which both {first} and {second} delivered")
    better = (pair["first"] > pair["second"]) if metric == "coverage" else (pair["first"] < pair["second"])
    return Count(int(better.sum()), pair.height)


def in_distribution(source: Source) -> Evidence:
    """Split-CP against the OR head on exchangeable data."""
    frame = source.need(arms_frame(source, ["coverage", "interval_score"], ("iid",)), "finished i.i.d. cells of b/main")
    wins = score_wins(frame, "cp", "or1")
    text = "split-CP has a lower interval score than the OR head in {{ wins }} cells ({{ table('Barms') }})."
    return prose(text, wins=wins.strong()), wins


def shifted(source: Source, learnable: bool) -> pl.DataFrame:
    """Shift cells of datasets on one side of the audit score."""
    frame = source.need(
        arms_frame(source, ["coverage", "interval_score"], ("shift",)), "finished shift cells of b/main"
    )
    facts = (
        source.wide("b", "main", ["cell"], ["r2"], KEYS, where={"regime": ("shift",)})
        .drop_nulls("r2")
        .select("cell_id", "r2")
    )
    side = pl.col("r2") >= LEARNABLE if learnable else pl.col("r2") < LEARNABLE
    return source.need(
        frame.join(facts, on="cell_id").filter(side),
        f"shift cells with an audit score {'from' if learnable else 'below'} {LEARNABLE}",
    )


def shift_learnable(source: Source) -> Evidence:
    """Coverage and score of the OR head without floor on learnable targets; the rule speaks about coverage, which decides."""
    frame = shifted(source, learnable=True)
    cover, score = score_wins(frame, "or1_nf", "cp", "coverage"), score_wins(frame, "or1_nf", "cp")
    return prose(
        """Without floor the OR head covers more than split-CP in {{ cover }} cells and has a lower interval score in {{ score }}
        ({{ table('Bshift') }}).""",
        cover=cover.strong(), score=score,
    ), cover  # fmt: skip


def shift_other(source: Source) -> Evidence:
    """The constant band against the OR head on the other targets."""
    wins = score_wins(shifted(source, learnable=False), "triv", "or1")
    text = "The constant band has a lower interval score than the OR head in {{ wins }} cells ({{ table('Bshift') }})."
    return prose(text, wins=wins.strong()), wins


def exploration(source: Source) -> Evidence:
    """The criterion and the inertness of the ladder."""
    quotes = table_cinv(source).quotes
    if "osc/low records" not in quotes:
        raise NothingToShowError("the database has no invariance records")
    inert = s.count(
        [
            len({p[a] for a in ("k1", "k2", "k5")}) == 1
            for p in paths(source).values()
            if {*sum(PAIRS.values(), ())} <= set(p)
        ]
    )
    if not inert.n:
        raise NothingToShowError("the database has no trajectory at all three multiples")
    text = prose(
        """Scaling the floor by 2 and 5 changes no action on {{ inert }} trajectories; the criterion that predicts it has {{ wrong }}
        counterexamples in {{ records }} records ({{ table('Ckappa') }}, {{ table('Cinv') }}).""",
        wrong=quotes["osc/low counterexamples"], records=quotes["osc/low records"], inert=inert.strong(),
    )  # fmt: skip
    return text, inert


def floor_first(source: Source) -> Evidence:
    """How many repetitions of one computation are not the reference run bit for bit."""
    frame = source.wide("a", "floor", ["solve"], ["rmse"], ["grid", "backend", "repeat"], indexed=True).drop_nulls(
        "rmse"
    )
    frame = with_backend(source.need(frame, "finished cells of a/floor"))
    differs: list[bool] = []
    for _, part in frame.sort(["where", "repeat", "cell_id", "idx"]).group_by("grid", maintain_order=True):
        curves = {cell: tuple(rows["rmse"]) for (cell,), rows in part.group_by(["cell_id"], maintain_order=True)}
        same = part.filter(pl.col("where") == REFERENCE)
        reference = (same if same.height else part)["cell_id"][0]
        differs += [curve != curves[reference] for cell, curve in curves.items() if cell != reference]
    if not differs:
        raise NothingToShowError("the database has no repetition of the noise-free solve")
    moved = s.count(differs)
    text = """{{ moved }} repetitions of the noise-free solve (other process, thread count, precision or last bit) do not give the numbers of
        the reference run ({{ table('Afloor') }})."""
    return prose(text, moved=moved.strong()), moved


REGIMES: tuple[tuple[str, str, str, Callable[[Source], Evidence]], ...] = (
    ("no calibration", "no exchangeable calibration data", "worst-case ball, its weight chosen by the discrepancy principle", no_calibration),
    ("in distribution", "exchangeable data, same distribution", "split-CP, and not the OR head", in_distribution),
    ("shift learnable", "covariate shift, target that a forest learns", "OR head without its floor, where coverage matters", shift_learnable),
    ("shift other", "covariate shift, target that it does not learn", "constant band, and not the OR head", shift_other),
    ("exploration", "width used as an exploration bonus", "certified floor for validity; change its shape, not its scale", exploration),
    ("dispersion", "any of these, before a dispersion is quoted", "measure the floor of repeated computations first", floor_first),
)  # fmt: skip


@table("regime", "Which tool for which data")
def table_regime(source: Source) -> Table:
    """Table regime: data regime, tool, and the evidence of this database, which may speak against the rule."""
    rows = []
    for key, regime, tool, evidence in REGIMES:
        try:
            text, count = evidence(source)
            word: Value = Text("for" if 2 * count.k > count.n else "against" if 2 * count.k < count.n else "open")
        except NothingToShowError as nothing:
            text, word = Absent(nothing.message), Absent(nothing.message)
        rows.append(Row(key, (Text(regime), Text(tool), text, word)))
    caption = prose(
        """Which tool for which data, with the evidence of this database. A target counts as learnable from an audit score
        {{ sym.r2 }} of {{ limit }}. Last column: for the rule of the row, when the count in bold is more than half; against it, when it is less. It is counted here
        and not taken over from the paper.""",
        limit=Number(LEARNABLE, rules.fixed(2)),
    )  # fmt: skip
    columns = (
        Column("regime", Text("data"), 1.25),
        Column("tool", Text("tool"), 1.45),
        Column("evidence", Text("evidence here"), 2.0),
        Column("verdict", Text("says"), "l"),
    )
    return Table(
        "regime",
        "Which tool for which data",
        caption,
        columns,
        (Group(tuple(rows)),),
        layout=Layout("footnotesize", 4.0),
    )


DICTIONARY: tuple[tuple[str, Value, Value, str], ...] = (
    ("balls", join("model ball and noise ball ", sym.BALLS), Text("scale of the prior; Gaussian likelihood"), "Spectral"),
    ("nugget", join("regularisation weight, nugget ", sym.NUGGET), join("noise-to-prior ratio ", sym.NUGGET_DEF), "matched_mu"),
    ("power", Text("power function, exact data"), Text("posterior standard deviation without noise"), "Moments"),
    ("radius", join("information radius, squared: ", sym.E_STAR_SQUARED), join("posterior variance at the best nugget, ", sym.RADIUS_FORMULA), "global_radius"),
    ("interval", join("conditional Chebyshev interval ", sym.CHEBYSHEV), Text("credible interval that holds for every prior on the consistent set"), "local_interval"),
    ("occam", join("Occam radius ", sym.RHO_OC), Text("data-driven prior scale at which the posterior set is a point"), "occam"),
    ("conformal", join("conformal inflation ", sym.INFLATED), Text("prior scale repaired on held-out data"), "conformal_radius"),
    ("discrepancy", Text("discrepancy principle (Morozov)"), Text("nugget whose residual has the size of the noise"), "discrepancy"),
    ("water", Text("Pinsker weights over an ellipsoid"), Text("prior variances by water-filling"), "pinsker_variances"),
    ("invariance", join("floor of exploration widths, ", sym.SHIFT_LCB), Text("confidence bound with a scaled posterior width"), "kappa_invariance"),
)  # fmt: skip


@table("dictionary", "Dictionary")
def table_dictionary(source: Source) -> Table:  # noqa: ARG001 - every builder takes the source
    """Table dictionary: the same object in two vocabularies, and the function that computes it."""
    rows = tuple(Row(key, (left, right, Text(name, mono=True))) for key, left, right, name in DICTIONARY)
    caption = prose(
        "One object, two vocabularies: Optimal Recovery, Bayesian learning, and the name in {{ module }}.",
        module=Text("orledger.recovery", mono=True),
    )
    columns = (
        Column("recovery", Text("Optimal Recovery"), 2.0),
        Column("bayes", Text("Bayesian learning"), 2.2),
        Column("function", Text("function"), "l"),
    )
    return Table("dictionary", "Dictionary", caption, columns, (Group(rows),), layout=Layout("footnotesize", 4.0))


PROVENANCE: tuple[tuple[str, Value, Value], ...] = (
    ("radius", Text("The value of recovery over two ellipsoids, that a linear rule is optimal, exactness of the S-procedure for two quadratics, the best parameter inside the regularisation family, the discrepancy principle."),
     join("The radius written as ", sym.RADIUS_FORMULA, "; a proof of attainment from ", sym.V_IDENTITY, " and the inequality of means, with the balance ", sym.BALANCE, "; certificate over radius as a check of every implementation.")),
    ("interval", Text("Under total ambiguity the minimax action over priors is the Chebyshev centre; programs for optimal uncertainty quantification."),
     Text("The interval of one functional read as a credible interval, with a dual in two parameters that certifies itself, exact rows eliminated first; one band for learned features and for kernels.")),
    ("conformal", Text("Split conformal prediction and its finite-sample level."),
     Text("Why the smallest consistent ball is a single point; calibration of the ball's radius by nested bands, with an additive fallback when no inflation suffices.")),
    ("invariance", Text("Confidence-bound schedules with growing multipliers."),
     join("A margin condition under which a multiplier of the certified width changes nothing, ", sym.CRITERION, ", checked at every step.")),
)  # fmt: skip


@table("provenance", "What is classical and what is not")
def table_provenance(source: Source) -> Table:  # noqa: ARG001 - every builder takes the source
    """Table provenance: what the theory takes over and what it adds."""
    rows = tuple(Row(key, (known, here)) for key, known, here in PROVENANCE)
    caption = prose("What the theory behind the ledger takes over, and what the paper adds to it.")
    columns = (Column("known", Text("known before"), 2.5), Column("here", Text("added"), 2.7))
    return Table(
        "provenance",
        "What is classical and what is not",
        caption,
        columns,
        (Group(rows),),
        layout=Layout("footnotesize", 4.0),
    )
