"""RCA and LDA against closed forms, singular covariances, and metric-learn."""

import subprocess

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from frobmetric_paper.rivals import RIVALS, lda, rca
from frobmetric_paper.rivals.metric_learn_environment import python_of_environment


@pytest.fixture
def points(rng):
    y = rng.integers(4, size=90)
    X = rng.normal(size=(90, 5)) @ rng.normal(size=(5, 5)) + 2 * rng.normal(size=(4, 5))[y]
    return X, y


def task(X, y, **parameters):
    return {"X": X, "y": y, "parameters": parameters, "seed": 0}


def test_rca_inverts_the_covariance_within_classes(points):
    X, y = points
    L, detail = rca.learn(task(X, y))
    within = sum(np.cov(X[y == c].T, bias=True) * np.mean(y == c) for c in range(4))
    np.testing.assert_allclose(L @ L.T, np.linalg.inv(within), rtol=1e-9)
    assert detail["rank"] == 5


def test_rca_whitens_what_varies_within_classes(points):
    X, y = points
    Z = X @ rca.learn(task(X, y))[0]
    np.testing.assert_allclose(rca.within_covariance(Z, y), np.eye(5), atol=1e-10)


def test_rca_takes_the_pseudo_inverse_of_a_singular_covariance(points):
    X, y = points
    wide = np.column_stack([X, X[:, 0] + X[:, 1], y])  # a dependent feature, and a constant one
    L, detail = rca.learn(task(wide, y))
    within = rca.within_covariance(wide, y)
    expected = np.linalg.pinv(within, rcond=1e-10)
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-8 * np.linalg.norm(expected))
    assert detail["rank"] == 5


def test_rca_is_that_of_metric_learn(points, tmp_path):
    if not RIVALS["lmnn"].is_available():
        pytest.skip(RIVALS["lmnn"].missing())
    X, y = points
    np.savez(tmp_path / "task.npz", X=X, y=y)
    code = (
        "import sys, numpy as np; from metric_learn import RCA; task = np.load(sys.argv[1]); "
        "np.save(sys.argv[2], RCA().fit(task['X'], task['y']).get_mahalanobis_matrix())"
    )
    subprocess.run(
        [
            python_of_environment(),
            "-W",
            "ignore",
            "-c",
            code,
            tmp_path / "task.npz",
            tmp_path / "M.npy",
        ],
        check=True,
        timeout=120,
    )
    L, _ = rca.learn(task(X, y))
    np.testing.assert_allclose(L @ L.T, np.load(tmp_path / "M.npy"), rtol=1e-8)


@pytest.mark.parametrize("shrinkage", RIVALS["lda"].search["shrinkage"])
def test_lda_maps_to_one_dimension_less_than_classes(points, shrinkage):
    X, y = points
    L, detail = lda.learn(task(X, y, shrinkage=shrinkage))
    assert L.shape == (5, 3)
    assert detail["rank"] == 3
    solver = {"solver": "eigen", "shrinkage": shrinkage} if shrinkage else {"solver": "svd"}
    mapped = LinearDiscriminantAnalysis(**solver).fit(X, y).transform(X)
    Z = X @ L
    np.testing.assert_allclose(Z - Z.mean(axis=0), mapped - mapped.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("shrinkage", RIVALS["lda"].search["shrinkage"])
def test_lda_bears_a_singular_covariance(points, shrinkage):
    X, y = points
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])
    L, _ = lda.learn(task(wide, y, shrinkage=shrinkage))
    assert np.isfinite(L).all()
    assert L.shape == (7, 3)
