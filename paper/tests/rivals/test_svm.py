"""The votes of support vector machines are those of scikit-learn."""

import numpy as np
import pytest
from sklearn.svm import SVC

from frobmetric_paper.rivals import FittedClassifier, fitted, svm


def blobs(rng, n_classes, n):
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 5)) + 1.2 * rng.normal(size=(n_classes, 5))[y], y


def learned(X, y, folder, **parameters):
    arrays, detail = svm.learn({"X": X, "y": y, "parameters": parameters})
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    return FittedClassifier.read(folder, 0.5, detail)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_predictions_are_those_of_svc(n_classes, rng, tmp_path, monkeypatch):
    X, y = blobs(rng, n_classes, 400)
    model = learned(X[:200], y[:200], tmp_path, C=10.0, gamma=0.2)
    expected = SVC(C=10.0, gamma=0.2).fit(X[:200], y[:200]).predict(X[200:])
    assert len(np.unique(expected)) == n_classes
    np.testing.assert_array_equal(model.predict(X[200:]), expected)
    monkeypatch.setattr(fitted, "BLOCK", 1000)  # a few rows at a time
    np.testing.assert_array_equal(model.predict(X[200:]), expected)
    assert model.detail["n_vectors"] == len(model.support_vectors)


def test_decisions_are_those_of_svc(rng, tmp_path):
    X, y = blobs(rng, 4, 80)
    model = learned(X, y, tmp_path, C=1.0, gamma=0.3)
    reference = SVC(C=1.0, gamma=0.3, decision_function_shape="ovo").fit(X, y)
    square = ((X[:, None] - model.support_vectors) ** 2).sum(axis=2)
    decisions = np.exp(-model.gamma * square) @ model.weights + model.intercept
    np.testing.assert_allclose(decisions, reference.decision_function(X), atol=1e-12)


def test_classes_keep_their_names(rng, tmp_path):
    X, y = blobs(rng, 3, 60)
    names = np.array(["oak", "elm", "ash"])
    model = learned(X, y, tmp_path, C=10.0, gamma=0.2)
    np.testing.assert_array_equal(model.named(names).predict(X), names[model.predict(X)])


def test_default_parameters_are_those_of_svc(rng, tmp_path):
    X, y = blobs(rng, 3, 60)
    np.testing.assert_array_equal(learned(X, y, tmp_path).predict(X), SVC().fit(X, y).predict(X))
