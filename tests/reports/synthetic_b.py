"""Case B of the made-up database: audit, main, ablation and gap."""

from __future__ import annotations

import numpy as np
from synthetic_store import Store, rng

from orledger.runners.cells import Cell
from orledger.runners.records import CellResult

# name: rows, features, target, distinct targets, R2 in file order, R2 shuffled
DATASETS = {
    "diabetes": (442, 10, "target", 214, 0.42, 0.43),
    "concrete": (1030, 8, "strength", 938, 0.34, 0.91),
    "energy": (768, 8, "heating_load", 587, 0.965, 0.998),
    "yacht": (308, 6, "Residuary.resistance", 258, 0.995, 0.994),
    "california": (1500, 8, "target", 1101, 0.74, 0.76),
}


def case_b(store: Store, *, seeds: int, points: int, gap_seeds: int, datasets: tuple[str, ...]) -> None:
    """Blocks audit, main, ablation and gap."""
    for name in datasets:
        n, d, target, distinct, r2, shuffled = DATASETS[name]
        result = CellResult()
        for metric, label, v in (
            ("r2", "file_order", r2),
            ("r2", "shuffled", shuffled),
            ("n", None, n),
            ("d", None, d),
            ("distinct", None, distinct),
            ("passed", None, 1),
        ):
            result.scalar("rf", metric, v, label=label)
        result.datasets.append(
            {
                "name": name,
                "origin": f"folder:{name}.csv",
                "n_rows": n,
                "n_features": d,
                "target": target,
                "distinct_targets": distinct,
                "sha256": "0" * 64,
            }
        )
        store.add(Cell("b", "audit", {"dataset": name}), result)
        rels = (0.0, 0.1, 0.25, 0.5) if name == "diabetes" else (0.0, 0.25)
        for regime in ("iid", "shift"):
            for seed in range(seeds):
                for rel in rels:
                    store.add(
                        Cell("b", "main", {"dataset": name, "regime": regime, "seed": seed, "rel": rel}),
                        b_main(name, regime, seed, rel, points),
                    )
        if name != "california":
            for seed in range(seeds):
                for rel in rels:
                    store.add(
                        Cell("b", "ablation", {"dataset": name, "seed": seed, "rel": rel}), b_ablation(name, seed, rel)
                    )
    if "diabetes" in datasets:
        store.add(
            Cell("b", "main", {"dataset": "diabetes", "regime": "shiftcol", "seed": 0, "rel": 0.0}),
            b_main("diabetes", "shiftcol", 0, 0.0, points),
        )
    for scale in ("frozen", "train", "mixed"):
        for seed in range(gap_seeds):
            store.add(Cell("b", "gap", {"seed": seed, "scale": scale}), b_gap(seed, scale))


def b_main(name: str, regime: str, seed: int, rel: float, points: int) -> CellResult:
    """One cell of the main block: all arms, point by point, scores computed from the points."""
    result, g = CellResult(), rng("main", name, regime, seed, rel)
    total, *_, r2, _ = DATASETS[name]
    n_train = int((0.8 if regime == "iid" else 0.7) * total)
    n_cal = max(8, n_train // 4)
    k = min(n_cal - 1, -(-95 * (n_cal + 1) // 100) - 1)
    shifted = regime != "iid"
    y = g.standard_normal(points) * (0.8 if shifted else 1.0)
    noise = np.sqrt(1 - r2) + 0.2 * rel
    centre = y + noise * g.standard_normal(points) * (1.4 if shifted else 1.0)
    sigma = 0.6 * noise + 0.1
    refused = (name, regime, seed, rel) == ("diabetes", "shift", 0, 0.5) or regime == "shiftcol"
    w_int = 0.5 * noise * np.exp(0.6 * g.standard_normal(points)) * (2.0 if shifted else 1.0)
    if shifted and name in ("california", "diabetes"):
        w_int[: 1 + seed] *= 300.0
    q_add = 0.0 if r2 > 0.9 and rel == 0 else 1.6 * noise
    q = 2.0 * noise
    halves = {
        "dak": np.full(points, 1.2 * noise),
        "dak_kl": np.full(points, 1.3 * noise),
        "cp": np.full(points, q),
        "ncp": q * np.exp(0.02 * g.standard_normal(points)),
        "triv": np.full(points, 2.0),
    }
    if not refused:
        halves |= {"or1": w_int + q_add + 1.96 * sigma, "or1_nf": w_int + 1.96 * sigma, "or1_int": w_int}
    if name == "diabetes":
        halves |= {"or2": np.full(points, 1.1 * noise), "or2_oracle": np.full(points, 1.4 * noise)}
    for arm, half in halves.items():
        mid = np.zeros(points) if arm == "triv" else centre
        band_metrics(result, arm, y, mid, half)
        result.series(arm, "center", mid)
        result.series(arm, "half", half)
        if arm in ("cp", "ncp", "triv"):
            result.scalar(arm, "level_achieved", (k + 1) / (n_cal + 1))
            result.scalar(arm, "level_recorded", n_cal / (n_cal + 1))
            result.scalar(arm, "q", 2.0 if arm == "triv" else q)
    result.series("truth", "y", y)
    if refused:
        for arm in ("or1", "or1_nf", "or1_int"):
            result.refuse(
                arm, "the noise budget is below the best achievable misfit; the consistent set is empty", -0.487
            )
    else:
        over = int(np.sum(w_int > 20))
        for metric, v in (
            ("w_int", w_int),
            ("gap_rel", np.full(points, 1e-12)),
            ("guard", np.zeros(points)),
            ("ns", w_int / w_int.max() * 0.4),
            ("e_star", w_int * 2),
        ):
            result.series("or1", metric, v)
        for metric, v in (
            ("w_add", q_add),
            ("w_obs", 1.96 * sigma),
            ("rho_oc", 3.0),
            ("eta", sigma * n_train**0.5),
            ("margin", 0.4),
            ("dead_columns", 12),
            ("nullity", 4),
            ("feature_norm_ratio", 1.006),
            ("ns_max", 0.4 if over else 1e-9),
            ("n_over_cap", over),
            ("n_guard", 0),
            ("half_over_radius_max", 0.96),
            ("shape_skill", 0.05 if r2 > 0.9 else -0.02),
        ):
            result.scalar("or1", metric, v)
        for label, saturated in ((None, 0 if q_add == 0 else 1), ("grid", 0 if q_add == 0 else 1)):
            result.scalar("or1", "q_add", q_add, label=label)
            result.scalar("or1", "saturated", saturated, label=label)
            if not saturated:
                result.scalar("or1", "kappa_star", 1.3 + 0.1 * seed, label=label)
        result.scalar("inflation", "factor", 1.6 + 0.1 * rel)
        result.scalar("inflation", "width_mean_ratio", 0.6)
        result.scalar("inflation", "width_median_ratio", 0.85)
    for label, half in (("model_cp", q), ("model_triv", 2.0)):
        result.scalar("counterfactual", "coverage", float(np.mean(np.abs(y - centre) <= half)), label=label)
    for label, half in (("const_cp", q), ("const_triv", 2.0)):
        result.scalar("counterfactual", "coverage", float(np.mean(np.abs(y) <= half)), label=label)
    for metric, v in (
        ("n_train", n_train),
        ("n_test", total - n_train),
        ("n_fit", n_train - n_cal),
        ("n_cal", n_cal),
        ("k", k),
        ("sigma_noise", sigma),
        ("y_sd_ratio", 0.8),
        ("box_fraction", 0.6),
        ("r2", r2),
    ):
        result.scalar("cell", metric, v)
    for label, v in (("centroid", 1.2 + seed * 0.1), ("median_test", 1.4), ("ratio", 1.3)):
        result.scalar("cell", "severity", v, label=label)
    return result


def band_metrics(
    result: CellResult,
    arm: str,
    y: np.ndarray,
    mid: np.ndarray,
    half: np.ndarray,
    label: str | None = None,
    only: tuple[str, ...] = (),
) -> None:
    """The scores of one band, by their definitions."""
    miss = np.maximum(np.abs(y - mid) - half, 0.0)
    score = 2 * half + 40 * miss
    values = {
        "coverage": np.mean(miss <= 0),
        "width_median": np.median(half),
        "width_mean": half.mean(),
        "width_max": half.max(),
        "interval_score": score.mean(),
        "is_width": 2 * half.mean(),
        "is_penalty": 40 * miss.mean(),
        "penalty_share": 40 * miss.mean() / score.mean(),
        "is_median": np.median(score),
        "rmse": np.sqrt(np.mean((y - mid) ** 2)),
    }
    for metric, v in values.items():
        if not only or metric in only:
            result.scalar(arm, metric, float(v), label=label)


def b_ablation(name: str, seed: int, rel: float) -> CellResult:
    """One cell of the 2 x 2 ablation."""
    result, g = CellResult(), rng("ablation", name, seed, rel)
    base = 0.8 * np.exp(0.3 * g.standard_normal())
    for arm in ("clamp_all", "clamp_fit", "drop_all", "drop_fit"):
        clamp, rows = arm.split("_")
        refused = rows == "all" and (seed + int(100 * rel)) % 3 != 0
        common = (
            ("ns_max", 1.0 if clamp == "clamp" else 0.2),
            ("nullity", 20 if clamp == "clamp" else 4),
            ("dead_columns", 14),
            ("misfit_ratio", 0.8 if rows == "all" else 1.1),
            ("margin", -0.3 if refused else 0.4),
            ("norm_pinv", 1e10 if clamp == "clamp" else 0.8),
        )
        for metric, v in common:
            result.scalar(arm, metric, v)
        if refused:
            result.refuse(arm, "the noise budget is below the best achievable misfit", -0.3)
            continue
        blow = 200.0 * np.exp(g.standard_normal()) if clamp == "clamp" and name != "diabetes" else 1.1
        drop = 0.9 if rows == "all" else 1.0
        for metric, v in (
            ("coverage", 0.97),
            ("width_median", base * drop * (1.02 if clamp == "clamp" else 1)),
            ("width_mean", base * blow * 2 * drop),
            ("width_max", base * blow * 30 * drop),
            ("interval_score", 3 * base * blow * drop),
            ("blow_up", float(base * blow * 2 * drop > 20)),
        ):
            result.scalar(arm, metric, v)
    for metric, v in (("n_train", 309), ("n_fit", 232), ("n_cal", 77), ("n_test", 133)):
        result.scalar("cell", metric, v)
    return result


def b_gap(seed: int, scale: str) -> CellResult:
    """One seed of the one-dimensional gap task."""
    result, g = CellResult(), rng("gap", seed, scale)
    x = np.linspace(-4, 4, 60)
    truth = np.sin(2 * x) + 0.3 * x**2
    inside = np.abs(x) < 1
    out = np.abs(x) > 3
    centre = truth + (0.15 + 0.5 * inside + 1.5 * out) * g.standard_normal(60)
    q = 0.77 * np.exp(0.2 * g.standard_normal())
    w_int = 0.25 + 2.2 * inside + 4.5 * out + 0.1 * g.random(60)
    halves = {
        "dak": np.full(60, 0.6),
        "cp": np.full(60, q),
        "ncp": np.full(60, 1.01 * q),
        "triv": np.full(60, 1.8),
        "or1": w_int + 0.345,
        "or1_int": w_int,
    }
    for arm, half in halves.items():
        mid = np.full(60, 1.0) if arm == "triv" else centre
        result.series(arm, "center", mid)
        result.series(arm, "half", half)
        for region, mask in (("gap", inside), ("ind", ~inside & ~out), ("ext", out)):
            band_metrics(
                result,
                arm,
                truth[mask],
                mid[mask],
                half[mask],
                region,
                ("coverage", "width_mean", "interval_score", "is_penalty"),
            )
    result.series("truth", "y", truth)
    result.series("truth", "x", x)
    for label in (None, "grid"):
        result.scalar("or1", "kappa_star", 1.3 + 0.4 * (seed % 4), label=label)
        result.scalar("or1", "q_add", 0.0, label=label)
        result.scalar("or1", "saturated", 0, label=label)
    for metric, v in (("w_add", 0.0), ("w_obs", 0.345), ("rho_oc", 3.0), ("eta", 1.0), ("margin", 0.4)):
        result.scalar("or1", metric, v)
    for metric, v in (("n_train", 50), ("n_fit", 37), ("n_cal", 13), ("n_test", 60), ("sigma_noise", 0.176), ("k", 12)):
        result.scalar("cell", metric, v)
    return result
