"""The problem with Frobenius regularisation, from coordinates and comparisons; its solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks.parameters import MATRIX, NONE, NOT_NEGATIVE, POSITIVE, Rule, choice, integer
from ..core import FrobeniusSDP, Hinge, SmoothedHinge, SquaredHinge
from ..core.points import Array, Point
from ..core.solution import Solution
from ..core.warning import warn_user
from ..model.feature_maps import KERNELS
from ..model.linear_map import LinearMap
from ..model.recipe import Recipe
from ..solvers import FROBENIUS_SOLVERS, Interrupted, State, solve
from ..solvers.monitor import NOTHING
from ..solvers.monitor import Run as Progressed
from .coordinates import Coordinates
from .learned import check_n_components
from .options import RunOptions
from .parameters import SHARED_RULES
from .priors import PRIORS, scaled_identity

#: Losses that a metric can be learned with.
LOSSES = {"hinge": Hinge, "smoothed_hinge": SmoothedHinge, "squared_hinge": SquaredHinge}
#: Rules of the parameters of the kernel.
KERNEL_RULES: dict[str, Rule] = {
    "kernel": choice(KERNELS),
    "gamma": POSITIVE | NONE,
    "degree": integer(1),
    "coef0": NOT_NEGATIVE,
    "n_directions": integer(1) | NONE,
}
#: Rules of the parameters of the problem and of its solver.
PROBLEM_RULES: dict[str, Rule] = {
    **SHARED_RULES,
    "loss": choice(LOSSES),
    "prior": MATRIX | choice(PRIORS) | NONE,
    "pull": NOT_NEGATIVE,
    "solver": choice(FROBENIUS_SOLVERS),
}
#: Share of the variance outside the directions that were kept from which on a fit warns.
NOTEWORTHY = 1e-3


def frobenius_problem(
    coordinates: Coordinates,
    comparisons: Any,
    recipe: Recipe,
    named_prior: Callable[..., Array] = scaled_identity,
) -> FrobeniusSDP:
    """Return the `FrobeniusSDP` of a metric in these coordinates from these comparisons.

    A prior matrix is part of the coordinates. If the prior has a name,
    `named_prior(constraints, comparisons)` is its matrix there.
    """
    constraints, C = comparisons.constraints(coordinates.Z), recipe.C
    matrix: Any = None
    if coordinates.prior_root is not None:
        matrix = coordinates.prior_root @ coordinates.prior_root.T
    elif isinstance(recipe.prior, str):
        matrix = named_prior(constraints, comparisons)
    cost: Any = C * recipe.pull * comparisons.near_scatter(coordinates.Z) if recipe.pull else None
    return FrobeniusSDP(constraints, LOSSES[recipe.loss](C * comparisons.share), cost, matrix)


def solve_frobenius(
    problem: FrobeniusSDP,
    options: RunOptions,
    point: Point | None = None,
    run: Progressed = NOTHING,
    listener: Callable[..., object] | None = None,
) -> Solution:
    """Solve a problem, starting at `point`.

    `run` is the part of the solve that an earlier process did; `listener` is that of `solve`. A run
    that Ctrl-C interrupts returns its best solution, of status "interrupted".
    """
    try:
        solution = solve(
            problem,
            solver=options.solver,
            tol=options.tol,
            max_iter=max(1, options.max_iter - run.n_iter),
            callback=options.on_step,
            start=State(run.u, point),
            listener=listener,
        )
        return run.complete(solution)
    except Interrupted as interruption:
        return run.complete(interruption.solution)


def check_coordinates(recipe: Recipe, coordinates: Coordinates) -> Coordinates:
    """Return the coordinates to learn in, checked.

    Warn if the default number of directions leaves out a part of the data worth noting.
    """
    check_n_components(recipe.n_components, coordinates)
    if recipe.n_directions is None and coordinates.kept_variance < 1 - NOTEWORTHY:
        warn_user(
            f"the {coordinates.n_directions} leading directions of the data are used, which have "
            f"{coordinates.kept_variance:.1%} of their variance; set n_directions to choose how "
            "many"
        )
    return coordinates


def learned_before(learned: LinearMap) -> dict[str, Any]:
    """Return the arguments of `coordinates_of` that make a fit an update of a map."""
    components = learned.components[learned.components.any(axis=1)].astype(np.float64)
    _, space = learned.problem
    return {"unit": space.unit, "prior_components": components, "units": space.units}
