"""Maximum variance unfolding by CSDP, in two formulations.

With neighbours (i, j) at squared distances b_ij, the vector 1 of ones, and X the Gram matrix of n
points y_i:

    original     max tr X                 |y_i - y_j|^2 = b_ij,   1.T X 1 = 0
    well-posed   max tr X - 1.T X 1 / n   |y_i - y_j|^2 <= b_ij

The first is the one that MVU was published in. No positive definite X fulfils its last row, and
interior-point methods need one. In the second the mean is taken off in the objective, and each
inequality has a slack of its own in a diagonal block. Where m_i samples coincide, row i and column
i of X and entry i of 1 are those of one of them, times the root of m_i.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from frobmetric.core import Equal, FrobeniusSDP, Sparse
from frobmetric.manifold.certificate import certify_unfolding
from frobmetric.manifold.graph import neighbor_graph
from frobmetric.manifold.methods.program import (
    UnfoldingProgram,
    feasible,
    gram_problem,
    principal_axes,
)
from frobmetric.sdp.sdpa import write_sdpa

from ..sdp_rivals import SDP_RIVALS, RivalFailed
from .embedder import Embedded, Embedder

PROGRAM = SDP_RIVALS["csdp"]
#: CSDP's default. On swiss rolls of 200 and 400 points 1e-6 takes about half the time, and then
#: proves a gap of 3e-4 instead of 4e-8 and 2e-5; at 500 points both prove no more than 1e-2.
TOL = 1e-8


@dataclass(frozen=True)
class Formulation:
    """A way to state the problem.

    Attributes
    ----------
    name : str
    state : callable
        NeighborGraph -> FrobeniusSDP, whose value is minus the variance.
    prove : callable
        (program, coordinates Y, multipliers w of the edges) -> UnfoldingCertificate.
    """

    name: str
    state: Callable
    prove: Callable

    def __call__(self, X, n_neighbors, n_components, limit, threads):
        graph = neighbor_graph(X, n_neighbors)
        with tempfile.TemporaryDirectory(prefix="frobmetric-mvu-") as folder:
            file = Path(folder, "mvu.dat-s")
            write_sdpa(self.state(graph), file)
            answer = PROGRAM.solve(file, TOL, limit, threads)
        if answer.X is None or answer.y is None:
            raise RivalFailed(f"csdp left no answer: {answer.detail['word'] or answer.status}")
        return self._embedded(answer, graph, n_components)

    def _embedded(self, answer, graph, n_components):
        program = UnfoldingProgram(graph)
        Y = coordinates(program, answer.X.ravel()[: graph.n_points**2])  # without the slacks
        spectrum = np.diag(program.scatter(Y))
        proven = self.prove(program, Y, -answer.y[: program.n_edges])
        return Embedded(
            embedding=Y[graph.point_of, :n_components],
            seconds=answer.seconds,
            objective=float(spectrum.sum()),
            certificate=asdict(proven) if np.isfinite(proven.dual) else None,
            spectrum=spectrum.tolist(),
            remark="" if answer.status == "optimal" else answer.detail["word"],
        )


def well_posed(graph):
    """The problem with inequalities, the mean taken off in the objective."""
    return gram_problem(UnfoldingProgram(graph))


def original(graph):
    """The problem with equalities and the centring row."""
    problem, root = well_posed(graph), np.sqrt(graph.masses)
    centring = sp.csr_array(np.outer(root, root).reshape(1, -1))
    rows = Sparse(sp.vstack([problem.constraints.rows, centring]), problem.cone)
    target = Equal(np.append(graph.squared, 0.0))
    return FrobeniusSDP(rows, target, -np.eye(len(root)), sigma=np.inf)


def prove_inequalities(program, Y, w):
    """What the answer proves when it is scaled until no inequality is broken."""
    return certify_unfolding(program, feasible(program, Y), np.maximum(w, 0))


def prove_equalities(program, Y, w):
    """A bound, and how far the answer is from keeping the distances: no scaling mends that."""
    return certify_unfolding(program, Y, w, "equal")


def coordinates(program, X):
    """The points on their principal axes from their Gram matrix.

    Parameters
    ----------
    program : UnfoldingProgram
    X : ndarray of n_points**2 numbers
        With row and column i times the root of mass i.

    Returns
    -------
    Y : ndarray of shape (n_points, n_points)
        The mean is taken off.
    """
    n, root = program.n_points, np.sqrt(program.masses)[:, None]
    values, vectors = np.linalg.eigh(X.reshape(n, n))
    return principal_axes(program, vectors * np.sqrt(np.maximum(values, 0)) / root)


ORIGINAL = Formulation("original", original, prove_equalities)
WELL_POSED = Formulation("well-posed", well_posed, prove_inequalities)
CSDP_ORIGINAL = Embedder("csdp_original", "CSDP (original)", ORIGINAL, "MVU", PROGRAM.missing)
CSDP_WELL_POSED = Embedder(
    "csdp_well_posed", "CSDP (well-posed)", WELL_POSED, missing=PROGRAM.missing
)
