"""Metrics from triplets and quadruplets: against cvxpy, and as scikit-learn wants them."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from frobmetric import (
    CertificateError,
    FrobMetric,
    ObjectSplit,
    QuadrupletFrobMetric,
    TripletFrobMetric,
)
from frobmetric.metric.frob_problem import LOSSES

KINDS = {3: TripletFrobMetric, 4: QuadrupletFrobMetric}
EXACT = {"C": 10.0, "tol": 1e-7, "max_iter": 20_000}


def make(size=3, n=60, n_points=20, n_features=4, seed=0):
    """Points, and comparisons that a hidden metric answers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, n_features))
    T = np.array([rng.choice(n_points, size, replace=False) for _ in range(n)])
    return X, np.where((answers(X, T) > 0)[:, None], T, T[:, flip(size)])


def flip(size):
    return [0, 2, 1] if size == 3 else [2, 3, 0, 1]


def ends(T):
    """The near and the far pair of each comparison."""
    return T[:, :2], T[:, [2, 3] if T.shape[1] == 4 else [0, 2]]


def answers(X, T):
    weight = np.array([3.0, 1.0, 0.3] + [0.1] * (X.shape[1] - 3))
    near, far = (np.sum(((X[p[:, 0]] - X[p[:, 1]]) * weight) ** 2, axis=1) for p in ends(T))
    return far - near


def cvxpy_optimum(X, T, C, weight=None, prior=None, loss="hinge", pull=0.0):
    """The smallest value of the documented objective, written out in full."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    used = np.unique(X[np.unique(T)], axis=0)
    scale = np.sqrt(np.mean(np.sum((used - used.mean(axis=0)) ** 2, axis=1)))
    Z, D = X / scale, X.shape[1]
    near, far = (Z[p[:, 0]] - Z[p[:, 1]] for p in ends(T))
    near, far = (np.einsum("ri,rj->rij", d, d).reshape(len(T), -1) for d in (near, far))
    share = np.ones(len(T)) if weight is None else np.asarray(weight, dtype=float)
    share = C * share / share.sum()
    M = cp.Variable((D, D), PSD=True)
    short = cp.pos(1 - (far - near) @ cp.vec(M, order="C"))
    term = {"hinge": short, "squared_hinge": cp.square(short)}[loss]
    objective = cp.sum_squares(M - (0 if prior is None else prior * scale**2)) / 2 + share @ term
    objective += pull * share @ near @ cp.vec(M, order="C")
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    return best, M.value / scale**2


def check_optimal(metric, best, M):
    certificate, slack = metric.certificate_, 1e-6 * (1 + abs(best))
    assert metric.status_ == "optimal"
    assert certificate.dual - slack <= best <= certificate.primal + slack
    assert certificate.primal - best <= certificate.gap + slack
    error = np.linalg.norm(metric.get_mahalanobis_matrix() - M) * metric.scale_**2
    assert error <= certificate.distance_bound + 1e-3 * (1 + np.linalg.norm(M))


def outcome(metric, tuples):
    return [metric.components_, metric.decision_function(tuples), metric.predict(tuples),
            np.array(metric.score(tuples))]


def check_identical(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("setting", [
    {}, {"loss": "squared_hinge"}, {"pull": 0.3}, {"prior": np.diag([2.0, 1.0, 0.5, 0.1])},
], ids=str)
def test_the_optimum_is_that_of_cvxpy(size, setting):
    X, T = make(size)
    weight = 1.0 + np.arange(len(T)) % 3
    metric = KINDS[size](X, **EXACT, **setting).fit(T, sample_weight=weight)
    check_optimal(metric, *cvxpy_optimum(X, T, EXACT["C"], weight, **setting))
    assert metric.n_triplets_ == 60


@pytest.mark.parametrize("loss", LOSSES)
def test_a_triplet_is_a_quadruplet_that_begins_twice_at_the_anchor(loss):
    X, T = make(3)
    triplets = TripletFrobMetric(X, loss=loss, **EXACT).fit(T)
    quadruplets = QuadrupletFrobMetric(X, loss=loss, **EXACT).fit(T[:, [0, 1, 0, 2]])
    one, other = triplets.certificate_, quadruplets.certificate_
    assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-9
    assert one.primal == pytest.approx(other.primal, rel=1e-6)
    np.testing.assert_array_equal(
        triplets.predict(T), quadruplets.predict(T[:, [0, 1, 0, 2]]))


def test_the_metric_is_that_of_frob_metric():
    X, T = make(3)
    X, T = np.unique(X[np.unique(T)], axis=0), np.searchsorted(np.unique(T), T)
    tuples, rows = TripletFrobMetric(X, **EXACT).fit(T), FrobMetric(**EXACT).fit(X, triplets=T)
    assert tuples.scale_ == pytest.approx(rows.scale_, rel=1e-14)
    assert tuples.certificate_.primal == pytest.approx(rows.certificate_.primal, rel=1e-6)
    bound = tuples.certificate_.distance_bound + rows.certificate_.distance_bound
    distance = tuples.get_mahalanobis_matrix() - rows.get_mahalanobis_matrix()
    assert np.linalg.norm(distance) * rows.scale_**2 <= bound + 1e-9


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_way_to_give_tuples_is_the_same_to_the_last_bit(size, dtype, kernel):
    X, T = make(size, n_points=15)
    X = np.vstack([X, X[:3] + 1]).astype(dtype)  # the last three are not used
    formed = KINDS[size](kernel=kernel, C=30.0).fit(X[T])
    expected = outcome(formed, X[T])
    assert formed.components_.dtype == dtype
    assert formed.transform(X).dtype == dtype
    order = np.r_[np.arange(15), 17, 15, 16]
    names = np.array([f"shoe {i}" for i in range(18)])
    for tuples, preprocessor in [
        (T, X), (T.tolist(), X), (T, X[order]), (T, lambda rows: X[rows]),
        (names[T], lambda ids: X[[names.tolist().index(name) for name in ids]]),
    ]:
        metric = KINDS[size](preprocessor, kernel=kernel, C=30.0).fit(tuples)
        check_identical(outcome(metric, tuples), expected)
        check_identical(outcome(metric, X[T]), expected)
        assert metric.certificate_ == formed.certificate_


def test_lists_of_numbers_are_points():
    X, T = make(3)
    check_identical(outcome(TripletFrobMetric(X.tolist()).fit(T.tolist()), T.tolist()),
                    outcome(TripletFrobMetric().fit(X[T].tolist()), X[T]))


def test_a_sparse_preprocessor_gives_the_same_metric():
    X, T = make(3)
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (TripletFrobMetric(table, **EXACT).fit(T) for table in (X, sp.csr_array(X)))
    assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)
    np.testing.assert_array_equal(sparse.predict(T), dense.predict(T))
    with pytest.raises(ValueError, match="equal by construction"):
        TripletFrobMetric(sp.csr_array(np.vstack([X, X[1]]))).fit([[0, 1, 20]])


@pytest.mark.parametrize("size", KINDS)
def test_minus_one_turns_a_comparison_round(size):
    X, T = make(size)
    y = np.where(np.arange(60) % 3, 1, -1)
    turned = np.where((y > 0)[:, None], T, T[:, flip(size)])
    asked, said = KINDS[size](X, C=30.0).fit(turned, y), KINDS[size](X, C=30.0).fit(T)
    check_identical(outcome(asked, T), outcome(said, T))
    assert asked.score(turned, y) == said.score(T)
    assert said.score(T) + said.score(T, -np.ones(60)) == pytest.approx(1)
    np.testing.assert_array_equal(said.decision_function(T[:, flip(size)]),
                                  -said.decision_function(T))


@pytest.mark.parametrize("size", KINDS)
def test_weights_are_repetitions(size):
    X, T = make(size, n_points=12)
    weight = np.arange(60) % 3  # 0, 1, 2
    assert np.isin(T, T[weight > 0]).all()  # else the scale would be another
    weighted = KINDS[size](X, **EXACT).fit(T, sample_weight=weight)
    repeated = KINDS[size](X, **EXACT).fit(np.repeat(T, weight, axis=0))
    one, other = weighted.certificate_, repeated.certificate_
    assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-9
    assert one.primal == pytest.approx(other.primal, rel=1e-6)
    assert weighted.score(T, sample_weight=weight) == pytest.approx(
        weighted.score(np.repeat(T, weight, axis=0)))
    check_identical(outcome(KINDS[size](X, C=30.0).fit(T, sample_weight=np.full(60, 4)), T),
                    outcome(KINDS[size](X, C=30.0).fit(T), T))


@pytest.mark.parametrize("size", KINDS)
def test_contradictions_are_counted_and_allowed(size):
    X, T = make(size)
    assert KINDS[size](X, C=30.0).fit(T).n_contradictions_ == 0
    both = np.concatenate([T, T[:5, flip(size)]])
    metric = KINDS[size](X, C=30.0).fit(both)
    assert metric.n_contradictions_ == 10
    assert metric.status_ == "optimal"
    assert metric.fit(both, sample_weight=np.arange(65) < 60).n_contradictions_ == 0


def test_a_zero_metric_warns_and_predicts_no_zero():
    X, T = make(3)
    with pytest.warns(UserWarning, match="the learned metric is zero"):
        metric = TripletFrobMetric(X).fit(np.concatenate([T, T[:, [0, 2, 1]]]))
    assert metric.rank_ == 0
    assert (metric.components_ == 0).all()
    assert (metric.predict(T) == -1).all()
    tied = TripletFrobMetric(X).fit(T)
    assert tied.predict(X[[[0, 1, 1]]]).tolist() == [-1]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
def test_distances_are_those_of_a_metric(kernel):
    X, T = make(3)
    metric = TripletFrobMetric(kernel=kernel, C=100.0).fit(X[T])
    distance = metric.get_metric()

    @settings(max_examples=40, deadline=None)
    @given(hnp.arrays(np.float64, (3, 4), elements=st.floats(-3, 3, width=32)))
    def check(points):
        a, b, c = points
        ab, ba, aa, bc, ac = metric.pair_distance([[a, b], [b, a], [a, a], [b, c], [a, c]])
        assert ab == ba
        assert aa == 0
        assert ac <= ab + bc + 1e-9 * (1 + ab + bc)
        assert distance(a, b) == distance(b, a)
        assert distance(a, a) == 0
        assert distance(a, b) == pytest.approx(ab, rel=1e-6, abs=1e-6)
        np.testing.assert_array_equal(metric.pair_score([[a, b]]), -metric.pair_distance([[b, a]]))

    check()


def test_the_decision_is_the_difference_of_the_distances():
    X, T = make(4)
    metric = QuadrupletFrobMetric(X).fit(T)
    near, far = (metric.pair_distance(pair) for pair in ends(T))
    np.testing.assert_allclose(metric.decision_function(T), far - near, rtol=1e-12, atol=1e-12)
    moved = metric.transform(X)
    np.testing.assert_allclose(near, np.linalg.norm(moved[T[:, 0]] - moved[T[:, 1]], axis=1))
    assert metric.score(T) == np.mean(metric.predict(T) == 1) > 0.8


# As scikit-learn checks estimators of 2-D data


@pytest.mark.parametrize("size", KINDS)
def test_the_manners_of_an_estimator(size):
    X, T = make(size)
    metric = KINDS[size](preprocessor=X, C=50.0, n_components=2)
    twin = clone(metric)
    assert twin.get_params().keys() == metric.get_params().keys()
    assert twin.C == 50.0
    assert "C=50.0" in repr(metric)
    before = T.copy(), X.copy()
    assert metric.fit(T) is metric
    np.testing.assert_array_equal(T, before[0])
    np.testing.assert_array_equal(X, before[1])
    check_identical(outcome(twin.fit(T), T), outcome(metric, T))
    assert metric.n_features_in_ == 4
    assert metric.components_.shape == (2, 4)
    assert metric.get_feature_names_out().tolist() == [
        f"{type(metric).__name__.lower()}{i}" for i in range(2)]
    check_identical(outcome(pickle.loads(pickle.dumps(metric)), T), outcome(metric, T))
    assert metric.set_params(C=7.0).get_params()["C"] == 7.0
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        metric.transform(X[:, :3])


def test_a_new_fit_forgets_the_earlier_one():
    X, T = make(3)
    wide, more = make(3, n_features=6, seed=1)
    metric = TripletFrobMetric(keep_dual=True).fit(X[T]).partial_fit(X[T[:9]])
    metric.set_params(keep_dual=False).fit(wide[more])
    fresh = TripletFrobMetric().fit(wide[more])
    assert vars(metric).keys() == vars(fresh).keys()
    assert metric.n_features_in_ == 6
    check_identical(outcome(metric, wide[more]), outcome(fresh, wide[more]))


@pytest.mark.parametrize("size", KINDS)
def test_nothing_works_before_fit(size):
    X, T = make(size)
    metric = KINDS[size](X, keep_dual=True)
    for call in (metric.predict, metric.decision_function, metric.score, metric.certify):
        with pytest.raises(NotFittedError):
            call(T)
    for call in (metric.pair_distance, metric.pair_score, metric.transform):
        with pytest.raises(NotFittedError):
            call(X[:4].reshape(2, 2, 4))
    with pytest.raises(NotFittedError):
        metric.get_metric()
    with pytest.raises(ValueError, match=r"y\[0\] = 0"):
        metric.fit(T, np.zeros(60))
    with pytest.raises(NotFittedError):
        metric.predict(T)


def test_cross_validation_over_objects():
    X, T = make(3, n=400)
    scores = cross_val_score(TripletFrobMetric(X, C=100.0), T, cv=ObjectSplit(3, random_state=0))
    assert scores.shape == (3,)
    assert scores.mean() > 0.7
    search = GridSearchCV(TripletFrobMetric(X), {"C": [0.1, 30.0]}, cv=3).fit(T)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0.8


@pytest.mark.parametrize(("setting", "words"), [
    ({"C": 0}, "'C' parameter of TripletFrobMetric must be a positive finite number. Got 0"),
    ({"loss": "square"}, "'loss' parameter .* must be one of"),
    ({"kernel": "precomputed"}, r"'kernel' parameter .* one of \['linear', 'polynomial', 'rbf'\]"),
    ({"solver": "none"}, "'solver' parameter"),
    ({"prior": "wide"}, "'prior' parameter"),
    ({"preprocessor": "X"}, "'preprocessor' parameter .* a matrix or a function or None"),
    ({"n_components": 5}, "n_components=5 is larger than the 4 features"),
    ({"prior": "within"}, "prior='within' is computed from classes"),
    ({"prior": np.eye(3)}, r"prior has shape \(3, 3\).*expected \(4, 4\)"),
], ids=str)
def test_parameters_are_checked_by_fit_alone(setting, words):
    X, T = make(3)
    metric = TripletFrobMetric(**setting)
    with pytest.raises(ValueError, match=words):
        metric.fit(X[T])


# Updates


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("prior", [None, "identity", "covariance"])
def test_an_update_has_the_old_metric_as_prior(size, prior):
    X, T = make(size)
    Y, more = make(size, n=15, n_points=12, seed=3)
    metric = KINDS[size](prior=prior, keep_dual=True, **EXACT)
    check_identical(outcome(metric.partial_fit(X[T]), X[T]),
                    outcome(clone(metric).fit(X[T]), X[T]))
    old = metric.get_mahalanobis_matrix()
    assert metric.partial_fit(Y[more]) is metric
    check_optimal(metric, *cvxpy_optimum(Y, more, EXACT["C"], prior=old))
    known = KINDS[size](prior=old, **EXACT).fit(Y[more])
    assert metric.certificate_.primal == pytest.approx(known.certificate_.primal, rel=1e-6)
    proof = metric.certify(Y[more])
    assert proof.primal == pytest.approx(metric.certificate_.primal, rel=1e-9)
    with pytest.raises(CertificateError):
        metric.certify(Y[more[::-1]] + np.arange(4) ** 2 * Y[more[::-1]])


def test_an_update_of_wide_data_has_the_prior_of_all_features():
    X, T = make(3, n_features=40, n_points=10, n=20)
    Y, more = make(3, n_features=40, n_points=6, n=8, seed=3)
    metric = TripletFrobMetric(keep_dual=True, **EXACT).fit(X[T])
    old = metric.get_mahalanobis_matrix()
    metric.partial_fit(Y[more])
    known = TripletFrobMetric(prior=old, **EXACT).fit(Y[more])
    assert metric.certificate_.primal == pytest.approx(known.certificate_.primal, rel=1e-6)
    assert metric.certify(Y[more]).relative_gap <= 1e-6
    distance = metric.get_mahalanobis_matrix() - known.get_mahalanobis_matrix()
    bound = metric.certificate_.distance_bound + known.certificate_.distance_bound
    assert np.linalg.norm(distance) * metric.scale_**2 <= bound + 1e-6


def test_what_the_metric_knows_already_does_not_change_it():
    X, T = make(3)
    metric = TripletFrobMetric(X, C=1e3, tol=1e-6).fit(T)
    near, far = (metric.pair_distance(pair) ** 2 for pair in ends(T))
    known = T[far - near > 1.01]
    assert len(known) > 5
    old = metric.get_mahalanobis_matrix()
    metric.partial_fit(known)
    assert metric.certificate_.primal <= 1e-6
    np.testing.assert_allclose(
        metric.get_mahalanobis_matrix(), old, atol=1e-5 * np.linalg.norm(old))


def test_fits_that_are_refused_leave_the_metric_alone():
    X, T = make(3)
    metric = TripletFrobMetric(keep_dual=True).fit(X[T])
    before = outcome(metric, X[T])
    with pytest.raises(ValueError, match="points have 3 features; the metric was learned with 4"):
        metric.partial_fit(X[T][:, :, :3])
    with pytest.raises(ValueError, match=r"y\[0\] = 3; expected \+1"):
        metric.partial_fit(X[T], np.full(60, 3))
    with pytest.raises(ValueError, match="sample_weight is zero"):
        metric.fit(X[T][:, :, :2], sample_weight=np.zeros(60))
    check_identical(outcome(metric, X[T]), before)
    assert metric.n_features_in_ == 4
    assert metric.certify(X[T]).relative_gap <= 1e-3
    curved = TripletFrobMetric(X, kernel="rbf").fit(T)
    with pytest.raises(ValueError, match=r"kernel='rbf'; new samples change .*: fit again"):
        curved.partial_fit(T)


# Bad input


@pytest.mark.parametrize(("tuples", "options", "words"), [
    ([[0, 1, 1]], {}, r"tuples\[0\] = \(0, 1, 1\) compares a distance with itself"),
    ([[0, 1, 2], [3, 3, 4]], {}, r"tuples\[1\] = \(3, 3, 4\) compares an object with itself"),
    ([[0, 1, 2], [3, 4, 3]], {}, r"tuples\[1\] = \(3, 4, 3\) compares an object with itself"),
    ([[0, 1, 20]], {}, r"tuples\[0\] compares two distances that are equal by construction"),
    ([[0, 1, 2]], {"y": [2]}, r"y\[0\] = 2; expected \+1"),
    ([[0, 1, 2]], {"y": [0]}, r"y\[0\] = 0; expected \+1"),
    ([[0, 1, 2]], {"y": [np.nan]}, r"y\[0\] = nan; expected \+1"),
    ([[0, 1, 2]], {"y": [True]}, r"y\[0\] = True; expected \+1"),
    ([[0, 1, 2]], {"y": [1, 1]}, r"y has shape \(2,\); there are 1 comparisons"),
    ([[0, 1, 2]], {"sample_weight": [-1.0]}, r"sample_weight\[0\] = -1.0 must be non-negative"),
    ([[0, 1, 2]], {"sample_weight": [np.nan]}, r"sample_weight\[0\] = nan must be"),
    ([[0, 1, 2]], {"sample_weight": [np.inf]}, r"sample_weight\[0\] = inf must be"),
    ([[0, 1, 2]], {"sample_weight": [0.0]}, "sample_weight is zero for every comparison"),
    ([[0, 1, 2]], {"sample_weight": [1, 2]}, r"sample_weight has shape \(2,\); there are 1"),
], ids=str)
def test_comparisons_that_are_refused(tuples, options, words):
    X, _ = make(3)
    with pytest.raises(ValueError, match=words):
        TripletFrobMetric(np.vstack([X, X[1]])).fit(tuples, **options)


@pytest.mark.parametrize("index", [[0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]], ids=str)
def test_quadruplets_of_equal_distances_are_refused(index):
    X, _ = make(4)
    with pytest.raises(ValueError, match=r"tuples\[0\].* itself; remove it"):
        QuadrupletFrobMetric(X).fit([index])
    with pytest.raises(ValueError, match=r"tuples\[0\] compares two distances that are equal by"):
        QuadrupletFrobMetric().fit(X[[index]])


def test_the_size_of_tuples_is_checked_by_every_method():
    X, T = make(3)
    metric = TripletFrobMetric(X, keep_dual=True).fit(T)
    for call in (metric.fit, metric.partial_fit, metric.predict, metric.score, metric.certify):
        with pytest.raises(ValueError, match=r"expected triplets \(anchor, near, far\), of 3"):
            call(T[:, :2])
    with pytest.raises(ValueError, match=r"expected pairs \(first, second\), of 2"):
        metric.pair_distance(T)
    with pytest.raises(ValueError, match="keep_dual=True"):
        TripletFrobMetric(X).fit(T).certify(T)


# Extreme data


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("factor", [1e150, 1e-150, 1e3])
def test_the_unit_does_not_matter(size, factor):
    X, T = make(size)
    plain, scaled = (KINDS[size](X * unit, C=30.0).fit(T) for unit in (1, factor))
    np.testing.assert_array_equal(scaled.predict(T), plain.predict(T))
    np.testing.assert_allclose(
        scaled.decision_function(T), plain.decision_function(T), rtol=1e-6, atol=1e-6)


def test_a_far_away_origin_does_not_matter():
    X, T = make(3)
    plain, moved = (TripletFrobMetric(table, **EXACT).fit(T) for table in (X, X + 1e8))
    assert moved.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    np.testing.assert_array_equal(moved.predict(T), plain.predict(T))


def test_more_features_than_points_and_a_single_comparison():
    X, _ = make(3, n_features=50, n_points=5, n=5)
    metric = TripletFrobMetric(X, **EXACT).fit([[0, 1, 2]])
    assert metric.components_.shape == (50, 50)
    assert metric.rank_ == 1  # one matrix with one positive eigenvalue
    near, far = (metric.pair_distance([pair])[0] ** 2 for pair in ([0, 1], [0, 2]))
    assert far - near == pytest.approx(1, rel=1e-3)
    assert metric.predict([[0, 1, 2], [0, 2, 1]]).tolist() == [1, -1]


def test_points_that_occur_often_count_once():
    X, T = make(3)
    doubled, T2 = np.vstack([X, X]), T + np.where(np.arange(3) == 1, 20, 0)
    check_identical(outcome(TripletFrobMetric(doubled).fit(T2), T2),
                    outcome(TripletFrobMetric(X).fit(T), T))


def test_equal_points_everywhere_are_refused():
    with pytest.raises(ValueError, match="equal by construction"):
        TripletFrobMetric().fit(np.ones((4, 3, 2)))
