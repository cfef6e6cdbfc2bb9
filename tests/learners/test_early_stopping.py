"""MLKR's early stopping: it learns what helps on held-out rows, and nothing from noise."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_regression
from sklearn.exceptions import ConvergenceWarning

from frobmetric.learners import MLKR
from frobmetric.learners.early_stopping import (
    Fold,
    best_multiple,
    descend_in_stages,
    held_out_parts,
    last_helpful_step,
)
from frobmetric.learners.softmax_neighbors import Entries, FeatureWeights, SoftNeighbors, Value


def regression(n=120, noise=0.1, seed=0):
    """Return samples whose numbers depend on the sum of two of six features, and on noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.sin(X[:, 0] + X[:, 1]) + noise * rng.normal(size=n)


def problem_of(X, y):
    weight = np.ones(len(X))
    return SoftNeighbors(X, weight, Value(y, weight))


def test_features_that_matter_are_found_and_the_held_out_error_falls():
    X, y = regression()
    metric = MLKR().fit(X, y)
    M = metric.get_mahalanobis_matrix()
    lengths = np.sqrt(np.diag(M))
    assert lengths[:2].min() > 1.5 * lengths[2:].max()
    assert M[0, 1] > 0.5 * lengths[0] * lengths[1]  # their sum, which weights alone cannot find
    start, weights, whole = metric.held_out_error_
    assert whole < weights < 0.8 * start
    assert metric.n_iter_ > 1


def test_nothing_is_learned_from_noise():
    X, _ = regression()
    y = np.random.default_rng(1).normal(size=len(X))
    metric = MLKR().fit(X, y)
    L = metric.components_
    np.testing.assert_allclose(L, L[0, 0] * np.eye(6), atol=1e-12)
    assert len(set(metric.held_out_error_)) == 1
    plain = MLKR(early_stopping=False, max_iter=20, tol=1e-2).fit(X, y)
    assert not hasattr(plain, "held_out_error_")
    assert np.ptp(np.diag(plain.components_)) > 0.1


def test_a_limit_of_steps_that_all_help_warns():
    X, y = make_regression(n_features=10, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        MLKR(max_iter=2).fit(X, y)


def test_real_data_of_few_rows_are_not_fitted_to_the_end():
    X, y = load_diabetes(return_X_y=True)
    X = X / X.std(axis=0)
    metric = MLKR().fit(X[:250], y[:250])
    start, _, whole = metric.held_out_error_
    assert whole < 0.97 * start
    assert metric.n_iter_ <= 20


def test_few_rows_are_minimised_to_the_end():
    X, y = regression(n=19)
    stopped, plain = (MLKR(early_stopping=flag, tol=1e-2).fit(X, y) for flag in (True, False))
    np.testing.assert_array_equal(stopped.components_, plain.components_)


def test_errors_of_a_fold_are_those_written_out():
    X, y = regression(n=30)
    weight, L = np.arange(1.0, 21), np.random.default_rng(0).normal(size=(2, 6))
    problem = SoftNeighbors(X[:20], weight, Value(y[:20], weight))
    fold = Fold(problem, y[:20], X[20:], y[20:])
    kernel = weight * np.exp(-np.sum(((X[20:, None] - X[None, :20]) @ L.T) ** 2, axis=2))
    expected = (kernel @ y[:20] / kernel.sum(axis=1) - y[20:]) ** 2
    np.testing.assert_allclose(fold.measure(L), expected)


def test_weights_of_features_have_the_gradient_of_finite_differences():
    X, y = regression(n=30)
    problem, family = problem_of(X, y), FeatureWeights(np.random.default_rng(0).normal(size=(2, 6)))
    x, step = np.random.default_rng(1).uniform(0.5, 1.5, size=(2, 6))
    gradient = family.gradient(problem.evaluate(family.map(x))[1])
    ahead, behind = (problem.evaluate(family.map(x + e * step))[0] for e in (1e-6, -1e-6))
    assert gradient @ step == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)
    np.testing.assert_array_equal(family.map(family.coordinates()), family.start)


def test_the_best_multiple_does_not_depend_on_the_unit():
    X, y = regression(n=60)
    L = best_multiple(problem_of(X, y), np.eye(6))
    np.testing.assert_allclose(best_multiple(problem_of(2.0**9 * X, y), np.eye(6)), L * 2.0**-9)
    assert problem_of(X, y).evaluate(L)[0] <= problem_of(X, y).evaluate(np.eye(6))[0]


def test_a_step_has_to_help_by_more_than_a_standard_error():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=100)
    curve = np.array([np.ones(100), 1 - 0.5 + 0.1 * noise, 1 - 0.01 + noise - noise.mean()])
    assert last_helpful_step(curve, np.ones(100)) == 1
    assert last_helpful_step(curve[[0, 2]], np.ones(100)) == 0


def test_steps_of_stages_are_taken_and_counted():
    X, y = regression(n=60)
    problem = problem_of(X, y)
    none = descend_in_stages(problem, np.eye(6), [0, 0], None, None)
    np.testing.assert_array_equal(none.best, best_multiple(problem, np.eye(6)))
    some = descend_in_stages(problem, np.eye(6), [3, 2], None, None)
    assert (none.n_iter, some.n_iter) == (0, 5)
    cost = [problem.evaluate(run.best)[0] for run in (some, none)]
    assert cost[0] < cost[1]


def test_interrupted_choice_learns_nothing(monkeypatch):
    X, y = regression(n=60)
    metric = MLKR()
    monkeypatch.setattr(Entries, "map", _interrupt)
    with pytest.raises(KeyboardInterrupt, match="nothing is learned yet"):
        metric.fit(X, y)
    assert not hasattr(metric, "components_")


def _interrupt(family, x):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("n", "n_folds"), [(60, 5), (1000, 3), (2600, 1)])
def test_rows_are_held_out_until_there_are_enough(n, n_folds):
    parts = held_out_parts(n)
    assert len(parts) == n_folds
    rows = np.concatenate([np.arange(n)[part] for part in parts])
    assert len(np.unique(rows)) == len(rows) >= min(n, 500)
