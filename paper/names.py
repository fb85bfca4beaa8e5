"""The name of every rule, arm, regime, region and benchmark for people: one thing, one name, in tables and figures alike.

Nothing here imports anything heavy, so that a table does not pay for the plotting library.
"""

from __future__ import annotations

RULES = {
    "released": "released",
    "morozov": "Morozov",
    "ml2": "ML-II",
    "gcv": "GCV",
    "lcurve": "L-curve",
    "oracle": "oracle",
}

# Case B. The water-filling head keeps the name of its allocation; the OR head is the one that adds floor and noise allowance
# to the OR interval.
BANDS = {
    "dak": "DAK",
    "dak_kl": "DAK, KL repaired",
    "cp": "split-CP",
    "ncp": "normalised split-CP",
    "triv": "constant band",
    "or1": "OR head",
    "or1_nf": "OR head, no floor",
    "or1_int": "OR interval",
    "or2": "water-filling",
    "or2_oracle": "water-filling, oracle noise",
    "wcp": "weighted split-CP",
    "cp_centre": "split-CP, shifted centre",
}
# The four heads of the two-by-two ablation: what happens to flat feature columns, and which rows deliver.
HEADS = {
    "clamp_all": "clamped, all rows",
    "clamp_fit": "clamped, fit rows",
    "drop_all": "dropped, all rows",
    "drop_fit": "dropped, fit rows",
}
REGIMES = {"iid": "i.i.d.", "shift": "covariate shift", "wide": "widening shift", "shiftcol": "axis shift"}
REGIONS = {"gap": "design gap", "ind": "in distribution", "ext": "extrapolation"}
SCALES = {"frozen": "frozen scale", "train": "released scale", "mixed": "frozen head, released baselines"}

# Case C. A rung of the ladder is a multiple of the certified floor; as an arm it is OR-LCB at that multiple.
RUNGS = {"k1": "1×", "k2": "2×", "k5": "5×"}
SEARCHES = {
    "ei": "EI",
    "ucb": "UCB",
    **{arm: f"OR-LCB {rung}" for arm, rung in RUNGS.items()},
    "shape": "shape-aware",
}
STEMS = {"branin": "Branin", "griewank": "Griewank", "ackley": "Ackley", "hartmann": "Hartmann", "levy": "Levy"}

ARMS = {**RULES, **BANDS, **HEADS, **SEARCHES}


def benchmark(key: str, dim: float | None) -> str:
    """A test function with its dimension, as in Branin-2D; Hartmann-6 is a fixed function and carries its number alone."""
    if dim is None:
        return STEMS.get(key, key)
    return f"{STEMS.get(key, key)}-{dim:g}" + ("" if key == "hartmann" else "D")


def rung_pair(pair: str) -> str:
    """Two rungs that are compared, from their key: 1-2 becomes 1× ↔ 2×."""
    return " ↔ ".join(RUNGS[f"k{k}"] for k in pair.split("-"))
