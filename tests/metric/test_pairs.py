"""Metrics from similar and dissimilar pairs: against cvxpy, and the threshold by brute force."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import fbeta_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from frobmetric import PairFrobMetric
from frobmetric.comparisons.reading import read_tuples
from frobmetric.exceptions import CertificateError
from frobmetric.learning.problem import LOSSES
from frobmetric.learning.triplets import triplets_from_pairs
from paper_problem import paper_metric

EXACT = {"C": 10.0, "tol": 1e-7, "max_iter": 20_000}
STRATEGIES = ["threshold", "triplets"]


def make(n=60, n_points=20, n_features=4, seed=0):
    """Points of three classes, pairs of them, and whether they are of one class."""
    rng = np.random.default_rng(seed)
    X, label = rng.normal(size=(n_points, n_features)), np.arange(n_points) % 3
    X[:, :2] += 1.5 * np.eye(3)[label][:, :2]
    P = np.array([rng.choice(n_points, 2, replace=False) for _ in range(n)])
    return X, P, np.where(label[P[:, 0]] == label[P[:, 1]], 1, -1)


def own_unit(X):
    """The root of the mean squared distance to the mean."""
    return np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))


def cvxpy_optimum(X, P, y, C, weight=None, prior=None, threshold=0.0, loss="hinge", unit=None):
    """The smallest value of the documented objective, with the matrix and b."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    scale = unit or own_unit(np.unique(X[np.unique(P)], axis=0))
    d = (X[P[:, 0]] - X[P[:, 1]]) / scale
    rows = np.einsum("ri,rj->rij", d, d).reshape(len(P), -1)
    share = np.ones(len(P)) if weight is None else weight
    M, b = cp.Variable((X.shape[1],) * 2, PSD=True), cp.Variable(nonneg=True)
    short = cp.pos(1 - cp.multiply(y, b - rows @ cp.vec(M, order="C")))
    term = {"hinge": short, "squared_hinge": cp.square(short)}[loss]
    near = 0 if prior is None else prior * scale**2
    objective = cp.sum_squares(M - near) / 2 + cp.square(b - threshold**2) / 2
    objective += C * (share / share.sum()) @ term
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    return best, M.value / scale**2, float(b.value)


def check_optimal(metric, best, M, b):
    certificate, slack = metric.certificate_, 1e-6 * (1 + abs(best))
    assert metric.status_ == "optimal"
    assert certificate.dual - slack <= best <= certificate.primal + slack
    near = certificate.distance_bound + 1e-3 * (1 + np.linalg.norm(M))
    error = np.linalg.norm(metric.get_mahalanobis_matrix() - M) * metric.scale_**2
    assert error <= near
    assert abs(metric.learned_threshold_**2 - b) <= near


def outcome(metric, pairs):
    return [
        metric.components_,
        metric.decision_function(pairs),
        metric.predict(pairs),
        np.array(metric.threshold_),
    ]


def check_identical(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "setting", [{}, {"loss": "squared_hinge"}, {"prior": np.diag([2.0, 1.0, 0.5, 0.1])}], ids=str
)
def test_the_optimum_is_that_of_cvxpy(setting):
    X, P, y = make()
    weight = 1.0 + np.arange(len(P)) % 3
    metric = PairFrobMetric(preprocessor=X, **EXACT, **setting).fit(P, y, sample_weight=weight)
    check_optimal(metric, *cvxpy_optimum(X, P, y, EXACT["C"], weight, **setting))
    assert metric.n_triplets_ == 60
    assert metric.components_.shape == (4, 4)
    rows = metric.components_[: metric.rank_]
    cosines = rows @ rows.T / np.outer(*2 * [np.linalg.norm(rows, axis=1)])
    np.testing.assert_allclose(cosines, np.eye(metric.rank_), atol=1e-9)
    assert not metric.components_[metric.rank_ :].any()


def test_through_triplets_is_frob_metric_with_these_triplets():
    X, P, y = make()
    metric = PairFrobMetric(
        preprocessor=X, strategy="triplets", n_neighbors=2, keep_dual=True, **EXACT
    )
    metric.fit(P, y)
    read = read_tuples(P, 2, X)
    triplets = triplets_from_pairs(read.points, read.index, y, n_neighbors=2)
    np.testing.assert_array_equal(metric.triplets_.to_array(), triplets)
    rows = paper_metric(**EXACT).fit(read.points, triplets=triplets)
    assert metric.certificate_ == rows.certificate_
    np.testing.assert_array_equal(metric.components_, rows.components_)
    assert not hasattr(metric, "learned_threshold_")


def test_weights_are_refused_through_triplets():
    X, P, y = make()
    with pytest.raises(ValueError, match="sample_weight was given with strategy='triplets'"):
        PairFrobMetric(preprocessor=X, strategy="triplets").fit(P, y, sample_weight=np.ones(60))


def test_contradictions_are_counted_and_allowed():
    X, P, y = make()
    P, first = np.unique(np.sort(P, axis=1), axis=0, return_index=True)
    y = y[first]
    assert PairFrobMetric(preprocessor=X, C=10.0).fit(P, y).n_contradictions_ == 0
    both, kinds = np.concatenate([P, P[:4, ::-1]]), np.concatenate([y, -y[:4]])
    assert PairFrobMetric(preprocessor=X, C=10.0).fit(both, kinds).n_contradictions_ == 8
    triplets = PairFrobMetric(preprocessor=X, C=10.0, strategy="triplets").fit(both, kinds)
    assert triplets.n_contradictions_ == 8
    expected = PairFrobMetric(preprocessor=X, C=10.0, strategy="triplets").fit(P[4:], y[4:])
    assert set(P[4:].ravel()) == set(P.ravel())  # else the scale would be another
    np.testing.assert_array_equal(triplets.components_, expected.components_)


def test_pairs_that_others_join_are_refused_through_triplets():
    X, _, _ = make()
    with pytest.raises(ValueError, match=r"says that .* differ, but other pairs join them"):
        PairFrobMetric(preprocessor=X, strategy="triplets").fit(
            [[0, 1], [1, 2], [0, 2]], [1, 1, -1]
        )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_a_prior_by_name_is_what_is_learned_from_little(strategy, prior):
    X, P, y = make()
    metric = PairFrobMetric(
        preprocessor=X, strategy=strategy, prior=prior, C=1e-6, keep_dual=True
    ).fit(P, y)
    inverse = np.linalg.inv(np.cov(X[np.unique(P)].T, bias=True))
    expected = np.eye(4) if prior == "identity" else inverse
    found = metric.get_mahalanobis_matrix()
    cosine = np.sum(found * expected) / np.linalg.norm(found) / np.linalg.norm(expected)
    assert cosine > (0.999 if prior == "identity" else 0.9)  # the covariance is shrunk
    assert metric.certify(P, y).relative_gap <= 1e-3


def test_a_prior_by_name_satisfies_its_pairs_with_a_mean_margin_of_one():
    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X, prior="identity", C=1e-9).fit(P, y)
    squared = metric.pair_distance(P) ** 2
    cuts = np.concatenate([[0], (np.sort(squared)[1:] + np.sort(squared)[:-1]) / 2])
    means, right = [], []
    for cut in cuts:
        margins = y * (cut - squared)
        right.append(np.sum(margins > 0))
        means.append(margins[margins > 0].mean())
    best = np.flatnonzero(np.array(right) == max(right))
    assert np.isclose(np.array(means)[best], 1, rtol=1e-3).any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_proof_can_be_repeated(loss, strategy):
    X, P, y = make()
    metric = PairFrobMetric(
        preprocessor=X, loss=loss, strategy=strategy, C=10.0, keep_dual=True
    ).fit(P, y)
    before = metric.__dict__.copy()
    assert metric.certify(P, y).primal == pytest.approx(metric.certificate_.primal, rel=1e-9)
    metric.set_params(preprocessor=X * np.arange(1, 5))
    with pytest.raises(CertificateError):
        metric.certify(P, y)
    assert getattr(metric, "learned_threshold_", None) == before.get("learned_threshold_")
    with pytest.raises(ValueError, match="keep_dual=True"):
        PairFrobMetric(preprocessor=X, C=10.0).fit(P, y).certify(P, y)


OTHERS = "these are not the comparisons that the metric was learned from"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_proof_is_of_the_pairs_with_their_answers(strategy, kernel):
    X, P, y = make()
    metric = PairFrobMetric(
        preprocessor=X, strategy=strategy, kernel=kernel, C=10.0, keep_dual=True
    ).fit(P, y)
    assert metric.certify(X[P], y.tolist()).relative_gap <= 1.001e-3
    order = np.r_[1:60, 0]
    with pytest.raises(CertificateError, match=OTHERS):
        metric.certify(P[order], y[order])
    for tuples, answers in [(P[:55], y[:55]), (P[:20], y[:20]), (2 * X[P], y)]:
        with pytest.raises(CertificateError):
            metric.certify(tuples, answers)
    if strategy == "threshold":
        for tuples, answers in [(P, -y), (P, y[order])]:
            with pytest.raises(CertificateError, match=OTHERS):
                metric.certify(tuples, answers)
    with pytest.raises(ValueError, match="y is None; a pair learner needs"):
        metric.certify(P)


def test_a_proof_of_weighted_pairs():
    X, P, y = make()
    weight = np.arange(60.0) % 3
    metric = PairFrobMetric(preprocessor=X, C=10.0, keep_dual=True).fit(P, y, weight)
    proof = metric.certify(P, y, weight)
    assert proof.primal == pytest.approx(metric.certificate_.primal, rel=1e-9)
    with pytest.raises(CertificateError, match=OTHERS):
        metric.certify(P, y)


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"prior": "identity"}], ids=str)
def test_pairs_of_no_weight_are_as_if_not_given(options):
    X, P, y = make()
    far = np.vstack([X, np.full((1, 4), 1e6), np.full((1, 4), -3e5)])
    more, kinds = np.insert(P, [0, 30], [20, 21], axis=0), np.insert(y, [0, 30], [1, -1])
    weight = np.where(more[:, 0] == 20, 0.0, 1.0)
    metric, plain = (
        PairFrobMetric(preprocessor=far, C=10.0, keep_dual=True, **options) for _ in range(2)
    )
    metric.fit(more, kinds, weight)
    plain.fit(P, y)
    check_identical(outcome(metric, P), outcome(plain, P))
    for name in (
        "certificate_",
        "scale_",
        "unit_",
        "n_triplets_",
        "learned_threshold_",
        "n_contradictions_",
    ):
        assert getattr(metric, name) == getattr(plain, name)
    np.testing.assert_array_equal(metric.dual_coef_, plain.dual_coef_)
    assert metric.score(more, kinds, weight) == pytest.approx(plain.score(P, y), rel=1e-12)
    if not options:
        metric.partial_fit(more[:20], kinds[:20], weight[:20])
        plain.partial_fit(P[:19], y[:19])
        check_identical(outcome(metric, P), outcome(plain, P))


def test_a_prior_by_name_knows_weights():
    X, P, y = make(seed=1)
    y = np.where(np.random.default_rng(0).random(60) < 0.4, -y, y)
    weight = np.where(y > 0, 1, 6)  # the best threshold of all alike is far larger
    options = EXACT | {"prior": "identity", "C": 1e-6}
    weighted = PairFrobMetric(preprocessor=X, **options).fit(P, y, sample_weight=weight)
    repeated = PairFrobMetric(preprocessor=X, **options).fit(
        np.repeat(P, weight, 0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(
        weighted.get_mahalanobis_matrix(), repeated.get_mahalanobis_matrix(), rtol=1e-6, atol=1e-9
    )


def test_pairs_that_cannot_be_completed_are_left_out():
    X, P, y = make()
    P, first = np.unique(np.sort(P, axis=1), axis=0, return_index=True)
    y, twins = y[first], np.vstack([X, X[:2]])
    more = np.vstack([P, [[0, 20], [1, 21]]])
    options = {"strategy": "triplets", "C": 10.0, "keep_dual": True}
    with pytest.warns(UserWarning, match="2 of .* tuples have equal points"):
        metric = PairFrobMetric(preprocessor=twins, **options).fit(more, np.append(y, [1, -1]))
    plain = PairFrobMetric(preprocessor=X, **options).fit(P, y)
    np.testing.assert_array_equal(metric.components_, plain.components_)
    np.testing.assert_array_equal(metric.triplets_.index, plain.triplets_.index)
    assert metric.n_contradictions_ == 0
    for pairs, words in [([[0, 1], [1, 0]], "no pair is left"), ([[0, 20], [1, 21]], "all 2 tup")]:
        with pytest.raises(ValueError, match=words):
            PairFrobMetric(preprocessor=twins, strategy="triplets").fit(pairs, [1, -1])


# The threshold


def test_the_learned_threshold_parts_the_pairs():
    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X[:, :2] * 4, C=1e3).fit(P, y)
    by_learned = np.where(metric.pair_distance(P) <= metric.learned_threshold_, 1, -1)
    by_best = metric.predict(P)
    assert np.mean(by_learned == y) > 0.8
    assert np.mean(by_learned == y) <= np.mean(by_best == y)


def rates(predicted, y):
    return np.mean(predicted[y > 0] > 0), np.mean(predicted[y < 0] < 0)


def worth(predicted, y, strategy, beta=1.0, min_rate=None):
    tpr, tnr = rates(predicted, y)
    return {
        "accuracy": lambda: np.mean(predicted == y),
        "f_beta": lambda: fbeta_score(y, predicted, beta=beta, zero_division=0.0),
        "max_tpr": lambda: tpr if tnr >= min_rate else -1.0,
        "max_tnr": lambda: tnr if tpr >= min_rate else -1.0,
    }[strategy]()


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "accuracy"},
        {"strategy": "f_beta"},
        {"strategy": "f_beta", "beta": 0.5},
        {"strategy": "max_tpr", "min_rate": 0.7},
        {"strategy": "max_tpr", "min_rate": 1.0},
        {"strategy": "max_tnr", "min_rate": 0.7},
        {"strategy": "max_tnr", "min_rate": 0.0},
    ],
    ids=str,
)
def test_calibration_is_as_good_as_any_threshold(options):
    X, P, y = make(seed=2)
    rng = np.random.default_rng(0)
    metric = PairFrobMetric(preprocessor=X, C=1.0).fit(P, y, calibration_params=options)
    distances = metric.pair_distance(P)
    for said in (y, np.where(rng.random(60) < 0.3, -y, y)):
        assert metric.calibrate_threshold(P, said, **options) is metric
        found = worth(metric.predict(P), said, **options)
        every = [
            worth(np.where(distances <= cut, 1, -1), said, **options) for cut in [-1.0, *distances]
        ]
        assert found == pytest.approx(max(every))
    default = PairFrobMetric(preprocessor=X, C=1.0).fit(P, y, calibration_params=options)
    assert default.threshold_ == metric.calibrate_threshold(P, y, **options).threshold_


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "accuracy"},
        {"strategy": "f_beta", "beta": 2.0},
        {"strategy": "max_tpr", "min_rate": 0.7},
        {"strategy": "max_tnr", "min_rate": 0.7},
    ],
    ids=str,
)
def test_weights_count_in_the_calibration_and_in_the_score(options):
    X, P, y = make(seed=2)
    said = np.where(np.random.default_rng(0).random(60) < 0.3, -y, y)
    weight = np.arange(60) * 7 % 5
    often, kinds = np.repeat(P, weight, 0), np.repeat(said, weight)
    metric = PairFrobMetric(preprocessor=X, C=1.0).fit(P, y)
    by_weight = metric.calibrate_threshold(P, said, sample_weight=weight, **options).threshold_
    assert by_weight == metric.calibrate_threshold(often, kinds, **options).threshold_
    assert metric.score(P, said, weight) == pytest.approx(metric.score(often, kinds), rel=1e-12)
    for fit in (metric.fit, metric.partial_fit):
        fit(P, said, weight, calibration_params=options)
        found = metric.threshold_
        assert found == metric.calibrate_threshold(often, kinds, **options).threshold_


def test_one_class_of_weight_is_one_class():
    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X, C=1.0).fit(P, y)
    weight, n = np.where(y > 0, 1.0, 0.0), np.sum(y > 0)
    for call in (metric.fit, metric.partial_fit, metric.score, metric.calibrate_threshold):
        with pytest.raises(ValueError, match=rf"all {n} pairs are similar \(\+1\); give at least"):
            call(P, y, sample_weight=weight)


def test_set_threshold():
    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X, C=10.0).fit(P, y)
    distances = np.sort(metric.pair_distance(P))
    for threshold in (distances[7], 0, np.float32(1.0), np.inf, -1, -np.inf):
        assert metric.set_threshold(threshold) is metric
        expected = np.where(metric.pair_distance(P) <= threshold, 1, -1)
        np.testing.assert_array_equal(metric.predict(P), expected)
    for wrong in (np.nan, "1", None, 1j):
        with pytest.raises(ValueError, match="expected a distance, a real number"):
            metric.set_threshold(wrong)


@pytest.mark.filterwarnings("ignore:the learned metric is zero")  # some random labels say nothing
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
@example(390)
def test_the_score_is_the_area_under_the_curve(seed):
    X, P, y = make(n=12, seed=seed)
    y[:2] = 1, -1
    metric = PairFrobMetric(preprocessor=X, C=1.0).fit(P, y)
    assert metric.score(P, y) == pytest.approx(roc_auc_score(y, -metric.pair_distance(P)))
    np.testing.assert_array_equal(metric.decision_function(P), metric.pair_score(P))
    assert set(metric.predict(P)) <= {-1, 1}
    assert (metric.pair_distance(P[:, [0, 0]]) == 0).all()
    np.testing.assert_array_equal(metric.pair_distance(P), metric.pair_distance(P[:, ::-1]))


# As scikit-learn checks estimators of 2-D data


def test_search_and_cross_validation():
    X, P, y = make(n=120)
    folds = StratifiedKFold(3)
    search = GridSearchCV(PairFrobMetric(), {"C": [0.1, 30.0]}, cv=folds).fit(X[P], y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0.7
    assert search.score(X[P], y) == search.best_estimator_.score(X[P], y)
    indexed = cross_val_score(
        PairFrobMetric(preprocessor=X, C=search.best_params_["C"]), P, y, cv=folds
    )
    assert indexed.mean() == pytest.approx(search.best_score_, abs=1e-12)


# Updates


@pytest.mark.parametrize("prior", [None, "identity"])
@pytest.mark.parametrize("n_features", [4, 30])
def test_an_update_stays_close_to_the_metric_and_to_its_threshold(prior, n_features):
    X, P, y = make(n_features=n_features)
    Y, more, kinds = make(n=12, n_points=10, n_features=n_features, seed=5)
    metric = PairFrobMetric(prior=prior, keep_dual=True, **EXACT)
    check_identical(
        outcome(metric.partial_fit(X[P], y), X[P]), outcome(clone(metric).fit(X[P], y), X[P])
    )
    old, threshold, unit = metric.get_mahalanobis_matrix(), metric.learned_threshold_, metric.unit_
    metric.partial_fit(Y[more], kinds)
    assert metric.unit_ == metric.scale_ == unit
    expected = cvxpy_optimum(Y, more, kinds, EXACT["C"], prior=old, threshold=threshold, unit=unit)
    check_optimal(metric, *expected)
    assert metric.prior_threshold_ == threshold
    proof = metric.certify(Y[more], kinds)
    assert proof.primal == pytest.approx(metric.certificate_.primal, rel=1e-9)


def test_what_the_metric_knows_already_does_not_change_it():
    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X, C=1e3, tol=1e-6).fit(P, y)
    margins = y * (metric.learned_threshold_**2 - metric.pair_distance(P) ** 2)
    known = margins > 1.01
    assert set(y[known]) == {-1, 1}
    old, threshold = metric.get_mahalanobis_matrix(), metric.learned_threshold_
    metric.partial_fit(P[known], y[known])
    atol = 1e-5 * np.linalg.norm(old)
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), old, atol=atol)
    assert metric.learned_threshold_ == pytest.approx(threshold, rel=1e-5)


def test_an_update_through_triplets_has_the_old_metric_as_prior():
    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X, strategy="triplets", keep_dual=True, **EXACT).fit(P, y)
    old = metric.get_mahalanobis_matrix()
    metric.partial_fit(P[:30], y[:30])
    ratio = own_unit(X[np.unique(P[:30])]) / metric.unit_
    options = EXACT | {"C": EXACT["C"] * ratio**4}
    known = PairFrobMetric(preprocessor=X, strategy="triplets", prior=old, **options).fit(
        P[:30], y[:30]
    )
    assert metric.certificate_.primal == pytest.approx(
        known.certificate_.primal / ratio**4, rel=1e-6
    )
    assert metric.certify(P[:30], y[:30]).relative_gap <= 1e-6


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_error_leaves_the_metric_alone(strategy):
    X, P, y = make()
    metric = (
        PairFrobMetric(preprocessor=X, strategy=strategy, C=10.0, keep_dual=True)
        .fit(P, y)
        .partial_fit(P, y)
    )
    before, parameters = vars(metric).copy(), metric.get_params()
    proof, said = metric.certify(P, y), outcome(metric, P)
    for setting, pairs, kinds, options, words in [
        ({"n_components": 5}, P[:9], y[:9], {}, "n_components=5 is larger"),
        ({"strategy": "triplets"}, [[0, 1], [1, 0]], [1, -1], {}, "no pair is left to complete"),
        ({"strategy": "triplets"}, [[0, 1], [1, 2], [0, 2]], [1, 1, -1], {}, "join them"),
        ({}, P[:9], y[:9], {"calibration_params": {"strategy": "best"}}, "strategy is 'best'"),
        ({}, P[:9], np.ones(9), {}, "all 9 pairs are similar"),
    ]:
        for fit in (metric.fit, metric.partial_fit):
            metric.set_params(**setting)
            with pytest.raises(ValueError, match=words):
                fit(pairs, kinds, **options)
            metric.set_params(**parameters)
            assert vars(metric).keys() == before.keys()
            assert all(vars(metric)[name] is value for name, value in before.items())
    assert metric.certify(P, y) == proof
    check_identical(outcome(metric, P), said)


def test_an_interrupted_fit_has_a_threshold():
    def press_ctrl_c(step):
        raise KeyboardInterrupt

    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X, C=10.0, tol=1e-12, callback=press_ctrl_c)
    for fit in (metric.fit, metric.partial_fit):
        with pytest.raises(KeyboardInterrupt):
            fit(P, y)
        assert metric.status_ == "interrupted"
        found = metric.threshold_
        assert found == metric.calibrate_threshold(P, y).threshold_
        assert metric.predict(P).shape == (60,)
        metric.set_threshold(1e9)


def test_a_far_pair_of_little_weight_hardly_changes_an_update():
    X, P, y = make()
    Y, more, kinds = make(n=15, seed=3)
    Y = np.vstack([Y, np.full((1, 4), 60.0), np.full((1, 4), -60.0)])
    first, plain, other = (PairFrobMetric(**EXACT).fit(X[P], y) for _ in range(3))
    plain.partial_fit(Y[more], kinds)
    other.partial_fit(
        Y[np.vstack([more, [[20, 21]]])], np.append(kinds, -1), np.append(np.ones(15), 1e-9)
    )
    assert own_unit(Y) > 5 * first.unit_
    old, a, b = (m.get_mahalanobis_matrix() for m in (first, plain, other))
    assert np.linalg.norm(a - b) < 1e-2 * np.linalg.norm(a - old)
    assert other.learned_threshold_ == pytest.approx(plain.learned_threshold_, rel=1e-3)


# Bad input and extreme data


@pytest.mark.parametrize(
    ("pairs", "y", "options", "words"),
    [
        ([[0, 1], [2, 3]], None, {}, r"y is None; a pair learner needs \+1 \(similar\) or -1"),
        (
            [[0, 1], [2, 3]],
            [1, 1],
            {},
            r"all 2 pairs are similar \(\+1\); give at least one pair of",
        ),
        ([[0, 1], [2, 3]], [-1, -1], {}, r"all 2 pairs are dissimilar \(-1\)"),
        ([[0, 1], [2, 3]], [1, 0], {}, r"y\[1\] = 0; expected \+1"),
        ([[0, 1], [2, 3]], [True, False], {}, r"y\[0\] = True; expected \+1"),
        ([[0, 1], [2, 3]], [1], {}, r"y has shape \(1,\); there are 2"),
        ([[0, 1, 2]], [1], {}, r"tuples of 3 points.*expected pairs \(a, b\), of 2"),
        ([[0, 1], [2, 99]], [1, -1], {}, r"tuples\[1\] = \(2, 99\) is out of range"),
        (
            [[0, 1], [2, 3]],
            [1, -1],
            {"sample_weight": [0, 0]},
            "sample_weight is zero for all pairs",
        ),
        (
            [[0, 1], [2, 3]],
            [1, -1],
            {"sample_weight": [1, -2]},
            r"sample_weight\[1\] = -2.0 must be",
        ),
        (
            [[0, 1], [2, 3]],
            [1, -1],
            {"calibration_params": {"strategy": "best"}},
            "strategy is 'best'; expected one of",
        ),
        (
            [[0, 1], [2, 3]],
            [1, -1],
            {"calibration_params": {"strategy": "max_tpr"}},
            "strategy='max_tpr' needs min_rate",
        ),
    ],
    ids=str,
)
def test_pairs_that_are_refused(pairs, y, options, words):
    X, _, _ = make()
    with pytest.raises(ValueError, match=words):
        PairFrobMetric(preprocessor=X).fit(pairs, y, **options)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            {"strategy": "quadruplets"},
            r"'strategy' parameter .* one of \['threshold', 'triplets'\]",
        ),
        ({"n_neighbors": 0}, "'n_neighbors' parameter .* an integer of at least 1"),
        ({"n_components": 5}, "n_components=5 is larger than the 4 features"),
        ({"kernel": "precomputed"}, "'kernel' parameter"),
        ({"prior": "discriminant"}, "prior='discriminant' is computed from classes"),
    ],
    ids=str,
)
def test_parameters_are_checked_by_fit_alone(setting, words):
    X, P, y = make()
    metric = PairFrobMetric(preprocessor=X, **setting)
    with pytest.raises(ValueError, match=words):
        metric.fit(P, y)


def test_booleans_and_words_are_refused():
    X, P, y = make()
    words = r"y\[0\] = .*expected \+1 \(similar\) or -1; convert booleans, .* np.where\(y, 1, -1\)"
    for kinds in (y > 0, np.where(y > 0, "same", "other")):
        with pytest.raises(ValueError, match=words):
            PairFrobMetric(preprocessor=X).fit(P, kinds)
    metric = PairFrobMetric(preprocessor=X, C=10.0).fit(P, np.where(y > 0, 1, -1))
    for call in (metric.fit, metric.score, metric.calibrate_threshold):
        with pytest.raises(TypeError, match="sample_weight has dtype <U1; expected a number"):
            call(P, y, sample_weight=["1"] * 60)
    with pytest.raises(TypeError, match=r"PairFrobMetric has no fit_transform; call fit\(tuples\)"):
        metric.fit_transform(P, y)


def test_what_has_no_answer_is_said():
    X, P, y = make()
    with pytest.raises(ValueError, match="all 2 tuples have equal points"):
        PairFrobMetric().fit(np.ones((2, 2, 3)), [1, -1])
    metric = PairFrobMetric(preprocessor=X, C=10.0).fit(P, y)
    with pytest.raises(ValueError, match=r"tuples has shape .* at least one"):
        metric.score([], [])
    with pytest.raises(ValueError, match=r"all 60 pairs are similar \(\+1\)"):
        metric.score(P, np.ones(60))
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        PairFrobMetric(preprocessor=X, kernel="rbf", C=10.0).fit(P, y).partial_fit(P, y)


def test_pairs_of_one_kind_are_refused_after_equal_points():
    X, _, _ = make()
    with (
        pytest.warns(UserWarning, match="1 of 2 tuples have equal points"),
        pytest.raises(ValueError, match="all 1 pairs are dissimilar"),
    ):
        PairFrobMetric().fit(X[[[0, 0], [1, 2]]], [1, -1])


def test_a_metric_of_zero_is_said():
    """Dissimilar pairs are so near that every M makes similar pairs longer by more."""
    X = np.array([[0.0], [1e-9], [1.0], [3.0]])
    with pytest.warns(UserWarning, match="the learned metric is zero: .* check y"):
        PairFrobMetric(preprocessor=X).fit([[0, 1], [2, 3]], [-1, 1])
