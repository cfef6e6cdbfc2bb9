"""Protocol of feedback, counts of its cleaning, and what several kinds of feedback share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from sklearn.utils.random import sample_without_replacement

from ...checks.arguments import check_count
from ...checks.samples import check_random_state
from ...core.checks import as_array, read_values
from ...evaluation.ranking import check_metric, comparable
from ...model.distances import unit_rows

#: Largest number of comparisons, unless another is asked for.
MAX_ROWS = 100_000


class TooFewExamplesError(ValueError):
    """Feedback that is not enough to learn from, or to hold out a part of it.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import Labels, TooFewExamplesError
    >>> try:
    ...     Labels([0, 0, 1, 1]).folds(np.eye(4), n_folds=5)
    ... except TooFewExamplesError as error:
    ...     print(str(error).partition(",")[0])
    4 different samples of classes with at least two can be held out
    """


class Feedback(Protocol):
    """Examples of what should be near what, on the rows of an array X.

    Row numbers always refer to all of X, and of `queries` where the feedback has its own: a part
    for training or one that is held out has fewer examples, and the same numbers.

    Attributes
    ----------
    measure : str
        Default measure of `scores`.
    unit : str
        What is held out, in the plural: "samples", "objects", "queries".
    queries : ndarray of shape (n_queries, n_features) or None
        Vectors of queries; None if the anchors are rows of X.
    design_effect : float
        Factor by which the variance of a mean of `scores` exceeds that of independent units.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import Labels
    >>> from frobmetric.embeddings.feedback.base import Feedback
    >>> feedback: Feedback = Labels([0, 0, 1])
    >>> feedback.measure, feedback.unit, feedback.queries
    ('precision@3', 'samples', None)
    >>> X = np.array([[0.0], [0.1], [1.0]])
    >>> feedback.comparisons(X, X)[0].tolist()
    [[0, 1, 0, 2], [1, 0, 1, 2]]
    """

    @property
    def measure(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def queries(self) -> np.ndarray | None: ...
    @property
    def design_effect(self) -> float: ...

    def cleaned(self, X: Any) -> tuple[Self, Cleaning]:
        """Return the feedback without examples that say nothing, and what was removed."""

    def drawn(self, max_units: int, random_state: Any = None) -> Self:
        """Return feedback on at most this many units, where scores of all would be costly."""

    def folds(self, X: Any, n_folds: int = 5, random_state: Any = None) -> list[tuple[Self, Self]]:
        """Return pairs of a training part and a held-out part that share no unit."""

    def comparisons(
        self,
        A: np.ndarray,
        B: np.ndarray,
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        metric: str = "euclidean",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows (a, b, c, d), a and b are closer than c and d, and their weights.

        a and c are rows of the anchors A, b and d of the candidates B; both arrays hold current
        vectors, by which near examples are found where the feedback does not name them.
        """

    def scores(
        self, A: np.ndarray, B: np.ndarray, measure: Any = None, metric: str = "euclidean"
    ) -> np.ndarray:
        """Return one number for each unit, in a fixed order; their mean is the measure."""


@dataclass(frozen=True)
class Cleaning:
    """Count of the examples that were merged or dropped before learning.

    Attributes
    ----------
    of : str
        The examples, in the plural.
    n_given, n_kept : int
        Number of examples before and after.
    duplicates : int
        Examples that repeat another one; they are merged with it.
    contradictions : int
        Examples outvoted by others on the same question, or undecided.
    equal_points : int
        Examples that no map can change, because their vectors are equal.
    self_pairs : int
        Examples about an object and itself.
    ties : int
        Examples without a preference.
    incomplete : int
        Examples without a counterpart, such as a query without any relevant document.

    Examples
    --------
    >>> from frobmetric.embeddings.feedback.base import Cleaning
    >>> print(Cleaning("pairs", 1200, 1190, duplicates=7, self_pairs=3))
    1,200 pairs: 7 repeated (merged), 3 about an object and itself (dropped); 1,190 left
    """

    of: str
    n_given: int
    n_kept: int
    duplicates: int = 0
    contradictions: int = 0
    equal_points: int = 0
    self_pairs: int = 0
    ties: int = 0
    incomplete: int = 0

    def __str__(self) -> str:
        texts = {
            "duplicates": "repeated (merged)",
            "contradictions": "contradicted (dropped)",
            "equal_points": "about equal vectors (dropped)",
            "self_pairs": "about an object and itself (dropped)",
            "ties": "tied (dropped)",
            "incomplete": "without a counterpart (dropped)",
        }
        counts = {text: getattr(self, name) for name, text in texts.items()}
        removed = ", ".join(f"{count:,} {text}" for text, count in counts.items() if count)
        if not removed:
            return f"{self.n_given:,} {self.of}, none dropped"
        return f"{self.n_given:,} {self.of}: {removed}; {self.n_kept:,} left"

    def check(self) -> Self:
        """Return the counts, or raise an error if no example is left."""
        if not self.n_kept:
            raise TooFewExamplesError(
                f"{self}; give examples that a map of the vectors can satisfy"
            )
        return self


# Parts of feedback


def deal(group: np.ndarray, n_folds: int, random_state: Any, *, unit: str) -> np.ndarray:
    """Return the fold of each unit, at random; units of one group are in one fold."""
    names, number = np.unique(group, return_inverse=True)
    check_folds(len(names), n_folds, unit)
    order = check_random_state(random_state).permutation(len(names))
    return (order % n_folds)[number]


def check_folds(n_units: int, n_folds: int, unit: str) -> None:
    """Refuse more folds than units."""
    check_count(n_folds, name="n_folds", at_least=2)
    if n_units < n_folds:
        raise TooFewExamplesError(
            f"{n_units} different {unit} can be held out, fewer than n_folds={n_folds}; give more "
            "examples or ask for fewer folds"
        )


def choose_rows(n_rows: int, max_rows: int, random_state: Any) -> np.ndarray | slice:
    """Return at most `max_rows` of the rows, drawn at random and in order; a slice if all."""
    check_count(max_rows, name="max_rows")
    if n_rows <= max_rows:
        return slice(None)
    return np.sort(check_random_state(random_state).choice(n_rows, max_rows, replace=False))


def draw_ordered(
    value: np.ndarray, margin: float, max_rows: int, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return places (i, j) with value[i] > value[j] + margin: all, or some drawn at random."""
    check_count(max_rows, name="max_rows")
    order = np.argsort(value, kind="stable")
    sorted_value = value[order]
    start = np.searchsorted(sorted_value, sorted_value + margin, side="right")
    ends = np.cumsum(len(value) - start)
    n_all = int(ends[-1])
    chosen = np.arange(min(n_all, max_rows))
    if n_all > max_rows:
        chosen = np.sort(sample_without_replacement(n_all, max_rows, random_state=random_state))
    lower = np.searchsorted(ends, chosen, side="right")
    return order[len(value) - (ends[lower] - chosen)], order[lower]


def as_vectors(X: Any) -> np.ndarray:
    """Return rows of finite numbers as an array; single precision stays."""
    X = read_values(X, name="vectors")
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise ValueError(
            f"vectors have shape {X.shape} and dtype {X.dtype}; expected numbers of shape "
            "(n_samples, n_features), at least one of each"
        )
    X = X if X.dtype == np.float32 else as_array(X, name="vectors")
    if not np.isfinite(X).all():
        raise ValueError("vectors contain NaN or infinity; leave such rows out")
    return X


def check_rows(X: Any, largest: int, what: str) -> np.ndarray:
    """Return vectors as an array; refuse feedback on rows that are not there."""
    X = as_vectors(X)
    if largest >= len(X):
        raise ValueError(
            f"the {what} has row {largest}, but there are {len(X)} vectors, numbered from 0 to "
            f"{len(X) - 1}; give the vectors that the {what} is about"
        )
    return X


def for_mining(A: np.ndarray, B: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors whose Euclidean neighbours are wanted, centred and scaled.

    They are brought to unit length before unless the metric is Euclidean.
    """
    check_metric(metric)
    if metric != "euclidean":
        A, B = unit_rows(A), unit_rows(B)
    return comparable(A, B, "euclidean")[:2]


def equal_weight(query: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return weights whose sum is the same for each query, and whose mean is 1."""
    _, number = np.unique(query, return_inverse=True)
    total = np.bincount(number, weight)
    return weight * (len(weight) / len(total) / total[number])


def majority(
    question: np.ndarray, vote: np.ndarray, *, of: str, n_self: int, n_equal: int
) -> tuple[np.ndarray, np.ndarray, Cleaning]:
    """Return the distinct questions that a majority of votes answers, and their net votes.

    A vote is positive or negative, with its weight as its size. `n_self` and `n_equal` examples
    were dropped before, for the counts.
    """
    question, group = np.unique(question, axis=0, return_inverse=True)
    group = group.ravel()
    net = np.bincount(group, vote, minlength=len(question))
    n_won, n_kept = int((vote * net[group] > 0).sum()), int((net != 0).sum())
    cleaning = Cleaning(
        of,
        len(vote) + n_self + n_equal,
        n_kept,
        duplicates=n_won - n_kept,
        contradictions=len(vote) - n_won,
        self_pairs=n_self,
        equal_points=n_equal,
    )
    return question[net != 0], net[net != 0], cleaning.check()
