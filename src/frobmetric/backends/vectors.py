"""Sharded vectors: arrays of which each shard has a piece, used like arrays of NumPy.

Losses, problems and solvers are written for arrays. They run on sharded ones as they are, because
NumPy hands its functions over to arrays of other kinds. Entry by entry operations are lazy; sums
are numbers of kind `Deferred`. Only `BroughtRows` brings values to one place, and few of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .engine import Deferred, Engine, Node, Pairs


class Sharded(NDArrayOperatorsMixin):
    """Array in pieces along one axis, one a shard; the engine knows where they are.

    Also used for pieces that are not arrays, such as the constraints of a shard: `map` works on
    them too.
    """

    ndim = 1

    def __init__(self, engine: Engine, node: Node) -> None:
        self.engine, self.node = engine, node
        node.n_handles += 1

    def light(self) -> Sharded:
        """Declare that the pieces are to be computed when they are needed, not kept."""
        self.node.is_light = True
        return self

    def __del__(self) -> None:
        self.node.n_handles -= 1

    @classmethod
    def put(cls, engine: Engine, pieces: list[Any]) -> Sharded:
        """Return a sharded array of pieces that exist."""
        return cls(engine, engine.put(pieces))

    def map(self, function: Callable[..., Any], *others: Any) -> Sharded:
        """Return function(piece, *others) of every shard; others may be sharded too."""
        return map_shards(function, self, *others)

    def reduce(self, combine: Callable[[Any, Any], Any], function: Callable[..., Any]) -> Deferred:
        """Return function(piece) of all shards, combined."""
        return reduce_shards(combine, function, self)

    def pairwise(self, pairs: Pairs, other: Sharded, *beside: Sharded) -> Sharded:
        """Return `pairs` of the pieces of this and the other, with pieces of more beside them."""
        nodes = [each.node for each in beside]
        return Sharded(self.engine, self.engine.pairwise(pairs, self.node, other.node, nodes))

    def joined(self, join: Callable[..., Any], groups: Sequence[range]) -> Sharded:
        """Return join([pieces]) of groups of shards, as the other one of `pairwise`."""
        return Sharded(self.engine, self.engine.joined(join, self.node, groups))

    def share(self, value: Any) -> Sharded:
        """Return a constant, such as a matrix, that all shards have."""
        return Sharded(self.engine, self.engine.share(value))

    def __len__(self) -> int:
        return int(self.reduce(operator.add, len).get())

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    @property
    def size(self) -> int:
        return len(self)

    def copy(self) -> Sharded:
        return Sharded(self.engine, self.node)

    def sum(self) -> Deferred:
        return self.reduce(operator.add, np.sum)

    def any(self) -> Deferred:
        return self.reduce(operator.or_, np.any)

    def all(self) -> Deferred:
        return self.reduce(operator.and_, np.all)

    def max(self, initial: float = -np.inf) -> Deferred:
        return reduce_shards(max, _max, self, initial)

    def __getitem__(self, rows: Sharded) -> Any:
        if isinstance(rows, BroughtRows):
            return rows.take(self)
        return map_shards(operator.getitem, self, rows)

    def __setitem__(self, rows: Sharded, values: Any) -> None:
        if isinstance(rows, BroughtRows):
            values = rows.split(values)
        changed = map_shards(_put, self, rows, values)
        self.node.n_handles -= 1
        self.node = changed.node
        self.node.n_handles += 1

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("a sharded vector is not brought to one place; map or reduce it")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if ufunc is np.matmul and isinstance(inputs[0], Sharded):
            return reduce_shards(operator.add, np.dot, *inputs)
        return map_shards(ufunc, *inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function in ENTRYWISE:
            return map_shards(function, *inputs, **options)
        if function in SUMS and not options:
            return reduce_shards(operator.add, function, *inputs)
        if function is np.stack:
            return map_shards(_stack, *inputs[0])
        if function is np.array_equal:
            return bool(reduce_shards(operator.and_, np.array_equal, *inputs))
        return NotImplemented


class BroughtRows(Sharded):
    """Row numbers of each shard, whose values are brought to memory: there are few of them.

    Parameters
    ----------
    rows : Sharded
    sizes : list of int
        Number of rows of each shard.
    """

    def __init__(self, rows: Sharded, sizes: list[int]) -> None:
        super().__init__(rows.engine, rows.node)
        self.sizes = sizes

    def __len__(self) -> int:
        return sum(self.sizes)

    def take(self, vector: Sharded) -> np.ndarray:
        """Return the values in these rows as an array."""
        parts = map_shards(_taken, vector, self).reduce(operator.add, _same)
        return np.concatenate(parts.get())

    def split(self, values: np.ndarray) -> Sharded:
        """Return values of all these rows as a sharded vector."""
        return Sharded.put(self.engine, np.split(values, np.cumsum(self.sizes)[:-1]))


#: Functions of NumPy whose result has the pieces of their arguments.
ENTRYWISE = frozenset({np.clip, np.where, np.zeros_like, np.ones_like, np.flatnonzero})
#: Functions of NumPy whose result is the sum over the pieces.
SUMS = frozenset({np.sum, np.vdot, np.dot, np.inner, np.count_nonzero})


def map_shards(function: Callable[..., Any], *arguments: Any, **options: Any) -> Sharded:
    """Return function(*arguments) of every shard, with the pieces of sharded arguments."""
    engine, node = _call(function, arguments, options)
    return Sharded(engine, node)


def reduce_shards(
    combine: Callable[[Any, Any], Any], function: Callable[..., Any], *arguments: Any
) -> Deferred:
    """Return function(*arguments) of all shards, combined."""
    engine, node = _call(function, arguments, {})
    return engine.defer(combine, node)


def _call(function: Any, arguments: tuple[Any, ...], options: Any) -> tuple[Engine, Node]:
    engine = next(each.engine for each in arguments if isinstance(each, Sharded))
    function = WithOptions(function, options) if options else function
    return engine, Node(function, tuple(map(_argument, arguments)))


def _argument(value: Any) -> Any:
    if isinstance(value, Sharded):
        return value.node
    return value.get() if isinstance(value, Deferred) else value


class WithOptions:
    """A function with keyword arguments, which can be sent to another process."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments, **self.options)


def _max(piece: Any, initial: float) -> float:
    return float(np.max(piece, initial=initial))


def _taken(values: Any, rows: Any) -> list[Any]:
    return [values[rows]]


def _same(piece: Any) -> Any:
    return piece


def _put(values: Any, rows: Any, new: Any) -> Any:
    changed = values.copy()
    changed[rows] = new
    return changed


def _stack(*pieces: Any) -> Any:
    return np.stack(pieces)
