"""Feedback on pairs and triplets of objects: similar or not, graded, or compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...checks.arguments import as_index, as_signs
from ...core.checks import as_real, read_values
from ...evaluation.agreement import (
    Estimate,
    as_grades,
    estimate_auc,
    estimate_mean,
    estimate_spearman,
    pair_similarity,
)
from ...evaluation.ranking import Measure, check_metric
from ...evaluation.splitting import ObjectSplit
from ...search.rows import distinct_rows
from .base import (
    MAX_ROWS,
    Cleaning,
    TooFewExamplesError,
    check_folds,
    check_rows,
    choose_rows,
    draw_ordered,
    majority,
)
from .groups import connected_groups, kinds_of_objects, unit_values

#: What may be held out.
UNITS = {"kinds": "kinds of objects", "objects": "objects"}
#: Default margin of graded pairs, in standard deviations of the scores.
GRADE_MARGIN = 0.5


class _ObjectFeedback(ABC):
    """Base of feedback on tuples of objects: rows of X in each example, a value and a weight.

    Objects are held out: an example is held out if all its objects are, and in training if none is;
    equal vectors are one object. Objects that examples connect, also through others, are a group;
    small groups are held out as a whole, so that none of their examples is lost.

    With `hold_out="kinds"` whole kinds of similar groups are held out, and are the units of a gain:
    examples that will come are seldom of the kinds that were at hand. See `kinds_of_objects` and
    `unit_values`.
    """

    measure: str
    hold_out: str
    design_effect = 1.0
    queries = None
    _name: str

    _kind: np.ndarray | None = None  # of each object, in a part of kinds that are held out

    def _hold_out(self, hold_out):
        if not isinstance(hold_out, str) or hold_out not in UNITS:
            raise ValueError(f"hold_out is {hold_out!r:.80}; expected one of {list(UNITS)}")
        self.hold_out = hold_out

    @property
    def unit(self) -> str:
        """Name of the objects that are held out, in the plural."""
        return UNITS[self.hold_out]

    def _set(self, index, value, weight=None):
        self._index, self._value = index, value
        self._weight = np.ones(len(index)) if weight is None else weight

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        n_objects = len(np.unique(self._index))
        return f"{type(self).__name__}({len(self)} {self._name}, {n_objects} objects)"

    def drawn(self, max_units: int, random_state: Any = None) -> Self:
        """Return the feedback as it is: only its own examples are scored."""
        return self

    def folds(self, X: Any, n_folds: int = 5, random_state: Any = None) -> list[tuple[Self, Self]]:
        """Return pairs of training and held-out examples that share no object."""
        X = check_rows(X, int(self._index.max()), f"list of {self._name}")
        first, number = distinct_rows(X)
        index = first[number][self._index]
        kind = kinds_of_objects(X, index, random_state) if self.hold_out == "kinds" else None
        group = connected_groups(index, len(X)) if kind is None else kind
        check_folds(len(np.unique(group[index])), n_folds, self.unit)
        split = ObjectSplit(n_folds, random_state=random_state, groups=group)
        parts = [np.isin(index, part) for part in split.parts(index)]
        folds = [(self._part(~is_in.any(axis=1)), self._part(is_in.all(axis=1))) for is_in in parts]
        for _, held_out in folds:
            held_out._kind = None if kind is None else kind[first[number]]
        folds = [fold for fold in folds if all(part._is_enough() for part in fold)]
        if len(folds) < 2:
            raise TooFewExamplesError(
                f"{len(self)} {self._name} on {len(np.unique(index))} objects: fewer than 2 of "
                f"{n_folds} folds have enough examples with all objects held out; give more "
                f"{self._name}, or more that share objects"
            )
        return folds

    def comparisons(
        self,
        A: np.ndarray,
        B: np.ndarray,
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        metric: str = "euclidean",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows (a, b, c, d), a and b are closer than c and d, and their weights."""
        check_metric(metric)
        check_rows(B, int(self._index.max()), f"list of {self._name}")
        if not self._is_enough():
            raise TooFewExamplesError(
                f"{len(self)} {self._name} without a difference to learn from; give at least two "
                "examples that differ"
            )
        return self._compare(random_state, max_rows)

    def scores(
        self, A: np.ndarray, B: np.ndarray, measure: Any = None, metric: str = "euclidean"
    ) -> np.ndarray:
        """Return one number for each unit, whose mean is the measure; see `unit_values`."""
        if measure is not None and str(Measure.parse(measure)) != self.measure:
            raise ValueError(
                f"{type(self).__name__} is scored by {self.measure}, not by {measure!r}"
            )
        A, B = (check_rows(M, int(self._index.max()), f"list of {self._name}") for M in (A, B))
        estimate = self._estimate(A, B, metric)
        return unit_values(estimate, self._index, self._kind)

    @abstractmethod
    def _is_enough(self):
        """Return whether the examples can be compared and scored."""

    @abstractmethod
    def _compare(self, random_state, max_rows):
        """Return the comparisons and their weights."""

    @abstractmethod
    def _estimate(self, A, B, metric):
        """Return the measure with the influence of each example."""

    def _part(self, rows):
        part = copy(self)
        part._set(self._index[rows], self._value[rows], self._weight[rows])
        return part

    def _distinct_objects(self, X):
        """Return examples with the first of equal vectors as objects, and which are useless.

        The two masks are about the same object twice, and about equal vectors.
        """
        X = check_rows(X, int(self._index.max()), f"list of {self._name}")
        first, kind = distinct_rows(X)
        index = first[kind][self._index]
        is_self, is_equal = (_has_repeated(rows) for rows in (self._index, index))
        return index, is_self, is_equal & ~is_self

    def _merge(self, X):
        """Return the feedback with one example a question, by majority, and the counts."""
        index, is_self, is_equal = self._distinct_objects(X)
        is_kept = ~(is_self | is_equal)
        question, sign = self._questions(index[is_kept], self._value[is_kept])
        vote = sign * self._weight[is_kept]
        dropped = {"n_self": int(is_self.sum()), "n_equal": int(is_equal.sum())}
        question, net, cleaning = majority(question, vote, of=self._name, **dropped)
        merged = copy(self)
        merged._set(*self._answers(question, np.sign(net)), np.abs(net))
        return merged, cleaning


class SimilarPairs(_ObjectFeedback):
    """Feedback by pairs: similar pairs should be closer than dissimilar ones.

    The measure is the AUC, the share of similar pairs that are closer than a dissimilar one. The
    comparisons are of similar with dissimilar pairs: all, or as many as asked for, drawn at random.
    Equal vectors are one object. Repeated pairs are merged by majority.

    Parameters
    ----------
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers of X.
    y : array-like of shape (n_pairs,)
        +1 or True for similar, -1 or False for dissimilar pairs.
    hold_out : {"objects", "kinds"}, default="objects"
        What is held out to measure a gain: objects at random; or whole kinds of similar objects,
        which claims a gain only if it holds for kinds that are new.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import SimilarPairs
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> feedback = SimilarPairs([(0, 1), (1, 2), (2, 3)], [True, True, False])
    >>> feedback.comparisons(X, X)[0].tolist()
    [[0, 1, 2, 3], [1, 2, 2, 3]]
    >>> float(feedback.scores(X, X).mean())
    1.0
    """

    measure = "AUC"
    _name = "pairs"

    def __init__(self, pairs: ArrayLike, y: ArrayLike, *, hold_out: str = "objects") -> None:
        self._hold_out(hold_out)
        index = as_index(pairs, (2,), name="pairs", points="rows of X")
        given = read_values(y, name="y")
        signs = np.where(given, 1, -1) if given.dtype == bool else given
        self._set(index, as_signs(signs, len(index), of="pairs", positive="similar"))

    def cleaned(self, X: Any) -> tuple[Self, Cleaning]:
        """Drop pairs that no map can change, and merge repeated ones by majority."""
        return self._merge(X)

    def _questions(self, index, sign):
        return np.sort(index, axis=1), sign

    def _answers(self, question, sign):
        return question, sign

    def _is_enough(self):
        return len(np.unique(self._value)) == 2

    def _compare(self, random_state, max_rows):
        upper, lower = draw_ordered(self._value, 0, max_rows, random_state)
        index = np.hstack([self._index[upper], self._index[lower]])
        weight = self._weight[upper] * self._weight[lower]
        return index, weight / weight.mean()

    def _estimate(self, A, B, metric):
        return estimate_auc(pair_similarity(A, B, self._index, metric), self._value > 0)


class GradedPairs(_ObjectFeedback):
    """Feedback by scores of pairs: the higher the score of a pair, the closer its objects.

    The measure is Spearman's rank correlation of scores and similarities. Comparisons are of pairs
    whose scores differ by more than a margin, drawn at random and weighted by the difference.
    Equal vectors are one object. A repeated pair gets its mean score.

    Parameters
    ----------
    pairs : array-like of int of shape (n_pairs, 2)
        Row numbers of X.
    score : array-like of shape (n_pairs,)
        Larger for pairs that should be closer.
    margin : float, optional
        Default: half of the standard deviation of the scores.
    hold_out : {"kinds", "objects"}, default="kinds"
        What is held out to measure a gain, as in `SimilarPairs`. Scores are seldom comparable
        between sources of pairs, so the default is the careful one.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import GradedPairs
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> feedback = GradedPairs([(0, 1), (1, 2), (2, 3)], [5.0, 3.0, 1.0])
    >>> index, weight = feedback.comparisons(X, X)
    >>> index.tolist()
    [[1, 2, 2, 3], [0, 1, 2, 3], [0, 1, 1, 2]]
    >>> weight.tolist()
    [0.75, 1.5, 0.75]
    """

    measure = "Spearman"
    _name = "graded pairs"

    def __init__(
        self,
        pairs: ArrayLike,
        score: ArrayLike,
        *,
        margin: float | None = None,
        hold_out: str = "kinds",
    ) -> None:
        self._hold_out(hold_out)
        index = as_index(pairs, (2,), name="pairs", points="rows of X")
        if margin is not None and not 0 <= as_real(margin, name="margin") < np.inf:
            raise ValueError(f"margin is {margin!r}; expected a difference of scores, at least 0")
        grade = as_grades(score, index)
        self.margin = GRADE_MARGIN * float(grade.std()) if margin is None else margin
        self._set(index, grade)

    def cleaned(self, X: Any) -> tuple[Self, Cleaning]:
        """Drop pairs that no map can change, and give repeated ones their mean score."""
        index, is_self, is_equal = self._distinct_objects(X)
        is_kept = ~(is_self | is_equal)
        pairs, group = np.unique(np.sort(index[is_kept], axis=1), axis=0, return_inverse=True)
        count = np.bincount(group.ravel(), minlength=len(pairs))
        grade = np.bincount(group.ravel(), self._value[is_kept], minlength=len(pairs)) / count
        n_ties = len(pairs) if len(np.unique(grade)) < 2 else 0
        counts = {
            "duplicates": int(is_kept.sum()) - len(pairs),
            "self_pairs": int(is_self.sum()),
            "equal_points": int(is_equal.sum()),
            "ties": n_ties,
        }
        cleaning = Cleaning(self._name, len(self), len(pairs) - n_ties, **counts).check()
        merged = copy(self)
        merged._set(pairs, grade)
        return merged, cleaning

    def _is_enough(self):
        return len(self) > 1 and np.ptp(self._value) > self.margin

    def _compare(self, random_state, max_rows):
        upper, lower = draw_ordered(self._value, self.margin, max_rows, random_state)
        index = np.hstack([self._index[upper], self._index[lower]])
        weight = self._value[upper] - self._value[lower]
        return index, weight / weight.mean()

    def _estimate(self, A, B, metric):
        estimate = estimate_spearman(pair_similarity(A, B, self._index, metric), self._value)
        if np.isnan(estimate.value):  # all similarities are equal: no correlation
            return Estimate(0.0, np.zeros(len(self)))
        return estimate


class ComparedTriplets(_ObjectFeedback):
    """Feedback by comparisons: the anchor should be closer to the near than to the far object.

    The measure is the accuracy, the share of comparisons that hold; equal distances count a half.
    Equal vectors are one object. Repeated comparisons are merged: the majority decides, and the
    weight is the number of votes by which it is ahead.

    Parameters
    ----------
    triplets : array-like of int of shape (n_triplets, 3)
        Rows (anchor, near, far), row numbers of X.
    hold_out : {"objects", "kinds"}, default="objects"
        What is held out to measure a gain, as in `SimilarPairs`.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import ComparedTriplets
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> feedback, cleaning = ComparedTriplets([(0, 1, 2), (1, 3, 2), (0, 1, 2)]).cleaned(X)
    >>> print(cleaning)
    3 triplets: 1 repeated (merged); 2 left
    >>> index, weight = feedback.comparisons(X, X)
    >>> index.tolist(), weight.tolist()
    ([[0, 1, 0, 2], [1, 3, 1, 2]], [1.3333333333333333, 0.6666666666666666])
    """

    measure = "accuracy"
    _name = "triplets"

    def __init__(self, triplets: ArrayLike, *, hold_out: str = "objects") -> None:
        self._hold_out(hold_out)
        index = as_index(triplets, (3,), name="triplets", points="rows of X")
        self._set(index, np.ones(len(index), dtype=np.intp))

    def cleaned(self, X: Any) -> tuple[Self, Cleaning]:
        """Drop triplets that no map can change, and merge repeated ones by majority."""
        return self._merge(X)

    def _questions(self, index, sign):
        is_rising = index[:, 1] < index[:, 2]
        return np.where(is_rising[:, None], index, index[:, [0, 2, 1]]), np.where(is_rising, 1, -1)

    def _answers(self, question, sign):
        index = np.where(sign[:, None] > 0, question, question[:, [0, 2, 1]])
        return index, np.ones(len(index), dtype=np.intp)

    def _is_enough(self):
        return len(self) > 0

    def _compare(self, random_state, max_rows):
        rows = choose_rows(len(self), max_rows, random_state)
        return self._index[rows][:, [0, 1, 0, 2]], self._weight[rows] / self._weight[rows].mean()

    def _estimate(self, A, B, metric):
        near, far = (pair_similarity(A, B, self._index[:, [0, i]], metric) for i in (1, 2))
        return estimate_mean((np.sign(near - far) + 1) / 2, self._weight)


def _has_repeated(index):
    ordered = np.sort(index, axis=1)
    return (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
