"""Stopping by validation: rows a net does not train on decide which of its epochs is kept.

Each net of a batch has its own held-out rows and its own clock. A net whose clock has run out keeps what it had, whatever
its neighbours still do, so the epoch it keeps does not depend on their company.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.runners.case_b.training import NetData, Trained


@dataclass(frozen=True)
class BestWeights:
    """What validation decided for one net: the epoch kept, its score on the held-out rows, and the epochs it was given."""

    epoch: int
    score: float
    epochs: int


def hold_out(data: NetData, share: float, draw: np.random.Generator) -> tuple[NetData, np.ndarray, np.ndarray]:
    """The net's data without the held-out rows, and those rows (m, d) and targets (m,); m = max(1, floor(share n)).

    A KL term of 1 / n keeps meaning one over the rows trained on.
    """
    count = max(1, math.floor(share * data.y.size))
    order = draw.permutation(data.y.size)
    out, rest = order[:count], np.sort(order[count:])
    weight = 1.0 / rest.size if data.kl_weight else 0.0
    return replace(data, x=data.x[rest], y=data.y[rest], kl_weight=weight), data.x[out], data.y[out]


class Validation:
    """Called after each epoch; keeps the parameters of each net's best check and says when every clock has run out.

    The score is the mean negative log density of the held-out targets under the net's own predictive mean and variance, with
    the embedding's range frozen on the rows it trains on, as it is when the net is used.
    """

    def __init__(
        self,
        rows: Sequence[tuple[np.ndarray, np.ndarray]],
        settings: Mapping[str, Any],
        dtype: torch.dtype,
        device: str,
    ) -> None:
        x, y = (np.stack([pair[k] for pair in rows]) for k in (0, 1))
        self.x = torch.as_tensor(x, dtype=dtype, device=device)
        self.y = torch.as_tensor(y, dtype=dtype, device=device)
        self.every, self.patience = settings["validation_every"], settings["validation_patience"]
        self.first = settings.get("hint_epoch", 1)  # before it the water-filling prior is not set
        count = len(rows)
        self.best: torch.Tensor | None = None
        self.scores = np.full(count, np.inf)
        self.epochs, self.last = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        self.waited = np.zeros(count, dtype=int)

    def score(self, trained: Trained) -> np.ndarray:
        """Mean negative log density of each net's held-out targets, (N,)."""
        network, p = trained.network, trained.p
        frozen = network.range_of(network.embed(p, trained.x)[-1])
        mean, variance = network.moments(p, network.phi(p, self.x, frozen))
        total = variance + network.noise(p)[:, None].square()
        density = 0.5 * ((self.y - mean).square() / total + total.log() + math.log(2 * math.pi))
        return density.mean(1).double().cpu().numpy()

    def __call__(self, epoch: int, trained: Trained) -> bool:
        """Whether every net has stopped; on the epochs that are checked, the best parameters so far are put aside."""
        if epoch < self.first or epoch % self.every:
            return False
        if self.best is None:
            self.best = trained.flat.clone()
        going = self.waited < self.patience
        found = self.score(trained)
        better = going & (found < self.scores)
        chosen = torch.as_tensor(better, device=trained.flat.device)[:, None]
        self.best = torch.where(chosen, trained.flat, self.best)
        self.scores, self.epochs = np.where(better, found, self.scores), np.where(better, epoch, self.epochs)
        self.last = np.where(going, epoch, self.last)
        self.waited = np.where(better, 0, self.waited + 1)
        return bool((self.waited >= self.patience).all())

    def restore(self, trained: Trained) -> list[BestWeights | None]:
        """Put the kept parameters back into ``trained``; per net what was kept, or None where no check gave a number."""
        if self.best is not None:
            trained.flat.copy_(self.best)
        return [
            BestWeights(int(e), float(s), int(last)) if np.isfinite(s) else None
            for e, s, last in zip(self.epochs, self.scores, self.last, strict=True)
        ]
