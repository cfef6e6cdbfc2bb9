"""Conjugate gradients against dense solves, and each reason to stop."""

import numpy as np
import pytest

from frobmetric.core.cg import conjugate_gradients
from random_problems import psd, symmetric


def _solve(V, right, preconditioner=None, **options):
    diagonal = np.diag(V) if preconditioner is None else preconditioner
    options = {"accuracy": 1e-12, "max_products": 100} | options
    return conjugate_gradients(lambda x: V @ x, right, diagonal, **options)


@pytest.mark.parametrize("shape", [(12,), (12, 3)])
def test_solution_is_that_of_a_dense_solve(shape, rng):
    V, right = psd(rng, 12) + np.eye(12), rng.normal(size=shape)
    preconditioner = np.diag(V) if len(shape) == 1 else np.diag(V)[:, None]
    result = _solve(V, right, preconditioner)
    assert result.direction is None
    np.testing.assert_allclose(result.x, np.linalg.solve(V, right), atol=1e-9)


def test_an_exact_preconditioner_needs_one_product(rng):
    V, right = psd(rng, 8) + np.eye(8), rng.normal(size=8)
    result = _solve(V, right, lambda r: np.linalg.solve(V, r), accuracy=1e-8, max_products=1)
    np.testing.assert_allclose(result.x, np.linalg.solve(V, right), rtol=1e-8)


def test_accuracy_is_met_in_the_norm_of_the_preconditioner(rng):
    V, right = psd(rng, 30) + 1e-3 * np.eye(30), rng.normal(size=30)
    for accuracy in (1e-1, 1e-3, 1e-6):
        residual = right - V @ _solve(V, right, np.ones(30), accuracy=accuracy).x
        assert np.linalg.norm(residual) <= 1.01 * accuracy * np.linalg.norm(right)


def test_a_singular_system_is_solved_where_it_can_be(rng):
    V = psd(rng, 6)
    V[:, 0] = V[0] = 0
    right = np.append(0.0, rng.normal(size=5))
    x = _solve(V, right, np.maximum(np.diag(V), 1.0)).x
    np.testing.assert_allclose(V @ x, right, atol=1e-8)


def test_zero_has_the_solution_zero():
    assert not _solve(np.eye(3), np.zeros(3)).x.any()


def test_a_direction_of_negative_curvature_ends_the_iteration(rng):
    V, right = symmetric(rng, 10), rng.normal(size=10)
    assert np.linalg.eigvalsh(V)[0] < 0
    result = _solve(V, right, np.ones(10))
    assert result.direction is not None
    d = result.direction
    assert d @ V @ d == pytest.approx(result.curvature)
    assert result.curvature <= 0 < result.slope
    assert d @ (right - V @ result.x) == pytest.approx(result.slope)


def test_limits_are_kept(rng):
    V, right, calls = psd(rng, 20) + 0.1 * np.eye(20), rng.normal(size=20), []

    def product(x):
        calls.append(x)
        return V @ x

    options = {"accuracy": 1e-12, "max_products": 4}
    conjugate_gradients(product, right, np.ones(20), **options)
    assert len(calls) == 4
    stopped = conjugate_gradients(product, right, np.ones(20), should_stop=lambda: True, **options)
    assert len(calls) == 4
    assert not stopped.x.any()
