"""The linear maps M -> <A_r, M> and their adjoints; no A_r is ever stored.

Comparisons are stated by distances between samples. `Pairs` is the operator of these: a row is a
squared distance, and the adjoint is one graph-Laplacian product. The other kinds are differences
of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .cones import Cone, Product
from .kernels import image, laplacian_product, pair_products
from .losses import split_rows
from .matrices import Constraints, LowRank, MatrixFree, Sparse
from .points import Blocks, Data, Index, Point, Rows, Symmetric, Vector, as_dense


class Pairs(Constraints):
    """Row r is the squared distance (x_i - x_j).T M (x_i - x_j) of the r-th pair (i, j).

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : integer ndarray of shape (n_pairs, 2)
    """

    def __init__(self, X: Data, pairs: Index) -> None:
        self.X = X
        self.first, self.second = np.asarray(pairs, dtype=np.intp).reshape(-1, 2).T.copy()
        self.shape = (len(self.first), int(X.shape[1]))
        # The pattern of W is fixed by the pairs: sort once, then only its data change.
        is_sorted = (np.diff(self.first) >= 0).all()
        self._order = None if is_sorted else np.argsort(self.first, kind="stable")
        counts = np.bincount(self.first, minlength=X.shape[0])
        self._indptr = np.concatenate([[0], np.cumsum(counts)])
        self._indices = self._sorted(self.second)

    def forward(self, M: Point | Symmetric) -> Vector:
        if isinstance(M, np.ndarray):
            left, right = image(self.X, M), self.X
        else:
            left = right = image(self.X, M.factor())
        return pair_products(left, right, self.first, self.second)

    def adjoint(self, u: Vector) -> Symmetric:
        return laplacian_product(self.X, self._indptr, self._indices, self._sorted(u))

    def restrict(self, rows: Rows) -> Pairs:
        pairs = np.column_stack([self.first[rows], self.second[rows]])
        used = np.zeros(self.X.shape[0], dtype=bool)
        used[pairs] = True
        if used.mean() > 0.9:
            return type(self)(self.X, pairs)
        return type(self)(self.X[used], (np.cumsum(used) - 1)[pairs])

    def norms(self) -> Vector:
        return self._lengths

    @cached_property
    def _lengths(self) -> Vector:
        return pair_products(self.X, self.X, self.first, self.second)

    def _sorted(self, values: Any) -> Any:
        return values if self._order is None else values[self._order]


class PairDifferences(Constraints):
    """Row r is d^2(pair far[r]) - d^2(pair near[r]), each distinct pair measured once."""

    def __init__(self, pairs: Pairs, near: Index, far: Index) -> None:
        self.pairs, self.near, self.far = pairs, near, far
        self.shape = (len(near), pairs.shape[1])

    def forward(self, M: Point | Symmetric) -> Vector:
        distances = self.pairs.forward(M)
        return distances[self.far] - distances[self.near]

    def adjoint(self, u: Vector) -> Symmetric:
        n_pairs = self.pairs.shape[0]
        near, far = (np.bincount(side, u, n_pairs) for side in (self.near, self.far))
        return self.pairs.adjoint(np.subtract(far, near, dtype=float))

    def restrict(self, rows: Rows) -> PairDifferences:
        near, far = self.near[rows], self.far[rows]
        used, position = np.unique(np.concatenate([near, far]), return_inverse=True)
        return PairDifferences(self.pairs.restrict(used), *np.split(position, 2))

    def norms(self) -> Vector:
        # |ff' - gg'|^2 = |f|^4 - 2 (f.g)^2 + |g|^4, without the middle term
        lengths = self.pairs.norms()
        return np.hypot(lengths[self.far], lengths[self.near])


class Quadruplets(PairDifferences):
    """Row r states of (a, b, c, d) that a and b are closer than c and d.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    quadruplets : integer ndarray of shape (n_rows, 4)
    """

    #: Kind of the pairs whose distances are compared.
    measure: ClassVar[type[Pairs]] = Pairs

    def __init__(self, X: Data, quadruplets: Index) -> None:
        both = np.concatenate([quadruplets[:, :2], quadruplets[:, 2:]]).astype(np.intp)
        n = int(X.shape[0])
        keys, position = np.unique(both[:, 0] * n + both[:, 1], return_inverse=True)
        pairs = self.measure(X, np.column_stack([keys // n, keys % n]))
        super().__init__(pairs, *np.split(position, 2))


class Triplets(Quadruplets):
    """Row r states of (anchor, near, far) that the anchor is closer to near than to far.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    triplets : integer ndarray of shape (n_rows, 3)
    """

    def __init__(self, X: Data, triplets: Index) -> None:
        super().__init__(X, np.asarray(triplets)[:, [0, 1, 0, 2]])


class NeighborTriplets(Constraints):
    """All triplets (anchor, near, far) of each anchor with its near and far neighbours.

    Rows run over (anchor, near, far), the last fastest; no index of the triplets is stored.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    anchors : integer ndarray of shape (n_anchors,)
    near, far : integer ndarrays of shape (n_anchors, n_near) and (n_anchors, n_far)
    """

    def __init__(self, X: Data, anchors: Index, near: Index, far: Index) -> None:
        self._grid = (len(anchors), near.shape[1], far.shape[1])
        self.shape = (int(np.prod(self._grid)), int(X.shape[1]))
        others = np.concatenate([near, far], axis=1)
        first = np.repeat(anchors, others.shape[1])
        self.pairs = Pairs(X, np.column_stack([first, others.ravel()]))

    def forward(self, M: Point | Symmetric) -> Vector:
        n_anchors, n_near, n_far = self._grid
        distances = self.pairs.forward(M).reshape(n_anchors, n_near + n_far)
        margins = distances[:, None, n_near:] - distances[:, :n_near, None]
        return margins.ravel()

    def adjoint(self, u: Vector) -> Symmetric:
        block = u.reshape(self._grid)
        return self.pairs.adjoint(np.hstack([-block.sum(axis=2), block.sum(axis=1)]).ravel())

    def norms(self) -> Vector:
        n_anchors, n_near, n_far = self._grid
        lengths = self.pairs.norms().reshape(n_anchors, n_near + n_far)
        return np.hypot(lengths[:, None, n_near:], lengths[:, :n_near, None]).ravel()

    def restrict(self, rows: Rows) -> PairDifferences:
        _, n_near, n_far = self._grid
        anchor, near, far = np.unravel_index(rows, self._grid)
        start = anchor * (n_near + n_far)
        triplets = PairDifferences(self.pairs, start + near, start + n_near + far)
        return triplets.restrict(np.arange(len(rows)))


class Beside(Constraints):
    """Different constraints on each block: row r is the sum of row r of all blocks.

    The elements are those of the product of the blocks' cones.
    """

    def __init__(self, parts: Sequence[Constraints], cones: Sequence[Cone]) -> None:
        self.parts, self.cone = tuple(parts), Product(tuple(cones))
        self.shape = (self.parts[0].shape[0], self.cone.shape[0])

    def forward(self, M: Point | Symmetric) -> Vector:
        blocks: Iterable[Any] = M.parts if isinstance(M, Blocks) else self.cone.parts(as_dense(M))
        pairs = zip(self.parts, blocks, strict=True)
        return np.sum([part.forward(block) for part, block in pairs], axis=0)

    def adjoint(self, u: Vector) -> Symmetric:
        return np.concatenate([part.adjoint(u).ravel() for part in self.parts])

    def restrict(self, rows: Rows) -> Beside:
        return Beside([part.restrict(rows) for part in self.parts], self.cone.cones)

    def norms(self) -> Vector:
        return np.sqrt(np.sum([part.norms() ** 2 for part in self.parts], axis=0))

    def as_sparse(self) -> Sparse | None:
        rows = _sparse_rows(self.parts)
        return Sparse(sp.hstack(rows), Product(self.cone.blocks())) if rows else None


class Stack(Constraints):
    """Several kinds of rows, one below the other."""

    def __init__(self, parts: Sequence[Constraints]) -> None:
        self.parts = tuple(parts)
        self._sizes = [part.shape[0] for part in parts]
        self.shape = (sum(self._sizes), self.parts[0].shape[1])

    def forward(self, M: Point | Symmetric) -> Vector:
        return np.concatenate([part.forward(M) for part in self.parts])

    def adjoint(self, u: Vector) -> Symmetric:
        runs = np.split(u, np.cumsum(self._sizes)[:-1])
        pairs = zip(self.parts, runs, strict=True)
        return np.sum([part.adjoint(run) for part, run in pairs], axis=0)

    def restrict(self, rows: Rows) -> Stack:
        runs = split_rows(rows, self._sizes)
        return Stack([part.restrict(run) for part, run in zip(self.parts, runs, strict=True)])

    def norms(self) -> Vector:
        return np.concatenate([part.norms() for part in self.parts])

    def as_sparse(self) -> Sparse | None:
        rows, first = _sparse_rows(self.parts), self.parts[0].as_sparse()
        return Sparse(sp.vstack(rows), first.cone) if rows and first is not None else None


def _sparse_rows(parts: Sequence[Constraints]) -> list[sp.csr_array]:
    """Return the rows of each part as a sparse matrix; none if a part has no sparse form."""
    sparse = [part.as_sparse() for part in parts]
    return [] if None in sparse else [part.rows for part in sparse if part is not None]


#: Every kind of comparisons of distances.
COMPARISONS = (Pairs, PairDifferences, Quadruplets, Triplets, NeighborTriplets)
#: Every kind of constraints on one matrix; the contract tests loop over it.
CONSTRAINTS = (*COMPARISONS, Sparse, LowRank, MatrixFree, Stack)
