"""Base of the estimators: transform and distances, and storing what was learned."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import as_numbers, check_flag, require_finite
from .._parameters import (
    CALLABLE,
    FLAG,
    NONE,
    POSITIVE,
    WHOLE,
    InvalidParameterError,
    choice,
    integer,
)
from .._rows import distinct_points, take_rows
from .._validation import validate_data
from ..backends import dask_backend, is_collection
from ..comparisons.reading import read_tuples
from ..core import Solution
from ..core.checks import read_values
from ..solvers import Interrupted
from ..solvers.monitor import Reporter
from .coordinates import Coordinates, as_components
from .explanation import Explanation, explain_distance
from .feature_maps import FeatureMap

DTYPES = [np.float64, np.float32]
#: Rules of the parameters that all estimators have.
SHARED_RULES = {
    "C": POSITIVE,
    "n_components": integer(1) | choice(["rank"]) | NONE,
    "tol": POSITIVE,
    "max_iter": integer(1),
    "keep_dual": FLAG,
    "n_jobs": WHOLE | NONE,
    "verbose": integer(0) | FLAG,
    "callback": CALLABLE | NONE,
}
#: Largest number of passes. Each solves the problem of the triplets of all passes before it, so the
#: work grows with the square of the number.
MOST_PASSES = 30
#: Rules of the parameters of estimators that mine triplets from labels.
LABEL_RULES = {
    "n_neighbors": integer(1),
    "n_impostors": integer(1) | NONE,
    "n_passes": integer(1, MOST_PASSES),
}
#: Numbers held at a time when distances of pairs are computed: few enough for the cache.
BLOCK = 1 << 16


class MetricEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A metric d^2(a, b) = (a - b).T M (a - b) with M = components_.T @ components_.

    With a kernel, a and b stand for the kernel's values with the training samples. An estimator
    that derives from this class has `fit`, which ends with `_store`. The values below hold for
    estimators that lack these parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.metric.base import MetricEstimator
    >>> isinstance(FrobMetric(), MetricEstimator)
    True
    """

    _takes_sparse = True
    _requires_y = True
    _size: int | None = None  # number of points of a tuple, if the estimator learns from tuples
    units = "raw"
    pull = 0.0
    kernel = "linear"
    gamma: float | None = None
    degree = 3
    coef0 = 1.0
    n_directions: int | None = None
    neighbors = "exact"

    def transform(self, X: Any) -> np.ndarray:
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
        X = self._check_samples(X)
        features = self._feature_map(X)
        with np.errstate(over="ignore", invalid="ignore"):
            mapped = features @ self.components_.T.astype(features.dtype, copy=False)
            return require_finite(mapped.astype(X.dtype, copy=False), of="mapped samples")

    def _transform_collection(self, X):
        """Return a Dask array of mapped samples, computed when it is asked for."""
        if self.kernel != "linear":
            raise ValueError(
                f"the metric has kernel={self.kernel!r}, and X is a Dask collection; map its "
                "chunks one by one as arrays"
            )
        return dask_backend().project(X, self.components_)

    def pair_distance(self, pairs: Any) -> np.ndarray:
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
        if self._size is None and self.kernel == "linear":
            points = read_values(pairs, name="pairs")
            if (
                points.dtype.kind in "biufc"
                and points.ndim == 3
                and points.shape[1:] == (2, self.n_features_in_)
            ):
                points = as_numbers(points, name="pairs")
                return _distance(self.components_, points[:, 0], points[:, 1])
        preprocessor = getattr(self, "preprocessor", None)
        pairs = read_tuples(pairs, 2, preprocessor, self.n_features_in_)
        return index_distance(self.components_, self._feature_map(pairs.points), pairs.index)

    def pair_score(self, pairs: Any) -> np.ndarray:
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
            What to split over; or blocks of features, as in `frobmetric.metric.explain_distance`,
            which has the formulas. With a kernel: "components" only.
        feature_names : sequence of str, default=None
            Names of the features; if None, those of the data frame of the fit, or x0, x1, ...

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        if self.kernel != "linear" and not (isinstance(by, str) and by == "components"):
            raise ValueError(
                f"the metric has kernel={self.kernel!r}, whose distances are no sums over "
                f"features; got by={by!r}, expected 'components'"
            )
        preprocessor = getattr(self, "preprocessor", None)
        pair = read_tuples([[a, b]], 2, preprocessor, self.n_features_in_)
        features = self._feature_map(pair.points)[pair.index[0]]
        features = features.toarray() if issparse(features) else features
        if feature_names is None and self.kernel == "linear":
            feature_names = getattr(self, "feature_names_in_", None)
        return explain_distance(self.components_, *features, by=by, feature_names=feature_names)

    def get_metric(self) -> Callable[..., Any]:
        """Return the learned distance as a function of two points.

        It takes vectors of `n_features_in_` numbers; with `squared=True` it returns the square.
        """
        check_is_fitted(self)
        if self.kernel == "linear":
            return partial(_point_distance, self.components_, None)
        return partial(_point_distance, self.components_, self._feature_map)

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return M = components_.T @ components_, also when truncated."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _feature_map(self):
        """Map from samples to the features that `components_` takes."""
        X_fit, gamma = getattr(self, "X_fit_", None), getattr(self, "gamma_", None)
        return FeatureMap(self.kernel, X_fit, gamma, self.degree, self.coef0)

    def _check_samples(self, X, **options):
        """Return samples of the same features as those of the fit."""
        if self._takes_sparse and self.kernel != "precomputed":
            options["accept_sparse"] = "csr"
        return validate_data(self, X, **{"reset": False, "dtype": DTYPES} | options)

    def _on_step(self):
        """Return the callback of a solver, which also writes lines if `verbose` asks for them."""
        return Reporter(self.verbose, self.callback) if self.verbose else self.callback

    def _store(self, learned, if_zero, **attributes):
        """Set all fitted attributes, which is the last step of a fit, and return the estimator.

        After Ctrl-C the best metric so far is stored, and `Interrupted` is raised. A metric that is
        zero warns with the text `if_zero`. Attributes of an earlier fit that are None now are
        deleted.
        """
        solution, recall = learned.solution, learned.comparisons.recall
        certificate, rows = solution.certificate, attributes.get("point_rows_")
        if recall is not None:
            certificate = replace(certificate, scope=f"for the mined triplets; {recall}")
        attributes |= {
            "components_": learned.components,
            "rank_": learned.rank,
            "scale_": learned.coordinates.scale,
            "certificate_": certificate,
            "mining_recall_": recall,
            "status_": solution.status,
            "history_": list(solution.history),
            "n_iter_": solution.n_iter,
            "n_triplets_": learned.comparisons.n_triplets,
            "dual_coef_": solution.u if self.keep_dual else None,
            "triplets_": learned.numbered(rows) if self.keep_dual else None,
            "point_rows_": rows if self.keep_dual else None,
            "point_weight_": attributes.get("point_weight_") if self.keep_dual else None,
        }
        for name, value in attributes.items():
            vars(self).pop(name, None)
            if value is not None:
                setattr(self, name, value)
        if solution.status == "interrupted":
            raise Interrupted(solution)
        if self.rank_ == 0 and solution.status == "optimal":
            warnings.warn(f"the learned metric is zero: {if_zero}", UserWarning, stacklevel=4)
        return self

    def _require_dual(self):
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise ValueError("no dual variables were kept; fit with keep_dual=True")

    def __sklearn_is_fitted__(self):
        return hasattr(self, "components_")

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._requires_y
        tags.input_tags.three_d_array = self._size is not None
        tags.input_tags.sparse = self._takes_sparse and self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


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


def index_distance(components, features, index):
    """Return the learned distances of pairs of rows of `features`.

    Each distinct pair is computed once, so that a distance does not depend on where in a product
    its points stand.
    """
    n = features.shape[0]
    first, second = np.minimum(*index.T), np.maximum(*index.T)
    keys, place = np.unique(first * n + second, return_inverse=True)
    distances, step = np.empty(len(keys)), max(1, BLOCK // features.shape[1])
    for start in range(0, len(keys), step):
        ends = np.divmod(keys[start : start + step], n)
        first, second = (take_rows(features, rows) for rows in ends)
        distances[start : start + step] = _length(components, first - second)
    return distances[place]


def _length(components, difference):
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        mapped = _mapped(components, difference)
        square = np.atleast_1d(np.einsum("...i,...i", mapped, mapped))
    limits = np.finfo(square.dtype)
    is_odd = ~((square > limits.tiny / limits.eps) & (square < np.inf))
    length = np.sqrt(square)
    if is_odd.any():
        rows = difference[is_odd] if difference.ndim > 1 else difference[None]
        rows = rows.toarray() if issparse(rows) else rows
        length[is_odd] = require_finite(_scaled_length(components, rows), of="distances")
    return length if difference.ndim > 1 else length[0]


def _mapped(components, difference):
    weights = np.diag(components)
    is_diagonal = len(weights) == difference.shape[-1] == len(components)
    if is_diagonal and np.count_nonzero(components) == np.count_nonzero(weights):
        return difference * weights
    return difference @ components.T


def _scaled_length(components, difference):
    """Return lengths whose squares overflow or vanish: rows are multiplied by powers of two."""
    _, first = np.frexp(np.abs(difference).max(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = np.ldexp(difference, -first[:, None]) @ components.T
        _, second = np.frexp(np.abs(mapped).max(axis=1, initial=0.0))
        norm = np.linalg.norm(np.ldexp(mapped, -second[:, None]), axis=1)
        return np.ldexp(norm, first + second)


def _distance(components, a, b):
    # differences first: this is exactly symmetric, and exactly zero for equal points
    with np.errstate(over="ignore"):
        return _length(components, require_finite(a - b, of="differences of points"))


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


def _point_distance(components, feature_map, a, b, *, squared=False):
    """Return the distance of two points, or its square."""
    a, b = (np.atleast_1d(np.squeeze(as_numbers(point, name="a point"))) for point in (a, b))
    n_features = components.shape[-1] if feature_map is None else None
    for point in (a, b):
        if point.ndim != 1 or len(point) != (n_features or len(point)):
            raise ValueError(
                f"a point has shape {point.shape}; expected ({n_features or 'n_features'},), one "
                "number for each feature of the metric; use pair_distance for many pairs"
            )
    if feature_map is not None:
        points, index = distinct_points(np.stack([a, b]))
        a, b = feature_map(points)[index]
    check_flag(squared, name="squared")
    distance = _distance(components, a, b)
    if not squared:
        return distance
    with np.errstate(over="ignore"):
        return require_finite(distance**2, of="the squared distance")
