"""An audit and a power table as text and as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from orledger.audit.registry.words import ClaimState, Outcome, Registered, Variant
from orledger.schema.receipts import words_of
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orledger.audit.evaluation.auditing import Audit, AuditFinding
    from orledger.audit.evaluation.claims import ClaimResult
    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.audit.evaluation.power import ComparisonPower


def audit_lines(
    audit: Audit,
    *,
    every_test: bool = False,
    width: int = 100,
    heading: Callable[[str, str, bool], str] = "{}  {}".format,
    line: Callable[[str], str] = "    {}".format,
) -> Iterator[str]:
    """The audit for a terminal: dispositions with reasons, counts of outcomes with floors, claims that fail; on request every test.

    ``heading`` joins the name of a hypothesis and its verdict, for one who wants them in colour; its last argument is true where
    the text was not registered before the data, and support confirms nothing. ``line`` writes a test or claim.
    """
    yield f"audit {audit.audit_id}: {counted(audit.n_cells, 'cell')}, {counted(audit.n_records, 'record')}"
    for f in sorted(audit.findings, key=lambda f: f.decision is None):  # what only describes comes last
        yield ""
        verdict = f.decision.verdict.upper() if f.decision else "DESCRIBES"
        yield f"{heading(f.hypothesis.id, verdict, f.late)}  {f.hypothesis.title}{_marks(f)}"
        yield from _indented(f.decision.reason if f.decision else "no verdict rests on these tests", width)
        if f.sensitivity:
            yield from _indented(f"speaks about: {f.sensitivity.population}", width)
            if f.level:
                yield from _indented(f"level: {f.level}", width)
            for text in (f.sensitivity.reason, *f.remarks):
                yield from _indented(text, width)
            yield from _indented(words_of(f.receipt), width)
        if not every_test:
            yield from _indented(_counts(f), width)
        for e in f.tests if every_test else ():
            yield line(test_line(e))
        for c in f.claims:
            if every_test or c.state == ClaimState.FAILS:
                yield line(f"claim {c.claim.id} {c.state}: {c.observed}")
    deciding = sum(f.decision is not None for f in audit.findings)
    if deciding > 1:
        yield ""
        yield f"{deciding} hypotheses, each judged at a level of its own: nothing is corrected across them"
    shown = [e for f in audit.findings for e in f.tests]
    if every_test and any(e.p_holm is not None and e.result.interval_ends for e in shown):
        yield ""
        yield "intervals are of each comparison alone: one can leave out 0 where the Holm p, which decides, does not"
    if shown and not every_test:
        yield ""
        claims = sum(len(f.claims) for f in audit.findings)
        yield f"{counted(len(shown), 'test')}, {counted(claims, 'claim')}; orledger audit --tests lists them all"


def _counts(f: AuditFinding) -> str:
    """How many tests ended how, and between which floors those lie that could not have decided."""
    deciding = [e for e in f.tests if e.variant in (Variant.DECLARED, Variant.BLOCKED)]
    counts = Counter(e.outcome for e in deciding)
    text = f"{counted(len(deciding), 'test')}: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
    hopeless = [e for e in deciding if e.outcome == Outcome.UNTESTABLE and e.result.floor is not None]
    floors = sorted({f"{e.result.floor:.2g}" for e in hopeless}, key=float)
    if not floors:
        return text
    between = f"the floor {floors[0]}" if len(floors) == 1 else f"floors from {floors[0]} to {floors[-1]}"
    sizes = sorted({e.family_size for e in hopeless if e.p_holm is not None and e.family_size})
    before = f" before the correction over {' or '.join(map(str, sizes))} tests" if sizes else ""
    return f"{text}; the untestable have {between}{before}, and orledger audit --power says how many units they need"


def test_line(e: Evaluation) -> str:
    """One test on one line: outcome, p with its floor, effect with its interval, counts."""
    r = e.result
    name = e.comparison.id if e.variant == Variant.DECLARED else f"{e.comparison.id} ({e.variant})"
    why = f" ({e.untestable})" if e.untestable else ""
    parts = [", ".join([f"{name}: {e.outcome}{why}", *e.shown]), f"n = {r.n}"]
    if r.p is not None:
        side = "" if r.side == "two-sided" else f" one-sided ({r.side})"
        parts.append(f"p = {r.p:.3g}{side}" + (f" (Holm {e.p_holm:.3g})" if e.p_holm is not None else ""))
    if r.floor:
        parts.append(f"floor {r.floor:.3g}")
    if r.effect is not None:
        parts.append(f"{r.effect_name} {r.effect:.4g}{_interval(e)}")
    if r.standard_effect is not None:
        parts.append(f"{r.standard_effect_name} {r.standard_effect:.2f}")
    if e.within is not None and e.posterior is not None:
        parts.append(
            f"margin {e.within.margin:g}: p = {e.within.noninferior:.3g} (not inferior), {e.within.equivalent:.3g} (equivalent),"
            f" posterior {e.posterior.below:.2f}/{e.posterior.within:.2f}/{e.posterior.above:.2f}"
        )
    if r.e_value is not None:
        parts.append(f"e = {r.e_value:.3g}")
    if r.wins is not None:
        parts.append(f"{r.wins}/{r.losses}/{r.draws}")
    if e.bounded:
        parts.append(f"{counted(e.bounded, 'value is a bound', 'values are bounds')}")
    if r.dropped and set(e.comparison.pair) > set(e.comparison.unit):  # named value by value, finer than the units
        parts.append(f"{counted(len(r.dropped), 'value')} absent")
    elif r.dropped:
        counts = Counter("incomplete" if d.partial else "dropped" for d in {d.unit: d for d in r.dropped}.values())
        parts += [f"{counted(n, 'unit')} {word}" for word, n in sorted(counts.items())]
    return ", ".join(parts)


def _interval(e: Evaluation) -> str:
    """The interval with its ends as they are, and its level where so few units allow none as high as was asked for.

    An end that is not there is infinite. One unit allows no interval at all.
    """
    r = e.result
    if (r.low is None and r.high is None) or r.level == 0:
        return ""
    ends = r.interval_ends or "[]"
    start, end = ends[0], ends[1]
    low = "(-inf" if r.low is None else f"{start}{r.low:.4g}"
    high = "inf)" if r.high is None else f"{r.high:.4g}{end}"
    short = r.level is not None and r.level < e.comparison.level
    return f" {low}, {high}" + (f" at {r.level:.3g}" if short else "")


def audit_data(audit: Audit) -> dict[str, Any]:
    """The audit as plain data for a program to read."""
    return {
        "audit_id": audit.audit_id,
        "data_hash": audit.data_hash,
        "cells": audit.n_cells,
        "records": audit.n_records,
        "hypotheses": [
            {
                "id": f.hypothesis.id,
                "title": f.hypothesis.title,
                "mode": f.hypothesis.mode,
                "verdict": f.decision.verdict if f.decision else None,
                "reason": f.decision.reason if f.decision else None,
                "rule": f.decision.rule if f.decision else None,
                "registration": f.registration.hash,
                "amendment": f.registration.amendment,
                "cells_done_at_registration": f.registration.cells_done,
                "known": f.known,
                "population": f.sensitivity.population if f.sensitivity else None,
                "coarser_unit": f.sensitivity.unit if f.sensitivity else None,
                "coarser_verdict": f.sensitivity.verdict if f.sensitivity else None,
                "coarser_reason": f.sensitivity.reason if f.sensitivity else None,
                "earlier": [asdict(x) for x in f.earlier],
                "remarks": list(f.remarks),
                "level": f.level,
                "receipt": None if f.receipt is None else asdict(f.receipt),
                "tests": [_test_data(e) for e in f.tests],
                "claims": [_claim_data(c) for c in f.claims],
            }
            for f in audit.findings
        ],
    }


def _test_data(e: Evaluation) -> dict[str, Any]:
    r = e.result
    fields = (
        "p",
        "floor",
        "n",
        "n_nonzero",
        "ties",
        "method",
        "side",
        "effect",
        "effect_name",
        "low",
        "high",
        "interval_ends",
        "wins",
        "losses",
        "draws",
        "standard_effect",
        "superiority",
        "e_value",
    )
    return {
        "id": e.comparison.id,
        "variant": e.variant,
        "independent": e.independent,
        "outcome": e.outcome,
        "untestable": e.untestable,
        "p_holm": e.p_holm,
        "shown": list(e.shown),
        "margin": asdict(e.within) if e.within else None,
        "posterior": asdict(e.posterior) if e.posterior else None,
        **{f: getattr(r, f) for f in fields},
        "dropped": [{"unit": d.unit, "reason": d.reason, "partial": d.partial} for d in r.dropped],
    }


def _claim_data(c: ClaimResult) -> dict[str, Any]:
    return {
        "id": c.claim.id,
        "state": c.state,
        "observed": c.observed,
        "n": c.n,
        "value": c.value,
        "interval": asdict(c.interval),
        "clearly": list(c.clearly),
        "against": list(c.counterexamples),
        "dropped": [{"unit": d.unit, "reason": d.reason} for d in c.dropped],
    }


def power_rows(rows: Sequence[ComparisonPower]) -> list[dict[str, Any]]:
    """The power table as rows for print or JSON."""
    return [
        {
            "hypothesis": p.hypothesis,
            "comparison": p.comparison,
            "test": p.test,
            "alpha": p.alpha,
            "family": p.family_size,
            "planned": p.planned,
            "done": p.done,
            "floor": None if p.floor is None else float(f"{p.floor:.3g}"),
            "needed": p.needed,
            "decidable": "yes" if p.decidable else "no",
            "effect": p.effect,
            "power": None if p.power is None else round(p.power, 3),
            "n_for_power": p.n_for_power,
        }
        for p in rows
    ]


def _marks(f: AuditFinding) -> str:
    marks = [f.hypothesis.mode] if f.hypothesis.mode == "exploratory" else []
    if f.registration.amendment:
        marks.append(f"amended after {counted(f.registration.cells_done, 'cell')}")
    elif f.known == Registered.AFTER:
        marks.append(f"registered after {counted(f.registration.cells_done, 'cell')}")
    elif f.known != Registered.BEFORE:
        marks.append(str(f.known))
    return f"  [{'; '.join(marks)}]" if marks else ""


def _indented(text: str, width: int) -> list[str]:
    return wrap(
        text, width, initial_indent="    ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
