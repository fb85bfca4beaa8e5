"""A small database with hostile names for the explorer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from orledger.audit.evaluation.auditing import audit
from orledger.audit.recheck.findings import Finding
from orledger.audit.recheck.model import CheckVerdict
from orledger.audit.registry.reading import parse_hypothesis
from orledger.recheck_storing import store
from orledger.schema.outcomes import CellOutcome, PlannedCell
from orledger.schema.writing import Writer

HOSTILE = "<script>alert(1)</script>'\";--"


def fill(path: Path, cells: int = 6) -> None:
    """``cells`` done cells of a study with three arms, one that failed with a traceback, and one that is only planned."""
    with Writer(path) as writer:
        names = [f"c{i}" for i in range(cells + 2)]
        writer.plan(
            [
                PlannedCell(
                    n, "mine", "main", f"mine/{n}", {"dataset": HOSTILE if i % 2 else "plain", "seed": i}, "{}", "1", n
                )
                for i, n in enumerate(names)
            ]
        )
        for i, name in enumerate(names[:cells]):
            columns = {
                "arm": np.array(["x", HOSTILE, "z"], dtype=object),
                "metric": np.array(["error"] * 3, dtype=object),
                "label": np.array([None] * 3, dtype=object),
                "idx": np.ma.masked_all(3, dtype=np.int32),
                "value": np.array([float(i), float(i) + 1, 2 * float(i) + 1]),
            }
            writer.store(name, CellOutcome("done", columns=columns, refusals=[("y", HOSTILE, -0.5)], seconds=0.1))
        writer.store(names[cells], CellOutcome("failed", error=f"Traceback\nValueError: {HOSTILE}"))


HYPOTHESIS = """
[hypothesis]
id = "better"
title = "x has the lower error"
mode = "exploratory"
statement = "x has a lower error <b>than</b> z."

[defaults]
case = "mine"
block = "main"
metric = "error"
pair = ["dataset", "seed"]
better = "lower"

[[comparison]]
id = "error"
title = "Error of x against z"
test = "signed_rank"
arm = "x"
against = ["z"]

[disposition]
needs = ["error/z"]
otherwise = "inconclusive"
otherwise_reason = "no difference"

[[disposition.rule]]
verdict = "supported"
reason = "{reason}"
any = ["error/z is less"]
"""


def judge(path: Path) -> None:
    """Registers a hypothesis and amends it, audits under both texts, and stores the recheck of a paper."""
    for amend, reason in ((False, "x is lower"), (True, "x is lower on every unit")):
        audit(path, [parse_hypothesis(HYPOTHESIS.format(reason=reason), "better.toml")], amend=amend)
    finding = Finding(
        "mean/row", "Table 1", "0.51", "0.49", 0.485, 0.495, CheckVerdict.INCONSISTENT, "mean of a row", None, "no rounding gives it",
        ("a", "b"), cause="Table 1", file="paper.tex", line=12, sentence=f"The mean is 0.51 {HOSTILE}",
    )  # fmt: skip
    fine = replace(finding, id="other", verdict=CheckVerdict.MATCHES, sentence="")
    store(path, f"paper {HOSTILE}", [finding, fine], None)
