"""Small phrases that messages share."""

from __future__ import annotations

import pytest

from orledger.wording import one_of

TABLES = ["Barms", "Bshift", "C", "results-ranks", "results-forest"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Barm", "Barms"), ("bshitf", "Bshift"), ("forest", "results-forest"), ("results-rank", "results-ranks")],
)
def test_a_name_that_looks_like_another_is_asked_about_before_all_are_listed(name, meant):
    assert one_of(name, TABLES).startswith(f"did you mean {meant}")
    assert one_of(name, TABLES).endswith(f"one of {', '.join(TABLES)}")


def test_a_name_like_no_other_is_answered_with_the_list():
    assert one_of("zzz", TABLES) == f"one of {', '.join(TABLES)}"
