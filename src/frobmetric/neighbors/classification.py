"""Classification by nearest neighbours: a vote among them, or the nearest class as a whole."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_labels, as_weights, check_count
from ..checks.parameters import NONE, WHOLE, Rule, check_parameters, choice, integer
from ..checks.samples import (
    DTYPES,
    SampleReader,
    check_array,
    check_classification_targets,
    validate_data,
)
from ..core.points import Data
from ..model.fitted import Fitted
from ..model.linear_map import Features
from ..model.shell import FittedShell
from ..search.exact import nearest
from .rules import EnergyRule, VoteRule, majority

#: Samples that are accepted.
SAMPLES: dict[str, Any] = {"accept_sparse": "csr", "dtype": DTYPES}


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


class _NearestClassifier(ClassifierMixin, FittedShell):
    """Base of classifiers by nearest samples, dense or sparse, that keep a rule as one value."""

    _rules: ClassVar[dict[str, Rule]]
    _kept: ClassVar[str] = "rule_"
    rule_: VoteRule | EnergyRule
    classes_ = Fitted[NDArray[Any]]("classes")

    def _read(self, X: Data, y: ArrayLike) -> tuple[Data, NDArray[Any], Features]:
        """Return checked samples and labels of a fit, and the features."""
        check_parameters(self, self._rules)
        reader = SampleReader(type(self).__name__, get_tags(self), options=SAMPLES)
        X, labels, features = reader.read(X, y)
        check_classification_targets(labels)
        return X, labels, Features(*features)

    def predict(self, X: Data) -> np.ndarray:
        """Return the class of each sample."""
        check_is_fitted(self)
        return self.rule_.predict(validate_data(self, X, reset=False, **SAMPLES))

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
    rule_ : VoteRule
        The value of the fit, which does not depend on parameters that change later.
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

    rule_: VoteRule
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
        return self._store(VoteRule.of(*self._read(X, y), **self.get_params(deep=False)))


class NearestClass(_NearestClassifier):
    """Classifier that compares a sample with its nearest samples of each class.

    For a sample x and each class, let z_1 ... z_k be the k training samples of that class that are
    nearest to x. The class with the smallest energy is the answer:

        "distances"   (|x - z_1|^2 + ... + |x - z_k|^2) / k
        "center"      |x - (z_1 + ... + z_k) / k|^2

    A vote among the nearest of all classes forgets how near they are. "center" also fills the gaps
    between samples: it measures the distance to a point between them. Distances are Euclidean; put
    a learned metric before it, as in `make_pipeline(FrobMetric(), NearestClass())`.

    Of classes with the same energy the first is the answer.

    Parameters
    ----------
    n_neighbors : int, default=8
        Samples of each class that count; all of a class that has fewer.
    rule : {"center", "distances"}, default="center"
    n_jobs : int, default=None

    Attributes
    ----------
    rule_ : EnergyRule
        The value of the fit, which does not depend on parameters that change later.
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

    rule_: EnergyRule
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
        return self._store(EnergyRule.of(*self._read(X, y), **self.get_params(deep=False)))

    def energies(self, X: Data) -> np.ndarray:
        """Return the energy of each sample in each class, an array (n_samples, n_classes)."""
        check_is_fitted(self)
        return self.rule_.energies(validate_data(self, X, reset=False, **SAMPLES))
