"""What a run of the tests drew by chance can be drawn again."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (Namespace(hypothesis_seed=None, random_order_enabled=False, random_order_seed="default_value:7"), []),
        (Namespace(hypothesis_seed="12"), ["--hypothesis-seed=12"]),
        (
            Namespace(random_order_enabled=True, random_order_seed="default_value:7"),
            ["--random-order --random-order-seed=7"],
        ),
        (
            Namespace(random_order_enabled=True, random_order_seed="8", hypothesis_seed="12"),
            ["--hypothesis-seed=12", "--random-order --random-order-seed=8"],
        ),
    ],
)
def test_the_end_of_a_run_names_its_seeds(
    option: Namespace, told: list[str], root: Path, request: pytest.FixtureRequest
) -> None:
    shared = request.config.pluginmanager.get_plugin(str(root / "tests" / "conftest.py"))
    assert shared is not None
    assert shared.repeating(option) == told
