"""Labels and comparisons in one fit, and updates of a metric with new samples."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from changed_maps import forge
from frobmetric import BoostMetric, FrobMetric, FrobMetricCV, frob_path, mine_triplets
from frobmetric.exceptions import CertificateError
from frobmetric.learning.coordinates import unit_mean_square
from paper_problem import assert_optimal, cvxpy_optimum, paper_metric

X, Y = load_iris(return_X_y=True)
X[142, 0] += 0.1  # otherwise equal to row 101
GIVEN = np.array([[0, 1, 60], [0, 51, 101], [60, 61, 120], [120, 3, 70], [99, 98, 149]])
TIGHT = {"C": 10, "tol": 1e-8, "max_iter": 5000}


class TestLabelsAndTriplets:
    @pytest.mark.parametrize("pull", [0.0, 0.2])
    def test_the_optimum_of_both(self, rng, pull):
        """The weights of all rows sum to one; given rows have theirs, mined ones weigh 1."""
        samples, labels = rng.normal(size=(12, 3)), np.arange(12) % 2
        given, weight = np.array([[0, 2, 5], [3, 8, 1], [7, 6, 4]]), np.array([4.0, 1.0, 0.5])
        mined = mine_triplets(samples, labels, n_neighbors=2).to_array()
        best, M = cvxpy_optimum(
            samples, np.vstack([mined, given]), 3.0, np.r_[np.ones(len(mined)), weight], pull=pull
        )
        metric = paper_metric(n_neighbors=2, C=3.0, tol=1e-8, pull=pull)
        metric.fit(samples, labels, triplets=given, triplet_weight=weight)
        assert metric.n_triplets_ == len(mined) + 3
        assert_optimal(metric, best, M)

    def test_a_given_triplet_counts_as_much_as_a_mined_one(self):
        mined = mine_triplets(X, Y).to_array()
        both = paper_metric(**TIGHT).fit(X, Y, triplets=GIVEN)
        listed = paper_metric(**TIGHT).fit(X, triplets=np.vstack([mined, GIVEN]))
        assert both.certificate_.primal == pytest.approx(listed.certificate_.primal, rel=1e-6)
        np.testing.assert_allclose(
            both.get_mahalanobis_matrix(), listed.get_mahalanobis_matrix(), atol=1e-3
        )

    def test_a_weight_of_ten_is_the_triplet_ten_times(self):
        heavy = paper_metric(**TIGHT).fit(X, Y, triplets=GIVEN, triplet_weight=np.full(5, 10.0))
        often = paper_metric(**TIGHT).fit(X, Y, triplets=np.tile(GIVEN, (10, 1)))
        assert heavy.certificate_.primal == pytest.approx(often.certificate_.primal, rel=1e-6)

    def test_heavy_triplets_outweigh_the_labels(self, rng):
        """Labels are of the first feature, comparisons of the second."""
        samples = rng.normal(size=(60, 2))
        labels = (samples[:, 0] > 0).astype(int)
        T = np.array([rng.choice(60, 3, replace=False) for _ in range(100)])
        near, far = (np.abs(samples[T[:, 0], 1] - samples[T[:, i], 1]) for i in (1, 2))
        T = np.where((near < far)[:, None], T, T[:, [0, 2, 1]])

        def ratio(weight):
            M = (
                paper_metric(C=10)
                .fit(samples, labels, triplets=T, triplet_weight=np.full(100, weight))
                .get_mahalanobis_matrix()
            )
            return M[1, 1] / M[0, 0]

        assert ratio(1e-3) < 0.5
        assert ratio(1e3) > 2

    def test_neighbour_lists_beside_labels(self):
        lists = paper_metric(**TIGHT).fit(X, Y, triplets=mine_triplets(X, Y, n_neighbors=1))
        rows = paper_metric(**TIGHT).fit(
            X, Y, triplets=mine_triplets(X, Y, n_neighbors=1).to_array()
        )
        assert lists.certificate_.primal == pytest.approx(rows.certificate_.primal, rel=1e-6)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"n_passes": 1},
            {"n_passes": 3},
            {"units": "within"},
            {"prior": None},
            {"prior": "within"},
            {"prior": "shrunk"},
            {"prior": "diagonal"},
            {"prior": np.eye(4)},
            {"pull": 0.1},
            {"kernel": "rbf"},
            {"loss": "squared_hinge"},
        ],
        ids=str,
    )
    def test_certify(self, options):
        metric = FrobMetric(C=10, keep_dual=True, **options).fit(X, Y, triplets=GIVEN)
        assert metric.certify(X).relative_gap <= 1e-3
        np.testing.assert_array_equal(metric.triplets_.to_array()[-5:], GIVEN)
        assert metric.dual_coef_.shape == (metric.n_passes * 1350 + 5,)

    def test_passes_keep_what_was_given(self):
        one = FrobMetric(keep_dual=True, n_passes=1).fit(X, Y, triplets=GIVEN)
        two = FrobMetric(keep_dual=True, n_passes=2).fit(X, Y, triplets=GIVEN)
        again = mine_triplets(one.transform(X), Y).to_array()
        found = two.triplets_.to_array()
        np.testing.assert_array_equal(found[len(again) :], one.triplets_.to_array())
        new = np.sort(found[: len(again)], axis=0)
        assert np.mean(new == np.sort(again, axis=0)) > 0.99
        np.testing.assert_array_equal(found[-5:], GIVEN)

    def test_the_path_has_the_same_problems(self):
        path = frob_path(X, Y, Cs=[1, 30], triplets=GIVEN, tol=1e-6)
        assert path.n_triplets == 1355
        for point in path.points:
            fit = FrobMetric(C=point.C, tol=1e-6, n_passes=1).fit(X, Y, triplets=GIVEN)
            assert point.certificate.primal == pytest.approx(fit.certificate_.primal, rel=1e-5)

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            ({"triplets": [[0, 1, 150]]}, r"triplets\[0\] = \(0, 1, 150\) is out of range"),
            ({"triplets": GIVEN, "triplet_weight": [1.0]}, "triplet_weight has shape"),
            ({"triplets": GIVEN, "triplet_weight": -np.ones(5)}, "must be non-negative"),
            ({"triplet_weight": np.ones(5)}, "triplet_weight was given without triplets"),
        ],
    )
    def test_bad_input(self, arguments, match):
        with pytest.raises(ValueError, match=match):
            FrobMetric().fit(X, Y, **arguments)


class TestPartialFit:
    def test_without_an_earlier_fit_it_is_fit(self):
        one, other = FrobMetric(C=10).fit(X, Y), FrobMetric(C=10).partial_fit(X, Y)
        np.testing.assert_array_equal(one.components_, other.components_)
        assert not hasattr(other, "prior_components_")
        triplets = FrobMetric(C=10).partial_fit(X, triplets=GIVEN, triplet_weight=np.ones(5))
        assert triplets.n_triplets_ == 5

    def test_the_old_metric_is_the_prior(self):
        updated = paper_metric(**TIGHT).fit(X[::2], Y[::2])
        old = updated.get_mahalanobis_matrix()
        updated.partial_fit(X[1::2], Y[1::2])
        ratio = unit_mean_square(X[1::2])[1] / updated.unit_
        assert updated.unit_ == unit_mean_square(X[::2])[1]
        options = TIGHT | {"C": TIGHT["C"] * ratio**4}
        fresh = paper_metric(prior=old, **options).fit(X[1::2], Y[1::2])
        assert updated.certificate_.primal == pytest.approx(
            fresh.certificate_.primal / ratio**4, rel=1e-6
        )
        np.testing.assert_allclose(
            updated.get_mahalanobis_matrix(), fresh.get_mahalanobis_matrix(), atol=1e-3
        )
        P = updated.prior_components_
        np.testing.assert_allclose(P.T @ P, old, atol=1e-12)

    def test_the_optimum_against_cvxpy(self, rng):
        samples = rng.normal(size=(14, 4))
        first = np.array([[0, 1, 2], [3, 4, 5], [6, 0, 3]])
        second = np.array([[1, 5, 6], [0, 4, 2]])
        metric = paper_metric(C=2.0, tol=1e-9).fit(samples[:7], triplets=first)
        old = metric.get_mahalanobis_matrix()
        metric.partial_fit(samples[7:], triplets=second, triplet_weight=[2.0, 1.0])
        expected = cvxpy_optimum(
            samples[7:], second, 2.0, [2.0, 1.0], prior=old, unit=unit_mean_square(samples[:7])[1]
        )
        assert_optimal(metric, *expected)

    def test_wide_data_are_updated_in_the_span_of_old_and_new(self, rng):
        """Against the problem over all features."""
        samples = rng.normal(size=(10, 16))
        T = np.array([[0, 1, 2], [3, 4, 0], [2, 3, 1]])
        metric = paper_metric(C=3.0, tol=1e-9, n_components="rank").fit(samples[:5], triplets=T)
        old, rank = metric.get_mahalanobis_matrix(), metric.rank_
        metric.partial_fit(samples[5:], triplets=T)
        assert metric.n_directions_ == 4 + rank < 16  # the mean of the samples is zero
        unit = unit_mean_square(samples[:5])[1]
        assert_optimal(metric, *cvxpy_optimum(samples[5:], T, 3.0, prior=old, unit=unit))

    @pytest.mark.parametrize("C", [1e-7, 1e4])
    def test_the_larger_c_the_more_the_new_samples_count(self, C):
        metric = FrobMetric(C=10).fit(X, Y)
        old = metric.get_mahalanobis_matrix()
        metric.set_params(C=C).partial_fit(X[::-1], triplets=149 - GIVEN)
        change = np.linalg.norm(metric.get_mahalanobis_matrix() - old) / np.linalg.norm(old)
        assert change < 1e-3 if C < 1 else change > 0.1

    def test_certify_knows_the_old_metric(self):
        metric = FrobMetric(C=10, keep_dual=True, prior="within").fit(X[::2], Y[::2])
        metric.partial_fit(X[1::2], Y[1::2], triplets=[[0, 25, 50], [60, 1, 35]])
        certificate = metric.certify(X[1::2])
        assert certificate.primal == pytest.approx(metric.certificate_.primal, rel=1e-6)
        assert not hasattr(metric, "prior_factor_")
        with pytest.raises(CertificateError):
            metric.certify(X[::2])
        forge(metric, "space.prior_components", 2 * metric.prior_components_)
        with pytest.raises(CertificateError):
            metric.certify(X[1::2])

    def test_a_new_fit_forgets(self):
        metric = FrobMetric(C=10).fit(X, Y).partial_fit(X, Y).fit(X, Y)
        assert not hasattr(metric, "prior_components_")
        np.testing.assert_array_equal(metric.components_, FrobMetric(C=10).fit(X, Y).components_)

    def test_many_small_updates_end_near_one_fit(self, rng):
        order = rng.permutation(150)
        metric = FrobMetric(C=100)
        for part in np.array_split(order, 3):
            metric.partial_fit(X[part], Y[part])
        whole = FrobMetric(C=100).fit(X, Y)
        a, b = pdist(metric.transform(X)), pdist(whole.transform(X))
        assert np.corrcoef(a, b)[0, 1] > 0.9

    def test_an_update_of_a_metric_that_is_zero(self):
        line = np.array([[0.0], [1.0], [2.0]])
        with pytest.warns(UserWarning, match="the learned metric is zero"):
            metric = FrobMetric(C=1).fit(line, triplets=[[0, 2, 1]])
        metric.partial_fit(line, triplets=[[0, 1, 2]])
        fresh = FrobMetric(C=1).fit(line, triplets=[[0, 1, 2]])
        np.testing.assert_allclose(metric.components_, fresh.components_, atol=1e-6)

    def test_a_truncated_metric_is_updated_as_it_stands(self):
        metric = FrobMetric(C=10, n_components=1).fit(X, Y)
        old = metric.get_mahalanobis_matrix()
        metric.set_params(C=1e-9).partial_fit(X, Y)
        np.testing.assert_allclose(metric.get_mahalanobis_matrix(), old, atol=1e-5)

    def test_single_precision(self):
        metric = FrobMetric(C=10).fit(X.astype(np.float32), Y)
        metric.partial_fit(X.astype(np.float32), Y)
        assert metric.components_.dtype == np.float32

    def test_bad_input_leaves_the_metric(self):
        metric = FrobMetric(C=10).fit(X, Y)
        before = metric.components_.copy()
        with pytest.raises(ValueError, match="expecting 4 features"):
            metric.partial_fit(X[:, :3], Y)
        with pytest.raises(ValueError, match="triplet_weight was given without triplets"):
            metric.partial_fit(X, Y, triplet_weight=[1.0])
        with pytest.raises(ValueError, match="one class"):
            metric.partial_fit(X[:50], Y[:50])
        np.testing.assert_array_equal(metric.components_, before)

    @pytest.mark.parametrize(
        "estimator",
        [
            FrobMetric(C=10, keep_dual=True),
            FrobMetric(C=10, keep_dual=True, prior="within"),
            FrobMetric(C=10, keep_dual=True, kernel="rbf"),
            BoostMetric(keep_dual=True),
        ],
        ids=str,
    )
    def test_an_error_inside_leaves_all_as_it_was(self, estimator):
        metric = clone(estimator).fit(X, Y)
        before, parameters = vars(metric).copy(), metric.get_params()
        for setting, arguments, words in [
            ({"n_components": 200}, (X[::2], Y[::2]), "n_components=200 is larger"),
            ({}, (X[:4], np.zeros(4, dtype=int)), "class"),
            ({}, (X[:4, :2], np.zeros(4, dtype=int)), "class"),
            ({}, (np.ones((4, 4)), [0, 0, 1, 1]), "all rows of X are equal"),
        ]:
            with pytest.raises(ValueError, match=words):
                metric.set_params(**setting).fit(*arguments)
            metric.set_params(**parameters)
            assert vars(metric).keys() == before.keys()
            assert all(vars(metric)[name] is value for name, value in before.items())
        assert metric.certify(X).relative_gap <= 1.001e-3

    def test_an_error_inside_an_update_leaves_all_as_it_was(self):
        metric = FrobMetric(C=10, keep_dual=True).fit(X, Y)
        before = vars(metric).copy()
        for samples, arguments, words in [
            (X[:4], {"y": [0, 0, 0, 0]}, "one class"),
            (np.ones((4, 4)), {"y": [0, 0, 1, 1]}, "all rows of X are equal"),
            (X, {"triplets": [[0, 1, 150]]}, "is out of range"),
        ]:
            with pytest.raises(ValueError, match=words):
                metric.partial_fit(samples, **arguments)
            assert vars(metric).keys() == before.keys()
            assert all(vars(metric)[name] is value for name, value in before.items())
        assert metric.certify(X).relative_gap <= 1.001e-3

    def test_an_interrupted_update_keeps_its_answer(self):
        def press_ctrl_c(step):
            raise KeyboardInterrupt

        metric = FrobMetric(C=10).fit(X[::2], Y[::2])
        with pytest.raises(KeyboardInterrupt):
            metric.set_params(callback=press_ctrl_c, tol=1e-12, keep_dual=True).partial_fit(
                X[1::2], Y[1::2]
            )
        assert metric.status_ == "interrupted"
        proof = metric.certify(X[1::2])
        assert proof.primal == pytest.approx(metric.certificate_.primal, rel=1e-9)

    def test_the_unit_is_that_of_the_first_fit(self):
        metric = FrobMetric(C=10).fit(X, Y)
        unit = metric.unit_
        assert unit == metric.scale_ == unit_mean_square(X)[1]
        for factor in (0.5, 3.0):
            metric.partial_fit(factor * X, Y)
            assert metric.unit_ == metric.scale_ == unit
        assert metric.fit(2 * X, Y).unit_ == pytest.approx(2 * unit, rel=1e-14)
        named = FrobMetric(C=10, prior="within").fit(X, Y)
        assert named.unit_ == pytest.approx(unit, rel=1e-14)
        assert named.scale_ != named.unit_

    def test_samples_that_no_triplet_names_hardly_change_an_update(self):
        near, far = (FrobMetric(**TIGHT).fit(X, Y) for _ in range(2))
        old = near.get_mahalanobis_matrix()
        near.partial_fit(X, triplets=GIVEN)
        far.partial_fit(np.vstack([X, np.full((1, 4), 1e4)]), triplets=GIVEN)
        a, b = near.get_mahalanobis_matrix(), far.get_mahalanobis_matrix()
        assert np.linalg.norm(a - b) < 1e-2 * np.linalg.norm(a - old)

    def test_not_fitted_means_not_fitted(self):
        with pytest.raises(NotFittedError):
            FrobMetric().get_metric()

    @settings(max_examples=15, deadline=None)
    @given(seed=st.integers(0, 10_000), n=st.integers(6, 20), d=st.integers(1, 30))
    def test_every_update_is_certified(self, seed, n, d):
        rng = np.random.default_rng(seed)
        y = np.arange(n) % 2
        metric = FrobMetric(C=10, keep_dual=True, max_iter=5000)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "classes with fewer|the learned metric is zero")
            for _ in range(2):
                samples = rng.normal(size=(n, d))
                metric.partial_fit(samples, y)
        assert metric.certificate_.relative_gap <= 1e-3
        assert metric.certify(samples).relative_gap <= 1.001e-3


@pytest.mark.filterwarnings(
    "ignore:the best C is|the learned metric does not help|the chosen metric has"
)
class TestChosenOptions:
    """FrobMetricCV chooses its options once; an update keeps the choice."""

    def test_an_update_uses_the_chosen_values(self):
        metric = FrobMetricCV(Cs=[1, 100], cv=2).partial_fit(X[::2], Y[::2])
        chosen, report = metric.best_params_, metric.report_
        plain = FrobMetric(**chosen).fit(X[::2], Y[::2])
        np.testing.assert_array_equal(metric.components_, plain.components_)
        metric.partial_fit(X[1::2], Y[1::2])
        assert metric.best_params_ == chosen
        assert metric.report_ is report
        np.testing.assert_array_equal(
            metric.components_, plain.partial_fit(X[1::2], Y[1::2]).components_
        )
        assert metric.certificate_ == plain.certificate_

    def test_triplets_can_update_it(self):
        metric = FrobMetricCV(Cs=[1, 100], cv=2, keep_dual=True).fit(X, Y)
        metric.partial_fit(X, triplets=GIVEN)
        assert metric.n_triplets_ == 5
        assert metric.certify(X).relative_gap <= 1e-3
        with pytest.raises(TypeError, match="triplets"):  # options are chosen by labels
            FrobMetricCV(Cs=[1, 100], cv=2).partial_fit(X, triplets=GIVEN)
