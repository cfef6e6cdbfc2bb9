"""A primal-dual interior-point method for plain SDPs: few costly steps, whatever the conditioning.

The other methods need a well-conditioned problem; this one needs room for a dense matrix of the
order of the rows. It follows the central path X Z = mu I with Mehrotra's predictor and corrector
in the direction of Helmberg, Kojima and Monteiro.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from ..core.cones import Cone
from ..core.matrices import Sparse
from ..core.points import Array, Symmetric, Vector
from ..core.problem import FrobeniusSDP
from ..core.threads import threads_for_order
from .monitor import Monitor, State
from .plain import Units, begin, targets

#: Most rows for which the method is used: its matrix has the square of them.
MOST_ROWS = 5000
#: Operations of a step that are always cheap, and per cube of the blocks' orders.
QUICK, SHARE = 1e9, 150.0
#: Order from which the extreme eigenvalue of a step is estimated, by Lanczos' method.
LARGE = 150
#: Share of the distance to the boundary of the cone that a step takes.
CAUTION = 0.95
#: Steps without a smaller error after which the method gives up.
PATIENCE = 5


def work_of_step(problem: FrobeniusSDP) -> float:
    """Estimate the floating-point operations of one step; infinity if the method cannot be used."""
    A = problem.constraints.as_sparse()
    if A is None or A.shape[0] > MOST_ROWS or not problem.cone.is_solid:
        return np.inf
    schur = sum(block.work for block in _blocks(A, problem.cone)) + A.shape[0] ** 3 / 3
    return schur + sum(60.0 * n**3 + 1e6 for n in _orders(problem.cone))


def is_quick(problem: FrobeniusSDP, work: float) -> bool:
    """Return whether a step is cheap beside the eigen-decompositions of other methods."""
    return work <= max(QUICK, SHARE * sum(n**3 for n in _orders(problem.cone)))


def _orders(cone: Cone) -> list[int]:
    return [block.shape[0] for block in cone.blocks() if not block.is_diagonal]


def interior(
    problem: FrobeniusSDP, state: State, monitor: Monitor, *, units: Units | None = None
) -> State:
    """Follow the central path until the monitor ends the run or steps lead no further.

    The start is a multiple of the identity, not the given state. `units` are those of the problem
    as the user gave it.
    """
    *_, units = begin(problem, state, units, "interior")
    A = problem.constraints.as_sparse()
    if A is None or A.shape[0] > MOST_ROWS or not problem.cone.is_solid:
        raise ValueError(
            f"solver='interior' needs at most {MOST_ROWS} rows, given as sparse matrices, on a "
            f"cone with interior points; this problem has {problem.constraints.shape[0]} rows of "
            f"{type(problem.constraints).__name__} on {problem.cone}: use solver='admm'"
        )
    problem = replace(problem, constraints=A)
    with threads_for_order(max(block.shape[0] for block in problem.cone.blocks())):
        _follow(problem, _blocks(A, problem.cone), monitor, units)
    monitor.status = monitor.status or "stalled"
    return monitor.state


def _follow(problem: FrobeniusSDP, blocks: list[_Block], monitor: Monitor, units: Units) -> None:
    A, b, idle = problem.constraints, targets(problem), 0
    X, y, Z = _start(problem, b)
    order, negligible = int(problem.cone.identity().sum()), 1e-13 * float(np.vdot(X, Z))
    least = np.array([np.inf, np.inf])
    while not monitor.status and idle < PATIENCE:
        try:
            X, y, Z = _advance(problem, blocks, b, X, y, Z)
        except np.linalg.LinAlgError:
            return  # on the boundary up to rounding
        dual_residual = float(np.linalg.norm(problem.cost - A.adjoint(y) - Z))
        sigma = float(np.linalg.norm(X) / max(np.linalg.norm(Z), np.finfo(float).tiny))
        residuals = b - A.forward(X), dual_residual
        iterate = units.measure("interior", problem, (X, y, sigma), residuals, order)
        monitor.record(iterate)
        # the relative gap can stay large while the path is followed as it should be
        reached = np.array([iterate.error, float(np.vdot(X, Z)) + negligible])
        idle = 0 if (reached < 0.9 * least).any() else idle + 1
        least = np.minimum(least, reached)


def _start(problem: FrobeniusSDP, b: Vector) -> tuple[Symmetric, Vector, Symmetric]:
    """Return multiples of the identity that are large beside b and C."""
    identity, norms = problem.cone.identity(), problem.constraints.norms()
    root = np.sqrt(float(identity.sum()))
    far = float((np.abs(b) / (1 + norms)).max(initial=0.0))
    size = max(float(norms.max(initial=0.0)), float(np.linalg.norm(problem.cost)))
    size_x, size_z = max(10.0, root, root * far), max(10.0, root, size)
    return size_x * identity, np.zeros(len(b)), size_z * identity


def _advance(
    problem: FrobeniusSDP, blocks: list[_Block], b: Vector, X: Symmetric, y: Vector, Z: Symmetric
) -> tuple[Symmetric, Vector, Symmetric]:
    """Take one predictor and corrector step."""
    A, cut, order = problem.constraints, problem.cone.cut, float(problem.cone.identity().sum())
    mu = float(np.vdot(X, Z)) / order
    rest = problem.cost - A.adjoint(y) - Z

    def each(method: Callable[..., Any], *elements: Symmetric) -> list[Any]:
        """Return the results of a method for each block, called with its parts of elements."""
        return [method(*given) for given in zip(blocks, *map(cut, elements), strict=True)]

    inverse = _join(problem.cone, each(_Block.inverse, Z))
    factor = _factor(np.asarray(sum(each(_Block.schur, X, inverse))))

    def between(left: Symmetric, middle: Symmetric) -> Symmetric:
        return _join(problem.cone, each(_Block.between, left, middle, inverse))

    base = b + A.forward(between(X, rest))

    def direction(target: float, bend: Symmetric | float) -> tuple[Symmetric, Vector, Symmetric]:
        right = base - target * A.forward(inverse)
        if isinstance(bend, np.ndarray):
            right = right + A.forward(bend)
        dy = scipy.linalg.cho_solve(factor, right)
        dZ = rest - A.adjoint(dy)
        return target * inverse - X - between(X, dZ) - bend, dy, dZ

    roots = each(_Block.root, X), each(_Block.root, Z)

    def reach(k: int, moved: Symmetric) -> float:
        """Return the step that the cone allows X (k = 0) or Z (k = 1), at most 1."""
        given = zip(blocks, roots[k], cut(moved), strict=True)
        steepest = max(block.steepest(root, part) for block, root, part in given)
        return min(1.0, CAUTION / steepest) if steepest > 0 else 1.0

    dX, dy, dZ = direction(0.0, 0.0)
    long_x, long_z = reach(0, dX), reach(1, dZ)
    left = float(np.vdot(X + long_x * dX, Z + long_z * dZ)) / order
    target = mu * min(1.0, max(0.0, left / mu)) ** (3 if min(long_x, long_z) > 0.3 else 1)
    dX, dy, dZ = direction(target, between(dX, dZ))
    long_x, long_z = reach(0, dX), reach(1, dZ)
    return X + long_x * dX, y + long_z * dy, Z + long_z * dZ


def _factor(schur: Array) -> tuple[Array, bool]:
    """Factor a matrix by Cholesky, with a ridge if rounding has made it indefinite."""
    ridge = 0.0
    for _ in range(6):
        try:
            lifted = schur + np.diag(ridge * np.diagonal(schur)) if ridge else schur
            return scipy.linalg.cho_factor(lifted, lower=True)
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-14)
    raise np.linalg.LinAlgError("the rows are dependent")


def _join(cone: Cone, parts: list[Symmetric]) -> Symmetric:
    is_whole = parts[0].shape == cone.shape
    return parts[0] if is_whole else np.concatenate([part.ravel() for part in parts])


def _blocks(A: Sparse, cone: Cone) -> list[_Block]:
    """Return the blocks of the cone with the rows on each."""
    parts, columns = cone.blocks(), sp.csc_array(A.rows)
    if parts[0] is cone:
        return [_Block(cone, A.rows)]
    ends = pairwise(np.cumsum([0, *(int(np.prod(part.shape)) for part in parts)]))
    places = zip(parts, ends, strict=True)
    return [_Block(part, sp.csr_array(columns[:, i:j])) for part, (i, j) in places]


@dataclass(frozen=True)
class _Block:
    """One block of the cone, and the rows of A on it; its methods take that block of elements."""

    cone: Cone
    rows: sp.csr_array

    @property
    def work(self) -> float:
        """Estimate of the floating-point operations of `schur`."""
        if self.cone.is_diagonal:
            return 10.0 * self.rows.nnz
        return min(self._work_by_entries, self._work_by_rows)

    @property
    def _work_by_entries(self) -> float:
        return 600.0 * self.rows.nnz**2  # looking entries up is slow beside arithmetic

    @property
    def _work_by_rows(self) -> float:
        area, used = float(self.cone.shape[0] ** 2), np.count_nonzero(np.diff(self.rows.indptr))
        filled = sum(len(support) for support, _ in self._cores)
        return 2 * area * filled + used * (1e6 + 100 * area + 4.0 * self.rows.nnz)

    @cached_property
    def _cores(self) -> list[tuple[Array, Array]]:
        """For each row that is not zero here: the columns that it fills, and their matrix."""
        ends = zip(self.rows.indptr, self.rows.indptr[1:], strict=False)
        return [
            _core(self.rows.indices[a:b], self.rows.data[a:b], self.cone.shape[0])
            for a, b in ends
            if b > a
        ]

    def inverse(self, Z: Symmetric) -> Symmetric:
        if self.cone.is_diagonal:
            return 1 / Z
        factor = np.linalg.cholesky(Z), True
        inverse = scipy.linalg.cho_solve(factor, np.eye(len(Z)), overwrite_b=True)
        return (inverse + inverse.T) / 2

    def between(self, X: Symmetric, S: Symmetric, inverse: Symmetric) -> Symmetric:
        """Return the symmetric part of X S Z^-1."""
        if self.cone.is_diagonal:
            return X * S * inverse
        product = X @ S @ inverse
        return (product + product.T) / 2

    def root(self, X: Symmetric) -> Array:
        """Return L with X = L L.T; X itself for a diagonal block."""
        return X if self.cone.is_diagonal else np.asarray(np.linalg.cholesky(X), dtype=float)

    def steepest(self, root: Array, dX: Symmetric) -> float:
        """Return the largest eigenvalue of -X^-1 dX."""
        if self.cone.is_diagonal:
            return float((-dX / root).max(initial=0.0))
        if len(root) < LARGE:
            half = scipy.linalg.solve_triangular(root, dX, lower=True)
            inner = scipy.linalg.solve_triangular(root, half.T, lower=True)
            return -float(np.linalg.eigvalsh((inner + inner.T) / 2)[0])
        value = _lowest_eigenvalue(root, dX)
        return -value + 0.02 * abs(value)

    def schur(self, X: Symmetric, inverse: Symmetric) -> Array:
        """Return the matrix of <A_i, X A_j Z^-1>."""
        if self.cone.is_diagonal:
            return (self.rows @ sp.diags_array(X * inverse) @ self.rows.T).toarray()
        if self._work_by_entries <= self._work_by_rows:
            return self._schur_by_entries(X, inverse)
        return self._schur_by_rows(X, inverse)

    def _schur_by_entries(self, X: Symmetric, inverse: Symmetric) -> Array:
        entries, (m, n) = self.rows, (self.rows.shape[0], self.cone.shape[0])
        p, q = np.divmod(entries.indices, n)
        gather = sp.csr_array(
            (entries.data, np.arange(entries.nnz), entries.indptr), shape=(m, entries.nnz)
        )
        schur, size = np.empty((m, m)), max(1, int(2e7 // max(1, entries.nnz)))
        cuts = np.searchsorted(entries.indptr, np.arange(0, entries.nnz + size, size))
        for start, stop in pairwise(np.unique(np.append(cuts.clip(max=m), [0, m]))):
            here = slice(entries.indptr[start], entries.indptr[stop])
            pairs = X[q[here, None], p] * inverse[p[here, None], q]
            schur[start:stop] = (gather[start:stop, here] @ pairs) @ gather.T
        return (schur + schur.T) / 2

    def _schur_by_rows(self, X: Symmetric, inverse: Symmetric) -> Array:
        places, rows = self._touched
        count = len(self._cores)
        lower = np.zeros((count, count))
        size = max(1, int(2e6 // len(places)))
        for start in range(0, count, size):
            cores = self._cores[start : start + size]
            moved = np.empty((len(places), len(cores)))
            for k, (support, core) in enumerate(cores):
                moved[:, k] = ((X[:, support] @ core) @ inverse[support]).ravel()[places]
            lower[start:, start : start + size] = rows[start:] @ moved
        lower = np.tril(lower)
        used, schur = np.flatnonzero(np.diff(self.rows.indptr)), np.zeros((self.rows.shape[0],) * 2)
        schur[np.ix_(used, used)] = lower + np.tril(lower, -1).T
        return schur

    @cached_property
    def _touched(self) -> tuple[Array, sp.csr_array]:
        """Entries that are not zero in some row, and the nonzero rows restricted to them."""
        places, index = np.unique(self.rows.indices, return_inverse=True)
        ends = np.unique(self.rows.indptr)
        shape = (len(ends) - 1, len(places))
        return places, sp.csr_array((self.rows.data, index, ends), shape=shape)


def _lowest_eigenvalue(root: Array, S: Symmetric) -> float:
    """Return the smallest eigenvalue of L^-1 S L^-T, to a few digits."""

    def product(v: Vector) -> Vector:
        w = scipy.linalg.solve_triangular(root, v, lower=True, trans="T", check_finite=False)
        return scipy.linalg.solve_triangular(root, S @ w, lower=True, check_finite=False)

    inner = scipy.sparse.linalg.LinearOperator(root.shape, product, dtype=float)
    start = np.random.default_rng(0).normal(size=len(root))
    try:
        options = {"which": "SA", "tol": 1e-2, "v0": start, "return_eigenvectors": False}
        return float(scipy.sparse.linalg.eigsh(inner, 1, **options)[0])
    except scipy.sparse.linalg.ArpackNoConvergence as error:
        raise np.linalg.LinAlgError("no step length was found") from error


def _core(places_in_row: Array, values: Vector, n: int) -> tuple[Array, Array]:
    p, q = np.divmod(places_in_row, n)
    support, places = np.unique(np.concatenate([p, q]), return_inverse=True)
    core = np.zeros((len(support), len(support)))
    core[places[: len(p)], places[len(p) :]] = values
    return support, core
