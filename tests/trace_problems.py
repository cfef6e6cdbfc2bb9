"""Random instances of problem P2."""

import numpy as np

from frobmetric.core import Triplets
from frobmetric.metric.boost import LOSSES
from frobmetric.metric.boost.problem import TraceSDP


def random_triplets(seed, n=4, m=40):
    """Triplets of a hidden metric with some of them turned round, as constraints."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, n))
    rows = np.array([rng.choice(15, 3, replace=False) for _ in range(m)])
    hidden = X * rng.uniform(0.2, 2, n)
    a, b, c = (hidden[rows[:, k]] for k in range(3))
    turned = (np.sum((a - b) ** 2, axis=1) > np.sum((a - c) ** 2, axis=1)) ^ (rng.random(m) < 0.1)
    rows[turned] = rows[turned][:, [0, 2, 1]]
    return Triplets(X, rows), rng.dirichlet(np.ones(m)), rng


def random_problem(seed, loss, C=None, **size):
    constraints, share, rng = random_triplets(seed, **size)
    C = float(10 ** rng.uniform(0, 3)) if C is None else C
    return TraceSDP(constraints, LOSSES[loss](C * share))


def matrices(constraints):
    return np.array([constraints.adjoint(e) for e in np.eye(constraints.shape[0])])
