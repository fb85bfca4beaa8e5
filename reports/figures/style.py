"""One restrained style for every figure: colour-blind safe, readable in print, the same bytes every time."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from orledger.paper.names import ARMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

# Okabe and Ito's palette, which survives the common colour-vision deficiencies and a grey-scale printer.
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#7A7A7A",
)
VIOLET = "#5D3A9B"  # a ninth colour, much darker than the orange it must be told from
TEXT_WIDTH = 6.9  # inches; two-column figures are drawn at the size they are printed


@dataclass(frozen=True)
class Look:
    """How one arm is drawn everywhere: its name for people, colour, marker and line."""

    name: str
    colour: str
    marker: str = "o"
    line: str | tuple[int, tuple[float, ...]] = "-"


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
RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "figure.constrained_layout.use": True,
    "path.simplify": False,
    "svg.hashsalt": "orledger",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}

# Without these, a file would carry the moment it was written and the version that wrote it.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def look(arm: str) -> Look:
    """The look of ``arm``; an arm nobody styled is drawn in grey under its own name."""
    return LOOKS.get(arm, Look(arm, GREY, "o", "-"))


@contextmanager
def house_style() -> Iterator[None]:
    """Everything drawn inside uses the house style and the file backend, whatever the user's configuration says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` to ``path`` (svg, pdf or png by its suffix) with the same bytes every time."""
    suffix = path.suffix.removeprefix(".")
    with mpl.rc_context({"svg.hashsalt": "orledger"}):
        figure.savefig(path, format=suffix, metadata=METADATA[suffix])


def spread(count: int, width: float = 0.3) -> list[float]:
    """``count`` offsets in [-width, width] that keep neighbouring points apart; deterministic, no jitter."""
    if count <= 1:
        return [0.0] * count
    golden = 0.6180339887498949
    return [width * (2 * ((0.5 + i * golden) % 1.0) - 1) for i in range(count)]
