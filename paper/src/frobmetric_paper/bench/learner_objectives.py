"""Objectives of metric-learn's learners, written out from their definitions.

Each is a function of the map L of a metric M = L.T L, by which two programs are compared that were
given the same tuples and parameters. Less is better.
"""

import numpy as np
from sklearn.neighbors import NearestNeighbors

#: Numbers of a block of distances.
BLOCK = 1 << 24


def squared(L, points, index):
    """Return the squared distances of pairs of points."""
    Z = points @ L.T
    return np.sum((Z[index[:, 0]] - Z[index[:, 1]]) ** 2, axis=1)


def itml(L, points, pairs, y, bounds, gamma=1.0):
    """Return LogDet(M, I) + gamma * LogDet of the slacks, which are the best ones for M."""
    M = L.T @ L
    bound = np.where(y > 0, *bounds)
    ratio = squared(L, points, pairs) / bound
    is_broken = np.where(y > 0, ratio > 1, ratio < 1)
    slack = ratio[is_broken] - np.log(ratio[is_broken]) - 1
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(M) + gamma * slack.sum()


def mmc(L, points, pairs, y):
    """Return minus the sum of distances of dissimilar pairs, at unit scatter of similar ones."""
    d2 = squared(L, points, pairs)
    return -np.sqrt(d2[y < 0]).sum() / np.sqrt(d2[y > 0].sum())


def mmc_diagonal(L, points, pairs, y, c=1.0):
    """Return the scatter of similar pairs minus c times the logarithm of the other distances."""
    d2 = squared(L, points, pairs)
    return d2[y > 0].sum() - c * np.log(np.sqrt(d2[y < 0]).sum())


def sdml(L, points, pairs, y, balance=0.5, sparsity=0.01):
    """Return the objective of the graphical lasso whose matrix has the pairs in it."""
    M = L.T @ L
    difference = points[pairs[:, 0]] - points[pairs[:, 1]]
    P = np.eye(len(M)) + balance * (difference * y[:, None]).T @ difference
    off = np.abs(M).sum() - np.abs(np.diag(M)).sum()
    return -np.linalg.slogdet(M)[1] + np.sum(P * M) + sparsity * off


def lsml(L, points, quadruplets):
    """Return the mean squared violation of the comparisons, and the LogDet divergence to I."""
    M = L.T @ L
    near, far = (np.sqrt(squared(L, points, quadruplets[:, part])) for part in ([0, 1], [2, 3]))
    violation = np.mean(np.maximum(near - far, 0) ** 2)
    return violation + np.trace(M) - np.linalg.slogdet(M)[1]


def scml(L, points, triplets, beta=1e-5):
    """Return the mean hinge of the triplets and beta times the trace: bases have length one."""
    margin = squared(L, points, triplets[:, [0, 2]]) - squared(L, points, triplets[:, [0, 1]])
    return np.mean(np.maximum(0, 1 - margin)) + beta * np.sum(L**2)


def targets_of(X, y, k=3):
    """Return for each sample the numbers of the k nearest ones of its class."""
    targets = np.empty((len(X), k), dtype=int)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        found = NearestNeighbors(n_neighbors=k).fit(X[rows]).kneighbors(return_distance=False)
        targets[rows] = rows[found]
    return targets


def lmnn(L, X, y, targets, regularization=0.5):
    """Return the weighted sum of target distances and of all hinges with other classes."""
    Z = X @ L.T
    radius = np.sum((Z[:, None] - Z[targets]) ** 2, axis=2)
    norms, push = np.sum(Z**2, axis=1), 0.0
    for start in range(0, len(Z), max(1, BLOCK // len(Z))):
        part = slice(start, start + max(1, BLOCK // len(Z)))
        d2 = norms[part, None] + norms - 2 * Z[part] @ Z.T
        d2[y[part, None] == y] = np.inf
        push += sum(np.maximum(0, 1 + near[:, None] - d2).sum() for near in radius[part].T)
    return regularization * radius.sum() + (1 - regularization) * push


def _neighbor_shares(L, X):
    """Yield blocks of rows with their probabilities of choosing each other sample."""
    Z = X @ L.T
    norms, step = np.sum(Z**2, axis=1), max(1, BLOCK // len(Z))
    for start in range(0, len(Z), step):
        rows = np.arange(start, min(start + step, len(Z)))
        d2 = norms[rows, None] + norms - 2 * Z[rows] @ Z.T
        d2[np.arange(len(rows)), rows] = np.inf
        share = np.exp(d2.min(axis=1, keepdims=True) - d2)
        yield rows, share / share.sum(axis=1, keepdims=True)


def nca(L, X, y):
    """Return minus the expected number of samples that choose a neighbour of their class."""
    return -sum((share * (y[rows, None] == y)).sum() for rows, share in _neighbor_shares(L, X))


def mlkr(L, X, y):
    """Return the squared error of leave-one-out kernel regression."""
    return sum(np.sum((share @ y - y[rows]) ** 2) for rows, share in _neighbor_shares(L, X))
