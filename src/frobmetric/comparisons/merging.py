"""Comparisons as questions with answers: merged by question, contradictions counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks.arguments import as_comparisons, compared_pairs
from ..core.points import Index, Mask, Vector
from ..search.rows import distinct_rows

#: A sum of weights is zero when it is smaller than its terms by this factor: they cancelled.
CANCELLED = 1e-12


@dataclass(frozen=True)
class Comparisons:
    """Answered comparisons, ready for `fit(index, y, sample_weight)`.

    Attributes
    ----------
    index : ndarray of shape (n_comparisons, 3) or (n_comparisons, 4)
        Triplets (anchor, near, far) or quadruplets (a, b, c, d), as they were asked.
    y : ndarray of shape (n_comparisons,)
        +1: the first distance is the smaller one, -1: the second one is.
    sample_weight : ndarray of shape (n_comparisons,)
        Net number of times that this was the answer; positive.
    n_objects : int
        Indices are below this.
    n_undecided : int
        Number of comparisons left out because their count was zero.

    Examples
    --------
    >>> from frobmetric.comparisons import merge_comparisons
    >>> merged = merge_comparisons([[0, 1, 2], [0, 1, 2], [0, 2, 1]])
    >>> merged.n_objects
    3
    """

    index: Index
    y: Index
    sample_weight: Vector
    n_objects: int
    n_undecided: int = 0

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return (
            f"Comparisons(n_comparisons={len(self)}, n_objects={self.n_objects}, "
            f"n_undecided={self.n_undecided})"
        )

    @property
    def near_first(self) -> Index:
        """Index with the nearer pair first in each row, so that each answer is y = +1."""
        return near_first(self.index, self.y)


@dataclass(frozen=True)
class Contradictions:
    """Extent to which comparisons contradict each other.

    Attributes
    ----------
    n_comparisons : int
        Number of comparisons whose question was also answered the other way.
    n_questions : int
        Number of questions answered both ways.
    cancelled : float
        Weight that disappears when the answers to each question are summed.
    """

    n_comparisons: int
    n_questions: int
    cancelled: float


def merge_comparisons(
    index: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Comparisons:
    """Merge the answers to each question into one comparison with their net weight.

    (a, b, c) with y = -1 answers the same question as (a, c, b) with y = +1, and so do quadruplets
    with a and b, c and d, or the two pairs exchanged. A question stays in the place and the order
    of its first row, so that comparisons without repetition come back as they are.

    Parameters
    ----------
    index : array-like of shape (n_comparisons, 3) or (n_comparisons, 4)
    y : array-like of shape (n_comparisons,), optional
    sample_weight : array-like of shape (n_comparisons,), optional

    Returns
    -------
    Comparisons
        Without the questions whose answers cancel exactly; `n_undecided` counts them.

    Examples
    --------
    >>> from frobmetric.comparisons import merge_comparisons
    >>> merged = merge_comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 2], [3, 0, 1], [3, 1, 0]])
    >>> merged.index.tolist(), merged.sample_weight.tolist(), merged.n_undecided
    ([[0, 1, 2]], [1.0], 1)
    """
    index, y, weight = as_comparisons(index, y, sample_weight)
    question, sign = as_questions(index, y)
    first, label = distinct_rows(question)
    total = np.bincount(label, weight)
    net = np.bincount(label, weight * sign)
    net[np.abs(net) <= CANCELLED * total] = 0
    is_decided = net != 0
    as_asked = (y * sign)[first]
    return Comparisons(
        index[first[is_decided]],
        (np.sign(net) * as_asked)[is_decided].astype(np.intp),
        np.abs(net[is_decided]),
        int(index.max()) + 1,
        int(np.count_nonzero((total > 0) & ~is_decided)),
    )


def count_contradictions(
    index: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Contradictions:
    """Count the comparisons whose question was also answered the other way.

    Parameters
    ----------
    index : array-like of shape (n_comparisons, 3) or (n_comparisons, 4)
    y : array-like of shape (n_comparisons,), optional
    sample_weight : array-like of shape (n_comparisons,), optional
        A comparison of weight zero says nothing and contradicts nothing.

    Returns
    -------
    Contradictions

    Examples
    --------
    >>> from frobmetric.comparisons import count_contradictions
    >>> count_contradictions([[0, 1, 2], [0, 2, 1], [0, 1, 2], [3, 0, 1]])
    Contradictions(n_comparisons=3, n_questions=1, cancelled=2.0)
    """
    index, y, weight = as_comparisons(index, y, sample_weight)
    question, yes, no = count_votes(index, y, weight)
    is_split = (yes > 0) & (no > 0)
    return Contradictions(
        int(np.count_nonzero(is_split[question] & (weight > 0))),
        int(np.count_nonzero(is_split)),
        float(2 * np.minimum(yes, no).sum()),
    )


def is_contradicted(index: Index, y: Index, sample_weight: Vector) -> Mask:
    """Return for each comparison or pair, already checked, whether another contradicts it."""
    question, yes, no = count_votes(index, y, sample_weight)
    return ((yes > 0) & (no > 0))[question]


def as_questions(index: Index, y: Index) -> tuple[Index, Index]:
    """Return each comparison as its question in a standard order, and y for that order."""
    left, right = (np.sort(pair, axis=1) for pair in compared_pairs(index))
    (a, b), (c, d) = left.T, right.T
    is_swapped = (a > c) | ((a == c) & (b > d))
    question = np.hstack([left, right])
    question[is_swapped] = question[is_swapped][:, [2, 3, 0, 1]]
    return question, np.where(is_swapped, -y, y)


def count_votes(index: Index, y: Index, sample_weight: Vector) -> tuple[Index, Vector, Vector]:
    """Return the question of each row, and the weight of "yes" and of "no" for each question."""
    question, sign = (np.sort(index, axis=1), y) if index.shape[1] == 2 else as_questions(index, y)
    _, label = distinct_rows(question)
    yes, no = (np.bincount(label, sample_weight * (sign == s)) for s in (1, -1))
    return label, yes.astype(float, copy=False), no.astype(float, copy=False)


def near_first(index: Index, y: Index) -> Index:
    """Return the same answers as rows with y = +1: the nearer pair comes first."""
    other = [2, 3, 0, 1] if index.shape[1] == 4 else [0, 2, 1]
    return np.where((y > 0)[:, None], index, index[:, other])
