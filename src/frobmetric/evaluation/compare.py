"""Comparison of models with baselines, and with each other, on samples not learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import get_tags

from ..checks.arguments import check_count
from ..runtime.progress import working
from .candidates import Candidate, make_baselines, read_models, single_candidate
from .division import TEST_FOLDS, Division, divide
from .hints import Situation, find_hints
from .models import metric_of, steps_of
from .row import BASELINES, EUCLIDEAN
from .table import Comparison, InterruptedComparison
from .trial import ComparisonProgress, Contest
from .vote import Average, Evaluation, Vote
from .worker import FitHere, FitWorker

__all__ = ["compare"]

#: Share of the samples that is held out, and seconds of a model, if several are compared.
HELD_OUT, BUDGET = 0.3, 60.0


def compare(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    cv: Any = None,
    test_size: float | int | None = None,
    n_neighbors: int = 3,
    baselines: Sequence[str] | None = None,
    budget: float | None = None,
    random_state: Any = 0,
    callback: Callable[[ComparisonProgress], Any] | None = None,
) -> Comparison:
    """Measure whether a metric helps, or which of several models does.

    All methods are tested by the nearest neighbours in their space, on samples that they did not
    learn from: a vote for class labels, the mean for numbers.

    **One estimator** is tested as it is beside Euclid, LDA and NCA, by cross-validation: in each
    fold a copy is fitted to the other folds. With test samples a fitted model is used as it is, and
    neighbours are searched in X. The verdict is about the model and the better one of the Euclidean
    metrics on raw and on scaled features. If the model classifies, its own answers are a further
    row. Samples whose class no training sample has count as errors of every method.

    **Several models**, or None for all learners of the library, have `budget` seconds each, in a
    process of its own: each is fitted as it is, then a few other settings of its options are tried
    by the errors on folds of the training samples, and a better one is fitted again. A fit that is
    not done in time is ended, and the last complete answer counts. Models other than FrobMetric,
    which scales features itself, and pipelines get features divided by their standard deviations.

    Parameters
    ----------
    models : estimator, list or None
        A metric, any transformer of scikit-learn, or a pipeline that ends in one of them or in a
        classifier behind one. `FrozenEstimator(metric)` of scikit-learn is not fitted again. A list
        has estimators, names of learners, or tuples (name, estimator, grid) with a grid as in
        scikit-learn's `ParameterGrid`. None is every learner that takes such labels.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        With kernel="precomputed", of one model: values of the kernel of all samples with all.
    y : array-like of shape (n_samples,)
        Class labels, or numbers.
    X_test : {array-like, sparse matrix, data frame} of shape (n_test, n_features), optional
        Samples that had no part in the fit of the models.
    y_test : array-like of shape (n_test,), optional
        Their labels.
    cv : int, splitter or iterable, optional
        Folds; stratified for classes. A splitter must test each sample at most once. The default is
        5 for one estimator without test samples.
    test_size : float or int, optional
        Share or number of samples to hold out once in place of folds, with every class in
        proportion. The default is 0.3 for several models without test samples.
    n_neighbors : int, default=3
        Number of neighbours that predict a sample.
    baselines : sequence of {"raw", "scaled", "lda", "nca"}, optional
        Euclid on the features as they are and divided by their standard deviation, scikit-learn's
        linear discriminant analysis, and its neighbourhood components analysis of scaled features.
        At least one of "raw" and "scaled" is needed. The default is all, for several models all but
        "nca", and for numbers Euclid. A baseline that the data do not allow is left out, and the
        result gives the reason.
    budget : float, optional
        Seconds that each model may take for all its fits, without the start of the process in which
        they run. The default is 60 for several models. Without a budget one estimator is fitted in
        this process, with its options.
    random_state : int, RandomState instance or None, default=0
        Seed of the division, of NCA, and of the learners given by name.
    callback : callable, optional
        Function called with a `ComparisonProgress` before each fit, with a budget several times a
        second; a true result ends the comparison, and the rows so far are returned.

    Returns
    -------
    Comparison

    Raises
    ------
    InterruptedComparison
        After Ctrl-C; its `comparison` has the rows so far. It is a KeyboardInterrupt, so nothing
        else catches it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from frobmetric import FrobMetric, compare
    >>> X, y = load_wine(return_X_y=True)
    >>> result = compare(FrobMetric(prior="within"), X, y, cv=3)
    >>> result.euclidean.key
    'scaled'
    >>> result["model"].error < result["raw"].error
    True
    >>> result = compare(["FrobMetric", "Covariance"], X, y)
    >>> [row.key for row in result.rows]
    ['raw', 'scaled', 'lda', 'FrobMetric', 'Covariance']
    """
    is_single = _is_single(models)
    _check_options(n_neighbors, baselines, budget, cv, test_size)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test belong together; give both of them, or none")
    has_test, is_isolated = X_test is not None, budget is not None or not is_single
    single = []
    if is_single:
        single = [single_candidate(models, has_test=has_test, is_isolated=is_isolated)]
    if cv is None and test_size is None:
        cv, test_size = (TEST_FOLDS, None) if is_single else (None, HELD_OUT)
    options = {"cv": cv, "test_size": test_size, "random_state": random_state}
    division = divide((X, y), (X_test, y_test), **options)
    has_classes = division.classes is not None
    evaluation: Evaluation = Vote(n_neighbors) if has_classes else Average(n_neighbors)
    if baselines is None:
        baselines = [*BASELINES] if is_single else ["raw", "scaled", "lda"]
        baselines = baselines if has_classes else [*EUCLIDEAN]
    is_kernel = is_single and get_tags(models).input_tags.pairwise
    candidates = make_baselines(baselines, division, is_kernel=is_kernel, random_state=random_state)
    kind = {"has_classes": has_classes, "is_sparse": sp.issparse(division.numbers.X)}
    candidates += single or read_models(models, **kind, random_state=random_state)
    _check_neighbors(n_neighbors, division, candidates, random_state)
    seconds = (BUDGET if budget is None else float(budget)) if is_isolated else np.inf
    contest = Contest(candidates, division, evaluation, seconds, random_state, callback)
    try:
        _run(contest, is_isolated=is_isolated)
    except KeyboardInterrupt as error:
        raise InterruptedComparison(_comparison(contest)) from error
    return _with_hints(_comparison(contest), contest)


def _run(contest: Contest, *, is_isolated: bool) -> None:
    """Measure all methods, in this process or in one of their own."""
    fitter = FitWorker if is_isolated else FitHere
    # a single fit tells of itself
    n_fits = len(contest.division.splits) * sum(
        candidate.is_slow and not candidate.obstacle for candidate in contest.candidates
    )
    is_counted = not is_isolated and len(contest.division.splits) > 1
    with (
        working("testing on held-out samples", n_fits * is_counted, "fits"),
        fitter(contest.division, contest.evaluation) as place,
    ):
        contest.run(place)


def _comparison(contest: Contest) -> Comparison:
    """Return the rows so far."""
    division = contest.division
    return Comparison(
        rows=tuple(contest.rows),
        n_train=division.n_train,
        n_folds=division.n_folds,
        budget=contest.budget if contest.budget < np.inf else None,
        constant_error=division.constant_error(),
        is_complete=contest.is_complete,
        notes=division.notes,
        truth=division.truth,
        tested=division.tested,
    )


def _with_hints(comparison: Comparison, contest: Contest) -> Comparison:
    """Return the comparison with what to try next, if it is about one model and classes."""
    *_, last = contest.candidates
    if not comparison.evaluation.has_classes or not comparison.is_answered:
        return comparison
    model = last.model if contest.fitted is None else contest.fitted
    metric, division = metric_of(model), contest.division
    steps = tuple(step for step in steps_of(model) if step is not metric)
    situation = Situation(metric, steps, division.numbers.X, division.given.y, comparison)
    return replace(comparison, hints=find_hints(situation))


# Arguments


def _is_single(models: Any) -> bool:
    """Return whether one estimator is given, and not a list or None."""
    if models is None or isinstance(models, list | tuple):
        return False
    if not hasattr(models, "get_params"):
        raise TypeError(
            f"models is {models!r:.80}; expected an estimator, a list of estimators and names of "
            "learners, or None for all learners: compare(None, X, y)"
        )
    return True


def _check_options(
    n_neighbors: int,
    baselines: Sequence[str] | None,
    budget: float | None,
    cv: Any,
    test_size: float | int | None,
) -> None:
    check_count(n_neighbors, name="n_neighbors")
    is_number = isinstance(budget, Real) and not isinstance(budget, bool)
    if budget is not None and not (is_number and 0 < budget < np.inf):
        raise ValueError(f"budget is {budget!r}; expected a number of seconds above 0")
    if cv is not None and test_size is not None:
        raise ValueError("cv and test_size are two ways to divide the samples; give one of them")
    if baselines is None:
        return
    is_list = isinstance(baselines, (list, tuple, set, frozenset))
    unknown = [n for n in baselines if not isinstance(n, str) or n not in BASELINES]
    if not is_list or unknown or not set(baselines) & set(EUCLIDEAN):
        raise ValueError(
            f"baselines={baselines!r}; expected a list of {list(BASELINES)}, with 'raw' or 'scaled'"
        )


def _check_neighbors(
    n_neighbors: int, division: Division, candidates: Sequence[Candidate], random_state: Any
) -> None:
    """Refuse more neighbours than there are samples to learn from, in the smallest fold."""
    n_least = division.n_train
    if any(len(candidate.settings) > 1 for candidate in candidates):
        folds = [division.choices(split, random_state) for split in division.splits]
        n_least = min(len(train) for each in folds for train, _ in each)
    if n_neighbors > n_least:
        raise ValueError(
            f"n_neighbors={n_neighbors}, but a fold has {n_least} samples to learn from; choose a "
            "smaller n_neighbors, or give more samples"
        )
