"""FrobMetric: a Mahalanobis metric from labels or triplets, with its certificate."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from numbers import Integral
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ..core import CertificateError, FrobeniusSDP, Hinge, SmoothedHinge, SquaredHinge, certify
from ..parameters import (
    CALLABLE,
    FLAG,
    MATRIX,
    NONE,
    POSITIVE,
    SEED,
    WHOLE,
    InvalidParameterError,
    Rule,
    check_parameters,
    check_psd,
    choice,
    integer,
)
from ..reporting import Reporter
from ..solvers import SOLVERS, Interrupted, State, solve
from .mahalanobis import MahalanobisEstimator
from .span import Frame
from .triplets import as_triplets, mine_triplets

#: The losses that a metric can be learned with.
LOSSES = {"hinge": Hinge, "smoothed_hinge": SmoothedHinge, "squared_hinge": SquaredHinge}


class FrobMetric(MahalanobisEstimator):
    """Large-margin metric learning from triplets with Frobenius regularisation.

    Learns d^2(a, b) = (a - b).T M (a - b) with the positive semidefinite M that minimises

        |M - prior|_F^2 / 2 + C sum_r w_r loss(d^2(anchor_r, far_r) - d^2(anchor_r, near_r))

    where the weights w_r sum to one. The problem is convex and is solved in its dual; every fit
    carries a certificate of how far it can be from the optimum.

    The data are first centred and divided by one number, `scale_`, so that their mean squared
    norm is one: `C` means the same for every data set, and the learned distances are the same for
    X and 1000 X (what is then below 2^-32 is taken for rounding). The certificate speaks of that
    scaled problem. `components_` and all distances are in the units of X, in which a satisfied
    triplet has d^2(far) - d^2(near) >= 1.

    Parameters
    ----------
    n_neighbors : int, default=3
        With labels: how many nearest samples of the same class each sample is to be close to.
    n_impostors : int, default=None
        With labels: how many nearest samples of other classes it is to be far from; as many as
        `n_neighbors` if None.
    C : float, default=1e4
        Weight of the triplets against the regulariser.
    n_components : int or "rank", default=None
        How many leading directions `components_` keeps: all n_features if None, as many as the
        metric has rank for "rank".
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
    prior : ndarray of shape (n_features, n_features), default=None
        The metric to stay close to, positive semidefinite, in the units of X; zero if None.
    n_passes : int, default=1
        With labels: after the first fit, find the neighbours again under the learned metric and
        solve again, so many times in all.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=1000
        Largest number of steps of a solve, each at most one eigen-decomposition.
    solver : str, default="auto"
        A name in `frobmetric.solvers.SOLVERS`.
    keep_dual : bool, default=False
        Keep `dual_coef_` and `triplets_`, so that `certify` can prove the answer again.
    n_jobs : int, default=None
        Limit on threads; None leaves the libraries' own choice.
    random_state : int or RandomState, default=None
        Fits are deterministic; this is for methods that sample.
    verbose : int, default=0
        Write a line per so many steps.
    callback : callable, default=None
        Called with each step (primal, dual, gap, rank, seconds); a true answer ends the fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.T with M = L L.T, leading directions first; rows beyond the rank are zero.
    certificate_ : Certificate
        Of the metric before truncation to `n_components`.
    status_ : str
        Why the last solve ended; "optimal" if certified to `tol`.
    history_ : list of Step
        primal, dual, gap, rank and seconds of the steps of the last solve that judged all triplets.
    rank_ : int
        Rank of the metric before truncation.
    n_iter_ : int
        Steps of the last solve, those on a part of the triplets included.
    n_triplets_ : int
    scale_ : float
        What the centred data were divided by.
    dual_coef_ : ndarray of shape (n_triplets,)
        Only with `keep_dual`; in the order of `triplets_`.
    triplets_ : MinedTriplets or GivenTriplets
        Only with `keep_dual`; `triplets_.to_array()` gives (anchor, near, far).
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had feature names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = FrobMetric().fit(X, y)
    >>> metric.certificate_.relative_gap <= 1e-3
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_neighbors": integer(1),
        "n_impostors": integer(1) | NONE,
        "C": POSITIVE,
        "n_components": integer(1) | choice(["rank"]) | NONE,
        "loss": choice(LOSSES),
        "prior": MATRIX | NONE,
        "n_passes": integer(1),
        "tol": POSITIVE,
        "max_iter": integer(1),
        "solver": choice(SOLVERS),
        "keep_dual": FLAG,
        "n_jobs": WHOLE | NONE,
        "random_state": SEED | NONE,
        "verbose": integer(0) | FLAG,
        "callback": CALLABLE | NONE,
    }

    def __init__(
        self,
        n_neighbors=3,
        n_impostors=None,
        C=1e4,
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
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.C = C
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
            frame = self._frame(X)
            if triplets is not None:
                self._learn(frame, as_triplets(triplets, len(X), triplet_weight), X.dtype)
            else:
                self._learn_from_labels(frame, y, X.dtype)
        return self

    def certify(self, X):
        """Prove the answer again, from the training data and the kept dual variables.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data that the metric was learned from.

        Returns
        -------
        Certificate

        Raises
        ------
        CertificateError
            If the metric or the dual variables do not belong to these data.
        """
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise ValueError("no dual variables were kept; fit with keep_dual=True")
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        frame = self._frame(X)
        problem = self._problem(frame, as_triplets(self.triplets_, len(X)))
        point = problem.evaluate(self.dual_coef_).point
        self._check_components(frame, point)
        return certify(problem, point, self.dual_coef_)

    def _validate(self, X, y, triplets, triplet_weight):
        check_parameters(self, self._rules)
        dtype = [np.float64, np.float32]
        if triplets is not None:
            if y is not None:
                raise ValueError("both y and triplets were given; fit takes one of them")
            return validate_data(self, X, dtype=dtype, ensure_min_samples=3), None
        if triplet_weight is not None:
            raise ValueError("triplet_weight was given without triplets; it weighs their rows")
        X, y = validate_data(self, X, y, dtype=dtype, ensure_min_samples=2)
        check_classification_targets(y)
        return X, y

    def _frame(self, X):
        return Frame.of(X, keep_features=self.prior is not None)

    def _learn_from_labels(self, frame, y, dtype):
        view, start = frame.Z, State()
        for i in range(self.n_passes):
            mined = mine_triplets(
                view, y, self.n_neighbors, self.n_impostors, n_jobs=self.n_jobs, warn_small=i == 0
            )
            solution = self._learn(frame, mined, dtype, start)
            if solution.point.rank == 0:
                break  # a metric that is zero has no neighbours to find
            view, start = frame.Z @ solution.point.factor(), State(point=solution.point)

    def _learn(self, frame, triplets, dtype, start=None):
        """Solve for these triplets and keep the answer, also when interrupted."""
        self._check_size()
        problem = self._problem(frame, triplets)
        try:
            solution = solve(
                problem, self.solver, self.tol, self.max_iter, self._on_step(), start or State()
            )
        except Interrupted as interruption:
            self._store(interruption.solution, frame, triplets, dtype)
            raise
        self._store(solution, frame, triplets, dtype)
        return solution

    def _problem(self, frame, triplets):
        prior = None
        if self.prior is not None:
            prior = check_psd("prior", self.prior, frame.Z.shape[1]) * frame.scale**2
        loss = LOSSES[self.loss](self.C * triplets.share)
        return FrobeniusSDP(triplets.constraints(frame.Z), loss, prior=prior)

    def _store(self, solution, frame, triplets, dtype):
        self.scale_, self.rank_ = frame.scale, solution.point.rank
        if self.rank_ == 0 and solution.status == "optimal":
            warnings.warn(
                "the learned metric is zero: no direction of X serves the triplets better than "
                "it contradicts them; check y or the order (anchor, near, far)",
                UserWarning,
                stacklevel=4,
            )
        sizes = {None: self.n_features_in_, "rank": max(1, self.rank_)}
        size = sizes.get(self.n_components, self.n_components)
        self.components_ = frame.components(solution.point.factor(), size).astype(dtype, copy=False)
        self.certificate_ = solution.certificate
        self.status_ = solution.status
        self.history_ = list(solution.history)
        self.n_iter_ = solution.n_iter
        self.n_triplets_ = triplets.n_triplets
        self._keep_dual(solution.u, triplets)

    def _keep_dual(self, u, triplets):
        if self.keep_dual:
            self.dual_coef_, self.triplets_ = u, triplets
        else:  # those of an earlier fit would prove another metric
            vars(self).pop("dual_coef_", None)
            vars(self).pop("triplets_", None)

    def _check_size(self):
        if isinstance(self.n_components, Integral) and self.n_components > self.n_features_in_:
            raise InvalidParameterError(
                f"n_components={self.n_components} is larger than the {self.n_features_in_} "
                "features of X"
            )

    def _check_components(self, frame, point):
        """Whether `components_` is what the dual variables give."""
        expected = frame.components(point.factor(), len(self.components_))
        difference = expected.T @ expected - self.get_mahalanobis_matrix()
        allowed = 1e3 * np.sqrt(np.finfo(self.components_.dtype).eps)
        error = np.linalg.norm(difference) / max(np.linalg.norm(expected) ** 2, 1e-300)
        if not error <= min(allowed, 1e-2):
            raise CertificateError(
                f"components_ differ by {error:.1e} (relative) from the metric that the dual "
                "variables give on these data; the model was changed, or these are other data"
            )

    def _on_step(self):
        if not self.verbose:
            return self.callback
        return Reporter(self.verbose, self.callback)


def limit_threads(n_jobs):
    """At most so many threads inside this context; None limits nothing."""
    return nullcontext() if n_jobs is None else threadpool_limits(effective_n_jobs(n_jobs))
