"""Relevant component analysis with the classes as chunklets: whitens what varies within them.

M is the inverse of the covariance within classes, or its pseudo-inverse where that is singular.
"""

import numpy as np

from .in_python import command
from .rival import Rival

#: Eigenvalues below this, relative to the largest, are taken for zero.
TOLERANCE = 1e-10


def learn(task):
    return whitening(within_covariance(task["X"], task["y"]))


def within_covariance(X, y):
    """The covariance around the mean of each class, over all samples."""
    labels, sizes = np.unique(y, return_inverse=True, return_counts=True)[1:]
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, labels, X)
    centred = X - (sums / sizes[:, None])[labels]
    return centred.T @ centred / len(X)


def whitening(covariance):
    """L with L L.T the pseudo-inverse, and the rank of it."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > TOLERANCE * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept]), {"rank": int(kept.sum())}


RIVAL = Rival(
    name="rca",
    label="RCA",
    paper_name="RCA",
    learns_from="labels",
    needs="nothing",
    command=command("function", f"{__name__}:learn"),
    stays=True,
)
