"""A primal-dual interior-point method for plain SDPs: few costly steps, whatever the conditioning.

The other methods need a well-conditioned problem; this one needs room for a dense matrix of the
order of the rows. It follows the central path X Z = mu I with Mehrotra's predictor and corrector
in the direction of Helmberg, Kojima and Monteiro.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from ..core.cones import PSD, Cone, Nonnegative, Product
from ..core.matrices import Sparse
from ..core.problem import FrobeniusSDP
from ..core.threads import threads_for_order
from ..core.types import Array, Symmetric, Vector
from .watch import Watch

#: Most rows for which the method is used: its matrix has the square of them.
MOST_ROWS = 5000
#: Operations of a step that are always quick; more may be, by the cubes of the blocks' orders.
QUICK, SHARE = 1e9, 150.0
#: Order from which the extreme eigenvalue of a step is estimated, by Lanczos' method.
LARGE = 150
#: Share of the way to the boundary of the cone that a step takes.
CAUTION = 0.95
#: Steps without a smaller error before the method gives up.
PATIENCE = 5


def work_of_step(problem: FrobeniusSDP) -> float:
    """Floating-point operations of one step, roughly; infinity if the method is no choice."""
    A = problem.constraints
    if not isinstance(A, Sparse) or A.shape[0] > MOST_ROWS:
        return np.inf
    parts = _parts(problem.cone)
    if not all(isinstance(part, PSD | Nonnegative) for part in parts):
        return np.inf
    orders = [part.shape[0] for part in parts if isinstance(part, PSD)]
    schur = sum(block.work for block in _blocks(problem)) + A.shape[0] ** 3 / 3
    return schur + sum(60.0 * n**3 + 1e6 for n in orders)


def is_quick(problem: FrobeniusSDP, work: float) -> bool:
    """Whether a step is cheap beside the eigen-decompositions that other methods need."""
    orders = (part.shape[0] for part in _parts(problem.cone) if not isinstance(part, Nonnegative))
    return work <= max(QUICK, SHARE * sum(n**3 for n in orders))


def interior(problem: FrobeniusSDP, watch: Watch) -> None:
    """Steps along the central path until `watch` ends them or they lead no further."""
    with threads_for_order(max(part.shape[0] for part in _parts(problem.cone))):
        _follow(problem, watch)


def _follow(problem: FrobeniusSDP, watch: Watch) -> None:
    blocks, idle = list(_blocks(problem)), 0
    _, b = problem.loss.conjugate(np.zeros(problem.constraints.shape[0]))
    X, y, Z = _start(problem, b)
    negligible = 1e-13 * float(np.vdot(X, Z))
    least = np.array([np.inf, np.inf])
    while not watch.status and idle < PATIENCE:
        try:
            X, y, Z = _advance(problem, blocks, b, X, y, Z)
        except np.linalg.LinAlgError:
            return  # on the boundary up to rounding
        missed = b - problem.constraints.forward(X)
        uncovered = float(np.linalg.norm(problem.cost - problem.constraints.adjoint(y) - Z))
        sigma = float(np.linalg.norm(X) / max(np.linalg.norm(Z), np.finfo(float).tiny))
        step = watch.step("interior", problem, X, y, missed, uncovered, sigma)
        watch.record(X, y, step)
        watch.count()
        # the relative gap can stay large while the path is followed as it should be
        reached = np.array([step.error, float(np.vdot(X, Z)) + negligible])
        idle = 0 if (reached < 0.9 * least).any() else idle + 1
        least = np.minimum(least, reached)


def _start(problem: FrobeniusSDP, b: Vector) -> tuple[Symmetric, Vector, Symmetric]:
    """Multiples of the identity that are large beside b and C."""
    identity, norms = problem.cone.identity(), problem.constraints.norms()
    root = np.sqrt(float(identity.sum()))
    far = float((np.abs(b) / (1 + norms)).max(initial=0.0))
    size = max(float(norms.max(initial=0.0)), float(np.linalg.norm(problem.cost)))
    room, cover = max(10.0, root, root * far), max(10.0, root, size)
    return room * identity, np.zeros(len(b)), cover * identity


def _advance(
    problem: FrobeniusSDP, blocks: list[_Block], b: Vector, X: Symmetric, y: Vector, Z: Symmetric
) -> tuple[Symmetric, Vector, Symmetric]:
    """One predictor and corrector step."""
    A, order = problem.constraints, float(problem.cone.identity().sum())
    mu = float(np.vdot(X, Z)) / order
    rest = problem.cost - A.adjoint(y) - Z
    inverse = _join(blocks, (block.inverse(Z) for block in blocks))
    schur = sum(block.schur(X, inverse) for block in blocks)
    factor = _factor(np.asarray(schur))

    def between(left: Symmetric, middle: Symmetric) -> Symmetric:
        return _join(blocks, (block.between(left, middle, inverse) for block in blocks))

    base = b + A.forward(between(X, rest))

    def direction(target: float, bend: Symmetric | float) -> tuple[Symmetric, Vector, Symmetric]:
        right = base - target * A.forward(inverse)
        if isinstance(bend, np.ndarray):
            right = right + A.forward(bend)
        dy = scipy.linalg.cho_solve(factor, right)
        dZ = rest - A.adjoint(dy)
        return target * inverse - X - between(X, dZ) - bend, dy, dZ

    roots = [(block.root(X), block.root(Z)) for block in blocks]

    def reach(k: int, moved: Symmetric) -> float:
        """How far the cone allows X (k = 0) or Z (k = 1) to go, at most 1."""
        pairs = zip(blocks, roots, strict=True)
        steepest = max(block.steepest(root[k], moved) for block, root in pairs)
        return min(1.0, CAUTION / steepest) if steepest > 0 else 1.0

    dX, dy, dZ = direction(0.0, 0.0)
    long_x, long_z = reach(0, dX), reach(1, dZ)
    left = float(np.vdot(X + long_x * dX, Z + long_z * dZ)) / order
    target = mu * min(1.0, max(0.0, left / mu)) ** (3 if min(long_x, long_z) > 0.3 else 1)
    dX, dy, dZ = direction(target, between(dX, dZ))
    long_x, long_z = reach(0, dX), reach(1, dZ)
    return X + long_x * dX, y + long_z * dy, Z + long_z * dZ


def _factor(schur: Array) -> tuple[Array, bool]:
    """Its Cholesky factor, with a ridge if rounding has made it indefinite."""
    ridge = 0.0
    for _ in range(6):
        try:
            lifted = schur + np.diag(ridge * np.diagonal(schur)) if ridge else schur
            return scipy.linalg.cho_factor(lifted, lower=True)
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-14)
    raise np.linalg.LinAlgError("the rows are dependent")


def _join(blocks: list[_Block], parts: Iterable[Symmetric]) -> Symmetric:
    if blocks[0].is_whole:
        return next(iter(parts))
    return np.concatenate([part.ravel() for part in parts])


def _parts(cone: Cone) -> tuple[Cone, ...]:
    return cone.cones if isinstance(cone, Product) else (cone,)


def _blocks(problem: FrobeniusSDP) -> Iterator[_Block]:
    rows, cone = problem.constraints.rows, problem.cone  # type: ignore[attr-defined]
    if not isinstance(cone, Product):
        yield _Block(cone, slice(None), rows, True)
        return
    columns, start = sp.csc_array(rows), 0
    for part in cone.cones:
        place = slice(start, start + int(np.prod(part.shape)))
        yield _Block(part, place, sp.csr_array(columns[:, place]), False)
        start = place.stop


@dataclass(frozen=True)
class _Block:
    """One block of the cone, and the rows of A on it."""

    cone: Cone
    place: slice
    rows: sp.csr_array
    is_whole: bool

    def of(self, X: Symmetric) -> Symmetric:
        return X if self.is_whole else X[self.place].reshape(self.cone.shape)

    @property
    def is_diagonal(self) -> bool:
        return isinstance(self.cone, Nonnegative)

    @property
    def work(self) -> float:
        """Floating-point operations of `schur`, roughly."""
        if self.is_diagonal:
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
        """For each row that is not zero here: which columns it fills, and the matrix of those."""
        ends = zip(self.rows.indptr, self.rows.indptr[1:], strict=False)
        return [
            _core(self.rows.indices[a:b], self.rows.data[a:b], self.cone.shape[0])
            for a, b in ends
            if b > a
        ]

    def inverse(self, Z: Symmetric) -> Symmetric:
        own = self.of(Z)
        if self.is_diagonal:
            return 1 / own
        inverse = scipy.linalg.cho_solve(
            (np.linalg.cholesky(own), True), np.eye(len(own)), overwrite_b=True
        )
        return (inverse + inverse.T) / 2

    def between(self, X: Symmetric, S: Symmetric, inverse: Symmetric) -> Symmetric:
        """The symmetric part of X S Z^-1."""
        X, S, inverse = self.of(X), self.of(S), self.of(inverse)
        if self.is_diagonal:
            return X * S * inverse
        product = X @ S @ inverse
        return (product + product.T) / 2

    def root(self, X: Symmetric) -> Array:
        """L with X = L L.T; of a diagonal block X itself."""
        own = self.of(X)
        return own if self.is_diagonal else np.asarray(np.linalg.cholesky(own), dtype=float)

    def steepest(self, root: Array, dX: Symmetric) -> float:
        """The largest eigenvalue of -X^-1 dX."""
        dX = self.of(dX)
        if self.is_diagonal:
            return float((-dX / root).max(initial=0.0))
        if len(root) < LARGE:
            half = scipy.linalg.solve_triangular(root, dX, lower=True)
            inner = scipy.linalg.solve_triangular(root, half.T, lower=True)
            return -float(np.linalg.eigvalsh((inner + inner.T) / 2)[0])
        value = _lowest_eigenvalue(root, dX)
        return -value + 0.02 * abs(value)

    def schur(self, X: Symmetric, inverse: Symmetric) -> Array:
        """The matrix of <A_i, X A_j Z^-1>."""
        X, inverse = self.of(X), self.of(inverse)
        if self.is_diagonal:
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
            own = slice(entries.indptr[start], entries.indptr[stop])
            pairs = X[q[own, None], p] * inverse[p[own, None], q]
            schur[start:stop] = (gather[start:stop, own] @ pairs) @ gather.T
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
        """The entries that some row has, and the rows that are not zero on these alone."""
        places, index = np.unique(self.rows.indices, return_inverse=True)
        ends = np.unique(self.rows.indptr)
        shape = (len(ends) - 1, len(places))
        return places, sp.csr_array((self.rows.data, index, ends), shape=shape)


def _lowest_eigenvalue(root: Array, S: Symmetric) -> float:
    """Of L^-1 S L^-T, to a few digits."""

    def product(v: Vector) -> Vector:
        w = scipy.linalg.solve_triangular(root, v, lower=True, trans="T", check_finite=False)
        return scipy.linalg.solve_triangular(root, S @ w, lower=True, check_finite=False)

    inner = scipy.sparse.linalg.LinearOperator(root.shape, product, dtype=float)
    start = np.random.default_rng(0).normal(size=len(root))
    try:
        return float(
            scipy.sparse.linalg.eigsh(
                inner, 1, which="SA", tol=1e-2, v0=start, return_eigenvectors=False
            )[0]
        )
    except scipy.sparse.linalg.ArpackNoConvergence as error:
        raise np.linalg.LinAlgError("no step length was found") from error


def _core(places_in_row: Array, values: Vector, n: int) -> tuple[Array, Array]:
    p, q = np.divmod(places_in_row, n)
    support, places = np.unique(np.concatenate([p, q]), return_inverse=True)
    core = np.zeros((len(support), len(support)))
    core[places[: len(p)], places[len(p) :]] = values
    return support, core
