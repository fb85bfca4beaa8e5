"""Case B's training, batched beside one net at a time: `python benchmarks/bench_case_b.py`.

The peer is what one would write first: an ordinary torch module per net, automatic differentiation, torch's Adam, one
net after the other. Both sides train the same nets (same rows, initial values and minibatch order) for the same steps.
"""

# ruff: noqa: E402 - the thread limits must be set before torch is imported
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import sys
import time
from pathlib import Path

import numpy as np
import torch

from orledger.runners.case_b.nets import ROLES, build_network, net_data, schedule_of, train_nets
from orledger.runners.case_b.network import Network, initial, views
from orledger.runners.case_b.plan import SETTINGS
from orledger.runners.case_b.problem import SplitRows, load_table, make_problem
from orledger.runners.case_b.training import AdamSchedule, NetData
from orledger.runners.cells import Context
from orledger.runners.settings import resolve

sys.path.insert(0, str(Path(__file__).parent))
from rows import row, show


class PlainNet(torch.nn.Module):
    """One deep additive kernel network in the usual style."""

    def __init__(self, network: Network, start: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.network = network
        layers: list[torch.nn.Module] = []
        for k in range(4):
            linear = torch.nn.Linear(*network.shape.widths[k : k + 2]).double()
            linear.weight.data.copy_(start[f"W{k}"][0].T)
            linear.bias.data.copy_(start[f"b{k}"][0, 0])
            layers += [linear, torch.nn.ReLU()] if k < 2 else [linear]
        self.extractor = torch.nn.Sequential(*layers)
        for name in ("mu", "rho", "mu_bias", "rho_bias", "scale", "noise"):
            self.register_parameter(name, torch.nn.Parameter(start[name][0].clone()))

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Mean over the rows of minus the expected log likelihood, without constants."""
        activation, soft = self.network.activation, torch.nn.functional.softplus
        z = self.extractor(x)
        low, high = z.min(), z.max()
        z = (z - low) * (0.95 * 20 / (high - low)) - 9.5
        phi = torch.exp(-(z.unsqueeze(-1) - activation.points).abs()) @ activation.inverse_root
        s, P = soft(self.scale), self.network.shape.coordinates
        mu, sigma = self.mu.view(P, -1), soft(self.rho).view(P, -1)
        mean = ((phi * mu).sum(-1) + self.mu_bias) @ s
        variance = ((phi**2 * sigma**2).sum(-1) + soft(self.rho_bias) ** 2) @ s**2
        noise = soft(self.noise)
        return (torch.log(noise) + ((y - mean) ** 2 + variance) / (2 * noise**2)).mean()


def one_at_a_time(network: Network, data: NetData, schedule: AdamSchedule) -> PlainNet:
    """A plain net after the whole schedule."""
    net = PlainNet(network, views(initial(network.shape, [data.init], torch.float64, "cpu"), network.shape))
    optimizer = torch.optim.Adam(net.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay)
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    for _ in range(schedule.epochs):
        order = torch.from_numpy(data.order.permutation(data.y.size))
        for rows in order.split(schedule.batch_size):
            optimizer.zero_grad()
            net.loss(x[rows], y[rows]).backward()
            optimizer.step()
    return net


def problems(settings: dict) -> list[SplitRows]:
    """The diabetes i.i.d. cells of the main block: three seeds, four noise levels."""
    table = load_table("diabetes", settings, Context(offline=True))
    return [make_problem(table, "iid", seed, rel, settings) for seed in range(3) for rel in (0.0, 0.1, 0.25, 0.5)]


def run(*, quick: bool = False) -> list[dict]:
    """CPU seconds per net (one thread) of both ways, for the diabetes job of the main block (60 nets) in float64 and float32.

    ``quick`` trains for a tenth of the epochs.
    """
    torch.set_num_threads(1)
    settings = resolve(SETTINGS, {}, "bench")
    if quick:
        settings = settings | {"epochs": settings["epochs"] // 10, "hint_epoch": settings["hint_epoch"] // 10}
    cells = problems(settings)
    network, _ = build_network(cells[0].x_fit.shape[1], settings)
    schedule = schedule_of(settings)
    sample = [net_data(cells[i], "dak", settings) for i in (0, 5)]
    one_at_a_time(network, net_data(cells[1], "dak", settings), AdamSchedule(2, 32, 0.01, 5e-4))  # warm up
    began = time.process_time()
    for data in sample:
        one_at_a_time(network, data, schedule)
    peer = (time.process_time() - began) / len(sample)
    rows = []
    for precision in ("float64", "float32"):
        began = time.process_time()
        trained = train_nets(cells, ROLES, settings | {"precision": precision})
        ours = (time.process_time() - began) / (len(cells) * len(ROLES))
        misfit = [
            float(np.mean((trained[i]["dak"].net.predict(cells[i].x_train)[0] - cells[i].y_train) ** 2)) for i in (0, 5)
        ]
        note = f"{schedule.epochs} epochs, 60 nets in lockstep; mean squared training error {misfit[0]:.2f}, {misfit[1]:.2f}"
        rows.append(
            row(
                f"case B: train a net of the diabetes job, {precision}",
                ours,
                peer,
                "torch module, autograd, Adam, one net at a time, float64",
                note,
                at_least=5,
            )
        )
    return rows


if __name__ == "__main__":
    show(run())
