"""Tables of audit rows for any study: the matrix of pairs, all tests, claims, dispositions, and what was refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.audit.registry.words import Outcome
from orledger.reports import cautions
from orledger.reports.origin import answered
from orledger.reports.report.wording import OTHERWISE
from orledger.reports.tables import format as rules
from orledger.reports.tables.format import SHORT, fixed
from orledger.reports.tables.generic import audit_queries, interval_of, notes
from orledger.reports.tables.table import Column, Group, PrintSize, Row, Table, arm_columns, columns
from orledger.reports.tables.values import Absent, Blank, Number, PValue, Text, Value, join
from orledger.schema.layouts import literal
from orledger.wording import counted

if TYPE_CHECKING:
    from orledger.reports.audit_rows import AuditRows, TestRow
    from orledger.reports.generic import Subject
    from orledger.reports.origin import Origin
    from orledger.reports.source import Database

TESTED = ("signed_rank", "sign", "friedman", "skillings_mack")
NAMES = {
    "signed_rank": "signed rank",
    "sign": "sign",
    "friedman": "Friedman",
    "skillings_mack": "Skillings-Mack",
    "mean_ranks": "mean ranks",
    "median": "median",
    "improvement": "improvement",
    "interquartile_mean": "IQM",
    "profile": "profiles",
}


SIDES = {
    "two-sided": "two-sided",
    "less": "one-sided (the first arm has the lower values)",
    "greater": "one-sided (the first arm has the higher values)",
}


def pair_table(subject: Subject) -> Table:
    """Arms by arms: the corrected p of each pair, bold and with a sign where the audit found a difference.

    Where all pairs share an arm it has the one column. What was not asked for is empty.
    """
    down, across = _sought(subject)
    found = {(a, b): subject.pair(a, b) for a in down for b in across if a != b}
    rows = [
        Row(
            a,
            (
                Text(subject.label(a)),
                *(Blank() if (r := found.get((a, b))) is None else _p(r, subject.better) for b in across),
            ),
        )
        for a in down
    ]
    empty = " Empty places: what the hypotheses do not ask for." if None in found.values() else ""
    first = subject.pairs[0].row
    counts = sorted({p.row.n for p in subject.pairs})
    over = (
        counted(counts[0], "unit") if len(counts) == 1 else f"the {counts[0]} to {counts[-1]} units that have both arms"
    )
    corrected = "Holm's correction over the family" if first.p_holm is not None else "no correction"
    sides = " or ".join(dict.fromkeys(SIDES[p.row.side] for p in subject.pairs))
    tests = " or ".join(dict.fromkeys(NAMES[p.row.test] for p in subject.pairs))
    return Table(
        caption=Text(
            f"{sides[:1].upper()}{sides[1:]} p of the {tests} test of each pair over {over}, {corrected}. Bold: a"
            f" difference at {first.alpha:g}; (+) where the arm of the row is better, (−) where it is worse.{empty}{cautions.hopeless(subject)}"
        ),
        columns=arm_columns(Column("arm", Text(""), "l"), [(b, subject.label(b)) for b in across]),
        groups=(Group(tuple(rows)),),
        notes=notes(subject),
        queries=audit_queries(subject, ("signed_rank", "sign")),
        layout=PrintSize("scriptsize" if len(across) > 6 else "footnotesize", 3.0),
    )


def _sought(subject: Subject) -> tuple[list[str], list[str]]:
    """The arms of the rows and of the columns: a pair that was compared is in a row of one and a column of the other."""
    arms = [a for a in subject.ordered if any(a in (p.first, p.second) for p in subject.pairs)]
    shared = [a for a in arms if all(a in (p.first, p.second) for p in subject.pairs)]
    if len(arms) > 2 and shared:
        others = [a for a in arms if a != shared[0]]
        if all(subject.pair(a, shared[0]) is not None for a in others):
            return others, shared
    across = [b for b in arms if any(a != b and subject.pair(a, b) is not None for a in arms)]
    return [a for a in arms if any(a != b and subject.pair(a, b) is not None for b in across)], across


def test_table(subject: Subject) -> Table:
    """Every test and estimate of the subject: n, effect with interval, p, corrected p, wins, and the outcome."""
    rows = [Row(t.comparison, _test_cells(t, subject)) for t in subject.tests if t.test in (*TESTED, "improvement")]
    return Table(
        caption=Text(
            "Every comparison of the hypothesis file as the audit stored it. Effects are first arm minus second, in the units of the"
            " metric; for Friedman's test Kendall's W, for improvement the probability that a run of the first is better."
            f"{cautions.of_tests(subject, TESTED)}{_effects(subject)}"
        ),
        columns=(
            *columns("l", "comparison", "test"),
            *columns("r", "n", "effect", "interval", "p"),
            Column("holm", Text("p, Holm"), "r"),
            Column("wins", Text("won/lost/drawn"), "r"),
            *columns("l", "finding"),
        ),
        groups=(Group(tuple(rows)),),
        notes=(*notes(subject), *_methods(subject)),
        queries=audit_queries(subject, (*TESTED, "improvement")),
        layout=PrintSize("scriptsize", 3.0),
    )


def disposition_table(audit: AuditRows, hypotheses: tuple[str, ...]) -> Table:
    """The verdict on every hypothesis and its reason."""
    rows = []
    for h in hypotheses:
        d = audit.disposition(h)
        if d is not None:
            rows.append(Row(h, (Text(h), Text(d.verdict, bold=True), Text(d.mode), Text(d.statement), Text(d.reason))))
    return Table(
        caption=Text("What the audit concludes about every hypothesis, and why."),
        columns=(*columns("l", "hypothesis", "verdict", "mode"), *columns(1.5, "statement"), *columns(1.9, "reason")),
        groups=(Group(tuple(rows)),),
        queries=(f"SELECT * FROM disposition WHERE audit_id = '{audit.audit_id}'",),
    )


def claim_table(audit: AuditRows, hypotheses: tuple[str, ...]) -> Table:
    """Every claim and what was observed."""
    rows = [
        Row(
            c.address,
            (
                Text(c.address),
                Text(c.statement),
                Text(c.state, bold=True),
                Number(c.n, rules.INTEGER).of(c),
                Text(c.observed).of(c),
            ),
        )
        for h in hypotheses
        for c in audit.claims(h)
    ]
    return Table(
        caption=Text("Statements in words, checked on the database."),
        columns=(
            *columns("l", "claim"),
            *columns(1.6, "statement"),
            *columns("l", "state"),
            Column("n", Text("units"), "r"),
            *columns(1.8, "observed"),
        ),
        groups=(Group(tuple(rows)),),
        queries=(f"SELECT * FROM claim WHERE audit_id = '{audit.audit_id}'",),
    )


def refusal_table(results: Database, case: str) -> Table:
    """Missing results by arm and reason, counted."""
    query = (
        f"SELECT arm, refused, count(DISTINCT cell_id) AS cells\nFROM all_refusals WHERE case_name = {literal(case)}\n"
        "GROUP BY ALL ORDER BY arm, cells DESC, refused"
    )
    rows = [
        Row(
            f"{arm}: {reason}",
            (Text(arm), Text(reason), replace(Number(cells, rules.INTEGER), origin=refused(case, arm, reason))),
        )
        for arm, reason, cells in results.sql(query).iter_rows()
    ]
    return Table(
        caption=Text("Arms without a number, by the reason given. They are absent everywhere, and zero nowhere."),
        columns=(*columns("l", "arm"), *columns(3.5, "reason"), *columns("r", "cells")),
        groups=(Group(tuple(rows)),),
        queries=(query,),
    )


def refused(case: str, arm: str, reason: str) -> Origin:
    """The cells in which ``arm`` refused for ``reason``."""
    return answered(
        "SELECT cell_id, cell, arm, refused, refused_by\nFROM all_refusals\n"
        f"WHERE case_name = {literal(case)} AND arm = {literal(arm)} AND refused = {literal(reason)}\nORDER BY ALL"
    )


def _p(row: TestRow, better: str) -> Value:
    p = row.p if row.p_holm is None else row.p_holm
    if p is None:
        return Absent(row.why_absent)
    value = PValue(p, row.floor if row.p_holm is None and row.floor is not None else 0.0).of(row)
    if not row.decided:
        return value
    won = (row.outcome == Outcome.GREATER) == (better == "higher")
    return join(value, " (+)" if won else " (−)", names=("",)).strong()


def _sides(t: TestRow, subject: Subject) -> str:
    """What is compared, in words."""
    arms = [subject.label(a) for a in subject.sides[t.comparison]]
    return f"{arms[0]} against {arms[1]}" if len(arms) == 2 else "all arms"


def _found(t: TestRow, subject: Subject) -> str:
    """What the audit found, in words: which arm is better, or why nothing is said."""
    if t.outcome not in (Outcome.LESS, Outcome.GREATER):
        return OTHERWISE[Outcome(t.outcome)] if t.outcome in OTHERWISE else str(t.outcome)
    first, second = (subject.label(a) for a in subject.sides[t.comparison])
    return f"{first if (t.outcome == Outcome.GREATER) == (subject.better == 'higher') else second} is better"


def _test_cells(t: TestRow, subject: Subject) -> tuple[Value, ...]:
    style = fixed(3) if t.effect is not None and 1e-3 <= abs(t.effect) < 1e3 else SHORT
    effect = Blank() if t.effect is None else Number(t.effect, style).of(t)
    interval = interval_of(t, style)
    wins = Blank() if t.wins is None else Text(f"{t.wins}/{t.losses}/{t.draws}").of(t)
    holm = Blank() if t.p_holm is None else Number(t.p_holm, rules.P_VALUE).of(t)
    p: Value = Blank() if t.test == "improvement" else Absent(t.why_absent)
    if t.p is not None:
        p = PValue(t.p, t.floor or 0.0).of(t)
    return (
        Text(_sides(t, subject)), Text(NAMES.get(t.test, t.test)), Number(t.n, rules.INTEGER).of(t), effect,
        interval, p, holm, wins, Text(_found(t, subject), bold=t.decided),
    )  # fmt: skip


def _effects(subject: Subject) -> str:
    """Which effect and interval which pair has, where a plain median stands for some."""
    if not (why := cautions.plain_medians(subject.pairs)):
        return ""
    effects, methods = (cautions.kinds(subject, subject.pairs, kind) for kind in ("effect_name", "interval_method"))
    return f" Effects: {effects}. Their intervals: {methods}.{why}"


def _methods(subject: Subject) -> tuple[Value, ...]:
    methods = dict.fromkeys(
        f"{NAMES.get(t.test, t.test)}: {t.method}" for t in subject.tests if t.test in (*TESTED, "improvement")
    )
    return (Text("Methods. " + "; ".join(methods) + "."),)
