"""LMNN: large margins between the nearest samples of one class and those of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ..checks.arguments import WIDEST_SQUARES
from ..checks.parameters import FLAG, NONE, POSITIVE, SEED, Rule, check_parameters, integer
from ..core.points import Array, Index
from ..core.solution import Certificate
from ..core.warning import warn_user
from ..learning.coordinates import Coordinates, as_components
from ..learning.triplets import TIE
from ..search.exact import NeighborSearch
from ..search.mining import nearest_in_group
from ..solvers.monitor import Reporter
from .large_margin import LargeMargin
from .learner import PREPROCESSOR, LabelLearner, certificate_of
from .margin_solver import MarginSolver
from .samples import LabelledSamples
from .start import INIT_RULE, check_n_components, start_components

#: Share of a start that is the identity, so that no direction is missing in it.
MIXED = 1e-3
#: Bound on the relative rounding error of the objective.
ROUNDING = 1e-12
#: Rule of the weight of a sum, the rest being that of another one.
SHARE = Rule("a number above 0 and below 1", lambda value: POSITIVE.is_met(value) and value < 1)


class LMNN(LabelLearner):
    r"""Large margin nearest neighbours.

    Each sample i is pulled towards its targets j, the `n_neighbors` nearest samples of its class by
    the Euclidean distance, and samples l of other classes are pushed away until they are farther
    than a target by a margin of one:

    .. math:: \min_{M \succeq 0} \quad r \sum_{ij} w_i d^2_{ij}
        + (1 - r) \sum_{ijl} w_i \max(0,\; 1 + d^2_{ij} - d^2_{il}),

    where r is `regularization`, w the weights of the samples and d the distance of M. All samples
    of other classes count, not only some near ones.

    The problem is convex in M. It is solved to a proven gap: `certificate_` has bounds of the
    minimum that are computed from all triplets. With `n_components` below the number of features
    the rank of M is limited; that problem is not convex, the answer depends on `init`, and nothing
    is proven.

    Parameters
    ----------
    init : {"auto", "pca", "lda", "identity", "random"} or array-like, default="auto"
        Map of shape (n_components, n_features) to start from; its scale is chosen by the objective.
        It only matters if the rank is limited. Otherwise "auto" starts at the inverse of the
        scatter of the targets.
    n_neighbors : int, default=3
        Number of targets of each sample; a class with fewer samples is an error. Where a class has
        no more distinct samples than this, a sample is its own target, with a warning.
    min_iter : int, default=50
        Has no effect: the proven gap tells when to end. Kept so that calls of metric-learn work.
    max_iter : int, default=1000
        Largest number of iterations (of L-BFGS).
    learn_rate : float, default=1e-7
        Has no effect: step lengths are found by a line search. Kept so that calls of metric-learn
        work.
    regularization : float, default=0.5
        Weight r of the pull, above 0 and below 1.
    convergence_tol : float, default=0.001
        Relative gap to end at: the objective is then at most this share above the minimum, or at
        most this share of the loss of one triplet, if all can be satisfied at almost no cost. With
        a limited rank, the relative fall of the objective in the last round.
    verbose : bool, default=False
        Print both bounds after each round.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    n_components : int, default=None
        Number of rows of `components_`, and largest rank of M; that of the features if None.
    random_state : int, RandomState or None, default=None
        Seed of init="random".

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L with M = L.T @ L, its rows from long to short.
    certificate_ : Certificate
        Bounds of the minimum; absent with a limited rank. If targets do not differ at all in some
        direction, its scope says which small pull is added there.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    The hinge gets a rounded corner, and L-BFGS minimises over a factor of M, in coordinates in
    which targets scatter equally in all directions. The slopes of the rounded hinge are the dual
    variables of the lower bound; the gap that the corners leave shrinks with the square of their
    width. Only triplets with small margins are held. They are searched again in each round, in
    blocks: memory grows with their number, and not with the square of the number of samples.

    Equal rows of one class are one row with the sum of their weights, so that they are no targets
    of each other.

    References
    ----------
    K. Q. Weinberger, L. K. Saul, "Distance metric learning for large margin nearest neighbor
    classification", Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import LMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = LMNN(n_neighbors=5).fit(X, y)
    >>> metric.certificate_.relative_gap < 1e-3
    True
    """

    _widest = WIDEST_SQUARES
    _rules: ClassVar[dict[str, Rule]] = {
        "init": INIT_RULE,
        "n_neighbors": integer(1),
        "min_iter": integer(0),
        "max_iter": integer(1),
        "learn_rate": POSITIVE,
        "regularization": SHARE,
        "convergence_tol": POSITIVE,
        "verbose": FLAG,
        "n_components": integer(1) | NONE,
        "random_state": SEED | NONE,
    } | PREPROCESSOR

    def __init__(
        self,
        init: Any = "auto",
        n_neighbors: int = 3,
        min_iter: int = 50,
        max_iter: int = 1000,
        learn_rate: float = 1e-7,
        regularization: float = 0.5,
        convergence_tol: float = 0.001,
        verbose: bool = False,
        preprocessor: Any = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.init = init
        self.n_neighbors = n_neighbors
        self.min_iter = min_iter
        self.max_iter = max_iter
        self.learn_rate = learn_rate
        self.regularization = regularization
        self.convergence_tol = convergence_tol
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Class of each sample.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples as anchors i; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, y, sample_weight, min_classes=2)
        n_components = check_n_components(self.n_components, samples.X.shape[1])
        start = start_components(self.init, n_components, samples, self.random_state)
        targets = nearest_targets(samples, self.n_neighbors)
        coordinates = Coordinates.dense(samples.X, rounded=False)
        given = coordinates.Z, samples.y, targets, samples.weight, self.regularization
        problem = LargeMargin.of(*given)
        is_convex = n_components == samples.X.shape[1]
        L = self._start(problem, coordinates, start, is_convex)
        report = Reporter(1, None) if self.verbose else None
        options = self.convergence_tol, self.max_iter, report
        run = MarginSolver(problem, is_convex, *options).solve(L)
        factor = coordinates.to_features(problem.basis @ run.L)
        return self._keep_of(
            samples,
            _ordered_components(factor, n_components),
            certificate=_certificate(problem, run) if is_convex else None,
            n_iter=max(1, run.n_iter),
            is_converged=run.is_converged,
            is_interrupted=run.is_interrupted,
        )

    def _start(
        self, problem: LargeMargin, coordinates: Coordinates, start: Array, is_convex: bool
    ) -> Array:
        """Return a factor of the first M, in the coordinates of the problem."""
        whole = np.eye(problem.Z.shape[1])
        if is_convex and isinstance(self.init, str) and self.init == "auto":
            return whole
        basis = coordinates.basis
        directions = start.T if basis is None else basis.T @ start.T
        L: Any = np.linalg.solve(problem.basis, directions)
        if not is_convex:
            return L
        left, lengths, _ = np.linalg.svd(L, full_matrices=False)
        M = (left * lengths**2) @ left.T
        M += MIXED * max(np.trace(M) / len(M), np.finfo(float).tiny) * whole
        return np.linalg.cholesky(M)


def nearest_targets(samples: LabelledSamples, n_neighbors: int) -> Index:
    """Return the nearest samples of the same class, (n_samples, n_neighbors).

    Where a class has too few distinct samples, the sample itself takes the missing places.
    """
    _check_sizes(samples, n_neighbors)
    X, rows = samples.X, np.arange(len(samples.X))
    tie = TIE * np.sqrt(X.shape[1] * X.var(axis=0).sum())
    found = nearest_in_group(NeighborSearch(X), rows, rows, samples.y, n_neighbors, tie=tie)
    return np.where(found < 0, rows[:, None], found)


def _check_sizes(samples: LabelledSamples, n_neighbors: int) -> None:
    """Raise an error for a class with fewer samples than targets, warn of too few distinct ones."""
    distinct = np.bincount(samples.y)
    sizes = np.maximum(distinct, np.bincount(samples.y, samples.weight))
    smallest = int(sizes.argmin())
    if sizes[smallest] < n_neighbors:
        raise ValueError(
            f"class {samples.classes[smallest]!r} has {sizes[smallest]:g} samples; expected at "
            f"least n_neighbors={n_neighbors}: lower n_neighbors, or leave the class out"
        )
    smallest = int(distinct.argmin())
    if distinct[smallest] <= n_neighbors:
        warn_user(
            f"class {samples.classes[smallest]!r} has {distinct[smallest]} distinct samples, too "
            f"few for n_neighbors={n_neighbors} targets of each; a sample takes the missing places "
            "itself, at distance zero"
        )


def _ordered_components(factor: Array, n_components: int) -> Array:
    """Return rows of decreasing length whose M is factor @ factor.T."""
    left, lengths, _ = np.linalg.svd(factor, full_matrices=False)
    return as_components(left * lengths, n_components)


def _certificate(problem: LargeMargin, run: MarginSolver) -> Certificate:
    certificate = certificate_of(run.primal, run.dual, ROUNDING * run.primal)
    if not problem.is_floored:
        return certificate
    scope = "with a pull of 1e-8 of the largest in directions in which targets do not differ"
    return replace(certificate, scope=scope)
