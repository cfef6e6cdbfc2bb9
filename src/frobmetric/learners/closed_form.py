"""Learners with a closed form: Covariance."""

from __future__ import annotations

from typing import Any, Self

from .._parameters import check_parameters
from ._base import LabelLearner
from .start import components_of, prior_matrix


class Covariance(LabelLearner):
    """The Mahalanobis distance of the samples: M is the inverse of their covariance.

    Nothing is learned from labels: it is the baseline of every other learner. Directions in which
    the samples do not vary count as distance zero (the pseudo-inverse).

    Parameters
    ----------
    preprocessor : array-like or callable, default=None
        Array whose row numbers may stand for samples, or a function from indices to samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L with M = L.T @ L.

    References
    ----------
    P. C. Mahalanobis, "On the generalised distance in statistics", 1936.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import Covariance
    >>> X, _ = load_iris(return_X_y=True)
    >>> metric = Covariance().fit(X)
    >>> float(metric.pair_distance([[X[0], X[60]]])[0].round(3))
    3.508
    """

    _requires_y = False

    def __init__(self, preprocessor: Any = None) -> None:
        self.preprocessor = preprocessor

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            Samples, or indices of the preprocessor.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of 2 is the same as the sample twice.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        samples = self._read(X, None, sample_weight)
        M = prior_matrix("covariance", samples.everything, samples.every_weight)
        return self._keep(components_of(M).astype(samples.dtype), **samples.attributes)
