"""Files: models are here, samples in `tables`, symmetric matrices in `matrices`.

A model is a safetensors file: numbers and JSON, no pickle; nothing in it is executed. It has the
tensors `components` and `history`; `dual_coef` and `triplets.<name>` if the dual variables were
kept; `prior_factor` with a prior by name; `prior_components` after an update; `feature_weight` in
units that are not raw; `X_fit` with a kernel of samples; one for each parameter that is an array,
such as `prior`. Learners of other methods have neither history nor dual variables. Everything else
is text in the header: see `_header`. What was done to the columns of a table before the fit is
there too, and loads as `preparation_`.

Files of an `EncoderBridge` have the same header and other tensors: see `bridges`.

A seal, which `load` checks, covers all of it: see `sealed`. Version 1 of the format had no units:
its models are of raw features. Versions 1 and 2 had no seal, and load with a warning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite, sqrt
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .. import learners, metric
from ..checks.arguments import as_path
from ..checks.parameters import check_parameters
from ..core import Certificate, Step
from ..core.warning import warn_user
from ..embeddings import EmbeddingAdapter
from ..evaluation.choice import SelectionReport
from ..model.sets import triplets_from_arrays
from ..neighbors import Promise
from ..search.recall import MiningRecall
from .adapters import report_of, set_report
from .preparation import TablePreparation
from .sealed import FIRST_SEALED, read_sealed, write_sealed
from .validation import CLASSES, check_fields, check_model, check_tensors, check_triplets

__all__ = ["disagreements", "load", "save"]

#: Fitted attributes that are arrays, and the names of their tensors.
ARRAYS = ("components_", "dual_coef_", "prior_factor_", "prior_components_", "X_fit_")
OF_SAMPLES = ("feature_weight_", "query_components_", "weights_", "point_rows_", "point_weight_")
TENSORS = {name: name.removesuffix("_") for name in (*ARRAYS, *OF_SAMPLES, "bounds_")}
#: Fitted attributes that are single values, and how to convert them from JSON.
SCALARS: dict = dict.fromkeys(("n_features_in_", "rank_", "n_iter_", "n_triplets_"), index)
SCALARS |= dict.fromkeys(("n_directions_", "n_contradictions_", "n_unlabeled_"), index)
SCALARS |= dict.fromkeys(("scale_", "unit_", "C_", "kept_variance_", "gamma_"), float)
SCALARS |= dict.fromkeys(("threshold_", "learned_threshold_", "prior_threshold_"), float)
SCALARS |= dict.fromkeys(("strength_", "kept_share_", "truncation_bound_"), float)
SCALARS |= dict.fromkeys(("status_", "units_"), str) | {"changed_": bool}
#: Parameters that belong to a run, not to the model.
NOT_SAVED = ("callback", "preprocessor")
#: Parts of the header that are texts.
TEXTS = ("format", "format_version", "frobmetric_version", "class", "seal")
#: Parts of the header that are JSON; `READERS` has those of some models only.
PARTS = ("parameters", "fitted", "feature_names", "tensors", "output", "certificate")
#: Kinds of output of `transform`.
OUTPUTS = (None, "default", "pandas", "polars")
#: Errors of numbers that are no indices, or too large.
UNEXPECTED = (ArithmeticError, IndexError)
#: Number of characters of a reason why a file cannot be read.
LONGEST = 500
#: Largest relative difference of certificates of one answer, computed on two machines.
AGREEMENT = 1e-6


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator to a safetensors file, whole or not at all.

    The dual variables are written if the fit kept them (`keep_dual=True`), so that `certify` can
    prove the loaded model again. With an rbf or polynomial kernel the training samples are
    written too, because `transform` needs them. The callback and the preprocessor are not written:
    they belong to a run, and load as None. Any other parameter that is neither a plain value nor
    an array loads as its default; saving warns of it. Of a `FrobMetricCV` the choice and its report
    are written, and neither `cv_results_` nor the samples that `predict` needs.

    Parameters
    ----------
    estimator : object
        A fitted `FrobMetric`, `FrobMetricCV`, `BoostMetric`, `TripletFrobMetric`,
        `QuadrupletFrobMetric`, `PairFrobMetric`, `EmbeddingAdapter`, `EncoderBridge`, or a learner
        of `frobmetric.learners`.
    path : str or Path
        An existing file is replaced only when the new one is complete.

    Raises
    ------
    TypeError
        If the estimator is of another class, or has a kernel of sparse samples, or class labels
        that are neither numbers nor text.
    ValueError
        If its parameters were changed after `fit` and no longer match the learned metric.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric, load, save
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save(FrobMetric().fit(X, y), path)
    >>> load(path).components_.shape
    (4, 4)
    """
    name, path = type(estimator).__name__, as_path(path)
    if name == "EncoderBridge":
        check_is_fitted(estimator)
        write_sealed(path, *_bridge_content(estimator))
        return
    if name not in CLASSES or type(estimator) is not _class_of(name):
        known = sorted([*CLASSES, "EncoderBridge"])
        raise TypeError(f"type {name} cannot be saved; expected one of {known}")
    check_is_fitted(estimator, "components_")
    if sp.issparse(getattr(estimator, "X_fit_", None)):
        raise TypeError(
            f"kernel={estimator.kernel!r} compares with the training samples, which are sparse and "
            "cannot be written; fit to X.toarray() if that is small enough, or with kernel='linear'"
        )
    try:
        check_model(estimator)
    except ValueError as error:
        raise ValueError(
            f"this {name} cannot be saved: {error}; parameters were changed after fit; fit again"
        ) from error
    parameters, arrays = _parameters(estimator)
    tensors = _fitted_tensors(estimator) | arrays
    write_sealed(path, tensors, _header(estimator, parameters, tensors))


def load(path: str | Path) -> Any:
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
        If the file is no model of frobmetric, has a newer format, is damaged, or was changed after
        it was saved: its seal is a checksum of everything that it holds.

    Warns
    -----
    UserWarning
        If the file is of an earlier version, whose files have no seal. Save the model again, and
        it has one.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric, load, save
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save(FrobMetric().fit(X, y), path)
    >>> load(path).transform(X).shape
    (150, 4)
    """
    return load_model(path)[0]


def load_model(path: str | Path) -> tuple[Any, bool]:
    """Return an estimator that `save` wrote, and whether its file has a seal."""
    tensors, header = read_sealed(as_path(path))
    try:
        return _rebuild(tensors, header), int(header["format_version"]) >= FIRST_SEALED
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it lacks {error}") from error
    except (TypeError, ValueError, AttributeError, RecursionError, *UNEXPECTED) as error:
        reason = " ".join(str(error).split())[:LONGEST] or type(error).__name__
        raise ValueError(f"{path} is damaged: {reason}") from error


def disagreements(
    claimed: Certificate, recomputed: Certificate, history: Sequence[Step] = ()
) -> list[str]:
    """Return the fields in which two certificates differ by more than rounding.

    "history" is one of them if that of the fit does not lead to the second certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.io import disagreements
    >>> model = FrobMetric(keep_dual=True).fit(X, y)
    >>> disagreements(model.certificate_, model.certify(X, y))
    []
    """
    size = max(abs(recomputed.primal), abs(recomputed.dual))
    units = dict.fromkeys(("primal", "dual", "gap"), size) | {"relative_gap": 1.0, "violation": 1.0}
    units["min_eigenvalue"] = sqrt(2 * size)  # |M|^2 / 2 <= primal when the prior is zero
    wrong = [
        name
        for name, unit in units.items()
        if not abs(getattr(claimed, name) - getattr(recomputed, name)) <= AGREEMENT * unit
    ]
    # squares are compared, because the root of the gap magnifies its rounding error
    if not abs(claimed.distance_bound**2 - recomputed.distance_bound**2) <= 2 * AGREEMENT * size:
        wrong.append("distance_bound")
    if history and not _leads_to(history, recomputed, max(AGREEMENT * size, recomputed.gap)):
        wrong.append("history")
    return wrong


def _leads_to(history, proof, allowed):
    """Return whether a step has the objectives of a proof, and none is below the bound of another.

    Differences up to `allowed` are rounding.
    """
    primal, dual, *_ = np.array(history, dtype=np.float64).T
    away = np.maximum(np.abs(primal - proof.primal), np.abs(dual - proof.dual))
    is_ordered = min(primal.min(), proof.primal) >= max(dual.max(), proof.dual) - allowed
    return bool(away.min() <= allowed and is_ordered)


def _fitted_tensors(estimator):
    present = [name for name in TENSORS if getattr(estimator, name, None) is not None]
    tensors = {TENSORS[name]: getattr(estimator, name) for name in present}
    if hasattr(estimator, "triplets_"):
        arrays = estimator.triplets_.to_arrays()
        tensors |= {f"triplets.{name}": array for name, array in arrays.items()}
    if not hasattr(estimator, "history_"):
        return tensors
    history = np.array(estimator.history_, dtype=np.float64)
    return tensors | {"history": history.reshape(-1, len(Step._fields))}


def _parameters(estimator):
    """Return the parameters as JSON values, and the parameters that are arrays separately."""
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
        warn_user(
            f"{', '.join(lost)} cannot be written to a file and will load as the default; the "
            "learned metric is not affected, only what a new fit would do"
        )
    return parameters, arrays


def _bridge_content(estimator):
    """Return the tensors and the header of a bridge between encoders."""
    from .bridges import bridge_contents

    parameters, _ = _parameters(estimator)
    tensors, fields = bridge_contents(estimator)
    return tensors, _header(estimator, parameters, tensors, fields)


def _header(estimator, parameters, tensors, fields=None):
    from .. import __version__

    fitted = {name: getattr(estimator, name) for name in SCALARS if hasattr(estimator, name)}
    parts = {
        "parameters": parameters,
        "fitted": _to_json(fitted if fields is None else fields),
        "feature_names": _to_json(list(getattr(estimator, "feature_names_in_", []))),
        # the order in memory decides how BLAS rounds, so it is part of the model
        "tensors": {key: "F" if np.isfortran(value) else "C" for key, value in tensors.items()},
        "output": getattr(estimator, "_sklearn_output_config", {}).get("transform"),
    }
    if hasattr(estimator, "certificate_"):
        parts["certificate"] = _to_json(asdict(estimator.certificate_))
    if fields is None and hasattr(estimator, "report_"):
        parts["choice"] = _choice(estimator)
    if hasattr(estimator, "mining_recall_"):
        parts["mining_recall"] = _to_json(asdict(estimator.mining_recall_))
    if hasattr(estimator, "promise_"):
        parts["promise"] = _to_json(asdict(estimator.promise_))
    if hasattr(estimator, "preparation_"):
        parts["preparation"] = estimator.preparation_.to_fields()
    header = {"frobmetric_version": __version__, "class": type(estimator).__name__}
    return header | {key: json.dumps(part, allow_nan=False) for key, part in parts.items()}


def _class_of(name):
    if name == "EmbeddingAdapter":
        return EmbeddingAdapter
    return getattr(learners if name in learners.__all__ else metric, name)


def _choice(estimator):
    """Return what a FrobMetricCV or an adapter chose, with its report, as JSON values."""
    if isinstance(estimator, EmbeddingAdapter):
        return _to_json(report_of(estimator))
    classes = estimator.classes_
    return {
        "best_params": _to_json(estimator.best_params_),
        "classes": {"dtype": classes.dtype.str, "values": _to_json(classes.tolist())},
        "report": _to_json(estimator.report_.to_fields()),
    }


def _rebuild(tensors, header):
    orders = _part(header, "tensors", {})
    check_fields("header", header, (*TEXTS, *PARTS, *READERS))
    check_fields("tensors", tensors, orders)
    # copied, because the arrays of safetensors may be neither aligned nor writable
    tensors = {key: np.array(tensors[key], order=order) for key, order in orders.items()}

    def part(name):
        return _part(header, name, tensors)

    if header["class"] == "EncoderBridge":
        return _rebuild_bridge(tensors, part)
    if header["class"] not in CLASSES:
        raise ValueError(f"class {header['class']!r:.80} is not known; expected {sorted(CLASSES)}")
    parameters, fitted = part("parameters"), part("fitted")
    if int(header["format_version"]) < 2:
        _add_raw_units(header["class"], parameters, fitted)
    estimator = _class_of(header["class"])()
    check_fields("parameters", parameters, estimator.get_params(deep=False))
    check_fields("fitted", fitted, SCALARS)
    check_tensors(tensors, (*TENSORS.values(), "history"), header["parameters"])
    estimator.set_params(**parameters)
    for name, value in fitted.items():
        setattr(estimator, name, SCALARS[name](value))
    _set_names(estimator, part("feature_names"))
    _set_arrays(estimator, tensors)
    is_own = header["class"] not in learners.__all__
    if is_own:
        estimator.history_ = [
            Step(primal, dual, gap, int(rank), seconds)
            for primal, dual, gap, rank, seconds in tensors["history"].tolist()
        ]
    if is_own or "certificate" in header:
        estimator.certificate_ = _certificate(part("certificate"))
    for name, set_part in READERS.items():
        if name in header:
            set_part(estimator, part(name))
    check_model(estimator)
    return _with_output(estimator, part("output"))


def _set_arrays(estimator, tensors):
    """Set the fitted attributes that are arrays, and the triplets."""
    for name, tensor in TENSORS.items():
        if tensor in tensors:
            setattr(estimator, name, tensors[tensor])
    prefix = "triplets."
    arrays = {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}
    if arrays:
        check_triplets(arrays)
        estimator.triplets_ = triplets_from_arrays(arrays)


def _with_output(estimator, kind):
    """Return an estimator whose `transform` gives arrays, or data frames of this kind."""
    if kind not in OUTPUTS:
        raise ValueError(f"output = {kind!r:.80} is not one of {OUTPUTS}")
    return estimator if kind is None else estimator.set_output(transform=kind)


def _part(header, name, tensors):
    """Return a part of the header; an error names it."""
    try:
        return json.loads(header[name], object_hook=lambda value: _from_json(value, tensors))
    except ValueError as error:
        raise ValueError(f"{name} cannot be read: {error}") from error


def _set_names(estimator, names):
    """Set the names of the features, if there are any."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"feature_names = {names!r:.80} is not a list of texts")
    if names:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _certificate(fields):
    scope = str(fields.pop("scope", ""))
    return Certificate(**{name: float(value) for name, value in fields.items()}, scope=scope)


def _set_mining_recall(estimator, fields):
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    estimator.mining_recall_ = MiningRecall(**values)


def _set_promise(estimator, fields):
    estimator.promise_ = Promise(**fields)


def _set_preparation(estimator, fields):
    preparation = TablePreparation.from_fields(fields)
    names = list(getattr(estimator, "feature_names_in_", [])) or None
    if (preparation.n_features, preparation.feature_names) != (estimator.n_features_in_, names):
        raise ValueError(
            f"it prepares {preparation.n_features} features {preparation.feature_names!r:.60}; the "
            f"metric has {estimator.n_features_in_}: {names!r:.60}"
        )
    estimator.preparation_ = preparation


def _rebuild_bridge(tensors, part):
    from .bridges import EncoderBridge, rebuild_bridge

    parameters, estimator = part("parameters"), EncoderBridge()
    check_fields("parameters", parameters, estimator.get_params(deep=False))
    estimator.set_params(**parameters)
    check_parameters(estimator, estimator._rules)
    certificate = _certificate(part("certificate"))
    rebuild_bridge(estimator, tensors, part("fitted"), certificate)
    _set_names(estimator, part("feature_names"))
    return _with_output(estimator, part("output"))


def _add_raw_units(name, parameters, fitted):
    """Add what a file of version 1 does not say: features are in raw units."""
    if name == "FrobMetric":
        parameters["units"] = "raw"
    if name != "BoostMetric":
        fitted["units_"] = "raw"


def _set_choice(estimator, choice):
    if isinstance(estimator, EmbeddingAdapter):
        set_report(estimator, choice)
        return
    classes = choice["classes"]
    estimator.best_params_ = choice["best_params"]
    estimator.classes_ = np.array(classes["values"], dtype=classes["dtype"])
    estimator.report_ = SelectionReport.from_fields(choice["report"])


#: Parts of the header that not every model has, and how an estimator takes them.
READERS: dict = {
    "mining_recall": _set_mining_recall,
    "choice": _set_choice,
    "promise": _set_promise,
    "preparation": _set_preparation,
}


def _to_json(value):
    """Convert to plain JSON values; infinities and NaN, which JSON lacks, become objects."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
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
    return tensors[value["tensor"]] if set(value) == {"tensor"} else value
