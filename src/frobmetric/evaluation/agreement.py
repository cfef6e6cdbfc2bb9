"""Agreement of the similarities of pairs with grades and with labels: Spearman's rho and the AUC.

Neither is a mean over examples. Each estimate comes with the influence of every example, the first
order of what it adds to the value; sums over the examples of an object tell what the object adds,
and intervals follow from these sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ..checks.arguments import as_column, as_index, as_signs, check_both_kinds, refuse_where
from ..checks.samples import check_array
from ..core.checks import MOST, as_finite
from ..core.points import Vector
from ..model.distances import unit_rows
from ..search.exact import pair_values
from .ranking import check_metric, unit_of


@dataclass(frozen=True)
class Estimate:
    """Value of a measure, and the influence of each example on it.

    Attributes
    ----------
    value : float
    influence : ndarray of shape (n_examples,)
        Their sum is 0. The variance of the value is the sum of the squares if the examples are
        independent.
    """

    value: float
    influence: np.ndarray


def spearman(
    X: ArrayLike, pairs: ArrayLike, score: ArrayLike, *, metric: str = "euclidean"
) -> float:
    """Return Spearman's rank correlation of the similarities of pairs with their scores.

    Equal values share the mean of their ranks.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers of X.
    score : array-like of shape (n_pairs,)
        Grades, larger for pairs that should be more similar.
    metric : {"euclidean", "cosine", "inner_product"}, default="euclidean"

    Returns
    -------
    float
        NaN if all similarities or all scores are equal.

    Examples
    --------
    >>> from frobmetric.evaluation import spearman
    >>> X = [[0.0], [1.0], [3.0], [7.0]]
    >>> spearman(X, [(0, 1), (1, 2), (2, 3)], [5, 3, 1])
    1.0
    """
    vectors, index = _check_pairs(X, pairs)
    similarity = pair_similarity(vectors, vectors, index, metric)
    return estimate_spearman(similarity, as_grades(score, index)).value


def pair_auc(X: ArrayLike, pairs: ArrayLike, y: ArrayLike, *, metric: str = "euclidean") -> float:
    """Return the share of similar pairs that are more similar than a dissimilar one.

    It is the area under the ROC curve; of two pairs that are equally similar each wins half.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers of X.
    y : array-like of shape (n_pairs,)
        +1 for similar, -1 for dissimilar pairs.
    metric : {"euclidean", "cosine", "inner_product"}, default="euclidean"

    Returns
    -------
    float

    Examples
    --------
    >>> from frobmetric.evaluation import pair_auc
    >>> pair_auc([[0.0], [1.0], [3.0], [7.0]], [(0, 1), (1, 2), (2, 3), (0, 2)], [1, -1, -1, 1])
    0.75
    """
    vectors, index = _check_pairs(X, pairs)
    sign = as_signs(y, len(index), of="pairs", positive="similar")
    check_both_kinds(sign)
    return estimate_auc(pair_similarity(vectors, vectors, index, metric), sign > 0).value


def pair_similarity(
    first: np.ndarray, second: np.ndarray, pairs: np.ndarray, metric: str = "euclidean"
) -> np.ndarray:
    """Return a similarity of each pair of rows, up to a factor; Euclidean: minus the square."""
    check_metric(metric)
    if metric == "euclidean":
        unit = unit_of(first, second)
        return -pair_values(first / unit, second / unit, pairs)
    first, second = first / unit_of(first), second / unit_of(second)
    if metric == "cosine":
        first, second = unit_rows(first), unit_rows(second)
    return np.einsum("ij,ij->i", first[pairs[:, 0]], second[pairs[:, 1]])


def as_grades(score: ArrayLike, pairs: np.ndarray) -> np.ndarray:
    """Return the scores of pairs as finite numbers."""
    grade = as_column(score, len(pairs), name="score", of="pairs")
    if grade.dtype.kind not in "biuf":
        raise TypeError(f"score has dtype {grade.dtype}; expected a number for each pair")
    with np.errstate(over="ignore"):  # of a longdouble, which becomes infinite
        grade = grade.astype(np.float64)
    refuse_where(~np.isfinite(grade), lambda i: f"score[{i}] = {grade[i]} must be finite")
    return as_finite(grade, name="score", most=MOST)


# Estimates with influences


def estimate_auc(similarity: np.ndarray, is_similar: np.ndarray) -> Estimate:
    """Return the AUC; the influences are those of DeLong, DeLong and Clarke-Pearson (1988)."""
    inside, outside = similarity[is_similar], similarity[~is_similar]
    beaten = _share_below(inside, outside)
    value = float(beaten.mean())
    influence = np.empty(len(similarity))
    influence[is_similar] = (beaten - value) / len(inside)
    influence[~is_similar] = (1 - _share_below(outside, inside) - value) / len(outside)
    return Estimate(value, influence)


def estimate_spearman(x: np.ndarray, y: np.ndarray) -> Estimate:
    """Return Spearman's rho, the correlation of ranks, with the influence of each example.

    An example moves rho by its own ranks, and by the ranks of the others that it shifts.
    """
    (xx, of_xx), (yy, of_yy), (xy, of_xy) = (
        _rank_product(*two) for two in ((x, x), (y, y), (x, y))
    )
    if xx <= 0 or yy <= 0:
        return Estimate(np.nan, np.full(len(x), np.nan))
    value = xy / np.sqrt(xx * yy)
    influence = of_xy / np.sqrt(xx * yy) - value / 2 * (of_xx / xx + of_yy / yy)
    return Estimate(float(value), influence / len(x))


def estimate_mean(value: np.ndarray, weight: np.ndarray) -> Estimate:
    """Return a weighted mean, with the influence of each example."""
    mean = float(np.average(value, weights=weight))
    return Estimate(mean, weight * (value - mean) / weight.sum())


def _share_below(values: Vector, others: Vector) -> Vector:
    """Return the share of the others that each value exceeds; equal ones count a half."""
    others = np.sort(others)
    low, high = (np.searchsorted(others, values, side) for side in ("left", "right"))
    return (low + high) / (2 * len(others))


def _rank_product(x: Vector, y: Vector) -> tuple[float, Vector]:
    """Return the covariance of the ranks of x and y as shares, and n times its influences."""
    f, g = ((rankdata(v) - 0.5) / len(v) - 0.5 for v in (x, y))
    product = f * g
    value = product.mean()
    return value, product - value + _shift(x, g) + _shift(y, f)


def _shift(x: Vector, other: Vector) -> Vector:
    """Return what each example adds to mean(rank of x * other) by raising ranks above its own."""
    _, place = np.unique(x, return_inverse=True)
    total = np.bincount(place, other)
    above = total.sum() - np.cumsum(total)
    shift = (above + total / 2)[place] / len(x)
    return shift - shift.mean()


def _check_pairs(X: Any, pairs: ArrayLike) -> tuple[Any, Any]:
    X = check_array(X, dtype=[np.float64, np.float32])
    return X, as_index(pairs, (2,), name="pairs", n_points=len(X), points="rows of X")
