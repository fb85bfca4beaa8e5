"""Names that the plan, the runner and the presets of Case A share; nothing here imports torch."""

from __future__ import annotations

FORCING_NAMES = ("two_sines", "oblique")
"""Keys of ``problem.FORCINGS``."""

BACKENDS = ("float64", "float32", "float32_normal")
"""Arithmetic of the portability block; keys of ``solver.PRECISIONS``, where each is described."""

FLOOR_BACKENDS = {
    "same_process": "one thread, float64, repeated in one process",
    "new_process": "one thread, float64, each repetition in a freshly started interpreter",
    "threads_1": "one thread, set explicitly",
    "threads_2": "two threads, each repetition in a freshly started interpreter",
    "float32": "one thread, factors and evaluations in float32",
    "ulp": "one thread, float64, every datum moved to a neighbouring float64 at random",
}
"""Ways of repeating the noise-free computation."""

RULES = ("released", "morozov", "ml2", "gcv", "lcurve", "oracle")
"""Parameter-choice rules, in the order of the paper's table."""
