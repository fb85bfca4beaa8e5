"""The rows of a run of ``python -m benchmarks`` as a page of the docs: what was run, where, when, and every row with its note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rows import cells, growth_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = ("measurement", "ours", "peer", "ratio", "target", "peer is", "note")
GROWTH_HEAD = ("cost of", "against", "sizes", "time", "exponent", "last step", "what is expected")


def page(report: dict[str, Any]) -> str:
    """The page of one run; ``report`` is what ``--json`` writes."""
    where, compared, grown = report["machine"], report["comparisons"], report["growth"]
    met = [r["met"] for r in compared if r.get("met") is not None]
    failed = sum("error" in r for r in compared)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(where["versions"].items()) if version)
    # A processor that OpenBLAS does not know gets the code of an older one, which moves every ratio that rests on matrices.
    blas = ", ".join(f"{b['internal_api']} {b.get('version', '')} for {b['architecture']}" for b in where["libraries"] if "architecture" in b)  # fmt: skip
    parts = [
        "# Benchmarks",
        f"Written by `{report['command']}`; do not edit. A ratio above 1 says that ours is faster than the peer, which was measured in the same run "
        "unless the note says otherwise. Each script runs in a process of its own with one numerical thread. "
        "A missed target is shown as missed.",
        _table(
            ("what", "value"),
            [
                ["begun", f"{where['began']} UTC"],
                ["took", f"{report['seconds']:.0f} s"],
                ["sizes", "small ones, few repeats (`--quick`)" if report["quick"] else "full"],
                ["processor", f"{where['cpu']}, {where['cpus']} cores"],
                ["load of the machine", f"{_load(where['load'])} when it began, {_load(where['load_end'])} when it ended"],
                ["commit", where["commit"] or "unknown"],
                ["packages", versions],
                ["BLAS", blas or "unknown"],
                ["targets", f"{sum(met)} of {len(met)} met; {failed} scripts failed"],
            ],
        ),
    ]  # fmt: skip
    if compared:
        body = [[*cells(r), r.get("note", "")] for r in compared]
        parts += ["## Beside the peers", _table(HEAD, body, right=(1, 2, 3))]
    if grown:
        parts += [
            "## How cost grows",
            "The time grows as size to the power of the exponent, fitted over the sizes shown; the last step is the exponent "
            "between the two largest.",
            _table(GROWTH_HEAD, [growth_cells(r) for r in grown], right=(4, 5)),
        ]
    return "\n\n".join(parts) + "\n"


def _load(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1f}"


def _table(head: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A Markdown table; bars inside cells are escaped."""
    rule = ["---:" if k in right else "---" for k in range(len(head))]
    lines = [head, rule, *([" ".join(c.replace("|", "\\|").split()) for c in line] for line in body)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
