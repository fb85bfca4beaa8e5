"""Whether lower or higher is better, from the words of a name: said where they agree, asked where they do not."""

from __future__ import annotations

import polars as pl
import pytest

from orledger.audit.importing import words
from orledger.audit.importing.inference import infer
from orledger.audit.importing.tables import stacked
from orledger.errors import DataError, UsageError

LOWER = (
    "trainLoss", "Test RMSE", "wall time", "top1_err", "brier", "crps", "perplexity", "brier_score", "Brier-Score", "CRPS_score",
    "interval_score", "winkler_score", "continuous_ranked_probability_score", "perplexity_score", "fid_score", "energy_score",
    "davies_bouldin_score", "toxicity_score", "hallucination_score", "score_time", "negative_log_likelihood", "average_rank",
)  # fmt: skip
# scikit-learn turns losses round with neg_; the other names are its, and those of reciprocal ranks and rank correlations.
HIGHER = (
    "val_accuracy", "neg_log_loss", "episodic_return", "neg_mean_squared_error", "neg_brier_score", "mIoU", "top1", "score",
    "mean_test_score", "r2_score", "silhouette_score", "roc_auc_score", "mean_reciprocal_rank", "spearman_rank_correlation",
    "skill_score", "1-shot accuracy", "accuracy_gain", "log_likelihood",
)  # fmt: skip
# Turned round, contradictory, of either sign in use (a logarithmic score), or unknown.
ASKED = (
    "foo", "loss_std", "Acc. SD", "accuracy_drop", "error_reduction", "ErrorReduction", "cost_savings", "time_saved", "loss_improvement",
    "inverse_rmse", "delta_accuracy", "brier_skill_score", "d2_absolute_error_score", "log_score", "1 - AUC", "one_minus_ssim",
    "time_to_accuracy", "negative_recall", "rmse_neg", "fpr", "lpips",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [*((n, "lower") for n in LOWER), *((n, "higher") for n in HIGHER), *((n, None) for n in ASKED)],
)
def test_directions_from_names(name, expected):
    found = words.direction(name)
    assert (found[0] if found else None) == expected


@pytest.mark.parametrize(("metric", "better"), [("brier_score", "lower"), ("error_reduction", None)])
def test_the_better_method_is_not_named_the_worse_one(metric, better):
    table = stacked(
        [("t.csv", pl.DataFrame({"dataset": list("uvuv"), "method": list("aabb"), metric: [0.1, 0.2, 0.3, 0.4]}))]
    )
    if better is None:
        with pytest.raises(UsageError, match=f"lower or higher '{metric}' is better"):
            infer(table, "t.csv")
    else:
        assert "brier_score: lower is better, from the word 'brier'" in infer(table, "t.csv").reasons


def test_a_column_per_arm_whose_name_ends_in_score_keeps_its_loss():
    frame = pl.DataFrame(
        {"dataset": list("uvw"), "ridge_interval_score": [1.5, 2.5, 3.5], "net_interval_score": [1.1, 2.1, 3.1]}
    )
    with pytest.raises(
        DataError, match="no column names arms"
    ):  # ridge_interval is none, and score is not what was measured
        infer(stacked([("t.csv", frame)]), "t.csv")
