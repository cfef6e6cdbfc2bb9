"""Learners by soft neighbours, NCA and MLKR: each sample is told from all others by their nearness.

Sample i takes j as its neighbour with probability p_ij, in proportion to w_j exp(-d2(i, j)), and
gets the mean_i of what its neighbours pay, sum_j p_ij t_ij. The objectives are functions of these
means, so both learners have one gradient, computed in blocks of rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.optimize
from sklearn.utils import check_random_state

from .._parameters import FLAG, NONE, NOT_NEGATIVE, SEED, Rule, check_parameters, integer
from ..core.threads import each_block, one_thread
from ._base import PREPROCESSOR, LabelLearner
from .start import INIT_RULE, start_components

#: Probabilities that a block may hold, and rows that it has at least.
BLOCK, FEW_ROWS = 1 << 19, 32


class Payoff(Protocol):
    """What neighbours pay, and the cost of the means of it."""

    def settle(self, rows: slice, p: np.ndarray) -> float:
        """Return the cost of the rows with these probabilities, and overwrite them.

        Entry (i, j) becomes minus the derivative of the cost by the squared distance of i and j.
        """


@dataclass(frozen=True, eq=False)
class SameClass(Payoff):
    """Neighbours of the same class pay one, and the cost is minus the weighted sum of the means.

    Rows are in the order of their classes.
    """

    labels: np.ndarray
    weight: np.ndarray

    def settle(self, rows: slice, p: np.ndarray) -> float:
        labels, cost = self.labels[rows], 0.0
        for label in np.unique(labels):
            own = slice(*np.searchsorted(labels, [label, label + 1]))
            same = slice(*np.searchsorted(self.labels, [label, label + 1]))
            weight, mean = self.weight[rows][own], p[own, same].sum(axis=1)
            cost -= float(weight @ mean)
            p[own, same] *= (weight * (mean - 1))[:, None]
            for others in (slice(0, same.start), slice(same.stop, None)):
                p[own, others] *= (weight * mean)[:, None]
        return cost


@dataclass(frozen=True, eq=False)
class Value(Payoff):
    """Neighbour j pays y_j, and the cost is the weighted sum of (mean_i - y_i)^2."""

    y: np.ndarray
    weight: np.ndarray

    def settle(self, rows: slice, p: np.ndarray) -> float:
        mean = p @ self.y
        error = mean - self.y[rows]
        p *= (2 * self.weight[rows] * error)[:, None]
        p *= self.y - mean[:, None]
        return float(self.weight[rows] @ error**2)


@dataclass(frozen=True, eq=False)
class SoftNeighbors:
    """Cost of a map L of the samples, and its gradient, without an array of all distances."""

    X: np.ndarray
    weight: np.ndarray
    payoff: Payoff

    def evaluate(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the cost and its gradient in L, (n_components, n_features)."""
        Z = self.X @ L.T
        norm2 = np.einsum("ij,ij->i", Z, Z)
        if not np.isfinite(norm2).all():
            raise ValueError(
                f"squared distances of samples up to {np.abs(self.X).max():.3g} overflow; scale "
                "the features first (sklearn.preprocessing.StandardScaler)"
            )
        offset = np.log(self.weight) - norm2

        def measure(rows: slice) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
            p = _probabilities(Z, offset, rows)
            cost = self.payoff.settle(rows, p)
            return cost, p.sum(axis=0), p.T @ Z[rows], p @ Z

        n, flops = len(Z), 6.0 * len(Z) * Z.size
        cost, degree, moved, own = 0.0, np.zeros(n), np.zeros_like(Z), []
        for part, sums, theirs, mine in each_block(measure, n, max(FEW_ROWS, BLOCK // n), flops):
            cost, degree, moved = cost + part, degree + sums, moved + theirs
            own.append(mine)
        # rows of the derivatives sum to zero, so that only the sums of columns are degrees
        moved += np.concatenate(own) - degree[:, None] * Z
        return cost, 2 * moved.T @ self.X


def _probabilities(Z, offset, rows):
    """Return p_ij for the rows i: a sample and its copies are no neighbours of it."""
    logs = (2 * Z[rows]) @ Z.T
    logs += offset
    here = np.arange(rows.start, rows.stop)
    logs[here - rows.start, here] = -np.inf
    largest = logs.max(axis=1, keepdims=True)
    logs -= np.where(np.isfinite(largest), largest, 0.0)
    p = np.exp(logs, out=logs)
    total = p.sum(axis=1, keepdims=True)
    p /= np.where(total > 0, total, 1.0)
    return p


@dataclass
class _Descent:
    """L-BFGS that remembers the best map of all that it tried, also after Ctrl-C."""

    problem: SoftNeighbors
    best: np.ndarray
    on_step: Callable[[int, float], Any] | None = None
    cost: float = np.inf
    n_iter: int = 0
    is_converged: bool = False
    is_interrupted: bool = False

    def run(self, max_iter: int, tol: float | None) -> _Descent:
        """Minimise; the tolerance is that of SciPy's L-BFGS-B."""
        given = {"jac": True, "method": "L-BFGS-B", "tol": tol, "callback": self._count}
        try:
            with one_thread():
                start = self.best.ravel()
                found = scipy.optimize.minimize(
                    self._value, start, options={"maxiter": max_iter}, **given
                )
            self.is_converged = bool(found.success)
        except KeyboardInterrupt:
            self.is_interrupted = True
        return self

    def _value(self, x):
        L = x.reshape(self.best.shape)
        cost, gradient = self.problem.evaluate(L)
        if cost < self.cost:
            self.best, self.cost = L.copy(), cost
        return cost, gradient.ravel()

    def _count(self, _):
        self.n_iter += 1
        if self.on_step:
            self.on_step(self.n_iter, self.cost)


class _SoftNeighborLearner(LabelLearner):
    """Base of NCA and MLKR, which differ in what neighbours pay."""

    init: Any
    n_components: int | None
    max_iter: int
    tol: float | None
    verbose: bool
    random_state: Any
    _rules: ClassVar[dict[str, Rule]] = {
        "init": INIT_RULE,
        "n_components": integer(1) | NONE,
        "max_iter": integer(1),
        "tol": NOT_NEGATIVE | NONE,
        "verbose": FLAG,
        "random_state": SEED | NONE,
    } | PREPROCESSOR

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : array-like of shape (n_samples,)
            Label of each sample: a class for NCA, a number for MLKR.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        start = start_components(self.init, self.n_components, samples, rng)
        order = np.argsort(samples.y, kind="stable")
        weight = samples.weight[order]
        centred = samples.X[order] - np.average(samples.X, axis=0, weights=samples.weight)
        problem = SoftNeighbors(centred, weight, self._payoff(samples.y[order], weight))
        on_step = _print_steps() if self.verbose else None
        run = _Descent(problem, start, on_step).run(self.max_iter, self.tol)
        self._keep(
            run.best.astype(samples.dtype),
            n_iter=max(1, run.n_iter),
            is_converged=run.is_converged or run.is_interrupted,
            **samples.attributes,
        )
        if run.is_interrupted:
            raise KeyboardInterrupt(f"after {run.n_iter} iterations; the best metric is kept")
        return self


class NCA(_SoftNeighborLearner):
    r"""Neighbourhood components analysis.

    Each sample takes another one as its neighbour at random, the nearer the more likely. NCA
    maximises the expected number of samples whose neighbour is of their class,

    .. math:: \max_L \quad \sum_i w_i \sum_{j: y_j = y_i} p_{ij}, \qquad
        p_{ij} = \frac{w_j \exp(-|L x_i - L x_j|^2)}{\sum_{k \ne i} w_k \exp(-|L x_i - L x_k|^2)},

    where w are the weights of the samples. The problem is not convex: the answer depends on `init`,
    and nothing is proven.

    Parameters
    ----------
    init : {"auto", "pca", "lda", "identity", "random"} or array-like, default="auto"
        Map of shape (n_components, n_features) to start from. "auto" is "lda" if there are fewer
        components than classes, else "pca", or "identity" if there are as many as features.
    n_components : int, default=None
        Number of rows of `components_`; that of the features if None.
    max_iter : int, default=100
        Largest number of iterations (of L-BFGS).
    tol : float, default=None
        Tolerance of SciPy's L-BFGS-B for the relative fall of the objective and for the gradient;
        its own ones if None.
    verbose : bool, default=False
        Print the objective after each iteration.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of init="random".

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L, the best map of all iterations.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Probabilities are computed in blocks of rows: time grows with the square of the number of
    samples, and memory does not. Equal rows of one class are one row with the sum of their weights,
    so that they are no neighbours of each other. Ctrl-C keeps the best map so far.

    References
    ----------
    J. Goldberger, S. Roweis, G. Hinton, R. Salakhutdinov, "Neighbourhood components analysis",
    Advances in Neural Information Processing Systems 17, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import NCA
    >>> X, y = load_iris(return_X_y=True)
    >>> NCA(n_components=2, max_iter=300).fit(X, y).transform(X).shape
    (150, 2)
    """

    _payoff = SameClass

    def __init__(
        self,
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state


class MLKR(_SoftNeighborLearner):
    r"""Metric learning for kernel regression.

    The number of each sample is predicted by the mean of all others, weighted by a Gaussian kernel
    of their distance. MLKR minimises the squared errors,

    .. math:: \min_L \quad \sum_i w_i \Bigl(y_i - \sum_{j \ne i} p_{ij} y_j\Bigr)^2, \qquad
        p_{ij} = \frac{w_j \exp(-|L x_i - L x_j|^2)}{\sum_{k \ne i} w_k \exp(-|L x_i - L x_k|^2)},

    where w are the weights of the samples. The problem is not convex: the answer depends on `init`,
    and nothing is proven.

    Parameters
    ----------
    n_components : int, default=None
        Number of rows of `components_`; that of the features if None.
    init : {"auto", "pca", "identity", "random"} or array-like, default="auto"
        Map of shape (n_components, n_features) to start from. "auto" is "pca", or "identity" if
        there are as many components as features.
    tol : float, default=None
        Tolerance of SciPy's L-BFGS-B for the relative fall of the objective and for the gradient;
        its own ones if None.
    max_iter : int, default=1000
        Largest number of iterations (of L-BFGS).
    verbose : bool, default=False
        Print the objective after each iteration.
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.
    random_state : int, RandomState or None, default=None
        Seed of init="random".

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L, the best map of all iterations.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Probabilities are computed in blocks of rows: time grows with the square of the number of
    samples, and memory does not. Equal rows with the same number are one row with the sum of their
    weights, so that they do not predict each other. Ctrl-C keeps the best map so far.

    References
    ----------
    K. Q. Weinberger, G. Tesauro, "Metric learning for kernel regression", International Conference
    on Artificial Intelligence and Statistics, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import MLKR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> metric = MLKR(max_iter=30, tol=1e-3).fit(X, X[:, 0])
    >>> lengths = np.linalg.norm(metric.components_, axis=0)
    >>> bool(lengths[0] > 2 * lengths[1:].max())
    True
    """

    _has_classes = False
    _payoff = Value

    def __init__(
        self,
        n_components: int | None = None,
        init: Any = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state


def _print_steps():
    """Return a function that prints a line for each iteration."""
    begin = time.perf_counter()

    def on_step(number, cost):
        seconds = time.perf_counter() - begin
        sys.stdout.write(f"step {number:4d}  objective {abs(cost):.6g}  {seconds:.1f} s\n")

    return on_step
