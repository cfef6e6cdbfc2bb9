"""Data sets of comparisons: pairs of faces, same person or not, and triplets that people judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import NpzFile, as_folder, check_values, find

N_FOLDS = 10


@dataclass(frozen=True, eq=False)
class FacePairs:
    """Pairs of images, and for each whether both show one person."""

    index: NDArray  # row numbers of the images, intp (n_pairs, 2)
    same: NDArray  # bool (n_pairs,)


@dataclass(frozen=True, eq=False)
class Faces:
    """Faces as SIFT descriptors, with the pairs of the Labeled Faces in the Wild.

    The pairs of view 1 are there to choose a model by, those of view 2 to evaluate it: each fold is
    tested with what was learned from the other nine.
    """

    name: str
    # uint8 (n_images, n_landmarks * n_scales * 128): all scales of the first landmark, then of the
    # second, and so on
    X: NDArray
    person: NDArray  # person of each image, int64: a row of `names`
    names: NDArray  # strings (n_people,)
    number: NDArray  # number of each image among the images of its person, from 1, int64
    # column and row of each landmark in the picture of 250 x 250 pixels, float64 (n_images,
    # n_landmarks, 2). The file does not name them; by their positions they are the corners of the
    # eyes (4), points of the nose (3) and corners of the mouth (2), each from left to right
    landmarks: NDArray
    view1_train: FacePairs
    view1_test: FacePairs
    view2: FacePairs
    view2_fold: NDArray  # fold of each pair of `view2`, from 0 to 9, int64


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Objects, and triplets of them that people judged."""

    name: str
    X: NDArray  # float64 (n_objects, n_features)
    # (anchor, near, far) as row numbers of X, intp: the anchor is more like the near one
    triplets: NDArray


def load_faces(name, *, folder=None) -> Faces:
    """Load descriptors of faces, of `FACE_NAMES`, and the pairs on which methods are compared."""
    files = find(name, _FACES)
    path, meta = files.meta.read(as_folder(folder))
    features_path, features = files.features.read(as_folder(folder))
    for key, lowest, highest in (
        ("person", 0, files.n_people - 1),
        ("number", 1, files.n_images),
        ("fold_view2", 0, N_FOLDS - 1),
    ):
        is_valid = (meta[key] >= lowest) & (meta[key] <= highest)
        check_values(is_valid, meta[key], key, path, f"a number from {lowest} to {highest}")
    person = meta["person"].astype(np.int64)
    return Faces(
        name,
        _bytes(features["X"], features_path),
        person,
        meta["names"],
        meta["number"].astype(np.int64),
        _finite(features["landmarks"], "landmarks", features_path),
        *(_pairs(meta[key], person, key, path) for key in PAIR_KEYS),
        meta["fold_view2"].astype(np.int64),
    )


def load_face_pictures(name, *, folder=None) -> NDArray:
    """Load pictures of faces, uint8 (n_images, height, width), in the order of the faces."""
    files = find(name, _FACES)
    path, arrays = files.pictures.read(as_folder(folder))
    return _bytes(arrays["X"], path).reshape(-1, *files.picture_shape)


def load_comparisons(name, *, folder=None) -> Comparisons:
    """Load objects, of `COMPARISON_NAMES`, and the triplets of them that people judged."""
    path, arrays = find(name, _COMPARISONS).read(as_folder(folder))
    X = _finite(arrays["X"], "X", path)
    return Comparisons(name, X, _rows(arrays["triplets"], len(X), "triplets", path))


def _bytes(X: NDArray, path: Path) -> NDArray:
    if X.dtype != np.uint8:
        raise ValueError(f"array 'X' of {path} is {X.dtype}; expected uint8. Replace the file.")
    return X


def _finite(array: NDArray, key: str, path: Path) -> NDArray:
    check_values(np.isfinite(array), array, key, path, "finite numbers")
    return array.astype(np.float64)


def _rows(rows: NDArray, n: int, key: str, path: Path) -> NDArray:
    """Return row numbers as intp, after a check that all exist and differ within each tuple."""
    if rows.dtype.kind not in "iu":
        raise ValueError(
            f"array {key!r} of {path} is {rows.dtype}; expected row numbers. Replace the file."
        )
    in_order = np.sort(rows, axis=1)
    is_valid = (in_order[:, 0] >= 0) & (in_order[:, -1] < n)
    is_valid &= (in_order[:, 1:] != in_order[:, :-1]).all(axis=1)
    check_values(is_valid, rows, key, path, f"different row numbers from 0 to {n - 1}")
    return rows.astype(np.intp)


def _pairs(table: NDArray, person: NDArray, key: str, path: Path) -> FacePairs:
    """Return pairs from columns (image, image, 1 if same person), checked against `person`."""
    people = person[_rows(table[:, :2], len(person), key, path)]
    is_valid = table[:, 2] == (people[:, 0] == people[:, 1])
    first, second = people[is_valid.argmin()]
    expected = (
        f"a last number of {int(first == second)}: they show the persons {first} and {second}"
    )
    check_values(is_valid, table, key, path, expected)
    return FacePairs(table[:, :2].astype(np.intp), table[:, 2] == 1)


PAIR_KEYS = ("pairs_dev_train", "pairs_dev_test", "pairs_view2")


@dataclass(frozen=True)
class _FaceFiles:
    """Files with one row an image; n_pairs of view 1 (training, test) and view 2."""

    n_images: int = 13_233
    n_people: int = 5_749
    n_landmarks: int = 9
    n_scales: int = 3
    picture_shape: tuple[int, int] = (62, 47)
    n_pairs: tuple[int, int, int] = (2_200, 1_000, 6_000)

    @property
    def features(self) -> NpzFile:
        n, n_features = self.n_images, self.n_landmarks * self.n_scales * 128
        shapes = {"X": (n, n_features), "landmarks": (n, self.n_landmarks, 2)}
        return NpzFile("lfw_sift3456.npz", shapes)

    @property
    def meta(self) -> NpzFile:
        shapes = {"names": (self.n_people,), "person": (self.n_images,), "number": (self.n_images,)}
        shapes |= {key: (n, 3) for key, n in zip(PAIR_KEYS, self.n_pairs, strict=True)}
        return NpzFile("lfw_meta.npz", shapes | {"fold_view2": (self.n_pairs[2],)})

    @property
    def pictures(self) -> NpzFile:
        height, width = self.picture_shape
        return NpzFile("lfw_funneled_62x47.npz", {"X": (self.n_images, height * width)})


_FACES = {"lfw": _FaceFiles()}
_COMPARISONS = {
    # Shoes: the features of a neural network, and which of two a person finds more like a third
    "zappos": NpzFile("zappos_triplets.npz", {"X": (85, 4_096), "triplets": (283_770, 3)})
}

FACE_NAMES = tuple(_FACES)
COMPARISON_NAMES = tuple(_COMPARISONS)
