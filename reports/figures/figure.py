"""What a figure is: a name, a caption, the queries behind it, and a function that draws it from the database."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from orledger.reports.audit_rows import AuditRows, Citations
from orledger.reports.figures.style import GREY, TEXT_WIDTH, laid_out
from orledger.reports.figures.ticking import keep_ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl
    from matplotlib.axes import Axes

    from orledger.reports.audit_rows import TestRow
    from orledger.reports.source import Database


MANY_DECADES = 1e5  # beyond this, ticks between the decades are a grey bar
NARROW = 1.4  # inches; a narrower panel has room for three labels below it
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass
class Canvas:
    """A figure in the making: it runs the queries and remembers them, so that what is drawn can be traced."""

    db: Database
    cited: Citations
    figure: Figure = field(default_factory=Figure)
    queries: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    width: float = TEXT_WIDTH

    def rows(self, query: str, params: Any = None) -> pl.DataFrame:
        """The rows of ``query``, which is kept for the caption's provenance."""
        text = query.strip()
        if text not in self.queries:
            self.queries.append(text)
        return self.db.sql(query, params)

    def test(self, address: str) -> TestRow | None:
        """The row of the newest audit at ``address``, which the figure then cites; None, and a remark, where there is none."""
        return self.cited.test(address)

    def axes(self, rows: int = 1, columns: int = 1, *, height: float | None = None, **options: Any) -> list[Axes]:
        """``rows`` x ``columns`` axes as a flat list, on a canvas ``height`` inches tall."""
        self.figure.set_size_inches(self.width, 2.6 if height is None else height)
        return list(self.figure.subplots(rows, columns, squeeze=False, **options).ravel())

    def nothing(self, axes: Axes, why: str) -> None:
        """Say on the axes that there is nothing to draw, and why; an empty frame would look like a result."""
        self.absent.append(why)
        axes.set_axis_off()
        axes.text(0.5, 0.5, why, ha="center", va="center", color=GREY, fontsize=8, wrap=True, transform=axes.transAxes)


@dataclass(frozen=True)
class Drawn:
    """A finished figure with its caption and provenance."""

    name: str
    title: str
    caption: str
    figure: Figure
    queries: tuple[str, ...]
    absent: tuple[str, ...]
    case: str | None = None
    cited: str = ""  # which rows of the audit it draws, for a caption that stands alone
    generic: bool = False

    @property
    def heading(self) -> str:
        """Name and title; the title alone of a figure that was made for any study, whose name is one for files."""
        return self.title if self.generic else f"{self.name}. {self.title}"


@dataclass(frozen=True)
class FigureSpec:
    """A figure of a study: ``draw(canvas)`` draws it and returns its caption; ``case`` is the heading it stands under."""

    name: str
    case: str | None
    title: str
    draw: Callable[[Canvas], str]
    generic: bool = False

    def render(self, db: Database, audit: AuditRows | None = None, width: float = TEXT_WIDTH) -> Drawn:
        """The figure drawn from ``db``, ``width`` inches wide; ``audit`` are its audit's rows, where several figures read them once."""
        canvas = Canvas(db, Citations(audit or AuditRows(db)), width=width)
        caption = " ".join(text for text in (self.draw(canvas), canvas.cited.warning()) if text)
        tidy(canvas.figure)
        settle(canvas.figure)
        queries = (*canvas.queries, *canvas.cited.queries())
        return Drawn(
            self.name, self.title, caption, canvas.figure, queries, tuple(canvas.absent), self.case, canvas.cited.note(), self.generic
        )  # fmt: skip


def tidy(figure: Figure) -> None:
    """Write powers as text: 10⁻³ on logarithmic axes, plain numbers (0.2, 0.5, 1) where they span less than two decades.

    The library would set formulas, which readers of a file cannot search and which take longer than all curves to lay out.
    """
    for ax in figure.axes:
        for axis, limits, scale in (
            (ax.xaxis, ax.get_xlim(), ax.get_xscale()),
            (ax.yaxis, ax.get_ylim(), ax.get_yscale()),
        ):
            low, high = sorted(limits)
            if scale not in ("log", "symlog"):
                continue
            if scale == "log" and low > 0 and high / low < 100:
                narrow = axis is ax.xaxis and ax.get_position().width * figure.get_figwidth() < NARROW
                subs = (1.0, 2.0, 5.0) if high / low > 5 else tuple(range(1, 10))
                axis.set_major_locator(FixedLocator(few(low, high)) if narrow else LogLocator(subs=subs, numticks=20))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            else:
                axis.set_major_formatter(FuncFormatter(lambda value, _: decade(value)))
            axis.set_minor_formatter(NullFormatter())
            if scale == "symlog":
                threshold = axis.get_transform().linthresh  # type: ignore[attr-defined]
                axis.set_major_locator(FixedLocator(sparse(low, high, threshold, 3 if axis is ax.xaxis else 5)))
            if scale == "log" and low > 0 and high / low > MANY_DECADES:
                axis.set_minor_locator(NullLocator())


def few(low: float, high: float) -> list[float]:
    """At most three ticks of a logarithmic axis of less than two decades: among 1, 2, 5 and their decades, or all digits where these are too few."""
    ends = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), range(1, 10)):
        ticks = [d * 10.0**k for k in ends for d in digits if low <= d * 10.0**k <= high]
        if len(ticks) > 1:
            break
    return ticks[:: -(-len(ticks) // 3)] if ticks else []


def sparse(low: float, high: float, threshold: float, most: int) -> list[float]:
    """Ticks of an axis that is linear to ``threshold`` and logarithmic beyond: zero, and at most ``most`` decades on a side."""
    ticks = [0.0]
    for sign, end in ((-1.0, -low), (1.0, high)):
        if end > threshold:
            first, last = math.ceil(math.log10(threshold) - 1e-9), math.floor(math.log10(end) + 1e-9)
            step = max(1, -(-(last - first + 1) // most))
            ticks += [sign * 10.0**k for k in range(last, first - 1, -step)]
    return sorted(ticks)


def decade(value: float) -> str:
    """A tick of a logarithmic axis: 0, 1, −10, 10³, 10⁻⁶."""
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", abs(value)
    exponent = round(math.log10(size))
    if exponent in (0, 1):
        return f"{sign}{10**exponent}"
    return f"{sign}10{str(exponent).translate(SUPERSCRIPT)}"


def settle(figure: Figure) -> None:
    """Lay the axes out once and keep them there, to a ten-thousandth of the canvas.

    The layout engine's solver may differ in the last bits from one run to the next, and files would then differ too.
    """
    keep_ticks(figure)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    with laid_out():
        figure.set_layout_engine(None)  # with none at all, saving draws once instead of twice
    for ax in figure.axes:
        left, bottom, width, height = (round(float(v), 4) for v in ax.get_position(original=True).bounds)
        ax.set_position((left, bottom, width, height))


def letter(axes: list[Axes], pad: float | None = None) -> None:
    """Put (a), (b), ... before the titles of ``axes``, ``pad`` points above them."""
    for index, ax in enumerate(axes):
        title = ax.get_title(loc="left")
        ax.set_title(f"({chr(97 + index)}) {title}".rstrip(), loc="left", pad=pad)


def words(texts: Iterable[str]) -> str:
    """The distinct texts as a phrase."""
    return " or ".join(dict.fromkeys(t for t in texts if t)) or "not known"


def power(level: float) -> str:
    """A noise level for an axis or legend: 0, 10⁻³, 3·10⁻⁴."""
    if level == 0:
        return "σ = 0"
    exponent = 0
    mantissa = level
    while mantissa < 1 - 1e-9:
        mantissa *= 10
        exponent -= 1
    digits = str(exponent).translate(SUPERSCRIPT)
    return f"10{digits}" if round(mantissa, 6) == 1 else f"{mantissa:.3g}·10{digits}"
