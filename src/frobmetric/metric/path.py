"""The choice of C by held-out nearest-neighbour error."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from .frob import FrobMetric
from .knn import knn_error
from .parameters import FOLDS, NUMBERS, Rule, check_parameters

#: Values of C between hardly learning and hardly regularising.
DEFAULT_CS = (1e1, 1e2, 1e3, 1e4, 1e5)


class FrobMetricCV(FrobMetric):
    """FrobMetric with C chosen by the k-NN error on held-out parts of the data.

    For each value of C and each fold a metric is learned on the rest and judged by the error of a
    k-nearest-neighbour classifier (k = `n_neighbors`) on the fold; the value with the smallest
    mean error, the smallest such value if several have it, is fitted to all data.

    Parameters
    ----------
    Cs : sequence of float
        The values to choose from, in any order.
    cv : int, splitter or iterable, default=3
        As in scikit-learn; folds are stratified for an int.
    **others
        All others are those of `FrobMetric`.

    Attributes
    ----------
    C_ : float
        The chosen value.
    Cs_ : ndarray of shape (n_Cs,)
        The values tried, rising.
    cv_errors_ : ndarray of shape (n_Cs, n_folds)
        Held-out error of each.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetricCV
    >>> X, y = load_iris(return_X_y=True)
    >>> FrobMetricCV(Cs=[1, 10, 100]).fit(X, y).cv_errors_.shape
    (3, 3)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "Cs": NUMBERS,
        "cv": FOLDS,
        **{name: rule for name, rule in FrobMetric._rules.items() if name != "C"},
    }

    def __init__(
        self,
        Cs=DEFAULT_CS,
        cv=3,
        n_neighbors=3,
        n_impostors=None,
        n_components=None,
        loss="hinge",
        prior=None,
        n_passes=1,
        tol=1e-3,
        max_iter=1000,
        solver="auto",
        keep_dual=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.Cs = Cs
        self.cv = cv
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.n_components = n_components
        self.loss = loss
        self.prior = prior
        self.n_passes = n_passes
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.keep_dual = keep_dual
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @property
    def C(self):  # noqa: N802
        """The chosen value, under the name that the fit itself uses."""
        return self.C_

    def fit(self, X, y=None):
        """Choose C on held-out parts of X, then learn the metric from all of it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        self.Cs_ = _check_grid(self.Cs)
        samples, labels = validate_data(
            self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(labels)
        folds = list(check_cv(self.cv, labels, classifier=True).split(samples, labels))
        self.cv_errors_ = np.array([
            [self._held_out_error(C, samples, labels, *fold) for fold in folds] for C in self.Cs_
        ])
        self.C_ = float(self.Cs_[self.cv_errors_.mean(axis=1).argmin()])
        return super().fit(X, y)

    def _held_out_error(self, C, X, y, train, test):
        shared = {name: getattr(self, name) for name in FrobMetric._rules if name != "C"}
        metric = FrobMetric(C=C, **shared).fit(X[train], y[train])
        Z, k = X @ metric.components_.T, min(self.n_neighbors, len(train))
        return knn_error(Z[train], y[train], Z[test], y[test], k, self.n_jobs)


def _check_grid(values):
    grid = np.unique(np.asarray(values, dtype=np.float64).ravel())
    if grid.size == 0 or not (np.isfinite(grid).all() and grid[0] > 0):
        raise ValueError(f"Cs={values!r} must be positive finite numbers, at least one")
    return grid
