"""Models as safetensors files: numbers and JSON, no pickle; nothing in a file is executed.

A file has the tensors `components` and `history`; `dual_coef` and `triplets.<name>` if the dual
variables were kept; `prior_factor` with a prior by name; `prior_components` after an update;
`X_fit` with a kernel of samples; one for each parameter that is an array, such as `prior`; `grid`
and `cv_errors` for FrobMetricCV. Everything else is text in the header: see `_header`.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict
from operator import index
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .._atomic import replacing
from .._extras import require
from ..core import Certificate, Step
from ..metric import (
    BoostMetric,
    FrobMetric,
    FrobMetricCV,
    PairFrobMetric,
    QuadrupletFrobMetric,
    TripletFrobMetric,
)
from ..metric.sets import triplets_from_arrays
from .model_checks import check_model, check_triplet_arrays

#: Name of the format, and the newest version of it that this code reads and writes.
FORMAT, FORMAT_VERSION = "frobmetric", 1
#: Classes that a file can name; no other is ever created.
CLASSES = {
    kind.__name__: kind
    for kind in (
        BoostMetric,
        FrobMetric,
        FrobMetricCV,
        PairFrobMetric,
        QuadrupletFrobMetric,
        TripletFrobMetric,
    )
}
#: Fitted attributes that are arrays, and the names of their tensors; `Cs` is a parameter's.
ARRAYS = ("components_", "dual_coef_", "prior_factor_", "prior_components_", "X_fit_", "cv_errors_")
TENSORS = {name: name.removesuffix("_") for name in ARRAYS} | {"Cs_": "grid"}
#: Fitted attributes that are single values.
INTEGERS = ("n_features_in_", "rank_", "n_iter_", "n_triplets_", "n_directions_")
INTEGERS += ("n_contradictions_",)
FLOATS = ("scale_", "unit_", "C_", "kept_variance_", "gamma_")
FLOATS += ("threshold_", "learned_threshold_", "prior_threshold_")
#: How to convert single values from JSON.
SCALARS = dict.fromkeys(INTEGERS, index) | dict.fromkeys(FLOATS, float) | {"status_": str}
#: Parameters that belong to a run, not to the model.
NOT_SAVED = ("callback", "preprocessor")


def save(estimator, path):
    """Write a fitted estimator to a safetensors file, whole or not at all.

    The dual variables are written if the fit kept them (`keep_dual=True`), so that `certify` can
    prove the loaded model again. With an rbf or polynomial kernel the training samples are
    written too, because `transform` needs them. The callback and the preprocessor are not written:
    they belong to a run, and load as None. Any other parameter that is neither a plain value nor
    an array loads as its default; saving warns of it.

    Parameters
    ----------
    estimator : object
        A fitted `FrobMetric`, `FrobMetricCV`, `BoostMetric`, `TripletFrobMetric`,
        `QuadrupletFrobMetric` or `PairFrobMetric`.
    path : str or Path
        An existing file is replaced only when the new one is complete.

    Raises
    ------
    TypeError
        If the estimator is of another class, or has a kernel of sparse samples.
    ValueError
        If its parameters were changed after `fit` and no longer match the learned metric.
    """
    name = type(estimator).__name__
    if CLASSES.get(name) is not type(estimator):
        raise TypeError(f"a {name} cannot be saved; expected one of {sorted(CLASSES)}")
    check_is_fitted(estimator, "components_")
    if sp.issparse(getattr(estimator, "X_fit_", None)):
        raise TypeError(
            f"kernel={estimator.kernel!r} compares with the training samples, which are sparse and "
            "cannot be written; fit to X.toarray() if that is small enough, or with kernel='linear'"
        )
    _check_unchanged(estimator)
    safetensors = require("safetensors.numpy", "cli")
    parameters, arrays = _parameters(estimator)
    tensors = _fitted_tensors(estimator) | arrays
    header = _header(estimator, parameters, tensors)
    content = {key: np.ascontiguousarray(value) for key, value in tensors.items()}
    with replacing(path) as file:
        file.write(safetensors.save(content, header))


def load(path):
    """Read an estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        An estimator of the class that was saved, which transforms to the same bits. A learner
        from tuples has no preprocessor: give it formed tuples, or set one with `set_params`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no model of frobmetric, has a newer format, or is damaged.
    """
    tensors, header = _read(Path(path))
    _check_format(path, header)
    try:
        return _rebuild(tensors, header)
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it lacks {error}") from error
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _check_unchanged(estimator):
    """Raise ValueError if the model could not be loaded again."""
    try:
        check_model(estimator)
    except ValueError as error:
        raise ValueError(
            f"this {type(estimator).__name__} cannot be saved: {error}; parameters were changed "
            "after fit; fit again"
        ) from error


def _fitted_tensors(estimator):
    present = [name for name in TENSORS if hasattr(estimator, name)]
    tensors = {TENSORS[name]: getattr(estimator, name) for name in present}
    if hasattr(estimator, "triplets_"):
        arrays = estimator.triplets_.to_arrays()
        tensors |= {f"triplets.{name}": array for name, array in arrays.items()}
    history = np.array(estimator.history_, dtype=np.float64)
    tensors["history"] = history.reshape(-1, len(Step._fields))
    return tensors


def _parameters(estimator):
    """Return the parameters as JSON values, and separately those that are arrays."""
    parameters, arrays, lost = {}, {}, []
    for name, value in estimator.get_params(deep=False).items():
        if name in NOT_SAVED:
            continue
        try:
            if getattr(value, "ndim", 0) > 0:
                arrays[name] = np.asarray(value, dtype=np.float64)
                parameters[name] = {"tensor": name}
            else:
                parameters[name] = _to_json(value)
        except (TypeError, ValueError):
            lost.append(f"{name}={value!r}")
    if lost:
        warnings.warn(
            f"{', '.join(lost)} cannot be written to a file and will load as the default; the "
            "learned metric is not affected, only what a new fit would do",
            UserWarning,
            stacklevel=3,
        )
    return parameters, arrays


def _header(estimator, parameters, tensors):
    from .. import __version__

    fitted = {name: getattr(estimator, name) for name in SCALARS if hasattr(estimator, name)}
    parts = {
        "parameters": parameters,
        "fitted": _to_json(fitted),
        "feature_names": _to_json(list(getattr(estimator, "feature_names_in_", []))),
        "certificate": _to_json(asdict(estimator.certificate_)),
        # the order in memory decides how BLAS rounds, so it is part of the model
        "tensors": {key: "F" if np.isfortran(value) else "C" for key, value in tensors.items()},
        "output": getattr(estimator, "_sklearn_output_config", {}).get("transform"),
    }
    return {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "frobmetric_version": __version__,
        "class": type(estimator).__name__,
    } | {key: json.dumps(part, allow_nan=False) for key, part in parts.items()}


def _read(path):
    """Return the tensors and the header of a safetensors file."""
    safetensors = require("safetensors", "cli")
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {problem}; expected a model saved by frobmetric")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            keys, header = file.keys(), file.metadata() or {}
            return {key: file.get_tensor(key) for key in keys}, header
    except (safetensors.SafetensorError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error})") from error


def _check_format(path, header):
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file, but not a model saved by frobmetric")
    version = header.get("format_version", "")
    if not version.isdecimal():
        raise ValueError(f"{path} has format version {version!r}; expected a number")
    if int(version) > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {version} (frobmetric "
            f"{header.get('frobmetric_version', '?')}); this frobmetric reads versions up to "
            f"{FORMAT_VERSION}: upgrade it"
        )


def _rebuild(tensors, header):
    orders = json.loads(header["tensors"])
    # copied, because the arrays of safetensors may be neither aligned nor writable
    tensors = {key: np.array(tensors[key], order=order) for key, order in orders.items()}

    def part(name):
        return json.loads(header[name], object_hook=lambda value: _from_json(value, tensors))

    if header["class"] not in CLASSES:
        raise ValueError(f"class {header['class']!r} is not known; expected {sorted(CLASSES)}")
    estimator = CLASSES[header["class"]](**part("parameters"))
    estimator.certificate_ = Certificate(**{k: float(v) for k, v in part("certificate").items()})
    for name, value in part("fitted").items():
        if name in SCALARS:
            setattr(estimator, name, SCALARS[name](value))
    if names := part("feature_names"):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    _restore_arrays(estimator, tensors)
    check_model(estimator)
    return estimator if part("output") is None else estimator.set_output(transform=part("output"))


def _restore_arrays(estimator, tensors):
    for name, tensor in TENSORS.items():
        if tensor in tensors:
            setattr(estimator, name, tensors[tensor])
    estimator.history_ = [
        Step(primal, dual, gap, int(rank), seconds)
        for primal, dual, gap, rank, seconds in tensors["history"].tolist()
    ]
    prefix = "triplets."
    arrays = {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}
    if arrays:
        check_triplet_arrays(arrays)
        estimator.triplets_ = triplets_from_arrays(arrays)


def _to_json(value):
    """Convert to plain JSON values; infinities and NaN, which JSON lacks, become objects."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_json(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{value!r} is not a plain value")


def _from_json(value, tensors):
    if set(value) == {"float"}:
        return float(value["float"])
    if set(value) == {"tensor"}:
        return tensors[value["tensor"]]
    return value
