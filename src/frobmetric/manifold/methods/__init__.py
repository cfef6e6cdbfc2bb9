"""Solve an unfolding: `solve_unfolding` scales a graph, calls a method by name and certifies.

A method is a function (program, start, monitor) -> (Y, w): feasible coordinates and the
multipliers of the edges. The monitor has the history and the reason why the run ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ...checks.parameters import InvalidParameterError
from ...core.points import Array, Index, Vector
from ...core.solution import Step
from ...core.threads import one_thread
from ...solvers.monitor import Monitor
from ..certificate import UnfoldingCertificate, certify_unfolding, make_certificate
from ..graph import NeighborGraph
from ..sparse.spectrum import smallest_eigenpairs
from .dual import dual
from .equal import equal
from .lowrank import lowrank
from .program import Bounds, UnfoldingProgram, principal_axes

#: Function of a program, a start and a monitor: coordinates, and multipliers of the edges.
Method: TypeAlias = Callable[[UnfoldingProgram, Array, Monitor], tuple[Array, Vector]]

CONSTRAINTS = ("at_most", "equal")  #: ways to keep the distances between neighbours
START_RANK = 4  #: number of columns of the start
NOISE = 1e-2  #: noise in the start, relative to a typical distance: no column may be exactly zero
HIGH_RANK = 12  #: rank from which on, with a Frobenius term, the whole Gram matrix is cheaper
MAX_LOWRANK_STEPS = 200  #: number of steps after which "auto" changes to the Gram matrix
NEGLIGIBLE = 1e-12  #: share of the variance below which an axis is rounding
LEAST_SIGMA = 1e-290  #: least sigma, relative to squared distances: its inverse must be finite
SPACE = 0.1  #: space between components, relative to the widest one
#: Statuses of several components together: the first of these that one of them has.
STATUSES = ("interrupted", "stopped", "stalled", "max_iter", "optimal")


def _auto(program: UnfoldingProgram, start: Array, monitor: Monitor) -> tuple[Array, Vector]:
    """Solve in the coordinates, unless a Frobenius term calls for many of them."""
    if np.isinf(program.sigma):
        return lowrank(program, start, monitor)
    # no eigenvalue of the Gram matrix exceeds sigma, and n_edges / second bounds their sum
    second = smallest_eigenpairs(program, 1 / program.squared, 1, tol=1e-3)[0][0]
    if HIGH_RANK * program.sigma >= program.n_edges / second:
        limits = {"max_rank": HIGH_RANK, "max_steps": MAX_LOWRANK_STEPS}
        result = lowrank(program, start, monitor, **limits)
        if monitor.status != "stalled":
            return result
        monitor.status = ""
    return dual(program, start, monitor)


#: Every method for constraints="at_most" by name.
SOLVERS: dict[str, Method] = {"auto": _auto, "lowrank": lowrank, "dual": dual}


@dataclass(frozen=True)
class Unfolding:
    """Certified solution of an unfolding problem, in the units of its graph.

    `Y` has the coordinates of the points along their principal axes and `eigenvalues` the variance
    along each; `w` has the multipliers of the edges, or is None with landmarks. The other fields
    are as in `frobmetric.core.solution.Solution`.
    """

    Y: Array
    w: Vector | None
    eigenvalues: Vector
    certificate: UnfoldingCertificate
    status: str
    solver: str
    history: list[Step]
    n_iter: int


def solve_unfolding(
    graph: NeighborGraph,
    *,
    sigma: float = np.inf,
    constraints: str = "at_most",
    solver: str = "auto",
    tol: float = 1e-5,
    max_iter: int = 1000,
    callback: Callable[..., Any] | None = None,
) -> Unfolding:
    """Unfold a connected graph, with the parameters of `MaximumVarianceUnfolding`."""
    method = _method(sigma, constraints, solver)
    if graph.n_points == 1:
        none, proof = np.zeros(0), make_certificate(0.0, 0.0, 0.0)
        return Unfolding(np.zeros((1, 0)), none, none, proof, "optimal", solver, [], 0)
    largest = graph.squared.max()
    unit = largest * (graph.squared / largest).mean()  # the sum may overflow
    with np.errstate(over="ignore"):  # a sigma that overflows has no effect
        relative_sigma = sigma / unit
    if relative_sigma < LEAST_SIGMA:
        raise ValueError(
            f"sigma is {sigma:.3g}; expected at least {LEAST_SIGMA:.0e} times the mean squared "
            f"distance of neighbours, {unit:.3g}; give a larger one, or None for none"
        )
    program = UnfoldingProgram(replace(graph, squared=graph.squared / unit), relative_sigma)

    def describe(bounds: Bounds, seconds: float) -> Step:
        primal, dual, gap = _scaled(unit, bounds.primal, bounds.dual, bounds.gap)
        return Step(primal, dual, gap, bounds.rank, seconds)

    monitor = Monitor(tol, max_iter, callback, describe=describe)
    with one_thread():
        Y, w = method(program, _start(program), monitor)
        Y, variance = _main_axes(program, Y)
        proof = _certify(program, Y, w, constraints, monitor)
    primal, bound = _scaled(unit, proof.primal, proof.dual)
    if np.isinf(primal):
        raise ValueError(
            "the variance of the embedding overflows in float64; divide X by a constant so that "
            "distances are near 1"
        )
    return Unfolding(
        Y=Y * np.sqrt(unit),
        w=w,
        eigenvalues=variance * unit,
        certificate=make_certificate(primal, bound, proof.violation, sigma),
        status=monitor.status,
        solver=solver,
        history=monitor.history,
        n_iter=len(monitor.history),
    )


def _method(sigma: float, constraints: str, solver: str) -> Method:
    if solver == "dual" and (np.isinf(sigma) or constraints == "equal"):
        given = "no sigma" if np.isinf(sigma) else "constraints='equal'"
        raise InvalidParameterError(
            f"solver='dual' needs a sigma and constraints='at_most', but there is {given}; use "
            "solver='auto'"
        )
    return equal if constraints == "equal" else SOLVERS[solver]


def _certify(
    program: UnfoldingProgram, Y: Array, w: Vector, constraints: str, monitor: Monitor
) -> UnfoldingCertificate:
    """Certify, without an upper bound if Ctrl-C interrupts it: the embedding must not be lost."""
    try:
        return certify_unfolding(program, Y, w, constraints=constraints)
    except KeyboardInterrupt:
        monitor.status = "interrupted"
        return certify_unfolding(program, Y, None, constraints=constraints)


def _start(program: UnfoldingProgram) -> Array:
    """Return the smoothest functions on the graph, with a little noise, as coordinates."""
    rank = min(START_RANK, program.n_points - 1)
    values, vectors = smallest_eigenpairs(program, 1 / program.squared, rank, tol=1e-3)
    Y = vectors / np.sqrt(values)
    noise = np.random.default_rng(0).standard_normal(Y.shape)
    Y += NOISE * program.differences(Y).std() * noise
    if np.isinf(program.sigma):
        return Y
    scatter = program.scatter(Y)  # scale Y to the best objective
    return Y * np.sqrt(program.sigma * np.trace(scatter) / (scatter**2).sum())


def _main_axes(program: UnfoldingProgram, Y: Array) -> tuple[Array, Vector]:
    """Return the axes of Y that have a variance, largest first, and the variances."""
    Y = principal_axes(program, Y)
    variance = np.diag(program.scatter(Y))
    order = np.argsort(-variance, kind="stable")  # equal variances are sorted up to rounding only
    order = order[variance[order] > NEGLIGIBLE * variance.sum()]
    Y, variance = Y[:, order], variance[order]
    farthest = np.abs(Y).argmax(axis=0)  # its coordinate becomes positive
    return Y * np.sign(Y[farthest, np.arange(Y.shape[1])]), variance


def _scaled(unit: float, *numbers: float) -> Vector:
    """Return the products of a unit with numbers, infinity where they overflow."""
    with np.errstate(over="ignore"):
        return np.array(numbers) * unit


def stack(
    graph: NeighborGraph, labels: Index, parts: Sequence[Unfolding], sigma: float = np.inf
) -> Unfolding:
    """Join the unfoldings of all components to one, side by side along the first axis."""
    if len(parts) == 1:
        return parts[0]
    rank = max(1, *(part.Y.shape[1] for part in parts))
    Y, eigenvalues, right = np.zeros((graph.n_points, rank)), np.zeros(rank), 0.0
    space = SPACE * max(np.ptp(part.Y[:, :1], axis=0).max(initial=0.0) for part in parts)
    edge_label, w = labels[graph.edges[:, 0]], np.zeros(len(graph.edges))
    for label, part in enumerate(parts):
        inside = labels == label
        Y[inside, : part.Y.shape[1]] = part.Y
        if label:
            Y[inside, 0] += right - Y[inside, 0].min()
        right = Y[inside, 0].max() + space
        eigenvalues[: part.Y.shape[1]] += part.eigenvalues
        if part.w is not None:
            w[edge_label == label] = part.w
    proofs = [part.certificate for part in parts]
    primal, bound = (sum(getattr(proof, side) for proof in proofs) for side in ("primal", "dual"))
    violation = max(proof.violation for proof in proofs)
    return Unfolding(
        Y=Y,
        w=w if all(part.w is not None for part in parts) else None,
        eigenvalues=eigenvalues,
        certificate=make_certificate(primal, bound, violation, sigma),
        status=min((part.status for part in parts), key=STATUSES.index),
        solver=parts[0].solver,
        history=[step for part in parts for step in part.history],
        n_iter=sum(part.n_iter for part in parts),
    )
