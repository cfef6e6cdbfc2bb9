"""The certificate: exact on closed forms, and not to be fooled."""

from fractions import Fraction

import numpy as np
import pytest

from frobmetric.core import (
    PSD,
    Bilinear,
    CertificateError,
    Equal,
    FrobeniusSDP,
    Hinge,
    MatrixFree,
    Sparse,
    SquaredHinge,
    Stack,
    Triplets,
    certify,
)
from frobmetric.core.bounds import dual_bound, primal_bound
from frobmetric.core.checks import MOST
from frobmetric.core.losses import Mixed
from frobmetric.core.points import Factored
from frobmetric.core.rounding import EPS
from frobmetric.core.solution import Certificate
from frobmetric.solvers import solve
from random_problems import EXAMPLES, make_loss, psd, random_problem


@pytest.fixture
def solved(rng):
    A = EXAMPLES[Triplets](rng, 5, 40)
    problem = random_problem(rng, A, make_loss(Hinge, rng, 40), with_cost=True, with_prior=True)
    return problem, solve(problem, tol=1e-6, max_iter=10_000)


def test_one_triplet_in_closed_form():
    """min |M|^2/2 + w max(0, 1 - <A, M>) with A = diag(1, -1): M = diag(min(w, 1), 0)."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    for w in (0.3, 5.0):
        problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.array([w])))
        solution = solve(problem, tol=1e-12)
        m = min(w, 1.0)
        np.testing.assert_allclose(solution.point.dense(), [[m, 0], [0, 0]], atol=1e-9)
        assert solution.certificate.primal == pytest.approx(m**2 / 2 + w * (1 - m))


def test_distance_bound_holds(rng):
    A = EXAMPLES[Triplets](rng, 5, 40)
    problem = random_problem(rng, A, make_loss(SquaredHinge, rng, 40), True, True)
    exact = solve(problem, tol=1e-12, max_iter=10_000).point.dense()
    for tol in (1e-1, 1e-2, 1e-4):
        rough = solve(problem, tol=tol)
        distance = np.linalg.norm(rough.point.dense() - exact)
        assert 0 < distance <= rough.certificate.distance_bound
    other = certify(problem, psd(rng, 5), rough.u)
    assert other.distance_bound > rough.certificate.distance_bound


def test_certificate_of_a_solution_is_reproduced(solved):
    problem, solution = solved
    assert certify(problem, solution.point, solution.u) == solution.certificate
    again = certify(problem, solution.point.dense(), solution.u)
    assert again.relative_gap == pytest.approx(solution.certificate.relative_gap, rel=1e-6)
    # the primal from M may differ from that of its factor in the last bit, 7e-15: of the gap, which
    # is about 2e-5, that is 5e-10
    assert again.distance_bound >= solution.certificate.distance_bound * (1 - 1e-8)


def test_a_certificate_says_that_it_is_about_the_optimisation(solved):
    certificate = solved[1].certificate
    assert repr(certificate).startswith("<Certificate of the optimisation, not of usefulness: opt")
    assert "\n" not in repr(certificate)
    html = certificate._repr_html_()
    assert "It does not say how useful the answer is on new data" in html
    assert "|M - M*| &lt;= " in html


@pytest.mark.parametrize("scale", [0.01, 10.0])
def test_numbers_of_a_certificate_follow_from_its_interval(rng, scale):
    A = EXAMPLES[Triplets](rng, 4, 30)
    problem = FrobeniusSDP(A, Hinge(np.full(30, scale / 30)), sigma=0.7)
    found = certify(problem, 0.01 * scale * psd(rng, 4), np.full(30, 0.4 * scale / 30))
    assert found.relative_gap > 0.1
    assert found.primal - found.dual < found.gap < (found.primal - found.dual) * (1 + 1e-15)
    assert found.primal > found.dual > 0
    assert found.relative_gap == found.error == found.gap / found.primal
    assert found.distance_bound == pytest.approx(np.sqrt(2 * 0.7 * found.gap), rel=1e-12)
    nothing = FrobeniusSDP(A, Hinge(np.zeros(30)))
    found = certify(nothing, np.zeros((4, 4)), np.zeros(30))
    assert (found.primal, found.dual) == (0, 0)
    assert 0 < found.gap < 1e-300
    plain = FrobeniusSDP(A, Hinge(np.zeros(30)), cost=np.eye(4), sigma=np.inf)
    assert certify(plain, np.zeros((4, 4)), np.zeros(30)).distance_bound == np.inf


def test_error_that_a_tolerance_is_compared_with():
    soft = Certificate(primal=1.0, dual=-4.0, gap=2.0, relative_gap=0.5)
    assert soft.error == 0.5
    hard = Certificate(primal=3.0, dual=1.0, gap=np.inf, relative_gap=np.inf, violation=0.01)
    assert hard.error == 0.5
    assert Certificate(3.0, 1.0, np.inf, np.inf, violation=0.7).error == 0.7


def test_what_counts_as_rounding_of_an_answer():
    """M may leave its cone, and u its box, by rounding alone."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    rows = Triplets(X, np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]]))
    problem = FrobeniusSDP(rows, Hinge(np.array([2.0, 0.0, 4.0])))
    M, u = np.diag([2.0, 0.0]), np.array([1.0, 0.0, 1.0])
    for size, is_rounding in ((0.5, True), (2.0, False)):
        slanted = M + np.array([[0.0, 2e-12 * size], [0.0, 0.0]])
        outside = M - np.diag([0.0, 2e-10 * size])
        below, above = np.array([-2e-12 * size, 0, 1]), np.array([1, 0, 4 + 4e-12 * size])
        for answer in ((slanted, u), (outside, u), (M, below), (M, above)):
            if is_rounding:
                found = certify(problem, *answer)
                inside = np.clip(answer[1], 0, [2.0, 0.0, 4.0])
                assert found.dual == certify(problem, answer[0], inside).dual
            else:
                with pytest.raises(CertificateError):
                    certify(problem, *answer)


def test_any_matrix_of_scores_is_an_answer(rng):
    rows = EXAMPLES[Bilinear](rng, 3, 5)
    problem = FrobeniusSDP(rows, Hinge(np.ones(5)))
    found = certify(problem, rng.normal(size=problem.cone.shape), np.zeros(5))
    assert found.min_eigenvalue == np.inf
    square = Bilinear(rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), np.array([[0, 1, 2, 3]]))
    found = certify(FrobeniusSDP(square, Hinge(np.ones(1))), rng.normal(size=(3, 3)), np.zeros(1))
    assert found.gap > 0


def test_tampered_metric_is_noticed(solved):
    problem, solution = solved
    honest = solution.certificate.relative_gap
    M = solution.point.dense()
    assert certify(problem, 1.1 * M, solution.u).relative_gap > 100 * honest
    with pytest.raises(CertificateError, match="eigenvalue"):
        certify(problem, M - np.eye(5), solution.u)
    with pytest.raises(CertificateError, match="symmetric"):
        certify(problem, M + np.triu(np.ones((5, 5)), 1), solution.u)
    with pytest.raises(CertificateError, match="NaN"):
        certify(problem, np.nan * M, solution.u)
    with pytest.raises(CertificateError, match="NaN"):
        certify(problem, np.where(np.eye(5) * [0, 0, 1, 0, 0] > 0, np.inf, M), solution.u)
    with pytest.raises(CertificateError, match="symmetric"):
        certify(problem, M * (1 + np.triu(np.full((5, 5), 0.5), 1)), solution.u)
    with pytest.raises(CertificateError, match="shape"):
        certify(problem, M[:4, :4], solution.u)


def test_answers_that_are_no_matrices_of_numbers(solved):
    problem, solution = solved
    with pytest.raises(TypeError, match=r"problem is .* of type str, .*; expected a FrobeniusSDP"):
        certify("problem", solution.point, solution.u)
    with pytest.raises((TypeError, ValueError), match=r"^M "):
        certify(problem, np.full((5, 5), "a"), solution.u)


def test_entries_beyond_squares_are_refused_and_the_largest_ones_are_not():
    problem = FrobeniusSDP(Sparse.from_matrices([np.eye(2)]), Hinge(np.ones(1)))
    for M in (np.diag([2 * MOST, 0.0]), np.diag([2 * MOST, 3 * MOST])):
        with pytest.raises(CertificateError, match=r"M has an entry of size .*; expected at most"):
            certify(problem, M, np.ones(1))
    assert certify(problem, MOST * np.eye(2), np.ones(1)).primal >= MOST**2


def test_objectives_of_which_one_is_infinite_prove_nothing():
    """Functions of a user may overflow where their rows would not."""
    A = MatrixFree(lambda M: np.diag(M) * (1.0 if M[0, 0] < 9 else -np.inf), np.diag, 2, PSD(2))
    problem = FrobeniusSDP(A, Hinge(np.ones(2)))
    assert np.isfinite(certify(problem, np.eye(2), np.zeros(2)).gap)
    with pytest.raises(
        CertificateError, match=r"objectives are (inf|nan) and -?[\d.e-]+, which prove"
    ):
        certify(problem, 10 * np.eye(2), np.zeros(2))


def test_rounding_is_that_of_both_objectives(solved):
    problem, solution = solved
    upper, lower = primal_bound(problem, solution.point), dual_bound(problem, solution.u)
    assert min(upper.error, lower.error) > 0
    found = certify(problem, solution.point, solution.u)
    assert found.rounding == float(upper.error + lower.error)


def test_the_distance_bound_has_room_for_rounding_and_for_what_was_moved(rng):
    """Its product and root round up, by no more; a matrix outside of the cone is moved into it."""
    room = []
    for _ in range(20):
        A = EXAMPLES[Triplets](rng, 4, 30)
        problem = FrobeniusSDP(A, Hinge(np.full(30, 1 / 30)), sigma=rng.uniform(0.5, 2))
        M, u = psd(rng, 4), np.full(30, 0.3 / 30)
        found = certify(problem, Factored(np.linalg.cholesky(M)), u)
        square = 2 * Fraction(problem.sigma) * Fraction(found.gap)
        room.append(float((Fraction(found.distance_bound) ** 2 / square - 1) / Fraction(EPS)))
    assert 5.4 < min(room) <= max(room) < 10.6  # 8, and what three operations round
    assert 7 < np.mean(room) < 9
    values, vectors = np.linalg.eigh(psd(rng, 4))
    values[0] = -1e-11 * values[-1]
    M = (vectors * values) @ vectors.T
    M = (M + M.T) / 2
    moved, near = -values[0], problem.cone.split(M).positive()
    whole, inside = (certify(problem, point, u).distance_bound for point in (M, near))
    assert 0.99 * moved < whole - inside < 1.5 * moved


def test_tampered_dual_is_noticed(solved):
    problem, solution = solved
    with pytest.raises(CertificateError, match="outside its box"):
        certify(problem, solution.point, solution.u + 10)
    with pytest.raises(CertificateError, match="nan"):
        certify(problem, solution.point, solution.u * np.nan)
    with pytest.raises(CertificateError, match="shape"):
        certify(problem, solution.point, solution.u[1:])
    worse = certify(problem, solution.point, solution.u * 0.5)
    assert worse.relative_gap > 100 * solution.certificate.relative_gap


def test_an_adjoint_that_does_not_belong_is_noticed(solved):
    """Else primal < dual would pass for a proof."""

    class Wrong(Triplets):
        def adjoint(self, u):
            return 1e-3 * super().adjoint(u)

    problem, _ = solved
    T = np.array([[0, 1, 2]])
    wrong = FrobeniusSDP(Wrong(problem.constraints.pairs.X, T), Hinge(np.ones(1)))
    right = FrobeniusSDP(Triplets(problem.constraints.pairs.X, T), Hinge(np.ones(1)))
    M = solve(right, tol=1e-9).point
    assert certify(right, M, np.ones(1)).gap >= 0
    with pytest.raises(CertificateError, match="do not belong together"):
        certify(wrong, M, np.ones(1))


def test_hard_rows_have_no_gap_but_a_violation():
    problem = FrobeniusSDP(Sparse.from_matrices([np.eye(2)]), Equal(np.array([2.0])))
    solution = solve(problem, tol=1e-8)
    np.testing.assert_allclose(solution.point.dense(), np.eye(2), atol=1e-6)
    rough = certify(problem, 1.1 * np.eye(2), solution.u)
    assert rough.gap == np.inf
    assert rough.violation == pytest.approx(0.2 / 3)
    assert "breaks" in str(rough)
    assert rough.error >= 0.2 / 3


def test_a_prior_that_needs_no_change_has_a_gap_of_rounding_only():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    problem = FrobeniusSDP(
        Triplets(X, np.array([[0, 1, 2]])), Hinge(np.ones(1)), prior=np.eye(2) * 1e3
    )
    solution = solve(problem)
    assert solution.status == "optimal"
    certificate = solution.certificate
    assert 0 <= certificate.gap < 1e-20
    assert certificate.relative_gap < 1e-12
    assert "100% of the gap is rounding" in str(certificate)
    np.testing.assert_allclose(solution.point.dense(), 1e3 * np.eye(2))


def test_a_problem_with_parts_that_do_not_fit_is_refused():
    A = Sparse.from_matrices([np.eye(2)])
    with pytest.raises(ValueError, match="2 rows and the constraints have 1"):
        FrobeniusSDP(A, Hinge(np.ones(2)))
    with pytest.raises(ValueError, match=r"prior has shape \(3, 3\); expected \(2, 2\)"):
        FrobeniusSDP(A, Hinge(np.ones(1)), prior=np.eye(3))
    with pytest.raises(ValueError, match="sigma=0"):
        FrobeniusSDP(A, Hinge(np.ones(1)), sigma=0)


def test_offset_and_cost_replace_rows_at_their_bound(rng):
    """Rows at u = weight are linear: out of the problem, they are a cost and a constant."""
    A = EXAMPLES[Triplets](rng, 4, 30)
    problem = FrobeniusSDP(A, Hinge(np.full(30, 0.2)))
    whole = solve(problem, tol=1e-9, max_iter=10_000)
    at_bound = whole.u >= 0.2 * (1 - 1e-6)
    assert 0 < at_bound.sum() < 30
    rest = FrobeniusSDP(
        A.restrict(np.flatnonzero(~at_bound)),
        Hinge(np.full(int((~at_bound).sum()), 0.2)),
        cost=-A.adjoint(0.2 * at_bound),
        offset=0.2 * at_bound.sum(),
    )
    part = solve(rest, tol=1e-9, max_iter=10_000)
    assert part.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-6)


def test_a_problem_prints_what_it_is(rng):
    A = EXAMPLES[Triplets](rng, 4, 30)
    loss = Mixed((Hinge(np.full(30, 0.2)), Equal(np.ones(1))))
    rows = Stack([A, Sparse.from_matrices([np.eye(4)])])
    problem = FrobeniusSDP(rows, loss, prior=np.eye(4), sigma=0.5)
    assert str(problem).splitlines() == [
        "minimise over M in PSD(n=4)",
        "  rows            31 of Stack, loss 30 Hinge + 1 Equal",
        "  Frobenius term  sigma = 0.5",
        "  matrices        prior of norm 2",
    ]
    assert repr(problem) == (
        "FrobeniusSDP(Stack of shape (31, 4), 30 Hinge + 1 Equal, sigma=0.5, PSD(n=4))"
    )
    plain = FrobeniusSDP(A, Hinge(np.ones(30)), sigma=np.inf)
    assert "none (a plain SDP)" in str(plain)
    assert "no cost, no prior" in str(plain)


def test_a_solution_prints_how_good_it_is(solved):
    _, solution = solved
    head, matrix, proof = str(solution).splitlines()
    assert head.startswith("optimal (certified to the tolerance): auto, ")
    assert matrix.startswith(f"  M  rank {solution.point.rank}, 40 rows, ")
    assert proof == f"  {solution.certificate}"
    assert repr(solution).startswith("Solution(status='optimal', solver='auto', n_iter=")
    assert len(repr(solution)) < 120
