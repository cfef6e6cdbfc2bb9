"""Thresholds on scores of pairs: pairs that reach the threshold are called similar."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from ..checks.arguments import as_signs, as_weights, check_both_kinds
from ..core.checks import read_values
from ..core.points import Vector


def best_threshold(
    score: ArrayLike,
    y: ArrayLike,
    *,
    strategy: str = "accuracy",
    beta: float = 1.0,
    min_rate: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[float, float]:
    """Find the threshold that best separates similar from dissimilar pairs.

    A pair is called similar if and only if its score is at least the threshold. All cuts between
    distinct scores are tried, also the cuts that call all or none similar, so the optimum on these
    pairs is exact. The threshold is midway between the two scores at the cut; beyond the largest or
    smallest score it is the next number outside.

    Parameters
    ----------
    score : array-like of shape (n_pairs,)
        Similarities: larger for pairs more likely to be similar. An example is minus a distance.
    y : array-like of shape (n_pairs,)
        +1 for similar, -1 for dissimilar pairs.
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
        Quantity to maximise: the share of right answers; the F score of the similar pairs; the true
        positive rate while the true negative rate is at least `min_rate`; the other way round.
    beta : float, default=1.0
        For "f_beta": the weight of recall relative to precision; 0 is precision alone.
    min_rate : float in [0, 1], optional
        For "max_tpr" and "max_tnr", which need it.
    sample_weight : array-like of shape (n_pairs,), optional
        A weight of 2 is the same as the pair twice.

    Returns
    -------
    threshold : float
        Of cuts with equal accuracy or F score, the middle one (of two, the higher threshold). Of
        cuts with an equal largest rate, the one where the rate that `min_rate` bounds is largest.
    value : float
        Larger is better; comparable between scores of the same pairs under the same strategy.

    Examples
    --------
    >>> from frobmetric.neighbors import best_threshold
    >>> best_threshold([1.0, 2.0, 3.0, 5.0], [-1, -1, 1, 1])[0]
    2.5
    >>> best_threshold([1.0, 2.0, 3.0, 5.0], [-1, 1, -1, 1], strategy="max_tpr", min_rate=1.0)[0]
    4.0
    """
    _check_strategy(strategy, beta, min_rate)
    thresholds, tp, fp = _cuts(score, y, sample_weight)
    value = STRATEGIES[strategy](tp, fp, beta=beta, min_rate=min_rate)
    best = np.flatnonzero(value == value.max())
    middle = best[(len(best) - 1) // 2]
    return float(thresholds[middle]), float(value[middle])


def _accuracy(tp: Vector, fp: Vector, **_: object) -> Vector:
    return tp - fp


def _f_beta(tp: Vector, fp: Vector, *, beta: float, **_: object) -> Vector:
    size = tp + fp + beta**2 * tp[-1]  # zero if no pair is called similar and beta is zero
    return np.divide((1 + beta**2) * tp, size, where=size > 0, out=np.zeros(len(tp)))


def _max_tpr(tp: Vector, fp: Vector, *, min_rate: float, **_: object) -> Vector:
    tn = fp[-1] - fp
    return np.where(tn / fp[-1] >= min_rate, tp * (fp[-1] + 1) + tn, -1)


def _max_tnr(tp: Vector, fp: Vector, *, min_rate: float, **_: object) -> Vector:
    tn = fp[-1] - fp
    return np.where(tp / tp[-1] >= min_rate, tn * (tp[-1] + 1) + tp, -1)


#: Value of each cut, from its numbers of true and of false positives.
STRATEGIES: dict[str, Callable[..., Vector]] = {
    "accuracy": _accuracy,
    "f_beta": _f_beta,
    "max_tpr": _max_tpr,
    "max_tnr": _max_tnr,
}


def is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _check_strategy(strategy: object, beta: object, min_rate: object) -> None:
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise ValueError(f"strategy is {strategy!r:.80}; expected one of {sorted(STRATEGIES)}")
    if not (is_real(beta) and 0 <= beta < np.inf):
        raise ValueError(f"beta is {beta!r}; expected a finite number of at least 0")
    if strategy not in ("max_tpr", "max_tnr"):
        if min_rate is not None:
            raise ValueError(
                f"min_rate is {min_rate!r} with strategy={strategy!r}, which does not use it; "
                "leave it out, or choose 'max_tpr' or 'max_tnr'"
            )
    elif min_rate is None:
        other = "negative" if strategy == "max_tpr" else "positive"
        raise ValueError(
            f"strategy={strategy!r} needs min_rate, the smallest true {other} rate allowed"
        )
    elif not (is_real(min_rate) and 0 <= min_rate <= 1):
        raise ValueError(f"min_rate is {min_rate!r}; expected a rate in [0, 1]")


def _cuts(
    score: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Vector, Vector, Vector]:
    """Return threshold, true and false positives of every cut, from none called similar to all."""
    score = as_score(score)
    y = as_signs(y, len(score), of="pairs", positive="similar")
    weight = as_weights(sample_weight, len(score), of="pairs")
    score, y, weight = score[weight > 0], y[weight > 0], weight[weight > 0]
    check_both_kinds(y)
    # none below one, as the strategies take a smaller step for a tie; by a power of two, so that
    # sums of whole numbers stay exact
    weight = weight / np.ldexp(1.0, np.frexp(weight.min())[1] - 1)
    order = np.argsort(-score)  # in any order within a tie, since no cut is inside of one
    score, y, weight = score[order], y[order], weight[order]
    last = np.flatnonzero(np.append(score[1:] < score[:-1], True))
    tp, fp = (np.append(0, np.cumsum(weight * (y == sign))[last]) for sign in (1, -1))
    return _between(score[last]), tp, fp


def as_score(score: ArrayLike) -> Vector:
    """Return finite scores of pairs, one number each, in their own precision."""
    given = read_values(score, name="score")
    if given.ndim != 1 or given.dtype.kind not in "iuf" or not len(given):
        raise ValueError(
            f"score has shape {given.shape} and dtype {given.dtype}; expected one number a pair"
        )
    # single precision stays: a threshold between its numbers must hold when compared with them
    with np.errstate(over="ignore"):  # of a longdouble, which becomes infinite
        values: Vector = given if given.dtype == np.float32 else given.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"score[{bad[0]}] = {values[bad[0]]} must be finite")
    return values


def _between(falling: Vector) -> Vector:
    """Return the midpoints of neighbouring scores, and one step outside at either end."""
    high, low = falling[:-1], falling[1:]
    middle = high / 2 + low / 2
    # between neighbours so close that rounding would reach the lower one, the upper one itself
    middle = np.where((middle > low) & (middle <= high), middle, high)
    above, below = np.nextafter(falling[:1], np.inf), np.nextafter(falling[-1:], -np.inf)
    return np.concatenate([above, middle, below]).astype(falling.dtype)
