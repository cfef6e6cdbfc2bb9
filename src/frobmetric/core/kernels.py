"""The hot loops of the constraints, as NumPy reference."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .types import Array, Data, Index, Symmetric, Vector

#: Floating-point numbers that a block of differences may hold: it should stay in cache.
BLOCK = 1 << 18


def pair_products(P: Data, Q: Data, first: Index, second: Index) -> Vector:
    """(P[i] - P[j]) . (Q[i] - Q[j]) for each pair (i, j), in blocks of bounded memory.

    Differences are taken before products: the expansion |p|^2 + |q|^2 - 2 p.q would cancel.
    """
    products = np.empty(len(first))
    step = max(1, BLOCK // max(1, P.shape[1]))
    for start in range(0, len(first), step):
        rows = slice(start, start + step)
        left = _differences(P, first[rows], second[rows])
        right = left if Q is P else _differences(Q, first[rows], second[rows])
        np.einsum("ij,ij->i", left, right, out=products[rows])
    return products


def laplacian_product(X: Data, W: sp.csr_array) -> Symmetric:
    """X.T @ (Deg - W - W.T) @ X with Deg the row sums plus the column sums of W.

    This is the sum of W_ij (x_i - x_j)(x_i - x_j).T over the stored pairs, at the price of one
    sparse product and one n D^2 product, whatever the number of triplets behind the weights.
    """
    degree = W.sum(axis=1) + W.sum(axis=0)
    half = X.T @ (_scale_rows(X, degree / 2) - W @ X)
    half = half.toarray() if sp.issparse(half) else half
    return half + half.T


def _differences(P: Data, first: Index, second: Index) -> Array:
    difference = P[first] - P[second]
    return difference.toarray() if sp.issparse(difference) else difference


def _scale_rows(X: Data, factors: Vector) -> Data:
    return sp.diags_array(factors) @ X if sp.issparse(X) else factors[:, None] * X
