"""Local spread of an embedding: its principal directions, and how evenly they vary."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from frobmetric.manifold.quality import Space
from frobmetric.search.exact import nearest

#: Distances that moves of points by less than this, relative to the embedding, make equal are ties.
TIE = 2.0**-40
#: Measures of evenness, by the names of `LocalSpread`.
EVENNESS = ("alstd", "aled", "alcd", "gscd")
#: Those that are large where an embedding is even.
LARGE_IS_GOOD = ("alcd",)


@dataclass(frozen=True)
class LocalSpread:
    """Principal spread directions of an embedding, and four numbers on their evenness.

    OUR RECONSTRUCTION: the names come from the literature on embedding quality, whose formulas
    we could not obtain. Compare these numbers with each other, not with published ones.

    The neighbourhood of i is i itself and its k nearest points. With l_i the root of the largest
    eigenvalue of its covariance (divided by k) and p_i the unit eigenvector, and with the standard
    deviation (divided by k), the range and the mean over the j of the neighbourhood::

        STD_i = std_j l_j      ED_i = max_j l_j − min_j l_j      CD_i = mean_j |p_i · p_j|

        ALSTD = mean_i STD_i   ALED = mean_i ED_i   ALCD = mean_i CD_i   GSCD = mean_i STD_i/CD_i

    ALSTD, ALED and GSCD are lengths in the unit of the embedding and small where it is even;
    ALCD is 1 where all directions agree. As j = i counts, CD_i ≥ 1/(k + 1): nothing is divided
    by zero.

    ``directions[i, 0]`` is p_i, the others are orthogonal to it, by falling scale; the largest
    entry of each is positive. n_directions is the smaller of n_components and k + 1. Where points
    coincide, or spread equally to all sides, directions are orthonormal but otherwise arbitrary.

    Examples
    --------
    >>> line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    >>> spread = local_spread(line, n_neighbors=2)
    >>> spread.lengths
    array([1., 1., 1., 1.])
    >>> spread.alstd, spread.aled, spread.alcd, spread.gscd
    (0.0, 0.0, 1.0, 0.0)
    """

    points: np.ndarray  # the embedding, of shape (n_samples, n_components)
    directions: np.ndarray  # of shape (n_samples, n_directions, n_components)
    scales: np.ndarray  # roots of the eigenvalues, of shape (n_samples, n_directions)
    std: np.ndarray  # STD_i
    extent: np.ndarray  # ED_i
    consistency: np.ndarray  # CD_i

    @property
    def lengths(self):
        """l_i, the scale of the first direction at each point."""
        return self.scales[:, 0]

    @property
    def alstd(self):
        """Average local standard deviation of the lengths."""
        return float(self.std.mean())

    @property
    def aled(self):
        """Average local extreme deviation of the lengths."""
        return float(self.extent.mean())

    @property
    def alcd(self):
        """Average local co-directional consistence."""
        return float(self.consistency.mean())

    @property
    def gscd(self):
        """Smoothness and co-directional consistence in one."""
        return float((self.std / self.consistency).mean())


def local_spread(Y, n_neighbors=6):
    """Return the LocalSpread of an embedding Y of shape (n_samples, n_components).

    The `n_neighbors` nearest points make a neighbourhood with the point itself. Ties go to the
    smaller index, as in `neighborhood_quality`; duplicates of a point can be its neighbours.
    """
    points = np.array(Y, dtype=np.float64)
    embedding = Space.of(points, name="Y")
    n = embedding.n_points
    if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors < n:
        raise ValueError(
            f"n_neighbors = {n_neighbors} with {n} points; expected an integer from 1 to {n - 1}"
        )
    hoods = np.column_stack([np.arange(n), nearest_neighbors(embedding, n_neighbors)])
    scales, directions = _principal_directions(points[hoods])
    lengths = scales[hoods, 0]
    first = directions[:, 0]
    return LocalSpread(
        points,
        directions,
        scales,
        std=lengths.std(axis=1, ddof=1),
        extent=np.ptp(lengths, axis=1),
        consistency=np.abs(np.einsum("ia,ija->ij", first, first[hoods])).mean(axis=1),
    )


def at_unit_scale(Y):
    """Return the embedding, centred, with a mean squared distance of 1 from its mean."""
    Y = Y - Y.mean(axis=0)
    size = np.sqrt(np.square(Y).sum(axis=1).mean())
    return Y / size if size else Y


def nearest_neighbors(space, n_neighbors):
    """Return the nearest other points of each, by distance and then by index."""
    numbers = np.arange(space.n_points)
    return nearest(space.points, space.points, n_neighbors, labels=(numbers, numbers), tie=TIE)


def _principal_directions(hoods):
    """Return roots of the eigenvalues of each covariance, falling, and eigenvectors as rows."""
    centred = hoods - hoods.mean(axis=1, keepdims=True)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    largest = np.abs(directions).argmax(axis=2)[..., None]
    sign = np.where(np.take_along_axis(directions, largest, axis=2) < 0, -1.0, 1.0)
    return singular / np.sqrt(hoods.shape[1] - 1), directions * sign
