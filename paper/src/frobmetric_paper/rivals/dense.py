"""P3 with its matrices written out, as generic solvers and the paper's formulas have it."""

from __future__ import annotations

import numpy as np

#: Bytes that the matrices A_r may take together.
LARGEST = 4 << 30


def dense_rows(X, triplets):
    """A_r = f f.T - g g.T, flattened, with f = anchor - far and g = anchor - near.

    Returns
    -------
    ndarray of shape (n_triplets, n_features ** 2)
    """
    m, D = len(triplets), X.shape[1]
    size = 8 * m * D * D
    if size > LARGEST:
        raise ValueError(
            f"{m} dense matrices of order {D} take {size / 2**30:.1f} GiB; this formulation is for "
            f"less than {LARGEST / 2**30:g} GiB"
        )
    anchor, near, far = (X[column] for column in triplets.T)
    rows = np.zeros((m, D, D))
    for sign, other in ((1.0, far), (-1.0, near)):
        step = anchor - other
        rows += sign * step[:, :, None] * step[:, None, :]
    return rows.reshape(m, D * D)


def factor(M):
    """L with L L.T the nearest positive semidefinite matrix to M."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return vectors * np.sqrt(np.maximum(values, 0))
