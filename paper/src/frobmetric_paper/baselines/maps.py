"""Interface of the baselines that bend vectors which already mean something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..harness.worker import Target
from .base import Baseline


@dataclass(frozen=True, kw_only=True)
class MapBaseline(Baseline):
    """A program that learns a map of vectors, or moves them, with several strengths at once.

    `learns_from` says which arrays `fit` needs:

        "pairs"     first, second of shape (n_pairs, n_features), similarity in [-1, 1]
        "targets"   inputs, targets of shape (n, n_features), weight of shape (n,)
        "answers"   documents, queries of shape (n, n_features), answers of shape (m, 2): rows
                    (query, document) of which the document answers the query

    The answer has an array for each value of the parameter `strengths`, in the same order.
    """

    target: Target
    learns_from: str
    # families of candidates: other parameters, each with all `strengths` of one learning
    families: tuple[dict, ...] = ()
    missing: Callable[[], str] | None = None  # by default the packages that are not installed

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "missing", self.missing or self.target.missing)

    def fit(self, arrays, parameters, *, limit=600.0, seed=0, threads=None):
        """Return the learned arrays, one for each strength, and a detail with "seconds"."""
        self.require()
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        values = {"parameters": parameters, "seed": seed}
        answer, detail = self.run(self.target, arrays, values, limit, threads)
        return [answer[str(k)] for k in range(len(parameters["strengths"]))], detail
