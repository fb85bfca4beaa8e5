"""Which nets a cell needs, and how they are trained together.

Main block, five nets per cell:

- ``dak``: all training rows, KL term dropped (the learner as the paper calls it released);
- ``dak_kl``: all training rows, KL / n_train in the objective (the standard ELBO);
- ``fit``: fit rows only; the centre and scale of cp and ncp, the features and noise budget of the OR head;
- ``or2``: as dak_kl, but after the hint epoch the prior variances of the last layer are the water-filling ones for the
  noise level the net itself has learned by then;
- ``or2_oracle``: the same with the injected noise level as the hint.

The ablation needs ``fit``, the gap task ``dak`` and ``fit``. Initial values, minibatch order and held-out rows of a net come
from streams named by its cell and its role.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from orledger.recovery import pinsker_variances
from orledger.runners.case_b.activation import make_activation
from orledger.runners.case_b.network import Network, Shape
from orledger.runners.case_b.stopping import BestWeights, Validation, hold_out
from orledger.runners.case_b.training import AdamSchedule, Net, NetData, Trained, train
from orledger.runners.seeds import generator, torch_generator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orledger.runners.case_b.problem import SplitRows

ROLES = ("dak", "dak_kl", "fit", "or2", "or2_oracle")


@dataclass(frozen=True)
class Fitted:
    """A trained net; for the water-filling roles the noise hint of its prior, with validation the epoch that was kept."""

    net: Net
    hint: float | None = None
    kept: BestWeights | None = None


def build_network(inputs: int, settings: Mapping[str, Any], device: str = "cpu") -> tuple[Network, torch.dtype]:
    """The architecture and floating-point type that the settings describe."""
    dtype = {"float64": torch.float64, "float32": torch.float32}[settings["precision"]]
    low, high = settings["grid_low"], settings["grid_high"]
    activation = make_activation(low, high, settings["depth"], dtype=dtype, device=device)
    shape = Shape(inputs, tuple(settings["hidden"]), settings["coordinates"], activation.size)
    return Network(shape, activation, low, high, settings["scale_margin"], settings["clamp_embedding"]), dtype


def schedule_of(settings: Mapping[str, Any]) -> AdamSchedule:
    """The training schedule that the settings describe."""
    schedule = AdamSchedule(
        settings["epochs"], settings["batch_size"], settings["learning_rate"], settings["weight_decay"]
    )
    if settings.get("stopping", "none") == "none":
        return schedule
    return replace(schedule, noise_start=math.log(math.expm1(settings["validation_noise"])))


def net_data(problem: SplitRows, role: str, settings: Mapping[str, Any]) -> NetData:
    """The rows, the objective and the streams of one net."""
    fit_rows = role == "fit"
    x, y = (problem.x_fit, problem.y_fit) if fit_rows else (problem.x_train, problem.y_train)
    with_kl = settings["fit_kl"] if fit_rows else role != "dak"
    return NetData(
        x=x,
        y=y,
        kl_weight=1.0 / y.size if with_kl else 0.0,
        init=torch_generator("case_b", "init", *problem.stream, role),
        order=generator("case_b", "order", *problem.stream, role),
    )


def water_filling(trained: Trained, i: int, hint: float, settings: Mapping[str, Any]) -> np.ndarray:
    """Prior variances (P * M,) of net ``i``: Pinsker's filter for noise sigma^2 / (n e_j) and smoothness weights 2^level.

    e_j is the mean square over the training rows of the column that multiplies weight j, coordinate scale included.
    Columns that are zero there carry no information and get the floor.
    """
    network, p = trained.network, {k: v[i : i + 1] for k, v in trained.p.items()}
    phi = network.phi(p, trained.x[i : i + 1].clone())  # a copy: equal alignment for every i
    scale = torch.nn.functional.softplus(p["scale"]).repeat_interleave(network.shape.points, dim=1)
    energy = (phi * scale.unsqueeze(1)).square().mean(1)[0].double().cpu().numpy()
    weights = np.tile(2.0 ** np.array(network.activation.levels), network.shape.coordinates)
    floor = settings["waterfill_floor"]
    live = energy > settings["dead_sd"] ** 2
    variances = np.full(energy.size, floor)
    if live.any():
        noise = hint**2 / (trained.y.shape[1] * energy[live])
        variances[live] = pinsker_variances(noise, weights[live], settings["waterfill_radius"], floor=floor).tau2
    return variances


def train_nets(
    problems: Sequence[SplitRows], roles: Sequence[str], settings: Mapping[str, Any], device: str = "cpu"
) -> list[dict[str, Fitted]]:
    """For each problem its trained nets by role; nets with equally many rows are trained in lockstep, in a fixed order."""
    network, dtype = build_network(problems[0].x_fit.shape[1], settings, device)
    out: list[dict[str, Fitted]] = [{} for _ in problems]
    by_rows: dict[int, list[tuple[int, str]]] = {}
    for c, problem in enumerate(problems):
        for role in roles:
            rows = problem.y_fit.size if role == "fit" else problem.y_fit.size + problem.y_cal.size
            by_rows.setdefault(rows, []).append((c, role))
    size = settings["nets_per_batch"]
    for members in by_rows.values():
        for start in range(0, len(members), size):
            chunk = members[start : start + size]
            data = [net_data(problems[c], role, settings) for c, role in chunk]
            revision = _WaterFilled([(role, problems[c].injected) for c, role in chunk], settings)
            kept: list[BestWeights | None] = [None] * len(chunk)
            if settings.get("stopping", "none") == "none":
                trained = train(network, data, schedule_of(settings), dtype=dtype, device=device, revise=revision)
            else:
                streams = [generator("case_b", "validation", *problems[c].stream, role) for c, role in chunk]
                trained, kept = _validated(network, data, streams, revision, settings, dtype, device)
            for i, (c, role) in enumerate(chunk):
                out[c][role] = Fitted(trained.one(i), revision.hints.get(i), kept[i])
    return out


def _validated(
    network: Network,
    data: Sequence[NetData],
    streams: Sequence[np.random.Generator],
    prior: _WaterFilled,
    settings: Mapping[str, Any],
    dtype: torch.dtype,
    device: str,
) -> tuple[Trained, list[BestWeights | None]]:
    """The nets at the epochs their held-out rows prefer, and which those are."""
    parts = [hold_out(net, settings["validation_share"], g) for net, g in zip(data, streams, strict=True)]
    held = [(x, y) for _, x, y in parts]
    if len(parts) == 1:  # train() pairs a single net with a copy of itself
        held = held * 2
    validation = Validation(held, settings, dtype, device)

    def revise(epoch: int, trained: Trained, prior_variance: torch.Tensor) -> bool:
        prior(epoch, trained, prior_variance)
        return validation(epoch, trained)

    inner = [net for net, _, _ in parts]
    trained = train(network, inner, schedule_of(settings), dtype=dtype, device=device, revise=revise)
    return trained, validation.restore(trained)


class _WaterFilled:
    """Called after each epoch; after the hint epoch it sets the priors of the water-filling nets and keeps their hints."""

    def __init__(self, members: Sequence[tuple[str, float]], settings: Mapping[str, Any]) -> None:
        self.members, self.settings = members, settings
        self.hints: dict[int, float] = {}

    def __call__(self, epoch: int, trained: Trained, prior: torch.Tensor) -> bool:
        if epoch != self.settings.get("hint_epoch"):
            return False
        sigma = trained.network.noise(trained.p)
        for i, (role, injected) in enumerate(self.members):
            if role in ("or2", "or2_oracle"):
                own = role == "or2"
                self.hints[i] = float(sigma[i]) if own else max(injected, self.settings["oracle_floor"])
                variances = water_filling(trained, i, self.hints[i], self.settings)
                prior[i] = torch.as_tensor(variances, dtype=prior.dtype, device=prior.device)
        return False
