"""What rivals answer with: a linear map, or a classifier. Both are arrays in files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from scipy.spatial.distance import cdist

#: Kernel values held at a time.
BLOCK = 1 << 23


def _load(folder, name):
    return np.load(folder / f"{name}.npy", allow_pickle=False)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A learned linear map: M = L L.T.

    Attributes
    ----------
    L : ndarray of shape (n_features, rank)
    seconds : float
        Of the learning alone: no compilation, no imports, no files.
    detail : dict
        What else the rival tells of its run.
    """

    L: np.ndarray
    seconds: float
    detail: dict = field(default_factory=dict)

    @classmethod
    def read(cls, folder, seconds, detail):
        return cls(_load(folder, "L"), seconds, detail)

    def is_finite(self):
        return bool(np.isfinite(self.L).all())

    def named(self, classes):
        """A map is the same whatever the classes are called."""
        return self

    def transform(self, X):
        return X @ self.L


@dataclass(frozen=True, eq=False)
class FittedClassifier:
    """A machine for each pair of classes i < j, which votes for i where its decision

        sum_s weights[s, pair] exp(-gamma |x - support_vectors[s]|^2) + intercept[pair]

    is positive and for j elsewhere; of classes with equally many votes the first wins.

    Attributes
    ----------
    support_vectors : ndarray of shape (n_vectors, n_features)
    weights : ndarray of shape (n_vectors, n_pairs)
        Pairs of classes in the order of `itertools.combinations`.
    intercept : ndarray of shape (n_pairs,)
    gamma : float
    classes : ndarray of shape (n_classes,)
        What `predict` answers with.
    seconds, detail
        As in `Fitted`.
    """

    support_vectors: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray
    gamma: float
    classes: np.ndarray
    seconds: float
    detail: dict = field(default_factory=dict)

    @classmethod
    def read(cls, folder, seconds, detail):
        vectors, coefficients, counts, intercept, gamma = (
            _load(folder, name)
            for name in ("support_vectors", "dual_coef", "n_support", "intercept", "gamma")
        )
        weights = weights_of_pairs(coefficients, counts)
        classes = np.arange(len(counts))
        return cls(vectors, weights, intercept, float(gamma), classes, seconds, detail)

    def is_finite(self):
        return all(np.isfinite(a).all() for a in (self.weights, self.intercept, self.gamma))

    def named(self, classes):
        """The same classifier, answering with these classes."""
        return replace(self, classes=classes)

    def predict(self, X):
        """The class of each row of X.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        step = max(1, BLOCK // len(self.support_vectors))
        blocks = [self._predict(X[i : i + step]) for i in range(0, len(X), step)]
        return self.classes[np.concatenate(blocks)]

    def _predict(self, X):
        kernel = np.exp(-self.gamma * cdist(X, self.support_vectors, "sqeuclidean"))
        wins = kernel @ self.weights + self.intercept > 0
        votes = np.zeros((len(X), len(self.classes)), dtype=int)
        for pair, (i, j) in enumerate(combinations(range(len(self.classes)), 2)):
            votes[:, i] += wins[:, pair]
            votes[:, j] += ~wins[:, pair]
        return votes.argmax(axis=1)


def weights_of_pairs(coefficients, counts):
    """The weight of each support vector for each pair of classes.

    Parameters
    ----------
    coefficients : ndarray of shape (n_classes - 1, n_vectors)
        As in libsvm: those of a vector against the other classes, its own left out.
    counts : ndarray of shape (n_classes,)
        Support vectors of each class, which are in this order.

    Returns
    -------
    ndarray of shape (n_vectors, n_pairs)
    """
    n_classes, ends = len(counts), np.cumsum(counts)
    weights = np.zeros((coefficients.shape[1], n_classes * (n_classes - 1) // 2))
    rows = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        weights[rows[i], pair] = coefficients[j - 1, rows[i]]
        weights[rows[j], pair] = coefficients[i, rows[j]]
    return weights


#: What `Rival.answers` may say, and what reads such an answer.
ANSWERS = {"map": Fitted, "classes": FittedClassifier}
