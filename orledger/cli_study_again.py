"""Whether a command says again what the files beside a table already say, as after an interruption: it then goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orledger.cli_studying import compared, named, wishes
from orledger.errors import OrledgerError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orledger.audit.importing.writing import Draft


def drawn_again(paths: Sequence[Path], name: str, said: dict[str, Any], mapping_file: Path) -> Draft | None:
    """What ``said`` makes of the tables at ``paths``, where ``mapping_file`` means just that; None where it does not."""
    from orledger.audit.importing.mapping import parse_mapping, read_mapping
    from orledger.audit.importing.tables import read_tables
    from orledger.audit.importing.writing import draft

    try:
        table = read_tables(paths, said["ignore"], said=named(said))
        drawn = draft(table, name, wishes(said), compare=compared(said), control=said["control"])
        same = parse_mapping(drawn.mapping_text, mapping_file.name) == read_mapping(mapping_file)
    except OrledgerError:
        return None
    return drawn if same else None


def same_questions(text: str, file: Path) -> bool:
    """Whether ``text`` asks what the hypothesis ``file`` asks: comments and spaces may differ."""
    from orledger.audit.registry.reading import parse_hypothesis, read_hypothesis

    try:
        one, other = parse_hypothesis(text, file.name), read_hypothesis(file)
    except OrledgerError:
        return False
    return replace(one, text="") == replace(other, text="")
