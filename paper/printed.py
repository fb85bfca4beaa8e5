"""What the paper prints: its numbers, its conclusions in our words, and the numbered reasons why ours may differ."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from orledger.paper.published import publication
from orledger.reports.report.differences import Conclusion, Printed
from orledger.study import Reason


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("orledger.paper").joinpath(name).read_text(encoding="utf-8"))


def _printed() -> Printed:
    said = _read("paper.toml")
    return Printed(
        publication=publication(),
        matching=_read("matching.toml"),
        conclusions={name: Conclusion(**entry) for name, entry in said["hypothesis"].items()},
        reasons=tuple(
            Reason(i, g["reason"], tuple(g["tables"]), g.get("in_view", False), g.get("after_run", False))
            for i, g in enumerate(said["gap"], start=1)
        ),
        preset="paper",
        quoted=frozenset({("Bgapsurv", "single")}),  # the paper's own single-seed values, which our table shows
    )


PRINTED = _printed()
