"""Metric for clustering by similar and dissimilar pairs: MMC, and MMC_Supervised from labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ..checks.parameters import FLAG, NONE, POSITIVE, SEED, Rule, integer
from ..core.points import Array, Vector
from ..core.warning import warn_user
from .learner import PREPROCESSOR, certificate_of
from .pairs import DrawnPairLearner, GivenPairLearner, PairDifferences, PairMethod, ProgressLines
from .spread import DiagonalSpreadProblem, SpreadProblem, solve_spread
from .start import PRIOR_RULE, ZERO, prior_matrix, span_basis

#: The squared distances of similar pairs sum to those under `init`, divided by this number.
SHRINKAGE = 100.0
#: What the certificate of a full matrix is about.
SCOPE = "for minus the sum of distances of dissimilar pairs"


class _Method(PairMethod):
    """Method that learns a metric from differences of pairs."""

    max_iter: int
    tol: float
    init: Any
    diagonal: bool
    diagonal_c: float
    verbose: Any
    _rules: ClassVar[dict[str, Rule]] = {
        "max_iter": integer(1),
        "max_proj": integer(1),
        "tol": POSITIVE,
        "init": PRIOR_RULE,
        "diagonal": FLAG,
        "diagonal_c": POSITIVE,
        "verbose": FLAG | integer(0),
        "random_state": SEED | NONE,
        **PREPROCESSOR,
    }

    def _learn(self, pairs: PairDifferences) -> dict[str, Any]:
        pairs.require_both_kinds()
        (S, weight), (V, w) = pairs.similar, pairs.dissimilar
        init = prior_matrix(self.init, pairs.points, None, self.random_state, name="init")
        if self.diagonal:
            return self._learn_diagonal(np.sqrt(weight @ S**2), V, w)
        return self._learn_full(S * np.sqrt(weight)[:, None], V, w, pairs.points, init)

    def _learn_full(
        self, S: Array, V: Array, w: Vector, points: Array, init: Array
    ) -> dict[str, Any]:
        total = np.sum((S @ init) * S) / SHRINKAGE
        if total <= 0:
            raise ValueError(
                "all similar pairs have the distance zero under init; give another one"
            )
        W = _whitening(S, V, points)
        problem = SpreadProblem(V @ W.T, w)
        x, status = self._solve(problem)
        L = _square(np.sqrt(total) * problem.matrix_factor(x) @ W)
        # from here on from the answer alone
        size = float(np.linalg.norm(S @ L.T))
        distances = np.linalg.norm(V @ L.T, axis=1)
        certificate = certificate_of(-w @ distances, -size * problem.bound(distances / size))
        return {"components": L, "certificate": replace(certificate, scope=SCOPE), **status}

    def _learn_diagonal(self, lengths: Vector, V: Array, w: Vector) -> dict[str, Any]:
        c, used = self.diagonal_c, lengths > 0
        _warn_of_loss(V[:, ~used])
        Z = (V if used.all() else V[:, used]) / lengths[used]
        problem = DiagonalSpreadProblem(np.square(Z, out=Z), w)
        x, status = self._solve(problem)
        root = np.zeros(len(lengths))
        # the best multiple of N has the sum c / 2 of squared distances of similar pairs
        root[used] = np.sqrt(c / 2) * np.diag(problem.matrix_factor(x)) / lengths[used]
        share = (root * lengths)[used] ** 2
        distances, size = np.sqrt(Z @ share), np.sqrt(share.sum())
        bound = np.sqrt(c / 2) * problem.bound(distances / size)
        primal = size**2 - c * np.log(w @ distances)
        certificate = certificate_of(primal, c / 2 - c * np.log(bound))
        return {"components": np.diag(root), "certificate": certificate, **status}

    def _solve(self, problem: SpreadProblem) -> tuple[Vector, dict[str, Any]]:
        if not problem.Z.any():
            raise ValueError(
                "dissimilar pairs differ only where similar pairs do not vary at all, so every "
                "ratio of their distances is possible; give more similar pairs"
            )
        return solve_spread(problem, self.tol, self.max_iter, ProgressLines(self.verbose))


class MMC(_Method, GivenPairLearner):
    """Metric with large distances of dissimilar pairs for a given size of similar pairs.

    The problem is convex::

        maximise over M   sum of w_r d_r over dissimilar pairs
        subject to        sum of w_r d_r^2 over similar pairs = t,  M positive semidefinite

    with the distances d_r under M, and t a hundredth of that sum under `init`. In coordinates in
    which the similar pairs have the scatter I it is a problem over matrices of trace one, solved by
    L-BFGS in a factor of M; the gradient gives the bound of `certificate_`. Other units of features
    give the same distances, up to t.

    With `diagonal=True` M is diagonal and minimises the sum of w_r d_r^2 over similar pairs minus
    `diagonal_c` times the logarithm of the sum of w_r d_r over dissimilar ones.

    Where dissimilar pairs differ and similar pairs do not vary at all, distances could grow
    without limit; there they are zero, with a warning.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of steps.
    max_proj : int, default=10000
        Not used: no step needs a projection.
    tol : float, default=1e-3
        The fit ends when the sum of distances is proven to be within this share of the largest.
    init : {"identity", "covariance", "random"} or array-like of shape (n_features, n_features)
        Metric that sets t, and so the size of M. The default is "identity".
    diagonal : bool, default=False
        Learn a weight for each feature instead of a matrix.
    diagonal_c : float, default=1.0
        Weight of the dissimilar pairs, with `diagonal=True`: M grows in proportion to it.
    verbose : bool, default=False
        Print a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers pairs may hold, or a function from indices to points.
    random_state : int, RandomState or None, default=None
        Seed of the random `init`.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L with M = L.T @ L; rows of zeros if M has a lower rank.
    certificate_ : Certificate
        Interval that holds the optimum, recomputed from the answer. The objective is minus the sum
        of distances of dissimilar pairs, or the one above with `diagonal=True`.
    n_iter_ : int
        Number of steps.
    threshold_ : float
        Distance up to which a pair is predicted to be similar.

    See Also
    --------
    MMC_Supervised : The same from labels.

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell, "Distance metric learning with application to
    clustering with side-information", NIPS 2002.

    Examples
    --------
    >>> from frobmetric.learners import MMC
    >>> pairs = [[[1.2, 7.5], [1.3, 1.5]], [[6.4, 2.6], [6.2, 9.7]],
    ...          [[1.3, 4.5], [3.2, 4.6]], [[6.2, 5.5], [5.4, 5.4]]]
    >>> metric = MMC().fit(pairs, [1, 1, -1, -1])
    >>> metric.predict([[[2, 3], [2.1, 7]], [[2, 3], [4, 3]]])
    array([ 1, -1])
    """

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10000,
        tol: float = 1e-3,
        init: Any = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_iter, self.max_proj, self.tol, self.init = max_iter, max_proj, tol, init
        self.diagonal, self.diagonal_c = diagonal, diagonal_c
        self.verbose, self.preprocessor, self.random_state = verbose, preprocessor, random_state

    def fit(
        self, pairs: Any, y: Any, sample_weight: Any = None, calibration_params: Any = None
    ) -> Self:
        """Learn the metric, and the threshold on the same pairs.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of points, or of indices of the preprocessor.
        y : array-like of shape (n_pairs,)
            +1 for similar, -1 for dissimilar.
        sample_weight : array-like of shape (n_pairs,), optional
            Weights of the pairs; a weight of 2 is the same as the pair twice.
        calibration_params : dict, optional
            Further arguments of `calibrate_threshold`, which is applied to these pairs.

        Returns
        -------
        self
        """
        return self._fit_pairs(pairs, y, sample_weight, calibration_params)


class MMC_Supervised(_Method, DrawnPairLearner):  # noqa: N801
    """`MMC` from labels: pairs of one class are similar, pairs of two classes dissimilar.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of steps.
    max_proj : int, default=10000
        Not used: no step needs a projection.
    tol : float, default=1e-6
        The fit ends when the sum of distances is proven to be within this share of the largest.
    n_constraints : int, default=None
        Number of pairs of each kind to draw; 20 * n_classes^2 if None.
    init : {"identity", "covariance", "random"} or array-like of shape (n_features, n_features)
        Metric that sets the size of M, as in `MMC`. The default is "identity".
    diagonal : bool, default=False
        Learn a weight for each feature instead of a matrix.
    diagonal_c : float, default=1.0
        Weight of the dissimilar pairs, with `diagonal=True`.
    verbose : bool, default=False
        Print a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of the draw of pairs, and of the random `init`.

    Attributes
    ----------
    components_, certificate_, n_iter_
        As in `MMC`, for the pairs that were drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import MMC_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = MMC_Supervised(random_state=0).fit(X, y)
    >>> metric.certificate_.relative_gap <= 1e-6
    True
    """

    _rules: ClassVar[dict[str, Rule]] = _Method._rules | {"n_constraints": integer(1) | NONE}
    _min_classes = 2

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10000,
        tol: float = 1e-6,
        n_constraints: int | None = None,
        init: Any = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_iter, self.max_proj, self.tol = max_iter, max_proj, tol
        self.n_constraints, self.init = n_constraints, init
        self.diagonal, self.diagonal_c = diagonal, diagonal_c
        self.verbose, self.preprocessor, self.random_state = verbose, preprocessor, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw pairs and learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Classes, at least two.
        sample_weight : array-like of shape (n_samples,), optional
            Weights with which samples are drawn; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        return self._fit_labels(X, y, sample_weight)


def _whitening(S: Array, V: Array, points: Array) -> Array:
    """Return W, (rank, n_features), for which the rows of S @ W.T have the scatter I.

    Features are scaled first, so that what counts as zero does not depend on their units.
    """
    lengths = np.linalg.norm(S, axis=0)
    scale = np.divide(1.0, lengths, where=lengths > 0, out=np.zeros_like(lengths))
    basis = span_basis(points * scale)
    T = (S * scale) @ basis
    values, vectors = np.linalg.eigh(T.T @ T)
    used = values > len(values) * ZERO * values[-1]
    lost = V[:, lengths == 0]
    if not used.all():
        scaled = V * scale
        outside = scaled @ (basis @ vectors[:, ~used])
        is_rounding = np.abs(outside) <= np.sqrt(ZERO) * np.linalg.norm(scaled, axis=1)[:, None]
        lost = np.hstack([lost, np.where(is_rounding, 0.0, outside)])
    _warn_of_loss(lost)
    return (vectors[:, used] / np.sqrt(values[used])).T @ basis.T * scale


def _square(L: Array) -> Array:
    """Return L with rows of zeros below, as many rows as columns."""
    return np.vstack([L, np.zeros((L.shape[1] - len(L), L.shape[1]))])


def _warn_of_loss(outside: Array) -> None:
    """Warn of dissimilar pairs that differ where similar pairs do not vary."""
    n_directions = int(np.count_nonzero(outside.any(axis=0)))
    if n_directions:
        warn_user(
            f"in {n_directions} directions dissimilar pairs differ and similar pairs do not vary; "
            "the metric is zero there, since distances could grow without limit; give more similar "
            "pairs, or reduce the features (sklearn.decomposition.PCA)"
        )
