"""Comparison of a metric with Euclid, LDA and NCA on samples that it was not learned from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..checks.arguments import WIDEST_SQUARES, check_count, require_ordinary
from ..checks.samples import (
    DTYPES,
    check_array,
    check_classification_targets,
    check_cv,
    column_or_1d,
)
from ..metric.base import MapEstimator
from ..neighbors.classification import knn_predict
from ..runtime.progress import advance, working
from .comparison import EUCLIDEAN, Comparison, ComparisonRow
from .hints import Situation, find_hints

LABELS = {"raw": "Euclid, raw", "scaled": "Euclid, scaled", "lda": "LDA", "nca": "NCA"}
#: Baselines whose fits take as long as those of a metric.
ITERATIVE = ("nca",)
#: Largest n_samples² · max(n_features, 100) for NCA: some seconds a fit.
NCA_WORK = 2.5e8
#: Longest name of a model in the table.
LONGEST_NAME = 20


def compare(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    cv: Any = 5,
    n_neighbors: int = 3,
    baselines: Sequence[str] = ("raw", "scaled", "lda", "nca"),
    random_state: Any = 0,
) -> Comparison:
    """Measure whether a metric helps: errors of nearest neighbours with it and without it.

    Without test samples this is a cross-validation: in each fold a copy of the model is fitted to
    the other folds, so that each sample is tested by a metric that was learned without it. With
    test samples a fitted model is used as it is, and neighbours are searched in X.

    The verdict is about the model and the better one of the Euclidean metrics on raw and on scaled
    features. Samples whose class no training sample has count as errors of every method.

    Parameters
    ----------
    model : estimator
        A metric, any transformer of scikit-learn, or a pipeline that ends in one of them or in a
        classifier behind one. `FrozenEstimator(metric)` of scikit-learn is not fitted again. If the
        model has `predict`, its own answers are a further row.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        With kernel="precomputed": values of the kernel of all samples with all.
    y : array-like of shape (n_samples,)
        Class labels.
    X_test : {array-like, sparse matrix, data frame} of shape (n_test, n_features), optional
        Samples that had no part in the fit of the model.
    y_test : array-like of shape (n_test,), optional
        Their labels.
    cv : int, splitter or iterable, default=5
        Stratified folds without test samples; a splitter must test each sample at most once.
    n_neighbors : int, default=3
        Number of neighbours that vote.
    baselines : sequence of {"raw", "scaled", "lda", "nca"}
        Euclid on the features as they are and divided by their standard deviation, scikit-learn's
        linear discriminant analysis, and its neighbourhood components analysis of scaled features.
        At least one of "raw" and "scaled" is needed. A baseline that the data do not allow is left
        out, and the result gives the reason.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of NCA.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from frobmetric import FrobMetric, compare
    >>> result = compare(FrobMetric(prior="within"), *load_wine(return_X_y=True), cv=3)
    >>> result.euclidean.key
    'scaled'
    >>> result["model"].error < result["raw"].error
    True
    """
    _check_options(model, baselines, n_neighbors, (X_test is None, y_test is None))
    trial = _Trial.check(model, X, y, X_test, y_test, cv, random_state)
    is_ready = X_test is not None and _is_fitted(model)
    slow = 1 + sum(name in ITERATIVE and not _obstacle(name, trial) for name in baselines)
    # a single fit tells of itself
    n_fits = slow * len(trial.splits) if len(trial.splits) > 1 else 0
    with working("testing on held-out samples", n_fits, "fits"):
        rows = [_baseline_row(name, trial, n_neighbors, random_state) for name in baselines]
        measured = _measure(model, trial.given, trial, n_neighbors, is_ready=is_ready)
    rows.append(measured.row("model", _name(model), seconds=measured.seconds))
    if measured.answers:
        rows.append(measured.row("rule", _rule_name(model), measured.answers))
    comparison = Comparison(
        rows=tuple(rows),
        n_neighbors=n_neighbors,
        n_train=trial.n_train,
        n_folds=len(trial.splits),
        majority_error=trial.majority_error(),
        certified=tuple(measured.certified),
        notes=tuple(trial.notes()),
        truth=np.concatenate(measured.truth),
        tested=trial.tested,
    )
    metric, steps = _find_metric(measured.last)
    situation = Situation(metric, steps, trial.numbers[0], trial.y, comparison)
    return replace(comparison, hints=find_hints(situation))


@dataclass(frozen=True, eq=False)
class _Trial:
    """Samples that are tested, and those that are learned from.

    `given` has X and X_test as the model takes them, `numbers` the same as arrays of numbers;
    `splits` are row numbers (train, test) of X, none if test samples are given.
    """

    given: tuple
    numbers: tuple
    y: np.ndarray
    y_test: np.ndarray | None
    splits: list
    is_kernel: bool

    @classmethod
    def check(cls, model, X, y, X_test, y_test, cv, random_state):
        """Return the trial of checked samples."""
        options = {"accept_sparse": "csr", "dtype": DTYPES, "estimator": "compare"}
        numbers = [check_array(X, input_name="X", **options), None]
        require_ordinary(numbers[0], name="X", widest=WIDEST_SQUARES)
        y, splits = _as_labels(y, "y"), []
        check_consistent_length(numbers[0], y)
        if len(np.unique(y)) < 2:
            raise ValueError(f"y has one class ({y[0]}); a comparison needs at least two classes")
        if X_test is None:
            splits = _folds(cv, numbers[0], y, random_state)
        else:
            numbers[1] = check_array(X_test, input_name="X_test", **options)
            require_ordinary(numbers[1], name="X_test", widest=WIDEST_SQUARES)
            y_test = _as_labels(y_test, "y_test")
            check_consistent_length(numbers[1], y_test)
            _check_common_labels(y, y_test)
        is_kernel = get_tags(model).input_tags.pairwise
        return cls((X, X_test), tuple(numbers), y, y_test, splits, is_kernel)

    def parts(self, estimator: Any, samples: tuple) -> Iterator[tuple]:
        """Yield X and y to learn from, X and y to test; samples are `given` or `numbers`."""
        X, X_test = samples
        if not self.splits:
            yield X, self.y, X_test, self.y_test
        for train, test in self.splits:
            learned = _safe_split(estimator, X, self.y, train)
            yield *learned, *_safe_split(estimator, X, self.y, test, train)

    @property
    def tested(self):
        """Row numbers of X in the order of the tests; None if test samples are given."""
        return np.concatenate([test for _, test in self.splits]) if self.splits else None

    @property
    def n_train(self):
        """Number of training samples, in the smallest part."""
        return min((len(train) for train, _ in self.splits), default=len(self.y))

    def majority_error(self):
        """Return the error of always answering the most frequent class."""
        wrong = []
        for _, y_train, _, y_test in self.parts(FunctionTransformer(), (self.y, self.y_test)):
            classes, counts = np.unique(y_train, return_counts=True)
            wrong.append(y_test != classes[counts.argmax()])
        return float(np.mean(np.concatenate(wrong)))

    def notes(self):
        """Yield remarks on small classes, if there are folds."""
        counts = np.unique(self.y, return_counts=True)[1]
        n_single, n_small = (counts == 1).sum(), (counts < len(self.splits)).sum()
        if self.splits and n_small:
            yield f"{n_small} classes have fewer samples than there are folds ({len(self.splits)})."
        if self.splits and n_single:
            yield f"{n_single} samples are the only ones of their class: errors of every method."


@dataclass(eq=False)
class _Measured:
    """Answers of a method on the test samples, by the vote and by its own `predict` if any."""

    last: Any = None
    votes: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    truth: list = field(default_factory=list)
    times: list = field(default_factory=list)
    certified: list = field(default_factory=list)

    def row(self, key, label, answers=None, seconds=None):
        """Return the row of the votes, or of other answers."""
        predicted = np.concatenate(answers or self.votes)
        mistakes = predicted != np.concatenate(self.truth)
        return ComparisonRow(key, label, mistakes, seconds, predicted=predicted)

    @property
    def seconds(self):
        return float(np.mean(self.times)) if self.times else None


def _measure(estimator, samples, trial, n_neighbors, *, is_ready=False, is_slow=True):
    """Fit a copy of the estimator to each training part, unless it is ready, and test it."""
    measured = _Measured()
    for X_train, y_train, X_test, y_test in trial.parts(estimator, samples):
        if is_ready:
            fitted = estimator
        else:
            began = perf_counter()
            fitted = clone(estimator).fit(X_train, y_train)
            measured.times.append(perf_counter() - began)
        mapping = fitted if hasattr(fitted, "transform") else fitted[:-1]
        Z_train, Z_test = mapping.transform(X_train), mapping.transform(X_test)
        measured.votes.append(knn_predict(Z_train, y_train, Z_test, n_neighbors=n_neighbors))
        measured.truth.append(y_test)
        if _is_classifier(fitted):
            measured.answers.append(np.asarray(fitted.predict(X_test)))
        metric, _ = _find_metric(fitted)
        if hasattr(metric, "certificate_"):
            measured.certified.append(bool(metric.certificate_.error <= metric.tol))
        measured.last = fitted
        if is_slow:
            advance(1, "fits")
    return measured


def _baseline_row(name, trial, n_neighbors, random_state):
    reason = _obstacle(name, trial)
    if reason:
        return ComparisonRow(name, LABELS[name], skipped=reason)
    estimator = _baseline(name, trial, random_state)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # collinear features, an NCA that stops early
            is_slow = name in ITERATIVE
            measured = _measure(estimator, trial.numbers, trial, n_neighbors, is_slow=is_slow)
    except (ValueError, np.linalg.LinAlgError) as error:
        if name in EUCLIDEAN:
            raise
        return ComparisonRow(name, LABELS[name], skipped=str(error).splitlines()[0].rstrip("."))
    seconds = None if name in EUCLIDEAN else measured.seconds
    return measured.row(name, LABELS[name], seconds=seconds)


def _baseline(name, trial, random_state):
    """Return the transformer after which a baseline is the Euclidean distance."""
    if trial.is_kernel:
        return KernelPCA(kernel="precomputed")  # all components: Euclid in the kernel's space
    scaler = StandardScaler(with_mean=not sp.issparse(trial.numbers[0]))
    nca = NeighborhoodComponentsAnalysis(random_state=random_state)
    return {
        "raw": FunctionTransformer(),
        "scaled": scaler,
        "lda": LinearDiscriminantAnalysis(),
        "nca": make_pipeline(scaler, nca),
    }[name]


def _obstacle(name, trial):
    """Return the reason why a baseline cannot be measured on these data, or an empty text."""
    if trial.is_kernel and name != "raw":
        return "X holds values of a kernel, and no features"
    if name in EUCLIDEAN:
        return ""
    if sp.issparse(trial.numbers[0]):
        return "X is sparse"
    n_features = trial.numbers[0].shape[1]
    if name == "nca" and trial.n_train**2 * max(n_features, 100) > NCA_WORK:
        return f"{trial.n_train} samples of {n_features} features would take it too long"
    return ""


def _folds(cv, X, y, random_state):
    """Return row numbers (train, test) of each fold, each sample tested at most once."""
    largest = int(np.unique(y, return_counts=True)[1].max())
    if isinstance(cv, Integral):
        check_count(cv, name="cv", at_least=2)
        if cv > largest:
            raise ValueError(
                f"cv={cv}, but the largest class has {largest} samples; choose a smaller cv, or "
                "give X_test and y_test"
            )
        cv = StratifiedKFold(cv, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splits = check_cv(cv, X, y)
    tested, counts = np.unique(np.concatenate([test for _, test in splits]), return_counts=True)
    if counts.max() > 1:
        raise ValueError(
            f"cv tests sample {tested[counts.argmax()]} {counts.max()} times; intervals of paired "
            "errors need folds that test each sample at most once, such as StratifiedKFold"
        )
    if any(len(np.unique(y[train])) < 2 for train, _ in splits):
        raise ValueError(
            "a fold leaves samples of one class to learn from; give each class at least 2 samples"
        )
    return splits


def _check_options(model, baselines, n_neighbors, is_missing):
    check_count(n_neighbors, name="n_neighbors")
    is_list = isinstance(baselines, (list, tuple, set, frozenset))
    names = baselines if is_list else ()
    unknown = [name for name in names if not isinstance(name, str) or name not in LABELS]
    if not is_list or unknown or not set(baselines) & set(EUCLIDEAN):
        raise ValueError(
            f"baselines={baselines!r}; expected a list of {list(LABELS)}, with 'raw' or 'scaled'"
        )
    if any(is_missing) and not all(is_missing):
        raise ValueError("X_test and y_test belong together; give both of them, or none")
    if not hasattr(model, "transform") and not (isinstance(model, Pipeline) and len(model) > 1):
        raise TypeError(
            f"{type(model).__name__} has no `transform`; give a metric, or a pipeline with one"
        )
    can_be_used = isinstance(model, FrozenEstimator) or (_is_fitted(model) and not any(is_missing))
    if get_tags(model).input_tags.three_d_array and not can_be_used:
        raise TypeError(
            f"{type(model).__name__} learns from tuples, not from labels, so it cannot be fitted "
            "here; fit it, and give FrozenEstimator(model), or X_test and y_test"
        )


def _check_common_labels(y, y_test):
    if not set(y_test.tolist()) & set(y.tolist()):
        raise ValueError(
            f"no label of the test samples (such as {y_test[0]!r}) occurs among those of the "
            f"training samples (such as {y[0]!r}); are these the labels of one problem?"
        )


def _as_labels(y, name):
    y = column_or_1d(y)
    missing = [i for i, value in enumerate(y.tolist()) if value is None or value != value]
    if missing:
        raise ValueError(f"{name}[{missing[0]}] is {y[missing[0]]}; every sample needs a label")
    check_classification_targets(y)
    return y


def _is_fitted(model):
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _is_classifier(fitted):
    """Return whether `predict` of an estimator answers with class labels of samples."""
    tags = get_tags(fitted)
    is_kind = tags.estimator_type in (None, "classifier", "transformer")
    # a metric from a file has its choice of options, but not the samples that its rule needs
    is_chosen = isinstance(fitted, MapEstimator) and hasattr(fitted, "best_params_")
    is_whole = not is_chosen or hasattr(fitted, "classifier_")
    is_right = is_kind and is_whole and not tags.input_tags.three_d_array
    return is_right and hasattr(fitted, "predict")


def _steps(model):
    """Return the steps of a pipeline; those of the model that a search chose or that is frozen."""
    for name in ("best_estimator_", "estimator"):
        model = getattr(model, name, model)
    return [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]


def _find_metric(model):
    """Return the last estimator of this library inside a model, and the other steps."""
    steps = _steps(model)
    metric = next((step for step in steps[::-1] if isinstance(step, MapEstimator)), None)
    return metric, tuple(step for step in steps if step is not metric)


def _name(model):
    """Return the name of a model in the table, without its classifier."""
    steps = _steps(model if hasattr(model, "transform") else model[:-1])
    metric, _ = _find_metric(model)
    text = " + ".join(type(step).__name__ for step in steps)
    shortest = type(steps[-1] if metric is None else metric).__name__
    return text if len(text) <= LONGEST_NAME else shortest[:LONGEST_NAME]


def _rule_name(model):
    rule = type(model[-1]).__name__ if isinstance(model, Pipeline) else "its own rule"
    return f"with {rule}"[:LONGEST_NAME]
