"""A short sentence that a paper says twice, once with another number: ``FoldNet reaches a mean accuracy of 0.847.``

Few words agree by chance in two sentences about two things. So one of the two stands where a paper tells its results ahead
or again, the whole sentence is the same but for one number of three digits, and the body says it of one number only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic.repeats import FEWEST, Mention, agree, alike, mentions, telling_words, tells
from orledger.audit.recheck.automatic.spots import in_sentence, number_id
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import normal, numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document

_TOLD = re.compile(r"\b(?:abstract|introduction|conclusions?|summary|highlights|significance)\b", re.I)
_SMALL = {
    "the", "and", "our", "its", "are", "was", "were", "has", "have", "had", "for", "with", "this", "that", "these", "those",
    "from", "over", "than",
}  # fmt: skip
_WORDS = 4  # words of three letters or more, but for the smallest


def check_sentences(document: Document) -> Iterator[Finding]:
    """Numbers of sentences with too few words for `repeats.check_text`, in the same sentence elsewhere."""
    groups: dict[tuple[str, int], list[Mention]] = defaultdict(list)
    for sentence in document.sentences:
        text = normal(sentence.text)
        numbers = list(numbers_in(text))
        for mention in mentions(sentence):
            if mention.number.whole or not tells(mention.number) or len(telling_words(mention)) >= FEWEST:
                continue
            start = mention.number.end - len(mention.number.text.lstrip("<>=≤≥≈~ "))
            frame = f"{text[:start]}#{text[mention.number.end :]}"
            words = {w for w in re.findall(r"[^\W\d_]{3,}", frame.lower()) if w not in _SMALL}
            if len(words) >= _WORDS:
                groups[" ".join(frame.split()), len(numbers)].append(mention)
    for members in groups.values():
        yield from _compared(members)


def _compared(members: list[Mention]) -> Iterator[Finding]:
    told = [m for m in members if _TOLD.search(m.sentence.place)]
    body = [m for m in members if not _TOLD.search(m.sentence.place)]
    if any(not agree(body[0].number, m.number) for m in body[1:]):
        return  # of two things in the same words
    for other in [*told[1:], *body[:1]] if told else []:
        first = told[0]
        if first.sentence.place == other.sentence.place or not alike(first.number, other.number):
            continue
        yield in_sentence(other.sentence, other.number.start, other.number.text).found(
            "same words",
            CheckVerdict.MATCHES if agree(first.number, other.number) else CheckVerdict.INCONSISTENT,
            f"the same sentence stands with {first.number.text} at {first.sentence.file}:{first.sentence.line_at(first.number.start)}, {first.sentence.place}",
            recomputed=first.number.text,
            operands=(number_id(first.sentence, first.number), number_id(other.sentence, other.number)),
            cause=f"same sentence: {first.sentence.file}:{first.sentence.line}",
        )
