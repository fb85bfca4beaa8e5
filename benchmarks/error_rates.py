"""How often verdicts err: type I error, power and coverage of whole dispositions, through the audit of real databases.

    python benchmarks/error_rates.py --studies 200

Each scenario makes many small studies in one database: units are pairs of dataset and seed, a hypothesis says that arm a
is lower than arm b, and the audit decides. A verdict errs when it supports or refutes under the null; the interval errs when it
leaves out the true shift. Where a level is claimed the rate stays below it; where it is not, the table shows by how much.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

DATASETS, SEEDS = 8, 3
TEXT = """
[hypothesis]
id = "{study}"
title = "t"
mode = "registered"
statement = "s"
[defaults]
case = "sim"
block = "t"
metric = "m"
where = {{ study = "{study}" }}
pair = ["dataset", "seed"]
[[comparison]]
id = "c"
title = "t"
test = "{test}"
arms = ["a", "b"]
refusals = "{refusals}"
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


MAPPING = """
study = "sim"
block = "t"
form = "wide"
keys = ["study", "dataset", "seed"]
[wide]
metric = "m"
arms = ["a", "b"]
"""


@dataclass(frozen=True)
class Scenario:
    """``shift`` of arm a; ``icc``: share of the variance that datasets bring; ``digits`` kept; ``refused``: arm a refuses its
    worst units with this probability; ``looks``: audits after so many seeds, stopping at the first that decides.
    """

    name: str
    shift: float = 0.0
    icc: float = 0.0
    digits: int = 12
    refused: float = 0.0
    looks: int = 1
    test: str = "signed_rank"
    refusals: str = "drop"


SCENARIOS = (
    Scenario("null"),
    Scenario("effect of 0.8 sd", shift=-0.8),
    Scenario("null with ties", digits=0),
    *(Scenario(f"null, datasets ICC {icc}", icc=icc) for icc in (0.2, 0.5, 0.8)),
    Scenario("informative refusals, dropped", refused=0.8),
    Scenario("informative refusals, worst rank", refused=0.8, refusals="worst rank"),
    Scenario("informative refusals, bounds", refused=0.8, refusals="bounds"),
    Scenario("three looks, sign test", looks=3, test="sign"),
    Scenario("three looks, anytime", looks=3, test="sign_anytime"),
)


def differences(s: Scenario, rng: np.random.Generator) -> NDArray[np.float64]:
    """Differences of one study, shape (datasets, seeds)."""
    between = rng.normal(0, np.sqrt(s.icc), (DATASETS, 1))
    within = rng.normal(0, np.sqrt(1 - s.icc), (DATASETS, SEEDS))
    return np.round(s.shift + between + within, s.digits)


def rows(s: Scenario, study: int, rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """The table of one study: dataset, seed and the two arms; a refusal is empty."""
    d = differences(s, rng)
    for i in range(DATASETS):
        for j in range(SEEDS):
            refuses = s.refused and d[i, j] > 0.5 and rng.random() < s.refused
            yield {
                "study": f"s{study}",
                "dataset": f"d{i}",
                "seed": j,
                "a": None if refuses else 10 + d[i, j],
                "b": 10.0,
            }


def simulate(s: Scenario, studies: int, seed: int = 0) -> dict[str, object]:
    """Rates over ``studies`` studies: decided for and against, at the coarser unit, and intervals that miss the shift."""
    from orledger.audit.evaluation.auditing import audit
    from orledger.audit.importing.loading import import_frame
    from orledger.audit.importing.mapping import parse_mapping
    from orledger.audit.registry.reading import parse_hypothesis
    from orledger.schema.writing import Writer

    rng = np.random.default_rng(seed)
    table = pl.DataFrame([row for k in range(studies) for row in rows(s, k, rng)])
    counts = {"less": 0, "greater": 0, "coarser": 0, "missed": 0, "intervals": 0}
    open_studies = set(range(studies))
    for look in range(1, s.looks + 1):
        seeds = SEEDS * look // s.looks
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.duckdb"
            with Writer(path) as writer:
                part = table.filter(pl.col("study").is_in([f"s{k}" for k in open_studies]) & (pl.col("seed") < seeds))
                import_frame(writer, part, parse_mapping(MAPPING, "sim.toml"))
            texts = [TEXT.format(study=f"s{k}", test=s.test, refusals=s.refusals) for k in sorted(open_studies)]
            found = audit(path, [parse_hypothesis(text, "x.toml") for text in texts])
        for f in found.findings:
            first, *rest = f.tests
            if first.outcome in ("less", "greater"):
                counts[str(first.outcome)] += 1
                open_studies.discard(int(f.hypothesis.id[1:]))
            if look == s.looks or first.outcome in ("less", "greater"):
                counts["coarser"] += any(e.outcome in ("less", "greater") for e in rest)
                if first.result.low is not None and first.result.high is not None and not s.refused:
                    counts["intervals"] += 1
                    counts["missed"] += not first.result.low <= s.shift <= first.result.high
    return {
        "scenario": s.name,
        "less": counts["less"] / studies,
        "greater": counts["greater"] / studies,
        "decided at the coarser unit": counts["coarser"] / studies,
        "interval misses": counts["missed"] / counts["intervals"] if counts["intervals"] else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=200, help="studies per scenario")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    options = parser.parse_args()
    for s in SCENARIOS:
        if options.only in s.name:
            print(simulate(s, options.studies), flush=True)


if __name__ == "__main__":
    main()
