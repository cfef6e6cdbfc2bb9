"""Dask as an engine: the shards are on the workers of a cluster.

Tasks are pure functions of futures, so that the scheduler computes again what a lost worker held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import dask.array
import distributed
import numpy as np
from dask.sizeof import sizeof

from .engine import Bundle, Combines, Engine, Node, Pairs, Program, Values, combine_all, run, tree
from .placement import PREFIX, Placement
from .spool import Spools, Stored, loaded, spools, stored
from .table import ShardedTable, split_rows
from .vectors import Sharded

#: Bytes of a constant, for all shards, up to which it is sent along with the tasks that use it.
MOST_SENT = 1 << 23
#: Number of partial sums that are added here and not on the workers: each level of the tree takes
#: its time.
FEW = 4
#: Number of shards that a piece of another one meets one after another, while it is in memory.
TILE = 6
#: The same where parts of it are taken and sent: a shard waits for those of its whole tile, each of
#: which may take twice as much as the rows of a shard.
SENT_TILE = 4
#: Share of the free memory of a thread that the rows of a shard take, in double precision: it holds
#: several times the rows, and copies of them while they are sent and put together.
SHARE = 1 / 12
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


class Group(NamedTuple):
    """Bundles of consecutive shards."""

    bundles: Sequence[Bundle]


class Parcel(tuple[Any, ...]):
    """Values that other workers fetch.

    The size of a parcel counts arrays in files, which are sent too: Dask limits by it how much it
    sends at a time. The size of a group, which is not sent, counts only what is in memory: Dask
    refuses tasks whose arguments are larger than the memory of a worker.
    """

    def __sizeof__(self) -> int:
        return super().__sizeof__() + sum(v.n_bytes for v in self if isinstance(v, Stored))


class Outcome:
    """Group of a task, and what it reduced, which alone is sent to other processes.

    So that the client gets the reduced values from the task itself, without another one.
    """

    def __init__(self, group: Group | None, reduced: Values) -> None:
        self.group, self.reduced = group, reduced

    def __reduce__(self) -> tuple[Any, ...]:
        return Outcome, (None, self.reduced)

    def __sizeof__(self) -> int:
        return sizeof(self.group) + sizeof(self.reduced)


class Joined(Node):
    """Node whose bundles are one a piece, not one a group."""


class DaskEngine(Engine):
    """The pieces are futures of a cluster.

    A thread of the cluster has a group of consecutive shards, one after the other in one task, so
    that small shards save memory and cost no messages. The bundles of a node are one `Group` each.

    Parameters
    ----------
    client : distributed.Client
    n_shards : int
    is_spooled : bool
        Whether pieces are in files of the workers while no task uses them.
    """

    is_remote = True

    def __init__(self, client: Any, n_shards: int, is_spooled: bool = False) -> None:
        super().__init__(n_shards)
        self.client, self.is_spooled = client, is_spooled
        _register_placement(client)
        workers = client.scheduler_info(n_workers=-1)["workers"]
        threads = [name for name in sorted(workers) for _ in range(workers[name]["nthreads"])]
        n_groups = min(n_shards, len(threads))
        cuts = [i * n_shards // n_groups for i in range(n_groups + 1)]
        self._groups = [range(*cut) for cut in pairwise(cuts)]
        of_groups = [threads[i * len(threads) // n_groups] for i in range(n_groups)]
        self._workers = [w for w, group in zip(of_groups, self._groups, strict=True) for _ in group]

    def put(self, pieces: Sequence[Any]) -> Node:
        # arguments of tasks, not scattered data: those cannot be computed again
        return Node(
            bundles=[self._at(g[0], _group, [pieces[i] for i in g], None) for g in self._groups]
        )

    def share(self, value: Any) -> Node:
        if len(self._groups) * sizeof(value) <= MOST_SENT:
            return super().share(value)
        n_blocks = max(map(len, self._groups))
        return Node(bundles=[self._at(0, _copies, value, n_blocks)] * len(self._groups))

    def pairwise(self, pairs: Pairs, left: Node, right: Node, beside: Sequence[Node] = ()) -> Node:
        self.compute(left, right, *beside)
        lefts, rights = self._bundles(left), self._bundles(right)
        others = [(self._bundles(node), node.place) for node in beside]
        among = range(len(rights)) if pairs.among is None else pairs.among
        found, size = [], SENT_TILE if pairs.at_right else TILE
        for group in self._groups:
            for start in range(group.start, group.stop, size):
                tile = range(start, min(start + size, group.stop))
                asked = [lefts[i] for i in tile]
                parts = self._tile(pairs, tile, (asked, left.place), (rights, right.place), among)
                for k, i in enumerate(tile):
                    mine = [tasks[0 if pairs.at_right else k] for tasks in parts]
                    number = k if pairs.at_right else 0
                    own = [each for bundles, place in others for each in (bundles[i], place)]
                    found.append(
                        self._at(i, _join, pairs.join, self.is_spooled, number, mine, *own)
                    )
        return Node(bundles=[self._at(g[0], Group, [found[i] for i in g]) for g in self._groups])

    def _tile(
        self, pairs: Pairs, tile: Sequence[int], left: Any, right: Any, among: Sequence[int]
    ) -> list[list[Any]]:
        """Submit function(left i, right j) for all j and the i of a tile, by one task or several.

        The results are lists: for each j the parts of all i of the tile in one task where the right
        piece is, or by one task for each i where the left one is.
        """
        (asked, place), (others, other_place) = left, right
        call, is_spooled, tasks = pairs.function, self.is_spooled, []
        for j in among:
            piece = others[j], other_place
            if pairs.at_right:
                tasks.append([self._at(j, _call_pairs, call, is_spooled, asked, place, *piece)])
                continue
            tasks.append(
                [
                    self._at(i, _call_pairs, call, is_spooled, [one], place, *piece)
                    for i, one in zip(tile, asked, strict=True)
                ]
            )
        return tasks

    def joined(self, join: Callable[..., Any], node: Node, groups: Sequence[range]) -> Node:
        self.compute(node)
        bundles, place = self._bundles(node), node.place
        return Joined(
            bundles=[
                self._at(g[0], _join_pieces, join, self.is_spooled, place, [bundles[i] for i in g])
                for g in groups
            ]
        )

    def start(
        self, program: Program, inputs: list[list[Any]], combines: Combines
    ) -> tuple[list[Any], list[Any]]:
        bundles, parts = [], []
        for i, group in enumerate(self._groups):
            work = program, combines, len(group), self.is_spooled, *(each[i] for each in inputs)
            parts.append(self._at(group[0], _run_group, *work))
            if program.kept:
                bundles.append(self._at(group[0], _kept, parts[-1], *work))
        return bundles, parts

    def finish(self, parts: list[Any], combines: Combines) -> Values:
        found = tree(lambda a, b: self._submit(_combined, combines, a, b), parts, FEW)
        values = map(_reduced, self._gather(found))
        return tree(lambda a, b: combine_all(combines, a, b), list(values))[0]

    def _gather(self, futures: list[Any]) -> list[Any]:
        try:
            return self.client.gather(futures)
        except Exception as error:
            if type(error).__name__ in LOST or self.client.status != "running":
                raise ClusterLostError(
                    f"the Dask cluster was lost during the fit ({type(error).__name__}: {error}); "
                    "start it again and repeat the fit; with fit(..., checkpoint=file) a fit goes "
                    "on where it was"
                ) from error
            raise

    def open(self, array: Any) -> Sharded:
        """Return a Dask array with one chunk a shard; its graph is what lost pieces come from."""
        chunks, found = array.to_delayed().ravel(), {}
        # one shard of each thread at a time: what is read and not yet in its piece stays small
        for k in range(max(map(len, self._groups))):
            some = [group[k] for group in self._groups if k < len(group)]
            for i in some:
                place = {"workers": [self._workers[i]], "allow_other_workers": True}
                read = self.client.compute(chunks[i], **place)
                found[i] = self._at(i, _bundle, read, self.is_spooled)
            if self.is_spooled:
                self._gather([self._at(i, _nothing, found[i]) for i in some])
        groups = [self._at(g[0], Group, [found[i] for i in g]) for g in self._groups]
        return Sharded(self, Node(bundles=groups))

    def _bundles(self, node: Node) -> list[Any]:
        """Return one bundle a piece."""
        assert node.bundles is not None  # the node is computed
        if isinstance(node, Joined):
            return node.bundles
        return [
            self._at(i, _block, bundle, i - group.start)
            for group, bundle in zip(self._groups, node.bundles, strict=True)
            for i in group
        ]

    def _at(self, shard: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a task of a shard to its worker, or to the one that takes its place."""
        return self._submit(function, *arguments, workers=[self._workers[shard]])

    def _submit(self, function: Callable[..., Any], *arguments: Any, **place: Any) -> Any:
        return self.client.submit(function, *arguments, pure=False, key=_key(function), **place)


def _register_placement(client: Any) -> None:
    try:
        client.register_plugin(Placement())
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"the scheduler of the Dask cluster has another version of frobmetric, or none "
            f"({error}); install the same version there, on the workers and here"
        ) from error


def _key(function: Callable[..., Any]) -> str:
    return f"{PREFIX}{function.__name__.strip('_')}-{uuid4().hex}"


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
    engine = DaskEngine(client, len(sizes), len(sizes) > _n_threads(client))
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
    # each thread of a worker holds a shard
    free = min(_free_memory(worker) / worker["nthreads"] for worker in workers)
    by_memory = SHARE * free / (8 * X.shape[1])
    return max(1, int(min(-(-X.shape[0] // _n_threads(client)), by_memory)))


def _n_threads(client: Any) -> int:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(worker["nthreads"] for worker in workers)


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


def _spools(is_spooled: bool) -> Spools | None:
    """Return the spools of this worker, among its temporary files, if pieces are spooled."""
    if not is_spooled:
        return None
    # beside its own folder, which is gone when it ends
    return spools(str(Path(distributed.get_worker().local_directory).parent))


def _bundle(piece: Any, is_spooled: bool) -> Bundle:
    return Bundle(stored([piece], _spools(is_spooled)), ())


def _group(pieces: list[Any], spool: Spools | None) -> Group:
    return Group([Bundle(stored([piece], spool), ()) for piece in pieces])


class Repeated(Sequence[Bundle]):
    """One bundle for all shards of a group; counted once where Dask adds up sizes."""

    def __init__(self, bundle: Bundle, n: int) -> None:
        self._bundle, self._n = bundle, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, number: Any) -> Any:
        return self._bundle

    def __sizeof__(self) -> int:
        return sizeof(self._bundle)


def _copies(piece: Any, n_blocks: int) -> Group:
    return Group(Repeated(Bundle((piece,), ()), n_blocks))


def _nothing(bundle: Bundle) -> None:
    """Return nothing, when the bundle is there."""


def _block(group: Group, number: int) -> Bundle:
    return group.bundles[number]._replace(kept=Parcel(group.bundles[number].kept))


def _run_group(
    program: Program, combines: Combines, n_blocks: int, is_spooled: bool, *inputs: Group
) -> Outcome:
    """Execute a program on the pieces of each shard of a group."""
    spool, bundles = _spools(is_spooled), []

    def each() -> Iterator[Values]:
        for number in range(n_blocks):
            kept, reduced = run(program, *(group.bundles[number] for group in inputs))
            bundles.append(Bundle(stored(kept, spool), ()))
            del kept
            yield reduced

    total = reduce(partial(combine_all, combines), each())  # in order; few are held at a time
    return Outcome(Group(bundles), total)


def _kept(outcome: Outcome, *work: Any) -> Group:
    """Return the pieces that a task keeps; execute it again if they are in another process."""
    group = outcome.group or _run_group(*work).group
    assert group is not None
    return group


def _combined(combines: Combines, *parts: Any) -> Values:
    return combine_all(combines, *map(_reduced, parts))


def _reduced(part: Any) -> Values:
    return part.reduced if isinstance(part, Outcome) else part


def _call_pairs(
    function: Callable[..., Any],
    is_spooled: bool,
    lefts: list[Bundle],
    i: int,
    right: Bundle,
    j: int,
) -> Any:
    piece = loaded(right.kept[j])
    parts = (function(loaded(left.kept[i]), piece) for left in lefts)
    return Parcel(stored(parts, _spools(is_spooled)))


def _join(
    join: Callable[..., Any], is_spooled: bool, k: int, parts: list[list[Any]], *beside: Any
) -> Bundle:
    """Join the k-th results of tiles; the others are bundles with the places of their pieces."""
    others = zip(beside[::2], beside[1::2], strict=True)
    pieces = (loaded(bundle.kept[place]) for bundle, place in others)
    return _bundle(join([loaded(part[k]) for part in parts], *pieces), is_spooled)


def _join_pieces(
    join: Callable[..., Any], is_spooled: bool, place: int, bundles: list[Bundle]
) -> Bundle:
    joined = _bundle(join([loaded(bundle.kept[place]) for bundle in bundles]), is_spooled)
    return joined._replace(kept=Parcel(joined.kept))
