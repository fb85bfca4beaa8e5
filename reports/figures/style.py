"""One restrained style for every figure: colour-blind safe, readable in print, the same bytes every time."""

from __future__ import annotations

import html
import io
import re
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl

from orledger.reports.figures.compact import compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
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
PALE = "#C4C4C4"  # what is there, and not to be told apart
TEXT_WIDTH = 6.9  # inches; two-column figures are drawn at the size they are printed
COLUMN_WIDTH = 3.35  # one column of the usual two-column templates


@dataclass(frozen=True)
class Look:
    """How one arm is drawn everywhere: its name for people, colour, marker and line."""

    name: str
    colour: str
    marker: str = "o"
    line: str | tuple[int, tuple[float, ...]] = "-"


RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"],  # the first is drawn with; an SVG names all
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # titles stand on the axes; finding room above ticks at the top, which no figure has, costs a tenth of the time
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
    "svg.fonttype": "none",  # text stays text: it can be searched, selected and read aloud
    "pdf.fonttype": 42,
}

# Without these, a file would carry the moment it was written and the version that wrote it.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


# For arms that nobody styled, in the order in which they come.
CYCLE = (BLUE, ORANGE, GREEN, RED, PINK, SKY, VIOLET, BLACK, GREY)
MARKERS = "os^Dv<>Ph*"


def looks(arms: Iterable[str], labels: Mapping[str, str] | None = None) -> dict[str, Look]:
    """A look for each of ``arms`` in their order, told apart by colour and marker, under the names that ``labels`` give."""
    names = labels or {}
    return {
        arm: Look(
            names.get(arm, arm), CYCLE[i % len(CYCLE)], MARKERS[i % len(MARKERS)], "-" if i < len(CYCLE) else "--"
        )
        for i, arm in enumerate(arms)
    }


# What a figure is for changes its sizes, never its colours or its data.
STYLES: dict[str, dict[str, Any]] = {
    "print": {},
    "talk": {
        "font.size": 10, "axes.titlesize": 11, "axes.labelsize": 10.5, "legend.fontsize": 9.5, "legend.title_fontsize": 9.5,
        "xtick.labelsize": 9.5, "ytick.labelsize": 9.5, "lines.linewidth": 2.0, "lines.markersize": 6,
    },
    "plain": {"axes.grid": False},
}  # fmt: skip


@contextmanager
def house_style(style: str = "print") -> Iterator[None]:
    """Everything drawn inside uses the house style and the file backend, whatever the user's configuration says."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", r"Glyph \d+ .* missing from font"
        )  # once per glyph and file; ``unset`` says it once
        mpl.rcdefaults()
        mpl.rcParams.update(cast(Any, RC | STYLES[style]))  # the types list every setting by name
        yield


def save(figure: Figure, path: Path, *, title: str = "", description: str = "", dpi: float | None = None) -> None:
    """Write ``figure`` to ``path`` (svg, pdf or png by its suffix) with the same bytes every time.

    ``title`` and ``description`` go into the file: as the accessible name of an SVG, as metadata of the others.
    """
    suffix = path.suffix.removeprefix(".")
    if suffix == "svg":
        path.write_bytes(svg(figure, title, description))
        return
    named = {"Title": title, "Subject" if suffix == "pdf" else "Description": description}
    metadata = METADATA[suffix] | {k: v for k, v in named.items() if v}
    with laid_out(), outlines_only() if suffix == "pdf" else nullcontext():
        # In memory first: when a disk fills up, matplotlib's PDF writer fails once more and hides the reason.
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=metadata, dpi=dpi or mpl.rcParams["savefig.dpi"])
    path.write_bytes(buffer.getvalue())


def unset(figure: Figure) -> set[str]:
    """The characters in texts of ``figure`` that its font cannot draw: boxes in a PNG or PDF; a browser finds other fonts for an SVG."""
    from matplotlib.font_manager import findfont, get_font
    from matplotlib.text import Text

    texts = [t for t in figure.findobj(Text) if isinstance(t, Text) and t.get_text()]
    used = {c for t in texts for c in t.get_text() if not c.isascii()}
    if not used:
        return set()
    return {c for c in used if ord(c) not in get_font(findfont(texts[0].get_fontproperties())).get_charmap()}


@contextmanager
def laid_out() -> Iterator[None]:
    """A figure that gives up its layout engine, or has none, inside has none afterwards.

    After saving, the library puts back what the settings say: with a layout in them every later file would be drawn twice.
    """
    with mpl.rc_context({"figure.constrained_layout.use": False, "figure.autolayout": False}):
        yield


@contextmanager
def outlines_only() -> Iterator[None]:
    """Fonts are embedded without the tables that lay text out: a PDF places every glyph itself.

    Cutting those tables to the glyphs of a figure takes more time than drawing it.
    """
    from fontTools.subset import Options

    usual: list[str] = getattr(Options, "_drop_tables_default", [])
    kept = list(usual)
    usual += ["GSUB", "GPOS", "GDEF", "kern"]
    try:
        yield
    finally:
        usual[:] = kept


def svg(figure: Figure, title: str, description: str) -> bytes:
    """The figure as SVG with its text as text, and with a title and a description for screen readers."""
    buffer = io.BytesIO()
    with laid_out(), mpl.rc_context({"svg.hashsalt": "orledger"}):
        figure.savefig(buffer, format="svg", metadata=METADATA["svg"])
    text = compact(buffer.getvalue().decode("utf-8"))
    said = f"<title>{_xml(title)}</title>\n <desc>{_xml(description)}</desc>"
    opened = re.sub(r"(<svg\b)([^>]*>)", lambda m: f'{m[1]} role="img"{m[2]}\n {said}', text, count=1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{opened}\n'.encode()


def _xml(text: str) -> str:
    """``text`` as XML content; characters that XML does not know become spaces."""
    return html.escape("".join(c if c.isprintable() else " " for c in text), quote=False)


def spread(count: int, width: float = 0.3) -> list[float]:
    """``count`` offsets in [-width, width] that keep neighbouring points apart; deterministic, no jitter."""
    if count <= 1:
        return [0.0] * count
    golden = 0.6180339887498949
    return [width * (2 * ((0.5 + i * golden) % 1.0) - 1) for i in range(count)]
