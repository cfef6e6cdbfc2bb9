"""Feedback by class labels: samples of one class should be near each other."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...checks.arguments import as_identities, check_count
from ...checks.samples import check_random_state, column_or_1d
from ...evaluation.ranking import Judged, Measure, SameLabel, best_documents, score_blocks
from ...learning.units import spread_rows
from ...search.rows import distinct_rows
from .base import (
    MAX_ROWS,
    Cleaning,
    TooFewExamplesError,
    as_vectors,
    check_folds,
    choose_rows,
    deal,
    equal_weight,
    for_mining,
)

#: Classes up to this size are mined completely: each sample with all others of its class.
SMALL_CLASS = 10
#: Numbers of near samples of the same class (in larger classes) and of other classes.
N_NEAR, N_FAR = 3, 10
#: Samples of each held-out class that are searched, and draws of them.
N_FEW, N_DRAWS = 5, 4


class Labels:
    """Feedback by class labels: samples of one class should be near each other.

    Samples are held out, in folds that are stratified by class and do not part equal vectors;
    classes with one sample stay in training. A held-out sample searches the training samples, and
    its score is by default the share of its own class among the three nearest. That is nearly as
    faithful to the accuracy of the nearest neighbour as this itself, and tells a gain from chance
    with fewer samples.

    A sample that another one finds searches that one too, in its own fold, so the scores of two
    neighbours are not independent. If a score is a sum over pairs of samples, each pair counts
    twice, and the variance of the mean is twice that of independent units: the `design_effect`.

    Comparisons join each sample with near samples of its class and of other classes. In classes of
    up to 10 samples all samples of the class are near. All anchors have the same weight.

    With `hold_out="classes"` whole classes are held out, for maps that are used on new classes with
    few labels. A sample of a held-out class then searches five samples of each of these classes, in
    four draws, and a unit is a class: its score is the mean of its samples. In comparisons, samples
    of the same class are then drawn at random: what joins a whole class carries over to other
    classes better than what joins neighbours.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any kind; no value is special.
    n_neighbors, n_impostors : int, optional
        Number of near samples of the same class and of other classes. Default: 3 (all in small
        classes), and 10.
    hold_out : {"samples", "classes"}, default="samples"
        What is held out to measure a gain.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.embeddings import Labels
    >>> X = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> feedback = Labels(["a", "a", "b", "b"], n_impostors=1)
    >>> feedback.comparisons(X, X)[0].tolist()
    [[0, 1, 0, 2], [1, 0, 1, 2], [2, 3, 2, 1], [3, 2, 3, 1]]
    >>> feedback.scores(X, X, "accuracy").tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    measure = "precision@3"
    queries = None
    design_effect = 2.0

    def __init__(
        self,
        y: ArrayLike,
        *,
        n_neighbors: int | None = None,
        n_impostors: int | None = None,
        hold_out: str = "samples",
    ) -> None:
        if not isinstance(hold_out, str) or hold_out not in ("samples", "classes"):
            raise ValueError(f"hold_out is {hold_out!r:.80}; expected 'samples' or 'classes'")
        labels = np.asarray(column_or_1d(y))
        if not len(labels):
            raise ValueError("y is empty; give a label for each sample")
        for name, value in (("n_neighbors", n_neighbors), ("n_impostors", n_impostors)):
            if value is not None:
                check_count(value, name=name)
        self.n_neighbors, self.n_impostors, self.unit = n_neighbors, n_impostors, hold_out
        self._label: np.ndarray = as_identities("y", labels, len(labels))[1]
        self._rows = np.arange(len(labels))
        self._references: tuple[np.ndarray, ...] = ()  # rows that are searched; none: all others

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        n_classes = len(np.unique(self._label[self._rows]))
        return f"Labels({len(self)} samples, {n_classes} classes)"

    def cleaned(self, X: Any) -> tuple[Self, Cleaning]:
        """Keep one sample of equal vectors, with their most frequent label if there is one."""
        X = self._check(X)
        _, kind = distinct_rows(X[self._rows])
        label = self._label[self._rows]
        votes = np.unique(np.column_stack([kind, label]), axis=0, return_inverse=True)
        cell, number = votes[0], votes[1].ravel()
        count = np.bincount(number)
        most = np.zeros(kind.max() + 1, dtype=np.intp)
        np.maximum.at(most, cell[:, 0], count)
        is_winner = count == most[cell[:, 0]]
        is_winner &= (np.bincount(cell[:, 0], is_winner) == 1)[cell[:, 0]]
        first = np.unique(number, return_index=True)[1]
        rows = np.sort(self._rows[first[is_winner]])
        n_won = int(count[is_winner].sum())
        n_given = len(self._rows)
        counts = {"duplicates": n_won - len(rows), "contradictions": n_given - n_won}
        cleaning = Cleaning("labels", n_given, len(rows), **counts).check()
        return self._part(rows), cleaning

    def drawn(self, max_units: int, random_state: Any = None) -> Self:
        """Return at most this many of the samples, in which the classes keep their shares."""
        check_count(max_units, name="max_units")
        if len(self) <= max_units:
            return self
        rows = check_random_state(random_state).permutation(self._rows)
        chosen = spread_rows(self._label[rows], max_units)
        return self._part(np.sort(rows[chosen]), *self._references)

    def folds(self, X: Any, n_folds: int = 5, random_state: Any = None) -> list[tuple[Self, Self]]:
        """Return pairs of training and held-out samples, stratified by class, or of classes."""
        X = self._check(X)
        if self.unit == "classes":
            return self._folds_of_classes(n_folds, random_state)
        first, kind = distinct_rows(X[self._rows])
        label = self._label[self._rows[first]]
        is_single = np.bincount(label)[label] == 1
        kinds = np.flatnonzero(~is_single)
        check_folds(len(kinds), n_folds, "samples of classes with at least two")
        kinds = check_random_state(random_state).permutation(kinds)
        kinds = kinds[np.argsort(label[kinds], kind="stable")]
        fold = np.full(len(first), -1)
        fold[kinds] = np.arange(len(kinds)) % n_folds
        parts = [fold[kind] == i for i in range(n_folds)]
        rows = [(self._rows[~part], self._rows[part]) for part in parts]
        return [(self._part(inside), self._part(out, inside)) for inside, out in rows]

    def _folds_of_classes(self, n_folds, random_state):
        label = self._label[self._rows]
        fold = deal(label, n_folds, random_state, unit=self.unit)
        rng = check_random_state(random_state)
        parts = [(self._rows[fold != i], self._rows[fold == i]) for i in range(n_folds)]
        return [
            (self._part(inside), self._part(out, *self._draw_few(out, rng)))
            for inside, out in parts
        ]

    def _draw_few(self, rows, rng):
        """Return draws of a few samples of each class."""
        for _ in range(N_DRAWS):
            drawn = rng.permutation(rows)
            drawn = drawn[np.argsort(self._label[drawn], kind="stable")]
            first = np.searchsorted(self._label[drawn], self._label[drawn])
            yield np.sort(drawn[np.arange(len(drawn)) - first < N_FEW])

    def comparisons(
        self,
        A: np.ndarray,
        B: np.ndarray,
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        metric: str = "euclidean",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each sample with near samples of its class and near samples of others.

        If there are more than `max_rows`, the anchors are some of the samples, drawn at random.
        """
        check_count(max_rows, name="max_rows")
        X = self._check(B)[self._rows]
        X = for_mining(X, X, metric)[1]
        label = self._label[self._rows]
        size = np.bincount(label)[label]
        if (size > 1).sum() == 0 or size[0] == len(label):
            raise TooFewExamplesError(
                f"{len(label)} samples of {len(np.unique(label))} classes; comparisons need two "
                "classes, one of them with two samples"
            )
        n_near = np.where(size > SMALL_CLASS, N_NEAR, size - 1)
        if self.n_neighbors is not None:  # no class has more; NumPy has no larger integers
            n_near = np.minimum(min(int(self.n_neighbors), len(label)), size - 1)
        n_far = min(self.n_impostors or N_FAR, max_rows)
        anchors = check_random_state(random_state).permutation(np.flatnonzero(size > 1))
        n_rows = np.cumsum(n_near[anchors]) * n_far
        anchors = np.sort(anchors[: max(1, np.searchsorted(n_rows, max_rows, side="right"))])
        draw = None if self.unit == "samples" else check_random_state(random_state)
        triplets = _mine_labels(X, label, anchors, n_near[anchors], n_far, draw)
        triplets = triplets[choose_rows(len(triplets), max_rows, random_state)]
        index = self._rows[triplets[:, [0, 1, 0, 2]]]
        return index, equal_weight(index[:, 0], np.ones(len(index)))

    def scores(
        self, A: np.ndarray, B: np.ndarray, measure: Any = None, metric: str = "euclidean"
    ) -> np.ndarray:
        """Return the measure of each sample; those alone in their class are left out."""
        measure = Measure.parse(self.measure if measure is None else measure)
        measure = Measure("precision", 1) if measure.kind == "accuracy" else measure
        A, B = self._check(A), self._check(B)
        references = self._references or (self._rows,)
        values = [self._search(A, B, rows, measure, metric) for rows in references]
        is_scored = ~np.isnan(values[0])
        value = np.mean(values, axis=0)[is_scored]
        if self.unit == "samples":
            return value
        _, number = np.unique(self._label[self._rows][is_scored], return_inverse=True)
        return np.bincount(number, value) / np.bincount(number)

    def _search(self, A, B, searched, measure, metric):
        """Return the measure of each sample in a search of some rows, never for itself."""
        place = np.minimum(np.searchsorted(searched, self._rows), len(searched) - 1)
        itself = np.where(searched[place] == self._rows, place, -1)
        judgements = SameLabel(self._label[self._rows], self._label[searched], itself)
        return Judged(A[self._rows], B[searched], judgements).evaluate(measure, metric)

    def _part(self, rows, *references):
        part = copy(self)
        part._rows, part._references = rows, references
        return part

    def toward_means(
        self, B: np.ndarray, share: float, scale: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Return vectors of which the samples are moved by a share of the way to their class.

        `scale` brings the means to the length of vectors.
        """
        _, number, size = np.unique(
            self._label[self._rows], return_inverse=True, return_counts=True
        )
        member = sp.csr_array((np.ones(len(number), B.dtype), (number, np.arange(len(number)))))
        mean = scale((member @ B[self._rows]) / size[:, None].astype(B.dtype))
        moved = B.copy()
        moved[self._rows] += B.dtype.type(share) * (mean[number] - B[self._rows])
        return moved

    def _check(self, X):
        X = as_vectors(X)
        if len(X) != len(self._label):
            raise ValueError(
                f"there are {len(self._label)} labels and {len(X)} vectors; give each a label"
            )
        return X


def _mine_labels(X, label, anchors, n_near, n_far, draw):
    """Return triplets of the anchors with near samples of the same and of other classes.

    If `draw` is a random state, samples of the same class are drawn at random.
    """
    X = X.astype(np.float32)
    near = np.full((len(anchors), n_near.max()), -1)
    far = np.full((len(anchors), n_far), -1)
    for name in np.unique(label[anchors]):
        places, members = np.flatnonzero(label[anchors] == name), np.flatnonzero(label == name)
        for part, score in score_blocks(X[anchors[places]], X[members]):
            score = score if draw is None else draw.random_sample(score.shape)
            score[anchors[places[part], None] == members] = -np.inf
            number = best_documents(score, near.shape[1])
            near[places[part]] = np.where(number < 0, -1, members[number])
    for part, score in score_blocks(X[anchors], X):
        score[label[anchors[part], None] == label] = -np.inf
        far[part] = best_documents(score, n_far)
    near[np.arange(near.shape[1]) >= n_near[:, None]] = -1
    row, i, j = np.nonzero((near[:, :, None] >= 0) & (far[:, None, :] >= 0))
    return np.column_stack([anchors[row], near[row, i], far[row, j]])
