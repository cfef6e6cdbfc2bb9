import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from changed_maps import forge
from frobmetric import FrobMetric, mine_triplets
from frobmetric.exceptions import CertificateError
from frobmetric.learning.problem import LOSSES
from frobmetric.neighbors import knn_error
from paper_problem import assert_optimal, cvxpy_optimum, paper_metric

IRIS = load_iris(return_X_y=True)
IRIS[0][142, 0] += 0.1  # otherwise equal to row 101


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], X[600:1200], y[600:1200]


def error_with(metric, X, y, X_test, y_test):
    return knn_error(metric.transform(X), y, metric.transform(X_test), y_test)


def test_the_metric_of_the_paper_is_better_than_euclid(digits):
    metric = paper_metric(C=1e4).fit(*digits[:2])
    assert metric.certificate_.relative_gap <= 1e-3
    assert error_with(metric, *digits) < knn_error(*digits)


def test_the_defaults_are_better_than_euclid_on_raw_and_on_scaled_features(rng):
    """One feature of 21 tells the classes apart, and another has large numbers."""
    y = rng.integers(2, size=600)
    X = np.column_stack([4 * y + rng.normal(size=600), rng.normal(size=(600, 20))])
    X[:, 7] *= 1000
    parts = (X[:300], y[:300], X[300:], y[300:])
    learned = error_with(FrobMetric().fit(*parts[:2]), *parts)
    for scaler in (FunctionTransformer(), StandardScaler()):
        euclidean = error_with(scaler.fit(X[:300]), *parts)
        assert learned < 0.7 * euclidean


def test_defaults():
    metric = FrobMetric()
    assert (metric.units, metric.prior, metric.C) == ("auto", None, 1000)
    assert (metric.n_neighbors, metric.n_impostors, metric.n_passes) == (3, None, 2)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_certified(loss):
    metric = FrobMetric(loss=loss, C=100, tol=1e-5).fit(*IRIS)
    assert metric.status_ == "optimal"
    assert metric.certificate_.relative_gap <= 1e-5
    assert metric.certificate_.gap >= 0


def test_labels_and_their_triplets_give_the_same_metric():
    X, y = IRIS
    from_labels = paper_metric(C=10, tol=1e-7).fit(X, y)
    from_rows = paper_metric(C=10, tol=1e-7).fit(X, triplets=mine_triplets(X, y).to_array())
    from_blocks = paper_metric(C=10, tol=1e-7).fit(X, triplets=mine_triplets(X, y))
    assert from_labels.n_triplets_ == from_rows.n_triplets_ == 1350
    for other in (from_rows, from_blocks):
        distance = other.get_mahalanobis_matrix() - from_labels.get_mahalanobis_matrix()
        bound = other.certificate_.distance_bound + from_labels.certificate_.distance_bound
        assert np.linalg.norm(distance) * other.scale_**2 <= bound < 0.01


def test_a_weight_of_two_is_the_triplet_twice():
    X, y = IRIS
    T = mine_triplets(X, y).to_array()[::7]
    weight = np.where(np.arange(len(T)) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([T, T[weight == 2]])
    options = {"C": 10, "tol": 1e-9, "max_iter": 10_000, "loss": "squared_hinge"}
    weighted = paper_metric(**options).fit(X, triplets=T, triplet_weight=weight)
    repeated = paper_metric(**options).fit(X, triplets=twice)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(
        weighted.get_mahalanobis_matrix(), repeated.get_mahalanobis_matrix(), rtol=1e-3, atol=1e-5
    )


def test_the_metric_serves_a_nearest_neighbor_search():
    X, y = IRIS
    metric = FrobMetric().fit(X, y)
    by_function = KNeighborsClassifier(3, metric=metric.get_metric()).fit(X, y)
    by_transform = make_pipeline(FrobMetric(), KNeighborsClassifier(3)).fit(X, y)
    np.testing.assert_array_equal(by_function.predict(X), by_transform.predict(X))
    assert pickle.loads(pickle.dumps(metric.get_metric()))(X[0], X[1]) > 0


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000), n=st.integers(6, 30), d=st.integers(1, 40), C=st.floats(1e-3, 1e4)
)
def test_any_small_data_set_is_certified(seed, n, d, C):
    """More features than samples, one feature, duplicates: the gap is always proven."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2] = X[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "classes with fewer|the learned metric is zero")
        metric = FrobMetric(C=C, keep_dual=True, max_iter=5000).fit(X, np.arange(n) % 2)
    assert metric.certificate_.relative_gap <= 1e-3
    assert metric.certify(X).relative_gap <= 1.001e-3
    assert np.linalg.eigvalsh(metric.get_mahalanobis_matrix())[0] >= -1e-9


def test_same_data_same_bits(digits):
    X, y = digits[:2]
    first, *others = (
        FrobMetric(n_jobs=1).fit(Z, y) for Z in (X, X, np.asfortranarray(X), pd.DataFrame(X))
    )
    for other in others:
        np.testing.assert_array_equal(first.components_, other.components_)
        assert first.certificate_ == other.certificate_


def test_nothing_of_the_data_is_kept(digits):
    X, y = digits[:2]
    metric = FrobMetric().fit(X, y)
    assert metric.components_.size == 64 * 64
    assert len(pickle.dumps(metric)) < 100_000
    assert not hasattr(metric, "dual_coef_")


def test_a_prior_pulls_the_metric():
    X, y = IRIS
    prior = 3 * np.eye(4)
    close = FrobMetric(C=1e-6, prior=prior).fit(X, y)
    np.testing.assert_allclose(close.get_mahalanobis_matrix(), prior, atol=1e-4)
    free = FrobMetric(C=1e4, prior=prior).fit(X, y)
    assert np.linalg.norm(free.get_mahalanobis_matrix() - prior) > 1


def test_passes_add_their_triplets():
    X, y = IRIS
    one, two, three = (FrobMetric(n_passes=n, keep_dual=True).fit(X, y) for n in (1, 2, 3))
    for before, after in ((one, two), (two, three)):
        mined = mine_triplets(before.transform(X), y).to_array()
        old, found = before.triplets_.to_array(), after.triplets_.to_array()
        np.testing.assert_array_equal(found[len(mined) :], old)
        agree = np.sort(found[: len(mined)], axis=0) == np.sort(mined, axis=0)
        assert agree.mean() > 0.99
        assert not np.allclose(before.components_, after.components_)
        assert after.certify(X).relative_gap <= 1e-3


def test_the_problem_of_two_passes_against_cvxpy(rng):
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    options = {"C": 3.0, "tol": 1e-9, "n_neighbors": 2}
    first = mine_triplets(X, y, n_neighbors=2).to_array()
    one = paper_metric(**options).fit(X, y)
    assert_optimal(one, *cvxpy_optimum(X, first, 3.0))
    second = mine_triplets(one.transform(X), y, n_neighbors=2).to_array()
    two = paper_metric(**options | {"n_passes": 2}).fit(X, y)
    assert_optimal(two, *cvxpy_optimum(X, np.vstack([first, second]), 3.0))


class TestCertify:
    """`certify` proves the kept answer again, and is not fooled."""

    @pytest.fixture
    def kept(self):
        return FrobMetric(keep_dual=True, n_components=3).fit(*IRIS)

    def test_reproduces_the_certificate(self, kept):
        again = kept.certify(IRIS[0])
        assert again.relative_gap == pytest.approx(kept.certificate_.relative_gap, rel=1e-6)
        assert kept.dual_coef_.shape == (kept.n_triplets_,)

    def test_notices_other_components(self, kept):
        forge(kept, "components", kept.components_ * 1.01)
        with pytest.raises(CertificateError, match="components_ differ"):
            kept.certify(IRIS[0])

    def test_notices_other_dual_variables(self, kept):
        forge(kept, "evidence.u", kept.dual_coef_ * 0.9)
        with pytest.raises(CertificateError):
            kept.certify(IRIS[0])

    def test_notices_other_data(self, kept):
        with pytest.raises(CertificateError, match="other data"):
            kept.certify(IRIS[0][::-1])
        with pytest.raises(ValueError, match="out of range"):
            kept.certify(IRIS[0][:100])


def test_contradictory_triplets_give_zero_and_say_so():
    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.warns(UserWarning, match="the learned metric is zero"):
        metric = FrobMetric(n_components="rank").fit(X, triplets=np.array([[0, 2, 1]]))
    assert metric.rank_ == 0
    np.testing.assert_array_equal(metric.transform(X), 0)


@pytest.mark.parametrize("options", [{}, {"n_passes": 1}, {"loss": "squared_hinge"}], ids=str)
def test_labels_that_are_noise_are_said(rng, options):
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    with pytest.warns(UserWarning, match=r"satisfies \d+% of its triplets, where chance has 50%"):
        metric = FrobMetric(**options).fit(X, y)
    assert metric.status_ == "optimal"  # of the optimisation


def test_labels_that_are_noise_are_said_where_features_are_many(rng):
    """A metric of many features satisfies more triplets of noise; neighbours still tell nothing."""
    X, y = rng.normal(size=(200, 8)), rng.integers(2, size=200)
    with pytest.warns(UserWarning, match=r"chance has 50%: .* no more about its class than its"):
        FrobMetric(units="raw").fit(X, y)


def test_metadata_routing_is_declared():
    X, y = IRIS
    T = mine_triplets(X, y).to_array()
    with sklearn.config_context(enable_metadata_routing=True):
        metric = FrobMetric().set_fit_request(triplets=True, triplet_weight=True)
        pipe = make_pipeline(metric).fit(X, triplets=T, triplet_weight=np.ones(len(T)))
    assert pipe[-1].n_triplets_ == len(T)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"C": 0}, "'C' parameter of FrobMetric must be a positive finite number. Got 0"),
        ({"C": np.nan}, "must be a positive finite number. Got nan"),
        ({"C": "big"}, "Got 'big' instead"),
        ({"tol": -1}, "'tol' parameter"),
        ({"n_neighbors": 0}, "must be an integer of at least 1. Got 0"),
        ({"n_neighbors": 2.5}, "must be an integer"),
        ({"n_impostors": 0}, "'n_impostors' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"n_passes": 0}, "'n_passes' parameter"),
        ({"n_components": 5}, "n_components=5 is larger than the 4 features"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_components": "all"}, r"one of \['rank'\]"),
        ({"loss": "log"}, r"one of \['hinge', 'smoothed_hinge', 'squared_hinge'\]. Got 'log'"),
        ({"solver": "simplex"}, "lbfgsb"),
        ({"prior": np.eye(3)}, r"prior has shape \(3, 3\); X has 4 features"),
        ({"prior": np.triu(np.ones((4, 4)))}, "prior is not symmetric"),
        ({"prior": -np.eye(4)}, "prior has the eigenvalue -1"),
        ({"prior": np.full((4, 4), np.nan)}, "prior contains NaN"),
    ],
)
def test_bad_parameters_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        FrobMetric(**options).fit(*IRIS)


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.full((6, 2), np.nan), [0, 1] * 3, "NaN"),
        (np.full((6, 2), np.inf), [0, 1] * 3, "infinity"),
        (np.ones((6, 2)), [0, 1] * 3, "all rows of X are equal"),
        (np.eye(6), [0, 1], "inconsistent"),
        (np.eye(6), np.linspace(0, 1, 6), "Unknown label type"),
        (np.eye(6), [1] * 6, "one class"),
        (np.ones((2, 3)), [1, 1], "all rows of X are equal"),
        (np.eye(6), None, "requires y"),
        (np.eye(6), ["a", "b", "c", "d", "e", "f"], "no triplet can be formed"),
        (np.ones(6), [0, 1] * 3, "Expected 2D array"),
    ],
)
@pytest.mark.filterwarnings("ignore:classes with fewer")
def test_bad_data_are_refused(X, y, match):
    with pytest.raises(ValueError, match=match):
        FrobMetric().fit(X, y)


def test_arguments_that_exclude_each_other():
    X, y = IRIS
    with pytest.raises(ValueError, match="triplet_weight was given without triplets"):
        FrobMetric().fit(X, y, triplet_weight=[1.0])
    with pytest.raises(ValueError, match="out of range"):
        FrobMetric().fit(X, triplets=[[0, 1, 150]])
