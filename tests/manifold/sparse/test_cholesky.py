from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.manifold.sparse import cholesky as module
from frobmetric.manifold.sparse.cholesky import Elimination
from frobmetric.manifold.sparse.dissection import nested_dissection


def random_edges(rng, n, n_more):
    """A random tree and some edges more; without the tree's edges in every third graph."""
    tree = [(int(rng.integers(k)), k) for k in range(1, n)] if rng.random() < 0.7 else []
    pairs = list(combinations(range(n), 2))
    more = [pairs[k] for k in rng.integers(len(pairs), size=n_more)] if pairs else []
    return np.array(sorted({*tree, *more}), dtype=int).reshape(-1, 2)


def random_blocks(rng, edges, n, r):
    """Symmetric blocks of points and edges."""
    blocks = rng.normal(size=(n + len(edges), r, r))
    blocks = blocks + blocks.transpose(0, 2, 1)
    return blocks[:n], blocks[n:]


def dense(edges, diagonal, off_diagonal):
    n, r = diagonal.shape[:2]
    A = np.zeros((n, r, n, r))
    A[np.arange(n), :, np.arange(n)] = diagonal
    for (i, j), block in zip(edges, off_diagonal, strict=True):
        A[i, :, j] = A[j, :, i] = block
    return A.reshape(n * r, n * r)


def eliminate(edges, n, leaf=None):
    """An elimination, of fronts as small as asked for."""
    if leaf is None:
        return Elimination(edges, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "nested_dissection", partial(nested_dissection, leaf=leaf))
        return Elimination(edges, n)


def shifted(diagonal, level):
    return diagonal - level * np.eye(diagonal.shape[1])


@pytest.mark.parametrize("leaf", [None, 2])
@pytest.mark.parametrize("n", [1, 2, 30, 90])
@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_solves_as_numpy_does(rng, r, n, leaf):
    edges = random_edges(rng, n, n // 2)
    diagonal, off_diagonal = random_blocks(rng, edges, n, r)
    lowest = np.linalg.eigvalsh(dense(edges, diagonal, off_diagonal))[0]
    diagonal = shifted(diagonal, lowest - 0.1)
    A, B = dense(edges, diagonal, off_diagonal), rng.normal(size=(n, r))
    given_diagonal, given_off, given_B = diagonal.copy(), off_diagonal.copy(), B.copy()
    X = eliminate(edges, n, leaf).factor(diagonal, off_diagonal).solve(B)
    assert X.shape == B.shape
    np.testing.assert_allclose(A @ X.ravel(), B.ravel(), atol=1e-9)
    np.testing.assert_allclose(X.ravel(), np.linalg.solve(A, B.ravel()), atol=1e-8)
    np.testing.assert_array_equal(diagonal, given_diagonal)
    np.testing.assert_array_equal(off_diagonal, given_off)
    np.testing.assert_array_equal(B, given_B)


def test_one_order_serves_many_matrices(rng):
    edges = random_edges(rng, 90, 50)
    elimination = eliminate(edges, 90)
    for r in (3, 1, 2):
        diagonal, off_diagonal = random_blocks(rng, edges, 90, r)
        diagonal = shifted(diagonal, -20.0)
        factor = elimination.factor(diagonal, off_diagonal)
        for B in rng.normal(size=(2, 90, r)):
            expected = np.linalg.solve(dense(edges, diagonal, off_diagonal), B.ravel())
            np.testing.assert_allclose(factor.solve(B).ravel(), expected, atol=1e-12)


@pytest.mark.parametrize("leaf", [None, 2])
@pytest.mark.parametrize("r", [1, 3])
def test_indefinite_matrices_are_refused(rng, r, leaf):
    """One eigenvalue below zero is enough, wherever it is."""
    for n in (1, 40, 80):
        edges = random_edges(rng, n, n)
        diagonal, off_diagonal = random_blocks(rng, edges, n, r)
        lowest = np.linalg.eigvalsh(dense(edges, diagonal, off_diagonal))[0]
        elimination = eliminate(edges, n, leaf)
        elimination.factor(shifted(diagonal, lowest - 1e-6), off_diagonal)
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            elimination.factor(shifted(diagonal, lowest + 1e-6), off_diagonal)


def gaps(values, width):
    """The middle of every gap between eigenvalues, and a number beyond either end."""
    middle = (values[1:] + values[:-1]) / 2
    return [values[0] - 1, *middle[np.diff(values) > width], values[-1] + 1]


@pytest.mark.parametrize("leaf", [None, 2])
@pytest.mark.parametrize("r", [1, 2, 5])
def test_counts_the_eigenvalues_below_every_level(rng, r, leaf):
    edges = random_edges(rng, 60, 50)
    diagonal, off_diagonal = random_blocks(rng, edges, 60, r)
    values = np.linalg.eigvalsh(dense(edges, diagonal, off_diagonal))
    elimination = eliminate(edges, 60, leaf)
    for level in gaps(values, 1e-4)[:: 2 * r - 1]:
        found = elimination.count_negative(shifted(diagonal, level), off_diagonal)
        assert found == (values < level).sum()


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    r=st.integers(1, 3),
    leaf=st.integers(1, 8),
    place=st.floats(0, 1),
)
def test_sylvesters_law_on_random_matrices(seed, n, r, leaf, place):
    rng = np.random.default_rng(seed)
    edges = random_edges(rng, n, n)
    diagonal, off_diagonal = random_blocks(rng, edges, n, r)
    values = np.linalg.eigvalsh(dense(edges, diagonal, off_diagonal))
    levels = gaps(values, 1e-6)
    level = levels[int(place * (len(levels) - 1))]
    found = eliminate(edges, n, leaf).count_negative(shifted(diagonal, level), off_diagonal)
    assert found == (values < level).sum()


def test_a_sign_that_cannot_be_told_is_not_counted():
    elimination = eliminate(np.array([[0, 1]]), 2)
    with pytest.raises(np.linalg.LinAlgError, match="too small"):
        elimination.count_negative(np.ones((2, 1, 1)), -np.ones((1, 1, 1)))
    with pytest.raises(np.linalg.LinAlgError, match="too small"):
        elimination.count_negative(np.zeros((2, 2, 2)), np.zeros((1, 2, 2)))
