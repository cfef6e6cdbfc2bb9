"""Learners with a closed form: Covariance, RCA from chunks or labels, and LFDA."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from ..checks.arguments import WIDEST_SQUARES
from ..checks.parameters import NONE, SEED, Rule, check_parameters, choice, integer
from ..checks.samples import check_random_state
from ..core.points import Array, Index, Mask, Vector
from ..core.warning import warn_user
from ..learning.constraints import DrawnConstraints
from ..search.exact import blocks
from .learner import PREPROCESSOR, LabelLearner
from .samples import LabelledSamples, mean_square
from .start import ZERO, check_n_components, components_of, prior_matrix

#: Share of the mean eigenvalue that is added to a scatter which may be singular.
RIDGE = 1e-10


class Covariance(LabelLearner):
    """Mahalanobis distance of the samples: M is the inverse of their covariance.

    Nothing is learned from labels: it is the baseline of every other learner. Directions in which
    the samples do not vary count as distance zero (the pseudo-inverse).

    Parameters
    ----------
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L with M = L.T @ L.

    References
    ----------
    P. C. Mahalanobis, "On the generalised distance in statistics", 1936.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import Covariance
    >>> X, _ = load_iris(return_X_y=True)
    >>> metric = Covariance().fit(X)
    >>> float(metric.pair_distance([[X[0], X[60]]])[0].round(3))
    3.508
    """

    _requires_y = False

    _widest = WIDEST_SQUARES

    def __init__(self, preprocessor: Any = None) -> None:
        self.preprocessor = preprocessor

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, None, sample_weight)
        M = prior_matrix("covariance", samples.everything, samples.every_weight)
        return self._keep_of(samples, components_of(M))


class RCA(LabelLearner):
    """Relevant component analysis: whitening of the scatter within chunks of similar samples.

    With the mean m_c of each chunk, M is the inverse of the mean of (x - m_c) (x - m_c).T over the
    samples in chunks. With fewer components than features, the directions in which the chunks
    vary least, compared with all samples, are kept.

    Parameters
    ----------
    n_components : int, default=None
        Number of rows of `components_`; that of the features if None.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L with M = L.T @ L.

    References
    ----------
    N. Shental, T. Hertz, D. Weinshall, M. Pavel, "Adjustment learning and relevant component
    analysis", ECCV 2002.

    Examples
    --------
    >>> from frobmetric.learners import RCA
    >>> X = [[-0.05, 3.0], [0.05, -3.0], [0.1, -3.55], [-0.1, 3.55], [-1, 0], [1, 0.1]]
    >>> metric = RCA().fit(X, [0, 0, 1, 1, 2, 2])
    >>> metric.transform(X).shape
    (6, 2)
    """

    _widest = WIDEST_SQUARES
    _rules: ClassVar[dict[str, Rule]] = PREPROCESSOR | {"n_components": integer(1) | NONE}

    def __init__(self, n_components: int | None = None, preprocessor: Any = None) -> None:
        self.n_components, self.preprocessor = n_components, preprocessor

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, chunks: Any = None) -> Self:
        """Compute the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of int, shape (n_samples,)
            Number of the chunk of each sample; -1 for samples in none.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of 2 is the same as the sample twice.
        chunks : array-like of int, shape (n_samples,)
            The name of `y` in metric-learn; give one of the two.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*rows have the label -1", UserWarning)
            samples = self._read(X, _one_of(y, chunks), sample_weight)
        numbers = samples.classes[samples.y]
        in_chunk = numbers >= 0 if numbers.dtype.kind in "if" else np.ones(len(numbers), bool)
        return self._whiten(samples, in_chunk, samples.y)

    def _whiten(self, samples: LabelledSamples, in_chunk: Mask, chunks: Index) -> Self:
        if not in_chunk.any():
            raise ValueError("no sample is in a chunk; expected numbers of at least 0 in y")
        X, weight = samples.X[in_chunk], samples.weight[in_chunk]
        n_components = check_n_components(self.n_components, X.shape[1])
        _, place = np.unique(chunks[in_chunk], return_inverse=True)
        sums = np.zeros((place.max() + 1, X.shape[1]))
        np.add.at(sums, place, weight[:, None] * X)
        deviations = X - (sums / np.bincount(place, weight)[:, None])[place]
        inner = mean_square(deviations, weight)
        total = mean_square(X - weight @ X / weight.sum(), weight)
        return self._keep_of(samples, _whitening(inner, total, n_components))


def _one_of(y: Any, chunks: Any) -> Any:
    """Return the numbers of the chunks, which have two names."""
    if y is not None and chunks is not None:
        raise ValueError("y and chunks are both given; expected one of them: leave out the other")
    return chunks if y is None else y


class RCA_Supervised(RCA):  # noqa: N801
    """`RCA` from labels: chunks are drawn from the samples of one class.

    Parameters
    ----------
    n_components : int, default=None
        Number of rows of `components_`; that of the features if None.
    n_chunks : int, default=100
        Number of chunks to draw; if the classes have room for fewer, all of those, with a warning.
    chunk_size : int, default=2
        Number of samples of each chunk.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L with M = L.T @ L.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import RCA_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> RCA_Supervised(n_chunks=30, random_state=0).fit(X, y).components_.shape
    (4, 4)
    """

    _rules: ClassVar[dict[str, Rule]] = RCA._rules | {
        "n_chunks": integer(1),
        "chunk_size": integer(2),
        "random_state": SEED | NONE,
    }

    def __init__(
        self,
        n_components: int | None = None,
        n_chunks: int = 100,
        chunk_size: int = 2,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components, self.n_chunks, self.chunk_size = n_components, n_chunks, chunk_size
        self.preprocessor, self.random_state = preprocessor, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Draw chunks and compute the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Classes; -1 where the class is not known.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, y, sample_weight)
        sizes = np.bincount(samples.y)
        if self.chunk_size > sizes.max(initial=0):
            raise ValueError(
                f"chunk_size is {self.chunk_size}; expected at most {sizes.max(initial=0)}, the "
                "number of samples of the largest class; give a smaller one"
            )
        room = int((sizes // self.chunk_size).sum())
        if room < self.n_chunks:
            warn_user(
                f"the classes have room for {room} chunks of {self.chunk_size} samples, fewer than "
                f"n_chunks={self.n_chunks}; all of them are used"
            )
        rng = check_random_state(self.random_state)
        n_chunks = min(room, self.n_chunks)
        chunks = DrawnConstraints(samples.y).chunks(n_chunks, self.chunk_size, rng)
        return self._whiten(samples, chunks >= 0, chunks)


class LFDA(LabelLearner):
    """Local Fisher discriminant analysis: classes apart, near samples of a class together.

    The rows of `components_` are the leading eigenvectors v of S_b v = e S_w v, where the scatter
    within classes S_w counts a pair of one class by its affinity exp(-d_ij^2 / (s_i s_j)), with the
    distance s_i of sample i to its k-th neighbour in the class.

    Parameters
    ----------
    n_components : int, default=None
        Number of rows of `components_`; that of the features if None.
    k : int, default=None
        Neighbour that sets the local scale; min(7, n_features - 1) if None. At least 1 is used, and
        at most n_features - 1, with a warning.
    embedding_type : {"weighted", "orthonormalized", "plain"}, default="weighted"
        Eigenvectors times the roots of their eigenvalues, an orthonormal basis of them, or the
        eigenvectors themselves, which have v.T S_w v = 1.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L with M = L.T @ L.

    Notes
    -----
    As in metric-learn, S_w is added to S_b twice, so that all eigenvalues are positive; the
    eigenvectors are those of S_b. A small multiple of the identity is added to S_w.

    References
    ----------
    M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant
    analysis", Journal of Machine Learning Research 8, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import LFDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LFDA(k=2, n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _widest = WIDEST_SQUARES
    _rules: ClassVar[dict[str, Rule]] = PREPROCESSOR | {
        "n_components": integer(1) | NONE,
        "k": integer(1) | NONE,
        "embedding_type": choice(["weighted", "orthonormalized", "plain"]),
    }

    def __init__(
        self,
        n_components: int | None = None,
        k: int | None = None,
        embedding_type: str = "weighted",
        preprocessor: Any = None,
    ) -> None:
        self.n_components, self.k = n_components, k
        self.embedding_type, self.preprocessor = embedding_type, preprocessor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, y, sample_weight)
        n_features = samples.X.shape[1]
        n_components = check_n_components(self.n_components, n_features)
        between, within = _local_scatters(samples, self._neighbor(n_features))
        within += RIDGE * max(np.trace(within), np.trace(between)) / n_features * np.eye(n_features)
        values, vectors = eigh(between, within + ZERO * np.eye(n_features))
        values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
        if self.embedding_type == "weighted":
            vectors = vectors * np.sqrt(np.maximum(values, 0.0))
        elif self.embedding_type == "orthonormalized":
            vectors, _ = np.linalg.qr(vectors)
        return self._keep_of(samples, vectors.T)

    def _neighbor(self, n_features: int) -> int:
        largest = max(1, n_features - 1)
        if self.k is not None and self.k > largest:
            warn_user(f"k is {self.k}; at most {largest} is used, the number of features minus one")
        return min(7 if self.k is None else self.k, largest)


def _local_scatters(samples: LabelledSamples, k: int) -> tuple[Array, Array]:
    """Return the scatters between and within classes, of pairs weighed by their affinity."""
    X = samples.X - samples.weight @ samples.X / samples.weight.sum()
    n, D = samples.weight.sum(), X.shape[1]
    between, within = np.zeros((D, D)), np.zeros((D, D))
    for label in range(samples.n_classes):
        rows, weight = X[samples.y == label], samples.weight[samples.y == label]
        local, size, total = _affinity_scatter(rows, weight, k), weight.sum(), weight @ rows
        scatter = (rows * weight[:, None]).T @ rows
        between += local / n + (1 - size / n) * scatter + np.outer(total, total) / n
        within += local / size
    between += within  # and the sum over all samples is zero
    return (between + between.T) / 2, (within + within.T) / 2


def _affinity_scatter(X: Array, weight: Vector, k: int) -> Array:
    """Return half the sum of w_i w_j A_ij (x_i - x_j) (x_i - x_j).T, block by block."""
    k = min(k, len(X) - 1)
    if k == 0:
        return np.zeros((X.shape[1], X.shape[1]))
    scale = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0][:, -1]
    degree, product = np.empty(len(X)), np.empty_like(X)
    for rows in blocks(len(X), len(X)):
        size = np.outer(scale[rows], scale)
        d2 = euclidean_distances(X[rows], X, squared=True)
        affinity = np.exp(-np.divide(d2, size, where=size > 0, out=np.full_like(d2, np.inf)))
        affinity *= weight
        degree[rows], product[rows] = affinity.sum(axis=1), affinity @ X
    return (X * (weight * degree)[:, None]).T @ X - (X * weight[:, None]).T @ product


def _whitening(inner: Array, total: Array, n_components: int) -> Array:
    """Return the map after which the inner scatter is the identity."""
    n_features = len(inner)
    values, vectors = np.linalg.eigh(inner)
    is_zero = values <= n_features * ZERO * max(values[-1], 0.0)
    if is_zero.any():
        warn_user(
            f"samples of one chunk differ in {int((~is_zero).sum())} of {n_features} directions; "
            "the others count as distance zero: give more or larger chunks, or fewer features "
            "(sklearn.decomposition.PCA)"
        )
    inverse = np.divide(1.0, np.sqrt(np.maximum(values, 0.0)), where=~is_zero, out=0.0 * values)
    if n_components == n_features:
        return (vectors * inverse) @ vectors.T
    white = vectors * inverse  # the inner scatter is the identity after it
    _, turn = np.linalg.eigh(white.T @ total @ white)
    return (white @ turn[:, ::-1][:, :n_components]).T
