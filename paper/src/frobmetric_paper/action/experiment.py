"""The paper's table of action recognition, on data that stand in for its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..data.labelled import Split, load
from ..data.raw import load_sequences
from ..table.spec import TableSpec
from ..table.table import Column, Parts
from .bottleneck import InformationBottleneck
from .texts import INTRODUCTION, NOTES
from .words import Codebook, square_roots, trajectories

#: Runs of the paper, and of the small version.
RUNS, QUICK_RUNS = 10, 2
#: People of MSR Action3D who are tested on, and people of the training part who validate.
N_TEST_SUBJECTS, N_VALIDATION_SUBJECTS = 4, 2
#: Share of UTD-MHAD's training part that validates.
VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class Size:
    """How much is taken of the data.

    Attributes
    ----------
    every : int
        One of so many sequences.
    n_words : int
        Of the codebook.
    n_bins : int
        That words are merged to.
    """

    every: int = 1
    n_words: int = 4000
    n_bins: int = 500


QUICK = Size(every=3, n_words=400, n_bins=60)


def plan(*, quick=False, runs=None, folder=None):
    """The table, of the paper's size or small; without the paper's numbers, of other data.

    Parameters
    ----------
    quick : bool
        Few sequences, words and runs.
    runs : int, optional
        By default 10, or 2 if quick.
    folder : path, optional
        Where data files are; by default the environment variable ``FROBMETRIC_DATA``.

    Returns
    -------
    TableSpec
    """
    size = QUICK if quick else Size()
    n_runs = runs or (QUICK_RUNS if quick else RUNS)
    columns = tuple(
        Column(
            name,
            kind.label,
            NOTES[name],
            n_runs,
            lambda run, read=kind.read: read(run, folder, size),
            refits=True,
        )
        for name, kind in SETS.items()
    )
    return TableSpec(
        "action",
        "Metrics for action recognition",
        INTRODUCTION,
        columns,
        WORK,
        paper={},
        quick=quick,
    )


def skeleton_parts(run, folder=None, size=Size()):
    """A run of MSR Action3D: people drawn by its number, histograms of merged words."""
    data = load_sequences("msr_action3d", folder=folder)
    chosen = np.arange(0, len(data.y), size.every)
    frames, y = [data.frames[row] for row in chosen], data.y[chosen]
    rows = split_subjects(data.subject[chosen], run)
    # Merging uses labels: with the validation part in it, the error there is far too small
    X = word_histograms(frames, y, rows[0], size, run)
    return Parts(as_split("msr_action3d", X, y, rows))


def split_subjects(subject, seed):
    """Rows of the training, validation and test part: no person is in two of them."""
    people = np.random.default_rng(seed).permutation(np.unique(subject))
    n_train = len(people) - N_TEST_SUBJECTS
    groups = np.split(people, [n_train - N_VALIDATION_SUBJECTS, n_train])
    return [np.flatnonzero(np.isin(subject, group)) for group in groups]


def word_histograms(frames, y, learns, size, seed):
    """Square roots of histograms of merged words.

    Parameters
    ----------
    frames : list of ndarray of shape (n_frames, n_joints, 3)
    y : ndarray of shape (n_sequences,)
    learns : ndarray of int
        The sequences from which words, and merges of them, are learned.
    size : Size
    seed : int

    Returns
    -------
    ndarray of shape (n_sequences, n_bins)
    """
    sequences = [trajectories(each) for each in frames]
    codebook = Codebook.of([sequences[row] for row in learns], size.n_words, seed)
    counts = codebook.histograms(sequences)
    bottleneck = InformationBottleneck(min(size.n_bins, counts.shape[1]))
    return square_roots(bottleneck.fit(counts[learns], y[learns]).transform(counts))


def feature_parts(run, folder=None, size=Size()):
    """A run of UTD-MHAD: 70 to 30 % by its number, features of unit variance."""
    data = load("utd_mhad", seed=run, folder=folder)
    X = np.concatenate([data.X_train, data.X_validation, data.X_test])
    y = np.concatenate([data.y_train, data.y_validation, data.y_test])
    n_train = len(data.y_train)  # 70 %: the other two parts are the test part
    n_learn = n_train - round(VALIDATION_SHARE * n_train)
    rows = np.split(np.arange(len(y)), [n_learn, n_train])
    spread = X[:n_train].std(axis=0)
    X = X / np.where(spread > 0, spread, 1.0)
    return Parts(as_split("utd_mhad", X, y, [part[:: size.every] for part in rows]))


def as_split(name, X, y, rows):
    """The parts of which these are the rows."""
    return Split(name, *(array[part] for part in rows for array in (X, y)))


@dataclass(frozen=True)
class _Set:
    label: str
    read: Callable[..., Parts]


SETS = {
    "msr_action3d": _Set("MSR Action3D", skeleton_parts),
    "utd_mhad": _Set("UTD-MHAD", feature_parts),
}
#: The cheap one first.
WORK = ("utd_mhad", "msr_action3d")
