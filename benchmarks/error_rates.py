"""How often verdicts err: type I error, power and coverage of whole dispositions, through the commands that a user gives.

    python benchmarks/error_rates.py --studies 200 --write docs/auditing.md

Each scenario makes many small studies in one database: their hypotheses are registered (``orledger register``), their numbers
are logged (``orledger.study``), and the audit decides (``orledger audit --json``). A hypothesis says that arm a is lower than
arm b, at 0.05, two-sided; a verdict errs when it supports or refutes under the null, and the interval errs when it leaves out
the true shift. The table shows how often a level was claimed for an error, and how often the output said that there is none.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DATASETS, SEEDS = 8, 3
UNITS = DATASETS * SEEDS
TEXT = """
[hypothesis]
id = "{study}"
title = "t"
mode = "registered"
statement = "s"
[defaults]
case = "sim"
block = "main"
metric = "m"
where = {{ study = "{study}" }}
pair = {pair}
[[comparison]]
id = "c"
title = "t"
test = "{test}"
arms = ["a", "b"]
refusals = "{refusals}"
units = {units}
[disposition]
otherwise = "inconclusive"
otherwise_reason = "not decided"
[[disposition.rule]]
verdict = "supported"
reason = "lower"
all = ["c is less"]
[[disposition.rule]]
verdict = "refuted"
reason = "higher"
all = ["c is greater"]
"""
KEPT = "the level of 0.05 is kept"
BEGIN, END = "<!-- error rates: written by benchmarks/error_rates.py -->", "<!-- end of error rates -->"


@dataclass(frozen=True)
class Scenario:
    """``shift`` of arm a; ``icc``: share of the variance that datasets bring, None for units without a dataset; ``digits``
    kept; ``refused``: arm a refuses its worst units with this probability; ``looks``: audits after so many parts of the
    data, stopping at the first that decides.
    """

    name: str
    shift: float = 0.0
    icc: float | None = None
    digits: int = 12
    refused: float = 0.0
    looks: int = 1
    test: str = "signed_rank"
    refusals: str = "drop"

    @property
    def pair(self) -> list[str]:
        """The keys of a unit."""
        return ["unit"] if self.icc is None else ["dataset", "seed"]


SCENARIOS = (
    Scenario("null"),
    Scenario("effect of 0.8 sd", shift=-0.8),
    Scenario("null with ties", digits=0),
    *(Scenario(f"null, datasets ICC {icc:g}", icc=icc) for icc in (0.0, 0.2, 0.5, 0.8)),
    Scenario("effect of 0.8 sd, datasets ICC 0.5", shift=-0.8, icc=0.5),
    Scenario("informative refusals, dropped", refused=0.8),
    Scenario("informative refusals, worst rank", refused=0.8, refusals="worst rank"),
    Scenario("informative refusals, bounds", refused=0.8, refusals="bounds"),
    Scenario("three looks, signed rank", looks=3),
    Scenario("three looks, sign test", looks=3, test="sign"),
    Scenario("three looks, anytime", looks=3, test="sign_anytime"),
)


def differences(s: Scenario, rng: np.random.Generator) -> NDArray[np.float64]:
    """Differences of one study, shape (datasets, seeds)."""
    icc = s.icc or 0.0
    between = rng.normal(0, np.sqrt(icc), (DATASETS, 1))
    within = rng.normal(0, np.sqrt(1 - icc), (DATASETS, SEEDS))
    return np.round(s.shift + between + within, s.digits)


def log(
    s: Scenario,
    path: Path,
    part: Sequence[int],
    drawn: Sequence[NDArray[np.float64]],
    refuses: Sequence[NDArray[np.bool_]],
) -> None:
    """Logs the seeds ``part`` of all studies; where arm a refuses it has a reason and no number."""
    import orledger

    with orledger.study("sim", path, better={"m": "lower"}) as writing:
        for k, i, j in ((k, i, j) for k in range(len(drawn)) for i in range(DATASETS) for j in part):
            keys = {"unit": i * SEEDS + j} if s.icc is None else {"dataset": f"d{i}", "seed": j}
            cell = writing.cell(study=f"s{k}", **keys)
            cell.log("b", m=10.0)
            if refuses[k][i, j]:
                cell.refuse("a", "too hard")
            else:
                cell.log("a", m=10.0 + float(drawn[k][i, j]))


def command(*words: str | Path) -> str:
    """What a command prints; an error when it fails."""
    from click.testing import CliRunner

    from orledger.cli import main

    done = CliRunner().invoke(main, [str(w) for w in words])
    if done.exit_code:
        raise RuntimeError(f"{words[0]}: {done.output}")
    return done.output


def simulate(s: Scenario, studies: int, seed: int = 0) -> dict[str, Any]:
    """Rates over ``studies`` studies: decided for and against, with a level claimed or not, at the coarser unit, and
    intervals that miss the shift.
    """
    rng = np.random.default_rng(seed)
    drawn = [differences(s, rng) for _ in range(studies)]
    refuses = [(d > 0.5) & (rng.random(d.shape) < s.refused) for d in drawn]
    parts = np.array_split(np.arange(SEEDS), s.looks)
    decided: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path, files = Path(folder) / "x.duckdb", []
        for k in range(studies):
            text = TEXT.format(study=f"s{k}", pair=json.dumps(s.pair), test=s.test, refusals=s.refusals, units=UNITS)
            files.append(Path(folder) / f"s{k}.toml")
            files[-1].write_text(text, encoding="utf-8")
        command("register", *files, "--db", path)
        for part in parts:
            log(s, path, part.tolist(), drawn, refuses)
            for h in json.loads(command("audit", "--db", path, "--json"))["hypotheses"]:
                if decided.get(h["id"], {}).get("verdict") not in ("supported", "refuted"):
                    decided[h["id"]] = h
    return _rates(s, list(decided.values()))


def _rates(s: Scenario, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    firsts = [h["tests"][0] for h in found]
    ends = [(t["low"], t["high"]) for t in firsts if t["low"] is not None and t["high"] is not None]
    missed = [not low <= s.shift <= high for low, high in ends]
    verdicts = [h for h in found if h["verdict"] in ("supported", "refuted")]
    coarser = [t for h in found for t in h["tests"][1:] if t["variant"] == "coarser"]
    n = len(found)
    return {
        "scenario": s.name,
        "lower": sum(h["verdict"] == "supported" for h in found) / n,
        "higher": sum(h["verdict"] == "refuted" for h in found) / n,
        "level kept": sum(h["level"] == KEPT for h in verdicts) / n,
        "level not claimed": sum(h["level"] != KEPT for h in verdicts) / n,
        "coarser unit": sum(t["outcome"] in ("less", "greater") for t in coarser) / n if coarser else None,
        "interval misses": sum(missed) / len(missed) if missed and not s.refused else None,
    }


def markdown(rows: Sequence[dict[str, Any]], studies: int) -> str:
    """The table of the documentation, with the day and the sizes of the run."""
    names = list(rows[0])
    lines = [
        f"Run of {datetime.now(UTC):%Y-%m-%d}: {studies} studies to a row, each of {UNITS} units ({DATASETS} datasets by {SEEDS}"
        f" seeds where datasets count); a rate of 0.05 has a standard error of {np.sqrt(0.05 * 0.95 / studies):.3f}.",
        "",
        f"| {' | '.join(names)} |",
        f"|{'---|' * len(names)}",
    ]
    for row in rows:
        cells = ["" if v is None else v if isinstance(v, str) else f"{v:.2f}" for v in row.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=200, help="studies per scenario")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--write", type=Path, help="a page to put the table into, between its two marks")
    options = parser.parse_args()
    rows = []
    for s in SCENARIOS:
        if options.only in s.name:
            rows.append(simulate(s, options.studies))
            print(rows[-1], flush=True)
    table = markdown(rows, options.studies)
    print(table)
    if options.write is not None:
        page = options.write.read_text(encoding="utf-8")
        made, n = re.subn(
            rf"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n\n{table}\n\n{END}", page, flags=re.DOTALL
        )
        if n != 1:
            raise SystemExit(f"{options.write} has the marks of the table {n} times, and once is expected")
        options.write.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
