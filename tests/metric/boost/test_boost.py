import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from frobmetric import CertificateError, mine_triplets
from frobmetric._parameters import InvalidParameterError
from frobmetric.core import Triplets
from frobmetric.core.points import Factored
from frobmetric.metric.boost.estimator import LOSSES, BoostMetric
from frobmetric.metric.boost.problem import (
    Exponential,
    Logistic,
    TraceSDP,
    certify_trace,
    p1_from_p2,
    p2_from_p1,
)
from frobmetric.metric.boost.solvers import METHODS, Ledger, best_step, boost, principal
from frobmetric.neighbors import knn_error
from frobmetric.solvers import Monitor

IRIS = load_iris(return_X_y=True)
SMOOTH = ["logistic", "exponential"]
#: Clarabel's own tolerance, relative.
CLARABEL = 1e-6


def random_triplets(seed, n=4, m=40):
    """Triplets of a hidden metric with some of them turned round, as constraints."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, n))
    rows = np.array([rng.choice(15, 3, replace=False) for _ in range(m)])
    hidden = X * rng.uniform(0.2, 2, n)
    a, b, c = (hidden[rows[:, k]] for k in range(3))
    turned = (np.sum((a - b) ** 2, axis=1) > np.sum((a - c) ** 2, axis=1)) ^ (rng.random(m) < 0.1)
    rows[turned] = rows[turned][:, [0, 2, 1]]
    return Triplets(X, rows), rng.dirichlet(np.ones(m)), rng


def random_problem(seed, loss, C=None, **size):
    constraints, share, rng = random_triplets(seed, **size)
    C = float(10 ** rng.uniform(0, 3)) if C is None else C
    return TraceSDP(constraints, LOSSES[loss](C * share))


def matrices(constraints):
    return np.array([constraints.adjoint(e) for e in np.eye(constraints.shape[0])])


def clarabel(problem, loss):
    """The optimum of P2 by a generic solver."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    n, weight = problem.order, problem.loss.weight
    M = cp.Variable((n, n), PSD=True)
    v = matrices(problem.constraints).reshape(-1, n * n) @ cp.vec(M, order="C")
    terms = {
        "hinge": lambda: cp.pos(1 - v),
        "logistic": lambda: cp.logistic(-v),
        "exponential": lambda: cp.exp(-v),
    }
    statement = cp.Problem(cp.Minimize(cp.trace(M) + weight @ terms[loss]()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        best = statement.solve(solver=cp.CLARABEL)
    return best, statement.status == "optimal"


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], X[600:1200], y[600:1200]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_lies_between_dual_and_primal(loss, seed):
    problem = random_problem(seed, loss, n=2 + seed % 5, m=5 + 5 * seed)
    solution = boost(problem, METHODS[loss, True], tol=1e-4, max_iter=20_000)
    best, is_accurate = clarabel(problem, loss)
    slack = (CLARABEL if is_accurate else 100 * CLARABEL) * (1 + abs(best))
    assert solution.status == "optimal"
    assert solution.certificate.relative_gap <= 1e-4
    assert solution.certificate.dual <= best + slack
    assert best <= solution.certificate.primal + slack


@pytest.mark.parametrize("loss", LOSSES)
def test_any_u_bounds_any_metric(loss, rng):
    problem = random_problem(1, loss, C=30.0)
    for _ in range(30):
        point = Factored(rng.normal(size=(4, rng.integers(0, 5))) * rng.uniform(0, 2))
        margins = problem.constraints.forward(point)
        u = problem.loss.weight * rng.uniform(0, 1, len(margins)) ** rng.uniform(0.2, 5)
        found = problem.bounds(point, margins, u)
        assert found.dual <= found.primal
        assert np.linalg.eigvalsh(problem.constraints.adjoint(found.u))[-1] <= 1 + 1e-12
        M = point.dense()
        by_hand = sum(
            w
            * {"hinge": max(0, 1 - v), "logistic": np.log1p(np.exp(-v)), "exponential": np.exp(-v)}[
                loss
            ]
            for w, v in zip(
                problem.loss.weight, np.tensordot(matrices(problem.constraints), M), strict=True
            )
        )
        assert found.primal == pytest.approx(np.trace(M) + by_hand)


@pytest.mark.parametrize("kind", [Logistic, Exponential])
def test_conjugates(kind, rng):
    loss = kind(rng.uniform(0.5, 2, 6))
    v = rng.normal(size=6)
    u = loss.multiplier(v)
    np.testing.assert_allclose(-approx_fprime(v, loss.value), u, rtol=1e-5)
    value, slope = loss.conjugate(u)
    assert value == pytest.approx(loss.value(v) + u @ v)  # Fenchel's equality
    np.testing.assert_allclose(slope, v, atol=1e-10)
    other = u * rng.uniform(0.1, 1, 6)
    assert loss.conjugate(other)[0] < loss.value(v) + other @ v  # and his inequality
    assert (u <= loss.upper).all()
    edge = kind(np.array([0.0, 1.0]))
    assert edge.conjugate(np.zeros(2))[0] == 0
    assert edge.upper[0] == 0


def test_a_long_trial_step_stays_finite():
    loss = Exponential(np.ones(2))
    assert np.isfinite(loss.value(np.array([-1e6, 1e6])))
    assert np.isfinite(loss.multiplier(np.array([-1e6, 1e6]))).all()


@pytest.mark.parametrize("kind", [Logistic, Exponential])
def test_the_best_step_has_no_slope(kind, rng):
    loss, margins, change = kind(np.full(20, 5.0)), rng.normal(size=20), rng.normal(1, 1, 20)
    step = best_step(2.0, loss, margins, change)
    assert step > 0
    assert loss.multiplier(margins + step * change) @ change == pytest.approx(2.0, rel=1e-6)
    assert best_step(2.0, loss, margins, -np.abs(change)) == 0


def test_negligible_columns_are_dropped(rng):
    L = rng.normal(size=(5, 5)) * np.array([1, 1, 1e-7, 1e-8, 1])
    point = principal(Factored(L), 1e-3)
    assert point.rank == 3
    np.testing.assert_allclose(point.dense(), L @ L.T, atol=1e-6)
    assert (np.diff(np.linalg.norm(point.L, axis=0)) <= 0).all()


@pytest.mark.parametrize("loss", SMOOTH)
class TestStages:
    """One rank-one matrix at a time."""

    def test_the_objective_falls_and_the_bound_holds(self, loss):
        metric = BoostMetric(loss=loss, corrective=False, C=100, tol=1e-2).fit(*IRIS)
        best = BoostMetric(loss=loss, C=100, tol=1e-6).fit(*IRIS).certificate_
        objective = np.array([step.primal for step in metric.history_])
        bound = np.array([step.dual for step in metric.history_])
        assert metric.status_ == "optimal"
        assert (np.diff(objective) <= 0).all()
        assert objective[-1] < objective[0] / 2
        assert (bound <= best.primal).all()
        assert (objective >= best.dual).all()

    def test_it_converges_to_the_same_optimum(self, loss):
        problem = random_problem(2, loss, C=20.0, n=2, m=10)
        slow = boost(problem, METHODS[loss, False], tol=5e-3, max_iter=10_000)
        fast = boost(problem, METHODS[loss, True], tol=1e-6, max_iter=10_000)
        assert slow.status == "optimal"
        assert fast.certificate.dual <= slow.certificate.primal
        assert slow.certificate.primal <= fast.certificate.primal * 1.006


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


class TestBadStart:
    """A start from which the exponential loss is astronomic."""

    def test_a_start_worse_than_zero_is_left_out(self):
        problem = random_problem(0, "exponential", C=10.0)
        solution = boost(
            problem, METHODS["exponential", True], 1e-3, 3000, start=Factored(20 * np.eye(4))
        )
        from_zero = boost(problem, METHODS["exponential", True], 1e-3, 3000)
        assert solution.status == "optimal"
        assert solution.certificate == from_zero.certificate

    def test_a_good_start_is_used(self):
        problem = random_problem(0, "exponential", C=10.0)
        first = boost(problem, METHODS["exponential", True], 1e-3, 3000)
        again = boost(problem, METHODS["exponential", True], 1e-3, 3000, start=first.point)
        assert again.n_iter < first.n_iter
        assert again.certificate.relative_gap <= 1e-3

    def test_passes_on_heavy_tails(self):
        A, y = heavy_tailed_data()
        metric = BoostMetric(loss="exponential", n_passes=3).fit(A, y)
        assert metric.status_ == "optimal"
        assert metric.certificate_.relative_gap <= 1e-3

    def test_the_rounding_of_a_huge_objective_is_forgotten(self):
        """A bound from one step beside an objective from another: only theirs counts."""
        problem = random_problem(0, "exponential", C=10.0)
        bad, zero = Factored(20 * np.eye(4)), Factored(np.zeros((4, 0)))
        far, near = (
            problem.bounds(at, v, problem.loss.multiplier(v))
            for at, v in ((p, problem.constraints.forward(p)) for p in (bad, zero))
        )
        ledger = Ledger(Monitor(1e-3, 10))
        far = replace(far, dual=near.dual * 1.01)
        assert not ledger.note(far)
        assert not ledger.note(near)
        assert ledger.best.gap == near.primal - far.dual
        assert ledger.best.gap > 1e-3 * near.primal


def test_optimal_is_what_the_certificate_says():
    def hopeful(problem, start, ledger):
        margins = problem.constraints.forward(start)
        found = problem.bounds(start, margins, problem.loss.multiplier(margins))
        ledger.note(replace(found, primal=found.dual))

    problem = random_problem(0, "exponential", C=10.0)
    with pytest.warns(ConvergenceWarning, match=r"hopeful ended \(stalled\).* > tol=0.001"):
        solution = boost(problem, hopeful, 1e-3, 10)
    assert solution.status == "stalled"
    assert solution.certificate.relative_gap > 1e-3


class TestCertify:
    """`certify` proves what is there, and is not fooled."""

    @pytest.fixture
    def kept(self):
        return BoostMetric(C=100, keep_dual=True).fit(*IRIS)

    def test_other_components_have_another_gap(self, kept):
        kept.components_ = kept.components_ * 1.1
        assert kept.certify(IRIS[0]).relative_gap > 2 * kept.certificate_.relative_gap

    def test_notices_other_dual_variables(self, kept):
        kept.dual_coef_ = kept.dual_coef_ * 1.1
        with pytest.raises(CertificateError, match=r"outside \[0|eigenvalue"):
            kept.certify(IRIS[0])
        kept.dual_coef_ = kept.dual_coef_[1:]
        with pytest.raises(CertificateError, match="shape"):
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
        metric.components_ = metric.components_.copy()
        metric.components_[-1] += 0.01 * np.linalg.norm(metric.components_) * foreign
        with pytest.raises(CertificateError, match=r"outside the span of these data, 0\.0"):
            metric.certify(X)

    def test_allows_the_rounding_of_what_is_summed(self):
        A, y = cancelling_data()
        metric = BoostMetric(loss="exponential", C=1e8, keep_dual=True).fit(A, y)
        assert metric.status_ == "optimal"
        assert metric.certify(A).relative_gap <= 1e-3
        metric.dual_coef_ = metric.dual_coef_ * (1 + 1e-6)  # rounding is not that large
        with pytest.raises(CertificateError, match=r"eigenvalue above 1 by 1e-06|by 9\.\d+e-07"):
            metric.certify(A)

    def test_needs_the_dual(self, kept):
        kept.set_params(keep_dual=False).fit(*IRIS)
        assert not hasattr(kept, "dual_coef_")
        with pytest.raises(ValueError, match="keep_dual=True"):
            kept.certify(IRIS[0])

    def test_refuses_what_is_no_metric(self):
        problem = random_problem(0, "hinge")
        u = np.zeros(problem.constraints.shape[0])
        with pytest.raises(CertificateError, match="positive semidefinite"):
            certify_trace(problem, -np.eye(4), u)
        with pytest.raises(CertificateError, match="NaN"):
            certify_trace(problem, Factored(np.full((4, 1), np.nan)), u)


def solve_p1(constraints, share, C):
    """P1 by cvxpy: (M, rho, value), or the status where there is no optimum."""
    cp = pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
    pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")
    n = constraints.shape[1]
    M, rho = cp.Variable((n, n), PSD=True), cp.Variable(nonneg=True)
    v = matrices(constraints).reshape(-1, n * n) @ cp.vec(M, order="C")
    statement = cp.Problem(cp.Maximize(rho - C * share @ cp.pos(rho - v)), [cp.trace(M) == 1])
    value = statement.solve(solver=cp.CLARABEL)
    if statement.status != "optimal":
        return statement.status
    return M.value, float(rho.value), float(value)


class TestTheorem:
    """P1 and P2 have the same solutions up to scale, where P1 has one with Opt(P1) > 0."""

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("C1", [1.1, 1.4])
    def test_p2_from_p1(self, seed, C1):
        constraints, share, _ = random_triplets(seed)
        M, rho, value = solve_p1(constraints, share, C1)
        assert value > 0
        C2, M2, value2 = p2_from_p1(C1, M, rho, value)
        problem = TraceSDP(constraints, LOSSES["hinge"](C2 * share))
        reached = np.trace(M2) + problem.loss.value(constraints.forward(M2))
        assert reached == pytest.approx(value2, rel=1e-5)  # M2 costs 1 / Opt(P1) ...
        ours = boost(problem, METHODS["hinge", True], tol=1e-4, max_iter=20_000)
        assert ours.certificate.dual <= value2 * (1 + 1e-5)  # ... and that is the optimum
        assert value2 <= ours.certificate.primal * (1 + 1e-5)

    @pytest.mark.parametrize("seed", range(3))
    def test_p1_from_p2_and_back(self, seed):
        problem = random_problem(seed, "hinge", C=20.0)
        share = problem.loss.weight / 20
        ours = boost(problem, METHODS["hinge", True], tol=1e-5, max_iter=50_000)
        found = p1_from_p2(20.0, ours.point.dense(), ours.certificate.primal)
        assert found.C >= 1
        assert np.trace(found.M) == pytest.approx(1)
        margins = problem.constraints.forward(found.M)
        reached = found.rho - found.C * share @ np.maximum(0, found.rho - margins)
        assert reached == pytest.approx(found.value, rel=1e-8)
        _, _, best = solve_p1(problem.constraints, share, found.C)
        assert found.value == pytest.approx(best, rel=1e-4)
        C2, M2, value2 = p2_from_p1(*found)
        assert pytest.approx(20.0) == C2
        assert value2 == pytest.approx(ours.certificate.primal)
        np.testing.assert_allclose(M2, ours.point.dense())

    def test_p1_is_unbounded_below_one(self):
        constraints, share, _ = random_triplets(0)
        assert solve_p1(constraints, share, 0.9) == "unbounded"
        with pytest.raises(ValueError, match="unbounded for C < 1, because rho can grow for free"):
            p2_from_p1(0.9, np.eye(4) / 4, 1.0, 1.0)

    def test_inseparable_triplets_have_no_p2(self):
        constraints, share, _ = random_triplets(0, m=60)
        M, rho, value = solve_p1(constraints, share, 1e4)
        assert value <= 1e-6
        with pytest.raises(ValueError, match=r"no metric separates Opt\(P1\) <= 0, and no C of P2"):
            p2_from_p1(1e4, M, rho, min(value, 0.0))

    def test_other_matrices_are_refused(self):
        with pytest.raises(ValueError, match=r"trace 4; P1 demands trace\(M\) = 1"):
            p2_from_p1(2.0, np.eye(4), 1.0, 1.0)
        with pytest.raises(ValueError, match="M = 0 is the optimum of P2"):
            p1_from_p2(0.1, np.zeros((4, 4)), 0.1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("power", [-9, 9])
def test_the_unit_of_x_does_not_matter(power, loss):
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    metric = BoostMetric(loss=loss, C=1e3)
    reference = pdist(metric.fit(X, y).transform(X))
    scaled = metric.fit(X * 10.0**power, y).transform(X * 10.0**power)
    np.testing.assert_allclose(pdist(scaled), reference, rtol=1e-9, atol=1e-9 * reference.max())


def test_extreme_units_have_a_defined_answer():
    for factor in (1e-150, 1e150):
        metric = BoostMetric(C=10).fit(IRIS[0] * factor, IRIS[1])
        assert np.isfinite(metric.components_).all()
        assert metric.certificate_.relative_gap <= 1e-3


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


def test_clone_pickle_and_single_precision():
    X, y = IRIS
    metric = BoostMetric(C=5, loss="logistic").fit(X.astype(np.float32), y)
    assert metric.components_.dtype == np.float32
    assert not hasattr(clone(metric), "components_")
    again = pickle.loads(pickle.dumps(metric))
    np.testing.assert_array_equal(again.transform(X), metric.transform(X))
    assert metric.get_feature_names_out()[0] == "boostmetric0"


def test_components_are_ordered_and_truncated():
    full = BoostMetric(C=1e3, loss="exponential").fit(*IRIS)
    lengths = np.linalg.norm(full.components_, axis=1)
    assert full.components_.shape == (4, 4)
    assert (np.diff(lengths) <= 0).all()
    assert (lengths[full.rank_ :] == 0).all()
    two = BoostMetric(C=1e3, loss="exponential", n_components=2).fit(*IRIS)
    np.testing.assert_array_equal(two.components_, full.components_[:2])
    by_rank = BoostMetric(C=1e3, loss="exponential", n_components="rank").fit(*IRIS)
    assert by_rank.components_.shape == (full.rank_, 4)


def test_passes_mine_again():
    one, two = (BoostMetric(C=1e3, n_passes=k, keep_dual=True).fit(*IRIS) for k in (1, 2))
    mined = mine_triplets(one.transform(IRIS[0]), IRIS[1]).to_array()
    agree = (np.sort(two.triplets_.to_array(), axis=0) == np.sort(mined, axis=0)).mean()
    assert agree > 0.99
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
    from frobmetric.metric.boost import solvers as boosting_rounds

    whole = boosting_rounds.active_set

    def interrupted(problem, state, monitor):
        whole(problem, state, monitor)
        raise KeyboardInterrupt

    monkeypatch.setattr(boosting_rounds, "active_set", interrupted)
    metric = BoostMetric(C=1e3)
    with pytest.raises(KeyboardInterrupt):
        metric.fit(*IRIS)
    assert metric.status_ == "interrupted"
    assert metric.rank_ > 0
    assert metric.certificate_.primal < 1e3  # the metric zero


def test_a_callback_can_stop():
    metric = BoostMetric(
        loss="logistic", tol=1e-9, callback=lambda step: step.gap < 0.1 * step.primal
    ).fit(*IRIS)
    assert metric.status_ == "stopped"
    assert metric.n_iter_ == len(metric.history_)


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


def test_verbose_writes_and_silence_is_the_default(capsys):
    BoostMetric(C=10).fit(*IRIS)
    assert capsys.readouterr().out == ""
    BoostMetric(C=10, verbose=1).fit(*IRIS)
    assert "gap" in capsys.readouterr().out


@pytest.mark.parametrize("loss", LOSSES)
def test_too_small_a_c_gives_zero_and_names_the_least(loss):
    with pytest.warns(UserWarning, match=r"metric is zero: C=0.001 is too small.*above (\S+)") as w:
        metric = BoostMetric(C=1e-3, loss=loss, n_components="rank").fit(*IRIS)
    assert metric.rank_ == 0
    assert metric.certificate_.gap == 0
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
        (np.ones((6, 2)), [0, 1] * 3, "all 6 rows of X are equal"),
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
