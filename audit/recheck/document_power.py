"""What the checks that need no annotation would notice, over every number of a document."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.checking import by_check, recheck_document
from orledger.audit.recheck.inventory import Instance, instances
from orledger.audit.recheck.power import DigitChange, Tried, changes
from orledger.audit.recheck.reading.numbers import normal
from orledger.audit.recheck.relations import Relation, automatic_relations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Grid, Sentence


def document_changes(document: Document) -> Iterator[tuple[Instance, Tried]]:
    """Every number of a document with its changes, judged by the checks that need no annotation.

    A change is judged by the checks that read its number, over the sentences and tables that these relate it to.
    """
    baseline = by_check(document)
    relations = automatic_relations(baseline)
    reading: dict[str, set[str]] = defaultdict(set)
    for name, found in baseline.items():
        for finding in found:
            for one in finding.operands:
                reading[one].add(name)
    near = _neighbours(document, [f for found in baseline.values() for f in found])
    quiet: dict[tuple[tuple[str, int], frozenset[str]], set[tuple[str, str]]] = {}
    for instance in instances(document):
        names = frozenset(reading.get(instance.id, ()))
        key = (instance.group, names)
        if key not in quiet:
            quiet[key] = _bad(recheck_document(_part(document, instance.group, near, None, ""), names))
        tried = []
        for printed, last in changes(_digits(instance)):
            noticed = False
            if names:  # what no relation reads cannot be noticed
                part = _part(document, instance.group, near, instance, printed)
                noticed = bool(_bad(recheck_document(part, names)) - quiet[key])
            tried.append(DigitChange(last, noticed))
        where = f"{instance.file}:{instance.line}: {instance.number.text}"
        yield instance, Tried(instance.section, where, relations.get(instance.id, Relation.NONE), tuple(tried))


def _bad(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(f.id, f.verdict.value) for f in findings if not f.verdict.good}


def _digits(instance: Instance) -> str:
    return instance.number.text.lstrip("<>=≤≥≈~ ")


def _neighbours(document: Document, findings: Sequence[Finding]) -> dict[tuple[str, int], set[tuple[str, int]]]:
    """Which sentences and tables share a relation, so that a change can be judged without the rest of the paper."""
    home = {instance.id: instance.group for instance in instances(document)}
    near: dict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    for finding in findings:
        groups = {home[o] for o in finding.operands if o in home}
        for group in groups:
            near[group] |= groups
    return near


def _part(
    document: Document,
    group: tuple[str, int],
    near: dict[tuple[str, int], set[tuple[str, int]]],
    instance: Instance | None,
    printed: str,
) -> Document:
    """The sentence or table of a number and its neighbours, with other digits in one place."""
    wanted = sorted(near.get(group, set()) | {group})
    sentences = []
    grids = []
    for kind, k in wanted:
        here = instance is not None and (kind, k) == group
        if kind == "sentence":
            sentences.append(
                _changed_sentence(document.sentences[k], instance, printed)
                if here and instance
                else document.sentences[k]
            )
        else:
            grids.append(
                _changed_grid(document.grids[k], instance, printed) if here and instance else document.grids[k]
            )
    return replace(document, sentences=tuple(sentences), grids=tuple(grids))


def _changed_sentence(sentence: Sentence, instance: Instance, printed: str) -> Sentence:
    text = normal(sentence.text)
    end = instance.number.end
    start = end - len(_digits(instance))
    return replace(sentence, text=text[:start] + printed + text[end:])


def _changed_grid(grid: Grid, instance: Instance, printed: str) -> Grid:
    i, j = instance.position
    cell = grid.rows[i][j]
    text = normal(cell.text)
    end = instance.number.end
    start = end - len(_digits(instance))
    row = list(grid.rows[i])
    row[j] = replace(cell, text=text[:start] + printed + text[end:])
    rows = list(grid.rows)
    rows[i] = tuple(row)
    return replace(grid, rows=tuple(rows))
