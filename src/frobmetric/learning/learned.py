"""The map that a solution gives in features."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..checks.parameters import InvalidParameterError
from ..core.points import Array, Index, Vector
from ..core.solution import Solution
from ..core.warning import warn_user
from ..model.linear_map import NO_SOURCE, Evidence, Features, LinearMap, Run, Source, required
from ..model.recipe import Recipe
from .coordinates import Coordinates, as_components
from .options import RunOptions

#: Reason of a metric that is zero.
NO_DIRECTION = (
    "no direction of X serves the triplets better than it contradicts them; check y or the order "
    "(anchor, near, far)"
)


def map_of_solution(
    recipe: Recipe,
    options: RunOptions,
    solution: Solution,
    coordinates: Coordinates,
    comparisons: Any,
    *,
    features: tuple[int, Array | None],
    dtype: DTypeLike,
    source: Source = NO_SOURCE,
    rows: Index | None = None,
    weight: Vector | None = None,
    prior_components: Array | None = None,
) -> LinearMap:
    """Return the map of a solution, with as many components as the recipe asks for.

    `features` are number and names of the features; `rows` has the first row of X that each sample
    stands for, if the samples are not the rows of X, and `weight` their weights.
    """
    factor = coordinates.to_features(solution.point.factor())
    rank = factor.shape[1]
    components = as_components(factor, n_rows_of(recipe, coordinates, rank))
    certificate, recall = solution.certificate, comparisons.recall
    if recall is not None:
        certificate = replace(certificate, scope=f"for the mined triplets; {recall}")
    evidence = None
    if options.keep_dual:
        numbered = comparisons if rows is None else comparisons.renumbered(rows)
        evidence = Evidence(solution.u, numbered, rows, weight)
    return LinearMap(
        components=in_precision(components, dtype),
        features=Features(*features, kernel=coordinates.feature_map),
        certificate=certificate,
        run=Run(solution.n_iter, solution.status, tuple(solution.history), options.tol),
        rank=rank,
        recipe=recipe,
        space=coordinates.space(prior_components),
        source=replace(source, n_comparisons=comparisons.n_triplets, recall=recall),
        evidence=evidence,
    )


def n_rows_of(recipe: Recipe, coordinates: Coordinates, rank: int) -> int:
    """Return the number of rows of the components of a metric of this rank."""
    sizes: dict[str | None, int] = {None: coordinates.n_rows, "rank": max(1, rank)}
    wanted = recipe.n_components
    return wanted if isinstance(wanted, int) else sizes[wanted]


def warn_if_zero(learned: LinearMap, reason: str) -> None:
    """Warn of an optimal metric that is zero."""
    if learned.rank == 0 and required(learned.run, "run").status == "optimal":
        warn_user(f"the learned metric is zero: {reason}")


def check_n_components(n_components: int | str | None, coordinates: Coordinates) -> None:
    """Raise `InvalidParameterError` if a metric cannot have that many components."""
    if isinstance(n_components, Integral) and n_components > coordinates.n_rows:
        unit = "directions kept" if coordinates.is_compact else "features of X"
        raise InvalidParameterError(
            f"n_components={n_components} is larger than the {coordinates.n_rows} {unit}"
        )


def in_precision(components: Array, dtype: DTypeLike) -> Array:
    """Return components in the precision of the samples; refuse numbers that it cannot hold."""
    with np.errstate(over="ignore"):
        cast = components.astype(dtype, copy=False)
    if not np.isfinite(cast).all():
        raise ValueError(
            f"X has dtype {dtype} and varies so little that the learned map has numbers of size "
            f"{np.abs(components).max():.3g}, beyond the largest of that type; expected larger "
            "numbers; give X as float64"
        )
    return cast
