"""The rows against their definition, written out with one matrix a row."""

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import Bilinear, NeighborTriplets, Pairs, Quadruplets, Sparse, Stack, Triplets
from frobmetric.core.constraints import Scores
from random_problems import symmetric


def _outer(x):
    return np.outer(x, x)


def test_pairs_are_squared_distances(rng):
    X, M = rng.normal(size=(6, 3)), symmetric(rng, 3)
    pairs = np.array([[4, 1], [0, 2], [4, 1], [3, 5]])
    by_hand = [np.vdot(_outer(X[i] - X[j]), M) for i, j in pairs]
    np.testing.assert_allclose(Pairs(X, pairs).forward(M), by_hand)


def test_triplets_are_far_minus_near(rng):
    """The paper's A_r = (a_i - a_k)(a_i - a_k)' - (a_i - a_j)(a_i - a_j)'."""
    X, u = rng.normal(size=(6, 3)), rng.normal(size=2)
    T = np.array([[0, 1, 2], [3, 4, 0]])
    rows = [_outer(X[i] - X[k]) - _outer(X[i] - X[j]) for i, j, k in T]
    np.testing.assert_allclose(Triplets(X, T).adjoint(u), np.tensordot(u, rows, 1))


def test_quadruplets_compare_two_pairs(rng):
    X, M = rng.normal(size=(6, 3)), symmetric(rng, 3)
    row = _outer(X[2] - X[3]) - _outer(X[0] - X[1])
    found = Quadruplets(X, np.array([[0, 1, 2, 3]])).forward(M)
    np.testing.assert_allclose(found, [np.vdot(row, M)])


@pytest.mark.parametrize("n_candidates", [3, 40])
def test_bilinear_rows_compare_two_scores(rng, n_candidates):
    """Either set of vectors may be the smaller one."""
    A, B, W = rng.normal(size=(10, 3)), rng.normal(size=(n_candidates, 4)), rng.normal(size=(3, 4))
    index = np.array([[0, 1, 0, 2], [9, 2, 4, 0], [9, 2, 9, 2], [5, 1, 6, 1]])
    rows = [np.outer(A[a], B[b]) - np.outer(A[c], B[d]) for a, b, c, d in index]
    constraints, u = Bilinear(A, B, index), rng.normal(size=4)
    np.testing.assert_allclose(constraints.forward(W), [np.vdot(row, W) for row in rows])
    np.testing.assert_allclose(constraints.adjoint(u), np.tensordot(u, rows, 1))
    np.testing.assert_allclose(constraints.norms(), np.linalg.norm(rows, axis=(1, 2)), atol=1e-6)


def test_scores_of_a_stack_have_the_cone_of_its_parts(rng):
    A, B, pairs = rng.normal(size=(5, 3)), rng.normal(size=(6, 4)), np.array([[0, 1], [4, 5]])
    stack = Stack([Scores(A, B, pairs), Bilinear(A, B, np.array([[0, 1, 2, 3]]))])
    assert stack.default_cone().shape == stack.adjoint(np.ones(3)).shape == (3, 4)


@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_array])
def test_both_forms_of_triplets_agree(rng, as_matrix):
    X = as_matrix(rng.normal(size=(8, 4)))
    anchors, near, far = np.array([5, 1]), np.array([[0, 2], [3, 4]]), np.array([[6], [7]])
    implicit = NeighborTriplets(X, anchors, near, far)
    explicit = Triplets(X, np.array([[5, 0, 6], [5, 2, 6], [1, 3, 7], [1, 4, 7]]))
    M, u = symmetric(rng, 4), rng.normal(size=4)
    np.testing.assert_allclose(implicit.forward(M), explicit.forward(M))
    np.testing.assert_allclose(implicit.adjoint(u), explicit.adjoint(u), atol=1e-14)


def test_sparse_rows_from_sparse_matrices(rng):
    A = sp.csr_array(np.diag([1.0, 2.0]))
    assert Sparse.from_matrices([A]).forward(np.eye(2))[0] == 3.0


def test_distances_far_from_the_origin_do_not_cancel():
    X = 1e8 + np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_array_equal(Pairs(X, np.array([[0, 1], [0, 2]])).forward(np.eye(1)), [1, 9])
