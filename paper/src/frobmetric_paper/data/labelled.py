"""Data sets with labels, split and reduced as in table I of the paper; pictures without labels.

Features keep the units in which a set was published (pixels are 0..255): like the paper, nothing is
standardised. Nothing is downloaded unless ``download=True``. Pictures to unfold are grey from 0 to
1, whatever the numbers in their files are.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from . import NpzFile, as_folder, find

#: Eigenvalues of a covariance below this, relative to the largest, count as zero.
RANK_TOLERANCE = 1e-10


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
    """Pictures in the order in which they were taken."""

    name: str
    X: NDArray  # float64 (n_pictures, height * width), grey from 0 to 1, row by row
    shape: tuple[int, int]  # height and width


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
    X, y = spec.read(as_folder(folder), download)
    parts = spec.split(len(y), seed)
    Xs = [np.asarray(X[rows], dtype=np.float64) for rows in parts]
    if pca and spec.pca is not None:
        # covariance_eigh: exact; "auto" would take the randomised solver for the face images
        model = PCA(spec.pca, svd_solver="covariance_eigh").fit(Xs[0])
        Xs = [model.transform(X) for X in Xs]
    ys = [y[rows].astype(np.int64) for rows in parts]
    return Split(name, Xs[0], ys[0], Xs[1], ys[1], Xs[2], ys[2])


def read(name, *, folder=None) -> tuple[NDArray, NDArray]:
    """Return all samples and labels of a set, one of `NAMES`, in the order of the file."""
    return find(name, _SETS).read(as_folder(folder), download=False)


def available(folder=None) -> list[str]:
    """Return the names of the sets that `load` can load now without a download."""
    where = as_folder(folder)
    return [name for name, spec in _SETS.items() if spec.is_present(where)]


def load_pictures(name, *, folder=None) -> Pictures:
    """Load pictures without labels, one of `PICTURE_NAMES`; all of them and in their order."""
    file, key, n, shape, white = find(name, _PICTURES)
    _, arrays = NpzFile(file, {key: (n, shape[0] * shape[1])}).read(as_folder(folder))
    return Pictures(name, arrays[key] / white, shape)


# Covariances


def within_covariance(X, y):
    """Return the covariance of the samples around the means of their classes."""
    labels, sizes = np.unique(y, return_inverse=True, return_counts=True)[1:]
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, labels, X)
    centred = X - (sums / sizes[:, None])[labels]
    return centred.T @ centred / len(X)


def whitening(covariance):
    """Return the factor L of the pseudo-inverse L L.T of a covariance, (n_features, rank).

    Samples with this covariance have the identity as covariance after they are multiplied by L.
    """
    values, vectors = np.linalg.eigh(covariance)
    is_positive = values > RANK_TOLERANCE * values[-1]
    return vectors[:, is_positive] / np.sqrt(values[is_positive])


# Where data come from, and how they are split


@dataclass(frozen=True)
class _OpenML:
    """A set of openml.org; see sets.toml."""

    name: str
    data_id: int
    rows: tuple = ((None,),)  # arguments of slices
    test_counts: tuple[int, ...] = ()

    def fetch(self, shape: tuple[int, int]) -> tuple[NDArray, NDArray]:
        # liac-arff: slower than the parser of pandas, but pandas is no dependency of this package
        how = {"as_frame": False, "parser": "liac-arff"}
        bunch = sklearn.datasets.fetch_openml(data_id=self.data_id, **how)
        codes = _as_codes(bunch.target)
        X = np.concatenate([bunch.data[slice(*rows)] for rows in self.rows])
        y = np.concatenate([codes[slice(*rows)] for rows in self.rows])
        # Rows in another order would mix training and test part without any other sign
        counts = np.bincount(y[len(y) - sum(self.test_counts) :]).tolist()
        if X.shape != shape or counts != list(self.test_counts):
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
class _Set:
    """A set of scikit-learn, or an npz file, or else OpenML; see sets.toml."""

    bundled: str = ""
    file: str = ""
    n_features: int = 0
    parts: tuple[tuple[str, str, int], ...] = ()
    unit: int = 1
    fixed: tuple[int, int] | None = None
    n_test: int | None = None
    pca: int | None = None
    openml: _OpenML | None = None

    @property
    def npz(self) -> NpzFile:
        shapes = {X: (rows, self.n_features) for X, _, rows in self.parts}
        shapes |= {y: (rows,) for _, y, rows in self.parts}
        note = f", X being {self.unit} times the features" if self.unit != 1 else ""
        hint = (
            {"hint": f"or, in Python, pass download=True to fetch {self.openml}"}
            if self.openml
            else {}
        )
        return NpzFile(self.file, shapes, note=note, **hint)

    def is_present(self, folder: Path | None) -> bool:
        return bool(self.bundled) or self.npz.is_present(folder)

    def read(self, folder: Path | None, download: bool) -> tuple[NDArray, NDArray]:
        if self.bundled:
            return getattr(sklearn.datasets, self.bundled)(return_X_y=True)
        if download and self.openml is not None and not self.is_present(folder):
            return self.openml.fetch((sum(rows for _, _, rows in self.parts), self.n_features))
        _, arrays = self.npz.read(folder)
        X = np.concatenate([arrays[X] for X, _, _ in self.parts])
        y = np.concatenate([arrays[y] for _, y, _ in self.parts])
        return (X if self.unit == 1 else X / self.unit), y

    def split(self, n: int, seed: int) -> list[NDArray]:
        """Return the rows of the training, validation and test part."""
        if self.fixed:
            return np.split(np.arange(n), np.cumsum(self.fixed))
        n_rest = n - (self.n_test or 0)
        order = np.random.default_rng(seed).permutation(n_rest)
        if self.n_test:  # training to validation 70 : 15
            return [*np.split(order, [n_rest - 3 * n_rest // 17]), np.arange(n_rest, n)]
        # 70 / 15 / 15 %, not stratified; rounded as in the paper's table
        n_train = (7 * n + 5) // 10
        return np.split(order, [n_train, n_train + (n - n_train + 1) // 2])


def _read_sets():
    text = Path(__file__).with_name("sets.toml").read_text(encoding="utf-8")
    for name, values in tomllib.loads(text).items():
        openml = {"openml": _OpenML(**values["openml"])} if "openml" in values else {}
        yield name, _Set(**values | openml)


_SETS = dict(_read_sets())
#: Pictures: file, array, number and shape of the pictures, number of the brightest grey.
_PICTURES = {
    # A teapot turned by 360 degrees; the sum of red, green and blue
    "teapots": ("teapots_100_38x50.npz", "X_rgbsum", 100, (38, 50), 765),
    # One man's face in a video
    "frey_faces": ("frey_faces.npz", "X", 1_965, (28, 20), 255),
}

NAMES = tuple(_SETS)
PICTURE_NAMES = tuple(_PICTURES)
