"""Blocks of symmetric matrices as vectors of their triangles, as conic solvers want them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from frobmetric.sdp.sdpa_reader import Layout


@dataclass(frozen=True)
class Triangles:
    """The map T from the elements of a cone to their diagonal blocks, then their triangles.

    Off-diagonal entries are multiplied by sqrt(2), so that inner products stay what they are: T has
    orthonormal rows, `T @ M.ravel()` is the vector of M and `T.T @ v` the flattened M of a vector.

    Attributes
    ----------
    T : CSR array of shape (length of the vectors, size of the cone's elements)
    n_linear : int
        How many entries come from diagonal blocks.
    orders : tuple of int
        Of the matrices.
    """

    T: sp.csr_array
    n_linear: int
    orders: tuple[int, ...]


def triangles(cone, half):
    """The map for a cone and one order of a triangle's entries.

    Parameters
    ----------
    cone : PSD, Nonnegative or a Product of those
    half : callable
        `np.triu_indices` for lower triangles column by column (SCS), `np.tril_indices` for upper
        ones column by column (Clarabel): the matrices are symmetric, and NumPy goes by rows.
    """
    layout = layout_of(cone)
    diagonal = [k for k, size in enumerate(layout.sizes) if size < 0]
    matrices = [k for k, size in enumerate(layout.sizes) if size > 0]
    entries = [(k, np.diag_indices(-layout.sizes[k])) for k in diagonal]
    entries += [(k, half(layout.sizes[k])) for k in matrices]
    pairs = [(layout.position(k, i, j), layout.position(k, j, i)) for k, (i, j) in entries]
    return Triangles(
        T=_mirrored(*np.concatenate(pairs, axis=1), layout.size),
        n_linear=-sum(layout.sizes[k] for k in diagonal),
        orders=tuple(layout.sizes[k] for k in matrices),
    )


def layout_of(cone):
    """Where the entries of each block lie; a diagonal block has a shape of one number."""
    blocks = getattr(cone, "cones", (cone,))
    return Layout(
        tuple(block.shape[0] if len(block.shape) == 2 else -block.shape[0] for block in blocks)
    )


def _mirrored(here, there, size):
    # a diagonal entry is its own mirror image: its two halves are added
    weights = np.where(here == there, 0.5, np.sqrt(0.5))
    rows = np.arange(len(here))
    entries = np.concatenate([weights, weights])
    places = np.concatenate([rows, rows]), np.concatenate([here, there])
    return sp.csr_array((entries, places), shape=(len(here), size))
