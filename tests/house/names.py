"""Public names of the library: what its public modules list in `__all__`."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import frobmetric
from house.library import public_estimators, public_modules
from house.trees import require_library_of


def names() -> dict[str, Any]:
    """Return public names by module, with counts, and the parameters of the estimators."""
    modules = {module.__name__: sorted(module.__all__) for module in _listing()}
    unlisted = {module.__name__: _defined(module) for module in _others()}
    distinct = {name for listed in modules.values() for name in listed}
    defined = {name for found in unlisted.values() for name in found}
    n_parameters = {kind.__name__: len(_parameters(kind)) for kind in public_estimators()}
    return {
        "counts": {
            "top": len(frobmetric.__all__),
            "listed, distinct": len(distinct),
            "modules with a list": len(modules),
            "in modules without a list": len(defined - distinct),
            "modules without a list": len(unlisted),
            "estimators": len(n_parameters),
            "parameters of estimators": sum(n_parameters.values()),
        },
        "in two modules": _homonyms(),
        "listed": modules,
        "not listed": unlisted,
        "parameters": {kind.__name__: _parameters(kind) for kind in public_estimators()},
    }


def _listing() -> list[ModuleType]:
    return [module for module in public_modules() if hasattr(module, "__all__")]


def _others() -> list[ModuleType]:
    return [module for module in public_modules() if not hasattr(module, "__all__")]


def _defined(module: ModuleType) -> list[str]:
    """Return public classes and functions that a module without `__all__` defines."""
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    )


def _homonyms() -> dict[str, list[str]]:
    """Return listed names that stand for different objects in different modules."""
    homes: dict[str, dict[int, str]] = {}
    for module in _listing():
        for name in module.__all__:
            value = getattr(module, name, None)
            homes.setdefault(name, {}).setdefault(id(value), module.__name__)
    return {name: sorted(found.values()) for name, found in homes.items() if len(found) > 1}


def _parameters(kind: type) -> list[str]:
    return sorted(kind._get_param_names())


if __name__ == "__main__":
    require_library_of(Path(sys.argv[1]))
    json.dump(names(), sys.stdout)
