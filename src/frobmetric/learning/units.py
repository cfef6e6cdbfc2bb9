"""Units of the features, the choice of units by the nearest neighbours, and doubts about both."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis

from ..checks.parameters import InvalidParameterError
from ..core.points import Data, Index, Mask, Vector
from ..core.warning import warn_user
from ..model.recipe import Recipe
from ..model.units import UNITS, Units
from ..neighbors.rules import majority
from ..search.exact import NeighborSearch, pair_values

#: Priors by name that have units of their own.
WHITENING = ("shrunk", "within", "discriminant", "covariance")
#: Values whose differences may be beyond the largest float64.
FAR = 1e307
#: Deviations below this many roundings of the largest value are those of a constant feature.
CONSTANT = 8
#: Lower bound on the deviation of a feature within classes, relative to that of all samples: a
#: single feature that separates the classes must not take all the weight.
SMALLEST_SPREAD = 1e-3
#: Largest numbers of samples and of triplets by which units are chosen.
MOST_SAMPLES, MOST_TRIPLETS = 2000, 100_000
#: Share of the variance from which on one feature of at least so many rules all distances.
DOMINANT, MANY_FEATURES = 0.99, 3
#: Numbers of neighbours that vote in turn: the mean error of several is less a matter of chance.
VOTES = (1, 3, 5)
#: Shares of satisfied triplets: up to the first a metric is hardly better than chance, up to the
#: second it is doubtful; and the number of samples from which on they tell something.
CHANCE, DOUBTFUL, ENOUGH_SAMPLES = 0.6, 0.75, 50

#: Features with no number as large as this have no units: their inverse overflows.
SMALLEST_FEATURE = 1e-300


def units_of(
    recipe: Recipe,
    X: Any,
    y: Vector | None = None,
    triplets: Any = None,
    *,
    weight: Vector | None = None,
    known: Mask | None = None,
) -> Units:
    """Return the units in which a recipe learns from these samples.

    `weight` has the weight of each sample, `known` is a mask of those with a label; None is one,
    and all.
    """
    name = required_units(recipe, y)
    if name == "auto":
        return _choose(X, y, triplets, weight, known)
    return measure_units(name, X, y, weight=weight, known=known)


def measure_units(
    name: str,
    X: Any,
    y: Vector | None = None,
    *,
    weight: Vector | None = None,
    known: Mask | None = None,
) -> Units:
    """Return the units of this name for some samples, whose labels "within" needs."""
    if name == "raw":
        return Units()
    if name == "within" and y is None:
        raise ValueError(
            "units='within' are computed from classes, and triplets were given; give "
            "units='deviation'"
        )
    return Units(name, _weights(X, y if name == "within" else None, weight, known))


def required_units(recipe: Recipe, y: Any) -> str:
    """Return the name of the units that a recipe asks for."""
    if recipe.kernel != "linear" or not (recipe.prior is None or isinstance(recipe.prior, str)):
        if recipe.units in ("auto", "raw"):
            return "raw"
        kind = "a kernel" if recipe.kernel != "linear" else "a prior matrix"
        raise InvalidParameterError(
            f"units={recipe.units!r} was given with {kind}, which takes the features as they are; "
            "give units='raw', and scale X before the fit if it needs that"
        )
    if recipe.prior == "diagonal":
        return "deviation" if y is None else "within"
    return "raw" if recipe.prior in WHITENING else recipe.units


def warn_of_uneven_units(X: Data, names: Any = None, weight: Vector | None = None) -> None:
    """Warn if one of several features has nearly all of the variance."""
    variance = _variance(X / (abs(X).max() or 1.0), weight)  # squares of 1e200 overflow
    share = variance.max() / variance.sum() if variance.any() else 0.0
    if len(variance) >= MANY_FEATURES and share > DOMINANT:
        number = int(variance.argmax())
        name = f"feature {number}" if names is None else f"feature {names[number]!r}"
        warn_user(
            f"{name} has {share:.1%} of the variance of {len(variance)} features, and rules all "
            "distances; if its unit is the reason, give units='auto'"
        )


def warn_of_doubts(recipe: Recipe, answer: Any, coordinates: Any, samples: Any) -> None:
    """Warn of uneven units if raw ones were asked for, and of a metric no better than chance."""
    is_plain = recipe.prior is None or (
        isinstance(recipe.prior, str) and recipe.prior == "identity"
    )
    if recipe.units == "raw" and recipe.kernel == "linear" and is_plain:
        names = samples.features[1]
        warn_of_uneven_units(samples.X, names, samples.weight)
    _warn_of_chance(answer, coordinates, samples)


def _warn_of_chance(answer: Any, coordinates: Any, samples: Any) -> None:
    """Warn if the metric satisfies hardly more triplets than chance, or the labels look random."""
    point, comparisons = answer.solution.point, answer.comparisons
    n_samples = len(coordinates.Z)
    if not point.rank or answer.solution.status != "optimal" or n_samples < ENOUGH_SAMPLES:
        return
    is_satisfied = comparisons.constraints(coordinates.Z).forward(point) > 0
    share = float(comparisons.share @ is_satisfied)
    apart = "the classes" if samples.targets is None else "near values from far ones"
    reason = f"they contradict each other, or the features do not tell {apart} apart"
    if share > CHANCE:
        if share > DOUBTFUL or not labels_look_random(coordinates.units, samples):
            return
        reason = "neighbours of a sample say no more about its class than its frequency"
    warn_user(
        f"the learned metric satisfies {share:.0%} of its triplets, where chance has 50%: "
        f"{reason}. Check y; held-out errors, as of compare(model, X, y), tell whether it helps"
    )


def labelled_part(known: Mask | Index | None, *arrays: Any) -> list[Any]:
    """Return the rows of arrays that a mask marks, all without a mask; None stays None."""
    return [array if known is None or array is None else array[known] for array in arrays]


def _choose(X: Data, y: Any, triplets: Any, weight: Vector | None, known: Mask | None) -> Units:
    """Return the units with the fewest errors; of equal ones the simplest.

    With labels, an error is a sample that its nearest others misclassify; without, it is a triplet
    that is violated.
    """
    names = UNITS if y is not None else UNITS[:2]
    candidates = [measure_units(name, X, y, weight=weight, known=known) for name in names]
    X = from_lowest(X)
    if y is None:
        index = triplets.to_array()
        index = index[:: -(-len(index) // MOST_TRIPLETS)]
        errors = [_violated(each.scaled(X), index) for each in candidates]
    else:
        X, y, weight = labelled_part(known, X, y, weight)
        rows = spread_rows(y, MOST_SAMPLES)
        X, y, weight = labelled_part(rows, X, y, weight)
        errors = [neighbor_error(each.scaled(X), y, weight) for each in candidates]
    return candidates[int(np.argmin(errors))]


def neighbor_error(X: Data, y: NDArray[Any], weight: Vector | None = None) -> float:
    """Return the share of samples that their nearest others misclassify, mean of several votes."""
    most = min(max(VOTES), X.shape[0] - 1)
    if not most:
        return 0.0  # one sample has no others; a later check says that it teaches nothing
    number = NeighborSearch(X).nearest(X, most + 1)
    is_other = number != np.arange(len(number))[:, None]
    is_other[is_other.all(axis=1), -1] = False  # duplicates took the place of the sample itself
    labels = y[number[is_other].reshape(len(number), most)]
    wrong = [majority(labels[:, :k]) != y for k in VOTES if k <= most]
    return np.mean(wrong) if weight is None else np.average(np.mean(wrong, axis=0), weights=weight)


def labels_look_random(units: Units, samples: Any) -> bool:
    """Return whether the nearest others classify no better than the most frequent class does."""
    if samples.y is None:
        return False
    X, y, weight = labelled_part(samples.known, samples.X, samples.y, samples.weight)
    rows = spread_rows(y, MOST_SAMPLES)
    X, y, weight = labelled_part(rows, X, y, weight)
    sizes = np.bincount(np.unique(y, return_inverse=True)[1], weight)
    chance = 1 - sizes.max() / sizes.sum()
    error = neighbor_error(units.scaled(X), y, weight)
    return error >= chance - np.sqrt(chance * (1 - chance) / len(y))


def _violated(X: Data, index: Index) -> float:
    """Return the share of triplets whose far point is not farther than the near one."""
    near, far = (pair_values(X, X, index[:, [0, i]]) for i in (1, 2))
    return float(np.mean(near >= far))


def spread_rows(y: NDArray[Any], most: int) -> Index:
    """Return at most this many row numbers, in which the classes keep their shares."""
    return np.sort(np.argsort(y, kind="stable")[spread_places(len(y), most)])


def spread_places(n_rows: int, most: int) -> Index:
    """Return the places, in an order by class, of the rows of `spread_rows`."""
    return np.linspace(0, n_rows, min(most, n_rows), endpoint=False).astype(np.intp)


def _weights(X: Data, y: Any, weight: Vector | None = None, known: Mask | None = None) -> Vector:
    """Return one over the deviation of each feature, within classes if y is given."""
    largest = np.asarray(abs(X).max(axis=0).todense() if sp.issparse(X) else np.abs(X).max(axis=0))
    largest, dtype = largest.ravel().astype(np.float64), X.dtype
    small = np.flatnonzero((largest > 0) & (largest < SMALLEST_FEATURE))
    if len(small):
        raise ValueError(
            f"feature {small[0]} of X varies by {largest[small[0]]:.3g} only, whose inverse is "
            f"beyond the largest float64; expected {SMALLEST_FEATURE:g} or more; multiply X by a "
            "power of ten, or remove the feature"
        )
    unit = power_of_two(largest)  # squares of 1e200 overflow
    X = X @ sp.diags_array(1 / unit) if sp.issparse(X) else from_lowest(X) / unit
    whole, spread = np.sqrt(_variance(X, weight)), None
    if y is not None:
        rows, y, weight = labelled_part(known, X, y, weight)
        labels = np.unique(y, return_inverse=True)[1]
        sizes = np.bincount(labels, weight)
        members = (labelled_part(labels == i, rows, weight) for i in range(len(sizes)))
        of_classes = [_variance(*part) for part in members]
        spread = np.sqrt(np.average(of_classes, axis=0, weights=sizes))
    return weights_from_spread(unit=unit, whole=whole, spread=spread, dtype=dtype)


def power_of_two(size: Vector) -> Vector:
    """Return the power of two at or below each positive number, and 1 for 0.

    Division by it rounds nothing, so that the same samples from another origin, with another
    largest value, get the same weights to the last bit.
    """
    return np.where(size > 0, np.ldexp(1.0, np.frexp(size)[1] - 1), 1.0)


def from_lowest(X: Data) -> Data:
    """Return dense samples as differences from the smallest value of each feature.

    These have no rounding error where the values of a feature are integers or of similar size, so
    that neither an origin far away nor ties lose digits when the samples are scaled and centred.
    Sparse samples are returned as they are.
    """
    if sp.issparse(X):
        return X
    X = X.astype(np.float64)
    return X - X.min(axis=0) if np.abs(X).max() < FAR else X


def weights_from_spread(
    *, unit: Vector, whole: Vector, spread: Vector | None, dtype: DTypeLike
) -> Vector:
    """Return one over the deviation of each feature.

    Features were divided by `unit`; `whole` are their deviations, `spread` those within classes,
    if these count.
    """
    varies = whole > CONSTANT * np.finfo(dtype if np.dtype(dtype).kind == "f" else float).eps
    spread = whole if spread is None else np.maximum(spread, SMALLEST_SPREAD * whole)
    return np.divide(1.0, spread * unit, where=varies, out=np.zeros(len(unit)))


def _variance(X: Data, weight: Vector | None = None) -> Vector:
    if sp.issparse(X):
        return mean_variance_axis(sp.csr_matrix(X.astype(np.float64)), axis=0, weights=weight)[1]
    if weight is None:
        return X.var(axis=0, dtype=np.float64)
    share = weight / weight.sum()
    X = X.astype(np.float64) - X[0]  # a constant feature is exactly zero
    return share @ np.square(X - share @ X)
