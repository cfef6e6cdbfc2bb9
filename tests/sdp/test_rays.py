"""What is called a proof is one: narrow problems with an answer, against rational numbers."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from frobmetric.core import PSD, LowRank, Nonnegative, Product, Quadruplets, Stack
from frobmetric.core.rational import Basis, nearest_solution
from frobmetric.core.weights import WeightedPairs
from frobmetric.sdp import make_sdp, solve_sdp
from frobmetric.sdp.rays import bound_answers, is_exactly_inside, is_inside, round_down, verify_ray
from random_problems import EXAMPLES, MORE_EXAMPLES, blocks

I2, OFF = np.eye(2), np.array([[0.0, 0.5], [0.5, 0.0]])
E00, E11 = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])


def solved(*problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve_sdp(make_sdp(*problem), max_iter=3000)


@pytest.mark.parametrize("small", [3e-4, 1e-4, 1e-5, 1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("C", [I2, OFF, E11, np.diag([1.0, 3.0])], ids=str)
def test_a_far_answer_is_an_answer(small, C):
    """X = [[small, 1], [1, 1 / small]] is feasible, and its trace no smaller than what is said."""
    solution = solved(C, [E00, OFF], [small, 1.0])
    assert solution.status != "primal_infeasible"
    if solution.nearly is not None and solution.nearly.kind == "primal_infeasible":
        assert solution.nearly.least <= 1 / Fraction(small) + Fraction(small)


@pytest.mark.parametrize("small", [1e-6, 1e-7, 1e-8, 1e-10, 1e-12])
def test_a_far_answer_of_one_row(small):
    assert solved(I2, [np.diag([-1.0, small])], [1.0]).status != "primal_infeasible"
    assert solved(I2, [np.diag([-1.0, small])], [1.0], ">=").status != "primal_infeasible"
    # y = -1 / small is feasible in the dual
    solution = solved(-E00, [np.diag([small, 1.0])], [1.0])
    assert solution.status != "dual_infeasible"
    if solution.nearly is not None and solution.nearly.kind == "dual_infeasible":
        assert solution.nearly.least <= 1 / Fraction(small)


def test_what_is_no_proof_says_what_it_bounds():
    solution = solved(I2, [E00, OFF], [1e-7, 1.0])
    assert (solution.status, solution.ray) == ("stalled", None)
    assert str(solution).splitlines()[-1].strip() == str(solution.nearly)
    assert "every feasible X has a trace of at least" in str(solution.nearly)
    with pytest.warns(UserWarning, match="nearly infeasible: every feasible X has a trace of at"):
        solve_sdp(make_sdp(I2, [E00, OFF], [1e-7, 1.0]))


SCALES = 2.0 ** np.arange(-20, 21)


def draw(rng):
    """Return a problem over a matrix and two numbers, with feasible X and y, or None for each."""
    while True:
        d, e = rng.choice(SCALES, 2), rng.choice(SCALES, 2)
        A = []
        for _ in range(rng.integers(1, 4)):
            M = np.triu(rng.integers(-2, 3, (2, 2)))
            A.append([np.outer(e, e) ** 0.5 * (M + M.T) / 2, rng.integers(-1, 2, 2) * e])
        A = [[np.round(a * 2.0**30) / 2.0**30, v] for a, v in A]
        senses = [str(s) for s in rng.choice(["=", ">=", "<="], len(A))]
        b = [float(v) for v in rng.integers(-2, 3, len(A))]
        C, X, y = [I2 * rng.integers(-1, 2), rng.integers(-1, 2, 2) * e], None, None
        if rng.random() < 0.6:
            L = rng.integers(-2, 3, (2, rng.integers(1, 3)))
            X = [d[:, None] * (L @ L.T) * d, rng.integers(0, 3, 2) * d]
            sides = [sum(np.sum(exact(p) * exact(q)) for p, q in zip(a, X, strict=True)) for a in A]
            b = [float(side) for side in sides]
            off = [Fraction(float(side)) - side for side in sides]
            if any(o and s != ("<=" if o > 0 else ">=") for o, s in zip(off, senses, strict=True)):
                continue
        if X is None or rng.random() < 0.3:
            signs = [{"=": rng.choice([-1, 1]), ">=": 1, "<=": -1}[s] for s in senses]
            y = signs * rng.integers(0, 2, len(A)) * rng.choice(SCALES, len(A))
            L = rng.integers(-2, 3, (2, rng.integers(1, 3)))
            Z = [e[:, None] * (L @ L.T) * e, rng.integers(0, 2, 2) * d]
            C = [z + sum(v * a[k] for v, a in zip(y, A, strict=True)) for k, z in enumerate(Z)]
            left = [
                exact(c) - sum(Fraction(v) * exact(a[k]) for v, a in zip(y, A, strict=True))
                for k, c in enumerate(C)
            ]
            M = left[0]
            is_psd = min(M[0, 0], M[1, 1], M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]) >= 0
            if not (is_psd and (left[1] >= 0).all()):
                continue
        return (C, A, b, senses), X, y


def exact(A):
    return np.array([Fraction(v) for v in np.ravel(A).tolist()], dtype=object).reshape(np.shape(A))


@pytest.mark.parametrize("seed", range(60))
def test_narrow_problems(seed):
    problem, X, y = draw(np.random.default_rng([29, seed]))
    solution = solved(*problem)
    assert X is None or solution.status != "primal_infeasible"
    assert y is None or solution.status != "dual_infeasible"
    near = solution.nearly
    if near is not None and near.kind == "primal_infeasible" and X is not None:
        assert near.least <= sum(np.diag(exact(X[0]))) + sum(exact(X[1]))
    if near is not None and near.kind == "dual_infeasible" and y is not None:
        assert Fraction(near.least) ** 2 <= sum(Fraction(v) ** 2 for v in y.tolist())


# Proofs on the boundary, and in exact arithmetic


def unit(n, i, j):
    A = np.zeros((n, n))
    A[i, j] = A[j, i] = 1 if i == j else 0.5
    return A


def check_exactly(problem, ray):
    """Check a ray in rational numbers, by the definition alone."""
    A, b = problem.constraints.as_exact(10**6), problem.loss.target.tolist()
    if ray.kind == "primal_infeasible":
        assert sum(v * Fraction(c) for v, c in zip(ray.exact, b, strict=True)) > 0
        W = [sum(v * row.get(k, 0) for v, row in zip(ray.exact, A, strict=True)) for k in range(4)]
        assert max(W[0], W[3]) <= 0
        assert W[0] * W[3] >= W[1] * W[2]
        return
    X, C = ray.exact, problem.cost.ravel().tolist()
    assert sum(Fraction(c) * v for c, v in zip(C, X, strict=True)) < 0
    assert all(sum(value * X[k] for k, value in row.items()) == 0 for row in A)
    assert min(X[0], X[3]) >= 0
    assert X[0] * X[3] >= X[1] * X[2]


ONES, TILTED = np.ones((2, 2)), np.array([[1.0, 3.0], [3.0, 9.0]])
EXACT = {
    "equations that contradict": (I2, [OFF, E00, OFF + E00], [1, 1, 3]),
    "a matrix that is minus ones": (I2, [-ONES], [1]),
    "a matrix of rank one": (I2, [-TILTED, OFF], [1, 0]),
    "ones may grow": (-I2, [np.array([[1.0, -1.0], [-1.0, 1.0]])], [1]),
    "a direction of rank one": (-E00, [np.array([[9.0, -3.0], [-3.0, 1.0]])], [1]),
}


@pytest.mark.parametrize("name", EXACT)
def test_proofs_on_the_boundary(name):
    problem = make_sdp(*EXACT[name])
    ray = solve_sdp(problem).ray
    assert ray.is_proof
    check_exactly(problem, ray)


def test_a_ray_that_nearly_is_one_is_none():
    """One unit in the last place of a row decides."""
    for eps in (0.0, 2.0**-52, -(2.0**-52)):
        A = np.array([[-1.0, 1.0], [1.0, -1.0 + eps]])
        ray = verify_ray(make_sdp(I2, [A], [1.0]), "primal_infeasible", np.ones(1))
        assert (ray is not None) == (eps <= 0)


@pytest.mark.parametrize("make", [*{**EXAMPLES, **MORE_EXAMPLES}.values(), blocks])
def test_exact_rows_are_those_of_the_adjoint(make, rng):
    rows = blocks(rng) if make is blocks else make(rng, 4, 5)
    found, size = rows.as_exact(10**6), int(np.prod(rows.default_cone().shape))
    for e, row in zip(np.eye(rows.shape[0]), found or (), strict=bool(found)):
        values = [float(row.get(k, 0)) for k in range(size)]
        np.testing.assert_allclose(values, rows.adjoint(e).ravel(), atol=1e-12)
        assert all(0 <= place < size for place in row)
    assert rows.as_exact(0) is None


def test_kinds_of_rows_that_are_exact():
    x = np.array([[0.0, 0.1], [0.3, 0.0], [1.0, 2.0]])
    rows = Stack([LowRank([x[2]]), Quadruplets(x, np.array([[0, 1, 0, 2]]))])
    assert rows.as_exact(1000)[1][0] == 1 - Fraction(0.3) ** 2
    assert WeightedPairs(x, np.array([[0, 1]])).as_exact(1000) is None


def test_elements_of_cones():
    cone = Product((PSD(2), Nonnegative(1)))
    zero = np.zeros(5)
    assert is_inside(cone, np.array([1e-200, 0, 0, 1e200, 0.0]), zero)
    assert not is_inside(cone, np.array([1.0, 0, 0, 1, -5e-324]), zero)
    assert not is_inside(cone, np.array([1.0, 0, 0, 1, 1.0]), zero, distance=1.5)
    assert not is_inside(cone, np.array([1.0, 0, 0, np.nan, 1.0]), zero)
    third = Fraction(1, 3)
    assert is_exactly_inside(PSD(2), {0: third, 1: third, 2: third, 3: third})
    assert not is_exactly_inside(
        PSD(2), {0: third, 1: third, 2: third, 3: third - Fraction(1, 2**70)}
    )


def test_linear_equations_are_solved_exactly():
    rows = [{0: Fraction(3), 1: Fraction(1)}, {0: Fraction(6), 1: Fraction(2)}]
    x = nearest_solution(rows, [Fraction(1), Fraction(2)], np.array([0.3, 0.1]))
    assert 3 * x[0] + x[1] == 1
    assert nearest_solution(rows, [Fraction(1), Fraction(3)], np.array([0.3, 0.1])) is None
    assert Basis.near(np.array([[np.sqrt(0.5)], [np.sqrt(0.5)]])).rows == [{0: 1}, {0: 1}]
    assert Basis.near(np.array([[np.cos(1)], [np.sin(1)]])) is None


def test_bounds_are_told_rounded_down():
    assert [round_down(v) for v in (99999.0, 1e5, 1.0999e7)] == ["9.9e+04", "1.0e+05", "1.0e+07"]
    assert bound_answers(make_sdp(I2, [I2], [1.0]), "primal_infeasible", np.ones(1)) is None
