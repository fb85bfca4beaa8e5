"""From outcomes to a disposition, by the rule a hypothesis was registered with and nothing else.

First what is refuted by what is known: a rule that refutes and rests on failed claims or decided tests alone counts, and so do
failed claims without which no rule supports, whatever else could not be tested or is missing. Then what the hypothesis needs:
if a needed comparison or claim has no data the verdict is "not enough data"; if a needed test could not have decided at its n,
"not testable at this n". Then the rules in order; the first whose conditions all hold gives the verdict. If none does, the
declared ``otherwise``; but where nothing is known of all that the rules ask about, it neither supports nor refutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.registry.words import DECIDED, ClaimState, Outcome, Untestable, Verdict
from orledger.wording import some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.audit.evaluation.claims import ClaimResult
    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.audit.registry.hypotheses import Hypothesis, Rule, Term

    States = Mapping[str, frozenset[str]]

SHOWN = 6  # pieces of evidence quoted in a reason
ABSENT = {Outcome.MISSING, Outcome.REFUSED, ClaimState.MISSING}
SETTLED = {*DECIDED, ClaimState.FAILS}
AGAINST = (Verdict.REFUTED, Verdict.PARTIAL)


@dataclass(frozen=True)
class Decision:
    """A verdict with its reason, the rule that gave it (from 1; None for needs and otherwise), and the ids it rests on."""

    verdict: Verdict
    reason: str
    rule: int | None
    evidence: tuple[str, ...]


def decide(hypothesis: Hypothesis, tests: Mapping[str, Evaluation], claims: Mapping[str, ClaimResult]) -> Decision:
    """The disposition of ``hypothesis``; ``tests`` and ``claims`` by the ids its file gives them."""
    states: States = {
        **{k: frozenset((v.outcome, *v.shown)) for k, v in tests.items()},
        **{k: frozenset((v.state, *v.clearly)) for k, v in claims.items()},
    }
    absent = [n for n in hypothesis.needs if states[n] & ABSENT]
    weak = [n for n in hypothesis.needs if Outcome.UNTESTABLE in states[n]]
    if absent or weak:
        for number, rule in enumerate(hypothesis.rules, 1):
            if rule.verdict in AGAINST and _certain(rule, states):
                return _by_rule(hypothesis, number, rule, states, tests, claims)
        return _open(hypothesis, absent, weak, states, tests, claims)
    for number, rule in enumerate(hypothesis.rules, 1):
        if applies(rule, states):
            return _by_rule(hypothesis, number, rule, states, tests, claims)
    assert hypothesis.otherwise is not None  # a file that only describes is never decided
    if hypothesis.otherwise in (Verdict.SUPPORTED, *AGAINST):
        asked = list(dict.fromkeys(t.id for r in hypothesis.rules for t in (*r.all, *r.any, *r.none)))
        absent = [n for n in asked if states[n] & ABSENT]
        weak = [n for n in asked if Outcome.UNTESTABLE in states[n]]
        if len(absent) + len(weak) == len(asked):
            return _open(hypothesis, absent, weak, states, tests, claims)
    unmet = [] if hypothesis.otherwise == Verdict.SUPPORTED else _unmet(hypothesis, Verdict.PARTIAL, states)
    lacking = _lacking(unmet, tests, claims)
    return Decision(hypothesis.otherwise, f"{hypothesis.otherwise_reason}{lacking}", None, tuple(hypothesis.needs))


def _by_rule(
    hypothesis: Hypothesis,
    number: int,
    rule: Rule,
    states: States,
    tests: Mapping[str, Evaluation],
    claims: Mapping[str, ClaimResult],
) -> Decision:
    terms = [*rule.all, *rule.any, *rule.none]
    decisive = [t for t in terms if t.value in states[t.id]] or terms  # none of those that must not hold does
    names = list(dict.fromkeys(t.id for t in decisive))
    unmet = _unmet(hypothesis, rule.verdict, states)
    lacking = _lacking([n for n in unmet if n not in names[:SHOWN]], tests, claims)
    named = tuple(dict.fromkeys([*(t.id for t in terms), *unmet]))
    unknown = list(dict.fromkeys(t.id for t in rule.none if states[t.id] & (ABSENT | {Outcome.UNTESTABLE})))
    leaning = f". Nothing is known of {_quotes(unknown, tests, claims)}" if unknown else ""
    return Decision(rule.verdict, f"{rule.reason} ({_quotes(names, tests, claims)}){lacking}{leaning}", number, named)


def _certain(rule: Rule, states: States) -> bool:
    """True when ``rule`` applies, rests on something that failed or was decided, and leans on nothing unknown."""
    unknown = ABSENT | {Outcome.UNTESTABLE}
    if not applies(rule, states) or any(states[t.id] & unknown for t in (*rule.all, *rule.none)):
        return False
    true = [t for t in (*rule.all, *rule.any) if t.value in states[t.id]]
    return any(states[t.id] & SETTLED for t in true)


def _open(
    hypothesis: Hypothesis,
    absent: list[str],
    weak: list[str],
    states: States,
    tests: Mapping[str, Evaluation],
    claims: Mapping[str, ClaimResult],
) -> Decision:
    """No data or not testable, unless failed claims stand in every way to support: they stand, whatever else is open."""
    floors = _quotes(weak, tests, claims)
    missing = f"no data for {some(absent, SHOWN)}"
    ways = [_blocking(rule, states) for rule in hypothesis.rules if rule.verdict == Verdict.SUPPORTED]
    if ways and all(ways):
        failed = list(dict.fromkeys(n for way in ways for n in way))
        verdict = hypothesis.otherwise if hypothesis.otherwise in AGAINST else Verdict.PARTIAL
        word = "a claim that fails" if len(failed) == 1 else "claims that fail"
        parts = ([f"could not be tested: {floors}"] if weak else []) + ([f"is not there: {missing}"] if absent else [])
        reason = f"support needs {word} ({_quotes(failed, tests, claims)}), whatever {' and whatever '.join(parts)}"
        return Decision(verdict, reason, None, (*failed, *absent, *weak))
    if absent:
        return Decision(Verdict.NO_DATA, missing, None, (*absent, *weak))
    tied = any(tests[n].untestable == Untestable.TIES for n in weak)
    reason = f"no result could have been significant{' with so many ties' if tied else ''}: {floors}"
    return Decision(Verdict.UNTESTABLE, reason, None, tuple(weak))


def _blocking(rule: Rule, states: States) -> list[str]:
    """The failed claims that keep ``rule`` from applying, whatever comes of everything else."""

    def failed(term: Term, *, asked: bool) -> bool:
        return ClaimState.FAILS in states[term.id] and (term.value in states[term.id]) != asked

    found = [t.id for t in rule.all if failed(t, asked=True)] + [t.id for t in rule.none if failed(t, asked=False)]
    if rule.any and all(failed(t, asked=True) for t in rule.any):
        found += [t.id for t in rule.any]
    return list(dict.fromkeys(found))


def _unmet(hypothesis: Hypothesis, verdict: Verdict, states: States) -> list[str]:
    """The ids whose outcome keeps a partial or inconclusive verdict from being support; none for other verdicts."""
    support = next((r for r in hypothesis.rules if r.verdict == Verdict.SUPPORTED), None)
    if verdict not in (Verdict.PARTIAL, Verdict.INCONCLUSIVE) or support is None:
        return []
    return list(dict.fromkeys(t.id for t in support.all if t.value not in states[t.id]))


def _lacking(unmet: list[str], tests: Mapping[str, Evaluation], claims: Mapping[str, ClaimResult]) -> str:
    """The end of a reason: what stands in the way of support."""
    return f". Not supported because of: {_quotes(unmet, tests, claims)}" if unmet else ""


def _quotes(names: list[str], tests: Mapping[str, Evaluation], claims: Mapping[str, ClaimResult]) -> str:
    """The first few of ``names`` in words, and how many more there are."""
    return some([_quote(n, tests, claims) for n in names], SHOWN, "; ")


def applies(rule: Rule, states: States) -> bool:
    """True when every term of ``all`` holds, at least one of ``any`` (if there are any), and none of ``none``."""

    def true(term: Term) -> bool:
        return term.value in states[term.id]

    return all(map(true, rule.all)) and (not rule.any or any(map(true, rule.any))) and not any(map(true, rule.none))


def _quote(name: str, tests: Mapping[str, Evaluation], claims: Mapping[str, ClaimResult]) -> str:
    """A test or claim in a few words: outcome, p and floor, or what was observed."""
    if name in claims:
        return f"{name} {claims[name].state}: {claims[name].observed}"
    e = tests[name]
    parts = [f"n = {e.result.n}"]
    if e.result.p is not None:
        shown = e.p_holm if e.p_holm is not None else e.result.p
        parts.append(f"{'Holm p' if e.p_holm is not None else 'p'} = {shown:.2g}")
    if e.outcome == Outcome.UNTESTABLE and e.result.floor is not None:
        parts.append(f"floor {e.result.floor:.2g}, alpha {e.comparison.alpha:g}")
        parts += [str(e.untestable)] if e.untestable else []
    if e.within is not None:
        parts.append(
            f"margin {e.within.margin:g}: p = {e.within.noninferior:.2g} for not inferior,"
            f" {e.within.equivalent:.2g} for equivalent"
        )
    if e.result.test == "proportion":
        parts.append(f"{e.result.wins} of {e.result.n}")
    elif e.result.wins is not None:
        parts.append(f"{e.result.wins}/{e.result.losses}/{e.result.draws} won/lost/drawn")
    return f"{name} {', '.join((e.outcome, *e.shown))} ({', '.join(parts)})"
