"""Stored vectors with labels, moved towards their class by a share that is chosen on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks.parameters import InvalidParameterError
from ..checks.samples import check_array
from ..core.checks import as_array
from ..core.points import Array
from ..runtime.environment import limit_threads
from .abilities import require_adapter
from .choice import CHOICE_DIRECTIONS, CHOICE_ROWS, CHOICE_TOL, CHOICE_UNITS, HeldOutScores
from .feedback.base import TooFewExamplesError
from .feedback.labels import Labels
from .path import SIMILARITY, MapLearner
from .report import AdapterReport

#: Shares of the way to the mean of the class to choose from; 0 is always one of them.
SHARES = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75)


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Vectors for an index, to be searched by `transform_query` of the adapter.

    Attributes
    ----------
    vectors : ndarray of shape (n_samples, n_components)
        Mapped vectors, moved towards the mean of their class.
    share : float
        Share of the way; 0 if no gain was found on held-out samples.
    report : AdapterReport
        Gain over the mapped vectors that are not moved, with the scores of all shares in place of
        strengths.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import EmbeddingAdapter
    >>> from frobmetric.embeddings import move_stored
    >>> y = np.arange(40) % 2
    >>> X = np.eye(4)[y] + 0.3 * np.random.default_rng(0).normal(size=(40, 4))
    >>> stored = move_stored(EmbeddingAdapter(strength=10.0, cv=2).fit(X, y), X, y, shares=[0.5])
    >>> stored.vectors.shape, stored.report.measure, stored.share in (0.0, 0.5)
    ((40, 4), 'accuracy', True)
    """

    vectors: Array
    share: float
    report: AdapterReport

    def __repr__(self) -> str:
        moved = f"{len(self.vectors)}, moved by {self.share:g}"
        return f"<StoredVectors: {moved}: {self.report.line()}>"


def move_stored(adapter: Any, X: Any, y: Any, *, shares: Sequence[float] = SHARES) -> StoredVectors:
    """Map labelled samples and move them towards their class, as far as held-out samples gain.

    A stored vector z of a class with the mean m becomes the minimum of
    (1 - share) |v - z|^2 + share |v - m|^2, which is v = (1 - share) z + share m, and so is moved
    by at most share |z - m|. At unit length m and v are scaled to it. Queries are not moved.

    The share is chosen as the strength of an adapter is: each fold of samples searches the others,
    moved towards means that it is no part of, under a map of the strength of the adapter that is
    learned without it. If no share gains, with an interval above zero, nothing is moved. Measured
    is the accuracy of the nearest neighbour.

    Parameters
    ----------
    adapter : EmbeddingAdapter
        Fitted, most often to the same samples.
    X : array-like of shape (n_samples, n_features)
        Samples to store.
    y : array-like of shape (n_samples,)
        Class labels.
    shares : sequence of float in (0, 1], default=(0.125, 0.25, 0.375, 0.5, 0.625, 0.75)
        Shares to choose from, besides 0.

    Returns
    -------
    StoredVectors

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import EmbeddingAdapter
    >>> from frobmetric.embeddings import move_stored
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 4
    >>> X = np.eye(8)[y] + 0.6 * rng.normal(size=(400, 8))
    >>> stored = move_stored(EmbeddingAdapter(strength=30.0).fit(X, y), X, y)
    >>> stored.share > 0
    True
    """
    require_adapter(adapter)
    values = np.unique(as_array(shares, name="shares")).tolist()
    if not values or not 0 < values[0] <= values[-1] <= 1:
        raise InvalidParameterError(f"shares={shares!r}; expected numbers above 0 and up to 1")
    vectors = check_array(X, dtype=[np.float64, np.float32])
    learner, feedback = adapter._learner(), Labels(y)
    with limit_threads(adapter.n_jobs):
        try:
            scores = _measure(learner, feedback, learner.vectors(vectors), adapter, values)
            options = {"confidence": adapter.confidence}
            report = AdapterReport.of(scores, "accuracy", feedback.unit, **options)
        except TooFewExamplesError as error:
            unit = feedback.unit
            report = AdapterReport(0.0, "accuracy", unit, adapter.cv, reason=str(error))
    mapped = np.asarray(adapter.transform(X))
    if report.strength:
        mapped = learner.vectors(feedback.toward_means(mapped, report.strength, learner.vectors))
    return StoredVectors(mapped, report.strength, report)


def _measure(
    learner: MapLearner, feedback: Labels, X: Array, adapter: Any, shares: Sequence[float]
) -> HeldOutScores:
    """Return the accuracy of held-out samples for each share, the first of which is 0."""
    feedback = feedback.cleaned(X)[0].drawn(CHOICE_UNITS, learner.random_state)
    options: Any = {"tol": CHOICE_TOL, "max_rows": CHOICE_ROWS}
    options["basis"] = learner.leading_directions(X, CHOICE_DIRECTIONS)
    metric, folds = SIMILARITY[learner.unit_length], []
    for training, held_out in feedback.folds(X, adapter.cv, learner.random_state):
        A = B = X
        if adapter.strength_:
            learned = next(learner.path(training, X, [adapter.strength_], **options))
            A, B = learner.mapped(learned, X, X)
        stored = [B, *(training.toward_means(B, share, learner.vectors) for share in shares)]
        columns = [held_out.scores(A, V, "accuracy", metric=metric) for V in stored]
        folds.append(np.column_stack(columns))
    return HeldOutScores((0.0, *shares), tuple(folds), feedback.design_effect)
