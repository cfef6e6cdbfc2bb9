"""Rounding errors are bounded: by constraints of all kinds, by eigenvalues, and by certificates."""

from fractions import Fraction

import numpy as np
import pytest

from frobmetric.core import (
    PSD,
    AtLeast,
    Certificate,
    CertificateError,
    Equal,
    FrobeniusSDP,
    Hinge,
    Sparse,
    Triplets,
    certify,
)
from frobmetric.core.bounds import dual_bound, lowest_eigenvalue, primal_bound
from frobmetric.core.points import Factored
from frobmetric.core.rounding import TINY, gamma, inner, norm, row_norms
from frobmetric.solvers import solve
from random_problems import EXAMPLES, MORE_EXAMPLES, dense_rows, member

KINDS = {**EXAMPLES, **MORE_EXAMPLES}


@pytest.mark.parametrize("kind", KINDS)
def test_two_ways_to_compute_differ_by_no_more_than_their_bounds(kind, rng):
    A = KINDS[kind](rng, 4, 12)
    m, cone = A.shape[0], A.default_cone()
    point = cone.split(member(rng, cone)).positive()
    values, error = A.forward_bound(point)
    np.testing.assert_array_equal(values, A.forward(point))
    M, rows = point.dense(), dense_rows(A)
    single = np.array([A.adjoint_error(e) for e in np.eye(m)])
    for r in range(m):
        other, other_error = inner(rows[r], M)
        reach = other_error + single[r] * norm(M) + norm(rows[r]) * point.rounding
        assert abs(values[r] - other) <= error[r] + reach
    assert (error <= 1e-11 * (1 + norm(M)) * A.norms().max()).all()
    u = rng.normal(size=m)
    sizes = sum(abs(u[r]) * norm(rows[r]) for r in range(m))
    reach = gamma(m) * sizes + float(np.abs(u) @ single)
    assert norm(A.adjoint(u) - np.tensordot(u, rows, 1)) <= A.adjoint_error(u) + reach
    assert 0 < A.adjoint_error(u) <= 1e-11 * sizes


def test_sums_and_norms():
    a, b = np.array([1e16, 1.0, -1e16, 1e-200]), np.array([1.0, 1.0, 1.0, 1e-200])
    value, error = inner(a, b)
    truth = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
    assert abs(Fraction(value) - truth) <= Fraction(error)
    assert inner(np.zeros(3), np.ones(3)) == (0.0, 0.0)
    for scale in (1e-200, 1.0, 1e200):
        assert scale * 5 <= norm(scale * np.array([3.0, 4.0])) <= scale * 5 * (1 + 1e-12)
    assert norm(np.zeros(2)) == 0
    assert norm(np.array([np.inf])) == np.inf
    assert gamma(1e15) == np.inf
    assert (row_norms(np.full((2, 3), 1e-200)) >= 1e-200 * np.sqrt(3)).all()
    assert (row_norms(np.full((2, 3), 1 / 3, np.float32)) >= np.float32(1 / 3)).all()
    assert TINY > 0


def test_an_eigenvalue_is_bounded_from_below():
    S = np.diag([1.0, 2.0, 1e8])
    bound = lowest_eigenvalue(PSD(3), S, error=1e-3)
    assert 1 - 1e-3 - 1e-6 <= bound <= 1 - 1e-3


def test_the_dual_bound_needs_no_good_eigenvectors(rng):
    """With any N = F F.T the dual bounds the optimum; it is only looser."""
    A = EXAMPLES[Triplets](rng, 4, 20)
    problem = FrobeniusSDP(A, Hinge(np.full(20, 0.3)))

    class Wrong(PSD):
        def split(self, S):
            split = super().split(S)
            turn = np.linalg.qr(np.eye(4) + 0.1 * rng.normal(size=(4, 4)))[0]
            return type(split)(split.values, split.vectors @ turn)

    solution = solve(problem, tol=1e-9, max_iter=5000)
    wrong = FrobeniusSDP(A, Hinge(np.full(20, 0.3)), cone=Wrong(4))
    bound = dual_bound(wrong, solution.u)
    assert bound.value + bound.error < solution.certificate.primal
    assert bound.value < dual_bound(problem, solution.u).value


def test_far_from_the_origin_the_interval_is_wide_and_says_why(rng):
    X, T = rng.normal(size=(15, 3)), np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    near = solve(FrobeniusSDP(Triplets(X, T), Hinge(np.ones(3))), tol=1e-6)
    assert near.status == "optimal"
    problem = FrobeniusSDP(Triplets(X + 1e8, T), Hinge(np.ones(3)))
    with pytest.warns(UserWarning, match="cannot be certified at this precision: .*centre"):
        far = solve(problem, tol=1e-6)
    assert far.status == "stalled"
    assert far.certificate.is_rounding
    assert "of the gap is rounding" in str(far.certificate)
    assert far.certificate.dual <= near.certificate.primal
    assert far.certificate.primal >= near.certificate.dual


def test_a_tolerance_below_rounding_ends_the_solver(rng):
    problem = FrobeniusSDP(EXAMPLES[Triplets](rng, 4, 20), Hinge(np.full(20, 0.3)))
    with pytest.warns(UserWarning, match="at this precision"):
        solution = solve(problem, tol=1e-17, max_iter=10_000)
    assert solution.status == "stalled"
    assert 0 < solution.certificate.relative_gap < 1e-11


def test_infinite_objectives_are_never_certified(rng):
    A = EXAMPLES[Triplets](rng, 4, 20)
    with pytest.raises(ValueError, match="weight has an entry of size"):
        FrobeniusSDP(A, Hinge(np.full(20, 1e300)))
    problem = FrobeniusSDP(A, Hinge(np.ones(20)))
    with pytest.raises(CertificateError, match="NaN or infinity"):
        certify(problem, Factored(np.full((4, 1), 1e160)), np.zeros(20))
    with pytest.raises(CertificateError, match="M has an entry of size"):
        certify(problem, Factored(np.full((4, 1), 1e100)), np.zeros(20))
    with pytest.raises(ValueError, match=r"nan|NaN"):
        FrobeniusSDP(A, Hinge(np.ones(20), np.nan))
    for pair in ((np.nan, 1.0), (-np.inf, 1.0), (0.0, np.inf)):
        proof = Certificate.between(*pair)
        assert proof.gap == proof.relative_gap == np.inf


def test_rounding_can_break_a_hard_row():
    """An equation is never met exactly; an inequality is, with room."""
    A = Sparse.from_matrices([np.diag([0.1, 0.7])])
    M = Factored(np.diag([1.0, 3.0]))
    assert primal_bound(FrobeniusSDP(A, AtLeast(np.array([6.0]))), M).violation == 0
    assert 0 < primal_bound(FrobeniusSDP(A, Equal(np.array([6.4]))), M).violation < 1e-14
