"""In which kind of relation a printed number stands: whether others determine it, list it, or only bound it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from orledger.audit.recheck.checking import named_checks
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.rules import ImpossibleError, UnusableError, candidates, operand_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.model import Check, Publication


class Relation(StrEnum):
    """What other printed numbers say about a number, the tightest first."""

    FOLLOWS = "follows from others"
    LISTED = "one of a list"
    BOUNDED = "only bounded by others"
    NONE = "in no relation"


# These rules take one number out of a list, or count; to the others of the list they are no more than a bound.
_CHOOSING = frozenset(
    {
        "smallest", "largest", "extreme_ratio", "spread_percent", "farthest_from_one", "median", "quantile", "one_of",
        "grouped_quantile", "count_lowest", "count_below", "count_at_least", "count_below_share",
    }
)  # fmt: skip

# Checks without annotation that compare and do not compute.
_BOUNDING = frozenset(
    {"intervals in the text", "intervals in tables", "bold marks", "ranks", "p-values without a statistic"}
)


def tightest(relations: Iterable[Relation]) -> Relation:
    """The tightest of several relations."""
    order = list(Relation)
    return min(relations, key=order.index, default=Relation.NONE)


def annotated_relations(publication: Publication) -> dict[str, Relation]:
    """The tightest relation of every number that some annotated check reads."""
    found: dict[str, Relation] = {}
    for named in named_checks(publication):
        check = named.check
        kind = _kind(check, publication)
        for name in operand_ids(check):
            chosen = Relation.BOUNDED if check.rule in _CHOOSING else kind
            found[name] = tightest((chosen, found.get(name, Relation.NONE)))
        found[check.target] = tightest((kind, found.get(check.target, Relation.NONE)))
    return found


def _kind(check: Check, publication: Publication) -> Relation:
    try:
        first = next(iter(candidates(check, publication.numbers)))
    except (ImpossibleError, UnusableError, ArithmeticError, ValueError, LookupError, TypeError, AssertionError):
        return Relation.BOUNDED
    if first.truth is not None:
        exact = check.rule.startswith(("denominator_", "same_", "sums_to"))
        return Relation.FOLLOWS if exact else Relation.BOUNDED
    return Relation.LISTED if first.listed or len(first.values) > 1 else Relation.FOLLOWS


def automatic_relations(findings: Mapping[str, Sequence[Finding]]) -> dict[str, Relation]:
    """The tightest relation of every number that some check without annotation reads, from the findings by check."""
    found: dict[str, Relation] = {}
    for check, members in findings.items():
        for finding in members:
            listed = finding.verdict is CheckVerdict.ATTAINABLE or check.startswith("means and standard deviations")
            kind = Relation.BOUNDED if check in _BOUNDING else Relation.LISTED if listed else Relation.FOLLOWS
            for name in finding.operands:
                found[name] = tightest((kind, found.get(name, Relation.NONE)))
    return found
