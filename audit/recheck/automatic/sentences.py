"""A short sentence that a paper says twice, once with another number: ``FoldNet reaches a mean accuracy of 0.847.``

Few words agree by chance in two sentences about two things. So one of the two stands where a paper tells its results ahead
or again, the whole sentence is the same but for one number of three digits, and the body says it of one number only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orledger.audit.recheck.automatic import repeats
from orledger.audit.recheck.automatic.repeats import FEWEST, Mention, agree, alike, mentions, telling_words, tells
from orledger.audit.recheck.automatic.spots import in_sentence, number_id
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.recheck.reading.numbers import normal, numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.reading.document import Document, Sentence

_TOLD = re.compile(r"\b(?:abstract|introduction|conclusions?|summary|highlights|significance)\b", re.I)
_SMALL = {
    "the", "and", "our", "its", "are", "was", "were", "has", "have", "had", "for", "with", "this", "that", "these", "those",
    "from", "over", "than",
}  # fmt: skip
FEWEST_COUNTED = 3  # of such words beside a count
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


_C = r"\d{1,3}(?:,\d{3})+|\d+"
_OF = r"\s+(?:out\s+)?of\s+(?:the\s+|all\s+|our\s+|all\s+the\s+)?"
_PART = re.compile(rf"(?<![\d.,/-])(?P<k>{_C}){_OF}(?P<n>{_C})(?=\s+(?P<what>[a-z]))")
_WHOLE = re.compile(rf"(?<![\d.,/-])(?P<k>{_C})(?=\s+(?P<what>[a-z]))")
_TOTAL = re.compile(r"\b(?:in total|a total of|altogether|in all)\b", re.I)
_LEAD = re.compile(
    r"^(?:(?:overall|thus|hence|therefore|again|in summary|in sum|(?:as|which is) (?:shown|seen) in [^,]{1,30}|"
    r"(?:our |the )?results show that|we (?:find|found|show|see|saw)(?: again)? that),?\s+)+",
    re.I,
)
# Where the statement about the count is over: the sentence ends, or goes on with something else.
_OVER = re.compile(
    r"\s*(?:[.;:(]|$|,\s+(?:and|but|while|whereas)\b|,?\s+and\s+(?:is|are|was|were|has|have|reach|achieve|los|tie|take|need|run|improve)\w*\b)"
)
# What is told there may be of another part of the study, in the same words.
_ELSEWHERE = re.compile(
    r"ablat|appendi|supplement|sensitiv|robust|time|memory|speed|cohort|validation|replicat|external|pilot|second|further|additional|"
    r"follow|phase|(?:stud(?:y|ies)|experiment|trial|task|case)s? (?:\d|[ivx]+\b|[a-z]\b)|other|related|caption",
    re.I,
)
_SLIP = 0.1  # the largest part by which a count of an earlier draft is taken to differ


@dataclass(frozen=True, slots=True)
class Counted:
    """A count in a clause: its number, the n that it is a part of, or the first letter of what is counted, and where it starts."""

    sentence: Sentence
    k: int
    n: int
    what: str
    start: int
    text: str


def slip(a: int, b: int) -> bool:
    """Whether one count may stand for the other by mistake: a digit off, digits in another order, or nearly the same."""
    x, y = str(a), str(b)
    if len(x) == len(y) and (sorted(x) == sorted(y) or sum(c != d for c, d in zip(x, y, strict=True)) == 1):
        return True
    return abs(a - b) <= _SLIP * max(a, b)


def _counted(sentence: Sentence) -> Iterator[tuple[str, Counted]]:
    """The counts of a sentence that are ``k of the n things`` or a total, each with its clause, the count in it as #."""
    text = normal(sentence.text)
    total = bool(_TOTAL.search(text))
    parts = list(_PART.finditer(text))
    for match in parts or (list(_WHOLE.finditer(text))[:1] if total else []):
        over = _OVER.search(text, match.end())
        if over is None:
            continue
        n = int(match["n"].replace(",", "")) if parts else 0
        between = f"# of {n}" if parts else "#"
        frame = f"{_LEAD.sub('', text[: match.start()])}{between}{text[match.end() : over.start()]}".lower()
        words = {w for w in re.findall(r"[^\W\d_]{3,}", frame) if w not in _SMALL}
        if len(words) >= FEWEST_COUNTED and "," not in frame.removeprefix("in total,").removeprefix("in all,"):
            k = int(match["k"].replace(",", ""))
            yield (
                " ".join(frame.replace(",", "").split()),
                Counted(sentence, k, n, match["what"], match.start("k"), match["k"]),
            )


def check_counts(document: Document) -> Iterator[Finding]:
    """Counts that the abstract, introduction or conclusion tells in a clause which the body has with another one.

    A count that also stands on the other side is of something else, and so is one far away from the other.
    """
    groups: dict[str, list[Counted]] = defaultdict(list)
    for sentence in document.sentences:
        for frame, counted in _counted(sentence):
            groups[frame].append(counted)
    for frame, members in groups.items():
        told = [m for m in members if _TOLD.search(m.sentence.place)]
        body = [m for m in members if not _TOLD.search(m.sentence.place)]
        if not told or not body or len({m.k for m in body}) > 1 or len({m.k for m in told}) > 1:
            continue
        first, other = told[0], body[0]
        if any(_ELSEWHERE.search(m.sentence.place) for m in body):
            continue
        good = first.k == other.k
        if not good and (
            not slip(first.k, other.k) or _said(document, first, told=False) or _said(document, other, told=True)
        ):
            continue
        pair = _id(first), _id(other)
        two = replace(document, sentences=(first.sentence, other.sentence))
        if any(set(f.operands) == set(pair) for f in repeats.check_text(two)):
            continue  # found by its words alone
        yield in_sentence(other.sentence, other.start, other.text).found(
            "same words",
            CheckVerdict.MATCHES if good else CheckVerdict.INCONSISTENT,
            f"the same words stand with {first.text} at {first.sentence.file}:{first.sentence.line_at(first.start)}, {first.sentence.place}",
            recomputed=first.text,
            operands=pair,
            cause=f"same count: {frame}",
        )


def _id(counted: Counted) -> str:
    line = counted.sentence.line_at(counted.start)
    return f"{counted.sentence.file}:{line}:{counted.start + len(counted.text)}"


def _said(document: Document, counted: Counted, *, told: bool) -> bool:
    """Whether a count stands among what is told ahead and again, or else in the body and its tables."""
    k = rf"(?<![\d.,])(?:{counted.k}|{counted.k:,})(?![\d%]|[.,]\d)"
    n = (
        rf"(?:\s*/\s*|{_OF})(?:{counted.n}|{counted.n:,})(?![\d.,]*\d)"
        if counted.n
        else rf"\s+(?:\w+\s+){{0,2}}{counted.what}"
    )
    pattern = re.compile(k + n)
    if any(pattern.search(normal(s.text)) for s in document.sentences if bool(_TOLD.search(s.place)) is told):
        return True
    cell = re.compile(rf"(?<![\d.,])(?:{counted.k}|{counted.k:,})(?![\d.,]*\d)")
    return not told and any(cell.search(c.text) for g in document.grids for _, _, c in g.cells())
