"""BoostMetric: a metric of small trace, built up from rank-one matrices, with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...checks.parameters import FLAG, InvalidParameterError, Rule, check_parameters, choice
from ...checks.samples import SampleReader
from ...core import CertificateError, Hinge
from ...core.points import Array, Factored, Vector
from ...core.solution import Certificate, Solution
from ...learning.coordinates import Coordinates
from ...learning.journal import Progress
from ...learning.learn import learn_in_passes
from ...learning.learned import NO_DIRECTION, check_n_components, map_of_solution, warn_if_zero
from ...learning.options import RunOptions
from ...learning.parameters import LABEL_RULES, SHARED_RULES
from ...learning.prove import SAME, check_labels, last_samples
from ...learning.samples import Samples
from ...model.fitted import Fitted
from ...model.linear_map import LinearMap, Source
from ...model.recipe import Recipe
from ...model.sets import TripletSet
from ...runtime.environment import limit_threads
from ...solvers import Interrupted
from ..base import CertifiedEstimator
from .problem import Exponential, Logistic, TraceSDP, certify_trace
from .solvers import METHODS, Method, boost

#: Losses that a metric can be boosted with.
LOSSES = {"hinge": Hinge, "logistic": Logistic, "exponential": Exponential}
#: Part of a metric outside the span of its data that is rounding, of single precision too.
OUTSIDE = 1e-5
#: Difference of the lengths of two rows of a map that is rounding, relative to the longest one.
ROUNDED = 1e-5


class BoostMetric(CertifiedEstimator):
    """Large-margin metric learning from triplets with trace regularisation.

    Learns d^2(a, b) = (a - b).T M (a - b) with the positive semidefinite M that minimises

        trace(M) + C sum_r w_r loss(d^2(anchor_r, far_r) - d^2(anchor_r, near_r))

    where the weights w_r sum to one: with the hinge this is problem P2 of the paper, and of the
    BoostMetric that it compares with. The trace favours metrics of low rank. M is built up as
    sum_j w_j v_j v_j.T; new v_j are eigenvectors of sum_r u_r A_r, where A_r is the matrix with
    <A_r, M> = margin of triplet r, and u_r the slope of its loss at its present margin. M is
    optimal if no eigenvalue is above one; before that u, divided by the largest eigenvalue, bounds
    the optimum from below, and every fit carries the certificate that follows.

    With `corrective=True` ("totally corrective") each round adds all eigenvectors of eigenvalues
    above one and then corrects all of M:

    * with a smooth loss by L-BFGS on the columns sqrt(w_j) v_j, weights and directions together;
    * with the hinge, whose u do not follow from the margins, by a proximal step: the same problem
      plus |M - last M|_F^2 / (2 sigma) is one that `FrobMetric` solves, its eigenvectors are the
      new v_j and its dual variables the u. This takes the place of the linear program in the
      weights of the original method, and ends at the same optimum.

    With `corrective=False` each stage adds one rank-one matrix, with a weight from a line search,
    and scales all weights by one common factor; the v_j do not change. That is simple and slow.

    The data are first centred and divided by one number, as by `FrobMetric`; the certificate is
    that of the scaled problem, `components_` and distances are in the units of X.

    Parameters
    ----------
    n_neighbors : int, default=3
        With labels: number of nearest samples of the same class that each sample is compared with.
    n_impostors : int, default=None
        With labels: the same number for samples of other classes, by default as many.
    C : float, default=1e4
        Weight of the triplets against the trace. Below some value, which a warning names, the
        metric is zero.
    n_components : int or "rank", default=None
        Number of leading directions of the metric to keep, by default all; "rank" keeps those that
        are not zero.
    loss : {"hinge", "logistic", "exponential"}, default="hinge"
        Loss of a triplet as a function of its margin.
    corrective : bool, default=True
        Correct all of M in each round, or only add to it. The hinge needs True.
    n_passes : int, default=1
        With labels: number of searches for neighbours, as in `FrobMetric`.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=10000
        Largest number of steps of a solve, each one pass over the triplets that it works on.
    keep_dual : bool, default=False
        Keep dual variables and triplets in the model, so that `certify` can prove the result again.
        They are `dual_coef_` and `triplets_`.
    n_jobs : int, default=None
        Limit on threads, by default that of the numerical libraries.
    verbose : int, default=0
        Number of steps that evaluate all triplets between two lines of progress; 0 writes none.
    callback : callable, default=None
        Function called with each such step; a true result ends the fit.

    Attributes
    ----------
    certificate_ : Certificate
        Certificate of the metric before truncation to `n_components`. P2 is not strongly convex,
        so a small gap says little about `distance_bound`.
    history_ : list of Step
        Lowest objective and highest bound so far, gap, rank and seconds of the steps that
        evaluated all triplets.
    dual_coef_ : ndarray of shape (n_triplets,)
        Dual variables, feasible for D2, in the order of `triplets_`; only with `keep_dual`.
    components_, status_, rank_, n_iter_, n_triplets_, scale_, triplets_, n_unlabeled_
        As in `FrobMetric`.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of the features of X, and their names if they have names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import BoostMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = BoostMetric().fit(X, y)
    >>> metric.certificate_.relative_gap <= 1e-3
    True
    """

    n_unlabeled_ = Fitted[int]("source.n_unlabeled")
    _rules: ClassVar[dict[str, Rule]] = {
        **LABEL_RULES,
        **SHARED_RULES,
        "loss": choice(LOSSES),
        "corrective": FLAG,
    }
    _takes_sparse = False

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        n_impostors: int | None = None,
        C: float = 1e4,
        n_components: int | str | None = None,
        loss: str = "hinge",
        corrective: bool = True,
        n_passes: int = 1,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        keep_dual: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_neighbors, self.n_impostors, self.n_passes = n_neighbors, n_impostors, n_passes
        self.C, self.n_components = C, n_components
        self.loss, self.corrective = loss, corrective
        self.tol, self.max_iter = tol, max_iter
        self.keep_dual, self.n_jobs = keep_dual, n_jobs
        self.verbose, self.callback = verbose, callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        triplets: Any = None,
        triplet_weight: Any = None,
    ) -> Self:
        """Learn the metric from class labels, from triplets, or from both together.

        The parameters are those of `FrobMetric.fit`, but X must be dense.
        """
        check_parameters(self, self._rules)
        if (self.loss, self.corrective) not in METHODS:
            raise InvalidParameterError(
                f"corrective=False was given with loss={self.loss!r}: a stage-wise step can stall "
                "at a corner of that loss, where no single direction gains though the metric is "
                "not optimal; use corrective=True, or loss='logistic' or 'exponential'"
            )
        recipe, options, reader = self._recipe(), self._options(), self._reader()
        samples = Samples.check(recipe, reader, X, y, sample_weight, triplets, triplet_weight)
        return self._accept(_learn(recipe, options, samples, METHODS[self.loss, self.corrective]))

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Prove the metric as it stands, from the training data and the kept dual variables.

        The metric is that of `components_`: if `n_components` truncated it, the gap is that of the
        truncated metric. X is the data that it was learned from; other data raise
        `CertificateError`, and so do labels y, if given, that are not those of the triplets.
        """
        check_is_fitted(self)
        return _certify(self.map_, self._reader(of_fit=False), X, y, sample_weight)


def _certify(
    learned: LinearMap, reader: SampleReader, X: Any, y: Any, sample_weight: Any
) -> Certificate:
    components = learned.components
    given = reader.read(X)[0].astype(components.dtype, copy=False)
    X, weight, triplets = last_samples(learned, given)
    if y is not None:
        check_labels(learned, reader, given, y, sample_weight, _coordinates, has_units=False)
    coordinates = _coordinates(X, weight)
    if not np.isclose(coordinates.scale, learned.problem[1].scale, rtol=SAME, atol=0):
        raise CertificateError(
            f"these data have the scale {coordinates.scale:.9g} and the metric was learned "
            f"from data of scale {learned.problem[1].scale:.9g}; they are other data"
        )
    point = _in_span(coordinates, components.T.astype(float) * coordinates.scale)
    _check_order(components)
    problem = _problem(learned.problem[0], coordinates, triplets)
    return certify_trace(problem, point, learned.proof.u)


def _learn(recipe: Recipe, options: RunOptions, samples: Samples, method: Method) -> LinearMap:
    """Learn from checked samples by one of the methods."""

    def solve_next(progress: Progress) -> Solution:
        problem = _problem(recipe, coordinates, progress.triplets)
        given: dict[str, Any] = {
            "tol": options.tol,
            "max_iter": options.max_iter,
            "callback": options.on_step,
        }
        try:
            return boost(problem, method, start=progress.point, **given)
        except Interrupted as interruption:
            return interruption.solution

    with limit_threads(options.n_jobs):
        coordinates = _coordinates(samples.X, samples.weight)
        check_n_components(recipe.n_components, coordinates)
        answer = learn_in_passes(recipe, samples, coordinates, solve_next, options.n_jobs)
    learned = map_of_solution(
        recipe,
        options,
        answer.solution,
        coordinates,
        answer.comparisons,
        features=samples.features,
        dtype=samples.dtype,
        source=Source(n_unlabeled=samples.n_unlabeled),
        rows=samples.rows,
        weight=samples.row_weight,
    )
    if not learned.rank:
        reason = _reason_of_zero(_problem(recipe, coordinates, answer.comparisons), recipe.C)
        warn_if_zero(learned, reason)
    return learned


def _problem(recipe: Recipe, coordinates: Coordinates, triplets: TripletSet) -> TraceSDP:
    loss = LOSSES[recipe.loss](recipe.C * triplets.share)
    return TraceSDP(triplets.constraints(coordinates.Z), loss)


def _coordinates(X: Array, weight: Vector | None) -> Coordinates:
    return Coordinates.dense(X, weight=weight)


def _reason_of_zero(problem: TraceSDP, C: float) -> str:
    """Return why a metric is zero, and the smallest C that would help if there is one."""
    u = problem.loss.multiplier(np.zeros(problem.constraints.shape[0]))
    largest = problem.max_eigenvalue(problem.constraints.adjoint(u))
    if largest <= 1e-9:
        return NO_DIRECTION
    return f"C={C:g} is too small for these triplets, for which it must be above {C / largest:.3g}"


def _check_order(components: Array) -> None:
    """Refuse rows in another order than a fit leaves them, from long to short.

    The metric is the same in any order, and with it the proof, but not the map.
    """
    length = np.linalg.norm(components.astype(float), axis=1)
    wrong = np.flatnonzero(np.diff(length) > ROUNDED * length.max(initial=0.0))
    if len(wrong):
        raise CertificateError(
            f"components_[{wrong[0] + 1}] is longer than the row before it, and a fit leaves the "
            "rows in order: components_ was changed; fit again"
        )


def _in_span(coordinates: Coordinates, L: Array) -> Factored:
    """Return L in these coordinates; raise `CertificateError` if they cannot express it."""
    if coordinates.basis is None:
        return Factored(L)
    inside = coordinates.basis.T @ L
    outside, size = np.linalg.norm(L - coordinates.basis @ inside), np.linalg.norm(L)
    if outside > OUTSIDE * size:
        raise CertificateError(
            f"components_ has a part outside the span of these data, {outside / size:.2g} of its "
            "norm, and a metric learned from them has none there: components_ was changed, or "
            "these are other data; fit again, or give the data of the fit"
        )
    return Factored(inside)
