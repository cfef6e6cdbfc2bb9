"""Fitted attributes of estimators: read-only views of the value that a fit left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

from sklearn.exceptions import NotFittedError

T = TypeVar("T")


class Fitted(Generic[T]):
    """Read-only attribute that is part of the value that a fit left.

    The estimator, a `FittedShell`, says in `_kept` which attribute has the value. `path` is the
    dotted name of the part in the value, or a function of the value. A part that is None is an
    attribute that is absent, but for an attribute that `may_be_none`.
    """

    def __init__(self, path: str | Callable[[Any], T | None], *, may_be_none: bool = False) -> None:
        self.read = _optional(path) if isinstance(path, str) else path
        self.may_be_none = may_be_none

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Fitted[T]: ...
    @overload
    def __get__(self, estimator: object, owner: type) -> T: ...
    def __get__(self, estimator: Any, owner: Any) -> Any:
        if estimator is None:
            return self
        learned = vars(estimator).get(owner._kept)
        if learned is None:
            raise NotFittedError(f"this {owner.__name__} is not fitted yet; call fit first")
        value = self.read(learned)
        if value is None and not self.may_be_none:
            raise AttributeError(f"this {owner.__name__} has no {self.name}")
        return value

    def __set__(self, estimator: Any, value: Any) -> None:
        raise AttributeError(
            f"{self.name} is read-only: it is part of {estimator._kept}, the value that the fit "
            "left; to change it, build another value with dataclasses.replace"
        )


class Preparation(Fitted[Any]):
    """Preparation of the table that the features are made of; who read the table sets it."""

    def __init__(self) -> None:
        super().__init__("features.preparation")

    def __set__(self, estimator: Any, value: Any) -> None:
        learned = estimator.map_
        estimator.map_ = replace(learned, features=replace(learned.features, preparation=value))


def detail(name: str) -> Callable[[Any], Any]:
    """Return a function that reads a detail of a value by its name."""
    return lambda learned: learned.details.get(name)


def fitted_names(kind: type) -> list[str]:
    """Return the names of the attributes of a class that are parts of the value of a fit."""
    return [name for name in dir(kind) if isinstance(getattr(kind, name, None), Fitted)]


def _optional(path: str) -> Callable[[Any], Any]:
    """Return a function that follows a dotted name, and returns None where a part is None."""
    steps = [attrgetter(step) for step in path.split(".")]

    def read(value: Any) -> Any:
        for step in steps:
            if value is None:
                return None
            value = step(value)
        return value

    return read
