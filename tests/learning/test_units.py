"""Units of the features: their weights, the choice of units, and fits in them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_iris, load_wine

from frobmetric import FrobMetric, frob_path, load, mine_triplets, save
from frobmetric.learning.samples import Samples
from frobmetric.learning.units import (
    SMALLEST_SPREAD,
    VOTES,
    labels_look_random,
    measure_units,
    neighbor_error,
    spread_rows,
)
from frobmetric.model.units import UNITS, Units
from paper_problem import assert_optimal, cvxpy_optimum, euclidean_prior

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
HOSTILE = np.array([1e-4, 1.0, 70.0, 1e5])


def within_deviation(X, y):
    variance = [np.mean(y == c) * X[y == c].var(axis=0) for c in np.unique(y)]
    return np.sqrt(np.sum(variance, axis=0))


class TestWeights:
    def test_are_one_over_the_deviations(self):
        X, y = WINE
        assert measure_units("raw", X, y).weight is None
        np.testing.assert_allclose(measure_units("deviation", X).weight, 1 / X.std(axis=0))
        expected = 1 / within_deviation(X, y)
        np.testing.assert_allclose(measure_units("within", X, y).weight, expected)

    @pytest.mark.parametrize("name", UNITS)
    def test_of_sparse_samples_are_those_of_dense_ones(self, name, rng):
        X, y = rng.random((60, 8)) * (rng.random((60, 8)) < 0.4), np.arange(60) % 3
        dense, sparse = (measure_units(name, Z, y) for Z in (X, sp.csr_array(X)))
        if name != "raw":
            np.testing.assert_allclose(sparse.weight, dense.weight)
        scaled = sparse.scaled(sp.csr_array(X))
        assert sp.issparse(scaled)
        np.testing.assert_allclose(scaled.toarray(), dense.scaled(X))

    @pytest.mark.parametrize("name", ["deviation", "within"])
    def test_of_constant_features_are_zero(self, name, rng):
        X, y = rng.normal(size=(30, 5)), np.arange(30) % 2
        X[:, 1], X[:, 2], X[:, 3] = 0, 1e9, 0.3
        X[::2, 3] = 0.1 + 0.2  # differs from 0.3 by rounding
        assert np.flatnonzero(measure_units(name, X, y).weight == 0).tolist() == [1, 2, 3]
        single = X.astype(np.float32)
        assert np.flatnonzero(measure_units(name, single, y).weight == 0).tolist() == [1, 2, 3]

    def test_of_a_feature_that_is_the_label_is_bounded(self, rng):
        y = np.arange(40) % 2
        X = np.column_stack([y, rng.normal(size=40)])
        weight = measure_units("within", X, y).weight
        assert weight[0] == pytest.approx(1 / (SMALLEST_SPREAD * 0.5))

    @pytest.mark.parametrize("factor", [1e-200, 1e200])
    def test_of_extreme_numbers_neither_overflow_nor_vanish(self, factor):
        X, y = IRIS
        weight = measure_units("within", X * factor, y).weight
        np.testing.assert_allclose(weight * factor, measure_units("within", X, y).weight)

    def test_factors_go_to_raw_features_and_back(self, rng):
        X, factor = rng.normal(size=(20, 4)), rng.normal(size=(4, 2))
        X[:, 2] = 5
        factor[2] = 0
        units = measure_units("deviation", X)
        np.testing.assert_allclose(units.from_raw(units.to_raw(factor)), factor)
        np.testing.assert_allclose(X @ units.to_raw(factor), units.scaled(X) @ factor)
        assert Units().to_raw(factor) is factor


class TestFits:
    """A fit in some units is the fit of the scaled samples."""

    @pytest.mark.parametrize("prior", [None, "identity"])
    @pytest.mark.parametrize("units", ["deviation", "within"])
    def test_is_that_of_scaled_samples(self, units, prior):
        X, y = WINE
        metric = FrobMetric(units=units, prior=prior, C=100).fit(X, y)
        assert metric.units_ == units
        np.testing.assert_array_equal(metric.feature_weight_, measure_units(units, X, y).weight)
        Z = X * metric.feature_weight_
        scaled = FrobMetric(units="raw", prior=prior, C=100).fit(Z, y)
        assert scaled.units_ == "raw"
        assert not hasattr(scaled, "feature_weight_")
        assert metric.certificate_ == scaled.certificate_
        assert metric.scale_ == pytest.approx(scaled.scale_, rel=1e-14)
        found, expected = metric.transform(X), scaled.transform(Z)
        np.testing.assert_allclose(pdist(found), pdist(expected), rtol=1e-9)

    @pytest.mark.parametrize("options", [{"units": "deviation"}, {"units": "within"}], ids=str)
    @settings(max_examples=10, deadline=None)
    @given(powers=st.lists(st.floats(-6, 6), min_size=4, max_size=4))
    def test_does_not_depend_on_the_unit_of_any_feature(self, options, powers):
        X, y = IRIS
        metric = FrobMetric(C=10, tol=1e-6, **options)
        reference = pdist(metric.fit(X, y).transform(X))
        scaled = X * 10.0 ** np.array(powers)
        found = pdist(metric.fit(scaled, y).transform(scaled))
        np.testing.assert_allclose(found, reference, atol=2e-2 * reference.max())

    def test_against_cvxpy(self, rng):
        X = rng.normal(size=(9, 3)) * [1e-2, 1.0, 30.0]
        T = np.array([[0, 1, 2], [3, 4, 5], [6, 0, 3], [1, 5, 6], [7, 8, 0]])
        weight = np.array([1.0, 2.0, 1.0, 0.5, 3.0])
        metric = FrobMetric(units="deviation", prior="identity", C=3.0, tol=1e-9)
        metric.fit(X, triplets=T, triplet_weight=weight)
        Z = X / X.std(axis=0)
        best, M = cvxpy_optimum(Z, T, 3.0, weight, prior=euclidean_prior(Z, T, weight))
        assert metric.certificate_.primal == pytest.approx(best, rel=1e-5)
        unscaled = metric.get_mahalanobis_matrix() * np.outer(X.std(axis=0), X.std(axis=0))
        np.testing.assert_allclose(unscaled, M, atol=1e-3 * np.linalg.norm(M))

    @pytest.mark.parametrize("units", ["deviation", "within", "auto"])
    def test_constant_features_count_nothing(self, units):
        X, y = IRIS
        wide = np.column_stack([X[:, :2], np.full(len(X), 7.0), X[:, 2:]])
        narrow, broad = (FrobMetric(C=10, units=units).fit(Z, y) for Z in (X, wide))
        found, expected = broad.transform(wide), narrow.transform(X)
        np.testing.assert_allclose(pdist(found), pdist(expected), atol=1e-2)
        assert units == "auto" or not broad.components_[:, 2].any()

    @pytest.mark.parametrize("units", UNITS)
    def test_sparse_samples_give_the_metric_of_dense_ones(self, units, rng):
        X, y = rng.random((60, 8)) * (rng.random((60, 8)) < 0.5), np.arange(60) % 2
        X[:, 0] *= 1 + 3 * y
        options = {"C": 10, "tol": 1e-8, "units": units, "n_passes": 1}
        dense, sparse = (FrobMetric(**options).fit(Z, y) for Z in (X, sp.csr_array(X)))
        assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)
        np.testing.assert_allclose(
            sparse.get_mahalanobis_matrix(), dense.get_mahalanobis_matrix(), atol=1e-4
        )

    def test_single_precision(self):
        X, y = WINE[0].astype(np.float32), WINE[1]
        metric = FrobMetric(C=10, units="within").fit(X, y)
        assert metric.components_.dtype == np.float32
        assert metric.transform(X).dtype == np.float32

    @pytest.mark.parametrize("units", ["auto", *UNITS])
    @pytest.mark.filterwarnings("ignore:feature 12 has 99.8% of the variance")
    def test_are_proven_again_also_from_a_file(self, units, tmp_path):
        X, y = WINE
        metric = FrobMetric(C=100, units=units, keep_dual=True).fit(X, y)
        save(metric, tmp_path / "model")
        for model in (metric, load(tmp_path / "model")):
            assert model.certify(X).primal == pytest.approx(metric.certificate_.primal, rel=1e-9)

    def test_a_path_has_them(self):
        X, y = WINE
        point = frob_path(X, y, Cs=[10.0, 100.0], units="within").points[-1]
        alone = FrobMetric(C=100, units="within", n_passes=1).fit(X, y)
        assert point.certificate.primal == pytest.approx(alone.certificate_.primal, rel=2e-3)

    def test_a_later_fit_of_raw_features_forgets_the_weights(self):
        metric = FrobMetric(C=10, units="within").fit(*IRIS)
        assert metric.feature_weight_.shape == (4,)
        assert not hasattr(metric.set_params(units="raw").fit(*IRIS), "feature_weight_")


class TestUpdates:
    """An update keeps the units of the first fit."""

    def test_keeps_the_weights(self):
        X, y = IRIS
        metric = FrobMetric(C=10, units="deviation", keep_dual=True).fit(X[::2], y[::2])
        weight = metric.feature_weight_
        metric.partial_fit(X[1::2] * [5.0, 1.0, 1.0, 0.1], y[1::2])
        np.testing.assert_array_equal(metric.feature_weight_, weight)
        assert metric.units_ == "deviation"
        assert metric.certify(X[1::2] * [5.0, 1.0, 1.0, 0.1]).relative_gap <= 1e-3

    def test_is_that_of_scaled_samples(self):
        X, y = IRIS
        metric = FrobMetric(C=10, units="within").fit(X[::2], y[::2])
        weight = metric.feature_weight_
        scaled = FrobMetric(C=10, units="raw").fit(X[::2] * weight, y[::2])
        metric.partial_fit(X[1::2], y[1::2])
        scaled.partial_fit(X[1::2] * weight, y[1::2])
        assert metric.certificate_.primal == pytest.approx(scaled.certificate_.primal, rel=1e-9)
        found, expected = metric.transform(X), scaled.transform(X * weight)
        np.testing.assert_allclose(pdist(found), pdist(expected), atol=1e-6)

    def test_with_next_to_no_weight_changes_nothing(self):
        X, y = WINE
        metric = FrobMetric(C=10, units="within").fit(X, y)
        before = metric.get_mahalanobis_matrix()
        metric.set_params(C=1e-9).partial_fit(X[::-1], y[::-1])
        np.testing.assert_allclose(
            metric.get_mahalanobis_matrix(), before, rtol=1e-4, atol=1e-6 * before.max()
        )

    def test_from_a_file(self, tmp_path):
        X, y = WINE
        metric = FrobMetric(C=10, units="within").fit(X[::2], y[::2])
        save(metric, tmp_path / "model")
        again = load(tmp_path / "model").partial_fit(X[1::2], y[1::2])
        np.testing.assert_array_equal(
            again.components_, metric.partial_fit(X[1::2], y[1::2]).components_
        )


def error_by_hand(X, y):
    """Leave-one-out errors, mean over the votes; the nearest decides a tie."""
    distance = cdist(X, X)
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1, kind="stable")
    errors = []
    for k in VOTES:
        for i, row in enumerate(order[:, :k]):
            labels = y[row].tolist()
            errors.append(max(labels, key=lambda c: (labels.count(c), -labels.index(c))) != y[i])
    return np.mean(errors)


class TestChoice:
    def test_errors_are_those_of_leaving_one_out(self, rng):
        for X, y in (IRIS, WINE, (rng.normal(size=(50, 2)), rng.integers(3, size=50))):
            assert neighbor_error(X, y) == pytest.approx(error_by_hand(X, y))

    def test_a_sample_never_votes_for_itself_where_many_are_equal(self):
        X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
        assert neighbor_error(X, y) == 0
        lonely = np.where(np.arange(20) == 3, 1, y)
        assert neighbor_error(X, lonely) >= 1 / 20

    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_few_samples(self, n, rng):
        assert 0 <= neighbor_error(rng.normal(size=(n, 2)), np.arange(n) % 2) <= 1

    @pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
    def test_has_the_fewest_errors(self, data):
        X, y = data
        errors = [neighbor_error(measure_units(name, X, y).scaled(X), y) for name in UNITS]
        assert FrobMetric(C=10).fit(X, y).units_ == UNITS[int(np.argmin(errors))]

    def test_equal_errors_take_the_simplest(self):
        X, y = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), np.repeat([0, 1], 3)
        with pytest.warns(UserWarning, match="classes with fewer"):
            assert FrobMetric(C=10).fit(X, y).units_ == "raw"

    def test_hostile_units_are_recovered(self):
        X, y = IRIS
        plain = FrobMetric(C=10, tol=1e-6).fit(X, y)
        hostile = FrobMetric(C=10, tol=1e-6).fit(X * HOSTILE, y)
        assert hostile.units_ != "raw"
        named = FrobMetric(C=10, tol=1e-6, units=hostile.units_).fit(X, y)
        found, expected = pdist(hostile.transform(X * HOSTILE)), pdist(named.transform(X))
        np.testing.assert_allclose(found, expected, atol=2e-2 * expected.max())
        assert plain.units_ in UNITS

    def test_by_triplets(self, rng):
        X = np.column_stack([rng.normal(size=60), 1e4 * rng.normal(size=60)])
        T = np.array([rng.choice(60, 3, replace=False) for _ in range(200)])
        near, far = (np.abs(X[T[:, 0], 0] - X[T[:, i], 0]) for i in (1, 2))
        T = np.where((near < far)[:, None], T, T[:, [0, 2, 1]])  # the small feature tells
        assert FrobMetric(C=10).fit(X, triplets=T).units_ == "deviation"
        assert FrobMetric(C=10).fit(X * [1e8, 1], triplets=T).units_ == "raw"
        with pytest.raises(ValueError, match="units='within' are computed from classes"):
            FrobMetric(units="within").fit(X, triplets=T)

    def test_random_labels_look_random(self, rng):
        X, y = rng.normal(size=(200, 4)), rng.integers(3, size=200)
        assert labels_look_random(Units(), Samples(X, y, None, {}))
        X[:, 0] += 3 * y
        assert not labels_look_random(Units(), Samples(X, y, None, {}))
        assert not labels_look_random(Units(), Samples(X, None, None, {}))

    @settings(max_examples=50, deadline=None)
    @given(y=st.lists(st.integers(0, 4), min_size=1, max_size=200), most=st.integers(1, 100))
    def test_rows_of_a_choice_keep_the_shares_of_classes(self, y, most):
        y = np.array(y)
        rows = spread_rows(y, most)
        assert len(rows) == len(np.unique(rows)) <= max(most, 1) + 1
        assert (np.diff(rows) > 0).all()
        for label in np.unique(y):
            share = np.sum(y == label) * min(1, most / len(y))
            assert abs(np.sum(y[rows] == label) - share) <= 1


class TestWarnings:
    """One feature of raw ones that rules all distances is named."""

    def test_names_the_feature(self):
        X, y = WINE
        with pytest.warns(UserWarning, match="feature 12 has 99.8% .* give units='auto'"):
            FrobMetric(C=10, units="raw").fit(X, y)
        frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(13)])
        with pytest.warns(UserWarning, match="feature 'f12' has 99.8%"):
            FrobMetric(C=10, units="raw", prior="identity").fit(frame, y)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"units": "deviation"},
            {"prior": "within", "units": "raw"},
            {"prior": np.eye(13), "units": "raw"},
            {"kernel": "rbf", "units": "raw"},
        ],
        ids=str,
    )
    def test_only_where_units_are_raw_by_choice(self, options):
        FrobMetric(C=10, **options).fit(*WINE)  # warnings are errors

    @pytest.mark.parametrize("factor", [1e-200, 1e200])
    def test_neither_overflows_nor_warns_of_even_features(self, factor):
        assert FrobMetric(C=10, units="raw").fit(IRIS[0] * factor, IRIS[1]).units_ == "raw"

    def test_sparse_samples(self, rng):
        X = rng.random((60, 5)) * (rng.random((60, 5)) < 0.5) * [1, 1, 1, 1e3, 1]
        with pytest.warns(UserWarning, match="feature 3 has 100.0%"):
            FrobMetric(C=10, units="raw").fit(sp.csr_array(X), (X[:, 3] > 300).astype(int))


class TestPriors:
    """Priors have units of their own; matrices and kernels take features as they are."""

    @pytest.mark.parametrize("prior", ["within", "shrunk", "discriminant", "covariance"])
    def test_whitening_priors_take_raw_features(self, prior):
        assert FrobMetric(C=10, prior=prior).fit(*WINE).units_ == "raw"

    def test_the_diagonal_one_is_the_identity_within_classes(self):
        X, y = WINE
        diagonal = FrobMetric(C=10, prior="diagonal").fit(X, y)
        within = FrobMetric(C=10, units="within", prior="identity").fit(X, y)
        assert diagonal.units_ == "within"
        np.testing.assert_array_equal(diagonal.components_, within.components_)
        T = mine_triplets(X, y)
        assert FrobMetric(C=10, prior="diagonal").fit(X, triplets=T).units_ == "deviation"

    def test_without_learning_it_is_one_over_the_variances(self):
        X, y = WINE
        M = FrobMetric(C=1e-9, prior="diagonal").fit(X, y).get_mahalanobis_matrix()
        expected = np.diag(1 / within_deviation(X, y) ** 2)
        ratio = np.diag(M) / np.diag(expected)
        np.testing.assert_allclose(M / ratio[0], expected, rtol=1e-4, atol=1e-6 * expected.max())

    @pytest.mark.parametrize(
        ("options", "kind"),
        [({"kernel": "rbf"}, "a kernel"), ({"prior": np.eye(4)}, "a prior matrix")],
        ids=["kernel", "matrix"],
    )
    def test_others_take_the_features_as_they_are(self, options, kind):
        assert FrobMetric(C=10, **options).fit(*IRIS).units_ == "raw"
        with pytest.raises(ValueError, match=f"units='deviation' was given with {kind}"):
            FrobMetric(C=10, units="deviation", **options).fit(*IRIS)

    def test_unknown_units_are_refused(self):
        with pytest.raises(ValueError, match="'units' parameter of FrobMetric must be one of"):
            FrobMetric(units="metres").fit(*IRIS)


def test_one_problem_of_the_triplets_of_all_passes(rng):
    """In scaled units, with the Euclidean metric of all triplets as the prior: against cvxpy."""
    X, y = rng.normal(size=(12, 3)) * [1e-2, 1.0, 30.0], np.arange(12) % 2
    options = {"units": "deviation", "prior": "identity", "C": 3.0, "tol": 1e-9, "n_neighbors": 2}
    one = FrobMetric(n_passes=1, **options).fit(X, y)
    two = FrobMetric(n_passes=2, keep_dual=True, **options).fit(X, y)
    Z = X / X.std(axis=0)
    first = mine_triplets(Z, y, n_neighbors=2).to_array()
    second = mine_triplets(one.transform(X), y, n_neighbors=2).to_array()
    T = np.vstack([second, first])
    np.testing.assert_array_equal(two.triplets_.to_array(), T)
    best, M = cvxpy_optimum(Z, T, 3.0, prior=euclidean_prior(Z, T))
    scaled = FrobMetric(units="raw", prior="identity", C=3.0, tol=1e-9).fit(Z, triplets=T)
    assert_optimal(scaled, best, M)
    assert two.certificate_.primal == pytest.approx(best, rel=1e-5)
    np.testing.assert_allclose(pdist(two.transform(X)), pdist(scaled.transform(Z)), atol=1e-3)


@pytest.mark.parametrize("n", [1, 7, 1999, 2000, 2001, 3999, 4001, 4999, 7501, 10_500])
def test_rows_are_spread_evenly_over_the_classes(n):
    y = np.random.default_rng(n).choice(3, size=n, p=[0.6, 0.3, 0.1])
    rows = spread_rows(y, 2000)
    assert len(rows) == min(n, 2000) == len(np.unique(rows))
    shares = np.bincount(y[rows], minlength=3) / len(rows)
    np.testing.assert_allclose(shares, np.bincount(y, minlength=3) / n, atol=2e-3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["deviation", "within"])
def test_another_origin_changes_no_bit(name, seed):
    """Ties among integers must not be decided by the rounding of weights."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, (80, 4)), rng.integers(0, 2, 80)
    weight, far = (measure_units(name, X + shift, y).weight for shift in (0, 10**6))
    np.testing.assert_array_equal(weight, far)


@pytest.mark.filterwarnings("ignore:the learned metric satisfies")
@pytest.mark.parametrize("seed", range(6))
def test_another_origin_gives_the_same_metric(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, (80, 4)), rng.integers(0, 2, 80)
    first, far = (FrobMetric(C=10).fit(X + shift, y) for shift in (0, 10**6))
    np.testing.assert_array_equal(first.get_mahalanobis_matrix(), far.get_mahalanobis_matrix())
