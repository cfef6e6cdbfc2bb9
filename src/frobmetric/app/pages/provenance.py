"""Provenance of a report: the model and its options, the data with a checksum, and versions."""

from __future__ import annotations

import hashlib
import inspect
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from ...checks.text import shown
from ...io.preparation import TablePreparation

#: Packages whose versions are stated.
PACKAGES = ("numpy", "scipy", "scikit-learn")
#: Name of the fact that a page folds away.
DEFAULTS = "Options left at their defaults"
#: Longest text of the value of an option.
LONGEST = 60


def checksum(*arrays: np.ndarray) -> str:
    """Return the first 16 digits of the SHA-256 of shapes and contents of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        values = array if array.dtype.kind in "biuf" else np.asarray(array, dtype=str)
        digest.update(f"{values.shape}{values.dtype.str}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def provenance(model: Any, X: np.ndarray, y: np.ndarray, **more: Any) -> list[tuple[str, str]]:
    """Return facts about a fitted model and its data, as names and texts."""
    from ... import __version__

    own, defaults = _options(model)
    classes, counts = np.unique(y, return_counts=True)
    sizes = ", ".join(f"{shown(c)}: {n:,}" for c, n in list(zip(classes, counts, strict=True))[:12])
    facts = {
        "Model": type(model).__name__,
        "Options": own or "all at their defaults",
        DEFAULTS: defaults,
        "Chosen by held-out errors": _pairs(getattr(model, "best_params_", {}), none="None"),
        "Preparation of the table": _preparation(getattr(model, "preparation_", None)),
        "Samples": f"{len(X):,}, with {X.shape[1]:,} features ({X.dtype})",
        "Classes": f"{len(classes)}: {sizes}{', …' * (len(classes) > 12)}",
        "Checksum of the data": checksum(X, y),
    }
    names = {"rank_": "Rank of the metric", "n_triplets_": "Triplets learned from"}
    names |= {"units_": "Units of the features", "n_iter_": "Steps of the last solve"}
    facts |= {
        text: _text(getattr(model, name)) for name, text in names.items() if hasattr(model, name)
    }
    if getattr(model, "history_", None):
        facts["Seconds of the last solve"] = f"{model.history_[-1].seconds:.2f}"
    facts |= {name: str(value) for name, value in more.items()}
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = platform.python_version()
    facts["Versions"] = f"frobmetric {__version__}, Python {python}, {packages}"
    return [(name, text) for name, text in facts.items() if text]


def _options(model: Any) -> tuple[str, str]:
    """Return the options that were set, and those that have their default, as texts."""
    signature = inspect.signature(type(model)).parameters
    known = {name: parameter.default for name, parameter in signature.items()}
    options = model.get_params(deep=False)
    is_default = {name: _is_same(value, known.get(name)) for name, value in options.items()}
    own, others = (
        _pairs({name: value for name, value in options.items() if is_default[name] == wanted})
        for wanted in (False, True)
    )
    return own, others


def _is_same(value: object, default: object) -> bool:
    """Return whether a value is the default of a parameter."""
    return value is default or (type(value) is type(default) and bool(np.all(value == default)))


def _pairs(options: Mapping[str, object], none: str = "") -> str:
    texts = {name: _text(value) or none for name, value in options.items()}
    return ", ".join(f"{name}={text}" for name, text in texts.items() if text)


def _preparation(preparation: TablePreparation | None) -> str:
    """Return the preparation of the columns of a table as one text."""
    if preparation is None:
        return ""
    columns = preparation.columns
    texts = [f"{shown(c.label)}: {len(c.categories)} categories" for c in columns if c.categories]
    fills = [f"{shown(c.label)}: {_text(c.fill)}" for c in columns if c.fill is not None]
    parts = [f"{len(columns)} columns became {preparation.n_features} features"]
    parts += [f"texts became one feature for each category ({', '.join(texts)})"] * bool(texts)
    parts += [f"missing values are replaced ({', '.join(fills)})"] * bool(fills)
    return "; ".join(parts)


def _text(value: Any) -> str:
    """Return a value as one short text; "" for None."""
    if value is None:
        return ""
    text = f"array {np.shape(value)}" if np.ndim(value) else shown(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
