"""Shell of the estimators whose fit leaves a `LinearMap`."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..core.points import Array
from ..solvers import Interrupted
from .fitted import Fitted
from .linear_map import LinearMap


class MapShell(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Estimator that keeps one value, `map_`, whose parts are its fitted attributes.

    The value does not depend on parameters that change later. `fit` ends with `_accept`.
    """

    map_: LinearMap
    components_ = Fitted[Array]("components")
    n_features_in_ = Fitted[int]("features.number")
    feature_names_in_ = Fitted[Array]("features.names")

    @property
    def _preprocessor(self) -> Any:
        """Preprocessor that turns indices into points, of estimators that take one."""
        return None

    def _accept(self, learned: LinearMap) -> Self:
        """Keep what was learned, which is the last step of a fit, and return the estimator.

        After Ctrl-C the best map so far is kept, and `Interrupted` is raised.
        """
        self.map_ = learned
        if learned.run is not None and learned.run.status == "interrupted":
            proof = "" if learned.certificate is None else f"; {learned.certificate}"
            raise Interrupted(
                learned,
                f"interrupted after {learned.run.n_iter} steps; the best map so far is kept{proof}",
            )
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "components_" in state:
            raise ValueError(
                f"this pickle of a {type(self).__name__} is of an earlier version of frobmetric, "
                "which this one does not read; fit again"
            )
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        return "map_" in vars(self)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])
