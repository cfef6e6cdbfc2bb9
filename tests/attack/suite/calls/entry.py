"""Entry points: a function of the library with the arguments of a valid call."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A public function, and a valid call of it."""

    name: str
    call: Callable[..., Any]
    #: Arguments of the valid call. Those in `optional` are left out in half of the calls.
    arguments: dict[str, Any]
    optional: frozenset[str] = frozenset()
    #: How often it is tried, relative to others: cheap calls more often.
    weight: float = 1.0
    #: Arguments that make the call, and not its settings; they are mutated more often.
    data: frozenset[str] = field(default_factory=frozenset)

    @property
    def may_be_nan(self) -> bool:
        """Whether NaN is documented: where nothing is known of a query, or of a pair of columns."""
        of_queries = ("spearman", "ndcg_at_k", "recall_at_k", "reciprocal_rank")
        return self.name in (*of_queries, "pairwise_correlation")

    @property
    def takes_path(self) -> bool:
        return "path" in self.arguments


def function(
    name: str, call: Callable[..., Any], /, *, optional: str = "", weight: float = 1.0, **valid: Any
) -> Entry:
    """Return the entry of a function; settings that are not given have their defaults."""
    return Entry(
        name, call, defaults(call) | valid, frozenset(optional.split()), weight, frozenset(valid)
    )


def defaults(call: Callable[..., Any], skip: Iterable[str] = ()) -> dict[str, Any]:
    """Return the default arguments of a function, but those of kinds that take any name."""
    return {
        name: each.default
        for name, each in inspect.signature(call).parameters.items()
        if each.default is not each.empty and name not in skip
    }


def fit(kind: type, *, optional: str = "", weight: float = 1.0, **valid: Any) -> Entry:
    """Return the entry of the fit of an estimator, with its parameters among the arguments."""
    parameters = defaults(kind)
    of_fit = defaults(kind.fit, skip=("checkpoint", "checkpoint_seconds"))

    def call(**given: Any) -> Any:
        own = {name: given.pop(name) for name in list(given) if name in parameters}
        return kind(**own).fit(**given)

    data = frozenset(valid) - frozenset(parameters)
    return Entry(
        f"{kind.__name__}.fit",
        call,
        parameters | of_fit | valid,
        frozenset(optional.split()),
        weight,
        data,
    )


def methods(make: Callable[[], Any], table: dict[str, dict[str, Any]]) -> list[Entry]:
    """Return the entries of the methods of a fitted estimator, each with its data arguments."""
    fitted = cache(make)
    return [
        Entry(
            f"{make.__name__}.{name}",
            _method(fitted, name),
            valid,
            data=frozenset(valid),
            weight=2.0,
        )
        for name, valid in table.items()
    ]


def _method(fitted: Callable[[], Any], name: str) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        model = copy.copy(fitted())
        answer = getattr(model, name)(**given)
        # what a method that returns the model itself has set
        return (
            {k: v for k, v in vars(model).items() if "thresh" in k} if answer is model else answer
        )

    return call
