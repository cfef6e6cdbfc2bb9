"""Metrics to stay close to, and the pull of near pairs."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from frobmetric import FrobMetric, frob_path, load, mine_triplets, save
from frobmetric.learning.coordinates import unit_mean_square
from frobmetric.learning.priors import PRIORS, named_prior_factor
from frobmetric.learning.units import WHITENING
from frobmetric.model.sets import GivenTriplets
from paper_problem import paper_metric

NEARLY_ZERO = 1e-9
#: Priors that are a full covariance, and all that do not depend on the units of X.
COVARIANCES = ["within", "shrunk", "discriminant", "covariance"]
WITH_UNITS = [*COVARIANCES, "diagonal"]


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    X[142, 0] += 0.1  # otherwise equal to row 101
    return X, y


def at_unit_norm(M):
    return M / np.linalg.norm(M)


def within_covariance(X, y):
    return sum(np.cov(X[y == c].T, bias=True) * np.mean(y == c) for c in np.unique(y))


def test_within_is_relevant_component_analysis(iris):
    X, y = iris
    found = FrobMetric(C=NEARLY_ZERO, prior="within").fit(X, y).get_mahalanobis_matrix()
    expected = np.linalg.inv(within_covariance(X, y))
    # shrunk a little, as the covariance is of samples
    np.testing.assert_allclose(at_unit_norm(found), at_unit_norm(expected), atol=1e-4)


def test_discriminant_is_linear_discriminant_analysis(iris):
    X, y = iris
    metric = FrobMetric(C=NEARLY_ZERO, prior="discriminant").fit(X, y)
    scalings = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :2]
    assert metric.rank_ == 2
    np.testing.assert_allclose(
        at_unit_norm(metric.get_mahalanobis_matrix()),
        at_unit_norm(scalings @ scalings.T),
        atol=1e-4,
    )


def test_covariance_whitens_and_identity_does_nothing(iris):
    X, y = iris
    whitened = FrobMetric(C=NEARLY_ZERO, prior="covariance").fit(X, y).transform(X)
    covariance = np.cov(whitened.T)
    np.testing.assert_allclose(at_unit_norm(covariance), np.eye(4) / 2, atol=1e-4)
    same = FrobMetric(C=NEARLY_ZERO, prior="identity", units="raw").fit(X, y)
    M = same.get_mahalanobis_matrix()
    np.testing.assert_allclose(at_unit_norm(M), np.eye(4) / 2, atol=1e-6)


def test_shrunk_is_half_way_to_the_diagonal(iris):
    """Correlations within classes, of which half is left, and the variances are the same."""
    X, y = iris
    found = FrobMetric(C=NEARLY_ZERO, prior="shrunk").fit(X, y).get_mahalanobis_matrix()
    covariance = within_covariance(X, y)
    shrunk = 0.5 * covariance + 0.5 * np.diag(np.diag(covariance))
    np.testing.assert_allclose(at_unit_norm(found), at_unit_norm(np.linalg.inv(shrunk)), atol=1e-6)


def test_diagonal_has_the_variances_within_classes_only(iris):
    X, y = iris
    found = FrobMetric(C=NEARLY_ZERO, prior="diagonal").fit(X, y).get_mahalanobis_matrix()
    expected = np.diag(1 / np.diag(within_covariance(X, y)))
    np.testing.assert_allclose(at_unit_norm(found), at_unit_norm(expected), atol=1e-6)


@pytest.mark.parametrize("prior", WITH_UNITS)
def test_units_of_features_do_not_matter(prior, iris):
    X, y = iris
    units = np.array([1e-3, 1.0, 50.0, 1e4])
    plain, other = (
        FrobMetric(C=10, prior=prior, tol=1e-8).fit(Z, y).transform(Z) for Z in (X, X * units)
    )
    distances = [np.linalg.norm(Z[:20, None] - Z[None, :20], axis=2) for Z in (plain, other)]
    np.testing.assert_allclose(*distances, rtol=1e-3, atol=1e-6)


def test_satisfied_triplets_have_a_mean_margin_of_one(iris):
    X, y = iris
    metric = FrobMetric(C=NEARLY_ZERO, prior="identity", keep_dual=True).fit(X, y)
    anchor, near, far = (metric.transform(X)[i] for i in metric.triplets_.to_array().T)
    margins = ((anchor - far) ** 2).sum(axis=1) - ((anchor - near) ** 2).sum(axis=1)
    assert margins[margins > 0].mean() == pytest.approx(1, rel=1e-2)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("pull", [0.0, 0.5])
def test_certificates_hold_again_also_from_a_file(prior, pull, iris, tmp_path):
    X, y = iris
    metric = FrobMetric(C=10, prior=prior, pull=pull, keep_dual=True).fit(X, y)
    save(metric, tmp_path / "model")
    for model in (metric, load(tmp_path / "model")):
        proven = model.certify(X)
        assert proven.relative_gap <= 1e-3
        assert proven.primal == pytest.approx(metric.certificate_.primal, rel=1e-9)


def test_a_later_fit_without_prior_forgets_it(iris):
    X, y = iris
    metric = FrobMetric(C=10, prior="within").fit(X, y)
    assert metric.prior_factor_.shape == (4, 4)
    assert not hasattr(metric.set_params(prior=None).fit(X, y), "prior_factor_")


def test_more_features_than_samples(rng):
    X, y = rng.normal(size=(20, 50)), np.repeat([0, 1], 10)
    X[:, 0] += 5 * y
    for prior in PRIORS:
        metric = FrobMetric(C=10, prior=prior).fit(X, y)
        assert metric.certificate_.relative_gap <= 1e-3
        assert np.isfinite(metric.transform(X)).all()


def test_constant_features_count_nothing(iris):
    X, y = iris
    wide = np.column_stack([X, np.full(len(X), 7.0)])
    for prior in PRIORS:
        narrow, broad = (FrobMetric(C=10, prior=prior, tol=1e-8).fit(Z, y) for Z in (X, wide))
        np.testing.assert_allclose(
            narrow.pair_distance(X[:20].reshape(10, 2, 4)),
            broad.pair_distance(wide[:20].reshape(10, 2, 5)),
            rtol=1e-3,
        )


@pytest.mark.parametrize("prior", WITH_UNITS)
@pytest.mark.parametrize("n", [20, 40])
def test_directions_that_training_data_lack_count_nothing(prior, n, rng):
    """Of few samples, where covariances are shrunk: a floor must not become a weight."""
    X, y = rng.normal(size=(n, 30)), np.arange(n) % 2
    X[:, 0] += 4 * y
    X[:, -1] = 7.0
    metric = FrobMetric(C=1, prior=prior).fit(X, y)
    moved = X.copy()
    moved[:, -1] += 0.01
    np.testing.assert_allclose(metric.transform(moved), metric.transform(X), atol=1e-8)


@pytest.mark.parametrize("prior", WITH_UNITS)
def test_the_order_of_rows_does_not_matter(prior, rng):
    X, y = rng.normal(size=(20, 50)), np.arange(20) % 2
    order = rng.permutation(20)
    first, second = (
        FrobMetric(C=1e-6, prior=prior).fit(X[rows], y[rows]).get_mahalanobis_matrix()
        for rows in (np.arange(20), order)
    )
    np.testing.assert_allclose(at_unit_norm(first), at_unit_norm(second), atol=1e-6)


def test_one_more_sample_changes_little(rng):
    """There is no number of samples at which shrinking begins."""
    X, y = rng.normal(size=(200, 10)) @ rng.normal(size=(10, 10)), np.arange(200) % 2
    found = [named_prior_factor("within", X[:n] - X[:n].mean(axis=0), y[:n]) for n in range(15, 30)]
    metrics = [at_unit_norm(B @ B.T) for B in found]
    steps = [np.linalg.norm(a - b) for a, b in itertools.pairwise(metrics)]
    assert max(steps) < 10 * np.median(steps)


def test_a_weight_of_two_is_the_triplet_twice(iris):
    X, y = iris
    index = mine_triplets(X, y, n_neighbors=1).to_array()
    weights = np.where(np.arange(len(index)) % 3, 1.0, 3.0)
    options = {"C": 5.0, "prior": "covariance", "tol": 1e-8}
    weighted = FrobMetric(**options).fit(X, triplets=index, triplet_weight=weights)
    repeated = FrobMetric(**options).fit(X, triplets=np.repeat(index, weights.astype(int), axis=0))
    np.testing.assert_allclose(
        weighted.get_mahalanobis_matrix(), repeated.get_mahalanobis_matrix(), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("prior", ["within", "shrunk", "discriminant"])
def test_classes_that_tell_nothing_are_said(prior, iris):
    X, _ = iris
    with pytest.raises(ValueError, match=r"one class \(0\)"):
        FrobMetric(prior=prior).fit(X, np.zeros(len(X), dtype=int))
    with pytest.raises(ValueError, match="each of the 15 classes has one sample"):
        FrobMetric(prior=prior).fit(X[:15], np.arange(15))


def test_classes_are_needed_and_said_so(iris):
    X, y = iris
    triplets = mine_triplets(X, y)
    with pytest.raises(ValueError, match=r"prior='within' is computed from classes.*covariance"):
        FrobMetric(prior="within").fit(X, triplets=triplets)
    assert FrobMetric(C=10, prior="covariance").fit(X, triplets=triplets).rank_ == 4
    with pytest.raises(ValueError, match="'prior' parameter of FrobMetric must be"):
        FrobMetric(prior="lda").fit(X, y)


def test_the_objective_has_its_pull(iris):
    X, y = iris
    C, pull = 30.0, 0.7
    metric = paper_metric(C=C, pull=pull, tol=1e-8, keep_dual=True).fit(X, y)
    index = metric.triplets_.to_array()
    M = metric.get_mahalanobis_matrix() * metric.scale_**2
    Z, _ = unit_mean_square(X)
    near, far = (
        np.einsum("ri,ij,rj->r", d, M, d) for d in (Z[index[:, 0]] - Z[index[:, i]] for i in (1, 2))
    )
    objective = np.sum(M**2) / 2 + C * np.mean(np.maximum(0, 1 - far + near) + pull * near)
    assert objective == pytest.approx(metric.certificate_.primal, rel=1e-6)
    free = paper_metric(C=C, tol=1e-8).fit(X, y)
    assert near.mean() < np.mean(free.pair_distance(X[index[:, :2]]) ** 2)


def test_the_scatter_of_near_pairs_is_that_of_rows(rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(3, size=40)
    y[:2] = 7  # a class of two: blocks of unequal size
    mined = mine_triplets(X, y, warn_small=False)
    assert len(mined.blocks) > 1
    index = mined.to_array()
    given = GivenTriplets(index, np.ones(len(index)))
    away = X[index[:, 0]] - X[index[:, 1]]
    for triplets in (mined, given):
        np.testing.assert_allclose(triplets.near_scatter(X), away.T @ away / len(index))


@pytest.mark.parametrize(
    "options",
    [
        {"prior": "within"},
        {"prior": "shrunk"},
        {"prior": "diagonal"},
        {"pull": 0.4},
        {"prior": "identity", "pull": 0.4},
    ],
    ids=str,
)
def test_the_path_ends_where_the_fit_does(options):
    X, y = load_wine(return_X_y=True)
    path = frob_path(X, y, Cs=[1, 1.5, 2, 3], tol=1e-7, **options)
    fitted = FrobMetric(C=3, tol=1e-7, n_passes=1, **options).fit(X, y)
    last = path.points[-1]
    assert last.certificate.primal == pytest.approx(fitted.certificate_.primal, rel=1e-6)
    assert any(point.n_screened for point in path.points)


def test_only_covariances_map_the_data(iris):
    X, y = iris
    Z = X - X.mean(axis=0)
    unchanged = [name for name in PRIORS if np.array_equal(Z @ named_prior_factor(name, Z, y), Z)]
    assert unchanged == ["identity", "diagonal"]  # which has units of its own
    assert set(WHITENING) == set(COVARIANCES)
