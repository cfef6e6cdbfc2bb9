"""Choice of a strength on held-out objects, and the gain that it brings with a paired interval."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..checks.parameters import InvalidParameterError
from ..core.checks import as_array
from ..core.points import Array, Vector
from ..evaluation.paired import PairedDifference, paired_scores
from .feedback.base import Feedback, TooFewExamplesError
from .path import SIMILARITY, MapLearner

#: Strengths to choose from; 0, the unchanged embedding, is always one of them.
STRENGTHS = (30.0, 100.0, 300.0, 1e3, 3e3)
#: Relative gap at which the solves of the choice end.
CHOICE_TOL = 1e-2
#: Largest number of comparisons that the maps of the choice are learned from.
CHOICE_ROWS = 30_000
#: Largest numbers of leading directions that they are learned in, and of units that are held out.
CHOICE_DIRECTIONS, CHOICE_UNITS = 256, 4000
#: Numbers of standard errors by which the best strength may be ahead of the one that is chosen; the
#: second is tried if the first shows no gain.
LENIENCES = (1.0, 0.0)
#: Fewest held-out units by which a gain can be claimed.
FEWEST_UNITS = 10


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of held-out units at several strengths, the first of which is 0.

    Attributes
    ----------
    strengths : tuple of float
        Strengths in ascending order.
    folds : tuple of ndarray of shape (n_units, n_strengths)
        Scores of the units of each fold.
    design_effect : float
        Factor of the variance of a mean of scores, as in `Feedback`.
    """

    strengths: tuple[float, ...]
    folds: tuple[Array, ...]
    design_effect: float = 1.0

    @property
    def means(self) -> Vector:
        """Mean score at each strength, over the units of all folds."""
        return np.vstack(self.folds).mean(axis=0)

    def best(self, *, lenience: float = 0.0, without: int | None = None) -> int:
        """Return the place of the smallest strength that is about as good as the best one.

        The best one has the highest mean. It may be ahead by `lenience` standard errors of the
        paired differences: smaller strengths change less of what was not asked for. The fold with
        the number `without` does not count.
        """
        scores = np.vstack([part for number, part in enumerate(self.folds) if number != without])
        if len(scores) < 2:
            return 0
        behind = scores[:, [np.argmax(scores.mean(axis=0))]] - scores
        allowed = lenience * behind.std(axis=0, ddof=1) * np.sqrt(self.design_effect / len(scores))
        return int(np.argmax(behind.mean(axis=0) <= allowed))

    def choose(self, *, confidence: float = 0.95) -> tuple[float, PairedDifference]:
        """Return the chosen strength, 0 if there is no significant gain, and the gain.

        There are at most two tests, one for each of `LENIENCES`. So the rate of wrong claims is at
        most 1 - confidence, although each test, of two sides, has half of that.
        """
        for lenience in LENIENCES:
            gain = self.gain(lenience=lenience, confidence=confidence)
            if gain.verdict == "helped":
                return self.strengths[self.best(lenience=lenience)], gain
        return 0.0, gain

    def gain(self, *, lenience: float = 0.0, confidence: float = 0.95) -> PairedDifference:
        """Return the gain of the whole procedure: each fold at the strength that others choose."""
        chosen = [self.best(lenience=lenience, without=i) for i in range(len(self.folds))]
        after = [scores[:, place] for scores, place in zip(self.folds, chosen, strict=True)]
        before = [scores[:, 0] for scores in self.folds]
        options = {"confidence": confidence, "design_effect": self.design_effect}
        return paired_scores(np.concatenate(before), np.concatenate(after), **options)


def as_strengths(strengths: Any) -> list[float]:
    """Return strengths in ascending order without 0, the default ones if None is given."""
    values = as_array(STRENGTHS if strengths is None else strengths, name="strengths")
    if values.ndim != 1 or not ((values >= 0) & (values < np.inf)).all():
        raise InvalidParameterError(
            f"strengths={strengths!r}; expected finite numbers of at least 0"
        )
    return [float(C) for C in np.unique(values) if C > 0]


def measure_strengths(
    learner: MapLearner,
    feedback: Feedback,
    X: Array,
    strengths: Sequence[float],
    *,
    n_folds: int = 5,
    measure: Any = None,
    tol: float = CHOICE_TOL,
    max_rows: int = CHOICE_ROWS,
    listener: Callable[[str], object] | None = None,
) -> HeldOutScores:
    """Score held-out units with maps that are learned from the others.

    Parameters
    ----------
    learner : MapLearner
    feedback : Feedback
    X : ndarray of shape (n_samples, n_features)
        Vectors, as the learner takes them.
    strengths : sequence of float
        Positive strengths in ascending order.
    n_folds : int, default=5
        Number of folds.
    measure : str, default=None
        Measure of the scores; None is that of the feedback.
    tol : float, default=1e-2
        Relative gap at which solves end.
    max_rows : int, default=30000
        Largest number of comparisons that a map is learned from.
    listener : callable, default=None
        Called with a line of text after each fold.

    Returns
    -------
    HeldOutScores

    Raises
    ------
    TooFewExamplesError
        If the folds have too few examples to learn from, or too few units to tell a gain.
    """
    options: Any = {
        "tol": tol,
        "max_rows": max_rows,
        "basis": learner.leading_directions(X, CHOICE_DIRECTIONS),
    }
    folds, feedback = [], feedback.drawn(CHOICE_UNITS, learner.random_state)
    metric = SIMILARITY[learner.unit_length]
    parts = feedback.folds(X, n_folds, learner.random_state)
    for number, (training, held_out) in enumerate(parts):
        A = learner.anchors(held_out, X)
        columns = [held_out.scores(A, X, measure, metric=metric)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of the choice, not the answer
            for learned in learner.path(training, X, strengths, **options):
                mapped = learner.mapped(learned, A, X)
                columns.append(held_out.scores(*mapped, measure, metric=metric))
        folds.append(np.column_stack(columns))
        if listener is not None:
            listener(f"fold {number + 1} of {n_folds}: {len(folds[-1])} {feedback.unit}")
    n_units = sum(map(len, folds))
    if n_units < FEWEST_UNITS:
        raise TooFewExamplesError(
            f"{n_units} {feedback.unit} can be held out; a gain is told by at least {FEWEST_UNITS}"
        )
    return HeldOutScores((0.0, *strengths), tuple(folds), feedback.design_effect)
