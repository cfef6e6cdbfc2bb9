"""Data sets by name, split and reduced as in table I of the paper; pictures without labels.

Features keep the units in which a set was published (pixels are 0..255): like the paper, nothing is
standardised. No row is fetched from a network unless ``download=True`` says so. Pictures to unfold
are grey from 0 to 1, whatever the numbers in their files are.
"""

from __future__ import annotations

import difflib
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.decomposition import PCA

__all__ = [
    "NAMES",
    "PICTURE_NAMES",
    "DatasetNotFoundError",
    "Pictures",
    "Split",
    "available",
    "load",
    "load_pictures",
]

NO_DOWNLOAD = "no download exists for this set"
_Data = tuple[NDArray, NDArray]
_SplitRule = Callable[[int, int], list[NDArray]]


class DatasetNotFoundError(FileNotFoundError):
    """The file of a data set is not there, and no download was asked for or exists."""


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint parts of a data set: X is float64 (n_samples, n_features), y is int64."""

    name: str
    X_train: NDArray
    y_train: NDArray
    X_validation: NDArray
    y_validation: NDArray
    X_test: NDArray
    y_test: NDArray


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures in the order in which they were taken.

    X is float64 (n_pictures, height * width), grey from 0 to 1, row by row of the picture; shape
    is (height, width).
    """

    name: str
    X: NDArray
    shape: tuple[int, int]


def load(name, *, seed=0, folder=None, pca=True, download=False) -> Split:
    """Load a data set in the paper's training, validation and test parts.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    seed : int
        Chooses the rows of each part. MNIST and letters have one fixed split and ignore it; sets
        with a given test part (isolet, pendigits, usps_9298) only draw their validation part.
    folder : path, optional
        Where the npz files are; by default the environment variable ``FROBMETRIC_DATA``.
    pca : bool
        Project on the leading principal components of the training part, for the sets of which the
        paper does so (and isolet and coil20); False keeps all features.
    download : bool
        Allow `sklearn.datasets.fetch_openml` where the file is absent. OpenML has its own order of
        rows, so letters and the splits by seed then hold other rows than those from the file.

    Examples
    --------
    >>> from frobmetric_paper.data.labelled import load
    >>> load("iris").X_train.shape
    (105, 4)
    """
    spec = find(name, _SETS)
    X, y = spec.source.read(as_folder(folder), download)
    parts = spec.split(len(y), seed)
    Xs = [np.asarray(X[rows], dtype=np.float64) for rows in parts]
    if pca and spec.pca is not None:
        Xs = _reduce(Xs, spec.pca)
    ys = [y[rows].astype(np.int64) for rows in parts]
    return Split(name, Xs[0], ys[0], Xs[1], ys[1], Xs[2], ys[2])


def available(folder=None) -> list[str]:
    """Names of the sets that `load` can give right now with no download."""
    where = as_folder(folder)
    return [name for name, spec in _SETS.items() if spec.source.is_present(where)]


def load_pictures(name, *, folder=None) -> Pictures:
    """Load pictures without labels, all of them and in their order.

    Parameters
    ----------
    name : str
        One of `PICTURE_NAMES`.
    folder : path, optional
        Where the npz files are; by default the environment variable ``FROBMETRIC_DATA``.
    """
    source = find(name, _PICTURES)
    return Pictures(name, source.read(as_folder(folder)), source.shape)


def find(name, sets):
    if name in sets:
        return sets[name]
    nearest = difflib.get_close_matches(str(name).lower(), sets, n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"unknown data set {name!r}; the known ones are {', '.join(sets)}.{hint}")


def as_folder(folder) -> Path | None:
    folder = folder or os.environ.get("FROBMETRIC_DATA")
    return Path(folder).expanduser() if folder else None


def _reduce(Xs: list[NDArray], dimension: int) -> list[NDArray]:
    # covariance_eigh: exact, whereas "auto" would take the randomised solver for the face images
    model = PCA(dimension, svd_solver="covariance_eigh").fit(Xs[0])
    return [model.transform(X) for X in Xs]


# Where data come from


@dataclass(frozen=True)
class _Bundled:
    """A set that comes with scikit-learn."""

    loader: Callable[..., _Data]

    def is_present(self, folder: Path | None) -> bool:
        return True

    def read(self, folder: Path | None, download: bool) -> _Data:
        return self.loader(return_X_y=True)


@dataclass(frozen=True)
class _OpenML:
    """A set of openml.org. `test_counts`: how often each class occurs in a given test part."""

    name: str
    data_id: int
    rows: tuple[slice, ...] = (slice(None),)
    test_counts: tuple[int, ...] = ()

    def fetch(self, shape: tuple[int, int]) -> _Data:
        # liac-arff: slower than the parser of pandas, but pandas is no dependency of this package
        bunch = sklearn.datasets.fetch_openml(
            data_id=self.data_id, as_frame=False, parser="liac-arff"
        )
        X = np.concatenate([bunch.data[rows] for rows in self.rows])
        y = np.concatenate([_as_codes(bunch.target)[rows] for rows in self.rows])
        # Rows in another order would mix training and test part without any other sign
        counts = tuple(np.bincount(y[len(y) - sum(self.test_counts) :]).tolist())
        if X.shape != shape or counts != self.test_counts:
            raise ValueError(
                f"{self} gave shape {X.shape} and class counts {counts} in the test part; expected "
                f"{shape} and {self.test_counts}. Use the npz file of this set instead."
            )
        return X, y

    def __str__(self) -> str:
        return f"OpenML's {self.name!r} (id {self.data_id})"


def _as_codes(labels) -> NDArray:
    """Number labels in their order, shorter ones first: '10' comes after '9'."""
    texts = [str(label).strip("'") for label in labels]
    ordered = sorted(set(texts), key=lambda text: (len(text), text))
    codes = {text: code for code, text in enumerate(ordered)}
    return np.array([codes[text] for text in texts])


@dataclass(frozen=True)
class _File:
    """An npz file, or else OpenML; the parts (name of X, name of y, rows) are stacked in order."""

    name: str
    n_features: int
    parts: tuple[tuple[str, str, int], ...]
    openml: _OpenML | None = None
    unit: int = 1  # some files hold integers, of which X / unit is the published value

    def shapes(self) -> dict[str, tuple[int, ...]]:
        of_X = {X: (rows, self.n_features) for X, _, rows in self.parts}
        return of_X | {y: (rows,) for _, y, rows in self.parts}

    def is_present(self, folder: Path | None) -> bool:
        return folder is not None and (folder / self.name).is_file()

    def read(self, folder: Path | None, download: bool) -> _Data:
        if folder is not None and self.is_present(folder):
            return self._stack(read_npz(folder / self.name, self.shapes()))
        if download and self.openml is not None:
            return self.openml.fetch((sum(rows for _, _, rows in self.parts), self.n_features))
        raise DatasetNotFoundError(self._say_how_to_get(folder))

    def _stack(self, arrays: dict[str, NDArray]) -> _Data:
        X = np.concatenate([arrays[X] for X, _, _ in self.parts])
        y = np.concatenate([arrays[y] for _, y, _ in self.parts])
        return (X if self.unit == 1 else X / self.unit), y

    def _say_how_to_get(self, folder: Path | None) -> str:
        other = f"or pass download=True to fetch {self.openml}" if self.openml else NO_DOWNLOAD
        unit = f", X being {self.unit} times the features" if self.unit != 1 else ""
        return absence(self.name, folder, other, self.shapes()) + f"{unit}."


@dataclass(frozen=True)
class _PictureFile:
    """An npz file with one row a picture; `white` is the number for the brightest grey."""

    name: str
    key: str
    n_pictures: int
    shape: tuple[int, int]
    white: int

    def read(self, folder: Path | None) -> NDArray:
        shapes = {self.key: (self.n_pictures, self.shape[0] * self.shape[1])}
        if folder is None or not (folder / self.name).is_file():
            raise DatasetNotFoundError(absence(self.name, folder, NO_DOWNLOAD, shapes) + ".")
        return read_npz(folder / self.name, shapes)[self.key] / self.white


def absence(name: str, folder: Path | None, other: str, shapes: dict[str, tuple]) -> str:
    """That a file is not there, and what to do."""
    place = f"is not in {folder}" if folder else "is needed, and no data folder was given"
    arrays = ", ".join(f"{key} {shape}" for key, shape in shapes.items())
    return (
        f"the data file {name} {place}. Pass folder= or set FROBMETRIC_DATA to the folder "
        f"that holds it; {other}. The arrays it must contain: {arrays}"
    )


def read_npz(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, NDArray]:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not an npz file, or is cut short; copy it again.")
    with np.load(path, allow_pickle=False) as npz:
        return {key: _read_array(npz, path, key, shape) for key, shape in shapes.items()}


def _read_array(npz, path: Path, key: str, shape: tuple[int, ...]) -> NDArray:
    if key not in npz.files:
        raise ValueError(f"{path} has no array {key!r}, only {npz.files}; expected shape {shape}.")
    try:
        array = npz[key]
    except ValueError as error:  # an array of Python objects: reading it could run code
        raise ValueError(f"array {key!r} of {path} cannot be read: {error}") from error
    kinds = "iu" if len(shape) == 1 else "iuf"
    if array.shape != shape or array.dtype.kind not in kinds:
        raise ValueError(
            f"array {key!r} of {path} is {array.dtype} of shape {array.shape}; expected "
            f"{'integers' if kinds == 'iu' else 'numbers'} of shape {shape}. Replace the file."
        )
    return array


# How rows are split: (number of rows, seed) -> rows of the training, validation and test part


def _random(n: int, seed: int) -> list[NDArray]:
    """70 / 15 / 15 % by seed, not stratified; the rounding is that of the paper's table."""
    n_train = (7 * n + 5) // 10
    n_validation = (n - n_train + 1) // 2
    order = np.random.default_rng(seed).permutation(n)
    return np.split(order, [n_train, n_train + n_validation])


def _fixed(n_train: int, n_validation: int) -> _SplitRule:
    return lambda n, seed: np.split(np.arange(n), [n_train, n_train + n_validation])


def _given_test(n_test: int) -> _SplitRule:
    """The last rows are the test part; training to validation is 70 : 15 by seed."""

    def split(n: int, seed: int) -> list[NDArray]:
        n_rest = n - n_test
        order = np.random.default_rng(seed).permutation(n_rest)
        return [*np.split(order, [n_rest - 3 * n_rest // 17]), np.arange(n_rest, n)]

    return split


@dataclass(frozen=True)
class _Set:
    source: _Bundled | _File
    split: _SplitRule = _random
    pca: int | None = None


def _one(file: str, n_features: int, rows: int, openml=None, y="y") -> _File:
    return _File(file, n_features, (("X", y, rows),), openml)


def _two(file: str, n_features: int, rows: tuple[int, int], openml, end="", unit=1) -> _File:
    parts = (f"X_train{end}", "y_train", rows[0]), (f"X_test{end}", "y_test", rows[1])
    return _File(file, n_features, parts, openml, unit)


# The class counts in the test part tell whether the rows come in the order of the original files
_MNIST = _OpenML(
    "mnist_784", 554, test_counts=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)
)
_USPS = _OpenML("USPS", 41082, test_counts=(359, 264, 198, 166, 200, 160, 170, 147, 166, 177))
_PENDIGITS = _OpenML(
    "pendigits", 32, test_counts=(363, 364, 364, 336, 364, 335, 336, 364, 336, 336)
)
_ISOLET = _OpenML(
    "isolet",
    300,
    rows=(slice(1560), slice(6238, None)),  # parts 1 and 5 of 5
    test_counts=(60,) * 12 + (59,) + (60,) * 13,
)

_SETS = {
    # The paper's, with its PCA dimensions
    "mnist": _Set(
        _two("mnist.npz", 784, (60_000, 10_000), _MNIST), _fixed(50_000, 10_000), pca=164
    ),
    "usps": _Set(_one("usps_11000.npz", 256, 11_000), pca=60),
    # The paper gives the sizes of its one split, not its rows: these are in the order of the file
    "letters": _Set(_one("letter.npz", 16, 20_000, _OpenML("letter", 6)), _fixed(10_500, 4_500)),
    "yale": _Set(_one("yaleb_32x32.npz", 1024, 2_414), pca=300),
    "balance": _Set(_one("balance_scale.npz", 4, 625, _OpenML("balance-scale", 11))),
    "wine": _Set(_Bundled(sklearn.datasets.load_wine)),
    "iris": _Set(_Bundled(sklearn.datasets.load_iris)),
    # Further ones. The PCA dimensions are our choice: about 95 % of the variance
    "digits": _Set(_Bundled(sklearn.datasets.load_digits)),
    "breast_cancer": _Set(_Bundled(sklearn.datasets.load_breast_cancer)),
    "isolet": _Set(
        _two("isolet_1_5.npz", 617, (1_560, 1_559), _ISOLET, unit=10_000),
        _given_test(1_559),
        pca=170,
    ),
    "pendigits": _Set(_two("pendigits.npz", 16, (7_494, 3_498), _PENDIGITS), _given_test(3_498)),
    "spam": _Set(_one("spam.npz", 57, 4_601, _OpenML("spambase", 44))),
    "coil20": _Set(_one("coil20_32x32.npz", 1024, 1_440), pca=150),
    "usps_9298": _Set(
        _two("usps_9298.npz", 256, (7_291, 2_007), _USPS, "_milli", unit=1000), _given_test(2_007)
    ),
    # By sequence, not by subject: each person is in all three parts
    "utd_mhad": _Set(_one("utd_mhad_handcrafted.npz", 90, 861, y="action")),
}

_PICTURES = {
    # A teapot turned by 360 degrees; the sum of red, green and blue
    "teapots": _PictureFile("teapots_100_38x50.npz", "X_rgbsum", 100, (38, 50), white=765),
    # One man's face in a video
    "frey_faces": _PictureFile("frey_faces.npz", "X", 1_965, (28, 20), white=255),
}

NAMES = tuple(_SETS)
PICTURE_NAMES = tuple(_PICTURES)
