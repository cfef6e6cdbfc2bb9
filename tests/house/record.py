"""Records of answers: numbers and short texts as they are, arrays as digests of their bits."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections.abc import Iterator
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

#: Names of what is measured and differs from run to run.
TIMES = re.compile(r"second|elapsed|(^|_)time(_|$)|created|(^|_)when(_|$)")
#: Longest text that is kept as it is.
TEXT = 160
#: Levels of nested objects that are followed.
DEPTH = 6

Leaf = Any  # None, bool, int, float, str, or [kind and shape, digest, norm, values]


class Recorder:
    """Turns objects into flat records; arrays of up to `n_values` numbers keep their values."""

    def __init__(self, n_values: int = 8) -> None:
        self.n_values = n_values

    def flat(self, name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Leaf]]:
        """Yield (dotted name, leaf) of an object and of all that it is made of."""
        if TIMES.search(name.rpartition(".")[2]) or depth > DEPTH:
            return
        if value is None or isinstance(value, bool | int | float | str | np.generic):
            yield name, _scalar(value)
        elif isinstance(value, bytes):
            yield name, _digest(value)
        elif isinstance(value, np.ndarray) or sp.issparse(value):
            yield name, self._array(value)
        elif isinstance(value, dict):
            for key, part in value.items():
                yield from self.flat(f"{name}.{key}", part, depth + 1)
        elif isinstance(value, list | tuple) and _is_table(value):
            yield f"{name}.length", len(value)
            for key in _parts(value[0]) or ():
                yield from self.flat(f"{name}.{key}", [_parts(v)[key] for v in value], depth + 1)
        elif isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
            yield name, self._sequence(value, depth)
        else:
            yield from self._object(name, value, depth)

    def _object(self, name: str, value: Any, depth: int) -> Iterator[tuple[str, Leaf]]:
        if hasattr(value, "to_array"):  # tuples, in whatever form they are kept
            yield name, self._array(np.asarray(value.to_array()))
            return
        parts = _parts(value)
        if parts is not None:
            for key, part in parts.items():
                yield from self.flat(f"{name}.{key}", part, depth + 1)
        elif not callable(value):
            yield name, f"<{type(value).__name__}>"

    def _sequence(self, value: Any, depth: int) -> Leaf:
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
        if items and all(isinstance(item, Number | np.generic) for item in items):
            return self._array(np.asarray(items))
        leaves = [[_bits(leaf) for leaf in self.flat("", item, depth + 1)] for item in items]
        return [f"list[{len(items)}]", _digest(repr(leaves).encode())]

    def _array(self, value: Any) -> Leaf:
        if sp.issparse(value):
            sorted_rows = value.tocsr(copy=True)
            sorted_rows.sort_indices()
            parts = (sorted_rows.indptr.astype(np.int64), sorted_rows.indices.astype(np.int64))
            bits = b"".join(part.tobytes() for part in (*parts, sorted_rows.data))
            kind = f"{value.format}:{value.dtype}{list(value.shape)}"
            return [kind, _digest(bits), _norm(sorted_rows.data)]
        kind = f"{value.dtype if value.dtype.kind not in 'UO' else 'str'}{list(value.shape)}"
        if value.dtype.kind in "UO":
            return [kind, _digest(repr(value.tolist()).encode())]
        leaf = [kind, _digest(np.ascontiguousarray(value).tobytes()), _norm(value)]
        return [*leaf, value.ravel().tolist()] if value.size <= self.n_values else leaf


def _bits(named: tuple[str, Leaf]) -> tuple[str, Leaf]:
    """Return the part of a named leaf that does not depend on what is kept besides bits."""
    name, leaf = named
    return name, leaf[:2] if isinstance(leaf, list) else leaf


def fitted_attributes(model: Any) -> dict[str, Any]:
    """Return the public attributes with a trailing underscore, be they stored or properties."""
    names = {*dir(type(model)), *getattr(model, "__dict__", ())}
    found = {}
    for name in sorted(names):
        if name.endswith("_") and not name.startswith("_"):
            try:
                found[name] = getattr(model, name)
            except AttributeError:  # absent after this fit
                continue
    return found


def _is_table(values: Any) -> bool:
    """Return whether these are objects of one type that have named parts, such as steps."""
    if not len(values) or hasattr(values, "_fields") or isinstance(values[0], BaseEstimator):
        return False
    keys = [tuple(_parts(value) or ()) for value in values]
    return bool(keys[0]) and all(each == keys[0] for each in keys)


def _parts(value: Any) -> dict[str, Any] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
    elif hasattr(value, "_fields"):
        names = list(value._fields)
    elif isinstance(value, BaseEstimator):
        return fitted_attributes(value)
    elif hasattr(value, "to_dict"):
        return value.to_dict()
    else:
        return None
    return {name: getattr(value, name, None) for name in names if not name.startswith("_")}


def _scalar(value: Any) -> Leaf:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str) and len(value) > TEXT:
        return f"{value[:TEXT]}... {_digest(value.encode())}"
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _norm(values: Any) -> float | None:
    if not np.issubdtype(values.dtype, np.number) or not values.size:
        return None
    norm = float(np.sqrt(np.sum(np.abs(values.astype(np.float64)) ** 2)))
    return float(f"{norm:.12g}") if math.isfinite(norm) else None


def _digest(bits: bytes) -> str:
    return hashlib.blake2b(bits, digest_size=6).hexdigest()
