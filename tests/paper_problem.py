"""Options with which `FrobMetric` solves the paper's problem, and an oracle for small problems."""

from functools import partial

import numpy as np
import pytest

from frobmetric import FrobMetric
from frobmetric.learning.coordinates import unit_mean_square

#: Features as they are, no prior, and one search for neighbours.
PAPER = {"units": "raw", "prior": None, "n_passes": 1}
paper_metric = partial(FrobMetric, **PAPER)


def cvxpy_optimum(X, T, C, weight=None, prior=None, pull=0.0, unit=None):
    """The smallest value of the documented objective, written out, and where it is reached."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    D = X.shape[1]
    scale = unit_mean_square(X)[1] if unit is None else unit
    near, far = ((X[T[:, 0]] - X[T[:, i]]) / scale for i in (1, 2))
    share = np.ones(len(T)) if weight is None else np.asarray(weight)
    share = C * share / share.sum()
    M = cp.Variable((D, D), PSD=True)
    near2, far2 = (cp.sum(cp.multiply(d @ M, d), axis=1) for d in (near, far))
    prior = np.zeros((D, D)) if prior is None else prior * scale**2
    objective = cp.sum_squares(M - prior) / 2 + share @ (cp.pos(1 - far2 + near2) + pull * near2)
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    return best, M.value / scale**2


def euclidean_prior(X, T, weight=None):
    """The multiple of the identity whose satisfied triplets have a mean margin of one."""
    near, far = (np.sum((X[T[:, 0]] - X[T[:, i]]) ** 2, axis=1) for i in (1, 2))
    weight = np.ones(len(T)) if weight is None else np.asarray(weight)
    is_satisfied = far > near
    mean = np.average((far - near)[is_satisfied], weights=weight[is_satisfied])
    return np.eye(X.shape[1]) / mean


def assert_optimal(metric, best, M):
    assert metric.certificate_.primal == pytest.approx(best, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(
        metric.get_mahalanobis_matrix(), M, atol=1e-3 * max(np.linalg.norm(M), 1e-3)
    )
