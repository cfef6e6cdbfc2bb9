"""The linear maps M -> <A_r, M> and their adjoints; no A_r is ever stored.

Comparisons are stated by distances between samples. `Pairs` is the operator of these: a row is a
squared distance, and the adjoint is one graph-Laplacian product. `Scores` is that of scores a.T M
b between two sets of vectors. The other kinds are differences of rows of these two.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .checks import as_data, as_rows, as_sided_rows, as_sides, read_array
from .cones import Cone
from .free import AllMatrices
from .kernels import BLOCK, cross_product, image, laplacian_product, pair_products, row_products
from .matrices import Constraints, LowRank, MatrixFree, Sparse
from .points import Array, Data, Index, Point, Rows, Symmetric, Vector, as_dense
from .rounding import EPS, TINY, gamma, norm, row_norms
from .stacking import Stack

#: Share of the terms of a squared norm that is added for their rounding.
NORM_ROUNDING = 1e-14


class Pairs(Constraints):
    """Row r is the squared distance (x_i - x_j).T M (x_i - x_j) of the r-th pair (i, j).

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : integer ndarray of shape (n_pairs, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Pairs
    >>> from frobmetric.core.points import Factored
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Pairs(X, np.array([[0, 1]])).forward(Factored(np.eye(2)))
    array([25.])
    """

    def __init__(self, X: Data, pairs: Index) -> None:
        self.X = X = as_data(X)
        self.first, self.second = as_rows(pairs, 2, X.shape[0], name="pairs").T.copy()
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

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        # |d + e|^2 - |d|^2 <= 2 |d| |e| + |e|^2, with e from the images of both ends
        distances, image_error = self.forward(M), self._image_error(M)
        n_roundings = M.rank + 6
        lengths = np.sqrt(distances)
        e = image_error[self.first] + image_error[self.second]
        error = e * (2 * lengths + e) + gamma(n_roundings) * distances + n_roundings * TINY
        return distances, error

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        # no term w_ij x_i x_j.T is rounded more often than sums over pairs and over rows have terms
        n, rows = self.X.shape[0], BLOCK // max(1, self.X.shape[1]) + 1
        pairs = int(
            (np.bincount(self.first, minlength=n) + np.bincount(self.second, minlength=n)).max(
                initial=0
            )
        )
        n_roundings = pairs + min(n, rows) + n // rows + 10 + n_more
        ends = (self._row_norms[self.first] + self._row_norms[self.second]) ** 2
        return gamma(n_roundings) * float(np.abs(u) @ ends) + u.any() * n_roundings * TINY

    def restrict(self, rows: Rows) -> Pairs:
        pairs = np.column_stack([self.first[rows], self.second[rows]])
        return type(self)(*_used_rows(self.X, pairs))

    def norms(self) -> Vector:
        return self._lengths

    def difference_norms(self, near: Index, far: Index) -> Vector:
        # |ff' - gg'|^2 = |f|^4 - 2 (f.g)^2 + |g|^4, without the middle term
        return np.hypot(self._lengths[far], self._lengths[near])

    def as_quadruplets(self) -> tuple[Data, Index]:
        # a point has the distance zero to itself
        return self.X, np.column_stack([self.first, self.first, self.first, self.second])

    @cached_property
    def _lengths(self) -> Vector:
        return pair_products(self.X, self.X, self.first, self.second)

    @cached_property
    def _row_norms(self) -> Vector:
        return row_norms(self.X)

    def _image_error(self, M: Point) -> Vector:
        """Return a bound on the error of the image of each sample under the factor of M."""
        L = M.factor()
        return gamma(len(L) + 4) * norm(L) * self._row_norms + len(L) * TINY

    def _sorted(self, values: Any) -> Any:
        return values if self._order is None else values[self._order]


class Scores(Constraints):
    """Row r is the score a_i.T M b_j of the r-th pair (i, j); M is any matrix.

    Parameters
    ----------
    A : ndarray of shape (n_anchors, n_features)
    B : ndarray of shape (n_candidates, n_other_features)
    pairs : integer ndarray of shape (n_pairs, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core.constraints import Scores
    >>> from frobmetric.core.points import Unfactored
    >>> rows = Scores(np.eye(2), np.eye(2), np.array([[0, 1]]))
    >>> rows.forward(Unfactored(np.array([[1.0, 5.0], [0.0, 1.0]])))
    array([5.])
    """

    def __init__(self, A: Array, B: Array, pairs: Index) -> None:
        self.A, self.B = A, B = as_sides(A, B)
        pairs = as_sided_rows(pairs, 2, (len(A), len(B)), name="pairs")
        self.first, self.second = pairs.T.copy()
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

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        size = gamma(sum(as_dense(M).shape) + 6) * norm(as_dense(M)) + M.rounding
        return self.forward(M), size * self.norms() + TINY

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        n_roundings = int(np.diff(self._indptr).max(initial=0)) + len(self._left) + 6 + n_more
        return gamma(n_roundings) * float(np.abs(u) @ self.norms()) + u.any() * n_roundings * TINY

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

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        distances, error = self.pairs.forward_bound(M)
        margins = distances[self.far] - distances[self.near]
        return margins, error[self.far] + error[self.near] + EPS * np.abs(margins)

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        near, far, n_pairs, sizes = self.near, self.far, self.pairs.shape[0], np.abs(u)
        n_terms = np.bincount(near, minlength=n_pairs) + np.bincount(far, minlength=n_pairs)
        total = (np.bincount(near, sizes, n_pairs) + np.bincount(far, sizes, n_pairs)).astype(float)
        return self.pairs.adjoint_error(total, n_more + int(n_terms.max(initial=0)) + 1)

    def restrict(self, rows: Rows) -> PairDifferences:
        near, far = self.near[rows], self.far[rows]
        used, position = np.unique(np.concatenate([near, far]), return_inverse=True)
        return PairDifferences(self.pairs.restrict(used), *np.split(position, 2))

    def as_quadruplets(self) -> tuple[Data, Index] | None:
        found = self.pairs.as_quadruplets()
        if found is None:
            return None
        return found[0], np.hstack([found[1][side, 2:] for side in (self.near, self.far)])

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

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Quadruplets
    >>> from frobmetric.core.points import Factored
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Quadruplets(X, np.array([[0, 1, 0, 2]])).forward(Factored(np.eye(1)))
    array([8.])
    """

    #: Kind of the pairs whose distances are compared.
    measure: ClassVar[type[Pairs]] = Pairs

    def __init__(self, X: Data, quadruplets: Index) -> None:
        X = as_data(X)
        quadruplets = as_rows(quadruplets, 4, X.shape[0], name="quadruplets")
        pairs, position = _distinct_pairs(quadruplets, X.shape[0])
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

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Bilinear
    >>> from frobmetric.core.points import Unfactored
    >>> rows = Bilinear(np.eye(2), np.eye(2), np.array([[0, 1, 0, 0]]))
    >>> rows.forward(Unfactored(np.array([[1.0, 5.0], [0.0, 1.0]])))
    array([4.])
    """

    def __init__(self, A: Array, B: Array, quadruplets: Index) -> None:
        A, B = as_sides(A, B)
        quadruplets = as_sided_rows(quadruplets, 4, (len(A), len(B)), name="quadruplets")
        pairs, position = _distinct_pairs(quadruplets, len(B))
        larger, smaller = np.split(position, 2)
        super().__init__(Scores(A, B, pairs), near=smaller, far=larger)


class Triplets(Quadruplets):
    """Row r states of (anchor, near, far) that the anchor is closer to near than to far.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    triplets : integer ndarray of shape (n_rows, 3)

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Triplets
    >>> from frobmetric.core.points import Factored
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Triplets(X, np.array([[0, 1, 2]])).forward(Factored(np.eye(1)))
    array([8.])
    """

    def __init__(self, X: Data, triplets: Index) -> None:
        X = as_data(X)
        triplets = as_rows(triplets, 3, X.shape[0], name="triplets")
        super().__init__(X, triplets[:, [0, 1, 0, 2]])


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

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import NeighborTriplets
    >>> X = np.arange(5.0)[:, None]
    >>> rows = NeighborTriplets(X, np.array([0]), np.array([[1]]), np.array([[3, 4]]))
    >>> rows.shape
    (2, 1)
    """

    def __init__(self, X: Data, anchors: Index, near: Index, far: Index) -> None:
        named = {"anchors": anchors, "near": near, "far": far}
        anchors, near, far = (read_array(part, name=name) for name, part in named.items())
        axes = anchors.ndim, near.ndim, far.ndim
        if axes != (1, 2, 2) or not len(anchors) == len(near) == len(far):
            raise ValueError(
                f"anchors, near and far have the shapes {anchors.shape}, {near.shape} and "
                f"{far.shape}; expected (n_anchors,), (n_anchors, n_near) and (n_anchors, n_far)"
            )
        X = as_data(X)
        self._grid = (len(anchors), near.shape[1], far.shape[1])
        self.shape = (int(np.prod(self._grid)), int(X.shape[1]))
        near, far = (as_rows(part, part.shape[1], X.shape[0], name=name)
                     for name, part in (("near", near), ("far", far)))  # fmt: skip
        anchors = as_rows(anchors[:, None], 1, X.shape[0], name="anchors")[:, 0]
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

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        n_anchors, n_near, _ = self._grid
        distances, error = (part.reshape(n_anchors, -1) for part in self.pairs.forward_bound(M))
        margins = distances[:, None, n_near:] - distances[:, :n_near, None]
        error = error[:, None, n_near:] + error[:, :n_near, None] + EPS * np.abs(margins)
        return margins.ravel(), error.ravel()

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        block = np.abs(u.reshape(self._grid))
        total = np.hstack([block.sum(axis=2), block.sum(axis=1)]).ravel()
        return self.pairs.adjoint_error(total, n_more + max(self._grid[1:]))

    def norms(self) -> Vector:
        n_anchors, n_near, n_far = self._grid
        lengths = self.pairs.norms().reshape(n_anchors, n_near + n_far)
        return np.hypot(lengths[:, None, n_near:], lengths[:, :n_near, None]).ravel()

    def restrict(self, rows: Rows) -> PairDifferences:
        return self._differences(rows).restrict(np.arange(len(rows)))

    def as_quadruplets(self) -> tuple[Data, Index] | None:
        return self._differences(np.arange(self.shape[0])).as_quadruplets()

    def _differences(self, rows: Rows) -> PairDifferences:
        _, n_near, n_far = self._grid
        anchor, near, far = np.unravel_index(rows, self._grid)
        start = anchor * (n_near + n_far)
        return PairDifferences(self.pairs, start + near, start + n_near + far)


#: Every kind of comparisons of distances.
COMPARISONS = (Pairs, PairDifferences, Quadruplets, Triplets, NeighborTriplets)
#: Every kind of constraints on one matrix; the contract tests loop over it.
CONSTRAINTS = (*COMPARISONS, Scores, Bilinear, Sparse, LowRank, MatrixFree, Stack)
