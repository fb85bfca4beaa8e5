"""How every arm and dataset of the paper is drawn: one colour and one marker each, the same in all figures."""

from __future__ import annotations

from orledger.paper.names import ARMS
from orledger.reports.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, VIOLET, Look

# Colour, marker, line. No marker of Case B is made of strokes only, because a stroke cannot be drawn open.
DRAWN: dict[str, tuple[str, str, str | tuple[int, tuple[float, ...]]]] = {
    "released": (RED, "s", "-"),
    "morozov": (BLUE, "o", "-"),
    "ml2": (ORANGE, "^", "--"),
    "gcv": (GREEN, "v", "-."),
    "lcurve": (PINK, "D", ":"),
    "oracle": (BLACK, "x", (0, (1, 1))),
    "dak": (GREY, "s", ":"),
    "dak_kl": (BLACK, "p", ":"),
    "cp": (ORANGE, "^", "--"),
    "ncp": (VIOLET, "v", (0, (1, 1.5))),
    "triv": (PINK, "D", (0, (4, 2))),
    "or1": (BLUE, "o", "-"),
    "or1_nf": (SKY, "P", "-"),
    "or1_int": (GREEN, "h", "-"),
    "or2": (RED, "*", "-"),
    "or2_oracle": (RED, "d", ":"),
    "wcp": (ORANGE, "<", ":"),
    "cp_centre": (GREEN, ">", ":"),
    "ei": (GREY, "s", "-"),
    "ucb": (ORANGE, "^", "-"),
    "k1": (BLUE, "o", "-"),
    "k2": (GREEN, "D", "--"),
    "k5": (RED, "v", ":"),
    "shape": (PINK, "*", "-"),
}
LOOKS: dict[str, Look] = {arm: Look(ARMS[arm], *drawn) for arm, drawn in DRAWN.items()}

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
