"""Which interval pays: coverage, width, interval score and time of ours and the peers, in one run, with and without shift.

    python benchmarks/intervals.py --data-dir DIR --out docs/results/intervals.json --docs docs/intervals.md --images docs/img

Tables that are not in DIR are left out and named. The Markdown tables go between the markers of the page.
"""

# ruff: noqa: E402 - the thread limits must be set before numpy is imported
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from interval_data import SHIFTS, distance, load, random_split, shifted_split
from interval_peers import LEVEL, METHODS, SHIFT_METHODS

from orledger.recovery.regression import coverage, interval_score, mean_width

TABLES = {"diabetes": 5, "yacht": 5, "energy": 5, "concrete": 5, "california": 1, "friedman": 1}
"""Tables and how many random splits each is measured on."""

MOST = {"california": 8000, "friedman": 100_000}
"""Training rows, at most."""

TOO_SLOW = {
    "friedman": ("MAPIE CV+", "MAPIE split, normalised", "ours, local", "ours, certificate", "ours, adaptive, split")
}
"""Left out on the large table: the first refits ten times; the others say nothing that a smaller table does not."""

OVERLAPS = {"beyond": 0.0, "mixed": 0.2}
"""Kinds of shift: none of the extreme rows is trained on, or a fifth of them."""


def measure(table: Any, rows: tuple[np.ndarray, np.ndarray], name: str, method: Any, seed: int) -> dict[str, Any]:
    """One line: a method on one split; the error instead of numbers when it fails."""
    train, test = rows
    X, y = table.X, table.y
    start = time.process_time()
    line: dict[str, Any] = {"table": table.name, "method": name, "seed": seed, "train": len(train), "test": len(test)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method(X[train], y[train], X[test], seed)
    except Exception as error:
        return {**line, "error": f"{type(error).__name__}: {error}"[:200]}
    scale = float(np.std(y[train]))
    line |= {
        "coverage": coverage(y[test], found),
        "width": mean_width(found) / scale,
        "score": interval_score(y[test], found, LEVEL) / scale,
        "seconds": time.process_time() - start,
    }
    far = distance(X[train], X[test])
    for i, part in enumerate(np.array_split(np.argsort(far, kind="stable"), 3)):
        line[f"third_{i}"] = [
            float(np.median(far[part])), coverage(y[test][part], found[part]), interval_score(y[test][part], found[part], LEVEL) / scale
        ]  # fmt: skip
    return line


def compute(folder: Path | None, repeats: int | None, names: list[str]) -> dict[str, Any]:
    """Every line of the comparison, and the tables that were not at hand."""
    lines: list[dict[str, Any]] = []
    missing = []
    for name in names:
        table = load(name, folder)
        if table is None:
            missing.append(name)
            continue
        for seed in range(repeats or TABLES[name]):
            jobs = [("exchangeable", random_split(table, seed, most=MOST.get(name, 10**9)), METHODS)]
            if name in SHIFTS:
                jobs += [(kind, shifted_split(table, seed, share), SHIFT_METHODS) for kind, share in OVERLAPS.items()]
            for kind, rows, methods in jobs:
                for label, method in methods.items():
                    if label not in TOO_SLOW.get(name, ()):
                        lines.append({"kind": kind, **measure(table, rows, label, method, seed)})
                        print(json.dumps(lines[-1]), file=sys.stderr, flush=True)
    return {"level": LEVEL, "lines": lines, "missing": missing}


def means(lines: list[dict[str, Any]], kind: str) -> dict[str, dict[str, dict[str, float]]]:
    """Per table and method the means over splits of coverage, width, score and seconds."""
    out: dict[str, dict[str, dict[str, float]]] = {}
    for line in lines:
        if line["kind"] == kind and "error" not in line:
            out.setdefault(line["table"], {}).setdefault(line["method"], {"n": 0.0})
    for table, methods in out.items():
        for method, cell in methods.items():
            part = [
                v for v in lines if (v["kind"], v["table"], v["method"]) == (kind, table, method) and "error" not in v
            ]
            cell |= {key: float(np.mean([v[key] for v in part])) for key in ("coverage", "width", "score", "seconds")}
            cell["n"] = len(part)
    return out


def markdown(found: dict[str, Any], kind: str) -> str:
    """One Markdown table: rows are methods, columns tables; each cell coverage, width, score and seconds; best score bold."""
    cells = means(found["lines"], kind)
    methods = [m for m in (METHODS if kind == "exchangeable" else SHIFT_METHODS) if any(m in v for v in cells.values())]
    rows = [["method", *cells], ["---"] * (len(cells) + 1)]
    for method in methods:
        line = [method]
        for table in cells.values():
            cell = table.get(method)
            if cell is None:
                line.append("")
                continue
            # The best score among methods that cover: a tenth of the misses that the level allows, and sampling, forgiven.
            able = [v["score"] for v in table.values() if v["coverage"] >= LEVEL - 0.03]
            mark = "**" if able and cell["score"] == min(able) else ""
            line.append(
                f"{cell['coverage']:.2f} · {cell['width']:.2f} · {mark}{cell['score']:.2f}{mark} · {cell['seconds']:.1f} s"
            )
        rows.append(line)
    return "\n".join("| " + " | ".join(r) + " |" for r in rows)


SAME_FEATURES = ("MAPIE split", "MAPIE split, normalised", "MAPIE CV+", "MAPIE CQR, same features")
"""Conformal peers on the same features as ours."""


def summary(found: dict[str, Any], kind: str) -> str:
    """What the table says, in words and counts: how ours stands to the conformal peers, or who keeps coverage under shift."""
    cells = means(found["lines"], kind)
    if kind == "exchangeable":
        lines = []
        for table, methods in cells.items():
            ours = methods["ours, adaptive"]["score"]
            name = min((m for m in SAME_FEATURES if m in methods), key=lambda m: methods[m]["score"])
            rest = {m: v["score"] for m, v in methods.items() if not m.startswith("ours") and v["score"] < ours}
            better = (
                f"; better than ours: {', '.join(f'{m} ({v / ours - 1:+.0%})' for m, v in sorted(rest.items()))}"
                if rest
                else ""
            )
            lines.append(f"- **{table}**: {ours / methods[name]['score'] - 1:+.1%} against the best conformal peer on the same features ({name}){better}.")  # fmt: skip
        return "The interval score of the default, smaller is better:\n\n" + "\n".join(lines)
    lines = []
    for table, methods in cells.items():
        able = {m: v["score"] for m, v in methods.items() if v["coverage"] >= LEVEL - 0.03}
        best = min(able, key=lambda m: able[m]) if able else None
        closest = max(methods, key=lambda m: methods[m]["coverage"])
        text = f"best score among those that keep coverage: {best} ({able[best]:.2f}; {len(able)} of {len(methods)} keep it)" if best else (
            f"no method keeps coverage; {closest} comes closest ({methods[closest]['coverage']:.2f})"
        )  # fmt: skip
        lines.append(f"- **{table}**: {text}.")
    won = sum(1 for methods in cells.values() if _winner(methods).startswith("ours"))
    return f"Ours has the best score among methods that keep coverage on {won} of {len(cells)} tables:\n\n" + "\n".join(
        lines
    )


def _winner(methods: dict[str, dict[str, float]]) -> str:
    able = [m for m, v in methods.items() if v["coverage"] >= LEVEL - 0.03]
    return min(able, key=lambda m: methods[m]["score"]) if able else ""


def into(page: Path, found: dict[str, Any]) -> None:
    """Put the tables between their markers in a page."""
    text = page.read_text(encoding="utf-8")
    for kind in ("exchangeable", *OVERLAPS):
        start, end = f"<!-- {kind} -->", f"<!-- end {kind} -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n\n{markdown(found, kind)}\n\n{summary(found, kind)}\n\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Measure, or read what was measured, then write the page and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--only", action="append", choices=list(TABLES))
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path, action="append", help="use these results instead of measuring")
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--images", type=Path)
    options = parser.parse_args()
    logging.getLogger().setLevel(logging.ERROR)
    if options.read:
        parts = [json.loads(path.read_text(encoding="utf-8")) for path in options.read]
        found = {**parts[0], "lines": [line for part in parts for line in part["lines"]]}
    else:
        found = compute(options.data_dir, options.repeats, options.only or list(TABLES))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.docs:
        into(options.docs, found)
    if options.images:
        from interval_figures import difference, under_shift

        difference(options.images / "intervals_difference.png")
        under_shift(found["lines"], options.images / "intervals_shift.png")
    for kind in ("exchangeable", *OVERLAPS):
        print(f"\n{kind}\n{markdown(found, kind)}")


if __name__ == "__main__":
    main()
