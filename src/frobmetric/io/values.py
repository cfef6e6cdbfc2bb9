"""Frozen values as JSON and tensors, and back: fields are checked against the hints of their class.

None, booleans, numbers and texts are themselves, and lists are lists. Everything else is an object
with one key, its kind:

    {"float": "inf"}                    a number that JSON lacks
    {"tuple": [...]}, {"mapping": {...}}
    {"array": ["evidence.u", "C"]}      a tensor by name, and its order in memory
    {"texts": ["<U3", [...]]}           an array of texts or objects, with its dtype
    {"Features": {"number": 4, ...}}    a value of a class of `KINDS`, with all its fields

The order in memory decides how BLAS rounds, so it is part of a value. No other class than those of
`KINDS` is imported, and each of them only if a file names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..checks.parameters import MOST
from ..core.points import Array

#: Classes of values that files hold, by name, and where they are.
KINDS = {
    "AdapterReport": "embeddings.report.AdapterReport",
    "Block": "model.sets.Block",
    "Bridge": "embeddings.bridge.choice.Bridge",
    "BridgeReport": "embeddings.bridge.choice.BridgeReport",
    "BridgeSetting": "embeddings.bridge.choice.BridgeSetting",
    "BridgeTrial": "embeddings.bridge.choice.Trial",
    "Cells": "embeddings.bridge.ridge.Cells",
    "Certificate": "core.solution.Certificate",
    "Choice": "evaluation.selection.Choice",
    "Cleaning": "embeddings.feedback.base.Cleaning",
    "EncoderMap": "embeddings.bridge.encoder_map.EncoderMap",
    "Evidence": "model.linear_map.Evidence",
    "FeatureMap": "model.feature_maps.FeatureMap",
    "Features": "model.linear_map.Features",
    "GivenQuadruplets": "model.sets.GivenQuadruplets",
    "GivenTriplets": "model.sets.GivenTriplets",
    "JoinedTriplets": "model.sets.JoinedTriplets",
    "LinearMap": "model.linear_map.LinearMap",
    "MinedTriplets": "model.sets.MinedTriplets",
    "MiningRecall": "search.recall.MiningRecall",
    "OldIndex": "embeddings.bridge.trust.OldIndex",
    "PairedDifference": "evaluation.paired.PairedDifference",
    "PairedErrors": "evaluation.paired.PairedErrors",
    "PreparedColumn": "io.preparation.PreparedColumn",
    "Promise": "model.promise.Promise",
    "Recipe": "model.recipe.Recipe",
    "Run": "model.linear_map.Run",
    "SelectionReport": "evaluation.choice.SelectionReport",
    "Setting": "evaluation.selection.Setting",
    "Source": "model.linear_map.Source",
    "Space": "model.linear_map.Space",
    "Step": "core.solution.Step",
    "TablePreparation": "io.preparation.TablePreparation",
    "Threshold": "model.linear_map.Threshold",
    "TrustScore": "embeddings.bridge.trust.TrustScore",
    "Units": "model.units.Units",
}
#: Names of these classes.
NAMES = {f"frobmetric.{path}": kind for kind, path in KINDS.items()}
#: Numbers that JSON lacks.
ODD = ("inf", "-inf", "nan")
#: Types of arrays of texts.
TEXTS = re.compile(r"object|<U[0-9]{1,6}")
#: Values that JSON has, and an array of objects may hold.
PLAIN = (bool, int, float, str, NoneType)


class Tensors:
    """Tensors of a file, by name; those that are taken twice are one array."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.taken: dict[str, Array] = {}

    def take(self, name: str, order: Any) -> Array:
        """Return an array with this order in memory."""
        if name not in self.taken:
            # copied, because the arrays of safetensors may be neither aligned nor writable
            self.taken[name] = np.array(self.arrays[name], order=order)
        return self.taken[name]

    def require_all(self) -> None:
        """Raise ValueError if there are others than those that were taken."""
        if self.arrays.keys() > self.taken.keys():
            name = min(self.arrays.keys() - self.taken.keys())
            raise ValueError(f"tensors has {name!r:.80}, which nothing of the model names")


def to_json(value: Any, tensors: dict[str, Array], name: str) -> str:
    """Return a value as JSON; its arrays are added to `tensors`, with names that begin so."""
    return json.dumps(_encode(value, tensors, name), allow_nan=False)


def from_json(text: str, tensors: Tensors) -> Any:
    """Return the value that `to_json` wrote; raise ValueError, TypeError or KeyError if none."""
    return _decode(json.loads(text, parse_int=_as_int, parse_constant=_refuse), tensors)


def check_names(part: str, given: Any, known: Any) -> None:
    """Raise ValueError unless a mapping has names that are known, and no others."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{part} = {given!r:.80} is not a mapping")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"{part} has {unknown[0]!r:.80}, which is not known here; expected {sorted(known)}"
        )


def require_type(name: str, value: Any, hint: Any) -> None:
    """Raise TypeError unless a value has the type of a hint."""
    if not _fits(value, hint):
        raise TypeError(f"{name} is {value!r:.80}; expected {hint}")


def _encode(value: Any, tensors: dict[str, Array], name: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not isfinite(value):
        return {"float": str(value)}
    if isinstance(value, PLAIN):
        if type(value) is int and abs(value) > MOST:
            raise TypeError(f"{name} = {value!r:.80} is beyond 64 bits")
        return value
    if isinstance(value, np.ndarray):
        return _encode_array(value, tensors, name)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{name} has keys that are no texts")
        return {"mapping": {k: _encode(v, tensors, f"{name}.{k}") for k, v in value.items()}}
    if type(value) in (list, tuple):
        items = [_encode(item, tensors, f"{name}.{i}") for i, item in enumerate(value)]
        return items if type(value) is list else {"tuple": items}
    kind = NAMES.get(f"{type(value).__module__}.{type(value).__qualname__}")
    if kind is None:
        raise TypeError(f"{name} = {value!r:.80} is no value that a file can hold")
    parts = {each: getattr(value, each) for each in _fields_of(kind)}
    return {kind: {each: _encode(part, tensors, f"{name}.{each}") for each, part in parts.items()}}


def _encode_array(array: Array, tensors: dict[str, Array], name: str) -> Any:
    if array.dtype.kind in "OU":
        values = array.tolist()
        if array.ndim != 1 or not all(isinstance(value, PLAIN) for value in values):
            raise TypeError(f"{name} has values that are neither numbers nor text")
        return {"texts": [array.dtype.name if array.dtype.kind == "O" else array.dtype.str, values]}
    if array.dtype.kind not in "biuf" or array.itemsize > 8:
        raise TypeError(f"{name} has dtype {array.dtype}, which a file cannot hold")
    name = next((key for key, known in tensors.items() if known is array), name)
    tensors[name] = array
    is_by_columns = array.ndim > 1 and abs(array.strides[0]) < abs(array.strides[-1])
    return {"array": [name, "F" if is_by_columns else "C"]}


def _decode(content: Any, tensors: Tensors) -> Any:
    if isinstance(content, list):
        return [_decode(item, tensors) for item in content]
    if not isinstance(content, dict):
        return content
    if len(content) != 1:
        raise ValueError(f"{content!r:.80} has {len(content)} kinds; expected one")
    ((kind, given),) = content.items()
    if kind in READERS:
        return READERS[kind](given, tensors)
    if kind not in KINDS:
        raise ValueError(f"{kind!r:.80} is no kind of value; expected one of {sorted(KINDS)}")
    check_names(kind, given, hints := _fields_of(kind))
    values = {name: _decode(part, tensors) for name, part in given.items()}
    for name, hint in hints.items():
        require_type(f"{name} of {kind}", values[name], hint)
    return _class_of(kind)(**values)


def _read_float(given: Any, _: Tensors) -> float:
    if given not in ODD:
        raise ValueError(f"{given!r:.80} is not one of {ODD}")
    return float(given)


def _read_tuple(given: Any, tensors: Tensors) -> tuple[Any, ...]:
    if not isinstance(given, list):
        raise TypeError(f"{given!r:.80} is not a list")
    return tuple(_decode(item, tensors) for item in given)


def _read_mapping(given: Any, tensors: Tensors) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise TypeError(f"{given!r:.80} is not a mapping")
    return {name: _decode(item, tensors) for name, item in given.items()}


def _read_array(given: Any, tensors: Tensors) -> Array:
    return tensors.take(*given)


def _read_texts(given: Any, _: Tensors) -> Any:
    dtype, values = given
    if not TEXTS.fullmatch(dtype) or not all(isinstance(value, PLAIN) for value in values):
        raise ValueError(f"{given!r:.80} are no texts")
    return np.array(values, dtype=dtype)


#: Functions that read the kinds of values that have no class here.
READERS = {
    "array": _read_array,
    "float": _read_float,
    "mapping": _read_mapping,
    "texts": _read_texts,
    "tuple": _read_tuple,
}


@cache
def _class_of(kind: str) -> Any:
    module, _, name = f"frobmetric.{KINDS[kind]}".rpartition(".")
    return getattr(import_module(module), name)


@cache
def _fields_of(kind: str) -> dict[str, Any]:
    """Return the hints of the fields that a file holds, by name."""
    hints = get_type_hints(_class_of(kind))
    if not is_dataclass(_class_of(kind)):
        return hints
    return {
        each.name: hints[each.name]
        for each in fields(_class_of(kind))
        if each.init and each.metadata.get("is_saved", True)
    }


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of a hint."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        if not isinstance(value, tuple) or (parts[-1] is not ... and len(parts) != len(value)):
            return False
        hints = [parts[0]] * len(value) if parts[-1] is ... else parts
        return all(_fits(item, part) for item, part in zip(value, hints, strict=True))
    if hint in (int, float):
        numbers = int if hint is int else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _as_int(digits: str) -> int:
    if len(digits) > len(str(MOST)) + 1 or abs(int(digits)) > MOST:
        raise ValueError(f"{digits:.80} is an integer beyond 64 bits")
    return int(digits)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")
