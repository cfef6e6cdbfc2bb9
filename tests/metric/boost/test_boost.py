"""BoostMetric: learning, certificates, interruptions and refusals."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from changed_maps import forge
from frobmetric import BoostMetric, mine_triplets
from frobmetric.checks.parameters import InvalidParameterError
from frobmetric.exceptions import CertificateError
from frobmetric.metric.boost import LOSSES, solvers
from frobmetric.metric.boost.problem import TraceSDP
from frobmetric.metric.boost.solvers import METHODS
from frobmetric.neighbors import knn_error

IRIS = load_iris(return_X_y=True)
IRIS[0][142, 0] += 0.1  # otherwise equal to row 101
SMOOTH = ["logistic", "exponential"]


@pytest.mark.parametrize("loss", SMOOTH)
def test_in_stages_the_objective_falls_and_the_bound_holds(loss):
    metric = BoostMetric(loss=loss, corrective=False, C=100, tol=1e-2).fit(*IRIS)
    best = BoostMetric(loss=loss, C=100, tol=1e-6).fit(*IRIS).certificate_
    objective = np.array([step.primal for step in metric.history_])
    bound = np.array([step.dual for step in metric.history_])
    assert metric.status_ == "optimal"
    assert (np.diff(objective) <= 0).all()
    assert objective[-1] < objective[0] / 2
    assert (bound <= best.primal).all()
    assert (objective >= best.dual).all()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], X[600:1200], y[600:1200]


def test_stages_refuse_the_hinge():
    with pytest.raises(InvalidParameterError, match="'hinge': a stage-wise step can stall"):
        BoostMetric(corrective=False, loss="hinge").fit(*IRIS)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_learned_metric_is_better_than_euclid(loss):
    X, y = make_classification(
        600, 20, n_informative=4, n_redundant=0, class_sep=1.5, random_state=0
    )
    learned = BoostMetric(loss=loss, C=100).fit(X[:300], y[:300])
    Z = learned.transform(X)
    assert learned.certificate_.relative_gap <= 1e-3
    assert learned.rank_ < 20
    error = knn_error(Z[:300], y[:300], Z[300:], y[300:])
    assert error < 0.8 * knn_error(X[:300], y[:300], X[300:], y[300:])


@pytest.mark.parametrize("loss", LOSSES)
def test_certificate_is_proven_again(loss):
    metric = BoostMetric(loss=loss, C=100, keep_dual=True).fit(*IRIS)
    again = metric.certify(IRIS[0])
    assert again.relative_gap == pytest.approx(metric.certificate_.relative_gap, rel=1e-3)
    assert again.relative_gap <= 1e-3
    # by hand, in the units of the scaled data
    M = metric.get_mahalanobis_matrix() * metric.scale_**2
    Z = (IRIS[0] - IRIS[0].mean(axis=0)) / metric.scale_
    problem = TraceSDP(metric.triplets_.constraints(Z), LOSSES[loss](100 * metric.triplets_.share))
    margins = problem.constraints.forward(M)
    by_hand = np.trace(M) + problem.loss.value(margins)
    assert metric.certificate_.primal == pytest.approx(by_hand, rel=1e-6)
    pull = problem.constraints.adjoint(metric.dual_coef_)
    assert np.linalg.eigvalsh(pull)[-1] <= 1 + 1e-7
    assert problem.loss.conjugate(metric.dual_coef_)[0] == pytest.approx(
        metric.certificate_.dual, rel=1e-6
    )


def cancelling_data():
    """Two classes of which a fit with C=1e8 has large u_r A_r that almost cancel in their sum."""
    rng = np.random.default_rng(6)
    n, d = int(rng.integers(12, 60)), int(rng.integers(1, 8))
    A, _, y = rng.normal(size=(n, d)), rng.standard_t(1.2, size=(n, d)), rng.integers(2, size=n)
    A[:, 0] += 3 * y
    return A, y


def heavy_tailed_data():
    """Two classes of which one pass of mining leaves a metric that is bad for the next."""
    rng = np.random.default_rng(31)
    n, d = int(rng.integers(12, 60)), int(rng.integers(1, 8))
    A, y = rng.standard_t(1.2, size=(n, d)), rng.integers(2, size=n)
    A[:, 0] += 3 * y
    return A, y


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(6, 30),
    d=st.integers(1, 40),
    C=st.floats(1e-3, 1e3),
    loss=st.sampled_from(sorted(LOSSES)),
)
def test_any_small_data_set_is_certified(seed, n, d, C, loss):
    """More features than samples, one feature, duplicates: the gap is always proven."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2] = X[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "classes with fewer|the learned metric is zero")
        metric = BoostMetric(C=C, loss=loss, keep_dual=True).fit(X, np.arange(n) % 2)
    assert metric.certificate_.relative_gap <= 1e-3
    assert metric.certify(X).relative_gap <= 1.001e-3


def test_more_features_than_samples(rng):
    X, y = rng.normal(size=(20, 50)), np.arange(20) % 2
    X[:, 0] += 3 * y
    metric = BoostMetric(C=100, keep_dual=True).fit(X, y)
    rotation = np.linalg.qr(X.T)[0]
    inside = BoostMetric(C=100).fit(X @ rotation, y)
    assert metric.components_.shape == (50, 50)
    assert metric.certify(X).relative_gap <= 1e-3
    assert metric.certificate_.primal == pytest.approx(inside.certificate_.primal, rel=2e-3)


def test_labels_and_their_triplets_give_the_same_metric():
    X, y = IRIS
    metric = BoostMetric(C=100)
    from_labels = metric.fit(X, y).certificate_
    from_rows = metric.fit(X, triplets=mine_triplets(X, y).to_array()).certificate_
    assert metric.n_triplets_ == 1350
    assert max(from_labels.dual, from_rows.dual) <= min(from_labels.primal, from_rows.primal)
    assert from_labels.primal == pytest.approx(from_rows.primal, rel=1e-3)


def test_a_weight_of_two_is_the_triplet_twice():
    X, y = IRIS
    T = mine_triplets(X, y).to_array()[::7]
    weight = np.where(np.arange(len(T)) % 3 == 0, 2.0, 1.0)
    options = {"C": 100, "tol": 1e-6, "loss": "logistic"}
    weighted = BoostMetric(**options).fit(X, triplets=T, triplet_weight=weight)
    repeated = BoostMetric(**options).fit(X, triplets=np.concatenate([T, T[weight == 2]]))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_same_data_same_bits(digits, loss):
    X, y = digits[0][:200], digits[1][:200]
    first, second = (BoostMetric(loss=loss, C=300, n_jobs=1).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert first.certificate_ == second.certificate_


def test_passes_add_their_triplets():
    one, two = (BoostMetric(C=1e3, n_passes=k, keep_dual=True).fit(*IRIS) for k in (1, 2))
    mined = mine_triplets(one.transform(IRIS[0]), IRIS[1]).to_array()
    found = two.triplets_.to_array()
    np.testing.assert_array_equal(found[len(mined) :], one.triplets_.to_array())
    agree = np.sort(found[: len(mined)], axis=0) == np.sort(mined, axis=0)
    assert agree.mean() > 0.99
    assert two.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize(("loss", "corrective"), METHODS)
def test_an_interruption_leaves_the_best_metric(loss, corrective):
    def press_ctrl_c(step):
        if step.gap < 0.3 * step.primal:
            raise KeyboardInterrupt

    metric = BoostMetric(loss=loss, corrective=corrective, C=1e3, tol=1e-9, callback=press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        metric.fit(*IRIS)
    assert metric.status_ == "interrupted"
    assert metric.certificate_.relative_gap < 0.3
    assert metric.transform(IRIS[0]).shape == (150, 4)


def test_an_interruption_inside_a_proximal_step_counts(monkeypatch):
    whole = solvers.active_set

    def interrupted(problem, state, monitor):
        whole(problem, state, monitor)
        raise KeyboardInterrupt

    monkeypatch.setattr(solvers, "active_set", interrupted)
    metric = BoostMetric(C=1e3)
    with pytest.raises(KeyboardInterrupt):
        metric.fit(*IRIS)
    assert metric.status_ == "interrupted"
    assert metric.rank_ > 0
    assert metric.certificate_.primal < 1e3  # the metric zero


@pytest.mark.parametrize(("loss", "corrective"), METHODS)
def test_not_converging_warns_and_leaves_a_metric(loss, corrective):
    steps = 25 if loss == "hinge" else 5  # the first proximal step alone takes more than 5
    with pytest.warns(ConvergenceWarning, match=r"relative gap .* > tol=1e-08; raise max_iter"):
        metric = BoostMetric(loss=loss, corrective=corrective, C=1e3, tol=1e-8, max_iter=steps).fit(
            *IRIS
        )
    assert metric.status_ == "max_iter"
    assert metric.certificate_.relative_gap > 1e-8
    assert metric.rank_ > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_too_small_a_c_gives_zero_and_names_the_least(loss):
    with pytest.warns(UserWarning, match=r"metric is zero: C=0.001 is too small.*above (\S+)") as w:
        metric = BoostMetric(C=1e-3, loss=loss, n_components="rank").fit(*IRIS)
    assert metric.rank_ == 0
    assert metric.certificate_.relative_gap < 1e-12
    np.testing.assert_array_equal(metric.transform(IRIS[0]), 0)
    least = float(str(w[0].message).split()[-1])
    assert BoostMetric(C=1.1 * least, loss=loss).fit(*IRIS).rank_ > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_contradictory_triplets_give_zero_and_say_so(loss):
    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.warns(UserWarning, match="no direction of X serves the triplets"):
        metric = BoostMetric(loss=loss).fit(X, triplets=np.array([[0, 2, 1]]))
    assert metric.rank_ == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"C": 0}, "'C' parameter of BoostMetric must be a positive finite number. Got 0"),
        ({"loss": "log"}, r"one of \['exponential', 'hinge', 'logistic'\]. Got 'log'"),
        ({"corrective": "yes"}, "True or False. Got 'yes'"),
        ({"n_components": 5}, "n_components=5 is larger than the 4 features"),
        ({"tol": -1}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
    ],
)
def test_bad_parameters_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        BoostMetric(**options).fit(*IRIS)


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.full((6, 2), np.nan), [0, 1] * 3, "NaN"),
        (np.ones((6, 2)), [0, 1] * 3, "all rows of X are equal"),
        (np.eye(6), [0, 1], "inconsistent"),
        (np.eye(6), None, "requires y"),
        (np.ones(6), [0, 1] * 3, "Expected 2D array"),
    ],
)
def test_bad_data_are_refused(X, y, match):
    with pytest.raises(ValueError, match=match):
        BoostMetric().fit(X, y)


def test_labels_and_triplets_together():
    X, y = IRIS
    triplets = [[0, 60, 1], [70, 110, 71]]
    labels = BoostMetric(C=100).fit(X, y)
    both = BoostMetric(C=100).fit(X, y, triplets=triplets, triplet_weight=[1e3, 1e3])
    assert both.n_triplets_ == labels.n_triplets_ + 2
    assert both.certificate_.relative_gap <= both.tol
    pairs = X[[[0, 60], [0, 1]]]
    near, far = both.pair_distance(pairs)
    assert near - far < np.subtract(*labels.pair_distance(pairs))


def test_triplets_out_of_range_are_refused():
    with pytest.raises(ValueError, match="out of range"):
        BoostMetric().fit(IRIS[0], triplets=[[0, 1, 150]])


def test_passes_on_heavy_tails():
    A, y = heavy_tailed_data()
    metric = BoostMetric(loss="exponential", n_passes=3).fit(A, y)
    assert metric.status_ == "optimal"
    assert metric.certificate_.relative_gap <= 1e-3


class TestCertify:
    """`certify` proves what is there, and is not fooled."""

    @pytest.fixture
    def kept(self):
        return BoostMetric(C=100, keep_dual=True).fit(*IRIS)

    def test_other_components_have_another_gap(self, kept):
        forge(kept, "components", kept.components_ * 1.1)
        assert kept.certify(IRIS[0]).relative_gap > 2 * kept.certificate_.relative_gap

    def test_notices_other_dual_variables(self, kept):
        forge(kept, "evidence.u", kept.dual_coef_ * 1.1)
        with pytest.raises(CertificateError, match=r"outside \[0|eigenvalue"):
            kept.certify(IRIS[0])
        with pytest.raises(ValueError, match="dual variables of shape"):
            forge(kept, "evidence.u", kept.dual_coef_[1:])

    def test_notices_rows_in_another_order(self, kept):
        forge(kept, "components", kept.components_[::-1])
        with pytest.raises(CertificateError, match="a fit leaves the rows in order"):
            kept.certify(IRIS[0])

    def test_notices_other_data(self, kept):
        with pytest.raises(CertificateError, match="other data"):
            kept.certify(IRIS[0][::-1])
        with pytest.raises(CertificateError, match="other data"):
            kept.certify(IRIS[0] * 2)

    def test_a_truncated_metric_is_judged_as_it_is(self):
        metric = BoostMetric(keep_dual=True, n_components=1).fit(*IRIS)
        again = metric.certify(IRIS[0])
        assert again.relative_gap > metric.certificate_.relative_gap
        assert again.dual == pytest.approx(metric.certificate_.dual)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_notices_a_direction_that_the_data_lack(self, rng, dtype):
        X, y = rng.normal(size=(20, 50)).astype(dtype), np.arange(20) % 2
        X[:, 0] += 3 * y
        metric = BoostMetric(C=100, keep_dual=True).fit(X, y)
        assert metric.certify(X).relative_gap <= 1.001e-3
        foreign = np.linalg.svd(X - X.mean(axis=0))[2][-1]
        components = metric.components_.copy()
        components[-1] += 0.01 * np.linalg.norm(components) * foreign
        forge(metric, "components", components)
        with pytest.raises(CertificateError, match=r"outside the span of these data, 0\.0"):
            metric.certify(X)

    def test_allows_the_rounding_of_what_is_summed(self):
        A, y = cancelling_data()
        metric = BoostMetric(loss="exponential", C=1e8, keep_dual=True).fit(A, y)
        assert metric.status_ == "optimal"
        assert metric.certify(A).relative_gap <= 1e-3
        forge(metric, "evidence.u", metric.dual_coef_ * (1 + 1e-6))  # rounding is not that large
        with pytest.raises(CertificateError, match=r"eigenvalue above 1 by 1e-06|by 9\.\d+e-07"):
            metric.certify(A)
