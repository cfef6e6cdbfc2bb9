"""How well comparisons are predicted, with an interval, and how well they could be."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.utils import check_random_state

from .encoding import as_comparisons, as_index, as_questions, as_weights, equal_rows

#: Numbers held at a time for the resampled multiplicities: what a processor's cache holds.
BLOCK = 1 << 18


@dataclass(frozen=True)
class Accuracy:
    """A share of comparisons, or a difference of two, with the ends of its interval.

    Attributes
    ----------
    value, low, high : float
    n : int
        Comparisons that counted, those of positive weight.
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self):
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f} ... {100 * self.high:.1f})"


@dataclass(frozen=True)
class NoiseCeiling:
    """Bounds on the accuracy that no predictor of the answers can exceed.

    Attributes
    ----------
    low, high : float
        The ceiling lies between them, up to sampling error.
    agreement : float
        How often two answers to the same question agree.
    n_questions : int
        Distinct questions.
    n_repeated : int
        Those with two or more answers; only they count.
    n_answers : int
        Answers to those.
    low_error, high_error : float
        Standard errors of low and high, questions being independent.
    """

    low: float
    high: float
    agreement: float
    n_questions: int
    n_repeated: int
    n_answers: int
    low_error: float
    high_error: float

    def __str__(self):
        return (
            f"{100 * self.low:.1f} ... {100 * self.high:.1f} % "
            f"({self.n_answers} answers to {self.n_repeated} questions)"
        )


def comparison_accuracy(
    correct, weight=None, *, objects=None, confidence=0.95, n_resamples=1000, random_state=0
):
    """The share of comparisons that are predicted correctly, with a confidence interval.

    Without `objects` the comparisons are taken as independent, and the interval is Wilson's. They
    rarely are: one unusual object spoils all comparisons that it is in. With `objects` the interval
    is that of a bootstrap over objects: each resample draws as many objects as there are, with
    replacement, and a comparison counts as often as the product of how often its distinct objects
    were drawn. That interval is for other objects of the same kind. Where hardly any comparisons
    share objects, it is wider than it has to be: about sqrt(7) times for triplets.

    Parameters
    ----------
    correct : array-like of shape (n_comparisons,)
        Booleans, or margins: positive is correct, exactly 0 counts a half.
    weight : array-like of shape (n_comparisons,), optional
        Importance, not repetitions as in `fit`: several answers to one question are predicted
        alike, so that counting them as independent comparisons would make the interval too narrow.
        Wilson's interval has n = sum(weight)^2 / sum(weight^2); to count answers, repeat them.
    objects : array-like of shape (n_comparisons, 2, 3 or 4), optional
        The object numbers of each comparison.
    confidence : float, default=0.95
    n_resamples : int, default=1000
    random_state : int, RandomState, default=0

    Returns
    -------
    Accuracy

    Examples
    --------
    >>> from frobmetric.comparisons.evaluation import comparison_accuracy
    >>> print(comparison_accuracy([2.5, 0.1, -1.0, 3.0]))
    75.0 % (30.1 ... 95.4)
    """
    score = _scores(correct)
    weight = as_weights(weight, len(score))
    z = _quantile(confidence)
    if objects is not None:
        return _over_objects(score, weight, objects, confidence, n_resamples, random_state)
    return _accuracy(score, weight, *_wilson(_mean(score, weight), _effective_n(weight), z))


def accuracy_difference(
    correct_a,
    correct_b,
    weight=None,
    *,
    objects=None,
    confidence=0.95,
    n_resamples=1000,
    random_state=0,
):
    """By how much predictor a is more accurate than b on the same comparisons.

    The interval is paired: comparisons on which both are right or both are wrong do not widen it.
    Without `objects` it is that of Bonett and Price for two dependent shares, with them that of the
    bootstrap over objects of `comparison_accuracy`.

    Parameters
    ----------
    correct_a, correct_b : array-like of shape (n_comparisons,)
        Booleans or margins, as in `comparison_accuracy`.
    weight, objects, confidence, n_resamples, random_state
        As in `comparison_accuracy`.

    Returns
    -------
    Accuracy
        Its value is accuracy of a - accuracy of b.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.comparisons.evaluation import accuracy_difference
    >>> b = np.arange(100) < 60
    >>> print(accuracy_difference(np.arange(100) < 70, b))
    10.0 % (3.4 ... 16.2)
    """
    score = _scores(correct_a, "correct_a")
    other = _scores(correct_b, "correct_b")
    if len(score) != len(other):
        raise ValueError(
            f"correct_a has {len(score)} comparisons and correct_b {len(other)}; both predictors "
            "must be judged on the same ones"
        )
    score = score - other
    weight = as_weights(weight, len(score))
    z = _quantile(confidence)
    if objects is not None:
        return _over_objects(score, weight, objects, confidence, n_resamples, random_state)
    return _accuracy(score, weight, *_bonett_price(score, weight, z))


def noise_ceiling(tuples, y=None, weight=None):
    """What the best predictor can reach, from questions that were answered more than once.

    If a question is answered "yes" with probability q, its best prediction is right with
    probability max(q, 1 - q); the ceiling is the mean of that over answers. The majority of the
    answers seen overestimates it, as it fits their noise. Two bounds are known without bias, for a
    question with n answers, m of them "yes":

        low    how often the majority of the other n - 1 predicts an answer; ties count a half
        high   max(m, n - m) / n

    and for few repetitions a lower `high` is found from the agreement p of two answers, of which
    [m (m - 1) + (n - m) (n - m - 1)] / (n (n - 1)) is an unbiased estimate: p = q^2 + (1 - q)^2
    gives max(q, 1 - q) = (1 + sqrt(2 p - 1)) / 2, and with p pooled over questions that is above
    the ceiling, equal to it if all questions are equally hard. `high` is the smaller of the two,
    but not below low. More repetitions bring low and high together.

    Parameters
    ----------
    tuples : array-like of shape (n_answers, 3) or (n_answers, 4)
        Triplets (anchor, near, far) or quadruplets. (a, b, c) with y = -1 is the same answer as
        (a, c, b) with y = +1.
    y : array-like of shape (n_answers,), optional
        +1 or -1; +1 for all if not given.
    weight : array-like of shape (n_answers,), optional
        How often each answer was given: whole numbers.

    Returns
    -------
    NoiseCeiling

    Examples
    --------
    >>> from frobmetric.comparisons.evaluation import noise_ceiling
    >>> ceiling = noise_ceiling([[0, 1, 2], [0, 2, 1], [3, 1, 2], [4, 0, 1]], weight=[9, 1, 10, 1])
    >>> print(ceiling)
    95.0 ... 95.0 % (20 answers to 2 questions)
    """
    yes, n = _votes(tuples, y, weight)
    is_repeated = n >= 2
    if not is_repeated.any():
        raise ValueError(
            f"no question was asked twice, among {len(n)} questions; the ceiling can only be found "
            "from repeated answers"
        )
    n_questions, (yes, n) = len(n), (yes[is_repeated], n[is_repeated])
    low, low_error = _estimate(_leave_one_out(yes, n), n)
    agreement, error = _estimate(_agreement(yes, n), n)
    high, high_error = min(_estimate(np.maximum(yes, n - yes) / n, n), _pooled(agreement, error))
    if high < low:
        high, high_error = low, low_error
    return NoiseCeiling(
        low=low,
        high=high,
        agreement=agreement,
        n_questions=n_questions,
        n_repeated=len(n),
        n_answers=int(n.sum()),
        low_error=low_error,
        high_error=high_error,
    )


def _scores(correct, name="correct"):
    """1 for correct, 0 for wrong, a half for a margin of zero."""
    correct = np.asarray(correct)
    if correct.ndim != 1 or len(correct) == 0:
        raise ValueError(
            f"{name} has shape {correct.shape}; expected (n_comparisons,) with at least one"
        )
    if correct.dtype == bool:
        return correct.astype(np.float64)
    if not np.issubdtype(correct.dtype, np.number) or np.isnan(correct).any():
        raise ValueError(f"{name} has dtype {correct.dtype} or NaN; expected booleans or margins")
    is_integer = np.issubdtype(correct.dtype, np.integer)
    if np.isin(correct, [0, 1]).all() and 0 in correct and (is_integer or correct.any()):
        raise ValueError(
            f"{name} holds only 0 and 1 but has dtype {correct.dtype}; give booleans, because as a "
            "margin 0 counts a half"
        )
    return (np.sign(correct) + 1) / 2


def _quantile(confidence):
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}; expected a number between 0 and 1: 0.95")
    return norm.ppf((1 + confidence) / 2)


def _mean(values, weight):
    return float(values @ weight / weight.sum())


def _estimate(values, weight):
    """The weighted mean of independent values, and its standard error."""
    mean = _mean(values, weight)
    away = weight * (values - mean)
    return mean, float(np.sqrt(away @ away) / weight.sum())


def _effective_n(weight):
    return weight.sum() ** 2 / (weight @ weight)


def _accuracy(score, weight, low, high):
    value = _mean(score, weight)
    n = int(np.count_nonzero(weight))
    return Accuracy(value, float(min(low, value)), float(max(high, value)), n)


def _wilson(share, n, z):
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return center - half, center + half


def _bonett_price(score, weight, z):
    n = _effective_n(weight)
    better, worse = (
        (n * _mean(np.maximum(part, 0), weight) + 1) / (n + 2) for part in (score, -score)
    )
    center = better - worse
    half = z * np.sqrt((better + worse - center**2) / (n + 2))
    return max(center - half, -1), min(center + half, 1)


def _over_objects(score, weight, objects, confidence, n_resamples, random_state):
    objects = as_index(objects, (2, 3, 4), name="objects")
    if len(objects) != len(score):
        raise ValueError(
            f"objects has {len(objects)} rows; there are {len(score)} comparisons, so expected as "
            "many"
        )
    if not isinstance(n_resamples, Integral) or n_resamples is True or n_resamples < 1:
        raise ValueError(
            f"n_resamples is {n_resamples!r}; expected an integer of at least 1, better 1000"
        )
    found = _resample(score, weight, objects, n_resamples, check_random_state(random_state))
    if len(found) < n_resamples / 2:
        raise ValueError(
            f"{n_resamples - len(found)} of {n_resamples} resamples of "
            f"{len(np.unique(objects))} objects contain no comparison; that is too few objects "
            "for an interval over objects, leave them out"
        )
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    n = int(np.count_nonzero(weight))
    return Accuracy(_mean(score, weight), float(low), float(high), n)


def _resample(score, weight, objects, n_resamples, rng):
    """The mean score in each resample of the objects that contains a comparison."""
    names, number = np.unique(objects, return_inverse=True)
    number = _distinct(number.reshape(objects.shape), len(names))
    sums = _ProductSums(number, np.array([weight, weight * score]))
    step, found = max(1, BLOCK // sums.size), []
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size)
        total, right = sums(np.vstack([drawn.T, np.ones(size)]))
        found.append(right[total > 0] / total[total > 0])
    return np.concatenate(found)


def _distinct(objects, other):
    """Each row with `other` in the place of objects that are in it a second time."""
    objects = objects.copy()
    for j in range(objects.shape[1] - 1, 0, -1):
        objects[(objects[:, :j] == objects[:, j : j + 1]).any(axis=1), j] = other
    return objects


class _ProductSums:
    """Sums over tuples of value * product of the multiplicities of the tuple's objects.

    A tuple is cut into a left and a right part. Comparisons share those, so that their products
    are taken once, and what remains is a sparse matrix of values between left and right parts.
    """

    def __init__(self, objects, values):
        left, right = np.split(objects, [objects.shape[1] // 2], axis=1)
        (first_left, row), (first_right, column) = equal_rows(left), equal_rows(right)
        self.left, self.right = left[first_left], right[first_right]
        shape = (len(self.left), len(self.right))
        self.matrices = [sp.csr_array((v, (row, column)), shape=shape) for v in values]

    @property
    def size(self):
        return len(self.left) + len(self.right)

    def __call__(self, drawn):
        """For multiplicities (n_objects, n_resamples), one array of sums for each of values."""
        left, right = (drawn[part].prod(axis=1) for part in (self.left, self.right))
        return [np.einsum("ij,ij->j", left, matrix @ right) for matrix in self.matrices]


def _votes(tuples, y, weight):
    """For each question how often its answer was yes, and how often it was answered."""
    index, y, weight = as_comparisons(tuples, y, weight)
    bad = np.flatnonzero(weight != np.rint(weight))
    if len(bad):
        raise ValueError(
            f"weight[{bad[0]}] = {weight[bad[0]]}; expected whole numbers, how often an answer was "
            "given"
        )
    question, sign = as_questions(index, y)
    _, label = equal_rows(question)
    yes, n = np.bincount(label, weight * (sign > 0)), np.bincount(label, weight)
    return yes[n > 0], n[n > 0]


def _leave_one_out(yes, n):
    """How often the majority of the other answers predicts an answer, for each question."""

    def predicted(same, other):
        return same * (1 + np.sign(same - 1 - other)) / 2

    return (predicted(yes, n - yes) + predicted(n - yes, yes)) / n


def _agreement(yes, n):
    no = n - yes
    return (yes * (yes - 1) + no * (no - 1)) / (n * (n - 1))


def _pooled(agreement, error):
    """The ceiling if all questions are equally hard, and its standard error."""
    root = np.sqrt(max(2 * agreement - 1, 0.0))
    # sqrt(x + dx) - sqrt(x) <= sqrt(dx) where the derivative is too large
    change = min(error / root if root else np.inf, np.sqrt(2 * error))
    return float((1 + root) / 2), float(change / 2)
