"""The paper's Table I: metrics for classification on seven data sets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data.labelled import Split, load
from ..table.spec import TableSpec
from ..table.table import Column, Parts
from .paper import published
from .words import EXPLANATIONS, INTRODUCTION, NOTES

#: Runs of the paper, but for sets with a fixed split.
RUNS = 10
#: Of sets whose test part has 22 to 27 samples, where ten runs tell little.
RUNS_OF_SMALL = 50
#: Of the small version; one of sets with PCA.
QUICK_RUNS = 2
#: Most samples of each part in it: training, validation, test.
QUICK_SIZES = (200, 60, 60)
#: Directions that PCA leaves there, where the paper's would be about as many as samples.
QUICK_DIRECTIONS = 10


@dataclass(frozen=True)
class _Set:
    label: str
    n_runs: int = RUNS
    is_fixed: bool = False  # one split, whatever the seed is
    has_pca: bool = False


SETS = {
    "mnist": _Set("MNIST", 1, is_fixed=True, has_pca=True),
    "usps": _Set("USPS", has_pca=True),
    "letters": _Set("letters", 1, is_fixed=True),
    "yale": _Set("Yale faces", has_pca=True),
    "balance": _Set("balance"),
    "wine": _Set("wine", RUNS_OF_SMALL),
    "iris": _Set("iris", RUNS_OF_SMALL),
}
#: The cheap ones first.
WORK = ("iris", "wine", "balance", "letters", "usps", "yale", "mnist")


def plan(*, quick=False, runs=None, folder=None):
    """The table, of the paper's size or small.

    Parameters
    ----------
    quick : bool
        Few samples and runs.
    runs : int, optional
        Of sets that are split at random; by default as many as `SETS` says.
    folder : path, optional
        Where data files are; by default the environment variable ``FROBMETRIC_DATA``.

    Returns
    -------
    TableSpec
    """
    columns = tuple(_column(name, quick, runs, folder) for name in SETS)
    return TableSpec(
        "uci",
        "Metrics for classification: Table I",
        INTRODUCTION,
        columns,
        WORK,
        published(),
        EXPLANATIONS,
        quick,
    )


def _column(name, quick, runs, folder):
    kind = SETS[name]
    small = 1 if kind.has_pca else QUICK_RUNS
    n_runs = 1 if kind.is_fixed else runs or (small if quick else kind.n_runs)
    read = small_parts if quick else parts
    return Column(
        name, kind.label, NOTES[name], n_runs, lambda run: read(name, run, folder, kind.has_pca)
    )


def parts(name, run, folder=None, has_pca=False):
    """One run of a data set, its number being the seed."""
    reduced = load(name, seed=run, folder=folder)
    return Parts(reduced, load(name, seed=run, folder=folder, pca=False) if has_pca else None)


def small_parts(name, run, folder=None, has_pca=False):
    """The same with few samples of each part, the classes in their proportions."""
    found = parts(name, run, folder, has_pca)
    rows = [_some(y, size, run) for y, size in zip(_ys(found.reduced), QUICK_SIZES, strict=True)]
    reduced = _take(found.reduced, rows, QUICK_DIRECTIONS if has_pca else None)
    return Parts(reduced, found.full and _take(found.full, rows))


def _ys(split):
    return split.y_train, split.y_validation, split.y_test


def _some(y, size, seed):
    """Numbers of at most `size` rows, in their order: of each class its share."""
    order = np.random.default_rng(seed).permutation(len(y))
    by_class = order[np.argsort(y[order], kind="stable")]
    places = np.linspace(0, len(y) - 1, min(size, len(y))).round().astype(int)
    return np.sort(by_class[places])


def _take(split: Split, rows, n_features=None):
    train, validation, test = rows
    return replace(
        split,
        X_train=split.X_train[train, :n_features],
        y_train=split.y_train[train],
        X_validation=split.X_validation[validation, :n_features],
        y_validation=split.y_validation[validation],
        X_test=split.X_test[test, :n_features],
        y_test=split.y_test[test],
    )
