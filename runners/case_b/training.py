"""Training of a batch of nets in lockstep: same rows count, same schedule, each net with its own data and its own streams.

A net's minibatch order and initial values come from generators of its own, so what it sees does not depend on its
neighbours; the arithmetic may still round differently in a batch of another size, which is why the composition of a
batch is part of the identity of every cell trained in it (plan.py).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from orledger.runners.case_b.network import Bounds, Network, initial, padded, views

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class AdamSchedule:
    """Adam with L2 weight decay on every parameter; the last, shorter minibatch of an epoch is kept.

    noise_start: where the noise parameter starts, before softplus.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    noise_start: float = -2.0


@dataclass(frozen=True)
class NetData:
    """What one net is trained on and where its randomness comes from; ``kl_weight`` is 0 or 1 / rows."""

    x: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    kl_weight: float
    init: torch.Generator
    order: np.random.Generator


@dataclass(frozen=True)
class Trained:
    """A batch of nets in training or after it: parameters (N, D), their views, and the training rows (N, n, d)."""

    network: Network
    flat: torch.Tensor
    p: dict[str, torch.Tensor]
    x: torch.Tensor
    y: torch.Tensor

    def one(self, i: int) -> Net:
        """Net ``i`` alone, with the scale frozen on its training rows."""
        flat = self.flat[i : i + 1].clone()
        p = views(flat, self.network.shape)
        return Net(self.network, p, self.network.range_of(self.network.embed(p, self.x[i : i + 1].clone())[-1]))


@dataclass(frozen=True)
class Net:
    """One trained net, with the scale of its embedding frozen on the rows it was trained on."""

    network: Network
    p: dict[str, torch.Tensor]
    frozen: Bounds

    def features(self, x: np.ndarray, *, own_scale: bool = False) -> np.ndarray:
        """Feature columns (n, P * M) at x (n, d); ``own_scale`` rescales by these rows' own range, as the release does."""
        rows = torch.as_tensor(x, dtype=self.frozen.low.dtype, device=self.frozen.low.device)[None]
        phi = self.network.phi(self.p, rows, None if own_scale else self.frozen)
        return phi[0].double().cpu().numpy()

    def predict(self, x: np.ndarray, *, own_scale: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Predictive mean and standard deviation sqrt(var(x) + noise^2), (n,) each."""
        rows = torch.as_tensor(x, dtype=self.frozen.low.dtype, device=self.frozen.low.device)[None]
        mean, variance = self.network.moments(
            self.p, self.network.phi(self.p, rows, None if own_scale else self.frozen)
        )
        sd = (variance + self.network.noise(self.p)[:, None].square()).sqrt()
        return mean[0].double().cpu().numpy(), sd[0].double().cpu().numpy()

    @property
    def sigma(self) -> float:
        """The scalar noise standard deviation the net learned; it sets the noise budget of the OR head."""
        return float(self.network.noise(self.p))


class Adam:
    """Adam with its published defaults and L2 decay added to the gradient, on one flat tensor, in place.

    Three buffers and six passes: importing torch.optim costs more than training a small net.
    """

    def __init__(self, flat: torch.Tensor, rate: float, decay: float) -> None:
        self.flat, self.rate, self.decay = flat, rate, decay
        self.gradient, self.mean, self.square = (torch.zeros_like(flat) for _ in range(3))
        self.steps = 0

    def step(self, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        """One update from what stands in ``gradient``."""
        self.steps += 1
        self.gradient.add_(self.flat, alpha=self.decay)
        self.mean.lerp_(self.gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(self.gradient, self.gradient, value=1 - beta2)
        root = self.square.sqrt().div_((1 - beta2**self.steps) ** 0.5).add_(eps)
        self.flat.addcdiv_(self.mean, root, value=-self.rate / (1 - beta1**self.steps))


@torch.no_grad()
def train(
    network: Network,
    nets: Sequence[NetData],
    schedule: AdamSchedule,
    *,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
    steps: int | None = None,
    revise: Callable[[int, Trained, torch.Tensor], bool] | None = None,
) -> Trained:
    """The nets after training; all must have the same number of rows.

    ``revise(epoch, trained, prior_variance)`` is called after each epoch, may change the prior variances (N, P * M) in place,
    and ends the training by returning true. ``steps`` stops early, after that many minibatches.
    """
    if len(nets) == 1:
        # A batch of one is dispatched to other matrix kernels; beside a copy of itself a net rounds as in any batch.
        nets = [nets[0], replace(nets[0], init=nets[0].init.clone_state(), order=copy.deepcopy(nets[0].order))]
    count, n = len(nets), nets[0].y.size
    x = torch.as_tensor(np.stack([net.x for net in nets]), dtype=dtype, device=device)
    y = torch.as_tensor(np.stack([net.y for net in nets]), dtype=dtype, device=device)
    flat = initial(network.shape, [net.init for net in nets], dtype, device, schedule.noise_start)
    trained = Trained(network, flat, views(flat, network.shape), x, y)
    optimizer = Adam(flat, schedule.learning_rate, schedule.weight_decay)
    gradient = views(optimizer.gradient, network.shape)
    kl_weight = torch.tensor([[net.kl_weight] for net in nets], dtype=dtype, device=device)
    prior_variance = torch.ones(count, network.columns, dtype=dtype, device=device)
    offsets = (np.arange(count) * n)[:, None]
    width = x.shape[2]
    rows_x = torch.nn.functional.pad(x.flatten(0, 1), (0, padded(width) - width))
    rows_y = y.flatten()
    done = 0
    for epoch in range(schedule.epochs):
        order = np.stack([net.order.permutation(n) for net in nets]) + offsets
        for start in range(0, n, schedule.batch_size):
            if done == steps:
                return trained
            picked = torch.from_numpy(np.ascontiguousarray(order[:, start : start + schedule.batch_size])).to(device)
            batch_x = rows_x.index_select(0, picked.flatten()).view(*picked.shape, -1)[..., :width]
            batch_y = rows_y.index_select(0, picked.flatten()).view(picked.shape)
            network.gradient(trained.p, batch_x, batch_y, kl_weight, prior_variance, gradient)
            optimizer.step()
            done += 1
        if revise is not None and revise(epoch + 1, trained, prior_variance):
            break
    return trained
