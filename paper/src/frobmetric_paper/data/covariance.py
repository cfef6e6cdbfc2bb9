"""Covariances of samples, and the maps that make them the identity."""

from __future__ import annotations

import numpy as np

#: Eigenvalues below this, relative to the largest, count as zero.
RANK_TOLERANCE = 1e-10


def within_covariance(X, y):
    """Return the covariance of the samples around the means of their classes."""
    labels, sizes = np.unique(y, return_inverse=True, return_counts=True)[1:]
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, labels, X)
    centred = X - (sums / sizes[:, None])[labels]
    return centred.T @ centred / len(X)


def whitening(covariance):
    """Return the factor L of the pseudo-inverse L L.T of a covariance.

    Samples with this covariance have the identity as covariance after they are multiplied by L.

    Parameters
    ----------
    covariance : ndarray of shape (n_features, n_features)

    Returns
    -------
    ndarray of shape (n_features, rank)

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric_paper.data.covariance import whitening
    >>> abs(whitening(np.diag([0.0, 4.0])))
    array([[0. ],
           [0.5]])
    """
    values, vectors = np.linalg.eigh(covariance)
    is_positive = values > RANK_TOLERANCE * values[-1]
    return vectors[:, is_positive] / np.sqrt(values[is_positive])
