"""Rays: what proves that an SDP has no answer, and what only bounds its answers.

Nothing that a search found is trusted. A ray is a proof if float64 with every rounding error
bounded says so, or exact rational arithmetic; before it fails, a ray that misses by little is
moved: towards the inside of the cone, or onto equations that hold exactly. A ray that is no proof
still bounds every feasible answer from below.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..core import PSD, FrobeniusSDP, Nonnegative, Sparse
from ..core.bounds import lowest_eigenvalue
from ..core.cones import Cone
from ..core.points import Array, Symmetric, Vector
from ..core.rational import (
    Basis,
    Row,
    as_float,
    as_row,
    combine,
    dot,
    is_semidefinite,
    nearest_solution,
)
from ..core.rounding import EPS, TINY, gamma, inner, norm
from ..solvers.plain import gram_solver, senses, targets

#: Most entries of rows, and of equations, that are computed with in rational numbers.
MOST_EXACT, MOST_EQUATIONS = 200_000, 400_000
#: Most unknowns that are solved for in rational numbers: time grows with the fourth power.
MOST_MOVED = 120
#: Most rows whose matrix A A* is decomposed.
MOST_ROWS = 2000
#: Shares of the largest eigenvalue up to which others are tried as zeros.
ZEROS = (1e-9, 1e-6, 1e-4)
#: Share of the size of a row up to which it is tried as an equation.
TIGHT = 1e-6
#: Denominators of multipliers that are tried.
SIMPLE = (12, 1000)
#: Smallest bound on feasible answers that is worth telling.
NEARLY = 1e3

FLOATS = "float64, all rounding errors bounded"
EXACT = "exact rational arithmetic"
BESIDE = "float64, all rounding errors bounded, for a ray beside this one"


@dataclass(frozen=True)
class Ray:
    """A ray of the problem as given, and what it proves.

    Attributes
    ----------
    kind : {"primal_infeasible", "dual_infeasible"}
    vector : ndarray
        y with b.y = 1 and A*(y) without positive eigenvalues, or X in the cone with A X = 0 and
        <C, X> = -1, both up to rounding.
    error : float
        0 for a proof. Otherwise every feasible X has a trace of at least 1 / error, or every
        feasible y a norm of at least 1 / error.
    reason : str
        Arithmetic in which the proof was checked; empty if this is no proof.
    exact : tuple of Fraction, or None
        The y or the flattened X, not scaled, for which the proof holds with no rounding at all.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> ray = solve_sdp(make_sdp(np.zeros((2, 2)), [np.eye(2)], [-1.0])).ray  # the trace is -1
    >>> ray.kind, ray.vector.round(3).tolist(), ray.is_proof
    ('primal_infeasible', [-1.0], True)
    """

    kind: str
    vector: Symmetric = field(repr=False)
    error: float
    reason: str = ""
    exact: tuple[Fraction, ...] | None = field(default=None, repr=False)

    @property
    def least(self) -> float:
        """Trace that every feasible X has at least, or norm of every feasible y."""
        return 1 / self.error if self.error else np.inf

    @property
    def is_proof(self) -> bool:
        """Whether there is no answer at all."""
        return bool(self.reason)

    def __str__(self) -> str:
        if self.is_proof:
            return f"proof in {self.reason}"
        least = round_down(self.least)
        if self.kind == "primal_infeasible":
            return f"nearly infeasible: every feasible X has a trace of at least {least}"
        return f"nearly unbounded: every feasible y has a norm of at least {least}"


def round_down(value: float) -> str:
    """Return two digits of a number that are not above it."""
    rounded = Context(prec=2, rounding=ROUND_FLOOR).create_decimal_from_float(value)
    return f"{float(rounded):.1e}"


def verify_ray(problem: FrobeniusSDP, kind: str, vector: Symmetric) -> Ray | None:
    """Return the proof that a vector, or one near it, gives; None if none is found."""
    if not np.isfinite(vector).all() or not vector.any():
        return None
    is_primal = kind == "primal_infeasible"
    return (_primal_proof if is_primal else _dual_proof)(problem, vector)


def bound_answers(problem: FrobeniusSDP, kind: str, vector: Symmetric) -> Ray | None:
    """Return the bound on feasible answers that a vector gives; None if it says little.

    With b.y = 1 and no eigenvalue of A*(y) above e, 1 = <A*(y), X> <= e tr X for feasible X. With
    X in the cone and <C, X> = -1, 0 <= <C - A*(y), X> = -1 - y.A(X) for feasible y.
    """
    if not np.isfinite(vector).all() or not vector.any():
        return None
    if kind == "primal_infeasible":
        y = _signed(problem, vector)
        value, rounding = inner(targets(problem), y)
        error = problem.constraints.adjoint_error(y)
        broken = -lowest_eigenvalue(problem.cone, -problem.constraints.adjoint(y), error)
        vector = y
    else:
        point = problem.cone.split(vector).positive()
        vector = point.dense()
        value, rounding = inner(-problem.cost, vector)
        rounding += norm(problem.cost) * point.rounding
        moved, errors = problem.constraints.forward_bound(point)
        sense = senses(problem)
        off = np.where(sense == 0, np.abs(moved), np.maximum(0, -sense * moved)) + errors
        broken = norm(off)
    gain = value - rounding
    if not (gain > 0 and 0 < broken < gain / NEARLY):  # NaN is none either
        return None
    return Ray(kind, vector / value, broken / gain * (1 + 8 * EPS))


def power_below(size: float) -> float:
    """Return a power of two, by which division is exact, near a size and not above it."""
    return float(2.0 ** np.floor(np.log2(size)))


def _signed(problem: FrobeniusSDP, y: Vector) -> Vector:
    return np.clip(y, problem.loss.lower, problem.loss.upper)


# Primal infeasible: b.y > 0 and -A*(y) in the cone


def _primal_proof(problem: FrobeniusSDP, vector: Vector) -> Ray | None:
    y = _signed(problem, vector)
    if not y.any():
        return None
    for candidate in (y, _shifted(problem, y)):
        if candidate is not None and _proves_primal(problem, candidate):
            return _primal_ray(problem, candidate, FLOATS, map(Fraction, candidate.tolist()))
    rows = problem.constraints.as_exact(MOST_EXACT)
    for exact in () if rows is None else _exact_multipliers(problem, rows, y):
        y = np.array([as_float(value) for value in exact])
        if np.isfinite(y).all():
            return _primal_ray(problem, y, EXACT, exact)
    return None


def _primal_ray(problem: FrobeniusSDP, y: Vector, reason: str, exact: Iterable[Fraction]) -> Ray:
    gain = float(targets(problem) @ y)
    scaled = y / gain if np.isfinite(gain) and gain > 0 else y
    return Ray("primal_infeasible", scaled, 0.0, reason, tuple(exact))


def _proves_primal(problem: FrobeniusSDP, y: Vector) -> bool:
    value, rounding = inner(targets(problem), y)
    if not value > rounding:
        return False
    A, error, distance = problem.constraints, np.zeros(problem.cone.shape), 0.0
    W, sparse = A.adjoint(y), A.as_sparse()
    if sparse is A and sparse is not None:  # a form of its own may be rounded
        sizes, n_terms = abs(sparse.rows).T @ np.abs(y), (sparse.rows != 0).T @ (y != 0).astype(int)
        most = n_terms.max(initial=0)
        error = (gamma(most + 2) * sizes + most * TINY * (n_terms > 0)).reshape(W.shape)
    else:
        distance = A.adjoint_error(y)
    return is_inside(problem.cone, -W, error, distance)


def _shifted(problem: FrobeniusSDP, y: Vector) -> Vector | None:
    """Return y - t v where A*(v) is positive definite and t is as small as a proof needs."""
    A, sense = problem.constraints, senses(problem)
    v = gram_solver(A)(A.forward(problem.cone.identity()))
    v = np.where(sense * v > 0, 0.0, v)
    if not np.isfinite(v).all():
        return None
    size = lowest_eigenvalue(problem.cone, A.adjoint(v), A.adjoint_error(v))
    error = A.adjoint_error(y)
    lowest = lowest_eigenvalue(problem.cone, -A.adjoint(y), error)
    if not (size > 0 and np.isfinite(lowest)):
        return None
    t = 1.01 * max(0.0, -lowest) / size
    moved = y - t * v
    return _signed(problem, y - (t + 4 * A.adjoint_error(moved) / size) * v)


def _exact_multipliers(
    problem: FrobeniusSDP, rows: list[Row], y: Vector
) -> Iterator[tuple[Fraction, ...]]:
    """Yield exact y near the one given, each of which is a proof."""
    top = float(np.abs(y).max())
    unit = y / top
    rounded = ([Fraction(v).limit_denominator(d) for v in unit.tolist()] for d in SIMPLE)
    for given in ([Fraction(v) for v in y.tolist()], *rounded, *_on_faces(problem, rows, unit)):
        if _is_exact_primal(problem, rows, given):
            yield tuple(given)


def _is_exact_primal(problem: FrobeniusSDP, rows: list[Row], y: Sequence[Fraction]) -> bool:
    lower, upper = problem.loss.lower, problem.loss.upper
    bounds = zip(y, (lower == 0).tolist(), (upper == 0).tolist(), strict=True)
    if any((least and value < 0) or (most and value > 0) for value, least, most in bounds):
        return False
    b = targets(problem).tolist()
    if sum((Fraction(c) * v for c, v in zip(b, y, strict=True) if v), Fraction()) <= 0:
        return False
    return is_exactly_inside(problem.cone, combine(rows, [-value for value in y]))


def _on_faces(problem: FrobeniusSDP, rows: list[Row], y: Vector) -> Iterator[Sequence[Fraction]]:
    """Yield y with b.y = 1 that make A*(y) vanish exactly on subspaces where it nearly does."""
    b, parts = targets(problem), _parts(problem.cone)
    gain = float(b @ y)
    if not gain > 0 or len(y) > MOST_MOVED:
        return
    W, size = problem.constraints.adjoint(y), float(np.abs(y) @ problem.constraints.norms())
    done = set()
    for share in ZEROS:
        bases = _bases(problem.cone, W, share * size, is_null=True)
        free = np.flatnonzero(np.abs(y) > share * np.abs(y).max())
        if bases is None or (key := (len(free), *(len(v.pivots) for v in bases))) in done:
            continue
        done.add(key)
        some = [rows[r] for r in free]
        pairs = zip(parts, bases, strict=True)
        if sum(len(v.pivots) * part.order for part, v in pairs) * len(some) > MOST_EQUATIONS:
            continue
        equations = _vanishing(some, parts, bases)
        equations.append(as_row(range(len(some)), b[free].tolist()))
        sides = [Fraction()] * (len(equations) - 1) + [Fraction(1)]
        found = nearest_solution(equations, sides, y[free] / gain)
        if found is not None:
            whole = [Fraction()] * len(y)
            for place, value in zip(free.tolist(), found, strict=True):
                whole[place] = value
            yield whole


def _vanishing(rows: Sequence[Row], parts: Sequence[Part], bases: Sequence[Basis]) -> list[Row]:
    """Return the equations in y that say A*(y) V = 0 on every block."""
    equations: dict[tuple[int, int, int], Row] = {}
    for r, row in enumerate(rows):
        for k, i, j, value in _entries(row, parts):
            for column, share in bases[k].rows[j].items():
                equation = equations.setdefault((k, i, column), {})
                equation[r] = equation.get(r, Fraction()) + value * share
    return [{r: v for r, v in each.items() if v} for each in equations.values()]


# Dual infeasible: X in the cone, A X = 0 and <C, X> < 0


def _dual_proof(problem: FrobeniusSDP, vector: Symmetric) -> Ray | None:
    top = float(np.abs(vector).max())
    vector = problem.cone.split(vector / power_below(top)).clipped()
    if not vector.any():
        return None
    near = _ray_beside(problem, vector)
    if near is not None:
        return near
    rows = problem.constraints.as_exact(MOST_EXACT)
    for exact in () if rows is None else _exact_directions(problem, rows, vector):
        X = np.array([as_float(value) for value in exact]).reshape(problem.cone.shape)
        fall = -float(np.vdot(problem.cost, X))
        if fall > 0:
            return Ray("dual_infeasible", X / fall, 0.0, EXACT, tuple(exact))
    return None


def _ray_beside(problem: FrobeniusSDP, vector: Symmetric) -> Ray | None:
    """Prove that an exact ray lies within a distance of X at which all of the cone is inside.

    The smallest change D with A(X + D) = 0 has a norm of at most |A X| / s, where s is the smallest
    singular value of A, rows scaled to a norm of one.
    """
    A, sense, norms = problem.constraints, senses(problem), problem.constraints.norms()
    if not all(isinstance(block, PSD | Nonnegative) for block in problem.cone.blocks()):
        return None
    point = problem.cone.split(vector).positive()
    X = point.dense()
    lowest = lowest_eigenvalue(problem.cone, X, point.rounding)
    sparse = A.as_sparse()
    if not lowest > 0 or sparse is not A or sparse is None or not _is_symmetric(problem, sparse):
        return None
    moved, errors = A.forward_bound(point)
    size = norm(X) + point.rounding
    held = np.flatnonzero((sense == 0) | (sense * moved <= TIGHT * norms * size))
    if len(held) > MOST_ROWS or not (norms[held] > 0).all():
        return None
    distance = 0.0
    if len(held):
        smallest = _smallest_singular_value(sparse.rows[held], norms[held])
        rest = norm((np.abs(moved[held]) + errors[held]) / norms[held]) * (1 + 4 * EPS)
        distance = rest / smallest * (1 + 8 * EPS) if smallest > 0 else np.inf
    open_ = np.setdiff1d(np.arange(len(sense)), held)
    room = sense[open_] * moved[open_] - errors[open_] - norms[open_] * distance * (1 + 8 * EPS)
    fall, rounding = inner(-problem.cost, X)
    lost = norm(problem.cost) * (distance + point.rounding) * (1 + 8 * EPS)
    if distance < lowest and (room >= 0).all() and fall > (rounding + lost) * (1 + 8 * EPS):
        return Ray("dual_infeasible", X / fall, 0.0, BESIDE)
    return None


def _is_symmetric(problem: FrobeniusSDP, sparse: Sparse) -> bool:
    """Return whether the matrix of every row equals its transpose."""
    places = np.arange(sparse.rows.shape[1]).reshape(problem.cone.shape)
    turned = [part if part.ndim == 1 else part.T for part in problem.cone.cut(places)]
    swapped = sparse.rows[:, np.concatenate([part.ravel() for part in turned])]
    return (swapped != sparse.rows).nnz == 0


def _smallest_singular_value(rows: sp.csr_array, norms: Vector) -> float:
    """Return a lower bound on the smallest singular value of rows divided by their norms."""
    scaled = sp.csr_array(sp.diags_array(1 / norms) @ rows)
    # every product of two entries is rounded by three operations and by those of the sum
    n_terms = int(np.diff(scaled.indptr).max(initial=0))
    gram = (scaled @ scaled.T).toarray()
    error = gamma(n_terms + 8) * norm((abs(scaled) @ abs(scaled).T).toarray())
    lowest = lowest_eigenvalue(PSD(len(gram)), gram, error + len(gram) * n_terms * TINY)
    return float(np.sqrt(lowest)) * (1 - 4 * EPS) if lowest > 0 else 0.0


def _exact_directions(
    problem: FrobeniusSDP, rows: list[Row], X: Symmetric
) -> Iterator[list[Fraction]]:
    """Yield exact X near the one given, each of which is a proof."""
    parts, sense = _parts(problem.cone), senses(problem)
    cost = as_row(range(X.size), problem.cost.ravel().tolist())
    size, done = float(np.linalg.norm(X)), set()
    moved, norms = problem.constraints.forward(X), problem.constraints.norms()
    held = np.flatnonzero((sense == 0) | (sense * moved <= TIGHT * norms * size))
    for share in ZEROS:
        bases = _bases(problem.cone, X, share * float(np.abs(X).max()), is_null=False)
        if bases is None or (key := tuple(len(v.pivots) for v in bases)) in done:
            continue
        done.add(key)
        core = _Core(parts, bases)
        if len(core.places) * (1 + len(held)) > MOST_EQUATIONS:
            continue
        reduced = [core.reduce(row) for row in rows]
        equations = [reduced[r] for r in held]
        if min(len(core.places), sum(map(bool, equations))) > MOST_MOVED:
            continue
        guess = X.ravel()[[core.origin(place) for place in core.places]]
        Z = nearest_solution(equations, [Fraction()] * len(equations), guess)
        if Z is None or not dot(core.reduce(cost), Z) < 0 or not core.is_inside(Z):
            continue
        signs = zip(sense.tolist(), reduced, strict=True)
        if all(not s or int(s) * dot(row, Z) >= 0 for s, row in signs):
            yield core.lift(Z, X.size)


class _Core:
    """The small matrices Z of X = V Z V.T, block by block, as unknowns of linear equations."""

    def __init__(self, parts: Sequence[Part], bases: Sequence[Basis]) -> None:
        self.parts, self.bases = parts, bases
        self.places = [
            (k, p, q)
            for k, (part, basis) in enumerate(zip(parts, bases, strict=True))
            for p in range(len(basis.pivots))
            for q in ([p] if part.is_diagonal else range(p, len(basis.pivots)))
        ]
        self.number = {place: number for number, place in enumerate(self.places)}

    def origin(self, place: tuple[int, int, int]) -> int:
        """Return the place of X that is this entry of Z, as V has the identity in its pivots."""
        k, p, q = place
        return self.parts[k].place(self.bases[k].pivots[p], self.bases[k].pivots[q])

    def reduce(self, row: Row) -> Row:
        """Return the row as a function of the entries of Z."""
        made: Row = {}
        for k, i, j, value in _entries(row, self.parts):
            for p, left in self.bases[k].rows[i].items():
                for q, right in self.bases[k].rows[j].items():
                    number = self.number[k, min(p, q), max(p, q)]
                    made[number] = made.get(number, Fraction()) + left * value * right
        return {number: value for number, value in made.items() if value}

    def is_inside(self, Z: Sequence[Fraction]) -> bool:
        """Return whether every block of Z is proven to be positive semidefinite."""
        blocks: list[dict[tuple[int, int], Fraction]] = [{} for _ in self.parts]
        for (k, p, q), value in zip(self.places, Z, strict=True):
            blocks[k][p, q] = blocks[k][q, p] = value
        each = zip(self.parts, self.bases, blocks, strict=True)
        return all(_is_exact_block(part, len(v.pivots), block) for part, v, block in each)

    def lift(self, Z: Sequence[Fraction], size: int) -> list[Fraction]:
        """Return V Z V.T, flattened."""
        X, columns = [Fraction()] * size, [basis.columns() for basis in self.bases]
        for (k, p, q), value in zip(self.places, Z, strict=True):
            for i, left in columns[k][p].items():
                for j, right in columns[k][q].items():
                    X[self.parts[k].place(i, j)] += left * value * right
                    if p != q:
                        X[self.parts[k].place(j, i)] += left * value * right
        return X


# Elements of a cone


def is_inside(cone: Cone, S: Symmetric, error: Array, distance: float = 0.0) -> bool:
    """Return whether all elements near S are proven to be in the cone.

    They differ from S by no more than `error`, entry by entry, plus a matrix whose norm is at most
    `distance`. Cones other than matrices and vectors are never proven.
    """
    if not np.isfinite(S).all() or not np.isfinite(error).all():
        return False
    parts = zip(cone.blocks(), cone.cut(S), cone.cut(error), strict=True)
    return all(_is_block_inside(block, A, E, distance) for block, A, E in parts)


def _is_block_inside(block: Cone, A: Symmetric, E: Array, distance: float) -> bool:
    if isinstance(block, Nonnegative):
        return bool(((E + distance) * (1 + 2 * EPS) <= A).all())
    if not isinstance(block, PSD):
        return False
    if not np.array_equal(A, A.T):
        A, E = (A + A.T) / 2, (E + E.T) / 2 * (1 + EPS) + EPS * (np.abs(A) + np.abs(A.T)) + TINY
    E = np.maximum(E, E.T)
    touched = np.ones(A.shape, dtype=bool) if distance else (A != 0) | (E != 0)
    _, labels = connected_components(sp.csr_array(touched), directed=False)
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(A) else []
    return all(_is_matrix_inside(A[np.ix_(g, g)], E[np.ix_(g, g)], distance) for g in groups)


def _is_matrix_inside(A: Symmetric, E: Array, distance: float) -> bool:
    """Return whether all matrices near a symmetric one are proven semidefinite."""
    diagonal = np.diagonal(A)
    if (diagonal < (np.diagonal(E) + distance) * (1 + 2 * EPS)).any():
        return False
    if len(A) == 1:
        return True
    if not (diagonal > 0).all():
        return False
    units = 2.0 ** -np.round(np.log2(diagonal) / 2)  # powers of two: exact but for underflow
    with np.errstate(over="ignore", under="ignore"):
        scaled, errors = units[:, None] * A * units, units[:, None] * E * units * (1 + 4 * EPS)
        far = distance * float(units.max()) ** 2 * (1 + 4 * EPS)
    if not (np.isfinite(scaled).all() and np.isfinite(errors).all() and np.isfinite(far)):
        return False
    return lowest_eigenvalue(PSD(len(A)), scaled, norm(errors) + far + A.size * TINY) >= 0


def is_exactly_inside(cone: Cone, S: Row) -> bool:
    """Return whether an element of rational numbers is proven to be in the cone.

    Each block is rounded to float64, which leaves zeros as they are. If that is not enough, it has
    to vanish on a rational subspace and be positive definite in the other coordinates, or, if it
    is small, it is eliminated.
    """
    if not all(isinstance(block, PSD | Nonnegative) for block in cone.blocks()):
        return False
    parts = _parts(cone)
    blocks: list[dict[tuple[int, int], Fraction]] = [{} for _ in parts]
    for k, i, j, value in _entries(S, parts):
        blocks[k][i, j] = blocks[k].get((i, j), Fraction()) + value
    each = zip(parts, blocks, strict=True)
    return all(_is_exact_block(part, part.order, block) for part, block in each)


def _is_exact_block(part: Part, n: int, entries: Mapping[tuple[int, int], Fraction]) -> bool:
    if part.is_diagonal:
        return all(value >= 0 for value in entries.values())
    A = np.zeros((n, n))
    for (i, j), value in entries.items():
        if value:  # what underflows stays different from zero
            A[i, j] = as_float(value) or (TINY if value > 0 else -TINY)
    errors = EPS * np.abs(A) + TINY * (A != 0)
    if not np.isfinite(A).all():
        return False
    if _is_block_inside(PSD(n), A, errors, 0.0):
        return True
    return _is_singular_inside(entries, A) or is_semidefinite(entries, n)


def _is_singular_inside(entries: Mapping[tuple[int, int], Fraction], A: Symmetric) -> bool:
    values, vectors = np.linalg.eigh(A)
    for share in ZEROS:
        null = vectors[:, values <= share * np.abs(values).max(initial=0.0)]
        basis = Basis.near(null) if 0 < null.shape[1] < len(A) else None
        if basis is None:
            continue
        product: dict[tuple[int, int], Fraction] = {}
        for (i, j), value in entries.items():
            for column, part in basis.rows[j].items():
                product[i, column] = product.get((i, column), Fraction()) + value * part
        rest = A[np.ix_(basis.others, basis.others)]
        errors = EPS * np.abs(rest) + TINY * (rest != 0)
        if not any(product.values()) and _is_block_inside(PSD(len(rest)), rest, errors, 0.0):
            return True
    return False


class Part(NamedTuple):
    """One block among the flattened numbers of an element."""

    start: int
    order: int
    is_diagonal: bool

    def place(self, i: int, j: int) -> int:
        """Return the place of an entry; i = j on a diagonal block."""
        return self.start + (i if self.is_diagonal else i * self.order + j)


def _parts(cone: Cone) -> list[Part]:
    blocks = cone.blocks()
    starts = np.cumsum([0, *(int(np.prod(block.shape)) for block in blocks)]).tolist()
    pairs = zip(starts, blocks, strict=False)
    return [Part(start, block.shape[0], block.is_diagonal) for start, block in pairs]


def _entries(S: Row, parts: Sequence[Part]) -> Iterator[tuple[int, int, int, Fraction]]:
    """Yield block, row, column and value of the entries of the symmetric part of an element."""
    starts = [part.start for part in parts]
    for place, value in S.items():
        k = bisect_right(starts, place) - 1
        part = parts[k]
        if part.is_diagonal:
            yield k, place - part.start, place - part.start, value
            continue
        i, j = divmod(place - part.start, part.order)
        if i == j or S.get(part.place(j, i)) == value:
            yield k, i, j, value
        else:
            yield k, i, j, value / 2
            yield k, j, i, value / 2


def _bases(cone: Cone, S: Symmetric, zero: float, is_null: bool) -> list[Basis] | None:
    """Return a rational basis of the range, or of the null space, of each block.

    Eigenvalues up to `zero` count as zero. None if some subspace has no basis of simple numbers.
    """
    found = []
    for block, A in zip(cone.blocks(), cone.cut(S), strict=True):
        if not isinstance(block, PSD | Nonnegative):
            return None
        values, vectors = (A, np.eye(len(A))) if block.is_diagonal else np.linalg.eigh(A)
        basis = Basis.near(vectors[:, (np.abs(values) <= zero) == is_null])
        if basis is None:
            return None
        found.append(basis)
    return found
