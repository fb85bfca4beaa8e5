"""What ``orledger recheck --power`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orledger.cli_options import echo_json, echo_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.recheck.model import Publication
    from orledger.audit.recheck.power import Power, Tried
    from orledger.audit.recheck.reading.document import Document


def show_power(document: Document | None, publication: Publication | None, as_json: bool) -> None:
    """Prints what one wrong digit would change: by place, and by the kind of relation that the numbers stand in."""
    from orledger.audit.recheck.document_power import document_changes
    from orledger.audit.recheck.joint_power import joint_changes
    from orledger.audit.recheck.power import annotated_changes

    tables: dict[str, list[Tried]] = {}
    annotated = [] if publication is None else list(annotated_changes(publication))
    if publication is not None:
        tables["annotated"] = annotated
    automatic = [] if document is None else list(document_changes(document))
    if document is not None:
        tables["without annotation"] = [tried for _, tried in automatic]
    if document is not None and publication is not None:
        together = list(joint_changes(publication, document, annotated, automatic))
        tables["together, every number of the document"] = together
    if as_json:
        echo_json({kind: _power_rows(numbers) for kind, numbers in tables.items()})
        return
    for kind, numbers in tables.items():
        click.echo(f"One-digit changes noticed by the checks, {kind}:")
        _power_table(numbers)


def _power_rows(numbers: Sequence[Tried]) -> dict[str, Any]:
    from orledger.audit.recheck.power import by_place, by_relation, ceiling, whole

    parts, relations = by_place(numbers), by_relation(numbers)
    share, last = ceiling(relations)
    return {
        "places": [
            _row(p) | {"in no relation": list(p.bare), "no change noticed": list(p.loose)}
            for p in (*parts, whole(parts))
        ],
        "relations": [_row(p, "relation") for p in relations],
        "ceiling": {"noticed": _percent(share), "last digit": _percent(last)},
    }


def _power_table(numbers: Sequence[Tried]) -> None:
    """The power by place; then the numbers that nothing notices, and the power by the kind of relation, which says why."""
    from orledger.audit.recheck.power import by_place, by_relation, ceiling, whole

    right = ("numbers", "in a relation", "noticed", "last digit")
    parts, relations = by_place(numbers), by_relation(numbers)
    every = whole(parts)
    echo_table([_row(p) for p in (*parts, every)], right=right)
    for words, names in (("in no relation", every.bare), ("in a relation, no change noticed", every.loose)):
        some = f": {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}" if names else ""
        click.echo(f"{words}: {len(names):,} of {every.numbers:,}{some}")
    echo_table([_row(p, "relation") for p in relations], right=right)
    share, last = ceiling(relations)
    if not every.changes:
        return
    click.echo(
        f"with every number pinned that others determine or list, and the rest as now: {_percent(share)}, last digit {_percent(last)}"
    )


def _percent(share: float) -> str:
    return "" if share != share else f"{100 * share:.0f}%"


def _row(power: Power, first: str = "place") -> dict[str, Any]:
    return {
        first: power.place,
        "numbers": power.numbers,
        "in a relation": power.read,
        "noticed": _percent(power.share),
        "last digit": _percent(power.last_share),
    }
