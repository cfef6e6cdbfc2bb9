"""Neighbourhood components analysis."""

from __future__ import annotations

from typing import Any

from .softmax_neighbors import SameClass, SoftNeighborLearner


class NCA(SoftNeighborLearner):
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
