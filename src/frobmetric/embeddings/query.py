"""Maps of queries only: the documents, and so their index, stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from ..checks.arguments import as_index, as_weights, refuse_where
from ..checks.samples import check_array
from ..core import Bilinear, FrobeniusSDP, Hinge
from ..core.checks import as_real
from ..core.points import Array, Index, Vector
from ..learning.priors import unit_margin_scale
from ..solvers import solve
from ..solvers.monitor import Callback
from .maps import LearnedMap

#: Margins of vectors of unit length below this are rounding.
ROUNDING = 1e-12


def learn_query_map(
    A: ArrayLike,
    B: ArrayLike,
    index: ArrayLike,
    weight: ArrayLike | None,
    *,
    C: float,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: LearnedMap | None = None,
    callback: Callback | None = None,
) -> LearnedMap:
    """Learn a matrix W for queries, so that (a @ W) . b ranks the documents b as comparisons ask.

    W minimises, over all matrices, symmetric or not,

        |W - s I|_F^2 / 2 + C sum_r share_r max(0, 1 - a_r.T W b_r + c_r.T W d_r)

    Here `share` is `weight` divided by its sum, and the vectors are divided by the root mean
    squared length of the anchors, and of the candidates, that the rows compare: with vectors of
    unit length nothing changes. The factor s makes the mean positive margin of the unchanged
    vectors one. The certificate is that of this problem. It is solved in the spans of the compared
    vectors, outside of which the optimal W is s I. As C falls to zero W becomes s I, and the
    ranking that of the unchanged vectors.

    Parameters
    ----------
    A : array-like of shape (n_anchors, n_features)
        Anchors, such as queries.
    B : array-like of shape (n_candidates, n_features)
        Candidates, such as documents.
    index : array-like of int of shape (n_rows, 4)
        Row (a, b, c, d): the score of anchor a and candidate b is to be larger than that of c and
        d. A triplet of one query has c = a.
    weight : array-like of shape (n_rows,) or None
        Weights of the rows; only their ratios count. All equal if None.
    C : float
        Weight of the loss.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of steps.
    start : LearnedMap, optional
        Map that was learned from the same rows with another C, to start from.
    callback : callable, optional
        Called with each `Step`; a true answer stops with the best map so far.

    Returns
    -------
    LearnedMap
        With W as `anchor_map`, and the identity as `candidate_map`.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import learn_query_map
    >>> queries, documents = np.array([[0.6, 0.8]]), np.eye(2)
    >>> learned = learn_query_map(queries, documents, [[0, 0, 0, 1]], None, C=10)
    >>> (queries @ learned.anchor_map @ documents.T).round(3)
    array([[1.2, 0.2]])
    >>> learned.certificate.relative_gap < 1e-3
    True
    """
    rows = ComparedScores.check(A, B, index, weight)
    space = QuerySpace.of(rows)
    problem = space.problem(C)
    if not (start is None or isinstance(start, LearnedMap)):
        raise TypeError(f"start is {start!r:.80}; expected a LearnedMap; give None instead")
    begin = None if start is None else start.start(C, len(rows.index))
    options: Any = {"tol": tol, "max_iter": max_iter, "callback": callback}
    solution = solve(problem, start=begin, **options)
    W = space.to_features(solution.point.dense())
    return LearnedMap(W, np.eye(len(W)), None, solution, float(C))


@dataclass(frozen=True, eq=False)
class ComparedScores:
    """Rows (a, b, c, d) of comparisons, with only the vectors that they compare.

    The vectors are divided by the root of their mean squared length.
    """

    A: Array  # (n_anchors, n_features)
    B: Array  # (n_candidates, n_features)
    index: Index  # (n_rows, 4)
    share: Vector  # (n_rows,), of sum one

    @classmethod
    def check(cls, A: Any, B: Any, index: Any, weight: Any) -> ComparedScores:
        """Return the rows of these arguments, checked."""
        A, B = (
            # documents may be many: only those that are compared become double precision
            check_array(X, dtype=[np.float64, np.float32], input_name=name)
            for X, name in ((A, "A"), (B, "B"))
        )
        if A.shape[1] != B.shape[1]:
            raise ValueError(
                f"A has {A.shape[1]} features and B has {B.shape[1]}; their scores are inner "
                "products, so give both the same"
            )
        index = as_index(index, (4,), name="index")
        sizes = np.array([len(A), len(B)] * 2)
        refuse_where(
            index >= sizes,
            lambda r, k: (
                f"index[{r}, {k}] = {index[r, k]} is out of range; {'AB'[k % 2]} has {sizes[k]} "
                f"rows, so its indices go from 0 to {sizes[k] - 1}"
            ),
        )
        weight = as_weights(weight, len(index), name="weight", of="rows of index")
        anchors, first = np.unique(index[:, ::2], return_inverse=True)
        candidates, second = np.unique(index[:, 1::2], return_inverse=True)
        compared = np.stack([first.reshape(-1, 2), second.reshape(-1, 2)], axis=2).reshape(-1, 4)
        sides = _unit_lengths(A[anchors], "A"), _unit_lengths(B[candidates], "B")
        return cls(*sides, compared, weight / weight.sum())


def _unit_lengths(X: Array, name: str) -> Array:
    """Return the vectors divided by the root of their mean squared length."""
    X = X.astype(np.float64)
    largest = float(np.abs(X).max())
    if largest == 0:
        raise ValueError(
            f"the rows of {name} that index compares are zero, so that all scores are zero; "
            "no map can change them"
        )
    X = X / largest  # squares of 1e200 overflow
    return X / np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))


@dataclass(frozen=True, eq=False)
class QuerySpace:
    """Coordinates of the compared vectors in their spans, where these have fewer dimensions.

    The rows see nothing of W but V = U_a.T W U_b, with the bases U_a and U_b of the two spans. The
    nearest W to the prior with this V is prior + U_a (V - U_a.T prior U_b) U_b.T, at the distance
    of V to U_a.T prior U_b: both problems have the same objectives, primal and dual.
    """

    constraints: Bilinear
    share: Vector
    U_a: Array | None  # (n_features, n_coordinates), None for the identity
    U_b: Array | None
    n_features: int
    scale: float  # of the identity that is the prior

    @classmethod
    def of(cls, rows: ComparedScores) -> QuerySpace:
        """Return the coordinates of these rows, and the prior."""
        (A, U_a), (B, U_b) = _span(rows.A), _span(rows.B)
        constraints, n_features = Bilinear(A, B, rows.index), rows.A.shape[1]
        margins = constraints.forward(_inside(np.eye(n_features), U_a, U_b))
        margins[np.abs(margins) < ROUNDING] = 0.0
        scale = unit_margin_scale(margins, rows.share)
        return cls(constraints, rows.share, U_a, U_b, n_features, scale)

    @property
    def prior(self) -> Array:
        """Scaled identity in features."""
        return self.scale * np.eye(self.n_features)

    def problem(self, C: float) -> FrobeniusSDP:
        """Return the problem with this weight of the loss."""
        if not 0 < as_real(C, name="C") < np.inf:
            raise ValueError(f"C={C!r} must be a positive finite number")
        prior = _inside(self.prior, self.U_a, self.U_b)
        return FrobeniusSDP(self.constraints, Hinge(C * self.share), prior=prior)

    def to_features(self, V: Array) -> Array:
        """Return W for features from V for coordinates."""
        change = V - _inside(self.prior, self.U_a, self.U_b)
        change = change if self.U_a is None else self.U_a @ change
        return self.prior + (change if self.U_b is None else change @ self.U_b.T)


def _span(X: Array) -> tuple[Array, Array | None]:
    """Return coordinates in the span of the rows and its basis, if there are few rows."""
    if X.shape[0] >= X.shape[1]:
        return X, None
    basis, triangle = scipy.linalg.qr(X.T, mode="economic")
    return np.ascontiguousarray(triangle.T), basis


def _inside(W: Array, U_a: Array | None, U_b: Array | None) -> Array:
    """Return U_a.T @ W @ U_b."""
    W = W if U_a is None else U_a.T @ W
    return W if U_b is None else W @ U_b
