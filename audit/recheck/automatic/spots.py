"""Where a check of a document stands, and the finding it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from orledger.audit.recheck.findings import Finding
from orledger.audit.recheck.reading.numbers import PrintedNumber, normal, numbers_in

if TYPE_CHECKING:
    from orledger.audit.recheck.model import CheckVerdict
    from orledger.audit.recheck.reading.document import Grid, Sentence


@dataclass(frozen=True, slots=True)
class Spot:
    """A printed number or statement: its id, place in words, file, line, the sentence or row around it, its digits, its numbers."""

    id: str
    place: str
    file: str
    line: int
    sentence: str
    printed: str
    numbers: tuple[str, ...] = ()

    def found(
        self,
        rule: str,
        verdict: CheckVerdict,
        why: str,
        *,
        recomputed: str = "",
        value: tuple[float, float] | None = None,
        operands: tuple[str, ...] = (),
        convention: str | None = None,
        cause: str = "",
        decision: bool = False,
    ) -> Finding:
        """The finding of one check here; by default its cause is the rule at this place."""
        return Finding(
            id=f"{self.id} {rule}",
            place=self.place or "text",
            printed=self.printed,
            recomputed=recomputed,
            low=None if value is None else value[0],
            high=None if value is None else value[1],
            verdict=verdict,
            rule=rule,
            convention=convention,
            why=why,
            operands=operands or self.numbers or (self.id,),
            cause=cause or f"{rule}: {self.place}",
            decision=decision,
            file=self.file,
            line=self.line,
            sentence=self.sentence,
        )


def in_cell(grid: Grid, row: int, column: int) -> Spot:
    """The spot of a cell; its sentence is the row."""
    cell = grid.rows[row][column]
    words = " | ".join(c.text for c in grid.rows[row] if not c.repeated)
    return Spot(grid.key(row, column), grid.where(row, column), grid.file, cell.line, words, cell.text)


_CLOSING = 60  # characters after a piece within which a bracket that it opens is closed


def in_sentence(sentence: Sentence, start: int, printed: str) -> Spot:
    """The spot of a piece of a sentence; a bracket that the piece opens is closed with it, whatever else stands inside."""
    text = normal(sentence.text)
    line, end = sentence.line_at(start), start + len(printed)
    printed += _to_the_bracket(printed, text[end : end + _CLOSING])
    inside = tuple(number_id(sentence, n) for n in _numbers(sentence.text) if start < n.end <= end)
    return Spot(f"{sentence.file}:{line}:{start}", sentence.place, sentence.file, line, sentence.text, printed, inside)


def _to_the_bracket(printed: str, after: str) -> str:
    """What follows a piece up to the bracket that closes the ones it opens; empty where there is none."""
    depth = printed.count("(") - printed.count(")")
    for position, letter in enumerate(after if depth > 0 else ""):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return after[: position + 1]
    return ""


@lru_cache(maxsize=16)
def _numbers(text: str) -> tuple[PrintedNumber, ...]:
    """The numbers of a sentence; the checks ask for those of one sentence again and again."""
    return tuple(numbers_in(text))


def number_id(sentence: Sentence, number: PrintedNumber) -> str:
    """The id of a number in a sentence: file, line, and the position of its last character."""
    return f"{sentence.file}:{sentence.line_at(number.start)}:{number.end}"
