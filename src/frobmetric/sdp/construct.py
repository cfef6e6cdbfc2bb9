"""`make_sdp`: make a semidefinite program from the matrices that define it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks.arguments import ASYMMETRY, check_symmetric, refuse_where
from ..core import PSD, Constraints, Equal, FrobeniusSDP, Hard, Loss, Nonnegative, Product, Sparse
from ..core.checks import as_array, as_real, as_sequence
from ..core.cones import Cone
from ..core.points import Vector

SENSES = {"=": 0, "==": 0, "<=": -1, ">=": 1}


def make_sdp(
    C: Any,
    A: Any,
    b: Any,
    senses: str | Sequence[str] = "=",
    *,
    sigma: float = np.inf,
    prior: Any = None,
    offset: float = 0.0,
) -> FrobeniusSDP:
    """Make the problem to minimise <C, X> over X >= 0, with rows <A_i, X> = b_i.

    A finite sigma adds |X - prior|^2 / (2 sigma) to the objective.

    Parameters
    ----------
    C : symmetric matrix, dense or sparse, or a list of blocks
        For a block-diagonal X the list of its blocks: a matrix for a positive semidefinite block,
        a vector for a diagonal block with entries >= 0.
    A : sequence of such matrices, or Constraints
        If C has blocks each A_i has as many, and None stands for a block of zeros. Constraints
        (`LowRank`, `MatrixFree`, `Stack` and others) are used as they are.
    b : array-like of shape (n_rows,)
    senses : {"=", "<=", ">="}, or one for each row
    sigma : float
        Weight of the Frobenius term; infinity, the default, leaves it out.
    prior : like C, zero if not given; for a finite sigma only
    offset : float, added to the objective

    Returns
    -------
    FrobeniusSDP
        For `solve_sdp`.

    Raises
    ------
    ValueError
        If a matrix is not symmetric, sizes do not match, or a number is NaN or infinite.

    Examples
    --------
    Maximise X_01 with a unit diagonal; then with X_11 at most 4 instead.

    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> C, diagonal = np.array([[0, -0.5], [-0.5, 0]]), [np.diag([1, 0]), np.diag([0, 1])]
    >>> solve_sdp(make_sdp(C, diagonal, [1, 1])).X.round(3).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    >>> solution = solve_sdp(make_sdp(C, diagonal, [1, 4], senses=["=", "<="]))
    >>> solution.X.round(3).tolist(), solution.y.round(3).tolist()
    ([[1.0, 2.0], [2.0, 4.0]], [-1.0, -0.25])
    """
    sigma, offset = as_real(sigma, name="sigma"), as_real(offset, name="offset")
    if not sigma > 0:
        raise ValueError(f"sigma={sigma!r} must be positive; np.inf leaves the Frobenius term out")
    if prior is not None and np.isinf(sigma):
        raise ValueError("a prior without a Frobenius term has no effect: give a finite sigma")
    if not np.isfinite(offset):
        raise ValueError(f"offset={offset!r} must be a finite number")
    cone = _cone(C)
    cost = _flat("C", C, cone).toarray().reshape(cone.shape)
    rows = _rows(A, cone)
    cone = getattr(rows, "cone", cone)
    centre = 0 * cost
    if prior is not None:
        centre = _flat("prior", prior, cone).toarray().reshape(cone.shape)
    loss = _loss(b, senses, rows.shape[0])
    return FrobeniusSDP(rows, loss, cost, centre, sigma, cone, offset)


def _cone(C: Any) -> Cone:
    """Return the cone of X, from the form of C."""
    if not isinstance(C, list | tuple):
        shape = np.shape(C) if sp.issparse(C) else _numbers("C", C).shape
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
            raise ValueError(
                f"C has shape {shape}; expected a square matrix with at least one row, or for a "
                "block-diagonal X the list of its blocks"
            )
        return PSD(shape[0])
    if not C:
        raise ValueError("C is an empty list; expected a matrix, or a list of at least one block")
    shapes = [
        np.shape(b) if sp.issparse(b) else _numbers(f"C[{k}]", b).shape for k, b in enumerate(C)
    ]
    is_list = [isinstance(block, list | tuple) for block in C]
    if all(is_list) and {len(shape) for shape in shapes} == {1}:
        raise ValueError(
            "C is a list of lists of numbers, which may mean a matrix or diagonal blocks; give "
            "np.array(C) for the matrix, [np.array(block) for block in C] for the blocks"
        )
    for k, shape in enumerate(shapes):
        if len(shape) not in (1, 2) or len(set(shape)) != 1 or shape[0] == 0:
            raise ValueError(
                f"block {k} of C has shape {shape}; expected a square matrix, or a vector for a "
                "diagonal block, with at least one entry"
            )
    return Product(tuple(PSD(s[0]) if len(s) == 2 else Nonnegative(s[0]) for s in shapes))


def _flat(name: str, given: Any, cone: Cone) -> Any:
    """Return a matrix, or all of its blocks, as one sparse row."""
    cones = cone.blocks()
    if cones[0] is cone:
        return _flat_block(name, given, cone)
    count = len(given) if isinstance(given, list | tuple) else None
    if count != len(cones):
        raise ValueError(
            f"{name} is {f'a list of {count}' if count is not None else type(given).__name__}; "
            f"expected a list of {len(cones)} blocks, as C is (None for a block of zeros)"
        )
    blocks = enumerate(zip(given, cones, strict=True))
    parts = [_flat_block(f"{name}[{k}]", block, part) for k, (block, part) in blocks]
    return sp.hstack(parts, format="csr")


def _flat_block(name: str, given: Any, cone: Cone) -> Any:
    """Return a symmetric matrix, or a vector, as one sparse row."""
    size = int(np.prod(cone.shape))
    if given is None:
        return sp.csr_array((1, size))
    M = given if sp.issparse(given) else _numbers(name, given)
    if M.shape != cone.shape:
        raise ValueError(f"{name} has shape {M.shape}; expected {cone.shape}, as C has")
    M = sp.csr_array(np.atleast_2d(M) if isinstance(M, np.ndarray) else M, dtype=float)
    if not np.isfinite(M.data).all():
        whole, wrong = M.toarray().reshape(cone.shape), "entry {} of {} is {}; give finite numbers"
        refuse_where(
            ~np.isfinite(whole), lambda *at: wrong.format(at if at[1:] else at[0], name, whole[at])
        )
    if not cone.is_diagonal:
        check_symmetric(M, name=name, tolerance=ASYMMETRY)
        M = (M + M.T) / 2
    return M.reshape((1, size)).tocsr()


def _numbers(name: str, given: Any) -> Any:
    try:
        return as_array(given, name=name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of real numbers ({error})") from error


def _rows(A: Any, cone: Cone) -> Constraints:
    """Return the rows: constraints that are given, or those of matrices."""
    is_given = hasattr(A, "forward") and hasattr(A, "adjoint")
    if not is_given:
        if sp.issparse(A) or not np.iterable(A) or (isinstance(A, np.ndarray) and A.ndim == 2):
            form = "a sequence of matrices, [A] if that is one row"
            raise ValueError(f"A has shape {np.shape(A)}; expected {form}")
        flat = [_flat(f"A[{i}]", M, cone) for i, M in enumerate(A)]
        A = Sparse(sp.vstack([sp.csr_array((0, int(np.prod(cone.shape)))), *flat]), cone)
    given = getattr(A, "cone", cone)
    shapes, expected = ([block.shape for block in both.blocks()] for both in (given, cone))
    if A.shape[1] != cone.shape[0] or shapes != expected:
        raise ValueError(
            f"A is {type(A).__name__} of shape {A.shape} on {given}, and C is on {cone}; "
            "they must be the same"
        )
    if A.shape[0] == 0:
        raise ValueError(
            "A has no rows; without any the answer is X = 0 if C is positive semidefinite, and the "
            "objective has no minimum otherwise: give at least one row"
        )
    if is_given:  # matrices have been checked, entry by entry
        wrong = "contains NaN or infinity; give finite numbers"
        refuse_where(~np.isfinite(A.norms()), lambda row: f"row {row} of A {wrong}")
    return A


def _loss(b: Any, senses: str | Sequence[str], n_rows: int) -> Loss:
    b = np.atleast_1d(_numbers("b", b))
    if b.shape != (n_rows,):
        raise ValueError(f"b has shape {b.shape}; expected one number for each of {n_rows} rows")
    advice = "give a finite number, and leave out rows that always hold"
    refuse_where(~np.isfinite(b), lambda k: f"b[{k}] is {b[k]}; {advice}")
    sense = as_senses(senses, n_rows)
    return Hard(b, sense) if sense.any() else Equal(b)


def as_senses(senses: str | Sequence[str], n_rows: int) -> Vector:
    """Return +1 for ">=", -1 for "<=" and 0 for "=", one for each row."""
    words = as_sequence([senses] * n_rows if isinstance(senses, str) else senses, name="senses",
                        expected="'=', '<=' or '>=', or one of them for each row")  # fmt: skip
    given = [str(word) if isinstance(word, str) else word for word in words]
    if len(given) != n_rows:
        raise ValueError(
            f"there are {len(given)} senses for {n_rows} rows; give one, or one for each row"
        )
    for i, word in enumerate(given):
        if not isinstance(word, str) or word not in SENSES:
            strict = "a strict inequality has no optimum to reach: write"
            expected = f"{strict} '{word}='" if word in ("<", ">") else "expected '=', '<=' or '>='"
            raise ValueError(f"the sense of row {i} is {word!r}; {expected}")
    return np.array([SENSES[word] for word in given], dtype=float)
