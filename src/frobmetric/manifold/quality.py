"""Quality of an embedding by its neighbourhoods: the co-ranking matrix and its curves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from threading import Lock
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from ..checks.arguments import MetricFunction, as_metric
from ..checks.samples import check_array, check_random_state
from ..core.checks import as_array
from ..core.points import Array, Data, Index, Vector
from ..core.threads import map_blocks
from ..search.exact import Metric, neighbor_order

BLOCK = 1 << 19  #: number of distances in memory per thread; five such arrays have 20 MB
MANY_FEATURES = 64  #: number of features from which on products are faster than differences
CANCELLED = 2.0**-46  #: squared distance, relative to squared norms, that is rounding in products
FLOPS = 100  #: rough number of operations for a distance and its share of the sort
#: Metrics that scikit-learn can compute on sparse data.
SPARSE_METRICS = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")


@dataclass(frozen=True)
class NeighborhoodQuality:
    """Share of the K nearest neighbours that an embedding keeps, for every K.

    With ρ_ij the rank of j around i in the data and r_ij in the embedding (1 to N − 1), and
    q_kl = #{(i, j) : ρ_ij = k, r_ij = l}::

        Q_NX(K) = Σ_{k, l ≤ K} q_kl / (K N)
        B_NX(K) = (Σ_{k < l ≤ K} q_kl − Σ_{l < k ≤ K} q_kl) / (K N)
        R_NX(K) = ((N − 1) Q_NX(K) − K) / (N − 1 − K)

    Q is the share of neighbours that are kept; R rescales it so that a random embedding has 0
    and a perfect one 1. B > 0 means intrusion: far points come between neighbours, as where a
    manifold is crushed. B < 0 means extrusion: neighbours are driven apart, as where it is torn.

    Attributes
    ----------
    q_nx, b_nx : ndarray of shape (n_samples - 1,)
        Curves at K = 1 to n_samples − 1.
    r_nx : ndarray of shape (n_samples - 2,)
        Curve at K = 1 to n_samples − 2.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold.quality import neighborhood_quality
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [7.0, 0.0]])
    >>> neighborhood_quality(X, X[:, :1]).area
    1.0
    """

    q_nx: Vector
    b_nx: Vector
    r_nx: Vector

    @property
    def area(self) -> float:
        """Mean of R_NX over log K: Σ R_NX(K)/K ÷ Σ 1/K; 1 if all neighbours are kept."""
        weights = 1 / np.arange(1, len(self.r_nx) + 1)
        return float(self.r_nx @ weights / weights.sum())

    def __repr__(self) -> str:
        return f"NeighborhoodQuality(n_samples={len(self.q_nx) + 1}, area={self.area:.3f})"


@dataclass(frozen=True)
class Space:
    """Points with a metric, whose distances are computed for a few rows at a time."""

    points: Data
    metric: str | MetricFunction
    name: str = "X"

    @classmethod
    def of(cls, points: Any, metric: Metric = "euclidean", name: str = "X") -> Self:
        """Validate points; Euclidean ones are also moved to the origin and scaled."""
        metric = as_metric(metric)
        dtype = np.float64 if metric == "euclidean" else "numeric"
        options = {"accept_sparse": "csr", "dtype": dtype, "input_name": name}
        points = check_array(points, ensure_all_finite=False, ensure_min_samples=0, **options)
        if points.shape[0] < 3:
            raise ValueError(f"{name} has {points.shape[0]} rows; ranks need at least 3 points")
        if sp.issparse(points) and metric not in SPARSE_METRICS:
            raise ValueError(
                f"{name} is sparse and metric = {metric!r}; expected one of "
                f"{', '.join(SPARSE_METRICS)}, or a dense array: {name}.toarray()"
            )
        if metric == "precomputed" and points.shape[0] != points.shape[1]:
            raise ValueError(
                f"{name} has shape {points.shape} and metric = 'precomputed'; expected a square "
                "matrix of distances, or another metric"
            )
        if metric != "precomputed":  # a matrix of distances is validated block by block
            _require_finite(points, name)
        return cls(_at_origin(points) if metric == "euclidean" else points, metric, name)

    @property
    def n_points(self) -> int:
        return self.points.shape[0]

    def distances(self, rows: Index) -> Array:
        """Return a new array that increases with the distance of each row to all points."""
        if self.metric == "precomputed":
            return self._valid(self.points[rows].astype(np.float64), rows)
        if self.metric != "euclidean":
            distances = pairwise_distances(self.points[rows], self.points, metric=self.metric)
            return self._valid(as_array(distances, name="distances of metric"), rows)
        if sp.issparse(self.points) or self.points.shape[1] >= MANY_FEATURES:
            return self._from_products(rows)
        return cdist(self.points[rows], self.points, "sqeuclidean")

    def _from_products(self, rows: Index) -> Array:
        sums = self._squared_norms[rows, None] + self._squared_norms
        squared = safe_sparse_dot(self.points[rows], self.points.T, dense_output=True)
        squared *= -2
        squared += sums
        sums *= CANCELLED
        squared[squared < sums] = 0.0
        return squared

    @cached_property
    def _squared_norms(self) -> Vector:
        return row_norms(self.points, squared=True)

    def _valid(self, distances: Array, rows: Index) -> Array:
        is_valid = np.isfinite(distances) & (distances >= 0)
        if is_valid.all():
            return distances + 0.0  # no negative zero
        row, column = np.argwhere(~is_valid)[0]
        raise ValueError(
            f"the distance of {self.name} from point {rows[row]} to point {column} is "
            f"{distances[row, column]}; distances must be finite and not negative: "
            f"correct the matrix or choose another metric than {self.metric!r}"
        )


def neighborhood_quality(
    X: Data,
    Y: Data,
    *,
    metric: Metric = "euclidean",
    n_rows: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> NeighborhoodQuality:
    """Measure how many neighbours an embedding keeps.

    It takes O(N² log N) time, and O(N) memory beside blocks of bounded size: no N × N array.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data, or their distances, of shape (n_samples, n_samples).
    Y : array-like of shape (n_samples, n_components)
        Embedding; its distances are Euclidean.
    metric : str or callable, default="euclidean"
        Metric of X: "precomputed", or one of scikit-learn's `pairwise_distances`.
    n_rows : int, default=None
        Number of points, drawn at random, whose neighbourhoods among all points are compared.
        None takes all points.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    NeighborhoodQuality

    Notes
    -----
    Distances that agree to 32 bits are ties, since rounding may have made them differ; the
    smaller index then counts as nearer. A point is not its own neighbour, but a duplicate of it
    can be.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold.quality import neighborhood_quality
    >>> circle = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, -2.0], [-3.0, 0.0]])
    >>> crushed = neighborhood_quality(circle, circle[:, :1])
    >>> crushed.q_nx
    array([0.5 , 0.75, 1.  ])
    >>> crushed.b_nx.round(3)
    array([0.   , 0.25 , 0.167])
    """
    data, embedding = _spaces(X, Y, metric)
    n = data.n_points
    chosen = np.arange(n)
    if n_rows is not None:
        is_integer = isinstance(n_rows, Integral) and not isinstance(n_rows, bool)
        if not is_integer or not 1 <= int(n_rows) <= n:
            raise ValueError(
                f"n_rows = {n_rows}; expected an integer from 1 to {n} (samples), or None"
            )
        chosen = np.sort(check_random_state(random_state).choice(n, int(n_rows), replace=False))
    extruded, kept, intruded = _tally(data, embedding, chosen)
    size = np.arange(1, n)
    q_nx = np.cumsum(extruded + kept + intruded) / (size * len(chosen))
    b_nx = np.cumsum(extruded - intruded) / (size * len(chosen))
    r_nx = ((n - 1) * q_nx - size)[:-1] / (n - 1 - size[:-1])
    return NeighborhoodQuality(q_nx, b_nx, r_nx)


def coranking_matrix(X: Data, Y: Data, *, metric: Metric = "euclidean") -> NDArray[np.int64]:
    """Count how often the k-th neighbour in the data is the l-th in the embedding.

    Parameters
    ----------
    X, Y, metric
        As in `neighborhood_quality`, which needs no such matrix and has the notes on ties.

    Returns
    -------
    ndarray of shape (n_samples - 1, n_samples - 1)
        Integers; row k − 1 and column l − 1 have q_kl. Each row and column sums to n_samples.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.manifold.quality import coranking_matrix
    >>> line = np.array([[0.0], [1.0], [3.0]])
    >>> coranking_matrix(line, line[[0, 2, 1]])
    array([[0, 3],
           [3, 0]])
    """
    data, embedding = _spaces(X, Y, metric)
    n = data.n_points
    q, lock = np.zeros((n - 1, n - 1), dtype=np.int64), Lock()
    k = np.arange(n - 1)

    def count(rows: slice) -> None:
        for ranks in _embedding_ranks(data, embedding, np.arange(n)[rows]):
            with lock:
                q[k, ranks - 1] += 1  # every k occurs once, so no pair of indices repeats

    map_blocks(count, n, max(1, BLOCK // n), FLOPS * n * n)
    return q


def _embedding_ranks(data: Space, embedding: Space, rows: Index) -> Index:
    """Return r_ij of the j with ρ_ij = 1, 2, ..., for each i of these rows."""
    near_data = neighbor_order(data.distances(rows), rows)
    near_embedding = neighbor_order(embedding.distances(rows), rows)
    rank = np.arange(1, data.n_points)
    ranks, rank_of = np.empty_like(near_data), np.empty(data.n_points, dtype=np.int64)
    for i in range(len(rows)):
        rank_of[near_embedding[i]] = rank
        ranks[i] = rank_of[near_data[i]]
    return ranks


def _tally(data: Space, embedding: Space, chosen: Index) -> Index:
    """Count the pairs with ρ < r, ρ = r and ρ > r, for each max(ρ, r) = 1 .. n − 1."""
    n = data.n_points
    k, counts, lock = np.arange(1, n), np.zeros((3, n - 1), dtype=np.int64), Lock()

    def count(block: slice) -> None:
        ranks = _embedding_ranks(data, embedding, chosen[block])
        extruded = np.bincount(ranks[ranks > k], minlength=n)[1:]
        kept, intruded = (ranks == k).sum(axis=0), (ranks < k).sum(axis=0)
        with lock:  # sums of integers: the order of the blocks does not matter
            counts[:] += extruded, kept, intruded

    map_blocks(count, len(chosen), max(1, BLOCK // n), FLOPS * len(chosen) * n)
    return counts


def _spaces(X: Data, Y: Data, metric: Metric) -> tuple[Space, Space]:
    data, embedding = Space.of(X, metric), Space.of(Y, name="Y")
    if data.n_points != embedding.n_points:
        raise ValueError(
            f"X has {data.n_points} rows and Y has {embedding.n_points}; "
            "expected one row of Y for each of X"
        )
    return data, embedding


def _require_finite(points: Data, name: str) -> None:
    is_sparse = sp.issparse(points)
    bad = ~np.isfinite(points.data if is_sparse else points)
    if bad.any():
        row = points.tocoo().row[bad][0] if is_sparse else bad.any(axis=1).argmax()
        raise ValueError(
            f"row {row} of {name} holds NaN or infinity; expected finite numbers: "
            "remove such rows or fill them in"
        )


def _at_origin(points: Data) -> Data:
    """Move and scale points so that squared distances neither cancel nor overflow.

    The origin becomes the lower median of each feature, and the unit is a power of two, so that
    ties stay ties. Sparse points are scaled only, so that they stay sparse.
    """
    _, exponent = np.frexp(abs(points).max())
    if sp.issparse(points):
        scaled = np.ldexp(points.data, -exponent)
        return sp.csr_array((scaled, points.indices, points.indptr), points.shape)
    points = np.ldexp(points, -exponent)
    return np.ascontiguousarray(points - np.quantile(points, 0.5, axis=0, method="lower"))
