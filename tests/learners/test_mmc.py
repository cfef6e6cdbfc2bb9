"""MMC: the optimum beside an independent solver, its certificate, degenerate pairs, contracts."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frobmetric.exceptions import NonPSDError
from frobmetric.learners import MMC, MMC_Supervised
from frobmetric.learners.spread import DiagonalSpreadProblem, SpreadProblem
from pair_learner_checks import CLASSES, IRIS, class_separation, iris_pairs


def differences(pairs, y):
    """Return the differences of similar and of dissimilar pairs."""
    V = pairs[:, 0] - pairs[:, 1]
    return V[y > 0], V[y < 0]


def sums(M, S, V):
    """Return the sum of distances of V and the sum of squared distances of S."""
    distances = np.sqrt(np.einsum("ij,jk,ik->i", V, M, V))
    return distances.sum(), np.einsum("ij,jk,ik->", S, M, S)


def test_optimum_is_that_of_a_conic_solver():
    cvxpy = pytest.importorskip("cvxpy")
    index, y = iris_pairs(20)
    S, V = differences(IRIS[index], y)
    metric = MMC(tol=1e-9).fit(IRIS[index], y)
    total, size = sums(metric.get_mahalanobis_matrix(), S, V)
    assert size == pytest.approx(np.sum(S**2) / 100)
    M = cvxpy.Variable((4, 4), PSD=True)
    cost = cvxpy.sum(cvxpy.sqrt(cvxpy.hstack([v @ M @ v for v in V])))
    problem = cvxpy.Problem(cvxpy.Maximize(cost), [cvxpy.trace(S.T @ S @ M) <= size])
    problem.solve(solver="CLARABEL")
    assert total == pytest.approx(problem.value, rel=1e-6)
    assert metric.certificate_.primal == pytest.approx(-total)
    assert metric.certificate_.dual <= -problem.value * (1 - 1e-6)
    assert metric.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("c", [1.0, 7.0])
def test_diagonal_optimum_is_that_of_a_conic_solver(c):
    cvxpy = pytest.importorskip("cvxpy")
    index, y = iris_pairs(20)
    S, V = differences(IRIS[index], y)
    metric = MMC(diagonal=True, diagonal_c=c, tol=1e-8).fit(IRIS[index], y)
    M = metric.get_mahalanobis_matrix()
    assert np.array_equal(M, np.diag(np.diag(M)))
    a = cvxpy.Variable(4, nonneg=True)
    cost = np.sum(S**2, axis=0) @ a - c * cvxpy.log(cvxpy.sum(cvxpy.sqrt(V**2 @ a)))
    problem = cvxpy.Problem(cvxpy.Minimize(cost))
    problem.solve(solver="CLARABEL")
    total, size = sums(M, S, V)
    assert metric.certificate_.primal == pytest.approx(size - c * np.log(total))
    assert metric.certificate_.primal == pytest.approx(problem.value, rel=1e-6)
    assert metric.certificate_.gap <= 1e-6 * c


@pytest.mark.parametrize("diagonal", [False, True])
def test_certificate_holds_the_optimum_at_every_step(diagonal):
    index, y = iris_pairs(50)
    best = MMC(diagonal=diagonal, tol=1e-9).fit(IRIS[index], y).certificate_
    for max_iter in range(1, 5):
        metric = MMC(diagonal=diagonal, max_iter=max_iter, tol=1e-12)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            metric.fit(IRIS[index], y)
        assert metric.certificate_.dual <= best.primal + 1e-9 * abs(best.primal)
        assert best.dual <= metric.certificate_.primal
        assert metric.n_iter_ == max_iter


@pytest.mark.parametrize("kind", [SpreadProblem, DiagonalSpreadProblem])
def test_bound_is_valid_for_any_distances(kind, rng):
    Z = rng.normal(size=(30, 3))
    problem = kind(Z if kind is SpreadProblem else Z**2, rng.uniform(0.1, 1, 30))
    for _ in range(20):
        x, other = rng.normal(size=(2, len(problem.start())))
        total = problem.weight @ problem.distances(x)
        assert total <= problem.bound(problem.distances(other)) * (1 + 1e-12)
        assert total <= problem.bound(rng.uniform(0, 2, 30)) * (1 + 1e-12)


def test_beats_a_published_answer_for_iris():
    # the matrix that Xing's program gives for all pairs of iris, to six digits
    published = np.array(
        [
            [+0.000514, +0.000868, -0.001195, -0.001703],
            [+0.000868, +0.001468, -0.002021, -0.002879],
            [-0.001195, -0.002021, +0.002782, +0.003964],
            [-0.001703, -0.002879, +0.003964, +0.005648],
        ]
    )
    first, second = np.triu_indices(150, 1)
    y = np.where(CLASSES[first] == CLASSES[second], 1, -1)
    pairs = np.stack([IRIS[first], IRIS[second]], axis=1)
    with pytest.warns(UserWarning, match="equal points"):
        metric = MMC(init=np.eye(4) / 10).fit(pairs, y)
    S, V = differences(pairs, y)
    total, size = sums(metric.get_mahalanobis_matrix(), S, V)
    other_total, other_size = sums(published, S, V)
    assert size == pytest.approx(np.sum(S**2) / 1000)
    assert other_total / np.sqrt(other_size) < total / np.sqrt(size)
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), published, atol=7e-4)


def test_init_sets_the_size_only():
    index, y = iris_pairs(30)
    plain = MMC().fit(IRIS[index], y).get_mahalanobis_matrix()
    larger = MMC(init=4 * np.eye(4)).fit(IRIS[index], y).get_mahalanobis_matrix()
    np.testing.assert_allclose(larger, 4 * plain, rtol=1e-9)
    other = MMC(init="random", random_state=0).fit(IRIS[index], y).get_mahalanobis_matrix()
    np.testing.assert_allclose(other / np.trace(other), plain / np.trace(plain), rtol=1e-9)
    with pytest.raises(NonPSDError):
        MMC(init=-np.eye(4)).fit(IRIS[index], y)
    with pytest.raises(ValueError, match="init"):
        MMC(init=np.zeros((4, 4))).fit(IRIS[index], y)


@pytest.mark.parametrize("diagonal", [False, True])
def test_units_of_features_do_not_matter(diagonal):
    index, y = iris_pairs(40)
    units = np.array([1e-9, 1.0, 1e6, 30.0])
    options = {"diagonal": diagonal, "tol": 1e-7}
    plain = MMC(**options).fit(IRIS[index], y)
    scaled = MMC(**options).fit(units * IRIS[index], y)
    ratio = scaled.pair_distance(units * IRIS[index]) / plain.pair_distance(IRIS[index])
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-2)


@pytest.mark.parametrize("diagonal", [False, True])
def test_directions_without_similar_pairs_count_nothing(diagonal):
    similar = np.array([[[0.0, 0.0, 0.0], [1.0, 0.5, 0.0]], [[0.0, 0.0, 0.0], [0.2, 1.0, 0.0]]])
    dissimilar = np.array([[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]])
    metric = MMC(diagonal=diagonal)
    with pytest.warns(UserWarning, match="do not vary"):
        metric.fit(np.concatenate([similar, dissimilar]), [1, 1, -1])
    M = metric.get_mahalanobis_matrix()
    assert (M[2] == 0).all()
    assert M[1, 1] > 0
    pairs = np.array([similar[0], [[0, 0, 0], [0, 0, 1.0]]])
    with (
        pytest.warns(UserWarning, match="do not vary"),
        pytest.raises(ValueError, match="do not vary"),
    ):
        MMC(diagonal=diagonal).fit(pairs, [1, -1])


def test_more_features_than_points(rng):
    X, y = rng.normal(size=(30, 60)), np.repeat([0, 1, 2], 10)
    with pytest.warns(UserWarning, match="do not vary"):
        metric = MMC_Supervised(n_constraints=15, random_state=0).fit(X, y)
    assert metric.components_.shape == (60, 60)
    assert metric.certificate_.relative_gap <= 1e-6


def test_constant_feature_and_one_feature():
    index, y = iris_pairs(30)
    constant = np.concatenate([IRIS[index], np.ones((len(y), 2, 1))], axis=2)
    assert (MMC().fit(constant, y).get_mahalanobis_matrix()[4] == 0).all()
    with pytest.warns(UserWarning, match="equal points"):
        metric = MMC().fit(IRIS[index][:, :, 2:3], y)
    assert metric.get_mahalanobis_matrix() == pytest.approx(0.01)


def test_labels_without_pairs_of_both_kinds_are_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        MMC_Supervised().fit(IRIS, np.zeros(150))
    with (
        pytest.warns(UserWarning, match="0 distinct similar"),
        pytest.raises(ValueError, match="0 similar"),
    ):
        MMC_Supervised(n_constraints=1).fit(IRIS[:3], [0, 1, 2])


def test_separates_iris():
    for diagonal, limit in [(False, 0.15), (True, 0.2)]:
        metric = MMC_Supervised(diagonal=diagonal, random_state=0)
        assert class_separation(metric.fit_transform(IRIS, CLASSES), CLASSES) < limit
