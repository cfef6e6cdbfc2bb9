"""What estimators that learn a metric from triplets share: all but the problem and its solver."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ..parameters import (
    CALLABLE,
    FLAG,
    NONE,
    POSITIVE,
    SEED,
    WHOLE,
    InvalidParameterError,
    check_parameters,
    choice,
    integer,
)
from ..reporting import Reporter
from ..solvers import Interrupted
from .mahalanobis import MahalanobisEstimator
from .triplets import as_triplets, mine_triplets

DTYPES = [np.float64, np.float32]
#: What the parameters that they share may be.
SHARED_RULES = {
    "n_neighbors": integer(1),
    "n_impostors": integer(1) | NONE,
    "C": POSITIVE,
    "n_components": integer(1) | choice(["rank"]) | NONE,
    "n_passes": integer(1),
    "tol": POSITIVE,
    "max_iter": integer(1),
    "keep_dual": FLAG,
    "n_jobs": WHOLE | NONE,
    "random_state": SEED | NONE,
    "verbose": integer(0) | FLAG,
    "callback": CALLABLE | NONE,
}


class TripletEstimator(MahalanobisEstimator):
    """Mines triplets, solves, and stores the answer; one that derives from it has

    `_frame(X, y)`, the data as the solver sees them; `_problem(frame, triplets)`;
    `_solve(problem, point)`, which starts at a point or None and returns a `Solution`; and
    `_why_zero(problem)`, the warning of a metric that is zero.
    """

    def fit(self, X, y=None, *, triplets=None, triplet_weight=None):
        """Learn the metric from class labels, or from triplets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Class labels.
        triplets : ndarray of shape (n_triplets, 3) or MinedTriplets, optional
            Rows (anchor, near, far) of row numbers of X, instead of y.
        triplet_weight : array-like of shape (n_triplets,), optional
            A weight of 2 is the same as the triplet twice.

        Returns
        -------
        self
        """
        X, y = self._validate(X, y, triplets, triplet_weight)
        with limit_threads(self.n_jobs):
            frame = self._frame(X, y)
            if triplets is not None:
                self._learn(frame, as_triplets(triplets, len(X), triplet_weight), X.dtype)
            else:
                self._learn_from_labels(frame, y, X.dtype)
        return self

    def _validate(self, X, y, triplets, triplet_weight):
        check_parameters(self, self._rules)
        if triplets is not None:
            if y is not None:
                raise ValueError("both y and triplets were given; fit takes one of them")
            return validate_data(self, X, dtype=DTYPES, ensure_min_samples=3), None
        if triplet_weight is not None:
            raise ValueError("triplet_weight was given without triplets; it weighs their rows")
        X, y = validate_data(self, X, y, dtype=DTYPES, ensure_min_samples=2)
        check_classification_targets(y)
        return X, y

    def _training_data(self, X):
        """X again, to prove the answer; dual variables must be there."""
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise ValueError("no dual variables were kept; fit with keep_dual=True")
        return validate_data(self, X, reset=False, dtype=DTYPES)

    def _learn_from_labels(self, frame, y, dtype):
        view, point = frame.Z, None
        for i in range(self.n_passes):
            mined = mine_triplets(
                view, y, self.n_neighbors, self.n_impostors, n_jobs=self.n_jobs, warn_small=i == 0
            )
            point = self._learn(frame, mined, dtype, point).point
            if point.rank == 0:
                break  # a metric that is zero has no neighbours to find
            view = frame.Z @ point.factor()

    def _learn(self, frame, triplets, dtype, point=None):
        """Solve for these triplets and keep the answer, also when interrupted."""
        self._check_size()
        problem = self._problem(frame, triplets)
        try:
            solution = self._solve(problem, point)
        except Interrupted as interruption:
            self._store(interruption.solution, frame, triplets, dtype)
            raise
        if solution.point.rank == 0 and solution.status == "optimal":
            warnings.warn(self._why_zero(problem), UserWarning, stacklevel=3)
        self._store(solution, frame, triplets, dtype)
        return solution

    def _store(self, solution, frame, triplets, dtype):
        self.scale_, self.rank_ = frame.scale, solution.point.rank
        sizes = {None: self.n_features_in_, "rank": max(1, self.rank_)}
        size = sizes.get(self.n_components, self.n_components)
        self.components_ = frame.components(solution.point.factor(), size).astype(dtype, copy=False)
        self.certificate_ = solution.certificate
        self.status_ = solution.status
        self.history_ = list(solution.history)
        self.n_iter_ = solution.n_iter
        self.n_triplets_ = triplets.n_triplets
        self._keep("dual_coef_", solution.u if self.keep_dual else None)
        self._keep("triplets_", triplets if self.keep_dual else None)

    def _keep(self, name, value):
        """Set an attribute; None removes that of an earlier fit, which was of another metric."""
        if value is None:
            vars(self).pop(name, None)
        else:
            setattr(self, name, value)

    def _check_size(self):
        if isinstance(self.n_components, Integral) and self.n_components > self.n_features_in_:
            raise InvalidParameterError(
                f"n_components={self.n_components} is larger than the {self.n_features_in_} "
                "features of X"
            )

    def _on_step(self):
        if not self.verbose:
            return self.callback
        return Reporter(self.verbose, self.callback)


def limit_threads(n_jobs):
    """At most so many threads inside this context; None limits nothing."""
    return nullcontext() if n_jobs is None else threadpool_limits(effective_n_jobs(n_jobs))
