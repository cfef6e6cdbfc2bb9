"""`make_sdp`: matrices, blocks and senses as a problem, and every message about a bad one."""

import numpy as np
import pytest
import scipy.sparse as sp

from frobmetric.core import (
    PSD,
    Equal,
    Hard,
    LowRank,
    MatrixFree,
    Nonnegative,
    Product,
    Sparse,
    Stack,
)
from frobmetric.core.matrices import Scaled
from frobmetric.sdp import make_sdp, solve_sdp
from random_problems import symmetric

I2 = np.eye(2)
SKEW = np.array([[0.0, 2.0], [1.0, 0.0]])


def test_matrices_become_a_plain_sdp(rng):
    C, A = symmetric(rng, 4), [symmetric(rng, 4) for _ in range(3)]
    problem = make_sdp(C, A, [1, 2, 3])
    assert (problem.cone, problem.sigma, problem.offset) == (PSD(4), np.inf, 0.0)
    assert isinstance(problem.loss, Equal)
    np.testing.assert_array_equal(problem.cost, C)
    X = symmetric(rng, 4)
    np.testing.assert_allclose(problem.constraints.forward(X), [np.vdot(a, X) for a in A])


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.coo_array, sp.csc_matrix, np.ndarray.tolist]
)
def test_every_form_of_a_matrix_is_the_same(form, rng):
    C, A = symmetric(rng, 3), [symmetric(rng, 3), np.diag([1.0, 0.0, 2.0])]
    plain = make_sdp(C, A, [1, 2])
    given = make_sdp(C if form is np.ndarray.tolist else form(C), [form(a) for a in A], [1, 2])
    np.testing.assert_array_equal(given.cost, plain.cost)
    np.testing.assert_array_equal(
        given.constraints.rows.toarray(), plain.constraints.rows.toarray()
    )


def test_stacked_array_is_a_sequence_of_matrices(rng):
    A = np.array([symmetric(rng, 3) for _ in range(4)])
    assert make_sdp(np.eye(3), A, np.ones(4)).constraints.shape == (4, 3)


def test_integers_are_numbers():
    assert make_sdp([[[1, 2], [2, 1]]], [[[[1, 0], [0, 1]]]], 1).cost.tolist() == [1, 2, 2, 1]


def test_blocks(rng):
    C = [symmetric(rng, 3), np.array([1.0, 2.0]), sp.eye_array(2)]
    A = [[np.eye(3), None, sp.csr_array(I2)], [None, np.array([1.0, -1.0]), None]]
    problem = make_sdp(C, A, [1, 0])
    assert problem.cone == Product((PSD(3), Nonnegative(2), PSD(2)))
    np.testing.assert_array_equal(
        problem.cost, np.concatenate([C[0].ravel(), C[1], np.eye(2).ravel()])
    )
    rows = problem.constraints.rows.toarray()
    np.testing.assert_array_equal(rows[0], np.concatenate([np.eye(3).ravel(), [0, 0], I2.ravel()]))
    np.testing.assert_array_equal(rows[1], np.concatenate([np.zeros(9), [1, -1], np.zeros(4)]))


@pytest.mark.parametrize(
    ("senses", "expected"),
    [
        ("=", None),
        ("==", None),
        ("<=", [-1, -1]),
        (">=", [1, 1]),
        (["<=", "="], [-1, 0]),
        (("=", "=="), None),
    ],
)
def test_senses(senses, expected):
    loss = make_sdp(I2, [I2, 2 * I2], [1, 2], senses).loss
    if expected is None:
        assert isinstance(loss, Equal)
    else:
        assert isinstance(loss, Hard)
        np.testing.assert_array_equal(loss.sense, expected)


def test_frobenius_term(rng):
    prior = symmetric(rng, 3)
    problem = make_sdp(np.eye(3), [np.eye(3)], 1, sigma=2, prior=sp.csr_array(prior), offset=5)
    assert (problem.sigma, problem.offset) == (2.0, 5.0)
    np.testing.assert_array_equal(problem.prior, prior)
    blocks = make_sdp([I2, np.ones(1)], [[I2, None]], 1, sigma=1.0, prior=[2 * I2, None])
    assert blocks.prior.tolist() == [2, 0, 0, 2, 0]


def test_constraints_are_taken_as_they_are(rng):
    factors = LowRank([rng.normal(size=3), rng.normal(size=(3, 2))])
    sparse = Sparse.from_matrices([np.eye(3)])
    free = MatrixFree(sparse.forward, sparse.adjoint, 1, PSD(3))
    for rows in (factors, sparse, free, Stack([factors, sparse])):
        problem = make_sdp(np.eye(3), rows, np.ones(rows.shape[0]))
        assert problem.constraints is rows
        assert problem.cone == PSD(3)
    cone = Product((PSD(2), Nonnegative(1)))
    rows = Sparse(sp.csr_array(np.ones((1, 5))), cone)
    assert make_sdp([I2, np.ones(1)], rows, 1).cone == cone
    solution = solve_sdp(make_sdp(np.diag([1.0, 2.0]), LowRank([I2]), 1))
    assert solution.certificate.primal == pytest.approx(1, abs=1e-5)


def test_rounding_is_made_symmetric():
    C = np.array([[1.0, 0.3], [0.3 + 1e-12, 1.0]])
    problem = make_sdp(C, [C], 1)
    for M in (problem.cost, problem.constraints.adjoint(np.ones(1))):
        np.testing.assert_array_equal(M, M.T)
        np.testing.assert_allclose(M, C, atol=1e-12)


NOT_A_NUMBER = np.array([[1.0, np.nan], [np.nan, 1.0]])
INFINITE = np.array([[1.0, 0.0], [0.0, np.inf]])
FREE = LowRank([np.ones(2)])
BAD = {
    "C not symmetric": (
        (SKEW, [I2], 1),
        r"C is not symmetric: C\[0, 1\] = 2 and C\[1, 0\] = 1; pass \(C \+ C.T\) / 2",
    ),
    "A not symmetric": ((I2, [I2, SKEW], [1, 1]), r"A\[1\] is not symmetric: A\[1\]\[0, 1\] = 2"),
    "block not symmetric": (
        ([I2, I2], [[None, SKEW]], 1),
        r"A\[0\]\[1\] is not symmetric: A\[0\]\[1\]\[0, 1\]",
    ),
    "sparse not symmetric": (
        (I2, [sp.csr_array(SKEW)], 1),
        r"A\[0\] is not symmetric: A\[0\]\[0, 1\] = 2",
    ),
    "prior not symmetric": ((I2, [I2], 1, {"sigma": 1.0, "prior": SKEW}), "prior is not symmetric"),
    "size of A": (
        (I2, [I2, np.eye(3)], [1, 1]),
        r"A\[1\] has shape \(3, 3\); expected \(2, 2\), as C has",
    ),
    "size of a block": (
        ([I2, np.ones(2)], [[I2, np.ones(3)]], 1),
        r"A\[0\]\[1\] has shape \(3,\); expected \(2,\)",
    ),
    "vector for a matrix": ((I2, [np.ones(2)], 1), r"A\[0\] has shape \(2,\); expected \(2, 2\)"),
    "size of the prior": (
        (I2, [I2], 1, {"sigma": 1.0, "prior": np.eye(3)}),
        r"prior has shape \(3, 3\)",
    ),
    "number of b": (
        (I2, [I2, I2], [1]),
        r"b has shape \(1,\); expected one number for each of 2 rows",
    ),
    "b is a matrix": ((I2, [I2], [[1.0]]), r"b has shape \(1, 1\)"),
    "no rows": ((I2, [], []), "A has no rows; .* X = 0 .* no minimum .* at least one row"),
    "no rows of an object": ((I2, Sparse(sp.csr_array((0, 4)), PSD(2)), []), "A has no rows"),
    "one matrix for A": ((I2, I2, 1), r"A has shape \(2, 2\); .* sequence of matrices, \[A\] if"),
    "one sparse matrix": ((I2, sp.eye_array(2), 1), r"A has shape \(2, 2\); .* \[A\] if"),
    "a number for A": ((I2, 3.0, 1), r"A has shape \(\); expected a sequence"),
    "sigma zero": ((I2, [I2], 1, {"sigma": 0.0}), "sigma=0.0 must be positive; np.inf leaves"),
    "sigma negative": ((I2, [I2], 1, {"sigma": -1.0}), "sigma=-1.0 must be positive"),
    "sigma NaN": ((I2, [I2], 1, {"sigma": np.nan}), "sigma is nan; expected a real number"),
    "prior alone": ((I2, [I2], 1, {"prior": I2}), "a prior without a Frobenius term"),
    "offset": ((I2, [I2], 1, {"offset": np.nan}), "offset is nan; expected a real number"),
    "NaN in C": ((NOT_A_NUMBER, [I2], 1), r"entry \(0, 1\) of C is nan; give finite numbers"),
    "infinity in A": ((I2, [I2, INFINITE], [1, 1]), r"entry \(1, 1\) of A\[1\] is inf"),
    "NaN in a block": (
        ([np.ones(2)], [[np.array([1.0, np.nan])]], 1),
        r"entry 1 of A\[0\]\[0\] is nan",
    ),
    "NaN in b": ((I2, [I2, I2], [1, np.nan]), r"b\[1\] is nan; give a finite number"),
    "infinite b": ((I2, [I2], np.inf, "<="), r"b\[0\] is inf; .* leave out rows that always hold"),
    "NaN in an object": (
        (I2, Scaled(LowRank([np.ones(2)] * 2), np.array([1, np.nan])), [1, 1]),
        "row 1 of A contains",
    ),
    "strict": ((I2, [I2], 1, "<"), "sense of row 0 is '<'; a strict inequality .* write '<='"),
    "strict above": ((I2, [I2, I2], [1, 1], ["=", ">"]), "sense of row 1 is '>'; .* write '>='"),
    "unknown sense": ((I2, [I2], 1, "=<"), "sense of row 0 is '=<'; expected '=', '<=' or '>='"),
    "sense is no word": ((I2, [I2], 1, [0]), "sense of row 0 is 0; expected"),
    "number of senses": ((I2, [I2], 1, ["=", "="]), "there are 2 senses for 1 rows"),
    "too few blocks": (
        ([I2, I2], [[I2]], 1),
        r"A\[0\] is a list of 1; expected a list of 2 blocks, as C is",
    ),
    "no blocks": (([I2, I2], [I2], 1), r"A\[0\] is ndarray; expected a list of 2 blocks"),
    "blocks of the prior": (
        ([I2], [[I2]], 1, {"sigma": 1.0, "prior": I2}),
        "prior is ndarray; expected a list",
    ),
    "empty C": ((np.zeros((0, 0)), [I2], 1), r"C has shape \(0, 0\); expected a square matrix"),
    "empty list": (([], [I2], 1), "C is an empty list"),
    "empty block": (([I2, np.ones(0)], [[I2, None]], 1), r"block 1 of C has shape \(0,\)"),
    "C not square": ((np.ones((2, 3)), [I2], 1), r"C has shape \(2, 3\); expected a square"),
    "C a vector": ((np.ones(2), [I2], 1), r"C has shape \(2,\); .* the list of its blocks"),
    "block not square": (([np.ones((2, 3))], [[None]], 1), r"block 0 of C has shape \(2, 3\)"),
    "lists of numbers": (
        ([[1, 0], [0, 1]], [I2], 1),
        r"C is a list of lists of numbers, .* np.array\(C\)",
    ),
    "words": ((I2, [[["a", "b"], ["b", "a"]]], 1), r"A\[0\] is not an array of real numbers"),
    "complex": ((I2, [1j * I2], 1), r"A\[0\] is not an array of real numbers \(.*complex"),
    "words in b": ((I2, [I2], "one"), "b is not an array of real numbers"),
    "object of another size": ((np.eye(3), FREE, 1), r"LowRank of shape \(1, 2\) .* C is on PSD"),
    "object with other blocks": (
        ([np.eye(2), np.ones(1)], Sparse(sp.csr_array(np.ones((1, 5))), Nonnegative(5)), 1),
        "A is Sparse .* they must be the same",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    arguments, words = BAD[name]
    options = arguments[-1] if isinstance(arguments[-1], dict) else {}
    with pytest.raises(ValueError, match=words):
        make_sdp(*arguments[: len(arguments) - bool(options)], **options)
