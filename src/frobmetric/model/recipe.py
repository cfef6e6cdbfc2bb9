"""What is asked of a fit: the problem, without data and without anything of a run."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from ..core.points import Array


@dataclass(frozen=True, eq=False)
class Recipe:
    """Problem that a map solves: features, comparisons and regulariser.

    The fields are parameters of `FrobMetric`, whose docstring says what they mean. An estimator
    that lacks one of them learns with the value given here.

    Examples
    --------
    >>> from frobmetric import FrobMetric
    >>> metric = FrobMetric(C=10, n_neighbors=1).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> metric.map_.recipe.C
    10
    """

    units: str = "raw"
    prior: str | Array | None = None
    kernel: str = "linear"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    n_directions: int | None = None
    n_components: int | str | None = None
    loss: str = "hinge"
    C: float = 1.0
    pull: float = 0.0
    n_neighbors: int = 3
    n_impostors: int | None = None
    neighbors: str = "exact"
    n_passes: int = 1
    targets: str = "classes"
    strategy: str | None = None

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> Self:
        """Return the recipe of parameters by name; those of a run are left out."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in parameters.items() if name in names})

    @property
    def has_targets(self) -> bool:
        """Whether the labels are values of a regression."""
        return self.targets == "values"
