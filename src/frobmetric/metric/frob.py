"""FrobMetric: a Mahalanobis metric from labels or triplets, with its certificate."""

from __future__ import annotations

from typing import ClassVar

from .._parameters import Rule
from ._base import SHARED_RULES, TripletEstimator, limit_threads
from ._problem import PROBLEM_RULES, FrobEstimator
from .sets import as_triplets


class FrobMetric(FrobEstimator, TripletEstimator):
    """Large-margin metric learning from triplets with Frobenius regularisation.

    Learns d^2(a, b) = (a - b).T M (a - b) with the positive semidefinite M that minimises

        |M - prior|_F^2 / 2 + C sum_r w_r (loss(far_r - near_r) + pull near_r)

    where near_r and far_r are the squared distances of the anchor of triplet r to its two others,
    and the weights w_r sum to one; the paper's problem has neither prior nor pull. The problem is
    convex and is solved in its dual; every fit carries a certificate of how far it can be from the
    optimum.

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
        How many leading directions `components_` keeps: all n_features if None, or with sparse X
        or a kernel all that were kept; as many as the metric has rank for "rank".
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
    prior : {"within", "discriminant", "covariance", "identity"} or ndarray, default=None
        The metric to stay close to; zero if None. A matrix of shape (n_features, n_features) is
        positive semidefinite and in the units of X. A name is a metric that the data have:
        "within" is the inverse covariance within classes (relevant component analysis),
        "discriminant" the same in the directions in which class means differ (linear discriminant
        analysis), "covariance" the inverse covariance of all samples, "identity" the Euclidean
        one, all of them in the span of the data. The data are first mapped to where it is
        Euclidean; there neighbours are searched, and there the prior is that multiple of the
        identity for which the triplets that it satisfies have a mean margin of one.
    pull : float, default=0
        Weight of the distances of near pairs themselves. With a large `C` and
        1 / `n_impostors` this is the objective of large-margin nearest neighbours (LMNN).
    kernel : {"linear", "rbf", "polynomial", "precomputed"}, default="linear"
        The metric is one between what the kernel maps samples to. `transform` maps new ones;
        with "precomputed" it and `fit` take the kernel's values with the training samples for X.
    gamma : float, default=None
        Of the kernels exp(-gamma |a - b|^2) and (gamma a.b + coef0)^degree; one over the number
        of features and the variance of X if None.
    degree : int, default=3
    coef0 : float, default=1
    n_directions : int, default=None
        Work in so many leading directions of the data, and in those of a prior matrix. All of
        them if None, so that nothing is lost; with sparse X or a kernel, which may have very many,
        at most 500, and a warning says what share of the variance they have.
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
        What the centred data were divided by; with a prior by name, before and after they were
        mapped to where it is Euclidean.
    prior_factor_ : ndarray of shape (n_coordinates, rank)
        That map, with a prior by name other than "identity"; coordinates are the features, or the
        directions of sparse X or of a kernel.
    unit_ : float
        What samples are divided by in an update: that of the first fit.
    prior_components_ : ndarray of shape (rank, n_features)
        After `partial_fit`: the metric that it began with.
    n_directions_ : int
        Order of the problem that was solved.
    kept_variance_ : float
        Share of the variance of the data in those directions.
    X_fit_ : ndarray or CSR matrix of shape (n_samples, n_features)
        With a kernel of samples: those that others are compared with; `components_` then maps
        the kernel's values with them, and has as many columns.
    gamma_ : float
        With such a kernel: the value used.
    dual_coef_ : ndarray of shape (n_triplets,)
        Only with `keep_dual`; in the order of `triplets_`.
    triplets_ : MinedTriplets, GivenTriplets or JoinedTriplets
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

    _rules: ClassVar[dict[str, Rule]] = SHARED_RULES | PROBLEM_RULES

    def __init__(
        self,
        n_neighbors=3,
        n_impostors=None,
        C=1e4,
        n_components=None,
        loss="hinge",
        prior=None,
        pull=0.0,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        n_directions=None,
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
        self.pull = pull
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_directions = n_directions
        self.n_passes = n_passes
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.keep_dual = keep_dual
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def partial_fit(self, X, y=None, *, triplets=None, triplet_weight=None):
        """Update the metric with new samples: the one learned before is the prior of this fit.

        The problem is that of `fit` with `prior` the metric as it stands, of the new samples
        alone, in the unit of the first fit (`unit_`): the certificate speaks of it. The larger
        `C`, the more they count. Without an earlier fit this is `fit`.

        Parameters
        ----------
        X, y, triplets, triplet_weight
            As in `fit`.

        Returns
        -------
        self
        """
        given = {"triplets": triplets, "triplet_weight": triplet_weight}
        if not hasattr(self, "components_"):
            return self.fit(X, y, **{name: v for name, v in given.items() if v is not None})
        with self._intact():
            X, y = self._validate(X, y, triplets, triplet_weight, reset=False)
            with limit_threads(self.n_jobs):
                frame = self._frame(X, y, self._old_root())
                self._fit(frame, X, y, triplets, triplet_weight)
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
        X = self._training_data(X)
        return self._prove(self._known_frame(X), as_triplets(self.triplets_, X.shape[0]))
