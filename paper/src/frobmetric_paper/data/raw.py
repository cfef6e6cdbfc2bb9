"""Data sets that are not vectors of features yet: sequences of skeletons, word counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from . import NpzFile, as_folder, find


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of skeletons, each one action of one person."""

    name: str
    # each (n_frames, n_joints, 3), float64, in metres in the coordinates of the camera; zeros if no
    # skeleton was found
    frames: list[NDArray]
    y: NDArray  # action of each, int64
    subject: NDArray  # person of each, int64


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Counts of words in documents; X are sparse float64, y int64."""

    name: str
    X_train: scipy.sparse.csr_array
    y_train: NDArray
    X_test: scipy.sparse.csr_array
    y_test: NDArray


def load_sequences(name, *, folder=None) -> Sequences:
    """Load sequences of skeletons, of `SEQUENCE_NAMES`, all in the order of the file."""
    _, arrays = find(name, _SEQUENCES).read(as_folder(folder))
    frames = np.split(arrays["frames"].astype(np.float64), arrays["offset"][1:-1])
    labels = (arrays[key].astype(np.int64) for key in ("action", "subject"))
    return Sequences(name, frames, *labels)


def load_word_counts(name, *, folder=None) -> WordCounts:
    """Load word counts of documents, of `COUNT_NAMES`, in the published training and test part."""
    file, n_words = find(name, _COUNTS)
    _, arrays = file.read(as_folder(folder))
    values = arrays["data"].astype(np.float64), arrays["indices"].astype(np.int32)
    X = scipy.sparse.csr_array((*values, arrays["indptr"]), shape=(len(arrays["y"]), n_words))
    y, is_test = arrays["y"].astype(np.int64), arrays["is_test"].astype(bool)
    return WordCounts(name, X[~is_test], y[~is_test], X[is_test], y[is_test])


_SEQUENCES = {
    "msr_action3d": NpzFile(
        "msr_action3d.npz",
        {"frames": (23_440, 20, 3), "offset": (567,), "action": (566,), "subject": (566,)},
    )
}
_COUNT_SHAPES = {"data": (293_679,), "indices": (293_679,), "indptr": (7_675,)}
_COUNT_SHAPES |= {"y": (7_674,), "is_test": (7_674,)}
#: Files, and the number of words.
_COUNTS = {"r8": (NpzFile("r8_counts.npz", _COUNT_SHAPES), 6_224)}

SEQUENCE_NAMES = tuple(_SEQUENCES)
COUNT_NAMES = tuple(_COUNTS)
