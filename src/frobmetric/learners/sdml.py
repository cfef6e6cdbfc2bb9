"""Sparse metric learning: SDML from pairs, SDML_Supervised from labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from ..checks.parameters import FLAG, NONE, NOT_NEGATIVE, SEED, Rule, integer
from ..core.points import Array, Vector
from ..core.solution import Certificate
from ..core.warning import warn_user
from ..model.fitted import Fitted, detail
from .learner import PREPROCESSOR, certificate_of
from .pairs import (
    DrawnPairLearner,
    GivenPairLearner,
    PairDifferences,
    PairMethod,
    ProgressLines,
    logdet_distance,
)
from .sparse_inverse import (
    SparseInverseProblem,
    UnboundedError,
    solve_sparse_inverse,
    symmetric_inverse,
)
from .start import PRIOR_RULE, prior_matrix

#: Largest weight of the pairs that is chosen, and the share of the limit of the problem.
MOST_BALANCE, SHARE = 0.5, 0.5


class _Method(PairMethod):
    """Method that learns a metric from differences of pairs."""

    balance_param: float | None
    sparsity_param: float
    prior: Any
    verbose: Any
    balance_param_ = Fitted[float](detail("balance_param_"))
    _details: ClassVar[dict[str, Any]] = {"balance_param_": float}
    _rules: ClassVar[dict[str, Rule]] = {
        "balance_param": NOT_NEGATIVE | NONE,
        "sparsity_param": NOT_NEGATIVE,
        "prior": PRIOR_RULE,
        "verbose": FLAG | integer(0),
        "random_state": SEED | NONE,
        **PREPROCESSOR,
    }

    def _learn(self, pairs: PairDifferences) -> dict[str, Any]:
        prior = prior_matrix(self.prior, pairs.points, None, self.random_state, strictly=True)
        inverse = symmetric_inverse(prior)
        scatter = (pairs.V * (pairs.y * pairs.weight)[:, None]).T @ pairs.V
        balance = self.balance_param
        if balance is None:
            balance = min(MOST_BALANCE, SHARE * _largest_balance(inverse, scatter))
        P = inverse + balance * scatter
        if (np.diag(P) <= 0).any():
            raise self._unbounded(inverse, scatter)
        scale = np.sqrt(np.diag(P))  # with these units of the features, the diagonal of P is one
        problem = self._problem(P, scale)
        try:
            T, is_solved = solve_sparse_inverse(problem, ProgressLines(self.verbose))
        except UnboundedError:
            raise self._unbounded(inverse, scatter) from None
        if not is_solved:
            _warn_of_gap()
        L = np.linalg.cholesky(T).T / scale
        certificate = self._certify(P, L, scale)
        details = {"balance_param_": float(balance)}
        return {"components": L, "certificate": certificate, "details": details}

    def _problem(self, P: Array, scale: Vector) -> SparseInverseProblem:
        units = np.outer(scale, scale)
        A = self.sparsity_param / units
        np.fill_diagonal(A, 0.0)
        return SparseInverseProblem(P / units, A)

    def _certify(self, P: Array, L: Array, scale: Vector) -> Certificate | None:
        """Return the certificate of the answer, in the units of the features."""
        problem, T = self._problem(P, scale), (L * scale).T @ (L * scale)
        inverse = np.linalg.inv(L * scale)
        W = inverse @ inverse.T
        primal, dual = problem.primal(T), problem.best_dual(W)
        if dual == -np.inf:
            return None
        # Cholesky factors are exact for matrices that differ by rounding
        rounding = len(T) * np.finfo(float).eps * np.linalg.norm(T) * np.linalg.norm(W)
        units = 2 * np.log(scale).sum()  # log det in the units of the features differs by it
        proof = certificate_of(primal + units, dual + units, float(rounding))
        bound = logdet_distance(proof.gap, float(np.linalg.norm(L @ L.T)))
        return replace(proof, distance_bound=bound)

    def _unbounded(self, inverse: Array, scatter: Array) -> RuntimeError:
        """Return the error for a problem without optimum, with a balance_param that has one."""
        limit = _largest_balance(inverse, scatter)
        return UnboundedError(
            f"balance_param={self.balance_param:g} gives dissimilar pairs so much weight that "
            "distances could grow without limit, and there is no optimum; choose a balance_param "
            f"below {limit:.2g}, with which there is one for every sparsity_param, or None, which "
            "takes half of that, or give fewer dissimilar pairs"
        )


class SDML(_Method, GivenPairLearner):
    """Sparse metric close to a prior, with near similar pairs and far dissimilar pairs.

    The problem is convex::

        minimise over M   trace(P M) - log det M + sparsity_param * sum of |M_ij| over i != j
        with              P = M0^-1 + balance_param * sum_r w_r y_r v_r v_r.T

    with the prior M0, and the differences v_r and labels y_r of the pairs. Without pairs and
    penalty M0 is optimal. The optimum is positive definite; it is found by proximal gradient steps
    and Newton steps in the entries that are not zero. If P is not positive definite there may be
    none: an error then says which `balance_param` has one.

    Parameters
    ----------
    balance_param : float or None, default=0.5
        Weight of the pairs against the prior. The sum over pairs grows with their number and with
        the units of the features, so that small values are common. None is half of the largest
        value below which P is positive definite, and at most 0.5.
    sparsity_param : float, default=0.01
        Weight of the entries of M outside of the diagonal.
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
    certificate_ : Certificate
        Interval that holds the optimum, recomputed from the answer; LogDet(M, M*) is at most its
        gap.
    balance_param_ : float
        Weight of the pairs that was used.
    threshold_ : float
        Distance up to which a pair is predicted to be similar.

    See Also
    --------
    SDML_Supervised : The same from labels.

    References
    ----------
    G.-J. Qi, J. Tang, Z.-J. Zha, T.-S. Chua, H.-J. Zhang, "An efficient sparse metric learning in
    high-dimensional space via l1-penalized log-determinant regularization", ICML 2009.

    Examples
    --------
    >>> from frobmetric.learners import SDML
    >>> pairs = [[[1.2, 7.5], [1.3, 1.5]], [[6.4, 2.6], [6.2, 9.7]],
    ...          [[1.3, 4.5], [3.2, 4.6]], [[6.2, 5.5], [5.4, 5.4]]]
    >>> metric = SDML(balance_param=0.1).fit(pairs, [1, 1, -1, -1])
    >>> metric.predict([[[2, 3], [2.1, 7]], [[2, 3], [4, 3]]])
    array([ 1, -1])
    """

    def __init__(
        self,
        balance_param: float | None = 0.5,
        sparsity_param: float = 0.01,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.balance_param, self.sparsity_param = balance_param, sparsity_param
        self.prior, self.verbose = prior, verbose
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

        Raises
        ------
        RuntimeError
            If there is no optimum; the text says which `balance_param` has one.
        """
        return self._fit_pairs(pairs, y, sample_weight, calibration_params)


class SDML_Supervised(_Method, DrawnPairLearner):  # noqa: N801
    """`SDML` from labels: pairs of one class are similar, pairs of two classes dissimilar.

    Parameters
    ----------
    balance_param : float or None, default=None
        Weight of the pairs against the prior. None is half of the largest value below which there
        is an optimum for every `sparsity_param`, and at most 0.5.
    sparsity_param : float, default=0.01
        Weight of the entries of M outside of the diagonal.
    prior : {"identity", "covariance", "random"} or array-like of shape (n_features, n_features)
        Metric M0 to stay close to, as in `SDML`. The default is "identity".
    n_constraints : int, default=None
        Number of pairs of each kind to draw; 20 * n_classes^2 if None.
    verbose : bool, default=False
        Print a line for each step.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of the draw of pairs, and of the random prior.

    Attributes
    ----------
    components_, certificate_, balance_param_
        As in `SDML`, for the pairs that were drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric.learners import SDML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = SDML_Supervised(random_state=0).fit(X, y)
    >>> metric.certificate_.gap <= 1e-6
    True
    """

    _rules: ClassVar[dict[str, Rule]] = _Method._rules | {"n_constraints": integer(1) | NONE}

    def __init__(
        self,
        balance_param: float | None = None,
        sparsity_param: float = 0.01,
        prior: Any = "identity",
        n_constraints: int | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.balance_param, self.sparsity_param = balance_param, sparsity_param
        self.prior, self.n_constraints, self.verbose = prior, n_constraints, verbose
        self.preprocessor, self.random_state = preprocessor, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw pairs and learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights with which samples are drawn; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self

        Raises
        ------
        RuntimeError
            If there is no optimum; the text says which `balance_param` has one.
        """
        return self._fit_labels(X, y, sample_weight)


def _largest_balance(inverse: Array, scatter: Array) -> float:
    """Return the balance below which inverse + balance * scatter is positive definite."""
    largest = eigh(-scatter, inverse, eigvals_only=True)[-1]
    return 1 / largest if largest > 0 else np.inf


def _warn_of_gap() -> None:
    warn_user(
        "the solver of SDML made no more progress before its gap was small, which is in "
        "certificate_; scale the features (sklearn.preprocessing.StandardScaler), or change "
        "sparsity_param",
        ConvergenceWarning,
    )
