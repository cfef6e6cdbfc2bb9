"""Units of the features: the number that each of them is multiplied by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.points import Array, Vector
from .value import Value, frozen_numbers

#: Units by name, the simplest first; "auto" chooses one of them.
UNITS = ("raw", "deviation", "within")


@dataclass(frozen=True, eq=False)
class Units(Value):
    """Units of the features by name, with the number that each feature is multiplied by.

    A feature that does not vary has the weight 0. Raw units have no weights.
    """

    name: str = "raw"
    weight: Vector | None = None

    def __post_init__(self) -> None:
        if self.name not in UNITS:
            raise ValueError(f"units_ = {self.name!r} is not one of {UNITS}")
        if (self.weight is None) != (self.name == "raw"):
            has = "lacks" if self.weight is None else "has"
            raise ValueError(f"it {has} feature_weight_ in {self.name} units")
        if self.weight is None:
            return
        object.__setattr__(self, "weight", frozen_numbers("feature_weight_", self.weight))
        if self.weight.ndim != 1:
            raise ValueError(
                f"feature_weight_ has shape {self.weight.shape}; expected one number "
                "for each feature"
            )
        if not (self.weight >= 0).all():
            raise ValueError(
                f"feature_weight_ has the entry {self.weight.min():g}; expected none below 0"
            )

    def scaled(self, X: Any) -> Any:
        """Return the samples, dense or sparse, in these units."""
        if self.weight is None:
            return X
        return X @ sp.diags_array(self.weight) if sp.issparse(X) else X * self.weight

    def to_raw(self, factor: Array) -> Array:
        """Return a factor (n_features, rank) of a metric of scaled features as one of raw ones."""
        return factor if self.weight is None else factor * self.weight[:, None]

    def from_raw(self, factor: Array) -> Array:
        """Return a factor of a metric of raw features as one of scaled features."""
        if self.weight is None:
            return factor
        weight = self.weight[:, None]
        return np.divide(factor, weight, where=weight > 0, out=np.zeros_like(factor))
