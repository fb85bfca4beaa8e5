"""Every number of a document with its place, and which of them some relation reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.spots import number_id
from orledger.audit.recheck.reading.numbers import PrintedNumber, normal, numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document


@dataclass(frozen=True, slots=True)
class Instance:
    """One printed number of a document: the id that findings name it by, its digits, and where it stands.

    `section` is the table or the place in the text; `group` and `position` say which sentence or table of the document, and
    where in it.
    """

    id: str
    number: PrintedNumber
    section: str
    place: str
    file: str
    line: int
    sentence: str
    group: tuple[str, int]
    position: tuple[int, int]


def instances(document: Document) -> Iterator[Instance]:
    """Every number of the text, then every number of the tables; a cell with several has its id several times."""
    for k, sentence in enumerate(document.sentences):
        for number in numbers_in(sentence.text):
            line = sentence.line_at(number.start)
            section = sentence.place or "text"
            key = number_id(sentence, number)
            at = (number.start, number.end)
            yield Instance(key, number, section, section, sentence.file, line, sentence.text, ("sentence", k), at)
    for k, grid in enumerate(document.grids):
        for i, j, cell in grid.cells():
            if cell.entry.form == "words" and j == 0:
                continue  # the digits of a row's name
            words = " | ".join(c.text for c in grid.rows[i] if not c.repeated)
            for number in numbers_in(normal(cell.text)):
                where = grid.where(i, j)
                yield Instance(
                    grid.key(i, j), number, grid.place, where, grid.file, cell.line, words, ("grid", k), (i, j)
                )


def reached(findings: Iterable[Finding]) -> set[str]:
    """The ids of the numbers that some relation reads."""
    return {operand for finding in findings for operand in finding.operands}
