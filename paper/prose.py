"""Captions of the paper's tables: the house's prose with the paper's formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.paper.symbols import SYMBOLS
from orledger.reports.tables.prose import prose as house_prose

if TYPE_CHECKING:
    from orledger.reports.tables.values import Join


def prose(template: str, **values: Any) -> Join:
    """The sentence(s) of ``template`` with ``values`` in place; ``{{ sym.lambda2 }}`` gives a formula of ``paper.symbols``."""
    return house_prose(template, SYMBOLS, **values)
