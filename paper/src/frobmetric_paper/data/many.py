"""Labelled data of many kinds, in stratified splits of a few hundred samples.

`load` draws a split of a set of `SETS`: real data from scikit-learn and from the folder, in the
units in which they were published, and data that a generator of this file makes. A set is drawn
again for each split by its seed; what a set has to learn (principal components, frequent words) is
learned from the training part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from . import NpzFile, as_folder, find, labelled
from .raw import load_word_counts

#: Most samples of a training part and of a test part, and the share of the former in small sets.
N_TRAIN, N_TEST, TRAIN_SHARE = 600, 1000, 0.7
#: Classes with fewer samples are left out.
SMALLEST_CLASS = 5


@dataclass(frozen=True, eq=False)
class Split:
    """Two disjoint parts of a set: X is float64 (n_samples, n_features), y is int64."""

    name: str
    X_train: NDArray
    y_train: NDArray
    X_test: NDArray
    y_test: NDArray

    @property
    def size(self):
        """Numbers of samples, features and classes, by name."""
        return {
            "training": len(self.y_train),
            "test": len(self.y_test),
            "features": self.X_train.shape[1],
            "classes": len(np.unique(self.y_train)),
        }


@dataclass(frozen=True)
class LabelledSet:
    """A set: what it is, where it comes from and how it is reduced."""

    name: str
    kind: str
    description: str
    read: Callable  # folder -> X, y
    # (training part, test part) -> both with fewer features
    reduce: Callable = lambda X, T: (X, T)
    n_train: int = N_TRAIN
    per_class: int | None = None  # most training samples of a class

    def split(self, folder, seed):
        """Return a stratified split."""
        X, y = self.read(folder)
        _, y, counts = np.unique(y, return_inverse=True, return_counts=True)
        rows = np.flatnonzero(counts[y] >= SMALLEST_CLASS)
        y = (np.cumsum(counts >= SMALLEST_CLASS) - 1)[y]  # codes without gaps
        n_train = min(self.n_train, int(TRAIN_SHARE * len(rows)))
        n_test = min(N_TEST, len(rows) - n_train)
        how = {"train_size": n_train, "test_size": n_test, "random_state": seed}
        train, test = train_test_split(rows, stratify=y[rows], **how)
        if self.per_class is not None:
            some = [train[y[train] == each][: self.per_class] for each in np.unique(y[train])]
            train = np.concatenate(some)
        parts = self.reduce(*(_as_dense(X[part]) for part in (train, test)))
        return Split(self.name, parts[0], y[train], parts[1], y[test])


def load(name, *, seed=0, folder=None):
    """Load a split of one of `SETS`.

    Parameters
    ----------
    name : str
    seed : int
        Seed that draws the rows of both parts.
    folder : path, optional
        Folder of the npz files; by default the environment variable ``FROBMETRIC_DATA``.

    Examples
    --------
    >>> from frobmetric_paper.data.many import load
    >>> load("rings").size
    {'training': 600, 'test': 1000, 'features': 2, 'classes': 2}
    """
    return find(name, SETS).split(as_folder(folder), seed)


def _as_dense(X):
    return np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)


# Real data


def _labelled(name):
    return lambda folder: labelled.read(name, folder=folder)


def _pooled(name, side):
    """Return a reader of pictures whose pixels are means of two by two."""

    def read(folder):
        X, y = labelled.read(name, folder=folder)
        blocks = X.reshape(len(X), side // 2, 2, side // 2, 2)
        return blocks.mean(axis=(2, 4), dtype=np.float32).reshape(len(X), -1), y

    return read


def _npz(file, X, y, shape):
    """Return a reader of the arrays X, of this shape, and y of a file."""

    def read(folder):
        _, arrays = NpzFile(file, {X: shape, y: shape[:1]}).read(folder)
        return arrays[X], arrays[y]

    return read


def _read_r8(folder):
    counts = load_word_counts("r8", folder=folder)
    return counts.X_train, counts.y_train


def _principal(n):
    """Return a reduction to the principal components of the training part."""

    def reduce(X, T):
        model = PCA(n, svd_solver="covariance_eigh").fit(X)
        return model.transform(X), model.transform(T)

    return reduce


def _frequent(n):
    """Return a reduction to the features with the largest sums in the training part."""

    def reduce(X, T):
        columns = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:n])
        return X[:, columns], T[:, columns]

    return reduce


# Generators: each draws the same samples every time


def _make_units(folder):
    """Four classes in 6 of 20 features that share noise with the others, each in its own unit."""
    rng, n = np.random.default_rng(1), 1600
    y = rng.integers(4, size=n)
    X = rng.normal(size=(n, 20)) * 0.5
    X[:, :6] += rng.normal(size=(4, 6))[y]
    X += 2 * rng.normal(size=(n, 4)) @ rng.normal(size=(4, 20))
    return X * 10 ** rng.uniform(-3, 3, size=20), y


def _make_counts(folder):
    """Poisson counts; log-normal rates, of which 12 of 60 depend on the class, and depths."""
    rng, n = np.random.default_rng(2), 1600
    y = rng.integers(5, size=n)
    rate = np.tile(rng.normal(1, 1.5, size=60), (5, 1))
    rate[:, :12] += rng.normal(0, 0.8, size=(5, 12))
    depth = rng.normal(0, 0.5, size=(n, 1))
    return rng.poisson(np.exp(rate[y] + depth + rng.normal(0, 0.4, size=(n, 60)))), y


def _make_spectra(folder):
    """Curves of eight peaks, the heights of three by class, on a drifting and larger baseline."""
    rng, n, x = np.random.default_rng(3), 1600, np.linspace(-1, 1, 150)
    y = rng.integers(4, size=n)
    peaks = np.exp(-((x - np.linspace(-0.9, 0.9, 8)[:, None]) ** 2) / 0.004)
    height = np.tile(rng.uniform(0.5, 2, size=8), (4, 1))
    height[:, [1, 4, 6]] += rng.normal(0, 0.12, size=(4, 3))
    drawn = height[y] + rng.normal(0, 0.08, size=(n, 8))
    drift = rng.normal(size=(n, 4)) @ np.vander(x, 4).T
    scatter = rng.lognormal(0, 0.05, size=(n, 1))
    return scatter * (drawn @ peaks) + drift + rng.normal(0, 0.02, size=(n, len(x))), y


def _make_imbalanced(folder):
    """Four classes of 80, 14, 4 and 2 percent in 12 correlated features with outliers."""
    rng, n = np.random.default_rng(4), 1600
    y = rng.choice(4, size=n, p=(0.80, 0.14, 0.04, 0.02))
    X = rng.standard_t(4, size=(n, 12)) @ (np.eye(12) + 0.5 * rng.normal(size=(12, 12)))
    return X + 0.8 * rng.normal(size=(4, 12))[y], y


def _make_many_classes(folder):
    """Fifty classes whose means lie in 8 directions of 40 features; noise in all of them."""
    rng, n = np.random.default_rng(5), 1600
    y = np.arange(n) % 50
    X = rng.normal(size=(n, 40)) * rng.uniform(0.3, 1.5, size=40)
    return X + rng.normal(size=(50, 8))[y] @ rng.normal(size=(8, 40)) / np.sqrt(8), y


def _make_duplicates(folder):
    """Rows of small integers that occur several times, some with another label; constants."""
    rng, n = np.random.default_rng(6), 1600
    distinct = rng.integers(5, size=(500, 8))
    score = distinct @ np.array([3, -3, 2, 1, 0, 0, 0, 0])
    labels = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
    rows = rng.integers(500, size=n)
    y = np.where(rng.random(n) < 0.05, rng.integers(3, size=n), labels[rows])
    return np.hstack([distinct[rows], np.full((n, 2), [0, 7])]), y


def _make_few_samples(folder):
    """Three classes in 20 of 500 features, in samples of which 60 are for training."""
    rng, n = np.random.default_rng(7), 700
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 500)) + 0.5 * rng.normal(size=(n, 10)) @ rng.normal(size=(10, 500))
    X[:, :20] += 1.2 * rng.normal(size=(3, 20))[y]
    return X, y


def _make_rings(folder):
    """Two rings in the plane, one around the other: no linear map helps."""
    return make_circles(1600, factor=0.6, noise=0.12, random_state=8)


def _make_noise(folder):
    """Labels that have nothing to do with the 10 features."""
    rng = np.random.default_rng(9)
    return rng.normal(size=(1600, 10)), rng.integers(3, size=1600)


def _make_cover(folder):
    """Seven unequal classes: ten heavy-tailed measures in their units and 44 binary columns."""
    rng, n = np.random.default_rng(10), 1600
    y = rng.choice(7, size=n, p=(0.37, 0.35, 0.10, 0.07, 0.05, 0.04, 0.02))
    measures = rng.standard_t(3, size=(n, 10)) + 1.2 * rng.normal(size=(7, 10))[y]
    measures[:, 5:] = np.exp(measures[:, 5:] / 2)
    columns = [measures * 10 ** rng.uniform(0, 3, size=10)]
    for n_levels in (4, 40):
        share = rng.dirichlet(np.full(n_levels, 0.3), size=7).cumsum(axis=1)
        level = (rng.random((n, 1)) > share[y]).sum(axis=1).clip(max=n_levels - 1)
        columns.append(np.eye(n_levels)[level])
    return np.hstack(columns), y


_REAL = (
    LabelledSet("iris", "few features", "lengths of flowers' leaves", _labelled("iris")),
    LabelledSet("wine", "mixed units", "chemical analyses of wine", _labelled("wine")),
    LabelledSet(
        "breast_cancer", "mixed units", "shapes of cell nuclei", _labelled("breast_cancer")
    ),
    LabelledSet("digits", "pixels", "handwritten digits, 8 x 8", _labelled("digits")),
    LabelledSet(
        "balance", "few features", "weights and distances of a scale", _labelled("balance")
    ),
    LabelledSet("letters", "counts", "moments of letters' pictures", _labelled("letters")),
    LabelledSet("usps", "pixels", "handwritten digits, 16 x 16", _labelled("usps_9298")),
    LabelledSet("mnist", "pixels", "handwritten digits, means of 2 x 2", _pooled("mnist", 28)),
    LabelledSet(
        "isolet",
        "principal components",
        "spoken letters, 100 components",
        _labelled("isolet"),
        _principal(100),
    ),
    LabelledSet("pendigits", "few features", "digits as pen positions", _labelled("pendigits")),
    LabelledSet("spam", "mixed units", "word frequencies, run lengths", _labelled("spam")),
    LabelledSet(
        "nci60",
        "few samples",
        "gene expression of tumours",
        _npz("nci60.npz", "X", "labels", (64, 6830)),
    ),
    LabelledSet("yale", "pixels", "faces of 38 people, means of 2 x 2", _pooled("yale", 32)),
    LabelledSet("coil20", "pixels", "turned objects, means of 2 x 2", _pooled("coil20", 32)),
    LabelledSet(
        "msr_action3d",
        "few samples",
        "joints of skeletons over time",
        _npz("msr_action3d.npz", "X", "action", (566, 960)),
    ),
    LabelledSet("utd_mhad", "mixed units", "statistics of skeletons", _labelled("utd_mhad")),
    LabelledSet("r8", "counts", "the 300 most frequent words of news", _read_r8, _frequent(300)),
    LabelledSet(
        "banking77",
        "embeddings",
        "questions to a bank, unit length",
        _npz("embeddings/banking77.npz", "wordllama", "label", (13083, 256)),
    ),
    LabelledSet(
        "hwu64",
        "embeddings",
        "commands, unit length, at most 5 of a class",
        _npz("embeddings/hwu64.npz", "use", "label", (11036, 512)),
        n_train=2000,
        per_class=5,
    ),
)
#: Kind and generator of each drawn set, which its docstring describes.
_DRAWN = {
    "units": ("mixed units", _make_units),
    "counts": ("counts", _make_counts),
    "spectra": ("spectra", _make_spectra),
    "imbalanced": ("imbalanced classes", _make_imbalanced),
    "many_classes": ("many classes", _make_many_classes),
    "duplicates": ("duplicates, constants", _make_duplicates),
    "few_samples": ("few samples", _make_few_samples),
    "rings": ("nothing to learn", _make_rings),
    "noise": ("nothing to learn", _make_noise),
    "cover": ("mixed units", _make_cover),
}


def _drawn_set(name, kind, make):
    some = {"few_samples": {"n_train": 60}, "many_classes": {"n_train": 400}}.get(name, {})
    return LabelledSet(name, kind, f"drawn: {make.__doc__.rstrip('.')}", make, **some)


_ALL = (*_REAL, *(_drawn_set(name, *given) for name, given in _DRAWN.items()))
#: Sets by name.
SETS = {each.name: each for each in _ALL}
