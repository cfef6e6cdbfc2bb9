"""Division of labelled samples: to learn from, in folds too, and held out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils.validation import check_consistent_length

from ...checks.arguments import WIDEST_SQUARES, require_ordinary
from ...checks.samples import DTYPES, check_array, column_or_1d, type_of_target
from .evaluation import Average, Vote

#: Number of folds by which options are chosen, and the number of samples from which on one decides.
FOLDS, MANY_SAMPLES = 3, 2000


@dataclass(frozen=True, eq=False)
class Division:
    """Samples to learn from, in folds too, and held-out samples.

    `folds` are row numbers (train, test) of X, by which options are chosen.
    """

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    folds: list

    def part(self, fold: int | None) -> tuple:
        """Return X and y to learn from and to test: of a fold, or all and the held-out samples."""
        if fold is None:
            return self.X, self.y, self.X_test, self.y_test
        train, test = self.folds[fold]
        return self.X[train], self.y[train], self.X[test], self.y[test]


def divide(given, held_out, test_size, n_neighbors, random_state):
    """Return the evaluation of such labels, the division of the samples, and remarks on it."""
    X, y = _check_samples(*given, "X", "y")
    has_classes = _has_classes(y)
    notes = ()
    if held_out[0] is None:
        parts, notes = _split(X, y, test_size, has_classes, random_state)
    else:
        X_test, y_test = _check_samples(*held_out, "X_test", "y_test")
        parts = (X, X_test, y, y_test)
    X, X_test, y, y_test = parts
    if has_classes:
        y, y_test = _class_numbers(y, y_test)
    else:
        y, y_test = (np.asarray(values, dtype=np.float64) for values in (y, y_test))
        _check_spread(y, y_test)
    folds = _folds(X, y, has_classes, random_state)
    n_least = min(len(train) for train, _ in folds)
    if n_neighbors > n_least:
        raise ValueError(
            f"n_neighbors={n_neighbors}, but a fold has {n_least} samples to learn from; choose a "
            "smaller n_neighbors, or give more samples"
        )
    evaluation = Vote(n_neighbors) if has_classes else Average(n_neighbors)
    return evaluation, Division(X, y, X_test, y_test, folds), notes


def _check_samples(X, y, name, name_of_y):
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


def _has_classes(y):
    kind = type_of_target(y)
    if kind not in ("binary", "multiclass", "continuous"):
        raise ValueError(
            f"y is of the type {kind!r}; expected one class label or one number for each sample"
        )
    if kind != "continuous" and len(np.unique(y)) < 2:
        raise ValueError(f"y has one class ({y[0]}); a comparison needs at least two classes")
    return kind != "continuous"


def _split(X, y, test_size, has_classes, random_state):
    """Return the parts of a random division; samples that are alone in their class stay."""
    if not has_classes:
        return train_test_split(X, y, test_size=test_size, random_state=random_state), ()
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    is_single = counts[place] == 1
    rows = np.flatnonzero(~is_single)
    options = {"test_size": test_size, "random_state": random_state}
    train, test = train_test_split(rows, stratify=y[rows], **options)
    train = np.concatenate([train, np.flatnonzero(is_single)])
    note = f"{is_single.sum()} samples, alone in their class, are in the training part."
    return (X[train], X[test], y[train], y[test]), (note,) * bool(is_single.any())


def _class_numbers(y, y_test):
    """Return labels as numbers from 0, so that learners see no label of a special meaning."""
    if not np.isin(y_test, y).any():
        raise ValueError(
            f"no label of the test samples (such as {y_test[0]!r}) occurs among those of the "
            f"training samples (such as {y[0]!r}); are these the labels of one problem?"
        )
    _, numbers = np.unique(np.concatenate([y, y_test]), return_inverse=True)
    return numbers[: len(y)], numbers[len(y) :]


def _check_spread(y, y_test):
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


def _folds(X, y, has_classes, random_state):
    """Return row numbers (train, test) of the folds by which options are chosen."""
    n_folds = FOLDS
    if has_classes:
        n_folds = min(FOLDS, int(np.bincount(y).max()))
    if n_folds < 2 or len(y) < FOLDS:
        raise ValueError(
            f"there are {len(y)} samples to learn from, at most {n_folds} of a class; expected at "
            "least 3, and 2 of a class"
        )
    kind = StratifiedKFold if has_classes else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splitter = kind(n_folds, shuffle=True, random_state=random_state)
        folds = list(splitter.split(np.zeros(len(y)), y))
    return folds if len(y) <= MANY_SAMPLES else folds[:1]
