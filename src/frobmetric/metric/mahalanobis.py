"""What every estimator with a learned linear map offers: transform and distances."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class MahalanobisEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A metric d^2(a, b) = (a - b).T M (a - b) with M = components_.T @ components_."""

    #: What `validate_data` is told of sparse X; those that take it say how.
    _sparse_checks: ClassVar[dict[str, str]] = {}

    def transform(self, X):
        """Map samples to where the learned metric is Euclidean: X @ components_.T."""
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, dtype=[np.float64, np.float32], **self._sparse_checks
        )
        features = self._features(X)
        mapped = features @ self.components_.T.astype(features.dtype, copy=False)
        return mapped.astype(X.dtype, copy=False)

    def pair_distance(self, pairs):
        """Learned distance of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        pairs = np.asarray(pairs)
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(
                f"pairs has shape {pairs.shape}; expected (n_pairs, 2, {self.n_features_in_})"
            )
        return pair_distance(self.components_, *self._pair_features(pairs))

    def pair_score(self, pairs):
        """Similarity of each pair: minus its learned distance."""
        return -self.pair_distance(pairs)

    def get_metric(self):
        """The learned distance as a plain function of two points."""
        check_is_fitted(self)
        return partial(pair_distance, self.components_)

    def get_mahalanobis_matrix(self):
        """M = components_.T @ components_, also when truncated."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def _features(self, X):
        """What `components_` maps: the samples themselves."""
        return X

    def _pair_features(self, pairs):
        """The same of the first and of the second points of pairs."""
        return pairs[:, 0], pairs[:, 1]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "components_")  # not if a fit was begun and failed

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def pair_distance(components, a, b):
    """Exactly symmetric, and exactly zero for equal points: the difference is taken first."""
    difference = (np.asarray(a) - np.asarray(b)) @ components.T
    return np.sqrt(np.sum(difference**2, axis=-1))
