"""Figures: all of them drawn, from full and from empty databases, with the same bytes every time."""

import hashlib

import numpy as np
import polars as pl
import pytest
import synthetic_db

from orledger.errors import UsageError
from orledger.reports.figure import power
from orledger.reports.figures import FIGURES, chosen, draw, write_figures
from orledger.reports.figures_a import seed_cv
from orledger.reports.figures_c import identity
from orledger.reports.style import LOOKS, spread

PAPER = "B Cmech Aprofile Alam2 Aineff Astab Again A Aattain Aladder Awer Amaps Bp Bis Bdecomp Bshift Btriv Babl Bregions C Cfin Cinv"


@pytest.fixture(scope="module")
def full(synthetic):
    return synthetic


def test_every_figure_of_the_paper_exists():
    assert set(FIGURES) == set(PAPER.split())


def test_every_figure_is_drawn_from_data_and_says_nothing_is_absent(full):
    for drawn in draw(full):
        assert drawn.absent == (), drawn.name
        assert drawn.queries
        assert len(drawn.caption) > 40
        marks = sum(len(ax.lines) + len(ax.collections) + len(ax.patches) + len(ax.images) for ax in drawn.figure.axes)
        assert marks > 0, drawn.name


def test_an_empty_database_gives_frames_that_say_so():
    empty = synthetic_db.Adapter(synthetic_db.connect())
    for drawn in draw(empty):
        assert drawn.absent, drawn.name


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_two_builds_give_the_same_bytes(full, tmp_path, suffix):
    names = ["Aprofile", "Amaps", "Cinv"]
    sums = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        paths = write_figures(full, folder, names, [suffix])
        assert [p.name for p in paths] == [f"fig_{n}.{suffix}" for n in names]
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


def test_unknown_figures_are_refused_with_the_list_of_known_ones():
    with pytest.raises(UsageError, match="Aprofile"):
        chosen(["nonsense"])


def test_seed_dispersion_is_the_sample_coefficient_of_variation():
    frame = pl.DataFrame({"grid": [24] * 3, "level": [0.1] * 3, "rule": ["gcv"] * 3, "rmse": [1.0, 2.0, 3.0]})
    assert seed_cv(frame, ["grid", "level", "rule"])["cv"][0] == pytest.approx(0.5)  # sd 1 (ddof 1) over mean 2


def test_identity_counts_whole_paths():
    paths = pl.DataFrame(
        {
            "benchmark": ["f"] * 6,
            "seed": [0, 0, 0, 1, 1, 1],
            "arm": ["k1", "k2", "k5"] * 2,
            "path": [[1, 2], [1, 2], [1, 3], [4, 5], [4, 5], [4, 5]],
        }
    )
    counts = {row["pair"]: (row["k"], row["n"]) for row in identity(paths).to_dicts()}
    assert counts == {"1-2": (2, 2), "2-5": (1, 2), "1-5": (1, 2)}


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
