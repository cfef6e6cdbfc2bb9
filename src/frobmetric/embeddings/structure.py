"""Symmetric maps of a given structure: full, diagonal, blocks, or low rank plus diagonal.

All structures are the same problem on different sets of matrices M, the metrics:

    minimise |M - s I|_F^2 / 2 + C * weighted mean of max(0, 1 - (d_M^2(c, d) - d_M^2(a, b)))

over rows (a, b, c, d), which say that a and b are closer than c and d. The vectors are scaled to
unit mean squared norm around their mean, and s is such that the rows that the unchanged vectors
satisfy have a mean margin of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks.arguments import as_index, as_weights
from ..checks.samples import check_array
from ..core import PSD, FrobeniusSDP, Hinge, Quadruplets
from ..core.checks import as_real, require_parts
from ..core.matrices import Constraints
from ..core.points import Array, Index, Point, Vector
from ..core.stacking import Beside
from ..core.weights import Vectors, WeightedQuadruplets
from ..learning.coordinates import Coordinates
from ..learning.priors import unit_margin_scale
from ..solvers import State, solve
from ..solvers.monitor import Callback
from .fields import block_numbers
from .maps import LearnedMap

#: Margins below this are rounding; the vectors are of unit mean squared norm.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Structure:
    """Set of metrics M, described by coordinates in which the Frobenius norm is Euclidean.

    Attributes
    ----------
    constraints : Constraints
        Rows of the comparisons, as functions of the coordinates, with the cone of these.
    identity : ndarray
        Coordinates of the identity.
    root : callable
        Function (point, scale) that returns the symmetric root of M / scale in features, and the
        weights if the structure has some, else None.
    """

    constraints: Constraints
    identity: Array
    root: Callable[[Point, float], tuple[Array, Vector | None]]


def full(X: Array, index: Index) -> Structure:
    """Return all positive semidefinite matrices; outside of the span of X they are the prior."""
    coordinates = Coordinates.dense(X)
    constraints, basis = Quadruplets(coordinates.Z, index), coordinates.basis
    identity = np.eye(constraints.shape[1])

    def root(point: Point, scale: float) -> tuple[Array, None]:
        inside = _symmetric_root(point.factor()) / np.sqrt(scale)
        if basis is None:
            return inside, None
        return np.eye(len(basis)) + basis @ (inside - identity) @ basis.T, None

    return Structure(constraints, identity, root)


def diagonal(X: Array, index: Index) -> Structure:
    """Return the diagonal matrices: one weight for each feature."""
    constraints = WeightedQuadruplets(Coordinates.dense(X, keep_features=True).Z, index)
    n_features = constraints.shape[1]

    def root(point: Point, scale: float) -> tuple[Array, Vector]:
        weights = point.dense() / scale
        return np.diag(np.sqrt(weights)), weights

    return Structure(constraints, np.ones(n_features), root)


def blocks(X: Array, index: Index, block_of: Index) -> Structure:
    """Return the matrices sum_b w_b P_b; P_b is the identity on the features of block b.

    Coordinate b is w_b times the root of the number of features of the block.
    """
    sizes = np.bincount(block_of)
    Z = Coordinates.dense(X, keep_features=True).Z
    # squared distances are divided by the root of the size
    constraints = Vectors.of_blocks(Z * sizes[block_of] ** -0.25, index, block_of)
    identity = np.sqrt(sizes)

    def root(point: Point, scale: float) -> tuple[Array, Vector]:
        weights = point.dense() / (scale * identity)
        return np.diag(np.sqrt(weights)[block_of]), weights

    return Structure(constraints, identity, root)


def low_rank_plus_diagonal(X: Array, index: Index) -> Structure:
    """Return the matrices P + diag(w); the regulariser draws P to zero, so its rank is low."""
    coordinates = Coordinates.dense(X)
    basis, last = coordinates.basis, diagonal(X, index)
    first = Quadruplets(coordinates.Z, index)
    parts = (first, last.constraints)
    constraints = Beside(parts, [part.default_cone() for part in parts])
    zero = np.zeros(first.shape[1] ** 2)

    def root(point: Point, scale: float) -> tuple[Array, Vector]:
        P, weights = constraints.cone.parts(point.dense() / scale)
        M = np.diag(weights) + (P if basis is None else basis @ P @ basis.T)
        return _symmetric_root(PSD(len(M)).split(M).positive().factor()), weights

    identity = np.concatenate([zero, last.identity])
    return Structure(constraints, identity, root)


#: Structures by name, as functions (X, index) -> Structure.
STRUCTURES = {"full": full, "diagonal": diagonal, "low_rank_plus_diagonal": low_rank_plus_diagonal}


def learn_structured_map(
    X: ArrayLike,
    index: ArrayLike,
    weight: ArrayLike | None,
    *,
    structure: str | Sequence[Any] = "full",
    C: float,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: LearnedMap | None = None,
    callback: Callback | None = None,
) -> LearnedMap:
    """Learn one map of all vectors from comparisons of their distances.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Vectors.
    index : array-like of shape (n_rows, 4)
        Row numbers of X: (a, b, c, d) says that a and b are closer than c and d.
    weight : array-like of shape (n_rows,) or None
        Weights of the rows, relative to each other; equal if None.
    structure : {"full", "diagonal", "low_rank_plus_diagonal"} or sequence, default="full"
        Set of metrics M = L @ L.T to choose from. "full" is all positive semidefinite matrices, and
        "diagonal" a weight >= 0 for each feature. A sequence of blocks is a weight >= 0 for each
        block of features; blocks are given by their sizes, which add up to n_features, or as slices
        or arrays of feature numbers. "low_rank_plus_diagonal" is P + diag(w), P positive
        semidefinite and w >= 0, with the regulariser |P|^2 / 2 + |w - s|^2 / 2.
    C : float
        Weight of the comparisons against the regulariser; 0 leaves the vectors as they are.
    tol : float, default=1e-3
        Relative duality gap at which the solver stops.
    max_iter : int, default=1000
        Largest number of steps of the solver.
    start : LearnedMap, default=None
        Answer for another C on the same rows, to start from.
    callback : callable, default=None
        Called with each `Step` of the solver; a true answer stops it.

    Returns
    -------
    LearnedMap
        Its map is the symmetric root of M / s, which is the identity if the vectors are best left
        as they are. `weights` are those of the features or blocks, 1 for unchanged ones;
        `solution.u` has the dual variable of each row.

    Examples
    --------
    Of three fields of two features each, only the second says which vectors belong together.

    >>> import numpy as np
    >>> from frobmetric.embeddings import learn_structured_map
    >>> rng = np.random.default_rng(0)
    >>> X, group = rng.normal(size=(60, 6)), np.arange(60) % 3
    >>> X[:, 2:4] += 2 * group[:, None]
    >>> index = [(a, a + 3, a, a + 1) for a in range(57)]
    >>> learned = learn_structured_map(X, index, None, structure=[2, 2, 2], C=100)
    >>> int(learned.weights.argmax())
    1
    >>> learned.certificate.relative_gap <= 1e-3
    True
    """
    _check_strength(C)
    X, index, weight = _check_rows(X, index, weight)
    rows = np.flatnonzero(weight)
    chosen = _choose(structure, *_used(X, index[rows]))
    share = weight[rows] / weight.sum()
    scale = _prior_scale(chosen, share)
    problem = FrobeniusSDP(chosen.constraints, Hinge(C * share), prior=scale * chosen.identity)
    options: Any = {"tol": tol, "max_iter": max_iter, "callback": callback}
    solution = solve(problem, start=_state(problem, start, rows, len(weight)), **options)
    root, weights = chosen.root(solution.point, scale)
    u = np.zeros(len(weight))
    u[rows] = solution.u
    return LearnedMap(root, root, weights, replace(solution, u=u))


def _choose(structure: str | Sequence[Any], X: Array, index: Index) -> Structure:
    """Return the structure with this name or these blocks."""
    if not isinstance(structure, str):
        return blocks(X, index, block_numbers(structure, X.shape[1]))
    if structure not in STRUCTURES:
        raise ValueError(
            f"structure={structure!r} is not known; give one of {sorted(STRUCTURES)}, or a list "
            "of blocks of features"
        )
    return STRUCTURES[structure](X, index)


def _prior_scale(structure: Structure, share: Vector) -> float:
    """Return the factor of the identity by which satisfied rows have a mean margin of one."""
    margins = structure.constraints.forward(structure.identity)
    return unit_margin_scale(np.where(margins > ROUNDING, margins, 0.0), share)


def _check_rows(X: Any, index: Any, weight: Any) -> tuple[Array, Index, Vector]:
    """Return vectors, rows and weights, checked."""
    X = check_array(X, dtype=(np.float64, np.float32), input_name="X")
    index = as_index(index, (4,), name="index", n_points=len(X), points="rows of X")
    return X, index, as_weights(weight, len(index), name="weight", of="rows of index")


def _used(X: Array, index: Index) -> tuple[Array, Index]:
    """Return the vectors that occur in the rows, and the rows with the numbers of these."""
    used = np.zeros(len(X), dtype=bool)
    used[index] = True
    return X[used], (np.cumsum(used) - 1)[index]


def _check_strength(C: float) -> None:
    if not 0 <= as_real(C, name="C") < np.inf:
        raise ValueError(f"C={C!r} must be a finite number of at least 0")


def _state(problem: FrobeniusSDP, start: LearnedMap | None, rows: Index, n_rows: int) -> State:
    """Return the start of the solver: the dual variables of another C, moved to the new box.

    Some rows are at the bound of their box; these tell the other C.
    """
    if start is None:
        return State()
    require_parts(
        start, ("solution", "C"), name="start", expected="a LearnedMap; give None instead"
    )
    u, upper = start.solution.u, problem.loss.upper
    if u.shape != (n_rows,):
        raise ValueError(
            f"start was learned from {len(u)} rows, and index has {n_rows}; give the answer for "
            "another C on the same rows"
        )
    u = u[rows]
    largest = float(np.max(u / np.where(upper > 0, upper, np.inf)))
    return State(u=u / largest if largest > 0 else u)


def _symmetric_root(factor: Array) -> Array:
    """Return the symmetric root of factor @ factor.T; the columns of the factor are orthogonal."""
    lengths = np.linalg.norm(factor, axis=0)
    return (factor / np.where(lengths > 0, lengths, 1.0)) @ factor.T
