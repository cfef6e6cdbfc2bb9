"""Dask as an engine: the shards are on the workers of a cluster.

Tasks are pure functions of futures, so that the scheduler computes again what a lost worker held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dask.sizeof import sizeof

from .engine import Bundle, Engine, Node, Program, Values, combine_all, run, tree

#: Bytes of a constant, for all shards, up to which it is sent along with the tasks that use it.
MOST_SENT = 1 << 23
#: Number of partial sums that are added here and not on the workers: each level of the tree takes
#: its time.
FEW = 4


class ClusterLostError(RuntimeError):
    """The scheduler of the cluster does not answer any more, or gave up on a task."""


class DaskEngine(Engine):
    """The pieces are futures of a cluster.

    Parameters
    ----------
    client : distributed.Client
    n_shards : int
    """

    def __init__(self, client: Any, n_shards: int) -> None:
        super().__init__(n_shards)
        self.client = client

    def put(self, pieces: Sequence[Any]) -> Node:
        # an argument of a task, not scattered data: those cannot be computed again
        return Node(bundles=[self._submit(_bundle, piece) for piece in pieces])

    def share(self, value: Any) -> Node:
        if self.n_shards * sizeof(value) <= MOST_SENT:
            return super().share(value)
        return Node(bundles=[self._submit(_bundle, value)] * self.n_shards)

    def pairwise(
        self, function: Callable[..., Any], combine: Callable[..., Any], left: Node, right: Node
    ) -> Node:
        self.compute(left, right)
        found = []
        for a in left.bundles or ():
            pairs = [(a, left.place, b, right.place) for b in right.bundles or ()]
            parts = [self._submit(_call_pair, function, *pair) for pair in pairs]
            found += tree(lambda x, y: self._submit(_combine_pair, combine, x, y), parts)
        return Node(bundles=found)

    def start(self, program: Program, inputs: list[list[Any]]) -> list[Any]:
        return [
            self._submit(run, program, *(bundles[i] for bundles in inputs))
            for i in range(self.n_shards)
        ]

    def finish(self, bundles: list[Any], combines: tuple[Callable[..., Any], ...]) -> Values:
        parts = [self._submit(_reduced, bundle) for bundle in bundles]
        parts = tree(lambda a, b: self._submit(combine_all, combines, a, b), parts, FEW)
        return tree(lambda a, b: combine_all(combines, a, b), self.client.gather(parts))[0]

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.client.submit(function, *arguments, pure=False)


def _bundle(piece: Any) -> Bundle:
    return Bundle((piece,), ())


def _reduced(bundle: Bundle) -> Values:
    return bundle.reduced


def _call_pair(function: Callable[..., Any], a: Bundle, i: int, b: Bundle, j: int) -> Bundle:
    return _bundle(function(a.kept[i], b.kept[j]))


def _combine_pair(combine: Callable[..., Any], a: Bundle, b: Bundle) -> Bundle:
    return _bundle(combine(a.kept[0], b.kept[0]))
