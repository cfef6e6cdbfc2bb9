"""Plan of table I: its data sets, and the causes of differences from the paper."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ..classification.experiment import Column, TableExperiment, published
from ..data.labelled import load

#: Number of runs in the paper, except on sets with a fixed split.
RUNS = 10
#: Number of runs on sets whose test part has 22 to 27 samples, where ten runs say little.
RUNS_OF_SMALL = 50
#: Number of runs of the small version; one on sets with PCA.
QUICK_RUNS = 2
#: Largest number of samples of its training, validation and test part.
QUICK_SIZES = {"train": 200, "validation": 60, "test": 60}
#: Directions that its PCA leaves, where the paper's would be about as many as samples.
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
#: Names of the sets, the cheap ones first.
WORK = ("iris", "wine", "balance", "letters", "usps", "yale", "mnist")


def experiment(*, quick=False, runs=None, data=None):
    """Return the table, of the paper's size or small.

    Parameters
    ----------
    quick : bool
        Whether to take few samples and runs.
    runs : int, optional
        Number of runs on sets that are split at random; by default as many as `SETS` says.
    data : path, optional
        Folder of the data files; by default the environment variable ``FROBMETRIC_DATA``.

    Returns
    -------
    TableExperiment
    """
    return TableExperiment(
        "uci",
        Path(__file__).with_name("page.md"),
        tuple(_column(name, quick, runs, data) for name in SETS),
        WORK,
        published(Path(__file__).parent),
        explanations(),
        quick,
    )


def explanations():
    """Return the known causes of differences: (method, set), method or set -> text."""
    text = Path(__file__).with_name("differences.toml").read_text(encoding="utf-8")
    causes = {}
    for each in tomllib.loads(text)["difference"]:
        names = tuple(each[key] for key in ("method", "set") if key in each)
        causes[names if len(names) == 2 else names[0]] = each["text"]
    return causes


def _column(name, quick, runs, data):
    kind = SETS[name]
    small = 1 if kind.has_pca else QUICK_RUNS
    n_runs = 1 if kind.is_fixed else runs or (small if quick else kind.n_runs)
    return Column(name, kind.label, n_runs, partial(_load, name, quick=quick, data=data))


def _load(name, run, *, quick, data):
    """Return a run of a data set, after PCA and before; the number of the run is the seed."""
    has_pca = SETS[name].has_pca
    reduced = load(name, seed=run, folder=data)
    full = load(name, seed=run, folder=data, pca=False) if has_pca else None
    if not quick:
        return reduced, full
    rows = {
        part: some_rows(getattr(reduced, f"y_{part}"), size, run)
        for part, size in QUICK_SIZES.items()
    }
    few = _take(reduced, rows, QUICK_DIRECTIONS if has_pca else None)
    return few, full and _take(full, rows)


def some_rows(y, size, seed):
    """Return at most `size` row numbers, in their order, with the classes in proportion."""
    order = np.random.default_rng(seed).permutation(len(y))
    by_class = order[np.argsort(y[order], kind="stable")]
    places = np.linspace(0, len(y) - 1, min(size, len(y))).round().astype(int)
    return np.sort(by_class[places])


def _take(split, rows, n_features=None):
    arrays = {}
    for part, taken in rows.items():
        arrays[f"X_{part}"] = getattr(split, f"X_{part}")[taken, :n_features]
        arrays[f"y_{part}"] = getattr(split, f"y_{part}")[taken]
    return replace(split, **arrays)
