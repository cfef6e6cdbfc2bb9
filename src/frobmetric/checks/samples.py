"""Checks of samples and labels: scikit-learn's, with masks and huge numbers refused.

Masked entries are refused, because an array without its mask has other data. Numbers beyond float64
are refused as infinite ones are, and not by an OverflowError or a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import sklearn.model_selection
import sklearn.utils.multiclass
import sklearn.utils.validation

from ..core.checks import as_sequence, places_of_na, read_values
from ..core.points import Data, Index
from .arguments import as_index

#: Types of the numbers of samples that estimators take.
DTYPES = [np.float64, np.float32]
#: scikit-learn's mark of an argument that is not given.
ABSENT = "no_validation"
#: Number of seeds that NumPy has.
SEEDS = 2**32
#: Texts of errors of values that have no order, such as numbers and strings.
NO_ORDER = ("not supported between", "did not contain a loop")
#: Texts of errors of `pandas.NA`, which is neither true nor false, nor a number.
NO_VALUE = ("boolean value of NA is ambiguous", "'NAType'")
#: One split of a list of them.
FOLD = "a pair of row numbers (training, test)"


def check_array(X: object, **options: Any) -> Any:
    """Return an array of numbers as scikit-learn's function of this name does."""
    with _converting(X, name=options.get("input_name") or "X"):
        return sklearn.utils.validation.check_array(X, **options)


def validate_data(estimator: object, X: object = ABSENT, y: object = ABSENT, **options: Any) -> Any:
    """Return samples of an estimator, or samples and labels, as scikit-learn's function does."""
    with _converting(X, name="X", labels=y):
        return sklearn.utils.validation.validate_data(estimator, X, y, **options)


class _Recorder:
    """Stand-in for an estimator in scikit-learn's checks, which set attributes on it."""

    def __init__(self, tags: Any) -> None:
        self._tags = tags

    def __sklearn_tags__(self) -> Any:
        return self._tags


@dataclass(frozen=True)
class SampleReader:
    """Checks of the samples of a fit for an estimator, which they leave as it is.

    `name` and `tags` are those of the estimator. `before` has number and names of the features if
    samples are to have those of an earlier fit. `look_up` turns indices into points.
    """

    name: str
    tags: Any
    before: tuple[int, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    look_up: Callable[[Any], Any] | None = None

    def read(self, X: Any, y: Any = ABSENT, **options: Any) -> tuple[Any, Any, tuple[int, Any]]:
        """Return checked samples, labels (None if not given), and number and names of features."""
        seen = type(self.name, (_Recorder,), {})(self.tags)
        if self.before is not None:
            seen.n_features_in_, names = self.before
            if names is not None:
                seen.feature_names_in_ = names
        X = X if self.look_up is None else self.look_up(X)
        options = {"dtype": DTYPES, "reset": self.before is None, **self.options, **options}
        checked = validate_data(seen, X, y, **options)
        X, y = (checked, None) if isinstance(y, str) and y == ABSENT else checked
        return X, y, (seen.n_features_in_, getattr(seen, "feature_names_in_", None))


def check_classification_targets(y: Any) -> None:
    """Refuse targets of a regression as scikit-learn's function of this name does."""
    with _converting(y, name="y"):
        sklearn.utils.multiclass.check_classification_targets(y)


def type_of_target(y: object, **options: Any) -> str:
    """Return the kind of targets as scikit-learn's function of this name does."""
    with _converting(y, name="y"):
        return str(sklearn.utils.multiclass.type_of_target(y, **options))


def column_or_1d(y: object, **options: Any) -> Any:
    """Return labels as one column as scikit-learn's function of this name does."""
    with _converting(y, name="y"):
        return sklearn.utils.validation.column_or_1d(y, **options)


@contextmanager
def _converting(given: object, *, name: str, labels: object = None) -> Iterator[None]:
    _refuse_masked(given, name)
    _refuse_masked(labels, "y")
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN are found next
            yield
    except OverflowError as error:
        name = name if _is_beyond_float(given) else "y"
        raise ValueError(
            f"{name} has an integer beyond the largest float64 ({error}); expected finite numbers; "
            "divide it by a power of ten"
        ) from None
    except TypeError as error:
        if any(words in str(error) for words in NO_VALUE):
            name = name if labels is None or _has_na(given) else "y"
            raise ValueError(
                f"{name} has missing values (pandas.NA); expected a value for each; impute them, "
                "or leave such rows out"
            ) from None
        if not any(words in str(error) for words in NO_ORDER):
            raise
        name = name if labels is None else "y"
        raise TypeError(
            f"{name} mixes kinds of values ({error}); expected all strings or all numbers"
        ) from None


def check_cv(cv: Any, X: Data, y: Any) -> list[tuple[Index, Index]]:
    """Return row numbers (training, test) of the folds that scikit-learn reads in `cv`."""
    if not hasattr(cv, "split") and not isinstance(cv, Integral | str | None):
        cv = [tuple(as_sequence(each, name="a split of cv", expected=FOLD)) for each in cv]
        if not all(len(each) == 2 for each in cv):
            raise ValueError(f"cv has splits of {sorted(map(len, cv))} parts; expected {FOLD}")
    splits = list(sklearn.model_selection.check_cv(cv, y, classifier=True).split(X, y))
    if not splits:
        raise ValueError(f"cv={cv!r:.80} has no splits; expected at least one, each {FOLD}")
    n = len(y)
    return [(_rows(train, k, n), _rows(test, k, n)) for k, (train, test) in enumerate(splits)]


def _rows(rows: object, split: int, n_rows: int) -> Index:
    """Return the row numbers of a part of a split, given as numbers or as a mask."""
    numbers = read_values(rows, name=f"split {split} of cv")
    if numbers.dtype == bool and numbers.shape == (n_rows,):
        numbers = np.flatnonzero(numbers)
    return as_index(numbers, (), name=f"split {split} of cv", n_points=n_rows, points="rows of X")


def check_random_state(seed: object) -> np.random.RandomState:
    """Return a source of random numbers as scikit-learn's function of this name does."""
    if isinstance(seed, Integral) and not 0 <= int(seed) < SEEDS:
        raise ValueError(
            f"random_state is {seed!r:.80}; expected a seed from 0 to {SEEDS - 1}, a RandomState "
            "or None"
        )
    return sklearn.utils.validation.check_random_state(seed)


def _refuse_masked(given: object, name: str) -> None:
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise ValueError(
            f"{name} has {np.count_nonzero(np.ma.getmaskarray(given))} masked entries; expected a "
            "value for each; impute them, or leave such rows out"
        )


def _has_na(given: object) -> bool:
    return bool(places_of_na(np.asarray(given, dtype=object)))


def _is_beyond_float(given: object) -> bool:
    try:
        np.asarray(given, dtype=np.float64)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False
    return False
