"""Pairs of iris for the learners from pairs, and how far these part its classes."""

import numpy as np
from sklearn.datasets import load_iris

from frobmetric.learning.constraints import DrawnConstraints, wrap_pairs

IRIS, CLASSES = load_iris(return_X_y=True)


def iris_pairs(n=60, seed=0):
    """Return similar and dissimilar pairs of iris as row numbers, with their labels."""
    rows = DrawnConstraints(CLASSES).positive_negative_pairs(n, random_state=seed)
    return wrap_pairs(np.arange(len(IRIS)), rows)


def class_separation(X, y):
    """Return the mean distance within classes relative to that between classes."""
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    same = y[:, None] == y[None]
    return distance[same].mean() / distance[~same].mean()
