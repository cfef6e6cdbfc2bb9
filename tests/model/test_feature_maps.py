"""Kernels: the metric of what a kernel maps samples to, against explicit features and cvxpy."""

import re
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_iris, make_circles
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from changed_maps import forge
from frobmetric import FrobMetric, FrobMetricCV, TripletFrobMetric, mine_triplets
from frobmetric.exceptions import CertificateError
from frobmetric.learning.coordinates import MOST_DIRECTIONS, Coordinates
from paper_problem import paper_metric

IRIS = load_iris(return_X_y=True)
SAMPLE, LABELS = IRIS[0][::3], IRIS[1][::3]
OTHERS = IRIS[0][1::3]
TIGHT = {"C": 10, "tol": 1e-8, "max_iter": 5000}


def quadratic_features(X, gamma, coef0):
    """phi with phi(a) @ phi(b) == (gamma a @ b + coef0)^2."""
    pairs = list(combinations_with_replacement(range(X.shape[1]), 2))
    weight = [gamma * (1 if i == j else np.sqrt(2)) for i, j in pairs]
    squares = np.column_stack([X[:, i] * X[:, j] for i, j in pairs]) * weight
    return np.hstack([squares, np.sqrt(2 * gamma * coef0) * X, np.full((len(X), 1), coef0)])


def assert_same_distances(a, b, Z_a, Z_b, bound_factor=1.0):
    """Squared distances agree to what the two certificates allow for."""
    bound = a.certificate_.distance_bound + b.certificate_.distance_bound
    assert a.certificate_.primal == pytest.approx(b.certificate_.primal, rel=1e-6)
    difference = np.abs(pdist(Z_a, "sqeuclidean") - pdist(Z_b, "sqeuclidean"))
    assert difference.max() <= bound * bound_factor + 1e-9


def largest_square(X, scale):
    """|(a - b) (a - b).T|_F of scaled data at most: what a distance of metrics is multiplied by."""
    return pdist(X, "sqeuclidean").max() / scale**2


def test_precomputed_products_are_the_linear_metric():
    X, y = SAMPLE, LABELS
    linear = paper_metric(**TIGHT).fit(X, y)
    by_kernel = paper_metric(kernel="precomputed", **TIGHT).fit(X @ X.T, y)
    assert by_kernel.n_directions_ == 4
    assert by_kernel.scale_ == pytest.approx(linear.scale_)
    assert_same_distances(
        linear,
        by_kernel,
        linear.transform(X),
        by_kernel.transform(X @ X.T),
        largest_square(X, linear.scale_),
    )
    new = by_kernel.transform(OTHERS @ X.T)
    np.testing.assert_allclose(pdist(new), pdist(linear.transform(OTHERS)), rtol=1e-3, atol=1e-4)


def test_precomputed_products_of_data_far_from_the_origin():
    X, y = SAMPLE + 1e4, LABELS
    by_kernel = FrobMetric(kernel="precomputed", C=10).fit(X @ X.T, y)
    assert by_kernel.n_directions_ == 4  # the rest is rounding of the products


def test_polynomial_of_degree_two_is_linear_in_quadratic_features():
    gamma, coef0 = 0.3, 0.7
    kernel = paper_metric(kernel="polynomial", degree=2, gamma=gamma, coef0=coef0, **TIGHT)
    kernel.fit(SAMPLE, LABELS)
    phi, phi_others = (quadratic_features(X, gamma, coef0) for X in (SAMPLE, OTHERS))
    np.testing.assert_allclose(phi @ phi.T, (gamma * SAMPLE @ SAMPLE.T + coef0) ** 2)
    linear = paper_metric(**TIGHT).fit(phi, LABELS)
    factor = largest_square(np.vstack([phi, phi_others]), linear.scale_)
    assert_same_distances(linear, kernel, linear.transform(phi), kernel.transform(SAMPLE), factor)
    # and for points that were not learned from
    assert_same_distances(
        linear, kernel, linear.transform(phi_others), kernel.transform(OTHERS), factor
    )


def test_polynomial_of_degree_one_is_the_linear_metric():
    kernel = paper_metric(kernel="polynomial", degree=1, coef0=0, **TIGHT).fit(SAMPLE, LABELS)
    linear = paper_metric(**TIGHT).fit(SAMPLE, LABELS)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(
        pdist(kernel.transform(OTHERS)), pdist(linear.transform(OTHERS)), rtol=1e-3, atol=1e-4
    )


def test_coordinates_have_the_distances_of_the_kernel(rng):
    X = rng.normal(size=(12, 3))
    K = rbf_kernel(X, gamma=0.4)
    coordinates = Coordinates.kernel(K)
    expected = np.diag(K)[:, None] + np.diag(K) - 2 * K
    np.testing.assert_allclose(
        cdist(coordinates.Z, coordinates.Z, "sqeuclidean") * coordinates.scale**2,
        expected,
        atol=1e-8,
    )
    mapped = K @ coordinates.basis / coordinates.scale
    np.testing.assert_allclose(pdist(mapped), pdist(coordinates.Z), atol=1e-8)
    assert np.mean(np.sum(coordinates.Z**2, axis=1)) == pytest.approx(1)
    assert coordinates.kept_variance == pytest.approx(1)


def test_rbf_optimum_against_cvxpy(rng):
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    X, C, gamma = rng.normal(size=(7, 2)), 5.0, 0.5
    T = np.array([[0, 1, 2], [3, 4, 5], [6, 0, 3], [2, 5, 1], [4, 6, 0]])
    K = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    centre = np.eye(7) - 1 / 7
    values, vectors = np.linalg.eigh(centre @ K @ centre)
    Z = vectors[:, 1:] * np.sqrt(values[1:])
    scale = np.sqrt(np.mean(np.sum(Z**2, axis=1)))
    near, far = ((Z[T[:, 0]] - Z[T[:, i]]) / scale for i in (1, 2))
    M = cp.Variable((6, 6), PSD=True)
    margins = cp.sum(cp.multiply(far @ M, far) - cp.multiply(near @ M, near), axis=1)
    objective = cp.sum_squares(M) / 2 + C * cp.sum(cp.pos(1 - margins)) / len(T)
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    metric = paper_metric(kernel="rbf", gamma=gamma, C=C, tol=1e-8).fit(X, triplets=T)
    assert metric.certificate_.primal == pytest.approx(best, rel=1e-6)
    L = np.linalg.cholesky(M.value + 1e-9 * np.eye(6))
    np.testing.assert_allclose(
        pdist(metric.transform(X), "sqeuclidean"), pdist(Z @ L / scale, "sqeuclidean"), atol=1e-3
    )


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_training_distances_are_those_that_were_learned(kernel):
    """The margins of the problem, from `transform`."""
    metric = paper_metric(kernel=kernel, keep_dual=True, C=100).fit(SAMPLE, LABELS)
    Z, T = metric.transform(SAMPLE), metric.triplets_.to_array()
    near, far = (np.sum((Z[T[:, 0]] - Z[T[:, i]]) ** 2, axis=1) for i in (1, 2))
    hinge = 100 * np.mean(np.maximum(0, 1 - far + near))
    regulariser = metric.certificate_.primal - hinge
    assert 0 < regulariser < metric.certificate_.primal
    coordinates = Coordinates.kernel(metric.map_.features.kernel(SAMPLE))
    L = np.linalg.lstsq(coordinates.basis / coordinates.scale, metric.components_.T, rcond=None)[0]
    assert np.linalg.norm(L.T @ L) ** 2 / 2 == pytest.approx(regulariser, rel=1e-4)


def test_whole_numbers_are_not_rounded_by_a_kernel():
    metric = FrobMetric(kernel="rbf", C=100).fit(SAMPLE, LABELS)
    whole = np.array([[[5, 3, 1, 0], [6, 3, 5, 2]]])
    assert metric.pair_distance(whole) == metric.pair_distance(whole.astype(float)) > 0


def test_precomputed_takes_values_with_the_training_samples():
    K, K_others = (rbf_kernel(X, SAMPLE, gamma=0.2) for X in (SAMPLE, OTHERS))
    given = paper_metric(kernel="precomputed", C=100).fit(K, LABELS)
    named = paper_metric(kernel="rbf", gamma=0.2, C=100).fit(SAMPLE, LABELS)
    np.testing.assert_allclose(given.transform(K_others), named.transform(OTHERS), atol=1e-6)
    assert not hasattr(given, "X_fit_")
    assert given.pair_distance(K_others[None, :2])[0] == pytest.approx(
        named.pair_distance(OTHERS[None, :2])[0]
    )
    with pytest.raises(ValueError, match="expecting 50 features"):
        given.transform(K_others[:, :7])


def test_gamma():
    metric = FrobMetric(kernel="rbf", C=1).fit(SAMPLE, LABELS)
    assert metric.gamma_ == pytest.approx(1 / (4 * SAMPLE.var()))
    sparse = FrobMetric(kernel="rbf", C=1).fit(sp.csr_array(SAMPLE), LABELS)
    assert sparse.gamma_ == pytest.approx(metric.gamma_)
    assert FrobMetric(kernel="rbf", gamma=3, C=1).fit(SAMPLE, LABELS).gamma_ == 3.0
    assert not hasattr(metric.set_params(kernel="linear").fit(SAMPLE, LABELS), "gamma_")
    assert not hasattr(metric, "X_fit_")


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf"},
        {"kernel": "polynomial", "n_components": 2},
        {"kernel": "rbf", "prior": "within"},
        {"kernel": "rbf", "n_directions": 8, "n_passes": 2},
    ],
    ids=str,
)
def test_certify_proves_the_answer_again(options):
    metric = FrobMetric(keep_dual=True, C=100, **options).fit(SAMPLE, LABELS)
    assert metric.certificate_.relative_gap <= 1e-3
    assert metric.certify(SAMPLE).primal == pytest.approx(metric.certificate_.primal, rel=1e-6)
    forge(metric, "components", metric.components_ * 1.1)
    with pytest.raises(CertificateError, match="components_ differ"):
        metric.certify(SAMPLE)


@pytest.mark.parametrize("prior", ["identity", "covariance", "within", "discriminant"])
def test_priors_by_name(prior):
    metric = FrobMetric(kernel="rbf", prior=prior, C=100).fit(SAMPLE, LABELS)
    assert metric.certificate_.relative_gap <= 1e-3
    if prior == "identity":  # near it, distances are the kernel's own, up to one factor
        near_prior = FrobMetric(kernel="rbf", prior=prior, C=1e-9).fit(SAMPLE, LABELS)
        K = rbf_kernel(SAMPLE, gamma=metric.gamma_)
        ratio = pdist(near_prior.transform(SAMPLE), "sqeuclidean") / (
            2 - 2 * K[np.triu_indices(len(K), 1)] + 1e-12
        )
        np.testing.assert_allclose(ratio[ratio > 0.1], np.median(ratio), rtol=1e-4)
    assert hasattr(metric, "prior_factor_") == (prior != "identity")


def test_a_matrix_is_no_prior_of_a_kernel():
    with pytest.raises(ValueError, match=r"prior is a matrix, .* kernel='rbf' .* give a prior by"):
        FrobMetric(kernel="rbf", prior=np.eye(4)).fit(SAMPLE, LABELS)


@pytest.mark.parametrize(
    ("K", "match"),
    [
        (SAMPLE, r"X has shape \(50, 4\); with kernel='precomputed'"),
        (-SAMPLE @ SAMPLE.T, "all rows of X are equal|must be positive semidefinite"),
        (
            SAMPLE @ SAMPLE.T - 3 * np.eye(50),
            "has the eigenvalue -.* must be positive semidefinite",
        ),
        (
            np.triu(SAMPLE @ SAMPLE.T),
            r"X\[35, 39\] = 118.76 and X\[39, 35\] = 0; .* must be symmetric",
        ),
        (np.full((50, 50), np.nan), "NaN"),
        (np.ones((50, 50)), "all rows of X are equal"),
    ],
)
def test_bad_values_of_a_kernel(K, match):
    with pytest.raises(ValueError, match=match):
        FrobMetric(kernel="precomputed").fit(K, LABELS)


def test_negative_eigenvalues_are_found_also_where_few_directions_are_kept(rng):
    A = rng.normal(size=(50, 50))
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        FrobMetric(kernel="precomputed", n_directions=3).fit(A + A.T + 5 * np.eye(50), LABELS)


def test_given_values_are_dense():
    with pytest.raises(TypeError, match="Sparse data was passed"):
        FrobMetric(kernel="precomputed").fit(sp.csr_array(SAMPLE @ SAMPLE.T), LABELS)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kernel": "sigmoid"}, r"one of \['linear', 'polynomial', 'precomputed', 'rbf'\]"),
        ({"gamma": 0}, "'gamma' parameter"),
        ({"degree": 0}, "'degree' parameter"),
        ({"coef0": -1}, "'coef0' parameter"),
        ({"n_directions": 0}, "'n_directions' parameter"),
        (
            {"kernel": "rbf", "n_directions": 5, "n_components": 6},
            "larger than the 5 directions kept",
        ),
    ],
)
def test_bad_parameters(options, match):
    with pytest.raises(ValueError, match=match):
        FrobMetric(**options).fit(SAMPLE, LABELS)


def test_the_choice_of_c_has_no_kernel():
    with pytest.raises(TypeError, match="kernel"):
        FrobMetricCV(kernel="rbf")


def test_fewer_directions_are_the_leading_ones():
    whole = FrobMetric(kernel="rbf", C=10).fit(SAMPLE, LABELS)
    few = FrobMetric(kernel="rbf", C=10, n_directions=5).fit(SAMPLE, LABELS)
    assert few.n_directions_ == 5 < whole.n_directions_
    assert whole.kept_variance_ == pytest.approx(1)
    K = rbf_kernel(SAMPLE, gamma=few.gamma_)
    centre = np.eye(50) - 1 / 50
    values = np.linalg.eigvalsh(centre @ K @ centre)
    assert few.kept_variance_ == pytest.approx(values[-5:].sum() / values.sum())
    assert few.components_.shape == (5, 50)


@pytest.mark.slow
def test_more_directions_than_the_most_are_cut_with_a_warning(rng):
    n = MOST_DIRECTIONS + 10
    X, y = rng.normal(size=(n, 20)), np.arange(n) % 2
    metric = FrobMetric(kernel="rbf", gamma=1.0, C=1e-3, keep_dual=True)
    with pytest.warns(UserWarning, match=f"the {MOST_DIRECTIONS} leading directions .* variance"):
        metric.fit(X, y)
    assert metric.n_directions_ == MOST_DIRECTIONS
    assert 0.9 < metric.kept_variance_ < 1 - 1e-3
    assert metric.certify(X).relative_gap <= 1e-3  # which does not warn again


def test_a_kernel_has_no_update():
    metric = FrobMetric(kernel="rbf", C=1)
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as info:
        metric.partial_fit(SAMPLE, LABELS)
    words = "kernel='rbf'; new samples change .* only kernel='linear' can be updated: fit again"
    assert re.search(words, str(info.value.__cause__))
    assert not hasattr(metric.fit(SAMPLE, LABELS), "partial_fit")
    assert hasattr(metric.set_params(kernel="linear"), "partial_fit")


def test_one_direction_separates_two_rings():
    X, y = make_circles(240, factor=0.5, noise=0.05, random_state=0)
    errors = {}
    for kernel in ("linear", "rbf"):
        metric = FrobMetric(kernel=kernel, n_components=1, C=1, n_passes=1)
        metric.fit(X[:80], y[:80])
        Z = metric.transform(X)
        centres = np.stack([Z[:80][y[:80] == c].mean(axis=0) for c in (0, 1)])
        errors[kernel] = np.mean(cdist(Z[80:], centres).argmin(axis=1) != y[80:])
    assert errors["rbf"] < 0.05
    assert errors["linear"] > 0.3


def test_comparisons_with_a_kernel():
    T = mine_triplets(SAMPLE, LABELS).to_array()
    by_rows = paper_metric(kernel="rbf", **TIGHT).fit(SAMPLE, triplets=T)
    by_tuples = TripletFrobMetric(kernel="rbf", **TIGHT).fit(SAMPLE[T])
    assert by_tuples.certificate_.primal == pytest.approx(by_rows.certificate_.primal, rel=1e-5)
    np.testing.assert_allclose(
        pdist(by_tuples.transform(OTHERS)), pdist(by_rows.transform(OTHERS)), rtol=1e-2, atol=1e-3
    )


@pytest.mark.parametrize("kernel", ["precomputed", "rbf"])
def test_searches_over_parameters(kernel):
    """With given values the search has to cut rows and columns alike."""
    K = rbf_kernel(SAMPLE, gamma=0.3)
    data, grid = {
        "precomputed": (K, {"metric__C": [1.0, 100.0]}),
        "rbf": (SAMPLE, {"metric__gamma": [0.1, 1.0]}),
    }[kernel]
    model = Pipeline(
        [("metric", FrobMetric(kernel=kernel, C=10)), ("classes", KNeighborsClassifier(3))]
    )
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(data, LABELS)
    assert search.best_score_ > 0.85
    assert search.predict(data).shape == (50,)
