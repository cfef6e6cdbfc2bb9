"""Exact rational arithmetic on small problems: rows, linear equations and bases of subspaces.

A float64 is a rational number, so that a problem is one of rational numbers as it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import TypeAlias

import numpy as np
import scipy.linalg

from .rounding import Array

#: One row of a linear map: its entries that are not zero, by their places.
Row: TypeAlias = dict[int, Fraction]

#: Singular rows and columns, relative to the largest: first where data are rounded, then exact.
DEPENDENT = (1e-10, 1e-14)
#: Largest denominator of an entry of a rational basis, and its largest distance to the given one.
SIMPLE, NEAR = 100, 1e-6
#: Largest order of a matrix that is eliminated, times the digits of its numbers in bits.
MOST_BITS = 20_000


def as_row(places: Iterable[int], values: Iterable[Fraction | float]) -> Row:
    """Return a row with these entries; entries at one place are added up."""
    row: Row = {}
    for place, value in zip(places, values, strict=True):
        row[place] = row.get(place, Fraction()) + Fraction(value)
    return {place: value for place, value in row.items() if value}


def combine(rows: Sequence[Row], weights: Iterable[Fraction]) -> Row:
    """Return the sum of rows times weights."""
    total: Row = {}
    for row, weight in zip(rows, weights, strict=True):
        for place, value in row.items() if weight else ():
            total[place] = total.get(place, Fraction()) + weight * value
    return {place: value for place, value in total.items() if value}


def dot(row: Row, x: Mapping[int, Fraction] | Sequence[Fraction]) -> Fraction:
    """Return the inner product of a row and a vector."""
    return sum((value * x[place] for place, value in row.items()), Fraction())


def outer_row(vectors: Iterable[Sequence[Fraction]], weights: Iterable[Fraction]) -> Row:
    """Return the sum of weight f f.T over the vectors f, flattened."""
    total: Row = {}
    for f, weight in zip(vectors, weights, strict=True):
        used = [i for i, value in enumerate(f) if value and weight]
        for i in used:
            for j in used:
                place = i * len(f) + j
                total[place] = total.get(place, Fraction()) + weight * f[i] * f[j]
    return {place: value for place, value in total.items() if value}


def nearest_solution(
    rows: Sequence[Row], sides: Sequence[Fraction], guess: Array
) -> list[Fraction] | None:
    """Return an exact solution of linear equations near an approximate one, None if none is found.

    As many unknowns as there are independent equations are moved; the others are as guessed. Which
    ones these are is computed in float64, and all equations are checked in exact arithmetic.
    """
    used = [k for k, row in enumerate(rows) if row]
    if any(side and not row for row, side in zip(rows, sides, strict=True)):
        return None
    if not used:
        return [Fraction(value) for value in guess.tolist()]
    dense = np.zeros((len(used), len(guess)))
    for k, row in zip(range(len(used)), (rows[k] for k in used), strict=True):
        top = max(map(abs, row.values()))
        dense[k, list(row)] = [float(value / top) for value in row.values()]
    _, reduced, order = scipy.linalg.qr(dense.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(reduced))
    for rank in dict.fromkeys(int(np.count_nonzero(sizes > t * sizes[0])) for t in DEPENDENT):
        some = np.sort(order[:rank])
        moved = scipy.linalg.qr(dense[some], mode="r", pivoting=True)[1][:rank].tolist()
        x = _solve_for([rows[used[k]] for k in some], [sides[used[k]] for k in some], moved, guess)
        pairs = zip(rows, sides, strict=True)
        if x is not None and all(dot(row, x) == side for row, side in pairs):
            return x
    return None


def _solve_for(
    rows: Sequence[Row], sides: Sequence[Fraction], moved: Sequence[int], guess: Array
) -> list[Fraction] | None:
    """Return the solution of as many equations in these unknowns, the others as guessed."""
    x = [Fraction(value) for value in guess.tolist()]
    for place in moved:
        x[place] = Fraction()
    square = [[row.get(place, Fraction()) for place in moved] for row in rows]
    left = [side - dot(row, x) for row, side in zip(rows, sides, strict=True)]
    found = _solve_square(square, left)
    if found is None:
        return None
    for place, value in zip(moved, found, strict=True):
        x[place] = value
    return x


def _solve_square(
    square: Sequence[Sequence[Fraction]], right: Sequence[Fraction]
) -> list[Fraction] | None:
    """Solve by Bareiss' elimination, whose numbers are integers without common factors to find."""
    m, n, before = (
        [_as_integers([*row, c]) for row, c in zip(square, right, strict=True)],
        len(right),
        1,
    )
    for k in range(n):
        pivot = next((i for i in range(k, n) if m[i][k]), None)
        if pivot is None:
            return None
        m[k], m[pivot] = m[pivot], m[k]
        top = m[k]
        for i in range(k + 1, n):
            row, factor = m[i], m[i][k]
            m[i] = [(top[k] * row[j] - factor * top[j]) // before for j in range(n + 1)]
        before = top[k]
    x = [Fraction()] * n
    for k in reversed(range(n)):
        x[k] = (m[k][n] - sum((m[k][j] * x[j] for j in range(k + 1, n)), Fraction())) / m[k][k]
    return x


def _as_integers(row: Sequence[Fraction]) -> list[int]:
    """Return the smallest integers that are a multiple of a row."""
    unit = lcm(*(value.denominator for value in row))
    whole = [int(value * unit) for value in row]
    common = gcd(*whole) or 1
    return [value // common for value in whole]


def is_semidefinite(entries: Mapping[tuple[int, int], Fraction], n: int) -> bool:
    """Return whether a symmetric matrix has no negative eigenvalue, False if that takes too long.

    Bareiss' elimination keeps integers, each of which is a minor of the matrix.
    """
    flat = [entries.get((i, j), Fraction()) for i in range(n) for j in range(n)]
    whole = _as_integers(flat)
    if n * max((value.bit_length() for value in whole), default=0) > MOST_BITS:
        return False
    m, before = [whole[n * i : n * (i + 1)] for i in range(n)], 1
    for k, top in enumerate(m):
        pivot = top[k]
        if pivot < 0 or (pivot == 0 and any(top[k + 1 :])):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, n):
            row, factor = m[i], m[i][k]
            m[i] = [(pivot * a - factor * c) // before for a, c in zip(row, top, strict=True)]
        before = pivot
    return True


class Basis:
    """A rational basis V of a subspace, with the identity in its rows `pivots`.

    `rows[i]` holds the entries of row i of V that are not zero.
    """

    def __init__(self, rows: list[Row], pivots: list[int]) -> None:
        self.rows, self.pivots = rows, pivots
        self.others = [i for i in range(len(rows)) if i not in set(pivots)]

    @classmethod
    def near(cls, vectors: Array) -> Basis | None:
        """Return a basis with simple entries near that of some columns, None if there is none."""
        n, k = vectors.shape
        if k == n:
            return cls([{i: Fraction(1)} for i in range(n)], list(range(n)))
        if k == 0:
            return cls([{} for _ in range(n)], [])
        pivots = np.sort(scipy.linalg.qr(vectors.T, mode="r", pivoting=True)[1][:k])
        shares = np.linalg.solve(vectors[pivots].T, vectors.T).T
        rows = [as_row(range(k), map(_simple, row)) for row in shares.tolist()]
        for column, place in enumerate(pivots):
            rows[place] = {column: Fraction(1)}
        simple = np.array([[float(row.get(j, 0)) for j in range(k)] for row in rows])
        is_near = np.abs(simple.reshape(n, k) - shares) <= NEAR * (1 + np.abs(shares))
        return cls(rows, [int(place) for place in pivots]) if is_near.all() else None

    def columns(self) -> list[Row]:
        """Return the columns of V."""
        made: list[Row] = [{} for _ in self.pivots]
        for i, row in enumerate(self.rows):
            for column, value in row.items():
                made[column][i] = value
        return made


def _simple(value: float) -> Fraction:
    return Fraction(value).limit_denominator(SIMPLE) if abs(value) < SIMPLE else Fraction(value)


def as_float(value: Fraction) -> float:
    """Return the nearest float64, an infinite one beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
