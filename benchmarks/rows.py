"""What a benchmark reports: one row per measurement, and rows as an aligned table."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = dict[str, Any]


def row(
    name: str,
    ours: float,
    peer: float,
    who: str,
    note: str = "",
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Row:
    """One measurement: seconds of ours and of the peer, how many times faster ours is, and what was asked of it.

    at_least: the ratio asked for; at_most: the seconds asked for; the target is met when both hold, and None without one.
    """
    asked = [
        text.format(bound) for text, bound in ((">= {:g}x", at_least), ("<= {:g} s", at_most)) if bound is not None
    ]
    met = (at_least is None or peer / ours >= at_least) and (at_most is None or ours <= at_most)
    return {
        "name": name,
        "ours_seconds": ours,
        "peer_seconds": peer,
        "ratio": peer / ours,
        "peer": who,
        "target": ", ".join(asked) or None,
        "met": met if asked else None,
        "note": note,
    }


def seconds(value: float) -> str:
    """A duration with three digits, in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def cells(found: Row) -> list[str]:
    """A row as text: name, ours, peer's, ratio, target with its verdict, peer."""
    if found.get("error"):
        return [found["name"], "failed", "", "", "", found["error"]]
    verdict = {None: "", True: f"{found['target']}: met", False: f"{found['target']}: MISSED"}[found["met"]]
    times = f"{found['ratio']:.3g}x"
    return [
        found["name"],
        seconds(found["ours_seconds"]),
        seconds(found["peer_seconds"]),
        times,
        verdict,
        found["peer"],
    ]


def growth_cells(found: Row) -> list[str]:
    """A fitted exponent as text: the cost grows as size ** exponent over the sizes shown."""
    return [
        found["name"],
        found["variable"],
        f"{found['sizes'][0]:,} to {found['sizes'][-1]:,}",
        f"{found['seconds'][0]:.3g} to {found['seconds'][-1]:.3g} s",
        f"{found['exponent']:.2f} +- {found['se']:.2f}",
        f"{found['last']:.2f}",
        found["note"],
    ]


def table(head: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Aligned columns under a ruled head; the columns in ``right`` are flushed right."""
    widths = [max(len(line[k]) for line in [head, *body]) for k in range(len(head))]

    def line(parts: Sequence[str]) -> str:
        aligned = [p.rjust(w) if k in right else p.ljust(w) for k, (p, w) in enumerate(zip(parts, widths, strict=True))]
        return "  ".join(aligned).rstrip()

    return "\n".join([line(head), "  ".join("-" * w for w in widths), *map(line, body)])


def comparison(rows: Sequence[Row]) -> str:
    """All rows as one table, with their notes below it."""
    head = ("measurement", "ours", "peer", "ratio", "target", "peer is")
    notes = [f"{r['name']}: {r['note']}" for r in rows if r.get("note")]
    width = max(80, min(140, shutil.get_terminal_size().columns))
    text = [textwrap.fill(note, width, initial_indent="  ", subsequent_indent="    ") for note in notes]
    return "\n".join([table(head, [cells(r) for r in rows], right=(1, 2, 3)), *(["", "Notes", *text] if text else [])])


def show(rows: Sequence[Row]) -> None:
    """Print the rows of one script."""
    print(comparison(rows))
