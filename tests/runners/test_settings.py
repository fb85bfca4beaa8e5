"""Presets that make no sense are refused before anything is planned, with the file, the table and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from orledger.errors import UsageError
from orledger.runners.plan import load_preset, make_plan
from orledger.runners.settings import Setting, resolve

RULES = "[a.rules]\ngrids = [16]\nlevels = [0.0]\nseeds = [1]\n"


def planned(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    make_plan(load_preset(str(path)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a]\nsettings = { epochs = 0 }\n" + RULES, r"a\.settings\.epochs: 0 is out of range: it must be at least 1"),
        ("[a]\nsettings = { test_points = -1 }\n" + RULES, r"a\.settings\.test_points"),
        ("[a]\nsettings = { tol = nan }\n" + RULES, r"a\.settings\.tol: nan is out of range"),
        ("[a]\nsettings = { jitter = inf }\n" + RULES, r"a\.settings\.jitter: inf .* finite"),
        (RULES.replace("0.0", "nan"), r"a\.rules\.levels: nan is out of range"),
        ("[b]\nsettings = { rf_trees = -1 }\n[b.audit]\ndatasets = ['yacht']", r"b\.settings\.rf_trees: -1"),
        ("[b]\nsettings = { level = 1.0 }\n[b.audit]\ndatasets = ['yacht']", "between 0 and 1, ends excluded"),
        ("[b]\nsettings = { learning_rate = 0 }\n[b.audit]\ndatasets = ['yacht']", "above 0"),
        ("[b]\naudit = 3", r"b\.audit: expected a table, found 3"),
        ("[b]\naudit = ''", r"b\.audit: expected a table"),
        ("[b.main]\ndatasets = ['yacht']\nregimes = ['iid']\nseeds = [0]\nrel = [inf]", r"b\.main\.rel: .* finite"),
        ("[b.main]\ndatasets = ['yacht']\nregimes = ['iid']\nseeds = [0]\nrel = [0.0]\nsingle = [1]", r"single\[0\]"),
        ("[b.main]\ndatasets = ['yacht']\nregimes = ['iid']\nseeds = [0]\nrel = [0.0]\nsingle = 1", r"b\.main\.single"),
        ("[b.main]\ndatasets = ['yacht']\nregimes = ['iid']\nseeds = [0]\nrel_of = 1", r"b\.main\.rel_of"),
        ("[c]\nsettings = { candidates = 0 }\n[c.main]\nseeds = [0]", r"c\.settings\.candidates: 0"),
        ("[c]\nsettings = 3\n[c.main]\nseeds = [0]", r"c\.settings: expected a table, found 3"),
        ("[c]\nsettings = ''\n[c.main]\nseeds = [0]", r"c\.settings: expected a table"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        planned(tmp_path, text)
    assert "mine.toml" in caught.value.message


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"mine\.toml: cannot be read"):
        load_preset(str(path))


def test_bounds_include_their_ends_unless_the_setting_says_inside() -> None:
    closed, opened = (Setting("x", 0.5, True, "A share.", low=0, high=1, inside=inside) for inside in (False, True))
    assert [closed.admits(v) for v in (-0.1, 0.0, 1.0, 1.1)] == [False, True, True, False]
    assert [opened.admits(v) for v in (0.0, 1e-9, 1.0)] == [False, True, False]
    assert resolve([closed], {"x": 1}, "here") == {"x": 1.0}
    with pytest.raises(UsageError, match="between 0 and 1, ends excluded"):
        resolve([opened], {"x": 1}, "here")


def test_every_shipped_default_is_within_its_own_bounds() -> None:
    from orledger.runners.plan import planner
    from orledger.studies import cases

    for case in cases():
        resolve(planner(case).SETTINGS, {}, case)
