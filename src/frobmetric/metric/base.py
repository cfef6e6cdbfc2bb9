"""Base of the estimators: shells around `map_`, the value that a fit leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, TypeVar

from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..backends import dask_backend, is_collection
from ..checks.arguments import as_numbers
from ..checks.samples import DTYPES, SampleReader, validate_data
from ..comparisons.reading import read_tuples
from ..core.checks import read_values
from ..core.points import Array, Vector
from ..core.solution import Certificate, Step
from ..learning.options import RunOptions
from ..model.distances import distance_of, point_distance
from ..model.explanation import Explanation
from ..model.fitted import Fitted
from ..model.linear_map import Run, Space
from ..model.recipe import Recipe
from ..model.shell import MapShell
from ..search.recall import MiningRecall

#: Method that a decorator takes and returns.
Method = TypeVar("Method", bound=Callable[..., Any])


class MapEstimator(MapShell):
    """Metric d^2(a, b) = (a - b).T M (a - b) with M = components_.T @ components_.

    With a kernel, a and b stand for the kernel's values with the training samples. A fit leaves one
    value, `map_`, which does not depend on parameters that change later; the fitted attributes are
    read-only parts of it. An estimator that derives from this class has `fit`, which ends with
    `_accept`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.metric.base import MapEstimator
    >>> isinstance(FrobMetric(), MapEstimator)
    True
    """

    _takes_sparse = True
    _requires_y = True
    _size: int | None = None  # number of points of a tuple, if the estimator learns from tuples

    def transform(self, X: Any) -> Array:
        """Map samples to the space where the learned metric is Euclidean: X @ components_.T.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        if is_collection(X):
            return self._transform_collection(X)
        return self.map_.transform(self._check_samples(X))

    def _transform_collection(self, X: Any) -> Any:
        """Return a Dask array of mapped samples, computed when it is asked for."""
        kernel = self.map_.features.kernel.kernel
        if kernel != "linear":
            raise ValueError(
                f"the metric has kernel={kernel!r}, and X is a Dask collection; map its "
                "chunks one by one as arrays"
            )
        return dask_backend().project(X, self.components_)

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learned distance of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of points; or pairs of indices, if the estimator has a preprocessor.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        if self._size is None and self.map_.features.kernel.kernel == "linear":
            points = read_values(pairs, name="pairs")
            if (
                points.dtype.kind in "biufc"
                and points.ndim == 3
                and points.shape[1:] == (2, self.n_features_in_)
            ):
                points = as_numbers(points, name="pairs")
                return distance_of(self.components_, points[:, 0], points[:, 1])
        read = read_tuples(pairs, 2, self._preprocessor, self.n_features_in_)
        return self.map_.pair_distance(read.points, read.index)

    def pair_score(self, pairs: Any) -> Array:
        """Return the similarity of each pair: minus its learned distance."""
        return -self.pair_distance(pairs)

    def explain(
        self, a: Any, b: Any, *, by: Any = "features", feature_names: Sequence[str] | None = None
    ) -> Explanation:
        """Split the squared distance of two points exactly, to see why they are near or far.

        Parameters
        ----------
        a, b : array-like of shape (n_features,), or indices
            The points; or indices of them, if the estimator has a preprocessor.
        by : {"features", "components"}, mapping or sequence, default="features"
            What to split over; or blocks of features, as in `frobmetric.model.explain_distance`,
            which has the formulas. With a kernel: "components" only.
        feature_names : sequence of str, default=None
            Names of the features; if None, those of the data frame of the fit, or x0, x1, ...

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        self.map_.require_parts(by)
        pair = read_tuples([[a, b]], 2, self._preprocessor, self.n_features_in_)
        return self.map_.explain(pair.points, pair.index[0], by=by, names=feature_names)

    def get_metric(self) -> Callable[..., Any]:
        """Return the learned distance as a function of two points.

        It takes vectors of `n_features_in_` numbers; with `squared=True` it returns the square.
        """
        check_is_fitted(self)
        kernel = self.map_.features.kernel
        return partial(
            point_distance, self.components_, None if kernel.kernel == "linear" else kernel
        )

    def get_mahalanobis_matrix(self) -> Array:
        """Return M = components_.T @ components_, also when truncated."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def _recipe(self) -> Recipe:
        """Return the problem that the parameters ask for, as a value of its own."""
        parameters = self.get_params(deep=False)
        if not isinstance(parameters.get("prior"), str | None):
            parameters["prior"] = deepcopy(parameters["prior"])
        return Recipe.of(parameters)

    def _options(self) -> RunOptions:
        """Return the parameters that decide how a problem is solved."""
        return RunOptions.of(self.get_params(deep=False))

    @property
    def _is_precomputed(self) -> bool:
        """Whether samples are values of a kernel with the training samples."""
        return False

    def _reader(self, *, of_fit: bool = True) -> SampleReader:
        """Return the checks of samples: of new features, or of those of the last fit."""
        sparse = {"accept_sparse": "csr"} if self._takes_sparse and not self._is_precomputed else {}
        before = None if of_fit else (self.map_.features.number, self.map_.features.names)
        return SampleReader(type(self).__name__, get_tags(self), before, sparse)

    def _check_samples(self, X: Any) -> Any:
        """Return samples of the same features as those of the fit."""
        options: dict[str, Any] = {"reset": False, "dtype": DTYPES}
        if self._takes_sparse and self.map_.features.kernel.kernel != "precomputed":
            options["accept_sparse"] = "csr"
        return validate_data(self, X, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._requires_y
        tags.input_tags.three_d_array = self._size is not None
        tags.input_tags.sparse = self._takes_sparse and not self._is_precomputed
        tags.input_tags.pairwise = self._is_precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class CertifiedEstimator(MapEstimator):
    """Map that solves a problem of this library, with certificate and course of the fit."""

    _needs: ClassVar[dict[str, type]] = {
        "certificate": Certificate,
        "run": Run,
        "rank": int,
        "recipe": Recipe,
        "space": Space,
    }
    certificate_ = Fitted[Certificate]("certificate")
    status_ = Fitted[str]("run.status")
    history_ = Fitted[list[Step]](lambda learned: list(learned.run.history))
    n_iter_ = Fitted[int]("run.n_iter")
    rank_ = Fitted[int]("rank")
    scale_ = Fitted[float]("space.scale")
    n_triplets_ = Fitted[int]("source.n_comparisons")
    mining_recall_ = Fitted[MiningRecall]("source.recall")
    dual_coef_ = Fitted[Vector]("evidence.u")
    triplets_ = Fitted[Any]("evidence.comparisons")
    point_rows_ = Fitted[Vector]("evidence.rows")
    point_weight_ = Fitted[Vector]("evidence.weight")


class FrobeniusEstimator(CertifiedEstimator):
    """Map that solves the problem with Frobenius regularisation."""

    kernel: str = "linear"
    unit_ = Fitted[float]("space.unit")
    units_ = Fitted[str]("space.units.name")
    feature_weight_ = Fitted[Vector]("space.units.weight")
    prior_factor_ = Fitted[Array]("space.prior_factor")
    prior_components_ = Fitted[Array]("space.prior_components")
    n_directions_ = Fitted[int]("space.n_directions")
    kept_variance_ = Fitted[float]("space.kept_variance")
    X_fit_ = Fitted[Any]("features.kernel.X_fit")
    gamma_ = Fitted[float]("features.kernel.gamma")

    @property
    def _is_precomputed(self) -> bool:
        return self.kernel == "precomputed"


def _has_linear_kernel(estimator: Any) -> bool:
    if estimator.kernel != "linear":
        raise AttributeError(
            f"partial_fit was called with kernel={estimator.kernel!r}; new samples change the "
            "features of a kernel, so only kernel='linear' can be updated: fit again"
        )
    return True


#: Decorator of `partial_fit`, which estimators with a kernel do not have.
if_linear: Callable[[Method], Method] = available_if(_has_linear_kernel)
