"""Every baseline that claims to solve P3 solves it; the matrices written out are right."""

import numpy as np
import pytest

from frobmetric import FrobeniusSDP, mine_triplets, solve
from frobmetric.core import Hinge
from frobmetric.model.sets import GivenTriplets
from frobmetric_paper.baselines import METRIC, dlib
from frobmetric_paper.baselines.convex import dense_rows, psd_factor

C = 20.0
#: Largest excess of each objective over the optimum, relative to C. dlib stops when every free u_r
#: has |1 - margin_r| < eps, and the gap is at most the sum of u_r |1 - margin_r|.
SLACK = {
    "clarabel": 1e-6,
    "scs": 1e-5,
    "paper_recipe": 1e-4,
    "dlib": dlib.EPSILON,
    "dlib_fast_math": dlib.EPSILON,
}


def test_those_that_solve_p3_are_held_to_it():
    assert set(SLACK) == {name for name, each in METRIC.items() if each.required == ("C",)}


def triplets_of(shape, X, y, rng):
    mined = mine_triplets(X, y)
    if shape == "neighbour lists":
        return mined
    index = rng.permutation(mined.to_array())[:200]  # no longer every near with every far
    return GivenTriplets(index, np.ones(len(index)))


def assert_solved(name, triplets, X):
    problem = FrobeniusSDP(triplets.constraints(X), Hinge(C * triplets.share))
    certificate = solve(problem, tol=1e-8).certificate
    fitted = METRIC[name].fit(X, triplets=triplets, parameters={"C": C}, limit=120)
    reached = problem.compare(fitted.L @ fitted.L.T, np.zeros(triplets.n_triplets)).primal
    assert certificate.dual * (1 - 1e-9) <= reached <= certificate.primal + SLACK[name] * C
    assert fitted.seconds > 0


@pytest.mark.parametrize("shape", ["neighbour lists", "rows"])
@pytest.mark.parametrize("name", SLACK)
def test_p3_is_solved(name, shape, points, rng, available, in_process):
    available(METRIC[name])
    assert_solved(name, triplets_of(shape, *points, rng), points[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLACK)
def test_p3_is_solved_in_a_worker(name, points, rng, available):
    available(METRIC[name])
    assert_solved(name, triplets_of("rows", *points, rng), points[0])


def test_dense_rows_are_those_of_the_constraints(points):
    X, y = points
    mined = mine_triplets(X, y)
    index = mined.to_array()
    M = np.diag([1.0, 2.0, 0.0, 3.0])
    np.testing.assert_allclose(dense_rows(X, index) @ M.ravel(), mined.constraints(X).forward(M))
    np.testing.assert_allclose(psd_factor(M) @ psd_factor(M).T, M, atol=1e-14)
    with pytest.raises(ValueError, match="GiB"):
        dense_rows(np.ones((3, 10_000)), index)
