"""Checks of models: the parts of a file must match, and certificates must agree."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ..metric.feature_maps import KERNELS
from ..metric.sets import parts_of

#: Largest relative difference of certificates of one answer, computed on two machines.
AGREEMENT = 1e-6
#: Fitted attributes that every model has, and further ones of some classes.
REQUIRED = ("components_", "n_features_in_", "scale_", "rank_", "n_iter_", "n_triplets_", "status_")
ALSO_REQUIRED = {
    "FrobMetricCV": ("C_", "Cs_", "cv_errors_"),
    "TripletFrobMetric": ("n_contradictions_",),
    "QuadrupletFrobMetric": ("n_contradictions_",),
    "PairFrobMetric": ("n_contradictions_", "threshold_"),
}
#: Numbers of points in the comparisons of a class; 3 for classes that are not listed.
SIZES = {"QuadrupletFrobMetric": (4,), "PairFrobMetric": (3, 4)}
#: Attributes of some models: the expected value in words, and the test of it.
VALUES = {
    "scale_": ("a positive number", lambda v: 0 < v < np.inf),
    "unit_": ("a positive number", lambda v: 0 < v < np.inf),
    "n_directions_": ("at least 1", lambda v: v >= 1),
    "kept_variance_": ("a share, above 0 and at most 1", lambda v: 0 < v <= 1),
    "gamma_": ("a positive number", lambda v: 0 < v < np.inf),
    "n_contradictions_": ("at least 0", lambda v: v >= 0),
    "threshold_": ("a number", lambda v: not np.isnan(v)),
    "learned_threshold_": ("a distance", lambda v: 0 <= v < np.inf),
    "prior_threshold_": ("a distance", lambda v: 0 <= v < np.inf),
}


def check_model(estimator):
    """Raise ValueError unless the fitted attributes of a model match each other."""
    for name in (*REQUIRED, *ALSO_REQUIRED.get(type(estimator).__name__, ())):
        if not hasattr(estimator, name):
            raise ValueError(f"it lacks {name}")
    if hasattr(estimator, "partial_fit") and not hasattr(estimator, "unit_"):
        raise ValueError("it lacks unit_, which updates need")
    n_features = estimator.n_features_in_
    _check_kernel(estimator)
    _check_matrix("components", estimator.components_, _n_columns(estimator))
    if hasattr(estimator, "prior_components_"):
        _check_matrix("prior_components", estimator.prior_components_, n_features)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != n_features:
        raise ValueError(f"it has {len(names)} feature names for {n_features} features")
    for name, (expected, is_right) in VALUES.items():
        value = getattr(estimator, name, None)
        if value is not None and not is_right(value):
            raise ValueError(f"{name} = {value} is not {expected}")
    if hasattr(estimator, "dual_coef_") != hasattr(estimator, "triplets_"):
        raise ValueError("it has only one of dual variables and triplets; they belong together")
    if hasattr(estimator, "dual_coef_"):
        _check_dual(estimator)


def disagreements(claimed, recomputed):
    """Return the fields in which two certificates differ by more than rounding."""
    size = max(abs(recomputed.primal), abs(recomputed.dual))
    allowed = {
        "primal": size,
        "dual": size,
        "gap": size,
        "relative_gap": 1.0,
        "min_eigenvalue": sqrt(2 * size),  # |M|^2 / 2 <= primal when the prior is zero
        "violation": 1.0,
    }
    wrong = [
        name
        for name, unit in allowed.items()
        if not abs(getattr(claimed, name) - getattr(recomputed, name)) <= AGREEMENT * unit
    ]
    # squares are compared, because the root of the gap magnifies its rounding error
    if not abs(claimed.distance_bound**2 - recomputed.distance_bound**2) <= 2 * AGREEMENT * size:
        wrong.append("distance_bound")
    return wrong


def check_triplet_arrays(arrays):
    """Raise ValueError unless `triplets_from_arrays` can rebuild the triplets."""
    if parts := parts_of(arrays):
        for part in parts:
            check_triplet_arrays(part)
        return
    if "index" in arrays:
        _check_given(arrays)
    else:
        _check_mined(arrays)
    for name, array in arrays.items():
        if name != "weight" and (not np.issubdtype(array.dtype, np.integer) or array.min() < 0):
            raise ValueError(f"triplets.{name} must hold row numbers")


def _check_kernel(estimator):
    """Check that the samples of a kernel are present if and only if it needs them."""
    kernel = getattr(estimator, "kernel", "linear")
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is not known; expected one of {KERNELS}")
    needs_samples = kernel not in ("linear", "precomputed")
    for name in ("X_fit_", "gamma_"):
        if hasattr(estimator, name) != needs_samples:
            what = "lacks" if needs_samples else "has"
            raise ValueError(f"it {what} {name} with kernel={kernel!r}")
    if needs_samples:
        _check_matrix("X_fit", estimator.X_fit_, estimator.n_features_in_)


def _n_columns(estimator):
    """Return the number of columns of `components_`: features, or training samples of a kernel."""
    return len(estimator.X_fit_) if hasattr(estimator, "X_fit_") else estimator.n_features_in_


def _check_matrix(name, matrix, n_columns):
    if matrix.ndim != 2 or matrix.shape[1] != n_columns:
        raise ValueError(f"{name} has shape {matrix.shape}; expected (n_rows, {n_columns})")
    if matrix.dtype not in (np.float32, np.float64) or not np.isfinite(matrix).all():
        raise ValueError(f"{name} must hold finite numbers in single or double precision")


def _check_dual(estimator):
    shape, n_triplets = estimator.dual_coef_.shape, estimator.triplets_.n_triplets
    if shape != (n_triplets,) or n_triplets != estimator.n_triplets_:
        raise ValueError(
            f"it says {estimator.n_triplets_} triplets, but has {n_triplets}, and dual variables "
            f"of shape {shape}"
        )
    sizes = SIZES.get(type(estimator).__name__, (3,))
    size = estimator.triplets_.to_array().shape[1]
    if size not in sizes:
        raise ValueError(
            f"it has comparisons of {size} points; those of a {type(estimator).__name__} have "
            + " or ".join(map(str, sizes))
        )


def _check_given(arrays):
    index, weight = arrays["index"], arrays["weight"]
    if index.ndim != 2 or index.shape[1:] not in ((3,), (4,)) or weight.shape != index.shape[:1]:
        raise ValueError(
            f"triplets.index has shape {index.shape} and triplets.weight {weight.shape}; expected "
            "(n_triplets, 3 or 4) and (n_triplets,)"
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError("triplets.weight must hold finite numbers, none below zero, not all zero")


def _check_mined(arrays):
    for i in range(len(arrays) // 3):
        anchors, near, far = (arrays[f"{name}.{i}"] for name in ("anchors", "near", "far"))
        lengths = {len(anchors), len(near), len(far)}
        if (anchors.ndim, near.ndim, far.ndim) != (1, 2, 2) or len(lengths) != 1:
            raise ValueError(
                f"block {i} of the triplets has shapes {anchors.shape}, {near.shape} and "
                f"{far.shape}; expected (n,), (n, n_near) and (n, n_far)"
            )
