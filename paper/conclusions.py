"""The paper's own conclusions in our words, and the numbered reasons why our numbers may differ from its numbers."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Reason:
    """A known reason for differences: its number, its text and the tables it speaks about.

    ``in_view`` says that a setting was chosen with the paper's numbers in view, ``after_run`` that something was decided or run
    again after earlier results had been seen; both are disclosures that a reader should meet before the results.
    """

    number: int
    text: str
    tables: tuple[str, ...]
    in_view: bool = False
    after_run: bool = False


@cache
def paper() -> Mapping[str, Any]:
    """The file paper.toml: the conclusions by hypothesis, and the list of reasons."""
    return tomllib.loads(files("orledger.paper").joinpath("paper.toml").read_text(encoding="utf-8"))


def reasons() -> tuple[Reason, ...]:
    """The known reasons in order; their numbers, from 1, are the same in the findings, the report and the PDF."""
    return tuple(
        Reason(i, g["reason"], tuple(g["tables"]), g.get("in_view", False), g.get("after_run", False))
        for i, g in enumerate(paper()["gap"], start=1)
    )
