"""
Repair a correlation matrix: find the nearest one that is valid
===============================================================

Correlations of columns with missing values are often computed pair by pair, each from the rows
that both columns have. Every entry is then a correlation, but the matrix as a whole may be
invalid: it can have negative eigenvalues, so that some portfolio has a negative variance.
`nearest_correlation` finds the nearest correlation matrix, and proves how near one can be.

The figure shows, for 30 series with a third of their values missing:

* the matrix computed pair by pair;
* the difference between the nearest correlation matrix and that one: small, and everywhere;
* the eigenvalues of both. The negative and the smallest positive ones become zero, and the
  others shrink in return, because the diagonal, their sum, does not change.
"""

import matplotlib.pyplot as plt
import numpy as np

from frobmetric.sdp import nearest_correlation

N_ROWS, N_SERIES = 60, 30

rng = np.random.default_rng(0)
factors = rng.normal(size=(N_ROWS, 3)) @ rng.normal(size=(3, N_SERIES))
data = factors + rng.normal(size=(N_ROWS, N_SERIES))
data[rng.random(data.shape) < 1 / 3] = np.nan
masked = np.ma.masked_invalid(data)
given = np.ma.corrcoef(masked, rowvar=False).filled(0.0)

nearest = nearest_correlation(given)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
moved = np.asarray(nearest) - given
for axes, matrix, size, title in (
    (left, given, 1.0, "pair by pair"),
    (middle, moved, np.abs(moved).max(), f"nearest minus given, distance {nearest.distance:.3f}"),
):
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-size, vmax=size)
    axes.set(title=title, xlabel="series", ylabel="series")
    figure.colorbar(image, ax=axes)
for matrix, marker, label in ((given, "o", "pair by pair"), (nearest, ".", "nearest")):
    values = np.linalg.eigvalsh(matrix)[::-1]
    right.plot(np.arange(1, N_SERIES + 1), values, marker, label=label)
right.axhline(0, color="0.7", linewidth=1, zorder=0)
right.set_yscale("symlog", linthresh=0.1, linscale=0.7)
right.set(title="eigenvalues", xlabel="rank", ylim=(-2, 20))
right.legend()
plt.show()
