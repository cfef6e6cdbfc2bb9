"""Information-theoretic metric learning: ITML from pairs, ITML_Supervised from labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.metrics import pairwise_distances

from ..checks.parameters import FLAG, NONE, POSITIVE, SEED, Rule, integer
from ..checks.samples import check_array
from ..core.points import Array, Vector
from ..model.fitted import Fitted, detail
from .learner import PREPROCESSOR
from .logdet import LogDetProblem, solve_logdet
from .pairs import DrawnPairLearner, GivenPairLearner, PairDifferences, PairMethod, ProgressLines
from .start import PRIOR_RULE, components_of, prior_matrix, span_basis, triangular

#: Largest number of points of which all distances are computed for the bounds.
MOST_POINTS = 2000
#: Bound that stands for a bound of zero.
SMALLEST_BOUND = 1e-9


class _Method(PairMethod):
    """Method that learns a metric from differences of pairs."""

    gamma: float
    max_iter: int
    tol: float
    prior: Any
    verbose: Any
    bounds_ = Fitted[Vector](detail("bounds_"))
    _details: ClassVar[dict[str, Any]] = {"bounds_": Vector}
    _rules: ClassVar[dict[str, Rule]] = {
        "gamma": POSITIVE,
        "max_iter": integer(1),
        "tol": POSITIVE,
        "prior": PRIOR_RULE,
        "verbose": FLAG | integer(0),
        "random_state": SEED | NONE,
        **PREPROCESSOR,
    }

    def _learn(self, pairs: PairDifferences, bounds: Any) -> dict[str, Any]:
        bounds = _percentiles(pairs.points) if bounds is None else _check_bounds(bounds)
        bounds[bounds == 0] = SMALLEST_BOUND
        prior = prior_matrix(self.prior, pairs.points, None, self.random_state, strictly=True)
        L0 = components_of(prior)
        # in these coordinates the prior is the identity, and every bound is one
        Z = pairs.V @ L0.T / np.sqrt(np.where(pairs.y > 0, *bounds))[:, None]
        problem = LogDetProblem(Z, pairs.y, self.gamma * pairs.weight)
        R, status = self._solve(problem, span_basis(pairs.points @ L0.T))
        L = triangular(R.T @ L0)
        R = solve_triangular(L0, L.T, trans="T")  # the answer itself: L.T L = L0.T R R.T L0
        certificate = problem.certify(R, size=float(np.linalg.norm(L @ L.T)))
        return {
            "components": L,
            "certificate": certificate,
            **status,
            "details": {"bounds_": bounds},
        }

    def _solve(self, problem: LogDetProblem, basis: Array) -> tuple[Array, dict[str, Any]]:
        """Return a factor of the optimal M, which is the identity outside of the span of Z."""
        report = ProgressLines(self.verbose)
        inner = replace(problem, Z=problem.Z @ basis)
        R, status = solve_logdet(inner, self.gamma, self.tol, self.max_iter, report)
        outside = np.eye(len(basis)) - basis @ basis.T
        return basis @ R @ basis.T + outside, status


class ITML(_Method, GivenPairLearner):
    """Metric close to a prior in which similar pairs are near and dissimilar pairs are far.

    The problem is convex::

        minimise over M and xi   LogDet(M, M0) + gamma * sum_r w_r LogDet(xi_r, xi0_r)
        subject to               d_r^2 <= xi_r for similar, d_r^2 >= xi_r for dissimilar pairs

    with LogDet(A, B) = trace(A B^-1) - log det(A B^-1) - n, the squared distance d_r^2 = v.T M v of
    pair r, the prior M0, and the bounds xi0: `bounds_[0]` for similar and `bounds_[1]` for
    dissimilar pairs. The best xi for a given M is known, so Newton's method minimises over M
    alone. LogDet(M, M*) is at most the gap of `certificate_`; M* is the only optimum.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the pairs against the prior.
    max_iter : int, default=1000
        Largest number of Newton steps.
    tol : float, default=1e-3
        The fit ends when the duality gap is at most `tol` times the objective, and at most `tol`.
    prior : {"identity", "covariance", "random"} or array-like of shape (n_features, n_features)
        Metric M0 to stay close to, positive definite; "covariance" is the inverse of the
        covariance of the points, "random" a random matrix. The default is "identity".
    verbose : bool, default=False
        Print a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers pairs may hold, or a function from indices to points.
    random_state : int, RandomState or None, default=None
        Seed of the random prior.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L with M = L.T @ L, upper triangular.
    bounds_ : ndarray of shape (2,)
        Bounds xi0 on the squared distances of similar and dissimilar pairs, before slack.
    certificate_ : Certificate
        Interval that holds the optimum, recomputed from the answer.
    n_iter_ : int
        Number of steps.
    threshold_ : float
        Distance up to which a pair is predicted to be similar.

    See Also
    --------
    ITML_Supervised : The same from labels.
    PairFrobMetric : Large-margin learning from pairs.

    References
    ----------
    J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric learning",
    ICML 2007.

    Examples
    --------
    >>> from frobmetric import ITML
    >>> pairs = [[[1.2, 7.5], [1.3, 1.5]], [[6.4, 2.6], [6.2, 9.7]],
    ...          [[1.3, 4.5], [3.2, 4.6]], [[6.2, 5.5], [5.4, 5.4]]]
    >>> metric = ITML().fit(pairs, [1, 1, -1, -1])
    >>> metric.predict([[[2, 3], [2.1, 7]], [[2, 3], [4, 3]]])
    array([ 1, -1])
    """

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.gamma, self.max_iter, self.tol, self.prior = gamma, max_iter, tol, prior
        self.verbose, self.preprocessor, self.random_state = verbose, preprocessor, random_state

    def fit(
        self,
        pairs: Any,
        y: Any,
        bounds: Any = None,
        sample_weight: Any = None,
        calibration_params: Any = None,
    ) -> Self:
        """Learn the metric, and the threshold on the same pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of points, or of indices of the preprocessor.
        y : array-like of shape (n_pairs,)
            +1 for similar, -1 for dissimilar.
        bounds : array-like of two numbers, optional
            Bounds on the squared distances of similar and of dissimilar pairs; zero stands for
            1e-9. If None, the 5th and the 95th percentile of the distances (not squared) of all
            points of the pairs, of a random 2000 of them if there are more.
        sample_weight : array-like of shape (n_pairs,), optional
            Weights of the pairs; a weight of 2 is the same as the pair twice.
        calibration_params : dict, optional
            Further arguments of `calibrate_threshold`, which is applied to these pairs.

        Returns
        -------
        self
        """
        return self._fit_pairs(pairs, y, sample_weight, calibration_params, bounds=bounds)


class ITML_Supervised(_Method, DrawnPairLearner):  # noqa: N801
    """`ITML` from labels: pairs of one class are similar, pairs of two classes dissimilar.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the pairs against the prior.
    max_iter : int, default=1000
        Largest number of Newton steps.
    tol : float, default=1e-3
        The fit ends when the duality gap is at most `tol` times the objective, and at most `tol`.
    n_constraints : int, default=None
        Number of pairs of each kind to draw; 20 * n_classes^2 if None.
    prior : {"identity", "covariance", "random"} or array-like of shape (n_features, n_features)
        Metric M0 to stay close to, as in `ITML`. The default is "identity".
    verbose : bool, default=False
        Print a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of the draw of pairs, and of the random prior.

    Attributes
    ----------
    components_, bounds_, certificate_, n_iter_
        As in `ITML`, for the pairs that were drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import ITML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = ITML_Supervised(n_constraints=200, random_state=0).fit(X, y)
    >>> metric.certificate_.relative_gap <= 1e-3
    True
    """

    _rules: ClassVar[dict[str, Rule]] = _Method._rules | {"n_constraints": integer(1) | NONE}

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_constraints: int | None = None,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.gamma, self.max_iter, self.tol = gamma, max_iter, tol
        self.n_constraints, self.prior = n_constraints, prior
        self.verbose, self.preprocessor, self.random_state = verbose, preprocessor, random_state

    def fit(self, X: Any, y: Any, bounds: Any = None, sample_weight: Any = None) -> Self:
        """Draw pairs and learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Classes.
        bounds : array-like of two numbers, optional
            As in `ITML.fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights with which samples are drawn; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        return self._fit_labels(X, y, sample_weight, bounds=bounds)


def _percentiles(points: Array) -> Vector:
    """Return the 5th and the 95th percentile of the distances, those to themselves included."""
    if len(points) > MOST_POINTS:
        rows = np.random.default_rng(0).choice(len(points), MOST_POINTS, replace=False)
        points = points[rows]
    return np.percentile(pairwise_distances(points - points.mean(axis=0)), (5, 95))


def _check_bounds(bounds: Any) -> Vector:
    bounds = check_array(
        bounds, dtype=np.float64, ensure_2d=False, ensure_min_samples=0, input_name="bounds"
    )
    if bounds.size != 2 or (bounds < 0).any():
        raise ValueError(
            f"bounds is {bounds.tolist()}; expected two numbers that are not negative, the bounds "
            "for similar and for dissimilar pairs"
        )
    return bounds.ravel().copy()
