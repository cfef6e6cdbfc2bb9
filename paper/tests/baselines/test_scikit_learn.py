"""LDA, RCA and SVM against closed forms, scikit-learn and metric-learn."""

import subprocess

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC

from frobmetric_paper.baselines import METRIC
from frobmetric_paper.baselines.metric_learn import ENVIRONMENT
from frobmetric_paper.baselines.scikit_learn import learn_lda, learn_rca, learn_svm
from frobmetric_paper.data.labelled import within_covariance


@pytest.fixture
def points(rng):
    y = rng.integers(4, size=90)
    X = rng.normal(size=(90, 5)) @ rng.normal(size=(5, 5)) + 2 * rng.normal(size=(4, 5))[y]
    return X, y


def task(X, y, **parameters):
    return {"X": X, "y": y, "parameters": parameters, "seed": 0}


def test_rca_inverts_the_covariance_within_classes(points):
    X, y = points
    answer, detail = learn_rca(task(X, y))
    L = answer["L"]
    within = sum(np.cov(X[y == c].T, bias=True) * np.mean(y == c) for c in range(4))
    np.testing.assert_allclose(L @ L.T, np.linalg.inv(within), rtol=1e-9)
    assert detail["rank"] == 5


def test_rca_whitens_what_varies_within_classes(points):
    X, y = points
    Z = X @ learn_rca(task(X, y))[0]["L"]
    np.testing.assert_allclose(within_covariance(Z, y), np.eye(5), atol=1e-10)


def test_rca_takes_the_pseudo_inverse_of_a_singular_covariance(points):
    X, y = points
    wide = np.column_stack([X, X[:, 0] + X[:, 1], y])  # a dependent feature, and a constant one
    answer, detail = learn_rca(task(wide, y))
    L = answer["L"]
    within = within_covariance(wide, y)
    expected = np.linalg.pinv(within, rcond=1e-10)
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-8 * np.linalg.norm(expected))
    assert detail["rank"] == 5


@pytest.mark.slow
def test_rca_is_that_of_metric_learn(points, tmp_path, available):
    available(METRIC["lmnn"])
    X, y = points
    np.savez(tmp_path / "task.npz", X=X, y=y)
    code = (
        "import sys, numpy as np; from metric_learn import RCA; task = np.load(sys.argv[1]); "
        "np.save(sys.argv[2], RCA().fit(task['X'], task['y']).get_mahalanobis_matrix())"
    )
    files = tmp_path / "task.npz", tmp_path / "M.npy"
    subprocess.run(
        [ENVIRONMENT.python(), "-W", "ignore", "-c", code, *files], check=True, timeout=120
    )
    L = learn_rca(task(X, y))[0]["L"]
    np.testing.assert_allclose(L @ L.T, np.load(tmp_path / "M.npy"), rtol=1e-8)


@pytest.mark.parametrize("shrinkage", METRIC["lda"].search["shrinkage"])
def test_lda_maps_to_one_dimension_less_than_classes(points, shrinkage):
    X, y = points
    answer, detail = learn_lda(task(X, y, shrinkage=shrinkage))
    L = answer["L"]
    assert L.shape == (5, 3)
    assert detail["rank"] == 3
    solver = {"solver": "eigen", "shrinkage": shrinkage} if shrinkage else {"solver": "svd"}
    mapped = LinearDiscriminantAnalysis(**solver).fit(X, y).transform(X)
    Z = X @ L
    np.testing.assert_allclose(Z - Z.mean(axis=0), mapped - mapped.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("shrinkage", METRIC["lda"].search["shrinkage"])
def test_lda_bears_a_singular_covariance(points, shrinkage):
    X, y = points
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])
    L = learn_lda(task(wide, y, shrinkage=shrinkage))[0]["L"]
    assert np.isfinite(L).all()
    assert L.shape == (7, 3)


# Support vector machines


def blobs(rng, n_classes, n):
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 5)) + 1.2 * rng.normal(size=(n_classes, 5))[y], y


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_predictions_are_those_of_svc(n_classes, rng, in_process):
    X, y = blobs(rng, n_classes, 400)
    parameters = {"C": 10.0, "gamma": 0.2}
    queries = {"first": X[200:300], "second": X[300:]}
    fitted = METRIC["svm"].fit(X[:200], y[:200], queries=queries, parameters=parameters)
    model = SVC(**parameters).fit(X[:200], y[:200])
    expected = model.predict(X[200:])
    assert len(np.unique(expected)) == n_classes
    labels = np.concatenate([fitted.predictions[name] for name in queries])
    np.testing.assert_array_equal(labels, expected)
    assert fitted.detail["n_vectors"] == len(model.support_vectors_)
    assert fitted.L is None


def test_classes_keep_their_names(rng, in_process):
    X, y = blobs(rng, 3, 60)
    names = np.array(["oak", "elm", "ash"])[y]
    fitted = METRIC["svm"].fit(X, names, queries={"X": X}, parameters={"C": 10.0, "gamma": 0.2})
    expected = SVC(C=10.0, gamma=0.2).fit(X, names).predict(X)
    np.testing.assert_array_equal(fitted.predictions["X"], expected)


def test_default_parameters_are_those_of_svc(rng):
    X, y = blobs(rng, 3, 60)
    labels, _ = learn_svm(task(X, y) | {"query.X": X})
    np.testing.assert_array_equal(labels["X"], SVC().fit(X, y).predict(X))
