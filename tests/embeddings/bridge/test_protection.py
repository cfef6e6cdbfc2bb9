"""Protection of neighbours: triplets as described, the optimum against cvxpy."""

import numpy as np
import pytest

from frobmetric.embeddings.bridge.protection import N_NEAR, N_WRONG, mine_neighbors, protected_map
from frobmetric.embeddings.bridge.ridge import Cells, RidgePath
from frobmetric.embeddings.bridge.trust import OldIndex


def example(rng, n_pairs=12, n_index=20, is_unit=False):
    X, Y = rng.standard_normal((n_pairs, 3)), rng.standard_normal((n_pairs, 4))
    index = OldIndex(rng.standard_normal((n_index, 4)), 4, is_unit)
    cells = Cells.of(X, 1, 0)
    features = cells.features(X)
    prior = rng.standard_normal((features.shape[1], 4)) / 4
    path = RidgePath.of(features, Y, prior, 3)
    mapped = Y - path.left_out_errors(0.5)
    return features, Y, path, mine_neighbors(Y, mapped, index.questions(Y)), index, mapped


def test_triplets_compare_true_neighbours_with_wrong_ones_near_the_mapped_query(rng):
    _, Y, _, triplets, index, mapped = example(rng)
    true = np.argsort(np.linalg.norm(Y[:, None] - index.vectors, axis=2), axis=1)[:, :4]
    found = np.argsort(np.linalg.norm(mapped[:, None] - index.vectors, axis=2), axis=1)[:, :8]
    for anchor, near, far in triplets.index:
        near, far = (
            np.flatnonzero((index.vectors == triplets.candidates[j]).all(axis=1))[0]
            for j in (near, far)
        )
        assert near in true[anchor]
        assert far not in true[anchor]
        assert far in found[anchor]
    assert np.bincount(triplets.index[:, 0]).max() <= N_NEAR * N_WRONG


def test_old_vectors_themselves_break_no_triplet(rng):
    _, Y, _, triplets, *_ = example(rng)
    anchor, near, far = triplets.index.T
    scores = np.sum(Y[anchor] * (triplets.candidates[near] - triplets.candidates[far]), axis=1)
    assert (scores >= triplets.target - 1e-12).all()


@pytest.mark.parametrize("weight", [0.3, 30.0])
def test_the_optimum_is_that_of_cvxpy(rng, weight):
    cvxpy = pytest.importorskip("cvxpy", reason="the oracle is cvxpy")
    features, Y, path, triplets, *_ = example(rng)
    coefficients, solution = protected_map(path, 0.5, triplets, weight, tol=1e-7, max_iter=2000)

    W = cvxpy.Variable(coefficients.shape)
    anchor, near, far = triplets.index.T
    difference = triplets.candidates[near] - triplets.candidates[far]
    scores = cvxpy.sum(cvxpy.multiply(features[anchor] @ W, difference), axis=1)
    losses = weight * cvxpy.sum(cvxpy.pos(triplets.target - scores)) / len(anchor)
    squares = cvxpy.sum_squares(Y - features @ W)
    penalty = 0.5 * path.unit * cvxpy.sum_squares(W - path.prior)
    problem = cvxpy.Problem(cvxpy.Minimize((squares + penalty) / 2 + losses))
    problem.solve(solver="CLARABEL")
    np.testing.assert_allclose(coefficients, W.value, atol=2e-3)
    # the certified problem counts from the minimum of the ridge
    least = path.certificate(0.5).primal
    assert solution.certificate.primal + least == pytest.approx(problem.value, rel=1e-5)


def test_no_wrong_vectors_give_no_triplets(rng):
    Y = rng.standard_normal((6, 4))
    questions = OldIndex(rng.standard_normal((9, 4)), 9, False).questions(Y)
    assert mine_neighbors(Y, Y, questions).index.shape == (0, 3)
