"""Data of the valid calls: a few samples with small whole numbers, which every type can hold."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(5)

#: Classes of the samples, and samples of three clusters that overlap a little.
Y = np.arange(24) % 3
X = (_rng.integers(0, 40, (24, 3)) + 20 * Y[:, None] * [1, 0, 1]).astype(float)
TARGETS = X[:, 0] + Y
WEIGHT = np.arange(24) % 4 + 1.0

PAIR_INDEX = np.array([[i, (i + k) % 24] for k in (3, 4) for i in range(10)])
PAIR_SIGN = np.where(Y[PAIR_INDEX[:, 0]] == Y[PAIR_INDEX[:, 1]], 1, -1)
PAIRS = X[PAIR_INDEX]
PAIR_WEIGHT = np.arange(20) % 3 + 1.0
IDENTITIES = PAIR_INDEX.copy()

TRIPLET_INDEX = np.array([[i, i + 3, i + 1 + i % 2] for i in range(15)])
TRIPLETS = X[TRIPLET_INDEX]
QUADRUPLET_INDEX = np.array([[i, i + 3, i + 1, i + 2 + i % 2] for i in range(12)])
QUADRUPLETS = X[QUADRUPLET_INDEX]
TRIPLET_SIGN = np.where(np.arange(15) % 5 == 0, -1, 1)
QUADRUPLET_SIGN = np.where(np.arange(12) % 5 == 0, -1, 1)

RELEVANCE = np.array([[q, d] for q in range(6) for d in range(24) if Y[q] == Y[d] and q != d])
CORRECT = np.arange(20) % 3 > 0
#: Small matrices: a cost, rows, and an estimated correlation matrix.
COST = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 4.0]])
ROWS = np.array([np.diag([1.0, 0.0, 0.0]), np.eye(3), np.ones((3, 3))])
BOUNDS = np.array([1.0, 3.0, 2.0])
CORRELATION = np.array([[1.0, 0.75, -0.5], [0.75, 1.0, 0.5], [-0.5, 0.5, 1.0]])
