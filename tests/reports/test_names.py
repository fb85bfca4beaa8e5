"""What a name says: the letters of a rule are those of its key, and a title names the arms that are compared."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from orledger.audit.registry.reading import parse_hypothesis
from orledger.paper.names import ARMS, RULES

SPELLED = ("released", "morozov", "gcv", "lcurve", "oracle", "dak", "ei", "ucb")
TOLD = {"the certified floor": "k1", "twice the floor": "k2", "five times the floor": "k5", "UCB": "ucb"}


@pytest.mark.parametrize("arm", SPELLED)
def test_a_name_is_spelled_like_its_key(arm):
    assert re.sub(r"[^a-z]", "", ARMS[arm].lower()) == arm


def test_no_two_arms_share_a_name():
    assert len(set(ARMS.values())) == len(ARMS)
    assert RULES["ml2"] == "ML-II"  # a Roman two


def test_a_title_about_regret_names_the_arms_compared():
    text = (files("orledger.paper.hypotheses") / "h4.toml").read_text(encoding="utf-8")
    seen = 0
    for c in parse_hypothesis(text, "h4.toml").comparisons:
        found = re.match(
            r"Final regret of (.+?)(?:, log10 ratio to| against) (expected improvement|the floor)", c.title
        )
        if found:
            first, second = (q.source.arm for _, q in c.sides)
            assert (first, second) == (TOLD[found[1]], "ei" if found[2] == "expected improvement" else "k1"), c.id
            seen += 1
    assert seen >= 9
