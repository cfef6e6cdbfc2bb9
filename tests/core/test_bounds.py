"""Rounding errors are bounded: by constraints of all kinds, by eigenvalues, and by certificates."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import (
    PSD,
    AtLeast,
    CertificateError,
    Equal,
    FrobeniusSDP,
    Hinge,
    LowRank,
    Nonnegative,
    Product,
    SmoothedHinge,
    Sparse,
    SquaredHinge,
    Triplets,
    certify,
)
from frobmetric.core.bounds import dual_bound, lowest_eigenvalue, primal_bound
from frobmetric.core.points import Blocks, Diagonal, Factored, Unfactored
from frobmetric.core.rounding import TINY, gamma, inner, norm, row_norms
from frobmetric.core.solution import Certificate
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


def exact(array):
    """The numbers of an array as fractions."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def exact_primal(problem, L, rows):
    """The primal objective at L L.T, with a soft loss, in exact arithmetic."""
    M, loss = exact(L) @ exact(L).T, problem.loss
    moved = M - exact(problem.prior)
    total = (exact(problem.cost) * M).sum() + (moved**2).sum() / (2 * Fraction(problem.sigma))
    for weight, row in zip(loss.weight, rows, strict=True):
        t = max(Fraction(0), Fraction(loss.target) - (exact(row) * M).sum())
        if isinstance(loss, SquaredHinge):
            t = t * t
        elif isinstance(loss, SmoothedHinge):
            width = Fraction(loss.smoothing)
            t = min(t, width) * (t - min(t, width) / 2) / width
        total += Fraction(weight) * t
    return total


@pytest.mark.parametrize("loss", [Hinge, SmoothedHinge, SquaredHinge])
@pytest.mark.parametrize(
    ("weight", "target"), [(1.0, 1.0), (1e-9, 1.0), (1e-320, 0.3), (1e-200, 1e-200), (1e70, 1e-200)]
)
def test_the_primal_bound_holds_where_products_underflow(loss, weight, target, rng):
    A = EXAMPLES[Triplets](rng, 3, 4)
    problem = FrobeniusSDP(A, loss(np.full(4, weight), target))
    for size in (1.0, 1e-85, 1e-180):
        L = size * rng.normal(size=(3, 2))
        found = primal_bound(problem, Factored(L))
        bound = Fraction(found.value) + Fraction(found.error)
        # squares of numbers near 1e-200 vanish; the rows themselves are exact to about 1e-16
        assert bound >= exact_primal(problem, L, dense_rows(A)) * (1 - Fraction(1, 10**14))


def test_points_in_single_precision_are_certified_in_double(rng):
    X = np.eye(3)
    problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.full(1, 1e-9)), np.eye(3))
    for _ in range(50):
        L = rng.normal(size=(3, 4)).astype(np.float32)
        row = np.array([[0.0, 1, -1], [1, -1, 0], [-1, 0, 1]])  # exact: samples are unit vectors
        bound = certify(problem, Factored(L), np.zeros(1)).primal
        assert Fraction(bound) >= exact_primal(problem, L, [row])


def test_a_point_that_is_not_in_the_cone_is_moved_into_it():
    """The optimum is at least 0; a point just outside of the cone must not deny that."""
    cost, loss = np.diag([0.0, 1.0]), Hinge(np.array([1e-9]))
    A = Sparse.from_matrices([np.eye(2)])
    problem = FrobeniusSDP(A, loss, cost, sigma=1e30)
    found = certify(problem, Unfactored(np.diag([1.0, -1e-11])), np.zeros(1))
    assert found.primal >= 0
    flat = FrobeniusSDP(
        Sparse(sp.csr_array(np.ones((1, 2))), Nonnegative(2)),
        loss,
        np.array([0.0, 1.0]),
        sigma=1e30,
    )
    assert certify(flat, Diagonal(np.array([1.0, -1e-11])), np.zeros(1)).primal >= 0
    product = Product((Nonnegative(2), PSD(2)))
    rows = Sparse(sp.csr_array(np.ones((1, 6))), product)
    both = FrobeniusSDP(rows, loss, np.array([0.0, 1, 0, 0, 0, 1]), sigma=1e30)
    parts = (Diagonal(np.array([1.0, -1e-11])), Unfactored(np.diag([1.0, -1e-11])))
    assert certify(both, Blocks(parts), np.zeros(1)).primal >= 0


@pytest.mark.parametrize("cone", [PSD(3), Nonnegative(3), Product((PSD(2), Nonnegative(2)))])
def test_projections_are_elements_by_their_form(cone, rng):
    S = rng.normal(size=cone.shape)
    S = S + S.T if S.ndim == 2 else S
    S = 2 * cone.identity() + 0.1 * S
    positive = cone.split(S).positive()
    assert cone.is_element(positive)
    assert cone.is_element(cone.split(-S).negative())
    assert not cone.is_element(Unfactored(S))
    assert not cone.is_element(Factored(np.ones((7, 1))))
    assert not cone.is_element(Diagonal(np.full(3, -1.0)))


@pytest.mark.parametrize("size", [1e-170, 1e-80, 1.0, 1e50])
def test_norms_of_rows_are_upper_bounds(size, rng):
    A = size * rng.normal(size=(4, 3, 3))
    A = A + A.transpose(0, 2, 1)
    F = np.sqrt(size) * rng.normal(size=(4, 3, 2))
    factors = [part @ part.T for part in F]
    for rows, matrices in ((Sparse.from_matrices(A), A), (LowRank(F), factors)):
        for bound, matrix in zip(rows.norms(), matrices, strict=True):
            square = (exact(matrix) ** 2).sum()
            assert Fraction(bound) ** 2 >= square * (1 - Fraction(1, 10**14))
    assert Sparse.from_matrices([np.zeros((2, 2))]).norms() == 0


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
