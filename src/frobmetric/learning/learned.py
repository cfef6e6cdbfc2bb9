"""Solution of a problem together with the map that it gives in features."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..checks.parameters import InvalidParameterError
from ..core import Solution
from .coordinates import Coordinates, as_components


@dataclass(frozen=True, eq=False)
class LearnedMetric:
    """Solution of a problem, together with the metric that it gives in features."""

    solution: Solution
    coordinates: Coordinates
    comparisons: object
    components: np.ndarray
    rank: int

    @classmethod
    def of(cls, metric, solution, coordinates, comparisons, dtype):
        """Return the metric of a solution, with as many components as the parameter asks for."""
        factor = coordinates.to_features(solution.point.factor())
        rank = factor.shape[1]
        sizes = {None: coordinates.n_rows, "rank": max(1, rank)}
        components = as_components(factor, sizes.get(metric.n_components, metric.n_components))
        return cls(solution, coordinates, comparisons, in_precision(components, dtype), rank)

    def numbered(self, rows):
        """Return the comparisons by row numbers of X; `rows` has that of each sample, if given."""
        return self.comparisons if rows is None else self.comparisons.renumbered(rows)


def check_n_components(n_components, coordinates):
    """Raise `InvalidParameterError` if a metric cannot have that many components."""
    if isinstance(n_components, Integral) and n_components > coordinates.n_rows:
        unit = "directions kept" if coordinates.is_compact else "features of X"
        raise InvalidParameterError(
            f"n_components={n_components} is larger than the {coordinates.n_rows} {unit}"
        )


def in_precision(components, dtype):
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
