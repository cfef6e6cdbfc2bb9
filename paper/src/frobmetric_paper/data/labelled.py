"""Data sets with labels, split and reduced as in table I of the paper; pictures without labels.

Features keep the units in which a set was published (pixels are 0..255): like the paper, nothing is
standardised. Nothing is downloaded unless ``download=True``. Pictures to unfold are grey from 0 to
1, whatever the numbers in their files are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from . import DatasetNotFoundError, NpzFile, as_folder, find

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

_Data = tuple[NDArray, NDArray]


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

    X is float64 (n_pictures, height * width), grey from 0 to 1, row by row; shape is (height,
    width).
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
        Seed that draws the rows of each part. MNIST and letters have one fixed split and ignore
        it; sets with a given test part (isolet, pendigits, usps_9298) only draw the validation
        part.
    folder : path, optional
        Folder of the npz files; by default the environment variable ``FROBMETRIC_DATA``.
    pca : bool
        Project on the leading principal components of the training part, for the sets for which
        the paper does so (and isolet and coil20); False keeps all features.
    download : bool
        Allow `sklearn.datasets.fetch_openml` if the file is absent. OpenML has its own order of
        rows, so letters and the splits by seed then hold other rows than with the file.

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
    """Return the names of the sets that `load` can load now without a download."""
    where = as_folder(folder)
    return [name for name, spec in _SETS.items() if spec.source.is_present(where)]


def load_pictures(name, *, folder=None) -> Pictures:
    """Load pictures without labels, all of them and in their order.

    Parameters
    ----------
    name : str
        One of `PICTURE_NAMES`.
    folder : path, optional
        Folder of the npz files; by default the environment variable ``FROBMETRIC_DATA``.
    """
    file, key, n, shape, white = find(name, _PICTURES)
    _, arrays = NpzFile(file, {key: (n, shape[0] * shape[1])}).read(as_folder(folder))
    return Pictures(name, arrays[key] / white, shape)


def _reduce(Xs: list[NDArray], dimension: int) -> list[NDArray]:
    # covariance_eigh: exact, whereas "auto" would take the randomised solver for the face images
    model = PCA(dimension, svd_solver="covariance_eigh").fit(Xs[0])
    return [model.transform(X) for X in Xs]


# Where data come from


@dataclass(frozen=True)
class _Bundled:
    """A set of scikit-learn."""

    loader: Callable[..., _Data]

    def is_present(self, folder: Path | None) -> bool:
        return True

    def read(self, folder: Path | None, download: bool) -> _Data:
        return self.loader(return_X_y=True)


@dataclass(frozen=True)
class _OpenML:
    """A set of openml.org. `test_counts`: size of each class in a given test part."""

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
    """Return the number of each label in their order, shorter first: '10' comes after '9'."""
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

    @property
    def npz(self) -> NpzFile:
        shapes = {X: (rows, self.n_features) for X, _, rows in self.parts}
        shapes |= {y: (rows,) for _, y, rows in self.parts}
        note = f", X being {self.unit} times the features" if self.unit != 1 else ""
        if self.openml is None:
            return NpzFile(self.name, shapes, note=note)
        hint = f"or pass download=True to fetch {self.openml}"
        return NpzFile(self.name, shapes, hint, note)

    def is_present(self, folder: Path | None) -> bool:
        return self.npz.is_present(folder)

    def read(self, folder: Path | None, download: bool) -> _Data:
        if download and self.openml is not None and not self.is_present(folder):
            return self.openml.fetch((sum(rows for _, _, rows in self.parts), self.n_features))
        _, arrays = self.npz.read(folder)
        X = np.concatenate([arrays[X] for X, _, _ in self.parts])
        y = np.concatenate([arrays[y] for _, y, _ in self.parts])
        return (X if self.unit == 1 else X / self.unit), y


# Rules of splitting: (number of rows, seed) -> rows of the training, validation and test part


def _random(n: int, seed: int) -> list[NDArray]:
    """Draw 70 / 15 / 15 % by seed, not stratified; rounded as in the paper's table."""
    n_train = (7 * n + 5) // 10
    n_validation = (n - n_train + 1) // 2
    order = np.random.default_rng(seed).permutation(n)
    return np.split(order, [n_train, n_train + n_validation])


def _fixed(n_train: int, n_validation: int, n: int, seed: int) -> list[NDArray]:
    """Take the rows in the order of the file."""
    return np.split(np.arange(n), [n_train, n_train + n_validation])


def _given_test(n_test: int, n: int, seed: int) -> list[NDArray]:
    """Take the last rows as test part; draw training to validation 70 : 15 by seed."""
    n_rest = n - n_test
    order = np.random.default_rng(seed).permutation(n_rest)
    return [*np.split(order, [n_rest - 3 * n_rest // 17]), np.arange(n_rest, n)]


@dataclass(frozen=True)
class _Set:
    source: _Bundled | _File
    split: Callable[[int, int], list[NDArray]] = _random
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
        _two("mnist.npz", 784, (60_000, 10_000), _MNIST), partial(_fixed, 50_000, 10_000), pca=164
    ),
    "usps": _Set(_one("usps_11000.npz", 256, 11_000), pca=60),
    # The paper gives the sizes of its one split, not its rows: these are in the order of the file
    "letters": _Set(
        _one("letter.npz", 16, 20_000, _OpenML("letter", 6)), partial(_fixed, 10_500, 4_500)
    ),
    "yale": _Set(_one("yaleb_32x32.npz", 1024, 2_414), pca=300),
    "balance": _Set(_one("balance_scale.npz", 4, 625, _OpenML("balance-scale", 11))),
    "wine": _Set(_Bundled(sklearn.datasets.load_wine)),
    "iris": _Set(_Bundled(sklearn.datasets.load_iris)),
    # Further ones. The PCA dimensions are our choice: about 95 % of the variance
    "digits": _Set(_Bundled(sklearn.datasets.load_digits)),
    "breast_cancer": _Set(_Bundled(sklearn.datasets.load_breast_cancer)),
    "isolet": _Set(
        _two("isolet_1_5.npz", 617, (1_560, 1_559), _ISOLET, unit=10_000),
        partial(_given_test, 1_559),
        pca=170,
    ),
    "pendigits": _Set(
        _two("pendigits.npz", 16, (7_494, 3_498), _PENDIGITS), partial(_given_test, 3_498)
    ),
    "spam": _Set(_one("spam.npz", 57, 4_601, _OpenML("spambase", 44))),
    "coil20": _Set(_one("coil20_32x32.npz", 1024, 1_440), pca=150),
    "usps_9298": _Set(
        _two("usps_9298.npz", 256, (7_291, 2_007), _USPS, "_milli", unit=1000),
        partial(_given_test, 2_007),
    ),
    # By sequence, not by subject: each person is in all three parts
    "utd_mhad": _Set(_one("utd_mhad_handcrafted.npz", 90, 861, y="action")),
}

#: Pictures: file, array, number and shape of the pictures, number of the brightest grey.
_PICTURES = {
    # A teapot turned by 360 degrees; the sum of red, green and blue
    "teapots": ("teapots_100_38x50.npz", "X_rgbsum", 100, (38, 50), 765),
    # One man's face in a video
    "frey_faces": ("frey_faces.npz", "X", 1_965, (28, 20), 255),
}

NAMES = tuple(_SETS)
PICTURE_NAMES = tuple(_PICTURES)
