"""The vectors of triangles that conic solvers get."""

import numpy as np
import pytest

from frobmetric.core import PSD, Nonnegative, Product
from frobmetric_paper.baselines.conic import triangles


@pytest.mark.parametrize("half", [np.triu_indices, np.tril_indices])
def test_triangles(half, rng):
    vectors = triangles(Product((PSD(3), Nonnegative(2), PSD(2))), half)
    assert (vectors.n_linear, vectors.orders) == (2, (3, 2))
    np.testing.assert_allclose((vectors.T @ vectors.T.T).toarray(), np.eye(2 + 6 + 3), atol=1e-15)
    G, d, H = rng.normal(size=(3, 3)), rng.normal(size=2), rng.normal(size=(2, 2))
    G, H = G + G.T, H + H.T
    flat = np.concatenate([G.ravel(), d, H.ravel()])
    np.testing.assert_allclose(vectors.T.T @ (vectors.T @ flat), flat)
    expected = [np.where(np.eye(len(M)), M, np.sqrt(2) * M)[half(len(M))] for M in (G, H)]
    np.testing.assert_allclose(vectors.T @ flat, np.concatenate([d, *expected]))
