"""Features that matter: their shares in the mean squared distance, with intervals by refits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._progress import working
from .spaces import Spaces, feature_shares, find_matrix

#: Largest number of samples of a refit.
MOST_SAMPLES = 1000
#: Relative gap at which the solve of a refit may end.
LOOSE = 1e-2
#: Quantiles of the refits that bound an interval.
QUANTILES = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class Importance:
    """Share of each feature in the mean squared distance of two samples.

    Attributes
    ----------
    before, after : ndarray of shape (n_features,)
        Shares, which sum to one; a share after may be negative, as parts of a distance may.
    intervals : ndarray of shape (n_features, 2) or None
        90 % intervals of `after` over refits to bootstrap samples; None without refits.
    n_refits, n_samples : int
        Number of refits, and of samples of each of them.
    note : str
        Reason why there are no intervals, empty if there are.
    """

    before: np.ndarray
    after: np.ndarray
    intervals: np.ndarray | None = None
    n_refits: int = 0
    n_samples: int = 0
    note: str = ""

    @property
    def order(self) -> np.ndarray:
        """Numbers of the features by falling share after."""
        return np.argsort(-np.abs(self.after), kind="stable")


def find_importance(
    spaces: Spaces, model: Any, X: np.ndarray, y: np.ndarray, n_refits: int, seed: int
) -> Importance | None:
    """Return the importance of the features, None if the map is not linear.

    `model` is an unfitted one for the refits, None if the model cannot be refitted.
    """
    if spaces.matrix is None:
        return None
    before, after = spaces.shares()
    if model is None or not n_refits:
        reason = "no refits were asked for" if model is not None else "the model has no labels"
        return Importance(before, after, note=f"No intervals: {reason}.")
    random, shares = np.random.default_rng(seed), []
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    n_samples = min(len(X), MOST_SAMPLES)
    with working("measuring features", n_refits, "refits") as work:
        for _ in range(n_refits):
            rows = _draw(y, n_samples, random)
            matrix = find_matrix(_refit(model, X[rows], y[rows]), X)
            if matrix is not None:
                shares.append(feature_shares(matrix, covariance))
            work.advance(1)
    intervals = np.quantile(shares, QUANTILES, axis=0).T
    return Importance(before, after, intervals, len(shares), n_samples)


def _refit(model, X, y):
    """Return a copy of a model fitted loosely, without its classifier."""
    copy = clone(model)
    for name, value in copy.get_params().items():
        if name.rpartition("__")[2] == "tol" and isinstance(value, float):
            copy.set_params(**{name: max(value, LOOSE)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts about a small sample are not those of the model
        fitted = copy.fit(X, y)
    return fitted if hasattr(fitted, "transform") else fitted[:-1]


def _draw(y, n_samples, random):
    """Return rows drawn with replacement, of every class its share and at least two."""
    rows = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        size = max(2, round(n_samples * len(members) / len(y)))
        rows.append(random.choice(members, size))
    return np.concatenate(rows)
