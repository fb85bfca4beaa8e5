"""What annotated and other checks notice together, over every number that a paper prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.audit.recheck.locating import one_to_one
from orledger.audit.recheck.power import DigitChange, Tried
from orledger.audit.recheck.relations import tightest
from orledger.audit.recheck.rounding import counts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orledger.audit.recheck.inventory import Instance
    from orledger.audit.recheck.model import Publication
    from orledger.audit.recheck.reading.document import Document


def joint_changes(
    publication: Publication,
    document: Document,
    annotated: Iterable[Tried],
    automatic: Iterable[tuple[Instance, Tried]],
) -> Iterator[Tried]:
    """Every number of the document with its changes, judged by all checks together.

    An annotated number is taken for the printed one at its place, each printed number once; where two annotations stand for one
    printed number, the first does. A fraction k/n is one number. What has no annotation is judged by the other checks alone.
    """
    known = {tried.name: tried for tried in annotated}
    owner = {_key(instance): name for name, instance in one_to_one(publication, document).items()}
    denominator: Instance | None = None
    for instance, tried in automatic:
        if denominator is not None and _follows(denominator, instance):
            denominator = None
            continue
        denominator = None
        name = owner.get(_key(instance))
        if name is None:
            yield tried
            continue
        if counts_of(publication.numbers[name].printed) is not None:
            denominator = instance
        other = known[name]
        relation = tightest((tried.relation, other.relation))
        yield Tried(tried.place, tried.name, relation, _either(other.changes, tried.changes))


def _either(annotated: Sequence[DigitChange], automatic: Sequence[DigitChange]) -> tuple[DigitChange, ...]:
    """A change that one of the two notices; the annotated ones alone where the number is written in another form."""
    if [c.last for c in annotated] != [c.last for c in automatic]:
        return tuple(annotated)
    return tuple(DigitChange(a.last, a.noticed or b.noticed) for a, b in zip(annotated, automatic, strict=True))


def _key(instance: Instance) -> tuple[tuple[str, int], tuple[int, int], int]:
    return instance.group, instance.position, instance.number.end


def _follows(numerator: Instance, instance: Instance) -> bool:
    """Whether an instance is the n of a k/n or "k of n" that began right before it."""
    return (
        numerator.group == instance.group
        and (numerator.group[0] == "sentence" or numerator.position == instance.position)
        and 0 < instance.number.start - numerator.number.end < 12
    )
