"""Extension of a finished embedding to new samples."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..core.points import Array, Data, Index
from ..search.exact import Metric, blocks
from .graph import COINCIDENT
from .samples import FeatureSamples, GraphSamples, as_samples

#: Number of points that place a new sample, relative to the neighbours in the graph. More points
#: average out noise, but twice as many already include the next sheet of a swiss roll.
WIDER = 1.5
MIN_VARIANCE = 0.1  #: variance, relative to the widest direction, of one that the map follows
ROUNDING = 1e-10  #: variance, relative to the widest direction, of one that is rounding


class Extension:
    """Place new samples by an affine map of their neighbourhoods into the embedding.

    Around a new sample x, with weights ω_i proportional to 1/|x - x_i|² for its nearest points
    x_i and weighted means x̄ and ȳ,

        y = ȳ + B (x - x̄),    B minimises Σ_i ω_i |y_i - ȳ - B P (x_i - x̄)|²,

    where P projects on the principal directions of the neighbourhood: as many as the embedding
    has, and further ones of at least a tenth of the largest variance. A new sample that is equal
    to a training point gets its coordinates, and one that is close gets close coordinates. Only
    distances are used, so that any metric works; far from the training points the affine map of
    the nearest ones is extrapolated.

    `X`, `n_neighbors` and `metric` are the arguments of `neighbor_graph`; X may be samples that
    `as_samples` has checked. `Y` embeds the distinct points, and `representative` has the sample
    of each, by default sample i of point i. With the `component` of each point, a new sample is
    placed by points of the same component as its nearest point.
    """

    def __init__(
        self,
        X: Data,
        Y: ArrayLike,
        n_neighbors: int = 6,
        metric: Metric = "euclidean",
        *,
        representative: Index | None = None,
        component: ArrayLike | None = None,
    ) -> None:
        samples = as_samples(X, metric)
        self.Y = np.asarray(Y, dtype=np.float64)
        n_points, n_components = self.Y.shape
        self.representative = np.arange(n_points) if representative is None else representative
        self.points: FeatureSamples | None = None  # a graph cannot place new samples
        if not isinstance(samples, GraphSamples):
            self.points = samples.take(self.representative)
        self.size = min(max(int(WIDER * n_neighbors), n_components + 2), n_points)
        self.component = np.zeros(n_points) if component is None else np.asarray(component)

    def place(self, X: Data) -> Array:
        """Return the embedding of new samples: features, or distances from all training samples."""
        if self.points is None:
            raise ValueError(
                "new samples cannot be placed: the training samples were given as a sparse graph, "
                "which does not hold the distances between neighbours; fit on features or on an "
                "array of all distances"
            )
        if self.points.metric == "precomputed":
            new = X[:, self.representative]
        elif sp.issparse(self.points.X):
            new = sp.csr_matrix(X)
        else:
            new = X.toarray() if sp.issparse(X) else X
        placed = np.empty((new.shape[0], self.Y.shape[1]))
        for rows in blocks(new.shape[0], self.size**2):
            placed[rows] = self._place(self.points, new[rows], rows.start)
        return placed

    def _place(self, points: FeatureSamples, new: Data, start: int) -> Array:
        nearest, to_new = points.nearest(self.size, new)
        far = np.flatnonzero(~np.isfinite(to_new).all(axis=1))
        if len(far):
            raise ValueError(
                f"new sample {start + far[0]} is so far from the training samples that squared "
                "distances overflow; check its units"
            )
        shifted = to_new + COINCIDENT**2 * to_new[:, -1:]  # bounds the weights at distance 0
        shifted[shifted[:, 0] == 0] = 1.0  # all neighbours coincide with the sample
        is_same = self.component[nearest] == self.component[nearest[:, :1]]
        weight = shifted[:, :1] / shifted * is_same
        weight /= weight.sum(axis=1, keepdims=True)
        among = _squared_among(points, nearest)
        combination = _combination(among, to_new, weight, self.Y.shape[1])
        # relative to the nearest point: weights sum to one only up to rounding
        base = self.Y[nearest[:, 0]]
        placed = base + np.einsum("mi,mij->mj", combination, self.Y[nearest] - base[:, None])
        is_point = to_new[:, 0] <= COINCIDENT**2 * to_new[:, -1]
        placed[is_point] = base[is_point]
        return placed


def _squared_among(points: FeatureSamples, nearest: Index) -> Array:
    """Return the squared distances among the neighbours: shape (n_new, size, size)."""
    n_new, size = nearest.shape
    first, second = np.triu_indices(size, 1)
    pairs = np.stack([nearest[:, first], nearest[:, second]], axis=-1).reshape(-1, 2)
    among = np.zeros((n_new, size, size))
    among[:, first, second] = points.squared(pairs).reshape(n_new, -1)
    return among + among.transpose(0, 2, 1)


def _combination(among: Array, to_new: Array, weight: Array, n_components: int) -> Array:
    """Return the coefficients of the neighbours in the embedding of each new sample.

    With G_ij = <x_i - x̄, x_j - x̄> and g_i = <x - x̄, x_i - x̄>, both from squared distances, they
    are ω + Ω^½ H⁺ Ω^½ g, where H⁺ inverts H = Ω^½ G Ω^½ on its leading eigenvectors.
    """
    mean = np.einsum("mij,mj->mi", among, weight)
    square = mean - np.einsum("mi,mi->m", mean, weight)[:, None] / 2  # |x_i - x̄|²
    G = (square[:, :, None] + square[:, None] - among) / 2
    g = (square - to_new) / 2
    g -= np.einsum("mi,mi->m", g, weight)[:, None]
    root = np.sqrt(weight)
    value, vector = np.linalg.eigh(root[:, :, None] * G * root[:, None])
    largest = np.maximum(value[:, -1:], np.finfo(float).tiny)
    is_followed = value > MIN_VARIANCE * largest
    is_followed[:, -n_components:] = True
    is_followed &= value > ROUNDING * largest
    inverse = np.where(is_followed, 1 / np.where(is_followed, value, 1.0), 0.0)
    along = np.einsum("mij,mi->mj", vector, root * g) * inverse
    return weight + root * np.einsum("mij,mj->mi", vector, along)
