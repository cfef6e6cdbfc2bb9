"""Translation of cvxpy's conic problems to SDPs of ours, and the way back.

cvxpy's problem is to minimise c.x with b - A x in K, a product of zeros, non-negative numbers,
second-order cones and positive semidefinite matrices; x is free. Both that problem and its dual,
minimise b.v with A'v = -c and v in the dual cone, have the form

    minimise cf.f + cp.p   with  F f + G p = h,  f free and p in a cone.

Our SDPs have no free variables: `Elimination` removes f exactly. Either form can then be solved.
The numbers of their rows sum to the dimension of the cone; `translate` takes the smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ...core import PSD, FrobeniusSDP, Hard, Nonnegative, Product, Sparse
from ...core.cones import Cone
from ...core.points import Index, Symmetric, Vector
from ..rays import Ray
from .elimination import DEPENDENT, EQUAL, Elimination

#: Second-order cones of larger dimension become a tree of smaller ones.
LARGEST_CONE = 40

#: The variables and the rows of a problem that belong to the problem that was given.
Part: TypeAlias = tuple[slice, Index | slice]
ALL: Part = (slice(None), slice(None))


@dataclass(frozen=True)
class Dims:
    """Sizes of the cones of K: zeros, numbers, second-order cones, orders of matrices."""

    zero: int
    nonneg: int
    soc: tuple[int, ...] = ()
    psd: tuple[int, ...] = ()


@dataclass(frozen=True)
class Conic:
    """minimise x.P x / 2 + c.x with b - A x in K; matrices in K are scaled lower triangles."""

    A: sp.csr_array
    b: Vector
    c: Vector
    P: sp.csr_array
    dims: Dims

    def value(self, x: Vector) -> float:
        """Return the objective at x."""
        return float(self.c @ x) + float(x @ (self.P @ x)) / 2


def translate(conic: Conic) -> Translation:
    """Return a conic problem as an SDP, with a Frobenius term if P has that form."""
    if conic.P.nnz and not conic.dims.soc:
        translation = Translation(conic, is_primal=True)
        if translation.is_exact:
            return translation
    part = ALL
    if conic.P.nnz or len(conic.b) == conic.dims.zero:
        conic, part = epigraph(conic)
    n_primal, n_dual = len(conic.b) - len(conic.c), len(conic.c) - conic.dims.zero
    return Translation(conic, n_dual <= 0 or 0 < n_primal <= n_dual, part)


def epigraph(conic: Conic) -> tuple[Conic, Part]:
    """Return the problem with a linear objective, and which part of it is the given problem.

    x.P x / 2 becomes a last variable t, with |(t - 1/2, B x)| <= t + 1/2 and P = B'B.
    """
    B, n, at = _root(conic.P), len(conic.c), conic.dims.zero + conic.dims.nonneg
    size, t = B.shape[0] + 2, sp.csr_array(([-1.0, -1.0], ([0, 1], [0, 0])), (B.shape[0] + 2, 1))
    over = sp.hstack([sp.vstack([sp.csr_array((2, n)), -B]), t])
    wider = sp.hstack([conic.A, sp.csr_array((len(conic.b), 1))]).tocsr()
    A = sp.vstack([wider[:at], over, wider[at:]]).tocsr()
    b = np.r_[conic.b[:at], 0.5, -0.5, np.zeros(size - 2), conic.b[at:]]
    dims = replace(conic.dims, soc=(size, *conic.dims.soc))
    whole = Conic(A, b, np.append(conic.c, 1.0), sp.csr_array((n + 1, n + 1)), dims)
    return whole, (slice(n), np.r_[:at, at + size : len(b)])


def _root(P: sp.csr_array) -> sp.csr_array:
    """Return B with B'B = P, which is diagonal or small."""
    used = np.flatnonzero(P.diagonal())
    if (P - sp.diags_array(P.diagonal())).count_nonzero() == 0:
        return sp.diags_array(np.sqrt(P.diagonal())).tocsr()[used]
    values, vectors = np.linalg.eigh(P[used][:, used].toarray())
    is_positive = values > DEPENDENT * values[-1]
    B = np.zeros((np.count_nonzero(is_positive), P.shape[0]))
    B[:, used] = np.sqrt(values[is_positive])[:, None] * vectors[:, is_positive].T
    return sp.csr_array(B)


class Translation:
    """A conic problem as an SDP of ours, and the way back.

    `sdp` is the conic problem if `is_primal`; otherwise its dual, whose objectives are minus those
    of the conic problem. It exists only if `is_exact`: the quadratic term, if any, is a multiple
    of the squared Frobenius norm. Along `descent`, if any, the objective is unbounded.
    """

    def __init__(self, conic: Conic, is_primal: bool, part: Part = ALL) -> None:
        self.dims, self.is_primal, self._part, z = conic.dims, is_primal, part, conic.dims.zero
        if is_primal:  # f is x, and p the part of b - A x in cones
            G = sp.eye_array(len(conic.b)).tocsr()[:, z:]
            self._free = Elimination(conic.A, G, conic.b, _preference(conic.dims))
            self._P, self._cf, self._cp = conic.P, conic.c, np.zeros(G.shape[1])
        else:  # f and p are the multipliers of equations and of cones
            rows = conic.A.T.tocsr()
            self._free = Elimination(rows[:, :z], rows[:, z:], -conic.c, np.zeros(len(conic.c)))
            self._P, self._cf, self._cp = sp.csr_array((z, z)), conic.b[:z], conic.b[z:]
        origin = self._free.solution(np.zeros(len(self._cp)))
        self._cost, self.descent = self._free.cost(self._cf + self._P @ origin, self._cp)
        self._offset = float(self._cf @ origin) + float(origin @ (self._P @ origin)) / 2
        self._find_slacks()
        curvature = self._curvature() if conic.P.nnz else 0.0
        self.is_exact = curvature is not None
        if curvature is not None:
            self._build(curvature)

    def _find_slacks(self) -> None:
        """Find numbers p_i >= 0 that occur in one row only, which is then an inequality."""
        R, n = self._free.rows, self.dims.nonneg
        columns = R[:, :n].tocsc()
        alone = np.flatnonzero((np.diff(columns.indptr) == 1) & (self._cost[:n] == 0))
        rows, first = np.unique(columns.indices[columns.indptr[alone]], return_index=True)
        has_others = np.diff(R.indptr)[rows] > 1
        self._slack_rows, self._slacks = rows[has_others], alone[first[has_others]]
        self._slack_factors = columns.data[columns.indptr[self._slacks]]
        self._others = np.setdiff1d(np.arange(R.shape[1]), self._slacks)

    def _curvature(self) -> float | None:
        """Return h if the quadratic term is h |p|^2 / 2, slacks apart; otherwise None.

        The quadratic form is applied to one random vector, which is an eigenvector only if every
        vector is one.
        """
        u = np.random.default_rng(0).normal(size=len(self._cp))
        image, _ = self._free.cost(self._P @ self._free.solution(u, 0.0), np.zeros(len(u)))
        u[self._slacks] = 0.0
        h = float(image @ u) / max(float(u @ u), np.finfo(float).tiny)
        is_norm = h > 0 and np.abs(image - h * u).max() <= EQUAL * h
        return h if is_norm and not self._free.dependent.size else None

    def _build(self, h: float) -> None:
        """Build the SDP in q, of which p without its slacks is an image."""
        numbers = nonnegative(self.dims.nonneg - len(self._slacks))
        others = [second_order(d) for d in self.dims.soc] + [semidefinite(n) for n in self.dims.psd]
        self._image = image = product([numbers, *others])
        zeros = np.zeros(image.links.shape[0])
        cone = Product(image.cones) if len(image.cones) > 1 else image.cones[0]
        sense = np.zeros(len(self._free.sides))
        sense[self._slack_rows] = -np.sign(self._slack_factors)
        cost = (image.matrix.T @ self._cost[self._others]).reshape(cone.shape)
        rows = sp.vstack([self._free.rows[:, self._others] @ image.matrix, image.links])
        hard = Hard(np.r_[self._free.sides, zeros], np.r_[sense, zeros])
        prior, offset = 0 * cost, self._offset
        if h:
            offset -= float(np.vdot(cost, cost)) / (2 * h)
            cost, prior = prior, -cost / h
        sigma = 1 / h if h else np.inf
        self.sdp = FrobeniusSDP(Sparse(rows, cone), hard, cost, prior, sigma, cone, offset)

    def answer(self, X: Symmetric, y: Vector) -> tuple[Vector, Vector]:
        """Return x, and the multipliers of the rows of A, from X and y of the SDP."""
        p = self._cone_part(X, 1.0)
        f = self._free.solution(p)
        Y = self._free.multipliers(y[: len(self._free.sides)], self._cf + self._P @ f)
        x, multipliers = (f, -Y) if self.is_primal else (Y, np.r_[f, p])
        return x[self._part[0]], multipliers[self._part[1]]

    def proof(self, ray: Ray | None) -> tuple[Vector | None, Vector | None]:
        """Return a direction x if the problem is unbounded, or multipliers if it is infeasible.

        Without a ray of the SDP, `descent` is the proof.
        """
        if ray is not None and ray.kind == "primal_infeasible":
            y = ray.vector[: len(self._free.sides)]
            Y = self._free.multipliers(y, np.zeros(len(self._cf)))
            return (None, -Y[self._part[1]]) if self.is_primal else (Y[self._part[0]], None)
        p = np.zeros(len(self._cp)) if ray is None else self._cone_part(ray.vector, 0.0)
        f = self.descent if ray is None else self._free.solution(p, 0.0)
        assert f is not None  # without a descent there is a ray
        return (f[self._part[0]], None) if self.is_primal else (None, np.r_[f, p][self._part[1]])

    def _cone_part(self, X: Symmetric, constant: float) -> Vector:
        """Return p of X; with constant 0 for a direction."""
        p = np.zeros(len(self._cp))
        p[self._others] = self._image.matrix @ X.ravel()
        residual = constant * self._free.sides - self._free.rows @ p
        p[self._slacks] = residual[self._slack_rows] / self._slack_factors
        return p


def _preference(dims: Dims) -> Vector:
    """Return the order in which rows give variables; a matrix that is a variable stays one."""
    matrices = sum(n * (n + 1) // 2 for n in dims.psd)
    counts = [dims.zero, dims.nonneg, sum(dims.soc), matrices]
    return np.repeat([3.0, 2.0, 1.0, 0.0], counts)


@dataclass(frozen=True)
class Image:
    """A cone as an image of ours: {matrix @ q : q in the product of `cones`, links @ q = 0}."""

    cones: tuple[Cone, ...]
    matrix: sp.csr_array
    links: sp.csr_array


def product(images: Sequence[Image]) -> Image:
    """Return the product of cones."""
    matrix = sp.block_diag([image.matrix for image in images], format="csr")
    links = sp.block_diag([image.links for image in images], format="csr")
    return Image(tuple(cone for image in images for cone in image.cones), matrix, links)


def nonnegative(n: int) -> Image:
    """Return the vectors of n non-negative numbers."""
    return Image((Nonnegative(n),) if n else (), sp.eye_array(n).tocsr(), sp.csr_array((0, n)))


def semidefinite(n: int) -> Image:
    """Return the scaled lower triangles, column by column, of PSD matrices of order n."""
    j, i = np.triu_indices(n)
    weight = np.where(i == j, 0.5, np.sqrt(0.5))
    rows, places = np.tile(np.arange(len(i)), 2), np.r_[i * n + j, j * n + i]
    matrix = sp.csr_array((np.tile(weight, 2), (rows, places)), (len(i), n * n))
    return Image((PSD(n),), matrix, sp.csr_array((0, n * n)))


def second_order(d: int) -> Image:
    """Return the second-order cone {(t, z) : |z| <= t} of dimension d.

    It is the image of the positive semidefinite V of order d - 1 under

        V -> (tr V, V_00 - V_11 - V_22 - ..., 2 V_01, 2 V_02, ...):

    the adjoint of this map takes (t, z) to [[t + z_1, w'], [w, (t - z_1) I]], w = (z_2, ...),
    which is positive semidefinite if and only if |z| <= t, and that cone is its own dual. A large
    one is a tree: |z| <= t if |z_k| <= t_k for each piece of z and |(t_1, t_2, ...)| <= t.
    """
    if d == 1:
        return nonnegative(1)
    if d > LARGEST_CONE:
        return _tree(d)
    n = max(2, d - 1)
    V = np.arange(n * n).reshape(n, n)
    places = np.r_[V.diagonal(), V.diagonal(), V[0, 1 : d - 1], V[1 : d - 1, 0]]
    rows = np.r_[np.zeros(n, int), np.ones(n, int), np.tile(np.arange(2, d), 2)]
    weight = np.r_[np.ones(n + 1), -np.ones(n - 1), np.ones(2 * (d - 2))]
    matrix = sp.csr_array((weight, (rows, places)), (d, n * n))
    return Image((PSD(n),), matrix, sp.csr_array((0, n * n)))


def _tree(d: int) -> Image:
    sizes = [len(piece) + 1 for piece in np.array_split(np.arange(1, d), round(np.sqrt(d - 1)))]
    root, leaves = second_order(len(sizes) + 1), product([second_order(size) for size in sizes])
    heads = np.cumsum([0, *sizes[:-1]])
    others = np.delete(np.arange(sum(sizes)), heads)
    matrix = sp.block_diag([root.matrix[:1], leaves.matrix[others]], format="csr")
    between = sp.hstack([root.matrix[1:], -leaves.matrix[heads]])
    links = sp.vstack([sp.block_diag([root.links, leaves.links]), between]).tocsr()
    return Image((*root.cones, *leaves.cones), matrix, links)
