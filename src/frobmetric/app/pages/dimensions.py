"""Dimension against quality: nearest-neighbour errors of the leading directions of a metric."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA

from ...evaluation.division import one_third
from ...evaluation.models import mapping_of
from ...neighbors import knn_error
from ...runtime.progress import working
from .spaces import apply

#: Samples and labels to learn from, and to test; the latter may be None.
Parts = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]
#: Numbers of dimensions that are tried, up to the dimension of the space.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
#: Largest number of samples of the test.
MOST_SAMPLES = 6000
#: Smallest share of the largest column that counts as a direction.
NEGLIGIBLE = 1e-6


def dimension_errors(
    model: Any, samples: Parts, unit: np.ndarray, n_neighbors: int, seed: int
) -> dict[str, Any]:
    """Return the errors by number of dimensions, before and after, on held-out samples.

    Parameters
    ----------
    model : estimator
        Fitted, if the samples have a test part; otherwise it is fitted to two thirds of them.
    samples : tuple (X, y, X_test, y_test)
        X_test and y_test may be None.
    unit : ndarray of shape (n_features,)
        Number that features are divided by before.
    n_neighbors, seed : int
    """
    X, y, X_test, y_test = samples
    if X_test is None or y_test is None:
        train, test = _divide(y, seed)
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the verdict tells
            model = clone(model).fit(X, y)
    mapping = mapping_of(model)
    learned = apply(mapping, X), apply(mapping, X_test)
    if not hasattr(mapping, "components_"):
        learned = _rotated(*learned)
    curves, spaces = {}, {"before": _rotated(X / unit, X_test / unit), "after": learned}
    total = sum(sum(_sizes(Z)) for Z, _ in spaces.values())
    with working("measuring dimensions", total, "dimensions") as work:
        for name, (Z, Z_test) in spaces.items():
            sizes, errors = _sizes(Z), []
            for size in sizes:
                parts = Z[:, :size], y, Z_test[:, :size], y_test
                errors.append(knn_error(*parts, n_neighbors=n_neighbors))
                work.advance(size)
            curves[name] = {"sizes": sizes, "errors": errors}
    return curves | {"n_train": len(y), "n_test": len(y_test)}


def _divide(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to learn from and to test, of at most `MOST_SAMPLES` samples."""
    train, test = one_third(y, seed)
    random = np.random.default_rng(seed)
    limit = MOST_SAMPLES // 3
    if len(test) > limit:
        train = np.sort(random.choice(train, 2 * limit, replace=False))
        test = np.sort(random.choice(test, limit, replace=False))
    return train, test


def _rotated(Z: np.ndarray, Z_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return samples in the principal directions of the first ones."""
    pca = PCA(min(SIZES[-1], *Z.shape), random_state=0).fit(Z)
    return pca.transform(Z), pca.transform(Z_test)


def _sizes(Z: np.ndarray) -> list[int]:
    spread = np.ptp(Z, axis=0)
    n = max(1, int((spread > NEGLIGIBLE * spread.max(initial=0.0)).sum()))
    return [*(size for size in SIZES if size < n), min(n, SIZES[-1])]
