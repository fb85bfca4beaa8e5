"""A kernel problem worked through in blocks: the answers of the whole Gram matrix, on arrays and on tensors, in bounded memory."""

import tracemalloc

import numpy as np
import pytest

from orledger.recovery import InputError, KernelRecovery, Spectral, global_radius, local_interval, occam
from orledger.recovery.kernel import Edges, Radii

ETA = 0.6


def kernel(A, B):
    """A Matérn 1/2 kernel, on arrays or tensors."""
    xp = np if isinstance(A, np.ndarray) else pytest.importorskip("torch")
    return xp.exp(-xp.abs(A[:, None, :] - B[None, :, :]).sum(-1) / 0.7)


def problem(n=37, m=23):
    rng = np.random.default_rng(5)
    X, points = rng.uniform(0, 1, (n, 2)), rng.uniform(0, 1, (m, 2))
    return X, np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(n), points


@pytest.mark.parametrize("block", [1, 7, 36, 37, 1000])
@pytest.mark.parametrize("exact", [None, [0, 9]])
def test_blocks_give_what_the_whole_gram_matrix_gives(block, exact):
    X, y, points = problem()
    whole = Spectral.from_gram(kernel(X, X), y, exact=exact)
    proj = whole.project(kernel(X, points), np.ones(len(points)))
    blocks = KernelRecovery.fit(kernel, X, y, exact=exact, block=block)
    rho = 1.3 * occam(whole, ETA).rho
    assert blocks.occam(ETA).rho == pytest.approx(rho / 1.3, rel=1e-12)
    band, edges = local_interval(whole, proj, rho, ETA), blocks.intervals(points, rho, ETA)
    cert, radii = global_radius(whole, proj, 2.0, ETA), blocks.radii(points, 2.0, ETA)
    for name in Edges._fields:
        np.testing.assert_allclose(getattr(edges, name), getattr(band, name), rtol=1e-9, atol=1e-11, err_msg=name)
    for name in Radii._fields:
        np.testing.assert_allclose(getattr(radii, name), getattr(cert, name), rtol=1e-9, atol=1e-11, err_msg=name)
    assert (edges.lower < edges.upper).all()


@pytest.mark.parametrize(("block", "blocks"), [(1, 15), (2, 6), (4, 3), (5, 1)])
def test_only_blocks_on_and_below_the_diagonal_are_evaluated(block, blocks):
    asked = []

    def counted(A, B):
        asked.append((A[0, 0], B[0, 0]))
        return kernel(A, B)

    X = np.arange(5.0)[:, None]
    KernelRecovery.fit(counted, X, np.ones(5), block=block, diagonal=np.ones_like)
    assert len(asked) == blocks
    assert all(row >= column for row, column in asked)


def test_tensors_stay_on_their_device():
    torch = pytest.importorskip("torch")
    X, y, points = problem()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tensors = [torch.as_tensor(v, device=device) for v in (X, y, points)]
    ours, theirs = KernelRecovery.fit(kernel, X, y, block=10), KernelRecovery.fit(kernel, *tensors[:2], block=10)
    rho = 1.3 * ours.occam(ETA).rho
    got = theirs.intervals(tensors[2], rho, ETA)
    assert got.lower.device.type == device
    np.testing.assert_allclose(got.lower.cpu(), ours.intervals(points, rho, ETA).lower, rtol=1e-8)


def test_points_do_not_gather_in_memory():
    """150 times the points of a block need less than twice the memory of one block's answers and its own arrays."""
    X, y, _ = problem(n=60)
    blocks = KernelRecovery.fit(kernel, X, y, block=16)
    rho = 1.3 * blocks.occam(ETA).rho
    peaks = []
    for m in (16, 2400):
        points = np.random.default_rng(0).uniform(0, 1, (m, 2))
        tracemalloc.start()
        blocks.intervals(points, rho, ETA)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    answers = 2400 * 8 * 2 * len(Edges._fields)
    assert peaks[1] < 2 * (peaks[0] + answers) < 2400 * 60 * 8


def test_bad_input_is_refused():
    X, y, points = problem()
    with pytest.raises(InputError, match="X has 37 rows and y has 36"):
        KernelRecovery.fit(kernel, X, y[:-1])
    with pytest.raises(InputError, match="block = 0"):
        KernelRecovery.fit(kernel, X, y, block=0)
    with pytest.raises(InputError, match=r"kernel gave shape \(37,\)"):
        KernelRecovery.fit(lambda A, _: np.ones(len(A)), X, y)
    fitted = KernelRecovery.fit(kernel, X, y)
    with pytest.raises(InputError, match="points have 1 columns and X has 2"):
        fitted.radii(points[:, :1], 1.0, ETA)
    with pytest.raises(InputError, match="points are empty"):
        fitted.radii(points[:0], 1.0, ETA)


def test_the_widened_problem_of_a_whole_basis_is_the_one_factored_anew():
    """Without exact rows the same number is added to every eigenvalue; what is computed from G + delta I by itself agrees."""
    rng = np.random.default_rng(5)
    X, y = rng.random((40, 2)), rng.standard_normal(40)
    G = np.exp(-np.sqrt(((X[:, None] - X) ** 2).sum(-1)))
    spec = Spectral.from_gram(G, y)
    assert spec.dropped == 0
    anew = Spectral.from_gram(G + np.diag(spec.delta), y, rank_tol=0.0)
    np.testing.assert_allclose(spec.widened.s2, anew.s2, rtol=1e-12)
    assert (spec.widened.s2 > spec.s2).all()
    assert occam(spec.widened, 1.0).rho == pytest.approx(occam(anew, 1.0).rho, rel=1e-10)
    assert spec.widened.widened is None
