"""Small random problems of every kind, and their formulation for a generic solver."""

import warnings
from dataclasses import MISSING, fields, replace

import numpy as np
import scipy.sparse as sp

from frobmetric.core import (
    PSD,
    Bilinear,
    FrobeniusSDP,
    LowRank,
    MatrixFree,
    NeighborTriplets,
    Nonnegative,
    Pairs,
    Product,
    Quadruplets,
    Sparse,
    Stack,
    Triplets,
)
from frobmetric.core.constraints import PairDifferences, Scores
from frobmetric.core.weights import Vectors, WeightedPairs, WeightedQuadruplets


def symmetric(rng, n):
    A = rng.normal(size=(n, n))
    return (A + A.T) / 2


def psd(rng, n, rank=None):
    L = rng.normal(size=(n, rank or n))
    return L @ L.T / n


def element(rng, cone):
    """A random element of the space of a cone of matrices or of weights."""
    if cone.is_diagonal:
        return rng.normal(size=cone.shape)
    return symmetric(rng, cone.shape[0]) if cone.is_symmetric else rng.normal(size=cone.shape)


def member(rng, cone):
    """A random element of a cone, positive definite if it is that of symmetric matrices."""
    if cone.is_diagonal:
        return rng.uniform(size=cone.shape)
    return psd(rng, cone.shape[0]) if cone.is_symmetric else rng.normal(size=cone.shape)


def _tuples(rng, n_samples, n_rows, size):
    return np.array([rng.choice(n_samples, size, replace=False) for _ in range(n_rows)])


def _pairs(rng, n, m):
    X = rng.normal(size=(15, n))
    return Pairs(X, _tuples(rng, 15, m, 2))


def _pair_differences(rng, n, m):
    return PairDifferences(_pairs(rng, n, 9), rng.integers(0, 9, m), rng.integers(0, 9, m))


def _triplets(rng, n, m):
    return Triplets(rng.normal(size=(15, n)), _tuples(rng, 15, m, 3))


def _sparse_triplets(rng, n, m):
    X = sp.csr_array(rng.normal(size=(15, n)) * (rng.random((15, n)) < 0.6))
    return Triplets(X, _tuples(rng, 15, m, 3))


def _quadruplets(rng, n, m):
    return Quadruplets(rng.normal(size=(15, n)), _tuples(rng, 15, m, 4))


def _neighbor_triplets(rng, n, m):
    anchors = np.sort(rng.choice(15, min(15, max(1, m // 6)), replace=False))
    others = np.array([rng.choice(np.delete(np.arange(15), a), 5, replace=False) for a in anchors])
    return NeighborTriplets(rng.normal(size=(15, n)), anchors, others[:, :2], others[:, 2:])


def _scores(rng, n, m):
    A, B = rng.normal(size=(15, n)), rng.normal(size=(9, n + 2))
    return Scores(A, B, np.column_stack([rng.integers(0, 15, m), rng.integers(0, 9, m)]))


def _bilinear(rng, n, m):
    A, B = rng.normal(size=(9, n)), rng.normal(size=(15, n + 2))
    anchors, candidates = rng.integers(0, 9, (m, 2)), rng.integers(0, 15, (m, 2))
    return Bilinear(A, B, np.stack([anchors, candidates], axis=2).reshape(m, 4))


def _sparse(rng, n, m):
    return Sparse.from_matrices([symmetric(rng, n) for _ in range(m)])


def _low_rank(rng, n, m):
    ranks = rng.integers(1, 4, m)
    return LowRank([rng.normal(size=(n, k)) for k in ranks], [rng.normal(size=k) for k in ranks])


def _matrix_free(rng, n, m):
    hidden = _sparse(rng, n, m)
    return MatrixFree(hidden.forward, hidden.adjoint, m, PSD(n))


def _stack(rng, n, m):
    return Stack([_triplets(rng, n, m - m // 2), _sparse(rng, n, max(1, m // 2))])


def _weighted_pairs(rng, n, m):
    return WeightedPairs(rng.normal(size=(15, n)), _tuples(rng, 15, m, 2))


def _weighted_quadruplets(rng, n, m):
    return WeightedQuadruplets(rng.normal(size=(15, n)), _tuples(rng, 15, m, 4))


def _vectors(rng, n, m):
    X = rng.normal(size=(15, 2 * n))
    return Vectors.of_blocks(X, _tuples(rng, 15, m, 4), np.repeat(np.arange(n), 2))


#: One random instance of each kind: (rng, order n, about m rows).
EXAMPLES = {
    Pairs: _pairs,
    PairDifferences: _pair_differences,
    Triplets: _triplets,
    Quadruplets: _quadruplets,
    NeighborTriplets: _neighbor_triplets,
    Scores: _scores,
    Bilinear: _bilinear,
    Sparse: _sparse,
    LowRank: _low_rank,
    MatrixFree: _matrix_free,
    Stack: _stack,
    WeightedPairs: _weighted_pairs,
    WeightedQuadruplets: _weighted_quadruplets,
    Vectors: _vectors,
}
MORE_EXAMPLES = {"sparse X": _sparse_triplets}


def blocks(rng, m=6):
    """Constraints on a product of two PSD blocks and a non-negative one."""
    cone = Product((PSD(3), PSD(2), Nonnegative(2)))
    rows = [
        np.concatenate([symmetric(rng, 3).ravel(), symmetric(rng, 2).ravel(), rng.normal(size=2)])
        for _ in range(m)
    ]
    return Sparse(sp.csr_array(np.array(rows)), cone)


def make_loss(kind, rng, m):
    """A loss of this class with random positive numbers where it has no default."""
    needed = [f.name for f in fields(kind) if f.default is MISSING]
    values = {name: rng.uniform(0.2, 2.0, m) for name in needed}
    if "sense" in needed:
        values["sense"] = rng.integers(-1, 2, m)
    return kind(**values)


def random_problem(rng, constraints, loss, with_cost, with_prior):
    cone = constraints.default_cone()
    return FrobeniusSDP(
        constraints,
        loss,
        cost=0.3 * element(rng, cone) if with_cost else None,
        prior=member(rng, cone) if with_prior else None,
        sigma=float(rng.uniform(0.3, 3.0)),
    )


def make_feasible(loss, rng, constraints):
    """The hard loss with targets that a matrix inside the cone meets, with room to spare."""
    cone = constraints.default_cone()
    v = constraints.forward(member(rng, cone) + cone.identity())
    return replace(loss, target=v - loss.sense * rng.uniform(0.0, 0.5, len(v)))


def dense_rows(constraints):
    """The matrices A_r, one after the other."""
    unit = np.eye(constraints.shape[0])
    return [constraints.adjoint(e) for e in unit]


def cvxpy_optimum(problem):
    """The optimal value by cvxpy and Clarabel, and whether it calls it accurate."""
    import cvxpy as cp

    kind = {"PSD": problem.cone.is_symmetric}
    if problem.cone.is_diagonal:
        kind = {"nonneg": True}
    M = cp.Variable(problem.cone.shape, **kind)
    v = np.array([A.ravel() for A in dense_rows(problem.constraints)]) @ cp.vec(M, order="C")
    objective = cp.sum(cp.multiply(problem.cost, M))
    objective += cp.sum_squares(M - problem.prior) / (2 * problem.sigma)
    loss, rules = problem.loss, []
    short = cp.pos(loss.target - v)
    soft = {
        "Hinge": lambda: loss.weight @ short,
        "SmoothedHinge": lambda: (
            loss.weight @ cp.huber(short, loss.smoothing) / (2 * loss.smoothing)
        ),
        "SquaredHinge": lambda: loss.weight @ cp.square(short),
    }
    if loss.is_hard:
        sense = np.broadcast_to(loss.sense, loss.target.shape)
        above, below, level = (np.flatnonzero(sense == k) for k in (1, -1, 0))
        rules = [
            v[above] >= loss.target[above],
            v[below] <= loss.target[below],
            v[level] == loss.target[level],
        ]
    else:
        objective += soft[type(loss).__name__]()
    statement = cp.Problem(cp.Minimize(objective), rules)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        best = statement.solve(solver=cp.CLARABEL)
    return best, statement.status == "optimal"
