"""Rows given as matrices, and the generalised Hessian of the dual that is made of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import (
    PSD,
    FrobeniusSDP,
    Hard,
    LowRank,
    MatrixFree,
    Nonnegative,
    Product,
    Sparse,
    Stack,
)
from frobmetric.core.cones import Face
from frobmetric.core.matrices import Scaled
from frobmetric.core.stacking import Beside
from random_problems import symmetric


def face(rng, n, k):
    return Face(np.linalg.qr(rng.normal(size=(n, k)))[0])


CONES = {
    "psd": lambda rng: PSD(6),
    "order one": lambda rng: PSD(1),
    "face": lambda rng: face(rng, 6, 3),
    "nonnegative": lambda rng: Nonnegative(7),
    "product": lambda rng: Product((PSD(4), Nonnegative(3), PSD(2))),
    "face in a product": lambda rng: Product((face(rng, 5, 2), PSD(3), Nonnegative(2))),
    "product in a product": lambda rng: Product((Product((PSD(3), PSD(2))), Nonnegative(2))),
}


def element(rng, cone):
    if isinstance(cone, Product):
        return np.concatenate([element(rng, part).ravel() for part in cone.cones])
    return symmetric(rng, cone.shape[0]) if len(cone.shape) == 2 else rng.normal(size=cone.shape)


def problem_on(rng, cone, m=8):
    rows = Sparse(sp.csr_array(np.array([element(rng, cone).ravel() for _ in range(m)])), cone)
    loss = Hard(rng.normal(size=m), rng.integers(-1, 2, m))
    return FrobeniusSDP(rows, loss, element(rng, cone), element(rng, cone), sigma=0.7, cone=cone)


def hessian(problem, u):
    """V of -d at u, column by column."""
    split, rows = problem.evaluate(u).split, problem.constraints
    columns = [split.derivative(rows.adjoint(e)) for e in np.eye(len(u))]
    return problem.sigma * np.array([rows.forward(column) for column in columns]).T


@pytest.fixture(params=CONES)
def problem(request, rng):
    return problem_on(rng, CONES[request.param](rng))


def test_gradient_is_that_of_the_dual(problem, rng):
    u, h = rng.normal(size=8), 1e-6
    for e in np.eye(8):
        slope = (problem.evaluate(u + h * e).dual - problem.evaluate(u - h * e).dual) / (2 * h)
        assert slope == pytest.approx(problem.evaluate(u).gradient @ e, rel=1e-5, abs=1e-5)


def test_hessian_is_that_of_the_dual(problem, rng):
    u, h = rng.normal(size=8), 1e-6
    V = hessian(problem, u)
    for r, e in enumerate(np.eye(8)):
        ahead, behind = (problem.evaluate(u + t * e).gradient for t in (h, -h))
        np.testing.assert_allclose((ahead - behind) / (2 * h), -V[:, r], atol=1e-5)


def test_hessian_is_symmetric_and_positive_semidefinite(problem, rng):
    for size in (0.0, 1e-3, 1.0, 1e3):
        V = hessian(problem, size * rng.normal(size=8))
        np.testing.assert_allclose(V, V.T, atol=1e-12 * (1 + np.abs(V).max()))
        assert np.linalg.eigvalsh((V + V.T) / 2)[0] >= -1e-12 * (1 + np.abs(V).max())


def test_hessian_at_a_kink_is_between_the_two_sides(rng):
    """S = 0: any derivative of the projection is one of a symmetric map between 0 and 1."""
    cone = PSD(4)
    split = cone.split(np.zeros((4, 4)))
    H = symmetric(rng, 4)
    moved = split.derivative(H)
    assert -1e-12 <= np.vdot(H, moved) <= np.vdot(H, H) + 1e-12


@pytest.mark.parametrize("n_negative", [0, 1, 3, 5, 6])
def test_derivative_from_either_side_is_the_same(n_negative, rng):
    """Few or many negative eigenvalues take different ways, with one formula."""
    P = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    values = np.concatenate([-rng.uniform(0.5, 2, n_negative), rng.uniform(0.5, 2, 6 - n_negative)])
    S, H = (P * values) @ P.T, symmetric(rng, 6)
    Omega = np.array(
        [
            [
                1.0
                if a > 0 and b > 0
                else 0.0
                if a < 0 and b < 0
                else max(a, b) / (max(a, b) - min(a, b))
                for b in values
            ]
            for a in values
        ]
    )
    expected = P @ (Omega * (P.T @ H @ P)) @ P.T
    np.testing.assert_allclose(PSD(6).split(S).derivative(H), expected, atol=1e-12)


# Rows


def check_adjoint(rows, cone, rng):
    M, u = element(rng, cone), rng.normal(size=rows.shape[0])
    assert rows.forward(M) @ u == pytest.approx(np.vdot(M, rows.adjoint(u)))
    point = cone.split(M).positive()
    np.testing.assert_allclose(rows.forward(point), rows.forward(point.dense()), atol=1e-12)


@pytest.mark.parametrize("name", CONES)
def test_sparse_rows_on_every_cone(name, rng):
    cone = CONES[name](rng)
    rows = problem_on(rng, cone).constraints
    check_adjoint(rows, cone, rng)
    expected = [np.linalg.norm(rows.adjoint(e)) for e in np.eye(8)]
    np.testing.assert_allclose(rows.norms(), expected)
    part = rows.restrict(np.array([1, 4]))
    check_adjoint(part, cone, rng)
    np.testing.assert_array_equal(part.adjoint(np.ones(2)), rows.adjoint(np.eye(8)[[1, 4]].sum(0)))


def test_scaled_rows(rng):
    cone, factors = PSD(4), rng.normal(size=5)
    inner = Sparse.from_matrices([symmetric(rng, 4) for _ in range(5)])
    rows, M = Scaled(inner, factors), symmetric(rng, 4)
    check_adjoint(rows, cone, rng)
    np.testing.assert_allclose(rows.forward(M), factors * inner.forward(M))
    np.testing.assert_allclose(rows.norms(), np.abs(factors) * inner.norms())
    kept = np.array([0, 3])
    np.testing.assert_allclose(rows.restrict(kept).forward(M), rows.forward(M)[kept])


def test_low_rank_rows_are_their_matrices(rng):
    factors = [rng.normal(size=(5, k)) for k in (1, 3, 2)] + [rng.normal(size=5)]
    weights = [rng.normal(size=k) for k in (1, 3, 2, 1)]
    rows = LowRank(factors, weights)
    F = [f.reshape(5, -1) for f in factors]
    dense = Sparse.from_matrices([(f * w) @ f.T for f, w in zip(F, weights, strict=True)])
    check_adjoint(rows, PSD(5), rng)
    M, u = symmetric(rng, 5), rng.normal(size=4)
    np.testing.assert_allclose(rows.forward(M), dense.forward(M))
    np.testing.assert_allclose(rows.adjoint(u), dense.adjoint(u))
    assert (rows.norms() >= dense.norms() - 1e-12).all()
    kept = np.array([1, 3])
    np.testing.assert_allclose(rows.restrict(kept).forward(M), dense.forward(M)[kept])


def test_low_rank_weights_are_one_a_column():
    with pytest.raises(ValueError, match="the factors have 3 columns and there are 2 weights"):
        LowRank([np.eye(3)], [np.ones(2)])


def test_functions_as_rows(rng):
    hidden = Sparse.from_matrices([symmetric(rng, 4) for _ in range(5)])
    rows = MatrixFree(hidden.forward, hidden.adjoint, 5, PSD(4))
    check_adjoint(rows, PSD(4), rng)
    np.testing.assert_allclose(rows.norms(), hidden.norms())
    M, kept = symmetric(rng, 4), np.array([0, 2])
    np.testing.assert_allclose(rows.restrict(kept).forward(M), hidden.forward(M)[kept])
    check_adjoint(rows.restrict(kept), PSD(4), rng)


@pytest.mark.parametrize(
    ("forward", "adjoint", "words"),
    [
        (lambda M: np.diag(M), lambda u: 2 * np.diag(u), "not each other's adjoint"),
        (lambda M: np.diag(M)[:2], lambda u: np.diag(u), r"forward returns shape \(2,\); .*3"),
        (lambda M: np.diag(M), lambda u: u, r"adjoint returns shape \(3,\); expected \(3, 3\)"),
        (lambda M: np.diag(M) * np.nan, lambda u: np.diag(u), "not each other's adjoint"),
    ],
)
def test_functions_that_do_not_belong_together(forward, adjoint, words):
    with pytest.raises(ValueError, match=words):
        MatrixFree(forward, adjoint, 3, PSD(3))


def test_rows_as_sparse_matrices(rng):
    """Where `as_sparse` gives rows they are the same map; rows known by products give None."""
    rows = Sparse.from_matrices([symmetric(rng, 3) for _ in range(4)])
    vector = Sparse(sp.csr_array(rng.normal(size=(4, 2))), Nonnegative(2))
    beside = Beside([rows, vector], (rows.cone, vector.cone))
    for A in (rows, Stack([rows, rows]), Scaled(rows, rng.normal(size=4)), beside):
        sparse, u = A.as_sparse(), rng.normal(size=A.shape[0])
        np.testing.assert_allclose(sparse.adjoint(u), A.adjoint(u))
        assert sparse.shape == A.shape
    assert beside.as_sparse().cone == Product((PSD(3), Nonnegative(2)))
    hidden = LowRank([np.ones(3)])
    with_hidden = Beside([hidden, vector.restrict([0])], (PSD(3), vector.cone))
    for A in (hidden, Stack([rows, hidden]), Scaled(hidden, np.ones(1)), with_hidden):
        assert A.as_sparse() is None
