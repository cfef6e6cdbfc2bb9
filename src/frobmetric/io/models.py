"""Models in files: a learned map with its evidence, the parameters of its estimator, and a seal.

A model is a safetensors file: numbers and JSON, no pickle; nothing in it is executed. Its header
has the class of the estimator, its parameters, the kind of output of `transform`, and the value
that its fit left, as `values` writes it; the tensors are the arrays of value and parameters. A seal
covers all of it: see `sealed`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import fields as fields_of
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import as_path
from ..checks.parameters import check_parameters
from ..core.points import Array
from ..core.warning import warn_user
from ..model.linear_map import LinearMap
from .sealed import read_sealed, write_sealed
from .values import Tensors, check_names, from_json, require_type, to_json

Built = TypeVar("Built")


#: Estimators that a file can hold, and the modules of their classes; no other class is created.
#: Each keeps the value of its fit as `map_`.
ESTIMATORS = {
    "BoostMetric": "metric.boost",
    "Covariance": "learners.closed_form",
    "EmbeddingAdapter": "embeddings.adapter",
    "EncoderBridge": "embeddings.bridge.bridge",
    "FrobMetric": "metric.frob",
    "FrobMetricCV": "metric.cv",
    "GMML": "learners.gmml",
    "GMML_Supervised": "learners.gmml",
    "ITML": "learners.itml",
    "ITML_Supervised": "learners.itml",
    "LFDA": "learners.closed_form",
    "LMNN": "learners.lmnn",
    "LSML": "learners.lsml",
    "LSML_Supervised": "learners.lsml",
    "MLKR": "learners.mlkr",
    "MMC": "learners.mmc",
    "MMC_Supervised": "learners.mmc",
    "NCA": "learners.nca",
    "PairFrobMetric": "metric.pairs",
    "QuadrupletFrobMetric": "metric.tuples",
    "RCA": "learners.closed_form",
    "RCA_Supervised": "learners.closed_form",
    "SCML": "learners.scml",
    "SCML_Supervised": "learners.scml",
    "SDML": "learners.sdml",
    "SDML_Supervised": "learners.sdml",
    "TripletFrobMetric": "metric.tuples",
}
#: Class of a file with a map alone.
MAP = "LinearMap"
#: Parameters that belong to a run, not to the model.
NOT_SAVED = ("callback", "preprocessor")
#: Texts of the header.
HEADER = ("class", "frobmetric_version", "output", "parameters", "value")
#: Kinds of output of `transform`.
OUTPUTS = (None, "default", "pandas", "polars")
#: Errors of contents that are no model.
DAMAGE = (TypeError, ValueError, AttributeError, RecursionError, ArithmeticError, IndexError)
#: Number of characters of a reason why a file cannot be read.
LONGEST = 500


def save(model: Any, path: str | Path) -> None:
    """Write a fitted estimator, or its map alone, to a safetensors file, whole or not at all.

    The dual variables are written if the fit kept them (`keep_dual=True`), so that `certify` can
    prove the loaded model again. With an rbf or polynomial kernel the training samples are
    written too, because `transform` needs them. The callback and the preprocessor are not written:
    they belong to a run, and load as None. Any other parameter that is neither a plain value nor
    an array loads as its default; saving warns of it. Of a `FrobMetricCV` the choice and its report
    are written, and neither `cv_results_` nor the samples that `predict` needs.

    Parameters
    ----------
    model : estimator or LinearMap
        A fitted `FrobMetric`, `FrobMetricCV`, `BoostMetric`, `TripletFrobMetric`,
        `QuadrupletFrobMetric`, `PairFrobMetric`, `EmbeddingAdapter`, `EncoderBridge`, or a learner
        of `frobmetric.learners`; or the value `map_` of one.
    path : str or Path
        An existing file is replaced only when the new one is complete.

    Raises
    ------
    TypeError
        If the estimator is of another class, or has a kernel of sparse samples, or class labels
        that are neither numbers nor text.
    ValueError
        If a parameter was set to a value that it cannot have.

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
    from .. import __version__

    path, tensors = as_path(path), dict[str, Array]()
    header = {"class": MAP, "frobmetric_version": __version__}
    header |= {"output": "null", "parameters": to_json({}, tensors, "parameters")}
    value = model
    if not isinstance(model, LinearMap):
        name, value = type(model).__name__, _value_of(model)
        check_parameters(model, model._rules)
        output = vars(model).get("_sklearn_output_config", {}).get("transform")
        header |= {"class": name, "output": json.dumps(output)}
        header["parameters"] = to_json(_parameters(model), tensors, "parameters")
    if isinstance(value, LinearMap):
        _refuse_sparse(value)
    write_sealed(path, tensors, header | {"value": to_json(value, tensors, "value")})


def load(path: str | Path) -> Any:
    """Read an estimator that `save` wrote; only the module of its class is imported.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        An estimator of the class that was saved, which transforms to the same bits; the map, if a
        map alone was saved. A learner from tuples has no preprocessor: give it formed tuples, or
        set one with `set_params`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no model of frobmetric, has another format, is damaged, or was changed after
        it was saved: its seal is a checksum of everything that it holds.

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
    return _read(path, _estimator_of)


def load_map(path: str | Path) -> LinearMap:
    """Read the map of a file that `save` wrote, without its estimator; no learner is imported.

    Parameters and errors are those of `load`. The file of an `EncoderBridge` has no map.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric, save
    >>> from frobmetric.io import load_map
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save(FrobMetric().fit(X, y), path)
    >>> load_map(path).transform(X).shape
    (150, 4)
    """
    return _read(path, _map_of)


@dataclass(frozen=True)
class Content:
    """What a file holds: class, parameters and output of an estimator, and its fitted value."""

    name: str
    parameters: dict[str, Any]
    output: str | None
    value: Any

    @classmethod
    def of(cls, tensors: dict[str, Array], header: dict[str, str]) -> Content:
        """Return the content of tensors and texts, all of which it must use."""
        name, output, known = header["class"], json.loads(header["output"]), Tensors(tensors)
        if name != MAP and name not in ESTIMATORS:
            raise ValueError(f"class {name!r:.80} is not known; expected {sorted(ESTIMATORS)}")
        if output not in OUTPUTS:
            raise ValueError(f"output = {output!r:.80} is not one of {OUTPUTS}")
        parameters, value = (from_json(header[part], known) for part in ("parameters", "value"))
        known.require_all()
        return cls(name, parameters, output, value)


def _read(path: str | Path, build: Callable[[Content], Built]) -> Built:
    """Return what `build` makes of the content of a file; an error names the file."""
    tensors, header = read_sealed(as_path(path))
    try:
        check_names("header", header, HEADER)
        return build(Content.of(tensors, header))
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it lacks {error}") from error
    except DAMAGE as error:
        reason = " ".join(str(error).split())[:LONGEST] or type(error).__name__
        raise ValueError(f"{path} is damaged: {reason}") from error


def _map_of(content: Content) -> LinearMap:
    if not isinstance(content.value, LinearMap):
        raise TypeError(f"it holds a {type(content.value).__name__} of a {content.name}, not a map")
    return content.value


def _estimator_of(content: Content) -> Any:
    if content.name == MAP:
        return _map_of(content)
    module = import_module(f"frobmetric.{ESTIMATORS[content.name]}")
    estimator = getattr(module, content.name)()
    check_names("parameters", content.parameters, estimator.get_params(deep=False))
    estimator.set_params(**content.parameters)
    check_parameters(estimator, estimator._rules)
    _require_parts(estimator, content.value)
    estimator.map_ = content.value
    return estimator if content.output is None else estimator.set_output(transform=content.output)


def _require_parts(estimator: Any, value: Any) -> None:
    """Raise an error unless a value is one that the class of an estimator learns."""
    name = type(estimator).__name__
    for part, kind in estimator._needs.items():
        found = getattr(value, part)
        if not isinstance(found, kind):
            raise TypeError(f"{part} of {name} is {found!r:.80}; expected {kind.__name__}")
    if not isinstance(value, LinearMap):
        return
    if value.choice is not None and "choice" not in estimator._needs:
        raise TypeError(f"it has a choice, {value.choice!r:.80}, which a {name} lacks")
    check_names("details", value.details, estimator._details)
    for each, hint in estimator._details.items():
        require_type(f"{each} of {name}", value.details.get(each), hint)
    if value.recipe is not None:
        names = {field.name for field in fields_of(value.recipe)} & estimator._rules.keys()
        check_parameters(value.recipe, {each: estimator._rules[each] for each in names})


def _value_of(estimator: Any) -> Any:
    """Return the fitted value of an estimator of a known class."""
    name, module = type(estimator).__name__, type(estimator).__module__
    if name not in ESTIMATORS or module != f"frobmetric.{ESTIMATORS[name]}":
        raise TypeError(f"type {name} cannot be saved; expected one of {sorted(ESTIMATORS)}")
    check_is_fitted(estimator)
    return estimator.map_


def _refuse_sparse(learned: LinearMap) -> None:
    kernel = learned.features.kernel
    if sp.issparse(kernel.X_fit):
        raise TypeError(
            f"kernel={kernel.kernel!r} compares with the training samples, which are sparse and "
            "cannot be written; fit to X.toarray() if that is small enough, or with kernel='linear'"
        )


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that a file can hold, and warn of the others."""
    parameters, lost = {}, []
    for name, value in estimator.get_params(deep=False).items():
        if name in NOT_SAVED:
            continue
        try:
            parameters[name] = _plain(value)
        except (TypeError, ValueError):
            lost.append(f"{name}={value!r}")
    if lost:
        warn_user(
            f"{', '.join(lost)} cannot be written to a file and will load as the default; the "
            "learned metric is not affected, only what a new fit would do"
        )
    return parameters


def _plain(value: Any) -> Any:
    """Return a parameter as a file can hold it: tables of other libraries as arrays."""
    try:
        to_json(value, {}, "a parameter")
        return value
    except TypeError:
        return np.asarray(value, dtype=np.float64)
