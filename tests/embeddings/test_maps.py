"""The two sides of a learned map."""

import numpy as np

from frobmetric.core import FrobeniusSDP, Hinge, Triplets
from frobmetric.embeddings.maps import LearnedMap
from frobmetric.solvers import solve


def _solution():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    return solve(FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1))))


def test_a_map_is_symmetric_if_both_sides_are_one_array():
    both, solution = np.eye(2), _solution()
    assert LearnedMap(both, both, None, solution).is_symmetric
    assert not LearnedMap(2 * both, both, None, solution).is_symmetric


def test_repr_holds_no_arrays():
    text = repr(LearnedMap(np.eye(2), np.eye(2), None, _solution()))
    assert text.startswith("LearnedMap(2 -> 2 features, each side, Solution(status='optimal'")


def test_the_certificate_is_that_of_the_solution():
    solution = _solution()
    assert LearnedMap(np.eye(2), np.eye(2), None, solution).certificate is solution.certificate


def test_a_start_scales_the_dual_variables():
    learned = LearnedMap(np.eye(2), np.eye(2), None, _solution(), C=1.0)
    np.testing.assert_array_equal(learned.start(3.0, 1).u, 3 * learned.solution.u)
    assert learned.start(3.0, 2).is_empty
    assert LearnedMap(np.eye(2), np.eye(2), None, _solution()).start(3.0, 1).is_empty
