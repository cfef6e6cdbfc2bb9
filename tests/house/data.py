"""Contract data: small, fixed, and the same in every checkout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples to learn from, and new ones."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    new_y: np.ndarray

    def pairs(self, n: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return row numbers of pairs, half of them similar, and labels 1 and -1."""
        rng, rows, labels = np.random.default_rng(seed), [], []
        while len(rows) < n:
            a, b = rng.choice(len(self.y), 2, replace=False)
            label = 1 if self.y[a] == self.y[b] else -1
            if label == (1 if len(rows) % 2 else -1):
                rows.append((a, b))
                labels.append(label)
        return np.array(rows), np.array(labels)

    def triplets(self, n: int = 80, seed: int = 0) -> np.ndarray:
        """Return row numbers (anchor, near, far) by classes."""
        rng, rows = np.random.default_rng(seed), []
        while len(rows) < n:
            a, b, c = rng.choice(len(self.y), 3, replace=False)
            if self.y[a] == self.y[b] != self.y[c]:
                rows.append((a, b, c))
        return np.array(rows)

    def quadruplets(self, n: int = 80, seed: int = 0) -> np.ndarray:
        """Return row numbers (a, b, c, d), a and b of one class, c and d of two."""
        pairs, labels = self.pairs(2 * n, seed)
        return np.hstack([pairs[labels == 1], pairs[labels == -1]])


@cache
def iris() -> Samples:
    """Return iris without repeated rows, every fifth row new."""
    X, first = np.unique(load_iris().data, axis=0, return_index=True)
    return _split(X, load_iris().target[first])


@cache
def wine() -> Samples:
    """Return wine: 13 features of unlike units."""
    return _split(*load_wine(return_X_y=True))


@cache
def digits(n: int = 400) -> Samples:
    """Return digits: 64 features, some of them constant, ten classes."""
    X, y = load_digits(return_X_y=True)
    return _split(X[:n], y[:n])


@cache
def values() -> Samples:
    """Return samples of a regression with one useless feature of a large scale."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(140, 5)) * [1, 2, 0.5, 1, 10]
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=140)
    return _split(X, y)


@cache
def planted(seed: int = 1, n: int = 200) -> Samples:
    """Return embeddings whose first features tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 4)
    X = rng.normal(size=(n, 12))
    X[:, :4] = 2 * np.eye(4)[y] + 0.5 * X[:, :4]
    return _split(X, y)


@cache
def searched(seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return documents, queries, and pairs (query, document) that are relevant."""
    rng = np.random.default_rng(seed)
    topics = rng.normal(size=(20, 3))
    of_document, of_query = np.arange(80) % 20, np.arange(60) % 20
    X = np.hstack([topics[of_document], 1.5 * rng.normal(size=(80, 6))])
    Q = np.hstack([topics[of_query], 1.5 * rng.normal(size=(60, 6))])
    return X, Q, np.argwhere(of_query[:, None] == of_document)


@cache
def encoders(n: int = 300, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors of the same texts by a new and an old encoder."""
    rng = np.random.default_rng(seed)
    meaning = rng.standard_normal((n, 6))
    new, old = (
        meaning @ rng.standard_normal((6, d)) + 0.1 * rng.standard_normal((n, d)) for d in (8, 10)
    )
    return new, old


@cache
def roll(n: int = 90, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return points of a rolled sheet, and new ones."""
    rng = np.random.default_rng(seed)
    t, height = 1.5 * np.pi * (1 + 2 * np.linspace(0, 1, n + 10) ** 0.8), rng.uniform(0, 8, n + 10)
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    new = np.arange(n + 10) % (n // 10 + 1) == 3
    return X[~new], X[new]


def weights(n: int, seed: int = 6) -> np.ndarray:
    """Return whole weights, some of them zero."""
    return np.random.default_rng(seed).integers(0, 4, n).astype(float)


def _split(X: np.ndarray, y: np.ndarray) -> Samples:
    new = np.arange(len(X)) % 5 == 2
    return Samples(X[~new], y[~new], X[new], y[new])
