"""Rows of weights against distances, written out."""

import numpy as np
import pytest

from frobmetric.core import PSD, Pairs, Quadruplets, kernels
from frobmetric.core.weights import Vectors, WeightedPairs, WeightedQuadruplets


def _index(rng, n, m):
    return np.array([rng.choice(n, 4, replace=False) for _ in range(m)])


def test_weighted_pairs_are_pairs_with_a_diagonal_matrix(rng):
    X, w, u = rng.normal(size=(9, 4)), rng.uniform(size=4), rng.normal(size=20)
    pairs = rng.integers(0, 9, (20, 2))
    weighted, whole = WeightedPairs(X, pairs), Pairs(X, pairs)
    np.testing.assert_allclose(weighted.forward(w), whole.forward(np.diag(w)), atol=1e-13)
    np.testing.assert_allclose(weighted.forward(-w), whole.forward(-np.diag(w)), atol=1e-13)
    np.testing.assert_allclose(weighted.adjoint(u), np.diag(whole.adjoint(u)), atol=1e-12)
    np.testing.assert_allclose(
        weighted.norms(), [np.linalg.norm(d**2) for d in X[pairs[:, 0]] - X[pairs[:, 1]]]
    )


def test_blocks_add_up_the_features_of_weighted_quadruplets(rng):
    X, w, block_of = rng.normal(size=(9, 5)), rng.uniform(size=2), np.array([1, 0, 0, 1, 0])
    index = _index(rng, 9, 30)
    rows = Vectors.of_blocks(X, index, block_of)
    expected = WeightedQuadruplets(X, index).forward(w[block_of])
    np.testing.assert_allclose(rows.forward(w), expected, atol=1e-12)
    np.testing.assert_allclose(
        rows.forward(np.ones(2)), Quadruplets(X, index).forward(PSD(5).identity()), atol=1e-12
    )


def test_equal_distances_differ_by_exactly_zero(rng):
    X, index = rng.normal(size=(9, 5)), _index(rng, 9, 30)
    index[:, 2:] = index[:, :2]
    assert not Vectors.of_blocks(X, index, np.array([0, 0, 1, 1, 1])).rows.any()


@pytest.mark.skipif(kernels.compiled() is None, reason="needs numba (extra `fast`)")
def test_compiled_loops_agree_with_numpy(rng, monkeypatch):
    X, index, u = rng.normal(size=(50, 30)), rng.integers(0, 50, (700, 4)), rng.normal(size=700)
    block_of = rng.permutation(np.arange(30) % 7)

    def everything():
        weighted = WeightedQuadruplets(X, index)
        return weighted.adjoint(u), Vectors.of_blocks(X, index, block_of).rows

    fast = everything()
    monkeypatch.setattr(kernels, "compiled", lambda: None)
    monkeypatch.setattr(kernels, "BLOCK", 1000)
    for found, expected in zip(everything(), fast, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_the_second_moment_is_the_sum_of_outer_products(rng):
    rows, rates = Vectors(rng.normal(size=(40, 3))), rng.uniform(size=40)
    expected = sum(rate * np.outer(row, row) for rate, row in zip(rates, rows.rows, strict=True))
    np.testing.assert_allclose(rows.second_moment(rates), expected)


def test_vectors_as_sparse_matrices_are_the_same_rows(rng):
    rows, w = Vectors(rng.normal(size=(8, 3))), rng.uniform(size=3)
    np.testing.assert_allclose(rows.as_sparse().forward(w), rows.forward(w))


def test_no_rows():
    none = Vectors(np.zeros((0, 3)))
    assert none.forward(np.ones(3)).shape == (0,)
    np.testing.assert_array_equal(none.adjoint(np.zeros(0)), np.zeros(3))
