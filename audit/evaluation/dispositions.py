"""From outcomes to a disposition, by the rule a hypothesis was registered with and nothing else.

First what the hypothesis needs: if a needed comparison or claim has no data the verdict is "not enough data"; if a
needed test could not have decided at its n, "not testable at this n". Then the rules in order; the first whose
conditions all hold gives the verdict. If none does, the declared ``otherwise``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.audit.evaluation.claims import ClaimResult
    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.audit.registry.hypotheses import Hypothesis, Rule, Term

SHOWN = 6  # pieces of evidence quoted in a reason


@dataclass(frozen=True)
class Decision:
    """A verdict with its reason, the rule that gave it (from 1; None for needs and otherwise), and the ids it rests on."""

    verdict: str
    reason: str
    rule: int | None
    evidence: tuple[str, ...]


def decide(hypothesis: Hypothesis, tests: Mapping[str, Evaluation], claims: Mapping[str, ClaimResult]) -> Decision:
    """The disposition of ``hypothesis``; ``tests`` and ``claims`` by the ids its file gives them."""
    states = {**{k: v.outcome for k, v in tests.items()}, **{k: v.state for k, v in claims.items()}}
    absent = [n for n in hypothesis.needs if states[n] in ("missing", "refused")]
    if absent:
        return Decision("not enough data", f"no data for {_listed(absent)}", None, tuple(absent))
    weak = [n for n in hypothesis.needs if states[n] == "untestable"]
    if weak:
        floors = "; ".join(_quote(n, tests, claims) for n in weak[:SHOWN])
        return Decision("not testable at this n", f"no result could have been significant: {floors}", None, tuple(weak))
    for number, rule in enumerate(hypothesis.rules, 1):
        if applies(rule, states):
            terms = [*rule.all, *rule.any, *rule.none]
            decisive = [t for t in terms if states[t.id] == t.value and t not in rule.none] or terms
            names = list(dict.fromkeys(t.id for t in decisive))
            unmet = _unmet(hypothesis, rule.verdict, states)
            lacking = _lacking([n for n in unmet if n not in names[:SHOWN]], tests, claims)
            named = tuple(dict.fromkeys([*(t.id for t in terms), *unmet]))
            return Decision(rule.verdict, f"{rule.reason} ({_quotes(names, tests, claims)}){lacking}", number, named)
    assert hypothesis.otherwise is not None  # a file that only describes is never decided
    lacking = _lacking(_unmet(hypothesis, hypothesis.otherwise, states), tests, claims)
    return Decision(hypothesis.otherwise, f"{hypothesis.otherwise_reason}{lacking}", None, tuple(hypothesis.needs))


def _unmet(hypothesis: Hypothesis, verdict: str, states: Mapping[str, str]) -> list[str]:
    """The ids whose outcome keeps a partial verdict from being support; none for other verdicts."""
    support = next((r for r in hypothesis.rules if r.verdict == "supported"), None)
    if verdict != "partially refuted" or support is None:
        return []
    return list(dict.fromkeys(t.id for t in support.all if states[t.id] != t.value))


def _lacking(unmet: list[str], tests: Mapping[str, Evaluation], claims: Mapping[str, ClaimResult]) -> str:
    """The end of a reason: what stands in the way of support."""
    return f". Not supported because of: {_quotes(unmet, tests, claims)}" if unmet else ""


def _quotes(names: list[str], tests: Mapping[str, Evaluation], claims: Mapping[str, ClaimResult]) -> str:
    """The first few of ``names`` in words, and how many more there are."""
    more = f"; and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return "; ".join(_quote(n, tests, claims) for n in names[:SHOWN]) + more


def applies(rule: Rule, states: Mapping[str, str]) -> bool:
    """True when every term of ``all`` holds, at least one of ``any`` (if there are any), and none of ``none``."""

    def true(term: Term) -> bool:
        return states[term.id] == term.value

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
    if e.outcome == "untestable" and e.result.floor is not None:
        parts.append(f"floor {e.result.floor:.2g}, alpha {e.comparison.alpha:g}")
    if e.result.wins is not None:
        parts.append(f"{e.result.wins}/{e.result.losses}/{e.result.draws} won/lost/drawn")
    return f"{name} {e.outcome} ({', '.join(parts)})"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
