"""The paper as a study: cases, presets, hypotheses, printed numbers, tables, figures, names and known reasons for differences."""

from orledger.paper.names import ARMS
from orledger.study import Case, Study

EXTRA = "orledger[cases]"

STUDY = Study(
    name="paper",
    title="Optimal Recovery Meets Bayesian Learning: Where Worst-Case Bounds Pay Off",
    citation="Gordei Verbii, Optimal Recovery Meets Bayesian Learning: Where Worst-Case Bounds Pay Off",
    cases=(
        Case("a", "orledger.runners.case_a", "Case A: the tensor-GP solver", ("torch",), EXTRA),
        Case("b", "orledger.runners.case_b", "Case B: the deep-kernel network", ("torch",), EXTRA),
        Case("c", "orledger.runners.case_c", "Case C: Bayesian optimisation", ("torch", "gpytorch", "botorch"), EXTRA),
    ),
    presets="orledger.paper.presets",
    hypotheses="orledger.paper.hypotheses",
    tables=tuple(
        f"orledger.paper.tables.{name}"
        for name in (
            "a",
            "a_floor",
            "a_cert",
            "a_ladder",
            "b_data",
            "b",
            "b_width",
            "b_ablation",
            "b_gap",
            "c",
            "c_kappa",
            "ref",
        )
    ),
    figures=tuple(
        f"orledger.paper.figures.{name}" for name in ("a", "certificates", "ladder", "gap", "b", "b_width", "c")
    ),
    labels=ARMS,
    symbols="orledger.paper.symbols:SYMBOLS",
    printed="orledger.paper.printed:PRINTED",
)
