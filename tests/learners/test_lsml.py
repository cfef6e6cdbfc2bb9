"""LSML: the minimum of its objective, its proof, weights, priors and degenerate input."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from frobmetric.learners import LSML, LSML_Supervised
from frobmetric.learners.residuals import SquaredResiduals
from frobmetric.learning.constraints import DrawnConstraints

pytestmark = pytest.mark.filterwarnings("ignore:.*distinct .*similar pairs were found")


def _distances(M, quadruplets):
    near, far = (quadruplets[:, i] - quadruplets[:, i + 1] for i in (0, 2))
    return [np.sqrt(np.einsum("ij,jk,ik->i", v, M, v)) for v in (near, far)]


def _objective(M, quadruplets, weight=None, prior=None):
    """Return the objective, written out."""
    weight = np.ones(len(quadruplets)) if weight is None else np.asarray(weight)
    inverse = np.eye(len(M)) if prior is None else np.linalg.inv(prior)
    near, far = _distances(M, quadruplets)
    loss = weight @ np.maximum(near - far, 0) ** 2 / weight.sum()
    logdet = np.linalg.slogdet(M @ inverse)[1]
    return loss + np.trace(M @ inverse) - logdet - len(M)


def _oracle(quadruplets, weight, prior):
    """Return the minimum that a conic solver finds."""
    n_features, inverse = quadruplets.shape[2], np.linalg.inv(prior)
    M, share = cp.Variable((n_features, n_features), PSD=True), weight / weight.sum()
    terms, rows = [], []
    for w, (a, b, c, d) in zip(share, quadruplets, strict=True):
        near, far = ((v @ M) @ v for v in (a - b, c - d))
        reach = cp.Variable(nonneg=True)  # far distance, or the near one if that is smaller
        rows.append(reach <= far)
        terms.append(w * (near + reach - 2 * cp.geo_mean(cp.hstack([near, reach]))))
    regulariser = cp.trace(M @ inverse) - cp.log_det(M) + np.linalg.slogdet(prior)[1] - n_features
    problem = cp.Problem(cp.Minimize(sum(terms) + regulariser), rows)
    return problem.solve(solver=cp.CLARABEL)


@pytest.fixture
def quadruplets(rng):
    return rng.normal(size=(25, 4, 3)) * [1.0, 2.0, 0.5]


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_minimum_is_that_of_a_conic_solver(quadruplets, rng, scale):
    root = rng.normal(size=(3, 3))
    prior, weight = root @ root.T + np.eye(3), rng.uniform(0.5, 2, len(quadruplets))
    metric = LSML(tol=1e-8, prior=prior).fit(scale * quadruplets, sample_weight=weight)
    value = _objective(metric.get_mahalanobis_matrix(), scale * quadruplets, weight, prior)
    assert value == pytest.approx(_oracle(scale * quadruplets, weight, prior), rel=1e-5)
    assert value == pytest.approx(metric.certificate_.primal, rel=1e-9)
    assert metric.certificate_.relative_gap <= 1e-7


@pytest.mark.parametrize("n_iter", [1, 2, 3])
def test_the_interval_of_a_rough_answer_holds_the_minimum(quadruplets, n_iter):
    best = LSML(tol=1e-10).fit(10 * quadruplets).certificate_.primal
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        rough = LSML(tol=1e-10, max_iter=n_iter).fit(10 * quadruplets)
    assert rough.certificate_.dual <= best <= rough.certificate_.primal
    assert rough.n_iter_ == n_iter


def test_any_matrix_gives_a_lower_bound(rng):
    index = rng.permuted(np.tile(np.arange(9), (30, 1)), axis=1)[:, :4]
    problem = SquaredResiduals(rng.normal(size=(9, 4)), index, np.ones(30))
    best = problem.certify(problem.minimise(1e-9, 200).N)
    for _ in range(20):
        root = rng.normal(size=(4, 4))
        rough = problem.certify(root @ root.T + 0.1 * np.eye(4))
        assert rough.dual <= best.primal + 1e-9 <= rough.primal + 2e-9


def test_the_minimum_is_below_that_of_small_changes(quadruplets, rng):
    M = LSML(tol=1e-10).fit(quadruplets).get_mahalanobis_matrix()
    value = _objective(M, quadruplets)
    for _ in range(20):
        change = rng.normal(size=M.shape)
        assert _objective(M + 1e-3 * (change + change.T), quadruplets) > value


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 30.0, 1e4])
def test_data_of_any_scale(rng, scale):
    quadruplets = scale * rng.normal(size=(300, 4, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric = LSML().fit(quadruplets)
    assert metric.certificate_.relative_gap <= 2e-3
    assert np.isfinite(metric.components_).all()


def test_weights_are_repetitions(quadruplets):
    twice = np.concatenate([quadruplets, quadruplets[:5]])
    weight = np.r_[np.full(5, 2.0), np.ones(20)]
    first = LSML(tol=1e-10).fit(twice).get_mahalanobis_matrix()
    for name in ("weights", "sample_weight"):
        second = LSML(tol=1e-10).fit(quadruplets, **{name: weight}).get_mahalanobis_matrix()
        np.testing.assert_allclose(second, first, atol=1e-6)
    with pytest.raises(TypeError, match="two names"):
        LSML().fit(quadruplets, weights=weight, sample_weight=weight)


def test_satisfied_comparisons_leave_the_prior(rng):
    points = rng.normal(size=(40, 3))
    quadruplets = np.stack([points, points + 0.01, points, points + 5], axis=1)
    prior = np.diag([1.0, 2.0, 3.0])
    metric = LSML(prior=prior).fit(quadruplets)
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), prior, atol=1e-12)
    assert 0 <= metric.certificate_.gap < 1e-12


def test_more_features_than_points(rng):
    X = rng.normal(size=(6, 20))
    index = rng.permuted(np.tile(np.arange(6), (12, 1)), axis=1)[:, :4]
    metric = LSML(tol=1e-8, preprocessor=X).fit(index)
    assert metric.components_.shape == (20, 20)
    value = _objective(metric.get_mahalanobis_matrix(), X[index])
    assert value == pytest.approx(metric.certificate_.primal, rel=1e-9)
    outside = np.linalg.svd(X - X.mean(axis=0))[2][5:]
    M = metric.get_mahalanobis_matrix()
    np.testing.assert_allclose(outside @ M @ outside.T, np.eye(15), atol=1e-5)


def test_singular_prior_and_nan_are_refused(quadruplets):
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        LSML(prior=np.diag([1.0, 0.0, 1.0])).fit(quadruplets)
    quadruplets[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LSML().fit(quadruplets)


def test_verbose_writes_a_line_for_each_iterate(quadruplets, capsys):
    metric = LSML(verbose=True).fit(quadruplets)
    assert capsys.readouterr().out.count("objective") == metric.n_iter_
    LSML().fit(quadruplets)
    assert not capsys.readouterr().out


def test_iris_is_separated():
    X, y = load_iris(return_X_y=True)
    metric = LSML_Supervised(n_constraints=200, random_state=0).fit(X, y)
    Z = metric.transform(X)
    a, b, c, d = DrawnConstraints(y).positive_negative_pairs(1000, random_state=1)
    within = np.linalg.norm(Z[a] - Z[b], axis=1).mean()
    assert within < 0.8 * np.linalg.norm(Z[c] - Z[d], axis=1).mean()
    assert metric.certificate_.relative_gap <= 1e-3


def test_weights_of_drawn_quadruplets():
    X, y = load_iris(return_X_y=True)
    options = {"n_constraints": 50, "random_state": 0}
    plain = LSML_Supervised(**options).fit(X, y)
    weighted = LSML_Supervised(**options, weights=np.full(50, 3.0)).fit(X, y)
    np.testing.assert_allclose(weighted.components_, plain.components_)
    with pytest.raises(ValueError, match="weights"):
        LSML_Supervised(**options, weights=np.ones(49)).fit(X, y)


def test_labels_without_a_quadruplet_are_refused():
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match="1 class"):
        LSML_Supervised().fit(X, np.zeros(4))
    with pytest.raises(ValueError, match="no quadruplet"):
        LSML_Supervised().fit(X, np.arange(4))


def test_a_quadruplet_of_equal_dissimilar_points_says_nothing():
    X, y, errors = np.array([[0.0], [1.0], [0.0]]), [0, 0, 1], []
    for seed in range(10):
        try:
            metric = LSML_Supervised(n_constraints=1, random_state=seed).fit(X, y)
            assert np.isfinite(metric.components_).all()
        except ValueError as error:
            errors.append(str(error))
    assert 0 < len(errors) < 10
    assert all("in none of the 1 quadruplets" in text for text in errors)
