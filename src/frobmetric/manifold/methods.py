"""From a neighbour graph to its unfolding: units, start, method, proof."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..parameters import InvalidParameterError
from .certificate import UnfoldingCertificate, certify_unfolding, make_certificate
from .dual import unfold_dual
from .equal import unfold_equal
from .lowrank import principal_axes, unfold
from .program import UnfoldingProgram
from .spectrum import smallest_eigenpairs

#: Columns of the start.
START_RANK = 4
#: With a Frobenius term the whole Gram matrix is cheaper from this rank on.
HIGH_RANK = 12
#: What is added to the start, relative to a typical distance: no column may be exactly zero.
NOISE = 1e-2


def _auto(program, start, tol, max_iter, callback):
    """Coordinates, unless there is a Frobenius term that calls for many of them."""
    limit = None if np.isinf(program.sigma) else HIGH_RANK
    found = unfold(program, start, tol, max_iter, callback, max_rank=limit)
    if found.status != "rank":
        return found
    return unfold_dual(program, tol, max_iter, callback)


def _dual(program, start, tol, max_iter, callback):
    return unfold_dual(program, tol, max_iter, callback)


METHODS = {"auto": _auto, "lowrank": unfold, "dual": _dual}


@dataclass(frozen=True)
class Unfolding:
    """Coordinates of the points along their principal axes, and what is proven of them."""

    Y: np.ndarray
    w: np.ndarray | None
    eigenvalues: np.ndarray
    certificate: UnfoldingCertificate
    status: str
    history: list
    n_iter: int


def solve_unfolding(graph, sigma, constraints, method, tol, max_iter, callback):
    """Unfold a connected graph.

    Parameters
    ----------
    graph : NeighborGraph
    sigma : float
    constraints : {"leq", "eq"}
    method : str
        A name in `METHODS`.
    tol, max_iter, callback :
        As in `frobmetric.manifold.lowrank.unfold`.

    Returns
    -------
    Unfolding
        In the units of the graph.
    """
    unit = graph.squared.mean()
    program = UnfoldingProgram(replace(graph, squared=graph.squared / unit), sigma / unit)
    report = None if callback is None else lambda step: callback(_in_units(step, unit))
    found = _solver(constraints, method)(program, _start(program), tol, max_iter, report)
    Y = principal_axes(program, found.Y)
    proof = certify_unfolding(program, Y, found.w, constraints)
    return Unfolding(
        Y=Y * np.sqrt(unit),
        w=found.w,
        eigenvalues=np.diag(program.gram(Y)) * unit,
        certificate=make_certificate(proof.primal * unit, proof.dual * unit, proof.violation),
        status=found.status,
        history=[_in_units(step, unit) for step in found.history],
        n_iter=found.n_iter,
    )


def _solver(constraints, method):
    if constraints == "leq":
        return METHODS[method]
    if method == "dual":
        raise InvalidParameterError(
            "method='dual' solves constraints='leq' only; use method='auto' with constraints='eq'"
        )
    return unfold_equal


def _start(program):
    """The smoothest functions on the graph, and a little noise."""
    rank = min(START_RANK, program.n_points - 1)
    values, vectors = smallest_eigenpairs(program, 1 / program.squared, rank, tol=1e-3)
    Y = vectors / np.sqrt(values)
    noise = np.random.default_rng(0).standard_normal(Y.shape)
    return Y + NOISE * program.differences(Y).std() * noise


def _in_units(step, unit):
    return step._replace(primal=step.primal * unit, dual=step.dual * unit, gap=step.gap * unit)


def stack(graph, labels, parts):
    """The unfoldings of all components as one, side by side along the first axis."""
    if len(parts) == 1:
        return parts[0]
    rank = max(part.Y.shape[1] for part in parts)
    Y, eigenvalues, right = np.zeros((graph.n_points, rank)), np.zeros(rank), 0.0
    edge_label, w = labels[graph.edges[:, 0]], np.zeros(len(graph.edges))
    for label, part in enumerate(parts):
        first = part.Y[:, 0]
        shift = right - first.min() if label else 0.0
        Y[labels == label, : part.Y.shape[1]] = part.Y
        Y[labels == label, 0] += shift
        right = first.max() + shift + 0.1 * np.ptp(first)
        eigenvalues[: part.Y.shape[1]] += part.eigenvalues
        if part.w is not None:
            w[edge_label == label] = part.w
    proofs = [part.certificate for part in parts]
    return Unfolding(
        Y=Y,
        w=w if all(part.w is not None for part in parts) else None,
        eigenvalues=eigenvalues,
        certificate=make_certificate(
            sum(proof.primal for proof in proofs),
            sum(proof.dual for proof in proofs),
            max(proof.violation for proof in proofs),
        ),
        status=next((part.status for part in parts if part.status != "optimal"), "optimal"),
        history=[step for part in parts for step in part.history],
        n_iter=sum(part.n_iter for part in parts),
    )
