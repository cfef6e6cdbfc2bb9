"""Learned maps of queries and of documents, with the solution that they come from."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.points import Array, Vector
from ..core.solution import Certificate, Solution
from ..solvers import State


@dataclass(frozen=True)
class LearnedMap:
    """Linear maps of two sets of vectors, after which what belongs together is close.

    Attributes
    ----------
    anchor_map : ndarray of shape (n_features, n_components)
        Map of anchors, such as queries: `A @ anchor_map`.
    candidate_map : ndarray of shape (n_features, n_components)
        Map of candidates, such as documents. The same array as `anchor_map` if both sides are
        mapped alike; the identity if only queries are mapped.
    weights : ndarray or None
        Weights that were learned, for structures that have them.
    solution : Solution
        Answer of the solver, with its certificate.
    C : float or None
        Weight of the loss that the map was learned with.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import learn_query_map
    >>> learned = learn_query_map(np.array([[0.6, 0.8]]), np.eye(2), [[0, 0, 0, 1]], None, C=10)
    >>> learned.anchor_map.round(2).tolist(), learned.candidate_map.tolist()
    ([[1.36, -0.36], [0.48, 0.52]], [[1.0, 0.0], [0.0, 1.0]])
    >>> learned.is_symmetric
    False
    """

    anchor_map: Array
    candidate_map: Array
    weights: Vector | None
    solution: Solution
    C: float | None = None

    @property
    def certificate(self) -> Certificate:
        """Proof of optimality of the learning problem."""
        return self.solution.certificate

    def __repr__(self) -> str:
        before, after = self.anchor_map.shape
        sides = "both sides" if self.is_symmetric else "each side"
        return f"LearnedMap({before} -> {after} features, {sides}, {self.solution!r})"

    @property
    def is_symmetric(self) -> bool:
        """Whether anchors and candidates are mapped alike."""
        return self.anchor_map is self.candidate_map

    def start(self, C: float, n_rows: int) -> State:
        """Return where to start a problem that has the same rows and this C; empty for others.

        Rows at their bound stay there: all dual variables grow as C does.
        """
        if self.C is None or len(self.solution.u) != n_rows:
            return State()
        return State(u=self.solution.u * (C / self.C))
