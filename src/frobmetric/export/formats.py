"""Learned maps for other programs: onnx, faiss, sentence-transformers, torch, SQL and arrays.

Every format holds the one matrix of `transform(X) = X @ components_.T`, so that the other program
maps as the model does. A metric with a kernel is no such matrix, and is refused. Onnx and SQL also
do what the model does to the columns of a table; the others say in their file, or in one beside it,
which features they expect.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..checks.arguments import as_path, check_choice, check_count
from ..checks.samples import check_array
from ..io.preparation import TablePreparation
from ..model.linear_map import LinearMap
from ..model.shell import map_of
from ..runtime.environment import replacing, require, target_file
from ..search.exact import nearest
from .functions import comment, table_function
from .graphs import graph_of_map
from .sql import map_function

#: Precisions of the weights; int8 has one scale for each component.
DTYPES = ("float32", "float64", "float16", "int8")
#: Largest integer of the weights in int8.
LARGEST = 127
#: Name of the file in a folder for sentence-transformers that tells its features.
FEATURES = "features.json"


@dataclass(frozen=True)
class Features:
    """Names of the columns of the matrix, and the preparation of a table that makes them.

    Both may be None. `preparation` is that of a model which `frobmetric fit` learned from a table.
    """

    names: list[str] | None = None
    preparation: TablePreparation | None = None

    @classmethod
    def of(cls, learned: LinearMap) -> Features:
        """Return the features of a map."""
        names, preparation = learned.features.names, learned.features.preparation
        if names is not None:
            return cls(list(names), preparation)
        if preparation is None:
            return cls()
        return cls([column.label for column in preparation.columns], preparation)

    def to_json(self) -> str:
        """Return names and preparation as JSON, for a reader of the matrix."""
        fields = None if self.preparation is None else self.preparation.to_fields()
        return json.dumps({"feature_names": self.names, "preparation": fields}, indent=1)


@dataclass(frozen=True)
class Format:
    """Way to write a map: function of path, weights and features, and the precisions it can hold.

    `prepares` tells whether the map does what the model does to the columns of a table; otherwise
    it expects prepared features. `described` is the name of the file that says which, for the name
    of the output; None if the output does.
    """

    write: Callable[..., None]
    dtypes: tuple[str, ...] = ("float32", "float64", "float16")
    prepares: bool = False
    described: str | None = None


def export(
    model: Any,
    path: str | Path,
    to: str,
    *,
    dtype: str = "float32",
    drop_zero_rows: bool = False,
    **options: Any,
) -> None:
    """Write the map of a model for another program, whole or not at all.

    Parameters
    ----------
    model : estimator or LinearMap
        A fitted metric without kernel, a learner of `frobmetric.learners`, or an
        `EmbeddingAdapter`, of which the matrix of documents is written: with unit length, compare
        what it maps by cosines; or the value `map_` of one.
    path : str or Path
        File; for "sentence-transformers" a folder that does not exist yet.
    to : {"faiss", "npy", "onnx", "safetensors", "sentence-transformers", "sql", "torch"}
        Format: an index of faiss that maps what it is given, `IndexPreTransform`; the matrix as npy
        or, with the name "weight", as safetensors; a graph of onnx from "X" to "mapped"; a module
        `Dense`; a function of a database; the state of `torch.nn.Linear(..., bias=False)`.
        Of a model with a `preparation_` of its table, the graph and the function take the columns
        of the table, one by one, and prepare them. The others expect prepared features. Their names
        and preparation are in the header of safetensors, in "features.json" of the folder, and for
        the others in a file beside the output, with ".json" added to its name.
    dtype : {"float32", "float64", "float16", "int8"}, default="float32"
        Precision of the weights. Safetensors alone has "int8", with a tensor "scale" of one number
        for each component. `export_recall` measures what is lost.
    drop_zero_rows : bool, default=False
        Whether to leave out components that map everything to zero, which change no distance.
    **options
        For "sql": `dialect`, "duckdb" or "pgvector", and `name` of the function.

    Raises
    ------
    ValueError
        If the model has a kernel, or the format lacks the precision.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.export.formats import export
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = FrobMetric().fit(X, y)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "map.npy"
    >>> export(metric, path, "npy")
    >>> np.allclose(X @ np.load(path).T, metric.transform(X), rtol=1e-5)
    True
    """
    if not isinstance(to, str) or to not in FORMATS:
        raise ValueError(f"to={to!r:.80} is not known; choose one of {sorted(FORMATS)}")
    if not isinstance(dtype, str) or dtype not in FORMATS[to].dtypes:
        raise ValueError(
            f"dtype={dtype!r:.80} is not possible in {to}; choose one of {FORMATS[to].dtypes}"
        )
    components, features = linear_map(model), Features.of(map_of(model))
    if drop_zero_rows:
        components = components[nonzero_rows(components)]
    path, written = as_path(path), _in_precision(components, dtype)
    beside = description_file(path, to, features)
    with ExitStack() as stack:
        if beside is not None:
            target_file(path)  # an error on the folder names the output
            file = stack.enter_context(replacing(beside))  # after the map, if that is written
            file.write(features.to_json().encode())
            file.flush()  # a full disk is noticed before the map is replaced
        FORMATS[to].write(path, written, features, **options)


def description_file(path: Path, to: str, features: Features) -> Path | None:
    """Return the file beside an output that tells its features; None if there is none."""
    ending = FORMATS[to].described
    is_told = features.names is not None and ending is not None and "/" not in ending
    return path.with_name(path.name + str(ending)) if is_told else None


def nonzero_rows(components: np.ndarray) -> np.ndarray:
    """Return the numbers of the rows that are not all zeros; the first one if all are."""
    rows = np.flatnonzero(components.any(axis=1))
    return rows if len(rows) else np.arange(1)


def linear_map(model: Any) -> np.ndarray:
    """Return the matrix of a model whose `transform` is a product with it."""
    learned = map_of(model)
    kernel = learned.features.kernel.kernel
    if kernel != "linear":
        raise ValueError(
            f"the model has kernel={kernel!r}, and maps by its training samples; expected "
            "kernel='linear', which is one matrix; fit without the kernel to export it"
        )
    return learned.components


def exported_map(model: Any, dtype: str) -> np.ndarray:
    """Return the matrix as a reader of the exported file has it, in double precision.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.export.formats import exported_map
    >>> exported_map(FrobMetric().fit(X, y), "int8").shape
    (4, 4)
    """
    weights = _in_precision(linear_map(model), dtype)
    if dtype != "int8":
        return weights.astype(np.float64)
    return weights["weight"] * weights["scale"].astype(np.float64)[:, None]


def export_recall(model: Any, X: Any, *, dtype: str = "int8", n_neighbors: int = 10) -> float:
    """Return the share of nearest neighbours that remain where the weights have less precision.

    Parameters
    ----------
    model : object
        As in `export`.
    X : array-like of shape (n_samples, n_features)
        Samples, whose nearest others are compared.
    dtype : {"float32", "float64", "float16", "int8"}, default="int8"
        Precision of the weights.
    n_neighbors : int, default=10
        Number of neighbours of each sample.

    Returns
    -------
    float
        Mean share, between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetric
    >>> from frobmetric.export.formats import export_recall
    >>> X, y = load_iris(return_X_y=True)
    >>> export_recall(FrobMetric().fit(X, y), X, dtype="float16") > 0.95
    True
    """
    check_choice(dtype, DTYPES, name="dtype")
    check_count(n_neighbors, name="n_neighbors")
    components = linear_map(model)
    X = check_array(X, dtype=np.float64)
    if n_neighbors >= len(X) or X.shape[1] != components.shape[1]:
        raise ValueError(
            f"X has shape {X.shape} and n_neighbors is {n_neighbors}; expected (n_samples, "
            f"{components.shape[1]}) with more samples than neighbours; give others"
        )
    exact, rounded = (
        _neighbors(X @ components.T, n_neighbors)
        for components in (components.astype(np.float64), exported_map(model, dtype))
    )
    shared = [len(np.intersect1d(*rows)) for rows in zip(exact, rounded, strict=True)]
    return float(np.mean(shared)) / n_neighbors


def register_onnx() -> None:
    """Tell skl2onnx of the estimators, so that it converts pipelines with them.

    Examples
    --------
    >>> from frobmetric.export.formats import register_onnx
    >>> register_onnx()  # then: skl2onnx.to_onnx(pipeline, X[:1].astype("float32"))
    """
    from .. import learners, metric

    skl2onnx = require("skl2onnx", "export")
    known = [*vars(metric).values(), *vars(learners).values()]
    for kind in known:
        if isinstance(kind, type) and issubclass(kind, metric.base.MapEstimator):
            skl2onnx.update_registered_converter(
                kind, f"Frobmetric{kind.__name__}", _onnx_shape, _onnx_convert, overwrite=True
            )


def _neighbors(points: np.ndarray, n_neighbors: int) -> np.ndarray:
    numbers = np.arange(len(points))
    return nearest(points, points, n_neighbors, labels=(numbers, numbers))


def _in_precision(components: np.ndarray, dtype: str) -> Any:
    """Return weights of a precision; int8 weights with their scales, as a dictionary."""
    if dtype == "int8":
        largest = np.abs(components).max(axis=1, initial=0.0).astype(np.float32)
        scale = np.where(largest > 0, largest / LARGEST, 1.0).astype(np.float32)
        return {"weight": np.round(components / scale[:, None]).astype(np.int8), "scale": scale}
    with np.errstate(over="ignore"):
        weights = np.ascontiguousarray(components, dtype=dtype)
    if not np.isfinite(weights).all():
        raise ValueError(
            f"the weights, up to {np.abs(components).max():g}, are beyond {dtype}; choose float32, "
            "or scale the features"
        )
    return weights


def _write_npy(path: Path, weights: np.ndarray, features: Features) -> None:
    with replacing(path) as file:
        np.save(file, weights, allow_pickle=False)


def _write_safetensors(path: Path, weights: Any, features: Features) -> None:
    tensors = weights if isinstance(weights, dict) else {"weight": weights}
    about = None if features.names is None else {"features": features.to_json()}
    with replacing(path) as file:
        file.write(require("safetensors.numpy", "export").save(tensors, metadata=about))


def _write_torch(path: Path, weights: np.ndarray, features: Features) -> None:
    torch = require("torch", "torch")
    with replacing(path) as file:
        torch.save({"weight": torch.from_numpy(weights.copy())}, file)


def _write_sentence_transformers(path: Path, weights: np.ndarray, features: Features) -> None:
    """Write the folder of a module Dense: its options, its weights, and what its features are."""
    target = _target_folder(path)
    if target.exists():
        raise FileExistsError(f"{path} exists; give the name of a new folder")
    config = {"in_features": weights.shape[1], "out_features": weights.shape[0], "bias": False}
    config["activation_function"] = "torch.nn.modules.linear.Identity"
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=target.parent))
    try:
        draft.chmod(0o755)
        (draft / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
        if features.names is not None:
            (draft / FEATURES).write_text(features.to_json(), encoding="utf-8")
        _write_safetensors(draft / "model.safetensors", {"linear.weight": weights}, Features())
        os.rename(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _target_folder(path: Path) -> Path:
    """Return the folder that a path leads to, whose parent must exist."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist; create it")
    return target


def _write_faiss(path: Path, weights: np.ndarray, features: Features) -> None:
    faiss = require("faiss", "export")
    n_components, n_features = weights.shape
    linear = faiss.LinearTransform(n_features, n_components, False)
    faiss.copy_array_to_vector(weights.ravel(), linear.A)
    linear.is_trained = True
    index = faiss.IndexPreTransform(linear, faiss.IndexFlatL2(n_components))
    with replacing(path) as file:
        file.write(faiss.serialize_index(index).tobytes())


def _write_sql(
    path: Path,
    weights: np.ndarray,
    features: Features,
    *,
    dialect: str = "duckdb",
    name: str = "frobmetric_map",
) -> None:
    if features.preparation is not None:
        text = table_function(dialect, weights, features.preparation, name=name)
    else:
        text = map_function(dialect, weights, name=name)
        if features.names is not None:
            text = comment(f"features of a vector: {', '.join(features.names)}") + text
    with replacing(path) as file:
        file.write(text.encode())


def _write_onnx(path: Path, weights: np.ndarray, features: Features) -> None:
    model = graph_of_map(weights, features.preparation, features.names)
    with replacing(path) as file:
        file.write(model.SerializeToString())


def _onnx_shape(operator: Any) -> None:
    n_components = len(linear_map(operator.raw_operator))
    given = operator.inputs[0].type
    operator.outputs[0].type = type(given)([given.shape[0], n_components])


def _onnx_convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the product with the weights to a graph of skl2onnx, in the precision of its input."""
    is_double = "Double" in type(operator.inputs[0].type).__name__
    kind = np.float64 if is_double else np.float32
    weights = np.ascontiguousarray(linear_map(operator.raw_operator).T, dtype=kind)
    name = scope.get_unique_variable_name("components")
    onnx = require("onnx", "export")
    tensor_type = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    container.add_initializer(name, tensor_type, weights.shape, weights.ravel().tolist())
    inputs = [operator.inputs[0].full_name, name]
    node = scope.get_unique_operator_name("MatMul")
    container.add_node("MatMul", inputs, [operator.outputs[0].full_name], name=node)


#: Formats by name.
FORMATS = {
    "faiss": Format(_write_faiss, ("float32",), described=".json"),
    "npy": Format(_write_npy, described=".json"),
    "onnx": Format(_write_onnx, prepares=True),
    "safetensors": Format(_write_safetensors, DTYPES),
    "sentence-transformers": Format(_write_sentence_transformers, described=f"/{FEATURES}"),
    "sql": Format(_write_sql, ("float32", "float64"), prepares=True),
    "torch": Format(_write_torch, described=".json"),
}
