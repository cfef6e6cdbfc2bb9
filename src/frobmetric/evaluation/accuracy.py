"""Accuracy of predicted comparisons with an interval, and the ceiling that noise sets to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.stats import norm

from ..checks.arguments import as_comparisons, as_index, as_weights, check_count, check_whole
from ..checks.samples import check_random_state
from ..comparisons.merging import count_votes
from ..core.checks import read_values
from ..core.points import Array, Vector
from ..search.rows import distinct_rows
from .division import Rows
from .paired import PairedDifference, effective_size

#: Numbers held at a time for the resampled multiplicities: the size of a processor's cache.
BLOCK = 1 << 18
#: Largest number of resamples: more would change no digit that a reader of an interval sees.
MOST_RESAMPLES = 10**6


@dataclass(frozen=True)
class Accuracy:
    """Share of comparisons, with the ends of its interval.

    Attributes
    ----------
    value, low, high : float
    n : int
        Number of comparisons of positive weight.
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} ... {100 * self.high:.1f})"


@dataclass(frozen=True)
class NoiseCeiling:
    """Bounds on the accuracy that no predictor of the answers can exceed.

    Attributes
    ----------
    low, high : float
        The ceiling lies between them, up to sampling error.
    agreement : float
        Frequency with which two answers to the same question agree.
    n_questions, n_repeated, n_answers : int
        Numbers of distinct questions, of questions with two or more answers (only these count),
        and of the answers to them.
    low_error, high_error : float
        Standard errors of low and high if questions are independent.
    """

    low: float
    high: float
    agreement: float
    n_questions: int
    n_repeated: int
    n_answers: int
    low_error: float
    high_error: float

    def __str__(self) -> str:
        return (
            f"{100 * self.low:.1f} ... {100 * self.high:.1f} % "
            f"({self.n_answers} answers to {self.n_repeated} questions)"
        )


def comparison_accuracy(
    correct: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    objects: ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = 0,
) -> Accuracy:
    """Estimate the share of comparisons that are predicted correctly, with its interval.

    Without `objects` the comparisons are taken as independent, and the interval is Wilson's. They
    rarely are: one unusual object spoils all comparisons that it is in. With `objects` the interval
    comes from a bootstrap over objects: each resample draws as many objects as there are, with
    replacement, and a comparison is weighted by the product of the numbers of times that its
    distinct objects were drawn. That interval is for other objects of the same kind. Where hardly
    any comparisons share objects, it is wider than necessary: about sqrt(7) times for triplets.

    Parameters
    ----------
    correct : array-like of shape (n_comparisons,)
        Booleans, or margins: positive is correct, exactly 0 counts a half.
    sample_weight : array-like of shape (n_comparisons,), optional
        Importance, not repetitions as in `fit`: several answers to one question are predicted
        alike, so that counting them as independent comparisons would make the interval too narrow.
        Wilson's interval has n = sum(weight)^2 / sum(weight^2); to count answers, repeat them.
    objects : array-like of shape (n_comparisons, 2, 3 or 4), optional
        Object numbers of each comparison.
    confidence : float, default=0.95
    n_resamples : int, default=1000
        At most a million.
    random_state : int, RandomState, default=0

    Returns
    -------
    Accuracy

    Examples
    --------
    >>> from frobmetric.evaluation.accuracy import comparison_accuracy
    >>> print(comparison_accuracy([2.5, 0.1, -1.0, 3.0]))
    75.0 % (30.1 ... 95.4)
    """
    options = objects, confidence, n_resamples, random_state
    return _with_interval(_scores(correct), sample_weight, _wilson, *options)


def accuracy_difference(
    correct_a: ArrayLike,
    correct_b: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    objects: ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = 0,
) -> PairedDifference:
    """Estimate by how much predictor a is more accurate than b on the same comparisons.

    The interval is paired: comparisons on which both are right or both are wrong do not widen it.
    Without `objects` it is the interval of Bonett and Price for two dependent shares, with them it
    comes from the bootstrap over objects of `comparison_accuracy`.

    Parameters
    ----------
    correct_a, correct_b : array-like of shape (n_comparisons,)
        Booleans or margins, as in `comparison_accuracy`.
    sample_weight, objects, confidence, n_resamples, random_state
        As in `comparison_accuracy`.

    Returns
    -------
    PairedDifference
        From b to a: `before` is the accuracy of b, `after` that of a.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.evaluation.accuracy import accuracy_difference
    >>> b = np.arange(100) < 60
    >>> print(accuracy_difference(np.arange(100) < 70, b))
    0.600 -> 0.700, +0.100 [+0.034, +0.162]
    """
    score = _scores(correct_a, "correct_a")
    other = _scores(correct_b, "correct_b")
    if len(score) != len(other):
        raise ValueError(
            f"correct_a has {len(score)} comparisons and correct_b {len(other)}; both predictors "
            "must be evaluated on the same ones"
        )
    options = objects, confidence, n_resamples, random_state
    found = _with_interval(score - other, sample_weight, _bonett_price, *options)
    weight = as_weights(sample_weight, len(score))
    means, interval = (_mean(other, weight), _mean(score, weight)), (found.low, found.high)
    return PairedDifference(*means, found.value, interval, found.n, float(confidence))


def noise_ceiling(index: ArrayLike, y: Any = None, sample_weight: Any = None) -> NoiseCeiling:
    """Bound the accuracy of the best predictor, from questions that were answered repeatedly.

    If a question is answered "yes" with probability q, its best prediction is right with
    probability max(q, 1 - q); the ceiling is the mean of that over answers. The majority of the
    answers seen overestimates it, as it fits their noise. Two bounds are known without bias, for a
    question with n answers, m of them "yes":

        low    share of answers that the majority of the other n - 1 predicts; ties count a half
        high   max(m, n - m) / n

    and for few repetitions a lower `high` is found from the agreement p of two answers, of which
    [m (m - 1) + (n - m) (n - m - 1)] / (n (n - 1)) is an unbiased estimate: p = q^2 + (1 - q)^2
    gives max(q, 1 - q) = (1 + sqrt(2 p - 1)) / 2, and with p pooled over questions that is above
    the ceiling, equal to it if all questions are equally hard. `high` is the smaller of the two,
    but not below low. More repetitions bring low and high together.

    Parameters
    ----------
    index : array-like of shape (n_answers, 3) or (n_answers, 4)
        Triplets (anchor, near, far) or quadruplets. (a, b, c) with y = -1 is the same answer as
        (a, c, b) with y = +1.
    y : array-like of shape (n_answers,), optional
        +1 or -1; +1 for all if not given.
    sample_weight : array-like of shape (n_answers,), optional
        Number of times that each answer was given: whole numbers.

    Returns
    -------
    NoiseCeiling

    Examples
    --------
    >>> from frobmetric.evaluation.accuracy import noise_ceiling
    >>> answers = [[0, 1, 2], [0, 2, 1], [3, 1, 2], [4, 0, 1]]
    >>> print(noise_ceiling(answers, sample_weight=[9, 1, 10, 1]))
    95.0 ... 95.0 % (20 answers to 2 questions)
    """
    index, y, weight = as_comparisons(index, y, sample_weight)
    check_whole(weight)
    _, yes, no = count_votes(index, y, weight)
    yes, n = yes[yes + no > 0], (yes + no)[yes + no > 0]
    is_repeated = n >= 2
    if not is_repeated.any():
        raise ValueError(
            f"no question was asked twice, among {len(n)} questions; the ceiling can only be found "
            "from repeated answers"
        )
    n_questions, (yes, n) = len(n), (yes[is_repeated], n[is_repeated])
    low, low_error = _estimate(_leave_one_out(yes, n), n)
    no = n - yes
    agreement, error = _estimate((yes * (yes - 1) + no * (no - 1)) / (n * (n - 1)), n)
    high, high_error = min(_estimate(np.maximum(yes, no) / n, n), _pooled(agreement, error))
    if high < low:
        high, high_error = low, low_error
    sizes = (n_questions, len(n), int(n.sum()))
    return NoiseCeiling(low, high, agreement, *sizes, low_error=low_error, high_error=high_error)


def _scores(correct: Any, name: str = "correct") -> Vector:
    """Return 1 for correct, 0 for wrong, a half for a margin of zero."""
    correct = read_values(correct, name=name)
    if correct.ndim != 1 or len(correct) == 0:
        raise ValueError(
            f"{name} has shape {correct.shape}; expected (n_comparisons,) with at least one"
        )
    if correct.dtype == bool:
        return correct.astype(np.float64)
    if correct.dtype.kind not in "iuf" or np.isnan(correct).any():
        raise ValueError(f"{name} has dtype {correct.dtype} or NaN; expected booleans or margins")
    is_integer = np.issubdtype(correct.dtype, np.integer)
    if np.isin(correct, [0, 1]).all() and 0 in correct and (is_integer or correct.any()):
        raise ValueError(
            f"{name} holds only 0 and 1 but has dtype {correct.dtype}; give booleans, because as a "
            "margin 0 counts a half"
        )
    return (np.sign(correct) + 1) / 2


def _mean(values: Vector, weight: Vector) -> float:
    return float(values @ weight / weight.sum())


def _estimate(values: Vector, weight: Vector) -> tuple[float, float]:
    """Return the weighted mean of independent values, and its standard error."""
    mean = _mean(values, weight)
    away = weight * (values - mean)
    return mean, float(np.sqrt(away @ away) / weight.sum())


def _with_interval(
    score: Vector,
    sample_weight: ArrayLike | None,
    interval: Callable[[Vector, Vector, float], tuple[float, float]],
    objects: ArrayLike | None,
    confidence: float,
    n_resamples: int,
    random_state: Any,
) -> Accuracy:
    """Return the mean score, with an interval by formula or over resampled objects."""
    weight = as_weights(sample_weight, len(score))
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}; expected a number between 0 and 1: 0.95")
    confidence = float(confidence)
    value, n = _mean(score, weight), int(np.count_nonzero(weight))
    if objects is not None:
        means = _resampled_means(score, weight, objects, n_resamples, random_state)
        low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
        return Accuracy(value, float(low), float(high), n)
    low, high = interval(score, weight, norm.ppf((1 + confidence) / 2))
    return Accuracy(value, float(min(low, value)), float(max(high, value)), n)


def _wilson(score: Vector, weight: Vector, z: float) -> tuple[float, float]:
    # SciPy's has whole numbers of trials and successes only; weights and halves make others
    share, n = _mean(score, weight), effective_size(weight)
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return center - half, center + half


def _bonett_price(score: Vector, weight: Vector, z: float) -> tuple[float, float]:
    n = effective_size(weight)
    parts = np.maximum(score, 0), np.maximum(-score, 0)
    better, worse = ((n * _mean(part, weight) + 1) / (n + 2) for part in parts)
    center = better - worse
    half = z * np.sqrt((better + worse - center**2) / (n + 2))
    return max(center - half, -1), min(center + half, 1)


def _resampled_means(
    score: Vector, weight: Vector, objects: Any, n_resamples: int, random_state: Any
) -> Vector:
    """Return the mean score in each resample of the objects that contains a comparison."""
    objects = as_index(objects, (2, 3, 4), name="objects")
    if len(objects) != len(score):
        sizes = f"{len(objects)} rows; there are {len(score)} comparisons"
        raise ValueError(f"objects has {sizes}, so expected as many")
    check_count(n_resamples, name="n_resamples", at_most=MOST_RESAMPLES)
    names, number = np.unique(objects, return_inverse=True)
    number = _distinct(number.reshape(objects.shape), len(names))
    sums = _ProductSums(number, np.array([weight, weight * score]))
    rng, step = check_random_state(random_state), max(1, BLOCK // sums.size)
    parts = []
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size)
        total, right = sums(np.vstack([drawn.T, np.ones(size)]))
        parts.append(right[total > 0] / total[total > 0])
    means = np.concatenate(parts)
    if len(means) < n_resamples / 2:
        raise ValueError(
            f"{n_resamples - len(means)} of {n_resamples} resamples of {len(names)} objects "
            "contain no comparison; that is too few objects for an interval over objects, "
            "leave them out"
        )
    return means


def _distinct(objects: Rows, other: int) -> Rows:
    """Replace objects that occur in a row a second time by `other`."""
    objects = objects.copy()
    for j in range(objects.shape[1] - 1, 0, -1):
        objects[(objects[:, :j] == objects[:, j : j + 1]).any(axis=1), j] = other
    return objects


class _ProductSums:
    """Sums over tuples of value * product of the multiplicities of the tuple's objects.

    A tuple is cut into a left and a right part. Comparisons share parts, so that the product of
    each part is taken once, and a sparse matrix holds the values between left and right parts.
    """

    def __init__(self, objects: Rows, values: Array) -> None:
        left, right = np.split(objects, [objects.shape[1] // 2], axis=1)
        (first_left, row), (first_right, column) = distinct_rows(left), distinct_rows(right)
        self.left, self.right = left[first_left], right[first_right]
        shape = (len(self.left), len(self.right))
        self.matrices = [sp.csr_array((v, (row, column)), shape=shape) for v in values]

    @property
    def size(self) -> int:
        return len(self.left) + len(self.right)

    def __call__(self, drawn: Any) -> list[Vector]:
        """Return the sums for multiplicities (n_objects, n_resamples), one array for each value."""
        left, right = (drawn[part].prod(axis=1) for part in (self.left, self.right))
        return [np.einsum("ij,ij->j", left, matrix @ right) for matrix in self.matrices]


def _leave_one_out(yes: Vector, n: Vector) -> Vector:
    """Return the share of answers that the majority of the others predicts, for each question."""

    def predicted(same: Vector, other: Vector) -> Vector:
        return same * (1 + np.sign(same - 1 - other)) / 2

    return (predicted(yes, n - yes) + predicted(n - yes, yes)) / n


def _pooled(agreement: float, error: float) -> tuple[float, float]:
    """Return the ceiling if all questions are equally hard, and its standard error."""
    root = np.sqrt(max(2 * agreement - 1, 0.0))
    # sqrt(x + dx) - sqrt(x) <= sqrt(dx) where the derivative is too large
    change = min(error / root if root else np.inf, np.sqrt(2 * error))
    return float((1 + root) / 2), float(change / 2)
