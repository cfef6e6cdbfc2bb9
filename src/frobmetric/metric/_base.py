"""What estimators that learn a metric from triplets share: all but the problem and its solver."""

from __future__ import annotations

import warnings
from contextlib import contextmanager, nullcontext
from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from .._parameters import (
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
from ..solvers import Interrupted
from ..solvers.monitor import Reporter
from .coordinates import as_components
from .mahalanobis import MahalanobisEstimator
from .sets import as_triplets, concatenate
from .triplets import mine_triplets

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


class MetricEstimator(MahalanobisEstimator):
    """Solves for given triplets and stores the answer; one that derives from it has

    `_problem(frame, triplets)`; `_solve(problem, point)`, which starts at a point or None and
    returns a `Solution`; and `_why_zero(problem)`, the warning of a metric that is zero.
    """

    def _learn(self, frame, triplets, dtype, point=None):
        """Solve for these triplets and keep the answer, also when interrupted."""
        self._check_size(frame)
        problem = self._problem(frame, triplets)
        try:
            solution = self._solve(problem, point)
        except Interrupted as interruption:
            self._store(interruption.solution, frame, triplets, dtype)
            raise
        self._store(solution, frame, triplets, dtype)
        if self.rank_ == 0 and solution.status == "optimal":
            warnings.warn(self._why_zero(problem), UserWarning, stacklevel=3)
        return solution

    def _store(self, solution, frame, triplets, dtype):
        factor = self._factor(frame, solution.point)
        self.scale_, self.rank_ = frame.scale, factor.shape[1]
        sizes = {None: frame.n_rows, "rank": max(1, self.rank_)}
        size = sizes.get(self.n_components, self.n_components)
        self.components_ = as_components(factor, size).astype(dtype, copy=False)
        self.certificate_ = solution.certificate
        self.status_ = solution.status
        self.history_ = list(solution.history)
        self.n_iter_ = solution.n_iter
        self.n_triplets_ = triplets.n_triplets
        self._keep("dual_coef_", solution.u if self.keep_dual else None)
        self._keep("triplets_", triplets if self.keep_dual else None)

    def _factor(self, frame, point):
        """A factor of the metric, in features, from the point of a solution."""
        return frame.in_features(point.factor())

    @contextmanager
    def _intact(self):
        """Inside, an error leaves the estimator as it was; an interrupted fit keeps its answer."""
        before = dict(vars(self))
        try:
            yield
        except Interrupted:
            raise
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _keep(self, name, value):
        """Set an attribute; None removes that of an earlier fit, which was of another metric."""
        if value is None:
            vars(self).pop(name, None)
        else:
            setattr(self, name, value)

    def _check_size(self, frame):
        if isinstance(self.n_components, Integral) and self.n_components > frame.n_rows:
            what = "directions kept" if frame.is_compact else "features of X"
            raise InvalidParameterError(
                f"n_components={self.n_components} is larger than the {frame.n_rows} {what}"
            )

    def _require_dual(self):
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise ValueError("no dual variables were kept; fit with keep_dual=True")

    def _on_step(self):
        if not self.verbose:
            return self.callback
        return Reporter(self.verbose, self.callback)


class TripletEstimator(MetricEstimator):
    """Mines triplets from labels, or takes given ones, or both.

    One that derives from it also has `_frame(X, y)`, the data as the solver sees them.
    """

    def fit(self, X, y=None, *, triplets=None, triplet_weight=None):
        """Learn the metric from class labels, from triplets, or from both together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            `FrobMetric` also takes a sparse matrix, and does not make it dense.
        y : array-like of shape (n_samples,), optional
            Class labels.
        triplets : ndarray of shape (n_triplets, 3) or MinedTriplets, optional
            Rows (anchor, near, far) of row numbers of X. Beside y, each counts as much as one of
            the triplets that are found from the labels.
        triplet_weight : array-like of shape (n_triplets,), optional
            A weight of 2 is the same as the triplet twice.

        Returns
        -------
        self
        """
        with self._intact():
            X, y = self._validate(X, y, triplets, triplet_weight)
            with limit_threads(self.n_jobs):
                self._fit(self._frame(X, y), X, y, triplets, triplet_weight)
        return self

    def _fit(self, frame, X, y, triplets, triplet_weight):
        given = None if triplets is None else as_triplets(triplets, X.shape[0], triplet_weight)
        if y is None:
            self._learn(frame, given, X.dtype)
        else:
            self._learn_from_labels(frame, y, X.dtype, given)

    def _validate(self, X, y, triplets, triplet_weight, reset=True):
        check_parameters(self, self._rules)
        if triplets is None and triplet_weight is not None:
            raise ValueError("triplet_weight was given without triplets; it weighs their rows")
        if triplets is not None and y is None:
            return self._validate_samples(X, reset, ensure_min_samples=3), None
        X, y = self._validate_samples(X, reset, y=y, ensure_min_samples=2)
        check_classification_targets(y)
        return X, y

    def _validate_samples(self, X, reset, **checks):
        return validate_data(self, X, reset=reset, dtype=DTYPES, **self._sparse_checks, **checks)

    def _training_data(self, X):
        """X again, to prove the answer; dual variables must be there."""
        self._require_dual()
        return self._validate_samples(X, reset=False)

    def _learn_from_labels(self, frame, y, dtype, given):
        view, point = frame.Z, None
        for i in range(self.n_passes):
            mined = mine_triplets(
                view,
                y,
                n_neighbors=self.n_neighbors,
                n_impostors=self.n_impostors,
                n_jobs=self.n_jobs,
                warn_small=i == 0,
            )
            point = self._learn(frame, concatenate(mined, given), dtype, point).point
            if point.rank == 0:
                break  # a metric that is zero has no neighbours to find
            view = frame.Z @ point.factor()


def limit_threads(n_jobs):
    """At most so many threads inside this context; None limits nothing."""
    return nullcontext() if n_jobs is None else threadpool_limits(effective_n_jobs(n_jobs))
