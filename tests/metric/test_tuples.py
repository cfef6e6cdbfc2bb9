"""Metrics from triplets and quadruplets: against cvxpy, and as scikit-learn wants them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from changed_maps import forge
from frobmetric import QuadrupletFrobMetric, TripletFrobMetric
from frobmetric.evaluation import ObjectSplit
from frobmetric.exceptions import CertificateError
from frobmetric.learning.problem import LOSSES
from paper_problem import paper_metric

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


def own_unit(X):
    """The root of the mean squared distance to the mean."""
    return np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))


def cvxpy_optimum(X, T, C, weight=None, prior=None, loss="hinge", pull=0.0, unit=None):
    """The smallest value of the documented objective, written out in full."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    scale = unit or own_unit(np.unique(X[np.unique(T)], axis=0))
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


def check_known(updated, kind, old, tuples):
    """An update is a fit with the old metric as prior: X in another unit is another C."""
    ratio = own_unit(np.unique(np.vstack(tuples), axis=0)) / updated.unit_
    known = kind(prior=old, **EXACT | {"C": EXACT["C"] * ratio**4}).fit(tuples)
    assert updated.certificate_.primal == pytest.approx(
        known.certificate_.primal / ratio**4, rel=1e-6
    )
    distance = updated.get_mahalanobis_matrix() - known.get_mahalanobis_matrix()
    # both bounds are in the units of their problems
    bounds = [m.certificate_.distance_bound / m.scale_**2 for m in (updated, known)]
    assert np.linalg.norm(distance) <= sum(bounds) + 1e-6


def outcome(metric, tuples):
    return [
        metric.components_,
        metric.decision_function(tuples),
        metric.predict(tuples),
        np.array(metric.score(tuples)),
    ]


def check_identical(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize(
    "setting",
    [{}, {"loss": "squared_hinge"}, {"pull": 0.3}, {"prior": np.diag([2.0, 1.0, 0.5, 0.1])}],
    ids=str,
)
def test_the_optimum_is_that_of_cvxpy(size, setting):
    X, T = make(size)
    weight = 1.0 + np.arange(len(T)) % 3
    metric = KINDS[size](preprocessor=X, **EXACT, **setting).fit(T, sample_weight=weight)
    check_optimal(metric, *cvxpy_optimum(X, T, EXACT["C"], weight, **setting))
    assert metric.n_triplets_ == 60


@pytest.mark.parametrize("loss", LOSSES)
def test_a_triplet_is_a_quadruplet_that_begins_twice_at_the_anchor(loss):
    X, T = make(3)
    triplets = TripletFrobMetric(preprocessor=X, loss=loss, **EXACT).fit(T)
    quadruplets = QuadrupletFrobMetric(preprocessor=X, loss=loss, **EXACT).fit(T[:, [0, 1, 0, 2]])
    one, other = triplets.certificate_, quadruplets.certificate_
    assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-9
    assert one.primal == pytest.approx(other.primal, rel=1e-6)
    np.testing.assert_array_equal(triplets.predict(T), quadruplets.predict(T[:, [0, 1, 0, 2]]))


def test_the_metric_is_that_of_frob_metric():
    X, T = make(3)
    X, T = np.unique(X[np.unique(T)], axis=0), np.searchsorted(np.unique(T), T)
    tuples, rows = (
        TripletFrobMetric(preprocessor=X, **EXACT).fit(T),
        paper_metric(**EXACT).fit(X, triplets=T),
    )
    assert tuples.scale_ == pytest.approx(rows.scale_, rel=1e-14)
    assert tuples.certificate_.primal == pytest.approx(rows.certificate_.primal, rel=1e-6)
    bound = tuples.certificate_.distance_bound + rows.certificate_.distance_bound
    distance = tuples.get_mahalanobis_matrix() - rows.get_mahalanobis_matrix()
    assert np.linalg.norm(distance) * rows.scale_**2 <= bound + 1e-9


def test_a_sparse_preprocessor_gives_the_same_metric():
    X, T = make(3)
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (
        TripletFrobMetric(preprocessor=table, **EXACT).fit(T) for table in (X, sp.csr_array(X))
    )
    assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)
    np.testing.assert_array_equal(sparse.predict(T), dense.predict(T))
    with pytest.raises(ValueError, match="all 1 tuples have equal points"):
        TripletFrobMetric(preprocessor=sp.csr_array(np.vstack([X, X[1]]))).fit([[0, 1, 20]])


@pytest.mark.parametrize("size", KINDS)
def test_contradictions_are_counted_and_allowed(size):
    X, T = make(size)
    assert KINDS[size](preprocessor=X, C=30.0).fit(T).n_contradictions_ == 0
    both = np.concatenate([T, T[:5, flip(size)]])
    metric = KINDS[size](preprocessor=X, C=30.0).fit(both)
    assert metric.n_contradictions_ == 10
    assert metric.status_ == "optimal"
    assert metric.fit(both, sample_weight=np.arange(65) < 60).n_contradictions_ == 0


def test_a_zero_metric_warns_and_predicts_no_zero():
    X, T = make(3)
    with pytest.warns(UserWarning, match="the learned metric is zero"):
        metric = TripletFrobMetric(preprocessor=X).fit(np.concatenate([T, T[:, [0, 2, 1]]]))
    assert metric.rank_ == 0
    assert (metric.components_ == 0).all()
    assert (metric.predict(T) == -1).all()
    assert metric.score(T) == metric.score(T[:, [0, 2, 1]]) == metric.score(T, -np.ones(60)) == 0.5
    tied = TripletFrobMetric(preprocessor=X).fit(T)
    assert tied.predict(X[[[0, 1, 1]]]).tolist() == [-1]


@pytest.mark.parametrize("size", KINDS)
def test_equal_distances_count_a_half(size):
    X, T = make(size)
    metric = KINDS[size](C=30.0).fit(X[T])
    tied = X[[[0, 1, 1]]] if size == 3 else X[[[0, 1, 1, 0]]]
    assert metric.score(tied) == metric.score(tied, [-1]) == 0.5
    right = metric.predict(X[T]) == 1
    mixed, weight = np.concatenate([X[T], tied]), np.append(np.arange(60.0), 7.0)
    expected = (weight[:60] @ right + 3.5) / weight.sum()
    assert metric.score(mixed, sample_weight=weight) == pytest.approx(expected, rel=1e-12)


OTHERS = "these are not the comparisons that the metric was learned from"


@pytest.mark.parametrize(
    "options", [{}, {"kernel": "rbf"}, {"prior": "covariance"}, {"n_directions": 2}], ids=str
)
@pytest.mark.parametrize("size", KINDS)
def test_a_proof_is_of_the_comparisons_with_their_answers(size, options):
    X, T = make(size)
    y, weight = np.where(np.arange(60) % 3, 1, -1), 1.0 + np.arange(60) % 2
    T = np.where((y > 0)[:, None], T, T[:, flip(size)])
    metric = KINDS[size](preprocessor=X, C=30.0, keep_dual=True, **options).fit(T, y, weight)
    before = vars(metric).copy()
    assert metric.certify(T, y, weight).relative_gap <= 1.001e-3
    assert metric.certify(X[T], y.tolist(), weight).relative_gap <= 1.001e-3
    turned = np.where((y > 0)[:, None], T, T[:, flip(size)])
    assert metric.certify(turned, sample_weight=weight).relative_gap <= 1.001e-3
    order = np.roll(np.arange(60), 1)
    for tuples, answers in [(T, None), (T, -y), (T[order], y[order]), (T, y[order])]:
        with pytest.raises(CertificateError, match=OTHERS):
            metric.certify(tuples, answers, weight)
    for tuples, answers in [(T[:50], y[:50]), (T[:3], y[:3])]:
        with pytest.raises(CertificateError):
            metric.certify(tuples, answers)
    with pytest.raises(CertificateError):
        metric.certify(2 * X[T], y, weight)
    assert vars(metric) == before


def test_a_proof_by_a_kernel_of_other_samples():
    X, T = make(3)
    metric = TripletFrobMetric(kernel="rbf", C=30.0, keep_dual=True).fit(X[T])
    with pytest.raises(CertificateError, match="these 20 samples are not the 20 that the"):
        metric.certify(2 * X[T])
    with pytest.raises(CertificateError, match="these 6 samples are not the 20 that the"):
        metric.certify(X[[[0, 1, 2], [3, 4, 5]]])


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"prior": "covariance"}], ids=str)
def test_comparisons_of_no_weight_are_as_if_not_given(size, options):
    X, T = make(size)
    far = np.vstack([X, 1e6 + np.arange(size * 4).reshape(size, 4) ** 2])
    more = np.insert(T, [0, 30, 60], 20 + np.arange(size), axis=0)
    weight = np.where((more >= 20).any(axis=1), 0.0, 2.0)
    metric, plain = (
        KINDS[size](preprocessor=far, C=30.0, keep_dual=True, **options) for _ in range(2)
    )
    metric.fit(more, sample_weight=weight)
    plain.fit(T, sample_weight=np.full(60, 2.0))
    check_identical(outcome(metric, T), outcome(plain, T))
    assert metric.certificate_ == plain.certificate_
    for name in ("scale_", "unit_", "n_triplets_", "n_contradictions_", "n_directions_"):
        assert getattr(metric, name) == getattr(plain, name)
    np.testing.assert_array_equal(metric.dual_coef_, plain.dual_coef_)
    np.testing.assert_array_equal(metric.triplets_.index, plain.triplets_.index)
    assert metric.certify(more, sample_weight=weight) == plain.certify(T)
    if not options:
        metric.partial_fit(more[:9], sample_weight=weight[:9])
        plain.partial_fit(T[:8])
        check_identical(outcome(metric, T), outcome(plain, T))


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


# As scikit-learn checks estimators of 2-D data


def test_cross_validation_over_objects():
    X, T = make(3, n=400)
    scores = cross_val_score(
        TripletFrobMetric(preprocessor=X, C=100.0), T, cv=ObjectSplit(3, random_state=0)
    )
    assert scores.shape == (3,)
    assert scores.mean() > 0.7
    search = GridSearchCV(TripletFrobMetric(preprocessor=X), {"C": [0.1, 30.0]}, cv=3).fit(T)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() > 0.8


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"C": 0}, "'C' parameter of TripletFrobMetric must be a positive finite number. Got 0"),
        ({"loss": "square"}, "'loss' parameter .* must be one of"),
        (
            {"kernel": "precomputed"},
            r"'kernel' parameter .* one of \['linear', 'polynomial', 'rbf'\]",
        ),
        ({"solver": "none"}, "'solver' parameter"),
        ({"prior": "wide"}, "'prior' parameter"),
        ({"preprocessor": "X"}, "'preprocessor' parameter .* a matrix or a function or None"),
        ({"n_components": 5}, "n_components=5 is larger than the 4 features"),
        ({"prior": "within"}, "prior='within' is computed from classes"),
        ({"prior": np.eye(3)}, r"prior has shape \(3, 3\).*expected \(4, 4\)"),
    ],
    ids=str,
)
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
    check_identical(outcome(metric.partial_fit(X[T]), X[T]), outcome(clone(metric).fit(X[T]), X[T]))
    old, unit = metric.get_mahalanobis_matrix(), metric.unit_
    assert unit == pytest.approx(own_unit(X[np.unique(T)]), rel=1e-12)
    assert metric.partial_fit(Y[more]) is metric
    assert metric.unit_ == metric.scale_ == unit
    check_optimal(metric, *cvxpy_optimum(Y, more, EXACT["C"], prior=old, unit=unit))
    check_known(metric, KINDS[size], old, Y[more])
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
    check_known(metric, TripletFrobMetric, old, Y[more])
    assert metric.certify(Y[more]).relative_gap <= 1e-6


def test_what_the_metric_knows_already_does_not_change_it():
    X, T = make(3)
    metric = TripletFrobMetric(preprocessor=X, C=1e3, tol=1e-6).fit(T)
    near, far = (metric.pair_distance(pair) ** 2 for pair in ends(T))
    known = T[far - near > 1.01]
    assert len(known) > 5
    old = metric.get_mahalanobis_matrix()
    metric.partial_fit(known)
    assert metric.certificate_.primal <= 1e-6
    np.testing.assert_allclose(
        metric.get_mahalanobis_matrix(), old, atol=1e-5 * np.linalg.norm(old)
    )


@pytest.mark.parametrize("size", KINDS)
def test_a_far_comparison_of_little_weight_hardly_changes_an_update(size):
    X, T = make(size)
    Y, more = make(size, n=15, seed=3)
    Y = np.vstack([Y, 30.0 * np.arange(1, size + 1)[:, None] * np.eye(4)[:size]])
    together = np.vstack([more, [20 + np.arange(size)]])
    weight = np.append(np.ones(15), 1e-9)
    first, plain, other = (KINDS[size](**EXACT).fit(X[T]) for _ in range(3))
    plain.partial_fit(Y[more])
    other.partial_fit(Y[together], sample_weight=weight)
    assert own_unit(Y) > 5 * first.unit_
    assert plain.unit_ == other.unit_ == first.unit_
    old, a, b = (m.get_mahalanobis_matrix() for m in (first, plain, other))
    assert np.linalg.norm(a - b) < 1e-2 * np.linalg.norm(a - old)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_an_update_in_its_own_unit_is_one_of_another_c(factor):
    X, T = make(3)
    one = TripletFrobMetric(**EXACT).fit(X[T])
    other = TripletFrobMetric(**EXACT).fit(X[T])
    forge(other, "space.unit", other.unit_ * factor)
    other.set_params(C=EXACT["C"] * factor**4)
    one.partial_fit(X[T[:9, [0, 2, 1]]])
    other.partial_fit(X[T[:9, [0, 2, 1]]])
    assert other.scale_ == factor * one.scale_
    a, b = one.get_mahalanobis_matrix(), other.get_mahalanobis_matrix()
    np.testing.assert_allclose(a, b, atol=1e-3 * np.linalg.norm(a))


def test_an_interrupted_fit_keeps_its_answer():
    def press_ctrl_c(step):
        raise KeyboardInterrupt

    X, T = make(3)
    metric = TripletFrobMetric(preprocessor=X, C=30.0).fit(T)
    with pytest.raises(KeyboardInterrupt):
        metric.set_params(callback=press_ctrl_c, tol=1e-12, keep_dual=True).partial_fit(T[:20])
    assert metric.status_ == "interrupted"
    assert metric.n_triplets_ == 20
    assert metric.certify(T[:20]).primal == pytest.approx(metric.certificate_.primal, rel=1e-9)
    assert metric.predict(T).shape == (60,)


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
    curved = TripletFrobMetric(preprocessor=X, kernel="rbf").fit(T)
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        curved.partial_fit(T)


# Bad input


@pytest.mark.parametrize(
    ("tuples", "options", "words"),
    [
        ([[0, 1, 1]], {}, "all 1 tuples have equal points where they should differ"),
        ([[0, 1, 20]], {}, "all 1 tuples have equal points where they should differ"),
        ([[0, 1, 2]], {"y": [2]}, r"y\[0\] = 2; expected \+1"),
        ([[0, 1, 2]], {"y": [0]}, r"y\[0\] = 0; expected \+1"),
        ([[0, 1, 2]], {"y": [np.nan]}, r"y\[0\] = nan; expected \+1"),
        ([[0, 1, 2]], {"y": [True]}, r"y\[0\] = True; expected \+1"),
        ([[0, 1, 2]], {"y": [1, 1]}, r"y has shape \(2,\); there are 1 comparisons"),
        ([[0, 1, 2]], {"sample_weight": [-1.0]}, r"sample_weight\[0\] = -1.0 must be non-negative"),
        ([[0, 1, 2]], {"sample_weight": [np.nan]}, r"sample_weight\[0\] = nan must be"),
        ([[0, 1, 2]], {"sample_weight": [np.inf]}, r"sample_weight\[0\] = inf must be"),
        ([[0, 1, 2]], {"sample_weight": [0.0]}, "sample_weight is zero for all comparisons"),
        ([[0, 1, 2]], {"sample_weight": [1, 2]}, r"sample_weight has shape \(2,\); there are 1"),
    ],
    ids=str,
)
def test_comparisons_that_are_refused(tuples, options, words):
    X, _ = make(3)
    with pytest.raises(ValueError, match=words):
        TripletFrobMetric(preprocessor=np.vstack([X, X[1]])).fit(tuples, **options)


@pytest.mark.parametrize("void", [[3, 3, 4], [3, 4, 3], [0, 1, 1], [0, 1, 20]], ids=str)
def test_a_tuple_of_equal_points_is_left_out_with_a_warning(void):
    X, T = make(3)
    X = np.vstack([X, X[1]])
    plain = TripletFrobMetric(preprocessor=X, C=30.0, keep_dual=True).fit(T)
    more = np.insert(T, 2, void, axis=0)
    words = r"1 of 61 tuples have equal points .* tuples\[2\]"
    for tuples, table in ((more, X), (X[more], None)):
        metric = TripletFrobMetric(preprocessor=table, C=30.0, keep_dual=True)
        with pytest.warns(UserWarning, match=words):
            metric.fit(tuples)
        np.testing.assert_array_equal(metric.components_, plain.components_)
        assert metric.n_triplets_ == plain.n_triplets_
        with pytest.warns(UserWarning, match=words):
            assert metric.certify(tuples).relative_gap <= metric.tol


@pytest.mark.parametrize("index", [[0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]], ids=str)
def test_quadruplets_of_equal_distances_are_refused(index):
    X, _ = make(4)
    for tuples, table in (([index], X), (X[[index]], None)):
        with pytest.raises(ValueError, match="all 1 tuples have equal points"):
            QuadrupletFrobMetric(preprocessor=table).fit(tuples)


def test_weights_of_words_and_answers_of_booleans():
    X, T = make(3)
    metric = TripletFrobMetric(preprocessor=X, C=30.0)
    with pytest.raises(TypeError, match="sample_weight has dtype <U1; expected a number for"):
        metric.fit(T, sample_weight=["2"] * 60)
    with pytest.raises(TypeError, match="sample_weight has dtype object; expected a number"):
        metric.fit(T).score(T, sample_weight=[None] * 60)
    words = r"is smaller\) or -1; convert booleans, or 0 and 1, by np.where\(y, 1, -1\)"
    with pytest.raises(ValueError, match=words):
        metric.fit(T, np.ones(60, dtype=bool))


def test_the_size_of_tuples_is_checked_by_every_method():
    X, T = make(3)
    metric = TripletFrobMetric(preprocessor=X, keep_dual=True).fit(T)
    for call in (metric.fit, metric.partial_fit, metric.predict, metric.score, metric.certify):
        with pytest.raises(ValueError, match=r"expected triplets \(anchor, near, far\), of 3"):
            call(T[:, :2])
    with pytest.raises(ValueError, match=r"expected pairs \(a, b\), of 2"):
        metric.pair_distance(T)
    with pytest.raises(ValueError, match="keep_dual=True"):
        TripletFrobMetric(preprocessor=X).fit(T).certify(T)


# Extreme data


def test_more_features_than_points_and_a_single_comparison():
    X, _ = make(3, n_features=50, n_points=5, n=5)
    metric = TripletFrobMetric(preprocessor=X, **EXACT).fit([[0, 1, 2]])
    assert metric.components_.shape == (50, 50)
    assert metric.rank_ == 1  # one matrix with one positive eigenvalue
    near, far = (metric.pair_distance([pair])[0] ** 2 for pair in ([0, 1], [0, 2]))
    assert far - near == pytest.approx(1, rel=1e-3)
    assert metric.predict([[0, 1, 2], [0, 2, 1]]).tolist() == [1, -1]


def test_points_that_occur_often_count_once():
    X, T = make(3)
    doubled, T2 = np.vstack([X, X]), T + np.where(np.arange(3) == 1, 20, 0)
    check_identical(
        outcome(TripletFrobMetric(preprocessor=doubled).fit(T2), T2),
        outcome(TripletFrobMetric(preprocessor=X).fit(T), T),
    )


def test_a_proof_is_of_the_weights_too():
    X, T = make(3)
    weight = 1.0 + np.arange(len(T)) % 3
    metric = TripletFrobMetric(preprocessor=X, C=30.0, keep_dual=True).fit(T, sample_weight=weight)
    assert metric.certify(T, sample_weight=2 * weight) == metric.certificate_
    with pytest.raises(CertificateError, match="with their y and sample_weight"):
        metric.certify(T)
