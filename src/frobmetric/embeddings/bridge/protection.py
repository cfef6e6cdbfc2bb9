"""Protection of neighbours: least squares with a hinge on wrong old vectors near mapped queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import AllMatrices, Bilinear, FrobeniusSDP, Hinge
from ...core.points import Array, Index, Vector
from ...core.solution import Solution
from ...solvers import solve
from .ridge import RidgePath
from .trust import Questions

#: True neighbours of a query and wrong vectors near the mapped query, each with each a triplet.
N_NEAR, N_WRONG = 3, 5


@dataclass(frozen=True, eq=False)
class NeighborTriplets:
    """Triplets (query, true old neighbour, wrong old vector near the mapped query).

    Attributes
    ----------
    index : integer ndarray of shape (n_triplets, 3)
        Row of the pairs, and two rows of `candidates`.
    candidates : ndarray of shape (n_candidates, n_old)
        Old vectors that occur.
    target : ndarray of shape (n_triplets,)
        Smallest score difference that costs nothing.
    """

    index: Index
    candidates: Array
    target: Vector


def mine_neighbors(old: Array, mapped: Array, questions: Questions) -> NeighborTriplets:
    """Return the triplets of pairs, given the predictions of each pair by the others.

    Wrong are the vectors nearest to the prediction that are not among the true neighbours. The
    target of a triplet is what the old vector itself reaches, at most the median of all triplets.
    """
    true, index = questions.true, questions.index
    reach = min(2 * true.shape[1], len(index.vectors))
    found = index.search.nearest(mapped, reach, labels=questions.labels)
    is_wrong = (found >= 0) & ~np.any(found[:, :, None] == true[:, None, :], axis=2)
    is_wrong &= np.cumsum(is_wrong, axis=1) <= N_WRONG
    near = true[:, :: max(1, true.shape[1] // N_NEAR)][:, :N_NEAR]
    anchor, place = np.nonzero(is_wrong)
    # each wrong vector of a query with each of its true neighbours
    pairs = np.broadcast_to(near[anchor], (len(anchor), near.shape[1]))
    triplets = np.column_stack(
        [
            np.repeat(anchor, near.shape[1]),
            pairs.ravel(),
            np.repeat(found[anchor, place], near.shape[1]),
        ]
    )
    triplets = triplets[triplets[:, 1] >= 0]
    used, position = np.unique(triplets[:, 1:], return_inverse=True)
    triplets[:, 1:] = position.reshape(-1, 2)
    candidates = index.vectors[used]
    return NeighborTriplets(triplets, candidates, _targets(triplets, old, candidates))


def _targets(triplets, old, candidates):
    """Return half the difference of the squared norms, plus the margin that is asked for."""
    anchor, near, far = triplets.T
    half = np.sum(candidates**2, axis=1) / 2
    offset = half[near] - half[far]
    reached = np.sum(old[anchor] * (candidates[near] - candidates[far]), axis=1) - offset
    return offset + np.minimum(reached, np.median(reached)) if len(reached) else offset


def protected_map(
    path: RidgePath,
    strength: float,
    triplets: NeighborTriplets,
    weight: float,
    *,
    tol: float,
    max_iter: int,
    start: Solution | None = None,
) -> tuple[Array, Solution]:
    """Return the coefficients with the hinge on triplets, and the certified solution.

    Minimises |Y - F W|^2 / 2 + penalty |W|^2 / 2 + weight * mean_r max(0, target_r - score_r),
    score_r = f_r.T W (near_r - far_r). Completing the square around the ridge map W_0 gives
    |(F.T F + penalty)^(1/2) (W - W_0)|^2 / 2, the Frobenius term of the matrix in the brackets.
    """
    root = np.sqrt(path.s**2 + strength * path.unit)
    anchors = path.U * (path.s / root)
    quadruplets = triplets.index[:, [0, 1, 0, 2]]
    base = path.U @ (path.s[:, None] * (path.V.T @ path.prior))
    problem = FrobeniusSDP(
        Bilinear(anchors, triplets.candidates, quadruplets),
        Hinge(
            np.full(len(quadruplets), weight / len(quadruplets)),
            triplets.target - _scores(base, triplets),
        ),
        prior=root[:, None] * (path.V.T @ (path.coefficients(strength) - path.prior)),
        cone=AllMatrices(anchors.shape[1], triplets.candidates.shape[1]),
    )
    solution = solve(problem, tol=tol, max_iter=max_iter, start=start)
    moved = solution.point.dense() / root[:, None]
    return path.prior + path.V @ moved, solution


def _scores(mapped, triplets):
    anchor, near, far = triplets.index.T
    return np.sum(mapped[anchor] * (triplets.candidates[near] - triplets.candidates[far]), axis=1)
