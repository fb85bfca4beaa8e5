"""The words by which columns of result tables are usually called: what a name says about a column and about a direction."""

from __future__ import annotations

import re
from functools import cache

ARMS = (
    "arm", "method", "algorithm", "algo", "classifier", "learner", "model", "framework", "optimizer", "optimiser", "agent",
    "system", "approach", "estimator", "variant", "solver", "treatment", "condition", "policy", "architecture", "network",
    "strategy", "technique", "sampler", "tuner", "run", "verfahren", "methode", "modell",
)  # fmt: skip
UNITS = (
    "dataset", "data", "task", "problem", "benchmark", "game", "env", "environment", "instance", "function", "domain",
    "corpus", "subject", "participant", "patient", "item", "language", "query", "testbed", "prompt", "question", "scenario",
    "document", "sentence", "image", "datensatz",
)  # fmt: skip
REPEATS = (
    "seed", "fold", "repeat", "repetition", "rep", "replicate", "replication", "trial", "split", "iteration", "iter",
    "random_state", "random_seed", "run", "run_nr", "resample", "lauf", "durchlauf", "wiederholung",
)  # fmt: skip
# What is varied on the same data: its values are no further datasets.
SETTINGS = ("horizon", "forecast_horizon", "prediction_horizon", "pred_len", "prediction_length", "shots")
KEYS = (*UNITS, *REPEATS, *SETTINGS)
INDICES = ("step", "epoch", "timestep", "global_step", "generation", "frame", "frames", "steps", "idx")
METRICS = ("metric", "measure", "measurement", "metric_name", "criterion")
VALUES = ("value", "score", "result", "val")
REASONS = ("reason", "error", "failure", "info", "message", "exception", "why", "unfinished", "failed", "error_message")
STATUSES = ("status", "run_status", "job_status", "exit_status", "outcome")  # how a run ended, where no column says why
FINE = ("ok", "okay", "success", "succeeded", "successful", "done", "finished", "complete", "completed", "passed")
# Ends after which whatever number stands beside them is no result.
FAILED = (
    "failed", "fail", "failure", "error", "errored", "crashed", "crash", "killed", "aborted", "cancelled", "canceled",
    "oom", "out of memory", "out_of_memory", "diverged",
)  # fmt: skip
# How far numbers scatter: less of it is no better result.
SPREADS = ("std", "stdev", "stddev", "sd", "stderr", "sem", "var", "variance", "ci", "ci95", "iqr")
AVERAGES = ("mean", "avg", "average", "averaged", "median")
# Parts of the data: what an arm does on one does not repeat what it does on another.
PARTS = ("train", "training", "test", "testing", "val", "valid", "validation", "dev", "eval", "holdout", "heldout")
DIFFERENCES = ("diff", "difference", "delta", "gain", "improvement", "change")
P_VALUES = ("p", "p_value", "pvalue", "p_val", "pval", "p_values", "pvalues")
# The row or column that sums up the others.
SUMMARIES = (
    "avg",
    "average",
    "averaged",
    "mean",
    "median",
    "overall",
    "total",
    "geomean",
    "macro",
    "micro",
    "all",
    "rank",
)
# What a dataset has, counted: no result of a method.
COUNTS = (
    "", "n", "count", "size", "samples", "instances", "examples", "rows", "features", "attributes", "dim", "dims",
    "dimension", "dimensions", "classes", "length", "points",
)  # fmt: skip
HIGHER = (
    "accuracy", "acc", "auc", "auroc", "roc_auc", "auprc", "f1", "f_1", "precision", "recall", "sensitivity", "specificity",
    "r2", "r_2", "d2", "d_2", "skill", "return", "returns", "reward", "rewards", "bleu", "rouge", "iou", "miou", "map", "ndcg", "mrr", "kappa", "mcc",
    "elbo", "likelihood", "hit", "hits", "success", "win", "wins", "psnr", "ssim", "hypervolume", "throughput", "score",
    "c_index", "cindex", "concordance", "correlation", "rank_correlation", "reciprocal_rank", "spearman", "pearson", "tau", "gain", "speedup", "purity", "nmi", "ari", "area", "em", "pass", "top1", "top5", "top_1",
    "top_5", "elo", "winrate", "correct", "solved",
)  # fmt: skip
LOWER = (
    "error", "err", "loss", "logloss", "log_loss", "rmse", "mse", "mae", "mape", "smape", "nll", "regret", "perplexity",
    "ppl", "wer", "cer", "fid", "brier", "ece", "time", "seconds", "secs", "sec", "runtime", "duration", "latency", "memory",
    "cost", "energy", "distance", "divergence", "kl", "deviance", "gap", "risk", "rank", "misclassification", "bpc", "bits",
    "flops", "params", "crossentropy", "cross_entropy", "rmsle", "crps", "ranked_probability", "width", "pinball", "winkler",
    "interval_score", "davies_bouldin", "toxicity", "hallucination", "neg_log_likelihood", "negative_log_likelihood",
    "neg_elbo", "negative_elbo",
)  # fmt: skip
# What a name ends in or begins with whatever it is about: a Brier score is a loss, a top-1 error an error.
GENERIC = ("score", "top1", "top5", "top_1", "top_5")
# Words that turn a metric round or compare it: less error is better, and more reduction of it. Of a logarithmic score both signs are in use.
TURNING = (
    *(d for d in DIFFERENCES if d != "gain"), "neg", "negative", "minus", "negated", "inverse", "inverted", "inv", "reciprocal",
    "reduction", "reduced", "saving", "savings", "saved", "improved", "drop", "decrease", "decline", "degradation", "increase",
    "lost", "avoided", "non", "not", "no", "anti", "without", "log_score", "logarithmic_score",
)  # fmt: skip
# Of several metrics, the one that usually decides.
DECIDING = (
    "score",
    "accuracy",
    "acc",
    "auc",
    "auroc",
    "roc_auc",
    "f1",
    "rmse",
    "error",
    "logloss",
    "loss",
    "return",
    "reward",
)
# Units of measurement as headings name them, in brackets at the end; those of time, memory and energy are of costs.
COST_UNITS = (
    "s",
    "sec",
    "ms",
    "µs",
    "us",
    "ns",
    "min",
    "h",
    "kb",
    "mb",
    "gb",
    "kib",
    "mib",
    "gib",
    "wh",
    "kwh",
    "j",
    "kj",
)
PERCENT = "%"
HEADED = re.compile(
    rf"[\[(]\s*({'|'.join((PERCENT, *COST_UNITS, 'hz', 'db', '°c', 'points', 'pp', '€', 'usd', 'eur'))})\s*[\])]\s*$",
    re.IGNORECASE,
)
# Metrics that lie between 0 and 1, or between 0 and 100 in percent.
BOUNDED = (
    "accuracy", "acc", "auc", "auroc", "roc_auc", "auprc", "f1", "f_1", "precision", "recall", "sensitivity", "specificity", "bleu",
    "rouge", "iou", "miou", "map", "ndcg", "mrr", "success", "winrate", "ssim", "purity", "nmi", "em", "pass", "top1", "top5",
    "top_1", "top_5", "correct", "solved", "concordance", "c_index", "cindex", "misclassification", "brier", "ece",
)  # fmt: skip
SHARES = ("percent", "pct", "percentage", "share", "fraction", "proportion")
COSTS = ("time", "seconds", "secs", "sec", "runtime", "duration", "latency", "memory", "cost", "flops", "params")


@cache
def plain(name: str) -> str:
    """``name`` in small letters with single underscores, without the endings _name and _id."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    text = re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")
    return re.sub(r"_(name|id|nr|no|idx)$", "", text)


def is_one_of(name: str, words: tuple[str, ...]) -> bool:
    """Whether a column is called by one of ``words``."""
    return plain(name) in words


def direction(name: str) -> tuple[str, str] | None:
    """``higher`` or ``lower`` and the word that says so; None when the name says nothing, or nothing clear.

    All telling words must agree, but for a generic one beside another: a ``brier_score`` is lower, ``error_reduction`` and
    ``auc_time`` say nothing. A loss with ``neg`` in front is higher, as in scikit-learn. A spread says nothing: a small standard
    deviation of the accuracy is no better accuracy.
    """
    return None if spreads(name) else _agreed(plain(name)) or _agreed(plain(name.lower()))


def _agreed(text: str) -> tuple[str, str] | None:
    """The direction that the telling words of a plain name agree on, with the last of them."""
    parts = text.split("_")
    told = _telling(parts)
    if parts[0] in ("neg", "negative", "minus") and told[:1] == [parts[0]]:
        inner = _agreed("_".join(parts[1:]))
        return ("higher", text) if inner and inner[0] == "lower" else None
    found = [w for w in told if w not in GENERIC] or told
    if any(w in TURNING for w in found) or (parts[0] in ("1", "one") and _telling(parts[1:2])):  # 1 - AUC
        return None
    directions = {"lower" if w in LOWER else "higher" for w in found}
    return (directions.pop(), found[-1]) if len(directions) == 1 else None


def _telling(parts: list[str]) -> list[str]:
    """The words of a name that say a direction or turn it round, each as long as can be: interval_score, and not score."""
    found, at = [], 0
    while at < len(parts):
        ways = ("_".join(parts[at : at + size]) for size in (3, 2, 1))
        word = next((w for w in ways if w in LOWER or w in HIGHER or w in TURNING), None)
        found += [word] if word else []
        at += word.count("_") + 1 if word else 1
    return found


def is_metric(name: str) -> bool:
    """Whether the name of a column is that of something measured, or of how far it scatters."""
    told = (w for text in (name, name.lower()) for w in _telling(plain(text).split("_")))
    return any(w not in TURNING or w.endswith("score") for w in told)


def sums_up(name: str) -> bool:
    """Whether a name is that of an average or a total over others, as the last row or column of a table often has it."""
    parts = plain(name).split("_")
    return any(p in SUMMARIES for p in parts) and all(p in (*SUMMARIES, *LOWER, *HIGHER) for p in parts)


def derived(name: str) -> tuple[str, str] | None:
    """The word that says how a column was computed and the plain name of what from: of ``std_test_score`` std and test_score.

    None for a name of another kind, and for the word alone. A rank correlation and a reciprocal rank are results.
    """
    parts = plain(name).split("_")
    for word, rest in ((parts[0], parts[1:]), (parts[-1], parts[:-1])):
        if rest and (word in (*AVERAGES, *SPREADS) or (word == "rank" and "rank" in _telling(parts))):
            return word, "_".join(rest)
    return None


def counts(name: str) -> bool:
    """Whether a name is that of a count or a size, such as ``n_samples`` or ``#``."""
    return plain(name).rpartition("_")[2] in COUNTS


def unit_of(name: str) -> str | None:
    """The unit of measurement that a heading ends in, as in ``accuracy [%]`` and ``time (s)``; None where it names none."""
    found = HEADED.search(name)
    return found[1].lower() if found else None


def is_cost(name: str) -> bool:
    """Whether a name is that of what a result costs: time, memory, parameters."""
    found = direction(name)
    return (found is not None and found[1] in COSTS) or unit_of(name) in COST_UNITS


def share(name: str) -> str | None:
    """The word of a name that says that its numbers are shares or percentages, or bounded like them; None where none does."""
    if unit_of(name) == PERCENT:
        return PERCENT
    last, found = plain(name).split("_")[-1], direction(name)
    if last in SHARES or (last == "rate" and found):  # error_rate, and not learning_rate
        return last
    return found[1] if found and found[1] in BOUNDED else None


def describes(name: str) -> bool:
    """Whether whole numbers under a name say something about an arm, and are no result: a count, a size, a year."""
    return counts(name) or plain(name).rpartition("_")[2] in ("year", "released", "rank")


def spreads(name: str) -> bool:
    """Whether a name is that of how far numbers scatter."""
    return any(part in SPREADS for part in plain(name).split("_"))


def trained(name: str) -> int:
    """How far a metric is from what is reported in the end: 0 on test data, 2 on training data, 1 where the name says neither."""
    parts = plain(name).split("_")
    return 0 if "test" in parts else 2 if "train" in parts or "training" in parts else 1
