"""SCML and SCML_Supervised: a metric that is a sparse combination of given directions."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from ..checks.arguments import in_precision
from ..checks.parameters import (
    FLAG,
    MATRIX,
    NONE,
    POSITIVE,
    SEED,
    InvalidParameterError,
    Rule,
    check_parameters,
    choice,
    integer,
)
from ..checks.samples import check_random_state
from ..comparisons.merging import near_first
from ..core.points import Array, Index, Vector
from ..core.threads import one_thread
from ..core.warning import warn_user
from ..learning.triplets import mine_triplets
from ..model.linear_map import NO_SOURCE, Source
from ..model.sets import GivenTriplets, MinedTriplets
from ..solvers.monitor import Reporter
from .bases import given_basis, local_discriminants, triplet_directions
from .combination import SparseCombination
from .learner import (
    PREPROCESSOR,
    LabelLearner,
    Learner,
    TripletLearner,
    dense_points,
    features_of,
    read_comparisons,
)
from .start import components_of

RULES: dict[str, Rule] = {
    "beta": POSITIVE,
    "n_basis": integer(1) | NONE,
    "gamma": POSITIVE,
    "max_iter": integer(1),
    "output_iter": integer(1),
    "batch_size": integer(1),
    "verbose": FLAG | integer(0),
    "random_state": SEED | NONE,
    "tol": POSITIVE,
    **PREPROCESSOR,
}


class _SparseLearner(Learner):
    """Learner of the best combination of directions, from triplets or from labels."""

    beta: float
    basis: Any
    n_basis: int | None
    max_iter: int
    output_iter: int
    verbose: Any
    tol: float

    def _check(self) -> None:
        check_parameters(self, self._rules)
        if self.output_iter > self.max_iter:
            raise InvalidParameterError(
                f"output_iter is {self.output_iter}; expected at most max_iter={self.max_iter}: "
                "lower output_iter, which has no effect here, or raise max_iter"
            )

    def _learn(
        self,
        X: Array,
        triplets: GivenTriplets | MinedTriplets,
        weight: Vector,
        basis: Array,
        dtype: np.dtype[Any],
        features: tuple[int, Any],
        source: Source = NO_SOURCE,
    ) -> Self:
        """Store the best metric of these directions; `triplets` is a set of them."""
        report = Reporter(int(self.verbose), None) if self.verbose else None
        X, index = X - X.mean(axis=0), triplets.to_array()
        rows, share = triplets.constraints(X), weight / weight.sum()
        problem = SparseCombination(X, index, rows, share, basis, float(self.beta))
        answer = problem.minimise(self.tol, self.max_iter, report)
        return self._keep(
            in_precision(_components(answer.weight, basis), dtype),
            features,
            certificate=problem.certify(answer.weight, answer.u),
            n_iter=answer.n_iter,
            is_converged=answer.is_converged,
            source=source,
        )


class SCML(_SparseLearner, TripletLearner):
    """Sparse compositional metric learning from triplets: the anchor is closer to near than to far.

    The metric is a combination M = sum_b w_b b b.T of given directions b with weights w >= 0 that
    minimise ::

        beta sum_b w_b + mean over triplets of max(0, 1 + d_M^2(anchor, near) - d_M^2(anchor, far))

    This is a linear program in the weights. Newton's method on rounded hinges finds its solution,
    and its dual proves a bound. Few weights are positive.

    Parameters
    ----------
    beta : float, default=1e-5
        Weight of the sum of the weights; the larger, the fewer of them are positive.
    basis : "triplet_diffs" or array-like of shape (n_basis, n_features), default="triplet_diffs"
        Directions. "triplet_diffs" are directions in which far points differ more than near ones,
        over random triplets.
    n_basis : int, default=None
        Number of directions of "triplet_diffs"; 80 n_features if None.
    gamma : float, default=5e-3
        Step size of a stochastic method; it has no effect here.
    max_iter : int, default=10000
        Largest number of iterates of Newton's method.
    output_iter : int, default=500
        Steps of a stochastic method between two lines; it has no effect here. At most `max_iter`.
    batch_size : int, default=10
        Triplets in a step of a stochastic method; it has no effect here.
    verbose : bool, default=False
        Write a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers triplets may hold, or a function from indices to points.
    random_state : int, RandomState or None, default=None
        Seed of the directions.
    tol : float, default=1e-3
        Relative duality gap at which the fit ends.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features) or (n_positive, n_features)
        L with M = L.T @ L. If fewer weights are positive than there are features, their directions
        times the roots of the weights are the rows; one row of zeros if none is positive.
    certificate_ : Certificate
        Proof that the minimum lies between its `dual` and its `primal`, for these directions.
    n_iter_ : int
        Number of iterates of Newton's method.

    References
    ----------
    Y. Shi, A. Bellet and F. Sha, "Sparse compositional metric learning", AAAI 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import SCML
    >>> X, _ = load_iris(return_X_y=True)
    >>> triplets = [[0, 2, 60], [60, 61, 110], [110, 111, 60], [0, 3, 110], [1, 3, 70]]
    >>> metric = SCML(preprocessor=X[:, 2:3], random_state=0).fit(triplets)
    >>> metric.predict([[3, 4, 70], [3, 70, 4]])
    array([ 1, -1])
    """

    _rules: ClassVar[dict[str, Rule]] = RULES | {"basis": choice(["triplet_diffs"]) | MATRIX}

    def __init__(
        self,
        beta: float = 1e-5,
        basis: Any = "triplet_diffs",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        *,
        tol: float = 1e-3,
    ) -> None:
        self.beta, self.basis, self.n_basis, self.gamma = beta, basis, n_basis, gamma
        self.max_iter, self.output_iter, self.batch_size = max_iter, output_iter, batch_size
        self.verbose, self.preprocessor, self.random_state = verbose, preprocessor, random_state
        self.tol = tol

    def fit(self, triplets: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features) or (n_triplets, 3)
            Triplets (anchor, near, far) of points, or of indices of the preprocessor.
        y : array-like of shape (n_triplets,), optional
            -1 where it is the other way round, +1 otherwise.
        sample_weight : array-like of shape (n_triplets,), optional
            Weights of the triplets; a weight of 2 is the same as the triplet twice.

        Returns
        -------
        self
        """
        self._check()
        labelled = read_comparisons(self, triplets, 3, y, sample_weight, of="triplets")
        X, dtype = dense_points(labelled), labelled.points.dtype
        given = GivenTriplets(near_first(labelled.index, labelled.y), labelled.weight)
        with one_thread():
            basis = _directions(self, X, given.index, check_random_state(self.random_state))
            features = features_of(self, labelled)
            return self._learn(X, given, given.weight, basis, dtype, features)


class SCML_Supervised(_SparseLearner, LabelLearner):  # noqa: N801
    """Sparse compositional metric learning from labels.

    Each sample is the anchor of triplets with its nearest samples of the same class and of other
    classes. The problem, its solver and its certificate are those of `SCML`.

    Parameters
    ----------
    k_genuine : int, default=3
        Number of neighbours of the same class.
    k_impostor : int, default=10
        Number of neighbours of other classes.
    beta : float, default=1e-5
        Weight of the sum of the weights; the larger, the fewer of them are positive.
    basis : {"lda", "triplet_diffs"} or array-like of shape (n_basis, n_features), default="lda"
        Directions. "lda" are discriminant directions of regions around cluster centres, with the
        nearest samples of each class in two numbers; "triplet_diffs" is explained in `SCML`.
    n_basis : int, default=None
        Number of directions, 20 n_features of "lda" or 80 n_features of "triplet_diffs" if None;
        fewer if there are not so many.
    gamma : float, default=5e-3
        Step size of a stochastic method; it has no effect here.
    max_iter : int, default=10000
        Largest number of iterates of Newton's method.
    output_iter : int, default=500
        Steps of a stochastic method between two lines; it has no effect here. At most `max_iter`.
    batch_size : int, default=10
        Triplets in a step of a stochastic method; it has no effect here.
    verbose : bool, default=False
        Write a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of the directions.
    tol : float, default=1e-3
        Relative duality gap at which the fit ends.

    Attributes
    ----------
    components_, certificate_, n_iter_
        As in `SCML`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import SCML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = SCML_Supervised(random_state=0).fit(X, y)
    >>> metric.components_.shape
    (4, 4)
    >>> metric.certificate_.relative_gap < 1e-3
    True
    """

    _rules: ClassVar[dict[str, Rule]] = RULES | {
        "k_genuine": integer(1),
        "k_impostor": integer(1),
        "basis": choice(["lda", "triplet_diffs"]) | MATRIX,
    }

    def __init__(
        self,
        k_genuine: int = 3,
        k_impostor: int = 10,
        beta: float = 1e-5,
        basis: Any = "lda",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        *,
        tol: float = 1e-3,
    ) -> None:
        self.k_genuine, self.k_impostor = k_genuine, k_impostor
        self.beta, self.basis, self.n_basis, self.gamma = beta, basis, n_basis, gamma
        self.max_iter, self.output_iter, self.batch_size = max_iter, output_iter, batch_size
        self.verbose, self.preprocessor, self.random_state = verbose, preprocessor, random_state
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Form triplets and learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Classes; -1 where the class is not known.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, as anchors; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        self._check()
        samples = self._read(X, y, sample_weight, min_classes=2)
        rng = check_random_state(self.random_state)
        with one_thread():
            neighbors: Any = {"n_neighbors": self.k_genuine, "n_impostors": self.k_impostor}
            mined = mine_triplets(samples.X, samples.y, **neighbors)
            if isinstance(self.basis, str) and self.basis == "lda":
                basis = local_discriminants(samples, self.n_basis, rng)
            else:
                basis = _directions(self, samples.X, mined.to_array(), rng)
            weight = samples.weight[mined.to_array()[:, 0]]
            source, features = Source(n_unlabeled=samples.n_unlabeled), samples.features
            return self._learn(samples.X, mined, weight, basis, samples.dtype, features, source)


def _directions(
    metric: _SparseLearner, X: Array, index: Index, rng: np.random.RandomState
) -> Array:
    """Return the directions that the parameter `basis` asks for, from triplets or given."""
    if isinstance(metric.basis, str):
        return triplet_directions(X, index, metric.n_basis, rng)
    return given_basis(metric.basis, X.shape[1])


def _components(weight: Vector, basis: Array) -> Array:
    """Return L with L.T @ L = sum_b w_b b b.T: square, or a row for each positive weight."""
    n_features, is_positive = basis.shape[1], weight > 0
    rows = np.sqrt(weight[is_positive])[:, None] * basis[is_positive]
    if len(rows) >= n_features:
        return components_of(rows.T @ rows)
    if not len(rows):
        warn_user(
            "the learned metric is zero: no direction separates far points from near ones by as "
            "much as beta costs; lower beta, or give other directions"
        )
        return np.zeros((1, n_features))
    warn_user(
        f"{len(rows)} directions have a positive weight, fewer than the {n_features} features; the "
        f"metric maps to {len(rows)} dimensions"
    )
    return rows
