"""LMNN against a generic solver, the written-out objective, and its defined degenerate answers."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from frobmetric import LMNN
from frobmetric.learners import large_margin, margin_solver
from frobmetric.learners.impostors import impostor_blocks
from frobmetric.learners.large_margin import LargeMargin

IRIS = load_iris(return_X_y=True)


def _samples(n=36, n_features=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, n_features)) + 0.7 * y[:, None], y


def _triplets(X, y, n_neighbors):
    """Return targets (i, j) and triplets (i, j, l), written out."""
    distance = pairwise_distances(X)
    np.fill_diagonal(distance, np.inf)
    distance[y[:, None] != y] = np.inf
    pairs = [(i, j) for i in range(len(X)) for j in np.argsort(distance[i])[:n_neighbors]]
    return pairs, [(i, j, far) for i, j in pairs for far in np.flatnonzero(y != y[i])]


def _objective(M, X, y, n_neighbors=3, regularization=0.5, weight=None):
    pairs, triplets = _triplets(X, y, n_neighbors)
    weight = np.ones(len(X)) if weight is None else weight
    d2 = np.einsum("ijk,kl,ijl->ij", X[:, None] - X, M, X[:, None] - X)
    pull = sum(weight[i] * d2[i, j] for i, j in pairs)
    push = sum(weight[i] * max(0.0, 1 + d2[i, j] - d2[i, far]) for i, j, far in triplets)
    return regularization * pull + (1 - regularization) * push


def _problem(X, y, n_neighbors=2, regularization=0.3):
    pairs, _ = _triplets(X, y, n_neighbors)
    targets = np.array([j for _, j in pairs]).reshape(len(X), n_neighbors)
    weight = np.linspace(0.5, 2, len(X))
    return LargeMargin.of(X, y, targets, weight, regularization)


def test_optimum_is_that_of_a_generic_solver():
    X, y = _samples(24)
    M = cp.Variable((3, 3), PSD=True)
    pairs, triplets = _triplets(X, y, 2)

    def d2(i, j):
        away = (X[i] - X[j])[:, None]
        return cp.sum(cp.multiply(away @ away.T, M))

    near = {pair: d2(*pair) for pair in pairs}
    losses = [cp.pos(1 + near[i, j] - d2(i, far)) for i, j, far in triplets]
    objective = 0.3 * cp.sum(cp.hstack(list(near.values()))) + 0.7 * cp.sum(cp.hstack(losses))
    expected = cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")
    metric = LMNN(n_neighbors=2, regularization=0.3, convergence_tol=1e-6).fit(X, y)
    assert metric.certificate_.relative_gap <= 1.1e-6
    assert metric.certificate_.primal == pytest.approx(expected, rel=1e-5)
    assert metric.certificate_.dual <= expected * (1 + 1e-6)
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), M.value, atol=2e-2)


@pytest.mark.parametrize("seed", range(4))
def test_certificate_is_about_the_written_objective(seed):
    X, y = _samples(40, n_features=2 + seed, n_classes=2 + seed % 2, seed=seed)
    metric = LMNN(regularization=0.4).fit(X, y)
    value = _objective(metric.get_mahalanobis_matrix(), X, y, regularization=0.4)
    assert metric.certificate_.primal == pytest.approx(value, rel=1e-9)
    assert metric.certificate_.relative_gap <= 1.1e-3
    rng = np.random.default_rng(seed)
    for _ in range(20):  # weak duality at other points
        L = metric.components_ + 0.3 * rng.normal(size=metric.components_.shape)
        assert _objective(L.T @ L, X, y, regularization=0.4) >= metric.certificate_.dual


def test_gradient_of_the_rounded_objective():
    X, y = _samples()
    problem = _problem(X, y)
    rng = np.random.default_rng(1)
    L, step = rng.normal(size=(2, 3, 3))
    work = problem.working_set(L, np.arange(len(X)))
    work.center = rng.uniform(size=work.center.shape)
    slope = np.sum(work.evaluate(L).gradient(L) * step)
    ahead, behind = (work.evaluate(L + e * step).smooth for e in (1e-6, -1e-6))
    assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


def test_scale_is_the_best_one():
    X, y = _samples()
    problem = _problem(X, y)
    L = 0.5 * np.eye(3)
    work = problem.working_set(L, np.arange(len(X)))
    best = work.scale(L)
    values = {c: problem.objective(np.sqrt(c) * L) for c in (1, 0.99 * best, best, 1.01 * best)}
    assert best > 1
    assert min(values, key=values.get) == best


def test_bound_holds_for_any_center():
    X, y = _samples()
    problem = _problem(X, y)
    rng = np.random.default_rng(0)
    best = min(problem.objective(c * np.eye(3)) for c in np.linspace(0.05, 2, 40))
    for scale in (0.1, 0.5, 2.0):
        work = problem.working_set(scale * np.eye(3), np.arange(len(X)))
        work.center = rng.uniform(size=work.center.shape)
        assert work.evaluate(scale * np.eye(3)).bound() <= best


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e16])
def test_impostors_are_all_found(offset):
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(200, 5)), rng.integers(3, size=200)
    Z[:3] += offset
    radius2, rows = rng.uniform(1, 4, size=200), rng.permutation(200)[:150]
    found = list(impostor_blocks(Z, labels, radius2, rows))
    pairs = {(i, j) for first, second, _ in found for i, j in zip(first, second, strict=True)}
    d2 = np.sum((Z[:, None] - Z) ** 2, axis=2)
    expected = (d2 < radius2[:, None]) & (labels[:, None] != labels)
    expected[np.setdiff1d(np.arange(200), rows)] = False
    assert pairs == set(zip(*np.nonzero(expected), strict=True))


def test_iris_classes_are_apart():
    X, y = IRIS
    Z = LMNN(n_neighbors=5, learn_rate=1e-6).fit(X, y).transform(X)
    nearest = pairwise_distances(Z) + np.diag(np.full(len(Z), np.inf))
    assert np.mean(y[nearest.argmin(axis=1)] != y) < 0.05


def test_weight_is_repetition_and_order_does_not_matter():
    X, y = _samples(40)
    weight = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = LMNN(random_state=0).fit(X, y, sample_weight=weight)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(40), weight))
    repeated = LMNN(random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-9, atol=1e-12)
    kept = weight > 0
    M, given = weighted.get_mahalanobis_matrix(), (X[kept], y[kept], 3, 0.5, weight[kept])
    assert weighted.certificate_.primal == pytest.approx(_objective(M, *given), rel=1e-9)


@pytest.mark.parametrize("init", ["identity", "pca", "lda", "random", np.diag([1.0, 0, 0, 0])])
def test_start_does_not_matter_with_full_rank(init):
    metric = LMNN(init=init, random_state=0).fit(*IRIS)
    assert metric.certificate_.relative_gap <= 1.1e-3
    assert metric.certificate_.primal == pytest.approx(223.94, rel=1e-3)


def test_limited_rank_improves_on_its_start():
    X, y = IRIS
    start = np.eye(2, 4)
    metric = LMNN(n_components=2, init=start, random_state=0).fit(X, y)
    assert metric.components_.shape == (2, 4)
    assert not hasattr(metric, "certificate_")
    _, first = np.unique(X, axis=0, return_index=True)
    X, y = X[first], y[first]
    learned = _objective(metric.get_mahalanobis_matrix(), X, y)
    scaled = min(_objective(c * start.T @ start, X, y) for c in (1, 3, 10, 30))
    assert learned < 0.7 * scaled


def test_many_features_have_a_metric_without_loss():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 80)), np.arange(30) % 2
    metric = LMNN(random_state=0).fit(X, y)
    assert metric.components_.shape == (80, 80)
    assert metric.certificate_.gap < 1e-3
    assert "targets do not differ" in metric.certificate_.scope
    assert _objective(metric.get_mahalanobis_matrix(), X, y) < 1e-3


def test_constant_feature_is_ignored():
    X, y = IRIS
    metric = LMNN(random_state=0).fit(np.column_stack([X, np.full(len(X), 0.1)]), y)
    assert metric.certificate_.scope == ""
    assert metric.certificate_.primal == pytest.approx(223.94, rel=1e-3)


def test_memory_is_bounded_by_a_sample_of_anchors(monkeypatch):
    monkeypatch.setattr(large_margin, "MOST_TRIPLETS", 3000)
    X, y = _samples(200, n_features=4)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        metric = LMNN(random_state=0, max_iter=60).fit(X, y)
    value = _objective(metric.get_mahalanobis_matrix(), X, y)
    assert metric.certificate_.primal == pytest.approx(value, rel=1e-9)
    monkeypatch.undo()
    best = LMNN(random_state=0).fit(X, y).certificate_
    assert metric.certificate_.dual <= best.primal
    assert value < 3 * best.primal


def test_samples_are_solved_first(monkeypatch):
    monkeypatch.setattr(margin_solver, "SAMPLE", 10)
    metric = LMNN(random_state=0).fit(*_samples(60))
    assert metric.certificate_.relative_gap <= 1.1e-3


def test_small_classes():
    X, y = _samples(20)
    y[:2] = 7
    with pytest.raises(ValueError, match=r"class .*7.* has 2 samples; expected at least n_neigh"):
        LMNN().fit(X, y)
    with pytest.warns(UserWarning, match="2 distinct samples, too few for n_neighbors=2"):
        metric = LMNN(n_neighbors=2).fit(X, y)
    assert metric.certificate_.relative_gap <= 1.1e-3
    with pytest.raises(ValueError, match="expected samples of at least 2 classes"):
        LMNN().fit(X, np.zeros(20, int))


@pytest.mark.parametrize("value", [0, 1, 1.5, "much"])
def test_regularization_is_a_share(value):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        LMNN(regularization=value).fit(*IRIS)


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        metric = LMNN(max_iter=2).fit(*IRIS)
    assert metric.certificate_.gap > 0
    assert metric.n_iter_ == 2


def test_interrupt_keeps_the_best_so_far(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(margin_solver.MarginSolver, "_descend", stop)
    metric = LMNN()
    with pytest.raises(KeyboardInterrupt, match="best map so far is kept"):
        metric.fit(*IRIS)
    assert metric.components_.shape == (4, 4)
    assert metric.certificate_.primal > metric.certificate_.dual > 0
