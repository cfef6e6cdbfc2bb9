"""Covariance, RCA and LFDA against their formulas."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from frobmetric.learners import LFDA, RCA, Covariance, RCA_Supervised
from frobmetric.learning.constraints import DrawnConstraints

X, y = load_iris(return_X_y=True)


def test_covariance_is_the_inverse():
    M = Covariance().fit(X).get_mahalanobis_matrix()
    np.testing.assert_allclose(M, np.linalg.inv(np.cov(X, rowvar=False)), rtol=1e-9)


def test_rca_whitens_what_differs_within_chunks():
    chunks = DrawnConstraints(y).chunks(40, 3, random_state=0)
    Z = RCA().fit(X, chunks).transform(X)
    Z = np.concatenate([Z[chunks == c] - Z[chunks == c].mean(axis=0) for c in range(40)])
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(4), atol=1e-9)


def test_fewer_components_keep_the_directions_that_vary_least_within_chunks():
    whole, part = RCA().fit(X, y), RCA(n_components=2).fit(X, y)
    ratio = [
        np.cov(metric.transform(X), rowvar=False, bias=True).trace() / len(metric.components_)
        for metric in (whole, part)
    ]
    assert ratio[1] > ratio[0]
    assert part.components_.shape == (2, 4)


def test_singular_chunks_give_zero_distance_and_a_warning():
    with pytest.warns(UserWarning, match=r"differ in 1 of 4 directions"):
        metric = RCA().fit(X[:4], [0, 0, -1, -1])
    assert np.isfinite(metric.components_).all()
    with pytest.raises(ValueError, match="no sample is in a chunk"):
        RCA().fit(X[:4], [-1, -1, -1, -1])


def test_all_chunks_are_used_if_there_are_fewer():
    with pytest.warns(UserWarning, match="room for 74 chunks of 2 samples, fewer than n_chunks=90"):
        RCA_Supervised(n_chunks=90, random_state=0).fit(X[:], y)


def scatters(X, y, k):
    """Return the scatters of LFDA by their sums over all pairs."""
    n, D = X.shape
    between, within = np.zeros((D, D)), np.zeros((D, D))
    d = np.linalg.norm(X[:, None] - X, axis=2)
    for i in range(n):
        for j in range(n):
            outer = np.outer(X[i] - X[j], X[i] - X[j]) / 2
            same = y == y[i]
            if y[i] != y[j]:
                between += outer / n
                continue
            scale = [np.sort(d[row][same])[k] for row in (i, j)]
            affinity = np.exp(-(d[i, j] ** 2) / np.prod(scale))
            within += affinity * outer / same.sum()
            between += affinity * (1 / n - 1 / same.sum()) * outer
    return between, within


def test_lfda_solves_the_eigenproblem_of_its_pairs():
    samples, labels = load_wine(return_X_y=True)
    samples = samples[::4, :4] / samples.std(axis=0)[:4]
    between, within = scatters(samples, labels[::4], 3)
    L = LFDA(k=3, embedding_type="plain").fit(samples, labels[::4]).components_
    np.testing.assert_allclose(L @ within @ L.T, np.eye(4), atol=1e-6)
    values = np.diag(L @ between @ L.T)
    np.testing.assert_allclose(L @ between @ L.T, np.diag(values), atol=1e-6)
    assert (np.diff(values) <= 0).all()


def test_types_of_embeddings():
    plain, weighted, orthonormal = (
        LFDA(n_components=2, embedding_type=name).fit(X, y).components_
        for name in ("plain", "weighted", "orthonormalized")
    )
    np.testing.assert_allclose(orthonormal @ orthonormal.T, np.eye(2), atol=1e-9)
    ratio = weighted / plain
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(4), rtol=1e-9)
    with pytest.warns(UserWarning, match="k is 9; at most 3"):
        LFDA(k=9).fit(X, y)


def test_chunks_of_rca_by_position_and_by_both_names():
    chunks = DrawnConstraints(y).chunks(40, 3, random_state=0)
    by_place = RCA().fit(X, chunks).components_
    np.testing.assert_array_equal(RCA().fit(X, chunks=chunks).components_, by_place)
    np.testing.assert_array_equal(RCA().fit(X, y=chunks).components_, by_place)
    with pytest.raises(ValueError, match="y and chunks are both given"):
        RCA().fit(X, chunks, chunks=chunks)
    with pytest.raises(ValueError, match="requires y to be passed"):
        RCA().fit(X)


@pytest.mark.parametrize("chunk_size", [51, 2**62])
def test_chunks_that_are_larger_than_all_classes(chunk_size):
    with pytest.raises(ValueError, match=r"chunk_size is .* expected at most 50, the number of"):
        RCA_Supervised(chunk_size=chunk_size).fit(X, y)


@pytest.mark.parametrize("learner", [RCA(), LFDA(), Covariance(), RCA_Supervised()], ids=str)
def test_a_learner_without_prior_has_no_such_attribute(learner):
    assert not hasattr(learner, "prior")
