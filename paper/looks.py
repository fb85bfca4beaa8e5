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

DATASET_COLOURS = {"diabetes": BLUE, "concrete": ORANGE, "energy": GREEN, "yacht": RED, "california": PINK}


def look(arm: str) -> Look:
    """The look of ``arm``; an arm nobody styled is drawn in grey under its own name."""
    return LOOKS.get(arm, Look(arm, GREY, "o", "-"))
