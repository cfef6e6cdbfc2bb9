"""Checks of a model: its fitted attributes are there, and match each other and its parameters."""

from __future__ import annotations

import difflib

import numpy as np

from .. import learners
from ..checks.arguments import as_index, as_weights
from ..checks.parameters import check_parameters
from ..core.solution import STATUSES
from ..embeddings import EmbeddingAdapter
from ..metric import FrobMetric
from ..model.feature_maps import KERNELS
from ..model.sets import blocks_of, parts_of
from ..model.units import UNITS
from .adapters import check_adapter

#: Classes that a file can name, with the fitted attributes that each has beside `REQUIRED`; no
#: other class is ever created.
CLASSES = {
    "BoostMetric": (),
    "EmbeddingAdapter": (),
    "FrobMetric": ("units_",),
    "FrobMetricCV": ("units_", "C_", "best_params_", "classes_", "report_"),
    "PairFrobMetric": ("units_", "n_contradictions_", "threshold_"),
    "QuadrupletFrobMetric": ("units_", "n_contradictions_"),
    "TripletFrobMetric": ("units_", "n_contradictions_"),
}
CLASSES |= dict.fromkeys(learners.__all__, ())
REQUIRED = ("components_", "n_features_in_", "scale_", "rank_", "n_iter_", "n_triplets_", "status_")
#: Numbers of points in the comparisons of a class; 3 for classes that are not listed.
SIZES = {"QuadrupletFrobMetric": (4,), "PairFrobMetric": (3, 4)}
#: Expected values in words, the test of a value, and the fitted attributes that must pass it.
VALUES = [
    ("a positive number", lambda v: 0 < v < np.inf, ("scale_", "unit_", "gamma_")),
    ("at least 1", lambda v: v >= 1, ("n_directions_", "n_unlabeled_")),
    ("a share, above 0 and at most 1", lambda v: 0 < v <= 1, ("kept_variance_",)),
    ("at least 0", lambda v: v >= 0, ("n_contradictions_",)),
    ("a distance", lambda v: 0 <= v < np.inf, ("learned_threshold_", "prior_threshold_")),
]

#: Status of a run that ended above its tolerance.
UNFINISHED = ("max_iter", "time_limit", "stalled")
#: Errors of a certified answer and of another one, relative to the tolerance; the certificate is
#: computed again, and rounds differently.
LATE, EARLY = 1.01, 0.99


def check_fields(part, given, known):
    """Raise ValueError if a part of a file is no mapping, or has a field that is not known."""
    if not isinstance(given, dict):
        raise TypeError(f"{part} = {given!r:.80} is not a mapping")
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"expected some of {sorted(known)}"
            raise ValueError(f"{part} has {name!r:.80}, which is not known here; {hint}")


def check_tensors(tensors, known, parameters):
    """Raise ValueError if a tensor is neither known, nor of triplets, nor named in a parameter."""
    for name in tensors:
        if name not in known and not name.startswith("triplets.") and f'"{name}"' not in parameters:
            raise ValueError(f"tensors has {name!r:.80}, which nothing of the model refers to")


def check_model(estimator):
    """Raise ValueError unless the fitted attributes of a model match each other."""
    if isinstance(estimator, EmbeddingAdapter):
        check_adapter(estimator)
        _check_threshold(estimator)
        return
    if type(estimator).__name__ in learners.__all__:
        _check_learner(estimator)
        return
    for name in (*REQUIRED, *CLASSES[type(estimator).__name__]):
        if not hasattr(estimator, name):
            raise ValueError(f"it lacks {name}")
    check_parameters(estimator, estimator._rules)
    if hasattr(estimator, "partial_fit") and not hasattr(estimator, "unit_"):
        raise ValueError("it lacks unit_, which updates need")
    n_features = estimator.n_features_in_
    _check_units(estimator)
    _check_kernel(estimator)
    n_columns = len(estimator.X_fit_) if hasattr(estimator, "X_fit_") else n_features
    _check_matrix("components", estimator.components_, n_columns)
    if hasattr(estimator, "prior_components_"):
        _check_matrix("prior_components", estimator.prior_components_, n_features)
    _check_rank(estimator)
    for name in ("prior_factor", "dual_coef"):
        if hasattr(estimator, f"{name}_"):
            _check_numbers(name, getattr(estimator, f"{name}_"))
    _check_names(estimator)
    for expected, is_right, attributes in VALUES:
        for name in attributes:
            value = getattr(estimator, name, None)
            if value is not None and not is_right(value):
                raise ValueError(f"{name} = {value} is not {expected}")
    if hasattr(estimator, "dual_coef_") != hasattr(estimator, "triplets_"):
        raise ValueError("it has only one of dual variables and triplets; they belong together")
    if hasattr(estimator, "dual_coef_"):
        _check_dual(estimator)
    if hasattr(estimator, "report_"):
        _check_choice(estimator)
    _check_threshold(estimator)
    _check_proof(estimator)
    _check_history(estimator)


def _check_proof(estimator):
    """Check that the status is that of the certificate: within the tolerance, or not."""
    proof, status, tol = estimator.certificate_, estimator.status_, estimator.tol
    if status not in STATUSES:
        raise ValueError(f"status_ = {status!r:.40} is not one of {sorted(STATUSES)}")
    if np.isnan([proof.primal, proof.dual, proof.distance_bound]).any() or not proof.gap >= 0:
        raise ValueError(f"certificate has a gap of {proof.gap}, or objectives that are no numbers")
    if (status == "optimal" and not proof.is_within(LATE * tol)) or (
        status in UNFINISHED and proof.error < EARLY * tol
    ):
        raise ValueError(
            f"status_ = {status!r} does not belong to a relative gap of {proof.error:.3g} and "
            f"tol={tol:g}"
        )


def _check_history(estimator):
    """Check that the history ends at the first step within the tolerance."""
    history, tol = estimator.history_, estimator.tol
    early = [step for step in history[:-1] if step.relative_gap < tol / 2]
    if early and estimator.status_ in ("optimal", *UNFINISHED):
        raise ValueError(
            f"history goes on after a step with relative gap {early[0].relative_gap:.3g}, at which "
            f"a fit with tol={tol:g} ends"
        )


def _check_rank(estimator):
    """Check that as many rows are not zero as the rank says; in single precision some underflow."""
    n_rows, rank = np.count_nonzero(estimator.components_.any(axis=1)), estimator.rank_
    fewest = min(rank, len(estimator.components_)) if estimator.components_.itemsize == 8 else 0
    if not fewest <= n_rows <= rank:
        raise ValueError(f"rank_ = {rank} and {n_rows} rows of components that are not zero")


def _check_learner(estimator):
    """Check what the learners of other methods have: a map, and for pairs a threshold."""
    for name in ("components_", "n_features_in_"):
        if not hasattr(estimator, name):
            raise ValueError(f"it lacks {name}")
    check_parameters(estimator, estimator._rules)
    _check_matrix("components", estimator.components_, estimator.n_features_in_)
    _check_names(estimator)
    _check_threshold(estimator)


def _check_names(estimator):
    names, n_features = getattr(estimator, "feature_names_in_", None), estimator.n_features_in_
    if names is not None and len(names) != n_features:
        raise ValueError(f"it has {len(names)} feature names for {n_features} features")


def _check_threshold(estimator):
    """Check that a threshold is a number, and that of the promise if there is one."""
    threshold = getattr(estimator, "threshold_", None)
    if threshold is not None and np.isnan(threshold):
        raise ValueError(f"threshold_ = {threshold} is not a number")
    if hasattr(estimator, "promise_") and (
        threshold is None or estimator.promise_.threshold != -threshold
    ):
        raise ValueError(f"threshold_ = {threshold} is not the threshold of promise_")


def _check_units(estimator):
    """Check that there is a weight of each feature if and only if the units are not raw."""
    units, weight = getattr(estimator, "units_", "raw"), getattr(estimator, "feature_weight_", None)
    if units not in UNITS:
        raise ValueError(f"units_ = {units!r} is not one of {UNITS}")
    if (weight is None) != (units == "raw"):
        raise ValueError(
            f"it {'lacks' if weight is None else 'has'} feature_weight_ in {units} units"
        )
    if weight is not None:
        _check_matrix("feature_weight", weight[None], estimator.n_features_in_)
        if weight.min() < 0:
            raise ValueError(
                f"feature_weight has the entry {weight.min():g}; expected none below 0"
            )


def _check_choice(estimator):
    """Check that settings of the report are possible, and name the chosen parameters."""
    chosen, report = estimator.best_params_, estimator.report_
    for setting in (report.setting, report.euclidean, *(kind[0] for kind in report.kinds)):
        check_parameters(FrobMetric(**vars(setting)), FrobMetric._rules)
    expected = vars(report.setting)
    if chosen.get("C") != estimator.C_ or not chosen.items() <= expected.items():
        raise ValueError(f"best_params_ = {chosen} and C_ = {estimator.C_:g} are not {expected}")


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


def _check_matrix(name, matrix, n_columns):
    if matrix.ndim != 2 or matrix.shape[1] != n_columns:
        raise ValueError(f"{name} has shape {matrix.shape}; expected (n_rows, {n_columns})")
    _check_numbers(name, matrix)


def _check_numbers(name, matrix):
    if matrix.dtype not in (np.float32, np.float64) or not np.isfinite(matrix).all():
        raise ValueError(f"{name} must hold finite numbers in single or double precision")


def _check_dual(estimator):
    shape, n_triplets = estimator.dual_coef_.shape, estimator.triplets_.n_triplets
    if shape != (n_triplets,) or n_triplets != estimator.n_triplets_:
        raise ValueError(
            f"it says {estimator.n_triplets_} triplets, but has {n_triplets}, and dual variables "
            f"of shape {shape}"
        )
    _check_points(estimator)
    name, size = type(estimator).__name__, estimator.triplets_.to_array().shape[1]
    sizes = SIZES.get(name, (3,))
    if size not in sizes:
        expected = " or ".join(map(str, sizes))
        raise ValueError(f"it has comparisons of {size} points; those of a {name} have {expected}")


def _check_points(estimator):
    """Check the rows that were learned from, and their weights, if they are not all rows."""
    rows, weight = (getattr(estimator, f"point_{name}_", None) for name in ("rows", "weight"))
    if (rows is None) != (weight is None):
        raise ValueError("it has only one of point_rows and point_weight; they belong together")
    if rows is not None:
        as_index(rows, (), name="point_rows", points="rows of X")
        as_weights(weight, len(rows), name="point_weight", of="rows")
        if not np.isin(estimator.triplets_.to_array(), rows).all():
            raise ValueError("its triplets have rows that are not in point_rows")


def check_triplets(arrays):
    """Raise an error unless `triplets_from_arrays` can rebuild the triplets."""
    if parts := parts_of(arrays):
        for part in parts:
            check_triplets(part)
    elif "index" in arrays:
        as_index(arrays["index"], (3, 4), name="triplets.index")
        n_triplets = len(arrays["index"])
        as_weights(arrays["weight"], n_triplets, name="triplets.weight", of="triplets")
    else:
        _check_mined(arrays)


def _check_mined(arrays):
    for i, block in enumerate(blocks_of(arrays)):
        anchors, near, far = (block[name] for name in ("anchors", "near", "far"))
        lengths = {len(anchors), len(near), len(far)}
        if (anchors.ndim, near.ndim, far.ndim) != (1, 2, 2) or len(lengths) != 1:
            shapes = f"{anchors.shape}, {near.shape} and {far.shape}"
            expected = "(n,), (n, n_near) and (n, n_far)"
            raise ValueError(f"block {i} of the triplets has shapes {shapes}; expected {expected}")
        if (weight := block.pop("weight", None)) is not None:
            as_weights(weight, len(anchors), name=f"triplets.weight.{i}", of="anchors")
        for name, array in block.items():
            as_index(array.ravel(), (), name=f"triplets.{name}.{i}", points="rows of X")
