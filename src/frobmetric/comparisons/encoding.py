"""Comparisons as questions with answers: checked, merged, contradictions counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: What a row of each width is called, and says with y = +1.
KINDS = {
    2: "pairs (a, b)",
    3: "triplets (anchor, near, far): d(anchor, near) < d(anchor, far)",
    4: "quadruplets (a, b, c, d): d(a, b) < d(c, d)",
}
#: A sum of weights is zero when it is smaller than its terms by this factor: they cancelled.
CANCELLED = 1e-12


@dataclass(frozen=True)
class Answers:
    """Answered comparisons, ready for `fit(answers.index, answers.y, answers.weight)`.

    Attributes
    ----------
    index : ndarray of shape (n_comparisons, 3) or (n_comparisons, 4)
        Triplets (anchor, near, far) or quadruplets (a, b, c, d), as they were asked.
    y : ndarray of shape (n_comparisons,)
        +1: the first distance is the smaller one, -1: the second one is.
    weight : ndarray of shape (n_comparisons,)
        How often that was the (net) answer; positive.
    n_objects : int
        Indices are below this.
    n_undecided : int
        Comparisons left out because their count was zero.
    """

    index: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_objects: int
    n_undecided: int = 0

    def __len__(self):
        return len(self.index)

    @property
    def ordered(self):
        """The index with the smaller distance first: what every y = +1 would say."""
        return put_nearer_first(self.index, self.y)


@dataclass(frozen=True)
class Contradictions:
    """How far comparisons speak against each other.

    Attributes
    ----------
    n_comparisons : int
        Comparisons whose question was also answered the other way.
    n_questions : int
        Questions answered both ways.
    cancelled : float
        The weight that disappears when the answers to each question are summed.
    """

    n_comparisons: int
    n_questions: int
    cancelled: float


def merge_comparisons(index, y=None, weight=None):
    """One comparison for each question, with the net weight of all its answers.

    (a, b, c) with y = -1 answers the same question as (a, c, b) with y = +1, and so do quadruplets
    with a and b, c and d, or the two pairs exchanged. A question keeps the place and the order of
    its first row, so that comparisons without repetition come back as they are.

    Parameters
    ----------
    index : array-like of shape (n_comparisons, 3) or (n_comparisons, 4)
    y : array-like of shape (n_comparisons,), optional
    weight : array-like of shape (n_comparisons,), optional

    Returns
    -------
    Answers
        Without the questions whose answers cancel exactly; `n_undecided` says how many.

    Examples
    --------
    >>> from frobmetric.comparisons.encoding import merge_comparisons
    >>> merged = merge_comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 2], [3, 0, 1], [3, 1, 0]])
    >>> merged.index.tolist(), merged.weight.tolist(), merged.n_undecided
    ([[0, 1, 2]], [1.0], 1)
    """
    index, y, weight = as_comparisons(index, y, weight)
    question, sign = as_questions(index, y)
    first, label = equal_rows(question)
    total = np.bincount(label, weight)
    net = np.bincount(label, weight * sign)
    net[np.abs(net) <= CANCELLED * total] = 0
    kept = net != 0
    as_asked = (y * sign)[first]
    return Answers(
        index[first[kept]],
        (np.sign(net) * as_asked)[kept].astype(np.intp),
        np.abs(net[kept]),
        int(index.max()) + 1,
        int(np.count_nonzero((total > 0) & ~kept)),
    )


def count_contradictions(index, y=None, weight=None):
    """How many comparisons have a question that was also answered the other way.

    Parameters
    ----------
    index : array-like of shape (n_comparisons, 3) or (n_comparisons, 4)
    y : array-like of shape (n_comparisons,), optional
    weight : array-like of shape (n_comparisons,), optional
        A comparison of weight zero says nothing and contradicts nothing.

    Returns
    -------
    Contradictions

    Examples
    --------
    >>> from frobmetric.comparisons.encoding import count_contradictions
    >>> count_contradictions([[0, 1, 2], [0, 2, 1], [0, 1, 2], [3, 0, 1]])
    Contradictions(n_comparisons=3, n_questions=1, cancelled=2.0)
    """
    return contradictions(*as_comparisons(index, y, weight))


def contradictions(index, y, weight):
    """`count_contradictions` of what was checked, pairs that are similar or not included."""
    label, yes, no = _votes(index, y, weight)
    is_split = (yes > 0) & (no > 0)
    return Contradictions(
        int(np.count_nonzero(is_split[label] & (weight > 0))),
        int(np.count_nonzero(is_split)),
        float(2 * np.minimum(yes, no).sum()),
    )


def is_contested(index, y, weight):
    """Of checked comparisons or pairs: whether each was also answered the other way."""
    label, yes, no = _votes(index, y, weight)
    return ((yes > 0) & (no > 0))[label]


def as_index(tuples, widths=(3, 4), name="tuples"):
    """Rows of object numbers, checked, as an array of shape (n_tuples, one of the widths)."""
    index = np.asarray(tuples)
    if index.ndim == 3:
        raise ValueError(
            f"{name} has shape {index.shape}, that of formed tuples; give indices of shape "
            "(n_tuples, size), because objects are told apart by them"
        )
    if index.ndim != 2 or index.shape[1] not in widths:
        kinds = "; ".join(KINDS[width] for width in widths)
        sizes = " or ".join(str(width) for width in widths)
        raise ValueError(
            f"{name} has shape {index.shape}; expected (n_tuples, {sizes}), rows of {kinds}"
        )
    if len(index) == 0:
        raise ValueError(f"{name} is empty; give at least one row")
    if not np.issubdtype(index.dtype, np.integer):
        raise TypeError(f"{name} has dtype {index.dtype}; expected integers, the object numbers")
    if index.min() < 0:
        row = np.flatnonzero((index < 0).any(axis=1))[0]
        raise ValueError(f"{named_row(index, row, name)} is negative; objects count from 0")
    return index.astype(np.intp)


def as_signs(y, n, name="y", meaning="the first distance is smaller"):
    """y as +1, which means that, and -1; all +1 if it is None."""
    if y is None:
        return np.ones(n, dtype=np.intp)
    y = as_column(y, n, name)
    bad = np.arange(n) if y.dtype == bool else np.flatnonzero(~np.isin(y, [-1, 1]))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}] = {y[bad[0]]}; expected +1 ({meaning}) or -1; of booleans, "
            f"np.where({name}, 1, -1) makes them"
        )
    return y.astype(np.intp)


def as_weights(weight, n, name="weight"):
    """Weights as floats, one for each comparison; all 1 if it is None."""
    if weight is None:
        return np.ones(n)
    weight = as_column(weight, n, name)
    if weight.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {weight.dtype}; expected one number for each comparison")
    weight = weight.astype(np.float64)
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] = {weight[bad[0]]} must be non-negative and finite")
    if not weight.any():
        raise ValueError(f"{name} is zero for every comparison; give at least one a weight")
    return weight


def as_comparisons(index, y=None, weight=None):
    """Triplets or quadruplets with their signs and weights, checked."""
    index = as_index(index, name="index")
    check_distances(index, name="index")
    return index, as_signs(y, len(index)), as_weights(weight, len(index))


def as_questions(index, y):
    """Each comparison as its question in a standard order, and y for that order."""
    left, right = _two_pairs(index)
    left, right = np.sort(left, axis=1), np.sort(right, axis=1)
    is_swapped = (left[:, 0] > right[:, 0]) | (
        (left[:, 0] == right[:, 0]) & (left[:, 1] > right[:, 1])
    )
    question = np.hstack([left, right])
    question[is_swapped] = question[is_swapped][:, [2, 3, 0, 1]]
    return question, np.where(is_swapped, -y, y)


def equal_rows(rows):
    """The first of each kind of row, in order, and for each row the number of its kind."""
    _, values = np.unique(rows, return_inverse=True)
    values = values.reshape(rows.shape)
    label, span = np.zeros(len(rows), dtype=np.intp), values.max(initial=0) + 1
    for column in values.T:
        _, first, label = np.unique(label * span + column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[label]


def check_distances(index, rows=True, name="index"):
    """No row, of those asked for, compares an object with itself or a distance with itself."""
    left, right = _two_pairs(index)
    is_zero = (left[:, 0] == left[:, 1]) | (right[:, 0] == right[:, 1])
    _refuse(index, is_zero & rows, "compares an object with itself", name)
    _refuse(index, _is_same(left, right) & rows, "compares a distance with itself", name)


def check_different(index, name="index"):
    """No row compares two distances that are equal under every metric."""
    left, right = _two_pairs(index)
    both_zero = (left[:, 0] == left[:, 1]) & (right[:, 0] == right[:, 1])
    is_same = np.flatnonzero(_is_same(left, right) | both_zero)
    if len(is_same):
        raise ValueError(
            f"{name}[{is_same[0]}] compares two distances that are equal by construction: its "
            "points are equal; remove it: no metric can change it"
        )


def check_pairs(index, name="pairs"):
    """No row is a pair of an object with itself."""
    _refuse(index, index[:, 0] == index[:, 1], "is a pair of an object with itself", name)


def put_nearer_first(index, y):
    """The rows that say with y = +1 what these say with their y."""
    other = [2, 3, 0, 1] if index.shape[1] == 4 else [0, 2, 1]
    return np.where((y > 0)[:, None], index, index[:, other])


def named_row(index, row, name):
    return f"{name}[{row}] = {tuple(index[row].tolist())}"


def as_column(values, n, name):
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(
            f"{name} has shape {values.shape}; there are {n} comparisons, so expected ({n},)"
        )
    return values


def _votes(index, y, weight):
    """The question of each row, and the weight of either answer to each question."""
    question, sign = (np.sort(index, axis=1), y) if index.shape[1] == 2 else as_questions(index, y)
    _, label = equal_rows(question)
    return label, *(np.bincount(label, weight * (sign == s)) for s in (1, -1))


def _is_same(left, right):
    return (np.sort(left, axis=1) == np.sort(right, axis=1)).all(axis=1)


def _refuse(index, bad, reason, name):
    found = np.flatnonzero(bad)
    if len(found):
        raise ValueError(
            f"{named_row(index, found[0], name)} {reason}; remove it: no metric can change it"
        )


def _two_pairs(index):
    """The pairs whose distances are compared, of triplets or quadruplets."""
    second = [2, 3] if index.shape[1] == 4 else [0, 2]
    return index[:, :2], index[:, second]
