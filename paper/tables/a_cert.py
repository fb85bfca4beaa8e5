"""Table Acert: what the certificates of Case A promise and keep, per noise level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from orledger.paper import symbols as sym
from orledger.paper.prose import prose
from orledger.paper.tables.a import once_without_noise
from orledger.reports.tables import format as rules
from orledger.reports.tables import summaries as s
from orledger.reports.tables.building import table
from orledger.reports.tables.table import TIGHT, Column, Group, PrintSize, Row, Table
from orledger.reports.tables.values import Absent, Blank, Count, Number, Range, Text, Value, bracketed, join
from orledger.schema.frames import as_number
from orledger.schema.selecting import Selection

if TYPE_CHECKING:
    from orledger.reports.origin import Sample
    from orledger.reports.source import Source

KEYS = ["grid", "level", "seed"]
DELIVERED = 1.05  # the rung of the ladder that the protocol delivers


@dataclass(frozen=True)
class Certificates:
    """The certificate block in memory: one row per cell and point for each arm, and one row per cell."""

    points: pl.DataFrame
    certificates: pl.DataFrame
    conditional: pl.DataFrame
    band: pl.DataFrame
    cells: pl.DataFrame
    levels: list[float]
    source: Source

    def why(self, arm: str, metric: str, level: float, label: str | None = None) -> s.Why:
        """Why an arm has no such metric at a noise level."""
        return self.source.why("a", "certificates", arm, metric, label, keys={"level": level})

    def at(self, frame: pl.DataFrame, level: float) -> pl.DataFrame:
        """The rows of one noise level."""
        return frame.filter(pl.col("level") == level)

    def exact(self, part: pl.DataFrame) -> pl.DataFrame:
        """The global certificates at the cells and points of ``part``."""
        reference = self.certificates.filter(pl.col("label").is_null())
        return reference.join(part, on=["cell_id", "idx"], how="semi")


def load(source: Source) -> Certificates:
    """Everything the two tables need, joined to the error of the delivered estimate."""

    def points(arm: str, metrics: list[str]) -> pl.DataFrame:
        return once_without_noise(source.rows(Selection("a", "certificates", [arm], metrics, KEYS, indexed=True)))

    delivered = source.need(points("point", ["error"]), "finished cells of a/certificates")
    errors = delivered.select("cell_id", "idx", pl.col("error").alias("delivered_error"))
    certificates = points("global", ["radius", "certificate"]).join(errors, on=["cell_id", "idx"])
    conditional = points("conditional", ["half", "error"]).with_columns(
        pl.col("label").str.extract(r"m=([0-9.]+)").cast(pl.Float64).alias("m")
    )
    reference = certificates.filter(pl.col("label").is_null()).select("cell_id", "idx", "certificate")
    conditional = conditional.drop_nulls(["m", "half", "error"]).join(reference, on=["cell_id", "idx"], how="left")
    metrics = ["rho_oc", "eps_hat", "delta_num", "noise_exceeds_eta"]
    cells = once_without_noise(source.rows(Selection("a", "certificates", ["cell"], metrics, KEYS)))
    levels = sorted(delivered["level"].unique().to_list())
    return Certificates(
        delivered, certificates, conditional, points("gp_band", ["half", "error"]), cells, levels, source
    )


def by_seed(frame: pl.DataFrame, value: pl.Expr, rows: pl.DataFrame | None = None) -> Sample:
    """The median over points of ``value`` in every cell, one number per seed; ``rows`` hold its records where ``frame`` does not."""
    medians = s.values(frame.group_by("cell_id", maintain_order=True).agg(value.median().alias("v")), "v")
    return s.known_sample(medians, frame if rows is None else rows, *value.meta.root_names())


def seed_median(sample: np.ndarray, style: rules.Style, reason: s.Why, *, brackets: bool = False) -> Value:
    """The median over seeds, followed by the range over seeds where it shows in the digits printed."""
    if not sample.size:
        return s.absent(reason)
    mid = Number(float(np.median(sample)), style).of(sample)
    low, high = float(sample.min()), float(sample.max())
    plain = rules.Style(style.kind, style.digits)
    if not brackets or rules.digits(low, plain) == rules.digits(high, plain):
        return mid
    return join(mid, " ", Range(low, high, plain, what=("min", "max")), names=("", ""))


def tightening(block: Certificates, part: pl.DataFrame) -> np.ndarray:
    """The global certificate over the conditional half-width, one ratio per seed that has both."""
    certified = part.drop_nulls("certificate")
    return by_seed(certified, pl.col("certificate"), block.exact(certified)) / by_seed(certified, pl.col("half"))


def over(first: pl.DataFrame, second: pl.DataFrame) -> np.ndarray:
    """The half-width in ``first`` over that in ``second``, one ratio per seed that has both."""
    shared = [f.join(g, on="cell_id", how="semi") for f, g in ((first, second), (second, first))]
    return by_seed(shared[0], pl.col("half")) / by_seed(shared[1], pl.col("half"))


def premium(part: pl.DataFrame) -> np.ndarray:
    """Half-width over error at every point whose error is not zero, as the median per seed."""
    return by_seed(part.filter(pl.col("error") > 0), pl.col("half") / pl.col("error"))


@table("Acert", "Case A: certificates", case="a")
def table_acert(source: Source) -> Table:
    """Table Acert: radii, coverage, attainment, widths and the Bayesian comparator, one column per noise level."""
    block = load(source)
    columns = (
        Column("quantity", Text("quantity"), "l"),
        *(Column(f"rel {lv:g}", level_header(lv), "r") for lv in block.levels),
    )
    sections: list[dict[str, tuple[Value, list[Value]]]] = [{}, {}, {}, {}]
    for lv in block.levels:
        row = source.test(f"H2/global-coverage/{lv}")
        for target, column in zip(sections, certificate_column(block, lv, row), strict=True):
            for key, (label, cell) in column.items():
                target.setdefault(key, (label, []))[1].append(cell)
    groups = tuple(Group(tuple(Row(k, (label, *cells)) for k, (label, cells) in part.items())) for part in sections)
    points = block.points["idx"].n_unique()
    caption = prose(
        """Certificates of Case A per noise level. Coverage is of the true solution at {{ points }} evaluation points per seed; widths are
        medians over points and then over seeds, brackets the range over seeds. {{ sym.m_def }} is the inflation of the ball;
        {{ sym.rho_oc }} keeps the boundary rows exact and anchors the conditional band (with exact data it is the norm of the
        interpolant, in closed form; with noise the root of the misfit), {{ sym.eps_hat }} puts all rows inside the budget
        and anchors the global certificate. The guarantee speaks about draws whose noise stays inside {{ sym.eta }}: the second row counts
        the others. Without noise a cell does not depend on its seed: it is one computation and counts once. Points of one cell are
        not independent: coverage bounds are descriptive.""",
        points=points,
    )  # fmt: skip
    return Table(caption, columns, groups, layout=PrintSize() if len(block.levels) < 3 else TIGHT)


def level_header(level: float) -> Value:
    """The name of a noise level as a column header."""
    return sym.SIGMA_ZERO if level == 0 else join("rel. ", s.power_of_ten(level))


def certificate_column(
    block: Certificates, level: float, covered: s.Cited
) -> tuple[dict[str, tuple[Value, Value]], ...]:
    """The four groups of rows of one noise level: scope and radii, validity and attainment, widths, the Bayesian band.

    ``covered`` is the audit's count of points inside the certificate, with its one-sided bound.
    """
    cells, certs = block.at(block.cells, level), block.at(block.certificates, level)
    exact, grid = (certs.filter(pl.col("label").is_null()), certs.filter(pl.col("label") == "grid97"))
    cond = block.at(block.conditional, level)
    rung, band = cond.filter(pl.col("m") == DELIVERED), block.at(block.band, level)
    delivered = block.at(block.points, level)
    seeds = delivered["cell_id"].n_unique()
    rho, eps = s.values(cells, "rho_oc"), s.values(cells, "eps_hat")
    both_radii = cells.drop_nulls(["rho_oc", "eps_hat"])
    apart = s.values(both_radii.with_columns(((pl.col("eps_hat") - pl.col("rho_oc")).abs() / pl.col("eps_hat")).alias("v")), "v", "eps_hat", "rho_oc")  # fmt: skip
    scope: dict[str, tuple[Value, Value]] = {
        "cells": (
            Text("seeds × points"),
            join(
                Number(seeds, rules.INTEGER),
                " × ",
                Number(delivered.height / seeds, rules.INTEGER),
                names=("seeds", "points"),
            ).of_records(delivered, "error"),
        ),
        "outside": (Text("noise draws outside the budget"), s.count(s.values(cells, "noise_exceeds_eta"))),
        "rho oc": (sym.RHO_OC, seed_median(rho, rules.significant(5), block.why("cell", "rho_oc", level))),
        "rho source": (
            join("\u00a0\u00a0\u00a0source of ", sym.RHO_OC),
            Text("closed form" if level == 0 else "root of the misfit"),
        ),
        "eps hat": (sym.EPS_HAT, seed_median(eps, rules.significant(5), block.why("cell", "eps_hat", level))),
        "radii": (
            sym.RADII_GAP,
            s.median(
                apart,
                rules.percent(3).bound(),
                block.why("cell", "eps_hat" if eps.size < rho.size else "rho_oc", level),
            ),
        ),
    }
    missed = int((exact["delivered_error"] > exact["certificate"]).sum())
    n = exact.height
    no_certificate = block.why("global", "certificate", level)
    no_grid = block.why("global", "certificate", level, "grid97")
    no_half, no_band = block.why("conditional", "half", level), block.why("gp_band", "half", level)
    no_delta = block.why("cell", "delta_num", level)
    both = (
        Blank()
        .of_records(exact, "certificate")
        .of_records(delivered.join(exact, on=["cell_id", "idx"], how="semi"), "error")
    )
    bound = (
        covered
        if isinstance(covered, Absent)
        else s.number(covered.low, rules.fixed(4), covered.why_absent).of(covered)
    )
    cert_median = by_seed(exact, pl.col("certificate"))
    delta = s.values(cells, "delta_num")
    share = float(np.median(delta) / np.median(cert_median)) if delta.size and cert_median.size else None
    validity: dict[str, tuple[Value, Value]] = {
        "coverage": (
            Text("coverage without slack (misses)"),
            bracketed(
                s.number(1 - missed / n if n else None, rules.fixed(4), no_certificate), Count(missed, n), "misses"
            ).of(both),
        ),
        "bound": (Text("one-sided 95% lower bound"), bound),
        "margin": (
            sym.WORST_MARGIN,
            s.number(
                as_number((exact["delivered_error"] - exact["certificate"]).max()), rules.scientific(3), no_certificate
            ).of(both),
        ),
        "delta": (
            join(sym.DELTA_NUM, " (share of median certificate)"),
            bracketed(
                s.median(delta, rules.scientific(3), no_delta),
                s.number(share, rules.percent(4).bound(), no_certificate if delta.size else no_delta).of(
                    delta, cert_median
                ),
                "share",
            ),
        ),
        "attainment": (join("attainment ", sym.ATTAIN, ", median"), attainment(exact, "median", no_certificate)),
        "attainment iqr": (
            Text("\u00a0\u00a0\u00a0quartiles over points"),
            attainment(exact, "quartiles", no_certificate),
        ),
        "attainment worst": (Text("\u00a0\u00a0\u00a0worst point"), attainment(exact, "worst", no_certificate)),
        "attainment grid": (Text("\u00a0\u00a0\u00a097-point grid: median"), attainment(grid, "median", no_grid)),
        "attainment grid iqr": (
            Text("\u00a0\u00a0\u00a097-point grid: quartiles"),
            attainment(grid, "quartiles", no_grid),
        ),
        "attainment grid worst": (
            Text("\u00a0\u00a0\u00a097-point grid: worst point"),
            attainment(grid, "worst", no_grid),
        ),
    }
    half = by_seed(rung, pl.col("half"))
    no_rung = block.why("conditional", "half", level, f"m={DELIVERED}")
    rungs = cond.select("cell_id", "m").unique().height
    all_rungs = block.conditional["m"].n_unique() * seeds
    widths: dict[str, tuple[Value, Value]] = {
        "global": (Text("median global certificate"), seed_median(cert_median, rules.significant(4), no_certificate)),
        "conditional": (
            join("median conditional half-width, ", sym.M, f" = {DELIVERED}"),
            seed_median(half, rules.significant(4), no_rung),
        ),
        "conditional coverage": (
            Text("conditional coverage, all rungs"),
            s.number(as_number((cond["error"] <= cond["half"]).mean()), rules.fixed(4), no_half).of_records(
                cond, "half", "error"
            ),
        ),
        "refused": (
            Text("rungs without an interval"),
            Count(all_rungs - rungs, all_rungs).of_records(block.conditional, "half").of_records(cells, "rho_oc"),
        ),
        "tightening": (
            Text("tightening, global over conditional"),
            seed_median(
                tightening(block, rung),
                rules.significant(4).times(),
                no_certificate if half.size else no_rung,
                brackets=True,
            ),
        ),
        "premium": (
            join("width over error, ", sym.M, f" = {DELIVERED}"),
            seed_median(premium(rung), rules.significant(3).times(), no_rung, brackets=True),
        ),
    }
    inside = band["error"] <= band["half"]
    gp = by_seed(band, pl.col("half"))
    bayes: dict[str, tuple[Value, Value]] = {
        "gp coverage": (
            Text("GP credible band: coverage"),
            bracketed(
                s.number(as_number(inside.mean()), rules.fixed(4), no_band),
                Count(int(inside.sum()), band.height),
                "inside",
            ).of_records(band, "half", "error"),
        ),
        "gp width": (Text("GP credible band: median half-width"), seed_median(gp, rules.significant(4), no_band)),
        "gp ratio": (
            Text("GP over conditional half-width"),
            seed_median(
                over(band, rung),
                rules.significant(3).times(),
                no_rung if gp.size else no_band,
            ),
        ),
    }
    return scope, validity, widths, bayes


def attainment(frame: pl.DataFrame, which: str, why: s.Why) -> Value:
    """Certificate over radius, over all points and seeds: the median, the quartiles, or the worst value."""
    ratio = (frame["certificate"] / frame["radius"]).drop_nulls().to_numpy()
    if not ratio.size:
        return s.absent(why)
    shown: Value = Number(float(np.median(ratio) if which == "median" else ratio.min()), rules.fixed(6))
    if which == "quartiles":
        low, high = np.quantile(ratio, [0.25, 0.75])
        shown = Range(float(low), float(high), rules.fixed(6), what=("q1", "q3"))
    return shown.of_records(frame, "certificate", "radius")
