"""Classification by nearest neighbours: a vote among them, or the nearest class as a whole."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._neighbors import NeighborSearch, blocks, nearest, pair_values
from .._parameters import NONE, WHOLE, Rule, check_parameters, choice, integer


def knn_predict(
    X_train: Any, y_train: ArrayLike, X_test: Any, *, n_neighbors: int = 3, n_jobs: Any = None
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
    """
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    X_train, X_test = (check_array(X, **options) for X in (X_train, X_test))
    if sp.issparse(X_train) or sp.issparse(X_test):
        X_train, X_test = sp.csr_array(X_train), sp.csr_array(X_test)
    if n_neighbors > X_train.shape[0]:
        raise ValueError(
            f"n_neighbors={n_neighbors}, but there are {X_train.shape[0]} training samples; choose "
            "a smaller n_neighbors"
        )
    return majority(np.asarray(y_train)[nearest(X_test, X_train, n_neighbors, n_jobs=n_jobs)])


def majority(labels):
    """Return the most frequent label of each row; the first of equally frequent ones."""
    votes = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
    return labels[np.arange(len(labels)), votes.argmax(axis=1)]


def knn_error(
    X_train: Any,
    y_train: ArrayLike,
    X_test: Any,
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
    """
    predicted = knn_predict(X_train, y_train, X_test, n_neighbors=n_neighbors, n_jobs=n_jobs)
    return float(np.mean(predicted != np.asarray(y_test)))


class NearestVote(ClassifierMixin, BaseEstimator):
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
        self, n_neighbors: int = 3, *, weights: str = "uniform", n_jobs: Any = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Remember the samples, and return the estimator."""
        check_parameters(self, self._rules)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, self._labels = np.unique(y, return_inverse=True)
        self._samples, self._search = X, NeighborSearch(X, n_jobs=self.n_jobs)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each sample."""
        check_is_fitted(self)
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        X = validate_data(self, X, reset=False, **options)
        k = min(self.n_neighbors, len(self._labels))
        number = self._search.nearest(X, k)
        labels = self._labels[number]
        if self.weights == "uniform":
            return self.classes_[majority(labels)]
        pairs = np.column_stack([np.repeat(np.arange(len(labels)), k), number.ravel()])
        distance = np.sqrt(pair_values(X, self._samples, pairs)).reshape(-1, k)
        return self.classes_[_weighted_majority(labels, distance)]


def _weighted_majority(labels, distance):
    """Return the label of each row whose votes, one over the distance, sum to most."""
    # in units of the largest distance, so that nothing overflows; equal points count most
    largest = np.maximum(distance[:, -1:], np.finfo(float).tiny)
    weight = 1.0 / np.maximum(distance / largest, 1e-9)
    votes = np.zeros((len(labels), labels.max(initial=0) + 1))
    for column, of_column in zip(labels.T, weight.T, strict=True):
        votes[np.arange(len(labels)), column] += of_column
    return votes.argmax(axis=1)


class NearestClass(ClassifierMixin, BaseEstimator):
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

    def __init__(self, n_neighbors: int = 8, *, rule: str = "center", n_jobs: Any = None) -> None:
        self.n_neighbors = n_neighbors
        self.rule = rule
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Remember the samples of each class, and return the estimator."""
        check_parameters(self, self._rules)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class ({self.classes_[0]}); a classifier needs at least two classes"
            )
        members = (X[labels == i] for i in range(len(self.classes_)))
        self._searches = [NeighborSearch(samples, n_jobs=self.n_jobs) for samples in members]
        return self

    def energies(self, X: Any) -> np.ndarray:
        """Return the energy of each sample in each class, an array (n_samples, n_classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.column_stack([self._energy(X, search) for search in self._searches])

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the smallest energy; a tie goes to the first in `classes_`."""
        nearest_class = self.energies(X).argmin(axis=1)  # raises if not fitted
        return self.classes_[nearest_class]

    def _energy(self, X, search):
        k = min(self.n_neighbors, len(search.points))
        number = search.nearest(X, k)
        if self.rule == "center":
            return _squared_distance_to_center(X, search.points, number)
        pairs = np.column_stack([np.repeat(np.arange(len(X)), k), number.ravel()])
        return pair_values(X, search.points, pairs).reshape(-1, k).mean(axis=1)


def _squared_distance_to_center(X, members, number):
    """Return the squared distance of each sample to the mean of the members with these numbers."""
    energy = np.empty(len(X))
    for rows in blocks(len(X), number.shape[1] * X.shape[1]):
        # from differences: the mean of points far from the origin is rounded
        away = (members[number[rows]].astype(np.float64) - X[rows, None]).mean(axis=1)
        energy[rows] = np.einsum("ij,ij->i", away, away)
    return energy
