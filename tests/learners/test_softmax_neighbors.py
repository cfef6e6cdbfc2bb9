"""NCA and MLKR against their written-out objectives, finite differences and degenerate input."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from frobmetric import NCA
from frobmetric.learners import MLKR, softmax_neighbors
from frobmetric.learners.softmax_neighbors import SameClass, SoftNeighbors, Value

IRIS = load_iris(return_X_y=True)
LEARNERS = [NCA, MLKR]
#: Learners that minimise their objective to the end.
PLAIN = [NCA, partial(MLKR, early_stopping=False)]


def _samples(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sort((X[:, 0] > 0).astype(int))


def _cost(learner, L, X, y, weight):
    """Return what a learner minimises, written out."""
    total = 0.0
    for i in range(len(X)):
        kernel = weight * np.exp(-np.sum(((X - X[i]) @ L.T) ** 2, axis=1))
        kernel[i] = 0.0
        p = kernel / kernel.sum()
        total += weight[i] * (-p[y == y[i]].sum() if learner is NCA else (p @ y - y[i]) ** 2)
    return total


def _problem(learner, X, y, weight):
    return SoftNeighbors(X, weight, {NCA: SameClass, MLKR: Value}[learner](y, weight))


def _fit(learner, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner(**{"max_iter": 30} | options).fit(*given)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_cost_and_gradient(learner, rank, monkeypatch):
    monkeypatch.setattr(softmax_neighbors, "FEW_ROWS", 7)  # blocks with parts of classes
    monkeypatch.setattr(softmax_neighbors, "BLOCK", 1)
    X, y = _samples()
    rng = np.random.default_rng(rank)
    weight, L, step = rng.uniform(0.5, 2, len(X)), *rng.normal(size=(2, rank, 3))
    problem = _problem(learner, X, y, weight)
    cost, gradient = problem.evaluate(L)
    assert cost == pytest.approx(_cost(learner, L, X, y, weight), rel=1e-12)
    ahead, behind = (problem.evaluate(L + e * step)[0] for e in (1e-6, -1e-6))
    assert np.sum(gradient * step) == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("learner", PLAIN, ids=["NCA", "MLKR"])
def test_fit_improves_on_its_start(learner):
    X, y = _samples()
    weight = np.ones(len(X))
    start = np.random.default_rng(0).normal(size=(2, 3))
    metric = _fit(learner, X, y, init=start, n_components=2)
    assert metric.components_.shape == (2, 3)
    learned = _cost(learner, metric.components_, X, y, weight)
    before = _cost(learner, start, X, y, weight)
    assert learned < before - 0.05 * abs(before)


@pytest.mark.parametrize("n_components", [None, 2])
def test_iris_classes_are_apart(n_components):
    X, y = IRIS
    Z = _fit(NCA, X, y, n_components=n_components, max_iter=300).transform(X)
    nearest = pairwise_distances(Z) + np.diag(np.full(len(Z), np.inf))
    assert np.mean(y[nearest.argmin(axis=1)] != y) < 0.05


def test_neighbours_of_other_classes_are_separated():
    X, y = np.array([[0, 0], [0, 1], [2, 0], [2, 1]]), np.array([1, 0, 1, 0])
    Z = _fit(NCA, X, y, n_components=2, max_iter=100).transform(X)
    assert pairwise_distances(Z).argsort(axis=1)[:, 1].tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("y", [np.zeros(20, int), np.arange(20)])
def test_nothing_to_learn_leaves_the_start(y):
    X = np.random.default_rng(0).normal(size=(20, 3))
    start = np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 1]])
    np.testing.assert_array_equal(NCA(init=start).fit(X, y).components_, start)
    constant = MLKR(init=start).fit(X, np.full(20, 3.5))
    np.testing.assert_array_equal(constant.components_, start)


@pytest.mark.parametrize("learner", LEARNERS)
def test_equal_rows_alone_leave_the_start(learner):
    metric = learner().fit(np.ones((6, 2)), np.zeros(6))
    np.testing.assert_array_equal(metric.components_, np.eye(2))


@pytest.mark.parametrize("learner", PLAIN, ids=["NCA", "MLKR"])
def test_extreme_units(learner):
    X, y = _samples()
    tiny = learner().fit(1e-150 * X, y)  # all are equally near: no direction helps
    np.testing.assert_allclose(tiny.components_, np.eye(3))
    with pytest.raises(ValueError, match=r"overflow; scale the features"):
        learner().fit(1e200 * X, y)
    shifted = _fit(learner, X + 1e6, y, max_iter=5)
    expected = _fit(learner, X, y, max_iter=5)
    np.testing.assert_allclose(shifted.components_, expected.components_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("learner", LEARNERS)
def test_more_features_than_samples(learner):
    X = np.random.default_rng(0).normal(size=(12, 30))
    metric = _fit(learner, X, np.arange(12) % 2, n_components=4)
    assert metric.components_.shape == (4, 30)
    assert np.isfinite(metric.components_).all()


@pytest.mark.parametrize("learner", PLAIN, ids=["NCA", "MLKR"])
def test_too_few_iterations_warn_and_keep_the_best(learner):
    X, y = _samples()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        metric = learner(max_iter=2).fit(X, y)
    weight = np.ones(len(X))
    start, learned = (_cost(learner, L, X, y, weight) for L in (np.eye(3), metric.components_))
    assert learned < start
    assert metric.n_iter_ == 2


@pytest.mark.parametrize("learner", PLAIN, ids=["NCA", "MLKR"])
def test_interrupt_keeps_the_best_so_far(learner, monkeypatch):
    evaluate, calls = SoftNeighbors.evaluate, []

    def stop_at_the_sixth(self, L):
        calls.append(L)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return evaluate(self, L)

    monkeypatch.setattr(SoftNeighbors, "evaluate", stop_at_the_sixth)
    metric = learner()
    with pytest.raises(KeyboardInterrupt, match="best map so far is kept"):
        metric.fit(*_samples())
    assert any(np.array_equal(metric.components_, L) for L in calls[1:5])


def test_lda_needs_classes():
    X, y = make_regression(30, 4, random_state=0)
    with pytest.raises(ValueError, match="init='lda' needs classes"):
        MLKR(init="lda").fit(X, y)


@pytest.mark.parametrize("learner", PLAIN, ids=["NCA", "MLKR"])
def test_verbose_prints_the_objective(learner, capsys):
    _fit(learner, *_samples(), max_iter=3, verbose=True)
    assert capsys.readouterr().out.count("objective") == 3
    _fit(learner, *_samples(), max_iter=3)
    assert capsys.readouterr().out == ""
