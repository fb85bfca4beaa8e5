"""The tables of Case B, computed a second time from the records."""

from __future__ import annotations

import duckdb
import numpy as np
from second_reading import Columns, Content, averaged, centre, floor, pooled, quartiles, read, shifts, signed_rank

ARMS = {
    "dak": "DAK", "dak_kl": "DAK, KL repaired", "cp": "split-CP", "ncp": "normalised split-CP", "triv": "constant band", "or1": "OR head",
    "or1_nf": "OR head, no floor", "or1_int": "OR interval", "or2": "water-filling", "or2_oracle": "water-filling, oracle noise",
}  # fmt: skip
REGIMES = {"iid": "i.i.d.", "shift": "covariate shift", "shiftcol": "axis shift"}
REGIONS = {"gap": "design gap", "ind": "in distribution", "ext": "extrapolation"}
MAIN = "dataset regime seed rel"
Con = duckdb.DuckDBPyConnection


def data(con: Con) -> Columns:
    columns: Columns = {}
    for column, metric, label in (
        ("dataset", "n", None), ("rows", "n", None), ("features", "d", None), ("origin", "n", None), ("target", "n", None),
        ("distinct", "distinct", None), ("R2 file order", "r2", "file_order"), ("R2 shuffled", "r2", "shuffled"), ("verdict", "passed", None),
    ):  # fmt: skip
        columns[column] = {k[1]: tuple(x) for k, x in read(con, "b/audit", metric, "dataset", label).items()}
    given = con.execute(
        "SELECT c.keys['dataset'], d.origin, d.target FROM dataset d JOIN cell c USING (cell_id)"
    ).fetchall()
    columns["dataset"] = {d: (d,) for d, _, _ in given}
    columns["origin"], columns["target"] = {d: (o,) for d, o, _ in given}, {d: (t,) for d, _, t in given}
    columns["verdict"] = {d: ("passes" if x[0] else "refused",) for d, x in columns["verdict"].items()}
    return columns


def levels(con: Con) -> Columns:
    columns: Columns = {c: {} for c in ("dataset", "regime", "n train", "n test", "n cal", "level", "k", "achieved")}
    sizes = [read(con, "b/main", m, MAIN) for m in ("n_train", "n_test", "n_cal", "k")]
    for key in sizes[0]:
        train, test, cal, k = (int(x[key][0]) for x in sizes)
        shown = (
            (key[1],),
            (REGIMES[key[2]],),
            (train,),
            (test,),
            (cal,),
            (cal / (cal + 1),),
            (k,),
            ((k + 1) / (cal + 1),),
        )
        for column, content in zip(columns.values(), shown, strict=True):
            assert column.setdefault(f"{key[1]} {key[2]} {cal}", content) == content
    return columns


def shift(con: Con) -> Columns:
    def by_dataset(metric: str, arm: str, label: str | None = None) -> dict[str, np.ndarray]:
        return {k[1]: x for k, x in pooled(read(con, "b/main", metric, MAIN, label), 0, 1, 2).items() if k[0] == arm and k[2] == "shift"}  # fmt: skip

    done, delivered = ({d: len(x) for d, x in by_dataset("coverage", arm).items()} for arm in ("cp", "or1"))
    columns: Columns = {
        "dataset": {d: (d,) for d in done},
        "R2": {d: (np.median(x),) for d, x in by_dataset("r2", "cell").items()},
        "severity": {d: (np.median(x),) for d, x in by_dataset("severity", "cell", "centroid").items()},
        "n": {d: (n,) if delivered[d] == n else (n, delivered[d]) for d, n in done.items()},
    }
    for arm in ("cp", "triv", "or1", "or1_nf"):
        for word, metric in (("coverage", "coverage"), ("width", "width_median"), ("score", "interval_score")):
            columns[f"{arm} {word}"] = {d: (x.mean(),) for d, x in by_dataset(metric, arm).items()}
    return columns


def arms(con: Con) -> Columns:
    of = {
        m: pooled(read(con, "b/main", m, MAIN), 2, 0)
        for m in ("coverage", "width_median", "interval_score", "penalty_share")
    }
    rows = {f"{regime} {arm}": (regime, arm) for regime in ("iid", "shift") for arm in ARMS}
    return {
        "arm": {row: (ARMS[k[1]],) for row, k in rows.items()},
        "n": {row: (len(of["coverage"][k]),) for row, k in rows.items()},
        "coverage": {row: (of["coverage"][k].mean(),) for row, k in rows.items()},
        "width": {row: quartiles(of["width_median"][k]) for row, k in rows.items()},
        "score": {row: quartiles(of["interval_score"][k]) for row, k in rows.items()},
        "penalty": {row: (np.median(of["penalty_share"][k]),) for row, k in rows.items()},
    }


def by_split(con: Con, regime: str, metric: str, first: str, second: str, datasets: str = "") -> np.ndarray:
    """First arm minus second over the cells that have both, averaged over the cells of a split."""
    found = read(con, "b/main", metric, MAIN)
    return averaged(
        (k[1:4], x[0] - found[second, *k[1:]][0])
        for k, x in found.items()
        if k[0] == first and k[2] == regime and (second, *k[1:]) in found and (not datasets or k[1] in datasets.split())
    )


def budget(con: Con) -> Columns:
    columns: Columns = {"quantity": {}}
    parts = {"w_int": ("or1_int", "width_mean"), "w_add": ("or1", "w_add"), "w_obs": ("or1", "w_obs")}
    of = {
        part: {k[1:]: x[0] for k, x in read(con, "b/main", m, MAIN).items() if k[0] == arm}
        for part, (arm, m) in parts.items()
    }
    words = {"coverage": "coverage", "width_median": "width", "interval_score": "score"}
    for regime in ("iid", "shift"):
        cells = [k for k in of["w_add"] if k[1] == regime]
        column: dict[str, Content] = {}
        for part in parts:
            x, band = np.array([of[part][k] for k in cells]), np.array([sum(of[p][k] for p in parts) for k in cells])
            column |= {f"share {part}": quartiles(x / band), f"size {part}": quartiles(x)}
            columns["quantity"] |= {
                f"share {part}": (f"{part} share of the band",),
                f"size {part}": (f"{part}, mean in the cell",),
            }
        for part, pair in (("w_obs", ("or1_nf", "or1_int")), ("w_add", ("or1", "or1_nf"))):
            for metric, word in words.items():
                d = by_split(con, regime, metric, *pair)
                column[f"{part} buys {metric}"] = (centre(d), *shifts(d), signed_rank(d), floor(d))
                columns["quantity"][f"{part} buys {metric}"] = (f"{part} buys: Δ {word}",)
        columns[regime] = column
    return columns


def tail(con: Con) -> Columns:
    over = {k: x for k, x in read(con, "b/main", "n_over_cap", MAIN).items() if x[0] > 0}
    rows = {f"{k[1]}/{k[2]}/{k[3]:g}/{k[4]}": k[1:] for k in over}
    columns: Columns = {"cell": {row: (row,) for row in rows}}
    for column, arm, metric in (
        ("n test", "cell", "n_test"), ("over cap", "or1", "n_over_cap"), ("median", "or1_int", "width_median"), ("mean", "or1_int", "width_mean"),
        ("max", "or1_int", "width_max"), ("ns max", "or1", "ns_max"), ("kappa", "or1", "kappa_star"),
    ):  # fmt: skip
        found = read(con, "b/main", metric, MAIN)
        columns[column] = {row: tuple(found.get((arm, *k), (None,))) for row, k in rows.items()}
    return columns


VARIANTS = {
    "clamp_all": ("clamped", "all rows"), "clamp_fit": ("clamped", "fit rows"), "drop_all": ("dropped", "all rows"), "drop_fit": ("dropped", "fit rows"),
}  # fmt: skip


def ablation(con: Con) -> Columns:
    of = {
        m: pooled(read(con, "b/ablation", m, "dataset seed rel"), 0)
        for m in ("width_median", "width_mean", "width_max", "blow_up", "ns_max", "interval_score")
    }
    refused = dict(con.execute("SELECT f.arm, count(*) FROM refusal f JOIN cell c USING (cell_id) WHERE c.block = 'ablation' GROUP BY ALL").fetchall())  # fmt: skip
    (cells,) = con.execute("SELECT count(*) FROM cell WHERE case_name = 'b' AND block = 'ablation'").fetchall()[0]
    columns: Columns = {
        "columns": {a: (v[0],) for a, v in VARIANTS.items()},
        "delivery": {a: (v[1],) for a, v in VARIANTS.items()},
    }
    columns["refused"] = {a: (refused.get(a, 0), cells) for a in VARIANTS}
    for column, metric in (("median", "width_median"), ("mean", "width_mean"), ("largest", "width_max")):
        columns[column] = {a: (np.median(of[metric][a,]),) for a in VARIANTS}
    columns["blow up"] = {a: (of["blow_up"][a,].mean(),) for a in VARIANTS}
    columns["leak"] = {a: ((of["ns_max"][a,] > 0.999).sum(), of["ns_max"][a,].size) for a in VARIANTS}
    columns["score"] = {a: (np.median(of["interval_score"][a,]),) for a in VARIANTS}
    return columns


EFFECTS = {
    "columns, fit rows": {"clamp_fit": 1, "drop_fit": -1}, "columns, all rows": {"clamp_all": 1, "drop_all": -1},
    "delivery, dropped": {"drop_all": 1, "drop_fit": -1}, "delivery, clamped": {"clamp_all": 1, "clamp_fit": -1},
    "interaction": {"clamp_all": 1, "clamp_fit": -1, "drop_all": -1, "drop_fit": 1},
}  # fmt: skip


def attribution(con: Con) -> Columns:
    columns: Columns = {c: {} for c in ("scale", "effect", "ratio", "interval", "p", "n", "floor")}
    scales = {
        "width_median": "w, median",
        "width_mean": "w, mean",
        "width_max": "w, largest",
        "interval_score": "interval score",
    }
    for metric, words in scales.items():
        found = read(con, "b/ablation", metric, "dataset seed rel")
        for effect, signs in EFFECTS.items():
            cells = sorted(set.intersection(*({k[1:] for k in found if k[0] == arm} for arm in signs)))
            d = averaged((c[:2], sum(s * np.log10(found[a, *c][0]) for a, s in signs.items())) for c in cells)
            d = np.where(np.abs(d) < 1e-14, 0.0, d)
            ends = tuple(10**x for x in shifts(d))
            shown = ((words,) if effect == "columns, fit rows" else (), (effect,), (10 ** centre(d),), ends, (signed_rank(d), floor(d)), (len(d),), (floor(d),))  # fmt: skip
            for column, content in zip(columns.values(), shown, strict=True):
                column[f"{metric} {effect}"] = content
    return columns


def gap_task(con: Con) -> Columns:
    columns: Columns = {c: {} for c in ("arm", "coverage", "reached", "width", "score")}
    for region in REGIONS:
        cover, width, score = (
            pooled(read(con, "b/gap", m, "scale seed", region), 1, 0)
            for m in ("coverage", "width_mean", "interval_score")
        )
        for scale, arm in cover:
            x = cover[scale, arm]
            # 13 calibration rows achieve 13/14; a coverage is a count over points, so a band at the level is not below it
            shown = ((ARMS[arm],), quartiles(x), ((x > 13 / 14 - 1e-6).sum(), len(x)), quartiles(width[scale, arm]), quartiles(score[scale, arm]))  # fmt: skip
            for column, content in zip(columns.values(), shown, strict=True):
                column[f"{scale} {region} {arm}"] = content
    return columns


def single_seeds(con: Con) -> Columns:
    columns: Columns = {c: {} for c in ("quantity", "region", "single", "many", "range")}
    printed = dict(con.execute("SELECT row_name, value FROM published WHERE table_name = 'Bgapsurv'").fetchall())
    shown_arms = [(a, "coverage", "coverage") for a in ("cp", "ncp", "dak", "or1")] + [
        (a, "width", "width_mean") for a in ("cp", "or1")
    ]
    for arm, word, metric in shown_arms:
        for region, name in REGIONS.items():
            found = pooled(read(con, "b/gap", metric, "scale seed", region), 1, 0)
            for scale in ("frozen", "train", "mixed"):
                x = found[scale, arm]
                single = printed.get(f"{arm} {word} {region}")
                shown = ((f"{ARMS[arm]}, {word}",), (name,), (single,), quartiles(x), (x.min(), x.max()))
                for column, content in zip(columns.values(), shown, strict=True):
                    column[f"{scale} {arm} {word} {region}"] = content
    return columns


TABLES = {
    "Baudit": data, "Blevels": levels, "Bshift": shift, "Barms": arms, "Bfloor": budget, "Btail": tail, "Babl": ablation,
    "Battr": attribution, "Bgap": gap_task, "Bgapsurv": single_seeds,
}  # fmt: skip
