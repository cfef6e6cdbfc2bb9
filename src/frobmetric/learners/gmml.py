"""Geometric-mean metric learning: GMML from pairs, GMML_Supervised from labels."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular

from ..checks.parameters import NONE, NOT_NEGATIVE, SEED, Rule, integer, number_between
from ..core.points import Array
from .learner import PREPROCESSOR
from .pairs import DrawnPairLearner, GivenPairLearner, PairDifferences, PairMethod
from .samples import mean_square
from .start import PRIOR_RULE, prior_matrix, triangular


class _Method(PairMethod):
    """Method that learns a metric from differences of pairs."""

    t: float
    reg: float
    prior: Any
    _rules: ClassVar[dict[str, Rule]] = {
        "t": number_between(0, 1),
        "reg": NOT_NEGATIVE,
        "prior": PRIOR_RULE,
        "random_state": SEED | NONE,
        **PREPROCESSOR,
    }

    def _learn(self, pairs: PairDifferences) -> dict[str, Any]:
        pairs.require_both_kinds()
        S, D = mean_square(*pairs.similar), mean_square(*pairs.dissimilar)
        prior = prior_matrix(self.prior, pairs.points, None, self.random_state, strictly=True)
        inverse = np.linalg.inv(prior)
        S = S + self.reg * np.trace(S) / np.trace(inverse) * (inverse + inverse.T) / 2
        D = D + self.reg * np.trace(D) / np.trace(prior) * prior
        return {"components": _mean_components(S, D, self.t)}


class GMML(_Method, GivenPairLearner):
    """Geometric mean of the inverse scatter of similar pairs and the scatter of dissimilar pairs.

    With the means S and D of v v.T over the differences v of similar and of dissimilar pairs,
    the metric for t = 1/2 is the minimiser of::

        trace(M S) + trace(M^-1 D)

    the only solution of M S M = D. For other t it is the point at t on the geodesic from S^-1 to
    D, S^-1/2 (S^1/2 D S^1/2)^t S^-1/2. Both have a closed form, so there is no certificate: the
    answer is exact up to rounding.

    The prior M0 makes both scatters definite: S + a M0^-1 and D + b M0 take the place of S and D.
    The numbers a and b are such that the parts added have the share `reg` of the traces of S and D.

    Parameters
    ----------
    t : float between 0 and 1, default=0.5
        Place on the geodesic: the smaller, the more the similar pairs count.
    reg : float, default=1e-3
        Weight of the prior, as a share of the traces of S and D.
    prior : {"identity", "covariance", "random"} or array-like of shape (n_features, n_features)
        Metric M0, positive definite, of which only the shape counts; "covariance" is the inverse of
        the covariance of the points, "random" a random matrix. The default is "identity".
    preprocessor : array-like or callable, default=None
        Array whose row numbers pairs may hold, or a function from indices to points.
    random_state : int, RandomState or None, default=None
        Seed of the random prior.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L with M = L.T @ L, upper triangular.
    threshold_ : float
        Distance up to which a pair is predicted to be similar.

    See Also
    --------
    GMML_Supervised : The same from labels.

    References
    ----------
    P. Zadeh, R. Hosseini, S. Sra, "Geometric mean metric learning", ICML 2016.

    Examples
    --------
    >>> from frobmetric.learners import GMML
    >>> pairs = [[[1.2, 7.5], [1.3, 1.5]], [[6.4, 2.6], [6.2, 9.7]],
    ...          [[1.3, 4.5], [3.2, 4.6]], [[6.2, 5.5], [5.4, 5.4]]]
    >>> metric = GMML().fit(pairs, [1, 1, -1, -1])
    >>> metric.predict([[[2, 3], [2.1, 7]], [[2, 3], [4, 3]]])
    array([ 1, -1])
    """

    def __init__(
        self,
        t: float = 0.5,
        reg: float = 1e-3,
        prior: Any = "identity",
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.t, self.reg, self.prior = t, reg, prior
        self.preprocessor, self.random_state = preprocessor, random_state

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


class GMML_Supervised(_Method, DrawnPairLearner):  # noqa: N801
    """`GMML` from labels: pairs of one class are similar, pairs of two classes dissimilar.

    Parameters
    ----------
    t : float between 0 and 1, default=0.5
        Place on the geodesic: the smaller, the more the similar pairs count.
    reg : float, default=1e-3
        Weight of the prior, as a share of the traces of the scatters.
    prior : {"identity", "covariance", "random"} or array-like of shape (n_features, n_features)
        Metric whose shape is the prior, as in `GMML`. The default is "identity".
    n_constraints : int, default=None
        Number of pairs of each kind to draw; 20 * n_classes^2 if None.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of the draw of pairs, and of the random prior.

    Attributes
    ----------
    components_
        As in `GMML`, for the pairs that were drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import GMML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> GMML_Supervised(random_state=0).fit(X, y).transform(X).shape
    (150, 4)
    """

    _rules: ClassVar[dict[str, Rule]] = _Method._rules | {"n_constraints": integer(1) | NONE}
    _min_classes = 2

    def __init__(
        self,
        t: float = 0.5,
        reg: float = 1e-3,
        prior: Any = "identity",
        n_constraints: int | None = None,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.t, self.reg, self.prior, self.n_constraints = t, reg, prior, n_constraints
        self.preprocessor, self.random_state = preprocessor, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw pairs and compute the metric.

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


def _mean_components(S: Array, D: Array, t: float) -> Array:
    """Return the factor L of the point at t on the geodesic from S^-1 to D."""
    try:
        C = np.linalg.cholesky(S)  # S = C C.T, and C.T M C = (C.T D C)^t
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            "similar pairs do not vary in all directions, so that their scatter has no inverse; "
            "set reg to a positive number such as 1e-3, or a larger one"
        ) from None
    with np.errstate(over="ignore", invalid="ignore"):
        product = C.T @ D @ C
    if not np.isfinite(product).all():
        raise ValueError(
            "the scatters of similar and of dissimilar pairs have a product that overflows; "
            "expected smaller numbers; set reg to a smaller number, or scale the samples"
        )
    values, vectors = np.linalg.eigh(product)
    roots = np.maximum(values, 0.0) ** (t / 2)
    return triangular(solve_triangular(C, vectors * roots, lower=True, trans="T").T)
