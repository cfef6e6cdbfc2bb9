"""Division of labelled samples: to learn from and to test, once or in folds, and to choose by."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_consistent_length

from ..checks.arguments import WIDEST_SQUARES, check_count, require_ordinary
from ..checks.samples import DTYPES, check_array, check_cv, column_or_1d, type_of_target
from ..core.points import Vector
from ..learning.units import spread_rows

Rows: TypeAlias = NDArray[np.intp]
#: Rows to learn from and rows to test; None for all samples and the given test samples.
Split: TypeAlias = tuple[Rows, Rows] | None

#: Number of folds by which options are chosen, and the number of samples from which on one decides.
FOLDS, MANY_SAMPLES = 3, 2000
#: Number of folds of a test, and the number of samples from which on one third is tested at once.
TEST_FOLDS, MANY_TESTS = 5, 5000
#: Number of held-out samples from which on one division into folds is enough; most divisions.
ENOUGH, MOST_DIVISIONS = 1000, 3


# Folds


def stratified_folds(y: Any, n_folds: int, max_samples: int) -> list[tuple[Rows, Rows]]:
    """Return pairs of training rows and test rows; few samples are divided several times.

    Of many samples, at most `max_samples` are learned from and twice as many tested in each fold.
    """
    rng, folds = np.random.default_rng(0), []
    for _ in range(int(np.clip(np.ceil(ENOUGH / len(y)), 1, MOST_DIVISIONS))):
        order = rng.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]
        number = np.empty(len(y), dtype=np.intp)
        number[order] = np.arange(len(y)) % n_folds
        for i in range(n_folds):
            train, test = np.flatnonzero(number != i), np.flatnonzero(number == i)
            train = train[spread_rows(y[train], max_samples)]
            folds.append((train, test[spread_rows(y[test], 2 * max_samples)]))
    return folds


def shuffled_folds(
    y: Any, n_folds: int, random_state: Any, *, has_classes: bool = True
) -> list[tuple[Rows, Rows]]:
    """Return shuffled folds of scikit-learn, stratified by classes; classes may be small."""
    kind = StratifiedKFold if has_classes else KFold
    splitter = kind(n_folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(np.zeros(len(y)), y))


def one_third(y: Any, random_state: Any) -> tuple[Rows, Rows]:
    """Return two thirds of the samples to learn from and one third to test, by classes."""
    return shuffled_folds(y, 3, random_state)[0]


def default_folds(cv: Any, y: Any, random_state: Any) -> Any:
    """Return the folds of a test, if `cv` is None: five, or one third of many samples."""
    if cv is not None:
        return cv
    return TEST_FOLDS if len(y) <= MANY_TESTS else [one_third(y, random_state)]


# Samples of a comparison


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples X with labels y, and given test samples or None."""

    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None

    def part(self, estimator: Any, split: Split) -> tuple[Any, Any, Any, Any]:
        """Return X and y to learn from, X and y to test; kernels are divided by both sides."""
        if split is None:
            return self.X, self.y, self.X_test, self.y_test
        train, test = split
        learned = _safe_split(estimator, self.X, self.y, train)
        return (*learned, *_safe_split(estimator, self.X, self.y, test, train))


@dataclass(frozen=True, eq=False)
class Division:
    """Samples of a comparison, and how they are divided.

    Attributes
    ----------
    given : Samples
        Samples and labels as models take them.
    numbers : Samples
        Samples as arrays of numbers; labels as numbers from 0, so that none has a special meaning.
    splits : list of Split
        Tests: folds, one division, or [None] if there are given test samples.
    classes : ndarray or None
        Class of each number; None if labels are numbers.
    n_folds : int
        Number of folds; 0 if samples are tested once.
    notes : tuple of str
        Remarks on the data.
    """

    given: Samples
    numbers: Samples
    splits: list[Split]
    classes: Any
    n_folds: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n_train(self) -> int:
        """Number of samples to learn from, in the smallest part."""
        n_all = len(self.numbers.y)
        return min(n_all if split is None else len(split[0]) for split in self.splits)

    @property
    def tested(self) -> Rows | None:
        """Row numbers of X in the order of the tests; None if test samples are given."""
        rows = [split[1] for split in self.splits if split is not None]
        return np.concatenate(rows) if rows else None

    @property
    def truth(self) -> Any:
        """Labels of the tested samples."""
        return self.given.y_test if self.tested is None else self.given.y[self.tested]

    def decode(self, numbers: Any) -> Any:
        """Return predicted labels: the classes with these numbers, or the numbers."""
        return numbers if self.classes is None else self.classes[numbers]

    def constant_error(self) -> float:
        """Return the error of always answering the most frequent class, or the mean."""
        if self.classes is None:
            return 1.0
        wrong = []
        for split in self.splits:
            y, y_test = self.numbers.y, self.numbers.y_test
            if split is not None:
                y, y_test = y[split[0]], y[split[1]]
            wrong.append(y_test != np.bincount(y).argmax())
        return float(np.mean(np.concatenate(wrong)))

    def choices(self, split: Split, random_state: Any) -> list[tuple[Rows, Rows]]:
        """Return the folds of the training samples of a test, by which options are chosen."""
        y = self.numbers.y
        train = np.arange(len(y)) if split is None else split[0]
        has_classes, n_folds = self.classes is not None, FOLDS
        if has_classes:
            n_folds = min(FOLDS, int(np.bincount(y[train]).max()))
        if n_folds < 2 or len(train) < FOLDS:
            raise ValueError(
                f"there are {len(train)} samples to learn from, at most {n_folds} of a class; "
                "expected at least 3, and 2 of a class"
            )
        folds = shuffled_folds(y[train], n_folds, random_state, has_classes=has_classes)
        chosen = folds if len(train) <= MANY_SAMPLES else folds[:1]
        return [(train[a], train[b]) for a, b in chosen]


def divide(
    given: tuple[Any, Any],
    held_out: tuple[Any, Any],
    *,
    cv: Any = None,
    test_size: float | int | None = None,
    random_state: Any = 0,
) -> Division:
    """Return the division of checked samples: by given test samples, by folds, or once.

    Parameters
    ----------
    given, held_out : tuple (X, y)
        Samples, and given test samples or (None, None).
    cv : int, splitter or iterable, optional
        Folds; without it a share `test_size` is held out once.
    test_size : float or int, optional
    random_state : int, RandomState instance or None
    """
    X, y = _check_samples(*given, "X", "y")
    has_classes = _has_classes(y)
    X_test = y_test = None
    splits: list[Split] = [None]
    n_folds = 0
    notes: tuple[str, ...] = ()
    if held_out[0] is not None:
        X_test, y_test = _check_samples(*held_out, "X_test", "y_test")
        _check_common_labels(y, y_test, has_classes)
    elif cv is not None:
        folds = _folds(cv, X, y, has_classes, random_state)
        splits, n_folds = [*folds], len(folds)
        notes = _small_classes(y, n_folds, has_classes)
    else:
        split, notes = _divide_once(y, test_size, has_classes, random_state)
        splits = [split]
    number, number_test, classes = _as_numbers(y, y_test, has_classes)
    if not has_classes:
        y, y_test = number, number_test
        for train, test in (each or (slice(None), None) for each in splits):
            _check_spread(y[train], y_test if test is None else y[test])
    labels = Samples(given[0], y, held_out[0], y_test)
    numbers = Samples(X, number, X_test, number_test)
    return Division(labels, numbers, splits, classes, n_folds, notes)


def _check_samples(X: Any, y: Any, name: str, name_of_y: str) -> tuple[Any, Any]:
    X = check_array(X, accept_sparse="csr", dtype=DTYPES, input_name=name, estimator="compare")
    require_ordinary(X, name=name, widest=WIDEST_SQUARES)
    y = column_or_1d(y)
    missing = [i for i, value in enumerate(y.tolist()) if value is None or value != value]
    if missing:
        raise ValueError(
            f"{name_of_y}[{missing[0]}] is {y[missing[0]]}; every sample needs a label; leave out "
            f"the {len(missing)} samples without"
        )
    check_consistent_length(X, y)
    return X, y


def _has_classes(y: Any) -> bool:
    kind = type_of_target(y)
    if kind not in ("binary", "multiclass", "continuous"):
        raise ValueError(
            f"y is of the type {kind!r}; expected one class label or one number for each sample"
        )
    if kind != "continuous" and len(np.unique(y)) < 2:
        raise ValueError(f"y has one class ({y[0]}); a comparison needs at least two classes")
    return bool(kind != "continuous")


def _check_common_labels(y: Any, y_test: Any, has_classes: bool) -> None:
    if has_classes and not set(y_test.tolist()) & set(y.tolist()):
        raise ValueError(
            f"no label of the test samples (such as {y_test[0]!r}) occurs among those of the "
            f"training samples (such as {y[0]!r}); are these the labels of one problem?"
        )


def _as_numbers(y: Any, y_test: Any, has_classes: bool) -> tuple[Any, Any, Any]:
    """Return the numbers of all labels, and the class of each number."""
    labels, classes = y if y_test is None else np.concatenate([y, y_test]), None
    if has_classes:
        classes, numbers = np.unique(labels, return_inverse=True)
    else:
        numbers = np.asarray(labels, dtype=np.float64)
    return numbers[: len(y)], None if y_test is None else numbers[len(y) :], classes


def _check_spread(y: Vector, y_test: Vector) -> None:
    """Refuse numbers whose errors, relative to their spread, are not finite."""
    if not np.ptp(y) > 0 or not np.any(y_test != y.mean()):
        raise ValueError(f"y is {y[0]} for all samples; expected numbers that differ")
    with np.errstate(all="ignore"):
        spread = np.mean((y_test - y.mean()) ** 2)
        largest = np.ptp(np.concatenate([y, y_test])) ** 2 / spread
    if not (spread > 0 and largest < np.inf):
        raise ValueError(
            f"y has numbers from {y.min():.3g} to {y.max():.3g}, and the test samples from "
            f"{y_test.min():.3g} to {y_test.max():.3g}; the squares of their differences vanish or "
            "overflow: scale them, or leave out outliers"
        )


def _divide_once(
    y: Any, test_size: float | int | None, has_classes: bool, random_state: Any
) -> tuple[Split, tuple[str, ...]]:
    """Return a random division; samples that are alone in their class are learned from."""
    options = {"test_size": test_size, "random_state": random_state}
    if not has_classes:
        train, test = train_test_split(np.arange(len(y)), **options)
        return (train, test), ()
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    is_single = counts[place] == 1
    rows = np.flatnonzero(~is_single)
    train, test = train_test_split(rows, stratify=y[rows], **options)
    train = np.concatenate([train, np.flatnonzero(is_single)])
    note = f"{is_single.sum()} samples, alone in their class, are in the training part."
    return (train, test), (note,) * bool(is_single.any())


def _folds(
    cv: Any, X: Any, y: ArrayLike, has_classes: bool, random_state: Any
) -> list[tuple[Rows, Rows]]:
    """Return row numbers (train, test) of each fold, each sample tested at most once."""
    y = np.asarray(y)
    if isinstance(cv, Integral):
        cv = _count(cv)
        largest = int(np.unique(y, return_counts=True)[1].max()) if has_classes else len(y)
        if cv > largest:
            of = "the largest class has" if has_classes else "there are"
            raise ValueError(
                f"cv={cv}, but {of} {largest} samples; choose a smaller cv, or give X_test and "
                "y_test"
            )
        splits = shuffled_folds(y, cv, random_state, has_classes=has_classes)
    else:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = check_cv(cv, X, y)
    tested, counts = np.unique(np.concatenate([test for _, test in splits]), return_counts=True)
    if counts.max() > 1:
        raise ValueError(
            f"cv tests sample {tested[counts.argmax()]} {counts.max()} times; intervals of paired "
            "errors need folds that test each sample at most once, such as StratifiedKFold"
        )
    if has_classes and any(len(np.unique(y[train])) < 2 for train, _ in splits):
        raise ValueError(
            "a fold leaves samples of one class to learn from; give each class at least 2 samples"
        )
    return splits


def _count(cv: Any) -> int:
    check_count(cv, name="cv", at_least=2)
    return int(cv)


def _small_classes(y: Any, n_folds: int, has_classes: bool) -> tuple[str, ...]:
    """Return remarks on small classes."""
    counts = np.unique(y, return_counts=True)[1]
    n_single, n_small = (counts == 1).sum(), (counts < n_folds).sum()
    notes = []
    if has_classes and n_small:
        notes.append(f"{n_small} classes have fewer samples than there are folds ({n_folds}).")
    if has_classes and n_single:
        notes.append(
            f"{n_single} samples are the only ones of their class: errors of every method."
        )
    return tuple(notes)
