"""Problem P2: bounds, losses, certificates, and the theorem that relates it to P1."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from frobmetric.core.points import Factored
from frobmetric.exceptions import CertificateError
from frobmetric.metric.boost import LOSSES
from frobmetric.metric.boost.problem import Exponential, Logistic, TraceSDP, certify_trace
from frobmetric.metric.boost.solvers import METHODS, boost
from trace_problems import matrices, random_problem, random_triplets


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


def test_certificates_refuse_what_is_no_metric():
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


class P1Optimum(NamedTuple):
    """An optimum of P1: maximise rho - C sum_r w_r max(0, rho - <A_r, M>) with trace(M) = 1."""

    C: float
    M: np.ndarray
    rho: float
    value: float


class P2Optimum(NamedTuple):
    """An optimum of P2: minimise trace(M) + C sum_r w_r max(0, 1 - <A_r, M>)."""

    C: float
    M: np.ndarray
    value: float


def p2_from_p1(C, M, rho, value):
    """Theorem 1: C2 = C1 / Opt(P1), M2 = M1 / rho and Opt(P2) = 1 / Opt(P1)."""
    return P2Optimum(C / value, M / rho, 1 / value)


def p1_from_p2(C, M, value):
    """Theorem 1 read backwards: C1 = C2 / Opt(P2), M1 = M2 / trace(M2), rho = 1 / trace(M2)."""
    return P1Optimum(C / value, M / np.trace(M), 1 / np.trace(M), 1 / value)


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
        one = p1_from_p2(20.0, ours.point.dense(), ours.certificate.primal)
        assert one.C >= 1
        margins = problem.constraints.forward(one.M)
        reached = one.rho - one.C * share @ np.maximum(0, one.rho - margins)
        assert reached == pytest.approx(one.value, rel=1e-8)
        _, _, best = solve_p1(problem.constraints, share, one.C)
        assert one.value == pytest.approx(best, rel=1e-4)
        two = p2_from_p1(*one)
        np.testing.assert_allclose(two.C, 20.0)
        assert two.value == pytest.approx(ours.certificate.primal)
        np.testing.assert_allclose(two.M, ours.point.dense())

    def test_p1_is_unbounded_below_one(self):
        """Each unit of rho costs only C, so it can grow for free."""
        constraints, share, _ = random_triplets(0)
        assert solve_p1(constraints, share, 0.9) == "unbounded"

    def test_inseparable_triplets_have_no_p2(self):
        """For large C on triplets that no metric separates, Opt(P1) <= 0: no C2 corresponds."""
        constraints, share, _ = random_triplets(0, m=60)
        _, _, value = solve_p1(constraints, share, 1e4)
        assert value <= 1e-6

    def test_an_optimum_of_zero_has_no_p1(self):
        """For small C2 the optimum of P2 is zero, and no multiple of it has trace one."""
        problem = random_problem(0, "hinge", C=1e-3)
        ours = boost(problem, METHODS["hinge", True], tol=1e-6, max_iter=1000)
        assert ours.point.rank == 0
        assert ours.certificate.primal == pytest.approx(1e-3)  # M = 0 costs C2
