"""Proofs in exact arithmetic: of every kind of comparison, beside the certificate in float64."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric import verify
from frobmetric.core import (
    PSD,
    Bilinear,
    CertificateError,
    Equal,
    FrobeniusSDP,
    Hinge,
    NeighborTriplets,
    Nonnegative,
    Pairs,
    Quadruplets,
    SmoothedHinge,
    Sparse,
    SquaredHinge,
    Stack,
    Triplets,
    certify,
)
from frobmetric.core.constraints import COMPARISONS
from frobmetric.core.solution import ExactCertificate
from frobmetric.core.weights import WeightedPairs
from frobmetric.solvers import solve
from random_problems import EXAMPLES, make_loss, psd, random_problem

SOFT = (Hinge, SmoothedHinge, SquaredHinge)


def solved(rng, kind=Triplets, loss=Hinge, tol=1e-6):
    A = EXAMPLES[kind](rng, 4, 30)
    loss = make_loss(loss, rng, A.shape[0])
    problem = random_problem(rng, A, loss, with_cost=True, with_prior=True)
    return problem, solve(problem, tol=tol, max_iter=10_000)


def check_agreement(certificate, plain):
    assert certificate.primal == pytest.approx(plain.primal, rel=1e-12)
    assert certificate.dual == pytest.approx(plain.dual, rel=1e-12)
    assert certificate.dual <= certificate.primal
    assert certificate.min_eigenvalue == plain.min_eigenvalue
    assert certificate.violation == 0
    assert certificate.scope == "verified in exact arithmetic"
    assert verify.verify(certificate.proof) == (certificate.dual, certificate.primal)


@pytest.mark.parametrize("loss", SOFT)
@pytest.mark.parametrize("kind", COMPARISONS)
def test_exact_and_plain_certificate_agree(rng, kind, loss):
    problem, solution = solved(rng, kind, loss)
    certificate = certify(problem, solution.point, solution.u, exact=True)
    assert isinstance(certificate, ExactCertificate)
    check_agreement(certificate, certify(problem, solution.point, solution.u))
    assert str(certificate).endswith("; verified in exact arithmetic")
    assert "points" not in repr(certificate)
    assert certificate.proof["smoothing"] == getattr(problem.loss, "smoothing", 1.0)


def test_the_numbers_of_an_exact_certificate_are_on_the_safe_side(rng):
    for tol in (1e-1, 1e-4, 1e-10):
        problem, solution = solved(rng, tol=tol)
        found = certify(problem, solution.point, solution.u, exact=True)
        dual, primal = Fraction(found.dual), Fraction(found.primal)
        gap, size = primal - dual, max(abs(primal), abs(dual))
        assert gap <= Fraction(found.gap) <= gap * (1 + Fraction(1, 2**50))
        assert gap / size <= Fraction(found.relative_gap) <= gap / size * (1 + Fraction(1, 2**50))
        distance2 = 2 * Fraction(problem.sigma) * gap
        assert distance2 <= Fraction(found.distance_bound) ** 2
        assert Fraction(found.distance_bound) ** 2 <= distance2 * (1 + Fraction(1, 2**48))
        assert found.error == pytest.approx(found.relative_gap)


def test_an_optimum_that_float64_can_hold_has_no_gap():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    problem = FrobeniusSDP(Triplets(X, np.array([[0, 1, 2]])), Hinge(np.array([5.0])), sigma=1.0)
    found = certify(problem, np.diag([1.0, 0.0]), np.ones(1), exact=True)
    assert (found.dual, found.primal) == (0.5, 0.5)
    assert (found.gap, found.relative_gap) == (0.0, 0.0)
    assert 0 <= found.distance_bound < 1e-15  # of the matrix to its positive part
    nothing = FrobeniusSDP(problem.constraints, Hinge(np.zeros(1)))
    found = certify(nothing, np.zeros((2, 2)), np.zeros(1), exact=True)
    assert (found.dual, found.primal, found.gap, found.relative_gap) == (0.0, 0.0, 0.0, 0.0)


def test_the_origin_of_the_points_does_not_matter(rng):
    """Far from it float64 loses digits of the objectives, and exact arithmetic none."""
    X = 1e8 + np.round(rng.normal(size=(20, 3)), 1)
    triplets = np.array([rng.choice(20, 3, replace=False) for _ in range(40)])
    # these differences are exact
    problem = FrobeniusSDP(Triplets(X - 1e8, triplets), Hinge(np.full(40, 0.1)))
    solution = solve(problem, tol=1e-5, max_iter=1000)
    found = certify(problem, solution.point, solution.u, exact=True)
    assert verify.prove(found.proof | {"points": X}) == (found.dual, found.primal)


def test_a_matrix_and_sparse_points(rng):
    problem, solution = solved(rng)
    plain = certify(problem, solution.point, solution.u)
    check_agreement(certify(problem, solution.point.dense(), solution.u, exact=True), plain)
    X, index = problem.constraints.as_quadruplets()
    sparse = replace(problem, constraints=Quadruplets(sp.csr_array(X), index))
    found = certify(sparse, solution.point, solution.u, exact=True)
    check_agreement(found, plain)
    assert found.proof["points"].shape == X.shape


def test_rows_of_points(rng):
    """The rows of a proof are those of the constraints, by the numbers of the points."""
    X, pairs = rng.normal(size=(8, 3)), np.array([[4, 1], [0, 2]])
    triplets = np.array([[5, 0, 6], [5, 2, 6], [1, 3, 7]])
    neighbors = NeighborTriplets(X, np.array([5]), np.array([[0, 2]]), np.array([[6, 7]]))
    stack = Stack([Pairs(X, pairs), Triplets(X, triplets), neighbors])
    points, rows = stack.as_quadruplets()
    assert points is X
    assert rows[:2].tolist() == [[4, 4, 4, 1], [0, 0, 0, 2]]
    assert rows[2:5].tolist() == [[5, 0, 5, 6], [5, 2, 5, 6], [1, 3, 1, 7]]
    assert rows[5:].tolist() == [[5, 0, 5, 6], [5, 0, 5, 7], [5, 2, 5, 6], [5, 2, 5, 7]]
    M = psd(rng, 3)
    np.testing.assert_allclose(Quadruplets(X, rows).forward(M), stack.forward(M))


def test_rows_that_are_no_distances(rng):
    X, B = rng.normal(size=(8, 3)), rng.normal(size=(5, 2))
    triplets = Triplets(X, np.array([[5, 0, 6]]))
    others = [
        Sparse.from_matrices([np.eye(3)]),
        Bilinear(X, B, np.array([[0, 1, 2, 3]])),
        Stack([triplets, Sparse.from_matrices([np.eye(3)])]),
        Stack([triplets, Triplets(X + 1, np.array([[5, 0, 6]]))]),
        Stack([triplets, Triplets(X[:7], np.array([[5, 0, 6]]))]),
    ]
    assert [each.as_quadruplets() for each in others] == [None] * 5
    for copy in (X.copy(), sp.csr_array(X)):
        same = Stack([Triplets(copy, [[5, 0, 6]]), Triplets(copy.copy(), [[1, 0, 2]])])
        assert same.as_quadruplets()[1].tolist() == [[5, 0, 5, 6], [1, 0, 1, 2]]


@pytest.mark.parametrize("kind", ["rows", "loss", "cone"])
def test_problems_that_the_verifier_does_not_know(rng, kind):
    X, n = rng.normal(size=(8, 3)), 2
    rows, loss = Triplets(X, np.array([[5, 0, 6], [1, 2, 3]])), Hinge(np.ones(n))
    rows = Sparse.from_matrices([np.eye(3)] * n) if kind == "rows" else rows
    rows = WeightedPairs(X, np.array([[0, 1], [2, 3]])) if kind == "cone" else rows
    loss = Equal(np.zeros(n)) if kind == "loss" else loss
    problem = FrobeniusSDP(rows, loss)
    assert problem.cone == (Nonnegative(3) if kind == "cone" else PSD(3))
    with pytest.raises(
        ValueError, match=r"expected comparisons of distances.*exact=False"
    ) as error:
        certify(problem, np.zeros(problem.cone.shape), np.zeros(n), exact=True)
    named = {"rows": "Sparse with Hinge", "loss": "with Equal", "cone": "WeightedPairs with Hinge"}
    assert named[kind] in str(error.value)
    assert not isinstance(error.value, CertificateError)


def test_answers_that_prove_nothing(rng):
    problem, solution = solved(rng)
    with pytest.raises(CertificateError, match="outside its box"):
        certify(problem, solution.point, solution.u + 1, exact=True)
    with pytest.raises(CertificateError, match="eigenvalue"):
        certify(problem, solution.point.dense() - np.eye(4), solution.u, exact=True)
    with pytest.raises(ValueError, match="prior has an entry of size"):
        replace(problem, prior=np.full((4, 4), 1e200))


@pytest.mark.parametrize("loss", SOFT)
@pytest.mark.parametrize("name", ["points", "rows", "weight", "target", "u", "factor", "sigma"])
def test_a_proof_of_another_problem_does_not_hold(rng, name, loss):
    problem, solution = solved(rng, loss=loss, tol=1e-9)
    proof = certify(problem, solution.point, solution.u, exact=True).proof
    array = proof[name]
    changed = np.roll(array, 1, axis=0) if array.ndim else 1.5 * array
    changed = 1.5 * array if name == "target" else changed
    with pytest.raises(verify.ProofError):
        verify.verify(proof | {name: changed})
