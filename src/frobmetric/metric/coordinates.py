"""The data as the solver sees them: scaled, and in as few coordinates as they span."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, svds

#: Differences below this, relative to the root mean squared norm of the data, are rounding.
GRID = 2.0**-32
#: Directions in which kernel values vary less than this, relative to the most, are rounding.
KERNEL_RANK = 1e-10
#: A kernel may have eigenvalues below zero by this, relative to the largest: rounding.
NEGATIVE = 1e-6
#: Directions that sparse data and kernels keep unless told otherwise.
MOST_DIRECTIONS = 500


@dataclass(frozen=True)
class Frame:
    """Coordinates of the samples, and the way back to their features.

    With more features than samples the optimal metric lives in the span of the data and of what
    it is to stay close to: there the problem has the order of the samples, not of the features,
    and the same optimum. Features may be those of a kernel, its values with the samples.

    Attributes
    ----------
    Z : ndarray of shape (n_samples, n_coordinates)
    scale : float
        What the centred data were divided by.
    basis : ndarray of shape (n_features, n_coordinates) or None
        Maps features to coordinates; None where the coordinates are the features.
    root : ndarray of shape (n_coordinates, rank) or None
        A factor, in coordinates, of the metric to stay close to.
    kept : float
        Share of the variance of the data that is in the coordinates.
    is_compact : bool
        Whether a metric has as many directions as there are coordinates, not features, which may
        be very many.
    n_extra : int
        The last coordinates that are not of the data, such as a yardstick's.
    """

    Z: np.ndarray
    scale: float
    basis: np.ndarray | None = None
    root: np.ndarray | None = None
    kept: float = 1.0
    is_compact: bool = False
    n_extra: int = 0

    @classmethod
    def of(cls, X, keep_features=False, rounded=True, root=None, unit=None):
        """That of dense samples.

        `root` is a factor, in features, of what to stay close to; `unit` what to divide by
        instead of the root of the mean squared norm.
        """
        Z, scale = unit_mean_square(X, rounded, unit)
        root = None if root is None else _real_columns(root) * scale
        n_directions = len(Z) + (0 if root is None else root.shape[1])
        if keep_features or Z.shape[1] <= n_directions:
            return cls(Z, scale, root=root)
        if root is None:
            basis, triangle = scipy.linalg.qr(Z.T, mode="economic")
            return cls(np.ascontiguousarray(triangle.T), scale, basis)
        basis = scipy.linalg.qr(np.hstack([Z.T, root]), mode="economic")[0]
        return cls(Z @ basis, scale, basis, basis.T @ root)

    @classmethod
    def of_sparse(cls, X, n_directions=None, rounded=True, root=None, unit=None):
        """That of sparse samples, which are never made dense: leading directions."""
        largest = float(abs(X).max()) if X.nnz else 0.0
        X = X.astype(np.float64) / (largest or 1.0)  # squares of 1e200 overflow
        X.sum_duplicates()
        mean = np.asarray(X.mean(axis=0)).ravel()
        total = _centred_square(X, mean)
        spread = float(np.sqrt(total / X.shape[0]))
        _require_spread(spread, X.shape[0], X.shape[0])  # the mean is rounded once a row
        basis, variance = _leading(X, mean, _most(n_directions, min(X.shape)), total)
        if root is not None:
            root = _real_columns(root)
            basis = scipy.linalg.qr(np.hstack([basis, root]), mode="economic")[0]
        scale = largest * spread if unit is None else unit
        Z = (X @ basis - mean @ basis) * (largest / scale)
        root = None if root is None else basis.T @ root * scale
        Z = on_grid(Z) if rounded else Z
        return cls(Z, scale, basis, root, min(1.0, variance / total), is_compact=True)

    @classmethod
    def of_kernel(cls, K, n_directions=None, rounded=True):
        """That of samples of which the kernel's values are given, all with all.

        The basis maps the values of any point with these samples to its coordinates, up to a
        shift: no distance depends on the mean.
        """
        n, rounding = len(K), 4 * len(K) * np.finfo(K.dtype).eps * np.abs(K).max()
        K = K.astype(np.float64)
        means = K.mean(axis=0)
        centred = K - means - means[:, None] + means.mean()
        scale = float(np.sqrt(max(np.trace(centred), 0.0) / n))
        _require_spread(scale, np.sqrt(np.abs(K).max()), n)
        first = n - _most(n_directions, n)
        values, vectors = scipy.linalg.eigh(centred, subset_by_index=[first, n - 1])
        _require_psd(centred, max(NEGATIVE * values[-1], rounding))
        real = values > max(KERNEL_RANK * values[-1], rounding)
        values, vectors = values[real][::-1], vectors[:, real][:, ::-1]
        Z, kept = vectors * (np.sqrt(values) / scale), min(1.0, values.sum() / (n * scale**2))
        Z = on_grid(Z) if rounded else Z
        return cls(Z, scale, vectors / np.sqrt(values), kept=kept, is_compact=True)

    def mapped(self, factor):
        """Where the metric factor @ factor.T of these coordinates is Euclidean; None is itself."""
        if factor is None:
            return self
        Z, scale = unit_mean_square(self.Z @ factor)
        basis = factor if self.basis is None else self.basis @ factor
        return replace(self, Z=Z, scale=self.scale * scale, basis=basis)

    def leading(self, n_directions):
        """The same in the leading directions of the data, and those of `root`; None is all."""
        if n_directions is None or n_directions >= self.Z.shape[1]:
            return self
        _, sizes, rows = np.linalg.svd(self.Z, full_matrices=False)
        turn = rows[:n_directions].T
        if self.root is not None:
            turn = scipy.linalg.qr(np.hstack([turn, self.root]), mode="economic")[0]
        Z = self.Z @ turn
        return replace(
            self,
            Z=Z,
            basis=turn if self.basis is None else self.basis @ turn,
            root=None if self.root is None else turn.T @ self.root,
            kept=min(1.0, float(np.sum(Z**2) / np.sum(sizes**2))),
        )

    def with_yardstick(self, length):
        """With two more points, of that distance in one more coordinate, where no other differs."""
        n, d = self.Z.shape
        Z = np.zeros((n + 2, d + 1))
        Z[:n, :d], Z[n + 1, d] = self.Z, length
        root = None if self.root is None else np.pad(self.root, ((0, 1), (0, 0)))
        return replace(self, Z=Z, root=root, n_extra=1)

    @property
    def n_rows(self):
        """Rows that `components_` has unless told otherwise."""
        n_coordinates = self.Z.shape[1] - self.n_extra
        return n_coordinates if self.is_compact or self.basis is None else len(self.basis)

    def in_features(self, factor):
        """A factor in coordinates as one in the features of X, in their units."""
        factor = factor[: len(factor) - self.n_extra]
        return (factor if self.basis is None else self.basis @ factor) / self.scale


def as_components(factor, size):
    """The first `size` columns of a factor as rows of `components_`, zero beyond the rank.

    Each row's largest entry is positive.
    """
    factor = factor[:, :size]
    largest = np.abs(factor).argmax(axis=0)
    sign = np.where(factor[largest, np.arange(factor.shape[1])] < 0, -1.0, 1.0)
    components = np.zeros((size, len(factor)))
    components[: factor.shape[1]] = (factor * sign).T
    return components


def unit_mean_square(X, rounded=True, unit=None):
    """X centred and divided by one number so that its mean squared norm is one, in float64.

    `unit` is another number to divide by.

    The result is rounded, unless it is to be mapped on, to multiples of `GRID`, below which another
    unit of X (metres for millimetres) rounds differently: a solver that amplifies such noise would
    otherwise end at another point within its tolerance.

    Returns
    -------
    Z : ndarray of the shape of X
    scale : float
    """
    X = X.astype(np.float64)
    largest = np.abs(X).max()
    if largest > 0:
        X = X / largest  # squares of 1e200 overflow
    X = X - X.mean(axis=0)
    spread = np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))
    _require_spread(spread, 1.0, len(X))
    scale = float(largest * spread) if unit is None else unit
    Z = X * (largest / scale) if unit is not None else X / spread
    return on_grid(Z) if rounded else Z, scale


def on_grid(Z):
    """Z rounded to multiples of `GRID`."""
    return np.round(Z / GRID) * GRID


def _require_spread(spread, largest, n_samples):
    if not spread > 1e-15 * largest:
        raise ValueError(
            f"all {n_samples} rows of X are equal; there is no distance to learn from them"
        )


def _real_columns(root):
    """The columns of a factor without those that the rounding of its product makes."""
    sizes = np.sum(root**2, axis=0)
    return root[:, sizes > len(root) * np.finfo(np.float64).eps * sizes.max(initial=0.0)]


def _require_psd(K, allowed):
    """No eigenvalue is below zero by more than this, also among those that are not needed."""
    try:
        scipy.linalg.cholesky(K + allowed * np.eye(len(K)), check_finite=False)
    except scipy.linalg.LinAlgError:
        lowest, highest = (
            scipy.linalg.eigh(K, eigvals_only=True, subset_by_index=[i, i])[0]
            for i in (0, len(K) - 1)
        )
        raise ValueError(
            f"the kernel has the eigenvalue {lowest:.3g} beside {highest:.3g}; it must be positive "
            "semidefinite"
        ) from None


def _most(n_directions, largest):
    return min(MOST_DIRECTIONS if n_directions is None else n_directions, largest)


def _centred_square(X, mean):
    """The sum of squares of sparse X less its mean, entry by entry: nothing cancels."""
    stored = X.data - mean[X.indices]
    n_zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
    return float(stored @ stored + n_zeros @ mean**2)


def _leading(X, mean, n_directions, total):
    """Orthonormal leading directions of sparse X less its mean, and the variance in them."""
    if n_directions >= min(X.shape):
        return _all_directions(X, mean), total
    centred = LinearOperator(
        X.shape,
        matvec=lambda v: X @ v - mean @ v,
        rmatvec=lambda v: X.T @ v - mean * v.sum(),
        matmat=lambda V: X @ V - mean @ V,
        rmatmat=lambda V: X.T @ V - np.outer(mean, V.sum(axis=0)),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).normal(size=min(X.shape))
    _, sizes, rows = svds(centred, n_directions, v0=start, return_singular_vectors="vh")
    order = np.argsort(-sizes)
    return rows[order].T, float(np.sum(sizes**2))


def _all_directions(X, mean):
    """The whole span: that of the features, or of the samples if there are fewer."""
    if X.shape[1] <= X.shape[0]:
        return np.eye(X.shape[1])
    return scipy.linalg.qr(X.toarray().T - mean[:, None], mode="economic")[0]
