"""Problems that contain the exact one whatever rounding did to its Gram matrix, in the eigenvectors that are at hand.

`Spectral.delta` on the diagonal of G dominates the exact matrix. On the noisy rows it is one number: it leaves the eigenvectors
as they are, and nothing is factored again. What the delta of exact rows does to an edge is bounded by its tangent, because each
of V, m and q at a fixed mu is a concave function of the matrix, or a product of two such.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orledger.recovery._array import ENTRY_UNITS, Array, divisor, machine_eps, namespace, tiny

if TYPE_CHECKING:
    import numpy as np

    from orledger.recovery.centre import Pieces
    from orledger.recovery.projection import Projection
    from orledger.recovery.spectral import Spectral


def loosened(spec: Spectral, y: Array, mask: np.ndarray | None) -> Spectral | None:
    """The problem of `spec` with delta on its noisy rows, its exact rows' delta being `pending`; y (n,) and mask as given.

    None where it has to be factored anew: exact rows have lost a direction, or an eigenvalue is more negative than delta.
    """
    rows = spec.exact
    if (rows is not None and rows.dropped) or not len(spec.s2):
        return None
    xp, pending = namespace(y), 0.0 if rows is None else float(spec.delta[mask].max())
    spec, delta = replace(spec, resolution=0.0, given=None, pending=pending), spec.noisy_delta
    if spec.lost is None:
        return replace(spec, s2=spec.s2 + delta)
    w = xp.concatenate([spec.s2, spec.lost[0]]) + delta
    if not bool((w > 0).all()):
        return None
    if rows is not None and mask is not None:
        y = y[~mask] - rows.coupling @ rows.data
    Q = xp.concatenate([spec.basis, spec.lost[1]], 1)
    z = Q.T @ y
    rest = y - Q @ z
    return replace(spec, s2=w, yt=z, y02=float(rest @ rest), basis=Q, dropped=0, lost=None)


def reweighted(proj: Projection, spec: Spectral) -> Projection:
    """The functionals of `proj` in its `loosened` problem `spec`: the products with eigenvectors are at hand, the eigenvalues differ.

    Squared norms are a little larger, as they may have been rounded down.
    """
    xp, (b, kxx), old = namespace(proj.ct), proj.entered, proj.spec
    eps, kept, k = machine_eps(kxx), len(old.s2), kxx * (1 + 4 * ENTRY_UNITS * machine_eps(kxx))
    whole, given = xp.clip(k, tiny(k), None), (b, k)
    ct = proj.ct * xp.sqrt(old.s2 / spec.s2[:kept])
    if proj.source is not None:
        k = k - (proj.source * proj.source).sum(1)
    if old.lost is not None:
        ct = xp.concatenate([ct, proj.lost_part.T / xp.sqrt(spec.s2[kept:])], 1)
    left = xp.clip(k - (ct * ct).sum(1), 0, None)
    floor = (len(b) + 16) * eps * whole
    return replace(
        proj, spec=spec, ct=ct, c02=left, norm2=xp.clip(k, 0, None), c02_floor=floor, rows=given, whole2=given[1]
    )


def pending_move(proj: Projection, p: Pieces, R: Array) -> Array:
    """How much further out (points,) the dual edge sqrt(V R) +- m at one mu per point can lie with the pending delta added.

    p: the moments at mu, R (points,) what V is multiplied with. With the weights a of the exact rows in the posterior mean of the functional, V
    grows by at most delta times the sum of a^2, R by the same with the data's weights, and m by the root of both.
    """
    spec, rows = proj.spec, proj.spec.exact
    if rows is None or not spec.pending:
        return R * 0
    xp, V, (coupled, with_data), scale = namespace(R), p.V, spec.pulls, p.mu[:, None]
    own = proj.source - scale * (p.fc @ coupled)
    data = rows.data - scale * (p.f @ with_data)
    # The factor's columns are orthogonal: eigenvectors over the roots of their eigenvalues.
    inverse = spec.pending * (rows.factor * rows.factor).sum(0)
    dV, dR = (own * own) @ inverse, (data * data) @ inverse
    new, old = xp.sqrt((V + dV) * (R + dR)), xp.sqrt(V * R)
    return xp.sqrt(dV * dR) + (V * dR + dV * (R + dR)) / divisor(new + old)
