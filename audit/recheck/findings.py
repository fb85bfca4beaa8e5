"""What a recheck found: one finding per check, findings with one cause in one group, the groups by how much they matter."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.model import CheckVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

# A wrong number costs a reader more in an abstract than in an appendix.
_PLACES = (("abstract", 5.0), ("conclusion", 4.0), ("introduction", 3.0), ("discussion", 3.0), ("appendix", 0.0))
_ELSEWHERE = 2.0
_DECISION = 6.0
# More than a changed decision and the best place together: the verdict comes first.
_VERDICT = 12.0
_ORDER = {
    CheckVerdict.CONVENTION: 1,
    CheckVerdict.UNCHECKED: 2,
    CheckVerdict.FALSE: 3,
    CheckVerdict.INCONSISTENT: 4,
    CheckVerdict.IMPOSSIBLE: 5,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    `low` and `high` bound the recomputed value (None for a claim in words); `recomputed` is the same as text, for an
    enumeration the value nearest to the printed one. `convention` is the reading that fits (None when none does), and `why`
    says what fits, or what was tried and does not. `operands` are the ids of the numbers that the check reads, `cause` what
    it shares with others, `decision` whether the printed and the recomputed p-value lie on two sides of 0.05. `file`,
    `line` and `sentence` say where the number stands when the text was read.
    """

    id: str
    place: str
    printed: str
    recomputed: str
    low: float | None
    high: float | None
    verdict: CheckVerdict
    rule: str
    convention: str | None
    why: str
    operands: tuple[str, ...]
    cause: str = ""
    decision: bool = False
    file: str = ""
    line: int | None = None
    sentence: str = ""

    @property
    def weight(self) -> float:
        """How much the finding matters: its verdict first, then a changed decision, then where it stands."""
        if self.verdict.good:
            return 0.0
        words = self.place.lower()
        place = next((w for name, w in _PLACES if name in words), _ELSEWHERE)
        return _ORDER[self.verdict] * _VERDICT + self.decision * _DECISION + place

    @property
    def name(self) -> str:
        """What the check is called before people: its id, or its kind where the id is a mere position that `where` gives too."""
        position = re.match(r".+(?::\d+:\d+|/\d+/\d+) ", self.id)
        return self.rule if self.file and position else self.id

    @property
    def because(self) -> str:
        """Why, as a sentence of its own."""
        return self.why[:1].upper() + self.why[1:]

    @property
    def quoted(self) -> tuple[str, str, str]:
        """The sentence before the printed text, that text, and the rest; all of it in front where the text is not found as it is.

        A reference to a table or figure has no number here and stands as dots.
        """
        text = re.sub(r"(?<!\w)@(?!\w)", "…", self.sentence)
        found = re.search(rf"(?<![\d.]){re.escape(self.printed)}(?![\d.]*\d)", text) if self.printed else None
        return (text, "", "") if found is None else (text[: found.start()], found[0], text[found.end() :])

    @property
    def where(self) -> str:
        """File and line, then the place in words."""
        return f"{self.file}:{self.line}, {self.place}" if self.line is not None else self.place


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings with one cause, the weightiest first."""

    cause: str
    verdict: CheckVerdict
    findings: tuple[Finding, ...]

    @property
    def kind(self) -> str:
        """The kind of relation that its weightiest finding breaks."""
        return self.findings[0].rule.replace("_", " ")

    @property
    def weight(self) -> float:
        """The weight of its weightiest finding, a little more for every further one."""
        return self.findings[0].weight + 0.01 * min(len(self.findings) - 1, 50)


def grouped(findings: Iterable[Finding]) -> list[Cause]:
    """The findings that need an explanation, by cause, the weightiest cause first."""
    by_cause: dict[tuple[str, CheckVerdict], list[Finding]] = {}
    for finding in findings:
        if not finding.verdict.good:
            by_cause.setdefault((finding.cause or finding.id, finding.verdict), []).append(finding)
    groups = [
        Cause(cause, verdict, tuple(sorted(members, key=lambda f: -f.weight)))
        for (cause, verdict), members in by_cause.items()
    ]
    return sorted(groups, key=lambda g: -g.weight)


def summary(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings have each verdict, in the order of `CheckVerdict`."""
    counts = Counter(finding.verdict for finding in findings)
    return {verdict.value: counts[verdict] for verdict in CheckVerdict}


def decision_error(printed: tuple[float, float], recomputed: tuple[float, float], alpha: float = 0.05) -> bool:
    """Whether the printed and the recomputed p-value lie wholly on two sides of alpha."""
    return (printed[1] < alpha <= recomputed[0]) or (recomputed[1] < alpha <= printed[0])


def paragraph(place: str) -> str:
    """The table or paragraph of a place, without its row, column and title."""
    return re.split(r", row | \(", place, maxsplit=1)[0]
