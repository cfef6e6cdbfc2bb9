"""Base of the estimators: transform and distances, and storing what was learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..backends import dask_backend, is_collection
from ..checks.arguments import as_numbers, require_finite
from ..checks.samples import DTYPES, validate_data
from ..comparisons.reading import read_tuples
from ..core.checks import read_values
from ..core.warning import warn_user
from ..model.distances import distance_of, index_distance, point_distance
from ..model.explanation import Explanation, explain_distance
from ..model.feature_maps import FeatureMap
from ..solvers import Interrupted
from ..solvers.monitor import Reporter


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
                return distance_of(self.components_, points[:, 0], points[:, 1])
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
            What to split over; or blocks of features, as in `frobmetric.model.explain_distance`,
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
            return partial(point_distance, self.components_, None)
        return partial(point_distance, self.components_, self._feature_map)

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
            warn_user(f"the learned metric is zero: {if_zero}")
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
