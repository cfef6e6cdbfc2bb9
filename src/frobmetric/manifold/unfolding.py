"""MaximumVarianceUnfolding: the widest embedding that keeps the distances between neighbours."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._parameters import (
    CALLABLE,
    FLAG,
    NONE,
    POSITIVE,
    SEED,
    InvalidParameterError,
    Rule,
    check_parameters,
    choice,
    integer,
)
from ..solvers.monitor import Reporter
from .extension import Extension
from .graph import neighbor_graph, require_connected
from .landmarks import Landmarks
from .methods.solve import METHODS, solve_unfolding, stack

METRIC = Rule(
    "a metric's name or a function", lambda value: isinstance(value, str) or callable(value)
)


class MaximumVarianceUnfolding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The embedding of largest variance in which no neighbours move apart.

    Maximises the variance of the points y_i,

        Σ_i |y_i - ȳ|² - |X|_F² / (2 sigma),    |y_i - y_j|² <= |x_i - x_j|² for neighbours i, j,

    where X is their Gram matrix: a semidefinite program, whose solution lies in as few dimensions
    as it needs. Every fit carries a certificate: an interval that holds the largest variance.

    Parameters
    ----------
    n_components : int, default=2
        Leading axes that `embedding_` keeps.
    n_neighbors : int, default=6
        Each sample's distances to so many nearest are kept, and to those that it is a nearest of.
    sigma : float, default=None
        Weight of the paper's Frobenius term, in the squared units of the data times the number of
        samples, as the variance is; None leaves the term out.
    constraints : {"leq", "eq"}, default="leq"
        Neighbours may come closer, as in the paper, or keep their distances, as in the original
        method.
    method : {"auto", "lowrank", "dual"}, default="auto"
        "lowrank" works with coordinates and takes many thousands of samples; "dual", the paper's
        way, with the whole Gram matrix, for a sigma so small that the embedding has many
        dimensions. "auto" begins with the first and turns to the second where that is needed.
    tol : float, default=1e-5
        Width of the certified interval, relative to the variance, at which a fit ends; with "eq"
        also the error of squared distances.
    max_iter : int, default=1000
    landmarks : int, default=None
        Unfold so many samples only and place the others between them: for very large data. The
        certificate and the eigenvalues are then those of the landmarks' problem.
    random_state : int or RandomState, default=None
        For the choice of landmarks. Everything else is deterministic.
    metric : str or callable, default="euclidean"
        A metric of scikit-learn, or "precomputed": X is an array of all distances, or a sparse
        matrix of those to the neighbours, which is then the graph.
    extra_edges : bool, default=False
        Also keep the distances between the neighbours of a common sample.
    components : {"error", "separate"}, default="error"
        What to do with a graph that is not connected: refuse it, or unfold each component alone
        and lay them side by side along the first axis.
    verbose : int, default=0
        Write a line per so many steps.
    callback : callable, default=None
        Called with each step (primal, dual, gap, rank, seconds); a true answer ends the fit.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Along the principal axes, the widest first.
    factor_ : ndarray of shape (n_samples, rank)
        All axes; the Gram matrix is `factor_ @ factor_.T`.
    eigenvalues_ : ndarray of shape (rank,)
        Of the Gram matrix, largest first: how much of the variance lies along each axis.
    certificate_ : UnfoldingCertificate
    weights_ : ndarray of shape (n_edges,)
        The multipliers of the edges, which prove `certificate_.dual`; None with landmarks.
    graph_ : NeighborGraph
        Distinct points and edges.
    status_ : str
        Why the fit ended; "optimal" if certified to `tol`.
    history_ : list of Step
    n_iter_ : int
    component_of_ : ndarray of shape (n_samples,)
        The component of each sample.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had feature names.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from frobmetric.manifold import MaximumVarianceUnfolding
    >>> X, angle = make_swiss_roll(200, random_state=0)
    >>> mvu = MaximumVarianceUnfolding(n_neighbors=6).fit(X)
    >>> mvu.certificate_.relative_gap <= 1e-5
    True
    >>> mvu.embedding_.shape
    (200, 2)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": integer(1),
        "n_neighbors": integer(1),
        "sigma": POSITIVE | NONE,
        "constraints": choice(["leq", "eq"]),
        "method": choice(METHODS),
        "tol": POSITIVE,
        "max_iter": integer(1),
        "landmarks": integer(3) | NONE,
        "random_state": SEED | NONE,
        "metric": METRIC,
        "extra_edges": FLAG,
        "components": choice(["error", "separate"]),
        "verbose": integer(0) | FLAG,
        "callback": CALLABLE | NONE,
    }

    def __init__(
        self,
        n_components=2,
        n_neighbors=6,
        sigma=None,
        constraints="leq",
        method="auto",
        tol=1e-5,
        max_iter=1000,
        landmarks=None,
        random_state=None,
        metric="euclidean",
        extra_edges=False,
        components="error",
        verbose=0,
        callback=None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.constraints = constraints
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.landmarks = landmarks
        self.random_state = random_state
        self.metric = metric
        self.extra_edges = extra_edges
        self.components = components
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None):
        """Unfold X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or with `metric="precomputed"` distances.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C, after the embedding of that moment was stored.
        """
        X = self._validate(X)
        graph = neighbor_graph(
            X, self.n_neighbors, metric=self.metric, extra_edges=self.extra_edges
        )
        if self.components == "error":
            require_connected(graph, X, self.n_neighbors, metric=self.metric)
        labels = graph.components()[1]
        self._store(X, graph, labels, stack(graph, labels, self._unfold_all(graph, labels)))
        if self.status_ == "interrupted":
            raise KeyboardInterrupt
        return self

    def fit_transform(self, X, y=None):
        """Unfold X, and return `embedding_`."""
        return self.fit(X).embedding_

    def transform(self, X):
        """Place new samples in the embedding, each by the affine map of its neighbourhood.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_features) or (n_new, n_samples)
            With `metric="precomputed"` the distances from the training samples.

        Returns
        -------
        Y : ndarray of shape (n_new, n_components)
        """
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=self.metric != "precomputed",
        )
        return self._extension.place(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        is_distances = self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = is_distances
        return tags

    @property
    def gram_matrix_(self):
        """`factor_ @ factor_.T`, computed when asked for: n_samples x n_samples numbers."""
        check_is_fitted(self)
        return self.factor_ @ self.factor_.T

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def _validate(self, X):
        check_parameters(self, self._rules)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_min_samples=2,
            ensure_all_finite=self.metric != "precomputed",
        )
        if self.n_components >= X.shape[0]:
            raise InvalidParameterError(
                f"n_components={self.n_components} must be smaller than n_samples={X.shape[0]}: "
                "so many samples span no more dimensions"
            )
        return X

    def _unfold_all(self, graph, labels):
        """Every component; once one was ended early the remaining ones get one step each."""
        options, answers = (
            {
                "sigma": np.inf if self.sigma is None else float(self.sigma),
                "constraints": self.constraints,
                "method": self.method,
                "tol": self.tol,
                "max_iter": self.max_iter,
                "callback": Reporter(self.verbose, self.callback)
                if self.verbose
                else self.callback,
            },
            [],
        )
        for label in range(labels.max() + 1):
            answers.append(self._unfold(graph, labels == label, options))
            if answers[-1].status in ("interrupted", "stopped"):
                options |= {"max_iter": 1, "callback": None}
        return answers

    def _unfold(self, graph, inside, options):
        """One component of the graph."""
        part = graph if inside.all() else graph.restrict(np.flatnonzero(inside))
        if self.landmarks is None or self.landmarks >= part.n_points:
            return solve_unfolding(part, **options)
        landmarks = Landmarks.of(part, self.landmarks, check_random_state(self.random_state))
        answer = solve_unfolding(landmarks.graph, **options)
        return replace(answer, Y=landmarks.place(answer.Y), w=None)

    def _store(self, X, graph, labels, answer):
        Y = answer.Y
        self.graph_, self.component_of_ = graph, labels[graph.point_of]
        self.factor_, self.eigenvalues_ = Y[graph.point_of], answer.eigenvalues
        self.certificate_, self.weights_ = answer.certificate, answer.w
        self.status_, self.history_, self.n_iter_ = answer.status, answer.history, answer.n_iter
        placed = np.zeros((len(Y), self.n_components))
        placed[:, : Y.shape[1]] = Y[:, : self.n_components]
        self.embedding_ = placed[graph.point_of]
        self._extension = Extension(
            X,
            placed,
            self.n_neighbors,
            self.metric,
            representative=graph.representative,
            component=labels,
        )
        self._warn()

    def _warn(self):
        rank = self.factor_.shape[1]
        if rank < self.n_components:
            warnings.warn(
                f"the unfolding has rank {rank}, so the last {self.n_components - rank} of "
                f"n_components={self.n_components} columns of embedding_ are zero",
                UserWarning,
                stacklevel=4,
            )
        if self.status_ in ("max_iter", "stalled"):
            warnings.warn(
                f"not solved to tol={self.tol:g} ({self.status_} after {self.n_iter_} steps): "
                f"{self.certificate_}; raise "
                + ("max_iter or tol" if self.status_ == "max_iter" else "tol")
                + (", or set constraints='leq'" if self.constraints == "eq" else ""),
                ConvergenceWarning,
                stacklevel=4,
            )
