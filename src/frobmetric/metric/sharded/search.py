"""Search for neighbours among the rows of all shards, exactly, by all pairs of shards."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._candidates import Candidates, block_candidates, merge_candidates
from ..._sketches import Frame, Points
from ...backends.vectors import map_shards
from ..triplets import TIE


class Place(NamedTuple):
    """Rows of a shard as points to search, with their classes and the number of the first.

    The frame is that of all shards, so that it is not computed again for each pair of them.
    """

    points: np.ndarray
    labels: np.ndarray
    start: int
    frame: Frame | None = None


class Found(NamedTuple):
    """Candidates of the rows of a shard: neighbours of the same class, and of others."""

    near: list[Candidates]
    far: list[Candidates]

    def __add__(self, other):
        return Found(self.near + other.near, self.far + other.far)


@dataclass(frozen=True, eq=False)
class Mining:
    """Exact search for the neighbours of all rows among the rows of all shards."""

    samples: Any
    n_near: int
    n_far: int

    def search(self, Z, L=None):
        """Return numbers of near and far rows, -1 where there are fewer, for each shard."""
        points = Z if L is None else Z.map(_product, Z.share(L)).light()
        square = points.reduce(operator.add, _scatter).get()
        n_samples, n_coordinates = sum(self.samples.sizes), len(square) - 1
        mean = square[-1, :-1] / n_samples
        covariance = square[:-1, :-1] / n_samples - np.outer(mean, mean)
        variance = max(0.0, np.trace(covariance))
        tie = TIE * float(np.sqrt(n_coordinates * variance))
        frame = points.share(Frame.of_moments(mean, covariance))
        places = map_shards(Place, points, self.samples.y, self.samples.start, frame)
        find = partial(_find, n_near=self.n_near, n_far=self.n_far, tie=tie)
        found = places.pairwise(find, operator.add, places)
        choose = partial(_choose, n_near=self.n_near, n_far=self.n_far, tie=tie)
        return found.map(choose)


def _find(queries, points, *, n_near, n_far, tie):
    """Return the candidates of one shard among the rows of another, class by class."""
    near, far = [], []
    own = queries.start + np.arange(len(queries.points))
    numbers = points.start + np.arange(len(points.points))
    prepared = Points(points.points, points.frame)
    for label in np.unique(queries.labels):
        rows = np.flatnonzero(queries.labels == label)
        is_same = points.labels == label
        for is_chosen, k, found in ((is_same, n_near, near), (~is_same, n_far, far)):
            pool = np.flatnonzero(is_chosen)
            if len(pool):
                labels = (own[rows], numbers[pool])  # a row is not its own neighbour
                some = queries.points[rows], prepared.subset(pool)
                part = block_candidates(*some, k, labels=labels, tie=tie)
                found.append(_renumbered(part, rows, numbers[pool], len(own)))
    return Found([_joined(near, len(own))], [_joined(far, len(own))])


def _renumbered(part, rows, numbers, n_queries):
    """Return candidates of some queries as candidates of all, with the numbers of the points."""
    edge = np.full(n_queries, np.inf)
    edge[rows] = part.edge
    return Candidates(rows[part.row], numbers[part.number], part.value, edge)


def _joined(parts, n_queries):
    """Return the candidates of different queries as one."""
    none = np.empty(0, np.intp)
    parts = [*parts, Candidates(none, none, np.empty(0), np.full(n_queries, np.inf))]
    names = ("row", "number", "value")
    entries = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Candidates(*entries, np.min([part.edge for part in parts], axis=0))


def _choose(found, *, n_near, n_far, tie):
    """Return the numbers of the nearest among all candidates of a shard."""
    numbers = []
    for parts, k in ((found.near, n_near), (found.far, n_far)):
        number, is_certain = merge_candidates(parts, k, tie=tie)
        if not is_certain.all():
            raise RuntimeError(
                f"the neighbours of {np.count_nonzero(~is_certain)} rows are not certain"
            )
        numbers.append(number)
    return tuple(numbers)


def _product(Z, L):
    return Z @ L


def _scatter(points):
    """Return the products of all coordinates, and of a last one that is 1."""
    points = np.column_stack([points, np.ones(len(points))])
    return points.T @ points
