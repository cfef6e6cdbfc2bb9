"""Features that matter: their shares in the mean squared distance, with intervals by refits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone

from ...evaluation.models import mapping_of
from ...runtime.progress import working
from .spaces import Spaces, feature_shares, find_matrix

#: Largest number of samples of a refit.
MOST_SAMPLES = 1000
#: Relative gap at which the solve of a refit may end.
LOOSE = 1e-2
#: Probability that an interval is meant to hold.
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class Importance:
    """Share of each feature in the mean squared distance of two samples.

    Attributes
    ----------
    before, after : ndarray of shape (n_features,)
        Shares, which sum to one; a share after may be negative, as parts of a distance may.
    intervals : ndarray of shape (n_features, 2) or None
        90 % intervals around `after`, from the spread over refits; None without refits.
    n_refits, n_samples : int
        Number of refits, and of samples of each of them: half of all, or fewer.
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

    Each refit takes a part of the samples of each class, none of them twice: copies of a sample
    would be its nearest neighbours of the same class. The deviation over refits to m of n samples
    is sqrt((n - m) / m) times the deviation of the share itself. The interval is centred at the
    share, and not at the mean of the refits, because the largest shares are partly so by chance.
    """
    if spaces.matrix is None:
        return None
    before, after = spaces.shares()
    if model is None or not n_refits:
        reason = "no refits were asked for" if model is not None else "the model has no labels"
        return Importance(before, after, note=f"No intervals: {reason}.")
    random, shares = np.random.default_rng(seed), []
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    with working("measuring features", n_refits, "refits") as work:
        for _ in range(n_refits):
            rows = _draw(y, min(0.5, MOST_SAMPLES / len(y)), random)
            if len(rows) == len(y):
                reason = "classes have two samples at most"
                return Importance(before, after, note=f"No intervals: {reason}.")
            matrix = find_matrix(_refit(model, X[rows], y[rows]), X)
            if matrix is not None:
                shares.append(feature_shares(matrix, covariance))
            work.advance(1)
    if len(shares) < 2:
        return Importance(before, after, note="No intervals: they need two refits or more.")
    n_drawn = len(rows)
    intervals = _intervals(after, np.asarray(shares), n_drawn / len(y))
    return Importance(before, after, intervals, len(shares), n_drawn)


def _intervals(estimate: np.ndarray, shares: np.ndarray, part: float) -> np.ndarray:
    """Return intervals around shares, from the shares of refits to a part of the samples."""
    quantile = student.ppf((1 + LEVEL) / 2, len(shares) - 1)
    half = quantile * shares.std(axis=0, ddof=1) * np.sqrt(part / (1 - part))
    low = np.maximum(estimate - half, np.minimum(estimate, 0.0))
    return np.column_stack([low, np.minimum(estimate + half, np.maximum(estimate, 1.0))])


def _refit(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Return a copy of a model fitted loosely, without its classifier."""
    copy = clone(model)
    for name, value in copy.get_params().items():
        if name.rpartition("__")[2] == "tol" and isinstance(value, float):
            copy.set_params(**{name: max(value, LOOSE)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about a small sample do not concern the model
        fitted = copy.fit(X, y)
    return mapping_of(fitted)


def _draw(y: np.ndarray, part: float, random: np.random.Generator) -> np.ndarray:
    """Return rows drawn without replacement: a part of each class, and at least two of it."""
    rows = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        size = min(len(members), max(2, round(part * len(members))))
        rows.append(random.choice(members, size, replace=False))
    return np.concatenate(rows)
