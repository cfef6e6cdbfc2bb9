"""BoostMetric: a metric of small trace, built up from rank-one matrices, with its certificate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._parameters import FLAG, InvalidParameterError, Rule, check_parameters, choice
from ...core import CertificateError, Hinge
from ...core.points import Factored
from .._base import SHARED_RULES, TripletEstimator
from ..coordinates import Frame
from ..sets import as_triplets
from .problem import Exponential, Logistic, TraceSDP, certify_trace
from .solvers import METHODS, boost

#: The losses that a metric can be boosted with.
LOSSES = {"hinge": Hinge, "logistic": Logistic, "exponential": Exponential}
#: The part of a metric outside the span of its data that is rounding, of single precision too.
OUTSIDE = 1e-5


class BoostMetric(TripletEstimator):
    """Large-margin metric learning from triplets with trace regularisation.

    Learns d^2(a, b) = (a - b).T M (a - b) with the positive semidefinite M that minimises

        trace(M) + C sum_r w_r loss(d^2(anchor_r, far_r) - d^2(anchor_r, near_r))

    where the weights w_r sum to one: with the hinge this is problem P2 of the paper, and of the
    BoostMetric that it compares with. The trace favours metrics of low rank. M is built up as
    sum_j w_j v_j v_j.T; new v_j are eigenvectors of sum_r u_r A_r, where A_r is what triplet r
    says of M and u_r how much its loss weighs at its present margin. Where no eigenvalue is above
    one, M is optimal; before that u, divided by the largest one, bounds the optimum from below,
    and every fit carries the certificate that follows.

    With `corrective=True` ("totally corrective") each round adds all eigenvectors that gain and
    then corrects everything that M consists of:

    * with a smooth loss by L-BFGS on the columns sqrt(w_j) v_j, weights and directions together;
    * with the hinge, whose u are not given by the margins, by a proximal step: the same problem
      plus |M - last M|_F^2 / (2 sigma) is one that `FrobMetric` solves, its eigenvectors are the
      new v_j and its dual variables the u. This takes the place of the linear program in the
      weights of the original method, and ends at the same optimum.

    With `corrective=False` each stage adds one rank-one matrix, its weight found by a line search,
    and scales all weights by one common factor; the v_j stay as they were. That is simple and slow.

    The data are first centred and divided by one number, as by `FrobMetric`; the certificate
    speaks of that scaled problem, `components_` and distances are in the units of X.

    Parameters
    ----------
    n_neighbors : int, default=3
        With labels: how many nearest samples of the same class each sample is to be close to.
    n_impostors : int, default=None
        With labels: how many nearest samples of other classes it is to be far from; as many as
        `n_neighbors` if None.
    C : float, default=1e4
        Weight of the triplets against the trace. Below some value, which a warning names, the
        metric is zero.
    n_components : int or "rank", default=None
        How many leading directions `components_` keeps: all n_features if None, as many as the
        metric has rank for "rank".
    loss : {"hinge", "logistic", "exponential"}, default="hinge"
    corrective : bool, default=True
        Correct all of M in each round, or only add to it. Not with the hinge.
    n_passes : int, default=1
        With labels: after the first fit, find the neighbours again under the learned metric and
        solve again, so many times in all.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=10000
        Largest number of steps of a solve, each one pass over the triplets that it works on.
    keep_dual : bool, default=False
        Keep `dual_coef_` and `triplets_`, so that `certify` can prove the answer again.
    n_jobs : int, default=None
        Limit on threads; None leaves the libraries' own choice.
    random_state : int or RandomState, default=None
        Fits are deterministic; this is for methods that sample.
    verbose : int, default=0
        Write a line per so many steps that judge all triplets.
    callback : callable, default=None
        Called with each such step (primal, dual, gap, rank, seconds); a true answer ends the fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.T with M = L L.T, leading directions first; rows beyond the rank are zero.
    certificate_ : Certificate
        Of the metric before truncation to `n_components`. P2 is not strongly convex, so a small
        gap says little about `distance_bound`.
    status_ : str
        Why the last solve ended; "optimal" if certified to `tol`.
    history_ : list of Step
        Lowest objective and highest bound so far, gap, rank and seconds of the steps that judged
        all triplets.
    rank_ : int
        Rank of the metric before truncation.
    n_iter_ : int
        Steps of the last solve, those on a part of the triplets included.
    n_triplets_ : int
    scale_ : float
        What the centred data were divided by.
    dual_coef_ : ndarray of shape (n_triplets,)
        Only with `keep_dual`; feasible for D2, in the order of `triplets_`.
    triplets_ : MinedTriplets, GivenTriplets or JoinedTriplets
        Only with `keep_dual`; `triplets_.to_array()` gives (anchor, near, far).
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had feature names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import BoostMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = BoostMetric().fit(X, y)
    >>> metric.certificate_.relative_gap <= 1e-3
    True
    """

    _rules: ClassVar[dict[str, Rule]] = SHARED_RULES | {"loss": choice(LOSSES), "corrective": FLAG}

    def __init__(
        self,
        n_neighbors=3,
        n_impostors=None,
        C=1e4,
        n_components=None,
        loss="hinge",
        corrective=True,
        n_passes=1,
        tol=1e-3,
        max_iter=10_000,
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
        self.corrective = corrective
        self.n_passes = n_passes
        self.tol = tol
        self.max_iter = max_iter
        self.keep_dual = keep_dual
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def certify(self, X):
        """Prove the metric as it stands, from the training data and the kept dual variables.

        The metric is that of `components_`: if `n_components` truncated it, so is the one whose
        gap is given here.

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
            If the dual variables or the metric do not belong to these data.
        """
        X = self._training_data(X)
        frame = Frame.of(X)
        if not np.isclose(frame.scale, self.scale_, rtol=1e-6, atol=0):
            raise CertificateError(
                f"these data have the scale {frame.scale:.9g} and the metric was learned from "
                f"data of scale {self.scale_:.9g}; they are other data"
            )
        point = _inside(frame, self.components_.T.astype(float) * frame.scale)
        problem = self._problem(frame, as_triplets(self.triplets_, len(X)))
        return certify_trace(problem, point, self.dual_coef_)

    def _validate(self, X, y, triplets, triplet_weight):
        check_parameters(self, self._rules)
        if (self.loss, self.corrective) not in METHODS:
            raise InvalidParameterError(
                f"corrective=False was given with loss={self.loss!r}: a stage-wise step can stall "
                "at a corner of that loss, where no single direction gains though the metric is "
                "not optimal; use corrective=True, or loss='logistic' or 'exponential'"
            )
        return super()._validate(X, y, triplets, triplet_weight)

    def _frame(self, X, y):
        return Frame.of(X)

    def _solve(self, problem, point):
        method = METHODS[self.loss, self.corrective]
        return boost(problem, method, self.tol, self.max_iter, self._on_step(), point)

    def _problem(self, frame, triplets):
        loss = LOSSES[self.loss](self.C * triplets.share)
        return TraceSDP(triplets.constraints(frame.Z), loss)

    def _why_zero(self, problem):
        """Whether a larger C would help."""
        u = problem.loss.multiplier(np.zeros(problem.constraints.shape[0]))
        highest = problem.highest(problem.constraints.adjoint(u))
        if highest > 1e-9:
            return (
                f"the learned metric is zero: C={self.C:g} is too small for these triplets, for "
                f"which it must be above {self.C / highest:.3g}"
            )
        return (
            "the learned metric is zero: no direction of X serves the triplets better than it "
            "contradicts them; check y or the order (anchor, near, far)"
        )


def _inside(frame, L):
    """L in the coordinates of the frame, if they can express it."""
    if frame.basis is None:
        return Factored(L)
    inside = frame.basis.T @ L
    outside, size = np.linalg.norm(L - frame.basis @ inside), np.linalg.norm(L)
    if outside > OUTSIDE * size:
        raise CertificateError(
            f"components_ has a part outside the span of these data, {outside / size:.2g} of its "
            "norm, and a metric learned from them has none there: components_ was changed, or "
            "these are other data; fit again, or give the data of the fit"
        )
    return Factored(inside)
