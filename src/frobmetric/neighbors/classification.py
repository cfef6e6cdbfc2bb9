"""Classification by nearest neighbours: a vote among them, or the nearest class as a whole."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import (
    as_labels,
    as_weights,
    check_count,
    require_finite,
    safe_exponent,
    times_power,
)
from ..checks.parameters import NONE, WHOLE, Rule, check_parameters, choice, integer
from ..checks.samples import check_array, check_classification_targets, validate_data
from ..checks.text import shown
from ..core.points import Array, Data, Index, Vector
from ..search.exact import NeighborSearch, blocks, nearest, pair_values

#: Samples that are accepted.
SAMPLES: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def knn_predict(
    X_train: Data,
    y_train: ArrayLike,
    X_test: Data,
    *,
    n_neighbors: int = 3,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Predict the majority class among the nearest; the nearest sample decides a tie.

    scikit-learn's classifier gives such ties to the smallest label, which with three neighbours and
    many classes is a noticeably worse rule.

    Parameters
    ----------
    X_train : {array-like, sparse matrix} of shape (n_train, n_features)
    y_train : array-like of shape (n_train,)
    X_test : {array-like, sparse matrix} of shape (n_test, n_features)
    n_neighbors : int, default=3
    n_jobs : int, default=None

    Returns
    -------
    ndarray of shape (n_test,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric.neighbors import knn_predict
    >>> knn_predict(X[::2], y[::2], X[[1, 51, 101]])
    array([0, 1, 2])
    """
    X_train, X_test = (check_array(X, **SAMPLES) for X in (X_train, X_test))
    if sp.issparse(X_train) or sp.issparse(X_test):
        X_train, X_test = sp.csr_array(X_train), sp.csr_array(X_test)
    check_count(n_neighbors, name="n_neighbors")
    if n_neighbors > X_train.shape[0]:
        raise ValueError(
            f"n_neighbors={n_neighbors}, but there are {X_train.shape[0]} training samples; choose "
            "a smaller n_neighbors"
        )
    if X_train.shape[1] != X_test.shape[1]:
        raise ValueError(
            f"X_test has {X_test.shape[1]} features; X_train has {X_train.shape[1]}; give both the "
            "same features"
        )
    labels = as_labels(y_train, X_train.shape[0], name="y_train", of="rows of X_train")
    return majority(labels[nearest(X_test, X_train, int(n_neighbors), n_jobs=n_jobs)])


def majority(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the most frequent label of each row; the first of equally frequent ones."""
    votes = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
    return labels[np.arange(len(labels)), votes.argmax(axis=1)]


def knn_error(
    X_train: Data,
    y_train: ArrayLike,
    X_test: Data,
    y_test: ArrayLike,
    *,
    n_neighbors: int = 3,
    n_jobs: int | None = None,
) -> float:
    """Return the share of test samples that `knn_predict` gets wrong.

    Parameters
    ----------
    X_train : {array-like, sparse matrix} of shape (n_train, n_features)
    y_train : array-like of shape (n_train,)
    X_test : {array-like, sparse matrix} of shape (n_test, n_features)
    y_test : array-like of shape (n_test,)
    n_neighbors : int, default=3
    n_jobs : int, default=None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import knn_error
    >>> round(knn_error(X[::2], y[::2], X[1::2], y[1::2]), 3)
    0.04
    """
    predicted = knn_predict(X_train, y_train, X_test, n_neighbors=n_neighbors, n_jobs=n_jobs)
    truth = as_labels(y_test, len(predicted), name="y_test", of="rows of X_test")
    return float(np.mean(predicted != truth))


def share_right(predicted: np.ndarray, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
    """Return the share of predicted classes that are right, each with its weight."""
    weight = as_weights(sample_weight, len(predicted), of="samples")
    truth = as_labels(y, len(predicted), of="samples")
    return float(np.average(predicted == truth, weights=weight))


class _NearestClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers that take dense and sparse samples.

    Samples are kept in units of a power of two, so that squares of distances do not overflow.
    """

    _rules: ClassVar[dict[str, Rule]]

    def _check_training(self, X: Data, y: ArrayLike) -> tuple[Data, NDArray[Any]]:
        check_parameters(self, self._rules)
        X, labels = validate_data(self, X, y, **SAMPLES)
        check_classification_targets(labels)
        self._exponent = safe_exponent(X)
        return times_power(X, -self._exponent), labels

    def _check_new(self, X: Data, points: Data) -> Data:
        """Return checked samples, dense or sparse as the points that they are compared with."""
        with np.errstate(over="ignore"):
            X = times_power(validate_data(self, X, reset=False, **SAMPLES), -self._exponent)
        if sp.issparse(points):
            return sp.csr_array(X)
        return X.toarray() if sp.issparse(X) else X

    def score(self, X: Data, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of samples whose class is predicted, each with its weight."""
        return share_right(self.predict(X), y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NearestVote(_NearestClassifier):
    """Classifier by a vote of the nearest samples; the nearest of them decides a tie.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of samples that vote; all if there are fewer.
    weights : {"uniform", "distance"}, default="uniform"
        Weight of a vote: one, or one over the distance.
    n_jobs : int, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had feature names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.neighbors import NearestVote
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(NearestVote(9, weights="distance").fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_neighbors": integer(1),
        "weights": choice(["uniform", "distance"]),
        "n_jobs": WHOLE | NONE,
    }

    def __init__(
        self, n_neighbors: int = 3, *, weights: str = "uniform", n_jobs: int | None = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_jobs = n_jobs

    def fit(self, X: Data, y: ArrayLike) -> Self:
        """Remember the samples, and return the estimator."""
        X, y = self._check_training(X, y)
        self.classes_, self._labels = np.unique(y, return_inverse=True)
        self._samples, self._search = X, NeighborSearch(X, n_jobs=self.n_jobs)
        return self

    def predict(self, X: Data) -> np.ndarray:
        """Return the class of each sample."""
        check_is_fitted(self)
        X = self._check_new(X, self._samples)
        k = min(self.n_neighbors, len(self._labels))
        number = self._search.nearest(X, k)
        labels = self._labels[number]
        if self.weights == "uniform":
            return self.classes_[majority(labels)]
        pairs = np.column_stack([np.repeat(np.arange(len(labels)), k), number.ravel()])
        distance = np.sqrt(pair_values(X, self._samples, pairs)).reshape(-1, k)
        return self.classes_[_weighted_majority(labels, distance)]


def _weighted_majority(labels: Index, distance: Array) -> Index:
    """Return the label of each row whose votes, one over the distance, sum to most."""
    # in units of the largest distance, so that nothing overflows; equal points count most
    largest = np.maximum(distance[:, -1:], np.finfo(float).tiny)
    share = np.ones_like(distance)  # samples so far away that the square is infinite are as near
    np.divide(distance, largest, out=share, where=np.isfinite(distance))
    weight = 1.0 / np.maximum(share, 1e-9)
    votes = np.zeros((len(labels), labels.max(initial=0) + 1))
    for column, of_column in zip(labels.T, weight.T, strict=True):
        votes[np.arange(len(labels)), column] += of_column
    return votes.argmax(axis=1)


class NearestClass(_NearestClassifier):
    """Classifier that compares a sample with its nearest samples of each class.

    For a sample x and each class, let z_1 ... z_k be the k training samples of that class that are
    nearest to x. The class with the smallest energy is the answer:

        "distances"   (|x - z_1|^2 + ... + |x - z_k|^2) / k
        "center"      |x - (z_1 + ... + z_k) / k|^2

    A vote among the nearest of all classes forgets how near they are. "center" also fills the gaps
    between samples: it measures the distance to a point between them. Distances are Euclidean; put
    a learned metric before it, as in `make_pipeline(FrobMetric(), NearestClass())`.

    Parameters
    ----------
    n_neighbors : int, default=8
        Samples of each class that count; all of a class that has fewer.
    rule : {"center", "distances"}, default="center"
    n_jobs : int, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had feature names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from frobmetric import FrobMetric, NearestClass
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(FrobMetric(), NearestClass()).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_neighbors": integer(1),
        "rule": choice(["center", "distances"]),
        "n_jobs": WHOLE | NONE,
    }

    def __init__(
        self, n_neighbors: int = 8, *, rule: str = "center", n_jobs: int | None = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.rule = rule
        self.n_jobs = n_jobs

    def fit(self, X: Data, y: ArrayLike) -> Self:
        """Remember the samples of each class, and return the estimator."""
        X, y = self._check_training(X, y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class ({shown(self.classes_[0])}); a classifier needs at least two "
                "classes"
            )
        self._members = [X[labels == i] for i in range(len(self.classes_))]
        self._searches = [NeighborSearch(samples, n_jobs=self.n_jobs) for samples in self._members]
        return self

    def energies(self, X: Data) -> np.ndarray:
        """Return the energy of each sample in each class, an array (n_samples, n_classes)."""
        scaled = self._scaled_energies(X)
        with np.errstate(over="ignore"):
            return require_finite(times_power(scaled, 2 * self._exponent), of="energies")

    def predict(self, X: Data) -> np.ndarray:
        """Return the class with the smallest energy; a tie goes to the first in `classes_`."""
        nearest_class = self._scaled_energies(X).argmin(axis=1)  # raises if not fitted
        return self.classes_[nearest_class]

    def _scaled_energies(self, X: Data) -> Array:
        """Return the energies of samples, in the unit of the fit."""
        check_is_fitted(self)
        X, classes = self._check_new(X, self._members[0]), range(len(self.classes_))
        with np.errstate(over="ignore"):
            energies = np.column_stack([self._energy(X, i) for i in classes])
        return require_finite(energies, of="energies")

    def _energy(self, X: Data, i: int) -> Vector:
        members = self._members[i]
        k = min(self.n_neighbors, members.shape[0])
        number = self._searches[i].nearest(X, k)
        if self.rule == "center":
            return _squared_distance_to_center(X, members, number)
        pairs = np.column_stack([np.repeat(np.arange(len(number)), k), number.ravel()])
        return pair_values(X, members, pairs).reshape(-1, k).mean(axis=1)


def _squared_distance_to_center(X: Data, members: Data, number: Index) -> Vector:
    """Return the squared distance of each sample to the mean of the members with these numbers."""
    if sp.issparse(members):
        n, k = number.shape
        ends, share = np.arange(0, number.size + 1, k), np.full(number.size, 1 / k)
        mean = sp.csr_array((share, number.ravel(), ends), shape=(n, members.shape[0])) @ members
        return row_norms(mean - X, squared=True)
    energy = np.empty(len(X))
    for rows in blocks(len(X), number.shape[1] * X.shape[1]):
        # from differences: the mean of points far from the origin is rounded
        away = (members[number[rows]].astype(np.float64) - X[rows, None]).mean(axis=1)
        energy[rows] = np.einsum("ij,ij->i", away, away)
    return energy
