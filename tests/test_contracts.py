"""What every constraint kind and every loss promises, checked for each pair of them."""

from dataclasses import replace

import numpy as np
import pytest

from frobmetric.core import FrobeniusSDP, Stack
from frobmetric.core.constraints import CONSTRAINTS
from frobmetric.core.losses import LOSSES, Mixed
from frobmetric.core.weights import WEIGHTS
from random_problems import (
    EXAMPLES,
    MORE_EXAMPLES,
    blocks,
    dense_rows,
    element,
    make_loss,
    member,
    random_problem,
    symmetric,
)

ALL_EXAMPLES = {kind.__name__: make for kind, make in EXAMPLES.items()} | MORE_EXAMPLES
KINDS = pytest.mark.parametrize("make", ALL_EXAMPLES.values(), ids=ALL_EXAMPLES)
EACH_LOSS = pytest.mark.parametrize("kind", LOSSES, ids=lambda kind: kind.__name__)


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == {*CONSTRAINTS, *WEIGHTS}


@KINDS
def test_adjoint_belongs_to_forward(make, rng):
    A = make(rng, 5, 12)
    for _ in range(5):
        M, u = element(rng, A.default_cone()), rng.normal(size=A.shape[0])
        assert np.vdot(A.forward(M), u) == pytest.approx(np.vdot(M, A.adjoint(u)), rel=1e-11)


@KINDS
def test_adjoint_is_an_element_of_the_space_of_the_cone(make, rng):
    A = make(rng, 5, 12)
    S, cone = A.adjoint(rng.normal(size=A.shape[0])), A.default_cone()
    assert S.shape == cone.shape
    if cone.is_symmetric:
        np.testing.assert_allclose(S, S.T, atol=1e-13)


@KINDS
def test_a_point_and_its_matrix_have_the_same_margins(make, rng):
    A = make(rng, 5, 12)
    point = A.default_cone().split(element(rng, A.default_cone())).positive(0.5)
    np.testing.assert_allclose(A.forward(point), A.forward(point.dense()), atol=1e-12)


@KINDS
def test_restrict_keeps_these_rows(make, rng):
    A = make(rng, 5, 12)
    M = element(rng, A.default_cone())
    rows = np.flatnonzero(rng.random(A.shape[0]) < 0.5)
    part, u = A.restrict(rows), rng.normal(size=len(rows))
    whole = np.zeros(A.shape[0])
    whole[rows] = u
    assert part.shape == (len(rows), 5)
    np.testing.assert_allclose(part.forward(M), A.forward(M)[rows], atol=1e-12)
    np.testing.assert_allclose(part.adjoint(u), A.adjoint(whole), atol=1e-12)
    assert part.default_cone() == A.default_cone()


@KINDS
def test_norms_bound_those_of_the_rows(make, rng):
    A = make(rng, 5, 12)
    for norms, rows in (
        (A.norms(), dense_rows(A)),
        (A.restrict(np.array([2, 3])).norms(), dense_rows(A)[2:4]),
    ):
        assert (norms >= (1 - 1e-12) * np.array([np.linalg.norm(row) for row in rows])).all()


@KINDS
@EACH_LOSS
def test_gradient_is_the_slope_of_the_dual(make, kind, rng):
    A = make(rng, 4, 8)
    loss = make_loss(kind, rng, A.shape[0])
    problem = random_problem(rng, A, loss, with_cost=True, with_prior=True)
    u = _inside(loss, rng)
    h, step = 1e-6, rng.normal(size=A.shape[0])
    slope = (problem.evaluate(u + h * step).dual - problem.evaluate(u - h * step).dual) / (2 * h)
    assert slope == pytest.approx(problem.evaluate(u).gradient @ step, rel=1e-5, abs=1e-6)


@KINDS
@EACH_LOSS
def test_dual_never_exceeds_primal(make, kind, rng):
    A = make(rng, 4, 8)
    for _ in range(10):
        M, loss = member(rng, A.default_cone()), make_loss(kind, rng, A.shape[0])
        if loss.is_hard:
            loss = _met_by(loss, A.forward(M), rng)
        problem = random_problem(rng, A, loss, with_cost=True, with_prior=True)
        u = _inside(loss, rng)
        found = problem.compare(M, u)
        assert found.violation == 0
        assert found.primal >= found.dual - 1e-12 * abs(found.dual)


@EACH_LOSS
def test_conjugate_is_the_concave_conjugate(kind, rng):
    """-loss*(-u) = min over v of loss(v) + u v, by a fine grid."""
    loss = make_loss(kind, rng, 1)
    grid = np.linspace(-30, 30, 600_001)
    feasible = np.array([loss.violation(np.array([v]))[0] == 0 for v in grid[::5000]])
    u = _inside(loss, rng)
    if loss.is_hard:
        target = float(loss.target[0])
        assert loss.conjugate(u)[0] == pytest.approx(target * u[0])
        assert feasible.any() or kind.__name__ == "Equal"
    else:
        values = np.array([loss.value(np.array([v])) for v in grid[::50]]) + u[0] * grid[::50]
        assert loss.conjugate(u)[0] == pytest.approx(values.min(), abs=2e-3)


@EACH_LOSS
def test_curvature_is_the_slope_of_the_slope(kind, rng):
    loss = make_loss(kind, rng, 5)
    u = _inside(loss, rng)
    change = loss.conjugate(u + 1e-6)[1] - loss.conjugate(u - 1e-6)[1]
    np.testing.assert_allclose(-change / 2e-6, loss.curvature, atol=1e-6)


@EACH_LOSS
def test_multiplier_is_tight(kind, rng):
    """Fenchel: loss(v) + loss*(-u) = -u v where u belongs to v."""
    loss, v = make_loss(kind, rng, 20), rng.normal(size=20)
    u = loss.multiplier(v)
    assert (u >= loss.lower).all()
    assert (u <= loss.upper).all()
    if not loss.is_hard:
        assert loss.value(v) + u @ v == pytest.approx(loss.conjugate(u)[0])


@EACH_LOSS
def test_restricted_loss_is_the_loss_of_these_rows(kind, rng):
    loss, v, rows = make_loss(kind, rng, 9), rng.normal(size=9), np.array([1, 4, 8])
    part = loss.restrict(rows)
    alone = sum(loss.restrict(np.array([r])).value(v[[r]]) for r in rows)
    assert part.value(v[rows]) == pytest.approx(alone)
    np.testing.assert_array_equal(part.upper, loss.upper[rows])
    np.testing.assert_array_equal(part.violation(v[rows]), loss.violation(v)[rows])


def test_mixed_losses_are_the_sum_of_their_parts(rng):
    losses = [make_loss(kind, rng, 3) for kind in LOSSES]
    mixed, v = Mixed(tuple(losses)), rng.normal(size=3 * len(losses))
    runs = np.split(v, len(losses))
    u = np.concatenate([_inside(loss, rng) for loss in losses])
    assert mixed.value(v) == pytest.approx(
        sum(loss.value(run) for loss, run in zip(losses, runs, strict=True))
    )
    assert mixed.conjugate(u)[0] == pytest.approx(
        sum(
            loss.conjugate(run)[0]
            for loss, run in zip(losses, np.split(u, len(losses)), strict=True)
        )
    )
    rows = np.array([0, 2, 5, 6, 13])
    np.testing.assert_array_equal(mixed.restrict(rows).violation(v[rows]), mixed.violation(v)[rows])
    np.testing.assert_array_equal(mixed.restrict(rows).lower, mixed.lower[rows])
    assert mixed.is_hard


def test_stack_is_its_parts(rng):
    examples = [EXAMPLES[kind](rng, 4, 6) for kind in CONSTRAINTS]
    parts = [example for example in examples if example.default_cone().is_symmetric]
    stack, M = Stack(parts), symmetric(rng, 4)
    np.testing.assert_array_equal(stack.forward(M), np.concatenate([p.forward(M) for p in parts]))


@EACH_LOSS
def test_blocks_obey_the_same_rules(kind, rng):
    A = blocks(rng)
    loss = make_loss(kind, rng, A.shape[0])
    problem = FrobeniusSDP(A, loss, cost=0.1 * A.adjoint(rng.normal(size=6)), cone=A.cone)
    u, step, h = _inside(loss, rng), rng.normal(size=6), 1e-6
    slope = (problem.evaluate(u + h * step).dual - problem.evaluate(u - h * step).dual) / (2 * h)
    assert slope == pytest.approx(problem.evaluate(u).gradient @ step, rel=1e-5, abs=1e-6)
    M = problem.evaluate(u).point.dense()
    assert A.cone.min_eigenvalue(M) >= -1e-12


@KINDS
def test_rows_are_the_matrices_they_stand_for(make, rng):
    A = make(rng, 4, 6)
    M = element(rng, A.default_cone())
    by_hand = [np.vdot(row, M) for row in dense_rows(A)]
    np.testing.assert_allclose(A.forward(M), by_hand, atol=1e-12)


def _inside(loss, rng):
    """A u strictly inside the box."""
    m = len(loss.scale)
    lower = np.maximum(loss.lower, -1.0)
    upper = np.minimum(loss.upper, 1.0)
    return lower + (upper - lower) * rng.uniform(0.1, 0.9, m)


def _met_by(loss, v, rng):
    """The hard loss with targets that these margins meet."""
    return replace(loss, target=v - loss.sense * rng.uniform(0, 1, len(v)))
