"""Metrics from pairs that are known to be similar or dissimilar, and the threshold between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_options
from ..checks.parameters import Rule, check_parameters, choice, integer
from ..comparisons.merging import is_contradicted, near_first
from ..comparisons.reading import column_names, read_tuples
from ..core import CertificateError, Constraints
from ..core.points import Array, Index, Symmetric, Vector
from ..core.solution import Certificate
from ..learning.coordinates import Coordinates
from ..learning.learned import warn_if_zero
from ..learning.priors import unit_margin_scale
from ..learning.triplets import triplets_from_pairs
from ..model.fitted import Fitted
from ..model.linear_map import LinearMap, Threshold, required
from ..model.recipe import Recipe
from ..model.sets import GivenQuadruplets, GivenTriplets
from ..neighbors.thresholds import best_threshold
from ..neighbors.verification import best_distance, check_pair_labels, point_digests
from .base import if_linear
from .predictors import PairPredictor
from .tuples import TUPLE_RULES, LabelledTuples, TupleEstimator, certify_tuples, learn_from_tuples

#: Length of the yardstick in its own coordinate: with 1 the threshold b is regularised as an entry
#: of M is. A larger length would leave b freer, but is solved more slowly.
YARDSTICK = 1.0
#: Reason of a metric that is zero.
NO_DIFFERENCE = (
    "no direction of the points tells dissimilar pairs from similar ones at this C; check y (+1 is "
    "similar), raise C, or give the rarer kind of pairs more weight"
)


class PairFrobMetric(PairPredictor, TupleEstimator):
    """Large-margin metric learning from pairs that are similar (+1) or dissimilar (-1).

    With `strategy="threshold"` the squared distances of similar pairs are to be below a threshold b
    and those of dissimilar ones above it, by a margin of one; M and b minimise

        |M - prior|_F^2 / 2 + b^2 / 2 + C sum_r w_r loss(y_r (b - d_r^2))

    which is the problem of quadruplets: every pair is compared with a yardstick whose squared
    length b is learned. With `strategy="triplets"` each pair is completed by near third points (see
    `frobmetric.triplets_from_pairs`), as the paper does.

    Parameters
    ----------
    preprocessor : array-like, sparse matrix or callable, default=None
        Array whose row numbers pairs may hold, or a function from indices to points.
    strategy : {"threshold", "triplets"}, default="threshold"
        Problem that the pairs become, as above.
    n_neighbors : int, default=5
        With "triplets": number of third points for either end of a pair.
    C : float, default=1e4
        Weight of the pairs against the regulariser.
    n_components : int or "rank", default=None
        Number of leading directions of the metric to keep, by default all; "rank" keeps those that
        are not zero.
    loss : {"hinge", "smoothed_hinge", "squared_hinge"}, default="hinge"
        Loss of a pair as a function of its margin.
    prior : {"covariance", "identity"} or ndarray, default=None
        Metric to stay close to, as in `FrobMetric`, by default zero.
    kernel : {"linear", "rbf", "polynomial"}, default="linear"
        Kernel whose feature space the metric is learned in.
    gamma : float, default=None
        Parameter of both kernels, as in `FrobMetric`; None is 1 / (n_features * variance).
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial kernel.
    n_directions : int, default=None
        Number of leading directions of the points to work in, as in `FrobMetric`.
    tol : float, default=1e-3
        Relative duality gap at which a solve ends.
    max_iter : int, default=1000
        Largest number of steps of a solve, each with at most one eigen-decomposition.
    solver : str, default="auto"
        Method that solves the problem. Its name is one of `frobmetric.solvers.FROBENIUS_SOLVERS`.
    keep_dual : bool, default=False
        Keep dual variables and triplets in the model, so that `certify` can prove the result again.
        They are `dual_coef_` and `triplets_`.
    n_jobs : int, default=None
        Limit on threads, by default that of the numerical libraries.
    verbose : int, default=0
        Number of steps between two lines of progress; 0 writes none.
    callback : callable, default=None
        Function called with each step; a true result ends the fit.

    Attributes
    ----------
    threshold_ : float
        Largest distance of pairs that are predicted similar. `fit` sets it to the value that is
        most often correct on the training pairs; `calibrate_threshold` uses others, and
        `promise_threshold` bounds the rate of false matches.
    promise_ : frobmetric.model.promise.Promise
        After `promise_threshold`, until the threshold is changed.
    learned_threshold_ : float
        Root of b, with `strategy="threshold"`.
    prior_threshold_ : float
        After `partial_fit`: the learned threshold before; b stays close to its square, not to zero.
    n_contradictions_ : int
        Number of pairs that were also given the other label.
    n_triplets_ : int
        Number of rows of the problem: pairs, or the triplets that they became.
    components_, certificate_, status_, history_, rank_, n_iter_, scale_, unit_, dual_coef_
        As in `FrobMetric`, and so are the other attributes of kernels and priors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import PairFrobMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = [[0, 1], [50, 51], [100, 101], [0, 50], [50, 100], [0, 100]]
    >>> metric = PairFrobMetric(preprocessor=X).fit(pairs, [1, 1, 1, -1, -1, -1])
    >>> metric.predict([[3, 4], [3, 70]])
    array([ 1, -1])
    """

    learned_threshold_ = Fitted[float]("threshold.learned")
    prior_threshold_ = Fitted[float]("threshold.prior")
    _needs: ClassVar[dict[str, type]] = TupleEstimator._needs | {"threshold": Threshold}
    _rules: ClassVar[dict[str, Rule]] = {
        "strategy": choice(["threshold", "triplets"]),
        "n_neighbors": integer(1),
        **{name: rule for name, rule in TUPLE_RULES.items() if name != "pull"},
    }

    def __init__(
        self,
        *,
        preprocessor: Any = None,
        strategy: str = "threshold",
        n_neighbors: int = 5,
        C: float = 1e4,
        n_components: int | str | None = None,
        loss: str = "hinge",
        prior: Any = None,
        kernel: str = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_directions: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        keep_dual: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.preprocessor, self.strategy, self.n_neighbors = preprocessor, strategy, n_neighbors
        self.C, self.n_components, self.loss, self.prior = C, n_components, loss, prior
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.n_directions, self.tol = n_directions, tol
        self.max_iter, self.solver = max_iter, solver
        self.keep_dual, self.n_jobs = keep_dual, n_jobs
        self.verbose, self.callback = verbose, callback

    def fit(
        self, pairs: Any, y: Any, sample_weight: Any = None, *, calibration_params: Any = None
    ) -> Self:
        """Learn the metric, and the threshold on the same pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of points, or of indices of the preprocessor.
        y : array-like of shape (n_pairs,)
            +1 for similar, -1 for dissimilar.
        sample_weight : array-like of shape (n_pairs,), optional
            Weights of the pairs; a weight of 2 is the same as the pair twice. With
            `strategy="threshold"` only.
        calibration_params : dict, optional
            Further arguments of `calibrate_threshold`, which is applied to these pairs.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        return self._fit(pairs, y, sample_weight, calibration_params)

    @if_linear
    def partial_fit(
        self, pairs: Any, y: Any, sample_weight: Any = None, *, calibration_params: Any = None
    ) -> Self:
        """Update the metric with new pairs: the metric learned before is the prior of this fit.

        A learned threshold belongs to the prior: b stays close to its old value, not to zero.
        Without an earlier fit this is `fit`. Only metrics with `kernel="linear"` can be updated.
        The parameters are those of `fit`.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(pairs, y, sample_weight, calibration_params=calibration_params)
        check_parameters(self, self._rules)
        return self._fit(pairs, y, sample_weight, calibration_params, self.map_)

    def certify(
        self, pairs: ArrayLike, y: Any = None, sample_weight: Any = None, *, exact: bool = False
    ) -> Certificate:
        """Prove again how good the metric is, from the pairs and the dual of the last fit.

        Return the `Certificate`; raise `CertificateError` if these are other pairs or labels.
        With `exact` it is verified in exact arithmetic, as that of `FrobMetric.certify`.
        """
        check_is_fitted(self)
        learned, labelled = self.map_, self._read(pairs, y, sample_weight, self.n_features_in_)
        known = required(learned.source.points, "digests of points")
        if not np.isin(point_digests(labelled.points), known).all():
            raise CertificateError(
                "the points that the metric says it was learned from are not those of these pairs; "
                "the model was changed, or these are other data"
            )
        recipe, _ = learned.problem
        arrange = _arrangement(recipe, required(learned.threshold, "threshold").prior)
        options = _problem_options(recipe)
        return certify_tuples(learned, labelled, arrange, exact=exact, **options)

    def _fit(
        self,
        pairs: Any,
        y: Any,
        sample_weight: Any,
        calibration_params: Any,
        before: LinearMap | None = None,
    ) -> Self:
        n_features = None if before is None else before.features.number
        labelled = self._read(pairs, y, sample_weight, n_features)
        prior = None if before is None else required(before.threshold, "threshold").learned
        recipe, names = self._recipe(), column_names(self.preprocessor)
        learned, solution = learn_from_tuples(
            recipe,
            self._options(),
            labelled,
            names,
            _arrangement(recipe, prior),
            before,
            **_problem_options(recipe),
        )
        calibration = {"sample_weight": sample_weight} | as_options(calibration_params)
        read = read_tuples(pairs, 2, self.preprocessor)
        distance = learned.pair_distance(read.points, read.index)
        length = YARDSTICK * np.linalg.norm(solution.point.factor()[-1])
        threshold = Threshold(
            best_distance(distance, y, **calibration),
            learned=float(length) if recipe.strategy == "threshold" else None,
            prior=prior,
        )
        points = point_digests(read.points)
        if before is not None and before.source.points is not None:
            points = np.union1d(before.source.points, points)
        source = replace(learned.source, points=np.unique(points))
        warn_if_zero(learned, NO_DIFFERENCE)
        return self._accept(replace(learned, threshold=threshold, source=source))

    def _read(
        self, pairs: Any, y: Any, sample_weight: Any, n_features: int | None = None
    ) -> LabelledTuples:
        """Return checked pairs with their labels."""
        if self.strategy == "triplets" and sample_weight is not None:
            raise ValueError(
                "sample_weight was given with strategy='triplets', which does not use it; use "
                "strategy='threshold', or leave the weights out"
            )
        read = read_tuples(pairs, 2, self.preprocessor, n_features)
        y, weight = check_pair_labels(y, sample_weight, len(read.index))
        return LabelledTuples.of(read, y, weight)


def _problem_options(recipe: Recipe) -> dict[str, Any]:
    return {"named_prior": _yardstick_prior} if recipe.strategy == "threshold" else {}


def _arrangement(recipe: Recipe, prior_threshold: float | None) -> Callable[..., Any]:
    """Return a function (coordinates, labelled) -> (coordinates, rows of the problem).

    Pairs become quadruplets with the yardstick, or are completed to triplets.
    """

    def arrange(coordinates: Coordinates, labelled: LabelledTuples) -> Any:
        index, y, weight = labelled.index, labelled.y, labelled.weight
        if recipe.strategy == "triplets":
            return coordinates, _complete(coordinates.Z, index, y, weight, recipe.n_neighbors)
        yardstick = np.tile(len(coordinates.Z) + np.arange(2), (len(index), 1))
        rows = np.hstack([index, yardstick])  # similar pairs are shorter than the yardstick
        coordinates = coordinates.with_yardstick(YARDSTICK, prior_threshold)
        return coordinates, GivenQuadruplets(near_first(rows, y), weight)

    return arrange


def _complete(Z: Array, index: Index, y: Index, weight: Vector, n_neighbors: int) -> GivenTriplets:
    """Return triplets of the pairs of different points that no other pair contradicts."""
    usable = (index[:, 0] != index[:, 1]) & ~is_contradicted(index, y, weight)
    if not usable.any():
        raise ValueError(
            "no pair is left to complete to triplets: each is of two equal points, or was also "
            "called the other way; use strategy='threshold'"
        )
    triplets = triplets_from_pairs(Z, index[usable], y[usable], n_neighbors=n_neighbors)
    return GivenTriplets(triplets, np.ones(len(triplets)))


def _yardstick_prior(constraints: Constraints, pairs: GivenQuadruplets) -> Symmetric:
    """Return the Euclidean prior, scaled as if the threshold were the best one for it."""
    is_yardstick = np.arange(constraints.shape[1]) == constraints.shape[1] - 1
    euclidean = np.diag(1.0 * ~is_yardstick)
    signed = constraints.forward(euclidean)  # -d^2 of similar pairs, d^2 of others
    is_similar = constraints.forward(np.diag(1.0 * is_yardstick)) > 0
    y = np.where(is_similar, 1, -1)
    best, _ = best_threshold(-np.abs(signed), y, sample_weight=pairs.weight)
    margins = signed - np.where(is_similar, best, -best)
    return euclidean * unit_margin_scale(margins, pairs.share)
