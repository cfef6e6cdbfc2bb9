"""The certificate is computed from X and y alone, and its bound is below every feasible value."""

from dataclasses import replace

import numpy as np
import pytest

from frobmetric.core import PSD, CertificateError, Equal, LowRank, MatrixFree
from frobmetric.sdp import certify_sdp, make_sdp, solve_sdp
from frobmetric.sdp.solution import dual_slack, find_trace_bound
from random_problems import psd, symmetric


def random_sdp(rng, n, m, sense="="):
    """A plain SDP with a trace row; X is feasible."""
    A, X = [np.eye(n), *(symmetric(rng, n) for _ in range(m))], psd(rng, n) + np.eye(n)
    return make_sdp(symmetric(rng, n), A, [np.vdot(a, X) for a in A], sense), X


def test_errors_are_those_of_the_definition(rng):
    problem, _ = random_sdp(rng, 5, 3)
    X, y = psd(rng, 5), rng.normal(size=4)
    found = certify_sdp(problem, X, y)
    b, C = problem.loss.target, problem.cost
    Z = C - problem.constraints.adjoint(y)
    values = np.linalg.eigvalsh(Z)
    primal, dual = np.vdot(C, X), b @ y
    missed = np.linalg.norm(problem.constraints.forward(X) - b)
    assert found.primal == pytest.approx(primal)
    assert found.dual == pytest.approx(dual)
    assert found.eta_p == pytest.approx(missed / (1 + np.linalg.norm(b)))
    assert found.eta_d == pytest.approx(
        np.linalg.norm(np.minimum(values, 0)) / (1 + np.linalg.norm(C))
    )
    assert found.eta_g == pytest.approx(abs(primal - dual) / (1 + abs(primal) + abs(dual)))
    assert found.min_eigenvalue_dual == pytest.approx(values[0])
    assert found.min_eigenvalue == pytest.approx(np.linalg.eigvalsh(X)[0])
    assert found.error == max(found.eta_p, found.eta_d, found.eta_g)
    np.testing.assert_allclose(dual_slack(problem, X, y), Z)


def test_inequalities_miss_on_their_own_side_only():
    problem = make_sdp(np.eye(1), [np.eye(1)] * 3, [2.0, 2.0, 2.0], [">=", "<=", "="])
    for x, missed in ((1.0, [1, 0, 1]), (3.0, [0, 1, 1]), (2.0, [0, 0, 0])):
        found = certify_sdp(problem, np.array([[x]]), np.zeros(3))
        assert found.eta_p == pytest.approx(np.linalg.norm(missed) / (1 + np.sqrt(12)))


@pytest.mark.parametrize("seed", range(20))
def test_bound_is_below_every_feasible_value(seed):
    """Whatever y is: here none is near the optimum."""
    rng = np.random.default_rng(seed)
    problem, X = random_sdp(rng, 6, 3)
    y = 10 ** rng.uniform(-3, 3) * rng.normal(size=4)
    found = certify_sdp(problem, psd(rng, 6), y)
    assert np.isfinite(found.bound)
    assert found.bound <= np.vdot(problem.cost, X)
    regularised = replace(problem, sigma=0.7)
    value = np.vdot(problem.cost, X) + np.vdot(X, X) / 1.4
    assert certify_sdp(regularised, psd(rng, 6), y).bound <= value


def test_better_y_better_bound(rng):
    problem, _ = random_sdp(rng, 6, 3)
    solution = solve_sdp(problem, tol=1e-8)
    best = solution.certificate.primal
    bounds = [
        certify_sdp(problem, solution.X, (1 - t) * solution.y).bound for t in (1.0, 0.1, 0.01, 0.0)
    ]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(best, rel=1e-6)


def test_y_of_the_wrong_sign_counts_as_zero():
    problem = make_sdp(np.eye(2), [np.eye(2)], [1.0], "<=")
    found = certify_sdp(problem, np.zeros((2, 2)), np.array([5.0]))
    assert (found.dual, found.bound, found.error) == (0.0, 0.0, 0.0)


def test_trace_bounds():
    n, unit = 4, [np.diag(e) for e in np.eye(4)]
    diagonal = make_sdp(np.eye(n), unit, np.ones(n))
    assert find_trace_bound(diagonal) == pytest.approx(n)
    assert find_trace_bound(make_sdp(np.eye(n), unit, 2 * np.ones(n), "<=")) == pytest.approx(2 * n)
    assert find_trace_bound(make_sdp(np.eye(n), unit, np.ones(n), ">=")) == np.inf
    assert find_trace_bound(make_sdp(np.eye(n), unit[:3], np.ones(3))) == np.inf
    negated = make_sdp(np.eye(n), [-a for a in unit], -np.ones(n), ">=")
    assert find_trace_bound(negated) == pytest.approx(n)
    blocks = make_sdp([np.eye(2), np.ones(3)], [[np.eye(2), None], [None, np.ones(3)]], [1.0, 2.0])
    assert find_trace_bound(blocks) == pytest.approx(3)
    factors = make_sdp(np.eye(n), LowRank(np.eye(n)), np.ones(n))
    assert find_trace_bound(factors) == pytest.approx(n)


@pytest.mark.parametrize("seed", range(10))
def test_trace_bound_holds(seed):
    rng = np.random.default_rng(seed)
    n = 5
    X = psd(rng, n) + 0.1 * np.eye(n)
    A = [psd(rng, n) + 0.2 * np.eye(n), symmetric(rng, n), symmetric(rng, n)]
    b = [np.vdot(a, X) for a in A]
    for senses in ("=", ["<=", "=", "="], ["<=", "<=", ">="]):
        assert find_trace_bound(make_sdp(np.eye(n), A, b, senses)) >= np.trace(X) - 1e-9


def test_given_trace_bound_is_used():
    problem = make_sdp(np.eye(2), [np.diag([1.0, 0.0])], [1.0])
    args = np.diag([1.0, 0.0]), np.array([1.5])
    assert certify_sdp(problem, *args).bound == -np.inf
    assert certify_sdp(problem, *args, trace_bound=4.0).bound == pytest.approx(1.5 - 4 * 0.5)


def test_rows_by_functions_have_the_same_certificate(rng):
    problem, X = random_sdp(rng, 4, 2)
    rows = problem.constraints
    free = MatrixFree(rows.forward, rows.adjoint, 3, PSD(4))
    y = rng.normal(size=3)
    one, other = certify_sdp(problem, X, y), certify_sdp(replace(problem, constraints=free), X, y)
    for name in ("primal", "dual", "eta_p", "eta_d", "eta_g", "bound", "trace_bound"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6, abs=1e-12)


def test_words_of_a_certificate(rng):
    problem, _ = random_sdp(rng, 3, 1)
    words = str(solve_sdp(problem).certificate)
    assert words.startswith("primal ")
    assert "(rows)" in words
    assert "optimum >= " in words
    unbounded = certify_sdp(
        make_sdp(np.eye(1), [np.zeros((1, 1))], [0]), np.zeros((1, 1)), np.zeros(1)
    )
    assert "optimum >= 0" in str(unbounded)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.eye(3), np.zeros(1), r"X has shape \(3, 3\); expected \(2, 2\)"),
        (np.eye(2), np.zeros(2), r"y has shape \(2,\); expected \(1,\)"),
        (np.full((2, 2), np.nan), np.zeros(1), "X contains NaN or infinity"),
        (np.eye(2), np.array([np.inf]), "y contains NaN or infinity"),
    ],
)
def test_answers_that_prove_nothing_are_refused(X, y, words):
    problem = make_sdp(np.eye(2), [np.eye(2)], [1.0])
    assert isinstance(problem.loss, Equal)
    with pytest.raises(CertificateError, match=words):
        certify_sdp(problem, X, y)
