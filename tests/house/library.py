"""Public names of the library, found by name wherever they live."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import frobmetric

#: Modules that are asked first, in this order, after the top; others are found by walking.
ROOMS = ("learners", "metric", "embeddings", "manifold", "neighbors", "evaluation", "comparisons")
ROOMS += ("sdp", "io", "constraints", "solvers", "core", "backends")


def find(name: str) -> Any:
    """Return the public object of this name."""
    for module in (frobmetric, *_rooms()):
        value = getattr(module, name, None)
        if value is not None and not inspect.ismodule(value):
            return value
    for module in public_modules():
        value = vars(module).get(name)
        if value is not None and not inspect.ismodule(value):
            return value
    raise LookupError(f"the library has no public {name}")


@cache
def _rooms() -> list[ModuleType]:
    found = (_import(f"frobmetric.{room}") for room in ROOMS)
    return [module for module in found if module is not None]


@cache
def public_modules() -> list[ModuleType]:
    """Return all modules whose dotted name has no private part, and that can be imported."""
    names = sorted(
        found.name
        for found in pkgutil.walk_packages(frobmetric.__path__, "frobmetric.")
        if not any(part.startswith("_") for part in found.name.split("."))
    )
    modules = (_import(name) for name in names)
    return [frobmetric, *(module for module in modules if module is not None)]


def _import(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except (ImportError, SystemExit):  # optional packages
        return None


def public_estimators() -> list[type]:
    """Return the estimators that some public module lists in its `__all__`."""
    from sklearn.base import BaseEstimator

    found = {
        value
        for module in public_modules()
        for name, value in _listed(module)
        if inspect.isclass(value)
        and issubclass(value, BaseEstimator)
        and value.__module__.startswith("frobmetric")
        and hasattr(value, "fit")
        and not name.startswith("_")
    }
    return sorted(found, key=lambda kind: kind.__name__)


def _listed(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in getattr(module, "__all__", ()):
        yield name, getattr(module, name, None)
