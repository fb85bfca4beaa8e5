"""Which sentences of a paper state something that no annotation reads: their numbers, their all, both and never.

A sentence counts when it prints a number or a word of quantity. It is covered when an annotated number or statement stands in
it. The others are listed with the reason that the annotations give for them, or without one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.numbers import normal, numbers_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orledger.audit.recheck.locating import Located
    from orledger.audit.recheck.model import Publication
    from orledger.audit.recheck.reading.document import Document

_QUANTITY = re.compile(
    r"\b(?:all|both|each|every|everywhere|never|always|none|neither|nowhere|no|only|most|half|third|quarter|majority|once|twice|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirty|"
    r"lowest|highest|largest|smallest|best|worst|widest|narrowest|monotone|larger|smaller|wider|narrower|lower|higher|better|worse|"
    r"fewer|orders? of magnitude)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Bare:
    """A sentence without annotation: where it stands, its words, and why it has none; the reason is empty where none is given."""

    file: str
    line: int
    place: str
    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many sentences state a quantity, those among them without annotation, and reasons that no sentence matches."""

    stating: int
    bare: tuple[Bare, ...]
    unused: tuple[str, ...]

    @property
    def unexplained(self) -> tuple[Bare, ...]:
        """The sentences without annotation and without a reason."""
        return tuple(b for b in self.bare if not b.reason)

    @property
    def summary(self) -> str:
        """One line for people."""
        held = self.stating - len(self.bare)
        given = len(self.bare) - len(self.unexplained)
        return (
            f"{held} of {self.stating} sentences with a number or a word of quantity hold an annotated one; "
            f"of the other {len(self.bare)}, {given} have a reason and {len(self.unexplained)} have none"
        )


def states_quantity(text: str) -> bool:
    """Whether a sentence prints a number or a word of quantity."""
    return _QUANTITY.search(text) is not None or any(True for _ in numbers_in(normal(text)))


def coverage(document: Document, publication: Publication, where: Mapping[str, Located]) -> Coverage:
    """The sentences that state a quantity, and which of them no annotation reads."""
    held = {(spot.file, spot.sentence) for spot in where.values()}
    reasons = dict(publication.uncovered)
    used: set[str] = set()
    stating = 0
    bare = []
    for sentence in document.sentences:
        if not states_quantity(sentence.text):
            continue
        stating += 1
        if (sentence.file, sentence.text) in held:
            continue
        words = max((w for w in reasons if _plain(w) in _plain(sentence.text)), key=len, default="")
        used.add(words)
        reason = reasons.get(words, "")
        bare.append(Bare(sentence.file, sentence.line, sentence.place or "text", sentence.text, reason))
    return Coverage(stating, tuple(bare), tuple(w for w in reasons if w not in used))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", normal(text)).lower()
