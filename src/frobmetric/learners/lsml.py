"""LSML and LSML_Supervised: a metric from comparisons of two distances, by squared residuals."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from ..checks.arguments import as_weights
from ..checks.parameters import FLAG, NONE, NUMBERS, POSITIVE, SEED, Rule, check_parameters, integer
from ..checks.samples import check_random_state
from ..comparisons.merging import near_first
from ..core.points import Array, Index, Vector
from ..core.threads import one_thread
from ..model.linear_map import NO_SOURCE, Source
from ..solvers.monitor import Reporter
from .learner import (
    PREPROCESSOR,
    LabelLearner,
    Learner,
    QuadrupletLearner,
    dense_points,
    features_of,
    pairs_of_labels,
    read_comparisons,
)
from .residuals import SquaredResiduals
from .samples import LabelledSamples
from .start import PRIOR_RULE, components_of, prior_matrix

RULES: dict[str, Rule] = {
    "tol": POSITIVE,
    "max_iter": integer(1),
    "prior": PRIOR_RULE,
    "verbose": FLAG | integer(0),
    "random_state": SEED | NONE,
    **PREPROCESSOR,
}


class _SquaredResidualLearner(Learner):
    """Learner of the metric of quadruplets of points, given or drawn."""

    tol: float
    max_iter: int
    prior: Any
    verbose: Any

    def _learn(
        self,
        points: Array,
        index: Index,
        weight: Vector,
        prior: Array,
        dtype: np.dtype[Any],
        features: tuple[int, Any],
        source: Source = NO_SOURCE,
    ) -> Self:
        """Store the metric of quadruplets, rows of `index`; `prior` is a matrix."""
        report = Reporter(int(self.verbose), None) if self.verbose else None
        with one_thread():
            # in coordinates in which the prior is the identity, and only where the points differ
            root = np.linalg.cholesky(prior)
            Z, basis = _in_span((points - points.mean(axis=0)) @ root)
            problem = SquaredResiduals(Z, index, weight / weight.sum())
            answer = problem.minimise(self.tol, self.max_iter, report)
            certificate = problem.certify(answer.N)
            change = basis @ (answer.N - np.eye(len(answer.N))) @ basis.T
            M = prior + root @ change @ root.T
            components = components_of((M + M.T) / 2).astype(dtype)
        return self._keep(
            components,
            features,
            certificate=certificate,
            n_iter=answer.n_iter,
            is_converged=answer.is_converged,
            source=source,
        )


class LSML(_SquaredResidualLearner, QuadrupletLearner):
    """Least squared-residual metric learning: a and b are closer than c and d.

    The metric M > 0 minimises the convex function ::

        sum_r w_r max(0, d_M(a_r, b_r) - d_M(c_r, d_r))^2 + trace(M M0^-1) - logdet(M M0^-1) - D

    of distances d_M, with weights w that sum up to one and D features. The terms with the prior M0
    are the LogDet divergence of M from it. Newton's method finds the minimum, and tangents of the
    residuals prove a lower bound of it.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which the fit ends.
    max_iter : int, default=1000
        Largest number of iterates of Newton's method.
    prior : {"identity", "covariance", "random"} or ndarray of shape (n_features, n_features), \
default="identity"
        M0, which has to be positive definite. "covariance" is the inverse covariance of the points.
    verbose : bool, default=False
        Write a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers quadruplets may hold, or a function from indices to points.
    random_state : int, RandomState or None, default=None
        Seed of the prior "random".

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L with M = L.T @ L.
    certificate_ : Certificate
        Proof that the minimum lies between its `dual` and its `primal`, the objective at M.
    n_iter_ : int
        Number of iterates of Newton's method.

    References
    ----------
    E. Y. Liu, Z. Guo, X. Zhang, V. Jojic and W. Wang, "Metric learning from relative comparisons
    by minimizing squared residual", ICDM 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import LSML
    >>> X, _ = load_iris(return_X_y=True)
    >>> metric = LSML(preprocessor=X).fit([[0, 1, 2, 60], [50, 51, 60, 110], [100, 105, 50, 109]])
    >>> metric.predict([[3, 4, 5, 70]])
    array([1])
    >>> metric.certificate_.relative_gap < 1e-3
    True
    """

    _rules: ClassVar[dict[str, Rule]] = RULES

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.tol, self.max_iter, self.prior, self.verbose = tol, max_iter, prior, verbose
        self.preprocessor, self.random_state = preprocessor, random_state

    def fit(
        self, quadruplets: Any, y: Any = None, weights: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the metric.

        Parameters
        ----------
        quadruplets : array-like of shape (n_quadruplets, 4, n_features) or (n_quadruplets, 4)
            Quadruplets (a, b, c, d) of points, or of indices of the preprocessor: a and b are
            closer than c and d.
        y : array-like of shape (n_quadruplets,), optional
            -1 where it is the other way round, +1 otherwise.
        weights, sample_weight : array-like of shape (n_quadruplets,), optional
            Weights of the quadruplets, under either name.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        weight = _one_of(weights, sample_weight)
        labelled = read_comparisons(self, quadruplets, 4, y, weight, of="quadruplets")
        index, known = near_first(labelled.index, labelled.y), dense_points(labelled)
        prior = prior_matrix(self.prior, known, None, self.random_state, strictly=True)
        dtype, features = labelled.points.dtype, features_of(self, labelled)
        return self._learn(known, index, labelled.weight, prior, dtype, features)


class LSML_Supervised(_SquaredResidualLearner, LabelLearner):  # noqa: N801
    """Least squared-residual metric learning from labels.

    Each quadruplet joins two samples of one class, which are to be closer, and two samples of
    different classes, all drawn at random. The problem, its solver and its certificate are those of
    `LSML`.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which the fit ends.
    max_iter : int, default=1000
        Largest number of iterates of Newton's method.
    prior : {"identity", "covariance", "random"} or ndarray of shape (n_features, n_features), \
default="identity"
        Metric to stay close to, which has to be positive definite. "covariance" is the inverse
        covariance of all samples.
    n_constraints : int, default=None
        Number of quadruplets; 20 n_classes^2 if None. There are fewer, with a warning, if there
        are not so many pairs of either kind.
    weights : array-like of shape (n_constraints,), default=None
        Weights of the quadruplets.
    verbose : bool, default=False
        Write a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of the quadruplets, and of the prior "random".

    Attributes
    ----------
    components_, certificate_, n_iter_
        As in `LSML`; the certificate holds for the quadruplets that were drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import LSML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = LSML_Supervised(n_constraints=200, random_state=0).fit(X, y)
    >>> metric.transform(X).shape
    (150, 4)
    """

    _rules: ClassVar[dict[str, Rule]] = RULES | {
        "n_constraints": integer(1) | NONE,
        "weights": NUMBERS | NONE,
    }

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: Any = "identity",
        n_constraints: int | None = None,
        weights: Any = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.tol, self.max_iter, self.prior = tol, max_iter, prior
        self.n_constraints, self.weights, self.verbose = n_constraints, weights, verbose
        self.preprocessor, self.random_state = preprocessor, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw quadruplets and learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Classes; -1 where the class is not known.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: those of large weight are in more quadruplets.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, y, sample_weight, min_classes=2)
        rng = check_random_state(self.random_state)
        index = _quadruplets(samples, self.n_constraints, rng)
        weight = as_weights(self.weights, len(index), name="weights", of="quadruplets")
        index, weight = _informative(samples.X, index, weight)
        known = samples.everything, samples.every_weight
        prior = prior_matrix(self.prior, *known, rng, strictly=True)
        source = Source(n_unlabeled=samples.n_unlabeled)
        dtype, features = samples.dtype, samples.features
        return self._learn(samples.X, index, weight, prior, dtype, features, source)


def _quadruplets(
    samples: LabelledSamples, n_constraints: int | None, rng: np.random.RandomState
) -> Index:
    """Return quadruplets of a similar and a dissimilar pair of samples, as row numbers."""
    drawn = pairs_of_labels(samples, n_constraints, rng)
    similar, dissimilar = (drawn.index[drawn.y == sign] for sign in (1, -1))
    n_quadruplets = min(len(similar), len(dissimilar))
    if not n_quadruplets:
        raise ValueError(
            f"{len(similar)} similar and {len(dissimilar)} dissimilar pairs were drawn, which make "
            "no quadruplet; expected a class with two different samples, and a second class"
        )
    return np.hstack([similar[:n_quadruplets], dissimilar[:n_quadruplets]])


def _informative(X: Array, index: Index, weight: Vector) -> tuple[Index, Vector]:
    """Return the quadruplets of positive weight whose dissimilar points differ."""
    says_something = (weight > 0) & (X[index[:, 2]] != X[index[:, 3]]).any(axis=1)
    if not says_something.any():
        raise ValueError(
            f"in none of the {len(index)} quadruplets that were drawn do samples of different "
            "classes differ; expected samples that do, or a larger n_constraints"
        )
    return index[says_something], weight[says_something]


def _in_span(Z: Array) -> tuple[Array, Array]:
    """Return centred points in an orthonormal basis of their span if they are few, and the basis.

    Outside of the span the best matrix is the identity.
    """
    n_points, n_features = Z.shape
    if n_points > n_features:
        return Z, np.eye(n_features)
    basis, _ = np.linalg.qr(Z.T)
    return Z @ basis, basis


def _one_of(weights: Any, sample_weight: Any) -> Any:
    """Return the weights, which have two names."""
    if weights is not None and sample_weight is not None:
        raise TypeError(
            "weights and sample_weight were given, which are two names of one argument; give one"
        )
    return sample_weight if weights is None else weights
