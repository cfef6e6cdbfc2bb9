"""Rules that check the parameters of estimators, and the errors that they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from .text import brief

try:
    # scikit-learn's own class, so that its checks and its users recognise the error
    from sklearn.utils._param_validation import (
        InvalidParameterError as InvalidParameterError,  # exported
    )
except ImportError:

    class InvalidParameterError(ValueError, TypeError):  # type: ignore[no-redef]
        """A constructor argument of the wrong type or value."""


#: Largest integer of 64 bits.
MOST = 2**63 - 1


@dataclass(frozen=True)
class Rule:
    """Test of a value, with a text that describes the values that pass it."""

    expected: str
    is_met: Callable[[Any], bool]

    def __or__(self, other: Rule) -> Rule:
        return Rule(
            f"{self.expected} or {other.expected}",
            lambda value: self.is_met(value) or other.is_met(value),
        )


def integer(at_least: int, at_most: int = MOST) -> Rule:
    """Return the rule of an integer with a lower bound, and maybe an upper one."""
    limit = "" if at_most == MOST else f" and at most {at_most}"
    return Rule(
        f"an integer of at least {at_least}{limit}",
        lambda value: _is_number(value, Integral) and at_least <= value <= at_most,
    )


def number_between(low: float, high: float) -> Rule:
    """Return the rule of a number in a closed interval."""
    return Rule(
        f"a number between {low} and {high}",
        lambda value: _is_number(value, Real) and low <= _as_float(value) <= high,
    )


def choice(names: Iterable[str]) -> Rule:
    """Return the rule of one of several names."""
    known = sorted(names)
    return Rule(f"one of {known}", lambda value: isinstance(value, str) and value in known)


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_))


def _as_float(value: Any) -> float:
    """Return a number as a float64 has it: infinity if it is larger than all of them."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _is_seed(value: Any) -> bool:
    is_number = _is_number(value, Integral) and 0 <= value < 2**32
    return is_number or isinstance(value, np.random.RandomState)


def _is_array_like(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


NONE = Rule("None", lambda value: value is None)
POSITIVE = Rule(
    "a positive finite number",
    lambda value: _is_number(value, Real) and 0 < _as_float(value) < np.inf,
)
TOLERANCE = Rule(
    "a positive number of at most 1",
    lambda value: _is_number(value, Real) and 0 < _as_float(value) <= 1,
)
NOT_NEGATIVE = Rule(
    "a finite number of at least 0",
    lambda value: _is_number(value, Real) and 0 <= _as_float(value) < np.inf,
)
FLAG = Rule("True or False", lambda value: isinstance(value, (bool, np.bool_)))
WHOLE = Rule("an integer", lambda value: _is_number(value, Integral))
SEED = Rule("an integer from 0 to 2**32 - 1, a RandomState", _is_seed)
MATRIX = Rule("a matrix", _is_array_like)
NUMBERS = Rule("a sequence of numbers", _is_array_like)
CALLABLE = Rule("a function", callable)
FOLDS = Rule(
    "a number of folds, a splitter or an iterable of splits",
    lambda value: (
        _is_number(value, Integral)
        or _is_array_like(value)
        or (hasattr(value, "split") and not isinstance(value, str))
    ),
)


def check_parameters(estimator: object, rules: Mapping[str, Rule]) -> None:
    """Raise `InvalidParameterError` for the first argument that breaks its rule.

    Numbers of other types become int or float, which neither wrap around like 8-bit integers nor
    have a range of their own.
    """
    for name, rule in rules.items():
        value = getattr(estimator, name)
        if not rule.is_met(value):
            is_long = _is_number(value, Integral) and abs(int(value)) > MOST
            raise InvalidParameterError(
                f"The {name!r} parameter of {type(estimator).__name__} must be {rule.expected}. "
                f"Got {brief(repr(value))} instead{', beyond 64 bits' * is_long}."
            )
        if type(value) not in (bool, int, float) and isinstance(value, Real):
            setattr(estimator, name, int(value) if isinstance(value, Integral) else float(value))
