"""Classification by the nearest samples of each class, which asks more of a metric than a vote."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._parameters import NONE, WHOLE, Rule, check_parameters, choice, integer

#: Numbers held at a time when neighbours are averaged.
BLOCK = 1 << 22


class NearestClass(ClassifierMixin, BaseEstimator):
    """The class whose nearest samples are nearest as a whole.

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

    def __init__(self, n_neighbors=8, rule="center", n_jobs=None):
        self.n_neighbors = n_neighbors
        self.rule = rule
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Keep the samples of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class ({self.classes_[0]}); a classifier needs at least two classes"
            )
        self._center = X.mean(axis=0)  # the search cancels far from the origin
        self._samples = [X[labels == i] - self._center for i in range(len(self.classes_))]
        return self

    def energies(self, X):
        """The energy of each sample in each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32]) - self._center
        return np.column_stack([self._energy(X, members) for members in self._samples])

    def predict(self, X):
        """The class with the smallest energy; of equal ones the first in `classes_`."""
        energies = self.energies(X)
        return self.classes_[energies.argmin(axis=1)]

    def _energy(self, X, members):
        k = min(self.n_neighbors, len(members))
        search = NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=self.n_jobs)
        distances, found = search.fit(members).kneighbors(X)
        if self.rule == "distances":
            return np.mean(distances**2, axis=1)
        return _to_center(X, members, found)


def _to_center(X, members, found):
    """Squared distance of each sample to the mean of the members that were found for it."""
    energy = np.empty(len(X), dtype=X.dtype)
    step = max(1, BLOCK // (found.shape[1] * X.shape[1]))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        away = X[rows] - members[found[rows]].mean(axis=1)
        energy[rows] = np.einsum("ij,ij->i", away, away)
    return energy
