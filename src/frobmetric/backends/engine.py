"""Engines: where the pieces of sharded data are, and how functions of them are computed.

A `Node` stands for one piece a shard: rows of data, constraints, a part of u. Nodes are lazy. A
reduction, such as a sum over all shards, makes an engine compute what it needs by one task a shard
and brings back nothing but the reduced values. Functions of pieces must be pure, so that a lost
piece can be computed again, and reductions combine the shards by a tree in fixed order, so that
results are repeatable.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from weakref import ReferenceType, ref

import numpy as np

from .spool import Spools, loaded

#: Bytes from which on the arrays of a piece are worth a file of their own.
MAPPED = 1 << 16
#: Reduced values of a shard, or of several.
Values = tuple[Any, ...]
#: Functions that combine them.
Combines = tuple[Callable[..., Any], ...]


class Program(NamedTuple):
    """Steps of one task of a shard, the same for all shards.

    Values are numbered: first the inputs, pieces that were computed before, as (bundle, place);
    then one for each step, a function with the numbers of its arguments; constants are arguments
    that stand for themselves.
    """

    inputs: tuple[tuple[int, int], ...]
    steps: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]
    kept: tuple[int, ...]
    reduced: tuple[int, ...]


class Value(NamedTuple):
    """Number of a value of a program, as an argument."""

    number: int


class Bundle(NamedTuple):
    """Result of a task: pieces that stay where they are, and values to reduce."""

    kept: tuple[Any, ...]
    reduced: tuple[Any, ...]


def run(program: Program, *bundles: Bundle) -> Bundle:
    """Execute a program on the pieces of one shard; values are dropped after their last use."""
    values = [loaded(bundles[bundle].kept[place]) for bundle, place in program.inputs]
    last = _last_uses(program)
    for step, (function, arguments) in enumerate(program.steps):
        found = [values[a.number] if isinstance(a, Value) else a for a in arguments]
        for number in last.get(step, ()):
            values[number] = None
        values.append(function(*found))
        del found
    return Bundle(
        tuple(values[number] for number in program.kept),
        tuple(values[number] for number in program.reduced),
    )


def _last_uses(program: Program) -> dict[int, list[int]]:
    """Return the numbers of the values that each step uses last, without those of the result."""
    last = {
        argument.number: step
        for step, (_, arguments) in enumerate(program.steps)
        for argument in arguments
        if isinstance(argument, Value)
    }
    uses: dict[int, list[int]] = {}
    for number in last.keys() - {*program.kept, *program.reduced}:
        uses.setdefault(last[number], []).append(number)
    return uses


def combine_all(combines: Sequence[Callable[..., Any]], a: Values, b: Values) -> Values:
    """Combine the reduced values of two shards."""
    return tuple(combine(x, y) for combine, x, y in zip(combines, a, b, strict=True))


def tree(combine: Callable[[Any, Any], Any], parts: Sequence[Any], most_left: int = 1) -> list[Any]:
    """Combine parts pairwise until few are left, in an order that does not depend on time."""
    parts = list(parts)
    while len(parts) > most_left:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts


@dataclass(eq=False)
class Node:
    """One piece a shard: computed, or a function of other nodes.

    `bundles` has the computed pieces, one bundle a shard or a future of several, as the engine
    keeps them.

    `n_handles` counts the variables that refer to it: without any, its pieces are only steps on
    the way to others and are not kept. Those of a light node are cheaper to compute again than to
    keep, such as rows that are read from a file.
    """

    function: Any = None
    arguments: tuple[Any, ...] = ()
    bundles: list[Any] | None = None
    place: int = 0
    n_handles: int = 0
    is_light: bool = False

    @property
    def is_computed(self) -> bool:
        return self.bundles is not None

    @property
    def is_kept(self) -> bool:
        """Whether its pieces are kept once they are computed on the way to others."""
        return self.n_handles > 0 and not self.is_light


class Reduction(NamedTuple):
    """A value of each shard, and the function that combines two of them."""

    combine: Callable[[Any, Any], Any]
    node: Node


class Pairs(NamedTuple):
    """Function of pairs of shards: piece i of the result is join([function(left i, right j)], ...).

    The list is in the order of j; other arguments of `join` are pieces of shard i.
    """

    function: Callable[..., Any]
    join: Callable[..., Any]
    #: Numbers j, all of the right node if None.
    among: Sequence[int] | None = None
    #: Whether results are computed where the right piece is, because they are small beside it.
    at_right: bool = False


class Deferred:
    """Number, or small array, that is reduced over all shards; computed when it is first used.

    It then is computed together with all others that are still open. Sums, products and so on of
    deferred numbers are deferred too; to compare them is to use them.
    """

    def __init__(self, compute: Callable[[], Any], reduction: Reduction | None = None) -> None:
        self._compute, self.reduction = compute, reduction

    def get(self) -> Any:
        """Return the value."""
        if not hasattr(self, "value"):
            found = self._compute()  # a flush sets the value itself
            self.value = getattr(self, "value", found)
        return self.value

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.get(), dtype=dtype)


def _values(operands: Sequence[Any]) -> list[Any]:
    return [each.get() if isinstance(each, Deferred) else each for each in operands]


def _define(name: str, function: Callable[..., Any], *, is_lazy: bool) -> None:
    """Define an operator of deferred numbers, and the one with exchanged operands."""

    def direct(*operands: Any) -> Any:
        if is_lazy:
            return Deferred(lambda: function(*_values(operands)))
        return function(*_values(operands))

    setattr(Deferred, f"__{name}__", direct)
    setattr(Deferred, f"__r{name}__", lambda *operands: direct(*operands[::-1]))


for _name in ("add", "sub", "mul", "truediv", "neg", "abs"):
    _define(_name, getattr(operator, _name), is_lazy=True)
for _name in ("lt", "le", "gt", "ge"):
    _define(_name, getattr(operator, _name), is_lazy=False)


@dataclass(eq=False)
class Engine:
    """Base of engines: it plans the tasks; a derived class runs them.

    A derived class has `start(program, inputs, combines) -> bundles, parts`, which begins the work
    of all shards, and `finish(parts, combines) -> values`, which waits for the reduced values.
    """

    n_shards: int
    #: Whether the pieces are in other processes, so that each message takes its time.
    is_remote: ClassVar[bool] = False
    _open: list[ReferenceType[Deferred]] = field(default_factory=list)

    def put(self, pieces: Sequence[Any]) -> Node:
        """Return a node of pieces that exist, one a shard."""
        raise NotImplementedError

    def share(self, value: Any) -> Node:
        """Return a node that is the same value in every shard, such as a matrix."""
        # a constant of the steps that use it
        return Node(_same, (value,))

    def pairwise(self, pairs: Pairs, left: Node, right: Node, beside: Sequence[Node] = ()) -> Node:
        """Return the node of `pairs` of the pieces of two nodes; those of others stand beside."""
        raise NotImplementedError

    def joined(self, join: Callable[..., Any], node: Node, groups: Sequence[range]) -> Node:
        """Return a node of join([pieces of a group of shards]) for `pairwise`, on the right."""
        raise NotImplementedError

    def start(
        self, program: Program, inputs: list[list[Any]], combines: Combines
    ) -> tuple[list[Any], list[Any]]:
        """Begin the work of all shards; return bundles of what is kept, and parts to finish."""
        raise NotImplementedError

    def finish(self, parts: list[Any], combines: Combines) -> Values:
        """Return the combined reduced values."""
        raise NotImplementedError

    def defer(self, combine: Callable[[Any, Any], Any], node: Node) -> Deferred:
        """Return a value that is reduced over all shards when it is first used."""
        deferred = Deferred(self.flush, Reduction(combine, node))
        self._open.append(ref(deferred))
        return deferred

    def compute(self, *nodes: Node) -> None:
        """Begin to compute some nodes, each in bundles of its own, without waiting for them.

        What they need and is kept, such as rows of which they are short copies, is computed first:
        pieces in one bundle are sent together.
        """
        for node in nodes:
            before = [each for each in _steps([node]) if each.is_kept and each is not node]
            for each in [*before, node]:
                if not each.is_computed:
                    self._run([each], [])

    def flush(self) -> None:
        """Compute all open numbers by one task a shard."""
        waiting = [each for each in (reference() for reference in self._open) if each is not None]
        self._open = []
        combines = tuple(each.reduction.combine for each in waiting if each.reduction)
        parts = self._run([], waiting, combines)
        values = self.finish(parts, combines)
        for each, value in zip(waiting, values, strict=True):
            each.value, each.reduction = value, None

    def _run(
        self, targets: list[Node], reductions: list[Deferred], combines: Combines = ()
    ) -> list[Any]:
        reduced = [each.reduction.node for each in reductions if each.reduction]
        if not targets and not reduced:
            return []
        order = _steps([*targets, *reduced])
        wanted = {id(node) for node in targets}
        worth = [n for n in order if id(n) in wanted or n.is_kept]
        kept = [node for node in worth if not node.is_computed]
        program, inputs = _program(order, kept, reduced)
        bundles, parts = self.start(program, inputs, combines)
        for place, node in enumerate(kept):
            node.bundles, node.place = bundles, place
            node.function, node.arguments = None, ()
        return parts


def _steps(targets: list[Node]) -> list[Node]:
    """Return the targets and all nodes that they need, computed ones included, each once."""
    order: dict[int, Node] = {}

    def visit(node: Node) -> None:
        stack: list[tuple[Node, bool]] = [(node, False)]
        while stack:
            node, is_ready = stack.pop()
            if id(node) in order:
                continue
            if is_ready or node.is_computed:
                order[id(node)] = node
                continue
            stack.append((node, True))
            stack += [(a, False) for a in reversed(node.arguments) if isinstance(a, Node)]

    for target in targets:
        visit(target)
    return list(order.values())


def _program(
    order: list[Node], kept: list[Node], reduced: list[Node]
) -> tuple[Program, list[list[Any]]]:
    """Return the program that computes nodes in this order, and the bundles that it takes."""
    computed = [node for node in order if node.is_computed]
    bundles: dict[int, Any] = {id(node.bundles): node.bundles for node in computed}
    position = {key: i for i, key in enumerate(bundles)}
    inputs = tuple((position[id(node.bundles)], node.place) for node in computed)
    open_nodes = [node for node in order if not node.is_computed]
    numbers = {id(node): i for i, node in enumerate([*computed, *open_nodes])}

    def argument(value: Any) -> Any:
        return Value(numbers[id(value)]) if isinstance(value, Node) else value

    steps = tuple((n.function, tuple(map(argument, n.arguments))) for n in open_nodes)
    places = (tuple(numbers[id(node)] for node in some) for some in (kept, reduced))
    return Program(inputs, steps, *places), list(bundles.values())


def _same(value: Any) -> Any:
    return value


def _n_pieces(node: Node, n_shards: int) -> int:
    """Return the number of pieces of a node, which is another one if it is joined."""
    return n_shards if node.bundles is None else len(node.bundles)


class LocalEngine(Engine):
    """The pieces are in this process, and are computed one after the other.

    Parameters
    ----------
    n_shards : int
    folder : path, optional
        Folder for temporary files. With it the arrays of all pieces that are kept are in files,
        mapped into memory: data may be larger than memory. The files have no names and vanish
        with their pieces.
    """

    def __init__(self, n_shards: int, folder: Any = None) -> None:
        super().__init__(n_shards)
        self.folder = folder

    def put(self, pieces: Sequence[Any]) -> Node:
        return Node(bundles=[Bundle((piece,), ()) for piece in pieces])

    def pairwise(self, pairs: Pairs, left: Node, right: Node, beside: Sequence[Node] = ()) -> Node:
        shards = range(self.n_shards)
        among = range(_n_pieces(right, self.n_shards)) if pairs.among is None else pairs.among

        def joined(i: int, parts: list[Any]) -> Bundle:
            others = (self._piece(node, i) for node in beside)
            return self._stored(Bundle((pairs.join(parts, *others),), ()))

        if not pairs.at_right:
            bundles = []
            for i in shards:
                piece = self._piece(left, i)
                parts = [pairs.function(piece, self._piece(right, j)) for j in among]
                bundles.append(joined(i, parts))
            return Node(bundles=bundles)
        asked = [self._piece(left, i) for i in shards]
        found: list[list[Any]] = [[] for _ in shards]
        for j in among:
            piece = self._piece(right, j)
            for i in shards:
                part = Bundle((pairs.function(asked[i], piece),), ())
                found[i].append(self._stored(part).kept[0])
        return Node(bundles=[joined(i, parts) for i, parts in enumerate(found)])

    def joined(self, join: Callable[..., Any], node: Node, groups: Sequence[range]) -> Node:
        pieces = (join([self._piece(node, i) for i in group]) for group in groups)
        return Node(bundles=[self._stored(Bundle((piece,), ())) for piece in pieces])

    def start(
        self, program: Program, inputs: list[list[Any]], combines: Combines
    ) -> tuple[list[Any], list[Any]]:
        shards = range(self.n_shards)
        found = [self._stored(run(program, *(bundles[i] for bundles in inputs))) for i in shards]
        return found, [bundle.reduced for bundle in found]

    def finish(self, parts: list[Any], combines: Combines) -> Values:
        return tree(lambda a, b: combine_all(combines, a, b), parts)[0]

    def _piece(self, node: Node, i: int) -> Any:
        """Return the piece of one shard, which is not kept."""
        program, inputs = _program(_steps([node]), [node], [])
        return run(program, *(bundles[i] for bundles in inputs)).kept[0]

    def _stored(self, bundle: Bundle) -> Bundle:
        if self.folder is None:
            return bundle
        # a file for each bundle: it vanishes with the arrays, which stay mapped
        return bundle._replace(kept=loaded(Spools(self.folder, MAPPED).store(bundle.kept)))
