"""Checks of arguments that several rooms take: one text for one mistake.

`name` is what errors call an argument; `of` and `points` name the things that it is about.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..core.checks import MOST, as_array, as_finite, as_real, read_array, read_values
from ..core.points import Array, Data, Index, Mask, Vector
from ..core.warning import warn_user

#: Numbers of any form, which are returned as they are.
Values = TypeVar("Values", bound=ArrayLike)

#: Tuples by their size, with the roles of their points.
KINDS = {2: "pairs (a, b)", 3: "triplets (anchor, near, far)", 4: "quadruplets (a, b, c, d)"}
#: Largest difference between a matrix and its transpose, relative to the largest entry.
ASYMMETRY = 1e-8
#: Between these, squares of numbers, also of 1e-10 of them, are ordinary.
SAFE = (2.0**-400, 2.0**400)
#: Largest sum of weights: products of two of them are finite.
MOST_WEIGHT = 2.0**500
#: Largest entry of samples whose squares are needed; none below one over it.
WIDEST_SQUARES = 2.0**505
#: Options of a threshold that is set on the pairs of a fit.
CALIBRATION = {"strategy", "beta", "min_rate", "sample_weight"}
#: Largest number of equal answers to one question.
MOST_ANSWERS = 10**6
#: Label of rows without a label.
UNLABELED = -1


@dataclass(frozen=True)
class MetricFunction:
    """Function of a user that returns the distance of two points; its answers are checked."""

    function: Callable[[Any, Any], Any]

    def __call__(self, a: object, b: object) -> float:
        distance = as_array(self.function(a, b), name="the distance that metric returns")
        if distance.ndim:
            raise ValueError(
                f"metric returns an array of shape {distance.shape} for two points; expected a "
                "number"
            )
        return float(distance)


class PreprocessorError(ValueError):
    """A preprocessor that failed, or did not return one point for each index.

    Examples
    --------
    >>> from frobmetric import TripletFrobMetric
    >>> from frobmetric.exceptions import PreprocessorError
    >>> try:
    ...     TripletFrobMetric(preprocessor=lambda names: [[0.0]]).fit([["a", "b", "c"]])
    ... except PreprocessorError as error:
    ...     print(error)
    preprocessor returned 1 points for 3 indices; expected one row for each
    """


class NonPSDError(ValueError):
    """A matrix of a metric with a negative eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import ITML
    >>> from frobmetric.exceptions import NonPSDError
    >>> pairs = [[[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]]
    >>> try:
    ...     ITML(prior=np.diag([1.0, -1.0])).fit(pairs, [1, -1])
    ... except NonPSDError as error:
    ...     print(error)
    prior has the eigenvalue -1; expected a positive semidefinite matrix
    """


def as_index(
    values: object,
    sizes: tuple[int, ...],
    *,
    name: str = "tuples",
    n_points: int | None = None,
    points: str = "objects",
) -> Index:
    """Return rows of indices below `n_points` as an array of intp.

    Rows have one of the `sizes`; without any, the values are a plain list of indices.
    """
    index = read_values(values, name=name)
    if index.ndim == 3:
        raise ValueError(
            f"{name} has shape {index.shape}, that of formed tuples; give indices of shape "
            "(n_rows, size), because they identify the points"
        )
    _check_shape(index, sizes, name)
    if not np.issubdtype(index.dtype, np.integer):
        raise TypeError(f"{name} has dtype {index.dtype}; expected integers, indices of {points}")
    outside = index < 0 if n_points is None else (index < 0) | (index >= n_points)
    if outside.any():
        row = np.argwhere(outside)[0, 0]
        limits = "indices start at 0"
        if n_points is not None:
            limits = f"there are {n_points} {points}, so indices go from 0 to {n_points - 1}"
        raise ValueError(f"{_name_row(index, row, name)} is out of range; {limits}")
    return index.astype(np.intp)


def as_comparisons(
    index: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> tuple[Index, Index, Vector]:
    """Return triplets or quadruplets of objects with their signs and weights, checked."""
    index = as_index(index, (3, 4), name="index")
    check_comparisons(index, name="index")
    return index, as_signs(y, len(index)), as_weights(sample_weight, len(index))


def as_signs(
    y: ArrayLike | None,
    n: int,
    *,
    name: str = "y",
    of: str = "comparisons",
    positive: str = "the first distance is smaller",
) -> Index:
    """Return y in {-1, +1} as integers; all +1 if it is None. `positive` is the meaning of +1."""
    if y is None:
        return np.ones(n, dtype=np.intp)
    y = as_column(y, n, name=name, of=of)
    bad = np.arange(n) if y.dtype == bool else np.flatnonzero(~np.isin(y, [-1, 1]))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}] = {y[bad[0]]}; expected +1 ({positive}) or -1; convert booleans, or "
            f"0 and 1, by np.where({name}, 1, -1)"
        )
    return y.astype(np.intp)


def check_both_kinds(y: Index) -> None:
    """Refuse signs of pairs that are all similar or all dissimilar."""
    if abs(y.sum()) == len(y):
        kind = "similar (+1)" if y[0] > 0 else "dissimilar (-1)"
        raise ValueError(f"all {len(y)} pairs are {kind}; give at least one pair of either kind")


def as_weights(
    sample_weight: ArrayLike | None, n: int, *, name: str = "sample_weight", of: str = "comparisons"
) -> Vector:
    """Return weights as floats, not negative and not all zero; all 1 if they are None."""
    if sample_weight is None:
        return np.ones(n)
    weight = as_column(sample_weight, n, name=name, of=of)
    if weight.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {weight.dtype}; expected a number for each of the {of}")
    with np.errstate(over="ignore"):  # of a longdouble, which becomes infinite
        weight = weight.astype(np.float64)
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] = {weight[bad[0]]} must be non-negative and finite")
    if not weight.any():
        raise ValueError(f"{name} is zero for all {of}; give at least one a weight")
    largest = weight.max()
    if not 1 / MOST_WEIGHT <= largest <= MOST_WEIGHT / n:
        raise ValueError(
            f"{name} has the weight {largest:.3g}, the largest; expected at least "
            f"{1 / MOST_WEIGHT:.1g}, and a sum of at most {MOST_WEIGHT:.1g}; divide all of them by "
            "the largest"
        )
    return weight


def as_numbers(values: object, *, name: str) -> Array:
    """Return finite real numbers as an array of float64, or of float32 if they are.

    Integers become float64: differences of unsigned ones would wrap around.
    """
    numbers = read_array(values, name=name)
    if numbers.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} has dtype {numbers.dtype}; expected real numbers; convert it before, complex "
            "numbers for example to real and imaginary parts"
        )
    if numbers.dtype != np.float32:
        with np.errstate(over="ignore"):  # of a longdouble: found in the next line
            numbers = numbers.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} contains NaN or infinity; expected finite numbers; impute missing values, or "
            "leave such rows out"
        )
    return numbers


def as_labels(y: ArrayLike, n: int, *, name: str = "y", of: str = "rows of X") -> NDArray[Any]:
    """Return one label for each row; refuse NaN and infinity."""
    y = as_column(y, n, name=name, of=of)
    missing = np.flatnonzero(~np.isfinite(y) if y.dtype.kind in "fc" else y != y)
    if len(missing):
        raise ValueError(
            f"{name}[{missing[0]}] is {y[missing[0]]}; expected a label for each of the {of}; "
            f"leave such rows out (rows without a label: {len(missing)})"
        )
    return y


def require_finite(values: Values, *, of: str) -> Values:
    """Return computed values; raise ValueError if they overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{of} would be infinite, beyond the largest float64; expected smaller numbers; divide "
            "the samples by a power of ten, in the fit too"
        )
    return values


def in_precision(values: Array, dtype: DTypeLike, *, of: str = "components_") -> Array:
    """Return computed values in the precision of the samples; refuse an overflow."""
    with np.errstate(over="ignore"):
        return require_finite(values.astype(dtype, copy=False), of=of)


def require_ordinary(X: Data, *, name: str, widest: float) -> None:
    """Refuse samples whose largest entry is above a number, or below one over it."""
    largest = max(float(X.max()), -float(X.min())) if X.size else 0.0
    if largest and not 1 / widest <= largest <= widest:
        raise ValueError(
            f"{name} has entries of size {largest:.3g}, whose products vanish or overflow; scale "
            f"the features to sizes between {1 / widest:.1g} and {widest:.1g}"
        )


def safe_exponent(X: Data) -> int:
    """Return the e for which squares of X / 2^e, dense or sparse, neither overflow nor vanish.

    It is zero for numbers of ordinary size.
    """
    largest = float(abs(X).max()) if X.shape[0] else 0.0
    is_ordinary = largest == 0.0 or SAFE[0] < largest < SAFE[1]
    return 0 if is_ordinary else int(np.frexp(largest)[1])


def times_power(X: Data, exponent: int) -> Data:
    """Return X times two to this power, exactly up to the range of its type."""
    if not exponent:
        return X
    if not hasattr(X, "toarray"):
        return np.ldexp(X, exponent)
    X = X.copy()
    X.data = np.ldexp(X.data, exponent)
    return X


def check_whole(weight: Vector, name: str = "sample_weight") -> None:
    """Refuse weights that are not whole numbers, or too large, where they count answers."""
    bad = np.flatnonzero((weight != np.rint(weight)) | (weight > MOST_ANSWERS))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}] = {weight[bad[0]]}; expected whole numbers up to {MOST_ANSWERS}, "
            "which count answers"
        )


def as_column(values: object, n: int, *, name: str, of: str = "comparisons") -> NDArray[Any]:
    """Return values as an array of shape (n,)."""
    column = read_values(values, name=name)
    if column.shape != (n,):
        raise ValueError(f"{name} has shape {column.shape}; there are {n} {of}, so expected ({n},)")
    return column


def as_identities(
    name: str, values: object, n_samples: int, *, of: str = "rows of X"
) -> tuple[NDArray[Any], Index]:
    """Return the distinct identities (strings or numbers), and the number of each row's."""
    column = as_column(values, n_samples, name=name, of=of)
    missing = []
    if column.dtype.kind not in "iu":
        missing = [i for i, value in enumerate(column.tolist()) if not _is_identity(value)]
    if missing:
        raise ValueError(
            f"{name}[{missing[0]}] is {column[missing[0]]}; every row needs an identity, a string "
            f"or a number; leave such rows out (rows without: {len(missing)})"
        )
    try:
        return np.unique(column, return_inverse=True)
    except TypeError:
        message = f"{name} mixes kinds of values; expected all strings or all numbers"
        raise TypeError(message) from None


def labelled_rows(y: NDArray[Any]) -> Mask:
    """Return which rows have a label; -1 means none, if y is numeric and has two other classes."""
    if y.dtype.kind not in "if":
        return np.ones(len(y), bool)
    known = y != UNLABELED
    if known.all() or len(np.unique(y[known])) < 2:
        return np.ones(len(y), bool)
    warn_user(
        f"{np.count_nonzero(~known)} of {len(y)} rows have the label -1 and are taken as rows "
        "without a label, which count for scale and prior only; if -1 is a class, give it another "
        "name, for example y + 1"
    )
    return known


def check_pairs(index: Index, name: str = "pairs") -> None:
    """Refuse a pair of a point with itself."""
    _refuse(index, index[:, 0] == index[:, 1], "is a pair of a point with itself", name)


def check_comparisons(index: Index, name: str = "tuples", rows: Mask | bool = True) -> None:
    """Refuse rows (a mask of them) that compare a point or a distance with itself."""
    left, right = compared_pairs(index)
    is_zero = (left[:, 0] == left[:, 1]) | (right[:, 0] == right[:, 1])
    _refuse(index, is_zero & rows, "compares a point with itself", name)
    _refuse(index, _is_same(left, right) & rows, "compares a distance with itself", name)


def says_nothing(index: Index) -> Mask:
    """Return which tuples have a pair of equal points, or compare a distance with itself.

    The tuples are rows of numbers of distinct points.
    """
    if index.shape[1] == 2:
        return index[:, 0] == index[:, 1]
    left, right = compared_pairs(index)
    return (left[:, 0] == left[:, 1]) | (right[:, 0] == right[:, 1]) | _is_same(left, right)


def compared_pairs(index: Index) -> tuple[Index, Index]:
    """Return the two pairs whose distances each triplet or quadruplet compares."""
    second = [2, 3] if index.shape[1] == 4 else [0, 2]
    return index[:, :2], index[:, second]


def as_path(path: object, *, name: str = "path") -> Path:
    """Return the path of a file; refuse numbers, which `open` takes for open files."""
    if not isinstance(path, (str, os.PathLike)) or "\0" in os.fspath(path) or not os.fspath(path):
        raise TypeError(
            f"{name} is {path!r:.80} of type {type(path).__name__}; expected the name of a file; "
            "give a str or a Path"
        )
    return Path(path)


def as_metric(metric: object) -> str | MetricFunction:
    """Return a metric: its name, or a function whose answers are checked."""
    if isinstance(metric, (str, MetricFunction)):
        return metric
    if not callable(metric):
        raise TypeError(f"metric is {metric!r:.80}; expected the name of a metric or a function")
    return MetricFunction(metric)


def check_choice(value: object, known: Collection[str], *, name: str) -> None:
    """Refuse anything but one of several names."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {value!r:.80}; expected one of {sorted(known)}")


def check_count(value: object, *, name: str, at_least: int = 1, at_most: int | None = None) -> None:
    """Refuse anything but an integer that is large enough, and not too large."""
    if not _is_integer(value) or value < at_least:
        raise ValueError(f"{name} is {value!r:.80}; expected an integer of at least {at_least}")
    if at_most is not None and value > at_most:
        raise ValueError(
            f"{name} is {value!r:.80}; expected an integer of at most {at_most}, for which there "
            "is memory and time; give a smaller one"
        )


def check_flag(value: object, *, name: str) -> None:
    """Refuse anything but a truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r:.80}; expected True or False")


def as_options(value: object, *, name: str = "calibration_params") -> dict[str, Any]:
    """Return options, given as a dictionary by name; an empty one for None."""
    if value is not None and not (
        isinstance(value, dict) and all(isinstance(k, str) for k in value)
    ):
        raise TypeError(f"{name} is {value!r:.80}; expected a dict of options by name, or None")
    unknown = sorted(set(value or {}) - CALIBRATION)
    if unknown:
        raise ValueError(f"{name} has {unknown}; expected only {sorted(CALIBRATION)}")
    return value or {}


def as_tolerance(tol: object, max_iter: object) -> float:
    """Return a positive tolerance as a float; refuse a limit of fewer than one step."""
    tolerance = as_real(tol, name="tol")
    if not tolerance > 0:
        raise ValueError(f"tol={tol!r:.80} must be positive")
    if not as_real(max_iter, name="max_iter") >= 1:
        raise ValueError(f"max_iter={max_iter!r:.80} must be at least 1")
    return tolerance


def as_symmetric(
    matrix: object, *, name: str, is_free: Mask | None = None, hint: str = ""
) -> Array:
    """Return a symmetric array of finite numbers, or of NaN where `is_free` lets one be missing."""
    A = read_array(matrix, name=name)
    if A.dtype.kind == "c":
        raise TypeError(f"{name} has complex entries; expected real numbers; give {name}.real")
    A = as_array(A, name=name)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
        raise ValueError(f"{name} has shape {A.shape}; expected (n, n) with n at least 1")
    is_missing = ~np.isfinite(A)
    is_wrong = is_missing if is_free is None else is_missing & ~is_free
    finite = f"every entry must be finite{hint}"
    refuse_where(is_wrong, lambda i, j: f"{name}[{i}, {j}] is {A[i, j]}; {finite}")
    as_finite(np.where(is_missing, 0.0, A), name=name, most=MOST)
    is_missing |= is_missing.T
    check_symmetric(np.where(is_missing, 0.0, A), name=name, tolerance=ASYMMETRY)
    return np.where(is_missing, np.nan, (A + A.T) / 2)


def check_symmetric(matrix: Data, *, name: str, tolerance: float) -> None:
    """Refuse a matrix, dense or sparse, that is not symmetric relative to its largest entry."""
    difference = abs(matrix - matrix.T)
    if difference.max() <= tolerance * abs(matrix).max():
        return
    i, j = sorted(int(k) for k in np.unravel_index(int(difference.argmax()), matrix.shape))
    raise asymmetry(matrix[i, j], matrix[j, i], i, j, name=name)


def asymmetry(upper: float, lower: float, i: int, j: int, *, name: str) -> ValueError:
    """Return the error for entries (i, j) and (j, i) that differ."""
    return ValueError(
        f"{name} is not symmetric: {name}[{i}, {j}] = {upper:.12g} and {name}[{j}, {i}] = "
        f"{lower:.12g}; pass ({name} + {name}.T) / 2 if it should be"
    )


def check_psd(name: str, value: object, n_features: int) -> Array:
    """Return a symmetric positive semidefinite matrix of this order, as float64."""
    matrix = as_array(value, name=name)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"{name} has shape {matrix.shape}; X has {n_features} features, so expected "
            f"({n_features}, {n_features})"
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} contains NaN or infinity")
    check_symmetric(matrix, name=name, tolerance=ASYMMETRY)
    smallest = np.linalg.eigvalsh(matrix)[0]
    if smallest < -ASYMMETRY * np.abs(matrix).max(initial=0.0):
        raise ValueError(
            f"{name} has the eigenvalue {smallest:.3g}; a metric must be positive semidefinite"
        )
    return (matrix + matrix.T) / 2


def _name_row(index: NDArray[Any], row: np.intp, name: str) -> str:
    """Return the text for a row of indices: "triplets[17] = (4, 4, 9)"."""
    entry = index[row].tolist()
    return f"{name}[{row}] = {tuple(entry) if isinstance(entry, list) else entry}"


def _check_shape(index: NDArray[Any], sizes: tuple[int, ...], name: str) -> None:
    is_fitting = index.shape[1] in sizes if index.ndim == 2 else index.ndim == 1 and not sizes
    if not is_fitting and not (index.ndim == 1 and index.size == 0):
        expected = "(n_rows,), a list of indices"
        if sizes:
            kinds = " or ".join(KINDS[size] for size in sizes)
            expected = f"(n_rows, {' or '.join(map(str, sizes))}): {kinds}"
        raise ValueError(f"{name} has shape {index.shape}; expected {expected}")
    if len(index) == 0:
        raise ValueError(f"{name} is empty; give at least one row")


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _is_identity(value: object) -> bool:
    # neither NaN nor infinity is a name
    return isinstance(value, (str, bytes)) or (isinstance(value, Real) and value - value == 0)


def _is_same(left: Index, right: Index) -> Mask:
    return (np.sort(left, axis=1) == np.sort(right, axis=1)).all(axis=1)


def _refuse(index: Index, bad: Mask, reason: str, name: str) -> None:
    if np.any(bad):
        row = _name_row(index, np.argmax(bad), name)
        raise ValueError(f"{row} {reason}; remove it: no metric can change it")


def refuse_where(is_wrong: Mask, message: Callable[..., str]) -> None:
    """Raise the error `message(*index)` for the first true entry of a mask, if it has one."""
    if np.any(is_wrong):
        raise ValueError(message(*first_true(is_wrong)))


def first_true(mask: Mask) -> tuple[int, ...]:
    """Return the index of the first true entry of a mask."""
    return tuple(int(k[0]) for k in np.nonzero(mask))
