"""Comparison of two records of answers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def differences(before: dict[str, Any], after: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return lines about what is lost or has other bits, and lines about what is new."""
    old, new, worse, more = before["cases"], after["cases"], [], []
    worse += [f"{name}: the case is missing" for name in old if name not in new]
    more += [f"{name}: a new case" for name in new if name not in old]
    for name in [each for each in old if each in new]:
        for key, leaf in old[name].items():
            if key not in new[name]:
                worse.append(f"{name}: {key} is missing (was {_short(leaf)})")
            elif key == "loaded: as before":
                lost = _lost(leaf, new[name][key])
                worse += [f"{name}: {each} is not kept by save and load" for each in lost]
            elif not _is_same(leaf, new[name][key]):
                worse.append(f"{name}: {key} differs: {_difference(leaf, new[name][key])}")
        more += [f"{name}: {key} is new" for key in new[name] if key not in old[name]]
    return worse, more


def _lost(a: Any, b: Any) -> list[str]:
    return [name for name in a if name not in b]


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list) and _is_leaf(a) and _is_leaf(b):
        return a[:2] == b[:2]
    return json.dumps(a) == json.dumps(b)


def _is_leaf(value: list[Any]) -> bool:
    return len(value) in (2, 3, 4) and isinstance(value[0], str) and value[0].endswith("]")


def _difference(a: Any, b: Any) -> str:
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    if numbers and not isinstance(a, bool):
        return f"{a!r} -> {b!r}, by {abs(a - b):.3g}"
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b) == 4 and a[0] == b[0]:
        gap = np.max(np.abs(np.subtract(a[3], b[3], dtype=float)))
        return f"{a[0]}, at most by {gap:.3g} (norm {a[2]})"
    return f"{_short(a)} -> {_short(b)}"


def _short(leaf: Any) -> str:
    text = json.dumps(leaf, ensure_ascii=False)
    return text if len(text) <= 220 else f"{text[:220]}..."
