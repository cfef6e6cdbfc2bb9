"""The attack on certificates: its oracle is right, it finds what is wrong, and finds nothing."""

from dataclasses import replace

import numpy as np
import pytest

from frobmetric.core import FrobeniusSDP, Hinge, Quadruplets
from frobmetric.solvers import solve

pytest.importorskip("flint", reason="the oracle computes in rational numbers by python-flint")
from attack.suite.certificates import attack_certificates, judge
from attack.suite.degenerate import attack_degenerate
from attack.suite.exact import ExactProblem, exact


@pytest.fixture
def solved(rng):
    X, rows, weight = rng.normal(size=(8, 3)), rng.integers(0, 8, (10, 4)), np.full(10, 0.3)
    cost, prior = np.diag([0.1, 0.2, 0.3]), np.diag([1.0, 0.0, 2.0])
    problem = FrobeniusSDP(Quadruplets(X, rows), Hinge(weight), cost, prior, 0.5)
    truth = ExactProblem(X, rows, "hinge", weight, cost, prior, 0.5)
    return problem, truth, solve(problem, tol=1e-11, max_iter=5000)


def test_the_oracle_agrees_with_a_generic_solver(solved):
    cp = pytest.importorskip("cvxpy", reason="the oracle of the oracle is cvxpy with Clarabel")
    _, truth, solution = solved
    M = cp.Variable((3, 3), PSD=True)
    near, far = (truth.X[truth.quadruplets[:, [i, i + 1]]] for i in (0, 2))
    near, far = near[:, 0] - near[:, 1], far[:, 0] - far[:, 1]
    margins = cp.sum(cp.multiply(far @ M, far) - cp.multiply(near @ M, near), axis=1)
    objective = cp.trace(truth.cost @ M) + cp.sum_squares(M - truth.prior) / (2 * truth.sigma)
    objective += truth.weight @ cp.pos(1 - margins)
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    assert float(truth.primal(solution.point.factor())) == pytest.approx(best, rel=1e-6)
    assert float(truth.dual(solution.u)) == pytest.approx(best, rel=1e-6)


def test_rational_numbers_are_exact():
    total = np.sum(exact([1e300, 1.0, -1e300]))
    assert total == 1
    assert exact(np.zeros((0, 2))).shape == (0, 2)


def test_an_interval_that_misses_by_a_trifle_is_found(solved):
    _, truth, solution = solved
    given = truth, solution.point.factor(), solution.u
    certificate = solution.certificate
    assert judge(certificate, *given)[1]
    off = 10 * certificate.rounding
    assert judge(replace(certificate, primal=certificate.primal - off), *given) == (
        "primal is below the truth",
        False,
    )
    assert judge(replace(certificate, dual=certificate.dual + off), *given) == (
        "dual is above the truth",
        False,
    )
    assert judge(replace(certificate, gap=np.nan), *given) == ("certificate is not finite", False)


@pytest.mark.parametrize("attack", [attack_certificates, attack_degenerate])
def test_nothing_is_found(attack):
    found = attack(25, seed=3)
    assert found.n_tries == 25
    assert found.defects == []
