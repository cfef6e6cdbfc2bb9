"""Maximum variance unfolding as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ..checks.parameters import (
    CALLABLE,
    FLAG,
    NONE,
    POSITIVE,
    SEED,
    TOLERANCE,
    InvalidParameterError,
    Rule,
    check_parameters,
    choice,
    integer,
)
from ..checks.samples import SampleReader, check_array, check_random_state, validate_data
from ..core.points import Array, Data, Index, Mask, Vector
from ..core.solution import Step
from ..core.warning import warn_user
from ..model.fitted import Fitted
from ..model.linear_map import Features
from ..model.shell import FittedShell
from ..search.exact import Metric
from ..solvers.monitor import Reporter, conclude
from .certificate import UnfoldingCertificate
from .graph import NeighborGraph, connect_components, disconnected_message, neighbor_graph
from .landmarks import Landmarks
from .methods import CONSTRAINTS, SOLVERS, Unfolding, solve_unfolding, stack
from .samples import FeatureSamples, GraphSamples, as_samples, check_distances
from .unfolded import UnfoldedSamples


class MaximumVarianceUnfolding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedShell):
    """Embedding of largest variance in which no two neighbours move apart.

    Maximises the variance of the points y_i,

        Σ_i |y_i - ȳ|² - |X|_F² / (2 sigma),    |y_i - y_j|² <= |x_i - x_j|² for neighbours i, j,

    where X is the Gram matrix of the y_i: a semidefinite program, whose solution has as few
    dimensions as it needs. Every fit has a certificate: an interval that contains the maximum.

    Parameters
    ----------
    n_components : int, default=2
        Number of leading axes of the embedding.
    n_neighbors : int, default=6
        Number of nearest samples to which each sample's distances are constrained. The graph is
        symmetric: a sample is also a neighbour of its nearest samples.
    sigma : float, default=None
        Weight of the paper's Frobenius term, in the unit of the variance: squared units of the
        data times the number of samples. None leaves the term out.
    constraints : {"at_most", "equal"}, default="at_most"
        "at_most": neighbours may come closer, as in the paper. "equal": neighbours keep their
        distance, as in the original method.
    solver : {"auto", "lowrank", "dual"}, default="auto"
        "lowrank" computes with coordinates and can take many thousands of samples. "dual", the
        paper's way, computes with the whole Gram matrix; it needs a sigma, and suits one so small
        that the embedding has many dimensions. "auto" begins with "lowrank" and changes to "dual"
        where that is needed.
    tol : float, default=1e-5
        Width of the certified interval, relative to the variance, at which the fit ends; with equal
        constraints also the largest relative error of a squared distance. At most 1.
    max_iter : int, default=1000
        Largest number of steps, for each component of the graph.
    n_landmarks : int, default=None
        Unfold this many samples, drawn at random, and place the others between them: for very
        large data. The certificate and the eigenvalues then belong to the landmarks' problem.
    random_state : int or RandomState, default=None
        Seed of the draw of landmarks. Everything else is deterministic.
    metric : str or callable, default="euclidean"
        Metric of scikit-learn; with "precomputed" the data are distances. X is then an array of all
        of them, or a sparse matrix of those between neighbours, which is then the graph.
    extra_edges : bool, default=False
        Also constrain the distances between the neighbours of a common sample.
    on_disconnected : {"connect", "separate", "error"}, default="connect"
        How to treat a neighbour graph of several components: "connect" joins each with the others
        by its shortest edges, as many as a sample has neighbours, and warns; "separate" unfolds
        each alone and puts them side by side along the first axis; "error" refuses it.
    verbose : int, default=0
        Print one line every `verbose` steps; 0 prints nothing.
    callback : callable, default=None
        Called with each step (primal, dual, gap, rank, seconds); a true return value ends the
        fit.

    Attributes
    ----------
    unfolded_ : UnfoldedSamples
        The value of the fit, of which the other attributes are read-only parts. It does not depend
        on parameters that change later.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates along the leading principal axes, the widest first.
    full_embedding_ : ndarray of shape (n_samples, rank)
        Coordinates along all axes; the Gram matrix is `full_embedding_ @ full_embedding_.T`.
    eigenvalues_ : ndarray of shape (rank,)
        Eigenvalues of the Gram matrix, largest first: the variance along each axis.
    certificate_ : UnfoldingCertificate
        Proven interval of the maximum.
    dual_coef_ : ndarray of shape (n_edges,)
        Multipliers of the edges of `graph_`, which prove `certificate_.dual`; None with landmarks.
    graph_ : NeighborGraph
        Distinct points and the edges between them, including those that `on_disconnected` adds.
    component_labels_ : ndarray of shape (n_samples,)
        Connected component of `graph_` that each sample belongs to.
    status_ : str
        Reason why the fit ended; "optimal" if certified to `tol`.
    history_ : list of Step
        Every step of the solver.
    n_iter_ : int
        Number of steps.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of str
        Names of the features, if X has them.

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

    _kept: ClassVar[str] = "unfolded_"
    unfolded_: UnfoldedSamples
    embedding_ = Fitted[Array]("embedding")
    full_embedding_ = Fitted[Array]("unfolding.Y")
    eigenvalues_ = Fitted[Vector]("unfolding.eigenvalues")
    certificate_ = Fitted[UnfoldingCertificate]("unfolding.certificate")
    dual_coef_ = Fitted[Vector]("unfolding.w", may_be_none=True)
    graph_ = Fitted[NeighborGraph]("graph")
    component_labels_ = Fitted[Index]("component_labels")
    status_ = Fitted[str]("unfolding.status")
    history_ = Fitted[list[Step]](lambda unfolded: list(unfolded.unfolding.history))
    n_iter_ = Fitted[int]("unfolding.n_iter")
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": integer(1),
        "n_neighbors": integer(1),
        "sigma": POSITIVE | NONE,
        "constraints": choice(CONSTRAINTS),
        "solver": choice(SOLVERS),
        "tol": TOLERANCE,
        "max_iter": integer(1),
        "n_landmarks": integer(3) | NONE,
        "random_state": SEED | NONE,
        "metric": Rule(
            "a metric's name or a function", lambda m: isinstance(m, str) or callable(m)
        ),
        "extra_edges": FLAG,
        "on_disconnected": choice(["connect", "separate", "error"]),
        "verbose": integer(0) | FLAG,
        "callback": CALLABLE | NONE,
    }

    def __init__(
        self,
        *,
        n_components: int = 2,
        n_neighbors: int = 6,
        sigma: float | None = None,
        constraints: str = "at_most",
        solver: str = "auto",
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_landmarks: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        metric: Metric = "euclidean",
        extra_edges: bool = False,
        on_disconnected: str = "connect",
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.constraints = constraints
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.metric = metric
        self.extra_edges = extra_edges
        self.on_disconnected = on_disconnected
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Data, y: object = None) -> Self:
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
        Interrupted
            On Ctrl-C, a `KeyboardInterrupt`, after the embedding of that moment was stored.
        """
        check_parameters(self, self._rules)
        samples, features = self._read(X)
        neighbors = neighbor_graph(samples, self.n_neighbors, extra_edges=self.extra_edges)
        graph = self._treat_disconnected(neighbors, samples)
        labels = graph.components()[1]
        unfolding = self._unfold_components(graph, labels)
        options = {"n_components": self.n_components, "n_neighbors": self.n_neighbors}
        separate = neighbors.components()[1]  # added edges join no neighbourhoods
        unfolded = UnfoldedSamples.of(
            samples, graph, labels, unfolding, features, component=separate, **options
        )
        self._warn_of_low_rank(unfolding.Y.shape[1])
        if unfolding.status == "interrupted":
            self._store(unfolded)
        limit = "max_iter or tol" if unfolding.status == "max_iter" else "tol"
        other = ", or set constraints='at_most'" if self.constraints == "equal" else ""
        conclude(unfolding, self.tol, advice=f"raise {limit}{other}")
        return self._store(unfolded)

    def fit_transform(self, X: Data, y: object = None) -> np.ndarray:
        """Unfold X, and return `embedding_`."""
        return self.fit(X).embedding_

    def transform(self, X: Data) -> np.ndarray:
        """Place new samples in the embedding, each by the affine map of its neighbourhood.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_features) or (n_new, n_samples)
            Features, or with `metric="precomputed"` the distances from the training samples.

        Returns
        -------
        Y : ndarray of shape (n_new, n_components)
        """
        check_is_fitted(self)
        is_distances = self.unfolded_.is_distances
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "estimator": self}
        if is_distances:
            options |= {"accept_sparse": False, "ensure_all_finite": False}
        new = check_array(X, input_name="X", **options)
        if is_distances:
            check_distances(new)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.unfolded_.extension.place(new)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        is_distances = self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = is_distances
        return tags

    @property
    def gram_matrix_(self) -> np.ndarray:
        """Gram matrix of the samples, computed on request: n_samples x n_samples numbers."""
        check_is_fitted(self)
        return self.full_embedding_ @ self.full_embedding_.T

    def _read(self, X: Data) -> tuple[FeatureSamples | GraphSamples, Features]:
        """Return the samples, checked once, with the names and the number of features."""
        samples = as_samples(X, self.metric, estimator=self)
        reader = SampleReader(type(self).__name__, get_tags(self))
        features = Features(*reader.read(X, skip_check_array=True)[2])
        if self.n_components >= samples.n_samples:
            raise InvalidParameterError(
                f"n_components={self.n_components} must be smaller than "
                f"n_samples={samples.n_samples}: n samples span at most n - 1 dimensions"
            )
        return samples, features

    def _treat_disconnected(
        self, graph: NeighborGraph, samples: FeatureSamples | GraphSamples
    ) -> NeighborGraph:
        """Return the graph to unfold."""
        if self.on_disconnected == "separate" or graph.components()[0] == 1:
            return graph
        message = disconnected_message(graph, samples, self.n_neighbors)
        if self.on_disconnected == "error":
            raise ValueError(message)
        connected = connect_components(graph, samples, self.n_neighbors)
        n_added = len(connected.edges) - len(graph.edges)
        warn_user(f"added {n_added} edges, because {message}")
        return connected

    def _unfold_components(self, graph: NeighborGraph, labels: Index) -> Unfolding:
        """Unfold every component; after one ended early, the others get one step each."""
        report = Reporter(self.verbose, self.callback) if self.verbose else self.callback
        sigma = np.inf if self.sigma is None else float(self.sigma)
        names = "constraints", "solver", "tol", "max_iter"
        options = {name: getattr(self, name) for name in names}
        options |= {"sigma": sigma, "callback": report}
        unfoldings = []
        for label in range(labels.max() + 1):
            unfoldings.append(self._unfold(graph, labels == label, options))
            if unfoldings[-1].status in ("interrupted", "stopped"):
                options |= {"max_iter": 1, "callback": None}
        return stack(graph, labels, unfoldings, sigma)

    def _unfold(self, graph: NeighborGraph, inside: Mask, options: dict[str, Any]) -> Unfolding:
        """Unfold one component of the graph."""
        part = graph if inside.all() else graph.restrict(np.flatnonzero(inside))
        if self.n_landmarks is None or self.n_landmarks >= part.n_points:
            return solve_unfolding(part, **options)
        landmarks = Landmarks.of(part, self.n_landmarks, check_random_state(self.random_state))
        unfolding = solve_unfolding(landmarks.graph, **options)
        return replace(unfolding, Y=landmarks.place(unfolding.Y), w=None)

    def _warn_of_low_rank(self, rank: int) -> None:
        if rank < self.n_components:
            warn_user(
                f"the unfolding has rank {rank}, so the last {self.n_components - rank} of "
                f"n_components={self.n_components} columns of embedding_ are zero"
            )
