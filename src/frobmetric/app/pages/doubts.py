"""Doubts about labels: triplets that a metric cannot satisfy, by their dual variables."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

#: Share of its bound at which a dual variable counts as at it.
AT_BOUND = 0.99
#: Numbers of triplets and of samples that are listed.
N_TRIPLETS, N_SAMPLES = 8, 12
#: Share of the triplets of a sample at their bound from which on its label is in doubt.
DOUBTFUL = 0.5
#: Largest number of samples at which a model is fitted again to get its dual variables.
MOST_SAMPLES = 20_000
#: Losses whose dual variables reach an upper bound.
BOUNDED = ("hinge", "smoothed_hinge")
HOW = "fit with keep_dual=True (--keep-dual) to keep them"


@dataclass(frozen=True, eq=False)
class Doubts:
    """Triplets and samples that contradict a metric.

    Attributes
    ----------
    triplets : ndarray of shape (n, 3)
        Rows (anchor, near, far) with the smallest margins, one for each anchor.
    margins : ndarray of shape (n,)
        d^2(anchor, far) - d^2(anchor, near) in the learned metric; at least 1 if satisfied.
    samples : ndarray of shape (n_doubtful,)
        Rows whose label is in doubt, the most doubtful first.
    shares : ndarray of shape (n_doubtful,)
        Share of the triplets of each of them as anchor whose dual variable is at its bound.
    n_triplets, n_at_bound : int
        Number of all triplets, and of those at their bound.
    notes : tuple of str
        Where the dual variables are from, or why there are none.
    """

    triplets: np.ndarray = field(default_factory=lambda: np.empty((0, 3), dtype=np.intp))
    margins: np.ndarray = field(default_factory=lambda: np.empty(0))
    samples: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    shares: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_triplets: int = 0
    n_at_bound: int = 0
    notes: tuple[str, ...] = ()


def find_doubts(
    metric: Any, X: Any, y: np.ndarray, mapped: np.ndarray, predicted: np.ndarray
) -> Doubts:
    """Return the doubts about the labels of the samples of a fit.

    `mapped` are the samples in the learned space, and `predicted` their classes as held-out votes
    have them, equal to y where there is none.
    """
    proven, notes = _with_dual(metric, X, y)
    if proven is None:
        return Doubts(notes=notes)
    triplets = proven.triplets_.to_array()
    if triplets.max(initial=-1) >= len(y):
        reason = "the triplets of the model are not of these samples"
        return Doubts(notes=(f"{reason}, so they cannot be listed.".capitalize(),))
    weight = proven.triplets_.weight
    bound = proven.map_.recipe.C * weight / weight.sum()
    is_at_bound = proven.dual_coef_ >= AT_BOUND * bound
    margins = _margins(mapped, triplets)
    samples, shares = _doubtful(triplets[:, 0], is_at_bound, margins, predicted != y)
    rows = _hardest(triplets, margins, is_at_bound)
    counts = {"n_triplets": len(triplets), "n_at_bound": int(is_at_bound.sum())}
    return Doubts(triplets[rows], margins[rows], samples, shares, **counts, notes=notes)


def _with_dual(metric: Any, X: Any, y: np.ndarray) -> tuple[Any, tuple[str, ...]]:
    """Return an estimator with dual variables, fitted again if need be, and notes."""
    parameters = {} if metric is None else metric.get_params(deep=False)
    if "keep_dual" not in parameters or "preprocessor" in parameters:
        return None, ("This model has no dual variables of triplets from labels.",)
    if parameters["loss"] not in BOUNDED:
        loss = parameters["loss"]
        return None, (f"With loss={loss!r} dual variables have no upper bound that they reach.",)
    if hasattr(metric, "dual_coef_"):
        return metric, ()
    if len(y) > MOST_SAMPLES:
        return None, (f"The model keeps no dual variables; {HOW}.",)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said at the first fit
        again = clone(metric).set_params(keep_dual=True).fit(X, y)
    scale = np.abs(metric.components_).max(initial=0.0)
    is_same = metric.components_.shape == again.components_.shape and np.allclose(
        np.abs(metric.components_), np.abs(again.components_), rtol=0, atol=1e-3 * scale
    )
    origin = f"The model keeps no dual variables, so it was fitted again to these data ({HOW})."
    if is_same:
        return again, (origin,)
    other = "The new metric differs from the given one, which was learned from other data."
    return again, (origin, other)


def _margins(points: np.ndarray, triplets: np.ndarray) -> np.ndarray:
    anchors, near, far = (points[column] for column in triplets.T)
    return np.sum((anchors - far) ** 2, axis=1) - np.sum((anchors - near) ** 2, axis=1)


def _doubtful(
    anchors: np.ndarray, is_at_bound: np.ndarray, margins: np.ndarray, is_wrong: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows whose triplets are mostly at their bound and that are voted wrong.

    Of equal shares, the one with the smaller mean margin is first.
    """
    counts = np.maximum(np.bincount(anchors, minlength=len(is_wrong)), 1)
    share, margin = (
        np.bincount(anchors, weights=values, minlength=len(is_wrong)) / counts
        for values in (is_at_bound, margins)
    )
    rows = np.flatnonzero((share >= DOUBTFUL) & is_wrong)
    rows = rows[np.lexsort((margin[rows], -share[rows]))][:N_SAMPLES]
    return rows, share[rows]


def _hardest(triplets: np.ndarray, margins: np.ndarray, is_at_bound: np.ndarray) -> np.ndarray:
    """Return the rows of the triplets with the smallest margins, one an anchor."""
    order = np.argsort(np.where(is_at_bound, margins, np.inf), kind="stable")
    order = order[: int(is_at_bound.sum())]
    _, first = np.unique(triplets[order, 0], return_index=True)
    return order[np.sort(first)][:N_TRIPLETS]
