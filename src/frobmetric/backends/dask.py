"""Dask as an engine: the shards are on the workers of a cluster.

Tasks are pure functions of futures, so that the scheduler computes again what a lost worker held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask.array
import distributed
import numpy as np
from dask.sizeof import sizeof

from .engine import Bundle, Engine, Node, Pairs, Program, Values, combine_all, run, tree
from .table import ShardedTable, split_rows
from .vectors import Sharded

#: Bytes of a constant, for all shards, up to which it is sent along with the tasks that use it.
MOST_SENT = 1 << 23
#: Number of partial sums that are added here and not on the workers: each level of the tree takes
#: its time.
FEW = 4
#: Number of shards that a piece of another one meets one after another, while it is in memory; and
#: the same where only small parts of it are taken, which wait until those of all pieces are there.
TILE, WIDE_TILE = 6, 32
#: Share of the free memory of a worker that the rows of a shard take, in double precision: a shard
#: holds several times its own rows, and copies of them while they are sent and put together.
SHARE = 1 / 24
#: Bytes that a worker takes with what it imports and compiles, and the smallest share of its
#: memory that is counted as free.
IMPORTS, LEAST = 450e6, 1 / 4
#: Names of the errors by which Dask tells that a cluster does not answer, or lost too much.
LOST = (
    "CancelledError",
    "CommClosedError",
    "FutureCancelledError",
    "FuturesCancelledError",
    "KilledWorker",
)


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
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        self._homes = [workers[i * len(workers) // n_shards] for i in range(n_shards)]

    def put(self, pieces: Sequence[Any]) -> Node:
        # an argument of a task, not scattered data: those cannot be computed again
        return Node(bundles=[self._at(i, _bundle, piece) for i, piece in enumerate(pieces)])

    def share(self, value: Any) -> Node:
        if self.n_shards * sizeof(value) <= MOST_SENT:
            return super().share(value)
        return Node(bundles=[self._at(0, _bundle, value)] * self.n_shards)

    def pairwise(self, pairs: Pairs, left: Node, right: Node, beside: Sequence[Node] = ()) -> Node:
        self.compute(left, right, *beside)
        among = range(len(_bundles(right))) if pairs.among is None else pairs.among
        found, size = [], WIDE_TILE if pairs.at_right else TILE
        for start in range(0, self.n_shards, size):
            tile = range(start, min(start + size, self.n_shards))
            parts = self._tile(pairs, tile, left, right, among)
            for i in tile:
                others = [each for node in beside for each in (_bundles(node)[i], node.place)]
                found.append(self._at(i, _join, pairs.join, parts[i], *others))
        return Node(bundles=found)

    def _tile(
        self, pairs: Pairs, tile: Sequence[int], left: Node, right: Node, among: Sequence[int]
    ) -> dict[int, list[Any]]:
        """Submit function(left i, right j) for some i and all j, one right piece after another."""
        parts: dict[int, list[Any]] = {i: [] for i in tile}
        for j in among:
            for i in tile:
                given = _bundles(left)[i], left.place, _bundles(right)[j], right.place
                place = j if pairs.at_right else i
                parts[i].append(self._at(place, _call_pair, pairs.function, *given))
        return parts

    def joined(self, join: Callable[..., Any], node: Node, groups: Sequence[range]) -> Node:
        self.compute(node)
        bundles = _bundles(node)
        return Node(
            bundles=[
                self._at(group[0], _join_pieces, join, node.place, [bundles[i] for i in group])
                for group in groups
            ]
        )

    def start(self, program: Program, inputs: list[list[Any]]) -> list[Any]:
        return [
            self._at(i, run, program, *(bundles[i] for bundles in inputs))
            for i in range(self.n_shards)
        ]

    def finish(self, bundles: list[Any], combines: tuple[Callable[..., Any], ...]) -> Values:
        parts = [self._at(i, _reduced, bundle) for i, bundle in enumerate(bundles)]
        parts = tree(lambda a, b: self._submit(combine_all, combines, a, b), parts, FEW)
        return tree(lambda a, b: combine_all(combines, a, b), self._gather(parts))[0]

    def _gather(self, futures: list[Any]) -> list[Any]:
        try:
            return self.client.gather(futures)
        except Exception as error:
            if type(error).__name__ in LOST or isinstance(error, OSError):
                raise ClusterLostError(
                    f"the Dask cluster was lost during the fit ({type(error).__name__}: {error}); "
                    "start it again and repeat the fit; with fit(..., checkpoint=file) a fit goes "
                    "on where it was"
                ) from error
            raise

    def open(self, array: Any) -> Sharded:
        """Return a Dask array with one chunk a shard; its graph is what lost pieces come from."""
        chunks = self.client.compute(list(array.to_delayed().ravel()))
        bundles = [self._at(i, _bundle, chunk) for i, chunk in enumerate(chunks)]
        return Sharded(self, Node(bundles=bundles))

    def _at(self, shard: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a task of a shard to its worker, or to another one if that is lost."""
        home = {"workers": [self._homes[shard]], "allow_other_workers": True}
        return self._submit(function, *arguments, **home)

    def _submit(self, function: Callable[..., Any], *arguments: Any, **home: Any) -> Any:
        return self.client.submit(function, *arguments, pure=False, **home)


def open_collection(X: Any, y: Any) -> ShardedTable:
    """Return a Dask array or data frame and its labels in shards on the workers."""
    client = _client()
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    X = _as_array(X)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; expected a matrix of samples")
    step = _rows_of_shard(client, X)
    X = X.rechunk({0: step, 1: -1})
    sizes = list(X.chunks[0])
    engine = DaskEngine(client, len(sizes))
    return ShardedTable(engine.open(X), engine.open(_labels(y, sizes)), names)


def project(X: Any, components: np.ndarray) -> Any:
    """Return X @ components.T as a Dask array; frames become arrays."""
    X = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if X.ndim != 2 or X.shape[1] != components.shape[1]:
        raise ValueError(
            f"X has the shape {X.shape}; expected {components.shape[1]} features, those of the fit"
        )
    X = X.rechunk({1: -1})
    chunks = (X.chunks[0], (len(components),))
    dtype = np.result_type(X.dtype, components.dtype)
    return X.map_blocks(_project, components.T, dtype=dtype, chunks=chunks)


def _project(rows: np.ndarray, components: np.ndarray) -> np.ndarray:
    return rows @ components


def _client() -> Any:
    try:
        return distributed.get_client()
    except ValueError:
        raise ValueError(
            "X is a Dask collection, and there is no cluster to compute on; create a client "
            "first, for example with distributed.Client()"
        ) from None


def _as_array(collection: Any) -> Any:
    """Return a Dask array whose chunks have known sizes."""
    if hasattr(collection, "to_dask_array"):
        return collection.to_dask_array(lengths=True)
    return collection.compute_chunk_sizes() if np.isnan(collection.shape[0]) else collection


def _rows_of_shard(client: Any, X: Any) -> int:
    """Return the number of rows of a shard: one shard a thread, or more if memory is short."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise ValueError("the Dask cluster has no workers; start some and repeat the fit")
    n_threads = sum(worker["nthreads"] for worker in workers)
    by_memory = SHARE * min(map(_free_memory, workers)) / (8 * X.shape[1])
    return max(1, int(min(-(-X.shape[0] // n_threads), by_memory)))


def _free_memory(worker: Any) -> float:
    """Return the bytes of a worker that are left for data."""
    limit = worker["memory_limit"]
    return max(limit - IMPORTS, LEAST * limit) if limit else np.inf


def _labels(y: Any, sizes: list[int]) -> Any:
    """Return the labels as a Dask array with chunks of these sizes."""
    if not hasattr(y, "__dask_graph__"):
        return dask.array.from_array(np.concatenate(split_rows(y, sizes)), chunks=(tuple(sizes),))
    y = _as_array(y)
    if y.shape != (sum(sizes),):
        raise ValueError(
            f"y has the shape {y.shape}; expected one label for each of the {sum(sizes)} samples"
        )
    return y.rechunk((tuple(sizes),))


def _bundle(piece: Any) -> Bundle:
    return Bundle((piece,), ())


def _reduced(bundle: Bundle) -> Values:
    return bundle.reduced


def _bundles(node: Node) -> list[Any]:
    assert node.bundles is not None  # the node is computed
    return node.bundles


def _call_pair(function: Callable[..., Any], a: Bundle, i: int, b: Bundle, j: int) -> Any:
    return function(a.kept[i], b.kept[j])


def _join(join: Callable[..., Any], parts: list[Any], *beside: Any) -> Bundle:
    """Join results of pairs; the others are bundles with the places of their pieces."""
    pieces = (bundle.kept[place] for bundle, place in zip(beside[::2], beside[1::2], strict=True))
    return _bundle(join(parts, *pieces))


def _join_pieces(join: Callable[..., Any], place: int, bundles: list[Bundle]) -> Bundle:
    return _bundle(join([bundle.kept[place] for bundle in bundles]))
