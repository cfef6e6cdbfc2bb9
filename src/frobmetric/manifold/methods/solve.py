"""From a neighbour graph to its unfolding: units, start, method, proof."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._parameters import InvalidParameterError
from ...core.threads import one_thread
from ..certificate import UnfoldingCertificate, certify_unfolding, make_certificate
from ..sparse.spectrum import smallest_eigenpairs
from .dual import unfold_dual
from .equal import unfold_equal
from .lowrank import principal_axes, unfold
from .program import UnfoldingProgram

#: Columns of the start.
START_RANK = 4
#: With a Frobenius term the whole Gram matrix is cheaper from this rank on.
HIGH_RANK = 12
#: Steps in the coordinates before that is turned to in any case.
PATIENCE = 200
#: What is added to the start, relative to a typical distance: no column may be exactly zero.
NOISE = 1e-2
#: Axes with a smaller part of the variance than this are rounding.
VOID = 1e-12
#: Components lie apart by this part of the widest.
APART = 0.1
#: Why the fit of several components ended: the first of these that one of them ended with.
STATUSES = ("interrupted", "stopped", "stalled", "max_iter", "optimal")


def _auto(program, start, tol, max_iter, callback):
    """Coordinates, unless there is a Frobenius term that calls for many of them."""
    if np.isinf(program.sigma):
        return unfold(program, start, tol, max_iter, callback)
    if not _has_high_rank(program):
        found = unfold(program, start, tol, min(max_iter, PATIENCE), callback, max_rank=HIGH_RANK)
        if found.status in ("optimal", "stopped", "interrupted"):
            return found
    return unfold_dual(program, tol, max_iter, callback)


def _has_high_rank(program):
    """Whether sigma, which no eigenvalue exceeds, is small beside a bound of their sum."""
    second = smallest_eigenpairs(program, 1 / program.squared, 1, tol=1e-3)[0][0]
    return HIGH_RANK * program.sigma < program.n_edges / second


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
        As in `frobmetric.manifold.methods.lowrank.unfold`.

    Returns
    -------
    Unfolding
        In the units of the graph.
    """
    if graph.n_points == 1:
        return _single_point()
    largest = graph.squared.max()
    unit = largest * (graph.squared / largest).mean()  # the sum may overflow
    with np.errstate(over="ignore"):  # a sigma that overflows has no effect
        relative = sigma / unit
    program = UnfoldingProgram(replace(graph, squared=graph.squared / unit), relative)
    report = None if callback is None else lambda step: callback(_in_units(step, unit))
    with one_thread():
        found = _solver(constraints, method)(program, _start(program), tol, max_iter, report)
        Y = _carrying_axes(program, found.Y)
        try:
            proof = certify_unfolding(program, Y, found.w, constraints)
        except KeyboardInterrupt:  # the embedding is there, and is not to be lost
            found = replace(found, status="interrupted")
            proof = certify_unfolding(program, Y, None, constraints)
    if np.isinf(_times(proof.primal, unit)):
        raise ValueError(
            "the variance of the embedding overflows in float64; divide X by a constant so that "
            "distances are near 1"
        )
    return Unfolding(
        Y=Y * np.sqrt(unit),
        w=found.w,
        eigenvalues=np.diag(program.gram(Y)) * unit,
        certificate=make_certificate(
            proof.primal * unit, _times(proof.dual, unit), proof.violation
        ),
        status=found.status,
        history=[_in_units(step, unit) for step in found.history],
        n_iter=found.n_iter,
    )


def _single_point():
    """The unfolding of a point without neighbours."""
    nothing = make_certificate(0.0, 0.0, 0.0)
    return Unfolding(np.zeros((1, 0)), np.zeros(0), np.zeros(0), nothing, "optimal", [], 0)


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
    Y += NOISE * program.differences(Y).std() * noise
    if np.isinf(program.sigma):
        return Y
    inner = program.gram(Y)  # the multiple of Y with the best objective
    return Y * np.sqrt(program.sigma * np.trace(inner) / (inner**2).sum())


def _carrying_axes(program, Y):
    """The principal axes of Y that carry any variance, the farthest point of each on its plus."""
    Y = principal_axes(program, Y)
    carried = np.diag(program.gram(Y))
    Y = Y[:, carried > VOID * carried.sum()]
    farthest = np.abs(Y).argmax(axis=0)
    return Y * np.sign(Y[farthest, np.arange(Y.shape[1])])


def _in_units(step, unit):
    return step._replace(
        primal=_times(step.primal, unit), dual=_times(step.dual, unit), gap=_times(step.gap, unit)
    )


def _times(number, unit):
    """Their product, infinity where it overflows."""
    with np.errstate(over="ignore"):
        return np.float64(number) * unit


def stack(graph, labels, parts):
    """The unfoldings of all components as one, side by side along the first axis."""
    if len(parts) == 1:
        return parts[0]
    rank = max(1, *(part.Y.shape[1] for part in parts))
    Y, eigenvalues, right = np.zeros((graph.n_points, rank)), np.zeros(rank), 0.0
    apart = APART * max(np.ptp(part.Y[:, :1], axis=0).max(initial=0.0) for part in parts)
    edge_label, w = labels[graph.edges[:, 0]], np.zeros(len(graph.edges))
    for label, part in enumerate(parts):
        inside = labels == label
        Y[inside, : part.Y.shape[1]] = part.Y
        if label:
            Y[inside, 0] += right - Y[inside, 0].min()
        right = Y[inside, 0].max() + apart
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
        status=min((part.status for part in parts), key=STATUSES.index),
        history=[step for part in parts for step in part.history],
        n_iter=sum(part.n_iter for part in parts),
    )
