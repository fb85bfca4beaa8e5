"""At which level a verdict was reached, and in words where no level can be claimed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.registry.words import DECIDED, Margin, Outcome, Refusals, Registered, Verdict
from orledger.wording import counted, some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orledger.audit.evaluation.comparisons import Evaluation
    from orledger.audit.evaluation.dispositions import Decision
    from orledger.audit.registry.hypotheses import Hypothesis, Term

DECIDING = (Verdict.SUPPORTED, Verdict.REFUTED, Verdict.PARTIAL)
SHOWN = 4  # names of comparisons in a sentence
TOO_LATE = {
    Registered.AFTER: "its text was registered after cells were done, and a p-value keeps its level for a text that came before",
    Registered.AMENDED: "its text was amended after results had been seen, and a p-value keeps its level for a text that came before",
    Registered.UNKNOWN: "whether its text came before its author saw the imported results is not known here",
}

TURNED = "results of {} were replaced by others after they had been stored"


def level_words(
    hypothesis: Hypothesis,
    decision: Decision,
    deciding: Mapping[str, Evaluation],
    coarser: Mapping[str, Evaluation],
    known: Registered,
    looks: int,
    replaced: int = 0,
) -> str:
    """The level of ``decision`` in words: kept, or the reasons why it is not claimed; empty where nothing was decided.

    ``deciding`` and ``coarser`` are the evaluations by comparison; ``looks`` counts earlier audits on other data,
    ``replaced`` the cells that got other results in place of those they had.
    """
    if decision.verdict not in DECIDING:
        return ""
    tests = [deciding[n] for n in decision.evidence if n in deciding and _decided(deciding[n])]
    if not tests:
        open_ = [n for n in decision.evidence if n in deciding and deciding[n].outcome == Outcome.UNDECIDED]
        absence = f", and what {some(open_, SHOWN)} did not find is not shown to be absent" if open_ else ""
        return f"no level: it rests on no test that decided{absence}"
    alpha = max(e.comparison.alpha for e in tests)
    lost = [
        *_refusals(tests),
        *_pooled(tests),
        *_looks(tests, looks),
        *_added(tests),
        *_stopped(tests),
        *_uncorrected(hypothesis, decision.verdict, deciding),
        *(["it is exploratory, suggested by data"] if hypothesis.mode == "exploratory" else []),
        *([TOO_LATE[known]] if known in TOO_LATE else []),
        *([TURNED.format(counted(replaced, "cell"))] if replaced else []),
    ]
    lost = lost or list(_unfixed(tests))  # a remark says it beside other reasons
    further = [*_coarser(tests, coarser, alpha), *_losing(tests), *_approximate(tests)]
    told = f"the level of {alpha:g} is kept" if not lost else f"no level is claimed: {'; '.join(lost)}"
    return ". ".join([told, *further])


def _decided(e: Evaluation) -> bool:
    return e.result.p is not None and (e.outcome in DECIDED or bool(e.shown))


def _refusals(tests: Sequence[Evaluation]) -> Iterator[str]:
    """Units that are left out because a side declined: it may have declined where it was bad."""
    left_out = [
        (e, n)
        for e in tests
        if e.comparison.refusals == Refusals.DROP and (n := sum(d.refused for d in e.result.dropped))
    ]
    if left_out:
        most = max(n for _, n in left_out)
        part = any(d.refused and d.partial for e, _ in left_out for d in e.result.dropped)
        yield (
            f"{_names([e for e, _ in left_out])} left{' up to' if len(left_out) > 1 else ''} {counted(most, 'unit')}"
            f" out{', wholly or in part,' if part else ''} in which a side refused or failed, and an arm that refuses where it is"
            ' bad looks better than it is (refusals = "bounds" decides only what no refusal could turn)'
        )


def _pooled(tests: Sequence[Evaluation]) -> Iterator[str]:
    """Points of one cell that were counted as if they were independent."""
    pooled = [e for e in tests if not e.independent]
    if pooled:
        yield f"{_names(pooled)} counted values of one unit as independent"


def _looks(tests: Sequence[Evaluation], looks: int) -> Iterator[str]:
    """Tests of a fixed n that were looked at before."""
    fixed = _fixed(tests)
    if looks and fixed:
        yield (
            f"{_names(fixed)} used a fixed n after {counted(looks, 'look')} at other data"
            ' (test = "sign_anytime" keeps its level over looks)'
        )
    made = [e for e in tests if e not in fixed and _of_several(e)]
    if looks and made:
        yield (
            f"{_names(made)} keeps its level over looks for units that are whole when they come in, and after"
            f" {counted(looks, 'look')} its units, each made of several values, may have been added to"
        )


def _of_several(e: Evaluation) -> bool:
    """Whether a unit is a mean or another statistic of several values, which may come in one by one."""
    return e.comparison.nested or any(q.aggregate is not None for _, q in e.comparison.sides)


def _fixed(tests: Sequence[Evaluation]) -> list[Evaluation]:
    """The tests that count on a number of units which does not depend on the results."""
    return [e for e in tests if e.comparison.test != "sign_anytime"]


def _added(tests: Sequence[Evaluation]) -> Iterator[str]:
    """Tests with more units than they were registered or planned for."""
    longer = [e for e in _fixed(tests) if e.fixed.units is not None and e.result.n > e.fixed.units]
    for early, words in ((True, "were fixed before the first result"), (False, "were there when it was registered")):
        if some := [e for e in longer if e.fixed.early == early]:
            yield f"{_names(some)} used more units than {words}"


def _stopped(tests: Sequence[Evaluation]) -> Iterator[str]:
    """Tests with fewer units than were fixed, beyond those in which a side declined: somebody may have stopped at what was seen."""
    for e in _fixed(tests):
        declined = len({d.unit for d in e.result.dropped if d.refused})
        if e.fixed.early and e.fixed.units is not None and e.result.n + declined < e.fixed.units:
            yield (
                f"{e.comparison.id} used {e.result.n} of the {e.fixed.units} units that were fixed before the first result, and"
                " whether it was stopped there for what had been seen is not known here"
            )


def _unfixed(tests: Sequence[Evaluation]) -> Iterator[str]:
    """Tests of a fixed n whose n nobody had fixed: results could be added until they pleased."""
    loose = [e for e in _fixed(tests) if not e.fixed.early]
    if loose:
        yield (
            f"the number of units of {_names(loose)} was not fixed before the first result, and one can stop where it suits"
            ' (units = N in the comparison fixes it; test = "sign_anytime" needs none)'
        )


def _uncorrected(hypothesis: Hypothesis, verdict: Verdict, deciding: Mapping[str, Evaluation]) -> Iterator[str]:
    """Several tests of which any one gives the verdict, without a common family."""
    ways = []
    for rule in (r for r in hypothesis.rules if r.verdict == verdict):
        needed = _tests(rule.all, deciding)
        ways += [set(needed)] if needed else [{name} for name in _tests(rule.any, deciding)]
    ways = [w for k, w in enumerate(ways) if not any(other <= w for other in ways[:k])]  # one way can hold another
    families = [{deciding[name].comparison.family for name in way} - {None} for way in ways]
    if len(ways) > 1 and not set.intersection(*families):
        yield f"any of {len(ways)} tests that are not corrected together gives this verdict"


def _tests(terms: Sequence[Term], deciding: Mapping[str, Evaluation]) -> list[str]:
    """The comparisons among ``terms`` that have to be decided."""
    return list(dict.fromkeys(t.id for t in terms if t.id in deciding and t.value in (*DECIDED, *Margin)))


def _coarser(tests: Sequence[Evaluation], coarser: Mapping[str, Evaluation], alpha: float) -> Iterator[str]:
    """Units that share a coarser one: what the level does not speak about."""
    shared: dict[str, list[Evaluation]] = {}
    bare: dict[str, list[Evaluation]] = {}
    for e in (e for e in tests if e.comparison.coarser and not e.comparison.independent_by_setting):
        outer = ", ".join(e.comparison.coarser)
        if e.comparison.id in coarser:
            shared.setdefault(outer, []).append(coarser[e.comparison.id])
        else:
            bare.setdefault(outer, []).append(e)
    for outer, rows in bare.items():
        yield f"For other values of {outer} the units of {_names(rows)} may be too fine, and no row with {outer} as the unit can be had"
    for outer, rows in shared.items():
        found = [e.result.details["intraclass_correlation"] for e in rows]
        known = [x for x in found if x is not None]
        largest = max(known, default=0.0)
        fine = f"are too fine (intraclass correlation of the differences up to {largest:.2f})"
        if largest <= 0:
            fine = "may be too fine (no positive intraclass correlation of the differences is seen)"
        yield (
            f"For other values of {outer} the units {fine} and the intervals too short: a level of {alpha:g} is kept there by the"
            f" row with {outer} as the unit alone"
        )


def _losing(tests: Sequence[Evaluation]) -> Iterator[str]:
    """Comparisons in which refusing is losing: their null is another one."""
    counted = [e for e in tests if e.comparison.refusals in (Refusals.LOSS, Refusals.WORST)]
    if counted:
        yield f"In {_names(counted)} a refusal is a loss, so that an arm can be worse by refusing alone"


def _approximate(tests: Sequence[Evaluation]) -> Iterator[str]:
    rough = [e for e in tests if e.result.approximate]
    if rough:
        yield f"The p of {_names(rough)} is an approximation"


def _names(tests: Sequence[Evaluation]) -> str:
    return some([e.comparison.id for e in tests], SHOWN)
