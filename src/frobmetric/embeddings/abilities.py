"""Abilities that an adapter was not trained for: other tasks on the same vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..checks.samples import check_array
from ..core.checks import require_parts
from ..core.points import Array
from ..evaluation.paired import PairedDifference, paired_scores
from ..evaluation.report import Report
from ..model.distances import unit_rows
from .feedback.base import Feedback
from .feedback.labels import Labels
from .path import SIMILARITY


@dataclass(frozen=True, repr=False)
class AbilityReport(Report):
    """Scores of tasks before and after an adapter, each with a paired interval and a verdict.

    Attributes
    ----------
    gains : dict of str to PairedDifference
        Difference of each task; its `verdict` is "hurt" if the scores fell.
    measures : dict of str to str
        Measure of each task.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric import EmbeddingAdapter
    >>> from frobmetric.embeddings import check_abilities
    >>> y = np.arange(60) % 4
    >>> X = np.eye(8)[y] + 0.4 * np.random.default_rng(0).normal(size=(60, 8))
    >>> adapter = EmbeddingAdapter(strength=10.0).fit(X, y)
    >>> abilities = check_abilities(adapter, {"halves": (X, y % 2)})
    >>> abilities.measures, abilities.gains["halves"].verdict, abilities.hurt
    ({'halves': 'precision@3'}, 'unclear', [])
    """

    gains: dict[str, PairedDifference]
    measures: dict[str, str]

    header = ("task", "measure", "before -> after", "verdict")

    @property
    def hurt(self) -> list[str]:
        """Tasks whose scores fell, by an interval below zero."""
        return [name for name, gain in self.gains.items() if gain.verdict == "hurt"]

    def sentences(self) -> list[str]:
        """Return which tasks the adapter hurt."""
        state = f"{', '.join(self.hurt)} hurt" if self.hurt else "none hurt"
        return [f"{len(self.gains)} task{'s' * (len(self.gains) != 1)}: {state}."]

    def cells(self) -> list[tuple[str, ...]]:
        return [
            (name, self.measures[name], str(gain), gain.verdict)
            for name, gain in self.gains.items()
        ]

    def strong(self) -> list[int]:
        return [i for i, gain in enumerate(self.gains.values()) if gain.verdict == "hurt"]

    def __repr__(self) -> str:
        return f"<AbilityReport of {self.line()}>"


def check_abilities(adapter: Any, tasks: Mapping[str, tuple[Any, Any]]) -> AbilityReport:
    """Measure whether an adapter hurt tasks that it was not trained for.

    "unclear" says that the interval contains zero, not that nothing has changed: look at its width.

    Parameters
    ----------
    adapter : EmbeddingAdapter
        Fitted adapter.
    tasks : dict of str to (X, y)
        Vectors of the same encoder, and labels or feedback on them, by the name of the task.

    Returns
    -------
    AbilityReport

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from frobmetric import EmbeddingAdapter
    >>> from frobmetric.embeddings import check_abilities
    >>> X, y = load_digits(return_X_y=True)
    >>> adapter = EmbeddingAdapter(strength=100).fit(X[:300], y[:300] % 2)
    >>> check_abilities(adapter, {"digits": (X[300:600], y[300:600])}).hurt
    []
    """
    is_table = isinstance(tasks, Mapping) and all(
        isinstance(task, (tuple, list)) and len(task) == 2 for task in tasks.values()
    )
    if is_table and not tasks:
        raise ValueError("tasks is empty; give at least one, as {name: (X, y)}")
    if not is_table:
        raise ValueError(
            f"tasks is {tasks!r:.80}; expected at least one task, as {{name: (X, y)}}; give a dict"
        )
    require_adapter(adapter)
    gains, measures = {}, {}
    for name, (X, y) in tasks.items():
        gains[name], measures[name] = compare_task(adapter, X, y), as_feedback(y).measure
    return AbilityReport(gains, measures)


def require_adapter(adapter: Any) -> None:
    """Refuse what is no fitted adapter."""
    parts = ("unit_length", "transform", "transform_query")
    require_parts(adapter, parts, name="adapter", expected="a fitted EmbeddingAdapter")
    check_is_fitted(adapter)


def compare_task(adapter: Any, X: Any, y: Any) -> PairedDifference:
    """Return the scores of a task before and after an adapter."""
    feedback, metric = as_feedback(y), SIMILARITY[adapter.map_.features.unit_length]
    before, after = (
        feedback.scores(*vectors, None, metric)
        for vectors in (
            unchanged_vectors(adapter, feedback, X),
            mapped_vectors(adapter, feedback, X),
        )
    )
    options = {
        "confidence": adapter.map_.details["confidence"],
        "design_effect": feedback.design_effect,
    }
    return paired_scores(before, after, **options)


def as_feedback(y: Any) -> Feedback:
    """Return feedback as it is, and labels as feedback."""
    return y if hasattr(y, "comparisons") else Labels(y)


def mapped_vectors(adapter: Any, feedback: Feedback, X: Any) -> tuple[Array, Array]:
    """Return the anchors and candidates of a feedback, mapped by an adapter."""
    queries = X if feedback.queries is None else feedback.queries
    return adapter.transform_query(queries), adapter.transform(X)


def unchanged_vectors(adapter: Any, feedback: Feedback, X: Any) -> tuple[Array, Array]:
    """Return the anchors and candidates of a feedback as an adapter takes them."""
    check_is_fitted(adapter)
    both = (X if feedback.queries is None else feedback.queries, X)
    checked = [check_array(V, dtype=[np.float64, np.float32]) for V in both]
    A, B = (unit_rows(V) if adapter.map_.features.unit_length else V for V in checked)
    return A, B
