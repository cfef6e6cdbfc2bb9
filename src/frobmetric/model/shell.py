"""Shells of estimators: a fit leaves one frozen value, and `LinearMap` is that of most."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.points import Array
from ..solvers import Interrupted
from .fitted import Fitted, Preparation
from .linear_map import LinearMap


class FittedShell(BaseEstimator):
    """Estimator that keeps one frozen value, whose parts are its fitted attributes.

    `_kept` names the attribute with the value, which does not depend on parameters that change
    later. `fit` ends with `_store`.
    """

    _kept: ClassVar[str] = "map_"
    #: Parts that the value of this class always has, and their types.
    _needs: ClassVar[dict[str, type]] = {}
    n_features_in_ = Fitted[int]("features.number")
    feature_names_in_ = Fitted[Array]("features.names")

    def _store(self, learned: Any) -> Self:
        """Keep the value of a fit, which is its last step, and return the estimator."""
        setattr(self, self._kept, learned)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        if any(isinstance(getattr(type(self), name, None), Fitted) for name in state):
            raise ValueError(
                f"this pickle of a {type(self).__name__} is of an earlier version of frobmetric, "
                "which this one does not read; fit again"
            )
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        return self._kept in vars(self)


class MapShell(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedShell):
    """Estimator whose value, `map_`, is a `LinearMap`; `fit` ends with `_accept`."""

    map_: LinearMap
    _needs: ClassVar[dict[str, type]] = {"components": np.ndarray}
    #: Details of a map that only this class finds, and their types.
    _details: ClassVar[dict[str, Any]] = {}
    components_ = Fitted[Array]("components")
    preparation_ = Preparation()

    @property
    def _preprocessor(self) -> Any:
        """Preprocessor that turns indices into points, of estimators that take one."""
        return None

    def _accept(self, learned: LinearMap) -> Self:
        """Keep what was learned, which is the last step of a fit, and return the estimator.

        After Ctrl-C the best map so far is kept, and `Interrupted` is raised.
        """
        self._store(learned)
        if learned.run is not None and learned.run.status == "interrupted":
            proof = "" if learned.certificate is None else f"; {learned.certificate}"
            raise Interrupted(
                learned,
                f"interrupted after {learned.run.n_iter} steps; the best map so far is kept{proof}",
            )
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def map_of(model: Any) -> LinearMap:
    """Return the map that a fit left in an estimator, or the map itself."""
    if isinstance(model, LinearMap):
        return model
    if not isinstance(model, MapShell):
        raise TypeError(
            f"type {type(model).__name__} has no map; expected a metric, a learner, an "
            "EmbeddingAdapter, or the map of one; use its own transform"
        )
    check_is_fitted(model)
    return model.map_
