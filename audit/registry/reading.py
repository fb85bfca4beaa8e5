"""Hypothesis files: from TOML to checked specs, every mistake named by file, table, key and expectation."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.audit.registry.claim_reading import read_claims
from orledger.audit.registry.comparison_reading import COMPARISON_DEFAULTS, read_comparisons
from orledger.audit.registry.hypotheses import Claim, Comparison, Hypothesis, Rule, Term
from orledger.audit.registry.words import OUTCOMES, STATES, Verdict
from orledger.files import require_file
from orledger.toml_tables import TomlError, TomlTable, parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from orledger.study import Study


def read_hypothesis(path: Path) -> Hypothesis:
    """The hypothesis in the TOML file at ``path``."""
    require_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TomlError(f"{path}: cannot be read as a TOML text: {error}") from error
    return parse_hypothesis(text, path.name)


def shipped_hypotheses(chosen: Iterable[Study] | None = None) -> list[Hypothesis]:
    """The hypotheses that come with ``chosen`` studies (all installed ones by default), in order of their files."""
    found = studies.installed() if chosen is None else chosen
    return [parse_hypothesis(text, name) for s in found for name, text in s.files("hypotheses", ".toml").items()]


@lru_cache(maxsize=64)
def registered_hypothesis(text: str, file: str) -> Hypothesis:
    """The hypothesis in a registered ``text``; a report asks for each several times."""
    return parse_hypothesis(text, file, stored=True)


def parse_hypothesis(text: str, file: str, *, stored: bool = False) -> Hypothesis:
    """The hypothesis in a TOML ``text``; ``file`` is the name that messages use.

    ``stored``: the text was registered, perhaps by an earlier version, and what it asks for stands.
    """
    top = parse(text, file)
    head = top.table("hypothesis")
    defaults = _defaults(top)
    comparisons = [c for t in top.tables("comparison", []) for c in read_comparisons(t, defaults)]
    claims = [c for t in top.tables("claim", []) for c in read_claims(t, defaults, stored=stored)]
    known = _unique(top, [c.id for c in comparisons], [c.id for c in claims])
    comparisons = [_with_noise(file, c, {c.id: c for c in claims}, stored=stored) for c in comparisons]
    mode = head.choice("mode", ("registered", "exploratory"))
    disposition = top.table("disposition", None)
    needs, rules, otherwise, reason = _disposition(disposition, known) if disposition else ((), (), None, "")
    if disposition is None and mode == "registered":
        raise head.fail("mode", "exploratory in a file without a table [disposition]: it describes and decides nothing")
    hypothesis = Hypothesis(
        id=head.text("id"),
        title=head.text("title"),
        statement=head.text("statement"),
        mode=mode,
        comparisons=tuple(comparisons),
        claims=tuple(claims),
        needs=needs,
        rules=rules,
        otherwise=otherwise,
        otherwise_reason=reason,
        file=file,
        text=text,
        history=tuple(_correction(t) for t in head.tables("earlier", [])),
    )
    for table in (head, top):
        table.done()
    return hypothesis


def _correction(t: TomlTable) -> dict[str, str]:
    """An earlier version of the text, corrected after results had been seen."""
    found = {"hash": t.text("hash"), "date": t.text("date"), "note": t.text("note")}
    if re.fullmatch(r"[0-9a-f]{64}", found["hash"]) is None:
        raise t.fail("hash", "the SHA-256 of the earlier text, 64 hexadecimal digits")
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", found["date"]) is None:
        raise t.fail("date", "the day of the correction, such as 2026-01-31")
    t.done()
    return found


def _disposition(t: TomlTable, known: dict[str, str]) -> tuple[tuple[str, ...], tuple[Rule, ...], Verdict, str]:
    """What a verdict needs, the rules in order, and the verdict with its reason when none of them applies."""
    needs = t.texts("needs", ())
    for name in needs:
        if name not in known:
            raise t.fail("needs", f"ids of comparisons or claims of this file ({name!r} is none)")
    rules = tuple(_rule(rule, known) for rule in t.tables("rule"))
    found = needs, rules, Verdict(t.choice("otherwise", tuple(Verdict))), t.text("otherwise_reason")
    t.done()
    return found


def _with_noise(file: str, comparison: Comparison, claims: dict[str, Claim], *, stored: bool) -> Comparison:
    """The comparison, if its run-to-run floor is measured where it looks and nowhere else: a floor is one number.

    A text that was registered before this was asked keeps its comparison and loses the floor.
    """
    if comparison.noise is None:
        return comparison
    place = f"{file}: comparison {comparison.id!r}, key 'noise'"
    claim = claims.get(comparison.noise)
    if claim is None:
        raise TomlError(f"{place}: expected the id of a claim, found {comparison.noise!r}")
    for key in (k for k in comparison.pair if k in claim.pair):
        found = {dict(q.where).get(key) for _, q in (*comparison.sides, *claim.sides)}
        condition = found.pop() if len(found) == 1 else None
        if condition is None or condition.operator != "eq":
            if stored:
                return replace(comparison, noise=None)
            raise TomlError(
                f"{place}: expected a claim about the same {key}; {claim.id!r} is one number, so both must name one {key} in where"
            )
    return comparison


def _defaults(top: TomlTable) -> dict[str, Any]:
    table: TomlTable = top.table("defaults", TomlTable({}, top.file, "defaults"))
    table.seen.update(COMPARISON_DEFAULTS)
    table.done()
    return table.data


def _unique(top: TomlTable, comparisons: list[str], claims: list[str]) -> dict[str, str]:
    known: dict[str, str] = {}
    for kind, names in (("comparison", comparisons), ("claim", claims)):
        for name in names:
            if name in known:
                raise TomlError(
                    f"{top.file}: table [{kind}], key 'id': expected a name used once, found {name!r} again"
                )
            known[name] = kind
    return known


def _rule(t: TomlTable, known: dict[str, str]) -> Rule:
    rule = Rule(
        verdict=Verdict(t.choice("verdict", tuple(Verdict))),
        reason=t.text("reason"),
        all=_terms(t, "all", known),
        any=_terms(t, "any", known),
        none=_terms(t, "none", known),
    )
    if not (rule.all or rule.any or rule.none):
        raise t.fail("all", "at least one condition in all, any or none")
    t.done()
    return rule


def _terms(t: TomlTable, key: str, known: dict[str, str]) -> tuple[Term, ...]:
    """Conditions such as "rmse/released is less" and "tracks-oracle holds"."""
    terms = []
    for text in t.texts(key, ()):
        match = re.fullmatch(r"(\S+)\s+(?:is\s+)?(\S+)", text.strip())
        if match is None or match[1] not in known:
            raise t.fail(
                key,
                f'conditions such as "<comparison> is less" or "<claim> holds" ({text!r} names nothing in this file)',
            )
        allowed = OUTCOMES if known[match[1]] == "comparison" else STATES
        if match[2] not in allowed:
            raise t.fail(key, f"one of {', '.join(allowed)} after {match[1]!r} (in {text!r})")
        terms.append(Term(match[1], match[2]))
    return tuple(terms)
