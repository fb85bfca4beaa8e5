"""Reference tables: which tool for which data with the evidence of this database, the dictionary, and what is classical."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from orledger.audit.registry.words import ClaimState
from orledger.paper import symbols as sym
from orledger.paper.prose import prose
from orledger.paper.tables.a import grouped, medians_by_rule, same_in_print, seed_cv, selected, table_a
from orledger.reports.source import NothingToShowError
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import Column, Group, Row, Table
from orledger.reports.tables.values import Absent, Count, Number, Text, Value, join

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.reports.audit_rows import TestRow
    from orledger.reports.source import Source

Evidence = tuple[Value, str]  # a sentence, and what it says about the recommendation: for, against or open
# What the outcome of a test says about a rule that bets on its first side having the lower value.
SAYS = {"less": "for", "greater": "against"}
BETS_HIGH = {"greater": "for", "less": "against"}  # the same for a rule that bets on the higher value


def cited(source: Source, address: str, *, turned: bool = False) -> TestRow:
    """The row of the audit at ``address``, ``turned`` round where asked; without it the rule has no evidence here."""
    row = source.test(address)
    if isinstance(row, Absent):
        raise NothingToShowError(row.reason)
    if row.wins is None:
        raise NothingToShowError(row.why_absent)
    return row.reversed() if turned else row


def no_calibration(source: Source) -> Evidence:
    """Morozov's gain and dispersion where no exchangeable data exist."""
    row = cited(source, "H1/rmse/released")
    quotes = table_a(source).quotes
    noisy = selected(source, (24, 16)).filter(pl.col("level") > 0)
    groups = seed_cv(noisy)
    med, rows = medians_by_rule(groups), grouped(noisy, groups)
    low, high = quotes.get("gain smallest median"), quotes.get("gain largest median")
    text = prose(
        """Morozov beats the released weight in {{ wins }} noisy cells (p {{ p }})
        {%- if low %}, median gain {% if one %}{{ low }} at every level{% else %}{{ low }} to {{ high }} by level{% endif %}{% endif %}
        {%- if a and b %}; its median dispersion over seeds is {{ a }} against {{ b }}{% endif %} ({{ table('A') }}, {{ table('Astab') }}).""",
        wins=s.wins_cell(row).strong(), p=s.p_cell(row), low=low, high=high, one=same_in_print(low, high),
        a=med.get("morozov") and Number(s.known(med["morozov"]), rules.fixed(3)).of_records(rows.filter(pl.col("arm") == "morozov"), "rmse"),
        b=med.get("released") and Number(s.known(med["released"]), rules.fixed(3)).of_records(rows.filter(pl.col("arm") == "released"), "rmse"),
    )  # fmt: skip
    return text, SAYS.get(row.outcome, "open")


def in_distribution(source: Source) -> Evidence:
    """Split-CP against the OR head on exchangeable data."""
    row = cited(source, "H2/score/cp", turned=True)
    text = """split-CP has a lower interval score than the OR head in {{ wins }} splits (p {{ p }}; {{ table('Barms') }})."""
    return prose(text, wins=s.wins_cell(row).strong(), p=s.p_cell(row)), SAYS.get(row.outcome, "open")


def shift_learnable(source: Source) -> Evidence:
    """Coverage and score of the OR head without floor on learnable targets; the rule speaks about coverage, which decides."""
    cover, score = cited(source, "CaseB/learnable-coverage"), cited(source, "CaseB/learnable-score")
    text = prose(
        """Without floor the OR head covers more than split-CP in {{ cover }} splits (p {{ p }}) and has a lower interval score in
        {{ score }} ({{ table('Bshift') }}).""",
        cover=s.wins_cell(cover).strong(), p=s.p_cell(cover), score=s.wins_cell(score),
    )  # fmt: skip
    return text, BETS_HIGH.get(cover.outcome, "open")


def shift_other(source: Source) -> Evidence:
    """The constant band against the OR head on the other targets."""
    row = cited(source, "CaseB/unlearnable-trivial")
    text = """The constant band has a lower interval score than the OR head in {{ wins }} splits (p {{ p }}; {{ table('Bshift') }})."""
    return prose(text, wins=s.wins_cell(row).strong(), p=s.p_cell(row)), SAYS.get(row.outcome, "open")


def exploration(source: Source) -> Evidence:
    """The criterion and the inertness of the ladder: for, when the audit finds more than half of the seeds inert."""
    row = cited(source, "CaseC/inert")
    claim = source.claim("H4/no-counterexample")
    if isinstance(claim, Absent):
        raise NothingToShowError(claim.reason)
    text = prose(
        """Scaling the floor by 2 and 5 changes no action on {{ inert }} trajectories (95% interval of the share {{ interval }}); counterexamples to the criterion that
        predicts it: {{ observed }} ({{ table('Ckappa') }}, {{ table('Cinv') }}).""",
        observed=claim.observed, inert=s.wins_cell(row).strong(), interval=s.interval_cell(row, rules.fixed(2)),
    )  # fmt: skip
    return text, "against" if claim.state == ClaimState.FAILS else BETS_HIGH.get(row.outcome, "open")


def floor_first(source: Source) -> Evidence:
    """How many repetitions of one computation are not the reference run bit for bit."""
    claim = source.claim("CaseA/repetitions-differ")
    if isinstance(claim, Absent) or claim.value is None:
        raise NothingToShowError(claim.reason if isinstance(claim, Absent) else claim.observed)
    text = """{{ moved }} repetitions of the noise-free solve (other process, thread count, precision or last bit) do not give the numbers of
        the reference run ({{ table('Afloor') }})."""
    moved = Count(int(claim.value), claim.n, bold=True).of(claim)
    return prose(text, moved=moved), {"holds": "for", "fails": "against"}.get(claim.state, "open")


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
            text, says = evidence(source)
            word: Value = Text(says)
        except NothingToShowError as nothing:
            text, word = Absent(nothing.message), Absent(nothing.message)
        rows.append(Row(key, (Text(regime), Text(tool), text, word)))
    caption = prose(
        """Which tool for which data, with the evidence of this database. Learnable targets are energy and yacht, the others diabetes,
        concrete and california, as the comparisons of the audit name them. Last column: what the audit's rows say about the rule of
        the row: for or against it where the test decides (for a share: where its interval leaves out one half; for a statement:
        whether it holds), open where it does not. It is found here and not taken over from the paper.""",
    )  # fmt: skip
    columns = (
        Column("regime", Text("data"), 1.25),
        Column("tool", Text("tool"), 1.45),
        Column("evidence", Text("evidence here"), 2.0),
        Column("verdict", Text("says"), "l"),
    )
    return Table(caption, columns, (Group(tuple(rows)),))


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
    return Table(caption, columns, (Group(rows),))


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
    return Table(caption, columns, (Group(rows),))
