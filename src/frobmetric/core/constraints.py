"""The linear maps M -> <A_r, M> and their adjoints; no A_r is ever stored.

Comparisons are stated by distances between samples. `Pairs` is the operator of these: a row is a
squared distance, and the adjoint is one graph-Laplacian product. `Scores` is that of scores a.T M
b between two sets of vectors. The other kinds are differences of rows of these two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .cones import Cone, Product
from .free import AllMatrices
from .kernels import cross_product, image, laplacian_product, pair_products, row_products
from .losses import split_rows
from .matrices import Constraints, LowRank, MatrixFree, Sparse
from .points import Array, Blocks, Data, Index, Point, Rows, Symmetric, Vector, as_dense

#: Share of the terms of a squared norm that is added for their rounding.
NORM_ROUNDING = 1e-14


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
        return type(self)(*_used_rows(self.X, pairs))

    def norms(self) -> Vector:
        return self._lengths

    def difference_norms(self, near: Index, far: Index) -> Vector:
        # |ff' - gg'|^2 = |f|^4 - 2 (f.g)^2 + |g|^4, without the middle term
        return np.hypot(self._lengths[far], self._lengths[near])

    @cached_property
    def _lengths(self) -> Vector:
        return pair_products(self.X, self.X, self.first, self.second)

    def _sorted(self, values: Any) -> Any:
        return values if self._order is None else values[self._order]


class Scores(Constraints):
    """Row r is the score a_i.T M b_j of the r-th pair (i, j); M is any matrix.

    Parameters
    ----------
    A : ndarray of shape (n_anchors, n_features)
    B : ndarray of shape (n_candidates, n_other_features)
    pairs : integer ndarray of shape (n_pairs, 2)
    """

    def __init__(self, A: Array, B: Array, pairs: Index) -> None:
        self.A, self.B = A, B
        self.first, self.second = np.asarray(pairs, dtype=np.intp).reshape(-1, 2).T.copy()
        self.shape = (len(self.first), int(A.shape[1]))
        # Work on the rows of the smaller set. The pattern of the weights is fixed: sort it once.
        self._is_turned = len(B) < len(A)
        self._left, self._right = (B, A) if self._is_turned else (A, B)
        row, column = (self.second, self.first) if self._is_turned else (self.first, self.second)
        self._order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=len(self._left))
        self._indptr, self._indices = np.concatenate([[0], np.cumsum(counts)]), column[self._order]

    def forward(self, M: Point | Array) -> Vector:
        W = as_dense(M).T if self._is_turned else as_dense(M)
        return self._pair_scores(image(self._left, W), self._right)

    def adjoint(self, u: Vector) -> Array:
        weights = u[self._order]
        S = cross_product(self._left, self._indptr, self._indices, weights, self._right)
        return np.ascontiguousarray(S.T) if self._is_turned else S

    def restrict(self, rows: Rows) -> Scores:
        A, first = _used_rows(self.A, self.first[rows])
        B, second = _used_rows(self.B, self.second[rows])
        return Scores(A, B, np.column_stack([first, second]))

    def norms(self) -> Vector:
        a2, b2 = self._squares
        return np.sqrt(a2[self.first] * b2[self.second])

    def difference_norms(self, near: Index, far: Index) -> Vector:
        # |ab' - cd'|^2 = |a|^2 |b|^2 - 2 (a.c)(b.d) + |c|^2 |d|^2, and more than its rounding
        lengths = self.norms()
        terms = lengths[near] ** 2 + lengths[far] ** 2
        inner = _inner_products(self.A, self.first[near], self.first[far])
        inner *= _inner_products(self.B, self.second[near], self.second[far])
        return np.sqrt(np.maximum(terms - 2 * inner, 0) + NORM_ROUNDING * terms)

    def default_cone(self) -> Cone:
        return AllMatrices(self.A.shape[1], self.B.shape[1])

    def _pair_scores(self, left: Array, right: Array) -> Vector:
        scores = np.empty(self.shape[0])
        scores[self._order] = row_products(left, right, self._indptr, self._indices)
        return scores

    @cached_property
    def _squares(self) -> tuple[Vector, Vector]:
        """Squared lengths of the anchors and of the candidates."""
        return np.einsum("ij,ij->i", self.A, self.A), np.einsum("ij,ij->i", self.B, self.B)


def _inner_products(X: Array, first: Index, second: Index) -> Vector:
    """Return the inner product of two rows of X for each pair of row numbers."""
    order = np.argsort(first, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=len(X)))])
    products = np.empty(len(first))
    products[order] = row_products(X, X, indptr, second[order])
    return products


def _used_rows(X: Data, index: Index) -> tuple[Data, Index]:
    """Return the rows of X that occur in the index, if these are few, and the index in them."""
    used = np.zeros(X.shape[0], dtype=bool)
    used[index] = True
    return (X, index) if used.mean() > 0.9 else (X[used], (np.cumsum(used) - 1)[index])


class PairDifferences(Constraints):
    """Row r is row far[r] minus row near[r] of some pairs, each distinct pair measured once."""

    def __init__(self, pairs: Pairs | Scores, near: Index, far: Index) -> None:
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
        return self.pairs.difference_norms(self.near, self.far)

    def default_cone(self) -> Cone:
        return self.pairs.default_cone()


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
        pairs, position = _distinct_pairs(quadruplets, int(X.shape[0]))
        super().__init__(self.measure(X, pairs), *np.split(position, 2))


class Bilinear(PairDifferences):
    """Row r states of (a, b, c, d) that the score a.T M b is larger than c.T M d.

    The scores are not those of a metric: M need be neither symmetric nor square.

    Parameters
    ----------
    A : ndarray of shape (n_anchors, n_features)
    B : ndarray of shape (n_candidates, n_other_features)
    quadruplets : integer ndarray of shape (n_rows, 4)
        a and c are rows of A, b and d rows of B.
    """

    def __init__(self, A: Array, B: Array, quadruplets: Index) -> None:
        pairs, position = _distinct_pairs(quadruplets, len(B))
        larger, smaller = np.split(position, 2)
        super().__init__(Scores(A, B, pairs), near=smaller, far=larger)


class Triplets(Quadruplets):
    """Row r states of (anchor, near, far) that the anchor is closer to near than to far.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    triplets : integer ndarray of shape (n_rows, 3)
    """

    def __init__(self, X: Data, triplets: Index) -> None:
        super().__init__(X, np.asarray(triplets)[:, [0, 1, 0, 2]])


def _distinct_pairs(quadruplets: Index, n: int) -> tuple[Index, Index]:
    """Return each pair (i, j < n) once, and the positions of all first, then all second pairs."""
    both = np.concatenate([quadruplets[:, :2], quadruplets[:, 2:]]).astype(np.intp)
    keys, position = np.unique(both[:, 0] * n + both[:, 1], return_inverse=True)
    return np.column_stack([keys // n, keys % n]), position


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

    def default_cone(self) -> Cone:
        return self.cone

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

    def default_cone(self) -> Cone:
        return self.parts[0].default_cone()

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
CONSTRAINTS = (*COMPARISONS, Scores, Bilinear, Sparse, LowRank, MatrixFree, Stack)
