"""What ``--json`` prints is JSON, whatever the numbers are."""

from __future__ import annotations

import json
import math

import pytest

from orledger.audit.evaluation.storing import _json
from orledger.cli_options import echo_json
from orledger.wording import json_safe

ODD = {"a": math.nan, "b": [math.inf, (-math.inf, 1.5)], 3: None, "d": {"e": 1e308, "f": True, "g": "NaN"}}
SAID = {"a": "NaN", "b": ["Infinity", ["-Infinity", 1.5]], "3": None, "d": {"e": 1e308, "f": True, "g": "NaN"}}


def strict(text: str):
    def refuse(word: str):
        pytest.fail(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_numbers_that_json_has_no_word_for_are_strings(capsys):
    assert json_safe(ODD) == SAID
    echo_json(ODD)
    assert strict(capsys.readouterr().out) == SAID


def test_the_details_of_a_row_are_json():
    assert strict(_json({"a": math.nan, "b": [math.inf]})) == {"a": "NaN", "b": ["Infinity"]}
