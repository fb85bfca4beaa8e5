"""The words by which columns of result tables are usually called: what a name says about a column and about a direction."""

from __future__ import annotations

import re
from functools import cache

ARMS = (
    "arm", "method", "algorithm", "algo", "classifier", "learner", "model", "framework", "optimizer", "optimiser", "agent",
    "system", "approach", "estimator", "variant", "solver", "treatment", "condition", "policy", "architecture", "network",
    "strategy", "technique", "sampler", "tuner", "run",
)  # fmt: skip
UNITS = (
    "dataset", "data", "task", "problem", "benchmark", "game", "env", "environment", "instance", "function", "domain",
    "corpus", "subject", "participant", "patient", "item", "language", "query", "testbed", "prompt", "question", "scenario",
    "document", "sentence", "image",
)  # fmt: skip
REPEATS = (
    "seed", "fold", "repeat", "repetition", "rep", "replicate", "replication", "trial", "split", "iteration", "iter",
    "random_state", "random_seed", "run", "run_nr", "resample",
)  # fmt: skip
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
    "r2", "r_2", "return", "returns", "reward", "rewards", "bleu", "rouge", "iou", "miou", "map", "ndcg", "mrr", "kappa", "mcc",
    "elbo", "likelihood", "hit", "hits", "success", "win", "wins", "psnr", "ssim", "hypervolume", "throughput", "score",
    "c_index", "cindex", "concordance", "correlation", "spearman", "pearson", "tau", "gain", "speedup", "purity", "nmi", "ari", "area", "em", "pass", "top1", "top5", "top_1",
    "top_5", "elo", "winrate", "correct", "solved",
)  # fmt: skip
LOWER = (
    "error", "err", "loss", "logloss", "log_loss", "rmse", "mse", "mae", "mape", "smape", "nll", "regret", "perplexity",
    "ppl", "wer", "cer", "fid", "brier", "ece", "time", "seconds", "secs", "sec", "runtime", "duration", "latency", "memory",
    "cost", "energy", "distance", "divergence", "kl", "deviance", "gap", "risk", "rank", "misclassification", "bpc", "bits",
    "flops", "params", "crossentropy", "cross_entropy", "rmsle", "crps", "width",
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
    """``higher`` or ``lower`` and the word that says so; None when the name says nothing.

    The last telling word decides (a training loss is a loss), and ``neg`` in front turns it round. A spread says nothing: a small
    standard deviation of the accuracy is no better accuracy.
    """
    return None if spreads(name) else _told(plain(name)) or _told(plain(name.lower()))


def _told(text: str) -> tuple[str, str] | None:
    """What the words of a plain name say about the direction."""
    parts = text.split("_")
    if parts[0] in ("neg", "negative", "minus"):
        inner = _told("_".join(parts[1:]))
        return None if inner is None else ({"lower": "higher", "higher": "lower"}[inner[0]], text)
    for size in (len(parts), 2, 1):
        for start in range(len(parts) - size, -1, -1):
            word = "_".join(parts[start : start + size])
            if word in LOWER:
                return "lower", word
            if word in HIGHER:
                return "higher", word
    return None


def is_metric(name: str) -> bool:
    """Whether the name of a column is that of something measured, or of how far it scatters."""
    return _told(plain(name)) is not None or direction(name) is not None


def sums_up(name: str) -> bool:
    """Whether a name is that of an average or a total over others, as the last row or column of a table often has it."""
    parts = plain(name).split("_")
    return any(p in SUMMARIES for p in parts) and all(p in (*SUMMARIES, *LOWER, *HIGHER) for p in parts)


def counts(name: str) -> bool:
    """Whether a name is that of a count or a size, such as ``n_samples`` or ``#``."""
    return plain(name).rpartition("_")[2] in COUNTS


def spreads(name: str) -> bool:
    """Whether a name is that of how far numbers scatter."""
    return any(part in SPREADS for part in plain(name).split("_"))


def trained(name: str) -> int:
    """How far a metric is from what is reported in the end: 0 on test data, 2 on training data, 1 where the name says neither."""
    parts = plain(name).split("_")
    return 0 if "test" in parts else 2 if "train" in parts or "training" in parts else 1
