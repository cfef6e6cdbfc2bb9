"""Graphs of onnx: a learned map, and what its model does to the columns of a table before it.

Without preparation the graph takes a matrix "X". With it, it has an input for each column, of shape
(n_samples, 1) and with the name of the column: numbers as floats, categories as texts. It does to
them what `TablePreparation.apply` does, but raises no error: a gap that the model cannot fill in
becomes NaN in all that is mapped.
"""

from __future__ import annotations

import json
from itertools import chain, count
from typing import Any

import numpy as np

from ..io.preparation import PreparedColumn, TablePreparation
from ..io.text import MISSING, SPACES
from ..runtime.environment import require

#: Versions of the operators: 13 is read by every runtime since 2021, 20 has regular expressions.
OPSET, OPSET_OF_TEXTS = 13, 20


def graph_of_map(
    weights: np.ndarray, preparation: TablePreparation | None, names: list[str] | None
) -> Any:
    """Return a model of onnx that maps rows; its properties tell features and preparation."""
    onnx = require("onnx", "export")
    columns = () if preparation is None else preparation.columns
    graph = _Graph(onnx, {column.label for column in columns})
    if preparation is None:
        kind = onnx.helper.np_dtype_to_tensor_dtype(weights.dtype)
        graph.inputs.append(
            onnx.helper.make_tensor_value_info("X", kind, ["n_samples", weights.shape[1]])
        )
        features, precision = "X", weights.dtype
    else:
        # float16 holds no number above 65504: weights may be so short, the features not
        precision = np.dtype(np.float64 if weights.dtype == np.float64 else np.float32)
        parts = [graph.add_column(column, precision) for column in columns]
        features = graph.add("Concat", *parts, axis=1)
    matrix = graph.constant(np.ascontiguousarray(weights.T), "components")
    if precision != weights.dtype:
        matrix = graph.add("Cast", matrix, to=onnx.helper.np_dtype_to_tensor_dtype(precision))
    mapped = graph.add("MatMul", features, matrix, name="mapped")
    return graph.to_model(mapped, precision, len(weights), _properties(preparation, names))


def _properties(preparation, names):
    """Return texts that tell a reader of the graph what its features are."""
    known = {"feature_names": names}
    known["preparation"] = None if preparation is None else preparation.to_fields()
    return {name: json.dumps(value) for name, value in known.items() if value is not None}


def exact_text(text: str) -> str:
    """Return a pattern of RE2 for a text with any spaces around it."""
    space = "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in SPACES)
    inner = "".join(c if c.isascii() and c.isalnum() else rf"\x{{{ord(c):x}}}" for c in text)
    return f"[{space}]*{inner}[{space}]*"


class _Graph:
    """Nodes and constants of a graph, whose names are none of the columns."""

    def __init__(self, onnx: Any, taken: set[str]) -> None:
        self.onnx, self.taken = onnx, set(taken)
        self.inputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.opset = OPSET

    def _free(self, name: str) -> str:
        """Return a name that nothing has yet."""
        free = next(
            n for n in chain([name], (f"{name}_{i}" for i in count(1))) if n not in self.taken
        )
        self.taken.add(free)
        return free

    def add(self, operator: str, *given: str, name: str | None = None, **options: Any) -> str:
        """Add a node, and return the name of its output."""
        output = self._free(name or operator.lower())
        node = self.onnx.helper.make_node(operator, list(given), [output], name=output, **options)
        self.nodes.append(node)
        return output

    def constant(self, values: Any, name: str) -> str:
        name = self._free(name)
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add_column(self, column: PreparedColumn, precision: np.dtype) -> str:
        """Add the input of a column; return its features."""
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(precision)
        if column.categories is not None:
            kind = self.onnx.TensorProto.STRING
        shape = ["n_samples", 1]
        self.inputs.append(helper.make_tensor_value_info(column.label, kind, shape))
        if column.categories is not None:
            return self._encode(column, precision)
        if column.fill is None:
            return column.label
        fill = self.constant(precision.type(column.fill), "fill")
        return self.add("Where", self.add("IsNaN", column.label), fill, column.label)

    def _encode(self, column: PreparedColumn, precision: np.dtype) -> str:
        """Return ones where a column has a category, and where it is missing what fills it in."""
        self.opset = OPSET_OF_TEXTS
        missing = "|".join(exact_text(text) for text in MISSING)
        is_missing = self.add("RegexFullMatch", column.label, pattern=f"(?i)({missing})")
        marks = [
            self.add("RegexFullMatch", column.label, pattern=exact_text(value))
            for value in column.categories or ()
        ]
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(precision)
        known = self.add("Cast", self.add("Concat", *marks, axis=1), to=kind)
        filled = [float(value == column.fill) for value in column.categories or ()]
        if column.fill is None:
            filled = [np.nan] * len(filled)
        return self.add(
            "Where", is_missing, self.constant(np.array(filled, dtype=precision), "fill"), known
        )

    def to_model(
        self, mapped: str, precision: np.dtype, n_components: int, properties: dict[str, str]
    ) -> Any:
        """Return the whole model, checked by onnx."""
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(precision)
        result = helper.make_tensor_value_info(mapped, kind, ["n_samples", n_components])
        graph = helper.make_graph(self.nodes, "frobmetric", self.inputs, [result], self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=8 if self.opset == OPSET else 9,
            producer_name="frobmetric",
        )
        helper.set_model_props(model, properties)
        self.onnx.checker.check_model(model)
        return model
