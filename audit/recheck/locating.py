"""Annotated numbers in the text: where the digits of each stand, so that a finding can quote its sentence."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.findings import Finding
from orledger.audit.recheck.inventory import Instance, instances
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import PrintedNumber, normal
from orledger.audit.recheck.rounding import counts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from orledger.audit.recheck.model import Publication, Published
    from orledger.audit.recheck.reading.document import Document

_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_SPLIT = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True)
class Located:
    """Where an annotated number stands: the best of `choices` places with its digits."""

    id: str
    file: str
    line: int
    sentence: str
    place: str
    choices: int


def _digits(value: float, last: int) -> tuple[str, int]:
    return f"{abs(value):.12g}", last


def locate(publication: Publication, document: Document) -> dict[str, Located]:
    """The annotated numbers whose digits the document prints, each at its likeliest place.

    A number of a table is looked for in the table of its name, any other number in the text; of several places the one is
    taken whose words are nearest to the number's own.
    """
    found = {}
    for name, choices in _places(publication, document):
        if choices:
            number = publication.numbers[name]
            best = max(choices, key=lambda c: (-_lines_away(number, c), _score(number, c)))
            found[name] = Located(best.id, best.file, best.line, best.sentence, best.place, len(choices))
    return found


def one_to_one(publication: Publication, document: Document) -> dict[str, Instance]:
    """Annotated numbers and the printed ones they stand for, the surest pairs first and each printed number once."""
    pairs = [
        (_lines_away(number, choice), -_score(number, choice), name, choice)
        for name, choices in _places(publication, document)
        if (number := publication.numbers[name]).kind != "claim"
        for choice in choices
    ]
    found: dict[str, Instance] = {}
    taken: set[tuple[tuple[str, int], tuple[int, int], int]] = set()
    for _, _, name, choice in sorted(pairs, key=lambda pair: pair[:2]):
        key = (choice.group, choice.position, choice.number.end)
        if name not in found and key not in taken:
            found[name] = choice
            taken.add(key)
    return found


def _places(publication: Publication, document: Document) -> Iterator[tuple[str, list[Instance]]]:
    """Every annotated number with the places whose digits or words it could be."""
    index: dict[tuple[str, int], list[Instance]] = defaultdict(list)
    pairs: dict[tuple[int, int], list[Instance]] = defaultdict(list)
    for instance in instances(document):
        index[_digits(instance.number.value, instance.number.last)].append(instance)
        if (pair := _pair(instance, document)) is not None:
            pairs[pair].append(instance)
    spelled = _spelled(document)
    for name, number in publication.numbers.items():
        yield name, _claims(number, document) if number.kind == "claim" else _choices(number, index, pairs, spelled)


_OF = re.compile(r"\s*(?:/|(?:out )?of\s+(?:the\s+|all\s+|its\s+)?)\s*(\d[\d,]*)")


def _pair(instance: Instance, document: Document) -> tuple[int, int] | None:
    """The fraction k/n or "k of n" that an instance begins, or None."""
    kind, k = instance.group
    if kind == "sentence":
        text = normal(document.sentences[k].text)
    else:
        row, column = instance.position
        text = normal(document.grids[k].rows[row][column].text)
    match = _OF.match(text, instance.number.end)
    return (int(instance.number.value), _count(match[1])) if match else None


def _count(digits: str) -> int:
    return int(digits.replace(",", "") or 0)


def _claims(number: Published, document: Document) -> list[Instance]:
    """The sentences that hold most of a claim's own words."""
    words = {w for w in _SPLIT.findall(number.printed.lower()) if len(w) > 3}
    found = []
    for k, sentence in enumerate(document.sentences):
        there = set(_SPLIT.findall(sentence.text.lower()))
        if words and len(words & there) >= 0.7 * len(words):
            nothing = PrintedNumber("", 0.0, 0)
            place = sentence.place or "text"
            found.append(
                Instance(
                    "", nothing, place, place, sentence.file, sentence.line, sentence.text, ("sentence", k), (0, 0)
                )
            )
    return found


def _choices(
    number: Published,
    index: Mapping[tuple[str, int], list[Instance]],
    pairs: Mapping[tuple[int, int], list[Instance]],
    spelled: Mapping[str, list[Instance]],
) -> list[Instance]:
    counts = counts_of(number.printed)
    if counts is not None:
        return pairs.get(counts, [])
    value = number.value
    assert value is not None  # it is no claim
    digits, _, exponent = number.printed.lower().partition("e")
    last = int(exponent or 0) - len(digits.partition(".")[2])
    choices = index.get(_digits(value, last), [])
    # A small count may be printed in words; digits are likelier unless the annotation names the line.
    if (not choices or number.line is not None) and value == int(value) and 0 <= value < len(_WORDS):
        return [*choices, *spelled.get(_WORDS[int(value)], [])]
    return choices


def _spelled(document: Document) -> dict[str, list[Instance]]:
    found: dict[str, list[Instance]] = defaultdict(list)
    for k, sentence in enumerate(document.sentences):
        for match in re.finditer(r"[A-Za-z]+", sentence.text):
            word = match[0].lower()
            if word in _WORDS:
                number = PrintedNumber(match[0], float(_WORDS.index(word)), 0, start=match.start(), end=match.end())
                line = sentence.line_at(match.start())
                key = f"{sentence.file}:{line}:{match.end()}"
                at = (match.start(), match.end())
                place = sentence.place or "text"
                found[word].append(
                    Instance(key, number, place, place, sentence.file, line, sentence.text, ("sentence", k), at)
                )
    return found


def _lines_away(number: Published, instance: Instance) -> int:
    """How far a place is from the line that the annotation gives; all places are as near as any where it gives none."""
    return 0 if number.line is None else abs(instance.line - number.line)


def _score(number: Published, instance: Instance) -> float:
    """How near the words around a place are to the number's own, the right table first."""
    own = set(_SPLIT.findall(f"{number.place} {number.meaning} {number.row or ''} {number.column or ''}".lower()))
    there = set(_SPLIT.findall(f"{instance.place} {instance.sentence}".lower()))
    in_table = instance.group[0] == "grid"
    same_kind = (number.table is not None) == in_table
    name = (number.table or "").split("_")[0]
    right_table = bool(name) and re.search(rf"(?:^|[:\s]){re.escape(name)}(?:$|[\s,])", instance.section) is not None
    return 10.0 * right_table + 3.0 * same_kind + len(own & there) / (1 + len(own)) + 0.01 / (1 + len(there))


def placed(findings: Iterable[Finding], publication: Publication, where: Mapping[str, Located]) -> list[Finding]:
    """The findings with file, line and sentence of their targets."""
    result = []
    for finding in findings:
        target = _target(finding, publication)
        spot = where.get(target) if target is not None else None
        if spot is None:  # a claim in words stands near the first of its operands that is printed
            spot = next((where[o] for o in finding.operands if o in where), None)
        if spot is not None:
            finding = replace(finding, file=spot.file, line=spot.line, sentence=spot.sentence)
        result.append(finding)
    return result


def _target(finding: Finding, publication: Publication) -> str | None:
    name = finding.id.rsplit(f" {finding.rule}", 1)[0]
    return name if name in publication.numbers else None


def unprinted(publication: Publication, where: Mapping[str, Located]) -> list[Finding]:
    """A finding for every annotated number whose digits the document prints nowhere: one of the two is wrong."""
    return [
        Finding(
            id=f"{name} printed",
            place=number.place,
            printed=number.printed,
            recomputed="",
            low=None,
            high=None,
            verdict=CheckVerdict.UNCHECKED,
            rule="printed",
            convention=None,
            why="the annotated digits stand nowhere in the document",
            operands=(name,),
            cause="annotated numbers that the document does not print",
        )
        for name, number in publication.numbers.items()
        if number.kind != "claim" and name not in where
    ]
