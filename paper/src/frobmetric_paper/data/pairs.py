"""Data sets of comparisons: pairs of faces, same person or not, and triplets that people judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from frobmetric._checks import as_index, check_comparisons, check_pairs

from .labelled import NO_DOWNLOAD, DatasetNotFound, absence, as_folder, find, read_npz

__all__ = [
    "COMPARISON_NAMES",
    "FACE_NAMES",
    "Comparisons",
    "FacePairs",
    "Faces",
    "load_comparisons",
    "load_face_pictures",
    "load_faces",
]

N_FOLDS = 10
_Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class FacePairs:
    """Pairs of images and whether each shows one person.

    Attributes
    ----------
    index : ndarray of shape (n_pairs, 2)
        Rows of the set, intp.
    same : ndarray of shape (n_pairs,)
        True where both images show one person.
    """

    index: NDArray
    same: NDArray


@dataclass(frozen=True, eq=False)
class Faces:
    """Faces as SIFT descriptors, with the pairs of the Labeled Faces in the Wild.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_images, n_landmarks * n_scales * 128)
        Descriptors, uint8: all scales of the first landmark, then those of the second.
    person : ndarray of shape (n_images,)
        Who is on each image, int64: a row of `names`.
    names : ndarray of shape (n_people,)
        Strings.
    number : ndarray of shape (n_images,)
        The number of each image among those of its person, from 1, int64.
    landmarks : ndarray of shape (n_images, n_landmarks, 2)
        Column and row of each landmark in the picture of 250 x 250 pixels, float64. The file does
        not name them; by their places they are the corners of the eyes (4), points of the nose (3)
        and corners of the mouth (2), each from left to right on the picture.
    view1_train, view1_test : FacePairs
        For choosing a model.
    view2 : FacePairs
        For judging it. Each fold is tested by what was learned from the other nine.
    view2_fold : ndarray of shape (n_pairs,)
        The fold of each pair of `view2`, from 0 to 9, int64.
    """

    name: str
    X: NDArray
    person: NDArray
    names: NDArray
    number: NDArray
    landmarks: NDArray
    view1_train: FacePairs
    view1_test: FacePairs
    view2: FacePairs
    view2_fold: NDArray


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Objects, and triplets of them that people judged.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_objects, n_features)
        float64.
    triplets : ndarray of shape (n_triplets, 3)
        Rows (anchor, near, far) of row numbers of X, intp: the anchor is more like the near one.
    """

    name: str
    X: NDArray
    triplets: NDArray


def load_faces(name, *, folder=None) -> Faces:
    """Load the descriptors of faces and the pairs on which methods are compared.

    Parameters
    ----------
    name : str
        One of `FACE_NAMES`.
    folder : path, optional
        Where the npz files are; by default the environment variable ``FROBMETRIC_DATA``.
    """
    files = find(name, _FACES)
    where = as_folder(folder)
    meta_path, meta = _read(where, files.meta, files.meta_shapes())
    path, found = _read(where, files.features, files.feature_shapes())
    _check_people(meta, files.n_people, meta_path)
    _check_fold(meta["fold_view2"], meta_path)
    _check_finite(found["landmarks"], "landmarks", path)
    person = meta["person"].astype(np.int64)
    pairs = [_pairs(meta[key], person, key, meta_path) for key in files.pairs]
    return Faces(
        name,
        _as_bytes(found["X"], "X", path),
        person,
        meta["names"],
        meta["number"].astype(np.int64),
        found["landmarks"].astype(np.float64),
        *pairs,
        meta["fold_view2"].astype(np.int64),
    )


def load_face_pictures(name, *, folder=None) -> NDArray:
    """Load the pictures of the faces, in the order of the rows of `load_faces`.

    Parameters
    ----------
    name : str
        One of `FACE_NAMES`.
    folder : path, optional
        Where the npz files are; by default the environment variable ``FROBMETRIC_DATA``.

    Returns
    -------
    ndarray of shape (n_images, height, width)
        Grey from 0 to 255, uint8.
    """
    files = find(name, _FACES)
    height, width = files.picture_shape
    shapes = {"X": (files.n_images, height * width)}
    path, found = _read(as_folder(folder), files.pictures, shapes)
    return _as_bytes(found["X"], "X", path).reshape(-1, height, width)


def load_comparisons(name, *, folder=None) -> Comparisons:
    """Load objects and the triplets of them that people judged.

    Parameters
    ----------
    name : str
        One of `COMPARISON_NAMES`.
    folder : path, optional
        Where the npz files are; by default the environment variable ``FROBMETRIC_DATA``.
    """
    file, shapes = find(name, _COMPARISONS)
    path, found = _read(as_folder(folder), file, shapes)
    _check_finite(found["X"], "X", path)
    triplets = _as_rows(found["triplets"], len(found["X"]), "triplets", path)
    return Comparisons(name, found["X"].astype(np.float64), triplets)


# Reading


def _read(folder: Path | None, file: str, shapes: _Shapes) -> tuple[Path, dict[str, NDArray]]:
    """The path of a file, and its arrays of these shapes; that of "names" holds strings."""
    if folder is None or not (folder / file).is_file():
        raise DatasetNotFound(absence(file, folder, NO_DOWNLOAD, shapes) + ".")
    path = folder / file
    numbers = {key: shape for key, shape in shapes.items() if key != "names"}
    arrays = read_npz(path, numbers)
    if "names" in shapes:
        arrays["names"] = _read_names(path, shapes["names"])
    return path, arrays


def _read_names(path: Path, shape: tuple[int, ...]) -> NDArray:
    with np.load(path, allow_pickle=False) as npz:
        try:
            names = npz["names"]
        except (KeyError, ValueError) as error:  # not there, or an array of Python objects
            raise ValueError(
                f"array 'names' of {path} cannot be read: {error}; expected strings of shape "
                f"{shape}. Replace the file."
            ) from error
    if names.shape != shape or names.dtype.kind != "U":
        raise ValueError(
            f"array 'names' of {path} is {names.dtype} of shape {names.shape}; expected strings "
            f"of shape {shape}. Replace the file."
        )
    return names


def _as_bytes(array: NDArray, key: str, path: Path) -> NDArray:
    if array.dtype != np.uint8:
        raise ValueError(
            f"array {key!r} of {path} is {array.dtype}; expected uint8. Replace the file."
        )
    return array


def _check_finite(array: NDArray, key: str, path: Path) -> None:
    is_bad = ~np.isfinite(array)
    if is_bad.any():
        place = ", ".join(map(str, np.argwhere(is_bad)[0]))
        raise ValueError(
            f"{key}[{place}] of {path} is {array[is_bad][0]}; expected finite numbers. Replace "
            "the file."
        )


def _as_rows(rows: NDArray, n: int, key: str, path: Path) -> NDArray:
    """Return row numbers as intp, checked: all exist and differ within each tuple."""
    size = rows.shape[1]
    check = check_pairs if size == 2 else check_comparisons
    try:
        index = as_index(rows, (size,), name=key, n_points=n, points="rows of X")
        check(index, name=key)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}. Replace the file.") from error
    return index


def _check_people(meta: dict[str, NDArray], n_people: int, path: Path) -> None:
    for key, lowest, highest in (("person", 0, n_people - 1), ("number", 1, len(meta["person"]))):
        _check_range(meta[key], lowest, highest, key, path)


def _check_fold(fold: NDArray, path: Path) -> None:
    _check_range(fold, 0, N_FOLDS - 1, "fold_view2", path)


def _check_range(array: NDArray, lowest: int, highest: int, key: str, path: Path) -> None:
    is_bad = (array < lowest) | (array > highest)
    if is_bad.any():
        first = int(is_bad.argmax())
        raise ValueError(
            f"{key}[{first}] of {path} is {array[first]}; expected a number from {lowest} to "
            f"{highest}. Replace the file."
        )


def _pairs(table: NDArray, person: NDArray, key: str, path: Path) -> FacePairs:
    """Pairs from columns (image, image, 1 if same person), which have to agree with `person`."""
    index = _as_rows(table[:, :2], len(person), key, path)
    people = person[index]
    is_bad = table[:, 2] != (people[:, 0] == people[:, 1])
    if is_bad.any():
        first = int(is_bad.argmax())
        raise ValueError(
            f"{key}[{first}] of {path} is {tuple(table[first].tolist())}, whose last number says "
            f"1 for one person and 0 for two, but the images show the persons "
            f"{people[first, 0]} and {people[first, 1]}. Replace the file."
        )
    return FacePairs(index, table[:, 2] == 1)


# The files


@dataclass(frozen=True)
class _FaceFiles:
    """Three npz files with one row an image; n_pairs of view 1 (training, test) and view 2."""

    features: str
    meta: str
    pictures: str
    n_images: int
    n_people: int
    n_landmarks: int
    n_scales: int
    picture_shape: tuple[int, int]
    n_pairs: tuple[int, int, int]
    pairs = ("pairs_dev_train", "pairs_dev_test", "pairs_view2")

    def feature_shapes(self) -> _Shapes:
        n_features = self.n_landmarks * self.n_scales * 128
        return {"X": (self.n_images, n_features), "landmarks": (self.n_images, self.n_landmarks, 2)}

    def meta_shapes(self) -> _Shapes:
        of_pairs = {key: (n, 3) for key, n in zip(self.pairs, self.n_pairs, strict=True)}
        return {
            "names": (self.n_people,),
            "person": (self.n_images,),
            "number": (self.n_images,),
            **of_pairs,
            "fold_view2": (self.n_pairs[2],),
        }


_FACES = {
    "lfw": _FaceFiles(
        "lfw_sift3456.npz",
        "lfw_meta.npz",
        "lfw_funneled_62x47.npz",
        n_images=13_233,
        n_people=5_749,
        n_landmarks=9,
        n_scales=3,
        picture_shape=(62, 47),
        n_pairs=(2_200, 1_000, 6_000),
    )
}
_COMPARISONS = {
    # Shoes: the features of a neural network, and which of two a person finds more like a third
    "zappos": ("zappos_triplets.npz", {"X": (85, 4_096), "triplets": (283_770, 3)})
}

FACE_NAMES = tuple(_FACES)
COMPARISON_NAMES = tuple(_COMPARISONS)
