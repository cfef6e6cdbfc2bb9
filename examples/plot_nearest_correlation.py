"""
The nearest correlation matrix
==============================

Correlations of columns with missing values are often computed pair by pair, each from the rows
that both columns have. Every entry is then a correlation, but the matrix need not be one: it can
have negative eigenvalues, and portfolios of negative variance. `nearest_correlation` finds the
correlation matrix that is nearest to it, and proves how near a correlation matrix can be.

The figure shows, for 30 series of which a third of the values is missing:

* the matrix that was put together from pairs;
* by how much the nearest correlation matrix differs from it: a little, everywhere;
* the eigenvalues of both. The negative and the smallest positive ones become zero, and the
  others pay for it, because the diagonal, their sum, stays as it is.
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

found = nearest_correlation(given)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
moved = np.asarray(found) - given
for axes, matrix, size, title in (
    (left, given, 1.0, "pair by pair"),
    (middle, moved, np.abs(moved).max(), f"nearest less given, distance {found.distance:.3f}"),
):
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-size, vmax=size)
    axes.set(title=title, xlabel="series", ylabel="series")
    figure.colorbar(image, ax=axes)
for matrix, marker, label in ((given, "o", "pair by pair"), (found, ".", "nearest")):
    values = np.linalg.eigvalsh(matrix)[::-1]
    right.plot(np.arange(1, N_SERIES + 1), values, marker, label=label)
right.axhline(0, color="0.7", linewidth=1, zorder=0)
right.set_yscale("symlog", linthresh=0.1, linscale=0.7)
right.set(title="eigenvalues", xlabel="rank", ylim=(-2, 20))
right.legend()
plt.show()
