"""Coordinates of the data as the solver sees them: scaled, and as few as the data span."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator, svds

from ..core.points import Array, Data, Index, Mask, Vector
from ..model.feature_maps import FeatureMap
from ..model.linear_map import Space, required
from ..model.recipe import Recipe
from ..model.units import Units
from .priors import named_prior_factor, prior_matrix_factor
from .units import WHITENING, from_lowest, units_of

#: Differences below this, relative to the root mean squared norm of the data, are rounding.
GRID = 2.0**-32
#: Directions in which kernel values vary less than this, relative to the largest, are rounding.
KERNEL_RANK = 1e-10
#: Eigenvalues of a kernel below zero by at most this, relative to the largest, are rounding.
NEGATIVE = 1e-6
#: Number of directions that sparse data and kernels keep by default.
MOST_DIRECTIONS = 500
#: Columns of a factor below this, relative to the largest, are rounding.
FACTOR_RANK = 1e-12


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates of the samples, and the way back to their features.

    With more features than samples the optimal metric lives in the span of the data and of the
    prior: there the problem has the order of the samples, not of the features, and the same
    optimum. With a kernel, the features are its values with the training samples.

    `basis` maps features to coordinates, if these are not the features. `prior_root` is a factor,
    in coordinates, of the prior matrix, and `prior_factor` the map to the space in which a prior by
    name is Euclidean. If `is_compact`, a metric has one direction per coordinate, not per feature:
    features may be many. The last `n_extra` coordinates, such as that of a yardstick, do not belong
    to the data.
    """

    Z: Data  # (n_samples, n_coordinates), in memory or in shards
    scale: float  # number that the centred data were divided by
    basis: Array | None = None  # (n_features, n_coordinates)
    prior_root: Array | None = None  # (n_coordinates, rank)
    kept_variance: float = 1.0  # share of the variance of the data that is in the coordinates
    is_compact: bool = False
    n_extra: int = 0
    feature_map: FeatureMap = field(default_factory=FeatureMap)
    prior_factor: Array | None = None  # (n_directions, n_coordinates)
    units: Units = field(default_factory=Units)
    weight: Array | None = None  # (n_samples,), one for each sample if None
    _unmapped_scale: float | None = None

    @classmethod
    def dense(
        cls,
        X: Array,
        *,
        keep_features: bool = False,
        rounded: bool = True,
        root: Array | None = None,
        unit: float | None = None,
        weight: Vector | None = None,
    ) -> Self:
        """Return the coordinates of dense samples; `root` @ `root`.T is the prior in features."""
        Z, scale = unit_mean_square(X, rounded=rounded, unit=unit, weight=weight)
        root = None if root is None else prior_root(root, scale)
        n_directions = len(Z) + (0 if root is None else root.shape[1])
        if keep_features or Z.shape[1] <= n_directions:
            return cls(Z, scale, prior_root=root, weight=weight)
        if root is None:
            basis = _span(Z.T)
            return cls(Z @ basis, scale, basis, weight=weight)
        basis = _span(np.hstack([Z.T, root / np.linalg.norm(root, axis=0)]))
        return cls(Z @ basis, scale, basis, basis.T @ root, weight=weight)

    @classmethod
    def sparse(
        cls,
        X: Data,
        n_directions: int | None = None,
        *,
        rounded: bool = True,
        root: Array | None = None,
        unit: float | None = None,
        weight: Vector | None = None,
    ) -> Self:
        """Return the coordinates of sparse samples, never made dense, in leading directions."""
        largest = float(abs(X).max()) if X.nnz else 0.0
        X = X.astype(np.float64) / (largest or 1.0)  # squares of 1e200 overflow
        X.sum_duplicates()
        mean = _mean(X, weight)
        total = _centred_square(X, mean, weight)
        spread = float(np.sqrt(total / (X.shape[0] if weight is None else weight.sum())))
        _require_spread(spread, X.shape[0])  # the mean is rounded once per row
        n_directions = _limit(n_directions, min(X.shape))
        basis, variance = _leading_directions(X, mean, n_directions, total, weight)
        if root is not None:
            root = _significant_columns(root)
            basis = scipy.linalg.qr(np.hstack([basis, root]), mode="economic")[0]
        scale = largest * spread if unit is None else unit
        Z = (X @ basis - mean @ basis) * (largest / scale)
        root = None if root is None else basis.T @ root * scale
        Z = round_to_grid(Z) if rounded else Z
        kept = min(1.0, variance / total)
        return cls(Z, scale, basis, root, kept, is_compact=True, weight=weight)

    @classmethod
    def kernel(
        cls,
        K: Array,
        n_directions: int | None = None,
        *,
        rounded: bool = True,
        weight: Vector | None = None,
    ) -> Self:
        """Return the coordinates of samples from the kernel's values of all samples with all.

        The basis maps the values of any point with these samples to its coordinates, up to a
        shift: no distance depends on the mean.
        """
        n, rounding = len(K), 4 * len(K) * np.finfo(K.dtype).eps * np.abs(K).max()
        K = K.astype(np.float64)
        total = n if weight is None else weight.sum()
        root: Any = 1.0 if weight is None else np.sqrt(weight)[:, None]
        means = _mean(K, weight)
        centred = K - means - means[:, None] + _mean(means, weight)
        if weight is not None:
            centred = root * centred * root.T  # the eigenvectors are those of repeated rows
        scale = float(np.sqrt(max(np.trace(centred), 0.0) / total))
        _require_spread(scale, np.sqrt(np.abs(K).max()))
        first = n - _limit(n_directions, n)
        values, vectors = scipy.linalg.eigh(centred, subset_by_index=[first, n - 1])
        _require_psd(centred, max(NEGATIVE * values[-1], rounding))
        significant = values > max(KERNEL_RANK * values[-1], rounding)
        values, vectors = values[significant][::-1], vectors[:, significant][:, ::-1]
        Z, kept = vectors * (np.sqrt(values) / scale), min(1.0, values.sum() / (total * scale**2))
        Z, basis = Z / root, vectors * root / np.sqrt(values)
        Z = round_to_grid(Z) if rounded else Z
        return cls(Z, scale, basis, kept_variance=kept, is_compact=True, weight=weight)

    def mapped(self, factor: Array) -> Self:
        """Return coordinates in which the metric factor @ factor.T of these is Euclidean."""
        Z, scale = unit_mean_square(self.Z @ factor, weight=self.weight)
        return replace(
            self,
            Z=Z,
            scale=self.scale * scale,
            basis=factor if self.basis is None else self.basis @ factor,
            prior_factor=factor,
            _unmapped_scale=self.scale,
        )

    def leading(self, n_directions: int | None) -> Self:
        """Return coordinates in some leading directions (all if None) and those of the prior."""
        if n_directions is None or n_directions >= self.Z.shape[1]:
            return self
        root = 1.0 if self.weight is None else np.sqrt(self.weight)[:, None]
        _, sizes, rows = np.linalg.svd(self.Z * root, full_matrices=False)
        turn = rows[:n_directions].T
        if self.prior_root is not None:
            turn = scipy.linalg.qr(np.hstack([turn, self.prior_root]), mode="economic")[0]
        Z = self.Z @ turn
        return replace(
            self,
            Z=Z,
            basis=turn if self.basis is None else self.basis @ turn,
            prior_root=None if self.prior_root is None else turn.T @ self.prior_root,
            kept_variance=min(1.0, float(np.sum((Z * root) ** 2) / np.sum(sizes**2))),
        )

    def scattered(self, rows: Index, n_samples: int) -> Self:
        """Return coordinates whose basis has a row for each of so many samples of a kernel.

        These coordinates are of the samples `rows`; the rows of all others are zero.
        """
        own = required(self.basis, "basis")
        basis = np.zeros((n_samples, own.shape[1]))
        basis[rows] = own
        return replace(self, basis=basis)

    def with_yardstick(self, length: float, prior_length: float | None = None) -> Self:
        """Return coordinates with two more points, `length` apart in one more coordinate.

        `prior_length` is their distance under the prior matrix.
        """
        n, d = self.Z.shape
        Z = np.zeros((n + 2, d + 1))
        Z[:n, :d], Z[n + 1, d] = self.Z, length
        root: Any = None if self.prior_root is None else np.pad(self.prior_root, ((0, 1), (0, 0)))
        if prior_length is not None:
            root = np.pad(root, ((0, 0), (0, 1)))
            root[-1, -1] = prior_length / length
        return replace(self, Z=Z, prior_root=root, n_extra=1)

    @property
    def n_rows(self) -> int:
        """Number of rows that `components_` has by default."""
        n_coordinates = self.Z.shape[1] - self.n_extra
        return n_coordinates if self.is_compact or self.basis is None else len(self.basis)

    def to_features(self, factor: Array) -> Array:
        """Return a factor in coordinates as a factor in the features of X, in their units."""
        if not self.n_extra:
            factor = factor if self.basis is None else self.basis @ factor
            with np.errstate(over="ignore"):
                factor = self.units.to_raw(factor / self.scale)
            return _representable(factor, self.scale)
        # no constraint mixes the extra coordinates with the others, so the metric of the features
        # is what is left of the factor; its columns are made orthogonal again
        inner = replace(self, n_extra=0).to_features(factor[: len(factor) - self.n_extra])
        left, sizes, _ = np.linalg.svd(inner, full_matrices=False)
        significant = sizes > FACTOR_RANK * max(sizes, default=0.0)
        return left[:, significant] * sizes[significant]

    @property
    def n_directions(self) -> int:
        """Number of directions of the data, before a map to the space of a prior by name."""
        return (
            self.Z.shape[1] - self.n_extra if self.prior_factor is None else len(self.prior_factor)
        )

    def space(self, prior_components: Array | None = None) -> Space:
        """Return the numbers that describe these coordinates."""
        return Space(
            scale=self.scale,
            unit=self.scale if self._unmapped_scale is None else self._unmapped_scale,
            units=self.units,
            n_directions=self.n_directions,
            kept_variance=float(self.kept_variance),
            prior_factor=self.prior_factor,
            prior_components=prior_components,
        )


def coordinates_of(
    recipe: Recipe,
    X: Data,
    y: Any = None,
    *,
    triplets: Any = None,
    weight: Vector | None = None,
    known: Mask | None = None,
    unit: float | None = None,
    prior_components: Array | None = None,
    units: Units | None = None,
    prior_factor: Array | None = None,
    gamma: float | None = None,
) -> Coordinates:
    """Return the coordinates in which a recipe learns from samples, dense or CSR.

    Units and some priors depend on the class labels y, or on the triplets. `weight` has the weight
    of each sample, `known` is a mask of those with a label; None is one, and all. In an update,
    `unit` is the divisor of the samples and `prior_components` the metric to stay close to in place
    of `recipe.prior`. `units`, `prior_factor` and `gamma` are values of an earlier fit; they are
    computed if not given.
    """
    if units is None:
        units = units_of(recipe, X, y, triplets, weight=weight, known=known)
    X = units.scaled(from_lowest(X) if recipe.kernel == "linear" else X)
    gamma = recipe.gamma if gamma is None else gamma
    feature_map = FeatureMap.fit(X, recipe.kernel, gamma, recipe.degree, recipe.coef0, weight)
    root: Array | None = None
    whitening = None
    if prior_components is not None:
        root = units.from_raw(prior_components.T)
    elif isinstance(recipe.prior, str):
        whitening = recipe.prior if recipe.prior in WHITENING else None
    elif recipe.prior is not None:
        root = prior_matrix_factor(recipe.prior, X.shape[1], recipe.kernel)
    # coordinates that are mapped are rounded after that
    options: dict[str, Any] = {"rounded": whitening is None, "weight": weight}
    if recipe.kernel != "linear":
        coordinates = Coordinates.kernel(feature_map(X), recipe.n_directions, **options)
    elif sp.issparse(X):
        options |= {"root": root, "unit": unit}
        coordinates = Coordinates.sparse(X, recipe.n_directions, **options)
    else:
        options |= {"root": root, "unit": unit, "keep_features": whitening is not None}
        coordinates = Coordinates.dense(X, **options).leading(recipe.n_directions)
    coordinates = replace(coordinates, feature_map=feature_map, units=units)
    if whitening is None:
        return coordinates
    if prior_factor is None:
        prior_factor = named_prior_factor(whitening, coordinates.Z, y, weight, known)
    return coordinates.mapped(prior_factor)


def _representable(factor: Array, scale: float) -> Array:
    """Return a factor of the metric in units of X; refuse X so small that it overflows."""
    if not np.isfinite(factor).all():
        raise ValueError(
            f"X varies by {scale:.3g} only, so that the learned map would be beyond the largest "
            "float64; expected samples that vary by more than 1e-300; multiply X by a power of ten"
        )
    return factor


def as_components(factor: Array, size: int) -> Array:
    """Return the first `size` columns of a factor as rows of `components_`, zero beyond the rank.

    The largest entry of each row is positive.
    """
    factor = factor[:, :size]
    largest = np.abs(factor).argmax(axis=0)
    sign = np.where(factor[largest, np.arange(factor.shape[1])] < 0, -1.0, 1.0)
    components = np.zeros((size, len(factor)))
    components[: factor.shape[1]] = (factor * sign).T
    return components


def unit_mean_square(
    X: Array, *, rounded: bool = True, unit: float | None = None, weight: Vector | None = None
) -> tuple[Array, float]:
    """Return X centred and divided by one number, `unit` or the root mean square, and that number.

    The result is rounded to multiples of `GRID`, unless it is to be mapped further: below that
    another unit of X (metres for millimetres) rounds differently, and a solver that amplifies such
    noise would otherwise end at another point within its tolerance.
    """
    size, X = float(np.abs(X).max()), from_lowest(X)
    largest = float(np.abs(X).max())
    if largest > 0:
        X = X / largest  # squares of 1e200 overflow
    X = X - _mean(X, weight)
    spread = np.sqrt(_mean(np.einsum("ij,ij->i", X, X), weight))
    _require_spread(spread * largest, size)
    scale = float(largest * spread) if unit is None else unit
    Z = X * (largest / scale) if unit is not None else X / spread
    return round_to_grid(Z) if rounded else Z, scale


def round_to_grid(Z: Array) -> Array:
    """Return coordinates rounded to multiples of `GRID`."""
    return np.round(Z / GRID) * GRID


def prior_root(factor: Array, scale: float) -> Array:
    """Return a factor of a prior in features as one in coordinates."""
    return _significant_columns(factor) * scale


def _mean(X: Data, weight: Vector | None = None) -> Any:
    """Return the mean of rows, dense or sparse, with these weights."""
    if weight is None:
        return np.asarray(X.mean(axis=0)).ravel() if sp.issparse(X) else X.mean(axis=0)
    return weight @ X / weight.sum()


def _require_spread(spread: float, largest: float) -> None:
    if not spread > 1e-15 * largest:
        raise ValueError("all rows of X are equal; there is no distance to learn from them")


def _span(columns: Array) -> Array:
    """Return an orthonormal basis of the span of these columns, without directions of rounding."""
    basis, triangle, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    return basis[:, np.abs(np.diag(triangle)) > GRID * np.sqrt(len(columns))]


def _significant_columns(root: Array) -> Array:
    """Drop the columns of a factor that are due to the rounding of its product."""
    sizes = np.sum(root**2, axis=0)
    return root[:, sizes > len(root) * np.finfo(np.float64).eps * sizes.max(initial=0.0)]


def _require_psd(K: Array, allowed: float) -> None:
    """Raise ValueError if any eigenvalue is below zero by more than `allowed`."""
    try:
        scipy.linalg.cholesky(K + allowed * np.eye(len(K)), check_finite=False)
    except scipy.linalg.LinAlgError:
        lowest, *_, highest = scipy.linalg.eigvalsh(K)
        raise ValueError(
            f"the kernel has the eigenvalue {lowest:.3g} beside {highest:.3g}; it must be positive "
            "semidefinite"
        ) from None


def _limit(n_directions: int | None, largest: int) -> int:
    return min(MOST_DIRECTIONS if n_directions is None else n_directions, largest)


def _centred_square(X: Data, mean: Vector, weight: Vector | None = None) -> float:
    """Return the sum of squares of sparse X minus its mean, entry by entry: nothing cancels."""
    stored = X.data - mean[X.indices]
    total, of_entry, weighted = X.shape[0], None, stored
    if weight is not None:
        total, of_entry = weight.sum(), np.repeat(weight, np.diff(X.indptr))
        weighted = stored * of_entry
    n_zeros = total - np.bincount(X.indices, of_entry, minlength=X.shape[1])
    return float(stored @ weighted + n_zeros @ mean**2)


def _leading_directions(
    X: Data, mean: Vector, n_directions: int, total: float, weight: Vector | None = None
) -> tuple[Array, float]:
    """Return orthonormal leading directions of sparse X minus its mean, and their variance."""
    if n_directions >= min(X.shape):
        if X.shape[1] <= X.shape[0]:
            return np.eye(X.shape[1]), total
        return scipy.linalg.qr(X.toarray().T - mean[:, None], mode="economic")[0], total
    centred = LinearOperator(
        X.shape,
        matvec=lambda v: X @ v - mean @ v,
        rmatvec=lambda v: X.T @ v - mean * v.sum(),
        matmat=lambda V: X @ V - mean @ V,
        rmatmat=lambda V: X.T @ V - np.outer(mean, V.sum(axis=0)),
        dtype=np.float64,
    )
    if weight is not None:
        centred = aslinearoperator(sp.diags_array(np.sqrt(weight))) @ centred
    start = np.random.default_rng(0).normal(size=min(X.shape))
    _, sizes, rows = svds(centred, n_directions, v0=start, return_singular_vectors="vh")
    order = np.argsort(-sizes)
    return rows[order].T, float(np.sum(sizes**2))
