"""Figures: all of them drawn, from full and from empty databases, legible, with the same bytes every time."""

import hashlib
import itertools
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
import synthetic_db
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from orledger.errors import UsageError
from orledger.paper import names
from orledger.paper.figures import b as figures_b
from orledger.paper.figures import c as figures_c
from orledger.paper.figures import certificates as figures_certificates
from orledger.paper.figures import gap as figures_gap
from orledger.paper.figures.a import seed_cv
from orledger.paper.figures.b_width import percent
from orledger.paper.looks import DATASETS, LEVEL_COLOURS, LOOKS, look
from orledger.paper.tables import b as tables_b
from orledger.paper.tables import c as tables_c
from orledger.reports.audit_rows import AuditRows, Citations
from orledger.reports.figures import drawing
from orledger.reports.figures.drawing import declared, draw, select, write_figures
from orledger.reports.figures.figure import Canvas, decade, few, power, sparse
from orledger.reports.figures.style import RED, house_style, save, spread, unset
from orledger.reports.source import Source
from orledger.reports.tables import latex

PAPER = "B Cmech Aprofile Alam2 Aineff Astab Again A Aattain Aladder Awer Amaps Bp Bis Bdecomp Bshift Btriv Babl Bregions C Cfin Cinv"


@pytest.fixture(scope="module")
def full(audited):
    return audited


@pytest.fixture(scope="module")
def drawn_once(full):
    return list(draw(full))


@pytest.fixture
def drawn_figures(drawn_once):
    """All figures, drawn once; they are measured in the style in which they are saved, since ticks are made anew."""
    with house_style():
        yield drawn_once


def points_of(line):
    """The vertices of a line and places between them, in pixels; markers alone have nothing between."""
    at = line.get_transform().transform(np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float))
    if line.get_linestyle() not in ("None", "", " ") and len(at) > 1:
        at = np.concatenate([at[:-1] + t * np.diff(at, axis=0) for t in np.linspace(0, 1, 20)])
    return at


def test_characters_that_the_font_cannot_draw_are_said_once(full, tmp_path, recwarn):
    """Matplotlib would warn once for every glyph and file."""
    canvas = Canvas(full, Citations(AuditRows(full)))
    with house_style():
        (ax,) = canvas.axes()
        ax.set_title("naïve λ \u9ad8\u65af")
        save(canvas.figure, tmp_path / "x.png")
        assert unset(canvas.figure) == {"\u9ad8", "\u65af"}
    assert not [w for w in recwarn if "Glyph" in str(w.message)]


def test_every_figure_of_the_paper_exists():
    assert set(declared()) == set(PAPER.split())


def test_every_figure_is_drawn_from_data_and_says_nothing_is_absent(drawn_figures):
    for drawn in drawn_figures:
        assert drawn.absent == (), drawn.name
        assert drawn.queries
        assert len(drawn.caption) > 40
        marks = sum(len(ax.lines) + len(ax.collections) + len(ax.patches) + len(ax.images) for ax in drawn.figure.axes)
        assert marks > 0, drawn.name


def test_no_legend_lies_over_a_curve_or_a_mark(drawn_figures):
    for drawn in drawn_figures:
        for ax in drawn.figure.axes:
            boxes = [legend.get_window_extent() for legend in drawn.figure.legends]
            boxes += [ax.get_legend().get_window_extent()] if ax.get_legend() else []
            for box in boxes:
                for line in ax.lines:
                    hidden = [p for p in points_of(line) if box.contains(*p) and ax.bbox.contains(*p)]
                    assert not hidden, (drawn.name, ax.get_title(loc="left"), line.get_label())


def test_nothing_written_leaves_the_canvas_or_lies_under_a_legend_beside_the_axes(drawn_figures):
    for drawn in drawn_figures:
        edge = drawn.figure.bbox.padded(1)
        legends = [legend.get_window_extent() for legend in drawn.figure.legends]
        written = [ax.get_tightbbox() for ax in drawn.figure.axes]  # axes with their titles, labels, ticks and texts
        for box in [*legends, *written]:
            assert edge.contains(box.x0, box.y0), drawn.name
            assert edge.contains(box.x1, box.y1), drawn.name
        assert not any(box.overlaps(legend) for box in written for legend in legends), drawn.name
        assert not any(a.overlaps(b) for a, b in itertools.combinations(legends, 2)), drawn.name


def test_level_tick_labels_do_not_touch_each_other(drawn_figures):
    for drawn in drawn_figures:
        for ax in drawn.figure.axes:
            low, high = sorted(ax.get_xlim())
            labels = [t for t in ax.get_xticklabels() if t.get_text() and low <= t.get_position()[0] <= high]
            boxes = [t.get_window_extent() for t in labels if t.get_visible() and t.get_rotation() == 0]
            for left, right in itertools.pairwise(sorted(boxes, key=lambda b: b.x0)):
                assert left.x1 < right.x0, (drawn.name, ax.get_title(loc="left"))


def test_no_label_above_a_bar_runs_into_the_title(drawn_figures):
    for drawn in drawn_figures:
        for ax in drawn.figure.axes:
            title = ax._left_title.get_window_extent()
            for text in ax.texts if ax._left_title.get_text() else []:
                assert not text.get_window_extent().overlaps(title), (drawn.name, text.get_text())


def test_captions_need_no_markup(drawn_figures):
    """A caption is escaped as it stands: it has no underscore or brace, and LaTeX can set each of its characters."""
    for drawn in drawn_figures:
        for text in (drawn.caption, drawn.title):
            assert not set("_{}^$*`\\") & set(text), drawn.name
            assert "[U+" not in latex.escape(text), drawn.name


def test_radius_dispersion_is_the_tables(full):
    """Figure Cmech and Table Ckappa measure along OR-LCB 1x, though the other arms recorded widths of their own."""
    there = {f"{b} {d:g}": v for (b, d), v in tables_c.dispersions(Source(full)).items()}
    here = dict(full.sql(figures_c.DISPERSION).iter_rows())
    assert here == pytest.approx(there, rel=1e-12)
    assert list(here) == list(there)


def test_the_bars_of_the_score_figure_are_those_of_the_table(full):
    """Heights, quartiles and shares of Bis are the medians, quartiles and shares of Barms, on one vertical scale."""
    drawn = next(draw(full, ["Bis"]))
    frame = tables_b.arms_frame(Source(full), ["coverage", "interval_score", "penalty_share"], ("iid", "shift"))
    for ax, regime in zip(drawn.figure.axes, ("iid", "shift"), strict=False):
        part = frame.filter(pl.col("regime") == regime)
        arms = [arm for arm in figures_b.ARMS if arm in set(part["arm"].to_list())]
        here = {arm: part.filter(pl.col("arm") == arm) for arm in arms}
        assert [t.get_text() for t in ax.texts] == [percent(here[a]["penalty_share"].median()) for a in arms]
        tops = [float(bar.get_y() + bar.get_height()) for bar in ax.patches[1::2]]
        assert tops == pytest.approx([here[a]["interval_score"].median() for a in arms], rel=1e-12)
        quartiles = [q for a in arms for q in np.quantile(here[a]["interval_score"].to_numpy(), [0.25, 0.75])]
        assert [float(y) for line in ax.lines for y in line.get_ydata()] == pytest.approx(quartiles, rel=1e-12)
    assert drawn.figure.axes[0].get_ylim() == drawn.figure.axes[1].get_ylim()


def test_the_shares_of_the_budget_add_up_to_one(full):
    panel = next(draw(full, ["Bdecomp"])).figure.axes[2]
    tops = {}
    for bar in panel.patches:
        tops[bar.get_x()] = max(tops.get(bar.get_x(), 0), float(bar.get_y() + bar.get_height()))
    assert list(tops.values()) == pytest.approx([1.0] * len(tops), rel=1e-12)


def test_what_is_not_an_arm_has_no_colour_of_an_arm():
    arms = {drawn.colour for drawn in LOOKS.values()}
    assert not arms & {colour for colour, _ in DATASETS.values()}
    assert not arms & set(LEVEL_COLOURS)
    assert len({colour for colour, _ in DATASETS.values()}) == len(DATASETS)


def test_an_svg_carries_its_words_as_text_with_a_title_and_a_description(full, tmp_path):
    (path,) = write_figures(full, tmp_path, ["aprofile"], ["svg"], width=4.0)  # names in any case
    root = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert path.name == "fig_Aprofile.svg"
    assert root.attrib["width"] == f"{4.0 * 72:g}pt"
    assert root.find(f"{space}title").text == "Aprofile. Accuracy of the rules against noise"
    assert root.find(f"{space}desc").text.startswith("Test RMSE of the solution")
    words = {"".join(t.itertext()) for t in root.iter(f"{space}text")}
    assert {"relative noise", "Morozov", "10⁻³"} <= words


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (1, "1"), (-10, "−10"), (1e3, "10³"), (1e-6, "10⁻⁶")])
def test_ticks_of_logarithmic_axes_are_text(value, text):
    assert decade(value) == text


@pytest.mark.parametrize(("share", "text"), [(0.0, "0%"), (1e-9, "<1%"), (0.0099, "<1%"), (0.27, "27%"), (None, "")])
def test_a_share_that_is_not_zero_is_never_printed_as_zero(share, text):
    assert percent(share) == text


def test_rings_mark_errors_above_the_band_of_their_own_estimator(full):
    """Every ring of Figure A stands on an error, above the band of the same estimator, and none is missing."""
    with house_style():
        canvas = Canvas(full, Citations(AuditRows(full)))
        figures_certificates.draw_slices(canvas)
    data = figures_certificates.first_seed(full.sql(figures_certificates.POINTS))
    rows = data["y"].unique().sort()
    lines = [rows[int((rows - 0.5).abs().arg_min())], rows[0]]
    expected = sorted(
        row[error]
        for row in data.filter(pl.col("y").is_in(lines)).to_dicts()
        for half, error in (("certificate", "error"), ("half", "half_error"), ("gp_half", "gp_error"))
        if row[error] is not None and row[half] is not None and row[error] > row[half]
    )
    rings = [
        value
        for ax in canvas.figure.axes
        for line in ax.lines
        if line.get_markeredgecolor() == RED
        for value in line.get_ydata()
    ]
    assert expected, "the made-up credible band misses somewhere"
    assert sorted(rings) == pytest.approx(expected)


def test_the_foot_of_the_budget_figure_shows_each_part_of_zero_width(full):
    drawn = next(draw(full, ["Bdecomp"]))
    zeros = full.sql(
        "SELECT count(*) AS n FROM record JOIN cell USING (cell_id) WHERE block = 'main' AND state = 'done' AND arm = 'or1' "
        "AND metric = 'w_add' AND label IS NULL AND value = 0"
    )["n"][0]
    assert zeros > 0
    at_foot = sum(len(line.get_xdata()) for line in drawn.figure.axes[1].lines if line.get_marker() == "v")
    assert at_foot == zeros
    assert f"the {zeros} triangles" in drawn.caption


def test_open_and_filled_marks_of_the_gap_task_can_be_told_apart():
    assert all(look(arm).marker in Line2D.filled_markers for arm in figures_gap.ARMS)


def test_every_drawn_arm_carries_its_one_name():
    assert {arm: drawn.name for arm, drawn in LOOKS.items()} == {arm: names.ARMS[arm] for arm in LOOKS}
    assert len(set(names.ARMS.values())) == len(names.ARMS)


@pytest.mark.parametrize(
    ("key", "dim", "text"), [("branin", 2, "Branin-2D"), ("hartmann", 6.0, "Hartmann-6"), ("levy", None, "Levy")]
)
def test_benchmarks_are_named_with_their_dimension(key, dim, text):
    assert names.benchmark(key, dim) == text


def test_pairs_of_rungs_are_named_by_their_multiples():
    assert names.rung_pair("1-5") == "1× ↔ 5×"


def test_an_empty_database_gives_frames_that_say_so():
    empty = synthetic_db.Adapter(synthetic_db.connect())
    for drawn in draw(empty):
        assert drawn.absent, drawn.name


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(full, tmp_path):
    names, suffixes = ["Aprofile", "Amaps", "Cinv"], ["svg", "pdf", "png"]
    sums = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        paths = write_figures(full, folder, names, suffixes)
        assert [p.name for p in paths] == [f"fig_{n}.{suffix}" for n in names for suffix in suffixes]
        sums.append([hashlib.sha256(p.read_bytes()).hexdigest() for p in paths])
    assert sums[0] == sums[1]


def test_every_cell_of_the_inefficiency_figure_is_drawn(full):
    """One mark per noisy cell and deployable rule, none clipped."""
    drawn = next(draw(full, ["Aineff"]))
    cells = full.sql(
        "SELECT count(*) AS n FROM cell WHERE block = 'rules' AND state = 'done' AND keys['level']::DOUBLE > 0"
    )["n"][0]
    points = sum(
        len(line.get_xdata())
        for ax in drawn.figure.axes
        for line in ax.lines
        if line.get_marker() not in ("None", None, "")
    )
    assert points == 5 * cells


def test_unknown_figures_are_refused_with_the_list_of_known_ones(full):
    with pytest.raises(UsageError, match="Aprofile"):
        select(full, ["nonsense"])


def test_seed_dispersion_is_the_sample_coefficient_of_variation():
    frame = pl.DataFrame({"grid": [24] * 3, "level": [0.1] * 3, "rule": ["gcv"] * 3, "rmse": [1.0, 2.0, 3.0]})
    assert seed_cv(frame, ["grid", "level", "rule"])["cv"][0] == pytest.approx(0.5)  # sd 1 (ddof 1) over mean 2


def test_intervals_of_figures_are_those_of_the_audit(full):
    """Cmech and Btriv draw the audit's shares, effects and intervals, and name the rows."""
    rows = AuditRows(full)
    cmech, btriv = draw(full, ["Cmech", "Btriv"])
    shares = {r.effect for r in rows.tests("H4") if r.comparison.startswith("inert-1-2/")}
    drawn = {float(y) for line in cmech.figure.axes[0].lines for y in line.get_ydata()}
    assert shares <= drawn
    effects = {
        r.effect for r in rows.tests("CaseB") if r.comparison.startswith("trivial-score/") and r.variant == "blocked"
    }
    assert len(effects) > 3
    assert effects <= {float(y) for line in btriv.figure.axes[0].lines for y in line.get_ydata()}
    assert all(rows.audit_id[:12] in d.cited for d in (cmech, btriv))
    assert any("test_result" in q for q in cmech.queries)


@pytest.mark.parametrize(("level", "text"), [(0, "σ = 0"), (1e-3, "10⁻³"), (3e-4, "3·10⁻⁴"), (0.01, "10⁻²")])
def test_noise_levels_read_as_powers(level, text):
    assert power(level) == text


def test_spread_keeps_points_apart_and_inside():
    at = np.array(spread(25, 0.3))
    assert len(np.unique(np.round(at, 6))) == 25
    assert np.all(np.abs(at) <= 0.3)


def test_no_two_arms_of_one_case_look_alike():
    for arms in (
        ("released", "morozov", "ml2", "gcv", "lcurve", "oracle"),
        ("dak", "dak_kl", "cp", "ncp", "triv", "or1", "or1_nf", "or1_int", "or2"),
        ("ei", "ucb", "k1", "k2", "k5"),
    ):
        assert len({(LOOKS[a].colour, LOOKS[a].marker) for a in arms}) == len(arms)


def test_ticks_of_an_axis_with_two_signs_are_decades_on_both_sides_and_few():
    assert sparse(-3e5, 2e4, 10.0, 3) == [-1e5, -1e3, -10.0, 0.0, 1e2, 1e4]
    assert sparse(-0.5, 0.5, 1.0, 3) == [0.0]  # nothing reaches the logarithmic part
    assert sparse(-0.5, 100.0, 1.0, 5) == [0.0, 1.0, 10.0, 100.0]


def test_a_narrow_logarithmic_axis_has_two_or_three_ticks_inside_it():
    for low, high in ((0.61, 0.93), (0.08, 2.1), (1.2, 90.0), (0.3, 1.9)):
        ticks = few(low, high)
        assert 2 <= len(ticks) <= 3
        assert all(low <= tick <= high for tick in ticks)


def test_captions_in_markdown_hold_no_markup_of_the_data(tmp_path, monkeypatch):
    """A title from a study.toml and the name of an arm may be anything; names of HTML and Markdown are escaped."""
    title, caption = "<script>1</script>\nnext", "On `d` | *x* [y](javascript:z) ${{1}}$ <img src=x>"
    drawn = SimpleNamespace(figure=Figure(), name="fig", title=title, caption=caption, cited="")
    monkeypatch.setattr(drawing, "draw", lambda *_, **__: [drawn])
    write_figures(None, tmp_path, formats=[])
    assert (tmp_path / "captions.md").read_text(encoding="utf-8") == (
        "**fig. &lt;script&gt;1&lt;/script&gt; next.**"
        r" On \`d\` \| \*x\* \[y\](javascript:z) \$\{\{1\}\}\$ &lt;img src=x&gt;"
        "\n"
    )
