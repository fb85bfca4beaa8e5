"""DAK: the activation's algebra, closed-form moments, the written-out gradient, and batched training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from orledger.runners.case_b.activation import dyadic_points, features, make_activation
from orledger.runners.case_b.network import Bounds, Network, Shape, initial, views
from orledger.runners.case_b.training import AdamSchedule, NetData, train


def small_network(dtype: torch.dtype = torch.float64) -> Network:
    activation = make_activation(-10.0, 10.0, 3, dtype=dtype)
    return Network(Shape(5, (64, 32, 16), 8, activation.size), activation, -10.0, 10.0, 0.95)


def nets(count: int, n: int = 75, kl: bool = True) -> list[NetData]:
    g = np.random.default_rng(5)
    draws = [g.standard_normal((n, 5)) for _ in range(count)]
    return [
        NetData(
            x=x,
            y=np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.2 * g.standard_normal(n),
            kl_weight=(i % 2) / n if kl else 0.0,
            init=torch.Generator().manual_seed(i),
            order=np.random.default_rng(i),
        )
        for i, x in enumerate(draws)
    ]


def test_features_reproduce_the_laplace_kernel_on_the_inducing_points() -> None:
    activation = make_activation(-10.0, 10.0, 3)
    phi = features(activation.points.unsqueeze(-1), activation)
    kernel = torch.exp(-(activation.points[:, None] - activation.points[None, :]).abs())
    assert torch.allclose(phi @ phi.T, kernel, rtol=0, atol=1e-14)


def test_dyadic_points_are_ordered_by_level() -> None:
    points, levels = dyadic_points(0.0, 8.0, 3)
    assert points.tolist() == [4, 2, 6, 1, 3, 5, 7]
    assert levels == (1, 2, 2, 3, 3, 3, 3)


def test_each_basis_function_vanishes_outside_its_coarser_neighbours() -> None:
    """The neighbours of a point are the nearest points of a coarser level on either side, or the open end."""
    activation = make_activation(-4.0, 4.0, 3)
    z = torch.linspace(-6, 6, 2401, dtype=torch.float64)
    phi = features(z.unsqueeze(-1), activation).numpy()
    points, levels = activation.points.numpy(), np.array(activation.levels)
    for j, (u, level) in enumerate(zip(points, levels, strict=True)):
        coarser = points[levels < level]
        left = max((c for c in coarser if c < u), default=-np.inf)
        right = min((c for c in coarser if c > u), default=np.inf)
        outside = (z.numpy() <= left) | (z.numpy() >= right)
        assert np.abs(phi[outside, j]).max(initial=0.0) < 1e-14
        inside = (z.numpy() > left + 0.05) & (z.numpy() < right - 0.05) & (np.abs(z.numpy() - u) < 4)
        assert np.abs(phi[inside, j]).min() > 1e-4


def test_closed_form_moments_equal_monte_carlo_moments() -> None:
    network = small_network()
    flat = initial(network.shape, [torch.Generator().manual_seed(3)], torch.float64, "cpu")
    flat += 0.3 * torch.randn(flat.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    p = views(flat, network.shape)
    x = torch.randn(1, 6, 5, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    phi = network.phi(p, x)
    mean, variance = network.moments(p, phi)
    g, draws = torch.Generator().manual_seed(7), 400_000
    P, M = network.shape.coordinates, network.shape.points
    soft = torch.nn.functional.softplus
    total = torch.zeros(draws, 6, dtype=torch.float64)
    for d in range(P):
        columns = slice(d * M, (d + 1) * M)
        mu, sigma = p["mu"][0, columns], soft(p["rho"][0, columns])
        weights = mu + sigma * torch.randn(draws, M, generator=g, dtype=torch.float64)
        bias = p["mu_bias"][0] + soft(p["rho_bias"][0]) * torch.randn(draws, 1, generator=g, dtype=torch.float64)
        total += soft(p["scale"][0, d]) * (weights @ phi[0, :, columns].T + bias)
    standard_error = (variance[0] / draws).sqrt()
    assert ((total.mean(0) - mean[0]).abs() < 5 * standard_error).all()
    assert ((total.var(0) / variance[0] - 1).abs() < 5 * (2 / draws) ** 0.5).all()


@pytest.mark.parametrize("rows", [1, 7, 32])
def test_written_out_gradient_equals_automatic_differentiation(rows: int) -> None:
    network = small_network()
    g = torch.Generator().manual_seed(8)
    flat = initial(network.shape, [torch.Generator().manual_seed(i) for i in range(3)], torch.float64, "cpu")
    flat += 0.1 * torch.randn(flat.shape, generator=g, dtype=torch.float64)
    x = torch.randn(3, rows, 5, generator=g, dtype=torch.float64)
    y = torch.randn(3, rows, generator=g, dtype=torch.float64)
    kl_weight = torch.tensor([[0.0], [0.01], [0.1]], dtype=torch.float64)
    prior = torch.rand(3, network.columns, generator=g, dtype=torch.float64) + 0.1
    written = torch.zeros_like(flat)
    network.gradient(views(flat, network.shape), x, y, kl_weight, prior, views(written, network.shape))

    leaf = flat.clone().requires_grad_()
    p = views(leaf, network.shape)
    z = x
    for k in range(4):
        z = torch.einsum("nbi,nio->nbo", z, p[f"W{k}"]) + p[f"b{k}"]
        z = torch.relu(z) if k < 2 else z
    low, high = z.flatten(1).min(1).values[:, None, None], z.flatten(1).max(1).values[:, None, None]
    phi = features((z - low) * (0.95 * 20 / (high - low)) - 9.5, network.activation)
    mean, variance = network.moments(p, phi)
    noise = network.noise(p)[:, None]
    expected = 0.5 * torch.log(2 * torch.pi * noise**2) + ((y - mean) ** 2 + variance) / (2 * noise**2)
    objective = expected.mean(1) + kl_weight[:, 0] * network.divergence(p, prior)
    objective.sum().backward()
    assert torch.allclose(written, leaf.grad, rtol=1e-9, atol=1e-11)


def test_divergence_equals_torch_distributions() -> None:
    network = small_network()
    flat = initial(network.shape, [torch.Generator().manual_seed(1)], torch.float64, "cpu")
    p = views(flat, network.shape)
    prior = torch.full((1, network.columns), 0.25, dtype=torch.float64)
    normal, kl, soft = torch.distributions.Normal, torch.distributions.kl_divergence, torch.nn.functional.softplus
    weights = kl(normal(p["mu"], soft(p["rho"])), normal(0.0, prior.sqrt())).sum()
    bias = kl(normal(p["mu_bias"], soft(p["rho_bias"])), normal(0.0, 1.0)).sum()
    assert float(network.divergence(p, prior)) == pytest.approx(float(weights + 8 * bias), rel=1e-12)


def test_frozen_scale_clamps_what_lies_outside() -> None:
    network = small_network()
    z = torch.tensor([[[-3.0], [0.0], [1.0], [9.0]]], dtype=torch.float64)
    bounds = Bounds(low=torch.tensor([[[-1.0]]]).double(), high=torch.tensor([[[1.0]]]).double())
    assert network.to_grid(z, bounds).flatten().tolist() == pytest.approx([-9.5, 0.0, 9.5, 9.5])


def reference_training(network: Network, data: NetData, schedule: AdamSchedule, steps: int) -> dict[str, torch.Tensor]:
    """One net with torch's own modules, automatic differentiation and optimiser: an independent implementation."""
    n = data.y.size
    start = views(initial(network.shape, [data.init], torch.float64, "cpu"), network.shape)
    p = {name: value.clone().requires_grad_() for name, value in start.items()}
    optimizer = torch.optim.Adam(list(p.values()), lr=schedule.learning_rate, weight_decay=schedule.weight_decay)
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    prior, done = torch.ones(1, network.columns, dtype=torch.float64), 0
    while True:
        order = data.order.permutation(n)
        for start_row in range(0, n, schedule.batch_size):
            if done == steps:
                return p
            rows = order[start_row : start_row + schedule.batch_size]
            z = x[rows][None]
            for k in range(4):
                z = torch.relu(z @ p[f"W{k}"] + p[f"b{k}"]) if k < 2 else z @ p[f"W{k}"] + p[f"b{k}"]
            low, high = z.min(), z.max()
            phi = features((z - low) * (0.95 * 20 / (high - low)) - 9.5, network.activation)
            mean, variance = network.moments(p, phi)
            noise = network.noise(p)
            loss = (0.5 * torch.log(noise**2) + ((y[rows] - mean) ** 2 + variance) / (2 * noise**2)).mean()
            loss = loss + data.kl_weight * network.divergence(p, prior).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1


def test_batched_training_equals_one_at_a_time_over_200_steps() -> None:
    """Three nets in lockstep agree to 1e-9 with the same nets alone; the dynamics amplify any rounding far beyond that."""
    network, schedule, steps = small_network(), AdamSchedule(80, 32, 0.01, 5e-4), 200
    together = train(network, nets(3), schedule, steps=steps).flat
    for i in range(3):
        alone = train(network, nets(3)[i : i + 1], schedule, steps=steps).flat[0]
        assert float((together[i] - alone).abs().max()) < 1e-9


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("rows", [32, 75, 77])
def test_batch_size_leaves_no_trace(dtype: torch.dtype, rows: int) -> None:
    """Three epochs end in the same net in batches of 1, 2, 5 and 9, full and partial minibatches included.

    With AVX-512 to the bit; with MKL's code for AVX2 the place of a net in memory decides some last bits.
    """
    rounding = 1e-10 if dtype == torch.float64 else 1e-5
    network, schedule = small_network(dtype), AdamSchedule(3, 32, 0.01, 5e-4)
    largest = train(network, nets(9, rows), schedule, dtype=dtype).flat
    for size in (1, 2, 5):
        for start in (0, 9 - size):
            part = train(network, nets(9, rows)[start : start + size], schedule, dtype=dtype).flat[:size]
            torch.testing.assert_close(part, largest[start : start + size], rtol=0, atol=rounding)


def test_training_equals_torch_autograd_and_adam() -> None:
    """Ten steps agree to 1e-9 with an implementation on torch's own autograd and optimiser, whose rounding differs."""
    network, schedule, steps = small_network(), AdamSchedule(80, 32, 0.01, 5e-4), 10
    together = train(network, nets(4), schedule, steps=steps).p
    for i in range(4):
        reference = reference_training(network, nets(4)[i], schedule, steps)
        for name, value in reference.items():
            assert float((together[name][i] - value[0].detach()).abs().max()) < 1e-9, name


def test_a_net_does_not_depend_on_its_place_in_a_batch_of_the_same_size() -> None:
    network, schedule = small_network(), AdamSchedule(2, 32, 0.01, 5e-4)
    forward = train(network, nets(4), schedule).flat
    backward = train(network, nets(4)[::-1], schedule).flat
    assert float((forward - backward.flip(0)).abs().max()) < 1e-12


def test_training_is_deterministic_and_reduces_the_misfit() -> None:
    network, schedule = small_network(), AdamSchedule(30, 32, 0.01, 5e-4)
    data = nets(2)
    first, second = train(network, nets(2), schedule), train(network, nets(2), schedule)
    assert torch.equal(first.flat, second.flat)
    mean, sd = first.one(0).predict(data[0].x)
    assert np.mean((mean - data[0].y) ** 2) < 0.3 * data[0].y.var()
    assert (sd >= first.one(0).sigma).all()


def test_prior_revision_reaches_the_objective() -> None:
    """A prior with tiny variances set after the first epoch shrinks the means of the nets that carry the KL term."""
    network, schedule = small_network(), AdamSchedule(12, 32, 0.01, 0.0)

    def tighten(epoch: int, trained: object, prior: torch.Tensor) -> bool:
        if epoch == 1:
            prior.fill_(1e-6)
        return False

    loose = train(network, nets(2), schedule).p["mu"]
    tight = train(network, nets(2), schedule, revise=tighten).p["mu"]
    assert torch.equal(loose[0], tight[0])  # net 0 has no KL term
    assert float(tight[1].abs().mean()) < 0.5 * float(loose[1].abs().mean())
