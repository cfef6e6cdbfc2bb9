"""Maps along a path of strengths: one feedback, learned again and again from the last answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.points import Array
from ..model.distances import unit_rows
from ..solvers.monitor import Callback
from .feedback.base import Feedback
from .maps import LearnedMap
from .query import learn_query_map
from .structure import learn_structured_map

#: Similarity by which mapped vectors are compared, if they have unit length and if not.
SIMILARITY = {True: "cosine", False: "euclidean"}


@dataclass(frozen=True, eq=False)
class MapLearner:
    """Learner of maps from feedback, with everything but the strength.

    Parameters
    ----------
    side : {"both", "query"}
        What is mapped: anchors and candidates alike, or anchors only.
    structure : str or sequence
        Structure of the map, as in `learn_structured_map`.
    unit_length : bool
        Whether vectors have unit length, before and after the map.
    max_iter : int
        Largest number of steps of a solve.
    random_state : int
        Seed of the comparisons that are drawn, where there are many.
    """

    side: str = "both"
    structure: Any = "full"
    unit_length: bool = True
    max_iter: int = 1000
    random_state: int = 0

    def vectors(self, X: Array) -> Array:
        """Return vectors as the map takes them: at unit length if asked for; a zero row stays."""
        return unit_rows(X) if self.unit_length else X

    def anchors(self, feedback: Feedback, B: Array) -> Array:
        """Return the anchors of a feedback: its own queries, or the candidates B."""
        return B if feedback.queries is None else self.vectors(feedback.queries.astype(B.dtype))

    def path(
        self,
        feedback: Feedback,
        B: Array,
        strengths: Sequence[float],
        *,
        tol: float,
        max_rows: int,
        basis: Array | None = None,
        callback: Callback | None = None,
    ) -> Iterator[LearnedMap]:
        """Generate the map of each strength; each solve starts from the one before.

        With a `basis` of orthonormal columns a full map of both sides is learned in its span, and
        changes nothing outside of it.
        """
        A, learned = self.anchors(feedback, B), None
        seed = np.random.RandomState(self.random_state)
        metric = SIMILARITY[self.unit_length]
        index, weight = feedback.comparisons(A, B, seed, max_rows, metric=metric)
        options: dict[str, Any] = {"tol": tol, "max_iter": self.max_iter, "callback": callback}
        if basis is not None:
            A, B = (A @ basis,) * 2 if A is B else (A @ basis, B @ basis)
        for C in strengths:
            options |= {"C": C, "start": learned}
            learned = self._learn(A, B, index, weight, options)
            yield learned if basis is None else _lifted(learned, basis)

    def mapped(self, learned: LearnedMap, A: Array, B: Array) -> tuple[Array, Array]:
        """Return mapped anchors and candidates."""
        mapped = self.vectors(A @ learned.anchor_map.astype(A.dtype, copy=False))
        if learned.is_symmetric and A is B:
            return mapped, mapped
        if self.side == "query":
            return mapped, B
        return mapped, self.vectors(B @ learned.candidate_map.astype(B.dtype, copy=False))

    def leading_directions(self, B: Array, n_directions: int) -> Array | None:
        """Return a basis for `path`; None if a map is to be learned in all directions.

        That is so if there are not more, and if the map is not a full one of both sides.
        """
        is_full = isinstance(self.structure, str) and self.structure == "full"
        if B.shape[1] <= n_directions or not is_full or self.side == "query":
            return None
        return np.linalg.eigh(B.T @ B)[1][:, : -n_directions - 1 : -1]

    def _learn(self, A, B, index, weight, options):
        if self.side == "query":
            return learn_query_map(A, B, index, weight, **options)
        if A is B:
            return learn_structured_map(B, index, weight, structure=self.structure, **options)
        # one map of queries and documents: the rows of both, one after the other
        both, index = np.vstack([A, B]), index + np.array([0, len(A), 0, len(A)])
        return learn_structured_map(both, index, weight, structure=self.structure, **options)


def _lifted(learned, basis):
    """Return the map of all features that is this one in the span of the basis."""
    change = learned.anchor_map - np.eye(basis.shape[1])
    matrix = np.eye(len(basis)) + basis @ change @ basis.T
    return replace(learned, anchor_map=matrix, candidate_map=matrix)
