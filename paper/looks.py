"""How every arm and dataset of the paper is drawn: one colour and one marker each, the same in all figures."""

from __future__ import annotations

from orledger.paper.names import ARMS
from orledger.reports.figures.figure import power
from orledger.reports.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, Look

Line = str | tuple[int, tuple[float, ...]]

# A colour means one thing in all figures: the kind of arm it is, whichever case the arm belongs to. Arms of one kind are told
# apart by marker and line. Red is kept for what fails and for limits, violet for other backends. No marker of Case B is made
# of strokes only, because a stroke cannot be drawn open.
NAVY, GOLD, PLUM, BROWN = "#08306B", "#8A6500", "#7B2D5E", "#8C4A2F"
KINDS: dict[str, dict[str, tuple[str, Line]]] = {
    # optimal recovery as the paper proposes it; then with less of its guarantee or more of its reach; then taken further
    BLUE: {"morozov": ("o", "-"), "or1": ("o", "-"), "k1": ("o", "-")},
    SKY: {"or1_nf": ("P", "-"), "k2": ("D", "--"), "shape": ("*", "-")},
    NAVY: {"or2": ("*", "-"), "or2_oracle": ("d", ":"), "k5": ("v", ":")},
    # an interval conditional on the data at hand
    GREEN: {"or1_int": ("h", "-")},
    # the Bayesian counterpart; and a variant of it
    ORANGE: {"ml2": ("^", "--"), "dak": ("s", ":"), "ei": ("s", "-")},
    GOLD: {"dak_kl": ("p", ":"), "ucb": ("^", "-")},
    # calibrated on held-out data; and scaled by the model besides
    PINK: {"gcv": ("v", "-."), "cp": ("^", "--"), "wcp": ("<", ":"), "cp_centre": (">", "-.")},
    PLUM: {"ncp": ("v", (0, (1, 1.5)))},
    # as released; nothing learned; knows the truth
    BROWN: {"released": ("s", "-")},
    GREY: {"lcurve": ("D", ":"), "triv": ("D", (0, (4, 2)))},
    BLACK: {"oracle": ("x", (0, (1, 1)))},
}
LOOKS: dict[str, Look] = {
    arm: Look(ARMS[arm], colour, *drawn) for colour, arms in KINDS.items() for arm, drawn in arms.items()
}

# What is not an arm never borrows the colour of one. Datasets have a palette of their own (Paul Tol's muted one) and a marker
# each; noise levels are shades of one violet, darker with more noise; grids, heads of the ablation and rungs compared in
# pairs are told apart by fill, line and marker.
DATASETS = {
    "diabetes": ("#332288", "o"),
    "concrete": ("#999933", "s"),
    "energy": ("#44AA99", "^"),
    "yacht": ("#882255", "D"),
    "california": ("#88CCEE", "v"),
}
LEVEL_COLOURS = ("#C3B1E1", "#8E63BE", "#4A1F7A", "#1B0633")
GRIDS: tuple[tuple[str, str, str | tuple[int, tuple[float, ...]]], ...] = (
    (BLACK, BLACK, "-"),
    (GREY, "white", (0, (4, 2))),
)  # edge, fill and line of the finest grid and of the next
HEADS = {  # marker and fill: squares clamp and circles drop, open marks deliver from all rows
    "clamp_all": ("s", "white"),
    "clamp_fit": ("s", GREY),
    "drop_all": ("o", "white"),
    "drop_fit": ("o", GREY),
}


def look(arm: str) -> Look:
    """The look of ``arm``; an arm nobody styled is drawn in grey under its own name."""
    return LOOKS.get(arm, Look(arm, GREY, "o", "-"))


def noise(level: float) -> str:
    """A noise level in a title or legend: σ = 0, σ = 10⁻³."""
    return power(level) if level == 0 else f"σ = {power(level)}"
