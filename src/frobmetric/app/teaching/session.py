"""A session of teaching: items, answers, the metric learned from them, and the next question."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ...evaluation import comparison_accuracy
from ...evaluation.accuracy import Accuracy
from ...learning.units import measure_units
from ...metric import TripletFrobMetric
from ...model.linear_map import Features, LinearMap
from ...model.units import Units
from ...search.rows import distinct_points
from .questions import N_CANDIDATES, N_TARGETS, QuestionSpace, draw_questions, question_keys

#: Items of a question (anchor, left, right), or of an answer (anchor, near, far).
Question = tuple[int, int, int]
#: Largest number of leading directions of the items in which the metric is learned.
MOST_DIRECTIONS = 20
#: Each question of this number is drawn at random, to measure the agreement.
CHECK = 5
#: Number of parts of the checks; each part is predicted by a metric that did not see it.
FOLDS = 4
#: Number of checks from which on their agreement is shown.
ENOUGH_CHECKS = 5
#: Number of last answers, and the share of predictions that they may change when all is learned.
LAST, STABLE = 20, 0.03
#: Largest numbers of points of the curve, and of metrics that are kept for undo.
MOST_POINTS, MOST_KEPT = 16, 50
#: Directions in which items vary less than this, relative to the largest, are rounding.
RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Space:
    """Coordinates Z of the items in which a metric is learned, and the way back to features."""

    Z: np.ndarray
    basis: np.ndarray
    units: Units
    kinds: np.ndarray

    @classmethod
    def of(cls, X: ArrayLike, units: str = "raw", most: int = MOST_DIRECTIONS) -> Self:
        """Return the leading directions of items, of mean square one."""
        points, kinds = distinct_points(np.asarray(X, dtype=np.float64))
        if len(points) < 3:
            raise ValueError(
                f"there are {len(kinds)} items, {len(points)} of them different; a question needs "
                "three different items: give more"
            )
        measured = measure_units(units, X)
        scaled = measured.scaled(X)
        centred = scaled - scaled.mean(axis=0)
        left, sizes, right = np.linalg.svd(centred, full_matrices=False)
        rank = min(most, int(np.sum(sizes > RANK * sizes[0])))
        scale = np.sqrt(np.mean(np.sum(centred**2, axis=1)))
        basis = right[:rank].T / scale
        return cls(left[:, :rank] * (sizes[:rank] / scale), basis, measured, kinds)

    def to_features(self, learned: LinearMap, names: Sequence[str] | None = None) -> LinearMap:
        """Return a map of the coordinates as the same map of the features.

        The certificate remains the certificate of the problem in these coordinates.
        """
        of_names = None if names is None else np.asarray(names, dtype=object)
        return replace(
            learned,
            components=self.units.to_raw(self.basis @ learned.components.T).T,
            features=Features(len(self.basis), of_names),
            space=replace(learned.problem[1], units=self.units),
        )


@dataclass(frozen=True)
class State:
    """Answers (anchor, near, far), keys of skipped questions, and the question (a, left, right).

    The question is None if all were asked. Everything else follows from the answers.
    """

    answers: tuple[Question, ...] = ()
    skipped: frozenset[int] = frozenset()
    question: Question | None = None


@dataclass(frozen=True)
class Progress:
    """Progress of a session.

    Attributes
    ----------
    agreement, euclid : Accuracy, or None with few checks
        Agreement with the checks, of metrics that did not see them and of plain distances.
    changed : float, or None with few answers
        Share of predictions that the last answers changed.
    history : tuple of (number of answers, agreement)
    """

    agreement: Accuracy | None = None
    euclid: Accuracy | None = None
    changed: float | None = None
    history: tuple[tuple[int, float], ...] = ()

    @property
    def has_settled(self) -> bool:
        """Whether more answers are unlikely to help."""
        return self.changed is not None and self.changed <= STABLE


class TeachingSession:
    """Learn a metric from answers to questions "which of these two is more like this one?".

    Every fifth question is drawn at random and serves as a check; the others are those whose
    answers are expected to tell most. All answers are learned from; the agreement with the checks
    is measured with metrics that were learned without them.

    Parameters
    ----------
    X : array-like of shape (n_items, n_features)
    answers : sequence of (anchor, near, far)
        Answers to go on from, as an earlier session left them.
    C : float, default=30
        Weight of the answers against plain distances.
    units : {"raw", "deviation"}, default="raw"
        Whether features are divided by their deviations.
    feature_names : sequence of str, optional
    seed : int, default=0

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.app.teaching import TeachingSession
    >>> X = np.random.default_rng(0).normal(size=(12, 3))
    >>> session = TeachingSession(X)
    >>> for _ in range(10):
    ...     anchor, left, right = session.question
    ...     session.answer(abs(X[anchor, 0] - X[left, 0]) < abs(X[anchor, 0] - X[right, 0]))
    >>> len(session.answers), session.model().n_triplets_
    (10, 10)
    """

    def __init__(
        self,
        X: ArrayLike,
        answers: ArrayLike = (),
        *,
        C: float = 30.0,
        units: str = "raw",
        feature_names: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        self.space = Space.of(X, units)
        self.C, self.seed, self.feature_names = C, seed, feature_names
        self.n_items = len(self.space.kinds)
        rng = np.random.default_rng([seed, 0])
        self._targets = draw_questions(rng, self.space.kinds, N_TARGETS)
        self._questions = QuestionSpace.of(self.space.Z, self._targets)
        self._target_rows = self._questions.rows(self._targets)
        self._metrics: dict[tuple[Question, ...], TripletFrobMetric] = {}
        self._agreements: dict[tuple[Question, ...], Accuracy] = {}
        self._states = [self._after(self._checked(answers))]

    @property
    def state(self) -> State:
        """The current state."""
        return self._states[-1]

    @property
    def question(self) -> Question | None:
        """The current question (anchor, left, right); None if all were asked."""
        return self.state.question

    @property
    def answers(self) -> tuple[Question, ...]:
        """Answers so far, each (anchor, near, far)."""
        return self.state.answers

    def answer(self, is_left: bool) -> None:
        """Learn from the answer to the current question: left or right is more like the anchor."""
        anchor, left, right = self._current()
        new = (anchor, left, right) if is_left else (anchor, right, left)
        self._states.append(self._after((*self.answers, new), self.state.skipped))

    def skip(self) -> None:
        """Ask another question in place of the current one."""
        key = int(question_keys(self._current(), self.n_items)[0])
        self._states.append(self._after(self.answers, self.state.skipped | {key}))

    @property
    def can_undo(self) -> bool:
        """Whether there is an answer or a skip to take back."""
        return len(self._states) > 1 or bool(self.answers)

    def undo(self) -> None:
        """Return to the state before the last answer or skip, if there was one."""
        if len(self._states) > 1:
            self._states.pop()
        elif self.answers:
            *before, last = self.answers  # an answer of an earlier session is asked again
            self._states = [replace(self._after(tuple(before)), question=last)]

    def model(self) -> TripletFrobMetric:
        """Return the metric of the features; raise ValueError without answers."""
        if not self.answers:
            raise ValueError("there is no answer to learn from yet")
        metric = copy(self._metric(self.answers))
        metric.map_ = self.space.to_features(metric.map_, self.feature_names)
        return metric

    def progress(self) -> Progress:
        """Return the `Progress` so far, a function of the answers alone."""
        n = len(self.answers)
        step = CHECK
        while n > step * MOST_POINTS:
            step *= 2  # so that points that were measured before serve again
        numbers = [m for m in range(step, n + 1, step) if m >= CHECK * ENOUGH_CHECKS]
        history = tuple((m, self._agreement(self.answers[:m]).value) for m in numbers)
        if n < CHECK * ENOUGH_CHECKS:
            return Progress(changed=self._changed())
        euclid = comparison_accuracy(margins(self.space.Z, self._checks(self.answers)))
        return Progress(self._agreement(self.answers), euclid, self._changed(), history)

    def _after(self, answers: tuple[Question, ...], skipped: frozenset[int] = frozenset()) -> State:
        """Return the state after these answers and skips, with its question."""
        state = State(answers, skipped)
        return replace(state, question=self._next(state))

    def _next(self, state: State) -> Question | None:
        """Return the next question; it depends on answers and skips alone."""
        rng = np.random.default_rng([self.seed, 1, len(state.answers), len(state.skipped)])
        drawn = draw_questions(rng, self.space.kinds, N_CANDIDATES)
        keys = question_keys(drawn, self.n_items)
        known = question_keys(state.answers, self.n_items)
        drawn = drawn[~np.isin(keys, [*known, *state.skipped])]
        if not len(drawn):
            return None
        best = 0
        if len(state.answers) % CHECK != CHECK - 1:
            rows = self._questions.rows(drawn)
            posterior = self._questions.posterior(state.answers)
            best = int(np.argmax(posterior.value(rows, self._target_rows)))
        return tuple(drawn[best].tolist())

    def _current(self) -> Question:
        if self.question is None:
            raise ValueError("all questions about these items were asked; there is none to answer")
        return self.question

    def _checked(self, answers: ArrayLike) -> tuple[Question, ...]:
        """Return given answers as tuples; raise ValueError if they are not of these items."""
        rows: list[list[int]] = np.asarray(answers, dtype=np.intp).reshape(-1, 3).tolist()
        for i, row in enumerate(rows):
            if min(row) < 0 or max(row) >= self.n_items:
                raise ValueError(
                    f"answer {i} is {tuple(row)}; expected numbers of the {self.n_items} items: "
                    "the answers are of other items"
                )
            if len(set(self.space.kinds[row].tolist())) < 3:
                raise ValueError(f"answer {i} is {tuple(row)}, of items that do not all differ")
        return tuple((anchor, near, far) for anchor, near, far in rows)

    # Learning

    def _metric(self, answers: tuple[Question, ...]) -> TripletFrobMetric:
        """Return the metric of the coordinates that is learned from answers; keep some."""
        if answers not in self._metrics:
            index = np.array(answers)
            size = np.sqrt(self._questions.sizes(index))[:, None, None]
            # as in the choice of questions, a difference counts relative to the distances
            metric = TripletFrobMetric(prior="identity", C=self.C)
            self._metrics[answers] = metric.fit(self.space.Z[index] / size)
            while len(self._metrics) > MOST_KEPT:
                del self._metrics[next(iter(self._metrics))]
        return self._metrics[answers]

    def _checks(self, answers: tuple[Question, ...]) -> np.ndarray:
        return np.array(answers[CHECK - 1 :: CHECK])

    def _agreement(self, answers: tuple[Question, ...]) -> Accuracy:
        """Return the agreement with the checks, of metrics that were learned without them."""
        checks = np.arange(CHECK - 1, len(answers), CHECK)
        # answers since the last check do not change what is measured much, and wait for the next
        known = answers[: checks[-1] + 1]
        if known not in self._agreements:
            right = np.empty(len(checks))
            for fold in range(FOLDS):
                part = checks[fold::FOLDS]
                left_out = set(part.tolist())
                others = (answer for i, answer in enumerate(known) if i not in left_out)
                metric = self._metric(tuple(others))
                points = metric.transform(self.space.Z)
                right[fold::FOLDS] = margins(points, np.array(known)[part])
            self._agreements[known] = comparison_accuracy(right)
        return self._agreements[known]

    def _changed(self) -> float | None:
        """Return the share of predictions that the last answers changed."""
        if len(self.answers) <= LAST:
            return None
        before, now = (
            margins(self._metric(answers).transform(self.space.Z), self._targets) > 0
            for answers in (self.answers[:-LAST], self.answers)
        )
        return float(np.mean(before != now))


def margins(points: np.ndarray, triplets: ArrayLike) -> np.ndarray:
    """Return d^2(first, third) - d^2(first, second) of each triplet of points."""
    anchor, near, far = (points[column] for column in np.asarray(triplets).T)
    return np.sum((anchor - far) ** 2, axis=1) - np.sum((anchor - near) ** 2, axis=1)
