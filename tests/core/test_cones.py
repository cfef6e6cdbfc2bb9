import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.core import PSD, Nonnegative, NumericalError, Product
from frobmetric.core.cones import Face
from random_problems import symmetric


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 9), seed=st.integers(0, 10_000), size=st.floats(1e-8, 1e8))
def test_projection_is_the_nearest_positive_semidefinite_matrix(n, seed, size):
    """S = S+ + S-, the two orthogonal, S+ in the cone, S- in its polar."""
    S = size * symmetric(np.random.default_rng(seed), n)
    split = PSD(n).split(S)
    plus = split.positive().dense()
    minus = S - plus
    scale = np.linalg.norm(S)
    assert np.linalg.eigvalsh(plus)[0] >= -1e-13 * scale
    assert np.linalg.eigvalsh(minus)[-1] <= 1e-13 * scale
    assert abs(np.vdot(plus, minus)) <= 1e-12 * scale**2
    assert split.positive_norm2 == pytest.approx(np.vdot(plus, plus), rel=1e-9)


def test_factor_is_ordered_and_has_the_rank(rng):
    L = rng.normal(size=(6, 2))
    point = PSD(6).split(L @ L.T).positive(scale=4.0)
    assert point.rank == 2
    norms = np.linalg.norm(point.factor(), axis=0)
    assert norms[0] > norms[1]
    np.testing.assert_allclose(point.dense(), 4 * L @ L.T, atol=1e-12)


def test_derivative_is_that_of_the_projection(rng):
    cone = Product((PSD(4), Nonnegative(3)))
    S, H = (np.concatenate([symmetric(rng, 4).ravel(), rng.normal(size=3)]) for _ in range(2))
    h = 1e-6
    ahead, behind = (cone.split(S + t * H).positive().dense() for t in (h, -h))
    np.testing.assert_allclose((ahead - behind) / (2 * h), cone.split(S).derivative(H), atol=1e-7)


def test_product_projects_each_block(rng):
    cone = Product((PSD(3), Nonnegative(2)))
    S, d = symmetric(rng, 3), np.array([-1.0, 2.0])
    point = cone.split(np.concatenate([S.ravel(), d])).positive()
    np.testing.assert_allclose(point.dense()[:9].reshape(3, 3), PSD(3).split(S).positive().dense())
    np.testing.assert_array_equal(point.dense()[9:], [0.0, 2.0])
    assert point.rank == PSD(3).split(S).positive().rank + 1
    L = point.factor()
    assert np.linalg.norm(L @ L.T) == pytest.approx(np.linalg.norm(point.dense()))
    assert cone.min_eigenvalue(np.concatenate([np.eye(3).ravel(), d])) == -1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_is_refused(bad):
    S = np.eye(3)
    S[2, 1] = bad
    with pytest.raises(NumericalError, match="NaN or infinity"):
        PSD(3).split(S)
    with pytest.raises(NumericalError, match="NaN or infinity"):
        Nonnegative(1).split(np.array([bad]))


SIMPLE = [PSD(3), Nonnegative(2), Face(np.eye(3)[:, :2])]
NESTED = Product((PSD(2), Product((Nonnegative(3), PSD(1)))))


@pytest.mark.parametrize("cone", SIMPLE, ids=repr)
def test_a_simple_cone_is_its_own_block(cone, rng):
    S = rng.normal(size=cone.shape)
    assert cone.blocks()[0] is cone
    assert [block is S for block in cone.cut(S)] == [True]
    assert cone.is_diagonal == (len(cone.shape) == 1)
    assert cone.is_solid == (not isinstance(cone, Face))


def test_blocks_of_nested_products(rng):
    assert NESTED.blocks() == (PSD(2), Nonnegative(3), PSD(1))
    S = rng.normal(size=NESTED.shape)
    blocks = NESTED.cut(S)
    assert [block.shape for block in blocks] == [(2, 2), (3,), (1, 1)]
    np.testing.assert_array_equal(np.concatenate([block.ravel() for block in blocks]), S)
    assert (NESTED.is_diagonal, NESTED.is_solid) == (False, True)
    assert not Product((PSD(1), SIMPLE[2])).is_solid


def test_number_of_positive_eigenvalues(rng):
    S = np.concatenate([np.diag([2.0, -1.0]).ravel(), [1.0, 0.0, -2.0], [3.0]])
    split = NESTED.split(S)
    assert split.n_positive == split.positive().rank == 3


def test_face_orthogonal_to_an_element(rng):
    V = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    face = PSD(5).face(V @ V.T, 1e-8)
    assert face.basis.shape == (5, 3)
    np.testing.assert_allclose(V.T @ face.basis, 0, atol=1e-12)
    cone = Product((PSD(5), Nonnegative(2)))
    W = np.concatenate([(V @ V.T).ravel(), [1.0, 0.0]])
    assert [type(block) for block in cone.face(W, 1e-8).blocks()] == [Face, Nonnegative]
    for whole in (*SIMPLE, cone):
        assert whole.face(np.zeros(whole.shape), 1e-8) is whole


def test_cones_print_in_one_line():
    assert str(Product((PSD(2), Nonnegative(3)))) == "PSD(n=2) x Nonnegative(n=3)"
    assert str(Product((PSD(2),) * 9)) == "a product of 9 cones, the largest PSD(n=2)"
    assert repr(SIMPLE[2]) == "Face(n=3, rank=2)"
