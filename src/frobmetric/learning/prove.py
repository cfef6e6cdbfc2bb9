"""Prove again how good a map is, from its evidence and the samples that it was learned from.

The preparation of the fit is repeated, and what it gives is compared with what the map claims.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks.arguments import UNLABELED
from ..checks.samples import SampleReader
from ..core import CertificateError, FrobeniusSDP, certify
from ..core.points import Array, Data, Mask, Point, Vector
from ..core.rounding import EPS
from ..core.solution import Certificate
from ..model.linear_map import LinearMap, required
from ..model.sets import JoinedTriplets, MinedTriplets, TripletSet, as_triplets
from .coordinates import Coordinates, as_components, coordinates_of
from .learned import n_rows_of
from .priors import PRIORS
from .problem import frobenius_problem
from .samples import Samples
from .units import WHITENING, measure_units, required_units

#: Rounding of samples that are read again, relative to the largest of their numbers: not that of
#: single precision, because the samples of a kernel are part of the map.
READ_AGAIN = 4 * EPS
#: Relative rounding errors of a metric: for each operation on the rows, and in directions that an
#: eigen-decomposition or an iteration found.
ROUNDINGS, COMPACT = 1e4, 1e-5
#: Largest relative difference of a number that is computed from the same data on two machines.
SAME = 1e-9
#: The same of a matrix that an eigen-decomposition gives.
SAME_MATRIX = 1e-6
#: Columns of a factor above this, relative to the largest, are no rounding.
SURE = 1e-5
#: Differences of eigenvalues, relative to the largest, from which on their vectors are known.
SEPARATE = 1e-3
CHANGED = "the model was changed, or these are other data"


def certify_samples(
    learned: LinearMap,
    reader: SampleReader,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    exact: bool = False,
) -> Certificate:
    """Return the certificate of a map of a Frobenius problem, from the samples of its fit.

    With the labels y, what depends on labels is compared with them.
    """
    given = reader.read(X)[0].astype(learned.components.dtype, copy=False)
    X, weight, triplets = last_samples(learned, given)
    if y is not None:
        in_fit = partial(last_coordinates, learned)
        check_labels(learned, reader, given, y, sample_weight, in_fit)
    coordinates = last_coordinates(learned, X, weight)
    problem = frobenius_problem(coordinates, triplets, learned.problem[0])
    return prove(learned, problem, coordinates, exact=exact)


def last_samples(learned: LinearMap, X: Any) -> tuple[Any, Vector | None, Any]:
    """Return samples, weights and triplets of the fit, from the rows that were given to it.

    The weights are None if each row was a sample of its own.
    """
    evidence, n_rows = learned.proof, X.shape[0]
    if evidence.rows is None:
        return X, None, as_triplets(evidence.comparisons, n_rows)
    rows = evidence.rows
    if rows.max() >= n_rows:
        raise CertificateError(
            f"X has {n_rows} rows, and the metric was learned from row {rows.max()} too; give the "
            "rows of the last fit"
        )
    number = np.full(n_rows, -1)
    number[rows] = np.arange(len(rows))
    is_precomputed = learned.features.kernel.kernel == "precomputed"
    X = X[rows][:, rows] if is_precomputed else X[rows]
    return X, evidence.weight, evidence.comparisons.renumbered(number)


def last_coordinates(learned: LinearMap, X: Any, weight: Vector | None = None) -> Coordinates:
    """Return the coordinates of the fit, from the samples of that fit."""
    X_fit, (recipe, space) = learned.features.kernel.X_fit, learned.problem
    if X_fit is not None and not _are_close(X, X_fit):
        raise CertificateError(
            f"these {X.shape[0]} samples are not the {X_fit.shape[0]} that the metric was learned "
            "from; give those of the last fit"
        )
    check_sources(learned, X, weight=weight)
    known: dict[str, Any] = {
        "prior_components": space.prior_components,
        "prior_factor": space.prior_factor,
    }
    unit = None if space.prior_components is None else space.unit
    options: dict[str, Any] = {"unit": unit, "weight": weight, "units": space.units}
    coordinates = coordinates_of(recipe, X, **options, **known)
    if weight is None or recipe.kernel != "precomputed":
        return coordinates
    return coordinates.scattered(
        required(learned.proof.rows, "point_rows_"), learned.features.number
    )


def prove(
    learned: LinearMap, problem: FrobeniusSDP, coordinates: Coordinates, *, exact: bool = False
) -> Certificate:
    """Return the certificate of a map, if the kept dual variables give this map.

    With `exact` it is verified in exact arithmetic: see `certify`.
    """
    u = learned.proof.u
    point, components = problem.evaluate(u).point, learned.components
    factor = coordinates.to_features(point.factor())
    _require_all_components(learned, coordinates)
    check_coordinates_of_fit(learned, coordinates)
    expected = as_components(factor, len(components))
    allowed = _rounding(learned, problem, coordinates, point)
    with np.errstate(over="ignore", invalid="ignore"):  # of other data: NaN is no small error
        size = max(float(np.linalg.norm(expected)) ** 2, 1e-300)
        error = _metric_difference(expected, components) / size
    if not error <= allowed:
        raise CertificateError(
            f"components_ differ by {error:.1e} (relative) from the metric that the dual "
            "variables give on these data; the model was changed, or these are other data"
        )
    check_rank(learned, factor)
    is_mapped = coordinates.n_extra > 0  # then the rows are orthogonal in features
    check_order(components, expected, factor if is_mapped else point.factor(), allowed)
    return certify(problem, point, u, exact=exact)


def _rounding(
    learned: LinearMap, problem: FrobeniusSDP, coordinates: Coordinates, point: Point
) -> float:
    """Return the relative error of a metric that its storage and another machine can cause.

    The matrix before projection is a sum over the rows that may cancel to a small metric.
    """
    if coordinates.is_compact:  # directions of small variance depend on the last bits
        return COMPACT
    size = float(np.linalg.norm(point.factor().T @ point.factor()))
    rows = np.abs(learned.proof.u) @ problem.constraints.norms()
    terms = np.linalg.norm(problem.prior) + problem.sigma * (rows + np.linalg.norm(problem.cost))
    summed = ROUNDINGS * np.finfo(np.float64).eps * terms / max(size, 1e-300)
    return min(float(8 * np.finfo(learned.components.dtype).eps + summed), COMPACT)


def _require_all_components(learned: LinearMap, coordinates: Coordinates) -> None:
    """Raise CertificateError if `components_` has not the rows that its recipe asks for."""
    recipe, n_rows = learned.problem[0], len(learned.components)
    size = n_rows_of(recipe, coordinates, required(learned.rank, "rank"))
    if n_rows != size:
        raise CertificateError(
            f"components_ has {n_rows} rows, and n_components={recipe.n_components!r} gives "
            f"{size} on these data; the model was changed, or these are other data"
        )


def _are_close(X: Data, other: Data) -> bool:
    """Return whether samples, dense or sparse, differ only as texts of numbers are read."""
    if X.shape != other.shape:
        return False
    return abs(X.astype(np.float64) - other).max() <= READ_AGAIN * abs(other).max()


def _metric_difference(a: Array, b: Array) -> float:
    """Return |a.T @ a - b.T @ b|_F, in the span of the rows: features may be many."""
    triangle: Any = np.linalg.qr(np.vstack([a, b]).T, mode="r")
    a, b = triangle[:, : len(a)], triangle[:, len(a) :]
    with np.errstate(over="ignore", invalid="ignore"):  # of other data, of a far larger scale
        return np.nan_to_num(np.linalg.norm(a @ a.T - b @ b.T), nan=np.inf)


def check_coordinates_of_fit(learned: LinearMap, coordinates: Coordinates) -> None:
    """Raise CertificateError if `scale_`, `unit_`, ... do not match these samples."""
    claimed, found = learned.problem[1], coordinates.space()
    names = ("scale", "unit", "n_directions", "kept_variance")
    pairs = [(f"{name}_", getattr(claimed, name), getattr(found, name)) for name in names]
    pairs.append(("gamma_", learned.features.kernel.gamma, coordinates.feature_map.gamma))
    for name, claim, value in pairs:
        if claim is not None and not np.isclose(claim, value, rtol=SAME, atol=0):
            raise CertificateError(f"{name} is {claim!r} and these data give {value!r}; {CHANGED}")


def check_rank(learned: LinearMap, factor: Array) -> None:
    """Raise CertificateError unless a factor of the metric has the rank that it claims."""
    sizes = np.linalg.norm(factor, axis=0)
    smallest = int(np.count_nonzero(sizes > SURE * max(sizes, default=0.0)))
    if not smallest <= required(learned.rank, "rank") <= len(sizes):
        raise CertificateError(
            f"rank_ is {learned.rank} and the dual variables give a metric of rank {len(sizes)}; "
            f"{CHANGED}"
        )


def check_order(components: Array, expected: Array, factor: Array, allowed: float) -> None:
    """Raise CertificateError unless the rows of the map are in the order of their eigenvalues.

    Rows of eigenvalues that are almost equal may be any of their span. `factor` has the roots of
    the eigenvalues as norms of its columns; `allowed` is the relative rounding error of the metric.
    """
    values = np.sum(factor**2, axis=0)
    apart = np.abs(values[:, None] - values) + np.diag(np.full(len(values), np.inf))
    is_single = apart.min(axis=1, initial=np.inf) > SEPARATE * max(values, default=0.0)
    rows = np.flatnonzero(is_single[: len(components)])
    away = np.minimum(*(np.linalg.norm(components - s * expected, axis=1)[rows] for s in (1, -1)))
    if (away > allowed / SEPARATE * np.linalg.norm(expected)).any():
        raise CertificateError(f"rows of components_ are not in the order of the metric; {CHANGED}")


def check_sources(
    learned: LinearMap,
    X: Any,
    y: Vector | None = None,
    weight: Vector | None = None,
    known: Mask | None = None,
) -> None:
    """Raise CertificateError unless units and prior are those of the samples.

    What needs labels is not checked if y is None. An update has the units of the first fit, whose
    samples are not given.
    """
    recipe, space = learned.problem
    if space.prior_components is not None:
        return
    units, name = space.units, recipe.prior if isinstance(recipe.prior, str) else None
    asked = required_units(recipe, y)
    if (y is not None or name != "diagonal") and units.name != asked != "auto":
        raise CertificateError(f"units_ is {units.name!r} and the parameters ask for {asked!r}")
    if units.name == "deviation" or (units.name == "within" and y is not None):
        expected = measure_units(units.name, X, y, weight=weight, known=known).weight
        if not _are_same(units.weight, expected):
            raise CertificateError(f"feature_weight_ is not that of these samples; {CHANGED}")
    if name in WHITENING and (y is not None or not PRIORS[name][1]):
        again = coordinates_of(recipe, X, y, units=units, weight=weight, known=known)
        expected = required(again.prior_factor, "prior_factor_")
        _check_factor(required(space.prior_factor, "prior_factor_"), expected, name)


def check_labels(
    learned: LinearMap,
    reader: SampleReader,
    X: Any,
    y: Any,
    sample_weight: Any,
    coordinates_in: Callable[..., Coordinates],
    *,
    has_units: bool = True,
) -> None:
    """Raise CertificateError unless samples with these labels give the triplets of the map.

    The triplets of the first search are searched again; those of later ones, which were searched
    under metrics that are not kept, must have the classes of triplets. `coordinates_in` is a
    function of samples that returns their coordinates; `has_units` tells whether units and prior
    are part of the problem.
    """
    parts, recipe = _mined_parts(learned.proof.comparisons), learned.problem[0]
    if not parts:
        return  # labels were not used
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit said it
        samples = Samples.check(recipe, reader, X, y, sample_weight)
        _check_merge(learned, samples)
        if has_units:
            check_sources(learned, samples.X, samples.y, samples.weight, samples.known)
        if samples.targets is None:
            _check_classes(np.asarray(y), parts)
        if learned.source.recall is not None:
            return  # an approximate search may find others
        mined = samples.add_mined(None, recipe, coordinates_in(samples.X, samples.weight))
    expected = mined if samples.merge is None else mined.renumbered(samples.merge.first)
    if not any(_have_same_rows(expected, part) for part in parts):
        raise CertificateError(
            "these samples and labels give other triplets than the model has: the labels, or "
            f"n_neighbors={recipe.n_neighbors} and n_impostors={recipe.n_impostors} are not those "
            "of the fit"
        )


def uses_labels(learned: LinearMap) -> bool:
    """Return whether triplets of a map that kept them were found from labels."""
    return bool(_mined_parts(learned.proof.comparisons))


def check_class_names(classes: Vector, y: Any) -> None:
    """Raise CertificateError unless the labels have the classes of a classifier."""
    found, known = set(np.unique(y).tolist()), set(classes.tolist())
    if found - known - {UNLABELED} or known - found:
        raise CertificateError(
            f"classes_ has {len(known)} classes and these labels {len(found)}, or others; give the "
            "labels of the last fit"
        )


def _are_same(claimed: Any, found: Any) -> bool:
    """Return whether two weights of features are equal but for rounding."""
    return np.allclose(claimed, found, rtol=SAME, atol=0)


def _check_factor(factor: Array, expected: Array, prior: str | None) -> None:
    """Raise CertificateError unless two factors have the same product with their transpose."""
    has_shape = factor.shape == expected.shape
    size = np.linalg.norm(expected @ expected.T)
    if (
        has_shape
        and np.linalg.norm(factor @ factor.T - expected @ expected.T) <= SAME_MATRIX * size
    ):
        return
    raise CertificateError(f"prior_factor_ is not prior={prior!r} of these samples; {CHANGED}")


def _check_merge(learned: LinearMap, samples: Samples) -> None:
    """Check the rows that stand for equal ones, and their weights."""
    evidence = learned.proof
    pairs: dict[str, tuple[Any, Any]] = {
        "point_rows_": (evidence.rows, samples.rows),
        "point_weight_": (evidence.weight, samples.row_weight),
        "n_unlabeled_": (learned.source.n_unlabeled, samples.n_unlabeled),
    }
    for name, (claimed, value) in pairs.items():
        if (claimed is None) != (value is None) or not np.array_equal(claimed, value):
            raise CertificateError(
                f"{name} is not that of these rows and labels; give those of the last fit, with "
                "their sample_weight"
            )


def _check_classes(y: NDArray[Any], parts: list[MinedTriplets]) -> None:
    """Check that near rows have the label of their anchor, and far ones another."""
    for block in (block for part in parts for block in part.blocks):
        anchor = y[block.anchors][:, None]
        is_wrong = (y[block.near] != anchor).any(axis=1) | (y[block.far] == anchor).any(axis=1)
        if is_wrong.any():
            row = int(block.anchors[is_wrong.argmax()])
            raise CertificateError(
                f"the triplets of row {row} and {int(is_wrong.sum()) - 1} others are not those of "
                "these labels: near rows have another label, or far ones the same; give the labels "
                "of the last fit"
            )


def _mined_parts(triplets: Any) -> list[MinedTriplets]:
    """Return the sets of triplets that were found from labels."""
    if isinstance(triplets, JoinedTriplets):
        return [found for part in triplets.parts for found in _mined_parts(part)]
    return [triplets] if isinstance(triplets, MinedTriplets) else []


def _have_same_rows(a: TripletSet, b: TripletSet) -> bool:
    """Return whether two sets have the same triplets, in any order."""
    first, second = a.to_array(), b.to_array()
    if first.shape != second.shape:
        return False
    return np.array_equal(first[np.lexsort(first.T)], second[np.lexsort(second.T)])
