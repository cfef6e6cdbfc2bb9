"""Constraints made of others: different ones on each block, or one below the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import as_sequence, require_parts
from .cones import Cone, Product
from .losses import split_rows
from .matrices import Constraints, Sparse
from .points import Blocks, Data, Index, Point, Rows, Symmetric, Vector, as_dense
from .rational import Row
from .rounding import gamma

#: Words for an error about something else among the parts of a stack.
PART = {"name": "a part", "expected": "constraints such as Pairs or Triplets"}


class Beside(Constraints):
    """Different constraints on each block: row r is the sum of row r of all blocks.

    The elements are those of the product of the blocks' cones.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import PSD, Pairs
    >>> from frobmetric.core.stacking import Beside
    >>> parts = [Pairs(np.eye(3), np.array([pair])) for pair in ([0, 1], [0, 2])]
    >>> both = Beside(parts, [PSD(3), PSD(3)])
    >>> blocks = np.concatenate([np.eye(3).ravel(), 3 * np.eye(3).ravel()])
    >>> both.shape, both.forward(blocks).tolist()
    ((1, 18), [8.0])
    """

    def __init__(self, parts: Sequence[Constraints], cones: Sequence[Cone]) -> None:
        self.parts, self.cone = tuple(parts), Product(tuple(cones))
        self.shape = (self.parts[0].shape[0], self.cone.shape[0])

    def forward(self, M: Point | Symmetric) -> Vector:
        blocks: Iterable[Any] = M.parts if isinstance(M, Blocks) else self.cone.parts(as_dense(M))
        pairs = zip(self.parts, blocks, strict=True)
        return np.sum([part.forward(block) for part, block in pairs], axis=0)

    def adjoint(self, u: Vector) -> Symmetric:
        return np.concatenate([part.adjoint(u).ravel() for part in self.parts])

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        assert isinstance(M, Blocks)
        pairs = zip(self.parts, M.parts, strict=True)
        values, errors = zip(*(part.forward_bound(block) for part, block in pairs), strict=True)
        error = np.sum(errors, axis=0) + gamma(len(values)) * np.sum(np.abs(values), axis=0)
        return np.sum(values, axis=0), error

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        return sum(part.adjoint_error(u, n_more) for part in self.parts)

    def restrict(self, rows: Rows) -> Beside:
        return Beside([part.restrict(rows) for part in self.parts], self.cone.cones)

    def norms(self) -> Vector:
        return np.sqrt(np.sum([part.norms() ** 2 for part in self.parts], axis=0))

    def default_cone(self) -> Cone:
        return self.cone

    def as_sparse(self) -> Sparse | None:
        rows = _sparse_rows(self.parts)
        return Sparse(sp.hstack(rows), Product(self.cone.blocks())) if rows else None

    def as_exact(self, most: int) -> list[Row] | None:
        made: list[Row] = [{} for _ in range(self.shape[0])]
        first = 0
        for part, cone in zip(self.parts, self.cone.cones, strict=True):
            rows = part.as_exact(most)
            if rows is None:
                return None
            for row, more in zip(made, rows, strict=True):
                row |= {first + place: value for place, value in more.items()}
            first += int(np.prod(cone.shape))
        return made


class Stack(Constraints):
    """Several kinds of rows, one below the other.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.core import Pairs, Stack
    >>> X = np.eye(3)
    >>> Stack([Pairs(X, np.array([[0, 1]])), Pairs(X, np.array([[1, 2], [0, 2]]))]).shape
    (3, 3)
    """

    def __init__(self, parts: Sequence[Constraints]) -> None:
        self.parts = tuple(as_sequence(parts, name="parts", expected="a list of constraints"))
        if not self.parts:
            raise ValueError("parts is empty; expected constraints to stack; give at least one")
        for part in self.parts:
            require_parts(part, ("shape", "forward", "adjoint"), **PART)
        if len({part.shape[1] for part in self.parts}) > 1:
            raise ValueError(
                f"parts have the shapes {[part.shape for part in self.parts]}; expected equal "
                "numbers of features; give constraints on one matrix"
            )
        self._sizes = [part.shape[0] for part in self.parts]
        self.shape = (sum(self._sizes), self.parts[0].shape[1])

    def forward(self, M: Point | Symmetric) -> Vector:
        return np.concatenate([part.forward(M) for part in self.parts])

    def adjoint(self, u: Vector) -> Symmetric:
        return np.sum([part.adjoint(run) for part, run in self._runs(u)], axis=0)

    def forward_bound(self, M: Point) -> tuple[Vector, Vector]:
        values, errors = zip(*(part.forward_bound(M) for part in self.parts), strict=True)
        return np.concatenate(values), np.concatenate(errors)

    def adjoint_error(self, u: Vector, n_more: int = 0) -> float:
        n_more += len(self.parts)
        return sum(part.adjoint_error(run, n_more) for part, run in self._runs(u))

    def restrict(self, rows: Rows) -> Stack:
        runs = split_rows(rows, self._sizes)
        return Stack([part.restrict(run) for part, run in zip(self.parts, runs, strict=True)])

    def norms(self) -> Vector:
        return np.concatenate([part.norms() for part in self.parts])

    def default_cone(self) -> Cone:
        return self.parts[0].default_cone()

    def as_sparse(self) -> Sparse | None:
        rows, first = _sparse_rows(self.parts), self.parts[0].as_sparse()
        return Sparse(sp.vstack(rows), first.cone) if rows and first is not None else None

    def as_exact(self, most: int) -> list[Row] | None:
        found = [each for part in self.parts if (each := part.as_exact(most)) is not None]
        return [row for rows in found for row in rows] if len(found) == len(self.parts) else None

    def leaves(self) -> tuple[Constraints, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves())

    def as_quadruplets(self) -> tuple[Data, Index] | None:
        found = [each for part in self.parts if (each := part.as_quadruplets()) is not None]
        points, rows = zip(*found, strict=True) if len(found) == len(self.parts) else ((), ())
        is_shared = bool(points) and all(_are_equal(X, points[0]) for X in points)
        return (points[0], np.concatenate(rows)) if is_shared else None

    def _runs(self, u: Vector) -> Iterable[tuple[Constraints, Vector]]:
        return zip(self.parts, np.split(u, np.cumsum(self._sizes)[:-1]), strict=True)


def _are_equal(X: Data, other: Data) -> bool:
    """Return whether two arrays, or two sparse matrices, hold the same samples."""
    return X is other or (X.shape == other.shape and not (other != X).sum())


def _sparse_rows(parts: Sequence[Constraints]) -> list[sp.csr_array]:
    """Return the rows of each part as a sparse matrix; none if a part has no sparse form."""
    sparse = [part.as_sparse() for part in parts]
    return [] if None in sparse else [part.rows for part in sparse if part is not None]
