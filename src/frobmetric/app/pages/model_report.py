"""Report of a model: what it changes, whether it helps and what is proven, as one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from ...checks.arguments import check_count
from ...evaluation.compare import compare
from ...evaluation.division import default_folds
from ...evaluation.hints import Situation, find_hints
from ...evaluation.models import (
    copy_for_refits,
    copy_with_units,
    is_fitted,
    mapping_of,
    metric_of,
    tested_model,
)
from ...evaluation.report import Report
from ...evaluation.table import Comparison
from ...metric.base import MapEstimator
from ...runtime.environment import replacing
from .captions import columns_of, names_of
from .content import Findings, Sample, data_of, sections_of
from .dimensions import dimension_errors
from .doubts import find_doubts
from .importance import find_importance
from .page import render
from .provenance import DEFAULTS, provenance
from .samples import (
    Samples,
    check_image_shape,
    euclidean_unit,
    feature_names_of,
    held_out_votes,
    refuse_kernel,
)
from .spaces import Spaces


@dataclass(frozen=True, eq=False, repr=False)
class ModelReport(Report):
    """Result of `report`: an HTML page, and the findings that it shows.

    Attributes
    ----------
    title : str
    findings : Findings
        All results: `findings.importance`, `findings.doubts` and more.
    sample : Sample
        Samples that the page shows.
    facts : list of (str, str)
        What was fitted on what.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frobmetric import FrobMetric, report
    >>> X, y = (part[::3] for part in load_iris(return_X_y=True))
    >>> page = report(FrobMetric().fit(X, y), X, y, n_refits=0)
    >>> page.title, page.to_dict()["n_shown"]
    ('Report on FrobMetric', 50)
    """

    title: str
    findings: Findings
    sample: Sample
    facts: list[tuple[str, str]]

    @property
    def comparison(self) -> Comparison:
        """Held-out errors of the model and of Euclid, with the verdict."""
        return self.findings.comparison

    def sentences(self) -> list[str]:
        """Return the verdict in words, and what is known about the optimisation."""
        return self.comparison.sentences()

    def to_text(self) -> str:
        """Return the comparison as text."""
        return self.comparison.to_text()

    def to_html(self) -> str:
        """Return the page."""
        return render(
            "report.html",
            title=self.title,
            data=data_of(self.findings, self.sample),
            plotly=True,
            scripts=("unpack.js", "map.js", "detail.js", "charts.js"),
            facts=self.facts,
            folded=DEFAULTS,
            **sections_of(self.findings, self.sample),
        )

    def save(self, path: str | Path) -> None:
        """Write the page to a file, whole or not at all."""
        page = self.to_html().encode()
        with replacing(path) as file:
            file.write(page)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings for JSON."""
        findings = self.findings
        return {
            "title": self.title,
            "comparison": self.comparison.to_dict(),
            "features": _feature_list(findings),
            "doubtful_rows": findings.doubts.samples.tolist(),
            "dimensions": findings.dimensions,
            "facts": dict(self.facts),
            "n_shown": len(self.sample.rows),
        }

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()

    def __repr__(self) -> str:
        verdict, n_shown = self.comparison.verdict, len(self.sample.rows)
        return f"ModelReport(verdict={verdict!r}, n_shown={n_shown})"


def _feature_list(findings: Findings) -> list[dict[str, Any]]:
    """Return the features by falling share, for JSON."""
    important, names = findings.importance, findings.feature_names
    if important is None:
        return []
    return [
        {"name": names[i], "before": float(important.before[i]), "after": float(important.after[i])}
        for i in important.order.tolist()
    ]


def report(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    names: ArrayLike | None = None,
    image_shape: tuple[int, ...] | None = None,
    cv: Any = None,
    choose_again: bool = False,
    n_neighbors: int = 3,
    n_refits: int = 20,
    max_points: int = 10_000,
    title: str | None = None,
    random_state: int = 0,
    callback: Callable[[str], Any] | None = None,
) -> ModelReport:
    """Report on a model as one HTML page that needs no network: `report(...).save("report.html")`.

    The page begins with the verdict, whether the metric helps on samples that it was not learned
    from, and with what is proven. It shows the samples before and after on a map, the neighbours of
    a chosen sample, why two samples are near, the features that matter with intervals, the
    confusion of classes, labels in doubt, dimensions, and what was fitted on what.

    Without test samples each sample is tested by a copy of the model that is fitted without it, so
    that a model that was fitted to X can be given together with X.

    Parameters
    ----------
    model : estimator
        A metric, a transformer, or a pipeline that ends in one or in a classifier behind one. One
        that is not fitted is fitted to X. From a search such as `GridSearchCV` the best one is
        taken, with its options. A learner from tuples is tested as it is.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Class labels.
    X_test : {array-like, sparse matrix, data frame} of shape (n_test, n_features), optional
        Samples that had no part in the fit; the model is then tested as it is.
    y_test : array-like of shape (n_test,), optional
        Their labels.
    feature_names : sequence of str, optional
        Names of the features; if None, names of the data frame or of the model, or x0, x1, ...
    names : array-like of shape (n_samples,) or (n_samples + n_test,), optional
        Names of the samples, shown in place of row numbers; names of X_test follow names of X.
    image_shape : tuple of int, optional
        Shape (height, width) or (height, width, 3) of the picture that a row is.
    cv : int, splitter or iterable, optional
        Folds of the test. None is 5 folds; of more than 5,000 samples one third is tested by one
        metric.
    choose_again : bool, default=False
        Whether a `FrobMetricCV` chooses its options again in each fold. That is slower, and free of
        the small optimism of options that were chosen with the tested samples.
    n_neighbors : int, default=3
        Number of neighbours that vote.
    n_refits : int, default=20
        Number of refits to half of the samples, at most 1,000 each, for the intervals of the
        features.
    max_points : int, default=10_000
        Largest number of samples that the page shows; with many features or long names fewer, so
        that the page stays below 8 MB. The page says how many.
    title : str, optional
        Title of the page.
    random_state : int, default=0
        Seed of the folds, the refits and the samples that are shown.
    callback : callable, optional
        Function called with a line of text at the beginning of each stage, such as "2 of 4:
        measuring features by 20 refits".

    Returns
    -------
    ModelReport

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from frobmetric import FrobMetric, report
    >>> X, y = load_wine(return_X_y=True)
    >>> page = report(FrobMetric().fit(X, y), X, y, n_refits=2)
    >>> page.comparison.euclidean.key
    'scaled'
    >>> page.save("wine.html")  # doctest: +SKIP
    """
    check_count(max_points, name="max_points", at_least=2)
    check_count(n_refits, name="n_refits", at_least=0)
    began = perf_counter()
    refuse_kernel(model)
    samples = Samples.check(X, y, X_test, y_test)
    check_image_shape(image_shape, samples.X.shape[1])
    sample_names = names_of(names, len(samples.labels))
    labels_of_features = feature_names_of(feature_names, X, model, image_shape)
    is_ready = is_fitted(model)
    say = _numbered(callback, 4 if is_ready else 5)
    if not is_ready:
        say("fitting the model")
        model = clone(model).fit(X, samples.y)
    model = getattr(model, "best_estimator_", model)  # of a search of scikit-learn
    again = copy_for_refits(model, choose_again)
    tested, notes = tested_model(model, again, X_test is not None)
    say("testing on held-out samples")
    options = {"cv": default_folds(cv, samples.y, random_state), "random_state": random_state}
    options |= {"n_neighbors": n_neighbors, "baselines": ("raw", "scaled", "lda")}
    comparison = compare(tested, X, y, X_test=X_test, y_test=y_test, **options)
    if hasattr(model, "best_params_") and type(tested) is not type(model):
        situation = Situation(model, (), samples.X, samples.y, comparison)
        comparison = replace(comparison, hints=find_hints(situation))  # it has chosen its options
    results = _results(model, again, X, samples, comparison, (n_refits, random_state), say)
    findings = Findings(
        comparison=comparison,
        feature_names=labels_of_features,
        columns=columns_of(model, labels_of_features),
        names=sample_names,
        labels=samples.labels,
        image_shape=image_shape,
        metric=metric_of(model),
        notes=notes,
        **results,
    )
    sample = Sample.of(findings, max_points, random_state)
    fitted = findings.metric or model
    seconds = f"{perf_counter() - began:.1f}"
    facts = provenance(fitted, samples.X, samples.y, **{"Seconds of this report": seconds})
    return ModelReport(title or f"Report on {type(fitted).__name__}", findings, sample, facts)


def _numbered(callback: Callable[[str], Any] | None, n_stages: int) -> Callable[[str], None]:
    """Return a function that tells a callback the text of a stage, and its number."""
    numbers = count(1)
    return lambda text: callback and callback(f"{next(numbers)} of {n_stages}: {text}")


def _results(
    model: Any,
    again: Any,
    X: Any,
    samples: Samples,
    comparison: Comparison,
    refits: tuple[int, int],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Return what is found besides the errors, as fields of `Findings`."""
    n_refits, seed = refits
    mapping = mapping_of(model)
    unit = euclidean_unit(samples.X, comparison.euclidean.key)
    spaces = Spaces.of(mapping, samples.every, unit)
    *votes, is_tested = held_out_votes(comparison, samples.labels, len(samples.y))
    say(f"measuring features by {n_refits} refits")
    fixed = None if again is None else copy_with_units(again, model)
    importance = find_importance(spaces, fixed, samples.X, samples.y, n_refits, seed)
    say("looking for labels in doubt")
    n, alone = len(samples.y), model if isinstance(model, MapEstimator) else None
    doubts = find_doubts(alone, X, samples.y, spaces.after[:n], votes[1][:n])
    say("measuring dimensions")
    curves = {}
    if again is not None or samples.X_test is not None:
        base = again if samples.X_test is None else model
        n_votes = comparison.n_neighbors
        curves = dimension_errors(base, samples.parts, unit, n_votes, seed)
    fields = {"spaces": spaces, "votes": tuple(votes), "is_tested": is_tested}
    return fields | {"importance": importance, "doubts": doubts, "dimensions": curves}
