"""Metric learning for kernel regression."""

from __future__ import annotations

from typing import Any, ClassVar

from ..checks.parameters import FLAG, Rule
from ..core.points import Array, Vector
from ..model.fitted import Fitted, detail
from .early_stopping import FEWEST, choose_steps, descend_in_stages
from .softmax_neighbors import Descent, OnStep, SoftNeighborLearner, SoftNeighbors, Value


class MLKR(SoftNeighborLearner):
    r"""Metric learning for kernel regression.

    The number of each sample is predicted by the mean of all others, weighted by a Gaussian kernel
    of their distance. MLKR minimises the squared errors,

    .. math:: \min_L \quad \sum_i w_i \Bigl(y_i - \sum_{j \ne i} p_{ij} y_j\Bigr)^2, \qquad
        p_{ij} = \frac{w_j \exp(-|L x_i - L x_j|^2)}{\sum_{k \ne i} w_k \exp(-|L x_i - L x_k|^2)},

    where w are the weights of the samples. The problem is not convex: the answer depends on `init`,
    and nothing is proven. A map has as many numbers as the square of the features, and of some
    hundred samples the minimum fits the noise: see `early_stopping`.

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
    early_stopping : bool, default=True
        Descend in two stages, first in weights of the features and then in the whole map, and only
        as many steps as help to predict samples that were held out. The start is the best multiple
        of `init`. False minimises the objective, which is what metric-learn does; so do fits of
        fewer than 20 samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L, the best map of all iterations.
    n_iter_ : int
        Number of iterations.
    held_out_error_ : ndarray of shape (3,)
        Mean squared error of samples that were held out: at the start, with the weights of the
        features, and with the whole map. Equal numbers tell that a stage did not help and was left
        out. Only with early stopping.

    Notes
    -----
    A step of the descent counts as a help if it lowers the held-out error by more than one standard
    error of the difference. Up to five folds are held out, so many that they have 500 samples.

    Probabilities are computed in blocks of rows: time grows with the square of the number of
    samples, and memory does not. Equal rows with the same number are one row with the sum of their
    weights, so that they do not predict each other. Ctrl-C keeps the best map so far, but while
    samples are held out it leaves the estimator as it was.

    References
    ----------
    K. Q. Weinberger, G. Tesauro, "Metric learning for kernel regression", International Conference
    on Artificial Intelligence and Statistics, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.learners import MLKR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> metric = MLKR(max_iter=30, tol=1e-3).fit(X, X[:, 0])
    >>> lengths = np.linalg.norm(metric.components_, axis=0)
    >>> bool(lengths[0] > 2 * lengths[1:].max())
    True
    """

    _has_classes = False
    _payoff = Value
    held_out_error_ = Fitted[Any](detail("held_out_error_"))
    _details: ClassVar[dict[str, Any]] = {"held_out_error_": Vector | None}
    _rules: ClassVar[dict[str, Rule]] = SoftNeighborLearner._rules | {"early_stopping": FLAG}

    def __init__(
        self,
        n_components: int | None = None,
        init: Any = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        early_stopping: bool = True,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.early_stopping = early_stopping

    def _descend(
        self, problem: SoftNeighbors[Value], start: Array, on_step: OnStep | None
    ) -> tuple[Descent, dict[str, Any]]:
        if not self.early_stopping or len(problem.X) < FEWEST:
            return super()._descend(problem, start, on_step)
        steps, error = choose_steps(problem, start, self.max_iter)
        run = descend_in_stages(problem, start, steps, self.tol, on_step)
        run.is_converged = max(steps) < self.max_iter  # otherwise more steps may help
        return run, {"held_out_error_": error}
