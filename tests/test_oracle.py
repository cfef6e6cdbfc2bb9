"""300 random small problems against cvxpy with Clarabel: the optimum lies in [dual, primal]."""

import numpy as np
import pytest

from frobmetric.core.losses import LOSSES, Mixed
from frobmetric.solvers import FROBENIUS_SOLVERS, solve
from random_problems import EXAMPLES, cvxpy_optimum, make_feasible, make_loss, random_problem

pytest.importorskip("cvxpy", reason="the oracle is cvxpy with Clarabel")
pytest.importorskip("clarabel", reason="the oracle is cvxpy with Clarabel")

#: Clarabel's own tolerance, relative to the size of the objective's terms.
CLARABEL = 1e-6


#: So many seeds have every constraint kind with every loss.
QUICK = len(LOSSES) * len(EXAMPLES)
SEEDS = [*range(QUICK), *(pytest.param(k, marks=pytest.mark.slow) for k in range(QUICK, 300))]


@pytest.mark.parametrize("seed", SEEDS)
def test_optimum_lies_between_dual_and_primal(seed):
    rng = np.random.default_rng(seed)
    kind = LOSSES[seed % len(LOSSES)]
    make = list(EXAMPLES.values())[seed // len(LOSSES) % len(EXAMPLES)]
    n, m = int(rng.integers(1, 13)), int(rng.integers(2, 201 if seed % 3 == 0 else 40))
    constraints = make(rng, n, m)
    loss = make_loss(kind, rng, constraints.shape[0])
    if loss.is_hard:
        # fewer equations than unknowns, so that a matrix in the inside of the cone meets them
        rows = np.arange(min(constraints.shape[0], max(1, n * (n + 1) // 4)))
        constraints = constraints.restrict(rows)
        loss = make_feasible(loss.restrict(rows), rng, constraints)
    problem = random_problem(rng, constraints, loss, rng.random() < 0.5, rng.random() < 0.5)
    names = [name for name in FROBENIUS_SOLVERS if name != "auto"]
    solution = solve(
        problem,
        solver=names[seed % len(names)],
        tol=1e-6 if loss.is_hard else 1e-5,
        max_iter=20_000,
    )
    best, is_accurate = cvxpy_optimum(problem)
    certificate, slack = solution.certificate, CLARABEL * (1 + abs(best))
    if not is_accurate:  # its status, where it could not reach its own tolerance
        slack *= 100
    assert solution.status == "optimal"
    assert certificate.dual <= best + slack
    if loss.is_hard:
        assert certificate.primal == pytest.approx(best, rel=1e-4, abs=1e-4)
        assert certificate.violation <= 1e-6
    else:
        assert best <= certificate.primal + slack
        assert certificate.relative_gap <= 1e-5


def test_mixed_hard_and_soft_rows_against_the_oracle(rng):
    """Two kinds of loss in one problem, against cvxpy written out by hand."""
    import cvxpy as cp

    from frobmetric.core import Equal, FrobeniusSDP, Hinge, Sparse, Stack

    triplets, trace = EXAMPLES[next(iter(EXAMPLES))](rng, 5, 20), Sparse.from_matrices([np.eye(5)])
    loss = Mixed((Hinge(np.full(20, 0.3)), Equal(np.array([2.0]))))
    solution = solve(FrobeniusSDP(Stack([triplets, trace]), loss), tol=1e-7, max_iter=20_000)
    M = cp.Variable((5, 5), PSD=True)
    v = cp.hstack([cp.sum(cp.multiply(triplets.adjoint(e), M)) for e in np.eye(20)])
    objective = cp.sum_squares(M) / 2 + 0.3 * cp.sum(cp.pos(1 - v))
    best = cp.Problem(cp.Minimize(objective), [cp.trace(M) == 2]).solve(solver=cp.CLARABEL)
    assert solution.certificate.primal == pytest.approx(best, rel=1e-5)
    np.testing.assert_allclose(solution.point.dense(), M.value, atol=1e-3)
